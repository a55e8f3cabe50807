"""`link`, `unlink` and `edges`."""

from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory

from plugmem_core import Edge, InvalidInputError, Memory, NotFoundError


def triples(edges: tuple[Edge, ...]) -> list[tuple[str, str, str]]:
    return [(edge.src, edge.relation, edge.dst) for edge in edges]


# --- opening ----------------------------------------------------------------------------------


def test_a_link_returns_the_edge_that_holds(memory: Memory) -> None:
    memory.remember("Owen mentors Priya")
    edge = memory.link("Owen", "mentors", "Priya", provenance=0, properties={"since": [2024]})
    assert edge == Edge(
        id=0,
        src="Owen",
        relation="mentors",
        dst="Priya",
        provenance=0,
        properties={"since": [2024]},
        namespace=(),
        recorded_at=START,
        valid_from=START,
        valid_to=None,
    )
    assert memory.edges() == (edge,)
    assert (memory.stats().edges, memory.stats().edge_versions) == (1, 1)
    assert memory.stats().entities == 2


def test_the_same_link_again_changes_nothing(memory: Memory, clock: Clock) -> None:
    first = memory.link("Owen", "mentors", "Priya", properties={"a": 1, "b": 2})
    clock.tick()
    assert memory.link("OWEN!", "mentors", "priya", properties={"b": 2, "a": 1}) == first
    assert memory.stats().edge_versions == 1


@pytest.mark.parametrize(
    "change", [{"provenance": 1}, {"properties": {"a": 2}}, {"properties": None}], ids=str
)
def test_a_link_with_other_particulars_begins_a_new_version(
    memory: Memory, clock: Clock, change: dict[str, Any]
) -> None:
    memory.remember_many([{"text": "first"}, {"text": "second"}])
    memory.link("Owen", "mentors", "Priya", provenance=0, properties={"a": 1})
    clock.tick()
    memory.link("Owen", "mentors", "Priya", **{"provenance": 0, "properties": {"a": 1}, **change})
    old, new = memory.edges(history=True)
    assert (old.valid_from, old.valid_to) == (START, clock.now)
    assert (new.valid_from, new.valid_to, new.id) == (clock.now, None, 1)
    assert memory.edges() == (new,)


def test_relations_are_verbatim(memory: Memory) -> None:
    for relation in ("mentors", "Mentors", " mentors", "mentors ", "men%", "reports to"):
        memory.link("Owen", relation, "Priya")
    assert len(memory.edges()) == 6
    assert triples(memory.edges(relation="men%")) == [("Owen", "men%", "Priya")]
    assert memory.unlink("Owen", "MENTORS", "Priya") is False


def test_direction_matters_and_self_loops_are_allowed(memory: Memory) -> None:
    memory.link("a", "r", "b")
    memory.link("b", "r", "a")
    memory.link("a", "r", "a")
    assert triples(memory.edges("a")) == [("a", "r", "b"), ("b", "r", "a"), ("a", "r", "a")]
    assert triples(memory.edges("b")) == [("a", "r", "b"), ("b", "r", "a")]


@pytest.mark.parametrize("provenance", [0, 7, 4_000_000_000])
def test_an_unknown_provenance_is_refused_and_makes_nothing(
    memory: Memory, provenance: int
) -> None:
    with pytest.raises(NotFoundError, match=str(provenance)):
        memory.link("Owen", "mentors", "Priya", provenance=provenance)
    assert memory.edges(history=True) == ()
    assert memory.stats().entities == 0
    assert memory.verify().ok


def test_a_forgotten_provenance_is_refused(memory: Memory) -> None:
    memory.remember("Owen mentors Priya")
    memory.forget(0)
    with pytest.raises(NotFoundError):
        memory.link("Owen", "mentors", "Priya", provenance=0)


def test_a_provenance_outside_the_namespace_is_refused(memory: Memory) -> None:
    memory.remember("secret", namespace=("a",))
    with pytest.raises(NotFoundError):
        memory.link("Owen", "mentors", "Priya", provenance=0, namespace=("b",))


def test_an_edge_outlives_the_fact_it_follows_from(memory: Memory) -> None:
    memory.remember("Owen mentors Priya", entity="Owen", links=[("mentors", "Priya")])
    memory.forget(0)
    memory.maintain()
    assert triples(memory.edges("priya")) == [("Owen", "mentors", "Priya")]
    assert triples(memory.recall(entities=["priya"]).edges) == [("Owen", "mentors", "Priya")]
    assert memory.verify().ok


# --- ending -----------------------------------------------------------------------------------


def test_an_unlinked_edge_ends_and_stays_in_history(memory: Memory, clock: Clock) -> None:
    memory.link("Owen", "mentors", "Priya")
    clock.tick()
    assert memory.unlink("owen", "mentors", "PRIYA") is True
    assert memory.unlink("owen", "mentors", "PRIYA") is False
    assert memory.edges() == ()
    assert [edge.valid_to for edge in memory.edges(history=True)] == [clock.now]
    assert (memory.stats().edges, memory.stats().edge_versions) == (0, 1)


def test_an_edge_can_be_opened_again(memory: Memory, clock: Clock) -> None:
    memory.link("Owen", "mentors", "Priya")
    clock.tick()
    memory.unlink("Owen", "mentors", "Priya")
    clock.tick()
    memory.link("Owen", "mentors", "Priya")
    assert [edge.id for edge in memory.edges()] == [1]
    lived = [(edge.valid_from - START, edge.valid_to) for edge in memory.edges(history=True)]
    assert lived == [(0, START + SECOND), (2 * SECOND, None)]


