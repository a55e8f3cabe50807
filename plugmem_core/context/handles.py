"""Handles: the addresses of stored sources."""

import re

from plugmem_core.context.reading import MAX_U64
from plugmem_core.errors import NotFoundError, shown
from plugmem_core.inputs import check_type

_PREFIX = "ctx://source/"
_handle = re.compile(re.escape(_PREFIX) + "(0|[1-9][0-9]{0,19})")


def handle_of(content_hash: int) -> str:
    """Return the handle of a content.

    >>> handle_of(42)
    'ctx://source/42'
    """
    return f"{_PREFIX}{content_hash}"


def read_handle(handle: object) -> int:
    """Return the content hash that a handle names.

    Raises:
        WrongTypeError: It is no text.
        NotFoundError: It is no handle, so nothing can be stored under it.
    """
    check_type(handle, str, "handle", "a handle such as 'ctx://source/42'")
    match = _handle.fullmatch(handle) if isinstance(handle, str) else None
    if match is None or int(match[1]) > MAX_U64:
        raise NotFoundError(
            f"handle is {shown(handle)}, which names no source; give one from a compile, "
            "such as 'ctx://source/42'"
        )
    return int(match[1])
