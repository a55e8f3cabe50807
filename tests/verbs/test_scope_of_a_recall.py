"""`below` and `among`: the very namespace alone, and chosen facts alone."""

from typing import Any

import pytest

from plugmem_core import InvalidInputError, Memory, WrongTypeError

SCOPES = [(), ("a",), ("a", "b"), ("ab",)]


@pytest.fixture
def places(memory: Memory) -> Memory:
    """One fact about tea, about Ann, and under a key in each namespace; ids 0 to 3."""
    for scope in SCOPES:
        memory.remember(
            "Ann drinks tea", entity="Ann", key="k", namespace=scope, links=[("drinks", "tea")]
        )
    return memory


@pytest.mark.parametrize(("place", "scope"), [*enumerate(SCOPES)])
def test_without_what_lies_below_a_scope_is_one_namespace(
    places: Memory, place: int, scope: tuple[str, ...]
) -> None:
    alone: dict[str, Any] = {"namespace": scope, "below": False}
    asked: list[dict[str, Any]] = [
        {"text": "tea"},
        {"entities": ["Ann"]},
        {"text": "Ann", "sources": ["graph"]},
        {"sources": ["time"]},
        {"where": {}},
    ]
    for question in asked:
        result = places.recall(**question, **alone)
        assert [fact.id for fact in result.facts] == [place]
        assert {edge.namespace for edge in result.edges} <= {scope}
    assert [fact.id for fact in places.list_facts(**alone)] == [place]
    assert [fact.id for fact in places.list_facts(entity="ann", **alone)] == [place]
    assert [fact.id for fact in places.get_by_keys(["k"], **alone)] == [place]


def test_a_namespace_that_was_never_used_holds_nothing(places: Memory) -> None:
    assert places.recall("tea", namespace=("x",), below=False).facts == ()
    assert places.list_facts(namespace=("x",), below=False).facts == ()


def test_a_fact_of_another_namespace_is_absent_for_that_reason(places: Memory) -> None:
    absence = places.explain_absent(2, "tea", namespace=("a", "b"), below=False)
    assert absence.reason == "present"
    with pytest.raises(KeyError):
        places.explain_absent(2, "tea", namespace=("a",), below=False)


def test_pages_with_and_without_what_lies_below_are_two_listings(places: Memory) -> None:
    page = places.list_facts(limit=1)
    with pytest.raises(InvalidInputError):
        places.list_facts(limit=1, below=False, cursor=page.next_cursor)


@pytest.mark.parametrize("below", [0, None, "no"])
def test_below_is_a_bool(memory: Memory, below: Any) -> None:
    with pytest.raises(WrongTypeError, match="below"):
        memory.recall("tea", below=below)


# -- among


@pytest.fixture
def drinks(memory: Memory) -> Memory:
    for number in range(300):
        memory.remember(f"tea number {number}", tags=["even"] if number % 2 == 0 else [])
    return memory


def test_only_chosen_facts_are_found_however_many_are_better(drinks: Memory) -> None:
    drinks.remember("all about the history of tea and of coffee, in many words")  # 300
    result = drinks.recall("tea", k=2, among=[7, 300])
    assert [fact.id for fact in result.facts] == [7, 300]


def test_a_choice_joins_the_other_conditions(drinks: Memory) -> None:
    found = drinks.recall("tea", tags=["even"], among=[1, 2, 3, 4, 999, 2**32 - 2])
    assert {fact.id for fact in found.facts} == {2, 4}


def test_a_choice_alone_gives_the_newest_of_it(drinks: Memory) -> None:
    assert {fact.id for fact in drinks.recall(among=[3, 5]).facts} == {3, 5}


def test_nothing_chosen_is_nothing_found(drinks: Memory) -> None:
    assert drinks.recall("tea", among=[]).facts == ()
    assert drinks.recall(among=[]).facts == ()


def test_superseded_and_forgotten_facts_are_not_found_by_being_chosen(drinks: Memory) -> None:
    drinks.revise(3, "coffee")
    drinks.forget(5)
    assert drinks.recall("tea", among=[3, 5]).facts == ()


@pytest.mark.parametrize("among", ["12", [-1], [1.5], ["1"], 7])
def test_a_choice_is_a_list_of_ids(memory: Memory, among: Any) -> None:
    with pytest.raises((InvalidInputError, WrongTypeError), match="among"):
        memory.recall("tea", among=among)
