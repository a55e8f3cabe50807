"""LlamaIndex's metadata filters in the language of `plugmem_core.filters`.

| operator                 | operand      | matches                                      | missing |
|--------------------------|--------------|----------------------------------------------|---------|
| `EQ`                     | any          | the same value                               | no      |
| `NE`                     | any          | what `EQ` does not                           | yes     |
| `GT`, `GTE`, `LT`, `LTE` | number, text | a number by size, a text by code points      | no      |
| `IN`                     | list         | one of the values                            | no      |
| `NIN`                    | list         | what `IN` does not                           | yes     |
| `CONTAINS`               | number, text | a list with that item, a text with that part | no      |
| `ANY`                    | list         | what `CONTAINS` with one of them does        | no      |
| `ALL`                    | list         | what `CONTAINS` with each of them does       | no      |
| `TEXT_MATCH`             | text         | a text with that part                        | no      |
| `TEXT_MATCH_INSENSITIVE` | text         | the same without case                        | no      |
| `IS_EMPTY`               | not read     | `""` and `[]`                                | yes     |

"missing" is a key that is not there, or `None`. A value of a type that an operator does not
compare is no match. LlamaIndex has no filter for `True` and `False`; 1 and 0 match them.

Filters may be nested: `AND` means all of them, `OR` one at least, `NOT` none. An empty list
of filters says nothing, and is left out.

A key is taken as it is; one with a dot that the metadata does not have leads into nested
objects. The keys `doc_id`, `document_id` and `ref_doc_id` mean the document that a node is a
part of, unless its metadata has such a key itself.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from llama_index_plugmem._mapping import REF_DOC
from plugmem_core import InvalidFilterError
from plugmem_core.errors import shown
from plugmem_core.filters import MAX_DEPTH
from plugmem_core.inputs import check_type

Where: TypeAlias = dict[str, Any]

DOCUMENT_KEYS = ("doc_id", "document_id", "ref_doc_id")
"""Keys by which LlamaIndex's stores know the document of a node."""


def to_where(filters: MetadataFilters | None) -> Where | None:
    """Return filters as a `where`; `None` when they restrict nothing.

    Raises:
        InvalidFilterError: An operator or condition that is not known, or an operand that
            the operator does not take.
        WrongTypeError: These are no `MetadataFilters`.

    >>> from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter
    >>> recent = MetadataFilter(key="year", operator=FilterOperator.GTE, value=2020)
    >>> to_where(MetadataFilters(filters=[recent]))
    {'year': {'$gte': 2020}}
    """
    if filters is None:
        return None
    check_type(filters, MetadataFilters, "filters", "MetadataFilters")
    return _group(filters, depth=1)


def _group(group: MetadataFilters, depth: int) -> Where | None:
    if depth > MAX_DEPTH:
        raise InvalidFilterError(f"filters have more than {MAX_DEPTH} levels; nest fewer")
    given = [
        _group(one, depth + 1) if isinstance(one, MetadataFilters) else _filter(one)
        for one in group.filters
    ]
    parts = [part for part in given if part is not None]
    condition = FilterCondition.AND if group.condition is None else group.condition
    if condition not in _CONDITIONS:
        accepted = ", ".join(one.value for one in _CONDITIONS)
        raise InvalidFilterError(f"condition is {shown(condition)}; give one of {accepted}")
    return _CONDITIONS[condition](parts) if parts else None


def _all_of(parts: list[Where]) -> Where:
    return parts[0] if len(parts) == 1 else {"$and": parts}


def _one_of(parts: list[Where]) -> Where:
    return parts[0] if len(parts) == 1 else {"$or": parts}


def _none_of(parts: list[Where]) -> Where:
    return {"$not": _one_of(parts)}


_CONDITIONS: dict[FilterCondition, Callable[[list[Where]], Where]] = {
    FilterCondition.AND: _all_of,
    FilterCondition.OR: _one_of,
    FilterCondition.NOT: _none_of,
}


