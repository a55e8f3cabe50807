"""`DictStore`: the service's memories in plain dictionaries, gone when the process ends."""

import copy
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import NamedTuple

import numpy as np

from plugmem_core.clock import Clock, checked, system_clock
from plugmem_core.context import DictValues
from plugmem_core.embed import Embedder
from plugmem_core.errors import ServiceError
from plugmem_core.filters import parse_filter
from plugmem_core.inputs import check_ttl
from plugmem_core.model import Namespace
from plugmem_core.service.records import Link
from plugmem_core.service.scoring import bm25, cosine, reciprocal_ranks
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

logger = logging.getLogger(__name__)


class _Record(NamedTuple):
    memory: StoredMemory
    expires_at: int | None


@dataclass(slots=True)
class _State:
    records: dict[int, _Record] = field(default_factory=dict)
    links: dict[Link, None] = field(default_factory=dict)  # in the order in which they came
    learned: dict[int, Learned] = field(default_factory=dict)

    def copied(self) -> "_State":
        return _State(dict(self.records), dict(self.links), dict(self.learned))

    def touching(self, id: int) -> list[Link]:  # noqa: A002 - the name users know
        return [link for link in self.links if id in (link.source, link.target)]


class DictStore:
    """A store for tests and small in-process use: every question looks at every memory.

    Args:
        embedder: Makes vectors; without one, words alone find memories.
        clock: Returns now in Unix milliseconds.

    >>> store = DictStore()
    >>> with store.transaction() as writes:
    ...     writes.put(StoredMemory(7, "the tide is out", {}))
    >>> store.get([7, 8])[7].content
    'the tide is out'
    """

    def __init__(self, embedder: Embedder | None = None, clock: Clock = system_clock) -> None:
        self._embedder = embedder
        self._clock = checked(clock)
        self._state = _State()
        self._vectors: dict[str, Vector | None] = {}
        self._writing = RLock()
        self._values = DictValues()

    @property
    def clock(self) -> Clock:
        """What tells now, in Unix milliseconds."""
        return self._clock

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors."""
        return self._embedder

    @property
    def vector_space(self) -> None:
        """None is stored: vectors are made when they are needed."""

    @property
    def values(self) -> DictValues:
        """Where an agent's contexts are kept."""
        return self._values

    @property
    def namespace(self) -> Namespace:
        """The scope of those values."""
        return ()

    @contextmanager
    def transaction(self) -> Iterator["_DictWrites"]:
        """Write all that the block writes, or nothing; see `MemoryStore`."""
        with self._writing:
            writes = _DictWrites(self._state.copied(), self._clock())
            yield writes
            self._state = writes.state

    def get(self, ids: Iterable[int]) -> dict[int, StoredMemory]:
        """Return nodes by id; unknown ones are left out."""
        wanted = dict.fromkeys(ids)
        live = self._live()
        return {one: copy.deepcopy(live[one].memory) for one in wanted if one in live}

    def ids(self, after: int) -> Iterator[int]:
        """Yield the ids of nodes beyond one, ascending."""
        return iter(sorted(one for one in self._live() if one > after))

    def search(self, question: Question) -> list[Hit]:
        """Return the memories that answer a question, best first."""
        passing = None if question.where is None else parse_filter(question.where)
        candidates = {
            one: record
            for one, record in sorted(self._live().items())
            if not record.memory.is_entity
            and (passing is None or passing.matches(record.memory.metadata))
        }
        cosines = self._cosines(question, candidates)
        if question.mode == "vector":
            found = {one: (value, value) for one, value in cosines.items()}
        else:
            found = self._fused(question.text, candidates, cosines)
        floor = question.min_score
        ranked = sorted(
            (
                Hit(copy.deepcopy(candidates[one].memory), score, rank_score)
                for one, (score, rank_score) in found.items()
                if floor is None or score >= floor
            ),
            key=lambda hit: -hit.rank_score,
        )
        return ranked[: question.k]

    def neighbours(self, ids: Sequence[int], direction: Direction, limit: int) -> dict[int, Degree]:
        """Return the edges that start or end at nodes, at most `limit` of each."""
        found: dict[int, list[Link]] = {one: [] for one in ids}
        for link in self._state.links:
            end = link.source if direction == "out" else link.target
            if end in found:
                found[end].append(link)
        return {one: Degree(tuple(links[:limit]), len(links)) for one, links in found.items()}

    def links(self, id: int) -> list[Link]:  # noqa: A002 - the name users know
        """Return every edge that touches a node, oldest first."""
        return self._state.touching(id)

    def learned(self, ids: Iterable[int]) -> dict[int, Learned]:
        """Return what feedback taught; nodes without any are left out."""
        known = self._state.learned
        return {one: known[one] for one in ids if one in known}

    def population(self) -> int:
        """Return how many nodes there are."""
        return len(self._live())

    def counts(self) -> Counts:
        """Return how much there is."""
        live = self._live()
        entities = sum(record.memory.is_entity for record in live.values())
        return Counts(len(live) - entities, entities, len(self._state.links))

    def close(self) -> None:
        """Forget nothing: what holds the store may go on asking it."""

    def _live(self) -> dict[int, _Record]:
        now = self._clock()
        return {
            one: record
            for one, record in self._state.records.items()
            if record.expires_at is None or record.expires_at > now
        }

    def _cosines(self, question: Question, candidates: dict[int, _Record]) -> dict[int, float]:
        if self._embedder is None:
            return {}
        try:
            asked = _as_vector(self._embedder.embed_query(question.text))
            if asked is None:
                return {}
            if self._embedder.dim not in (None, asked.size):
                raise ValueError("a vector is not of the dimension that the embedder says")
            vectors = self._vectors_of(self._embedder, candidates.values(), asked.shape)
        except Exception as error:
            if question.mode == "vector":
                raise ServiceError("the embedder failed, so vectors cannot be compared") from error
            logger.warning("the embedder failed (%s); words alone answer", type(error).__name__)
            return {}
        compared = ((one, vectors[record.memory.content]) for one, record in candidates.items())
        return {one: cosine(asked, vector) for one, vector in compared if vector is not None}

    def _vectors_of(
        self, embedder: Embedder, records: Iterable[_Record], shape: tuple[int, ...]
    ) -> dict[str, Vector | None]:
        """Return the vectors of texts, making those that no question needed before."""
        texts = dict.fromkeys(record.memory.content for record in records)
        missing = [text for text in texts if not self._has(text, shape)]
        if missing:
            made = [_as_vector(vector) for vector in embedder.embed_documents(missing)]
            if any(vector is not None and vector.shape != shape for vector in made):
                raise ValueError("the vectors of the embedder differ in their dimension")
            self._vectors.update(zip(missing, made, strict=True))
        return self._vectors

    def _has(self, text: str, shape: tuple[int, ...]) -> bool:
        """Return whether a text has a vector that can be compared with one of a shape, or none."""
        vector = self._vectors.get(text)
        return text in self._vectors if vector is None else vector.shape == shape

    def _fused(
        self, text: str, candidates: dict[int, _Record], cosines: dict[int, float]
    ) -> dict[int, tuple[float, float]]:
        words, ceiling = bm25(text, {one: r.memory.content for one, r in candidates.items()})
        fused = reciprocal_ranks(_best_first(scores) for scores in (words, cosines))
        best = max(fused.values(), default=1.0)
        return {
            one: (
                min(1.0, max(0.0, cosines.get(one, 0.0), words.get(one, 0.0) / (ceiling or 1.0))),
                score / best,
            )
            for one, score in fused.items()
        }


