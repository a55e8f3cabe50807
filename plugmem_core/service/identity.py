"""What things are called: the ids of memories, entities and edges, and the reserved keys.

An id is the hash of what it stands for, so the same text has the same id everywhere. The
ids of entities and edges are hashes of more than a text can say: an entity's begins with a
NUL character, which no memory may contain.
"""

import re

from plugmem_core.errors import InvalidInputError, WrongTypeError, shown
from plugmem_core.extraction.protocol import canonical
from plugmem_core.model import RESERVED
from plugmem_core.text.fnv import fnv1a64

DATE_KEY = f"{RESERVED}date"
CONTENT_KEY = "content"

ABOUT = "about"
"""The label of the edge from a memory to an entity it is about."""

MENTIONS = "mentions"
"""The label of the edge back, from an entity to a memory that mentions it."""

MAX_ID = 2**64 - 1

_decimal = re.compile(r"\+?[0-9]{1,32}").fullmatch


def memory_id(text: str) -> int:
    """Return the id of a memory: the FNV-1a hash of its text without space around it.

    >>> f"{memory_id('  hello '):016x}"
    'a430d84680aabd0b'
    """
    return fnv1a64(text.strip())


def entity_id(name: str) -> int:
    """Return the id of the entity with a name, however the name is written.

    >>> entity_id("Ada Lovelace") == entity_id(" ada lovelace")
    True
    """
    return fnv1a64(f"\0{RESERVED}entity_hub\0{canonical(name)}")


def edge_id(source: int, target: int, label: str) -> int:
    """Return the id of an edge: the hash of both ends, each as 8 little-endian bytes, and label.

    >>> edge_id(1, 2, "causes") == edge_id(2, 1, "causes")
    False
    """
    ends = source.to_bytes(8, "little") + target.to_bytes(8, "little")
    return fnv1a64(ends + label.encode())


def is_reserved(key: str) -> bool:
    """Return whether a metadata key is the service's own.

    The automatic date is not: callers may give it and filter by it.

    >>> [is_reserved(key) for key in ("content", "_plugmem_x", "_plugmem_date", "year")]
    [True, True, False, False]
    """
    return key == CONTENT_KEY or (key.startswith(RESERVED) and key != DATE_KEY)


def check_memory_id(value: object, name: str) -> int:
    """Return an id given as an integer or, as JSON clients have to, as decimal text.

    >>> check_memory_id(" +18446744073709551615 ", "id") == 2**64 - 1
    True

    Raises:
        WrongTypeError: It is neither; a `float` has already lost digits.
        InvalidInputError: It is no id from 0 to 2^64 - 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise WrongTypeError(
            f"{name} is {shown(value)} ({type(value).__name__}); "
            "give the integer that remember returned, or its digits as text"
        )
    number = value
    if isinstance(number, str):
        digits = number.strip()
        number = int(digits) if _decimal(digits) else -1
    if not 0 <= number <= MAX_ID:
        raise InvalidInputError(f"{name} is {shown(value)}; give an id from 0 to {MAX_ID}")
    return number
