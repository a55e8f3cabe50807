"""A breadth-first walk over the edges between memories and entities, within bounds.

A filter holds for the whole walk: a memory that fails it is neither met nor walked through.
Entities have no metadata of their own to pass by, so an entity is met from a memory that
mentions it, and from another entity only if some memory that passes mentions it. Otherwise
one tenant's names would lead to another's. Of a node with many edges, the first `max_scanned`
are looked at for the `max_degree` that pass.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, TypeAlias

from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.filters import Filter, parse_filter
from plugmem_core.service.config import ServiceConfig
from plugmem_core.service.fusion import idf
from plugmem_core.service.identity import MENTIONS
from plugmem_core.service.records import EvidencePath, Link
from plugmem_core.service.store import Degree, Direction, MemoryStore, StoredMemory

Course: TypeAlias = Literal["out", "both"]
"""Along the edges only, or against them too."""

_BATCH = 16  # nodes whose edges are read at once; each has up to `max_degree` of them

_DIRECTIONS: dict[Course, tuple[Direction, ...]] = {"out": ("out",), "both": ("out", "in")}


def check_course(value: object) -> Course:
    """Return whether a walk goes along edges only, or against them as well."""
    for course in _DIRECTIONS:
        if value == course:
            return course
    raise InvalidInputError(f'direction is {shown(value)}; give "out" or "both"')


@dataclass(slots=True)
class Met:
    """A node that the walk met: how far from a seed, and by its best shortest path."""

    memory: StoredMemory
    hop: int
    score: float
    by: Link | None = None
    parent: int | None = None


@dataclass(slots=True)
class Walked:
    """What a walk met: nodes in order, seeds first, and the edges between them."""

    nodes: dict[int, Met] = field(default_factory=dict)
    links: dict[Link, None] = field(default_factory=dict)
    truncated: bool = False

    def paths(self) -> tuple[EvidencePath, ...]:
        """Return how each memory beyond the seeds was reached, the best first."""
        found = [
            EvidencePath(tuple(self._steps(met)), met.score)
            for met in self.nodes.values()
            if met.hop and not met.memory.is_entity
        ]
        return tuple(sorted(found, key=lambda path: -path.score))

    def mentioned_by(self) -> dict[int, list[int]]:
        """Return the entities whose edges to a memory the walk met, by memory."""
        found: dict[int, list[int]] = {}
        for link in self.links:
            if link.relation == MENTIONS and self.nodes[link.source].memory.is_entity:
                found.setdefault(link.target, []).append(link.source)
        return found

    def _steps(self, met: Met) -> Iterator[Link]:
        steps = []
        while met.by is not None and met.parent is not None:
            steps.append(met.by)
            met = self.nodes[met.parent]
        return reversed(steps)


def walk(
    store: MemoryStore,
    seeds: Iterable[tuple[StoredMemory, float]],
    hops: int,
    course: Course,
    where: Mapping[str, Any] | None,
    config: ServiceConfig,
) -> Walked:
    """Walk from some memories along edges, the nearest first.

    Args:
        store: Where they are.
        seeds: Memories and their scores.
        hops: Most edges between a node and its nearest seed.
        course: Along the edges, or against them as well.
        where: What every memory met has to pass.
        config: `max_degree`, `max_nodes`, `max_edges` and `path_decay`.

    Returns:
        What it met; `truncated` when a node had more edges, or a bound ended the walk.
    """
    walker = _Walker(store, course, where, config)
    for memory, score in islice(seeds, config.max_nodes):
        walker.walked.nodes.setdefault(memory.id, Met(memory, 0, max(score, 0.0)))
    frontier = list(walker.walked.nodes)
    try:
        for hop in range(1, hops + 1):
            frontier = [
                one
                for start in range(0, len(frontier), _BATCH)
                for one in walker.expand(frontier[start : start + _BATCH], hop)
            ]
    except _BoundReachedError:
        walker.walked.truncated = True
    return walker.walked


def rarities(store: MemoryStore, entities: Sequence[int]) -> dict[int, float]:
    """Return the `idf` of entities."""
    population = store.population()
    found: dict[int, float] = {}
    for start in range(0, len(entities), _BATCH):
        batch = entities[start : start + _BATCH]
        for one, degree in store.neighbours(batch, "out", 1).items():
            found[one] = idf(degree.total, population)
    return found


class _BoundReachedError(Exception):
    """Something would be met beyond a bound; it ends the walk."""


class _Walker:
    def __init__(
        self,
        store: MemoryStore,
        course: Course,
        where: Mapping[str, Any] | None,
        config: ServiceConfig,
    ) -> None:
        self.walked = Walked()
        self._store = store
        self._course = course
        self._filter = None if where is None else parse_filter(where)
        self._config = config
        self._population = store.population()
        self._admitted: dict[int, bool] = {}

    def expand(self, batch: Sequence[int], hop: int) -> list[int]:
        """Follow the edges at some nodes; return the nodes met for the first time."""
        links: dict[int, list[Link]] = {one: [] for one in batch}
        degrees = dict.fromkeys(batch, 0)
        for direction in _DIRECTIONS[self._course]:
            found = self._store.neighbours(batch, direction, self._config.max_degree)
            for one, degree in found.items():
                links[one] += self._near(one, direction, degree)
                if direction == "out":
                    degrees[one] = degree.total
        far = {link.far_end(one) for one in batch for link in links[one]}
        live = self._store.get(sorted(far))
        met: list[int] = []
        for one in batch:
            step = self._config.path_decay * self._through(one, degrees[one])
            for link in links[one]:
                other = live.get(link.far_end(one))
                if other is not None and self._follow(link, one, other, hop, step):
                    met.append(other.id)
        return met

    def _near(self, one: int, direction: Direction, degree: Degree) -> Sequence[Link]:
        """Return the edges to follow at a node: the first `max_degree`, of those that pass."""
        most = self._config.max_degree
        if degree.total <= most:
            return degree.links
        if self._filter is None:
            self.walked.truncated = True
            return degree.links
        # What fails must not use up the bound, or one tenant's memories hide another's.
        scanned = self._config.max_scanned
        [whole] = self._store.neighbours([one], direction, scanned).values()
        passing = list(islice(self._passing(one, whole.links), most + 1))
        self.walked.truncated |= len(passing) > most or whole.total > scanned
        return passing[:most]

    def _passing(self, one: int, links: Sequence[Link]) -> Iterator[Link]:
        """Yield the edges at a node that lead to what the walk has met, or may meet."""
        origin, met = self.walked.nodes[one].memory, self.walked.nodes
        far = self._read([link.far_end(one) for link in links])
        for link, other in zip(links, far, strict=True):
            if other is not None and (other.id in met or self._admits(origin, other)):
                yield link

    def _read(self, ids: Sequence[int]) -> Iterator[StoredMemory | None]:
        """Yield nodes in order, read a few at a time."""
        for start in range(0, len(ids), self._config.max_degree):
            chunk = ids[start : start + self._config.max_degree]
            live = self._store.get(chunk)
            yield from map(live.get, chunk)

    def _follow(self, link: Link, origin: int, other: StoredMemory, hop: int, step: float) -> bool:
        """Take an edge; return whether it led to a node for the first time."""
        nodes, links = self.walked.nodes, self.walked.links
        start = nodes[origin]
        if link not in links:
            if other.id not in nodes and not self._admits(start.memory, other):
                return False
            if len(links) == self._config.max_edges:
                raise _BoundReachedError
        score = start.score * step
        known = nodes.get(other.id)
        if known is None:
            if len(nodes) == self._config.max_nodes:
                raise _BoundReachedError
            nodes[other.id] = Met(other, hop, score, link, origin)
        elif known.hop == hop and score > known.score:
            known.score, known.by, known.parent = score, link, origin
        links.setdefault(link)
        return known is None

    def _through(self, one: int, degree: int) -> float:
        """Return what is left of a score on the way through a node, besides the decay."""
        is_entity = self.walked.nodes[one].memory.is_entity
        return idf(degree, self._population) if is_entity else 1.0

    def _admits(self, origin: StoredMemory, other: StoredMemory) -> bool:
        if self._filter is None:
            return True
        if not other.is_entity:
            return self._filter.matches(other.metadata)
        return not origin.is_entity or self._is_mentioned(other, self._filter)

    def _is_mentioned(self, entity: StoredMemory, passing: Filter) -> bool:
        if entity.id not in self._admitted:
            scanned = self._config.max_scanned
            [near] = self._store.neighbours([entity.id], "out", scanned).values()
            mentions = [link.target for link in near.links if link.relation == MENTIONS]
            self._admitted[entity.id] = any(
                memory is not None and not memory.is_entity and passing.matches(memory.metadata)
                for memory in self._read(mentions)
            )
        return self._admitted[entity.id]
