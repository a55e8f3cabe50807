"""LlamaIndex's metadata filters mean what LlamaIndex's own evaluator says, nested ones too."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from llama_index_plugmem._filters import to_where
from llama_index_plugmem._mapping import NODE
from plugmem_core import InvalidFilterError, WrongTypeError
from plugmem_core.filters import parse_filter

AND, OR, NOT = FilterCondition.AND, FilterCondition.OR, FilterCondition.NOT


def one(key: str, operator: str, value: Any = None) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=FilterOperator(operator))


def group(*filters: Any, condition: Any = AND) -> MetadataFilters:
    return MetadataFilters(filters=list(filters), condition=condition)


def passes(filters: MetadataFilters, metadata: dict[str, Any]) -> bool:
    where = to_where(filters)
    return where is None or parse_filter(where).matches(metadata)


MISSING: dict[str, Any] = {}
NONE = {"f": None}

CASES = [
    # operator, operand, metadata, whether it matches
    ("==", "a", {"f": "a"}, True),
    ("==", "a", {"f": "A"}, False),
    ("==", 1, {"f": 1.0}, True),
    ("==", "5", {"f": 5}, False),
    ("==", 5, {"f": "5"}, False),
    ("==", 1, {"f": True}, True),
    ("==", 0, {"f": True}, False),
    ("==", 0, {"f": False}, True),
    ("==", ["a"], {"f": ["a"]}, True),
    ("==", ["a"], {"f": "a"}, False),
    ("==", None, MISSING, False),
    ("==", None, NONE, False),
    ("==", None, {"f": "a"}, False),
    ("!=", "a", {"f": "b"}, True),
    ("!=", "a", {"f": "a"}, False),
    ("!=", 1, {"f": True}, False),
    ("!=", "a", MISSING, True),
    ("!=", "a", NONE, True),
    ("!=", None, MISSING, True),
    ("!=", None, NONE, True),
    ("!=", None, {"f": "a"}, True),
    (">", 4, {"f": 5}, True),
    (">", 5, {"f": 5}, False),
    (">=", 5, {"f": 5}, True),
    ("<", 5, {"f": 4.5}, True),
    ("<=", 4.5, {"f": 5}, False),
    (">", "2024-01-08", {"f": "2024-06-03"}, True),
    (">", 5, {"f": "6"}, False),
    ("<", "6", {"f": 5}, False),
    ("<", 5, MISSING, False),
    ("<", 5, NONE, False),
    (">=", 1, {"f": True}, False),
    ("in", ["a", "b"], {"f": "b"}, True),
    ("in", ["a", "b"], {"f": "c"}, False),
    ("in", ["a"], {"f": ["a"]}, False),
    ("in", [1], {"f": True}, True),
    ("in", [], {"f": "a"}, False),
    ("in", ["a"], MISSING, False),
    ("in", ["a"], NONE, False),
    ("nin", ["a", "b"], {"f": "c"}, True),
    ("nin", ["a", "b"], {"f": "a"}, False),
    ("nin", [], {"f": "a"}, True),
    ("nin", ["a"], MISSING, True),
    ("nin", ["a"], NONE, True),
    ("contains", "a", {"f": ["a", "b"]}, True),
    ("contains", "a", {"f": ["ab"]}, False),
    ("contains", 1, {"f": [2, 1]}, True),
    ("contains", 1, {"f": [True]}, True),
    ("contains", "b", {"f": "abc"}, True),
    ("contains", 1, {"f": "1"}, False),
    ("contains", 1, {"f": 1}, False),
    ("contains", "a", MISSING, False),
    ("contains", "a", NONE, False),
    ("any", ["a", "z"], {"f": ["a", "b"]}, True),
    ("any", ["y", "z"], {"f": ["a", "b"]}, False),
    ("any", ["y", "b"], {"f": "abc"}, True),
    ("any", [], {"f": ["a"]}, False),
    ("any", ["a"], {"f": 1}, False),
    ("any", ["a"], MISSING, False),
    ("any", ["a"], NONE, False),
    ("all", ["a", "b"], {"f": ["b", "c", "a"]}, True),
    ("all", ["a", "z"], {"f": ["a", "b"]}, False),
    ("all", ["a", "c"], {"f": "abc"}, True),
    ("all", [], {"f": 1}, True),
    ("all", [], MISSING, False),
    ("all", [], NONE, False),
    ("text_match", "ea", {"f": "green tea"}, True),
    ("text_match", "TEA", {"f": "green tea"}, False),
    ("text_match", "%", {"f": "green tea"}, False),
    ("text_match", "_", {"f": "snake_case"}, True),
    ("text_match", "\\", {"f": "a\\b"}, True),
    ("text_match", "x" * 2000, {"f": "x" * 2000}, True),
    ("text_match", "tea", {"f": ["tea"]}, False),
    ("text_match", "", {"f": ""}, True),
    ("text_match", "", MISSING, False),
    ("text_match_insensitive", "TEA", {"f": "Green tea"}, True),
    ("text_match_insensitive", "ÉTÉ", {"f": "l'été"}, True),
    ("text_match_insensitive", "straße", {"f": "HAUPTSTRASSE"}, True),
    ("text_match_insensitive", "%", {"f": "green tea"}, False),
    ("text_match_insensitive", "100%_\\", {"f": "100%_\\!"}, True),
    ("text_match_insensitive", "tea", {"f": ["tea"]}, False),
    ("text_match_insensitive", "tea", NONE, False),
    ("is_empty", None, MISSING, True),
    ("is_empty", None, NONE, True),
    ("is_empty", None, {"f": ""}, True),
    ("is_empty", None, {"f": []}, True),
    ("is_empty", None, {"f": 0}, False),
    ("is_empty", None, {"f": False}, False),
    ("is_empty", None, {"f": " "}, False),
    ("is_empty", None, {"f": {}}, False),
]


def test_every_operator_has_cases() -> None:
    assert {operator for operator, *_ in CASES} == {one.value for one in FilterOperator}


@pytest.mark.parametrize(("operator", "operand", "metadata", "expected"), CASES)
def test_an_operator_matches(
    operator: str, operand: Any, metadata: dict[str, Any], expected: bool
) -> None:
    assert passes(group(one("f", operator, operand)), metadata) is expected
    assert passes(group(one("f", operator, operand), condition=NOT), metadata) is not expected


A, B = one("a", "==", 1), one("b", "==", 1)

LOGIC = [
    (group(A, B), {"a": 1, "b": 1}, True),
    (group(A, B), {"a": 1}, False),
    (group(A, B, condition=OR), {"b": 1}, True),
    (group(A, B, condition=OR), {}, False),
    (group(A, B, condition=NOT), {}, True),
    (group(A, B, condition=NOT), {"b": 1}, False),
    (group(A, B, condition=None), {"a": 1}, False),
    (group(), {}, True),
    (group(condition=OR), {}, True),
    (group(condition=NOT), {}, True),
    (group(group(A, B, condition=OR), one("c", ">", 5)), {"b": 1, "c": 6}, True),
    (group(group(A, B, condition=OR), one("c", ">", 5)), {"b": 1, "c": 5}, False),
    (group(group(A, B), condition=NOT), {"a": 1}, True),
    (group(group(A, B), condition=NOT), {"a": 1, "b": 1}, False),
    (group(group(group(A, condition=NOT), B), A, condition=OR), {"b": 1}, True),
    (group(group(group(A, condition=NOT), B), A, condition=OR), {}, False),
    (group(group(), A), {"a": 2}, False),  # an empty group says nothing
    (group(group(), A, condition=OR), {"a": 2}, False),
    (group(group(condition=OR), A, condition=NOT), {"a": 2}, True),
]


@pytest.mark.parametrize(("filters", "metadata", "expected"), LOGIC)
def test_filters_combine_and_nest(
    filters: MetadataFilters, metadata: dict[str, Any], expected: bool
) -> None:
    assert passes(filters, metadata) is expected


@pytest.mark.parametrize("filters", [None, group(), group(group(), group(condition=NOT))])
def test_what_restricts_nothing_is_no_filter(filters: MetadataFilters | None) -> None:
    assert to_where(filters) is None


PART = {NODE: {"ref_doc_id": "handbook"}}


@pytest.mark.parametrize("key", ["doc_id", "document_id", "ref_doc_id"])
def test_the_document_of_a_node_is_known_by_three_keys(key: str) -> None:
    assert passes(group(one(key, "==", "handbook")), PART)
    assert passes(group(one(key, "in", ["rota", "handbook"])), PART)
    assert not passes(group(one(key, "==", "rota")), PART)
    assert not passes(group(one(key, "!=", "handbook")), PART)
    assert passes(group(one(key, "!=", "handbook")), {})
    assert passes(group(one(key, "is_empty")), {})
    assert not passes(group(one(key, "==", "None")), {})


@pytest.mark.parametrize("key", ["doc_id", "document_id", "ref_doc_id"])
def test_a_key_of_the_metadata_goes_before_the_document(key: str) -> None:
    assert passes(group(one(key, "==", "mine")), {**PART, key: "mine"})
    assert not passes(group(one(key, "==", "handbook")), {**PART, key: "mine"})
    assert passes(group(one(key, "!=", "handbook")), {**PART, key: None})
    assert passes(group(one(key, "is_empty")), {**PART, key: None})


def test_keys_are_taken_as_they_are() -> None:
    assert passes(group(one("a.b", "==", 1)), {"a.b": 1, "a": {"b": 2}})
    assert passes(group(one("a.b", "==", 2)), {"a": {"b": 2}})
    assert passes(group(one("", "==", 1)), {"": 1})
    assert passes(group(one("x $gt", "==", 1)), {"x $gt": 1})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (one("f", ">", None), "'>' has None; give a number or a text"),
        (one("f", "<=", [1]), "[1]; give a number or a text"),
        (one("f", "in", "abc"), "'in' has 'abc'; give a list"),
        (one("f", "nin", None), "give a list"),
        (one("f", "any", "abc"), "give a list"),
        (one("f", "all", 5), "give a list"),
        (one("f", "contains", ["a"]), "ANY and ALL take a list"),
        (one("f", "contains"), "give a number or a text"),
        (one("f", "text_match", 5), "'text_match' has 5; give a text"),
        (one("f", "text_match_insensitive", ["a"]), "give a text"),
        (one("$f", "==", 1), "does not begin with $"),
        (
            MetadataFilter.model_construct(key="f", value=1, operator="near"),
            "'near' has 1; give one of the operators ==",
        ),
    ],
)
def test_what_an_operator_does_not_take_is_named(wrong: MetadataFilter, said: str) -> None:
    with pytest.raises(InvalidFilterError) as raised:
        to_where(MetadataFilters.model_construct(filters=[wrong], condition=AND))
    assert said in str(raised.value)
    assert repr(wrong.key) in str(raised.value)


def test_an_unknown_condition_is_named() -> None:
    filters = MetadataFilters.model_construct(filters=[A], condition="xor")
    with pytest.raises(InvalidFilterError, match="condition is 'xor'; give one of and, or, not"):
        to_where(filters)


@pytest.mark.parametrize("wrong", [{"a": 1}, [A], A, "a"])
def test_what_is_no_metadata_filters_is_refused(wrong: Any) -> None:
    with pytest.raises(WrongTypeError, match="MetadataFilters"):
        to_where(wrong)


def test_filters_without_an_end_are_refused() -> None:
    filters = group(A)
    for _ in range(10_000):
        filters = MetadataFilters.model_construct(filters=[filters], condition=AND)
    with pytest.raises(InvalidFilterError, match="levels"):
        to_where(filters)


# -- against LlamaIndex's own evaluator

words = st.sampled_from(["", "a", "A", "ab", "b%", "a_b", "é", "É", "5"])
numbers = st.integers(-2, 2) | st.sampled_from([0.5, 1.0, 2.5])
lists = st.lists(words, max_size=3) | st.lists(st.integers(-2, 2), max_size=3)
values = words | numbers | lists | st.booleans() | st.none()
metadatas = st.dictionaries(st.sampled_from("fgh"), values, max_size=3)


def filters_of(operator: str) -> st.SearchStrategy[MetadataFilter]:
    operands: st.SearchStrategy[Any] = words | numbers
    if operator in ("in", "nin", "any", "all"):
        operands = lists
    elif operator.startswith("text_match"):
        operands = words
    elif operator in ("==", "!="):
        operands = words | numbers | lists | st.none()
    elif operator == "is_empty":
        operands = st.none()
    return st.builds(one, st.sampled_from("fgh"), st.just(operator), operands)


single = st.sampled_from([one.value for one in FilterOperator]).flatmap(filters_of)
flat = st.builds(
    MetadataFilters, filters=st.lists(single, max_size=3), condition=st.sampled_from([AND, OR, NOT])
)


def says(filters: MetadataFilters) -> bool:
    """Whether there is a filter in it at all."""
    return any(not isinstance(part, MetadataFilters) or says(part) for part in filters.filters)


def reference(filters: MetadataFilters, metadata: dict[str, Any]) -> bool:
    """What LlamaIndex says, asked filter by filter: it refuses nested ones and mixed types."""
    results = []
    for part in filters.filters:
        if isinstance(part, MetadataFilters):
            if says(part):
                results.append(reference(part, metadata))
        elif isinstance(metadata.get(part.key), bool) and part.operator.value[0] in "<>":
            results.append(False)  # Python orders truth values among numbers; nobody means that
        else:
            try:
                results.append(build_metadata_filter_fn(lambda _: metadata, group(part))(""))
            except TypeError:
                results.append(False)
    if not results:
        return True
    return {AND: all(results), OR: any(results), NOT: not any(results)}[filters.condition or AND]


filters = st.recursive(
    flat,
    lambda inner: st.builds(
        MetadataFilters,
        filters=st.lists(inner | single, max_size=3),
        condition=st.sampled_from([AND, OR, NOT]),
    ),
    max_leaves=4,
)


@given(flat, st.lists(metadatas, min_size=1, max_size=6))
def test_flat_filters_agree_with_llama_index(
    filters: MetadataFilters, stored: list[dict[str, Any]]
) -> None:
    for metadata in stored:
        assert passes(filters, metadata) is reference(filters, metadata)


@given(filters, metadatas)
def test_nested_filters_agree_with_the_logic_of_flat_ones(
    filters: MetadataFilters, metadata: dict[str, Any]
) -> None:
    assert (to_where(filters) is not None) is says(filters)
    assert passes(filters, metadata) is reference(filters, metadata)
