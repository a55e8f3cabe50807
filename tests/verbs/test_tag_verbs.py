"""`tags`, `rename_tag` and `remove_tag`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, START, Clock
from conftest import OpenMemory
from looking import stored

from plugmem_core import InvalidInputError, Memory


def counts(memory: Memory, *args: Any, **options: Any) -> dict[str, int]:
    return {tag.name: tag.facts for tag in memory.tags(*args, **options)}


@pytest.fixture
def garden(memory: Memory, clock: Clock) -> Memory:
    memory.remember("tomatoes", tags=["garden", "red"], key="k", entity="Bed", metadata={"a": 1})
    memory.remember("roses", tags=["red", "garden", "Garden"])
    memory.remember("barn", tags=["red"])
    memory.remember("plain")
    clock.tick(DAY)
    return memory


def test_tags_of_current_facts_are_counted_by_name(garden: Memory) -> None:
    assert [tuple(tag) for tag in garden.tags()] == [("Garden", 1), ("garden", 2), ("red", 3)]


def test_a_prefix_is_matched_to_the_letter(garden: Memory) -> None:
    garden.remember("odd", tags=["g%", "g_", "%"])
    assert counts(garden, "g") == {"g%": 1, "g_": 1, "garden": 2}
    assert counts(garden, "g%") == {"g%": 1}
    assert counts(garden, "%") == {"%": 1}
    assert counts(garden, "zzz") == {}


def test_pages_of_tags_join_up(garden: Memory) -> None:
    first = garden.tags(limit=2)
    assert [tag.name for tag in first] == ["Garden", "garden"]
    garden.remember("early", tags=["AAA"])  # lies before the cursor
    assert [tag.name for tag in garden.tags(limit=2, cursor=first.next_cursor)] == ["red"]


def test_names_sort_by_code_points(memory: Memory) -> None:
    names = ["b", "B", "é", "a", "\U0001f980", "ﬁ", "z"]
    memory.remember("x", tags=names)
    assert [tag.name for tag in memory.tags()] == sorted(names)


def test_closed_forgotten_and_expired_facts_do_not_count(memory: Memory, clock: Clock) -> None:
    memory.remember("a", tags=["t", "closed"])
    memory.remember("b", tags=["t", "forgotten"])
    memory.remember("c", tags=["t", "expired"], ttl=1)
    memory.revise(0, tags=["t"])
    memory.forget(1)
    clock.tick(1000)
    assert counts(memory) == {"t": 1}
    assert memory.stats().tags == 1


def test_tags_of_a_scope(memory: Memory) -> None:
    memory.remember("a", tags=["t"], namespace=("x",))
    memory.remember("b", tags=["t", "u"], namespace=("x", "y"))
    memory.remember("c", tags=["v"], namespace=("xy",))
    assert counts(memory, namespace=("x",)) == {"t": 2, "u": 1}
    assert counts(memory, namespace=("x", "y")) == {"t": 1, "u": 1}
    assert counts(memory) == {"t": 2, "u": 1, "v": 1}


# --- renaming ---------------------------------------------------------------------------------


def test_a_tag_is_renamed_on_every_current_fact(garden: Memory, clock: Clock) -> None:
    assert garden.rename_tag("red", "rouge") == 3
    assert counts(garden) == {"Garden": 1, "garden": 2, "rouge": 3}
    facts = {fact.text: fact for fact in garden.list_facts(tags=["rouge"])}
    assert facts["roses"].tags == ("rouge", "garden", "Garden")
    tomatoes = facts["tomatoes"]
    assert (tomatoes.entity, tomatoes.key, tomatoes.metadata) == ("Bed", "k", {"a": 1})
    assert (tomatoes.revises, tomatoes.valid_from) == (0, clock.now)
    assert garden.verify().ok


def test_a_rename_shows_from_its_instant_on(garden: Memory, clock: Clock) -> None:
    garden.rename_tag("red", "rouge")
    before, after = clock.now - 1, clock.now
    assert [f.text for f in garden.list_facts(tags=["red"], as_of=before)] == [
        "tomatoes", "roses", "barn",
    ]  # fmt: skip
    assert list(garden.list_facts(tags=["rouge"], as_of=before)) == []
    assert list(garden.list_facts(tags=["red"], as_of=after)) == []
    assert len(garden.list_facts(tags=["rouge"], as_of=after)) == 3
    assert [f.id for f in garden.recall("barn", tags=["red"], as_of=before).facts] == [2]
    assert [f.text for f in garden.recall("barn", tags=["rouge"]).facts] == ["barn"]


def test_a_rename_onto_a_tag_the_fact_has_keeps_one(garden: Memory) -> None:
    assert garden.rename_tag("Garden", "garden") == 1
    (roses,) = garden.recall("roses").facts
    assert roses.tags == ("red", "garden")


@pytest.mark.parametrize(("old", "new", "count"), [("nope", "x", 0), ("red", "red", 0)])
def test_a_rename_of_nothing_changes_nothing(
    garden: Memory, old: str, new: str, count: int
) -> None:
    stats = garden.stats()
    assert garden.rename_tag(old, new) == count
    assert garden.stats() == stats


def test_renaming_there_and_back_restores_the_tags(garden: Memory, clock: Clock) -> None:
    garden.rename_tag("red", "rouge")
    clock.tick()
    garden.rename_tag("rouge", "red")
    assert counts(garden) == {"Garden": 1, "garden": 2, "red": 3}
    assert [fact.tags for fact in garden.history(2)] == [("red",), ("rouge",), ("red",)]


def test_closed_facts_keep_their_tags(garden: Memory) -> None:
    garden.revise(2, "the barn is blue", tags=["blue"])
    assert garden.rename_tag("red", "rouge") == 2
    assert stored(garden, 2).tags == ("red",)


def test_vectors_survive_renaming(memory: Memory, clock: Clock) -> None:
    memory.remember("a", tags=["t"], vector=[1, 0])
    clock.tick()
    memory.rename_tag("t", "u")
    assert [fact.id for fact in memory.recall(vector=[1, 0]).facts] == [1]
    assert memory.verify().ok


def test_expiry_survives_renaming(memory: Memory, clock: Clock) -> None:
    memory.remember("a", tags=["t"], ttl=60)
    memory.rename_tag("t", "u")
    assert stored(memory, 1).expires_at == START + 60_000


def test_an_expired_fact_is_not_renamed(memory: Memory, clock: Clock) -> None:
    memory.remember("a", tags=["t"], ttl=1)
    clock.tick(1000)
    assert memory.rename_tag("t", "u") == 0


# --- removing ---------------------------------------------------------------------------------


def test_a_tag_is_removed_from_every_current_fact(garden: Memory, clock: Clock) -> None:
    assert garden.remove_tag("red") == 3
    assert counts(garden) == {"Garden": 1, "garden": 2}
    assert list(garden.list_facts(tags=["red"])) == []
    assert len(garden.list_facts(tags=["red"], as_of=clock.now - 1)) == 3
    assert [f.text for f in garden.list_facts()] == ["plain", "tomatoes", "roses", "barn"]
    (barn,) = garden.recall("barn").facts
    assert barn.tags == ()


def test_removing_an_unknown_tag_changes_nothing(garden: Memory) -> None:
    stats = garden.stats()
    assert garden.remove_tag("nope") == 0
    assert garden.stats() == stats


def test_only_the_scope_is_retagged(memory: Memory) -> None:
    for namespace in ((), ("x",), ("x", "y"), ("xy",)):
        memory.remember("a", tags=["t"], namespace=namespace)
    assert memory.rename_tag("t", "u", namespace=("x",)) == 2
    assert memory.remove_tag("t", namespace=("xy",)) == 1
    tags = {fact.namespace: fact.tags for fact in memory.list_facts()}
    assert tags == {(): ("t",), ("x",): ("u",), ("x", "y"): ("u",), ("xy",): ()}


@pytest.mark.parametrize("tag", ["", " ", "a\0b"])
def test_bad_tags_are_refused(garden: Memory, tag: str) -> None:
    stats = garden.stats()
    calls: tuple[Callable[[], object], ...] = (
        lambda: garden.rename_tag("red", tag),
        lambda: garden.rename_tag(tag, "red"),
        lambda: garden.remove_tag(tag),
    )
    for call in calls:
        with pytest.raises(InvalidInputError):
            call()
    assert garden.stats() == stats


def test_retagging_survives_reopening(open_memory: OpenMemory, tmp_path: Path) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("a", tags=["t", "u"])
        memory.rename_tag("t", "v")
        memory.remove_tag("u")
        memory.revise(2, tags=["v", "t"])
    memory = open_memory(tmp_path / "m.db")
    assert counts(memory) == {"t": 1, "v": 1}
    assert memory.verify().ok
