"""Values by key: stored, replaced, read and removed, each namespace by itself."""

from pathlib import Path
from typing import Any

import pytest
from conftest import OpenMemory

from plugmem_core import (
    InvalidInputError,
    Memory,
    MemoryConfig,
    ReadOnlyError,
    TooLargeError,
    WrongTypeError,
)

VALUES: dict[str, Any] = {
    "text": "grün 日本 \U0001f375",
    "nothing": None,
    "flag": True,
    "numbers": [1, 1.5, -(2**70)],
    "nested": {"z": {"b": [], "a": {}}, "y": ""},
}


def test_values_come_back_as_they_were_and_in_order(memory: Memory) -> None:
    memory.put_values("c", VALUES)
    found = memory.get_values("c")
    assert found == VALUES
    assert list(found) == list(VALUES)
    assert list(found["nested"]) == ["z", "y"]
    assert found["flag"] is True


def test_chosen_keys_are_returned_in_stored_order_without_unknown_ones(memory: Memory) -> None:
    memory.put_values("c", {"a": 1, "b": 2, "c": 3})
    assert list(memory.get_values("c", ["c", "x", "a"]).items()) == [("a", 1), ("c", 3)]
    assert memory.get_values("c", []) == {}
    assert memory.get_values("other") == {}


def test_a_replaced_value_keeps_its_place(memory: Memory) -> None:
    memory.put_values("c", {"a": 1, "b": 2})
    memory.put_values("c", {"c": 3, "a": 4})
    assert list(memory.get_values("c").items()) == [("a", 4), ("b", 2), ("c", 3)]


def test_removed_values_are_counted_and_gone(memory: Memory) -> None:
    memory.put_values("c", {"a": 1, "b": 2})
    assert memory.delete_values("c", ["a", "x"]) == 1
    assert memory.delete_values("c", ["a"]) == 0
    assert memory.delete_values("c", []) == 0
    assert memory.get_values("c") == {"b": 2}


def test_collections_are_apart(memory: Memory) -> None:
    memory.put_values("a", {"k": 1})
    memory.put_values("b", {"k": 2})
    memory.delete_values("a", ["k"])
    assert (memory.get_values("a"), memory.get_values("b")) == ({}, {"k": 2})


SCOPES = [(), ("x",), ("x", "y"), ("x%",), ("x_",), ("x.y",), ('x","y',), ("X",)]


def test_a_namespace_sees_its_own_values_only(memory: Memory) -> None:
    for number, scope in enumerate(SCOPES):
        memory.put_values("c", {"k": number}, namespace=scope)
    assert [memory.get_values("c", namespace=scope)["k"] for scope in SCOPES] == list(range(8))
    memory.delete_values("c", ["k"], namespace=("x",))
    assert [len(memory.get_values("c", namespace=scope)) for scope in SCOPES] == [
        *(1, 0),
        *[1] * 6,
    ]
    assert memory.delete_values("c", ["k"], namespace=("never",)) == 0


def test_keys_and_collections_are_no_syntax(memory: Memory) -> None:
    odd = ["'; DROP TABLE kv; --", "%", "_", "a\nb", "*", "[a]", '"']
    for name in odd:
        memory.put_values(name, dict.fromkeys(odd, name))
    for name in odd:
        assert memory.get_values(name, [name]) == {name: name}
        assert memory.delete_values(name, ["%"]) == 1
        assert len(memory.get_values(name)) == len(odd) - 1


def test_no_recall_and_no_listing_finds_values(memory: Memory) -> None:
    memory.put_values("tea", {"tea": {"tea": "tea"}})
    assert memory.recall("tea").facts == ()
    assert memory.list_facts().facts == ()
    assert memory.stats().facts == 0


def test_thousands_of_keys_are_read_at_once(memory: Memory) -> None:
    memory.put_values("c", {f"k{number}": number for number in range(3_000)})
    wanted = [f"k{number}" for number in range(2_999, -1, -2)]
    assert list(memory.get_values("c", wanted).values()) == list(range(1, 3_000, 2))


def test_values_last_and_other_handles_see_them(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as one, Memory.open(tmp_path / "m") as other:
        one.put_values("c", {"a": 1}, namespace=("new",))
        assert other.get_values("c", namespace=("new",)) == {"a": 1}
        other.delete_values("c", ["a"], namespace=("new",))
        assert one.get_values("c", namespace=("new",)) == {}
        one.put_values("c", {"b": 2})
    with Memory.open(tmp_path / "m", read_only=True) as reader:
        assert reader.get_values("c") == {"b": 2}
        assert reader.verify().ok
        with pytest.raises(ReadOnlyError):
            reader.put_values("c", {"b": 3})
        with pytest.raises(ReadOnlyError):
            reader.delete_values("c", ["b"])


async def test_the_twins_do_the_same(memory: Memory) -> None:
    await memory.aput_values("c", {"a": 1}, namespace=("x",))
    assert await memory.aget_values("c", ["a"], namespace=("x",)) == {"a": 1}
    assert await memory.adelete_values("c", ["a"], namespace=("x",)) == 1


@pytest.mark.parametrize(
    ("collection", "values", "error", "message"),
    [
        ("", {"a": 1}, InvalidInputError, "collection is ''"),
        (" ", {"a": 1}, InvalidInputError, "blank"),
        (7, {"a": 1}, WrongTypeError, "collection"),
        ("c" * 1_025, {"a": 1}, TooLargeError, "collection"),
        ("c", [("a", 1)], WrongTypeError, "values"),
        ("c", {"a": 1, "": 2}, InvalidInputError, "blank"),
        ("c", {"a": 1, 7: 2}, WrongTypeError, "values"),
        ("c", {"a": 1, "b" * 1_025: 2}, TooLargeError, "values"),
        ("c", {"a": 1, "b": object()}, WrongTypeError, r"values\['b'\]"),
        ("c", {"a": 1, "b": float("nan")}, InvalidInputError, "JSON cannot hold"),
        ("c", {"a": 1, "b": {1: 2}}, WrongTypeError, "text keys"),
        ("c", {"a": 1, "b": "x" * 100}, TooLargeError, "over the limit of 50"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_stored(
    open_memory: OpenMemory, collection: Any, values: Any, error: type[Exception], message: str
) -> None:
    memory = open_memory(config=MemoryConfig(max_value=50))
    with pytest.raises(error, match=message):
        memory.put_values(collection, values)
    assert memory.get_values("c") == {}


@pytest.mark.parametrize("keys", ["a", [7], [""], None])
def test_keys_to_remove_are_a_list_of_texts(memory: Memory, keys: Any) -> None:
    memory.put_values("c", {"a": 1})
    with pytest.raises((InvalidInputError, TypeError)):
        memory.delete_values("c", keys)
    assert memory.get_values("c") == {"a": 1}
