"""What every arrival stands on: names and ids of a file, and where they are here."""

from plugmem_core.errors import InvalidInputError
from plugmem_core.store import stamps
from plugmem_core.store.passage import Passage, Stretch, note, noted
from plugmem_core.store.rows import EntityRow, RelationRow
from plugmem_core.store.transaction import Transaction
from plugmem_core.store.transfer import AliasRecord, EntityRecord, FactRecord, RelationRecord
from plugmem_core.store.writes import Name
from plugmem_core.text import entity_key

_LAST_STAMP = 2**63 - 1


class Arriving:
    """Writes names, and knows where ids of the file are here.

    A friend of `Transaction`: it writes rows that have ids and instants already, which no verb
    may, with the same primitives.

    Args:
        transaction: What they are written in.
        passage: The import they belong to.
    """

    def __init__(self, transaction: Transaction, passage: Passage) -> None:
        self._to = transaction
        self._passage = passage
        self._known_facts, self._known_edges = passage.known

    # -- names

    def _entity(self, record: EntityRecord) -> bool:
        to = self._to
        name, space = name_of(record.name), to.namespace(record.namespace)
        if to.find_entity(name[1], space) is not None:
            return False
        here = max(record.id + self._passage.entities, to.state.next_entity)
        row = EntityRow(
            here,
            space,
            name[1],
            name[0],
            self._stamp(record.seen),
            to.state.change,
        )
        to._sql.execute("INSERT INTO entities VALUES (?, ?, ?, ?, ?, ?)", row)
        to._new_entities.append(row)
        to.state = to.state._replace(next_entity=here + 1)
        return True

    def _alias(self, record: AliasRecord) -> bool:
        to = self._to
        space, alias = to.namespace(record.namespace), name_of(record.name)
        entity = to.find_entity(name_of(record.entity)[1], space)
        if entity is None:
            raise InvalidInputError(
                f"{record.name!r} is a further name of {record.entity!r}, which no line before "
                "it has"
            )
        if to.find_entity(alias[1], space) is not None:
            return False  # a name that leads somewhere here goes on leading there
        to.alias_entity(entity, space, alias)
        return True

    def _relation(self, record: RelationRecord) -> bool:
        to = self._to
        if to.relation_id(record.name) is not None:
            return False
        rank = self._stamp(record.rank)
        if not self._passage.keeps_ids:
            rank = to._first_seen(record.name, rank)
        cursor = to._sql.execute(
            "INSERT INTO relations (name, rank, change) VALUES (?, ?, ?)",
            (record.name, rank, to.state.change),
        )
        to._new_relations.append(
            RelationRow(int(cursor.lastrowid or 0), record.name, rank, to.state.change)
        )
        return True

    def _stamp(self, stamp: int) -> int:
        """Move a stamp as the facts are moved."""
        newest = self._passage.facts[-1]
        by = stamps.of_subject(newest.here) - stamps.of_subject(newest.first)
        return min(max(stamp + by, 0), _LAST_STAMP)

    # -- ids

    def _place(self, stretches: list[Stretch], there: int | None, following: int) -> int:
        """Return the id here of what is to be added."""
        if there is None or self._passage.foreign:
            return following
        return max(stretches[-1].place(there), following)

    def _name_fact(self, record: FactRecord, here: int) -> None:
        if record.id is None:
            return
        if self._passage.foreign or self._passage.facts[-1].place(record.id) != here:
            note(self._to, record.id, here)

    def _place_of(self, there: int) -> int | None:
        """Return the id here of a fact of the file, if it has come."""
        here = noted(self._to, there)
        if here is not None or self._passage.foreign:
            return here
        reaching = [one for one in self._passage.facts if one.first <= there]
        place = reaching[-1].place(there) if reaching else -1
        return place if self._came(self._passage.facts, place) else None

    def _find_fact(self, there: int) -> int | None:
        """Return the id here of a fact of the file, if it has come and is not gone again."""
        rows = self._to._select_facts("id = ?", (self._place_of(there),))
        return rows[0].id if rows else None

    def _was_purged(self, there: int) -> bool:
        """Return whether a fact of the file has come and is gone again."""
        query = "SELECT 1 FROM purges WHERE fact = ?"
        return self._to._sql.execute(query, (self._place_of(there),)).fetchone() is not None

    @staticmethod
    def _came(stretches: list[Stretch], here: int) -> bool:
        """Return whether something here came with this import."""
        newest = stretches[-1]
        return here >= newest.here or any(one.here <= here < one.end for one in stretches[:-1])


def name_of(name: str) -> Name:
    """Return a name and its key."""
    return name, entity_key(name)
