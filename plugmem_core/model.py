"""The nouns: what a memory gives back.

Facts and edges are named tuples, the cheapest immutable records Python has: a
recall builds one per hit. Reports that are built once a call are dataclasses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from plugmem_core.clock import to_datetime

Namespace: TypeAlias = tuple[str, ...]
"""The labels of a scope, outermost first; `()` is the root and sees everything."""

Metadata: TypeAlias = dict[str, Any]
"""A JSON object."""

RESERVED = "_plugmem_"
"""How the metadata keys, tags and keys begin that are the package's own."""

SOURCES = ("bm25", "vector", "graph", "time")
"""The ranked sources, in the order in which they are fused."""


class _Instants:
    """The times of a record as aware `datetime` objects, and its state."""

    __slots__ = ()

    recorded_at: int
    valid_from: int
    valid_to: int | None

    @property
    def recorded_time(self) -> datetime:
        """When the memory learned it."""
        return to_datetime(self.recorded_at)

    @property
    def valid_from_time(self) -> datetime:
        """When it became true."""
        return to_datetime(self.valid_from)

    @property
    def valid_to_time(self) -> datetime | None:
        """When it stopped being true; `None` while it holds."""
        return None if self.valid_to is None else to_datetime(self.valid_to)

    @property
    def is_current(self) -> bool:
        """Whether nothing has superseded it."""
        return self.valid_to is None


class _FactFields(NamedTuple):
    id: int
    text: str
    entity: str | None
    tags: tuple[str, ...]
    metadata: Metadata
    key: str | None
    namespace: Namespace
    recorded_at: int
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    revises: int | None


class Fact(_Instants, _FactFields):
    """One fact, as stored.

    Attributes:
        id: Given once, never reused.
        text: What was remembered, verbatim.
        entity: The subject's display name, if it has one.
        tags: In the order given.
        metadata: The JSON object given; a fresh copy, yours to change.
        key: The caller's own id, if one was given.
        namespace: The scope it lives in.
        recorded_at: When the memory learned it, in Unix milliseconds.
        valid_from: When it became true.
        valid_to: When it stopped being true; `None` while it holds.
        expires_at: When it disappears, if a `ttl` was given.
        revises: The id of the fact it superseded.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_table([fact_row(self)])


class _RecalledFields(NamedTuple):
    id: int
    text: str
    entity: str | None
    tags: tuple[str, ...]
    metadata: Metadata
    key: str | None
    namespace: Namespace
    recorded_at: int
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    revises: int | None
    score: float
    sources: tuple[str, ...]


class RecalledFact(_Instants, _RecalledFields):
    """A fact as a recall returns it: the fields of `Fact`, and why it is here.

    Attributes:
        score: The fused score; higher is better. See `RecallResult.explanation`.
        sources: Which sources found it, among `"bm25"`, `"vector"`, `"graph"`, `"time"`.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_table([fact_row(self) | {"score": f"{self.score:.4f}"}])


class Edge(NamedTuple):
    """One version of an edge between two entities.

    Attributes:
        id: The version's id.
        src: Display name of the entity it starts from.
        relation: Verbatim.
        dst: Display name of the entity it points to.
        provenance: The fact it follows from, if known.
        properties: A JSON object.
        namespace: The scope of both entities.
        recorded_at: When the memory learned it, in Unix milliseconds.
        valid_from: When it began to hold.
        valid_to: When it stopped; `None` while it holds.
    """

    id: int
    src: str
    relation: str
    dst: str
    provenance: int | None
    properties: Metadata
    namespace: Namespace
    recorded_at: int
    valid_from: int
    valid_to: int | None


class Neighbours(NamedTuple):
    """The edges at an entity in one direction.

    Attributes:
        edges: The oldest of them, within the limit asked for.
        total: How many there are.
    """

    edges: tuple[Edge, ...]
    total: int


