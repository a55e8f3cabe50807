"""`EngineStore`: the service's memories as facts and edges of a `Memory`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from plugmem_core.clock import Clock
from plugmem_core.embed import Embedder
from plugmem_core.errors import InvalidInputError, ServiceError
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.memory import Memory
from plugmem_core.model import RESERVED, Edge, Fact, Namespace, RecalledFact, VectorSpace
from plugmem_core.service.records import Link
from plugmem_core.service.scoring import cosine
from plugmem_core.service.store import (
    Counts,
    Degree,
    Direction,
    Hit,
    Learned,
    Question,
    StoredMemory,
)
from plugmem_core.store import Vector
from plugmem_core.verbs.listing import every

CONFIDENCE = "confidence"
"""The collection of values that holds what feedback taught."""

MEMORY, ENTITY = f"{RESERVED}memory", f"{RESERVED}entity"
"""The tags of what a fact stands for."""

FIRST_RANKED = 1_000
"""Candidates among which a floor is looked for, when one is asked for."""

_node_id = re.compile(r"node ([0-9]+)").fullmatch


class EngineStore:
    """Memories in one namespace of a `Memory`, whose history, clocks and file they share.

    A memory is a fact whose key is its id, written with 20 digits so that keys sort as ids
    do. Its subject, and both ends of edges, are named `node` and the id: by names of
    entities, `C` and `C#` would be one. Every fact carries one tag, which says what it
    stands for, so that neither entities nor what others wrote here are taken for memories.

    Args:
        memory: It stays the caller's; `close` leaves it open. Its own limits hold, too; the date
            that the service adds counts for its `max_metadata`.
        namespace: Where in it; other services may have others.

    >>> store = EngineStore(Memory.open(":memory:"))
    >>> with store.transaction() as writes:
    ...     writes.put(StoredMemory(7, "the tide is out", {}))
    >>> store.get([7, 8])[7].content
    'the tide is out'
    """

    def __init__(self, memory: Memory, namespace: Namespace = ("service",)) -> None:
        check_type(memory, Memory, "memory", "a Memory")
        self.memory = memory
        self.namespace = check_namespace(namespace)

    @property
    def clock(self) -> Clock:
        """What tells now, in Unix milliseconds."""
        return self.memory.clock

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors."""
        return self.memory.embedder

    @property
    def vector_space(self) -> VectorSpace | None:
        """Which vectors the file holds; `None` while it has none."""
        return self.memory.vector_space

    @property
    def values(self) -> Memory:
        """Where an agent's contexts are kept: in the same file."""
        return self.memory

    @contextmanager
    def transaction(self) -> Iterator["_EngineWrites"]:
        """Write all that the block writes, or nothing; see `MemoryStore`."""
        with self.memory.transaction():
            writes = _EngineWrites(self)
            yield writes
            writes.flush()

    def get(self, ids: Iterable[int]) -> dict[int, StoredMemory]:
        """Return nodes by id; unknown ones are left out."""
        keys = [key_of(one) for one in ids]
        if not keys:
            return {}
        nodes = (self._node(fact) for fact in self.facts(keys) if self._is_ours(fact))
        return {node.id: node for node in nodes}

    def facts(self, keys: Sequence[str]) -> list[Fact]:
        """Return the facts that have keys of nodes, whoever stored them."""
        return self.memory.get_by_keys(keys, namespace=self.namespace, below=False)

    def foreign(self, keys: Sequence[str]) -> set[str]:
        """Return the keys of nodes that facts of others have taken."""
        return {str(fact.key) for fact in self.facts(keys) if not self._is_ours(fact)}

    def ids(self, after: int) -> Iterator[int]:
        """Yield the ids of nodes beyond one, ascending."""
        first = "" if after < 0 else key_of(after)
        keys = every(self.memory.keys, after=first, namespace=self.namespace)
        return (int(key) for key in keys if len(key) == 20 and key.isdecimal())

    def search(self, question: Question) -> list[Hit]:
        """Return the memories that answer a question, best first."""
        if question.mode == "vector":
            return self._nearest(question)
        k = question.k if question.min_score is None else max(question.k, FIRST_RANKED)
        result = self.memory.recall(
            question.text, sources=("bm25", "vector"), explain=True, **self._scope(question, k)
        )
        if not result.facts or result.explanation is None:
            return []
        best = result.facts[0].score or 1.0
        hits = (
            Hit(self._node(fact), explained.relevance, fact.score / best)
            for fact, explained in zip(result.facts, result.explanation.facts, strict=True)
        )
        if question.min_score is not None:
            floor = question.min_score
            hits = (hit for hit in hits if hit.score >= floor)
        return list(islice(hits, question.k))

    def neighbours(self, ids: Sequence[int], direction: Direction, limit: int) -> dict[int, Degree]:
        """Return the edges that start or end at nodes, at most `limit` of each."""
        names = [node_name(one) for one in ids]
        found = self.memory.neighbours(
            names, direction=direction, limit=limit, namespace=self.namespace
        )
        return {
            one: Degree(tuple(_links(near.edges)), near.total)
            for one, near in zip(ids, found, strict=True)
        }

    def links(self, id: int) -> list[Link]:  # noqa: A002 - the name users know
        """Return every edge that touches a node, oldest first."""
        return self._links_in(self.memory.edges(node_name(id), namespace=self.namespace))

    def learned(self, ids: Iterable[int]) -> dict[int, Learned]:
        """Return what feedback taught; nodes without any are left out."""
        keys = [key_of(one) for one in ids]
        stored = self.memory.get_values(CONFIDENCE, keys, namespace=self.namespace)
        return {int(key): Learned(*value) for key, value in stored.items()}

    def population(self) -> int:
        """Return how many nodes there are."""
        return self._count(is_entity=False) + self._count(is_entity=True)

    def counts(self) -> Counts:
        """Return how much there is."""
        edges = self.memory.edges(namespace=self.namespace)
        return Counts(
            self._count(is_entity=False),
            self._count(is_entity=True),
            len(self._links_in(edges)),
        )

    def close(self) -> None:
        """Leave the memory to whoever opened it."""

    def tag_of(self, *, is_entity: bool) -> str:
        """Return the tag of what a fact stands for."""
        return ENTITY if is_entity else MEMORY

    def _nearest(self, question: Question) -> list[Hit]:
        vector = self.memory.embed_query(question.text)
        if vector is None:
            self._refuse_failure(question.text)
            return []
        result = self.memory.recall(
            vector=vector,
            sources=("vector",),
            **self._scope(question, question.k),
        )
        hits = [
            Hit(self._node(fact), cosine, cosine)
            for fact, cosine in zip(result.facts, self._cosines(vector, result.facts), strict=True)
            if question.min_score is None or cosine >= question.min_score
        ]
        return sorted(hits, key=lambda hit: -hit.rank_score)

    def _refuse_failure(self, question: str) -> None:
        """Raise if a question has no vector because the embedder failed."""
        why = self.memory.recall(question, sources=["vector"], k=1, explain=True).explanation
        if why is not None and why.notes:
            raise ServiceError(
                f"the question has no vector, so {'; '.join(why.notes)}; check the embedder"
            )

    def _cosines(self, question: Vector, facts: Sequence[RecalledFact]) -> list[float]:
        """Return exact cosines: the index has vectors to a hundredth only."""
        stored = self.memory.vectors([fact.id for fact in facts], namespace=self.namespace)
        return [0.0 if vector is None else cosine(question, vector) for vector in stored]

    def _scope(self, question: Question, k: int) -> dict[str, Any]:
        return {
            "k": k,
            "tags": [MEMORY],
            "where": question.where,
            "weights": {"recency": 0},
            "token_budget": None,
            "namespace": self.namespace,
            "below": False,
        }

    def _is_ours(self, fact: Fact) -> bool:
        return MEMORY in fact.tags or ENTITY in fact.tags

    def _node(self, fact: Fact | RecalledFact) -> StoredMemory:
        assert fact.key is not None  # noqa: S101 - for the type checker; the tag is ours
        return StoredMemory(int(fact.key), fact.text, fact.metadata, ENTITY in fact.tags)

    def _links_in(self, edges: Iterable[Edge]) -> list[Link]:
        return list(_links(edge for edge in edges if edge.namespace == self.namespace))

    def _count(self, *, is_entity: bool) -> int:
        name = self.tag_of(is_entity=is_entity)
        tags = self.memory.tags(name, namespace=self.namespace, below=False, limit=1)
        return next((tag.facts for tag in tags if tag.name == name), 0)


