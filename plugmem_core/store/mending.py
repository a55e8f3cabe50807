"""A scratch database of rescued rows, mended so that what is left can be read as a memory.

What only lost its name gets another one, so that it stays together, and apart from the rest.
"""

import sqlite3
from collections.abc import Iterator

from plugmem_core.errors import PlugmemError
from plugmem_core.inputs import MAX_DIM, check_namespace
from plugmem_core.store.encoding import dump_json, load_labels
from plugmem_core.store.rescue import Damage
from plugmem_core.store.rows import NO_VECTOR, PENDING, STORED, most_ids
from plugmem_core.store.schema import ANALYZER

_ENTITIES_USED = (
    "SELECT entity AS id, namespace FROM facts WHERE entity IS NOT NULL "
    "UNION ALL SELECT src, namespace FROM edges UNION ALL SELECT dst, namespace FROM edges "
    "UNION ALL SELECT entity, namespace FROM aliases"
)
_SPACES_USED = " UNION ".join(
    f"SELECT namespace FROM {table}" for table in ("facts", "entities", "aliases", "edges", "kv")
)
_IDS = {
    "facts": "SELECT id FROM facts UNION SELECT fact FROM purges UNION SELECT fact FROM vectors",
    "entities": f"SELECT id FROM entities UNION SELECT id FROM ({_ENTITIES_USED})",
    "edges": "SELECT id FROM edges",
}
_GIVEN = {
    "facts": "SELECT id FROM facts UNION SELECT fact FROM purges ORDER BY 1",
    "entities": "SELECT id FROM entities ORDER BY 1",
    "edges": "SELECT id FROM edges ORDER BY 1",
}
_APART = -1  # a namespace that no file has
_CONTRADICTIONS = (
    (
        "facts",
        "e.id = facts.entity AND e.namespace != facts.namespace",
        "it says to be in another namespace than its entity; it is set apart from both",
    ),
    (
        "edges",
        "e.id IN (edges.src, edges.dst) AND e.namespace != edges.namespace",
        "it says to be in another namespace than an end of it; it is set apart from both",
    ),
)
_NEVER_SAID = {
    "facts": "no page that can be read holds it; if it was not erased, it is lost",
    "entities": "no page that can be read holds it; if it was not merged or erased, it is lost",
    "edges": "no page that can be read holds it; if it was not erased, it is lost",
}