class Entity(NamedTuple):
    """A named node.

    Attributes:
        name: Display name: the first spelling seen, or the one it was renamed to.
        key: The normalised name, which is its identity within its namespace.
        aliases: Other names that lead to it.
        namespace: The scope it lives in.
        facts: How many current facts have it as their subject.
    """

    name: str
    key: str
    aliases: tuple[str, ...]
    namespace: Namespace
    facts: int


class Tag(NamedTuple):
    """A tag, and how many current facts carry it."""

    name: str
    facts: int


class VectorSpace(NamedTuple):
    """Which vectors a file holds.

    Attributes:
        dim: Components of each.
        model: What made them, as its embedder calls it; `None` if callers did.
    """

    dim: int
    model: str | None


class NamespaceCount(NamedTuple):
    """A namespace, and how many current facts it holds; those below it are not counted."""

    namespace: Namespace
    facts: int


class Similar(NamedTuple):
    """An existing fact that a new one resembles.

    Attributes:
        id: The existing fact.
        score: Share of common tokens, or cosine.
        reason: Which of the two.
    """

    id: int
    score: float
    reason: Literal["lexical", "vector"]


T = TypeVar("T")


class Listed(Generic[T]):
    """A report that can be used as the sequence of what it lists."""

    __slots__ = ()

    @property
    def _items(self) -> tuple[T, ...]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, position: int) -> T:
        return self._items[position]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write did.

    Attributes:
        id: The fact that now holds.
        outcome: `"created"`; `"unchanged"` when the memory already said so;
            `"revised"` when a new fact superseded an old one.
        similar: Facts about the same entity that look alike, best first, eight at most.
        vector: `"stored"`, `"pending"` when the embedder failed, or `"none"`.
    """

    id: int
    outcome: Literal["created", "unchanged", "revised"]
    similar: tuple[Similar, ...] = ()
    vector: Literal["stored", "pending", "none"] = "none"


@dataclass(frozen=True, slots=True)
class GuardedReceipt:
    """What a guarded write did.

    Attributes:
        receipt: The write's receipt; `None` when it was blocked.
        similar: The facts that blocked it.
        checked: Whether there was an entity to compare with.
    """

    receipt: Receipt | None
    similar: tuple[Similar, ...]
    checked: bool

    @property
    def blocked(self) -> bool:
        """Whether nothing was written."""
        return self.receipt is None


@dataclass(frozen=True, slots=True)
class FactPage(Listed[Fact]):
    """One page of a listing; pass `next_cursor` to get the next. Iterates over its facts."""

    facts: tuple[Fact, ...]
    next_cursor: str | None

    @property
    def _items(self) -> tuple[Fact, ...]:
        return self.facts

    def _repr_html_(self) -> str:
        return html_table([fact_row(fact) for fact in self.facts])


@dataclass(frozen=True, slots=True)
class EntityPage(Listed[Entity]):
    """One page of entities; pass `next_cursor` to get the next. Iterates over them."""

    entities: tuple[Entity, ...]
    next_cursor: str | None

    @property
    def _items(self) -> tuple[Entity, ...]:
        return self.entities


@dataclass(frozen=True, slots=True)
class TagPage(Listed[Tag]):
    """One page of tags; pass `next_cursor` to get the next. Iterates over them."""

    tags: tuple[Tag, ...]
    next_cursor: str | None

    @property
    def _items(self) -> tuple[Tag, ...]:
        return self.tags


@dataclass(frozen=True, slots=True)
class KeyPage(Listed[str]):
    """One page of keys; pass `next_cursor` to get the next. Iterates over them."""

    keys: tuple[str, ...]
    next_cursor: str | None

    @property
    def _items(self) -> tuple[str, ...]:
        return self.keys


@dataclass(frozen=True, slots=True)
class NamespacePage(Listed[NamespaceCount]):
    """One page of namespaces; pass `next_cursor` to get the next. Iterates over them."""

    namespaces: tuple[NamespaceCount, ...]
    next_cursor: str | None

    @property
    def _items(self) -> tuple[NamespaceCount, ...]:
        return self.namespaces


@dataclass(frozen=True, slots=True)
class History(Listed[Fact]):
    """A revision chain, oldest first. Iterates over its facts."""

    facts: tuple[Fact, ...]

    @property
    def _items(self) -> tuple[Fact, ...]:
        return self.facts

    def _repr_html_(self) -> str:
        return html_table([fact_row(fact) for fact in self.facts])


@dataclass(frozen=True, slots=True)
class Stats:
    """Counters of a memory.

    Attributes:
        facts: Stored facts, closed and forgotten ones included.
        current: Facts that nothing has superseded, forgotten ones excluded.
        forgotten: Forgotten facts that `maintain` has not purged yet.
        entities: Named nodes.
        edges: Edges that hold now.
        edge_versions: Edges that ever held.
        tags: Tags of current facts.
        mentions: Entities that texts name, each once for every stored fact.
        terms: Distinct tokens indexed.
        vectors: Stored vectors.
        vectors_in_graph: Vectors the graph index covers; the rest is scanned.
        pending: Facts whose vector is still to be made.
        staged: Facts for which a `reembed` that has not come to its end has made one.
        embedder: Of this handle: `"absent"`, `"active"`, or `"suspended"` for a while after it
            failed.
        bytes: Size of the database file.
    """

    facts: int
    current: int
    forgotten: int
    entities: int
    edges: int
    edge_versions: int
    tags: int
    mentions: int
    terms: int
    vectors: int
    vectors_in_graph: int
    pending: int
    staged: int
    embedder: Literal["absent", "active", "suspended"]
    bytes: int


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What `erase` did; it holds nothing of what was erased.

    Attributes:
        kind: What was named: `"ids"`, `"entity"`, `"key"` or `"namespace"`.
        erased_at: When, in Unix milliseconds.
        facts: The ids that are gone.
        entities: How many entities are.
        edges: How many versions of edges are.
        values: How many values by key are.
    """

    kind: str
    erased_at: int
    facts: tuple[int, ...]
    entities: int
    edges: int
    values: int


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found; `problems` is empty when all is well."""

    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class MaintainReport:
    """What `maintain` did.

    Attributes:
        purged: Forgotten and expired facts whose rows were removed.
        vectors_in_graph: Vectors the graph index covers now.
        embedded: Pending vectors that were completed.
        retired: How many of those removed were let go by a rule of `retain`.
    """

    purged: int
    vectors_in_graph: int
    embedded: int
    retired: int = 0


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """What `reembed` did.

    Attributes:
        before: Which vectors the file held; `None` if none.
        after: Which it holds now.
        embedded: Facts that got a vector by this call; what an earlier one that was cut off
            had made is not counted again.
        asked: Texts that the embedder was given. Equal texts are one, and one that had a
            vector already is none.
        vectors_in_graph: Vectors the graph index covers now.
    """

    before: VectorSpace | None
    after: VectorSpace | None
    embedded: int
    asked: int
    vectors_in_graph: int


def fact_row(fact: Fact | RecalledFact) -> dict[str, str]:
    """Return the columns of a fact for a table a person reads."""
    until = "" if fact.valid_to_time is None else f" → {fact.valid_to_time:%Y-%m-%d}"
    return {
        "id": f"f{fact.id}",
        "entity": fact.entity or "",
        "text": fact.text,
        "valid": f"{fact.valid_from_time:%Y-%m-%d}{until}",
        "recorded": f"{fact.recorded_time:%Y-%m-%d}",
        "tags": " ".join(fact.tags),
    }


def html_table(rows: list[dict[str, str]]) -> str:
    """Return an HTML table; every cell is escaped, so stored text cannot inject markup."""
    if not rows:
        return "<em>no facts</em>"
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
