"""`MemoryStore`: what the service asks of a store, and the records that pass between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from plugmem_core.clock import Clock
from plugmem_core.context import ValueStore
from plugmem_core.embed import Embedder
from plugmem_core.model import Namespace, VectorSpace
from plugmem_core.service.config import Mode
from plugmem_core.service.records import Link

Direction: TypeAlias = Literal["out", "in"]


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A node: a memory, or an entity that memories mention.

    Attributes:
        id: Its id; memories and entities share one space of ids.
        content: The text.
        metadata: Its keys and the date, or the attributes of an entity.
        is_entity: Which of the two it is.
    """

    id: int
    content: str
    metadata: dict[str, Any]
    is_entity: bool = False


class Learned(NamedTuple):
    """What feedback taught about a memory."""

    confidence: float = 0.5
    successes: int = 0
    failures: int = 0


class Degree(NamedTuple):
    """The edges at a node in one direction, oldest first, and how many there are."""

    links: tuple[Link, ...]
    total: int


class Counts(NamedTuple):
    """How much there is."""

    facts: int
    entities: int
    edges: int


@dataclass(frozen=True, slots=True)
class Question:
    """What to look for.

    Attributes:
        text: The question.
        k: Most memories to return; no entities.
        where: A filter over metadata, acting before ranking; `None` for none.
        mode: What ranks.
        min_score: The least `Hit.score`; `None` for no floor.
    """

    text: str
    k: int
    where: Mapping[str, Any] | None
    mode: Mode
    min_score: float | None = None


class Hit(NamedTuple):
    """A memory found.

    Attributes:
        memory: It.
        score: The cosine in mode `"vector"`, the relevance from 0 to 1 in mode `"fused"`.
        rank_score: What hits are ordered by, never growing down the list: the cosine, or
            the fused score as a share of the best one.
    """

    memory: StoredMemory
    score: float
    rank_score: float


class Writes(Protocol):
    """The writes of one transaction."""

    def put(self, memory: StoredMemory, ttl: float | None = None) -> None:
        """Store a node, or replace what has its id; without `ttl` seconds it is for ever."""

    def delete(self, ids: Sequence[int]) -> None:
        """Remove nodes, expired ones too, with their edges and what was learned of them."""

    def link(self, link: Link) -> None:
        """Add an edge; one that is there stays as it is."""

    def unlink(self, link: Link) -> bool:
        """Remove an edge; `False` when there was none."""

    def learn(self, id: int, learned: Learned) -> None:  # noqa: A002 - the name users know
        """Store what feedback taught."""


@runtime_checkable
class MemoryStore(Protocol):
    """Where the service keeps its memories.

    What has expired is nowhere to be seen. Reading inside a transaction finds what was
    there before it.
    """

    @property
    def clock(self) -> Clock:
        """What tells now, in Unix milliseconds."""

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors; mode `"vector"` needs one."""

    @property
    def vector_space(self) -> VectorSpace | None:
        """Which vectors are stored; `None` where there are none."""

    @property
    def values(self) -> ValueStore:
        """Where an agent's contexts are kept, beside its memories."""

    @property
    def namespace(self) -> Namespace:
        """The scope of those values."""

    def transaction(self) -> AbstractContextManager[Writes]:
        """Write all that the block writes, or nothing; nobody else writes meanwhile.

        No embedder is called inside: vectors are made when they are needed, or afterwards.
        """

    def get(self, ids: Iterable[int]) -> dict[int, StoredMemory]:
        """Return nodes by id; unknown ones are left out."""

    def ids(self, after: int) -> Iterator[int]:
        """Yield the ids of nodes beyond one, ascending; -1 begins."""

    def search(self, question: Question) -> list[Hit]:
        """Return the memories that answer a question, best first.

        Raises:
            ServiceError: The mode needs the question's vector, and the embedder failed.
        """

    def neighbours(self, ids: Sequence[int], direction: Direction, limit: int) -> dict[int, Degree]:
        """Return the edges that start or end at nodes, at most `limit` of each."""

    def links(self, id: int) -> list[Link]:  # noqa: A002 - the name users know
        """Return every edge that touches a node, oldest first."""

    def learned(self, ids: Iterable[int]) -> dict[int, Learned]:
        """Return what feedback taught; nodes without any are left out."""

    def population(self) -> int:
        """Return how many nodes there are."""

    def counts(self) -> Counts:
        """Return how much there is."""

    def close(self) -> None:
        """Let go of what is open."""
