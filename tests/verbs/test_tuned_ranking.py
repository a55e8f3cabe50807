"""The tuned ranking: what lifts a fact, by how much, and what a budget leaves."""

from typing import Any

import pytest
from clocks import DAY, START, Clock
from conftest import OpenMemory

from plugmem_core import Memory, MemoryConfig
from plugmem_core.recall import RecallResult

TUNED = MemoryConfig(
    ranking="tuned", w_recency=0.0, text_share=0.4, entity_boost=0.2, date_boost=0.2, year_boost=0.2
)


@pytest.fixture
def tuned(open_memory: OpenMemory) -> Memory:
    return open_memory(config=TUNED)


def given(found: RecallResult, fact: int) -> dict[str, float]:
    """What each signal gave a fact."""
    assert found.explanation is not None
    return {one.source: one.contribution for one in found.explanation[fact].evidence}


def ids(found: RecallResult) -> list[int]:
    return [fact.id for fact in found]


def test_a_score_is_the_sum_of_what_its_signals_gave_times_recency(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory(config=TUNED.replace(w_recency=0.25))
    for number, text in enumerate(["green tea", "black tea with milk", "coffee", "tea"]):
        clock.now = START + number * 30 * DAY
        memory.remember(
            text,
            entity="Mara" if number % 2 else "Ivo",
            vector=[1.0, number / 2],
            metadata={"session": "one"},
        )
    found = memory.recall("Mara's tea", vector=[1.0, 0.7], explain=True)
    assert len(found) == 4
    assert found.explanation is not None
    for fact in found:
        why = found.explanation[fact.id]
        total = sum(one.contribution for one in why.evidence)
        assert fact.score == why.score == pytest.approx(total * why.boost, rel=1e-5)


def test_words_and_vector_share_one_scale(tuned: Memory) -> None:
    for text, vector in (("tea", [0, 1]), ("tea and milk", [0.6, 0.8]), ("coffee", [1, 0])):
        tuned.remember(text, vector=vector)
    found = tuned.recall("tea", vector=[1, 0], explain=True)
    assert given(found, 0) == pytest.approx({"bm25": 0.4, "vector": 0.0})
    assert given(found, 2)["vector"] == pytest.approx(0.6)
    assert given(found, 1)["vector"] == pytest.approx(0.36, abs=0.01)
    assert 0 < given(found, 1)["bm25"] < 0.4


def test_words_alone_and_a_vector_alone_have_the_whole_share(tuned: Memory) -> None:
    tuned.remember("tea", vector=[1, 0])
    tuned.remember("coffee", vector=[0, 1])
    assert given(tuned.recall("tea", explain=True), 0) == pytest.approx({"bm25": 1.0})
    assert given(tuned.recall(vector=[1, 0], explain=True), 0) == pytest.approx({"vector": 1.0})


def test_a_fact_about_a_named_entity_is_lifted_and_one_a_hop_away_by_half(tuned: Memory) -> None:
    for entity in ("Mara", "Ivo", "Zoe"):
        tuned.remember(f"{entity} likes tea", entity=entity)
    tuned.link("Mara", "knows", "Ivo")
    found = tuned.recall("tea for Mara", explain=True)
    lifts = [given(found, fact).get("graph", 0.0) for fact in range(3)]
    assert lifts == pytest.approx([0.2, 0.1, 0.0])


def test_entities_bring_facts_that_share_no_word_newest_first(tuned: Memory, clock: Clock) -> None:
    for number, text in enumerate(["drinks green tea", "sleeps late", "walks"]):
        clock.now = START + number * DAY
        tuned.remember(text, entity="Mara")
    assert ids(tuned.recall("what about Mara?")) == [2, 1, 0]
    assert ids(tuned.recall(entities=["Mara"])) == [2, 1, 0]


def test_facts_about_a_named_entity_count_as_if_they_named_it(tuned: Memory) -> None:
    tuned.remember("I live at Canal Street", entity="Nora")
    tuned.remember("Nora leaves in June", entity="minutes")
    tuned.remember("I live above the cheese shop", entity="Ivo")
    found = tuned.recall("Where does Nora live?", explain=True)
    assert ids(found)[0] == 0
    assert given(found, 0)["bm25"] == pytest.approx(1.0)
    assert given(found, 1)["bm25"] < 0.9
    assert given(found, 2)["bm25"] < 0.9
    spelled = tuned.remember("Nora lives on a boat", entity="Nora")
    assert ids(tuned.recall("Where does Nora live?"))[0] in (0, spelled.id)


def test_a_range_lifts_what_was_recorded_in_it(tuned: Memory, clock: Clock) -> None:
    for number in range(3):
        clock.now = START + number * DAY
        tuned.remember(f"tea number {number}")
    found = tuned.recall("tea", range=(START + DAY, START + 2 * DAY), explain=True)
    assert [given(found, fact).get("time", 0.0) for fact in range(3)] == pytest.approx([0, 0.2, 0])
    assert ids(found)[0] == 1


def test_tags_alone_bring_the_newest(tuned: Memory, clock: Clock) -> None:
    for number in range(4):
        clock.now = START + number * DAY
        tuned.remember(f"fact {number}", tags=["x"] if number != 2 else [])
    assert ids(tuned.recall(tags=["x"])) == [3, 1, 0]


def test_neighbours_of_a_session_share_their_points(tuned: Memory) -> None:
    turns = ["where do you keep the spare key?", "under the blue pot", "thanks", "bye"]
    for text in turns:
        tuned.remember(text, metadata={"session": 7})
    tuned.remember("under the blue pot", namespace=("else",), metadata={"session": 7})
    found = tuned.recall("spare key", explain=True, namespace=())
    assert ids(found) == [0, 1]
    assert given(found, 1) == pytest.approx({"neighbour": 0.3})
    found = tuned.recall("thanks", explain=True)
    assert given(found, 1) == pytest.approx({"neighbour": 0.2})
    assert given(found, 3) == pytest.approx({"neighbour": 0.3})


@pytest.mark.parametrize("session", [["a list"], None, 1.5, {"a": 1}, "x" * 2_000])
def test_a_session_is_named_by_a_short_text_or_a_whole_number(tuned: Memory, session: Any) -> None:
    for text in ("tea", "milk"):
        tuned.remember(text, metadata={"session": session})
    assert ids(tuned.recall("tea")) == [0]


def test_neighbours_are_of_the_graph(tuned: Memory) -> None:
    for text in ("tea", "milk"):
        tuned.remember(text, metadata={"session": "s"})
    assert ids(tuned.recall("tea", sources=["bm25", "time"])) == [0]


def test_neighbours_stay_within_filters(tuned: Memory) -> None:
    for text, tags in (("tea", ["x"]), ("milk", []), ("sugar", ["x"])):
        tuned.remember(text, tags=tags, metadata={"session": "s"})
    assert ids(tuned.recall("tea", tags=["x"])) == [0, 2]


OFF = {
    "graph": {"entity_boost": 0.0},
    "time": {"date_boost": 0.0},
    "date": {"date_boost": 0.0},
    "year": {"year_boost": 0.0},
    "neighbour": {"previous_boost": 0.0, "next_boost": 0.0},
}


@pytest.mark.parametrize("signal", OFF)
def test_a_signal_can_be_switched_off(open_memory: OpenMemory, signal: str) -> None:
    def evidence(config: MemoryConfig) -> set[str]:
        memory = open_memory(config=config)
        for text in ("Mara likes tea", "so do I in 2024"):
            memory.remember(text, entity="Mara", metadata={"session": "s"})
        found = memory.recall("Mara and tea in 2024", range=(START, START + DAY), explain=True)
        return {name for fact in ids(found) for name, x in given(found, fact).items() if x}

    assert signal in evidence(TUNED)
    assert signal not in evidence(TUNED.replace(**OFF[signal]))


def test_weights_of_a_recall_multiply_the_points(tuned: Memory) -> None:
    tuned.remember("Mara likes tea", entity="Mara")
    found = tuned.recall("tea Mara", weights={"bm25": 0.5, "graph": 2}, explain=True)
    assert given(found, 0) == pytest.approx({"bm25": 0.5, "graph": 0.4})


# -- what a token budget leaves


def test_a_fact_that_does_not_fit_is_passed_over_for_the_next_that_does(tuned: Memory) -> None:
    tuned.remember("tea tea tea " + "and so on " * 40)
    tuned.remember("tea with milk")
    found = tuned.recall("tea", token_budget=40)
    assert (ids(found), found.truncated) == ([1], True)
    assert tuned.explain_absent(0, "tea", token_budget=40).reason == "over budget"
    assert len(tuned.recall("tea", token_budget=None)) == 2


@pytest.mark.parametrize("budget", [0, 3, 10, 17, 40, 80, 200])
def test_what_is_rendered_keeps_to_the_budget(tuned: Memory, budget: int) -> None:
    for number in range(6):
        entity = f"Person {number}"
        tuned.remember("tea é " * (number + 1), entity=entity, tags=["drink"])
        tuned.link("Person 0", "knows", entity if number else "Person 9")
    found = tuned.recall("tea Person 0", token_budget=budget)
    assert len(found.rendered.encode()) / 4 <= max(budget, 0)
    everything = tuned.recall("tea Person 0", token_budget=None)
    assert found.truncated == (len(found.rendered) < len(everything.rendered))


def test_edges_get_what_the_facts_leave(tuned: Memory) -> None:
    tuned.remember("Mara likes tea", entity="Mara")
    for number in range(20):
        tuned.link("Mara", "knows", f"Friend {number}")
    found = tuned.recall("Mara", token_budget=60)
    assert len(found.facts) == 1
    assert 0 < len(found.edges) < 20
    assert found.truncated
    assert len(tuned.recall("Mara", token_budget=None).edges) == 20


# -- dates that a question names


def test_facts_of_the_month_that_is_asked_about_are_lifted(tuned: Memory, clock: Clock) -> None:
    for day, text in (
        ("2024-02-10", "Ann went to the lake"),
        ("2024-03-10", "Bob went to the lake"),
        ("2024-04-05", "Eve went to the lake"),
    ):
        clock.set(day)
        tuned.remember(text)
    clock.set("2024-06-01")
    found = tuned.recall("who went to the lake in March?", explain=True)
    assert ids(found)[0] == 1
    assert [given(found, fact).get("date", 0.0) for fact in range(3)] == pytest.approx(
        [0, 0.2, 0.1]
    )
    found = tuned.recall("who went to the lake last month?", as_of="2024-03-15", explain=True)
    assert ids(found)[0] == 0


def test_facts_that_became_true_then_are_lifted_too(tuned: Memory) -> None:
    tuned.remember("moved to Bern", valid_from="2019-05-20")
    tuned.remember("moved to Basel", valid_from="2021-05-20")
    assert ids(tuned.recall("who moved in 2019?"))[0] == 0
    assert ids(tuned.recall("who moved in May 2021?"))[0] == 1


def test_texts_that_name_a_year_of_the_question_are_lifted(tuned: Memory) -> None:
    for text in ("taught in Graz from 1984", "taught in Linz in 1991", "taught in Wels"):
        tuned.remember(text)
    found = tuned.recall("who taught between 1982 and 1986?", explain=True)
    assert [given(found, fact).get("year", 0.0) for fact in range(3)] == pytest.approx([0.2, 0, 0])


def test_dates_are_of_time(tuned: Memory) -> None:
    tuned.remember("taught in Graz in 1984", valid_from="1984-01-01")
    found = tuned.recall("taught in 1984?", sources=["bm25"], explain=True)
    assert set(given(found, 0)) == {"bm25"}
