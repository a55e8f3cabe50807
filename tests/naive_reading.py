"""What a naive memory holds, and the verbs that read it."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from plugmem_core import (
    Edge,
    Entity,
    Fact,
    Namespace,
    NamespaceCount,
    Neighbours,
    NotFoundError,
    Similar,
    Tag,
)

FOREVER = 1 << 62
PENDING: Literal["pending"] = "pending"

Vector: TypeAlias = tuple[float, ...] | Literal["pending"] | None


@dataclass(eq=False)
class NaiveEntity:
    """A node; every fact and edge about it holds this very object."""

    name: str
    namespace: Namespace
    aliases: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.name.lower()


@dataclass(eq=False)
class NaiveFact:
    """A fact and everything that ever happened to it."""

    id: int
    text: str
    entity: NaiveEntity | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    key: str | None
    namespace: Namespace
    recorded_at: int
    valid_from: int
    expires_at: int | None
    revises: int | None
    vector: Vector = None
    valid_to: int | None = None
    closed_at: int | None = None
    forgotten: bool = False
    purged: bool = False
    named: "list[NaiveEntity] | None" = field(default=None, init=False)  # once it is written

    def said(self) -> tuple[Any, ...]:
        return self.text, self.entity, self.tags, self.metadata


@dataclass(eq=False)
class NaiveEdge:
    """One version of an edge."""

    id: int
    src: NaiveEntity
    relation: str
    dst: NaiveEntity
    provenance: int | None
    properties: dict[str, Any]
    recorded_at: int
    valid_from: int
    valid_to: int | None = None


@dataclass
class View:
    """Where a reader looks from; the arguments of `list_facts`."""

    valid_at: int | None = None
    known_at: int | None = None
    as_of: int | None = None
    closed: bool = False
    namespace: Namespace = ()


class NaiveReading:
    """The state, and the verbs that read; `now` is set from outside.

    Args:
        now: Unix milliseconds.
        embedder: Gives the vector of a text; `None` leaves vectors to callers.
    """

    def __init__(
        self, now: int, embedder: Callable[[str], tuple[float, ...]] | None = None
    ) -> None:
        self.now = now
        self.embedder = embedder
        self.embedder_works = True
        self.facts: list[NaiveFact] = []
        self.edge_versions: list[NaiveEdge] = []
        self.nodes: list[NaiveEntity] = []
        self.values: dict[tuple[Namespace, str], dict[str, Any]] = {}
        self.edges_made = 0
        self.has_space = False
        self.within_transaction = False
        self.owes_vectors = False

    # -- facts

    def stored(self) -> Iterator[NaiveFact]:
        """Facts that have a row, forgotten ones too."""
        return (fact for fact in self.facts if not fact.purged)

    def seen(self) -> Iterator[NaiveFact]:
        """Facts that `get` returns."""
        return (fact for fact in self.stored() if not fact.forgotten and not self.late(fact))

    def current(self) -> Iterator[NaiveFact]:
        return (fact for fact in self.seen() if fact.valid_to is None)

    def get_many(self, ids: Iterable[int], *, namespace: Namespace = ()) -> list[Fact | None]:
        found = {f.id: self.shown(f) for f in self.seen() if within(f.namespace, namespace)}
        return [found.get(fact) for fact in ids]

    def history(self, fact: int) -> list[int]:
        seen = {one.id for one in self.seen()}
        return [version for version in self.whole_chain(fact) if version in seen]

    def list_facts(
        self, view: View, test: Callable[[NaiveFact], bool] = lambda _: True
    ) -> list[int]:
        return [fact.id for fact in self.seen() if self._admits(view, fact) and test(fact)]

    def vectors(self, ids: Iterable[int]) -> list[tuple[float, ...] | None]:
        found = {f.id: f.vector for f in self.seen() if f.vector != PENDING}
        return [found.get(fact) for fact in ids]

    def tags(self, namespace: Namespace = ()) -> list[Tag]:
        inside = [f for f in self.current() if within(f.namespace, namespace)]
        names = sorted({tag for fact in inside for tag in fact.tags})
        return [Tag(name, sum(name in fact.tags for fact in inside)) for name in names]

    def namespaces(self, scope: Namespace) -> list[NamespaceCount]:
        places = [f.namespace for f in self.current() if within(f.namespace, scope)]
        return [NamespaceCount(place, places.count(place)) for place in sorted(set(places))]

    def keys(self, namespace: Namespace) -> list[str]:
        return sorted(f.key for f in self.current() if f.namespace == namespace and f.key)

    def similar(
        self, text: str, vector: Vector, entity: NaiveEntity | None, before: int | None
    ) -> tuple[Similar, ...]:
        """Facts with over half of the words in common, or the same vector; scores by words."""
        about = [f for f in self.stored() if f.entity is entity and entity is not None]
        recent = [f for f in about if before is None or f.id < before][-32:]
        shares = {f.id: _share(text, f.text) for f in recent if f in list(self.current())}
        alike = {f.id for f in recent if vector not in (None, PENDING) and f.vector == vector}
        return tuple(
            Similar(fact, share, "lexical")
            for fact, share in shares.items()
            if share > 0.5 or fact in alike
        )

    def absence(self, number: int, tag: str, namespace: Namespace) -> str:
        """Why a fact is not among all facts with a tag."""
        fact = self.row(number, namespace)
        if fact.forgotten:
            return "forgotten"
        if tag not in fact.tags:
            return "not in scope"
        if self.late(fact):
            return "expired"
        if fact.valid_from > self.now:
            return "not yet valid"
        return "no longer valid" if (fact.valid_to or FOREVER) <= self.now else "present"

    # -- entities, edges, values

    def entities(self, namespace: Namespace = ()) -> list[Entity]:
        return [
            Entity(
                one.name,
                one.key,
                tuple(sorted(one.aliases.values())),
                one.namespace,
                sum(fact.entity is one for fact in self.current()),
            )
            for one in sorted(self.nodes, key=lambda one: one.name)
            if within(one.namespace, namespace)
        ]

    def edges(
        self,
        entity: str | None = None,
        *,
        as_of: int | None = None,
        history: bool = False,
        namespace: Namespace = (),
    ) -> list[Edge]:
        at = self.now if as_of is None else as_of
        return [
            self.as_edge(edge)
            for edge in self.edge_versions
            if within(edge.src.namespace, namespace)
            and (entity is None or _leads(entity, edge.src) or _leads(entity, edge.dst))
            and (history or edge.valid_from <= at < (edge.valid_to or FOREVER))
            and (as_of is None or edge.recorded_at <= as_of)
        ]

    def neighbours(self, name: str, direction: str, limit: int, namespace: Namespace) -> Neighbours:
        entity = self.find(name, namespace)
        found = [
            self.as_edge(edge)
            for edge in self.edge_versions
            if (edge.src if direction == "out" else edge.dst) is entity
            and edge.valid_to is None
            and edge.valid_from <= self.now
        ]
        return Neighbours(tuple(found[:limit]), len(found))

    def counts(self) -> dict[str, int]:
        """What `stats` counts, but for sizes."""
        rows = list(self.stored())
        return {
            "facts": len(rows),
            "current": sum(f.valid_to is None and not f.forgotten for f in rows),
            "forgotten": sum(f.forgotten for f in rows),
            "entities": len(self.nodes),
            "edges": sum(edge.valid_to is None for edge in self.edge_versions),
            "edge_versions": len(self.edge_versions),
            "tags": len(self.tags()),
            "mentions": sum(len(self.mentions_of(fact)) for fact in rows),
            "terms": len({word for fact in rows for word in words(fact.text)}),
            "vectors": sum(f.vector not in (None, PENDING) for f in rows),
            "pending": sum(f.vector == PENDING and not f.forgotten for f in rows),
        }

    # -- finding

    def late(self, fact: NaiveFact, at: int = 0) -> bool:
        return fact.expires_at is not None and fact.expires_at <= max(self.now, at)

    def is_row(self, fact: int, namespace: Namespace) -> bool:
        there = fact < len(self.facts) and not self.facts[fact].purged
        return there and within(self.facts[fact].namespace, namespace)

    def row(self, fact: int, namespace: Namespace) -> NaiveFact:
        if not self.is_row(fact, namespace):
            raise NotFoundError
        return self.facts[fact]

    def visible(self, number: int, namespace: Namespace) -> NaiveFact:
        fact = self.row(number, namespace)
        if fact.forgotten or self.late(fact):
            raise NotFoundError
        return fact

    def whole_chain(self, fact: int) -> list[int]:
        """Every version that has a row, oldest first."""
        chain = [fact]
        while (before := self.facts[chain[0]].revises) is not None:
            chain.insert(0, before)
        successors = {one.revises: one.id for one in self.stored()}
        while chain[-1] in successors:
            chain.append(successors[chain[-1]])
        return chain

    def find(self, name: str | None, namespace: Namespace) -> NaiveEntity | None:
        for entity in self.nodes:
            if name is not None and entity.namespace == namespace and _leads(name, entity):
                return entity
        return None

    def known(self, name: str, namespace: Namespace) -> NaiveEntity:
        entity = self.find(name, namespace)
        if entity is None:
            raise NotFoundError
        return entity

    def is_about(self, fact: NaiveFact, name: str) -> bool:
        return fact.entity is not None and _leads(name, fact.entity)

    def mentions_of(self, fact: NaiveFact) -> list[NaiveEntity]:
        return [one for one in fact.named or [] if one in self.nodes]

    def is_mentioned(self, fact: NaiveFact, name: str) -> bool:
        return any(_leads(name, entity) for entity in self.mentions_of(fact))

    # -- forms

    def shown(self, fact: NaiveFact) -> Fact:
        return Fact(
            fact.id, fact.text, fact.entity and fact.entity.name, fact.tags, fact.metadata,
            fact.key, fact.namespace, fact.recorded_at, fact.valid_from, fact.valid_to,
            fact.expires_at, fact.revises,
        )  # fmt: skip

    def as_edge(self, edge: NaiveEdge) -> Edge:
        return Edge(
            edge.id, edge.src.name, edge.relation, edge.dst.name, edge.provenance,
            edge.properties, edge.src.namespace, edge.recorded_at, edge.valid_from, edge.valid_to,
        )  # fmt: skip

    def _admits(self, view: View, fact: NaiveFact) -> bool:
        valid_at = next(t for t in (view.as_of, view.valid_at, self.now) if t is not None)
        known_at = next(t for t in (view.as_of, view.known_at, FOREVER) if t is not None)
        if not within(fact.namespace, view.namespace) or self.late(fact, valid_at):
            return False
        if fact.recorded_at > known_at or fact.valid_from > valid_at:
            return False
        ended = fact.valid_to is not None and fact.valid_to <= valid_at
        if view.known_at is not None and ended and (fact.closed_at or 0) > view.known_at:
            ended = False  # nobody knew of the end yet
        return view.closed or not ended


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def within(namespace: Namespace, scope: Namespace) -> bool:
    return namespace[: len(scope)] == scope


def _leads(name: str, entity: NaiveEntity) -> bool:
    return name.lower() == entity.key or name.lower() in entity.aliases


def _share(one: str, other: str) -> float:
    return len(words(one) & words(other)) / len(words(one) | words(other))