def _filter(one: MetadataFilter) -> Where:
    if one.operator not in _TESTS:
        accepted = ", ".join(operator.value for operator in _TESTS)
        raise _refusal(one, f"one of the operators {accepted}")
    if one.key.startswith("$"):
        raise _refusal(one, "a key that does not begin with $, which is for operators")
    test = _TESTS[one.operator]
    if one.key not in DOCUMENT_KEYS:
        return test(one.key, one)
    here = {one.key: {"$exists": True}}
    return {
        "$or": [
            {"$and": [here, test(one.key, one)]},
            {"$and": [{"$not": here}, test(REF_DOC, one)]},
        ]
    }


# -- one operator each: the test of the value under a path


def _is_in(path: str, one: MetadataFilter) -> Where:
    return {path: {"$in": _spellings(_list(one))}}


def _is_not_in(path: str, one: MetadataFilter) -> Where:
    return {path: {"$nin": _spellings(_list(one))}}


def _equals(path: str, one: MetadataFilter) -> Where:
    # Nothing equals None: what is None is missing.
    return {path: {"$in": [] if one.value is None else _spellings([one.value])}}


def _differs(path: str, one: MetadataFilter) -> Where:
    return {"$not": _equals(path, one)}


def _compares(operator: str) -> Callable[[str, MetadataFilter], Where]:
    def compares(path: str, one: MetadataFilter) -> Where:
        if not isinstance(one.value, int | float | str):
            raise _refusal(one, "a number or a text")
        return {path: {operator: one.value}}

    return compares


def _contains(path: str, one: MetadataFilter) -> Where:
    if one.value is None or isinstance(one.value, list):
        raise _refusal(one, "a number or a text; ANY and ALL take a list")
    return _contains_value(path, one.value)


def _contains_any(path: str, one: MetadataFilter) -> Where:
    values = _list(one)
    return _one_of([_contains_value(path, value) for value in values]) if values else _nothing(path)


def _contains_all(path: str, one: MetadataFilter) -> Where:
    there = {path: {"$nin": [None], "$exists": True}}
    return _all_of([there, *(_contains_value(path, value) for value in _list(one))])


def _contains_value(path: str, value: Any) -> Where:
    return _one_of([{path: {"$contains": spelling}} for spelling in _spellings([value])])


def _matches(path: str, one: MetadataFilter) -> Where:
    # $contains takes lists, too; $like takes texts alone.
    return {path: {"$contains": _text(one), "$like": "%"}}


def _matches_caselessly(path: str, one: MetadataFilter) -> Where:
    quoted = "".join(f"\\{one}" if one in "\\%_" else one for one in _text(one))
    return {path: {"$ilike": f"%{quoted}%"}}


def _is_empty(path: str, _one: MetadataFilter) -> Where:
    return {path: {"$not": {"$exists": True, "$nin": [None, "", []]}}}


_TESTS: dict[FilterOperator, Callable[[str, MetadataFilter], Where]] = {
    FilterOperator.EQ: _equals,
    FilterOperator.NE: _differs,
    FilterOperator.GT: _compares("$gt"),
    FilterOperator.GTE: _compares("$gte"),
    FilterOperator.LT: _compares("$lt"),
    FilterOperator.LTE: _compares("$lte"),
    FilterOperator.IN: _is_in,
    FilterOperator.NIN: _is_not_in,
    FilterOperator.ANY: _contains_any,
    FilterOperator.ALL: _contains_all,
    FilterOperator.TEXT_MATCH: _matches,
    FilterOperator.TEXT_MATCH_INSENSITIVE: _matches_caselessly,
    FilterOperator.CONTAINS: _contains,
    FilterOperator.IS_EMPTY: _is_empty,
}


def _nothing(path: str) -> Where:
    return {path: {"$in": []}}


def _list(one: MetadataFilter) -> list[Any]:
    if not isinstance(one.value, list):
        raise _refusal(one, "a list")
    return one.value


def _text(one: MetadataFilter) -> str:
    if not isinstance(one.value, str):
        raise _refusal(one, "a text")
    return one.value


def _spellings(values: list[Any]) -> list[Any]:
    """Return values, and the truth values that a filter can only write as 1 and 0."""
    return [*values, *(bool(value) for value in values if value in (0, 1))]


def _refusal(one: MetadataFilter, accepted: str) -> InvalidFilterError:
    operator = getattr(one.operator, "value", one.operator)
    return InvalidFilterError(
        f"filter on {one.key!r} with operator {operator!r} has {shown(one.value)}; give {accepted}"
    )
