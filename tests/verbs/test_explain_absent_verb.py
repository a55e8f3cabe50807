"""`explain_absent`: each reason, in the order of the stages."""

from typing import Any

import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core import InvalidInputError, Memory, MemoryConfig, NotFoundError


def reason(memory: Memory, fact_id: int, *args: Any, **options: Any) -> str:
    return memory.explain_absent(fact_id, *args, **options).reason


@pytest.fixture
def barn(memory: Memory, clock: Clock) -> Memory:
    memory.remember("the barn is red", entity="Barn", tags=["farm"], metadata={"n": 1})
    return memory


def test_a_fact_in_the_result_is_present(barn: Memory) -> None:
    assert reason(barn, 0, "barn") == "present"
    assert reason(barn, 0, tags=["farm"]) == "present"


def test_a_fact_no_source_ranks_has_no_evidence(barn: Memory) -> None:
    assert reason(barn, 0, "tractor") == "no evidence"
    assert reason(barn, 0, range=(0, START)) == "no evidence"


@pytest.mark.parametrize(
    "conditions",
    [
        {"tags": ["city"]},
        {"any_tags": ["city"]},
        {"not_tags": ["farm"]},
        {"where": {"n": 2}},
        {"where": {"n": 1}, "tags": ["city"]},
    ],
    ids=str,
)
def test_a_condition_that_fails_puts_it_out_of_scope(
    barn: Memory, conditions: dict[str, Any]
) -> None:
    assert reason(barn, 0, "barn", **conditions) == "not in scope"


def test_a_forgotten_fact_is_forgotten(barn: Memory, clock: Clock) -> None:
    clock.tick()
    barn.forget(0)
    absence = barn.explain_absent(0, "barn")
    assert absence.reason == "forgotten"
    assert "2024-05-01T12:00:01" in absence.detail
    assert "red" not in absence.detail


def test_an_expired_fact_is_expired(memory: Memory, clock: Clock) -> None:
    memory.remember("the kettle is on", ttl=1)
    assert reason(memory, 0, "kettle") == "present"
    clock.tick(1000)
    assert reason(memory, 0, "kettle") == "expired"
    assert reason(memory, 0, "kettle", as_of=START) == "expired"


def test_a_fact_recorded_later_is_not_yet_known(barn: Memory) -> None:
    assert reason(barn, 0, "barn", as_of=START - 1) == "not yet known"
    assert reason(barn, 0, "barn", known_at=START - 1) == "not yet known"


def test_a_fact_of_the_future_is_not_yet_valid(memory: Memory) -> None:
    memory.remember("the lease begins", valid_from=START + DAY)
    assert reason(memory, 0, "lease") == "not yet valid"
    assert reason(memory, 0, "lease", valid_at=START + DAY) == "present"


def test_a_superseded_fact_is_no_longer_valid(barn: Memory, clock: Clock) -> None:
    clock.tick(DAY)
    barn.revise(0, "the barn is blue")
    assert reason(barn, 0, "barn") == "no longer valid"
    assert reason(barn, 0, "barn", closed=True) == "present"
    assert reason(barn, 0, "barn", as_of=START) == "present"
    assert reason(barn, 0, "barn", known_at=START) == "present"
    assert reason(barn, 1, "barn", as_of=START) == "not yet known"


def test_a_fact_behind_k_is_below_the_cut(barn: Memory) -> None:
    barn.remember("barn barn barn")
    ranked = [fact.id for fact in barn.recall("barn").facts]
    assert reason(barn, ranked[1], "barn", k=1) == "below the cut"
    assert "place 2" in barn.explain_absent(ranked[1], "barn", k=1).detail


def test_a_fact_behind_the_budget_is_over_it(barn: Memory) -> None:
    assert reason(barn, 0, "barn", token_budget=5) == "over budget"
    assert "5" in barn.explain_absent(0, "barn", token_budget=5).detail


@pytest.mark.reference
def test_a_fact_under_the_least_score_is_below_the_floor(barn: Memory) -> None:
    assert reason(barn, 0, "barn", min_score=0.9) == "below the floor"


def test_a_fact_under_the_least_similarity_has_no_evidence(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(min_similarity=0.5))
    memory.remember("one", vector=[1, 0])
    assert reason(memory, 0, vector=[1, 1]) == "present"
    assert reason(memory, 0, vector=[0, 1]) == "no evidence"


@pytest.mark.parametrize("fact_id", [1, 4_000_000_000])
def test_an_unknown_fact_is_not_found(barn: Memory, fact_id: int) -> None:
    with pytest.raises(NotFoundError, match=str(fact_id)):
        barn.explain_absent(fact_id, "barn")


def test_a_purged_fact_is_not_found(barn: Memory) -> None:
    barn.forget(0)
    barn.maintain()
    with pytest.raises(NotFoundError):
        barn.explain_absent(0, "barn")


def test_a_fact_outside_the_namespace_is_not_found(memory: Memory) -> None:
    memory.remember("secret", namespace=("a",))
    for namespace in (("b",), ("a", "b"), ("A",)):
        with pytest.raises(NotFoundError):
            memory.explain_absent(0, "secret", namespace=namespace)
    assert reason(memory, 0, "secret", namespace=("a",)) == "present"


def test_a_question_is_required_and_checked_as_in_recall(barn: Memory) -> None:
    with pytest.raises(InvalidInputError, match="nothing was asked"):
        barn.explain_absent(0)
    with pytest.raises(InvalidInputError, match="k is 0"):
        barn.explain_absent(0, "barn", k=0)
    with pytest.raises(TypeError, match="colour"):
        barn.explain_absent(0, "barn", colour="red")


instants = st.integers(0, 6).map(lambda step: START + step * SECOND)
questions = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["tea", "bread", "tea bread"]),
        "vector": st.sampled_from([[1.0, 0.0], [0.0, 1.0]]),
        "entities": st.sampled_from([["shop"], ["nobody"]]),
        "range": st.tuples(instants, instants).map(sorted).map(tuple),
        "tags": st.sampled_from([(), ("a",), ("a", "b")]),
        "not_tags": st.sampled_from([(), ("b",)]),
        "where": st.sampled_from([None, {"n": 0}, {"n": {"$ne": 1}}]),
        "k": st.integers(1, 4),
        "token_budget": st.sampled_from([None, 10, 30]),
        "closed": st.booleans(),
        "min_score": st.sampled_from([None, 0.018]),
        "valid_at": instants,
        "known_at": instants,
    },
).filter(lambda q: {"text", "vector", "entities", "range", "tags"} & q.keys() and q != {"tags": ()})


@settings(max_examples=150)
@given(question=questions)
def test_present_is_said_of_exactly_the_facts_in_the_result(question: dict[str, Any]) -> None:
    clock = Clock()
    memory = Memory.open(":memory:", clock=clock)
    for i in range(6):
        memory.remember(
            ["tea", "bread", "tea and bread"][i % 3] + " " * i,
            entity="Shop" if i % 2 else None,
            tags=["a", "b"][: i % 3],
            metadata={"n": i % 2},
            vector=[1.0, i],
            ttl=4 if i == 2 else None,
            valid_from=START + 5 * SECOND if i == 3 else None,
        )
        clock.tick()
    memory.revise(1, "tea again")
    memory.forget(5)
    if not any(question.get(name) for name in ("text", "vector", "entities", "range", "tags")):
        question = {**question, "text": "tea"}
    found = {fact.id for fact in memory.recall(**question).facts}
    present = {i for i in range(7) if reason(memory, i, **question) == "present"}
    assert present == found
