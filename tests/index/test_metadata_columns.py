import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core.filters import parse_filter
from plugmem_core.index.metadata import MAX_COLUMNS, MetadataColumns

BIG = 2**53


class Truth:
    """A stand-in for the store: metadata by fact id, counting how often it is read."""

    def __init__(self, facts: dict[int, Any] | None = None) -> None:
        self.texts = {fact: json.dumps(metadata) for fact, metadata in (facts or {}).items()}
        self.loads = 0

    def load(self) -> Iterator[tuple[int, str]]:
        self.loads += 1
        yield from self.texts.items()


def passing(columns: MetadataColumns, where: Any, size: int) -> list[int]:
    found: list[int] = columns.mask(parse_filter(where), size).nonzero()[0].tolist()
    return found


def test_a_mask_has_one_entry_per_fact_id() -> None:
    columns = MetadataColumns(Truth({1: {"n": 1}, 3: {"n": 2}, 9: {"n": 1}}).load)
    mask = columns.mask(parse_filter({"n": 1}), 5)
    assert mask.dtype == bool
    assert mask.tolist() == [False, True, False, False, False]
    assert columns.mask(parse_filter({"n": 1}), 0).tolist() == []
    assert passing(columns, {"n": 1}, 20) == [1, 9]


def test_ids_without_metadata_have_every_field_absent() -> None:
    columns = MetadataColumns(Truth({1: {"n": 1}, 2: {"m": 1}}).load)
    assert passing(columns, {"n": {"$ne": 1}}, 5) == [0, 2, 3, 4]
    assert passing(columns, {"n": {"$exists": False}}, 5) == [0, 2, 3, 4]
    assert passing(columns, {"n": {"$nin": [1]}}, 2) == [0]
    assert passing(columns, {"n": {"$not": {"$gt": 5}}}, 3) == [0, 1, 2]
    assert passing(columns, {}, 3) == [0, 1, 2]
    assert passing(columns, {"$not": {}}, 3) == []


def test_numbers_beyond_doubles_are_compared_exactly() -> None:
    values = [
        BIG - 1,
        BIG,
        float(BIG),
        BIG + 1,
        BIG + 2,
        10**400,
        -(10**400),
        1e308,
        True,
        "9",
        None,
    ]
    columns = MetadataColumns(Truth(dict(enumerate({"n": value} for value in values))).load)
    size = len(values)
    assert passing(columns, {"n": {"$gt": BIG}}, size) == [3, 4, 5, 7]
    assert passing(columns, {"n": {"$gte": BIG + 1}}, size) == [3, 4, 5, 7]
    assert passing(columns, {"n": {"$lt": BIG + 1}}, size) == [0, 1, 2, 6]
    assert passing(columns, {"n": {"$lte": float(BIG)}}, size) == [0, 1, 2, 6]
    assert passing(columns, {"n": {"$gt": 1e308}}, size) == [5]
    assert passing(columns, {"n": {"$gte": 10**400}}, size) == [5]
    assert passing(columns, {"n": {"$gt": 10**400}}, size) == []
    assert passing(columns, {"n": {"$lt": 1 - 10**400}}, size) == [6]
    assert passing(columns, {"n": BIG}, size) == [1, 2]
    assert passing(columns, {"n": {"$in": [BIG + 1, 1]}}, size) == [3]
    assert passing(columns, {"n": {"$ne": float(BIG)}}, size) == [0, 3, 4, 5, 6, 7, 8, 9, 10]


def test_infinities_and_nan_in_stored_text_never_raise() -> None:
    texts = {0: '{"n": NaN}', 1: '{"n": Infinity}', 2: '{"n": -1e999}', 3: '{"n": [NaN]}'}
    columns = MetadataColumns(lambda: texts.items())
    assert passing(columns, {"n": {"$gt": 10**400}}, 4) == [1]
    assert passing(columns, {"n": {"$lt": 0}}, 4) == [2]
    assert passing(columns, {"n": {"$ne": 0}}, 4) == [0, 1, 2, 3]


