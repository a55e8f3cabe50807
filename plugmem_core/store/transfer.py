"""What leaves a memory: its rows as records with names instead of ids, in one fixed order."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple, TypeAlias

from plugmem_core.store.encoding import load_labels
from plugmem_core.store.rows import superseded
from plugmem_core.store.sqlite import SqliteStore

OWN = ""
"""The collection of the package's own values; a caller's has a name."""


class EntityRecord(NamedTuple):
    """An entity; `seen` orders strings by first appearance."""

    id: int
    namespace: str  # JSON of its labels, as in all records
    name: str
    seen: int


class AliasRecord(NamedTuple):
    """Another name of an entity."""

    namespace: str
    name: str
    entity: str


class FactRecord(NamedTuple):
    """A fact; the first that hold no value are those a foreign file may leave out."""

    id: int | None
    namespace: str
    key: str | None
    entity: str | None
    text: str
    tags: str | None
    metadata: str | None
    recorded_at: int | None
    valid_from: int | None
    valid_to: int | None
    closed_at: int | None
    expires_at: int | None
    revises: int | None
    vector: int  # NO_VECTOR, STORED, PENDING or DECLINED
    data: bytes | None  # the vector, if it is stored


class RelationRecord(NamedTuple):
    """A relation's name, and its place in the order in which edges are walked."""

    name: str
    rank: int


class EdgeRecord(NamedTuple):
    """One version of an edge."""

    id: int | None
    namespace: str
    src: str
    relation: str
    dst: str
    provenance: int | None
    properties: str | None
    recorded_at: int | None
    valid_from: int | None
    valid_to: int | None
    closed_at: int | None


class ValueRecord(NamedTuple):
    """A value by key."""

    namespace: str
    collection: str
    key: str
    value: str


Record: TypeAlias = (
    EntityRecord | AliasRecord | FactRecord | RelationRecord | EdgeRecord | ValueRecord
)

Span: TypeAlias = tuple[int, int]
"""The first id there is, and the next that will be given."""


class Extent(NamedTuple):
    """How much leaves, and what ids it has.

    Attributes:
        dim: Of the vectors; 0 when there are none.
        space: The embedder that made them, if one did.
        facts: Their ids.
        entities: Their ids.
        edges: Their ids.
        records: How many of all kinds.
    """

    dim: int
    space: str | None
    facts: Span
    entities: Span
    edges: Span
    records: int


