"""Removing what must leave no trace: rows, and then the bytes they stood in."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from plugmem_core.store.encoding import dump_ids, load_ids
from plugmem_core.store.rows import superseded

_BATCH = 500  # values of one IN list; SQLite's oldest limit is 999


class Erased(NamedTuple):
    """What an erasure removed.

    Attributes:
        facts: The ids of the facts.
        entities: How many names of entities, aliases not counted.
        edges: How many versions of edges.
        values: How many values by key.
    """

    facts: tuple[int, ...]
    entities: int
    edges: int
    values: int


class Eraser:
    """Removes rows inside one transaction, and with them what nothing else uses.

    Args:
        connection: With the transaction open.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def erase(
        self, facts: Iterable[int], entities: Iterable[int], namespaces: Iterable[int]
    ) -> Erased:
        """Remove facts, entities, and all that is in namespaces.

        Edges go that follow from such a fact or touch such an entity; entities and relations
        go that lost their last fact or edge by it; namespaces that hold nothing any more.

        Args:
            facts: Whole revision chains.
            entities: Those that are named; no fact about them may be left out of `facts`.
            namespaces: Those of which nothing is to stay.
        """
        spaces, named = list(namespaces), set(entities)
        gone = sorted({*facts, *self._in("facts", spaces)})
        named.update(self._in("entities", spaces))
        touched = {entity for (entity,) in self._select("entity FROM facts WHERE id", gone)}
        doomed = self._edges(gone, sorted(named))
        touched.update(end for _, src, dst, _ in doomed for end in (src, dst))
        relations = {relation for *_, relation in doomed}
        self._delete("edges", "id", [edge for edge, *_ in doomed])
        self._delete("vectors", "fact", gone)
        self._delete("staged", "fact", gone)
        revised = dict(self._select("id, revises FROM facts WHERE id", gone))
        self._delete("facts", "id", gone)
        self._join_chains(revised)
        named.update(self._unused(sorted(touched - {None} - named)))
        self._unmention(named)
        self._delete("aliases", "entity", sorted(named))
        self._delete("entities", "id", sorted(named))
        values = self._delete("kv", "namespace", spaces)
        self._delete("relations", "id", [one for one in relations if not self._is_used(one)])
        self._sql.execute(
            "DELETE FROM namespaces WHERE id != 0 AND id NOT IN (SELECT namespace FROM facts "
            "UNION SELECT namespace FROM entities UNION SELECT namespace FROM kv)"
        )
        return Erased(tuple(gone), len(named), len(doomed), values)

    def _edges(self, facts: Sequence[int], entities: Sequence[int]) -> list[tuple[int, ...]]:
        columns = (("provenance", facts), ("src", entities), ("dst", entities))
        rows = {
            row
            for column, ids in columns
            for row in self._select(f"id, src, dst, relation FROM edges WHERE {column}", ids)
        }
        return sorted(rows)

    def _join_chains(self, revised: Mapping[int, int | None]) -> None:
        """Let what superseded a removed fact supersede what that one did.

        Args:
            revised: What each removed fact superseded.
        """
        for successor, removed in self._select("id, revises FROM facts WHERE revises", [*revised]):
            before = superseded(removed, revised[removed])
            while before is not None and before in revised:
                before = superseded(before, revised[before])
            self._sql.execute("UPDATE facts SET revises = ? WHERE id = ?", (before, successor))

    def _unmention(self, entities: set[int]) -> None:
        mentioning = "DISTINCT facts.id, mentions FROM facts, json_each(mentions) WHERE value"
        for fact, mentions in self._select(mentioning, sorted(entities)):
            left = dump_ids([one for one in load_ids(mentions) if one not in entities])
            self._sql.execute("UPDATE facts SET mentions = ? WHERE id = ?", (left, fact))

    def _unused(self, entities: Sequence[int]) -> set[int]:
        """Return the entities that no fact is about and no edge touches."""
        used = {
            entity
            for column, table in (("entity", "facts"), ("src", "edges"), ("dst", "edges"))
            for (entity,) in self._select(
                f"DISTINCT {column} FROM {table} WHERE {column}", entities
            )
        }
        return set(entities) - used

    def _is_used(self, relation: int) -> bool:
        row = self._sql.execute("SELECT 1 FROM edges WHERE relation = ? LIMIT 1", (relation,))
        return row.fetchone() is not None

    def _in(self, table: str, namespaces: Sequence[int]) -> list[int]:
        return [row for (row,) in self._select(f"id FROM {table} WHERE namespace", namespaces)]

    def _select(self, query: str, values: Sequence[int]) -> list[Any]:
        rows: list[Any] = []
        for batch, marks in _batches(values):
            rows += self._sql.execute(f"SELECT {query} IN ({marks})", batch).fetchall()
        return rows

    def _delete(self, table: str, column: str, values: Sequence[int]) -> int:
        return sum(
            self._sql.execute(f"DELETE FROM {table} WHERE {column} IN ({marks})", batch).rowcount
            for batch, marks in _batches(values)
        )


def _batches(values: Sequence[int]) -> Iterable[tuple[Sequence[int], str]]:
    for start in range(0, len(values), _BATCH):
        batch = values[start : start + _BATCH]
        yield batch, ", ".join("?" * len(batch))
