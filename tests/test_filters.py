import doctest
import enum
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plugmem_core import filters
from plugmem_core.errors import InvalidFilterError
from plugmem_core.filters import (
    ABSENT,
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_PATTERN,
    lookup,
    parse_filter,
)

Where: TypeAlias = dict[str, Any]

BIG = 2**53  # the first integer whose successor has no double


def passes(where: Any, metadata: Any) -> bool:
    return parse_filter(where).matches(metadata)


EQUALITY = [
    # operand, stored value, whether `$eq` holds
    (1, 1, True),
    (1, 1.0, True),
    (1.0, 1, True),
    (0, -0.0, True),
    (1, True, False),
    (True, 1, False),
    (0, False, False),
    (True, True, True),
    ("1", 1, False),
    (1, "1", False),
    ("", None, False),
    (None, None, True),
    (None, False, False),
    (None, 0, False),
    (BIG + 1, float(BIG), False),
    (float(BIG), BIG + 1, False),
    (float(BIG), BIG, True),
    (BIG + 1, BIG + 1, True),
    (10**400, 10**400, True),
    (10**400, 10**400 + 1, False),
    (0.1, 0.1, True),
    ("é", "é", True),
    ("é", "e\u0301", False),  # the same letter, composed otherwise
    ("A", "a", False),
    ("日本", "日本", True),
    ([], [], True),
    ([], None, False),
    ([1, 2], [1, 2.0], True),
    ([1, 2], [2, 1], False),
    ([1], [1, 1], False),
    ([1], [True], False),
    (["a"], "a", False),
    ("a", ["a"], False),
    ({}, {}, True),
    ({}, [], False),
    ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}, True),
    ({"a": 1}, {"a": 1, "b": 2}, False),
    ({"a": 1, "b": 2}, {"a": 1}, False),
    ({"a": {"b": 1}}, {"a": {"b": "1"}}, False),
    (float(BIG), float("nan"), False),
]


@pytest.mark.parametrize(("operand", "stored", "equal"), EQUALITY)
def test_equality_is_by_json_type_and_every_spelling_of_it_agrees(
    operand: Any, stored: Any, equal: bool
) -> None:
    metadata = {"f": stored}
    assert passes({"f": operand}, metadata) is equal
    assert passes({"f": {"$eq": operand}}, metadata) is equal
    assert passes({"f": {"$ne": operand}}, metadata) is not equal
    assert passes({"f": {"$in": ["other", operand]}}, metadata) is equal
    assert passes({"f": {"$nin": [operand, "other"]}}, metadata) is not equal
    assert passes({"f": {"$contains": operand}}, {"f": ["other", stored]}) is equal