class _EngineWrites:
    """Writes inside a transaction of the memory; what is put is stored at its end, together."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store
        self._facts: dict[int, dict[str, Any]] = {}

    def put(self, memory: StoredMemory, ttl: float | None = None) -> None:
        self._facts[memory.id] = {
            "text": memory.content,
            "key": key_of(memory.id),
            "entity": node_name(memory.id),
            "tags": [self._store.tag_of(is_entity=memory.is_entity)],
            "metadata": memory.metadata,
            "namespace": self._store.namespace,
            "ttl": ttl,
        }

    def delete(self, ids: Sequence[int]) -> None:
        memory, namespace = self._store.memory, self._store.namespace
        keys = [key_of(one) for one in ids]
        foreign = self._store.foreign(keys)
        memory.write(forget=[(namespace, key) for key in keys if key not in foreign])
        for one in ids:
            for link in self._store.links(one):
                self.unlink(link)
        if keys:
            memory.delete_values(CONFIDENCE, keys, namespace=namespace)

    def link(self, link: Link) -> None:
        self._store.memory.link(*_ends(link), namespace=self._store.namespace)

    def unlink(self, link: Link) -> bool:
        return self._store.memory.unlink(*_ends(link), namespace=self._store.namespace)

    def learn(self, id: int, learned: Learned) -> None:  # noqa: A002 - the name users know
        self._store.memory.put_values(
            CONFIDENCE, {key_of(id): list(learned)}, namespace=self._store.namespace
        )

    def flush(self) -> None:
        """Store what was put."""
        taken = self._store.foreign([key_of(one) for one in self._facts])
        if taken:
            raise InvalidInputError(
                f"the key {min(taken)} belongs to a fact that no service stored; "
                "forget that fact, or give the service a namespace of its own"
            )
        if self._facts:
            self._store.memory.remember_many(self._facts.values())


def key_of(id: int) -> str:  # noqa: A002 - the name users know
    """Return the key of a node: its id with 20 digits, so that keys sort as ids do.

    >>> key_of(7)
    '00000000000000000007'
    """
    return f"{id:020d}"


def node_name(id: int) -> str:  # noqa: A002 - the name users know
    """Return what the engine calls a node."""
    return f"node {id}"


def _ends(link: Link) -> tuple[str, str, str]:
    return node_name(link.source), link.relation, node_name(link.target)


def _links(edges: Iterable[Edge]) -> Iterator[Link]:
    for edge in edges:
        source, target = _node_id(edge.src), _node_id(edge.dst)
        if source and target:  # else somebody else's edge in this namespace
            yield Link(int(source[1]), int(target[1]), edge.relation)
