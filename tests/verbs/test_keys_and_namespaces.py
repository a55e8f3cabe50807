"""Reading by key and by id: `get_by_keys`, `vectors`, `namespaces`; copies of a memory."""

import asyncio
import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import SECOND, START, Clock
from conftest import OpenMemory
from hypothesis import given
from hypothesis import strategies as st
from strategies import namespaces

from plugmem_core import (
    HashingEmbedder,
    InvalidInputError,
    Memory,
    Namespace,
    PlugmemError,
    StaleCursorError,
    WrongTypeError,
)

ANN: Namespace = ("users", "ann")
BOB: Namespace = ("users", "bob")


def by_keys(memory: Memory, *keys: str, **options: Any) -> list[int]:
    return [fact.id for fact in memory.get_by_keys(keys, **options)]


# -- get_by_keys


@pytest.fixture
def drinks(memory: Memory, clock: Clock) -> Memory:
    """Drinks 0 and 1 are Ann's, 2 is Bob's; 3 is Ann's food; one second after another."""
    for text, key, namespace in [
        ("tea", "drink", ANN), ("green tea", "drink", ANN), ("coffee", "drink", BOB),
        ("bread", "food", ANN),
    ]:  # fmt: skip
        memory.remember(text, key=key, namespace=namespace)
        clock.tick()
    return memory


def test_keys_lead_to_the_current_facts_by_id(drinks: Memory) -> None:
    assert by_keys(drinks, "drink") == [1, 2]
    assert by_keys(drinks, "food", "drink") == [1, 2, 3]
    assert drinks.get_by_keys(["food"]) == [drinks.get(3)]


def test_unknown_keys_are_left_out(drinks: Memory) -> None:
    assert by_keys(drinks, "drinks", "Drink", "drink ", "drin%", "food") == [3]
    assert by_keys(drinks) == []
    assert by_keys(drinks, "nothing") == []


def test_a_key_given_twice_counts_once(drinks: Memory) -> None:
    assert by_keys(drinks, "food", "food", "food") == [3]


def test_superseded_facts_come_when_asked_for(drinks: Memory) -> None:
    assert by_keys(drinks, "drink", closed=True) == [0, 1, 2]


def test_keys_lead_to_what_was_there_at_an_instant(drinks: Memory) -> None:
    assert by_keys(drinks, "drink", as_of=START - 1) == []
    assert by_keys(drinks, "drink", as_of=START) == [0]
    assert by_keys(drinks, "drink", as_of=START + SECOND) == [1]
    assert by_keys(drinks, "drink", as_of=START + SECOND, closed=True) == [0, 1]
    assert by_keys(drinks, "drink", as_of=START + 2 * SECOND) == [1, 2]


def test_keys_are_looked_up_in_the_scope(drinks: Memory) -> None:
    assert by_keys(drinks, "drink", namespace=ANN) == [1]
    assert by_keys(drinks, "drink", namespace=("users",)) == [1, 2]
    assert by_keys(drinks, "drink", namespace=("user",)) == []
    assert by_keys(drinks, "drink", namespace=(*ANN, "more")) == []
    assert by_keys(drinks, "food", namespace=BOB) == []


def test_what_is_gone_is_not_under_its_key(drinks: Memory, clock: Clock) -> None:
    drinks.forget(1)
    drinks.end(2)
    drinks.set_ttl([3], 1)
    clock.tick()
    assert by_keys(drinks, "drink", "food") == []
    assert by_keys(drinks, "drink", "food", closed=True) == [0, 2]
    assert by_keys(drinks, "drink", "food", as_of=START + 3 * SECOND) == [2]


def test_a_planned_fact_is_under_its_key_once_it_is_true(memory: Memory, clock: Clock) -> None:
    memory.remember("a plan", key="k", valid_from=clock.now + SECOND)
    assert by_keys(memory, "k") == []
    clock.tick()
    assert by_keys(memory, "k") == [0]


@pytest.mark.parametrize("count", [499, 500, 501, 1_300])
def test_there_may_be_any_number_of_keys(memory: Memory, count: int) -> None:
    memory.remember_many({"text": f"fact {n}", "key": f"k{n}"} for n in range(count))
    keys = [f"k{n}" for n in reversed(range(count + 200))]
    assert by_keys(memory, *keys) == list(range(count))
    assert by_keys(memory, *keys, *keys) == list(range(count))


