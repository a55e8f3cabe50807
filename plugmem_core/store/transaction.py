"""One write transaction: the rules that keep truth consistent, as row operations.

Everything here runs inside `BEGIN IMMEDIATE`, on validated input, and collects
the rows it touched, so that the index can follow without reading them back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from plugmem_core.clock import to_datetime
from plugmem_core.errors import ClosedFactError, InvalidInputError, shown
from plugmem_core.store import stamps
from plugmem_core.store.edges import EdgeWrites
from plugmem_core.store.encoding import (
    decode_vector,
    dump_ids,
    dump_json,
    encode_vector,
    load_ids,
    load_labels,
    text_digest,
)
from plugmem_core.store.erasing import Erased, Eraser
from plugmem_core.store.rows import (
    DECLINED,
    NO_VECTOR,
    PENDING,
    STORED,
    AliasRow,
    FactRow,
    Vector,
    only,
    superseded,
)
from plugmem_core.store.writes import Name

Outcome = Literal["created", "unchanged", "revised"]


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
    space: str | None = None  # of the embedder that made the vector, if one did
    embed: bool = True
    pending: bool = False
    keep_vector: bool = False  # of the fact it supersedes, when it brings none

    @property
    def vector_state(self) -> int:
        """How its row stands in the matter of vectors."""
        if self.vector is not None:
            return STORED
        if self.pending:
            return PENDING
        return NO_VECTOR if self.embed else DECLINED


@dataclass(slots=True)
class Written:
    """The row that now holds, and how it came to."""

    row: FactRow
    outcome: Outcome


class Transaction(EdgeWrites):
    """The writes of one transaction; made by `SqliteStore.write`."""

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
            fact.keep_vector = fact.embed and fact.text == found.text
            written = Written(self._supersede(found, fact, namespace, entity), "revised")
        self._open_links(written.row, fact.links, entity, namespace)
        return written

    def newest(self, row: FactRow) -> FactRow:
        """Return the last version of a fact's chain."""
        while rows := self._select_facts("revises = ?", (row.id,)):
            successor = only(rows, f"the next after fact {row.id}")
            superseded(successor.id, row.id)
            row = successor
        return row

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

    def forget_key(self, key: str, namespace: int) -> list[FactRow]:
        """Hide every version of what was written under a key; return them."""
        rows = self._select_facts(
            "key = ? AND namespace = ? AND forgotten_at IS NULL", (key, namespace)
        )
        for row in rows:
            self.forget(row)
        return rows

    def end(self, target: FactRow, valid_to: int | None) -> FactRow:
        """Close a current fact without a successor; now by default."""
        if target.valid_to is not None:
            raise self._closed(target)
        # What was still to become true never does: it ends as it begins.
        latest = max(self._now, target.valid_from)
        at = latest if valid_to is None else valid_to
        if not target.valid_from <= at <= latest:
            raise InvalidInputError(
                f"valid_to is {to_datetime(at).isoformat()}; give an instant from "
                f"{to_datetime(target.valid_from).isoformat()}, the beginning of fact {target.id}, "
                f"to {to_datetime(latest).isoformat()}, or none to end it at the latter"
            )
        return self._close(target, at)

    def end_key(self, key: str, namespace: int) -> list[FactRow]:
        """Close the current fact under a key, if there is one; return it."""
        rows = self._select_facts(
            "key = ? AND namespace = ? AND valid_to IS NULL AND forgotten_at IS NULL",
            (key, namespace),
        )
        for row in rows:
            self.end(row, None)
        return rows

    def end_links(self, rows: Iterable[FactRow]) -> None:
        """Close the open edges that facts brought."""
        for row in rows:
            for edge in self._select_edges(
                "src = ? AND provenance = ? AND valid_to IS NULL", (row.entity, row.id)
            ):
                self._close_edge(edge, self._now)

    def expire(self, row: FactRow, expires_at: int | None) -> None:
        """Let a fact disappear at another instant, or never."""
        if row.expires_at != expires_at:
            self._update_fact(row._replace(expires_at=expires_at))

    def retag(
        self, targets: Iterable[FactRow], change_tags: Callable[[list[str]], list[str]]
    ) -> int:
        """Supersede each fact by itself with other tags, keeping its vector and key."""
        count = 0
        for target in targets:
            tags = change_tags(list(load_labels(target.tags)))
            successor = target._replace(
                id=self._next_fact(),
                tags=dump_json(tags) if tags else None,
                recorded_at=self._now,
                valid_from=self._now,
                revises=target.id,
                change=self.state.change,
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
            self._sql.execute("DELETE FROM staged WHERE fact = ?", (fact,))
            self._sql.execute("DELETE FROM facts WHERE id = ?", (fact,))
            self._sql.execute("INSERT INTO purges VALUES (?, ?)", (fact, self.state.change))
            for successor in self._select_facts("revises = ?", (fact,)):
                self._update_fact(successor._replace(revises=revises))
        self._purged.extend(ids)
        return len(ids)

    def begin_another_past(self) -> None:
        """Let every handle make its index anew: of this change there are no rows to follow."""
        self.state = self.state._replace(uuid=uuid4().hex, checkpoint=None)
        self._another_past = True

    def facts_about(self, entities: Iterable[int]) -> list[int]:
        """Return every fact about some entities, forgotten ones included."""
        return [row.id for one in entities for row in self._select_facts("entity = ?", (one,))]

    def facts_under(self, key: str, namespace: int) -> list[int]:
        """Return every fact written under a key, forgotten ones included."""
        rows = self._select_facts("key = ? AND namespace = ?", (key, namespace))
        return [row.id for row in rows]

    def erase(
        self, facts: Iterable[int], entities: Iterable[int], namespaces: Iterable[int]
    ) -> Erased:
        """Remove rows for good, and give the file another past; see `Eraser.erase`."""
        erased = Eraser(self._sql).erase(facts, entities, namespaces)
        self.release_space()
        self.begin_another_past()
        for known in (self._namespaces, self._entities, self._relations):
            known.clear()
        self._learned.forget_edges()
        return erased

    def release_space(self) -> bool:
        """Let the next vector decide anew when no vector is left; `True` if none was."""
        if not self.state.dim or self._sql.execute("SELECT 1 FROM vectors LIMIT 1").fetchone():
            return False
        self.state = self.state._replace(dim=0, space=None)
        self.begin_another_past()
        return True

    def complete_vector(self, fact: int, vector: Vector | None) -> bool:
        """Give a fact the vector it has not got yet; `None` when its text has no direction."""
        rows = self._select_facts(f"id = ? AND vector IN ({NO_VECTOR}, {PENDING})", (fact,))
        for row in rows:
            if vector is not None:
                self._put_vector(fact, vector)
            self._update_fact(row._replace(vector=NO_VECTOR if vector is None else STORED))
        return bool(rows)

    def put_values(self, collection: str, values: Mapping[str, str], namespace: int) -> None:
        """Store JSON values under keys; one that is there is replaced and keeps its place."""
        self._sql.executemany(
            "INSERT INTO kv (namespace, collection, key, value) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (namespace, collection, key) DO UPDATE SET value = excluded.value",
            [(namespace, collection, key, value) for key, value in values.items()],
        )

    def delete_values(self, collection: str, keys: Iterable[str], namespace: int) -> int:
        """Remove what is under keys; return how many there were."""
        return self._sql.executemany(
            "DELETE FROM kv WHERE namespace = ? AND collection = ? AND key = ?",
            [(namespace, collection, key) for key in keys],
        ).rowcount

    def claim_space(self, dim: int, space: str | None) -> None:
        """Record the dimension and the model of the file's vectors."""
        self.state = self.state._replace(dim=dim, space=space)

    def rename_entity(self, entity: int, namespace: int, name: Name) -> None:
        """Give an entity another display name and key."""
        holder = self.find_entity(name[1], namespace)
        if holder is not None and holder != entity:
            raise InvalidInputError(
                f"{name[0]!r} names another entity already; use merge_entities to make them one"
            )
        self._renamed = True
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

    def merge_entities(self, source: int, into: int) -> None:
        """Make one entity of two: all that is of `source` becomes of `into`."""
        row = self.entity_row(source)
        self._renamed = True
        for fact in self._select_facts("entity = ?", (source,)):
            self._update_fact(fact._replace(entity=into))
        for edge in self._select_edges("src = ?1 OR dst = ?1", (source,)):
            self._repoint(edge, source, into)
        self._repoint_mentions(source, into)
        aliases = self._sql.execute(
            "SELECT key, name FROM aliases WHERE entity = ?", (source,)
        ).fetchall()
        self._sql.execute("DELETE FROM aliases WHERE entity = ?", (source,))
        self._sql.execute("DELETE FROM entities WHERE id = ?", (source,))
        self._entities.clear()
        for key, name in [(row.key, row.name), *aliases]:
            self._add_alias(AliasRow(row.namespace, key, name, into, self.state.change))

    def _repoint_mentions(self, source: int, into: int) -> None:
        # What was about one of them and mentions the other is about what it mentions now.
        rows = self._select_facts(
            "mentions IS NOT NULL AND EXISTS "
            "(SELECT 1 FROM json_each(facts.mentions) "
            "WHERE value = ?1 OR (value = ?2 AND facts.entity = ?2))",
            (source, into),
        )
        for row in rows:
            named = {into if one == source else one for one in load_ids(row.mentions)}
            mentions = dump_ids(sorted(named - {row.entity}))
            self._sql.execute("UPDATE facts SET mentions = ? WHERE id = ?", (mentions, row.id))
            self._update_fact(row.mentioning(mentions))

    # -- finding what is there

    def _find_key(self, namespace: int, fact: FactWrite) -> FactRow | None:
        if fact.key in self._learned.keys:
            return None
        rows = self._select_facts(
            "namespace = ? AND key = ? AND valid_to IS NULL AND forgotten_at IS NULL",
            (namespace, fact.key),
        )
        if not rows:
            return None
        row = only(rows, f"current under the key {shown(fact.key)}")
        if row.expires_at is not None and row.expires_at <= self._now:
            # Gone for every reader already, so it is not revived; only its key is still taken.
            self._close(row, row.expires_at)
            return None
        return row

    def _find_text(self, namespace: int, entity: int | None, fact: FactWrite) -> FactRow | None:
        digest = self._digest(fact.text)
        if digest in self._learned.digests:
            return None
        rows = self._select_facts(
            "digest = ? AND valid_to IS NULL AND forgotten_at IS NULL AND namespace = ? "
            "AND entity IS ? AND key IS NULL AND text = ? "
            "AND (expires_at IS NULL OR expires_at > ?)",
            (digest, namespace, entity, fact.text, self._now),
        )
        return rows[0] if rows else None

    def _digest(self, text: str) -> int:
        known = self._digests.get(text)
        return text_digest(text) if known is None else known

    def _closed(self, target: FactRow) -> ClosedFactError:
        newest = self.newest(target)
        closed = f"fact {target.id} has been revised already"
        if newest is target:
            return ClosedFactError(f"fact {target.id} has ended; remember it as a new fact")
        if newest.is_current:
            return ClosedFactError(f"{closed}; revise its successor {newest.id} instead")
        return ClosedFactError(f"{closed}, and its successor is gone; remember it as a new fact")

    # -- writing rows

    def _entity_of(self, fact: FactWrite, namespace: int) -> int | None:
        if fact.entity is None:
            return None
        return self.entity(fact.entity, namespace, stamps.of_subject(self.state.next_fact))

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
            digest=self._digest(fact.text),
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
        if fact.keep_vector and fact.vector is None and target.vector == DECLINED:
            fact.embed = False
        elif fact.keep_vector and fact.vector is None and target.vector != NO_VECTOR:
            # What an embedder made, or was to make, is of the text; a caller's is of the fact.
            by_caller = self.state.space is None
            if target.vector == STORED and (by_caller or fact.text == target.text):
                fact.vector = self._read_vector(target.id)
            else:
                fact.pending = True
        return self._insert(fact, namespace, entity, revises=target.id)

    def _confirm(self, row: FactRow, fact: FactWrite) -> FactRow:
        confirmed = row._replace(expires_at=fact.expires_at)
        if fact.vector is not None and not self._has_vector(row.id, fact.vector):
            self._put_vector(row.id, fact.vector)
            confirmed = confirmed._replace(vector=STORED)
        elif fact.pending and row.vector in (NO_VECTOR, DECLINED):
            confirmed = confirmed._replace(vector=PENDING)
        if confirmed != row or row.id in self._new_vectors:
            return self._update_fact(confirmed)
        return row

    def _next_fact(self) -> int:
        fact = self.state.next_fact
        self.state = self.state.after_fact(fact)
        return fact

    def _add_fact(self, row: FactRow) -> None:
        self._unwritten.put_fact(row)
        self._learned.add_fact(row)
        self._touched_facts.append(row)

    def _close(self, row: FactRow, valid_to: int) -> FactRow:
        # A fact that was still to become true never did.
        valid_to = max(valid_to, row.valid_from)
        return self._update_fact(row._replace(valid_to=valid_to, closed_at=self._now))

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
        self._unwritten.put_vector(fact, vector)
        self._new_vectors[fact] = vector

    def _has_vector(self, fact: int, vector: Vector) -> bool:
        row = self._sql.execute("SELECT data FROM vectors WHERE fact = ?", (fact,)).fetchone()
        return row is not None and row[0] == encode_vector(vector)

    def _read_vector(self, fact: int) -> Vector:
        row = self._sql.execute("SELECT data FROM vectors WHERE fact = ?", (fact,)).fetchone()
        return decode_vector(row and row[0])

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
            stamp = stamps.of_target(row.id, position)
            dst = self.entity(target, namespace, stamp)
            triple = (entity, self._relation(relation, stamp + 1), dst)
            self._open_edge(triple, namespace, row.id)


def _says_the_same(row: FactRow, fact: FactWrite, entity: int | None) -> bool:
    if fact.key is None:  # text and entity are equal already
        return fact.tags in (None, row.tags) and fact.metadata in (None, row.metadata)
    return (row.text, row.entity, row.tags, row.metadata) == (
        fact.text,
        entity,
        fact.tags,
        fact.metadata,
    )
