"""`revise`: what survives, what is cleared, and what is refused."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory
from looking import reasons, stored

from plugmem_core import (
    ClosedFactError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    NotFoundError,
    Receipt,
)

HELD: dict[str, Any] = {
    "text": "the desk is on floor two",
    "entity": "Ivo",
    "tags": ("office", "desk"),
    "metadata": {"floor": 2},
    "key": "desk",
    "namespace": ("work",),
}


@pytest.fixture
def held(memory: Memory, clock: Clock) -> Memory:
    memory.remember(**HELD, vector=[1, 0], ttl=3600)
    clock.tick()
    return memory


def state(memory: Memory, fact_id: int) -> dict[str, Any]:
    fact = memory.get(fact_id)
    assert fact is not None
    return {name: getattr(fact, name) for name in HELD}


def nearest(memory: Memory, fact_id: int) -> float | None:
    """The cosine of a fact's vector with that of the held fact; None without one."""
    result = memory.recall(vector=[1, 0], closed=True, explain=True, token_budget=None)
    evidence = [fact for fact in reasons(result).facts if fact.id == fact_id]
    return evidence[0].evidence[0].raw if evidence else None


def test_a_new_text_alone_keeps_everything_else(held: Memory, clock: Clock) -> None:
    assert held.revise(0, "the desk is on floor five") == Receipt(1, "revised", (), "stored")
    assert state(held, 1) == HELD | {"text": "the desk is on floor five"}
    assert nearest(held, 1) == pytest.approx(1.0, abs=1e-4)
    new = stored(held, 1)
    assert (new.revises, new.recorded_at, new.valid_from) == (0, clock.now, clock.now)
    assert new.expires_at == START + 3600 * SECOND
    assert stored(held, 0).valid_to == clock.now


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"text": "new"}, {"text": "new"}),
        ({"entity": "Ada"}, {"entity": "Ada"}),
        ({"tags": ["b", "a", "b"]}, {"tags": ("b", "a")}),
        ({"metadata": {"x": [1]}}, {"metadata": {"x": [1]}}),
        ({"entity": None}, {"entity": None}),
        ({"entity": ""}, {"entity": None}),
        ({"tags": None}, {"tags": ()}),
        ({"tags": ()}, {"tags": ()}),
        ({"tags": []}, {"tags": ()}),
        ({"metadata": None}, {"metadata": {}}),
        ({"metadata": {}}, {"metadata": {}}),
        ({"valid_from": START}, {}),
    ],
    ids=str,
)
def test_what_is_given_changes_and_the_rest_survives(
    held: Memory, change: dict[str, Any], expected: dict[str, Any]
) -> None:
    held.revise(0, **change)
    assert state(held, 1) == HELD | expected
    assert state(held, 0) == HELD
    assert nearest(held, 1) == pytest.approx(1.0, abs=1e-4)
    assert held.verify().ok


def test_a_new_vector_alone(held: Memory) -> None:
    assert held.revise(0, vector=[0, 1]).vector == "stored"
    assert state(held, 1) == HELD
    assert nearest(held, 1) == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("nothing", [None, [], ()], ids=repr)
def test_a_vector_can_be_cleared(held: Memory, nothing: Any) -> None:
    assert held.revise(0, vector=nothing).vector == "none"
    assert nearest(held, 1) is None
    assert held.recall("desk").facts[0].id == 1


def test_a_time_to_live_can_be_changed_and_cleared(held: Memory, clock: Clock) -> None:
    held.revise(0, ttl=60)
    assert stored(held, 1).expires_at == clock.now + 60 * SECOND
    held.revise(1, ttl=None)
    assert stored(held, 2).expires_at is None
    clock.tick(7200 * SECOND)
    assert [fact.id for fact in held.list_facts()] == [2]


def test_links_are_added_and_old_ones_stay(memory: Memory) -> None:
    memory.remember("Mara runs the farm", entity="Mara", links=[("runs", "Farm")])
    memory.revise(0, "Mara runs the farm and the mill", links=[("runs", "Mill")])
    assert [(edge.dst, edge.provenance) for edge in memory.edges("mara")] == [
        ("Farm", 0), ("Mill", 1),
    ]  # fmt: skip


def test_links_of_a_fact_without_an_entity_are_refused(memory: Memory) -> None:
    memory.remember("somebody runs the farm")
    with pytest.raises(InvalidInputError, match="entity"):
        memory.revise(0, links=[("runs", "Farm")])
    assert stored(memory, 0).is_current
    assert memory.stats().entities == 0


def test_the_new_version_is_found_and_the_old_one_is_not(held: Memory) -> None:
    held.revise(0, "she sits on level five", entity="Ada", tags=["level"], metadata={"level": 5})
    for question in ("desk", "floor two"):
        assert held.recall(question).facts == ()
    assert [fact.id for fact in held.recall("level five").facts] == [1]
    assert [fact.id for fact in held.list_facts(entity="Ivo")] == []
    assert [fact.id for fact in held.list_facts(tags=["desk"])] == []
    assert [fact.id for fact in held.list_facts(where={"floor": 2})] == []
    assert [fact.id for fact in held.list_facts(where={"level": 5}, entity="Ada")] == [1]


def test_a_closed_fact_names_its_successor(held: Memory) -> None:
    held.revise(0, "the desk is on floor five")
    with pytest.raises(ClosedFactError, match=r"fact 0 .* 1 "):
        held.revise(0, "the desk is on floor six")
    assert held.stats().facts == 2


