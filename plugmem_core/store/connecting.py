"""Connections to a file, and how a reader gets at one beside which nothing can be written."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from plugmem_core.errors import StorageError
from plugmem_core.store.schema import prepare

Mark: TypeAlias = tuple[int, ...]
"""What changes with a file: see `mark`."""

_DENIED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def connect(path: Path | None, timeout: float, *, uri: str = "") -> sqlite3.Connection:
    """Return a connection that leaves transactions to its user.

    Args:
        path: The file; `None` for a database in memory.
        timeout: Seconds to wait for a lock.
        uri: Parameters of the file's URI, for example `"mode=ro"`.

    Raises:
        StorageError: The folder to make the file in does not exist.
    """
    target = ":memory:" if path is None else str(path)
    if path is not None and uri:
        target = f"{path.as_uri()}?{uri}"
    elif path is not None and not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist; create it first")
    return sqlite3.connect(
        target,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        uri=bool(uri),
    )


def reading_uri(path: Path, timeout: float) -> tuple[str, Mark | None]:
    """Return how a file is to be opened for reading.

    SQLite keeps a log and a map of it beside a file, and makes them for readers, too. Where it
    cannot, and nobody else has made them, all there is stands in the file itself, and it can
    be read as it stands, without locks.

    Returns:
        Parameters for `connect`; for a file that is to be read as it stands, also its mark,
        with which a reader notices that it does so no more.

    Raises:
        StorageError: There is no file, or a log which cannot be read without a map of it.
    """
    if not path.exists():
        raise StorageError(f"{path} does not exist; open it for writing to create it")
    seen = mark(path)
    try:
        with closing(connect(path, timeout, uri="mode=ro")) as connection:
            prepare(connection, read_only=True)
    except sqlite3.OperationalError as error:
        if (error.sqlite_errorcode & 0xFF) not in _DENIED:
            raise
        log = _log(path)
        if log.exists() and log.stat().st_size:
            raise StorageError(
                f"{log} has commits that are not in {path.name} yet, and they cannot be read where "
                "nothing can be written beside it; let the folder be writable, or copy both "
                "files to one that is"
            ) from error
        return "mode=ro&immutable=1", seen
    return "mode=ro", None


def mark(path: Path) -> Mark:
    """Return numbers that differ once somebody has opened a file for writing."""
    file = path.stat()
    return file.st_ino, file.st_size, file.st_mtime_ns, _log(path).exists()


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