def test_a_key_that_is_written_while_it_is_read_leads_to_its_fact(
    drinks: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = drinks._engine.store
    read = store.by_keys

    def interrupted(keys: list[str]) -> list[int]:
        found = read(keys)
        monkeypatch.undo()
        drinks.remember("rooibos", key="drink", namespace=ANN)
        return found

    monkeypatch.setattr(store, "by_keys", interrupted)
    assert by_keys(drinks, "drink", namespace=ANN) == [4]


def test_keys_may_come_from_a_generator_and_hold_anything(memory: Memory) -> None:
    keys = ["'", '"', "a,b", "%", "?", "é", "e\u0301", "\n", "日本", "0", "x" * 100]
    keys = [key for key in keys if key.strip()]
    memory.remember_many({"text": f"fact {key!r}", "key": key} for key in keys)
    for place, key in enumerate(keys):
        assert [fact.id for fact in memory.get_by_keys(one for one in [key])] == [place]


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ("drink", "keys is 'drink'"), (b"drink", "keys"), (5, "keys"), (None, "keys"),
        (["drink", 5], r"keys\[1\]"), ([None], r"keys\[0\]"), (["a", " "], r"keys\[1\].*blank"),
        ([""], r"keys\[0\]"), (["a", "\ud800"], r"keys\[1\]"), (["x" * 100_000], r"keys\[0\]"),
    ],
)  # fmt: skip
def test_bad_keys_are_named(drinks: Memory, keys: Any, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        drinks.get_by_keys(keys)


def test_bad_options_of_get_by_keys_are_named(drinks: Memory) -> None:
    with pytest.raises(InvalidInputError, match="as_of"):
        drinks.get_by_keys(["drink"], as_of="soon")
    with pytest.raises(InvalidInputError, match="closed"):
        drinks.get_by_keys(["drink"], closed=1)
    with pytest.raises(InvalidInputError, match="namespace"):
        drinks.get_by_keys(["drink"], namespace="ann")


def test_the_async_twins_read_the_same(drinks: Memory) -> None:
    async def read() -> list[Any]:
        return [
            await drinks.aget_by_keys(["drink"], closed=True),
            await drinks.anamespaces(),
            await drinks.avectors([0]),
        ]

    assert asyncio.run(read()) == [
        drinks.get_by_keys(["drink"], closed=True),
        drinks.namespaces(),
        [None],
    ]


# -- vectors


@pytest.fixture
def arrows(open_memory: OpenMemory) -> Memory:
    """Facts 0 to 3; 2 has no vector, 3 is Bob's."""
    memory = open_memory(dim=3)
    memory.remember("east", vector=[1.0, 0.0, 0.0])
    memory.remember("long", vector=[3.25, -4.5, 1e-3], namespace=ANN)
    memory.remember("nowhere")
    memory.remember("up", vector=[0.0, 0.0, 2.0], namespace=BOB)
    return memory


def shown(vectors: list[Any]) -> list[Any]:
    return [None if vector is None else vector.tolist() for vector in vectors]


def test_vectors_come_back_exactly_as_given_in_the_order_asked(arrows: Memory) -> None:
    vectors = arrows.vectors([3, 1, 0])
    assert all(vector.dtype == np.float32 and vector.shape == (3,) for vector in vectors)
    long = np.array([3.25, -4.5, 1e-3], np.float32).tolist()
    assert shown(vectors) == [[0.0, 0.0, 2.0], long, [1.0, 0.0, 0.0]]


def test_an_id_without_a_vector_gives_none(arrows: Memory) -> None:
    assert shown(arrows.vectors([2, 99, 0, 2])) == [None, None, [1.0, 0.0, 0.0], None]
    assert arrows.vectors([]) == []


def test_an_id_given_twice_gives_its_vector_twice(arrows: Memory) -> None:
    assert shown(arrows.vectors([0, 3, 0])) == [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]


def test_vectors_of_other_namespaces_are_not_here(arrows: Memory) -> None:
    assert [one is None for one in arrows.vectors([0, 1, 3], namespace=ANN)] == [True, False, True]
    assert [one is None for one in arrows.vectors([0, 1, 3], namespace=("users",))] == [
        True, False, False,
    ]  # fmt: skip


def test_a_superseded_or_ended_fact_has_its_vector_still(arrows: Memory) -> None:
    arrows.revise(0, vector=[0.0, 1.0, 0.0])
    arrows.end(3)
    assert shown(arrows.vectors([0, 4, 3])) == [
        [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0],
    ]  # fmt: skip


def test_a_forgotten_or_expired_fact_has_none(arrows: Memory, clock: Clock) -> None:
    arrows.forget(0)
    arrows.set_ttl([1], 1)
    clock.tick()
    assert shown(arrows.vectors([0, 1, 3])) == [None, None, [0.0, 0.0, 2.0]]


def test_vectors_are_the_callers_own(arrows: Memory) -> None:
    [vector] = arrows.vectors([0])
    assert vector is not None
    vector = vector.copy()
    vector[:] = 7
    assert shown(arrows.vectors([0])) == [[1.0, 0.0, 0.0]]


def test_many_vectors_can_be_read_at_once(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember_many({"text": f"fact {n}", "vector": [1.0, float(n)]} for n in range(1_201))
    assert shown(memory.vectors(range(1_201))) == [[1.0, float(n)] for n in range(1_201)]


def test_a_memory_without_vectors_has_none(memory: Memory) -> None:
    memory.remember("one")
    assert memory.vectors([0]) == [None]


def test_an_embedders_vectors_are_read_as_they_were_made(open_memory: OpenMemory) -> None:
    embedder = HashingEmbedder(16)
    memory = open_memory(embedder=embedder)
    memory.remember("green tea")
    assert shown(memory.vectors([0])) == [embedder.embed_query("green tea").tolist()]


@pytest.mark.parametrize("ids", ["0", 0, [True], ["0"], [-1], [0.0], None])
def test_bad_ids_are_refused(arrows: Memory, ids: Any) -> None:
    with pytest.raises(InvalidInputError, match="ids"):
        arrows.vectors(ids)


# -- namespaces


def counted(memory: Memory, **options: Any) -> dict[Namespace, int]:
    return {one.namespace: one.facts for one in memory.namespaces(**options)}


def test_namespaces_are_counted_each_for_itself_by_label(memory: Memory) -> None:
    for namespace, count in [(BOB, 1), ((), 2), (ANN, 3), ((*ANN, "notes"), 1), (("a",), 1)]:
        memory.remember_many({"text": f"t{n}", "namespace": namespace} for n in range(count))
    page = memory.namespaces()
    assert [tuple(one) for one in page] == [
        ((), 2), (("a",), 1), (ANN, 3), ((*ANN, "notes"), 1), (BOB, 1),
    ]  # fmt: skip
    assert page.next_cursor is None
    assert len(page) == 5
    assert page[0].facts == 2


def test_an_empty_memory_has_no_namespaces(memory: Memory) -> None:
    assert list(memory.namespaces()) == []
    assert list(memory.namespaces(namespace=("a",))) == []


def test_only_current_facts_count(memory: Memory, clock: Clock) -> None:
    for place, namespace in enumerate([("a",), ("b",), ("c",), ("d",), ("e",)]):
        memory.remember("first", namespace=namespace)
        memory.remember(f"second {place}", namespace=namespace)
    memory.forget_many([0, 1])
    memory.end(2)
    memory.end(3)
    memory.set_ttl([4, 5], 1)
    memory.revise(6, "third")
    memory.forget(8)
    clock.tick()
    assert counted(memory) == {("d",): 2, ("e",): 1}
    memory.maintain()
    memory.rebuild()
    assert counted(memory) == {("d",): 2, ("e",): 1}


def test_an_entity_alone_makes_no_namespace(memory: Memory) -> None:
    memory.link("Ann", "knows", "Bob", namespace=ANN)
    assert counted(memory) == {}


def test_the_scope_is_by_whole_labels(memory: Memory) -> None:
    spaces: list[Namespace] = [
        (), ("a",), ("a", "b"), ("a", "bb"), ("a.b",), ("a\x1fb",), ("A",), ("aa",), ("a ",),
        ("a%",), ("b", "a"), ("а",),
    ]  # fmt: skip
    memory.remember_many({"text": "t", "namespace": namespace} for namespace in spaces)
    assert counted(memory, namespace=("a",)) == {("a",): 1, ("a", "b"): 1, ("a", "bb"): 1}
    assert counted(memory, namespace=("a", "b")) == {("a", "b"): 1}
    assert counted(memory, namespace=("%",)) == {}
    assert counted(memory) == dict.fromkeys(spaces, 1)


def test_pages_partition_the_namespaces(memory: Memory) -> None:
    spaces: list[Namespace] = [("u", f"{n:03}") for n in range(150)]
    memory.remember_many({"text": "t", "namespace": namespace} for namespace in reversed(spaces))
    for limit in (1, 7, 50, 149, 150, 151, 1_000):
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            page = memory.namespaces(limit=limit, cursor=cursor)
            found += [one.namespace for one in page]
            cursor, pages = page.next_cursor, pages + 1
            assert pages <= len(spaces)  # rather than going round for ever
        assert found == spaces
        assert pages == -(-150 // limit)
    assert len(memory.namespaces()) == 64


def test_pages_hold_under_writes(memory: Memory) -> None:
    spaces: list[Namespace] = [(letter,) for letter in "bdfhjl"]
    memory.remember_many({"text": "t", "namespace": namespace} for namespace in spaces)
    first = memory.namespaces(limit=2)
    assert [one.namespace for one in first] == [("b",), ("d",)]
    # One before and one behind the cursor come, its own and one behind it go.
    memory.remember_many({"text": "t", "namespace": (letter,)} for letter in "ag")
    memory.forget_many([1, 3])
    rest = memory.namespaces(limit=9, cursor=first.next_cursor)
    assert [one.namespace for one in rest] == [("f",), ("g",), ("j",), ("l",)]
    memory.rebuild()
    assert memory.namespaces(limit=9, cursor=first.next_cursor) == rest


def test_a_cursor_outlives_the_handle(open_memory: OpenMemory, tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.remember_many({"text": "t", "namespace": (letter,)} for letter in "abc")
        cursor = memory.namespaces(limit=1).next_cursor
    rest = open_memory(tmp_path / "m").namespaces(cursor=cursor)
    assert [one.namespace for one in rest] == [("b",), ("c",)]


def test_the_root_can_be_the_last_of_a_page(memory: Memory) -> None:
    memory.remember_many([{"text": "t"}, {"text": "t", "namespace": ("a",)}])
    page = memory.namespaces(limit=1)
    assert [one.namespace for one in page] == [()]
    rest = memory.namespaces(limit=1, cursor=page.next_cursor)
    assert [one.namespace for one in rest] == [("a",)]
    assert rest.next_cursor is None


def test_a_cursor_of_another_listing_is_refused(memory: Memory) -> None:
    memory.remember_many({"text": f"t{n}", "namespace": ("a", f"{n}")} for n in range(4))
    cursor = memory.namespaces(limit=2).next_cursor
    with pytest.raises(StaleCursorError):
        memory.namespaces(namespace=("a",), cursor=cursor)
    with pytest.raises(StaleCursorError):
        memory.list_facts(cursor=cursor)
    with pytest.raises(StaleCursorError):
        memory.namespaces(cursor=memory.list_facts(limit=2).next_cursor)


@pytest.mark.parametrize("cursor", ["", "x", "x" * 99, 5, b"x", "W10=", "e30="])
def test_what_is_no_cursor_is_refused(memory: Memory, cursor: Any) -> None:
    with pytest.raises(InvalidInputError, match="cursor"):
        memory.namespaces(cursor=cursor)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"limit": 0}, "limit"), ({"limit": 1_001}, "limit"), ({"limit": "9"}, "limit"),
        ({"limit": True}, "limit"), ({"namespace": "a"}, "namespace"),
        ({"namespace": ("",)}, "namespace"),
    ],
)  # fmt: skip
def test_bad_options_are_named(memory: Memory, options: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        memory.namespaces(**options)


@given(st.lists(namespaces(), max_size=12), namespaces(), st.integers(1, 5))
def test_counts_are_what_a_list_of_facts_gives(
    spaces: list[Namespace], scope: Namespace, limit: int
) -> None:
    with Memory.open(":memory:") as memory:
        memory.remember_many({"text": f"t{n}", "namespace": one} for n, one in enumerate(spaces))
        expected = sorted(
            {(one, spaces.count(one)) for one in spaces if one[: len(scope)] == scope}
        )
        found: list[tuple[Namespace, int]] = []
        cursor = None
        for _ in range(len(expected) + 1):  # rather than going round for ever
            page = memory.namespaces(namespace=scope, limit=limit, cursor=cursor)
            found += [(one.namespace, one.facts) for one in page]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == expected


# -- copies of a memory, and its clock


def test_a_copy_of_a_memory_is_the_memory(memory: Memory) -> None:
    assert copy.deepcopy(memory) is memory
    assert copy.copy(memory) is memory
    [[held]] = copy.deepcopy([[memory]])
    assert held is memory


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_memory_cannot_be_pickled(memory: Memory, protocol: int) -> None:
    with pytest.raises(WrongTypeError, match="pickled; open the memory in the other process"):
        pickle.dumps({"memory": memory}, protocol)
    assert issubclass(WrongTypeError, (PlugmemError, TypeError))


def test_a_memory_tells_the_time_of_the_clock_it_was_opened_with(
    memory: Memory, clock: Clock
) -> None:
    clock.tick()
    assert memory.clock() == START + SECOND


def test_the_clock_is_the_systems_by_default() -> None:
    with Memory.open(":memory:") as memory:
        before = memory.clock()
        memory.remember("one")
        [fact] = memory.list_facts()
        assert before <= fact.recorded_at <= memory.clock()
