# ruff: noqa: S101 - asserts are what a suite is made of
"""Search without ranking: prefixes, filters and pages."""

from typing import Any

import pytest
from langgraph.store.base import SearchItem, SearchOp

from langchain_plugmem.testing._stores.access import Access, check_scores, pages_of, refused
from langchain_plugmem.testing._stores.items import HERE
from langchain_plugmem.testing._stores.suite import StoreSuite

MIXED: dict[str, dict[str, Any]] = {
    "nine": {"n": 9},
    "ten": {"n": 10},
    "half": {"n": 9.5},
    "minus": {"n": -1},
    "word": {"n": "tea"},
    "null": {"n": None},
    "list": {"n": [9]},
    "object": {"n": {"n": 9}},
    "missing": {"m": 9},
}
"""A field with a value of every kind."""

NUMBERS: list[tuple[str, float, set[str]]] = [
    ("$gt", 9, {"half", "ten"}),
    ("$gte", 9, {"nine", "half", "ten"}),
    ("$lt", 9.5, {"minus", "nine"}),
    ("$lte", 9.5, {"minus", "nine", "half"}),
]

HOSTILE = (
    *("'", '"', "`", "\\", "%", "_", "*", "?", "]", "a'b", "tea' OR '1'='1", 'tea" OR "1"="1'),
    *("'; DROP TABLE store; --", "tea') --", "{}", "[]", "$", "NULL", "null", "true", "\n", ""),
)
"""Texts that some query languages read as something else."""

ORDINARY_FIELDS = ("a-b", "1", "2nd", "a_b", "aB", "поле", "a b")
STRANGE_FIELDS = ("a'b", 'a"b', "a`b", "a]b", "a\\b", "a%b", "') OR 1=1 --", "a;b")

EITHER_WAY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dotted path": ({"a": {"b": 1}}, {"a.b": 1}),
    "$and": ({"n": 1, "m": 2}, {"$and": [{"n": 1}, {"m": 2}]}),
    "$or": ({"n": 1}, {"$or": [{"n": 1}, {"n": 2}]}),
    "$in": ({"n": 1}, {"n": {"$in": [1, 2]}}),
    "list": ({"tags": ["hot", "cold"]}, {"tags": ["hot", "cold"]}),
    "whole object": ({"a": {"b": 1}}, {"a": {"b": 1}}),
    "part of an object": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
    "operator in an object": ({"a": {"b": 2}}, {"a": {"b": {"$gt": 1}}}),
    "range of texts": ({"day": "2024-05-01"}, {"day": {"$gte": "2024-01-01"}}),
}
"""A value, and a filter which either finds it or is refused."""


