"""The edges at an entity in bounds, and the keys of a namespace in order."""

from typing import Any

import pytest
from clocks import DAY, Clock

from plugmem_core import InvalidInputError, Memory, StaleCursorError, WrongTypeError


@pytest.fixture
def town(memory: Memory) -> Memory:
    for src, relation, dst in [
        ("Ann", "knows", "Ben"),
        ("Ann", "likes", "Ben"),
        ("Cleo", "knows", "Ann"),
        ("Ann", "knows", "Ann"),
        ("Ann", "knows", "Dan"),
    ]:
        memory.link(src, relation, dst)
    return memory


def ends(memory: Memory, *names: str, **options: Any) -> list[tuple[list[str], int]]:
    return [
        ([f"{one.src} {one.relation} {one.dst}" for one in found.edges], found.total)
        for found in memory.neighbours(names, **options)
    ]


def test_edges_that_start_at_an_entity_are_returned_oldest_first(town: Memory) -> None:
    assert ends(town, "ann") == [
        (["Ann knows Ben", "Ann likes Ben", "Ann knows Ann", "Ann knows Dan"], 4)
    ]


def test_edges_that_end_there_are_returned_when_asked(town: Memory) -> None:
    assert ends(town, "Ann", direction="in") == [(["Cleo knows Ann", "Ann knows Ann"], 2)]


def test_a_limit_cuts_each_answer_and_the_total_tells(town: Memory) -> None:
    assert ends(town, "Ann", "Cleo", limit=1) == [(["Ann knows Ben"], 4), (["Cleo knows Ann"], 1)]


def test_there_is_one_answer_a_name_unknown_ones_too(town: Memory) -> None:
    assert ends(town, "Ben", "Nobody", "Cleo") == [([], 0), ([], 0), (["Cleo knows Ann"], 1)]
    assert town.neighbours([]) == []


def test_ended_and_planned_edges_do_not_count(town: Memory, clock: Clock) -> None:
    town.unlink("Ann", "knows", "Ben")
    town.link("Ann", "meets", "Eve", valid_from=clock.now + DAY)
    assert ends(town, "Ann")[0][1] == 3
    clock.tick(DAY)
    assert ends(town, "Ann")[0] == (
        ["Ann likes Ben", "Ann knows Ann", "Ann knows Dan", "Ann meets Eve"],
        4,
    )


def test_a_namespace_sees_its_own_edges_only(memory: Memory) -> None:
    memory.link("Ann", "knows", "Ben", namespace=("a",))
    memory.link("Ann", "knows", "Cleo", namespace=("a", "b"))
    assert ends(memory, "Ann", namespace=("a",)) == [(["Ann knows Ben"], 1)]
    assert ends(memory, "Ann", namespace=("a", "b")) == [(["Ann knows Cleo"], 1)]
    assert ends(memory, "Ann") == ends(memory, "Ann", namespace=("c",)) == [([], 0)]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"entities": "Ann"}, WrongTypeError),
        ({"entities": ["!"]}, InvalidInputError),
        ({"entities": ["Ann"], "direction": "both"}, InvalidInputError),
        ({"entities": ["Ann"], "limit": 0}, InvalidInputError),
        ({"entities": ["Ann"], "limit": 1_000_001}, InvalidInputError),
    ],
)
def test_bad_input_is_refused(
    memory: Memory, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        memory.neighbours(**arguments)


# -- keys


def test_keys_of_current_facts_come_sorted_page_by_page(memory: Memory, clock: Clock) -> None:
    for key in ("d", "a", "c", "b", "é", "B"):
        memory.remember(f"text of {key}", key=key)
    memory.remember("another text", key="a")
    memory.remember("no key")
    memory.write(forget=[((), "c")], end=[((), "b")])
    memory.remember("short-lived", key="e", ttl=1)
    clock.tick(1_000)
    first = memory.keys(limit=2)
    assert first.keys == ("B", "a")
    rest = memory.keys(limit=2, cursor=first.next_cursor)
    assert (rest.keys, rest.next_cursor) == (("d", "é"), None)
    with pytest.raises(StaleCursorError):
        memory.keys(namespace=("x",), cursor=first.next_cursor)


def test_keys_beyond_one_are_listed(memory: Memory) -> None:
    memory.remember_many({"text": key, "key": key} for key in "abcd")
    assert memory.keys(after="b").keys == ("c", "d")
    assert memory.keys(after="aa").keys == ("b", "c", "d")
    page = memory.keys(after="a", limit=1)
    assert memory.keys(after="a", cursor=page.next_cursor).keys == ("c", "d")
    with pytest.raises(StaleCursorError):
        memory.keys(after="b", cursor=page.next_cursor)


def test_keys_of_other_namespaces_are_not_listed(memory: Memory) -> None:
    for scope in [(), ("x",), ("x", "y")]:
        memory.remember("text", key="-".join(("k", *scope)), namespace=scope)
    assert memory.keys().keys == ("k",)
    assert memory.keys(namespace=("x",)).keys == ("k-x",)
    assert memory.keys(namespace=("never",)).keys == ()