OPERATORS = [
    # operators under the field "f", metadata, whether the fact passes
    ({"$gt": 9}, {"f": 10}, True),  # as text "10" would come before "9"
    ({"$gt": 10}, {"f": 10}, False),
    ({"$gte": 10}, {"f": 10.0}, True),
    ({"$lt": 10}, {"f": 9.5}, True),
    ({"$lt": 9.5}, {"f": 9.5}, False),
    ({"$lte": 9.5}, {"f": 9.5}, True),
    ({"$lte": -1}, {"f": 0}, False),
    ({"$gt": float(BIG)}, {"f": BIG + 1}, True),
    ({"$gte": BIG + 1}, {"f": float(BIG)}, False),
    ({"$lt": BIG + 1}, {"f": BIG}, True),
    ({"$lt": 10**400}, {"f": 1e308}, True),
    ({"$gt": 1}, {"f": True}, False),
    ({"$gte": 1}, {"f": True}, False),
    ({"$lt": 5}, {"f": None}, False),
    ({"$lt": 5}, {"f": "4"}, False),
    ({"$lt": "5"}, {"f": 4}, False),
    ({"$lt": 5}, {"f": [1]}, False),
    ({"$lt": 5}, {"f": {"a": 1}}, False),
    ({"$gt": 0}, {"f": float("nan")}, False),
    ({"$lte": 0}, {"f": float("nan")}, False),
    ({"$lt": "9"}, {"f": "10"}, True),
    ({"$gt": "Z"}, {"f": "a"}, True),
    ({"$gt": "z"}, {"f": "é"}, True),
    ({"$gte": "2024-02"}, {"f": "2024-02-01T00:00:00Z"}, True),
    ({"$gt": 1, "$lt": 5}, {"f": 3}, True),
    ({"$gt": 1, "$lt": 5}, {"f": 5}, False),
    ({"$gt": 1, "$ne": 3}, {"f": 3}, False),
    ({"$in": []}, {"f": 1}, False),
    ({"$nin": []}, {"f": 1}, True),
    ({"$in": [[1], {"a": 2}]}, {"f": {"a": 2}}, True),
    ({"$in": (1, 2)}, {"f": 2}, True),
    ({"$in": [1, 2]}, {"f": [1]}, False),
    ({"$exists": True}, {"f": None}, True),
    ({"$exists": True}, {"f": 0}, True),
    ({"$exists": False}, {"f": None}, False),
    ({"$contains": "bc"}, {"f": "abcd"}, True),
    ({"$contains": ""}, {"f": "abcd"}, True),
    ({"$contains": "BC"}, {"f": "abcd"}, False),
    ({"$contains": 1}, {"f": "1"}, False),
    ({"$contains": "a"}, {"f": ["abc"]}, False),
    ({"$contains": "a"}, {"f": {"a": 1}}, False),
    ({"$contains": [1]}, {"f": [[1], 2]}, True),
    ({"$contains": [1]}, {"f": [1]}, False),
    ({"$contains": None}, {"f": [None]}, True),
    ({"$contains": None}, {"f": None}, False),
    ({"$not": {"$gt": 5}}, {"f": 5}, True),
    ({"$not": {"$gt": 5}}, {"f": 6}, False),
    ({"$not": {"$gt": 5}}, {"f": "text"}, True),
    ({"$not": {"$gt": 1, "$lt": 5}}, {"f": 9}, True),
    ({"$not": {"$not": {"$eq": 1}}}, {"f": 1}, True),
    ({"$eq": {"$gt": 1}}, {"f": {"$gt": 1}}, True),  # an object that looks like an operator
]


@pytest.mark.parametrize(("operators", "metadata", "expected"), OPERATORS)
def test_an_operator_compares_only_what_it_can(
    operators: dict[str, Any], metadata: Any, expected: bool
) -> None:
    assert passes({"f": operators}, metadata) is expected


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ({"$ne": 1}, True),
        ({"$ne": None}, True),
        ({"$nin": [1, None]}, True),
        ({"$exists": False}, True),
        ({"$eq": None}, False),
        ({"$in": [None]}, False),
        ({"$exists": True}, False),
        ({"$gt": 0}, False),
        ({"$gte": 0}, False),
        ({"$lt": 0}, False),
        ({"$lte": ""}, False),
        ({"$contains": ""}, False),
        ({"$like": "%"}, False),
        ({"$ilike": "%"}, False),
        ({"$not": {"$eq": 1}}, True),  # the negation of what did not match
        ({"$not": {"$ne": 1}}, False),
    ],
)
def test_an_absent_field_matches_only_ne_nin_and_exists_false(
    operators: dict[str, Any], expected: bool
) -> None:
    assert passes({"f": operators}, {"other": 1}) is expected
    assert passes({"a.f": operators}, {"a": 1}) is expected
    assert passes({"a.f": operators}, {"a": [{"f": 1}]}) is expected


def test_none_is_a_null_that_is_there_and_not_an_absent_field() -> None:
    assert passes({"f": None}, {"f": None})
    assert not passes({"f": None}, {})


LOGIC = [
    ({}, {}, True),
    ({}, {"a": 1}, True),
    ({"a": 1, "b": 2}, {"a": 1, "b": 2}, True),
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}, False),
    ({"$and": [{"a": 1}, {"b": 2}]}, {"a": 1}, False),
    ({"$and": [{"a": 1}, {"b": 2}]}, {"a": 1, "b": 2}, True),
    ({"$or": [{"a": 1}, {"b": 2}]}, {"b": 2}, True),
    ({"$or": [{"a": 1}, {"b": 2}]}, {"a": 2}, False),
    ({"$or": [{"a": 1}, {}]}, {"a": 2}, True),
    ({"$or": [{"a": 1}, {"b": 2}], "c": 3}, {"a": 1, "c": 4}, False),
    ({"$not": {"a": 1}}, {"a": 1}, False),
    ({"$not": {"a": 1}}, {}, True),
    ({"$not": {}}, {"a": 1}, False),
    ({"$not": {"a": 1, "b": 2}}, {"a": 1, "b": 3}, True),
    ({"$not": {"$or": [{"a": 1}, {"b": 2}]}}, {"a": 3, "b": 3}, True),
    ({"$and": ({"a": 1},)}, {"a": 1}, True),
]


