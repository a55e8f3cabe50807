"""A second look at the best facts, and results without repetition."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

import pytest
from conftest import OpenMemory

from plugmem_core import InvalidInputError, Memory, MemoryConfig, WrongTypeError
from plugmem_core.recall import RecallResult

TEXTS = ("tea", "tea with milk", "tea with milk and sugar", "tea at noon with the others")


class Scores:
    """Scores texts by a function, and notes what it was asked."""

    def __init__(self, score: Callable[[str], float] = len) -> None:
        self.score = score
        self.asked: list[tuple[str, list[str]]] = []

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((question, list(texts)))
        return [self.score(text) for text in texts]


@pytest.fixture(params=["reference", "tuned"])
def shelf(open_memory: OpenMemory, request: pytest.FixtureRequest) -> Memory:
    memory = open_memory(config=MemoryConfig(ranking=request.param))
    memory.remember_many({"text": text} for text in TEXTS)
    return memory


def ids(found: RecallResult) -> list[int]:
    return [fact.id for fact in found]


def test_the_scores_of_a_reranker_are_the_order_and_the_scores(shelf: Memory) -> None:
    found = shelf.recall("tea", reranker=Scores(), k=3, explain=True)
    assert [(fact.id, fact.score) for fact in found] == [(3, 27.0), (2, 23.0), (1, 13.0)]
    assert found.explanation is not None
    assert [one.reranked for one in found.explanation.facts] == [27.0, 23.0, 13.0]
    assert found.explanation[3].score < 2  # what the ranking gave
    assert found.truncated


def test_it_is_asked_once_for_the_best(shelf: Memory) -> None:
    scores = Scores()
    shelf.recall("tea", reranker=scores, rerank_top=2, k=1)
    [(question, texts)] = scores.asked
    assert question == "tea"
    assert texts == [fact.text for fact in shelf.recall("tea", k=2)]


def test_it_sees_at_least_as_many_as_are_asked_for(shelf: Memory) -> None:
    scores = Scores()
    found = shelf.recall("tea", reranker=scores, rerank_top=1, k=3)
    assert (len(scores.asked[0][1]), len(found)) == (3, 3)


def test_equals_keep_their_order(shelf: Memory) -> None:
    assert ids(shelf.recall("tea", reranker=Scores(lambda _: 1.0))) == ids(shelf.recall("tea"))


def test_what_it_leaves_out_is_left_out(shelf: Memory) -> None:
    scores = Scores(lambda text: float("-inf") if "milk" in text else 1.0)
    assert sorted(ids(shelf.recall("tea", reranker=scores))) == [0, 3]


def test_a_memory_may_have_a_reranker_of_its_own(open_memory: OpenMemory) -> None:
    mine, other = Scores(), Scores(lambda text: -len(text))
    memory = open_memory(reranker=mine)
    memory.remember_many({"text": text} for text in TEXTS)
    assert ids(memory.recall("tea"))[0] == 3
    assert ids(memory.recall("tea", reranker=other))[0] == 0
    assert len(mine.asked) == 1
    memory.recall("tea", rerank_top=0)
    memory.recall(range=(0, 10**13))  # no question, nothing to compare with
    assert len(mine.asked) == 1
    assert ids(asyncio.run(memory.arecall("tea")))[0] == 3


def broken(text: str) -> float:
    raise ValueError("no model")


@pytest.mark.parametrize(
    ("reranker", "why"),
    [
        (Scores(broken), "the reranker failed"),
        (Scores(lambda _: float("nan")), "NaN"),
        (type("Words", (), {"rerank": lambda *_: ["high"]})(), "no list of numbers"),
        (type("Huge", (), {"rerank": lambda *_: [10**400] * 4})(), "no list of numbers"),
        (type("Few", (), {"rerank": lambda *_: [1.0]})(), "1 scores for 4 texts"),
        (type("None", (), {"rerank": lambda *_: None})(), "no list of numbers"),
    ],
)
def test_the_order_of_before_stands_where_it_fails(
    shelf: Memory, reranker: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = shelf.recall("tea", reranker=reranker, explain=True)
    assert found.facts == shelf.recall("tea").facts
    assert found.explanation is not None
    assert [why in note for note in found.explanation.notes] == [True]
    assert why in caplog.text


def test_it_is_not_waited_for_longer_than_the_limit(open_memory: OpenMemory) -> None:
    release = Event()

    class Hangs:
        def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
            release.wait()
            return [0.0] * len(texts)

    memory = open_memory(config=MemoryConfig(rerank_timeout=0.01))
    memory.remember("tea")
    found = memory.recall("tea", reranker=Hangs(), explain=True)
    release.set()
    assert ids(found) == [0]
    assert found.explanation is not None
    assert "longer than 0.01 seconds" in found.explanation.notes[0]


def test_without_a_limit_it_runs_in_the_thread_of_the_caller(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(rerank_timeout=None))
    memory.remember("tea")
    assert memory.recall("tea", reranker=Scores()).facts[0].score == 3.0


@pytest.mark.parametrize("wrong", ["a text", object(), 3])
def test_what_cannot_rerank_is_refused(memory: Memory, wrong: Any) -> None:
    memory.remember("tea")
    with pytest.raises(WrongTypeError, match="reranker"):
        memory.recall("tea", reranker=wrong)
    with pytest.raises(WrongTypeError, match="reranker"):
        Memory.open(":memory:", reranker=wrong)


# -- near-duplicates


def test_what_says_the_same_in_other_order_is_left_out(shelf: Memory) -> None:
    shelf.remember("with milk, tea", entity="Mara")
    found = shelf.recall("tea with milk", duplicates=0.9)
    assert {1, 4} - {*ids(found)} == {4} or {1, 4} - {*ids(found)} == {1}
    [left] = {1, 4} - {*ids(found)}
    assert shelf.explain_absent(left, "tea with milk", duplicates=0.9).reason == "near duplicate"
    assert {1, 4} <= {*ids(shelf.recall("tea with milk"))}


def test_the_next_takes_the_place_of_one_that_is_left_out(shelf: Memory) -> None:
    shelf.remember("with milk, tea", entity="Mara")
    assert len(shelf.recall("tea with milk", duplicates=0.9, k=4)) == 4


def test_vectors_tell_duplicates_too(memory: Memory) -> None:
    for text, vector in (("one", [1, 0]), ("two", [1, 0.01]), ("three", [0, 1])):
        memory.remember(text, vector=vector)
    assert ids(memory.recall(vector=[1, 0], duplicates=0.95)) == [0, 2]
    assert ids(memory.recall(vector=[1, 0], duplicates=1)) == [0, 1, 2]


# -- variety


def test_variety_brings_what_differs_forward(memory: Memory) -> None:
    for text, vector in (("one", [1, 0.1]), ("two", [1, 0.11]), ("three", [0.6, -0.8])):
        memory.remember(text, vector=vector)
    plain = ids(memory.recall(vector=[1, 0], k=2))
    assert plain == [0, 1]
    assert ids(memory.recall(vector=[1, 0], k=2, diversity=0.3)) == [0, 2]
    assert ids(memory.recall(vector=[1, 0], k=2, diversity=1)) == plain


def test_without_vectors_words_tell_what_differs(shelf: Memory) -> None:
    found = shelf.recall("tea with milk", k=2, diversity=0.2)
    assert ids(found) in ([1, 0], [1, 3])


@pytest.mark.parametrize("name", ["diversity", "duplicates"])
@pytest.mark.parametrize("wrong", [-0.1, 1.1, "much", float("nan")])
def test_a_share_lies_between_nothing_and_one(shelf: Memory, name: str, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        shelf.recall("tea", **{name: wrong})
