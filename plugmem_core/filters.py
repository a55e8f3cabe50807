r"""Metadata filters: what `where` accepts, and the one evaluator of what it means.

A filter is a mapping. Its entries are ANDed, and so are several operators on one field:

    {"lang": "en", "year": {"$gte": 2020, "$lt": 2024}}
    {"$or": [{"draft": {"$exists": False}}, {"author.name": {"$like": "A%"}}]}

| operator              | operand          | matches                                   | absent |
|-----------------------|------------------|-------------------------------------------|--------|
| none, or `$eq`        | any JSON value   | the same value                            | no     |
| `$ne`                 | any JSON value   | what `$eq` does not                       | yes    |
| `$gt $gte $lt $lte`   | number, string   | a number by size, a string by code points | no     |
| `$in`                 | list             | what `$eq` with one of its items does     | no     |
| `$nin`                | list             | what `$in` does not                       | yes    |
| `$exists`             | `True`           | any value, `null` too                     | no     |
| `$exists`             | `False`          | no value                                  | yes    |
| `$contains`           | any JSON value   | a string with that substring,             | no     |
|                       |                  | an array with an item `$eq` to it         |        |
| `$like`               | string           | a whole string, by case; `%` is any run,  | no     |
|                       |                  | `_` one character, `\` quotes the next    |        |
| `$ilike`              | string           | as `$like`, without case                  | no     |
| `$and`, `$or`         | non-empty list   | all of its filters, at least one          |        |
| `$not`, at the top    | filter           | what the filter does not                  |        |
| `$not`, under a field | operators        | what the operators do not                 |        |

"absent" says whether a fact without the field matches. `{}` matches everything.

Values are compared by JSON type: `true` is not 1 and "1" is not 1, while 1 equals 1.0, and
integers are exact however large. Arrays are equal item by item, objects key by key. `None`
is JSON `null`: a value, which an absent field is not. A stored value of a type that an
operator does not compare is not a match, never an error.

A field is a dotted path into nested objects, not into arrays. Keys may hold dots themselves:
at each level the longest key that begins the path is tried first, so `"a.b"` is the key
`a.b` if there is one, else `b` inside `a`. A field whose name begins with `$` cannot be named.
"""

import math
import operator as compare
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from plugmem_core.errors import InvalidFilterError, shown

MAX_DEPTH = 32
"""Most levels of a filter, of an operand, and of a dotted path."""

MAX_CONDITIONS = 1024
"""Most comparisons in one filter."""

MAX_PATTERN = 1024
"""Longest pattern of `$like` or `$ilike`, in characters; matching may cost this times the text."""

ABSENT: Final = object()
"""What `lookup` returns for a field that is not there."""

_Test: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator on one field.

    Attributes:
        path: The field, a dotted path.
        operator: From the module's table; a plain value is `$eq`.
        operand: A private copy, in plain JSON types.
        accepts: Whether a value that is there matches.
        accepts_absent: Whether a fact without the field matches.
    """

    path: str
    operator: str
    operand: Any
    accepts: _Test = field(repr=False, compare=False)
    accepts_absent: bool

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether metadata, as `json.loads` returns it, passes."""
        value = lookup(metadata, self.path)
        return self.accepts_absent if value is ABSENT else self.accepts(value)

    def conditions(self) -> Iterator["Condition"]:
        """Yield every condition in it."""
        yield self