def test_a_closed_fact_names_no_successor_that_is_gone(held: Memory) -> None:
    held.revise(0, "the desk is on floor five")
    held.forget(1)
    held.maintain()
    with pytest.raises(ClosedFactError) as caught:
        held.revise(0, "the desk is on floor six")
    assert "successor 0" not in str(caught.value)
    assert "successor 1" not in str(caught.value)
    assert "remember" in str(caught.value)


@pytest.mark.parametrize("fact_id", [1, 4_000_000_000])
def test_an_unknown_fact_is_not_found(held: Memory, fact_id: int) -> None:
    with pytest.raises(NotFoundError, match=str(fact_id)):
        held.revise(fact_id, "x")


def test_a_forgotten_fact_is_not_found(held: Memory) -> None:
    held.forget(0)
    with pytest.raises(NotFoundError):
        held.revise(0, "x")


def test_an_expired_fact_is_not_found(held: Memory, clock: Clock) -> None:
    clock.tick(7200 * SECOND)
    with pytest.raises(NotFoundError):
        held.revise(0, "x")


def test_nothing_to_change_is_refused(held: Memory) -> None:
    with pytest.raises(InvalidInputError, match="fact 0"):
        held.revise(0)
    assert stored(held, 0).is_current


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_text_cannot_be_cleared(held: Memory, text: Any) -> None:
    with pytest.raises(InvalidInputError):
        held.revise(0, text)
    assert state(held, 0) == HELD


def test_a_backdated_revision_ends_the_old_version_there(memory: Memory, clock: Clock) -> None:
    memory.remember("the desk is on floor two")
    clock.tick(10 * DAY)
    memory.revise(0, "the desk is on floor five", valid_from=START + DAY)
    old, new = stored(memory, 0), stored(memory, 1)
    assert (old.valid_from, old.valid_to) == (START, START + DAY)
    assert (new.valid_from, new.valid_to, new.recorded_at) == (START + DAY, None, clock.now)


def test_a_revision_may_begin_when_the_old_version_did(memory: Memory, clock: Clock) -> None:
    memory.remember("the desk is on floor two")
    clock.tick(DAY)
    memory.revise(0, "the desk is on floor five", valid_from=START)
    assert stored(memory, 0).valid_to == START
    assert [fact.id for fact in memory.list_facts(valid_at=START)] == [1]


def test_a_revision_cannot_begin_before_the_old_version(held: Memory) -> None:
    with pytest.raises(InvalidInputError, match=r"11:59:59\.999.*12:00:00"):
        held.revise(0, "x", valid_from=START - 1)
    assert state(held, 0) == HELD
    assert held.stats().facts == 1


def test_a_revision_planned_for_later_leaves_the_old_version_until_then(
    memory: Memory, clock: Clock
) -> None:
    memory.remember("the desk is on floor two")
    memory.revise(0, "the desk is on floor five", valid_from=START + DAY)
    assert [fact.id for fact in memory.recall("desk").facts] == [0]
    assert [fact.id for fact in memory.list_facts()] == [0]
    clock.set(START + DAY)
    assert [fact.id for fact in memory.recall("desk").facts] == [1]
    assert [fact.id for fact in memory.list_facts()] == [1]


def test_a_fact_outside_the_namespace_is_not_found(held: Memory) -> None:
    for namespace in (("other",), ("work", "below"), ("wor",)):
        with pytest.raises(NotFoundError):
            held.revise(0, "x", namespace=namespace)
    assert held.revise(0, "x", namespace=("work",)).outcome == "revised"


def test_a_successor_stays_in_the_namespace_and_uses_its_entities(held: Memory) -> None:
    held.remember("another Ada", entity="Ada")
    held.revise(0, entity="Ada")  # looked for from the root, but kept below
    assert stored(held, 2).namespace == ("work",)
    assert [fact.id for fact in held.list_facts(entity="ada", namespace=("work",))] == [2]
    assert held.verify().ok


def test_with_an_embedder_a_new_text_gets_a_new_vector(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder(64))
    memory.remember("green tea")
    memory.revise(0, "rye bread")
    result = memory.recall(vector=HashingEmbedder(64).embed_query("rye bread"), explain=True)
    assert result.explanation is not None
    assert reasons(result)[1].evidence[0].raw == pytest.approx(1.0, abs=1e-3)


def test_with_an_embedder_tags_alone_keep_the_vector(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder(2))
    memory.remember("green tea", vector=[0, 1])
    memory.revise(0, tags=["t"])
    result = memory.recall(vector=[0, 1], explain=True)
    assert result.explanation is not None
    assert reasons(result)[1].evidence[0].raw == pytest.approx(1.0, abs=1e-3)


def test_a_pending_vector_stays_pending_under_the_same_text(open_memory: OpenMemory) -> None:
    class Failing(HashingEmbedder):
        fails = True

        def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
            if self.fails:
                raise TimeoutError
            return super().embed_documents(texts)

    embedder = Failing(8)
    memory = open_memory(embedder=embedder)
    memory.remember("green tea", tags=["t"])
    assert memory.revise(0, tags=["u"]).vector == "pending"
    memory.rename_tag("u", "v")
    embedder.fails = False
    memory.maintain()
    assert memory.stats().pending == 0
    assert memory.recall("tea").facts[0].sources == ("bm25", "vector")


def test_a_chain_of_revisions_is_linear(memory: Memory, clock: Clock) -> None:
    memory.remember("version 0")
    for i in range(5):
        clock.tick()
        memory.revise(i, f"version {i + 1}")
    chain = memory.history(3)
    assert [fact.id for fact in chain] == list(range(6))
    assert [fact.revises for fact in chain] == [None, 0, 1, 2, 3, 4]
    for earlier, later in zip(chain.facts, chain.facts[1:], strict=False):
        assert earlier.valid_to == later.valid_from