@contextmanager
def snapshot(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """Give one commit to read from, while this handle and others go on."""
    if store.path is None:  # a database in memory has only the one connection
        with store._snapshot() as sql:
            yield sql
        return
    with store._translated(), closing(store._connect()) as sql:
        sql.execute("BEGIN")
        sql.execute("SELECT one FROM state").fetchone()  # what is read first decides the commit
        yield sql


_HERE = "(SELECT value FROM json_each(:spaces))"
# Forgotten and expired facts are hidden on every route, and this is one.
_SHOWN = (
    f"f.namespace IN {_HERE} AND f.forgotten_at IS NULL "
    "AND (f.expires_at IS NULL OR f.expires_at > :now)"
)
_USED = f"r.id IN (SELECT relation FROM edges WHERE namespace IN {_HERE})"
_KEPT = f"k.namespace IN {_HERE} AND k.collection != '{OWN}'"

# A cross join keeps its left side outermost, so rows come by id without being sorted.
_SOURCES: tuple[tuple[type[Any], str], ...] = (
    (
        EntityRecord,
        f"""
        SELECT e.id, n.path, e.name, e.seen
        FROM entities e CROSS JOIN namespaces n ON n.id = e.namespace
        WHERE e.namespace IN {_HERE} ORDER BY e.id
        """,
    ),
    (
        AliasRecord,
        f"""
        SELECT n.path, a.name, e.name
        FROM aliases a JOIN namespaces n ON n.id = a.namespace JOIN entities e ON e.id = a.entity
        WHERE a.namespace IN {_HERE} ORDER BY n.path, a.key
        """,
    ),
    (
        FactRecord,
        f"""
        SELECT f.id, n.path, f.key, e.name, f.text, f.tags, f.metadata, f.recorded_at,
            f.valid_from, f.valid_to, f.closed_at, f.expires_at, f.revises, f.vector, v.data
        FROM facts f CROSS JOIN namespaces n ON n.id = f.namespace
        LEFT JOIN entities e ON e.id = f.entity LEFT JOIN vectors v ON v.fact = f.id
        WHERE {_SHOWN} ORDER BY f.id
        """,
    ),
    (RelationRecord, f"SELECT r.name, r.rank FROM relations r WHERE {_USED} ORDER BY r.id"),
    (
        EdgeRecord,
        f"""
        SELECT g.id, n.path, s.name, r.name, d.name, g.provenance, g.properties,
            g.recorded_at, g.valid_from, g.valid_to, g.closed_at
        FROM edges g CROSS JOIN namespaces n ON n.id = g.namespace
        CROSS JOIN entities s ON s.id = g.src CROSS JOIN relations r ON r.id = g.relation
        CROSS JOIN entities d ON d.id = g.dst
        WHERE g.namespace IN {_HERE} ORDER BY g.id
        """,
    ),
    (
        ValueRecord,
        f"""
        SELECT n.path, k.collection, k.key, k.value
        FROM kv k CROSS JOIN namespaces n ON n.id = k.namespace WHERE {_KEPT} ORDER BY k.id
        """,
    ),
)

_COUNTS = {
    "entities": f"SELECT count(*), min(id) FROM entities WHERE namespace IN {_HERE}",
    "facts": f"SELECT count(*), min(f.id) FROM facts f WHERE {_SHOWN}",
    "edges": f"SELECT count(*), min(id) FROM edges WHERE namespace IN {_HERE}",
    "aliases": f"SELECT count(*), NULL FROM aliases WHERE namespace IN {_HERE}",
    "relations": f"SELECT count(*), NULL FROM relations r WHERE {_USED}",
    "values": f"SELECT count(*), NULL FROM kv k WHERE {_KEPT}",
}


class Departures:
    """The records of a namespace and of what lies below it.

    Args:
        sql: A snapshot.
        labels: The namespace.
        now: The instant whose expired facts stay behind.
    """

    def __init__(self, sql: sqlite3.Connection, labels: tuple[str, ...], now: int) -> None:
        self._sql = sql
        self._now = now
        spaces = [
            space
            for space, path in sql.execute("SELECT id, path FROM namespaces")
            if load_labels(path)[: len(labels)] == labels
        ]
        self._values = {"spaces": f"[{', '.join(map(str, spaces))}]", "now": now}

    def extent(self) -> Extent:
        """Count what will leave."""
        (dim, space, *following) = self._sql.execute(
            "SELECT dim, space, next_fact, next_entity, next_edge FROM state"
        ).fetchone()
        counts = {
            kind: self._sql.execute(query, self._values).fetchone()
            for kind, query in _COUNTS.items()
        }
        facts, entities, edges = (
            (following[at] if counts[kind][1] is None else counts[kind][1], following[at])
            for at, kind in enumerate(("facts", "entities", "edges"))
        )
        total = sum(count for count, _ in counts.values())
        if not self._has_vectors():
            dim, space = 0, None
        return Extent(dim, space, facts, entities, edges, total)

    def records(self) -> Iterator[Record]:
        """Yield every record: names before what uses them, facts before what follows from them."""
        for kind, query in _SOURCES:
            with closing(self._sql.execute(query, self._values)) as rows:
                for row in rows:
                    record = kind._make(row)
                    yield self._joined(record) if kind is FactRecord else record

    def _has_vectors(self) -> bool:
        query = f"SELECT 1 FROM vectors v JOIN facts f ON f.id = v.fact WHERE {_SHOWN} LIMIT 1"
        return self._sql.execute(query, self._values).fetchone() is not None

    def _joined(self, fact: FactRecord) -> FactRecord:
        """Let a fact supersede the newest version before it that leaves with it."""
        before = fact.revises
        while before is not None:
            row = self._sql.execute(
                "SELECT revises, forgotten_at, expires_at FROM facts WHERE id = ?", (before,)
            ).fetchone()
            if row is None:
                before = None
            elif row[1] is None and (row[2] is None or row[2] > self._now):
                break
            else:
                before = superseded(before, row[0])
        return fact._replace(revises=before) if before != fact.revises else fact
