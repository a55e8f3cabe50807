"""`PlugmemTranslator`: structured queries as filters of a memory."""

from collections.abc import Mapping
from typing import Any

from langchain_core.structured_query import (
    Comparator,
    Comparison,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)

from plugmem_core import InvalidInputError

_COMPARATORS = {
    Comparator.EQ: "$eq",
    Comparator.NE: "$ne",
    Comparator.GT: "$gt",
    Comparator.GTE: "$gte",
    Comparator.LT: "$lt",
    Comparator.LTE: "$lte",
    Comparator.CONTAIN: "$contains",
    Comparator.LIKE: "$like",
    Comparator.IN: "$in",
    Comparator.NIN: "$nin",
}


class PlugmemTranslator(Visitor):
    """Turns the filter of a structured query into one of `plugmem_core.filters`.

    Give it to a `SelfQueryRetriever` as `structured_query_translator`. A date is compared as
    its ISO-8601 text, which is what metadata should hold.

    >>> from langchain_core.structured_query import Comparator, Comparison
    >>> Comparison(Comparator.GT, "year", 2020).accept(PlugmemTranslator())
    {'year': {'$gt': 2020}}
    """

    allowed_comparators = tuple(_COMPARATORS)
    allowed_operators = tuple(Operator)

    def visit_operation(self, operation: Operation) -> dict[str, Any]:
        """Return an AND, an OR or a NOT as a filter."""
        self._validate_func(operation.operator)
        parts = [argument.accept(self) for argument in operation.arguments]
        if operation.operator != Operator.NOT:
            return {f"${operation.operator.value}": parts}
        if len(parts) != 1:
            raise InvalidInputError(f"not has {len(parts)} arguments; give it one")
        return {"$not": parts[0]}

    def visit_comparison(self, comparison: Comparison) -> dict[str, Any]:
        """Return a comparison as a filter."""
        self._validate_func(comparison.comparator)
        value = _plain(comparison.value)
        return {comparison.attribute: {_COMPARATORS[comparison.comparator]: value}}

    def visit_structured_query(
        self, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        """Return the question, and the arguments of the search."""
        found = structured_query.filter
        return structured_query.query, {} if found is None else {"filter": found.accept(self)}


def _plain(value: Any) -> Any:
    """Return a value as metadata has it; dates and times come with their type."""
    if isinstance(value, Mapping):
        kind = value.get("type")
        return value[kind] if kind in ("date", "datetime") and kind in value else value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
