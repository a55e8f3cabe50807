"""When a string first appeared in the file, in any role.

Edges are walked in the order in which the strings of their relations first appeared as
an entity key, a token, a tag or a relation, as in the reference. A stamp is that order as one
number: which write, and where in it.
"""

from collections.abc import Iterable

from plugmem_core.store.encoding import load_labels
from plugmem_core.store.rows import FactRow
from plugmem_core.text import tokenize

# Writes of facts have odd numbers. Links on their own have the even number before the next
# fact, and go by the number of the edge they make, four strings at most each.
_POSITIONS = 30
_TAGS = 1 << 20
_LINKS = 1 << 21
_LINKS_BETWEEN = 1 << 28


def of_subject(fact: int) -> int:
    """Return the stamp of the entity a fact is about."""
    return _stamp(2 * fact + 1, 0)


def of_target(fact: int, link: int) -> int:
    """Return the stamp of a link's target; that of its relation is the next."""
    return _stamp(2 * fact + 1, _LINKS + 2 * link)


def of_link(next_fact: int, edge: int) -> int:
    """Return the stamp of the source of a link on its own; target and relation come next."""
    return _stamp(2 * next_fact, edge % _LINKS_BETWEEN * 4)


def of_appearances(row: FactRow, text: str) -> Iterable[int]:
    """Yield the stamps of a string as a token and as a tag of a fact."""
    write = 2 * row.id + 1
    tokens = tokenize(row.text)
    if text in tokens:
        yield _stamp(write, 1 + tokens.index(text))
    tags = load_labels(row.tags)
    if text in tags:
        yield _stamp(write, _TAGS + tags.index(text))


def _stamp(write: int, position: int) -> int:
    return (write << _POSITIONS) + position
