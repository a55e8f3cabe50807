"""Metadata columns: which facts a filter lets through, decided for all of them at once.

A column holds one field: each distinct value once, and per fact the number ("code") of its
value. A condition is then decided once per distinct value, and spread over the facts by
their codes. Columns are built when a filter first names their field.

What a filter means is `plugmem_core.filters`' business alone; the shortcuts here give the
same answers.
"""

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plugmem_core.filters import ABSENT, Condition, Filter, lookup, scalar_key
from plugmem_core.store import load_object

MAX_COLUMNS = 64
"""Columns kept between filters; beyond it those unused for longest are dropped."""

_Mask: TypeAlias = NDArray[np.bool_]


class MetadataColumns:
    """The metadata of every fact, by field.

    Not thread-safe: calls are to be made one at a time.

    Args:
        load: Returns (fact id, metadata as JSON text) of every stored fact that has
            metadata, everything already `put` included.
    """

    def __init__(self, load: Callable[[], Iterable[tuple[int, str]]]) -> None:
        self._load = load
        self._columns: OrderedDict[str, _Column] = OrderedDict()

    def mask(self, where: Filter, size: int) -> _Mask:
        """Return, for each of the fact ids 0 to `size - 1`, whether the filter lets it through.

        An id without metadata, or without a fact, counts as having no field at all.
        """
        self._prepare([condition.path for condition in where.conditions()])
        mask = self._evaluate(where, size)
        while len(self._columns) > MAX_COLUMNS:
            self._columns.popitem(last=False)
        return mask

    def put(self, fact_id: int, metadata: str | None) -> None:
        """Take over the metadata of a new or changed fact, as JSON text."""
        if self._columns:
            fields = load_object(metadata)
            for path, column in self._columns.items():
                column.put(fact_id, lookup(fields, path))

    def remove(self, fact_ids: Iterable[int]) -> None:
        """Forget the metadata of facts, known here or not."""
        ids = np.fromiter(fact_ids, np.int64)
        for column in self._columns.values():
            column.remove(ids)

    def clear(self) -> None:
        """Drop every column; the next filter loads what it needs again."""
        self._columns.clear()

    def _prepare(self, paths: Iterable[str]) -> None:
        missing = {path: _Column() for path in paths if path not in self._columns}
        if missing:
            for fact_id, metadata in self._load():
                fields = load_object(metadata)
                for path, column in missing.items():
                    column.put(fact_id, lookup(fields, path))
        # Only now, so that a load that fails leaves no column half built.
        self._columns.update(missing)
        for path in paths:
            self._columns.move_to_end(path)

    def _evaluate(self, where: Filter, size: int) -> _Mask:
        if isinstance(where, Condition):
            return self._columns[where.path].mask(where, size)
        if where.operator == "$not":
            return ~self._evaluate(where.parts[0], size)
        is_and = where.operator == "$and"
        combine = np.logical_and if is_and else np.logical_or
        mask = np.full(size, is_and)
        for part in where.parts:
            combine(mask, self._evaluate(part, size), out=mask)
        return mask


class _Column:
    """One field of every fact: `values[codes[fact_id]]`, where code 0 is an absent field."""

    def __init__(self) -> None:
        self._codes = np.zeros(0, np.int32)
        self._values: list[Any] = [ABSENT]
        self._code_of: dict[Hashable, int] = {}
        self._doubles = np.zeros(0)

    def put(self, fact_id: int, value: Any) -> None:
        known = len(self._codes)
        if value is not ABSENT and fact_id >= known:
            room = max(fact_id + 1, 2 * known)  # doubling keeps the cost per fact constant
            self._codes = np.pad(self._codes, (0, room - known))
        if fact_id < len(self._codes):
            self._codes[fact_id] = self._code(value)

    def remove(self, fact_ids: NDArray[np.int64]) -> None:
        self._codes[fact_ids[fact_ids < len(self._codes)]] = 0

    def mask(self, condition: Condition, size: int) -> _Mask:
        accepted = self._accepted(condition)
        accepted[0] = condition.accepts_absent
        codes = self._codes[:size]
        mask = np.full(size, condition.accepts_absent)
        mask[: len(codes)] = accepted[codes]
        return mask

    def _code(self, value: Any) -> int:
        if value is ABSENT:
            return 0
        # 1 and 1.0 inside arrays and objects get codes of their own, which does no harm.
        key = scalar_key(value) or json.dumps(value, sort_keys=True)
        code = self._code_of.setdefault(key, len(self._values))
        if code == len(self._values):
            self._values.append(value)
        return code

    def _accepted(self, condition: Condition) -> _Mask:
        """Return, by code, which values a condition accepts; entry 0 means nothing."""
        operand = condition.operand
        match condition.operator:
            case "$eq" | "$ne" | "$in" | "$nin":
                operands = operand if condition.operator in ("$in", "$nin") else [operand]
                keys = [scalar_key(operand) for operand in operands]
                if None not in keys:
                    found = self._found(keys)
                    return found if condition.operator in ("$eq", "$in") else ~found
            case "$gt" | "$gte" | "$lt" | "$lte" if not isinstance(operand, str):
                return self._in_range(condition)
        accepted = np.zeros(len(self._values), np.bool_)
        accepted[1:] = [condition.accepts(value) for value in self._values[1:]]
        return accepted

    def _found(self, keys: Iterable[Hashable]) -> _Mask:
        found = np.zeros(len(self._values), np.bool_)
        found[[self._code_of[key] for key in keys if key in self._code_of]] = True
        return found

    def _in_range(self, condition: Condition) -> _Mask:
        # Rounding to a double keeps the order of numbers but may merge neighbours, so only
        # those that share the operand's double need the exact comparison.
        new = self._values[len(self._doubles) :]
        self._doubles = np.append(self._doubles, [_double(value) for value in new])
        bound = _double(condition.operand)
        beyond = np.greater if condition.operator in ("$gt", "$gte") else np.less
        accepted: _Mask = beyond(self._doubles, bound)
        for code in np.flatnonzero(self._doubles == bound):
            accepted[code] = condition.accepts(self._values[code])
        return accepted


def _double(value: Any) -> float:
    """Return the double nearest to a number, and NaN, which no range holds, for the rest."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