def test_equal_arrays_and_objects_are_found_however_they_are_written() -> None:
    texts = {0: '{"v": {"a": 1, "b": [1]}}', 1: '{"v": {"b": [1.0], "a": 1.0}}', 2: '{"v": [1]}'}
    columns = MetadataColumns(lambda: texts.items())
    assert passing(columns, {"v": {"a": 1.0, "b": [1]}}, 3) == [0, 1]
    assert passing(columns, {"v": {"$in": [[1.0], 7]}}, 3) == [2]
    assert passing(columns, {"v": {"$contains": 1}}, 3) == [2]


def test_one_pass_over_the_facts_builds_every_field_of_a_filter_once() -> None:
    truth = Truth({0: {"a": 1, "b": {"c": 2}}})
    columns = MetadataColumns(truth.load)
    where = {"a": {"$gt": 0, "$lt": 5}, "$or": [{"b.c": 2}, {"d": 1}]}
    assert passing(columns, where, 1) == [0]
    assert truth.loads == 1
    assert passing(columns, {"d": {"$exists": False}, "a": 1}, 1) == [0]
    assert truth.loads == 1


def test_an_empty_filter_reads_nothing() -> None:
    truth = Truth({0: {"a": 1}})
    assert passing(MetadataColumns(truth.load), {}, 2) == [0, 1]
    assert truth.loads == 0


def test_put_follows_a_fact_through_its_changes() -> None:
    columns = MetadataColumns(Truth({1: {"n": 1}}).load)
    assert passing(columns, {"n": 1}, 10) == [1]
    columns.put(5, '{"n": 1, "m": 2}')
    assert passing(columns, {"n": 1}, 10) == [1, 5]
    columns.put(5, '{"n": 2}')
    assert passing(columns, {"n": 1}, 10) == [1]
    assert passing(columns, {"n": {"$gt": 1}}, 10) == [5]
    columns.put(5, '{"m": 2}')
    assert passing(columns, {"n": {"$exists": True}}, 10) == [1]
    columns.put(1, None)
    columns.put(10**6, None)
    assert passing(columns, {"n": {"$exists": True}}, 10) == []


def test_put_before_any_filter_is_left_to_the_load() -> None:
    truth = Truth()
    columns = MetadataColumns(truth.load)
    columns.put(0, "text that is not read, since no field is known")
    truth.texts[0] = '{"n": 1}'
    assert passing(columns, {"n": 1}, 1) == [0]


def test_remove_makes_fields_absent_and_ignores_unknown_ids() -> None:
    columns = MetadataColumns(Truth({1: {"n": 1}, 2: {"n": 1}, 3: {"n": 1}}).load)
    columns.remove([1])
    assert passing(columns, {"n": 1}, 4) == [1, 2, 3]
    columns.remove(iter([1, 3, 10**9]))
    assert passing(columns, {"n": 1}, 4) == [2]
    assert passing(columns, {"n": {"$ne": 1}}, 4) == [0, 1, 3]
    columns.remove([])
    assert passing(columns, {"n": 1}, 4) == [2]


def test_clear_loads_again() -> None:
    truth = Truth({0: {"n": 1}})
    columns = MetadataColumns(truth.load)
    assert passing(columns, {"n": 1}, 1) == [0]
    truth.texts[0] = '{"n": 2}'
    columns.clear()
    assert passing(columns, {"n": 1}, 1) == []
    assert truth.loads == 2


def test_a_mask_is_the_callers_own() -> None:
    columns = MetadataColumns(Truth({0: {"n": 1}}).load)
    columns.mask(parse_filter({"n": 1}), 1)[:] = False
    assert passing(columns, {"n": 1}, 1) == [0]


def test_a_load_that_fails_leaves_no_half_built_column() -> None:
    def broken() -> Iterator[tuple[int, str]]:
        yield 0, '{"n": 1}'
        raise InterruptedError

    truth = Truth({0: {"n": 1}, 1: {"n": 1}})
    sources = iter([broken, truth.load])
    columns = MetadataColumns(lambda: next(sources)())
    with pytest.raises(InterruptedError):
        columns.mask(parse_filter({"n": 1}), 2)
    assert passing(columns, {"n": 1}, 2) == [0, 1]