@pytest.mark.parametrize(("where", "metadata", "expected"), LOGIC)
def test_fields_are_anded_and_logic_nests(where: Any, metadata: Any, expected: bool) -> None:
    assert passes(where, metadata) is expected


PATHS = [
    ("a", {"a": 1}, 1),
    ("a.b", {"a": {"b": 1}}, 1),
    ("a.b", {"a.b": 1}, 1),
    ("a.b", {"a.b": 1, "a": {"b": 2}}, 1),
    ("a.b", {"a": {"b": 2}, "a.b": None}, None),
    ("a.b.c", {"a.b": {"c": 1}}, 1),
    ("a.b.c", {"a": {"b.c": 1}}, 1),
    ("a.b.c", {"a": {"b.c": 1, "b": {"c": 2}}}, 1),
    ("a.b.c", {"a.b": {"c": 1}, "a": {"b": {"c": 2}}}, 1),
    ("a.b.c", {"a.b": {"x": 1}, "a": {"b": {"c": 2}}}, 2),  # the longer key leads nowhere
    ("a.b.c", {"a.b": 1, "a": {"b": {"c": 2}}}, 2),
    ("a.b", {"a": {"b": {"c": 2}}}, {"c": 2}),
    ("a.0", {"a": ["x"]}, ABSENT),
    ("a.0", {"a": {"0": "x"}}, "x"),
    ("a", {"A": 1}, ABSENT),
    ("", {"": 1}, 1),
    (".", {"": {"": 1}}, 1),
    ("a.", {"a": {"": 1}}, 1),
    ("a..b", {"a": {"": {"b": 1}}}, 1),
    ("ключ.𝔘", {"ключ": {"𝔘": 1}}, 1),
    ("a.$b", {"a": {"$b": 1}}, 1),
]


@pytest.mark.parametrize(("path", "metadata", "expected"), PATHS)
def test_a_path_prefers_the_longest_literal_key(path: str, metadata: Any, expected: Any) -> None:
    found = lookup(metadata, path)
    assert found is ABSENT if expected is ABSENT else found == expected


LIKE = [
    # pattern, text, whether it matches
    ("", "", True),
    ("", "a", False),
    ("%", "", True),
    ("%", "any\nlines", True),
    ("%%", "", True),
    ("_", "", False),
    ("_", "é", True),
    ("_", "𝔘", True),
    ("_", "\n", True),
    ("_", "ab", False),
    ("abc", "abc", True),
    ("abc", "xabc", False),
    ("abc", "abcx", False),
    ("abc", "abc\n", False),
    ("ABC", "abc", False),
    ("a%", "abc", True),
    ("a%", "ba", False),
    ("%c", "abc", True),
    ("%c", "abcd", False),
    ("%b%", "abc", True),
    ("%b_", "abc", True),
    ("%b_", "ab", False),
    ("ab%ba", "aba", False),  # head and tail may not overlap
    ("ab%ba", "abba", True),
    ("%ab%ab%", "ab", False),
    ("%ab%ab%", "xabyabz", True),
    ("%a_b%a_b", "a1ba2b", True),
    ("%_b%", "b", False),
    ("%__%", "a", False),
    ("%aab%", "aaab", True),
    (r"100\%", "100%", True),
    (r"100\%", "100x", False),
    (r"a\_b", "a_b", True),
    (r"a\_b", "axb", False),
    (r"a\\b", r"a\b", True),
    (r"\a", "a", True),
    ("a.c", "abc", False),
    (".*", ".*", True),
    ("(a|b)[c]+$^", "(a|b)[c]+$^", True),
    ("%.%", "abc", False),
    ("#%", "# 1", True),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), LIKE)
def test_like_matches_whole_strings_by_sql_wildcards(
    pattern: str, text: str, expected: bool
) -> None:
    assert passes({"f": {"$like": pattern}}, {"f": text}) is expected


@pytest.mark.parametrize("stored", [1, True, None, ["a"], {"a": 1}])
def test_like_matches_nothing_but_strings(stored: Any) -> None:
    assert not passes({"f": {"$like": "%"}}, {"f": stored})


