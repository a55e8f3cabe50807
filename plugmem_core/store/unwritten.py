"""`Unwritten`: rows on their way into the file, which go there table by table."""

import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

from plugmem_core.store.encoding import encode_vector
from plugmem_core.store.rows import EdgeRow, EntityRow, FactRow, Vector


def _insert(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"


_INSERT_ENTITY = _insert("entities", len(EntityRow._fields))
_INSERT_FACT = _insert("facts", len(FactRow._fields))
_INSERT_EDGE = _insert("edges", len(EdgeRow._fields))
_CLOSE_EDGE = "UPDATE edges SET valid_to = ?, closed_at = ?, change = ? WHERE id = ?"
_PUT_VECTOR = "INSERT INTO vectors VALUES (?1, ?2) ON CONFLICT (fact) DO UPDATE SET data = ?2"


class Unwritten:
    """New rows of one transaction that are not in the file yet, and ends of old edges.

    One statement for many rows takes a third of the time of as many statements. Whoever asks
    the file for anything writes them first.

    Attributes:
        waiting: Whether there are any.
    """

    def __init__(self) -> None:
        self.waiting = False
        self._entities: list[EntityRow] = []
        self._facts: list[FactRow] = []
        self._edges: dict[int, EdgeRow] = {}
        self._closed: list[EdgeRow] = []
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
        self._edges[row.id] = row
        self.waiting = True

    def close_edge(self, row: EdgeRow) -> None:
        """Let the end of an edge wait, which may wait itself."""
        if row.id in self._edges:
            self._edges[row.id] = row
        else:
            self._closed.append(row)
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
        vectors = [(fact, encode_vector(vector)) for fact, vector in self._vectors.items()]
        ends = [(row.valid_to, row.closed_at, row.change, row.id) for row in self._closed]
        # What closes goes first: of every triple one edge is open.
        rows: list[tuple[str, Collection[tuple[Any, ...]]]] = [
            (_INSERT_ENTITY, self._entities),
            (_INSERT_FACT, self._facts),
            (_CLOSE_EDGE, ends),
            (_INSERT_EDGE, self._edges.values()),
            (_PUT_VECTOR, vectors),
        ]
        for statement, values in rows:
            if values:
                sql.executemany(statement, values)
        for waiting in (self._entities, self._facts, self._closed, self._edges, self._vectors):
            waiting.clear()
