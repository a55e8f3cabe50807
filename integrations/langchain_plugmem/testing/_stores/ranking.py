# ruff: noqa: S101 - asserts are what a suite is made of
"""Search by a query, on a store with an index over the field `text`."""

from typing import Any

import pytest
from langgraph.store.base import Item, PutOp, SearchOp

from langchain_plugmem.testing._stores.access import Access, call, pages_of, ranks_before, refused
from langchain_plugmem.testing._stores.items import HERE, THERE
from langchain_plugmem.testing._stores.suite import StoreSuite
from langchain_plugmem.testing._stores.words import UNEMBEDDABLE

QUERY = "green tea"
HALF = {"text": "green paint"}
"""Shares one word with the query: less than an item that says both, more than one without."""
OTHER = "old car"

PATHS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a.b": ({"a": {"b": QUERY}}, {"a": {"b": OTHER, "c": QUERY}}),
    "a[0]": ({"a": [QUERY, OTHER]}, {"a": [OTHER, QUERY]}),
    "a[-1]": ({"a": [OTHER, QUERY]}, {"a": [QUERY, OTHER]}),
    "a[*].b": ({"a": [{"b": OTHER}, {"b": QUERY}]}, {"a": [{"b": OTHER, "c": QUERY}]}),
    "*": ({"a": OTHER, "b": QUERY}, {"a": OTHER, "b": {"c": "old river"}}),
    "{a,b}": ({"a": OTHER, "b": QUERY}, {"a": OTHER, "c": QUERY}),
}
"""A path, a value in which it leads to the query, and one in which it does not."""


