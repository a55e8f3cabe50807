"""Copies of a whole file, made while others write."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from plugmem_core.errors import BusyError, StorageError
from plugmem_core.store.schema import APPLICATION_ID
from plugmem_core.store.sqlite import SqliteStore
from plugmem_core.store.transfer import snapshot

_PAGES = 256
"""Pages copied between two reports of progress."""


def copy_to(store: SqliteStore, target: Path, progress: Callable[[int, int], object]) -> None:
    """Copy a memory as of one commit into a new file.

    The copy has a past of its own, so that no checkpoint of the original is ever taken for
    one of the copy, nor the other way round, wherever the files are moved.

    Args:
        store: The memory.
        target: A file that does not exist.
        progress: Called with the pages copied and those there are.
    """

    def report(_: int, remaining: int, total: int) -> None:
        progress(total - remaining, total)

    with snapshot(store) as source, closing(_connect(target, 0.0)) as copy:
        source.backup(copy, pages=_PAGES, progress=report)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, no companions
        copy.execute("UPDATE state SET uuid = ?, checkpoint = NULL", (uuid4().hex,))


def release(path: Path, timeout: float) -> None:
    """Make an existing memory ready to be replaced: nobody has it open, all is in the file.

    Args:
        path: The file.
        timeout: Seconds to wait for others to close it.

    Raises:
        StorageError: It is no memory, or is damaged.
        BusyError: Somebody has it open.
    """
    refused = f"{path} exists and is no memory that could be replaced; give another path"
    if path.stat().st_size == 0:
        return
    try:
        with closing(_connect(path, timeout)) as sql:
            (application,) = sql.execute("PRAGMA application_id").fetchone()
            if application != APPLICATION_ID:
                raise StorageError(refused)
            # This takes the file for itself, and folds what a crash left in its log.
            sql.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise BusyError(
                f"{path} is open, here or in another process; close it, or give another path"
            ) from error
        raise StorageError(f"{refused}: {error}") from error


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=timeout, isolation_level=None)
