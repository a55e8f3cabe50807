"""Reading a listing of a memory to its end."""

from collections.abc import Callable, Iterator
from typing import Any

from plugmem_core.verbs.base import MAX_PAGE


def every(listing: Callable[..., Any], **arguments: Any) -> Iterator[Any]:
    """Yield all that a verb lists, page after page.

    Args:
        listing: A verb that takes `limit` and `cursor`.
        **arguments: Its others.

    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:")
    >>> _ = memory.remember_many({"text": f"note {n}"} for n in range(1_001))
    >>> len(list(every(memory.list_facts)))
    1001
    """
    cursor = None
    while True:
        page = listing(limit=MAX_PAGE, cursor=cursor, **arguments)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return