@dataclass(frozen=True, slots=True)
class Group:
    """Filters under `$and` (none at all is the filter `{}`) or `$or`, or one under `$not`."""

    operator: str
    parts: tuple["Filter", ...]

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether metadata, as `json.loads` returns it, passes."""
        results = (part.matches(metadata) for part in self.parts)
        match self.operator:
            case "$and":
                return all(results)
            case "$or":
                return any(results)
            case _:
                return not next(results)

    def conditions(self) -> Iterator[Condition]:
        """Yield every condition in it."""
        for part in self.parts:
            yield from part.conditions()


Filter: TypeAlias = Condition | Group
"""A parsed filter; immutable."""


def parse_filter(where: Mapping[str, Any]) -> Filter:
    """Return the filter that `where` describes, in the language of this module's docstring.

    >>> recent = parse_filter({"lang": "en", "year": {"$gte": 2020}})
    >>> recent.matches({"lang": "en", "year": 2021})
    True

    Args:
        where: Fields and operators. It is copied, so changing it later changes nothing.

    Raises:
        InvalidFilterError: An unknown operator, an operand of a type it does not take, a
            value that is not JSON, or a filter over `MAX_DEPTH`, `MAX_CONDITIONS` or
            `MAX_PATTERN`.
    """
    return _Parser().parse(where, depth=1)


def lookup(metadata: Mapping[str, Any], path: str) -> Any:
    """Return the value at a dotted path, or `ABSENT`."""
    if path in metadata:
        return metadata[path]
    dot = path.rfind(".")
    while dot >= 0:
        child = metadata.get(path[:dot])
        if isinstance(child, Mapping):
            value = lookup(child, path[dot + 1 :])
            if value is not ABSENT:
                return value
        dot = path.rfind(".", 0, dot)
    return ABSENT


def scalar_key(value: Any) -> Hashable:
    """Return a key that two scalars share when `$eq` holds; `None` for arrays and objects."""
    json_type = _json_type(value)
    return None if json_type in ("array", "object", None) else (json_type, value)


class _Parser:
    """Turns one `where` into a filter, counting its conditions."""

    def __init__(self) -> None:
        self._count = 0

    def parse(self, where: Any, depth: int) -> Filter:
        if not isinstance(where, Mapping):
            raise _refusal(f"a filter is {shown(where)}", 'a mapping, {"field": value}')
        _check_levels("a filter", depth)
        if not where:
            self._count_condition()
        return _all_of([self._entry(_name(key), value, depth) for key, value in where.items()])

    def _entry(self, name: str, value: Any, depth: int) -> Filter:
        if not name.startswith("$"):
            return self._field(name, value, depth)
        if name == "$not":
            return Group("$not", (self.parse(value, depth + 1),))
        if name in _OPERATORS:
            raise _refusal(f"{name} outside a field", f'{{"field": {{"{name}": …}}}}')
        if name not in ("$and", "$or"):
            raise _refusal(f"unknown operator {shown(name)}", "a field, $and, $or or $not")
        if not isinstance(value, list | tuple) or not value:
            raise _refusal(f"{name} has {shown(value)}", "a non-empty list of filters")
        return Group(name, tuple(self.parse(part, depth + 1) for part in value))

    def _field(self, path: str, value: Any, depth: int) -> Filter:
        _check_levels(f"the path {shown(path)}", path.count(".") + 1)
        if _holds_operators(value):
            return self._operators(path, value, depth)
        return self._condition(path, "$eq", _json_copy(value, path, literal=False))

    def _operators(self, path: str, operators: Mapping[Any, Any], depth: int) -> Filter:
        _check_levels("a filter", depth)
        return _all_of(
            [self._operator(path, _name(key), value, depth) for key, value in operators.items()]
        )

    def _operator(self, path: str, name: str, operand: Any, depth: int) -> Filter:
        if name == "$not":
            if not _holds_operators(operand):
                raise _refusal(
                    f"$not under {shown(path)} has {shown(operand)}", 'operators, as {"$gt": 1}'
                )
            return Group("$not", (self._operators(path, operand, depth + 1),))
        if name not in _OPERATORS:
            raise _refusal(
                f"unknown operator {shown(name)} under {shown(path)}",
                f"one of {', '.join(_OPERATORS)}, $not",
            )
        copy = _json_copy(operand, name, literal=True)
        takes = _OPERATORS[name].takes
        if _json_type(copy) not in takes:
            raise _refusal(
                f"{name} under {shown(path)} has {shown(operand)}", f"a JSON {' or '.join(takes)}"
            )
        return self._condition(path, name, copy)

    def _condition(self, path: str, name: str, operand: Any) -> Condition:
        self._count_condition()
        accepts_absent = name in ("$ne", "$nin") or (name == "$exists" and not operand)
        return Condition(path, name, operand, _OPERATORS[name].test(operand), accepts_absent)

    def _count_condition(self) -> None:
        self._count += 1
        if self._count > MAX_CONDITIONS:
            raise _refusal(
                f"a filter has more than {MAX_CONDITIONS} conditions",
                f"at most {MAX_CONDITIONS}; many values of one field go in one $in",
            )


def _all_of(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else Group("$and", tuple(parts))


def _holds_operators(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        isinstance(key, str) and key.startswith("$") for key in value
    )


def _json_copy(value: Any, place: str, *, literal: bool, depth: int = 1) -> Any:
    """Return a copy in plain JSON types; keys may begin with `$` only if `literal`."""
    # Values are told apart by exact type, so subclasses such as enums are made plain.
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if not isinstance(value, list | tuple | Mapping):
        raise _refusal(
            f"{shown(place)} has {shown(value)} ({type(value).__name__})",
            "None, a boolean, a finite number, a string, a list or a dict; "
            "anything else, a time for example, as the metadata has it: text or a number",
        )
    _check_levels(f"the value of {shown(place)}", depth)
    if not isinstance(value, Mapping):
        return [_json_copy(item, place, literal=literal, depth=depth + 1) for item in value]
    if not literal and _holds_operators(value):
        # As a plain key it would match nothing, which is not what its author meant.
        raise _refusal(
            f"{shown(place)} has an operator deeper inside, in {shown(value)}",
            'a dotted path, {"outer.inner": {"$gt": 1}}, or $eq to mean the object itself',
        )
    return {
        _name(key): _json_copy(item, place, literal=literal, depth=depth + 1)
        for key, item in value.items()
    }


def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise _refusal(f"a field is {shown(key)}", "a string, such as 'author.name'")
    return key


def _check_levels(what: str, levels: int) -> None:
    if levels > MAX_DEPTH:
        raise _refusal(f"{what} has more than {MAX_DEPTH} levels", f"at most {MAX_DEPTH}")


def _refusal(problem: str, accepted: str) -> InvalidFilterError:
    return InvalidFilterError(f"where: {problem}; give {accepted}")


def _json_type(value: Any) -> str | None:
    return _JSON_TYPES.get(type(value))


_JSON_TYPES = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def _same(operand: Any, value: Any) -> bool:
    # It descends no deeper than the operand, so deep metadata cannot exhaust the stack.
    if _json_type(operand) != _json_type(value):
        return False
    if isinstance(operand, list):
        return len(operand) == len(value) and all(map(_same, operand, value))
    if isinstance(operand, dict):
        return operand.keys() == value.keys() and all(
            _same(item, value[key]) for key, item in operand.items()
        )
    return bool(operand == value)


def _equality(operand: Any) -> _Test:
    return lambda value: _same(operand, value)


def _membership(operands: list[Any]) -> _Test:
    scalars = {scalar_key(operand) for operand in operands} - {None}
    containers = [operand for operand in operands if scalar_key(operand) is None]

    def is_member(value: Any) -> bool:
        return scalar_key(value) in scalars or any(_same(item, value) for item in containers)

    return is_member


def _negation(of: Callable[[Any], _Test]) -> Callable[[Any], _Test]:
    def negation(operand: Any) -> _Test:
        test = of(operand)
        return lambda value: not test(value)

    return negation


def _ordering(holds: Callable[[Any, Any], bool]) -> Callable[[Any], _Test]:
    def ordering(operand: Any) -> _Test:
        json_type = _json_type(operand)
        return lambda value: _json_type(value) == json_type and holds(value, operand)

    return ordering


def _presence(wanted: Any) -> _Test:
    return lambda _: bool(wanted)


def _containment(operand: Any) -> _Test:
    def contains(value: Any) -> bool:
        if isinstance(value, str):
            return isinstance(operand, str) and operand in value
        return isinstance(value, list) and any(_same(operand, item) for item in value)

    return contains


def _likeness(pattern: str) -> _Test:
    r"""Return a matcher whose time is at most the text's length times the pattern's.

    A run, which is what stands between two `%`, has a fixed length. Each is taken at its
    leftmost place, which leaves the most room for the next, so no choice is ever revised.
    """
    if len(pattern) > MAX_PATTERN:
        raise _refusal(
            f"$like has a pattern of {len(pattern)} characters", f"at most {MAX_PATTERN}"
        )
    *head, tail = _runs(pattern)
    head[:1] = [[r"\A", *run] for run in head[:1]]
    searches = [re.compile("".join(run), re.DOTALL).search for run in head]
    rest = re.compile("".join(tail), re.DOTALL)

    def is_like(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        at, end = 0, len(value) - len(tail)
        for search in searches:
            found = search(value, at)
            if found is None:
                return False
            at = found.end()
        return (at <= end if searches else at == end) and rest.match(value, end) is not None

    return is_like


def _caseless_likeness(pattern: str) -> _Test:
    is_like = _likeness(pattern.casefold())
    return lambda value: isinstance(value, str) and is_like(value.casefold())


def _runs(pattern: str) -> list[list[str]]:
    """Split a pattern at its `%`; each run lists, character by character, what matches it."""
    runs: list[list[str]] = [[]]
    characters = iter(pattern)
    for character in characters:
        match character:
            case "%":
                runs.append([])
            case "_":
                runs[-1].append(".")
            case "\\":
                quoted = next(characters, "")
                if not quoted:
                    raise _refusal(
                        f"$like has {shown(pattern)}, which ends in \\", r"\\ for a backslash"
                    )
                runs[-1].append(re.escape(quoted))
            case _:
                runs[-1].append(re.escape(character))
    return runs


class _Operator(NamedTuple):
    test: Callable[[Any], _Test]
    takes: tuple[str, ...] = tuple(dict.fromkeys(_JSON_TYPES.values()))


_OPERATORS = {
    "$eq": _Operator(_equality),
    "$ne": _Operator(_negation(_equality)),
    "$gt": _Operator(_ordering(compare.gt), ("number", "string")),
    "$gte": _Operator(_ordering(compare.ge), ("number", "string")),
    "$lt": _Operator(_ordering(compare.lt), ("number", "string")),
    "$lte": _Operator(_ordering(compare.le), ("number", "string")),
    "$in": _Operator(_membership, ("array",)),
    "$nin": _Operator(_negation(_membership), ("array",)),
    "$exists": _Operator(_presence, ("boolean",)),
    "$contains": _Operator(_containment),
    "$like": _Operator(_likeness, ("string",)),
    "$ilike": _Operator(_caseless_likeness, ("string",)),
}
