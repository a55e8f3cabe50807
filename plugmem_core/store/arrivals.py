"""What arrives in a memory: records of another one, put among the rows that are here.

What is here already, by all that was said about it and when, is not added again, so that a
file can be brought in twice, or a later one of the same memory. Where only one of two can hold,
the one recorded later does, and the other ends where that begins.
"""

from collections.abc import Callable
from typing import Any

from plugmem_core.errors import InvalidInputError
from plugmem_core.store import stamps
from plugmem_core.store.arriving import Arriving, name_of
from plugmem_core.store.encoding import decode_vector, text_digest
from plugmem_core.store.passage import Passage
from plugmem_core.store.rows import EdgeRow, FactRow
from plugmem_core.store.transaction import Transaction
from plugmem_core.store.transfer import (
    AliasRecord,
    EdgeRecord,
    EntityRecord,
    FactRecord,
    Record,
    RelationRecord,
    ValueRecord,
)


class Arrivals(Arriving):
    """Writes records inside one transaction.

    Args:
        transaction: What they are written in.
        passage: The import they belong to.
    """

    def __init__(self, transaction: Transaction, passage: Passage) -> None:
        super().__init__(transaction, passage)
        self._puts: dict[type[Any], Callable[[Any], bool]] = {
            EntityRecord: self._entity,
            AliasRecord: self._alias,
            FactRecord: self._fact,
            RelationRecord: self._relation,
            EdgeRecord: self._edge,
            ValueRecord: self._value,
        }

    def put(self, record: Record) -> bool:
        """Write a checked record; `False` when it was here already.

        Raises:
            InvalidInputError: It does not fit to the records before it; nothing of it is
                written.
        """
        return self._puts[type(record)](record)

    # -- facts

    def _fact(self, record: FactRecord) -> bool:
        to = self._to
        space = to.namespace(record.namespace)
        here = self._place(self._passage.facts, record.id, to.state.next_fact)
        entity = None
        if record.entity is not None:
            entity = to.entity(name_of(record.entity), space, stamps.of_subject(here))
        known = self._same_fact(record, space, entity)
        if known is not None:
            self._name_fact(record, known.id)
            if known.valid_to is None and record.valid_to is not None:
                to._update_fact(
                    known._replace(valid_to=record.valid_to, closed_at=record.closed_at)
                )
            return False
        recorded_at = to._now if record.recorded_at is None else record.recorded_at
        row = FactRow(
            id=here,
            namespace=space,
            key=record.key,
            entity=entity,
            text=record.text,
            tags=record.tags,
            metadata=record.metadata,
            recorded_at=recorded_at,
            valid_from=recorded_at if record.valid_from is None else record.valid_from,
            valid_to=record.valid_to,
            closed_at=record.closed_at,
            expires_at=record.expires_at,
            revises=self._predecessor(record, space),
            forgotten_at=None,
            digest=text_digest(record.text),
            vector=record.vector,
            change=to.state.change,
        )
        row = self._beside_key(row)
        to.state = to.state.after_fact(here)
        to._add_fact(row)
        if record.data is not None:
            to._put_vector(row.id, decode_vector(record.data))
        self._name_fact(record, row.id)
        return True

    def _same_fact(self, record: FactRecord, space: int, entity: int | None) -> FactRow | None:
        if not self._known_facts:
            return None
        rows = self._to._select_facts(
            "digest = ? AND id < ? AND namespace = ? AND entity IS ? AND key IS ? AND text = ? "
            "AND tags IS ? AND metadata IS ? AND recorded_at = ? AND valid_from = ?",
            (
                text_digest(record.text),
                self._known_facts,
                space,
                entity,
                record.key,
                record.text,
                record.tags,
                record.metadata,
                record.recorded_at,
                record.valid_from,
            ),
        )
        return rows[0] if rows else None

    def _predecessor(self, record: FactRecord, space: int) -> int | None:
        if record.revises is None:
            return None
        to, named = self._to, f"fact {record.id} revises fact {record.revises}"
        rows = to._select_facts("id = ?", (self._place_of(record.revises),))
        row = rows[0] if rows else None
        if row is None and self._was_purged(record.revises):
            return None
        if row is None or row.namespace != space:
            raise InvalidInputError(f"{named}, which no line before it has in its namespace")
        if row.closed_at is None and row.forgotten_at is None:
            raise InvalidInputError(f"{named}, which has not ended")
        others = to._select_facts("revises = ?", (row.id,))
        if not others:
            return row.id
        if self._came(self._passage.facts, others[0].id):
            raise InvalidInputError(f"{named}, and so does a line before it")
        return None  # it was revised here and there; both revisions hold

    def _beside_key(self, row: FactRow) -> FactRow:
        """Let one of two facts under a key end."""
        if row.key is None or row.valid_to is not None:
            return row
        to = self._to
        for standing in to._select_facts(
            "namespace = ? AND key = ? AND valid_to IS NULL AND forgotten_at IS NULL",
            (row.namespace, row.key),
        ):
            if self._came(self._passage.facts, standing.id):
                raise InvalidInputError(
                    f"the key {row.key!r} has a second fact that has not ended; end one of them"
                )
            if standing.expires_at is not None and standing.expires_at <= to._now:
                to._close(standing, standing.expires_at)
            elif standing.recorded_at <= row.recorded_at:
                to._close(standing, row.valid_from)
                row = row._replace(revises=standing.id if row.revises is None else row.revises)
            else:
                end = max(standing.valid_from, row.valid_from)
                row = row._replace(valid_to=end, closed_at=to._now)
        return row

    # -- edges and values

    def _edge(self, record: EdgeRecord) -> bool:
        to = self._to
        space = to.namespace(record.namespace)
        here = self._place(self._passage.edges, record.id, to.state.next_edge)
        stamp = stamps.of_link(to.state.next_fact, here)
        triple = (
            to.entity(name_of(record.src), space, stamp),
            to._relation(record.relation, stamp + 2),
            to.entity(name_of(record.dst), space, stamp + 1),
        )
        known = self._same_edge(record, triple)
        if known is not None:
            if known.valid_to is None and record.valid_to is not None:
                to._update_edge(
                    known._replace(valid_to=record.valid_to, closed_at=record.closed_at)
                )
            return False
        provenance = self._provenance(record)
        began = (to._now, to._now) if provenance is None else self._instants(provenance)
        row = EdgeRow(
            here,
            space,
            *triple,
            provenance,
            record.properties,
            began[0] if record.recorded_at is None else record.recorded_at,
            began[1] if record.valid_from is None else record.valid_from,
            record.valid_to,
            record.closed_at,
            to.state.change,
        )
        row = self._beside_edge(row, triple)
        to._add_edge(row)
        return True

    def _same_edge(self, record: EdgeRecord, triple: tuple[int, int, int]) -> EdgeRow | None:
        if record.recorded_at is None:
            return self._to._open_version(triple)
        rows = self._to._select_edges(
            "src = ? AND relation = ? AND dst = ? AND id < ? AND properties IS ? "
            "AND recorded_at = ? AND valid_from = ?",
            (
                *triple,
                self._known_edges,
                record.properties,
                record.recorded_at,
                record.valid_from,
            ),
        )
        return rows[0] if rows else None

    def _provenance(self, record: EdgeRecord) -> int | None:
        if record.provenance is None:
            return None
        here = self._find_fact(record.provenance)
        # Where ids are kept, so is that of a fact that is gone; nothing else ever gets it.
        return record.provenance if here is None and self._passage.keeps_ids else here

    def _instants(self, fact: int) -> tuple[int, int]:
        row = self._to._select_facts("id = ?", (fact,))
        return (row[0].recorded_at, row[0].valid_from) if row else (self._to._now, self._to._now)

    def _beside_edge(self, row: EdgeRow, triple: tuple[int, int, int]) -> EdgeRow:
        """Let one of two open versions of an edge end."""
        to = self._to
        standing = None if row.valid_to is not None else to._open_version(triple)
        if standing is None:
            return row
        if self._came(self._passage.edges, standing.id):
            raise InvalidInputError("a line before it has the same edge, which has not ended")
        if standing.recorded_at <= row.recorded_at:
            to._close_edge(standing, row.valid_from)
            return row
        end = max(standing.valid_from, row.valid_from)
        return row._replace(valid_to=end, closed_at=to._now)

    def _value(self, record: ValueRecord) -> bool:
        to = self._to
        to.put_values(record.collection, {record.key: record.value}, to.namespace(record.namespace))
        return True
