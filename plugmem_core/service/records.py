"""What the service gives back: plain frozen records, and their form in JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from plugmem_core.model import Listed, VectorSpace


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory that answers a question.

    Attributes:
        id: Its id.
        score: How well it answers: in mode `"vector"` the cosine, in mode `"fused"` its
            relevance from 0 to 1 (the cosine or the share of the most that its words could
            score, whichever is larger); 0 when only the graph led to it.
        content: The text.
        metadata: The caller's keys and the date; `None` when there are none.
        rank_score: What the answer is ordered by, before feedback: the cosine, the place in
            the fused ranking, or what `recall_fused` made of either and the graph.
        graph: The weight of what led to it in the graph, from 0 to 1.
        confidence: What feedback made of it, from 0 to 1; 0.5 without any.
    """

    id: int
    score: float
    content: str
    metadata: dict[str, Any] | None
    rank_score: float = 0.0
    graph: float = 0.0
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class DatedRecall(Listed[RecalledMemory]):
    """An answer with its timeline; iterates over the memories.

    Attributes:
        memories: Best first.
        dated_context: One line a memory, oldest first, undated ones last.
        now: The latest day among them in ISO form; `None` when nothing is dated.
    """

    memories: tuple[RecalledMemory, ...]
    dated_context: str
    now: str | None

    @property
    def _items(self) -> tuple[RecalledMemory, ...]:
        return self.memories


@dataclass(frozen=True, slots=True)
class ListedMemory:
    """A memory as a listing shows it.

    Attributes:
        id: Its id.
        content: The text.
        metadata: The caller's keys and the date, or the attributes of an entity; `None` when
            there are none.
        is_entity: Whether it stands for an entity.
    """

    id: int
    content: str
    metadata: dict[str, Any] | None
    is_entity: bool = False


@dataclass(frozen=True, slots=True)
class MemoryPage(Listed[ListedMemory]):
    """One page of a listing; pass `next_cursor` to get the next. Iterates over the memories."""

    memories: tuple[ListedMemory, ...]
    next_cursor: str | None

    @property
    def _items(self) -> tuple[ListedMemory, ...]:
        return self.memories


@dataclass(frozen=True, slots=True)
class Link:
    """A directed, labelled edge between two memories or entities, by their ids."""

    source: int
    target: int
    relation: str

    def far_end(self, near: int) -> int:
        """Return the end that is not `near`."""
        return self.target if self.source == near else self.source


@dataclass(frozen=True, slots=True)
class EvidenceNode:
    """A memory or an entity that a walk met.

    Attributes:
        id: Its id.
        content: The text.
        hop: How many edges away from the nearest seed it is.
        score: That of the best of its shortest paths; see `Evidence`.
        is_entity: Whether it stands for an entity.
    """

    id: int
    content: str
    hop: int
    score: float
    is_entity: bool


@dataclass(frozen=True, slots=True)
class EvidencePath:
    """How a walk came from a seed to a memory: the edges in the order walked, and a score."""

    links: tuple[Link, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `why` found.

    The score of a path is `max(score of the seed, 0) · decay^edges · Π idf`, with one `idf`
    for every entity that the path goes through: `ln(N / edges that start there) / ln N`, where
    `N` counts memories and entities. So near evidence beats far, and rare entities beat
    those that everything mentions.

    Attributes:
        nodes: In the order met, seeds first.
        links: Every edge met between them.
        paths: One for each memory found beyond the seeds, the best first.
        truncated: Whether a limit left anything out.
    """

    nodes: tuple[EvidenceNode, ...] = ()
    links: tuple[Link, ...] = ()
    paths: tuple[EvidencePath, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """One edge of an entity: its label, and the other end."""

    predicate: str
    id: int
    content: str


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """What is known of an entity.

    Attributes:
        found: Whether there is such an entity.
        id: Its id; 0 when there is none.
        name: The name asked for, in its one spelling.
        attributes: What was said of it.
        relations: Edges that start at it, except to what mentions it.
        relations_in: Edges that end at it, except from what is about it.
        relations_truncated: Whether there are more edges that start at it.
        relations_in_truncated: Whether there are more that end at it.
    """

    found: bool
    id: int
    name: str
    attributes: dict[str, Any] = field(default_factory=dict)
    relations: tuple[EntityRelation, ...] = ()
    relations_in: tuple[EntityRelation, ...] = ()
    relations_truncated: bool = False
    relations_in_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Unrelated:
    """What `unrelate` did: whether there was such an edge, and how many were removed."""

    found: bool
    removed: int


@dataclass(frozen=True, slots=True)
class Extracted:
    """What `remember_extracted` did.

    Attributes:
        ids: The memories, in the order of extraction.
        skipped_over_cap: Extracted facts that were too long to be stored.
        dropped: Topics, relations and attributes that broke a rule.
    """

    ids: tuple[int, ...]
    skipped_over_cap: int
    dropped: int


@dataclass(frozen=True, slots=True)
class EmbedderStatus:
    """The embedder: its model, its dimension, and whether it knows meaning or only words."""

    model: str
    dimension: int | None
    semantic: bool


@dataclass(frozen=True, slots=True)
class ExtractionStatus:
    """How extraction stands in this process.

    Attributes:
        configured: Whether there is an extractor.
        autograph_active: Whether `remember` uses it.
        autograph_dropped: Topics, relations and attributes that broke a rule.
        autograph_failed: Memories that were stored without their graph.
    """

    configured: bool
    autograph_active: bool
    autograph_dropped: int
    autograph_failed: int


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What `memory_status` reports.

    Attributes:
        embedder: The embedder; `None` without one.
        extraction: The extractor and its failures.
        facts: Memories that have not expired.
        entities: Entities.
        edges: Edges, those of expired memories included.
        vectors: Which vectors are stored, by what made them; `None` while there are none, or
            where they are made anew when they are needed.
    """

    embedder: EmbedderStatus | None
    extraction: ExtractionStatus
    facts: int
    entities: int
    edges: int
    vectors: VectorSpace | None = None


_IDS = ("id", "ids", "source", "target")


def to_json(record: Any) -> Any:
    """Return a record of the service as plain JSON values.

    Ids exceed what JSON clients can hold as numbers, so each has a twin in text, such as `id_str`.

    >>> to_json(Link(1, 2, "causes"))["target_str"]
    '2'
    """
    if is_dataclass(record):
        plain = {one.name: to_json(getattr(record, one.name)) for one in fields(record)}
        return plain | {f"{name}_str": _as_text(plain[name]) for name in _IDS if name in plain}
    if isinstance(record, Mapping):
        return {key: to_json(value) for key, value in record.items()}
    if isinstance(record, Sequence) and not isinstance(record, str):
        return [to_json(value) for value in record]
    return record


def _as_text(value: int | list[int]) -> str | list[str]:
    return str(value) if isinstance(value, int) else [str(one) for one in value]
