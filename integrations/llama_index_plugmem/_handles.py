"""Open memories by where they are, so that what is restored from JSON finds its memory again.

A setting of LlamaIndex's has to be plain JSON, and an open memory is not. So its address is
kept beside it: the absolute path of the file, or for a memory without one `:memory:` and a
name that this process knows the handle by.
"""

from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from pydantic import BaseModel, Field, PrivateAttr

from plugmem_core import ClosedError, InvalidInputError, Memory, NotFoundError
from plugmem_core.inputs import check_type

NO_FILE = ":memory:"

_open: WeakValueDictionary[str, Memory] = WeakValueDictionary()
_nameless: WeakKeyDictionary[Memory, str] = WeakKeyDictionary()
_guard = Lock()


class KeepsMemory(BaseModel):
    """A model that keeps an open memory, and its address as a field.

    Args:
        memory: The open memory. Copies, deep ones too, share it, and closing it remains the
            caller's task.
        path: Where the memory is, when it is not given open: a file, which is made when it
            is missing, or `":memory:"` for one that ends with the process. It is opened at
            first use, or shared with whoever keeps it open in this process.
    """

    path: str = Field(description="Where the memory is: a file, or a handle of this process.")

    _memory: Memory | None = PrivateAttr(default=None)

    def __init__(
        self, memory: Memory | None = None, path: str | Path | None = None, **settings: Any
    ) -> None:
        if memory is None and path == NO_FILE:
            memory = opened(NO_FILE)  # it has no address yet by which it could be opened later
        settings.pop("class_name", None)  # which the dump of a LlamaIndex component has
        super().__init__(path=_address(memory, path), **settings)
        self._memory = memory

    @property
    def memory(self) -> Memory:
        """The open memory.

        Raises:
            NotFoundError: It had no file, and is gone.
            StorageError: The file cannot be opened.
        """
        if self._memory is None:
            self._memory = _reopen(self.path)
        return self._memory


def opened(path: str | Path) -> Memory:
    """Return the memory at a path, shared with whoever keeps it open in this process.

    Raises:
        InvalidInputError: The path is blank.
        StorageError: The file cannot be opened.
    """
    return Memory.open(NO_FILE) if path == NO_FILE else _reopen(_address(None, path))


def _address(memory: Memory | None, path: str | Path | None) -> str:
    """Return where a memory is found again; of both, the open memory tells."""
    if memory is None:
        if path is None:
            raise InvalidInputError("neither memory nor path is given; give one of them")
        check_type(path, (str, Path), "path", "a path")
        if not str(path).strip():
            raise InvalidInputError(f"path is {path!r}, which is blank; name the file")
        return str(path) if str(path).startswith(NO_FILE) else str(Path(path).resolve())
    check_type(memory, Memory, "memory", "an open Memory")
    with _guard:
        if memory.path is None:
            address = _nameless.setdefault(memory, f"{NO_FILE}{uuid4().hex}")
        else:
            address = str(memory.path.resolve())
        _open[address] = memory
    return address


def _reopen(address: str) -> Memory:
    with _guard:
        memory = _open.get(address)
        if memory is None or not _usable(memory):
            if address.startswith(NO_FILE):
                raise NotFoundError(
                    f"path is {address!r}, a memory without a file that ended with its handle; "
                    "keep what should last in a file"
                )
            memory = _open[address] = Memory.open(address)
    return memory


def _usable(memory: Memory) -> bool:
    try:
        memory.get(0)
    except ClosedError:
        return False
    return True