def test_fields_unused_for_longest_are_dropped_beyond_the_limit() -> None:
    truth = Truth({0: {f"f{number}": number for number in range(MAX_COLUMNS + 1)}})
    columns = MetadataColumns(truth.load)
    for number in range(MAX_COLUMNS):
        assert passing(columns, {f"f{number}": number}, 1) == [0]
    assert passing(columns, {"f0": 0}, 1) == [0]  # now f1 is the one unused for longest
    assert truth.loads == MAX_COLUMNS
    assert passing(columns, {f"f{MAX_COLUMNS}": MAX_COLUMNS}, 1) == [0]
    assert passing(columns, {"f0": 0}, 1) == [0]
    assert truth.loads == MAX_COLUMNS + 1
    assert passing(columns, {"f1": 1}, 1) == [0]
    assert truth.loads == MAX_COLUMNS + 2


def test_one_filter_may_name_more_fields_than_are_kept() -> None:
    count = 2 * MAX_COLUMNS
    truth = Truth({0: {f"f{number}": number for number in range(count)}, 1: {"f0": 0}})
    columns = MetadataColumns(truth.load)
    assert passing(columns, {f"f{number}": number for number in range(count)}, 2) == [0]


def test_conditions_are_decided_once_per_distinct_value() -> None:
    asked: list[Any] = []
    truth = Truth({fact: {"s": f"text {fact % 3}"} for fact in range(1000)})
    columns = MetadataColumns(truth.load)
    like = parse_filter({"s": {"$like": "%1"}})
    accepts = like.accepts

    def asking(value: Any) -> bool:
        asked.append(value)
        return accepts(value)

    object.__setattr__(like, "accepts", asking)
    assert columns.mask(like, 1000).nonzero()[0].tolist() == list(range(1, 1000, 3))
    assert asked == ["text 0", "text 1", "text 2"]


paths = st.sampled_from(["a", "b", "a.b", "a.b.c", "b.a", "é", ""])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.5, 1.0, -0.0, BIG, BIG + 1, float(BIG), -BIG - 1, 10**400, 1e308, 5e-324])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("ab%_\\é𝔘1", max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(paths, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(paths, values, max_size=4)

patterns = st.lists(st.sampled_from(["%", "_", "a", "b", "1", r"\%", "\\\\", "é"]), max_size=4)
comparisons = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$contains"]), values),
    st.tuples(
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
        scalars.filter(lambda value: value is not None and not isinstance(value, bool)),
    ),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3)),
    st.tuples(st.just("$exists"), st.booleans()),
    st.tuples(st.sampled_from(["$like", "$ilike"]), patterns.map("".join)),
)
operators = st.recursive(
    st.lists(comparisons, min_size=1, max_size=2).map(dict),
    lambda inner: inner.map(lambda negated: {"$not": negated}),
    max_leaves=2,
)
wheres = st.recursive(
    st.dictionaries(paths, operators | scalars, max_size=2),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
        inner.map(lambda part: {"$not": part}),
    ),
    max_leaves=4,
)


@settings(max_examples=400)
@given(st.lists(st.none() | objects, max_size=8), st.lists(wheres, min_size=1, max_size=3))
def test_a_mask_is_the_filter_applied_to_each_fact(facts: list[Any], filters: list[Any]) -> None:
    truth = Truth({fact: metadata for fact, metadata in enumerate(facts) if metadata is not None})
    columns = MetadataColumns(truth.load)
    for where in filters:
        parsed = parse_filter(where)
        expected = [parsed.matches(metadata or {}) for metadata in facts]
        assert columns.mask(parsed, len(facts)).tolist() == expected


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.just("put"), st.integers(0, 12), st.none() | objects)
        | st.tuples(st.just("remove"), st.lists(st.integers(0, 12), max_size=3), st.none())
        | st.tuples(st.just("filter"), st.none(), wheres),
        max_size=20,
    ),
    wheres,
)
def test_columns_kept_current_equal_columns_built_afresh(steps: list[Any], last: Any) -> None:
    truth = Truth()
    kept = MetadataColumns(truth.load)
    for verb, target, argument in [*steps, ("filter", None, last)]:
        if verb == "put":
            truth.texts.pop(target, None)
            if argument is not None:
                truth.texts[target] = json.dumps(argument)
            kept.put(target, truth.texts.get(target))
        elif verb == "remove":
            for fact in target:
                truth.texts.pop(fact, None)
            kept.remove(target)
        else:
            parsed = parse_filter(argument)
            fresh = MetadataColumns(truth.load)
            assert kept.mask(parsed, 14).tolist() == fresh.mask(parsed, 14).tolist()
