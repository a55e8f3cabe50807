"""One write transaction: the rules that keep truth consistent, as row operations.

Everything here runs inside `BEGIN IMMEDIATE`, on validated input, and collects
the rows it touched, so that the index can follow without reading them back.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from plugmem_core.clock import to_datetime
from plugmem_core.errors import ClosedFactError, InvalidInputError, NotFoundError
from plugmem_core.store.rows import (
    NO_VECTOR,
    PENDING,
    STORED,
    AliasRow,
    Changes,
    EdgeRow,
    EntityRow,
    FactRow,
    FileState,
    NamespaceRow,
    RelationRow,
    Vector,
)
from plugmem_core.text import tokenize

Name = tuple[str, str]
"""A name as given, and its key."""

Outcome = Literal["created", "unchanged", "revised"]

_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True
).encode
_INSERT_FACT = f"INSERT INTO facts VALUES ({', '.join('?' * len(FactRow._fields))})"
_INSERT_EDGE = f"INSERT INTO edges VALUES ({', '.join('?' * len(EdgeRow._fields))})"


@dataclass(slots=True)
class FactWrite:
    """A validated fact on its way into the file."""

    text: str
    entity: Name | None
    tags: str | None
    metadata: str | None
    key: str | None
    namespace: str
    valid_from: int | None
    expires_at: int | None
    links: Sequence[tuple[str, Name]]
    vector: Vector | None
    pending: bool = False
    keep_vector: bool = False  # of the fact it supersedes, when it brings none

    @property
    def vector_state(self) -> int:
        """How its row stands in the matter of vectors."""
        if self.vector is not None:
            return STORED
        return PENDING if self.pending else NO_VECTOR


@dataclass(slots=True)
class Written:
    """The row that now holds, and how it came to."""

    row: FactRow
    outcome: Outcome


class Transaction:
    """The writes of one transaction; made by `SqliteStore.write`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        state: FileState,
        now: int,
        first_facts: Callable[[str], Iterable[int]],
    ) -> None:
        self._sql = connection
        self._now = now
        self._first_facts = first_facts
        # What names lead to, as far as this transaction asked.
        self._namespaces: dict[str, int] = {}
        self._entities: dict[tuple[int, str], int] = {}
        self._relations: dict[str, int] = {}
        self.state = state._replace(change=state.change + 1)
        self._new_namespaces: list[NamespaceRow] = []
        self._new_entities: list[EntityRow] = []
        self._new_aliases: list[AliasRow] = []
        self._new_relations: list[RelationRow] = []
        self._touched_facts: list[FactRow] = []
        self._touched_edges: list[EdgeRow] = []
        self._new_vectors: dict[int, Vector] = {}
        self._purged: list[int] = []

    # -- facts

    def remember(self, fact: FactWrite) -> Written:
        """Store a fact, unless the memory already says so.

        With a key, the write replaces what the key holds. Without one, a current
        fact with the same text and entity is confirmed; tags or metadata that
        differ revise it.
        """
        namespace = self.namespace(fact.namespace)
        entity = self._entity_of(fact, namespace)
        found = (
            self._find_key(namespace, fact)
            if fact.key
            else self._find_text(namespace, entity, fact)
        )
        if found is None:
            written = Written(self._insert(fact, namespace, entity, revises=None), "created")
        elif _says_the_same(found, fact, entity):
            written = Written(self._confirm(found, fact), "unchanged")
        else:
            if fact.key is None:
                fact.tags = fact.tags or found.tags
                fact.metadata = fact.metadata or found.metadata
            fact.keep_vector = fact.text == found.text
            written = Written(self._supersede(found, fact, namespace, entity), "revised")
        self._open_links(written.row, fact.links, entity, namespace)
        return written

    def revise(self, target: FactRow, fact: FactWrite) -> Written:
        """Supersede a current fact by the one given."""
        if target.valid_to is not None:
            raise self._closed(target)
        entity = self._entity_of(fact, target.namespace)
        row = self._supersede(target, fact, target.namespace, entity)
        self._open_links(row, fact.links, entity, target.namespace)
        return Written(row, "revised")

    def forget(self, target: FactRow) -> bool:
        """Hide a fact from every route; `False` when it already was."""
        if target.forgotten_at is not None:
            return False
        self._update_fact(target._replace(forgotten_at=self._now))
        return True

    def retag(
        self, targets: Iterable[FactRow], change_tags: Callable[[list[str]], list[str]]
    ) -> int:
        """Supersede each fact by itself with other tags, keeping its vector and key."""
        count = 0
        for target in targets:
            tags = change_tags(json.loads(target.tags or "[]"))
            successor = target._replace(
                id=self._next_fact(),
                tags=dump_json(tags) if tags else None,
                recorded_at=self._now,
                valid_from=self._now,
                revises=target.id,
            )
            self._close(target, self._now)
            self._add_fact(successor)
            if target.vector == STORED:
                self._put_vector(successor.id, self._read_vector(target.id))
            count += 1
        return count

    def purge(self, rows: Iterable[FactRow]) -> int:
        """Remove the rows and vectors of forgotten or expired facts; their ids stay burned.

        Chains stay whole: what superseded a removed fact now supersedes its predecessor.
        """
        ids = [row.id for row in rows]
        for fact in ids:
            revises = self.fact(fact).revises
            self._sql.execute("DELETE FROM vectors WHERE fact = ?", (fact,))
            self._sql.execute("DELETE FROM facts WHERE id = ?", (fact,))
            self._sql.execute("INSERT INTO purges VALUES (?, ?)", (fact, self.state.change))
            for successor in self._select_facts("revises = ?", (fact,)):
                self._update_fact(successor._replace(revises=revises))
        self._purged.extend(ids)
        return len(ids)

    def complete_vector(self, fact: int, vector: Vector | None) -> bool:
        """Give a fact the vector it waits for, if it still does; `None` ends the waiting."""
        rows = self._select_facts("id = ? AND vector = 2", (fact,))
        for row in rows:
            if vector is not None:
                self._put_vector(fact, vector)
            self._update_fact(row._replace(vector=NO_VECTOR if vector is None else STORED))
        return bool(rows)

    def claim_space(self, dim: int, space: str | None) -> None:
        """Record the dimension and the model of the file's vectors."""
        self.state = self.state._replace(dim=dim, space=space)

    def fact(self, fact: int) -> FactRow:
        """Return a stored fact's row, forgotten ones included."""
        row = self._sql.execute("SELECT * FROM facts WHERE id = ?", (fact,)).fetchone()
        if row is None:
            raise NotFoundError(f"fact {fact} does not exist")
        return FactRow(*row)

    # -- edges

    def link(
        self,
        src: Name,
        relation: str,
        dst: Name,
        *,
        namespace: str,
        provenance: int | None,
        valid_from: int | None = None,
        properties: str | None = None,
    ) -> EdgeRow:
        """Open an edge between two entities, making them where needed."""
        space = self.namespace(namespace)
        stamp = _stamp(2 * self.state.next_fact, self.state.next_edge % _LINKS_BETWEEN * 4)
        src_id = self.entity(src, space, stamp)
        dst_id = self.entity(dst, space, stamp + 1)
        return self._open_edge(
            (src_id, self._relation(relation, stamp + 2), dst_id),
            space,
            provenance,
            valid_from=valid_from,
            properties=properties,
        )

    def unlink(self, src: int, relation: int, dst: int) -> bool:
        """Close an edge; `False` when none is open."""
        edge = self._open_version((src, relation, dst))
        if edge is None:
            return False
        self._close_edge(edge, self._now)
        return True

    def relation_id(self, name: str) -> int | None:
        """Return a relation's id, if it was ever used."""
        row = self._sql.execute("SELECT id FROM relations WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    # -- entities

    def entity(self, name: Name, namespace: int, seen: int) -> int:
        """Return the entity a name leads to, making it where needed."""
        known = self._entities.get((namespace, name[1]))
        if known is None:
            known = self.find_entity(name[1], namespace)
            if known is None:
                known = self._add_entity(name, namespace, seen)
            self._entities[namespace, name[1]] = known
        return known

    def _add_entity(self, name: Name, namespace: int, seen: int) -> int:
        row = EntityRow(
            self.state.next_entity, namespace, name[1], name[0], seen, self.state.change
        )
        self._sql.execute("INSERT INTO entities VALUES (?, ?, ?, ?, ?, ?)", row)
        self.state = self.state._replace(next_entity=row.id + 1)
        self._new_entities.append(row)
        return row.id

    def find_entity(self, key: str, namespace: int) -> int | None:
        """Return the entity a key leads to, aliases included."""
        row = self._sql.execute(
            "SELECT id FROM entities WHERE namespace = ?1 AND key = ?2 "
            "UNION ALL SELECT entity FROM aliases WHERE namespace = ?1 AND key = ?2",
            (namespace, key),
        ).fetchone()
        return None if row is None else int(row[0])

    def entity_row(self, entity: int) -> EntityRow:
        """Return an entity's row."""
        row = self._sql.execute("SELECT * FROM entities WHERE id = ?", (entity,)).fetchone()
        return EntityRow(*row)

    def rename_entity(self, entity: int, namespace: int, name: Name) -> None:
        """Give an entity another display name and key."""
        holder = self.find_entity(name[1], namespace)
        if holder is not None and holder != entity:
            raise InvalidInputError(
                f"{name[0]!r} names another entity already; use merge_entities to make them one"
            )
        # An alias of this entity may be about to become its name.
        self._sql.execute(
            "DELETE FROM aliases WHERE namespace = ? AND key = ?", (namespace, name[1])
        )
        self._entities.clear()
        self._sql.execute(
            "UPDATE entities SET key = ?, name = ?, change = ? WHERE id = ?",
            (name[1], name[0], self.state.change, entity),
        )
        self._new_entities.append(self.entity_row(entity))
        self._touch_facts_of(entity)

    def alias_entity(self, entity: int, namespace: int, alias: Name) -> None:
        """Make another name lead to an entity."""
        holder = self.find_entity(alias[1], namespace)
        if holder == entity:
            return
        if holder is not None:
            raise InvalidInputError(
                f"{alias[0]!r} names another entity already; use merge_entities to make them one"
            )
        self._add_alias(AliasRow(namespace, alias[1], alias[0], entity, self.state.change))

    def merge_entities(self, source: int, into: int) -> None:
        """Make one entity of two: facts, edges and names of `source` become those of `into`."""
        row = self.entity_row(source)
        for fact in self._select_facts("entity = ?", (source,)):
            self._update_fact(fact._replace(entity=into))
        for edge in self._select_edges("src = ?1 OR dst = ?1", (source,)):
            self._repoint(edge, source, into)
        aliases = self._sql.execute(
            "SELECT key, name FROM aliases WHERE entity = ?", (source,)
        ).fetchall()
        self._sql.execute("DELETE FROM aliases WHERE entity = ?", (source,))
        self._sql.execute("DELETE FROM entities WHERE id = ?", (source,))
        self._entities.clear()
        for key, name in [(row.key, row.name), *aliases]:
            self._add_alias(AliasRow(row.namespace, key, name, into, self.state.change))

    # -- namespaces

    def namespace(self, path: str) -> int:
        """Return a namespace's id, making it where needed."""
        known = self._namespaces.get(path)
        if known is not None:
            return known
        row = self._sql.execute("SELECT id FROM namespaces WHERE path = ?", (path,)).fetchone()
        if row is None:
            cursor = self._sql.execute("INSERT INTO namespaces (path) VALUES (?)", (path,))
            namespace = int(cursor.lastrowid or 0)
            self._new_namespaces.append(NamespaceRow(namespace, path))
        else:
            namespace = int(row[0])
        self._namespaces[path] = namespace
        return namespace

    def finish(self) -> bool:
        """Write the counters, before the commit; `False` when nothing was touched."""
        changes = self.changes
        touched = any((changes.namespaces, changes.entities, changes.aliases, changes.relations))
        if not touched and not any((changes.facts, changes.edges, changes.vectors, changes.purged)):
            return False
        self._sql.execute(
            "UPDATE state SET change = ?, next_fact = ?, next_entity = ?, next_edge = ?, "
            "dim = ?, space = ?",
            self.state[1:7],
        )
        return True

    @property
    def changes(self) -> Changes:
        """Every row touched so far."""
        return Changes(
            self.state.change,
            self._new_namespaces,
            self._new_entities,
            self._new_aliases,
            self._new_relations,
            self._touched_facts,
            self._touched_edges,
            self._new_vectors.items(),
            self._purged,
        )

    # -- finding what is there

    def _find_key(self, namespace: int, fact: FactWrite) -> FactRow | None:
        rows = self._select_facts(
            "namespace = ? AND key = ? AND valid_to IS NULL AND forgotten_at IS NULL",
            (namespace, fact.key),
        )
        if not rows:
            return None
        (row,) = rows
        if row.expires_at is not None and row.expires_at <= self._now:
            # Gone for every reader already, so it is not revived; only its key is still taken.
            self._close(row, row.expires_at)
            return None
        return row

    def _find_text(self, namespace: int, entity: int | None, fact: FactWrite) -> FactRow | None:
        rows = self._select_facts(
            "digest = ? AND valid_to IS NULL AND forgotten_at IS NULL AND namespace = ? "
            "AND entity IS ? AND key IS NULL AND text = ? "
            "AND (expires_at IS NULL OR expires_at > ?)",
            (text_digest(fact.text), namespace, entity, fact.text, self._now),
        )
        return rows[0] if rows else None

    def _select_facts(self, where: str, values: Sequence[object]) -> list[FactRow]:
        # `where` is one of the literals above, never a caller's text.
        sql = f"SELECT * FROM facts WHERE {where} ORDER BY id"
        return [FactRow(*row) for row in self._sql.execute(sql, values)]

    def _select_edges(self, where: str, values: Sequence[object]) -> list[EdgeRow]:
        sql = f"SELECT * FROM edges WHERE {where} ORDER BY id"
        return [EdgeRow(*row) for row in self._sql.execute(sql, values)]

    def _closed(self, target: FactRow) -> ClosedFactError:
        newest = target
        while rows := self._select_facts("revises = ?", (newest.id,)):
            (newest,) = rows
        closed = f"fact {target.id} has been revised already"
        if newest.is_current:
            return ClosedFactError(f"{closed}; revise its successor {newest.id} instead")
        return ClosedFactError(f"{closed}, and its successor is gone; remember it as a new fact")

    # -- writing rows

    def _entity_of(self, fact: FactWrite, namespace: int) -> int | None:
        if fact.entity is None:
            return None
        return self.entity(fact.entity, namespace, _stamp(2 * self.state.next_fact + 1, 0))

    def _insert(
        self, fact: FactWrite, namespace: int, entity: int | None, revises: int | None
    ) -> FactRow:
        row = FactRow(
            id=self._next_fact(),
            namespace=namespace,
            key=fact.key,
            entity=entity,
            text=fact.text,
            tags=fact.tags,
            metadata=fact.metadata,
            recorded_at=self._now,
            valid_from=self._now if fact.valid_from is None else fact.valid_from,
            valid_to=None,
            closed_at=None,
            expires_at=fact.expires_at,
            revises=revises,
            forgotten_at=None,
            digest=text_digest(fact.text),
            vector=fact.vector_state,
            change=self.state.change,
        )
        self._add_fact(row)
        if fact.vector is not None:
            self._put_vector(row.id, fact.vector)
        return row

    def _supersede(
        self, target: FactRow, fact: FactWrite, namespace: int, entity: int | None
    ) -> FactRow:
        if fact.valid_from is not None and fact.valid_from < target.valid_from:
            raise InvalidInputError(
                f"valid_from is {to_datetime(fact.valid_from).isoformat()}, but fact {target.id}, "
                f"which it supersedes, is true from {to_datetime(target.valid_from).isoformat()}; "
                "give no earlier instant, or forget that fact first"
            )
        self._close(target, self._now if fact.valid_from is None else fact.valid_from)
        if fact.keep_vector and fact.vector is None and target.vector == STORED:
            fact.vector = self._read_vector(target.id)
        return self._insert(fact, namespace, entity, revises=target.id)

    def _confirm(self, row: FactRow, fact: FactWrite) -> FactRow:
        confirmed = row._replace(expires_at=fact.expires_at)
        if fact.vector is not None and not self._has_vector(row.id, fact.vector):
            self._put_vector(row.id, fact.vector)
            confirmed = confirmed._replace(vector=STORED)
        if confirmed != row or row.id in self._new_vectors:
            return self._update_fact(confirmed)
        return row

    def _next_fact(self) -> int:
        fact = self.state.next_fact
        self.state = self.state._replace(next_fact=fact + 1)
        return fact

    def _add_fact(self, row: FactRow) -> None:
        row = row._replace(change=self.state.change)
        self._sql.execute(_INSERT_FACT, row)
        self._touched_facts.append(row)

    def _close(self, row: FactRow, valid_to: int) -> None:
        # A fact that was still to become true never did.
        valid_to = max(valid_to, row.valid_from)
        self._update_fact(row._replace(valid_to=valid_to, closed_at=self._now))

    def _update_fact(self, row: FactRow) -> FactRow:
        row = row._replace(change=self.state.change)
        self._sql.execute(
            "UPDATE facts SET entity = ?, valid_to = ?, closed_at = ?, expires_at = ?, "
            "revises = ?, forgotten_at = ?, vector = ?, change = ? WHERE id = ?",
            (
                row.entity,
                row.valid_to,
                row.closed_at,
                row.expires_at,
                row.revises,
                row.forgotten_at,
                row.vector,
                row.change,
                row.id,
            ),
        )
        self._touched_facts.append(row)
        return row

    def _touch_facts_of(self, entity: int) -> None:
        # Their cards show the entity's name; other handles learn of it by the change number.
        for row in self._select_facts("entity = ?", (entity,)):
            self._update_fact(row)

    def _put_vector(self, fact: int, vector: Vector) -> None:
        self._sql.execute(
            "INSERT INTO vectors VALUES (?1, ?2) ON CONFLICT (fact) DO UPDATE SET data = ?2",
            (fact, vector.astype("<f4").tobytes()),
        )
        self._new_vectors[fact] = vector

    def _has_vector(self, fact: int, vector: Vector) -> bool:
        row = self._sql.execute("SELECT data FROM vectors WHERE fact = ?", (fact,)).fetchone()
        return row is not None and row[0] == vector.astype("<f4").tobytes()

    def _read_vector(self, fact: int) -> Vector:
        (data,) = self._sql.execute("SELECT data FROM vectors WHERE fact = ?", (fact,)).fetchone()
        return decode_vector(data)

    def _open_links(
        self,
        row: FactRow,
        links: Sequence[tuple[str, Name]],
        entity: int | None,
        namespace: int,
    ) -> None:
        if entity is None:
            return
        for position, (relation, target) in enumerate(links):
            stamp = _stamp(2 * row.id + 1, _LINKS + 2 * position)
            dst = self.entity(target, namespace, stamp)
            triple = (entity, self._relation(relation, stamp + 1), dst)
            self._open_edge(triple, namespace, row.id)

    def _open_version(self, triple: tuple[int, int, int]) -> EdgeRow | None:
        rows = self._select_edges(
            "src = ? AND relation = ? AND dst = ? AND valid_to IS NULL", triple
        )
        return rows[0] if rows else None

    def _open_edge(
        self,
        triple: tuple[int, int, int],
        namespace: int,
        provenance: int | None,
        *,
        valid_from: int | None = None,
        properties: str | None = None,
    ) -> EdgeRow:
        since = self._now if valid_from is None else valid_from
        standing = self._open_version(triple)
        if standing is not None:
            same_start = valid_from is None or standing.valid_from == valid_from
            if (standing.provenance, standing.properties) == (
                provenance,
                properties,
            ) and same_start:
                return standing
            self._close_edge(standing, since)
        edge = EdgeRow(
            id=self.state.next_edge,
            namespace=namespace,
            src=triple[0],
            relation=triple[1],
            dst=triple[2],
            provenance=provenance,
            properties=properties,
            recorded_at=self._now,
            valid_from=since,
            valid_to=None,
            closed_at=None,
            change=self.state.change,
        )
        self._sql.execute(_INSERT_EDGE, edge)
        self.state = self.state._replace(next_edge=edge.id + 1)
        self._touched_edges.append(edge)
        return edge

    def _close_edge(self, edge: EdgeRow, at: int) -> None:
        self._update_edge(edge._replace(valid_to=max(at, edge.valid_from), closed_at=self._now))

    def _repoint(self, edge: EdgeRow, source: int, into: int) -> None:
        moved = edge._replace(
            src=into if edge.src == source else edge.src,
            dst=into if edge.dst == source else edge.dst,
        )
        if moved.valid_to is None:
            twin = self._open_version((moved.src, moved.relation, moved.dst))
            if twin is not None and twin.id != edge.id:
                moved = moved._replace(
                    valid_to=max(self._now, moved.valid_from), closed_at=self._now
                )
        self._update_edge(moved)

    def _update_edge(self, edge: EdgeRow) -> None:
        edge = edge._replace(change=self.state.change)
        self._sql.execute(
            "UPDATE edges SET src = ?, dst = ?, valid_to = ?, closed_at = ?, change = ? "
            "WHERE id = ?",
            (edge.src, edge.dst, edge.valid_to, edge.closed_at, edge.change, edge.id),
        )
        self._touched_edges.append(edge)

    def _add_alias(self, row: AliasRow) -> None:
        self._sql.execute("INSERT INTO aliases VALUES (?, ?, ?, ?, ?)", row)
        self._new_aliases.append(row)

    def _relation(self, name: str, stamp: int) -> int:
        known = self._relations.get(name)
        if known is None:
            known = self.relation_id(name)
            if known is None:
                known = self._add_relation(name, stamp)
            self._relations[name] = known
        return known

    def _add_relation(self, name: str, stamp: int) -> int:
        cursor = self._sql.execute(
            "INSERT INTO relations (name, rank, change) VALUES (?, ?, ?)",
            (name, self._first_seen(name, stamp), self.state.change),
        )
        row = self._sql.execute(
            "SELECT * FROM relations WHERE id = ?", (cursor.lastrowid,)
        ).fetchone()
        self._new_relations.append(RelationRow(*row))
        return int(row[0])

    def _first_seen(self, name: str, stamp: int) -> int:
        """Return the stamp at which a string first appeared in the file, in any role.

        Edges are walked in the order in which their relations' strings first
        appeared as an entity key, a token, a tag or a relation (reference 1.8).
        """
        stamps = [stamp]
        (entity_stamp,) = self._sql.execute(
            "SELECT min(seen) FROM entities WHERE key = ?", (name,)
        ).fetchone()
        if entity_stamp is not None:
            stamps.append(entity_stamp)
        earlier = (self.fact(fact) for fact in self._first_facts(name))
        for row in (*earlier, *self._touched_facts):
            stamps.extend(_appearances(row, name))
        return min(stamps)


def text_digest(text: str) -> int:
    """Return a stable 64-bit digest of a text, as a signed integer."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def dump_json(value: object) -> str:
    """Return the one JSON spelling of a value that rows hold."""
    return _encode(value)


def decode_vector(data: bytes) -> Vector:
    """Return the vector of a `vectors` row."""
    return np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)


def _says_the_same(row: FactRow, fact: FactWrite, entity: int | None) -> bool:
    if fact.key is None:  # text and entity are equal already
        return fact.tags in (None, row.tags) and fact.metadata in (None, row.metadata)
    return (row.text, row.entity, row.tags, row.metadata) == (
        fact.text,
        entity,
        fact.tags,
        fact.metadata,
    )


# A stamp orders strings by first appearance: which write, and where in it. Writes of facts
# have odd numbers; links on their own have the even number before the next fact, and go by
# the number of the edge they make (four strings at most each).
_POSITIONS = 30
_TAGS = 1 << 20
_LINKS = 1 << 21
_LINKS_BETWEEN = 1 << 28


def _stamp(write: int, position: int) -> int:
    return (write << _POSITIONS) + position


def _appearances(row: FactRow, name: str) -> Iterable[int]:
    write = 2 * row.id + 1
    tokens = tokenize(row.text)
    if name in tokens:
        yield _stamp(write, 1 + tokens.index(name))
    tags = json.loads(row.tags or "[]")
    if name in tags:
        yield _stamp(write, _TAGS + tags.index(name))
