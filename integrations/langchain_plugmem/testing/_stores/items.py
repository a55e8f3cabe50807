# ruff: noqa: S101 - asserts are what a suite is made of
"""One item: put, get, overwrite, delete, and what its parts may hold."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest
from langgraph.store.base import Item

from langchain_plugmem.testing._stores.access import Access, Path, refused
from langchain_plugmem.testing._stores.suite import StoreSuite

HERE = ("notes", "mara")
THERE = ("notes", "zoe")

JSON_VALUE: dict[str, Any] = {
    "text": "tea",
    "count": 3,
    "price": 2.5,
    "big": 2**53 + 1,
    "least": -(2**63),
    "yes": True,
    "no": False,
    "nothing": None,
    "empty": ["", [], {}],
    "nested": [{"list": [1, [2, {"deep": None}]]}],
}

NOT_JSON: dict[str, Any] = {
    "an object": {"v": object()},
    "a date": {"v": datetime(2024, 5, 1, tzinfo=UTC)},
    "a set": {"v": {1}},
    "bytes": {"v": b"tea"},
    "not a number": {"v": float("nan")},
    "infinity": {"v": float("inf")},
    "a key that is no text": {7: "v"},
    "an object deep inside": {"v": [{"w": object()}]},
    "a text": "v",
    "a list": ["v"],
}

EXACT = (
    *("a", "A", "a ", " a", "a\n", "a\\", "a/", "a%", "a_", "a*", "'a'", '"a"', "a;--"),
    *("é", "e\u0301", "ß", "ss", "ключ", "鍵", "🔑", "0", "00"),
)
"""Texts that are easily taken for one another."""

LOOKALIKES: tuple[Path, ...] = (
    *(("a", "b"), ("a/b",), ("a:b",), ("a,b",), ("a|b",), ("a b",), ("a\x1fb",), ("a\nb",)),
    *(("a", "b", "c"), ("a/b", "c"), ("a", "b/c"), ("a:b", "c"), ("a", "b:c"), ("ab",), ("b", "a")),
)
"""Namespaces that are easily taken for one another."""

BAD_LABELS: tuple[Any, ...] = ("", "a.b", "a\x00b", 7, None)


class ItemBehaviours(StoreSuite):
    """What holds for a single item."""

    def test_an_item_comes_back_as_it_was_put(self, plain: Access) -> None:
        """`get` gives the value, key and namespace of the put, since all else rests on it."""
        plain.put(HERE, "drink", {"text": "tea", "cups": 2})
        item = plain.get(HERE, "drink")
        assert isinstance(item, Item)
        assert item.value == {"text": "tea", "cups": 2}
        assert item.key == "drink"
        assert item.namespace == HERE

    def test_times_are_aware(self, plain: Access) -> None:
        """Times carry their zone, so that users elsewhere can compare them."""
        plain.put(HERE, "drink", {"text": "tea"})
        item = plain.get(HERE, "drink")
        assert item is not None
        assert item.created_at.utcoffset() is not None
        assert item.updated_at.utcoffset() is not None
        assert item.created_at <= item.updated_at

    def test_a_missing_item_is_none(self, plain: Access) -> None:
        """`get` answers `None` for what is not there, so that users need no try block."""
        plain.put(HERE, "drink", {"text": "tea"})
        assert plain.get(HERE, "food") is None
        assert plain.get(HERE[:1], "drink") is None
        assert plain.get((*HERE, "deep"), "drink") is None
        assert plain.get(THERE, "drink") is None

    def test_values_keep_every_kind_of_json(self, plain: Access) -> None:
        """A value comes back equal, whole numbers exact, or users could not trust ids in it."""
        plain.put(HERE, "all", JSON_VALUE)
        [found] = plain.search(HERE)
        for value in (plain.value(HERE, "all"), found.value):
            assert value == JSON_VALUE
            assert isinstance(value["count"], int)
            assert value["yes"] is True

    def test_an_empty_value_is_an_item(self, plain: Access) -> None:
        """An empty mapping is stored, for users who only need the key."""
        plain.put(HERE, "flag", {})
        assert plain.value(HERE, "flag") == {}
        assert plain.keys(HERE) == ["flag"]

    def test_any_mapping_is_a_value(self, plain: Access) -> None:
        """Every `Mapping` may be put, as users' types are, and comes back as a dict."""
        value: Mapping[str, Any] = MappingProxyType({"text": "tea"})
        plain.put(HERE, "drink", value)
        assert plain.value(HERE, "drink") == {"text": "tea"}
        assert isinstance(plain.value(HERE, "drink"), dict)

    @pytest.mark.parametrize("kind", NOT_JSON)
    def test_what_is_not_json_is_refused(self, plain: Access, kind: str) -> None:
        """A `put` of what JSON cannot hold raises, before users find it changed or gone."""
        with pytest.raises((ValueError, TypeError)):
            plain.put(HERE, "drink", NOT_JSON[kind])
        assert plain.get(HERE, "drink") is None

    def test_unicode_survives_everywhere(self, plain: Access) -> None:
        """Labels, keys and values hold any script, since users do not write ASCII."""
        namespace = ("заметки", "鈴木")
        value = {"text": "grüner Tee 茶 🍵", "поле": "чай"}
        plain.put(namespace, "ключ 🔑", value)
        [found] = plain.search(("заметки",), filter={"text": "grüner Tee 茶 🍵"})
        assert found.key == "ключ 🔑"
        assert plain.value(namespace, "ключ 🔑") == value
        assert plain.list_namespaces() == [namespace]

    def test_keys_are_exact(self, plain: Access) -> None:
        """Keys differ in case, spaces and signs, or one user's item would replace another."""
        plain.fill(HERE, {key: {"key": key} for key in EXACT})
        assert [plain.value(HERE, key) for key in EXACT] == [{"key": key} for key in EXACT]
        assert sorted(plain.keys(HERE)) == sorted(EXACT)

    def test_labels_are_exact(self, plain: Access) -> None:
        """Labels differ in case, spaces and signs, since they keep tenants apart."""
        for label in EXACT:
            plain.put((label,), "k", {"label": label})
        assert [plain.value((label,), "k") for label in EXACT] == [{"label": e} for e in EXACT]
        assert set(plain.list_namespaces()) == {(label,) for label in EXACT}

    def test_namespaces_are_not_joined_labels(self, plain: Access) -> None:
        """Whatever signs its labels hold, a namespace is no other one, or tenants would meet."""
        for namespace in LOOKALIKES:
            plain.put(namespace, "k", {"labels": list(namespace)})
        for namespace in LOOKALIKES:
            assert plain.value(namespace, "k") == {"labels": list(namespace)}
        assert set(plain.list_namespaces()) == {*LOOKALIKES}

    def test_keys_become_text(self, plain: Access) -> None:
        """A number as the key is its decimal text, so that 7 and "7" find the same item."""
        seven: Any = 7
        plain.put(HERE, seven, {"text": "tea"})
        item = plain.get(HERE, "7")
        assert item is not None
        assert item.key == "7"
        assert plain.value(HERE, seven) == {"text": "tea"}
        plain.delete(HERE, seven)
        assert plain.get(HERE, "7") is None

    def test_the_same_key_elsewhere_is_another_item(self, plain: Access) -> None:
        """A key is one item per namespace, since users share key names."""
        plain.put(HERE, "drink", {"text": "tea"})
        plain.put(THERE, "drink", {"text": "coffee"})
        plain.delete(THERE, "drink")
        assert plain.value(HERE, "drink") == {"text": "tea"}

    def test_an_overwrite_replaces_the_whole_value(self, plain: Access) -> None:
        """A second put leaves nothing of the first, so that users can drop a field."""
        plain.put(HERE, "drink", {"text": "tea", "milk": True})
        plain.put(HERE, "drink", {"text": "coffee"})
        assert plain.value(HERE, "drink") == {"text": "coffee"}
        assert [item.value for item in plain.search(HERE)] == [{"text": "coffee"}]

    def test_an_overwrite_keeps_created_at(self, plain: Access) -> None:
        """`created_at` says when the item came to be, or users could not tell old from new."""
        plain.put(HERE, "drink", {"text": "tea"})
        first = plain.get(HERE, "drink")
        self.pass_time(plain.store, self.tick / 10)
        plain.put(HERE, "drink", {"text": "coffee"})
        second = plain.get(HERE, "drink")
        [found] = plain.search(HERE)
        assert first is not None
        assert second is not None
        assert first.created_at == second.created_at == found.created_at

    def test_an_overwrite_advances_updated_at(self, plain: Access) -> None:
        """`updated_at` says when the value last changed, so that users can sort by it."""
        plain.put(HERE, "drink", {"text": "tea"})
        first = plain.get(HERE, "drink")
        self.pass_time(plain.store, self.tick / 10)
        plain.put(HERE, "drink", {"text": "coffee"})
        second = plain.get(HERE, "drink")
        [found] = plain.search(HERE)
        assert first is not None
        assert second is not None
        assert first.updated_at < second.updated_at == found.updated_at

    def test_a_deleted_item_is_found_by_no_route(self, plain: Access) -> None:
        """After a delete nothing brings the item back, as users who ask for it expect."""
        plain.fill(HERE, {"drink": {"text": "tea"}, "food": {"text": "bread"}})
        plain.delete(HERE, "drink")
        assert plain.get(HERE, "drink") is None
        assert plain.keys(HERE) == ["food"]
        assert plain.keys((), filter={"text": "tea"}) == []

    def test_deleting_what_is_missing_is_no_error(self, plain: Access) -> None:
        """A delete may be repeated, so that users can retry it."""
        plain.put(HERE, "drink", {"text": "tea"})
        plain.delete(HERE, "food")
        plain.delete(THERE, "drink")
        plain.delete(HERE, "drink")
        plain.delete(HERE, "drink")
        assert plain.keys(()) == []

    def test_a_deleted_key_can_be_put_again(self, plain: Access) -> None:
        """A delete leaves no mark, or it would swallow what users put next under the key."""
        plain.put(HERE, "drink", {"text": "tea"})
        plain.delete(HERE, "drink")
        plain.put(HERE, "drink", {"text": "coffee"})
        assert plain.value(HERE, "drink") == {"text": "coffee"}
        assert plain.keys(HERE) == ["drink"]

    def test_changing_what_was_put_changes_no_item(self, plain: Access) -> None:
        """The store keeps a copy, so that users may go on working with their value."""
        tags = ["hot"]
        value = {"tags": tags, "text": "tea"}
        plain.put(HERE, "drink", value)
        value["text"] = "coffee"
        tags.append("cold")
        assert plain.value(HERE, "drink") == {"tags": ["hot"], "text": "tea"}

    def test_changing_what_get_returned_changes_no_item(self, plain: Access) -> None:
        """`get` gives a copy, or one user's edit would be read by all without a put."""
        plain.put(HERE, "drink", {"tags": ["hot"]})
        item = plain.get(HERE, "drink")
        assert item is not None
        item.value["tags"].append("cold")
        item.value["text"] = "tea"
        assert plain.value(HERE, "drink") == {"tags": ["hot"]}

    def test_changing_what_search_returned_changes_no_item(self, plain: Access) -> None:
        """`search` gives copies, or one user's edit would be read by all without a put."""
        plain.put(HERE, "drink", {"tags": ["hot"]})
        [item] = plain.search(HERE)
        item.value["tags"].append("cold")
        item.value["text"] = "tea"
        assert plain.value(HERE, "drink") == {"tags": ["hot"]}

    def test_index_is_accepted_without_an_index(self, plain: Access) -> None:
        """`index` is ignored where nothing is indexed, so that nodes run on every store."""
        plain.put(HERE, "a", {"text": "tea"}, index=False)
        plain.put(HERE, "b", {"text": "coffee"}, index=["text"])
        assert sorted(plain.keys(HERE)) == ["a", "b"]

    @pytest.mark.parametrize("label", BAD_LABELS, ids=repr)
    def test_bad_labels_are_refused(self, plain: Access, label: Any) -> None:
        """Empty, dotted and non-text labels raise in every method, or listings break later."""
        namespace = ("notes", label)
        with refused():
            plain.put(namespace, "k", {})
        with refused():
            plain.get(namespace, "k")
        with refused():
            plain.delete(namespace, "k")
        with refused():
            plain.search(namespace)
        with refused():
            plain.list_namespaces(prefix=namespace)
        with refused():
            plain.list_namespaces(suffix=namespace)
        assert plain.list_namespaces() == []

    def test_an_item_needs_a_namespace(self, plain: Access) -> None:
        """`put` refuses the empty namespace, where no user could list it."""
        with refused():
            plain.put((), "k", {})
        assert plain.keys(()) == []

    def test_the_root_langgraph_is_reserved(self, plain: Access) -> None:
        """`put` refuses the root "langgraph", the framework's own; users may have it below."""
        with refused():
            plain.put(("langgraph", "x"), "k", {})
        plain.put(("notes", "langgraph"), "k", {"text": "tea"})
        assert plain.list_namespaces() == [("notes", "langgraph")]
