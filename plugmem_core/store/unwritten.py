"""`Unwritten`: rows on their way into the file, which go there table by table."""

import sqlite3
from collections.abc import Mapping

from plugmem_core.store.encoding import encode_vector
from plugmem_core.store.rows import EdgeRow, EntityRow, FactRow, Vector


def _insert(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"


_INSERT_ENTITY = _insert("entities", len(EntityRow._fields))
_INSERT_FACT = _insert("facts", len(FactRow._fields))
_INSERT_EDGE = _insert("edges", len(EdgeRow._fields))
_PUT_VECTOR = "INSERT INTO vectors VALUES (?1, ?2) ON CONFLICT (fact) DO UPDATE SET data = ?2"


class Unwritten:
    """New rows of one transaction that are not in the file yet.

    One statement for many rows takes a third of the time of as many statements. Whoever asks
    the file for anything writes them first.

    Attributes:
        waiting: Whether there are any.
    """

    def __init__(self) -> None:
        self.waiting = False
        self._entities: list[EntityRow] = []
        self._facts: list[FactRow] = []
        self._edges: list[EdgeRow] = []
        self._vectors: dict[int, Vector] = {}

    def put_entity(self, row: EntityRow) -> None:
        """Let a new entity wait."""
        self._entities.append(row)
        self.waiting = True

    def put_fact(self, row: FactRow) -> None:
        """Let a new fact wait."""
        self._facts.append(row)
        self.waiting = True

    def put_edge(self, row: EdgeRow) -> None:
        """Let a new version of an edge wait."""
        self._edges.append(row)
        self.waiting = True

    def put_vector(self, fact: int, vector: Vector) -> None:
        """Let the vector of a fact wait, in the place of the one it may have."""
        self._vectors[fact] = vector
        self.waiting = True

    def replace_facts(self, rows: Mapping[int, FactRow]) -> list[FactRow]:
        """Put other rows in the place of facts that wait; return those that do not wait."""
        self._facts = [rows.get(row.id, row) for row in self._facts]
        waiting = {row.id for row in self._facts}
        return [row for fact, row in rows.items() if fact not in waiting]

    def write(self, sql: sqlite3.Connection) -> None:
        """Insert all that waits."""
        self.waiting = False
        rows: list[tuple[str, list[EntityRow] | list[FactRow] | list[EdgeRow]]] = [
            (_INSERT_ENTITY, self._entities),
            (_INSERT_FACT, self._facts),
            (_INSERT_EDGE, self._edges),
        ]
        for insert, new in rows:
            if new:
                sql.executemany(insert, new)
                new.clear()
        if self._vectors:
            data = [(fact, encode_vector(vector)) for fact, vector in self._vectors.items()]
            sql.executemany(_PUT_VECTOR, data)
            self._vectors.clear()
