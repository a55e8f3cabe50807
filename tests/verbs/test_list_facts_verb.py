"""`list_facts`: every condition, and pages that hold still while facts come and go."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, START, Clock
from conftest import OpenMemory

from plugmem_core import InvalidInputError, Memory, StaleCursorError


@pytest.fixture
def shelf(memory: Memory, clock: Clock) -> Memory:
    """Facts 0 to 5 of successive days; 1 is superseded by 5, and 4 is in a namespace."""
    memory.remember("tea", entity="Mara", tags=["drink", "hot"], metadata={"price": 3}, key="t")
    clock.tick(DAY)
    memory.remember("milk", entity="Mara", tags=["drink"], metadata={"price": 1.5})
    clock.tick(DAY)
    memory.remember("bread", entity="Tomas", tags=["food"], metadata={"price": 3, "rye": True})
    clock.tick(DAY)
    memory.remember("nothing", valid_from=START - 10 * DAY)
    clock.tick(DAY)
    memory.remember("tea", entity="mara", tags=["hot"], key="t", namespace=("shop",))
    clock.tick(DAY)
    memory.revise(1, "oat milk")
    return memory


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, [0, 2, 3, 4, 5]),
        ({"closed": True}, [0, 1, 2, 3, 4, 5]),
        ({"tags": ["drink"]}, [0, 5]),
        ({"tags": ["drink", "hot"]}, [0]),
        ({"tags": ["Drink"]}, []),
        ({"any_tags": ["food", "hot"]}, [0, 2, 4]),
        ({"any_tags": ["unknown"]}, []),
        ({"not_tags": ["hot"]}, [2, 3, 5]),
        ({"not_tags": ["unknown"]}, [0, 2, 3, 4, 5]),
        ({"tags": ["hot"], "not_tags": ["drink"]}, [4]),
        ({"tags": ["drink"], "any_tags": ["hot", "food"], "closed": True}, [0]),
        ({"entity": "MARA"}, [0, 4, 5]),
        ({"entity": "nobody"}, []),
        ({"entity": "mara", "namespace": ("shop",)}, [4]),
        ({"key": "t"}, [0, 4]),
        ({"key": "T"}, []),
        ({"key": "t", "namespace": ("shop",)}, [4]),
        ({"where": {"price": 3}}, [0, 2]),
        ({"where": {"price": {"$lt": 3}}}, [5]),
        ({"where": {"price": {"$exists": False}}}, [3, 4]),
        ({"where": {"rye": {"$ne": True}}, "entity": "mara"}, [0, 4, 5]),
        ({"where": {}}, [0, 2, 3, 4, 5]),
        ({"as_of": START + DAY}, [0, 1]),
        ({"as_of": START + 5 * DAY - 1}, [0, 1, 2, 3, 4]),
        ({"as_of": START - 1}, []),
        ({"valid_at": START - DAY}, [3]),
        ({"valid_at": START + DAY}, [0, 1, 3]),
        ({"known_at": START + 2 * DAY}, [0, 1, 2]),
        ({"valid_at": START - DAY, "known_at": START + 2 * DAY}, []),
        ({"range": (START + DAY, START + 3 * DAY)}, [2]),
        ({"range": (START + DAY, START + 3 * DAY), "closed": True}, [1, 2]),
        ({"range": (START, START)}, []),
        ({"namespace": ("shop",)}, [4]),
        ({"namespace": ("sho",)}, []),
        ({"tags": ["hot"], "entity": "mara", "key": "t", "range": (0, START + DAY)}, [0]),
    ],
    ids=str,
)
def test_conditions_narrow_the_listing(
    shelf: Memory, conditions: dict[str, Any], expected: list[int]
) -> None:
    page = shelf.list_facts(**conditions)
    assert [fact.id for fact in page] == expected
    assert page.next_cursor is None


def pages(
    memory: Memory, limit: int, between: Callable[[], object], **conditions: Any
) -> list[int]:
    """All ids of a listing, and what happens between two of its pages."""
    ids: list[int] = []
    cursor = None
    while True:
        page = memory.list_facts(limit=limit, cursor=cursor, **conditions)
        ids += [fact.id for fact in page]
        cursor = page.next_cursor
        if cursor is None:
            return ids
        assert len(page) == limit
        between()


@pytest.mark.parametrize("limit", [1, 2, 5, 6, 1000])
def test_pages_join_up(shelf: Memory, limit: int) -> None:
    assert pages(shelf, limit, lambda: None, closed=True) == [0, 1, 2, 3, 4, 5]


def test_a_full_last_page_has_no_next_one(shelf: Memory) -> None:
    assert shelf.list_facts(closed=True, limit=6).next_cursor is None


def test_facts_stored_between_pages_come_at_the_end_once(memory: Memory) -> None:
    memory.remember_many({"text": f"note {i}"} for i in range(6))
    new = iter(range(3))

    def store() -> None:
        if (number := next(new, None)) is not None:
            memory.remember(f"new {number}")

    assert pages(memory, 2, store) == list(range(9))


def test_facts_forgotten_and_purged_between_pages_hide_no_others(memory: Memory) -> None:
    memory.remember_many({"text": f"note {i}"} for i in range(9))
    doomed = iter([0, 5, 1])

    def forget() -> None:
        if (target := next(doomed, None)) is not None:
            memory.forget(target)
            memory.maintain()

    assert pages(memory, 2, forget) == [0, 1, 2, 3, 4, 6, 7, 8]


def test_the_fact_a_cursor_stands_on_may_vanish(memory: Memory) -> None:
    memory.remember_many({"text": f"note {i}"} for i in range(4))
    first = memory.list_facts(limit=2)
    memory.forget(first[-1].id)
    memory.maintain()
    assert [fact.id for fact in memory.list_facts(limit=2, cursor=first.next_cursor)] == [2, 3]


def test_revisions_between_pages_repeat_no_id(memory: Memory, clock: Clock) -> None:
    memory.remember_many({"text": f"note {i}"} for i in range(4))
    first = memory.list_facts(limit=2)
    clock.tick()
    memory.revise(3, "changed")
    rest = memory.list_facts(limit=9, cursor=first.next_cursor)
    assert [fact.id for fact in rest] == [2, 4]


def test_a_cursor_holds_in_another_handle_and_after_a_rebuild(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    one, other = open_memory(tmp_path / "m.db"), open_memory(tmp_path / "m.db")
    one.remember_many({"text": f"note {i}"} for i in range(4))
    cursor = one.list_facts(limit=2).next_cursor
    other.rebuild()
    assert [fact.id for fact in other.list_facts(limit=2, cursor=cursor)] == [2, 3]


def test_the_page_size_may_change_between_pages(shelf: Memory) -> None:
    cursor = shelf.list_facts(limit=1).next_cursor
    assert [fact.id for fact in shelf.list_facts(limit=3, cursor=cursor)] == [2, 3, 4]


@pytest.mark.parametrize(
    "other",
    [
        {"closed": True},
        {"tags": ["hot"]},
        {"any_tags": ["drink"]},
        {"not_tags": ["drink"]},
        {"entity": "mara"},
        {"key": "t"},
        {"where": {"price": 3}},
        {"as_of": START + DAY},
        {"valid_at": START},
        {"known_at": START},
        {"range": (START, START + DAY)},
        {"namespace": ("shop",)},
    ],
    ids=str,
)
def test_a_cursor_of_a_listing_with_other_arguments_is_stale(
    shelf: Memory, other: dict[str, Any]
) -> None:
    cursor = shelf.list_facts(tags=["drink"], limit=1).next_cursor
    assert cursor is not None
    with pytest.raises(StaleCursorError, match="other arguments"):
        shelf.list_facts(cursor=cursor, **{"tags": ["drink"], **other})


def test_a_cursor_of_another_verb_is_stale(shelf: Memory) -> None:
    with pytest.raises(StaleCursorError):
        shelf.list_facts(cursor=shelf.tags(limit=1).next_cursor)
    with pytest.raises(StaleCursorError):
        shelf.tags(cursor=shelf.list_facts(limit=1).next_cursor)
    with pytest.raises(StaleCursorError):
        shelf.entities(cursor=shelf.tags(limit=1).next_cursor)


@pytest.mark.parametrize("cursor", ["", "0", "%%%", "e30=", "WzFd", "é", "AAAA", 5, b"x"])
def test_what_is_no_cursor_is_refused(shelf: Memory, cursor: Any) -> None:
    for listing in (shelf.list_facts, shelf.tags, shelf.entities):
        with pytest.raises(InvalidInputError, match="cursor"):
            listing(cursor=cursor)


@pytest.mark.parametrize("limit", [0, -1, 1001, 2**40, True, 2.0, "9", None])
def test_page_sizes_are_bounded(shelf: Memory, limit: Any) -> None:
    for listing in (shelf.list_facts, shelf.tags, shelf.entities):
        with pytest.raises(InvalidInputError, match="limit"):
            listing(limit=limit)


def test_a_page_is_a_sequence(shelf: Memory) -> None:
    page = shelf.list_facts(limit=2)
    assert (len(page), page[0].id, [fact.id for fact in page]) == (2, 0, [0, 2])
