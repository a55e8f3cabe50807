"""What every part of a transaction stands on: the connection, the counters, the touched rows."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from plugmem_core.errors import NotFoundError
from plugmem_core.store.learned import Learned
from plugmem_core.store.rows import (
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
from plugmem_core.store.soundness import sound
from plugmem_core.store.unwritten import Unwritten

Name = tuple[str, str]
"""A name as given, and its key."""


class NewNames(NamedTuple):
    """Names that are not committed yet.

    Attributes:
        entities: Of which there are new ones.
        aliases: The new ones.
        are_all: Whether these are all names there are, since some of before hold no more.
    """

    entities: Sequence[EntityRow]
    aliases: Sequence[AliasRow]
    are_all: bool


FirstFacts = Callable[[str, Callable[[int, str], bool]], Iterable[int]]
"""Finds the first facts in which a string is a token or a tag, by asking what has a token."""

FindMentions = Callable[[Sequence[FactRow], NewNames], Sequence[str | None]]
"""Finds the entities that texts name, as a column of JSON."""


def find_nothing(rows: Sequence[FactRow], _: NewNames) -> list[str | None]:
    """Find no mentions."""
    return [None] * len(rows)


def read_names(sql: sqlite3.Connection) -> tuple[list[EntityRow], list[AliasRow]]:
    """Return every entity and every alias, as the connection sees them."""
    return (
        list(map(EntityRow._make, sql.execute("SELECT * FROM entities ORDER BY id"))),
        list(map(AliasRow._make, sql.execute("SELECT * FROM aliases ORDER BY key"))),
    )


class Writes:
    """Rows read and touched by one transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        state: FileState,
        now: int,
        first_facts: FirstFacts,
        find_mentions: FindMentions,
    ) -> None:
        self._connection = connection
        self._unwritten = Unwritten()
        self._learned = Learned(state.next_entity)
        self._find_mentions = find_mentions
        self._first_new = state.next_fact
        self._now = now
        self._first_facts = first_facts
        # What names lead to, as far as this transaction asked; `None` where to nothing.
        self._namespaces: dict[str, int] = {}
        self._entities: dict[tuple[int, str], int | None] = {}
        self._relations: dict[str, int] = {}
        self._digests: dict[str, int] = {}  # of texts that are about to be looked for
        self.state = state._replace(change=state.change + 1)
        self._new_namespaces: list[NamespaceRow] = []
        self._new_entities: list[EntityRow] = []
        self._new_aliases: list[AliasRow] = []
        self._new_relations: list[RelationRow] = []
        self._touched_facts: list[FactRow] = []
        self._touched_edges: list[EdgeRow] = []
        self._new_vectors: dict[int, Vector] = {}
        self._purged: list[int] = []
        self._another_past = False
        self._renamed = False  # whether a name of before leads elsewhere by now

    @property
    def _sql(self) -> sqlite3.Connection:
        """The connection, once the rows that were waiting are in the file."""
        if self._unwritten.waiting:
            self._unwritten.write(self._connection)
        return self._connection

    def finish(self) -> bool:
        """Write what follows from the rest, before the commit; `False` when nothing was touched."""
        self._mention()
        changes = self.changes
        touched = any((changes.namespaces, changes.entities, changes.aliases, changes.relations))
        touched = touched or any((changes.facts, changes.edges, changes.vectors, changes.purged))
        if not touched and not self._another_past:
            return False
        self._sql.execute(
            "UPDATE state SET uuid = ?, change = ?, next_fact = ?, next_entity = ?, "
            "next_edge = ?, dim = ?, space = ?, checkpoint = ?, analyzer = ?",
            self.state,
        )
        return True

    def _mention(self) -> None:
        """Note which entities the new texts name, now that all names are there."""
        new = {row.id: row for row in self._touched_facts if row.id >= self._first_new}
        if not new:
            return
        changed = {row.id: row for row in self._with_mentions([*new.values()])}
        if not changed:
            return
        late = self._unwritten.replace_facts(changed)
        self._sql.executemany(
            "UPDATE facts SET mentions = ? WHERE id = ?",
            [(row.mentions, row.id) for row in late],
        )
        self._touched_facts = [changed.get(row.id, row) for row in self._touched_facts]

    def note_mentions(self, rows: Sequence[FactRow]) -> int:
        """Note which entities the texts of facts name; return how many rows changed."""
        change = self.state.change
        changed = [row._replace(change=change) for row in self._with_mentions(rows)]
        self._sql.executemany(
            "UPDATE facts SET mentions = ?, change = ? WHERE id = ?",
            [(row.mentions, change, row.id) for row in changed],
        )
        self._touched_facts.extend(changed)
        return len(changed)

    def _with_mentions(self, rows: Sequence[FactRow]) -> list[FactRow]:
        """Return the rows that mention others than they say, as they are to be."""
        names = NewNames(self._new_entities, self._new_aliases, are_all=False)
        if self._renamed:
            names = NewNames(*read_names(self._sql), are_all=True)
        found = self._find_mentions(rows, names)
        return [
            row.mentioning(mentions)
            for row, mentions in zip(rows, found, strict=True)
            if row.mentions != mentions
        ]

    @property
    def changes(self) -> Changes:
        """Every row touched so far."""
        return Changes(
            self.state.change,
            self.state.uuid,
            self._new_namespaces,
            self._new_entities,
            self._new_aliases,
            self._new_relations,
            self._touched_facts,
            self._touched_edges,
            self._new_vectors.items(),
            self._purged,
        )

    def fact(self, fact: int) -> FactRow:
        """Return a stored fact's row, forgotten ones included."""
        row = self._sql.execute("SELECT * FROM facts WHERE id = ?", (fact,)).fetchone()
        if row is None:
            raise NotFoundError(f"fact {fact} does not exist")
        return sound(FactRow, row)

    def facts_after(self, fact: int, limit: int) -> list[FactRow]:
        """Return the rows of facts beyond one, forgotten ones excluded, by id."""
        return self._select_facts("id > ? AND forgotten_at IS NULL", (fact,), limit)

    def _select_facts(self, where: str, values: Sequence[object], limit: int = -1) -> list[FactRow]:
        # `where` is one of the literals above, never a caller's text; -1 is no limit.
        sql = f"SELECT * FROM facts WHERE {where} ORDER BY id LIMIT {limit:d}"
        return [sound(FactRow, row) for row in self._sql.execute(sql, values)]

    def _select_edges(self, where: str, values: Sequence[object]) -> list[EdgeRow]:
        sql = f"SELECT * FROM edges WHERE {where} ORDER BY id"
        return [sound(EdgeRow, row) for row in self._sql.execute(sql, values)]