class Mender:
    """Mends a scratch database in place.

    Args:
        sql: The database.
        damages: What is known to be wrong; what is found is added.
    """

    def __init__(self, sql: sqlite3.Connection, damages: list[Damage]) -> None:
        self._sql = sql
        self._damages = damages

    def run(self) -> None:
        """Make of the rows what a memory could hold."""
        damaged = bool(self._damages)
        row = self._sql.execute("SELECT next_fact, next_entity, next_edge FROM state").fetchone()
        if row is None:
            self._note("state", None, "the counters cannot be read; they are taken from the rows")
        said = dict(zip(("facts", "entities", "edges"), row or (0, 0, 0), strict=True))
        ends = {kind: self._end(kind, said[kind]) for kind in said}
        self._remove_outside(ends)
        self._set_apart()
        self._name_spaces()
        self._name_entities()
        self._name_relations()
        self._cut_chains()
        self._close_superseded()
        space, analyzer = self._sql.execute("SELECT space, analyzer FROM state").fetchone() or (
            None,
            ANALYZER,
        )
        self._settle_vectors(space)
        dim = self._dim()
        self._sql.execute("DELETE FROM state")
        self._sql.execute(
            "INSERT INTO state VALUES (1, '', 0, ?, ?, ?, ?, ?, NULL, ?)",
            (*ends.values(), dim, space if dim else None, analyzer),
        )
        if damaged or row is None:
            for kind, end in ends.items():
                self._note_gaps(kind, end)

    # -- ids

    def _end(self, kind: str, said: int) -> int:
        """Return the next id to be given: the one that was noted, if it can be true."""
        (count,) = self._sql.execute(f"SELECT count(*) FROM ({_IDS[kind]})").fetchone()
        most = most_ids(count)
        (last,) = self._sql.execute(
            f"SELECT max(id) FROM ({_IDS[kind]}) WHERE id BETWEEN 0 AND ?", (most,)
        ).fetchone()
        least = 0 if last is None else last + 1
        return said if least <= said <= most else least

    def _remove_outside(self, ends: dict[str, int]) -> None:
        for table, end in ends.items():
            outside = f"FROM {table} WHERE id NOT BETWEEN 0 AND ?"
            for (row,) in self._sql.execute(f"SELECT id {outside}", (end - 1,)).fetchall():
                self._note(table, row, "it has an id that cannot be")
            self._sql.execute(f"DELETE {outside}", (end - 1,))
        last = (ends["entities"] - 1,)
        for (fact,) in self._sql.execute(
            "SELECT id FROM facts WHERE entity NOT BETWEEN 0 AND ?", last
        ).fetchall():
            self._note("facts", fact, "its entity cannot be; it is saved without one")
        self._sql.execute("UPDATE facts SET entity = NULL WHERE entity NOT BETWEEN 0 AND ?", last)
        outside = "FROM edges WHERE NOT (src BETWEEN 0 AND ?1 AND dst BETWEEN 0 AND ?1)"
        for (edge,) in self._sql.execute(f"SELECT id {outside}", last).fetchall():
            self._note("edges", edge, "an end of it cannot be")
        self._sql.execute(f"DELETE {outside}", last)

    def _note_gaps(self, kind: str, end: int) -> None:
        known = {damage.first for damage in self._damages if damage.table == kind}
        for first, last in self._gaps(kind, end):
            if not known.issuperset(range(first, min(last, first + len(known)) + 1)):
                self._damages.append(Damage(kind, first, last, _NEVER_SAID[kind]))

    def _gaps(self, kind: str, end: int) -> Iterator[tuple[int, int]]:
        expected = 0
        for (row,) in self._sql.execute(_GIVEN[kind]):
            if row > expected:
                yield expected, row - 1
            expected = max(expected, row + 1)
        if expected < end:
            yield expected, end - 1

    # -- names

    def _set_apart(self) -> None:
        """Let nothing be in a namespace of which another part of it is not."""
        for table, condition, reason in _CONTRADICTIONS:
            where = f"EXISTS (SELECT 1 FROM entities e WHERE {condition})"
            rows = self._sql.execute(f"SELECT id FROM {table} WHERE {where}").fetchall()
            for (row,) in rows:
                self._note(table, row, reason)
            self._sql.execute(f"UPDATE {table} SET namespace = {_APART} WHERE {where}")

    def _name_spaces(self) -> None:
        self._sql.execute("INSERT OR REPLACE INTO namespaces VALUES (0, '[]')")
        seen: set[str] = set()
        rows = self._sql.execute("SELECT id, path FROM namespaces ORDER BY id").fetchall()
        for space, path in rows:
            if not _is_path(path) or path in seen:
                self._rename_space(space)
            seen.add(path)
        used = self._sql.execute(f"{_SPACES_USED} EXCEPT SELECT id FROM namespaces").fetchall()
        for (space,) in used:
            self._rename_space(space)

    def _rename_space(self, space: int) -> None:
        name = f"lost namespace {space}"
        self._note("namespaces", space, f"its labels cannot be read; it is now {(name,)}")
        self._sql.execute(
            "INSERT OR REPLACE INTO namespaces VALUES (?, ?)", (space, dump_json([name]))
        )

    def _name_entities(self) -> None:
        rows = self._sql.execute(
            f"SELECT id, min(namespace) FROM ({_ENTITIES_USED}) "
            "WHERE id NOT IN (SELECT id FROM entities) GROUP BY id"
        ).fetchall()
        for entity, space in rows:
            name = f"lost entity {entity}"
            self._note("entities", entity, f"its name cannot be read; it is now {name!r}")
            self._sql.execute(
                "INSERT INTO entities VALUES (?, ?, ?, ?, 0, 0)", (entity, space, name, name)
            )

    def _name_relations(self) -> None:
        rows = self._sql.execute(
            "SELECT DISTINCT relation FROM edges WHERE relation NOT IN (SELECT id FROM relations)"
        ).fetchall()
        for (relation,) in rows:
            name = f"lost relation {relation}"
            self._note("relations", relation, f"its name cannot be read; it is now {name!r}")
            self._sql.execute("INSERT INTO relations VALUES (?, ?, 0, 0)", (relation, name))

    # -- facts

    def _cut_chains(self) -> None:
        """Let no fact supersede itself or a later one."""
        rows = self._sql.execute(
            "SELECT id FROM facts WHERE revises >= id AND revises IN (SELECT id FROM facts)"
        ).fetchall()
        for (fact,) in rows:
            self._note("facts", fact, "saved without revises: it says to supersede a later fact")
        self._sql.execute("UPDATE facts SET revises = NULL WHERE revises >= id")

    def _close_superseded(self) -> None:
        """Let a fact end whose own end is lost, but not that something supersedes it."""
        rows = self._sql.execute(
            "SELECT f.id, max(f.valid_from, s.valid_from), s.recorded_at "
            "FROM facts f JOIN facts s ON s.revises = f.id "
            "WHERE f.closed_at IS NULL AND f.forgotten_at IS NULL"
        ).fetchall()
        for fact, end, learned in rows:
            self._note("facts", fact, "its end cannot be read; it ends where the next begins")
            self._sql.execute(
                "UPDATE facts SET valid_to = ?, closed_at = ? WHERE id = ?", (end, learned, fact)
            )

    def _settle_vectors(self, space: str | None) -> None:
        missing = f"vector = {STORED} AND id NOT IN (SELECT fact FROM vectors)"
        state = NO_VECTOR if space is None else PENDING
        again = "" if space is None else "; it is pending"
        for (fact,) in self._sql.execute(f"SELECT id FROM facts WHERE {missing}").fetchall():
            self._note("vectors", fact, f"no page that can be read holds it{again}")
        self._sql.execute(f"UPDATE facts SET vector = ? WHERE {missing}", (state,))
        self._sql.execute(
            f"DELETE FROM vectors WHERE fact IN (SELECT id FROM facts WHERE vector != {STORED})"
        )

    def _dim(self) -> int:
        """Return the dimension that most vectors have."""
        row = self._sql.execute(
            "SELECT length(data) / 4 FROM vectors GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
        ).fetchone()
        return 0 if row is None or row[0] > MAX_DIM else int(row[0])

    def _note(self, table: str, row: int | None, reason: str) -> None:
        self._damages.append(Damage(table, row, row, reason))


def _is_path(path: str) -> bool:
    try:
        return dump_json(check_namespace(load_labels(path))) == path
    except PlugmemError:
        return False
