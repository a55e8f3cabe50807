"""`entities`, `rename_entity`, `alias_entity` and `merge_entities`."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from clocks import DAY, Clock
from conftest import OpenMemory
from hypothesis import given, settings
from hypothesis import strategies as st
from looking import stored

from plugmem_core import Entity, InvalidInputError, Memory, NotFoundError


def names(memory: Memory, *args: Any, **options: Any) -> list[tuple[str, tuple[str, ...], int]]:
    return [(e.name, e.aliases, e.facts) for e in memory.entities(*args, **options)]


def about(memory: Memory, entity: str, **options: Any) -> list[int]:
    return [fact.id for fact in memory.list_facts(entity=entity, **options)]


def around(memory: Memory, entity: str, **options: Any) -> set[int]:
    return {fact.id for fact in memory.recall(entities=[entity], anchors="given", **options).facts}


def triples(memory: Memory, *args: Any, **options: Any) -> list[tuple[str, str, str]]:
    return [(e.src, e.relation, e.dst) for e in memory.edges(*args, **options)]


@pytest.fixture
def people(memory: Memory, clock: Clock) -> Memory:
    memory.remember("likes tea", entity="Jon", links=[("knows", "Mara")])
    memory.remember("lives in Bern", entity="J. Ames")
    memory.remember("farms", entity="Mara")
    clock.tick(DAY)
    return memory


Check = Callable[[Memory], None]


def in_every_state(memory: Memory, check: Check) -> None:
    """Run a check on the index that followed, on one made anew, and expect both in order."""
    assert memory.verify().ok
    check(memory)
    memory.rebuild()
    check(memory)


# --- listing ----------------------------------------------------------------------------------


def test_entities_are_listed_by_name_with_their_current_facts(people: Memory) -> None:
    people.revise(2, "farms no more")
    people.forget(0)
    assert list(people.entities()) == [
        Entity("J. Ames", "j ames", (), (), 1),
        Entity("Jon", "jon", (), (), 0),
        Entity("Mara", "mara", (), (), 1),
    ]


def test_a_prefix_narrows_entities_to_the_letter(people: Memory) -> None:
    assert [e.name for e in people.entities("J")] == ["J. Ames", "Jon"]
    assert list(people.entities("j")) == []
    assert list(people.entities("J%")) == []


def test_pages_of_entities_join_up(people: Memory) -> None:
    first = people.entities(limit=2)
    people.remember("early bird", entity="Aaron")  # lies before the cursor
    assert [e.name for e in people.entities(limit=2, cursor=first.next_cursor)] == ["Mara"]


def test_entities_of_the_same_name_in_different_namespaces_are_different(memory: Memory) -> None:
    for namespace in ((), ("a",), ("a", "b")):
        memory.remember("x", entity="Jon", namespace=namespace)
    assert [e.namespace for e in memory.entities()] == [(), ("a",), ("a", "b")]
    assert [e.namespace for e in memory.entities(namespace=("a",))] == [("a",), ("a", "b")]
    assert [e.namespace for e in memory.entities(limit=2, namespace=("a",))] == [("a",), ("a", "b")]


# --- renaming ---------------------------------------------------------------------------------


def test_a_renamed_entity_keeps_its_facts_and_edges(people: Memory) -> None:
    people.rename_entity("jon", "John Ames")

    def check(memory: Memory) -> None:
        assert stored(memory, 0).entity == "John Ames"
        assert memory.recall("tea").facts[0].entity == "John Ames"
        assert about(memory, "john ames") == [0]
        assert around(memory, "John Ames", graph_depth=0) == {0}
        assert triples(memory) == [("John Ames", "knows", "Mara")]
        assert around(memory, "mara") == {0, 2}

    in_every_state(people, check)


def test_a_rename_may_change_the_spelling_only(people: Memory) -> None:
    people.rename_entity("Jon", "JON")
    assert stored(people, 0).entity == "JON"
    assert about(people, "jon") == [0]


def test_the_old_name_is_free_after_a_rename(people: Memory) -> None:
    people.rename_entity("Jon", "John")
    assert about(people, "Jon") == []
    people.remember("another one", entity="Jon")
    assert (about(people, "Jon"), about(people, "John")) == ([3], [0])


def test_a_name_that_is_taken_is_refused(people: Memory) -> None:
    people.alias_entity("Mara", "Maruschka")
    for taken in ("MARA", "maruschka"):
        with pytest.raises(InvalidInputError, match="merge_entities"):
            people.rename_entity("Jon", taken)
    assert stored(people, 0).entity == "Jon"


def test_an_entity_may_be_renamed_to_its_alias(people: Memory) -> None:
    people.alias_entity("Jon", "John")
    people.rename_entity("Jon", "John")
    assert names(people, "Jo") == [("John", (), 1)]
    assert about(people, "john") == [0]
    assert people.verify().ok


def test_names_shown_before_a_rename_are_not_remembered(people: Memory) -> None:
    people.recall("tea bern farms", entities=["Jon"])  # fills every cache
    people.edges()
    people.rename_entity("Mara", "Maria")
    assert stored(people, 2).entity == "Maria"
    assert people.recall(entities=["Jon"]).edges[0].dst == "Maria"
    assert triples(people) == [("Jon", "knows", "Maria")]


# --- aliases ----------------------------------------------------------------------------------


def test_an_alias_leads_to_its_entity_everywhere(people: Memory) -> None:
    people.alias_entity("J. Ames", "Johnny")
    people.remember("sings", entity="JOHNNY", links=[("near", "johnny")])
    people.link("Johnny", "knows", "Mara", provenance=2)

    def check(memory: Memory) -> None:
        assert names(memory, "J. ") == [("J. Ames", ("Johnny",), 2)]
        assert about(memory, "johnny") == about(memory, "j ames") == [1, 3]
        assert around(memory, "johnny") >= {1, 3}
        assert stored(memory, 3).entity == "J. Ames"
        expected = [("J. Ames", "near", "J. Ames"), ("J. Ames", "knows", "Mara")]
        assert triples(memory, "johnny") == expected
        assert 1 in {fact.id for fact in memory.recall("where does johnny live?").facts}

    in_every_state(people, check)
    assert people.unlink("johnny", "knows", "mara")


def test_an_alias_of_an_alias_leads_to_the_entity(people: Memory) -> None:
    people.alias_entity("Jon", "Johnny")
    people.alias_entity("Johnny", "Jay")
    assert names(people, "Jon") == [("Jon", ("Jay", "Johnny"), 1)]
    assert about(people, "jay") == [0]


def test_an_alias_given_twice_is_one(people: Memory) -> None:
    people.alias_entity("Jon", "Johnny")
    people.alias_entity("Jon", "JOHNNY")
    people.alias_entity("Jon", "jon")  # its own name needs none
    assert names(people, "Jon") == [("Jon", ("Johnny",), 1)]


def test_an_alias_that_is_taken_is_refused(people: Memory) -> None:
    people.alias_entity("Mara", "Maruschka")
    for taken in ("Mara", "maruschka"):
        with pytest.raises(InvalidInputError, match="merge_entities"):
            people.alias_entity("Jon", taken)
    assert about(people, "maruschka") == [2]


def test_facts_of_an_alias_count_as_said_before(people: Memory) -> None:
    people.alias_entity("Jon", "Johnny")
    assert people.remember("likes tea", entity="Johnny").outcome == "unchanged"
    assert people.remember_guarded("likes tea very", entity="Johnny").blocked


# --- merging ----------------------------------------------------------------------------------


def test_a_merged_entity_hands_over_facts_edges_and_names(people: Memory) -> None:
    people.alias_entity("Jon", "Johnny")
    people.merge_entities("Jon", "J. Ames")

    def check(memory: Memory) -> None:
        assert names(memory) == [("J. Ames", ("Johnny", "Jon"), 2), ("Mara", (), 1)]
        for name in ("Jon", "johnny", "J. Ames"):
            assert about(memory, name) == [0, 1]
            assert around(memory, name, graph_depth=0) == {0, 1}
        assert stored(memory, 0).entity == "J. Ames"
        assert triples(memory) == [("J. Ames", "knows", "Mara")]
        assert around(memory, "mara") == {0, 1, 2}

    in_every_state(people, check)


def test_new_facts_by_the_old_name_go_to_the_merged_entity(people: Memory) -> None:
    people.merge_entities("Jon", "J. Ames")
    people.remember("sings", entity="jon", links=[("visits", "JON")])
    people.link("jon", "likes", "Mara")
    assert about(people, "J. Ames") == [0, 1, 3]
    assert stored(people, 3).entity == "J. Ames"
    assert triples(people, "j ames")[1:] == [
        ("J. Ames", "visits", "J. Ames"), ("J. Ames", "likes", "Mara"),
    ]  # fmt: skip
    assert people.stats().entities == 2


def test_merging_two_entities_with_the_same_open_edge_keeps_one_open(
    memory: Memory, clock: Clock
) -> None:
    first = memory.remember("a", entity="Jon", links=[("knows", "Mara"), ("near", "Bern")]).id
    clock.tick(DAY)
    second = memory.remember("b", entity="Ames", links=[("knows", "Mara"), ("near", "Basel")]).id
    clock.tick(DAY)
    memory.merge_entities("Jon", "Ames")

    def check(memory: Memory) -> None:
        assert sorted(triples(memory)) == [
            ("Ames", "knows", "Mara"), ("Ames", "near", "Basel"), ("Ames", "near", "Bern"),
        ]  # fmt: skip
        history = memory.edges(relation="knows", history=True)
        assert {edge.provenance for edge in history} == {first, second}
        assert [edge.valid_to for edge in history].count(None) == 1
        walked = memory.recall(entities=["mara"], graph_depth=1).edges
        assert [(e.src, e.relation, e.dst) for e in walked] == [("Ames", "knows", "Mara")]

    in_every_state(memory, check)
    assert memory.stats().edges == 3
    assert memory.unlink("ames", "knows", "mara")
    assert not memory.unlink("ames", "knows", "mara")


def test_edges_between_the_merged_become_self_loops(memory: Memory, clock: Clock) -> None:
    for src, dst in (("Jon", "Ames"), ("Ames", "Jon"), ("Jon", "Jon"), ("Ames", "Ames")):
        memory.link(src, "is", dst)
    clock.tick(DAY)
    memory.merge_entities("Jon", "Ames")

    def check(memory: Memory) -> None:
        assert triples(memory) == [("Ames", "is", "Ames")]
        assert len(memory.edges(history=True)) == 4
        assert len(memory.recall(entities=["Ames"]).edges) == 1

    in_every_state(memory, check)
    assert memory.unlink("jon", "is", "jon")


def test_a_merge_into_an_alias_or_from_one_reaches_the_entity(people: Memory) -> None:
    people.alias_entity("Jon", "Johnny")
    people.alias_entity("Mara", "Maruschka")
    people.merge_entities("johnny", "maruschka")
    assert names(people) == [("J. Ames", (), 1), ("Mara", ("Johnny", "Jon", "Maruschka"), 2)]


def test_entities_can_be_merged_again_and_again(memory: Memory) -> None:
    for i in range(5):
        memory.remember(f"fact {i}", entity=f"name {i}")
    for i in range(4):
        memory.merge_entities(f"name {i}", f"name {i + 1}")
    assert about(memory, "name 0") == [0, 1, 2, 3, 4]
    assert names(memory) == [("name 4", ("name 0", "name 1", "name 2", "name 3"), 5)]
    assert memory.verify().ok


def test_merging_an_entity_with_itself_is_refused(people: Memory) -> None:
    people.alias_entity("Jon", "Johnny")
    for other in ("JON", "Johnny"):
        with pytest.raises(InvalidInputError, match="one entity already"):
            people.merge_entities("Jon", other)


def test_the_same_text_of_two_merged_entities_stays_two_facts(memory: Memory) -> None:
    memory.remember("likes tea", entity="Jon")
    memory.remember("likes tea", entity="Ames")
    memory.merge_entities("Jon", "Ames")
    assert about(memory, "ames") == [0, 1]
    assert memory.remember("likes tea", entity="jon").outcome == "unchanged"
    assert memory.verify().ok


# --- unknown names, and other scopes ----------------------------------------------------------


def test_unknown_entities_are_not_found_and_not_made(people: Memory) -> None:
    stats = people.stats()
    calls: tuple[Callable[[], object], ...] = (
        lambda: people.rename_entity("nobody", "x"),
        lambda: people.alias_entity("nobody", "x"),
        lambda: people.merge_entities("nobody", "Jon"),
        lambda: people.merge_entities("Jon", "nobody"),
        lambda: people.rename_entity("Jon", "x", namespace=("elsewhere",)),
    )
    for call in calls:
        with pytest.raises(NotFoundError, match=r"nobody|elsewhere"):
            call()
    assert people.stats() == stats


def test_names_are_managed_in_exactly_one_namespace(memory: Memory) -> None:
    for namespace in ((), ("a",), ("a", "b")):
        memory.remember("x", entity="Jon", namespace=namespace)
        memory.remember("y", entity="Ames", namespace=namespace)
    memory.rename_entity("Jon", "John", namespace=("a",))
    memory.alias_entity("Ames", "Jay", namespace=("a", "b"))
    memory.merge_entities("Jon", "Ames")
    found = {(fact.namespace, fact.entity) for fact in memory.list_facts()}
    assert found == {
        ((), "Ames"), (("a",), "John"), (("a",), "Ames"),
        (("a", "b"), "Jon"), (("a", "b"), "Ames"),
    }  # fmt: skip
    assert about(memory, "jay") == [5]
    assert about(memory, "jay", namespace=("a",)) == [5]
    assert about(memory, "jon", namespace=("a", "b")) == [4]
    assert memory.verify().ok


@pytest.mark.parametrize("change", ["rename", "alias", "merge"])
def test_another_handle_follows(open_memory: OpenMemory, tmp_path: Path, change: str) -> None:
    one, other = open_memory(tmp_path / "m.db"), open_memory(tmp_path / "m.db")
    one.remember("likes tea", entity="Jon", links=[("knows", "Mara")])
    one.remember("lives in Bern", entity="Ames")
    assert about(other, "jon") == [0]
    assert other.recall("tea").facts[0].entity == "Jon"
    assert triples(other) == [("Jon", "knows", "Mara")]
    if change == "rename":
        one.rename_entity("Jon", "Jay")
    elif change == "alias":
        one.alias_entity("Jon", "Jay")
    else:
        one.rename_entity("Ames", "Jay")
        one.merge_entities("Jon", "Jay")
    name = {"rename": "Jay", "alias": "Jon", "merge": "Jay"}[change]
    assert 0 in about(other, "jay")
    assert other.recall("tea").facts[0].entity == name
    assert triples(other) == [(name, "knows", "Mara")]
    assert 0 in around(other, "jay", graph_depth=0)
    assert other.recall("does jay like it?").facts[0].id == 0
    assert other.verify().ok
    one.close()
    reopened = open_memory(tmp_path / "m.db")
    assert 0 in about(reopened, "jay")
    assert reopened.verify().ok


# --- any order of changes ---------------------------------------------------------------------

SOME = ["Ann", "ann lee", "Bob", "Cy"]
some = st.sampled_from(SOME)
changes = st.one_of(
    st.tuples(st.just("remember"), st.integers(0, 4).map(str), some),
    st.tuples(st.sampled_from(["link", "unlink"]), some, st.just("knows"), some),
    st.tuples(st.sampled_from(["rename_entity", "alias_entity", "merge_entities"]), some, some),
    st.tuples(st.sampled_from(["maintain", "rebuild", "checkpoint"])),
)


def whole_view(memory: Memory) -> list[Any]:
    view: list[Any] = [list(memory.entities()), memory.edges(), memory.edges(history=True)]
    for name in SOME:
        named = memory.recall(entities=[name], anchors="given")
        mentioned = memory.recall(f"do you know {name}?")
        view += [about(memory, name), named.facts, named.edges, mentioned.facts, mentioned.edges]
    return view


@settings(max_examples=40, deadline=None)
@given(history=st.lists(st.tuples(st.integers(0, 1), changes), max_size=25))
def test_every_handle_sees_the_same_names(history: list[tuple[int, tuple[str, ...]]]) -> None:
    clock = Clock()
    with TemporaryDirectory() as folder, ExitStack() as stack:
        handles = [
            stack.enter_context(Memory.open(Path(folder) / "m.db", clock=clock)) for _ in range(2)
        ]
        for handle, (verb, *arguments) in history:
            clock.tick()
            options = {"entity": arguments.pop()} if verb == "remember" else {}
            with suppress(InvalidInputError, NotFoundError):
                getattr(handles[handle], verb)(*arguments, **options)
            views = [whole_view(memory) for memory in handles]
            assert views[0] == views[1]
        assert handles[0].verify().ok
        handles[0].rebuild()
        assert whole_view(handles[0]) == whole_view(handles[1])
