# ruff: noqa: S101 - asserts are what a suite is made of
"""Listing the namespaces."""

from typing import Any

import pytest
from langgraph.store.base import ListNamespacesOp, PutOp

from langchain_plugmem.testing._stores.access import Access, Path, refused
from langchain_plugmem.testing._stores.items import HERE, THERE
from langchain_plugmem.testing._stores.suite import StoreSuite

TREE: list[Path] = [
    ("docs",),
    ("docs", "a", "draft"),
    ("docs", "a", "draft", "old"),
    ("docs", "b", "draft"),
    ("docs", "b", "final"),
    ("docsets", "a", "draft"),
    ("users", "a"),
    ("users", "b"),
]
"""Sorted, as a listing is."""


def grow(plain: Access) -> None:
    """Put one item into each namespace of the tree."""
    plain.batch(PutOp(namespace, "k", {}) for namespace in reversed(TREE))


class NamespaceBehaviours(StoreSuite):
    """What holds for `list_namespaces`."""

    def test_an_empty_store_has_no_namespaces(self, plain: Access) -> None:
        """A listing of nothing is an empty list, so that users need no special case."""
        assert plain.list_namespaces() == []
        assert plain.list_namespaces(prefix=("a",), max_depth=1) == []

    def test_every_namespace_with_items_is_listed_once(self, plain: Access) -> None:
        """The listing has each namespace once, sorted, so that users can walk through it."""
        grow(plain)
        plain.fill(("users", "a"), {"k2": {}, "k3": {}})
        assert plain.list_namespaces() == TREE

    def test_a_get_makes_no_namespace(self, plain: Access) -> None:
        """Looking for an item leaves no trace in the listing, where users look for data."""
        assert plain.get(HERE, "k") is None
        assert plain.list_namespaces() == []

    def test_a_search_makes_no_namespace(self, plain: Access) -> None:
        """Searching leaves no trace in the listing, where users look for data."""
        assert plain.search(HERE) == []
        assert plain.list_namespaces() == []

    def test_deleting_what_is_missing_makes_no_namespace(self, plain: Access) -> None:
        """A delete of nothing leaves no trace in the listing, where users look for data."""
        plain.delete(HERE, "k")
        assert plain.list_namespaces() == []

    def test_a_namespace_goes_with_its_last_item(self, plain: Access) -> None:
        """A namespace without items is not listed, or users visit empty rooms forever."""
        plain.put(HERE, "a", {})
        plain.put(HERE, "b", {})
        plain.put(THERE, "a", {})
        plain.delete(HERE, "a")
        assert plain.list_namespaces() == [HERE, THERE]
        plain.delete(HERE, "b")
        assert plain.list_namespaces() == [THERE]

    @pytest.mark.parametrize(
        ("condition", "right"),
        [
            ({"prefix": ("docs",)}, TREE[:5]),
            ({"prefix": ("docs", "b")}, TREE[3:5]),
            ({"prefix": ("doc",)}, []),
            ({"prefix": ("Docs",)}, []),
            ({"prefix": ("docs", "b", "final", "x")}, []),
            ({"suffix": ("draft",)}, [TREE[1], TREE[3], TREE[5]]),
            ({"suffix": ("a", "draft")}, [TREE[1], TREE[5]]),
            ({"suffix": ("raft",)}, []),
            ({"prefix": ("docs",), "suffix": ("draft",)}, [TREE[1], TREE[3]]),
            ({"prefix": ("docs",), "suffix": ("docs",)}, [("docs",)]),
        ],
        ids=str,
    )
    def test_conditions_match_whole_labels(
        self, plain: Access, condition: dict[str, Path], right: list[Path]
    ) -> None:
        """Prefix and suffix both match, by whole labels, or users are shown others' places."""
        grow(plain)
        assert plain.list_namespaces(**condition) == right

    @pytest.mark.parametrize(
        ("condition", "right"),
        [
            ({"prefix": ("*", "a")}, [TREE[1], TREE[2], TREE[5], TREE[6]]),
            ({"prefix": ("docs", "*", "draft")}, TREE[1:4]),
            ({"prefix": ("*", "*", "*", "*")}, [TREE[2]]),
            ({"prefix": ("docs", "*")}, TREE[1:5]),
            ({"suffix": ("b", "*")}, TREE[3:5]),
            ({"suffix": ("*", "a")}, [("users", "a")]),
        ],
        ids=str,
    )
    def test_a_star_in_a_condition_is_one_label(
        self, plain: Access, condition: dict[str, Path], right: list[Path]
    ) -> None:
        """`*` stands for exactly one label, so that users can list one level of all tenants."""
        grow(plain)
        assert plain.list_namespaces(**condition) == right

    @pytest.mark.parametrize("label", ["%", "_", "d%", "doc_", "?", "[d]ocs", "*s"])
    def test_conditions_have_no_other_wildcards(self, plain: Access, label: str) -> None:
        """Only a whole `*` is a wildcard, since users' names hold other signs."""
        grow(plain)
        plain.put((label, "x"), "k", {})
        assert plain.list_namespaces(prefix=(label,)) == [(label, "x")]
        assert plain.list_namespaces(suffix=(label, "x")) == [(label, "x")]

    def test_max_depth_cuts_and_merges(self, plain: Access) -> None:
        """Deeper namespaces are cut to `max_depth`, each once, so that users see one level."""
        grow(plain)
        assert plain.list_namespaces(max_depth=1) == [("docs",), ("docsets",), ("users",)]
        assert plain.list_namespaces(max_depth=2) == [
            *(("docs",), ("docs", "a"), ("docs", "b")),
            *(("docsets", "a"), ("users", "a"), ("users", "b")),
        ]
        assert plain.list_namespaces(max_depth=9) == TREE

    def test_conditions_match_before_max_depth_cuts(self, plain: Access) -> None:
        """Conditions look at whole namespaces, so that users can ask who has drafts."""
        grow(plain)
        found = plain.list_namespaces(suffix=("draft",), max_depth=2)
        assert found == [("docs", "a"), ("docs", "b"), ("docsets", "a")]

    def test_max_depth_merges_before_paging(self, plain: Access) -> None:
        """A page holds `limit` different entries, or users get short pages and repeats."""
        grow(plain)
        assert plain.list_namespaces(max_depth=1, limit=2) == [("docs",), ("docsets",)]
        assert plain.list_namespaces(max_depth=1, limit=2, offset=2) == [("users",)]

    def test_pages_partition_the_namespaces(self, plain: Access) -> None:
        """All pages together are the listing, so that users see each namespace once."""
        grow(plain)
        pages = [plain.list_namespaces(limit=3, offset=offset) for offset in range(0, 12, 3)]
        assert [len(page) for page in pages] == [3, 3, 2, 0]
        assert [namespace for page in pages for namespace in page] == TREE

    def test_the_limit_of_a_listing_is_a_hundred_unless_given(self, plain: Access) -> None:
        """At most a hundred namespaces are listed by default, as the signature promises."""
        plain.batch(PutOp((f"{n:03}",), "k", {}) for n in range(103))
        assert plain.list_namespaces() == [(f"{n:03}",) for n in range(100)]
        assert plain.list_namespaces(offset=100) == [("100",), ("101",), ("102",)]

    @pytest.mark.parametrize("bound", ["limit", "offset"])
    def test_negative_bounds_of_a_listing_are_refused(self, plain: Access, bound: str) -> None:
        """A negative limit or offset raises, or users would lose namespaces without a word."""
        grow(plain)
        options: dict[str, Any] = {bound: -1}
        with refused():
            plain.list_namespaces(**options)
        with refused():
            plain.batch([ListNamespacesOp(**options)])
