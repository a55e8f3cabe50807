"""Rows as they were read, held against what every write of ours keeps.

SQLite gives whatever stands in a column, also where a damaged file holds another type.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from plugmem_core.clock import MAX_MS, MIN_MS
from plugmem_core.errors import CorruptError, shown

_TIMES = ("recorded_at", "valid_from", "valid_to", "closed_at", "expires_at", "forgotten_at")
_IDS = (
    *("id", "namespace", "entity", "src", "relation", "dst"),
    *("next_fact", "next_entity", "next_edge"),
)
_RANGES = dict.fromkeys(_TIMES, (MIN_MS, MAX_MS)) | dict.fromkeys(_IDS, (0, 2**32 - 1))


Row = TypeVar("Row", bound=tuple[Any, ...])
Columns = TypeVar("Columns", bound=Sequence[Any])


def sound(kind: type[Row], values: Sequence[Any] | None) -> Row:
    """Return a row, as `checked` lets it pass."""
    return tuple.__new__(kind, checked(kind, values))  # as `_make`, which is slower


def checked(kind: type, values: Columns | None) -> Columns:
    """Return the columns of a row; a named tuple of them would be kept track of one by one.

    Args:
        kind: A named tuple of the columns and their types.
        values: The columns; `None` when there is no such row.

    Raises:
        CorruptError: A column has another type or, as a time or an id, a value out of range.
    """
    if values is None:
        raise CorruptError(f"the file is damaged: {_called(kind)} is not there")
    bounds = _bounds(kind, tuple(map(type, values)))
    if bounds is None:
        hints = get_type_hints(kind).values()
        fit = list(map(isinstance, values, hints))
        raise _damaged(kind, values, fit.index(False))
    for place, least, most in bounds:
        if not least <= values[place] <= most:
            raise _damaged(kind, values, place)
    return values


@lru_cache(1024)
def _bounds(kind: type, types: tuple[type, ...]) -> tuple[tuple[int, int, int], ...] | None:
    """Return the places of times and ids with their bounds; `None` if a type does not fit."""
    hints = get_type_hints(kind)
    if not all(map(issubclass, types, hints.values())):
        return None
    return tuple(
        (place, *_RANGES[name])
        for place, (name, given) in enumerate(zip(hints, types, strict=True))
        if name in _RANGES and given is int
    )


def _damaged(kind: type, values: Sequence[Any], place: int) -> CorruptError:
    return CorruptError(
        f"the file is damaged: {_called(kind)} {shown(values[0])} has {shown(values[place])} as "
        f"{list(get_type_hints(kind))[place]}; salvage what can be read"
    )


def _called(kind: type) -> str:
    return f"the {kind.__name__.removesuffix('Row').removesuffix('Card').lower()} row"
