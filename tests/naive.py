"""A memory of dicts and lists: what the verbs mean, in the plainest way, with no index at all."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from plugmem_core import ClosedFactError, InvalidInputError, Namespace, NotFoundError, PlugmemError

FOREVER = 1 << 62

T = TypeVar("T", bound=Hashable)


@dataclass
class NaiveFact:
    """A fact and everything that ever happened to it; `fields` are what `get` shows."""

    id: int
    text: str
    entity: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    key: str | None
    namespace: Namespace
    recorded_at: int
    valid_from: int
    expires_at: int | None
    revises: int | None
    valid_to: int | None = None
    closed_at: int | None = None
    forgotten: bool = False
    purged: bool = False


@dataclass
class NaiveEdge:
    """One version of an edge between two entity keys."""

    src: str
    relation: str
    dst: str
    provenance: int | None
    namespace: Namespace
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


@dataclass
class NaiveMemory:
    """The verbs over plain lists; `now` is set from outside."""

    now: int
    facts: list[NaiveFact] = field(default_factory=list)
    edges: list[NaiveEdge] = field(default_factory=list)
    names: dict[tuple[Namespace, str], str] = field(default_factory=dict)

    # -- writing

    def remember(
        self,
        text: str,
        *,
        entity: str | None,
        tags: tuple[str, ...],
        metadata: dict[str, Any],
        key: str | None,
        namespace: Namespace,
        valid_from: int | None,
        ttl: int | None,
    ) -> tuple[int, str]:
        subject = entity and entity.lower()
        expires_at = None if ttl is None else self.now + 1_000 * ttl
        new = NaiveFact(
            len(self.facts), text, subject, tags, metadata, key, namespace,
            self.now, self.now if valid_from is None else valid_from, expires_at, None,
        )  # fmt: skip
        held = self._held(new)
        if held is None:
            self._name(namespace, entity)
            self.facts.append(new)
            return new.id, "created"
        given = (text, subject, tags, metadata)
        if key is None:
            given = (text, subject, tags or held.tags, metadata or held.metadata)
        if given == (held.text, held.entity, held.tags, held.metadata):
            held.expires_at = expires_at
            return held.id, "unchanged"
        _, new.entity, new.tags, new.metadata = given
        self._supersede(held, new, valid_from)
        self._name(namespace, entity)
        return new.id, "revised"

    def revise(self, fact_id: int, valid_from: int | None, ttl: int | None, **changes: Any) -> int:
        held = self._visible(fact_id)
        if held.valid_to is not None:
            raise ClosedFactError
        entity = changes.get("entity")
        if entity is not None:
            changes["entity"] = entity.lower()
        new = replace(
            held,
            id=len(self.facts),
            recorded_at=self.now,
            valid_from=self.now if valid_from is None else valid_from,
            expires_at=held.expires_at if ttl is None else self.now + 1_000 * ttl,
            **changes,
        )
        self._supersede(held, new, valid_from)
        self._name(held.namespace, entity)
        return new.id

    def forget(self, fact_id: int) -> bool:
        fact = self._stored(fact_id)
        known, fact.forgotten = fact.forgotten, True
        return not known

    def end(self, fact_id: int, valid_to: int | None) -> None:
        fact = self._visible(fact_id)
        if fact.valid_to is not None:
            raise ClosedFactError
        latest = max(self.now, fact.valid_from)
        at = latest if valid_to is None else valid_to
        if not fact.valid_from <= at <= latest:
            raise InvalidInputError
        fact.valid_to, fact.closed_at = at, self.now

    def set_ttl(self, ids: list[int], ttl: int | None, *, namespace: Namespace) -> int:
        found = [f for f in self.shown() if f.id in ids and _within(f.namespace, namespace)]
        for fact in found:
            fact.expires_at = None if ttl is None else self.now + 1_000 * ttl
        return len(found)

    def write(
        self,
        remember: list[dict[str, Any]],
        forget: list[tuple[Namespace, str]],
        end: list[tuple[Namespace, str]],
    ) -> list[tuple[int, str]]:
        before = deepcopy((self.facts, self.names))
        try:
            for fact in self.facts:
                place = fact.namespace, fact.key
                fact.forgotten = fact.forgotten or (place in forget and not fact.purged)
            for fact in self.facts:
                place = fact.namespace, fact.key
                if place in end and fact.valid_to is None and not fact.purged:
                    fact.valid_to, fact.closed_at = max(self.now, fact.valid_from), self.now
            return [self.remember(**one) for one in remember]
        except PlugmemError:
            self.facts, self.names = before
            raise

    def link(
        self,
        src: str,
        relation: str,
        dst: str,
        *,
        provenance: int | None,
        valid_from: int | None,
        namespace: Namespace,
    ) -> None:
        if provenance is not None and not _within(self._visible(provenance).namespace, namespace):
            raise NotFoundError
        self._name(namespace, src)
        self._name(namespace, dst)
        since = self.now if valid_from is None else valid_from
        standing = self._open_edge(src, relation, dst, namespace)
        if standing is not None:
            if standing.provenance == provenance and valid_from in (None, standing.valid_from):
                return
            standing.valid_to = max(since, standing.valid_from)
        self.edges.append(
            NaiveEdge(src.lower(), relation, dst.lower(), provenance, namespace, self.now, since)
        )

    def unlink(self, src: str, relation: str, dst: str, *, namespace: Namespace) -> bool:
        standing = self._open_edge(src, relation, dst, namespace)
        if standing is not None:
            standing.valid_to = max(self.now, standing.valid_from)
        return standing is not None

    def retag(self, tag: str, new: str | None, *, namespace: Namespace) -> int:
        targets = [
            fact
            for fact in self.current()
            if tag in fact.tags and _within(fact.namespace, namespace)
        ]
        for fact in targets:
            renamed = [new if one == tag else one for one in fact.tags]
            tags = tuple(dict.fromkeys(one for one in renamed if one is not None))
            successor = replace(
                fact, id=len(self.facts), tags=tags, recorded_at=self.now, valid_from=self.now
            )
            self._supersede(fact, successor, None)
        return len(targets)

    def maintain(self) -> int:
        doomed = [
            fact for fact in self.facts if not fact.purged and (fact.forgotten or self._late(fact))
        ]
        for fact in doomed:
            fact.purged = True
            for successor in self.facts:
                if successor.revises == fact.id:
                    successor.revises = fact.revises
        return len(doomed)

    # -- reading

    def shown(self) -> Iterator[NaiveFact]:
        """Facts that `get` returns."""
        return (f for f in self.facts if not f.purged and not f.forgotten and not self._late(f))

    def current(self) -> Iterator[NaiveFact]:
        return (fact for fact in self.shown() if fact.valid_to is None)

    def list_facts(self, view: View, test: Callable[[NaiveFact], bool]) -> list[int]:
        return [fact.id for fact in self.shown() if self._admits(view, fact) and test(fact)]

    def history(self, fact_id: int) -> list[int]:
        chain = {fact_id}
        for _ in self.facts:
            chain |= {f.id for f in self.facts if not f.purged and f.revises in chain}
            chain |= {f.revises for f in self.facts if f.id in chain and f.revises is not None}
        return sorted(chain & {fact.id for fact in self.shown()})

    def tags(self) -> dict[str, int]:
        return count(tag for fact in self.current() for tag in fact.tags)

    def namespaces(self, scope: Namespace) -> dict[Namespace, int]:
        return count(f.namespace for f in self.current() if _within(f.namespace, scope))

    def edges_at(self, at: int | None) -> list[NaiveEdge]:
        instant = self.now if at is None else at
        return [
            edge
            for edge in self.edges
            if edge.valid_from <= instant < (FOREVER if edge.valid_to is None else edge.valid_to)
            and (at is None or edge.recorded_at <= at)
        ]

    # -- rules

    def _held(self, new: NaiveFact) -> NaiveFact | None:
        for fact in self.facts:
            if fact.purged or fact.forgotten or fact.valid_to is not None:
                continue
            if fact.namespace != new.namespace or fact.key != new.key:
                continue
            if self._late(fact):
                if new.key is not None:
                    fact.valid_to = fact.closed_at = fact.expires_at
            elif new.key is not None or (fact.text, fact.entity) == (new.text, new.entity):
                return fact
        return None

    def _supersede(self, old: NaiveFact, new: NaiveFact, valid_from: int | None) -> None:
        if valid_from is not None and valid_from < old.valid_from:
            raise InvalidInputError
        old.valid_to = max(new.valid_from, old.valid_from)
        old.closed_at = self.now
        new.revises = old.id
        self.facts.append(new)

    def _admits(self, view: View, fact: NaiveFact) -> bool:
        valid_at = next(t for t in (view.as_of, view.valid_at, self.now) if t is not None)
        known_at = next(t for t in (view.as_of, view.known_at, FOREVER) if t is not None)
        if not _within(fact.namespace, view.namespace) or self._late(fact, valid_at):
            return False
        if fact.recorded_at > known_at or fact.valid_from > valid_at:
            return False
        ended = fact.valid_to is not None and fact.valid_to <= valid_at
        if view.known_at is not None and ended and (fact.closed_at or 0) > view.known_at:
            ended = False  # nobody knew of the end yet
        return view.closed or not ended

    def _late(self, fact: NaiveFact, at: int = 0) -> bool:
        return fact.expires_at is not None and fact.expires_at <= max(self.now, at)

    def _stored(self, fact_id: int) -> NaiveFact:
        if fact_id >= len(self.facts) or self.facts[fact_id].purged:
            raise NotFoundError
        return self.facts[fact_id]

    def _visible(self, fact_id: int) -> NaiveFact:
        fact = self._stored(fact_id)
        if fact.forgotten or self._late(fact):
            raise NotFoundError
        return fact

    def _open_edge(
        self, src: str, relation: str, dst: str, namespace: Namespace
    ) -> NaiveEdge | None:
        wanted = (src.lower(), relation, dst.lower(), namespace, None)
        for edge in self.edges:
            if (edge.src, edge.relation, edge.dst, edge.namespace, edge.valid_to) == wanted:
                return edge
        return None

    def _name(self, namespace: Namespace, name: str | None) -> None:
        if name is not None:
            self.names.setdefault((namespace, name.lower()), name)


def count(things: Iterable[T]) -> dict[T, int]:
    counts: dict[T, int] = {}
    for thing in things:
        counts[thing] = counts.get(thing, 0) + 1
    return counts


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _within(namespace: Namespace, scope: Namespace) -> bool:
    return namespace[: len(scope)] == scope
