"""`salvage`: what can be read of a damaged memory, in a new one."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from plugmem_core.clock import MIN_MS
from plugmem_core.config import LANGUAGES, PLAIN, MemoryConfig
from plugmem_core.errors import CorruptError, InvalidInputError, PlugmemError, StorageError
from plugmem_core.moving.files import check_path, staged
from plugmem_core.moving.lines import MAX_SPACE_BYTES, Header
from plugmem_core.moving.reading import LineReader, read_header
from plugmem_core.moving.reports import Loss, SalvageReport, TransferReport
from plugmem_core.moving.spelling import header_line, record_line
from plugmem_core.progress import Progress, silent
from plugmem_core.store import SqliteStore, Transaction, find_nothing
from plugmem_core.store.arrivals import Arrivals
from plugmem_core.store.mending import Mender
from plugmem_core.store.passage import Passage, begin, end
from plugmem_core.store.rescue import Damage, scan
from plugmem_core.store.rows import NO_VECTOR
from plugmem_core.store.transfer import (
    AliasRecord,
    Departures,
    EdgeRecord,
    EntityRecord,
    FactRecord,
    Record,
    RelationRecord,
    ValueRecord,
)
from plugmem_core.text import check_text

BATCH = 1_000
"""Rows of one transaction, and between two reports of progress."""

# A memory does not say what limits it was written with, so these are the widest.
_CONFIG = MemoryConfig(
    max_text=16_777_216, max_metadata=16_777_216, max_value=536_870_912, max_tags=1_024
)

_TABLES: dict[type[Any], str] = {
    EntityRecord: "entities",
    AliasRecord: "aliases",
    FactRecord: "facts",
    RelationRecord: "relations",
    EdgeRecord: "edges",
    ValueRecord: "kv",
}
_SPARED: dict[type[Any], tuple[str, ...]] = {
    FactRecord: ("revises", "key", "data", "metadata", "tags", "entity", "expires_at"),
    EdgeRecord: ("provenance", "properties"),
}
"""What a record goes without where it cannot be saved with it."""


def salvage(
    source: str | Path, target: str | Path, *, progress: Progress | None = None
) -> SalvageReport:
    """Copy what can be read of a damaged memory into a new one.

    The file is read page by page, without SQLite, and never written to: it may be truncated,
    overwritten in places, or have lost its log. Every row in a page that is whole is saved,
    if it passes the rules of an import; what it refers to and is lost gets another name.
    Forgotten facts stay behind. Close every handle on the source first.

    Args:
        source: The damaged file. Its log, `-wal`, is read, too, where there is one.
        target: The new file, which appears in one step.
        progress: Called with the pages read and those there are, then with the rows written
            and those there are.

    Returns:
        What was saved, and what was not or not wholly.

    Raises:
        CorruptError: Nothing of a memory can be found in the source.
        StorageError: The source cannot be read, or the target exists or cannot be written.

    >>> from plugmem_core import Memory
    >>> with Memory.open("damaged") as memory:
    ...     _ = memory.remember("the gate is green")
    >>> report = salvage("damaged", "saved")
    >>> report.saved.facts, report.losses
    (1, ())
    """
    read, write = check_path(source, "source"), check_path(target, "target")
    if not read.is_file():
        raise StorageError(f"{read} is no file that could be read; give the path of a memory")
    if write.exists():
        raise StorageError(f"{write} exists; give the path of a new file")
    report = progress or silent
    with closing(sqlite3.connect("", isolation_level=None)) as sql, staged(write) as beside:
        sql.execute("BEGIN")  # never committed: the scratch database goes with its connection
        try:
            found = scan(read, sql, report)
        except OSError as error:
            raise StorageError(f"{read} cannot be read: {error}") from error
        if not found.found.keys() & {"state", "facts", "edges"}:
            raise CorruptError(f"nothing of a memory can be found in {read}")
        Mender(sql, found.damages).run()
        saved = _Writer(sql, found.damages, report).write(beside)
    losses = dict.fromkeys(found.damages)  # a page may be met more than once
    return SalvageReport(saved, tuple(Loss(*damage) for damage in losses))


class _Writer:
    """Writes mended rows into a new memory.

    Args:
        sql: The scratch database.
        damages: To which is added what cannot be written.
        progress: Called after each transaction.
    """

    def __init__(self, sql: sqlite3.Connection, damages: list[Damage], progress: Progress) -> None:
        self._sql = sql
        self._departures = Departures(sql, (), MIN_MS)  # what has expired is kept, hidden
        self._damages = damages
        self._progress = progress
        self._counts: Counter[str] = Counter()
        header = self._header()
        self._total = header.records
        self._reader = LineReader(header, _CONFIG, None, embeds=False)
        self._last: dict[str, int] = {}

    def _header(self) -> Header:
        extent = self._departures.extent()
        if extent.space is not None:
            try:
                check_text(extent.space, "space", max_bytes=MAX_SPACE_BYTES)
            except InvalidInputError as error:
                self._damages.append(Damage("state", None, None, f"no embedder is named: {error}"))
                extent = extent._replace(space=None)
        header = read_header(header_line(extent, ()))
        assert header is not None  # noqa: S101 - for the type checker; it is one of ours
        return header

    def write(self, path: Path) -> TransferReport:
        """Write all of them."""
        store = SqliteStore(path, read_only=False, durability="normal", busy_timeout=0.0)
        with closing(store):
            records = self._departures.records()
            passage: Passage | None = None
            left = True
            while left:
                batch = list(islice(records, BATCH))
                left = len(batch) == BATCH
                with store.write(
                    lambda: 0,
                    lambda _, _has: (),
                    find_nothing,
                    lambda _: None,
                    lambda _changes, _state: None,
                ) as transaction:
                    passage = passage or self._begin(transaction)
                    arrivals = Arrivals(transaction, passage)
                    for record in batch:
                        self._save(arrivals, record)
                    if not left:
                        end(transaction, passage, self._reader.extent)
                self._progress(self._counts.total(), self._total)
            (analyzer,) = self._sql.execute("SELECT analyzer FROM state").fetchone()
            if analyzer in (PLAIN, *LANGUAGES):
                store.record_analyzer(analyzer)
        return TransferReport.of(self._counts)

    def _begin(self, transaction: Transaction) -> Passage:
        extent = self._reader.extent
        assert extent is not None  # noqa: S101 - for the type checker; there is a header
        return begin(transaction, extent)

    def _save(self, arrivals: Arrivals, record: Record) -> None:
        problem: PlugmemError | None = None
        for fields in _goings_without(record):
            try:
                new = self._put(arrivals, _without(record, fields))
            except PlugmemError as error:
                problem = problem or error
                continue
            if not new:
                self._lose(record, "something of the same name is there already")
            else:
                self._counts[type(record).__name__] += 1
                if fields:
                    self._lose(record, f"saved without {', '.join(fields)}: {problem}")
            return
        self._lose(record, str(problem))

    def _put(self, arrivals: Arrivals, record: Record) -> bool:
        # By way of its line, so that what holds for an import holds here.
        last = dict(self._last)
        checked = self._reader.record(record_line(record), last)
        new = arrivals.put(checked)
        self._last = last
        return new

    def _lose(self, record: Record, reason: str) -> None:
        row = getattr(record, "id", None)
        name = "" if row is not None else f"{record[-2]!r}: "
        self._damages.append(Damage(_TABLES[type(record)], row, row, name + reason))


def _goings_without(record: Record) -> Iterator[tuple[str, ...]]:
    """Yield what to leave out of a record: nothing, one of its parts, or all of them."""
    spared = _SPARED.get(type(record), ())
    parts = tuple(name for name in spared if getattr(record, name) is not None)
    yield ()
    for part in parts:
        yield (part,)
    if len(parts) > 1:
        yield parts


def _without(record: Record, fields: tuple[str, ...]) -> Record:
    if not fields:
        return record
    changes: dict[str, Any] = dict.fromkeys(fields)
    if "data" in fields:
        changes["vector"] = NO_VECTOR
    return record._replace(**changes)