def sql_like(pattern: str, text: str) -> bool:
    """Match by dynamic programming over the tokens of the pattern."""
    tokens: list[tuple[str, bool]] = []
    rest = iter(pattern)
    for character in rest:
        tokens.append((character, False) if character in "%_" else (character, True))
        if character == "\\":
            tokens[-1] = (next(rest), True)
    reachable = [True] + [False] * len(text)
    for token, literal in tokens:
        if token == "%" and not literal:
            first = reachable.index(True) if True in reachable else len(text) + 1
            reachable = [at >= first for at in range(len(text) + 1)]
        else:
            reachable = [False] + [
                reachable[at] and (not literal or token == text[at]) for at in range(len(text))
            ]
    return reachable[-1]


@given(
    st.lists(st.sampled_from(["%", "_", "a", "b", r"\%", r"\_", "\\\\", "."]), max_size=10),
    st.text("ab%_\\.", max_size=14),
)
def test_like_agrees_with_an_exhaustive_matcher(tokens: list[str], text: str) -> None:
    pattern = "".join(tokens)
    assert passes({"f": {"$like": pattern}}, {"f": text}) is sql_like(pattern, text)


ILIKE = [
    ("ab%", "ABC", True),
    ("AB_", "abc", True),
    ("%STRASSE", "In der Straße", True),  # folded, not only put into lower case
    ("%ß%", "STRASSE", True),
    ("ΟΔΟΣ", "οδος", True),
    ("é", "É", True),
    ("e", "é", False),
    (r"a\_B", "A_b", True),
    (r"a\_B", "Axb", False),
    (r"\A", "a", True),
    ("b", "abc", False),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), ILIKE)
def test_ilike_is_like_without_case(pattern: str, text: str, expected: bool) -> None:
    assert passes({"f": {"$ilike": pattern}}, {"f": text}) is expected


def test_ilike_matches_nothing_but_strings() -> None:
    assert not any(
        passes({"f": {"$ilike": "%"}}, {"f": stored}) for stored in (1, True, None, ["a"])
    )


