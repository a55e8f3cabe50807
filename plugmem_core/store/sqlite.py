"""`SqliteStore`: connections, the write transaction, and every read of the file."""

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from plugmem_core.clock import MAX_MS, MIN_MS, Clock
from plugmem_core.errors import (
    BusyError,
    ClosedError,
    CorruptError,
    InvalidInputError,
    PlugmemError,
    ReadOnlyError,
    StorageError,
)
from plugmem_core.store.connecting import connect, mark, reading_uri
from plugmem_core.store.encoding import decode_vector, text_digest
from plugmem_core.store.pulse import Pulse
from plugmem_core.store.rows import (
    DECLINED,
    NO_VECTOR,
    PENDING,
    STORED,
    AliasRow,
    Changes,
    EdgeCard,
    EdgeRow,
    EntityRow,
    FactCard,
    FactRow,
    FileState,
    NamespaceRow,
    RelationRow,
    Vector,
    most_ids,
    superseded,
)
from plugmem_core.store.schema import prepare
from plugmem_core.store.soundness import checked, sound
from plugmem_core.store.transaction import Transaction
from plugmem_core.store.writes import FindMentions, FirstFacts, read_names
from plugmem_core.work import tally

MEMORY = ":memory:"

# One card: what a recall shows of a fact, with names instead of ids.
_CARD = (
    "SELECT f.id, f.text, e.name, f.tags, f.metadata, f.key, n.path, f.recorded_at, f.valid_from, "
    "f.valid_to, f.expires_at, f.revises, f.forgotten_at FROM facts f "
    "JOIN namespaces n ON n.id = f.namespace LEFT JOIN entities e ON e.id = f.entity WHERE f.id "
)
_EDGE = (
    "SELECT g.id, s.name, r.name, d.name, g.provenance, g.properties, n.path, g.recorded_at, "
    "g.valid_from, g.valid_to, g.closed_at FROM edges g JOIN entities s ON s.id = g.src "
    "JOIN entities d ON d.id = g.dst JOIN relations r ON r.id = g.relation "
    "JOIN namespaces n ON n.id = g.namespace "
)
_CHANGED = "SELECT * FROM {} WHERE change > ? ORDER BY {}"
_CHANGED_VECTORS = (
    "SELECT v.fact, v.data FROM vectors v JOIN facts f ON f.id = v.fact "
    "WHERE f.change > ? ORDER BY v.fact"
)
_BATCH = 500  # values of one IN list; SQLite's oldest limit is 999
_VERSIONS = 1 << 32  # more than SQLite counts for one connection


Row = TypeVar("Row")


class Names(NamedTuple):
    """Everything that has a name, and what edges carry."""

    namespaces: list[NamespaceRow]
    entities: list[EntityRow]
    aliases: list[AliasRow]
    relations: list[RelationRow]
    edge_properties: list[tuple[int, str]]