def test_unlinking_what_was_never_there_makes_nothing(memory: Memory) -> None:
    memory.link("Owen", "mentors", "Priya")
    stats = memory.stats()
    for triple in (
        ("Priya", "mentors", "Owen"),
        ("Owen", "likes", "Priya"),
        ("Nobody", "mentors", "Priya"),
        ("Owen", "mentors", "Nobody"),
    ):
        assert memory.unlink(*triple) is False
    assert memory.unlink("Owen", "mentors", "Priya", namespace=("x",)) is False
    assert memory.stats() == stats


# --- looking at them --------------------------------------------------------------------------


def test_edges_as_of_hold_from_their_start_to_just_before_their_end(
    memory: Memory, clock: Clock
) -> None:
    memory.link("Owen", "mentors", "Priya")
    clock.tick(DAY)
    memory.unlink("Owen", "mentors", "Priya")
    instants = [START - 1, START, START + DAY - 1, START + DAY, START + 2 * DAY]
    held = [False, True, True, False, False]
    assert [bool(memory.edges(as_of=at)) for at in instants] == held
    assert [bool(memory.recall(entities=["Owen"], as_of=at).edges) for at in instants] == held


def test_an_edge_recorded_later_was_not_known_before(memory: Memory) -> None:
    memory.link("Owen", "mentors", "Priya", valid_from=START - 10 * DAY)
    assert memory.edges(as_of=START - DAY) == ()
    assert len(memory.edges(as_of=START)) == 1
    assert memory.edges()[0].valid_from == START - 10 * DAY


def test_an_edge_of_the_future_holds_from_then_on(memory: Memory, clock: Clock) -> None:
    memory.link("Owen", "mentors", "Priya", valid_from=START + DAY)
    assert memory.edges() == ()
    assert memory.recall(entities=["Owen"]).edges == ()
    assert len(memory.edges(as_of=START + DAY)) == 1
    clock.set(START + DAY)
    assert len(memory.edges()) == len(memory.recall(entities=["Owen"]).edges) == 1


def test_an_edge_with_a_successor_in_the_future_holds_until_then(
    memory: Memory, clock: Clock
) -> None:
    memory.link("Owen", "mentors", "Priya", properties={"level": 1})
    memory.link("Owen", "mentors", "Priya", properties={"level": 2}, valid_from=START + DAY)
    for now, level in ((START, 1), (START + DAY - 1, 1), (START + DAY, 2)):
        clock.set(now)
        assert [edge.properties for edge in memory.edges()] == [{"level": level}]
        assert [edge.properties for edge in memory.edges(as_of=now)] == [{"level": level}]
        walked = memory.recall(entities=["Owen"]).edges
        assert [edge.properties for edge in walked] == [{"level": level}]


def test_history_shows_every_version_in_order(memory: Memory, clock: Clock) -> None:
    memory.remember_many([{"text": f"source {i}"} for i in range(3)])
    for i in range(3):
        memory.link("Owen", "mentors", "Priya", provenance=i)
        clock.tick()
    memory.unlink("Owen", "mentors", "Priya")
    history = memory.edges("owen", history=True)
    assert [edge.provenance for edge in history] == [0, 1, 2]
    assert [edge.valid_to for edge in history] == [START + i * SECOND for i in (1, 2, 3)]


def test_edges_can_be_narrowed(memory: Memory) -> None:
    memory.link("a", "r", "b")
    memory.link("b", "s", "c")
    memory.link("c", "r", "a")
    assert triples(memory.edges()) == [("a", "r", "b"), ("b", "s", "c"), ("c", "r", "a")]
    assert triples(memory.edges("A")) == [("a", "r", "b"), ("c", "r", "a")]
    assert triples(memory.edges("a", relation="s")) == []
    assert triples(memory.edges(relation="r")) == [("a", "r", "b"), ("c", "r", "a")]
    assert memory.edges("nobody") == ()


def test_one_instant_or_all_of_history_but_not_both(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="history"):
        memory.edges(as_of=START, history=True)


def test_edges_of_a_scope_include_those_below_it(memory: Memory) -> None:
    for namespace in ((), ("a",), ("a", "b"), ("ab",)):
        memory.link("x", "r", "y", namespace=namespace)
    assert [edge.namespace for edge in memory.edges(namespace=("a",))] == [("a",), ("a", "b")]
    assert [edge.namespace for edge in memory.edges("x", namespace=("a", "b"))] == [("a", "b")]
    assert len(memory.edges("x")) == 4


def test_an_unlink_ends_the_edge_of_exactly_one_namespace(memory: Memory) -> None:
    for namespace in ((), ("a",), ("a", "b")):
        memory.link("x", "r", "y", namespace=namespace)
    assert memory.unlink("x", "r", "y", namespace=("a",))
    assert [edge.namespace for edge in memory.edges()] == [(), ("a", "b")]


def test_edges_survive_reopening(open_memory: OpenMemory, clock: Clock, tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.link("Owen", "mentors", "Priya", properties={"a": 1})
        clock.tick()
        memory.unlink("Owen", "mentors", "Priya")
        clock.tick()
        memory.link("Priya", "mentors", "Owen")
        expected = (memory.edges(), memory.edges(history=True), memory.edges(as_of=START))
    memory = open_memory(tmp_path / "m.db")
    assert (memory.edges(), memory.edges(history=True), memory.edges(as_of=START)) == expected
    assert triples(memory.recall(entities=["Owen"]).edges) == [("Priya", "mentors", "Owen")]
    assert memory.verify().ok
