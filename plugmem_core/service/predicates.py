"""Typed comparisons of metadata fields, as `recall_where` takes them.

| operator      | a stored value of the operand's type                | of another type |
|---------------|-----------------------------------------------------|-----------------|
| `eq`          | is the same; numbers may differ by 2^-52            | no              |
| `ne`          | is not                                              | yes             |
| `lt le gt ge` | numbers by size, texts by code points, booleans not | no              |

A field that is absent or `null` matches no operator, `ne` included.
"""

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from plugmem_core.errors import InvalidFilterError, WrongTypeError, shown
from plugmem_core.service.identity import is_reserved

OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge")

_ORDERINGS = {"lt": "$lt", "le": "$lte", "gt": "$gt", "ge": "$gte"}
_NEVER: dict[str, Any] = {"$in": []}
_PRESENT: tuple[dict[str, Any], ...] = ({"$exists": True}, {"$ne": None})

_is_field = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


class Predicate(NamedTuple):
    """One comparison: a field, an operator in any case of letters, and a value."""

    field: str
    op: str
    value: str | int | float | bool


PredicateLike: TypeAlias = Predicate | tuple[str, str, Any] | Mapping[str, Any]
"""What a caller may pass for a predicate: it, a triple, or a mapping with its names."""


def to_where(predicates: Iterable[PredicateLike]) -> dict[str, Any]:
    """Return the filter, in the language of `plugmem_core.filters`, that all predicates make.

    >>> to_where([("year", "GE", 2010)])
    {'$and': [{'year': {'$gte': 2010}}]}

    Raises:
        WrongTypeError: There is no list of predicates.
        InvalidFilterError: A field is no identifier or is reserved, an operator is unknown,
            or a value is neither text, nor a finite number, nor a boolean.
    """
    if isinstance(predicates, str | bytes | Mapping) or not isinstance(predicates, Iterable):
        raise WrongTypeError(
            f"predicates is {shown(predicates)}; give a list of (field, operator, value)"
        )
    checked = [_checked(one, f"predicates[{at}]") for at, one in enumerate(predicates)]
    tests = [{one.field: test} for one in checked for test in _tests(one)]
    return {"$and": tests} if tests else {}


def _checked(given: object, name: str) -> Predicate:
    if isinstance(given, Mapping):
        if given.keys() != set(Predicate._fields):
            raise InvalidFilterError(
                f"{name} has the keys {shown(sorted(map(str, given)))}; give field, op and value"
            )
        given = (given["field"], given["op"], given["value"])
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 3:
        raise InvalidFilterError(f"{name} is {shown(given)}; give (field, operator, value)")
    field, operator, value = given
    if not isinstance(field, str) or not _is_field(field):
        raise InvalidFilterError(
            f"{name} has the field {shown(field)}; give a name of ASCII letters, digits and "
            "underscores that begins with no digit, or use a where filter"
        )
    if is_reserved(field):
        raise InvalidFilterError(f"{name} has the field {field!r}, which is reserved; use another")
    name_of_operator = operator.lower() if isinstance(operator, str) else None
    if name_of_operator not in OPERATORS:
        raise InvalidFilterError(
            f"{name} has the operator {shown(operator)}; give one of {', '.join(OPERATORS)}"
        )
    finite = not isinstance(value, float) or math.isfinite(value)
    if not isinstance(value, str | int | float) or not finite:
        raise InvalidFilterError(
            f"{name} has the value {shown(value)}; give text, a finite number or a boolean"
        )
    return Predicate(field, name_of_operator, value)


def _tests(predicate: Predicate) -> tuple[dict[str, Any], ...]:
    """Return the conditions on the field, all of which have to hold."""
    _, operator, value = predicate
    match operator:
        case "eq":
            return (_equals(value),)
        case "ne":
            return (*_PRESENT, {"$not": _equals(value)})
        case _:
            return (_NEVER if isinstance(value, bool) else {_ORDERINGS[operator]: value},)


def _equals(value: str | float) -> dict[str, Any]:
    # Beyond 1 the nearest other number is farther away than epsilon already.
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1:
        epsilon = sys.float_info.epsilon
        return {"$gte": value - epsilon, "$lte": value + epsilon}
    return {"$eq": value}