class SqliteStore:
    """The file. One connection writes, another reads committed rows only, others count commits.

    Args:
        path: A file, made when missing, or `":memory:"`.
        read_only: Never write, not even to create the file.
        durability: `"full"` waits for the disk at every commit.
        busy_timeout: Seconds to wait for another writer.
    """

    def __init__(
        self, path: str | Path, *, read_only: bool, durability: str, busy_timeout: float
    ) -> None:
        self.path = None if str(path) == MEMORY else Path(path).absolute()
        self.read_only = read_only
        self._busy_timeout = busy_timeout
        self._closed = False
        self._write_lock = RLock()
        # A database in memory belongs to its connection, so it has only the one.
        self._read_lock = RLock() if self.path else self._write_lock
        self._connections: list[sqlite3.Connection] = []
        self._pulses: list[Pulse] = []  # those that nobody feels just now
        self._times_opened = 0
        with self._translated():
            self._open()
            if not read_only:
                self._configure(durability)
        # A handle that is dropped without `close` lets go of the file all the same.
        dropped = weakref.finalize(self, _release, os.getpid(), self._connections, self._pulses)
        dropped.atexit = False

    def _open(self) -> None:
        self._uri, self._as_it_stood = "", None
        if self.read_only and self.path is not None:
            self._uri, self._as_it_stood = reading_uri(self.path, self._busy_timeout)
        self._writer = self._connect()
        self._connections.append(self._writer)
        self._reader = self._writer
        if self.path is not None:
            self._reader = self._connect()
            self._connections.append(self._reader)
        self._times_opened += 1

    def _connect(self) -> sqlite3.Connection:
        return connect(self.path, self._busy_timeout, uri=self._uri)

    def _configure(self, durability: str) -> None:
        try:
            self._writer.execute(f"PRAGMA synchronous = {durability}")
            prepare(self._writer, read_only=False)
            self._writer.execute("PRAGMA journal_mode = WAL")
            # Many facts touch most pages of the indexes again and again: 16 MiB of them are
            # kept, and as many are gathered in the log before they go into the file.
            self._writer.execute("PRAGMA cache_size = -16384")
            self._writer.execute("PRAGMA wal_autocheckpoint = 4096")
        except BaseException:
            self._close_connections()
            raise

    def _open_again_if_written(self) -> None:
        # Inside the read lock, which is enough: no reader uses the other connection.
        assert self.path is not None  # noqa: S101 - for the type checker
        if not self._closed and mark(self.path) != self._as_it_stood:
            with self._translated():
                self._close_connections()
                self._open()

    def _close_connections(self) -> None:
        for held in (self._connections, self._pulses):
            while held:
                held.pop().close()

    def close(self) -> None:
        """Close all connections; the last one out folds the WAL into the file."""
        with self._write_lock, self._read_lock:
            self._closed = True
            self._close_connections()

    # -- writing

    @contextmanager
    def write(
        self,
        clock: Clock,
        first_facts: FirstFacts,
        find_mentions: FindMentions,
        on_begin: Callable[[int], None],
        on_commit: Callable[[Changes, FileState], None],
    ) -> Iterator[Transaction]:
        """One transaction: committed when the block ends, undone when it raises.

        Args:
            clock: Tells the record time, read once the file is ours.
            first_facts: Finds the first facts in which a string is a token or a tag.
            find_mentions: The entities that texts name.
            on_begin: Called with the file's change number before anything is written.
            on_commit: Called with the touched rows and the counters once they are on disk;
                not called when nothing was touched.

        Raises:
            ReadOnlyError: The store was opened with `read_only=True`.
            BusyError: Another writer held the file for longer than the timeout.
        """
        if self.read_only:
            raise ReadOnlyError("the memory was opened with read_only=True; open it for writing")
        with self._write_lock, self._translated():
            self._end_interrupted(self._writer)
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                state = self._state(self._writer)
                on_begin(state.change)
                transaction = Transaction(self._writer, state, clock(), first_facts, find_mentions)
                yield transaction
                wrote = transaction.finish()
                self._writer.execute("COMMIT")
            except BaseException:
                self._end_interrupted(self._writer)
                raise
            if wrote:
                on_commit(transaction.changes, transaction.state)

    def claim_checkpoint(self, token: str, uuid: str) -> bool:
        """Record which index checkpoint belongs to this file from now on.

        Returns:
            `False` when the file has got another past since the checkpoint was made.
        """
        with self._write_lock, self._translated():
            claim = "UPDATE state SET checkpoint = ? WHERE uuid = ?"
            return bool(self._writer.execute(claim, (token, uuid)).rowcount)

    def record_analyzer(self, analyzer: str) -> None:
        """Record how text is read from now on; every handle makes its index anew."""
        with self._write_lock, self._translated():
            record = "UPDATE state SET analyzer = ?, uuid = ?"
            self._writer.execute(record, (analyzer, uuid4().hex))

    def scrub(self) -> None:
        """Write the file anew without what was deleted, and empty its log.

        Raises:
            BusyError: Another handle was reading or writing for longer than the timeout.
        """
        with self._write_lock, self._translated():
            self._end_interrupted(self._writer)
            self._writer.execute("VACUUM")
            (busy, *_) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                raise BusyError(
                    "another handle has been reading for longer than "
                    f"{self._busy_timeout} seconds, so the log of the file could not be "
                    "emptied; erase once more"
                )

    # -- reading

    # On the path of every recall, hence without the context managers below.

    def take_pulse(self) -> Pulse:
        """Return a pulse that no other thread feels; give it back in the end."""
        try:
            return self._pulses.pop()
        except IndexError:
            return Pulse()

    def give_back(self, pulse: Pulse) -> None:
        """Let other threads feel a pulse."""
        self._pulses.append(pulse)
        if self._closed:  # nobody will
            pulse.close()

    def version(self, pulse: Pulse) -> int:
        """Return a number that changes whenever another connection has committed."""
        if self.path is None:
            return 0
        try:
            if self._as_it_stood is not None:
                with self._read_lock:
                    self._open_again_if_written()
            if self._reader.in_transaction:
                with self._read_lock:  # or another thread is just reading
                    self._end_interrupted(self._reader)
            opened = self._times_opened
            if pulse.opened != opened:
                pulse.open(self._connect(), opened)
            return opened * _VERSIONS + pulse.count()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have the reading connection alone; it may be entered again inside."""
        with self._read_lock, self._translated():
            yield

    def state(self) -> FileState:
        """Return the committed counters."""
        with self.reading():
            return self._state(self._reader)

    @contextmanager
    def changes_since(self, change: int) -> Iterator[Changes]:
        """Give every row touched after a change number, as one consistent set."""
        with self._snapshot() as sql, ExitStack() as cursors:
            state = self._state(sql)
            changes = Changes(state.change, state.uuid)
            if changes.change != change:
                after = (change,)

                def rows(kind: Callable[..., Row], query: str) -> Iterator[Row]:
                    # Closed in the end: a cursor that was not read to its end would keep later
                    # reads in the past.
                    cursor = cursors.enter_context(closing(sql.execute(query, after)))
                    return (kind(*row) for row in cursor)

                changes.namespaces = self._namespaces(sql)
                changes.entities = rows(EntityRow, _CHANGED.format("entities", "id"))
                changes.aliases = rows(AliasRow, _CHANGED.format("aliases", "key"))
                changes.relations = rows(RelationRow, _CHANGED.format("relations", "id"))
                changes.facts = rows(FactRow, _CHANGED.format("facts", "id"))
                changes.edges = rows(EdgeRow, _CHANGED.format("edges", "id"))
                changes.vectors = rows(_decoded, _CHANGED_VECTORS)
                changes.purged = rows(int, "SELECT fact FROM purges WHERE change > ?")
            yield changes

    def names(self) -> Names:
        """Return every namespace, entity, alias and relation, and the properties of edges."""
        with self._snapshot() as sql:
            return Names(
                self._namespaces(sql),
                *read_names(sql),
                list(map(RelationRow._make, sql.execute("SELECT * FROM relations ORDER BY id"))),
                sql.execute(
                    "SELECT id, properties FROM edges WHERE properties IS NOT NULL"
                ).fetchall(),
            )

    def cards(self, ids: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the cards of facts, in no particular order; unknown ids are left out."""
        return [checked(FactCard, row) for row in self._by_ids(_CARD + "IN", ids)]

    def facts(self, ids: Sequence[int]) -> list[FactRow]:
        """Return the rows of facts, in no particular order; unknown ids are left out."""
        return [sound(FactRow, row) for row in self._by_ids("SELECT * FROM facts WHERE id IN", ids)]

    def chains_of(self, facts: Iterable[int]) -> list[int]:
        """Return every version of the revision chains of facts, forgotten ones included."""
        found: set[int] = set()
        for fact in facts:
            if fact not in found:
                found.update(self.chain(fact))
        return sorted(found)

    def metadata(self) -> Iterator[tuple[int, str]]:
        """Yield the id and metadata of every fact that has some."""
        with self.reading():
            rows = self._reader.execute(
                "SELECT id, metadata FROM facts WHERE metadata IS NOT NULL"
            ).fetchall()
        yield from rows

    def chain(self, fact: int) -> list[int]:
        """Return the ids of a fact's revision chain, oldest first."""
        with self._snapshot() as sql:
            backwards = [fact]
            while (row := _one(sql, "SELECT revises FROM facts WHERE id = ?", backwards[-1])) and (
                before := superseded(backwards[-1], row[0])
            ) is not None:
                backwards.append(before)
            chain = backwards[::-1]
            while row := _one(sql, "SELECT id FROM facts WHERE revises = ?", chain[-1]):
                superseded(row[0], chain[-1])
                chain.append(row[0])
        return chain

    def by_keys(self, keys: Sequence[str]) -> list[int]:
        """Return the ids of all facts written under some keys, in every namespace."""
        return [fact for (fact,) in self._by_ids("SELECT id FROM facts WHERE key IN", keys)]

    def edges_of(self, entities: Sequence[int] | None) -> list[tuple[Any, ...]]:
        """Return every version of the edges that touch some entities, or of all, by id."""
        if entities is None:
            with self.reading():
                return _edges(self._reader.execute(_EDGE + "ORDER BY g.id"))
        found: dict[int, tuple[Any, ...]] = {}
        for column in ("src", "dst"):
            for row in _edges(self._by_ids(_EDGE + f"WHERE g.{column} IN", entities)):
                found[row[0]] = row
        return [found[edge] for edge in sorted(found)]

    def open_edges(
        self, entity: int, column: str, now: int, limit: int
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Return the first edges that hold at an instant, and how many there are.

        Args:
            entity: Where they start or end.
            column: `"src"` or `"dst"`.
            now: The instant.
            limit: Most rows.
        """
        holds = f"WHERE g.{column} = ? AND g.valid_to IS NULL AND g.valid_from <= ? "
        with self._snapshot() as sql:
            (total,) = sql.execute(
                f"SELECT count(*) FROM edges g {holds}", (entity, now)
            ).fetchone()
            rows = _edges(
                sql.execute(_EDGE + holds + "ORDER BY g.id LIMIT ?", (entity, now, limit))
            )
        return rows, total

    def keys(self, namespace: str, after: str, now: int, limit: int) -> list[str]:
        """Return the keys of current facts of one namespace, sorted, after a given one.

        Args:
            namespace: Its path, as JSON.
            after: The key to go on after.
            now: The instant at which they must not have expired.
            limit: Most keys.
        """
        with self.reading():
            rows = self._reader.execute(
                "SELECT f.key FROM facts f JOIN namespaces n ON n.id = f.namespace "
                "WHERE n.path = ? AND f.key > ? AND f.valid_to IS NULL "
                "AND f.forgotten_at IS NULL AND (f.expires_at IS NULL OR f.expires_at > ?) "
                "ORDER BY f.key LIMIT ?",
                (namespace, after, now, limit),
            ).fetchall()
        return [key for (key,) in rows]

    def pending(self) -> list[FactRow]:
        """Return the facts whose vector is still to be made."""
        with self.reading():
            return [
                sound(FactRow, row)
                for row in self._reader.execute(
                    "SELECT * FROM facts WHERE vector = 2 AND forgotten_at IS NULL ORDER BY id"
                )
            ]

    def purgeable(self, now: int) -> list[FactRow]:
        """Return the facts that are forgotten, or expired at an instant."""
        with self.reading():
            return [
                sound(FactRow, row)
                for row in self._reader.execute(
                    "SELECT * FROM facts WHERE forgotten_at IS NOT NULL "
                    "UNION SELECT * FROM facts WHERE expires_at IS NOT NULL AND expires_at <= ? "
                    "ORDER BY id",
                    (now,),
                )
            ]

    def vectors(self, facts: Sequence[int]) -> dict[int, Vector]:
        """Return the vectors of facts, by id."""
        rows = self._by_ids("SELECT fact, data FROM vectors WHERE fact IN", facts)
        return dict(_decoded(*row) for row in rows)

    def vectors_of_texts(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that facts with these texts have, by text."""
        found = {}
        with self.reading():
            for text in dict.fromkeys(texts):
                # One row a text, since some are said thousands of times; the newest counts.
                row = self._reader.execute(
                    "SELECT v.data FROM facts f JOIN vectors v ON v.fact = f.id "
                    "WHERE f.digest = ? AND f.text = ? ORDER BY f.id DESC LIMIT 1",
                    (text_digest(text), text),
                ).fetchone()
                if row is not None:
                    found[text] = decode_vector(row[0])
        return found

    def values(self, namespace: str, collection: str, keys: Sequence[str] | None) -> dict[str, str]:
        """Return the JSON under some keys of a collection, or under all, in stored order."""
        chosen = (
            "SELECT kv.id, kv.key, kv.value FROM kv JOIN namespaces n ON n.id = kv.namespace "
            "WHERE n.path = ? AND kv.collection = ? "
        )
        scope = (namespace, collection)
        with self._snapshot() as sql:
            if keys is None:
                rows = sql.execute(chosen + "ORDER BY kv.id", scope).fetchall()
            else:
                rows = []
                for start in range(0, len(keys), _BATCH):
                    batch = keys[start : start + _BATCH]
                    marks = ", ".join("?" * len(batch))
                    rows += sql.execute(f"{chosen} AND kv.key IN ({marks})", (*scope, *batch))
        return {key: value for _, key, value in sorted(rows)}

    def entity_names(self, entities: Sequence[int]) -> list[str]:
        """Return the display names of entities, in the order given."""
        names = dict(self._by_ids("SELECT id, name FROM entities WHERE id IN", entities))
        return [names[entity] for entity in entities if entity in names]

    def check_ids(self) -> None:
        """Refuse ids so far apart that an index of them would not fit into memory.

        Raises:
            CorruptError: There are some, which no write of ours gives.
        """
        with self._snapshot() as sql:
            state = self._state(sql)
            for table, gone, following in (
                ("facts", "purges", state.next_fact),
                ("entities", None, state.next_entity),
                ("edges", None, state.next_edge),
                ("namespaces", None, 0),
                ("relations", None, 0),
            ):
                first, last = sql.execute(
                    f"SELECT (SELECT min(id) FROM {table}), (SELECT max(id) FROM {table})"
                ).fetchone()
                if last is not None and first < 0:
                    raise CorruptError(
                        f"{self.path} has id {first} in {table}, and an id is 0 or more; "
                        "salvage what can be read"
                    )
                end = max(following, 0 if last is None else last + 1)
                if end <= most_ids(0):
                    continue
                count = sum(
                    sql.execute(f"SELECT count(*) FROM {one}").fetchone()[0]
                    for one in (table, gone)
                    if one is not None
                )
                if end > most_ids(count):
                    raise CorruptError(
                        f"{self.path} has given ids up to {end - 1} in {table}, among {count} "
                        f"rows; an id is below {most_ids(count)}; salvage what can be read"
                    )

    def facts_stored(self) -> int:
        """Return how many facts the file holds, whatever has become of them."""
        with self.reading():
            (count,) = self._reader.execute("SELECT count(*) FROM facts").fetchone()
            return int(count)

    def counts(self) -> dict[str, int]:
        """Return counters that only the file knows."""
        with self._snapshot() as sql:
            return {
                name: int(sql.execute(query).fetchone()[0])
                for name, query in {
                    "current": "SELECT count(*) FROM facts "
                    "WHERE valid_to IS NULL AND forgotten_at IS NULL",
                    "entities": "SELECT count(*) FROM entities",
                    "edge_versions": "SELECT count(*) FROM edges",
                    "pending": "SELECT count(*) FROM facts "
                    "WHERE vector = 2 AND forgotten_at IS NULL",
                    "staged": "SELECT count(DISTINCT fact) FROM staged",
                    "bytes": "SELECT page_count * page_size "
                    "FROM pragma_page_count(), pragma_page_size()",
                }.items()
            }

    def problems(self) -> list[str]:
        """Check the file and the rules its rows keep; returns what is wrong."""
        found = []
        with self._snapshot() as sql:
            found += [
                f"SQLite: {line}"
                for (line,) in sql.execute("PRAGMA integrity_check")
                if line != "ok"
            ]
            found += [
                f"row {row} of {table} names a missing row of {parent}"
                for table, row, parent, _ in sql.execute("PRAGMA foreign_key_check")
            ]
            for query, problem in _RULES:
                found += [problem.format(*row) for row in sql.execute(query)]
        return found

    # -- shared by the reads

    def _by_ids(self, query: str, ids: Sequence[int | str]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.reading():
            for start in range(0, len(ids), _BATCH):
                batch = ids[start : start + _BATCH]
                marks = ",".join("?" * len(batch))
                rows += self._reader.execute(f"{query} ({marks})", batch).fetchall()
        tally.rows += len(rows)
        return rows

    @staticmethod
    def _namespaces(sql: sqlite3.Connection) -> list[NamespaceRow]:
        rows = list(map(NamespaceRow._make, sql.execute("SELECT * FROM namespaces ORDER BY id")))
        if not rows or rows[0].id != 0:
            raise CorruptError(
                "the file is damaged: the root of the namespaces is not there; salvage what can "
                "be read"
            )
        return rows

    @staticmethod
    def _state(sql: sqlite3.Connection) -> FileState:
        row = sql.execute(
            "SELECT uuid, change, next_fact, next_entity, next_edge, dim, space, checkpoint, "
            "analyzer FROM state"
        ).fetchone()
        return sound(FileState, row)

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several reads that see the same commit."""
        with self.reading():
            if self._reader.in_transaction:  # in memory, inside our own write
                yield self._reader
                return
            try:
                self._reader.execute("BEGIN")
                yield self._reader
            finally:
                self._end_interrupted(self._reader)

    @staticmethod
    def _end_interrupted(connection: sqlite3.Connection) -> None:
        """End a transaction that is still open, at its end or where an interrupt left it."""
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except PlugmemError:
            raise
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except UnicodeDecodeError as error:
            raise CorruptError(f"{self.path} is damaged: {error}") from error
        except OverflowError as error:
            raise InvalidInputError(f"a number is beyond 64 bits: {error}") from error

    def _explained(self, error: sqlite3.Error) -> PlugmemError:
        if self._closed:
            return ClosedError("the memory was closed meanwhile; open it again")
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return BusyError(
                f"another writer held {self.path} for over {self._busy_timeout} s; "
                "try again, or raise busy_timeout"
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return CorruptError(f"{self.path} is damaged or is not a memory: {error}")
        return StorageError(f"{self.path}: {error}")


_TIMES = ("recorded_at", "valid_from", "valid_to", "closed_at", "expires_at", "forgotten_at")
_RULES = (
    *(
        (
            f"""
            SELECT id FROM {table} WHERE {time} NOT BETWEEN {MIN_MS} AND {MAX_MS}
            OR typeof({time}) NOT IN ('integer', 'null')
            """,
            f"{table[:-1]} {{0}}: {time} is no time",
        )
        for table, times in (("facts", _TIMES), ("edges", _TIMES[:4]))
        for time in times
    ),
    (
        """
        SELECT f.id, o.id FROM facts f JOIN facts o ON o.id = f.revises
        WHERE o.closed_at IS NULL AND o.forgotten_at IS NULL
        """,
        "fact {0} revises fact {1}, which is still open",
    ),
    (
        "SELECT id FROM facts WHERE revises >= id",
        "fact {0} revises a later fact",
    ),
    (
        "SELECT id FROM facts WHERE valid_to < valid_from",
        "fact {0} ends before it begins",
    ),
    (
        """
        SELECT f.id FROM facts f JOIN entities e ON e.id = f.entity
        WHERE e.namespace != f.namespace
        """,
        "fact {0} and its entity live in different namespaces",
    ),
    (
        """
        SELECT g.id FROM edges g JOIN entities e ON e.id IN (g.src, g.dst)
        WHERE e.namespace != g.namespace
        """,
        "edge {0} leaves its namespace",
    ),
    (
        "SELECT id FROM facts, state WHERE id >= next_fact",
        "fact {0} has an id that was never given",
    ),
    (
        f"SELECT id FROM facts WHERE vector = {STORED} AND id NOT IN (SELECT fact FROM vectors)",
        "the vector of fact {0} is missing",
    ),
    (
        "SELECT fact FROM vectors, state WHERE length(data) != 4 * dim",
        "the vector of fact {0} has another dimension",
    ),
    (
        f"SELECT id FROM facts WHERE vector NOT IN ({NO_VECTOR}, {STORED}, {PENDING}, {DECLINED})",
        "fact {0} has an unknown vector state",
    ),
)
"""Queries that return nothing in a sound file, and what a row they return means."""


def _release(process: int, *held: Iterable[sqlite3.Connection | Pulse]) -> None:
    if process == os.getpid():  # a forked child has nothing of its own to let go of
        for one in chain.from_iterable(held):
            one.close()


def _edges(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [checked(EdgeCard, row) for row in rows]


def _decoded(fact: int, data: bytes) -> tuple[int, Vector]:
    return fact, decode_vector(data)


def _one(sql: sqlite3.Connection, query: str, value: object) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = sql.execute(query, (value,)).fetchone()
    return row