def test_like_does_not_backtrack_over_its_wildcards() -> None:
    pattern = "%a" * (MAX_PATTERN // 2 - 2) + "%b%"
    assert not passes({"f": {"$like": pattern}}, {"f": "a" * 20_000})


def tagged(value: Any) -> object:
    """Return the value with its JSON type and exact size spelled out."""
    if isinstance(value, list):
        return ["array", *map(tagged, value)]
    if isinstance(value, dict):
        return {key: tagged(item) for key, item in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", Fraction(value))
    return (type(value).__name__, value)


numbers = st.sampled_from([0, 1, 1.0, -0.0, BIG, BIG + 1, float(BIG), 10**400, 0.5])
scalars = st.none() | st.booleans() | numbers | st.sampled_from(["", "0", "1", "true"])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(values, values)
def test_equality_is_identity_of_type_and_exact_size(operand: Any, stored: Any) -> None:
    assert passes({"f": {"$eq": operand}}, {"f": stored}) is (tagged(operand) == tagged(stored))


UNKNOWN = [
    ({"$gtt": 1}, ["'$gtt'", "$and", "$or", "$not"]),
    ({"f": {"$gtt": 1}}, ["'$gtt'", "'f'", "$gt,", "$nin", "$exists", "$like", "$not"]),
    ({"f": {"$gt": 1, "plain": 2}}, ["'plain'", "'f'", "$eq"]),
    ({"f": {"$or": [1, 2]}}, ["'$or'", "'f'"]),
    ({"f": {"$not": {"$gtt": 1}}}, ["'$gtt'", "'f'"]),
    ({"f": {"$": 1}}, ["'$'"]),
    ({"f": {"$EQ": 1}}, ["'$EQ'"]),
    ({"$gt": 1}, ["$gt outside a field", '{"field": {"$gt"']),
]


@pytest.mark.parametrize(("where", "said"), UNKNOWN)
def test_an_unknown_operator_is_named_with_those_accepted(where: Any, said: list[str]) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        parse_filter(where)
    for part in said:
        assert part in str(caught.value)


WRONG_OPERANDS = [
    ({"f": {"$gt": None}}, ["$gt", "'f'", "None", "number or string"]),
    ({"f": {"$gte": True}}, ["$gte", "True", "number or string"]),
    ({"f": {"$lt": [1]}}, ["$lt", "[1]", "number or string"]),
    ({"f": {"$lte": {}}}, ["$lte", "{}", "number or string"]),
    ({"f": {"$in": "abc"}}, ["$in", "'abc'", "array"]),
    ({"f": {"$nin": {"a": 1}}}, ["$nin", "array"]),
    ({"f": {"$in": {1, 2}}}, ["$in", "{1, 2}", "set", "list"]),
    ({"f": {"$exists": 1}}, ["$exists", "1", "boolean"]),
    ({"f": {"$exists": None}}, ["$exists", "None", "boolean"]),
    ({"f": {"$like": 5}}, ["$like", "5", "string"]),
    ({"f": {"$ilike": 5}}, ["$ilike", "5", "string"]),
    ({"f": {"$like": "a\\"}}, ["$like", "ends in \\", r"\\"]),
    ({"f": {"$not": 5}}, ["$not", "'f'", "5", "operators"]),
    ({"f": {"$not": {}}}, ["$not", "{}", "operators"]),
    ({"f": {"$not": {"a": 1}}}, ["$not", "operators"]),
    ({"$and": []}, ["$and", "[]", "non-empty list"]),
    ({"$or": {"a": 1}}, ["$or", "{'a': 1}", "non-empty list"]),
    ({"$or": [{"a": 1}, 5]}, ["a filter is 5", "mapping"]),
    ({"$not": [{"a": 1}]}, ["[{'a': 1}]", "mapping"]),
    ({"f": float("nan")}, ["nan", "finite"]),
    ({"f": {"$gt": float("inf")}}, ["$gt", "inf", "finite"]),
    ({"f": {"$in": [1, float("-inf")]}}, ["$in", "-inf", "finite"]),
    ({"f": datetime(2024, 5, 1, tzinfo=UTC)}, ["'f'", "datetime", "text or a number"]),
    ({"f": {"$gte": datetime(2024, 5, 1, tzinfo=UTC)}}, ["$gte", "datetime", "text or a number"]),
    ({"f": b"bytes"}, ["b'bytes'", "bytes"]),
    ({"f": Decimal("1.5")}, ["Decimal", "number"]),
    ({"f": [1, object()]}, ["object"]),
    ({"f": {1: 2}}, ["a field is 1", "string"]),
    ({1: 2}, ["a field is 1", "string"]),
    ({None: 2}, ["a field is None", "string"]),
    ({"a": {"b": {"$gt": 1}}}, ["'a'", "operator", "dotted path", "$eq"]),
    ({"a": [{"$gt": 1}]}, ["'a'", "operator", "$eq"]),
    (None, ["None", "mapping"]),
    ([], ["[]", "mapping"]),
    ("f = 1", ["'f = 1'", "mapping"]),
]


@pytest.mark.parametrize(("where", "said"), WRONG_OPERANDS)
def test_a_wrong_operand_is_named_with_what_is_accepted(where: Any, said: list[str]) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        parse_filter(where)
    for part in said:
        assert part in str(caught.value)


def nested(wrap: Callable[[Where], Where], levels: int) -> Where:
    where: Where = {"f": {"$gt": 1}}
    for _ in range(levels - 1):
        where = wrap(where)
    return where


@pytest.mark.parametrize(
    "wrap", [lambda inner: {"$not": inner}, lambda inner: {"$or": [{"x": 1}, inner]}]
)
def test_filters_nest_to_the_limit_and_no_further(wrap: Callable[[Where], Where]) -> None:
    parse_filter(nested(wrap, MAX_DEPTH))
    with pytest.raises(InvalidFilterError, match=f"more than {MAX_DEPTH} levels"):
        parse_filter(nested(wrap, MAX_DEPTH + 1))


def test_negation_under_a_field_counts_as_a_level() -> None:
    operators: Where = {"$gt": 1}
    for _ in range(MAX_DEPTH - 1):
        operators = {"$not": operators}
    # An odd number of negations turns the answer round.
    assert passes({"f": operators}, {"f": 2}) is (MAX_DEPTH % 2 == 1)
    with pytest.raises(InvalidFilterError, match="levels"):
        parse_filter({"f": {"$not": operators}})


def test_operands_nest_to_the_limit_and_no_further() -> None:
    operand: Any = 1
    for _ in range(MAX_DEPTH):
        operand = [operand]
    assert passes({"f": operand}, {"f": operand})
    assert not passes({"f": operand}, {"f": [operand]})
    with pytest.raises(InvalidFilterError, match=f"'f' has more than {MAX_DEPTH} levels"):
        parse_filter({"f": [operand]})


def test_paths_reach_to_the_limit_and_no_further() -> None:
    path = ".".join("a" * MAX_DEPTH)
    metadata: Any = 1
    for _ in range(MAX_DEPTH):
        metadata = {"a": metadata}
    assert passes({path: 1}, metadata)
    with pytest.raises(InvalidFilterError, match=f"more than {MAX_DEPTH} levels"):
        parse_filter({path + ".a": 1})


def test_deep_metadata_is_compared_without_exhausting_the_stack() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert not passes({"f": [[1]]}, {"f": deep})
    assert not passes({"f": {"$contains": [[]]}}, {"f": deep})


@pytest.mark.parametrize(
    "repeated",
    [
        lambda count: {"$or": [{"f": 1}] * count},
        lambda count: {"$and": [{}] * count},
        lambda count: {f"f{number}": 1 for number in range(count)},
        lambda count: {"$or": [{"f": {"$gt": 1, "$lt": 5}}] * (count // 2) + [{}] * (count % 2)},
    ],
)
def test_conditions_are_counted_to_the_limit(repeated: Callable[[int], Where]) -> None:
    parse_filter(repeated(MAX_CONDITIONS))
    with pytest.raises(InvalidFilterError, match=rf"more than {MAX_CONDITIONS} conditions.*\$in"):
        parse_filter(repeated(MAX_CONDITIONS + 1))


def test_a_list_operand_is_one_condition() -> None:
    assert passes({"f": {"$in": list(range(100_000))}}, {"f": 99_999.0})


def test_a_pattern_is_measured_to_the_limit() -> None:
    assert passes({"f": {"$like": "_" * MAX_PATTERN}}, {"f": "x" * MAX_PATTERN})
    with pytest.raises(InvalidFilterError, match=f"{MAX_PATTERN + 1} characters"):
        parse_filter({"f": {"$like": "_" * (MAX_PATTERN + 1)}})


def test_a_filter_that_contains_itself_is_refused() -> None:
    where: Where = {}
    where["$not"] = where
    operand: list[Any] = []
    operand.append(operand)
    for endless in (where, {"f": operand}):
        with pytest.raises(InvalidFilterError, match="levels"):
            parse_filter(endless)


def test_a_filter_does_not_change_with_the_mapping_it_was_made_from() -> None:
    operand = [1]
    where = {"f": {"$in": operand}, "g": [operand]}
    parsed = parse_filter(where)
    operand.append(2)
    where.clear()
    assert not parsed.matches({"f": 2, "g": [[1]]})
    assert parsed.matches({"f": 1, "g": [[1]]})


def test_any_mapping_and_subclasses_of_plain_types_are_read_as_plain() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    class Size(enum.IntEnum):
        BIG = 3

    where = MappingProxyType(
        {Colour.RED: MappingProxyType({"$in": (Colour.RED,)}), "size": Size.BIG}
    )
    assert passes(where, {"red": "red", "size": 3})
    assert not passes(where, {"red": "red", "size": 4})


def test_huge_integers_in_messages_are_not_spelled_out() -> None:
    with pytest.raises(InvalidFilterError, match="too long to show"):
        parse_filter({"f": {"$like": 10**5000}})
    with pytest.raises(InvalidFilterError, match="too long to show"):
        parse_filter({"$and": {"f": [10**5000]}})


def test_conditions_lists_every_comparison() -> None:
    where = {"a": 1, "$or": [{"b": {"$gt": 1, "$not": {"$lt": 2}}}, {"$not": {"c": 3}}]}
    found = [(condition.path, condition.operator) for condition in parse_filter(where).conditions()]
    assert found == [("a", "$eq"), ("b", "$gt"), ("b", "$lt"), ("c", "$eq")]


names = st.sampled_from(
    ["$eq", "$gt", "$in", "$exists", "$contains", "$like", "$and", "$or", "$not", "$x", "f", "f.g"]
)
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3)
    | st.datetimes()
    | st.builds(pow, st.just(10), st.just(5000)),  # beyond what Python writes out
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(names | st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(junk | st.dictionaries(names, junk, max_size=3), st.dictionaries(names, values, max_size=3))
@example({"$like": "%"}, {})
def test_any_garbage_is_refused_or_answers(where: Any, metadata: Any) -> None:
    try:
        parsed = parse_filter(where)
    except InvalidFilterError:
        return
    assert parsed.matches(metadata) in (True, False)


def test_the_documented_example_runs() -> None:
    assert doctest.testmod(filters) == (0, 2)