class _DictWrites:
    """Writes on a copy of the state, which takes the state's place when all went well."""

    def __init__(self, state: _State, now: int) -> None:
        self.state = state
        self._now = now

    def put(self, memory: StoredMemory, ttl: float | None = None) -> None:
        self.state.records[memory.id] = _Record(copy.deepcopy(memory), check_ttl(ttl, self._now))

    def delete(self, ids: Sequence[int]) -> None:
        for one in ids:
            self.state.records.pop(one, None)
            self.state.learned.pop(one, None)
            for link in self.state.touching(one):
                del self.state.links[link]

    def link(self, link: Link) -> None:
        self.state.links.setdefault(link)

    def unlink(self, link: Link) -> bool:
        found = link in self.state.links
        self.state.links.pop(link, None)
        return found

    def learn(self, id: int, learned: Learned) -> None:  # noqa: A002 - the name users know
        self.state.learned[id] = learned


def _as_vector(given: object) -> Vector | None:
    vector = np.asarray(given, dtype=np.float32)
    if vector.ndim != 1 or not np.all(np.isfinite(vector)):
        raise ValueError("a vector of the embedder is no list of finite numbers")
    return vector if np.any(vector) else None


def _best_first(scores: dict[int, float]) -> list[int]:
    return [one for one, _ in sorted(scores.items(), key=lambda pair: -pair[1])]
