"""Files that appear in one step: written beside their place, flushed, and renamed over it."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import IO, Any

from plugmem_core.errors import InvalidInputError, PlugmemError, StorageError, WrongTypeError, shown

COMPANIONS = ("", "-wal", "-shm", "-journal", "-index")
"""What follows the name of a memory's file in the names of the files that belong to it."""

_SQLITE = b"SQLite format 3\0"


def check_path(value: object, name: str) -> Path:
    """Return the path of a file that is to be written or read.

    Raises:
        WrongTypeError: It is no path.
        InvalidInputError: It is `":memory:"`, which is no file.
    """
    if not isinstance(value, str | Path):
        raise WrongTypeError(f"{name} is {shown(value)} ({type(value).__name__}); give a path")
    if str(value) == ":memory:":
        raise InvalidInputError(f'{name} is ":memory:", which is no file; give the path of one')
    if "\0" in str(value):
        raise InvalidInputError(f"{name} is {shown(value)}, which has a NUL; give another path")
    return Path(value).absolute()


def refuse_own(path: Path, own: Path | None, name: str) -> None:
    """Refuse the place of a memory's own files.

    Args:
        path: Where something is to be written.
        own: The file of the memory that is open; `None` for one without a file.
        name: The argument's name, for the message of an error.
    """
    if own is None:
        return
    # Its folder is there, so both sides can be resolved whatever links lead to them.
    taken = {f"{own.resolve().name}{suffix}" for suffix in COMPANIONS}
    target = path.resolve()
    if target.parent == own.resolve().parent and target.name in taken:
        raise InvalidInputError(
            f"{name} is {str(path)!r}, where a file of this memory belongs; give another path"
        )


def is_database(path: Path) -> bool:
    """Return whether a file begins as SQLite's do."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """Give a path beside another; what is written there takes its place at the end.

    When the block raises, what was there before stays.

    Raises:
        StorageError: It cannot be written.
    """
    if not path.parent.is_dir():
        raise StorageError(f"the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise StorageError(f"{path} is a folder; give the path of a file")
    beside = path.with_name(f"{path.name}.{os.getpid()}-{get_ident()}.tmp")
    try:
        remove(beside)
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        if isinstance(error, PlugmemError):
            raise
        raise StorageError(f"{path} cannot be written: {error}") from error
    finally:
        remove(beside)


def remove(path: Path) -> None:
    """Remove a file, and what SQLite may have put beside it."""
    for suffix in COMPANIONS:
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    # Without it, a power cut may take the name away again.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_binary(file: object, name: str, mode: str) -> IO[bytes]:
    """Return an object that is a file of bytes.

    Args:
        file: What a caller passed.
        name: The argument's name, for the message of an error.
        mode: How it must have been opened, `"rb"` or `"wb"`.
    """
    needed = {"rb": "readline", "wb": "write"}[mode]
    if isinstance(file, io.TextIOBase) or not callable(getattr(file, needed, None)):
        raise WrongTypeError(
            f"{name} is {shown(file)} ({type(file).__name__}); give a path, or a file opened "
            f"with mode {mode!r}"
        )
    binary: Any = file
    return binary  # type: ignore[no-any-return]  # whatever has the method serves as one