class SearchBehaviours(StoreSuite):
    """What holds for `search` when nothing is ranked."""

    def test_a_search_gives_whole_items(self, plain: Access) -> None:
        """What `search` finds equals what `get` returns, so that users need no second call."""
        plain.put(HERE, "drink", {"text": "tea"})
        [found] = plain.search(HERE)
        item = plain.get(HERE, "drink")
        assert isinstance(found, SearchItem)
        assert item is not None
        for field in ("value", "key", "namespace", "created_at", "updated_at"):
            assert getattr(found, field) == getattr(item, field), field

    def test_a_listing_has_no_scores(self, plain: Access) -> None:
        """Without a query `score` is `None`, so that users do not take order for relevance."""
        plain.fill(HERE, {"a": {"n": 1}, "b": {"n": 2}})
        assert [item.score for item in plain.search(HERE)] == [None, None]

    def test_an_empty_store_finds_nothing(self, plain: Access) -> None:
        """A search of nothing is an empty list, as every new user's first one is."""
        assert plain.search(()) == []
        assert plain.search(HERE, filter={"n": {"$gt": 1}}) == []

    def test_a_prefix_is_whole_labels(self, plain: Access) -> None:
        """("user",) never finds ("users",), or tenants would read each other's items."""
        for namespace in (("user",), ("user", "a"), ("users",), ("users", "a"), ("use",)):
            plain.put(namespace, "/".join(namespace), {})
        assert sorted(plain.keys(("user",))) == ["user", "user/a"]
        assert sorted(plain.keys(("user", "a"))) == ["user/a"]
        assert plain.keys(("user", "b")) == []
        assert plain.keys(("a",)) == []

    def test_a_prefix_is_case_sensitive(self, plain: Access) -> None:
        """("User",) is another namespace than ("user",), to a search as to `get`."""
        plain.put(("User",), "upper", {})
        plain.put(("user",), "lower", {})
        assert plain.keys(("user",)) == ["lower"]
        assert plain.keys(("User",)) == ["upper"]
        assert plain.keys(("USER",)) == []

    @pytest.mark.parametrize("label", ["a%", "a_", "a*", "a?", "a[bc]", "a\\b", "%", "_", "*"])
    def test_a_prefix_has_no_wildcards(self, plain: Access, label: str) -> None:
        """Signs of patterns are plain text, or a user named "%" would read everything."""
        plain.put((label,), "exact", {})
        plain.put((label, "deep"), "deep", {})
        for other in ("ab", "abc", "a", "a\\\\b", f"{label}x"):
            plain.put((other,), "other", {})
        assert sorted(plain.keys((label,))) == ["deep", "exact"]

    def test_a_prefix_keeps_a_trailing_newline(self, plain: Access) -> None:
        """A newline at the end of a label belongs to it, or two tenants become one."""
        plain.put(("a\n",), "line", {})
        plain.put(("a",), "plain", {})
        assert plain.keys(("a",)) == ["plain"]
        assert plain.keys(("a\n",)) == ["line"]

    def test_the_empty_prefix_finds_everything(self, plain: Access) -> None:
        """The prefix `()` restricts nothing, for users who look across namespaces."""
        for namespace in (("a",), ("a", "b"), ("c", "d", "e")):
            plain.put(namespace, "/".join(namespace), {})
        assert sorted(plain.keys(())) == ["a", "a/b", "c/d/e"]

    def test_the_limit_is_ten_unless_given(self, plain: Access) -> None:
        """`search` returns at most ten items by default, as its signature promises to users."""
        plain.fill(HERE, {str(n): {"n": n} for n in range(12)})
        assert len(plain.search(HERE, limit=10)) == 10
        [found] = plain.batch([SearchOp(HERE)])
        assert isinstance(found, list)
        assert len(found) == 10

    def test_pages_partition_a_listing(self, plain: Access) -> None:
        """All pages together are the listing, without repeat or gap, so that users see all."""
        plain.fill(HERE, {f"{n:02}": {"n": n} for n in range(23)})
        paged = pages_of(plain, HERE, 5)
        assert sorted(paged) == [f"{n:02}" for n in range(23)]
        assert paged == plain.keys(HERE)

    def test_pages_partition_what_a_filter_finds(self, plain: Access) -> None:
        """`limit` and `offset` count what passes the filter, or users would get short pages."""
        plain.fill(HERE, {f"{n:02}": {"odd": n % 2 == 1} for n in range(23)})
        paged = pages_of(plain, HERE, 3, filter={"odd": True})
        assert sorted(paged) == [f"{n:02}" for n in range(1, 23, 2)]
        assert paged == plain.keys(HERE, filter={"odd": True})
        assert len(plain.keys(HERE, filter={"odd": True}, limit=3)) == 3

    def test_an_offset_past_the_end_finds_nothing(self, plain: Access) -> None:
        """The page after the last one is empty, which is how users know the end."""
        plain.put(HERE, "drink", {})
        assert plain.search(HERE, offset=1) == []
        assert plain.search(HERE, offset=1000) == []

    @pytest.mark.parametrize("bound", ["limit", "offset"])
    def test_negative_bounds_are_refused(self, plain: Access, bound: str) -> None:
        """A negative limit or offset raises, or users would lose items without a word."""
        plain.fill(HERE, {"a": {}, "b": {}})
        options: dict[str, Any] = {bound: -1}
        with refused():
            plain.search(HERE, **options)
        with refused():
            plain.search(HERE, filter={"n": 1}, **options)
        with refused():
            plain.batch([SearchOp(HERE, **options)])

    def test_an_empty_query_is_no_query(self, plain: Access) -> None:
        """`query=""` lists as `query=None` does, for users who pass an empty box on."""
        plain.fill(HERE, {"a": {"text": "tea"}, "b": {"text": "coffee"}})
        assert plain.keys(HERE, query="") == plain.keys(HERE)
        assert [item.score for item in plain.search(HERE, query="")] == [None, None]

    def test_a_query_without_an_index_lists_or_ranks_or_is_refused(self, plain: Access) -> None:
        """A query finds nothing that prefix and filter exclude, or users see others' items.

        A store without an index may ignore the query, may rank by other means and leave out
        what does not match, or may raise `NotImplementedError`.
        """
        plain.fill(HERE, {"a": {"text": "green tea", "n": 1}, "b": {"text": "car", "n": 1}})
        plain.put(HERE, "c", {"text": "green tea", "n": 2})
        plain.put(("other",), "d", {"text": "green tea", "n": 1})
        try:
            found = plain.search(HERE, query="green tea", filter={"n": 1})
        except NotImplementedError:
            return
        keys = [item.key for item in found]
        assert "a" in keys
        assert sorted(keys) == sorted({*keys} & {"a", "b"})
        scores = [item.score for item in found if item.score is not None]
        check_scores(scores)

    def test_a_filter_compares_for_equality(self, plain: Access) -> None:
        """A plain value has to be equal in kind and content, or users get others' items."""
        plain.fill(
            HERE,
            {
                "text": {"v": "1"},
                "number": {"v": 1},
                "yes": {"v": True},
                "list": {"v": [1]},
                "other": {"v": "2"},
                "missing": {"w": "1"},
            },
        )
        assert plain.keys(HERE, filter={"v": "1"}) == ["text"]
        assert plain.keys(HERE, filter={"v": {"$eq": "1"}}) == ["text"]
        # Python takes 1 and True for equal, JSON does not; either will do.
        assert {*plain.keys(HERE, filter={"v": 1})} | {"yes"} == {"number", "yes"}
        assert {*plain.keys(HERE, filter={"v": True})} | {"number"} == {"number", "yes"}
        assert plain.keys(HERE, filter={"v": "absent"}) == []

    @pytest.mark.parametrize("value", [0, "", False], ids=repr)
    def test_a_filter_for_an_empty_value_is_a_filter(self, plain: Access, value: Any) -> None:
        """Zero, false and the empty text are values like others, which users look for."""
        plain.fill(HERE, {"empty": {"v": value}, "full": {"v": "x"}, "one": {"v": 7}})
        assert plain.keys(HERE, filter={"v": value}) == ["empty"]
        assert plain.keys(HERE, filter={"v": {"$eq": value}}) == ["empty"]

    def test_an_empty_filter_is_no_filter(self, plain: Access) -> None:
        """`filter={}` restricts nothing, for users who build filters step by step."""
        plain.fill(HERE, {"a": {"n": 1}, "b": {}})
        assert sorted(plain.keys(HERE, filter={})) == ["a", "b"]

    def test_a_filter_for_none_finds_null_and_missing(self, plain: Access) -> None:
        """`{"v": None}` finds null and missing fields, so that users find what is still open."""
        plain.fill(HERE, {"null": {"v": None}, "missing": {}, "full": {"v": 0}})
        assert sorted(plain.keys(HERE, filter={"v": None})) == ["missing", "null"]

    def test_all_conditions_of_a_filter_are_met(self, plain: Access) -> None:
        """Fields, and operators of one field, are all required, as users narrow a search."""
        plain.fill(HERE, {f"{n}{c}": {"n": n, "c": c} for n in range(5) for c in "xy"})
        found = plain.keys(HERE, filter={"n": {"$gte": 1, "$lt": 4, "$ne": 2}, "c": "x"})
        assert sorted(found) == ["1x", "3x"]

    @pytest.mark.parametrize(("operator", "bound", "right"), NUMBERS)
    def test_ranges_compare_numbers(
        self, plain: Access, operator: str, bound: float, right: set[str]
    ) -> None:
        """Numbers compare as numbers, 9 below 10, and only they match, as users count."""
        plain.fill(HERE, MIXED)
        assert {*plain.keys(HERE, filter={"n": {operator: bound}})} == right

    @pytest.mark.parametrize("kind", MIXED)
    def test_no_kind_of_value_breaks_a_comparison(self, plain: Access, kind: str) -> None:
        """One odd or missing field raises nothing, or it would end the search for every user."""
        plain.put(HERE, "odd", MIXED[kind])
        plain.put(HERE, "five", {"n": 5})
        for operator in ("$gt", "$gte", "$lt", "$lte", "$eq", "$ne"):
            found = plain.keys(HERE, filter={"n": {operator: 5}})
            assert ("five" in found) == (operator in ("$gte", "$lte", "$eq")), operator

    def test_ne_leaves_out_what_is_equal(self, plain: Access) -> None:
        """`$ne` finds what differs and not what is equal, so that users can exclude.

        Items without the field may be found or not; stores are known to differ.
        """
        plain.fill(HERE, {"one": {"n": 1}, "two": {"n": 2}, "word": {"n": "1"}, "missing": {}})
        found = {*plain.keys(HERE, filter={"n": {"$ne": 1}})}
        assert found - {"missing"} == {"two", "word"}

    def test_whole_numbers_compare_exactly(self, plain: Access) -> None:
        """Numbers beyond 2**53 are not rounded, or users would mix up ids."""
        big = 2**53
        plain.fill(HERE, {"even": {"n": big}, "odd": {"n": big + 1}})
        assert plain.keys(HERE, filter={"n": big + 1}) == ["odd"]
        assert plain.keys(HERE, filter={"n": {"$eq": big}}) == ["even"]
        assert plain.keys(HERE, filter={"n": {"$ne": big}}) == ["odd"]
        assert plain.keys(HERE, filter={"n": {"$gt": big}}) == ["odd"]
        assert plain.keys(HERE, filter={"n": {"$lt": big + 1}}) == ["even"]

    def test_whole_and_broken_numbers_are_one_kind(self, plain: Access) -> None:
        """1 and 1.0 are the same number, since users' JSON does not tell them apart."""
        plain.put(HERE, "one", {"n": 1})
        assert plain.keys(HERE, filter={"n": 1.0}) == ["one"]
        assert plain.keys(HERE, filter={"n": {"$lt": 1.5, "$gt": 0.5}}) == ["one"]

    @pytest.mark.parametrize(
        "condition", [{"$near": 1}, {"$gt": 0, "$near": 1}, {"$": 1}], ids=repr
    )
    def test_an_unknown_operator_is_refused(self, plain: Access, condition: dict[str, int]) -> None:
        """A misspelled operator raises, or users would take its silence for no match."""
        plain.put(HERE, "one", {"n": 1})
        with refused():
            plain.search(HERE, filter={"n": condition})

    def test_hostile_values_are_data(self, plain: Access) -> None:
        """Whatever text a filter asks for is compared, never run, whoever sent it."""
        plain.fill(HERE, {str(n): {"v": text} for n, text in enumerate(HOSTILE)})
        plain.put(HERE, "tea", {"v": "tea"})
        for n, text in enumerate(HOSTILE):
            assert plain.keys(HERE, filter={"v": text}) == [str(n)], text
            found = plain.keys(HERE, filter={"v": {"$ne": text}})
            assert len(found) == len(HOSTILE), text

    @pytest.mark.parametrize("field", ORDINARY_FIELDS)
    def test_a_field_may_have_any_ordinary_name(self, plain: Access, field: str) -> None:
        """Hyphens, digits, spaces and any script are fine in names, since users' data has them."""
        plain.fill(HERE, {"right": {field: "x"}, "wrong": {field: "y"}, "none": {"ab": "x"}})
        assert plain.keys(HERE, filter={field: "x"}) == ["right"]

    @pytest.mark.parametrize("field", STRANGE_FIELDS)
    def test_hostile_field_names_are_data(self, plain: Access, field: str) -> None:
        """A field with signs of a query language is data or refused, whoever sent it."""
        plain.fill(HERE, {"right": {field: "x"}, "wrong": {field: "y"}, "none": {"ab": "x"}})
        assert plain.keys_unless_refused(HERE, filter={field: "x"}) in (None, ["right"])

    @pytest.mark.parametrize("kind", EITHER_WAY)
    def test_a_filter_works_or_is_refused(self, plain: Access, kind: str) -> None:
        """What a store cannot compare raises, since users take an empty answer for the truth.

        Either the item is found, or a `ValueError` says that such filters are not supported.
        """
        value, condition = EITHER_WAY[kind]
        plain.fill(HERE, {"right": value, "wrong": {"n": 7, "day": "1999"}})
        assert plain.keys_unless_refused(HERE, filter=condition) in (None, ["right"])

    def test_an_object_in_a_filter_excludes_others(self, plain: Access) -> None:
        """An object in a filter has to agree in each field it names, or users get others."""
        plain.fill(
            HERE,
            {
                "right": {"a": {"b": 1}},
                "wrong": {"a": {"b": 2}},
                "flat": {"a": 1},
                "none": {"b": 1},
            },
        )
        assert plain.keys_unless_refused(HERE, filter={"a": {"b": 1}}) in (None, ["right"])