class RankingBehaviours(StoreSuite):
    """What holds for `search` with a query."""

    def test_the_best_match_comes_first(self, indexed: Access) -> None:
        """Items come in the order of their likeness to the query, which is what a query is for."""
        indexed.fill(HERE, {"none": {"text": OTHER}, "half": HALF, "both": {"text": QUERY}})
        ranked = indexed.ranked(HERE, QUERY)
        assert ranks_before("both", "half", ranked)
        assert ranks_before("half", "none", ranked)

    def test_a_better_match_scores_higher(self, indexed: Access) -> None:
        """Scores are numbers, and more is better, so that users can set a threshold."""
        indexed.fill(HERE, {"none": {"text": OTHER}, "half": HALF, "both": {"text": QUERY}})
        scores = {item.key: item.score for item in indexed.search(HERE, query=QUERY)}
        assert scores["both"] is not None
        assert scores["half"] is not None
        assert scores["both"] > scores["half"]

    def test_a_ranking_of_nothing_is_empty(self, indexed: Access) -> None:
        """A query to an empty store or prefix finds nothing, as every new user's first one."""
        assert indexed.search((), query=QUERY) == []
        indexed.put(THERE, "both", {"text": QUERY})
        assert indexed.search(HERE, query=QUERY) == []

    def test_a_ranking_gives_whole_items(self, indexed: Access) -> None:
        """What a query finds equals what `get` returns, so that users need no second call."""
        indexed.put(HERE, "drink", {"text": QUERY, "cups": 2})
        [found] = indexed.search(HERE, query=QUERY)
        item = indexed.get(HERE, "drink")
        assert item is not None
        for field in ("value", "key", "namespace", "created_at", "updated_at"):
            assert getattr(found, field) == getattr(item, field), field

    def test_a_ranking_stays_below_its_prefix(self, indexed: Access) -> None:
        """The best match in another namespace is not found, or tenants would meet in search."""
        indexed.put(HERE, "half", HALF)
        indexed.put(("note",), "both", {"text": QUERY})
        indexed.put(("notes", "mara2"), "both", {"text": QUERY})
        assert indexed.keys(HERE, query=QUERY) == ["half"]

    def test_a_filter_comes_before_the_ranking(self, indexed: Access) -> None:
        """Better matches that the filter excludes do not use up the limit, or users get none."""
        indexed.fill(HERE, {f"no{n}": {"text": QUERY, "ok": False} for n in range(25)})
        indexed.put(HERE, "yes", HALF | {"ok": True})
        assert indexed.keys(HERE, query=QUERY, filter={"ok": True}, limit=1) == ["yes"]

    def test_an_unknown_operator_is_refused_with_a_query(self, indexed: Access) -> None:
        """A misspelled operator raises in a ranking, too, or users take it for no match."""
        indexed.put(HERE, "both", {"text": QUERY})
        with refused():
            indexed.search(HERE, query=QUERY, filter={"text": {"$near": 1}})

    @pytest.mark.parametrize("bound", ["limit", "offset"])
    def test_negative_bounds_are_refused_with_a_query(self, indexed: Access, bound: str) -> None:
        """A negative limit or offset raises in a ranking, too, or users would lose items."""
        indexed.fill(HERE, {"both": {"text": QUERY}, "half": HALF})
        options: dict[str, Any] = {bound: -1}
        with refused():
            indexed.search(HERE, query=QUERY, **options)

    def test_an_empty_query_ranks_nothing(self, indexed: Access) -> None:
        """`query=""` lists as `query=None` does, for users who pass an empty box on."""
        indexed.fill(HERE, {"both": {"text": QUERY}, "half": HALF})
        assert indexed.keys(HERE, query="") == indexed.keys(HERE)
        assert [item.score for item in indexed.search(HERE, query="")] == [None, None]

    def test_the_limit_takes_the_best(self, indexed: Access) -> None:
        """A limit cuts the ranking at its end, so that users get the best first."""
        indexed.fill(HERE, {f"none{n}": {"text": OTHER} for n in range(12)})
        indexed.fill(HERE, {"half": HALF, "both": {"text": QUERY}})
        assert indexed.keys(HERE, query=QUERY, limit=2) == ["both", "half"]
        assert indexed.keys(HERE, query=QUERY, limit=1, offset=1) == ["half"]

    def test_pages_partition_a_ranking(self, indexed: Access) -> None:
        """All pages together are the ranking, ties too, so that users see each item once."""
        texts = [QUERY, "green paint", "tea coffee", OTHER]
        indexed.fill(HERE, {f"{n:02}": {"text": texts[n % 4]} for n in range(23)})
        whole = indexed.keys(HERE, query=QUERY)
        assert len(whole) == len({*whole})
        assert pages_of(indexed, HERE, 5, query=QUERY) == whole

    def test_pages_partition_a_ranking_of_items_with_several_texts(self, indexed: Access) -> None:
        """Pages count items, however many of an item's texts match, or the last ones vanish."""
        for n in range(11):
            lines = [QUERY, f"green {'paint ' * n}", "tea"]
            indexed.put(HERE, f"{n:02}", {"lines": lines}, index=["lines[*]"])
        whole = indexed.keys(HERE, query=QUERY)
        assert sorted(whole) == [f"{n:02}" for n in range(11)]
        assert pages_of(indexed, HERE, 3, query=QUERY) == whole

    def test_pages_partition_a_ranking_with_unranked_items(self, indexed: Access) -> None:
        """Items without a score are on one page or none, so that users see each item once."""
        for n in range(11):
            index: Any = False if n % 3 == 0 else None
            indexed.put(HERE, f"{n:02}", {"text": QUERY}, index=index)
        whole = indexed.keys(HERE, query=QUERY)
        assert {*whole} >= {f"{n:02}" for n in range(11) if n % 3}
        assert len(whole) == len({*whole})
        assert pages_of(indexed, HERE, 3, query=QUERY) == whole

    def test_only_the_configured_fields_are_searched(self, indexed: Access) -> None:
        """Texts in other fields do not count, so that users can keep notes out of search."""
        indexed.put(HERE, "half", HALF)
        indexed.put(HERE, "aside", {"text": OTHER, "note": QUERY})
        assert ranks_before("half", "aside", indexed.ranked(HERE, QUERY))

    def test_an_item_without_the_fields_is_kept_unranked(self, indexed: Access) -> None:
        """An item with nothing to index is stored all the same, or users lose it.

        A query may leave it out or bring it last, without a score.
        """
        indexed.put(HERE, "bare", {"note": QUERY})
        indexed.put(HERE, "half", HALF)
        assert indexed.value(HERE, "bare") == {"note": QUERY}
        assert sorted(indexed.keys(HERE)) == ["bare", "half"]
        assert indexed.ranked(HERE, QUERY) == ["half"]

    def test_an_item_that_is_not_indexed_is_kept_unranked(self, indexed: Access) -> None:
        """`index=False` keeps the item out of the ranking only, for users who store secrets.

        A query may leave it out or bring it last, without a score.
        """
        indexed.put(HERE, "both", {"text": QUERY}, index=False)
        indexed.put(HERE, "half", HALF)
        assert indexed.value(HERE, "both") == {"text": QUERY}
        assert sorted(indexed.keys(HERE)) == ["both", "half"]
        assert indexed.ranked(HERE, QUERY) == ["half"]

    @pytest.mark.parametrize("path", PATHS)
    def test_a_put_indexes_the_path_it_names(self, indexed: Access, path: str) -> None:
        """`index=[path]` searches what the path leads to and no more, for users' nested data."""
        right, wrong = PATHS[path]
        indexed.put(HERE, "right", right, index=[path])
        indexed.put(HERE, "wrong", wrong, index=[path])
        indexed.put(HERE, "half", HALF)
        ranked = indexed.ranked(HERE, QUERY)
        assert ranks_before("right", "half", ranked)
        assert ranks_before("half", "wrong", ranked)

    def test_a_put_indexes_all_paths_it_names(self, indexed: Access) -> None:
        """Each of several paths is searched, so that users can index title and body."""
        indexed.put(HERE, "both", {"title": OTHER, "body": QUERY}, index=["title", "body"])
        indexed.put(HERE, "half", HALF)
        indexed.put(HERE, "part", {"title": "old river"}, index=["title", "body"])
        assert ranks_before("both", "half", indexed.ranked(HERE, QUERY))
        assert ranks_before("both", "part", indexed.ranked(HERE, OTHER))

    def test_a_put_can_index_the_whole_value(self, indexed: Access) -> None:
        """`index=["$"]` searches the whole value, any script too, for users with free forms."""
        indexed.put(HERE, "none", {"text": OTHER})
        indexed.put(HERE, "whole", {"a": {"b": ["grün"]}}, index=["$"])
        assert ranks_before("whole", "none", indexed.ranked(HERE, "grün"))

    def test_each_element_is_matched_on_its_own(self, indexed: Access) -> None:
        """An item is as good as its best text, however long the list in which it stands."""
        lines = [QUERY, "black coffee", "river stone", "bread oven", "paper boat", "old car"]
        indexed.put(HERE, "list", {"lines": lines}, index=["lines[*]"])
        indexed.put(HERE, "half", HALF)
        assert ranks_before("list", "half", indexed.ranked(HERE, QUERY))

    def test_an_item_comes_once(self, indexed: Access) -> None:
        """An item is found once, however many of its texts match, or users count it twice."""
        lines = [QUERY, "tea green", "green", "tea"]
        index = ["lines[*]", "text"]
        indexed.put(HERE, "many", {"lines": lines, "text": "green green tea"}, index=index)
        indexed.put(HERE, "half", HALF)
        assert indexed.keys(HERE, query=QUERY, limit=2) == ["many", "half"]

    def test_equal_texts_in_one_batch_are_both_found(self, indexed: Access) -> None:
        """Two items may say the same, as users' items do."""
        indexed.batch([PutOp(HERE, key, {"text": QUERY}) for key in ("a", "b")])
        assert sorted(indexed.ranked(HERE, QUERY)) == ["a", "b"]

    def test_equal_texts_in_one_item_are_found(self, indexed: Access) -> None:
        """A text may stand twice in an item, as in users' forms."""
        indexed.put(HERE, "twice", {"a": QUERY, "b": QUERY}, index=["a", "b"])
        assert indexed.ranked(HERE, QUERY) == ["twice"]

    def test_searches_in_one_batch_answer_each_query(self, indexed: Access) -> None:
        """Each search of a batch has its own query, or users get each other's answers."""
        indexed.fill(HERE, {"tea": {"text": "green tea"}, "car": {"text": "old car"}})
        queries = ["old car", "green tea", "old car"]
        results = indexed.batch([SearchOp(HERE, query=query, limit=1) for query in queries])
        best = [found[0] for found in results if isinstance(found, list)]
        assert [item.key for item in best if isinstance(item, Item)] == ["car", "tea", "car"]

    def test_an_overwrite_replaces_the_text(self, indexed: Access) -> None:
        """The new text is found and the old one is not, or users get outdated answers."""
        indexed.put(HERE, "drink", {"text": QUERY})
        indexed.put(HERE, "half", HALF)
        indexed.put(HERE, "drink", {"text": "black coffee"})
        assert ranks_before("half", "drink", indexed.ranked(HERE, QUERY))
        assert ranks_before("drink", "half", indexed.ranked(HERE, "black coffee"))

    def test_an_overwrite_without_index_leaves_the_ranking(self, indexed: Access) -> None:
        """After `index=False` neither text is found, or users find what they took out.

        The item may come last, without a score.
        """
        indexed.put(HERE, "drink", {"text": QUERY})
        indexed.put(HERE, "half", HALF)
        indexed.put(HERE, "drink", {"text": "black coffee"}, index=False)
        assert indexed.ranked(HERE, QUERY) == ["half"]
        assert "drink" not in indexed.ranked(HERE, "black coffee")

    def test_an_overwrite_with_other_paths_drops_the_old_ones(self, indexed: Access) -> None:
        """Only the paths of the last put are searched, or users find what they took out."""
        indexed.put(HERE, "drink", {"a": QUERY, "b": OTHER}, index=["a"])
        indexed.put(HERE, "half", HALF)
        indexed.put(HERE, "drink", {"a": QUERY, "b": OTHER}, index=["b"])
        assert ranks_before("half", "drink", indexed.ranked(HERE, QUERY))
        assert ranks_before("drink", "half", indexed.ranked(HERE, OTHER))

    def test_an_overwrite_drops_texts_that_are_gone(self, indexed: Access) -> None:
        """A shorter list or a missing field takes its old texts along, or users find ghosts."""
        indexed.put(HERE, "list", {"a": [OTHER, QUERY]}, index=["a[*]"])
        indexed.put(HERE, "field", {"text": QUERY})
        indexed.put(HERE, "half", HALF)
        indexed.put(HERE, "list", {"a": [OTHER]}, index=["a[*]"])
        indexed.put(HERE, "field", {"note": QUERY})
        ranked = indexed.ranked(HERE, QUERY)
        assert "field" not in ranked
        assert ranks_before("half", "list", ranked)

    def test_a_deleted_item_is_not_ranked(self, indexed: Access) -> None:
        """A deleted text is found by no query, even when users put its key again."""
        indexed.put(HERE, "drink", {"text": QUERY})
        indexed.put(HERE, "half", HALF)
        indexed.delete(HERE, "drink")
        assert indexed.keys(HERE, query=QUERY) == ["half"]
        indexed.put(HERE, "drink", {"text": QUERY}, index=False)
        assert indexed.ranked(HERE, QUERY) == ["half"]

    def test_the_last_put_of_a_batch_is_ranked(self, indexed: Access) -> None:
        """Of several puts of a key only the last text is found, or users get outdated ones."""
        indexed.batch(
            [
                PutOp(HERE, "drink", {"text": QUERY}),
                PutOp(HERE, "gone", {"text": QUERY}),
                PutOp(HERE, "drink", {"text": "black coffee"}),
                PutOp(HERE, "gone", None),
                PutOp(HERE, "half", HALF),
            ]
        )
        ranked = indexed.ranked(HERE, QUERY)
        assert "gone" not in indexed.keys(HERE, query=QUERY)
        assert ranks_before("half", "drink", ranked)

    def test_a_failing_embedder_leaves_nothing_half_written(self, indexed: Access) -> None:
        """A batch that cannot be embedded is written whole or not, so that users can repeat it."""
        indexed.put(HERE, "drink", {"text": QUERY})
        new = {"text": f"black {UNEMBEDDABLE}"}
        try:
            indexed.batch([PutOp(HERE, "half", HALF), PutOp(HERE, "drink", new)])
        except Exception:  # noqa: BLE001 - whatever the store makes of the embedder's error
            assert indexed.value(HERE, "drink") == {"text": QUERY}
            assert indexed.keys(HERE, query=QUERY) == ["drink"]
        else:
            assert indexed.value(HERE, "drink") == new
            assert ranks_before("half", "drink", indexed.ranked(HERE, QUERY))

    def test_concurrent_queries_get_their_own_answers(self, indexed: Access) -> None:
        """Queries at the same time do not disturb each other, as in a graph's parallel nodes."""
        texts = [QUERY, OTHER, "black coffee", "river stone", "bread oven"]
        indexed.fill(HERE, {text: {"text": text} for text in texts})
        results = indexed.together(call("search", HERE, query=text, limit=1) for text in texts * 4)
        assert [[item.key for item in found] for found in results] == [[text] for text in texts * 4]
