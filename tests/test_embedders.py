"""Embedders that work, fail, lie and call back; vectors of another space."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never, TypeAlias

import numpy as np
import pytest
from clocks import SECOND, Clock
from conftest import OpenMemory

from plugmem_core import (
    EmbedderError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    PlugmemError,
    VectorSpaceError,
    WrongTypeError,
)

Answer: TypeAlias = Callable[[list[str]], Any]
"""What an embedder makes of texts; `Any`, because many a test has it answer nonsense."""


class Fake:
    """An embedder of three components whose answers a test may replace."""

    def __init__(self, space_id: str = "fake", dim: int = 3) -> None:
        self.space_id = space_id
        self.dim = dim
        self.seen: list[Any] = []
        self.answer: Answer | None = None  # called with the texts instead of embedding them

    def embed_documents(self, texts: list[str]) -> Any:
        self.seen.append(list(texts))
        if self.answer is not None:
            return self.answer(texts)
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> Any:
        self.seen.append(text)
        if self.answer is not None:
            return self.answer([text])[0]
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        return [1.0, float(len(text)), *[0.5] * (self.dim - 2)]


def down(texts: list[str]) -> Never:
    raise ConnectionError("the provider is down")


@pytest.fixture
def fake() -> Fake:
    return Fake()


def sources(memory: Memory, text: str | None, **arguments: Any) -> set[str]:
    return {source for fact in memory.recall(text, **arguments).facts for source in fact.sources}


def notes(memory: Memory, text: str) -> tuple[str, ...]:
    return memory.recall(text, explain=True).explanation.notes


# -- when all is well


def test_texts_are_embedded_as_they_are_written_many_at_once(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    assert memory.remember("one").vector == "stored"
    receipts = memory.remember_many([{"text": "two"}, {"text": "three"}])
    assert [receipt.vector for receipt in receipts] == ["stored", "stored"]
    assert fake.seen == [["one"], ["two", "three"]]
    assert memory.stats().vectors == 3


def test_questions_are_embedded(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.seen.clear()
    assert sources(memory, "xyz") == {"vector"}
    assert fake.seen == ["xyz"]
    assert notes(memory, "xyz") == ()


def test_a_question_asked_more_than_once_is_embedded_once(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember_many({"text": text} for text in ("one", "three", "thirteen"))
    expected = memory.recall("three").facts
    fake.seen.clear()
    vector = memory.embed_query("three")
    assert vector.tolist() == [1.0, 5.0, 0.5]
    assert memory.recall("three", vector=vector).facts == expected
    assert memory.recall("three", vector=vector, namespace=("n",)).facts == ()
    assert fake.seen == ["three"]


def test_a_question_without_a_vector_gives_none(open_memory: OpenMemory, fake: Fake) -> None:
    bare = open_memory()
    bare.remember("one", vector=[1.0])
    assert bare.embed_query("one") is None
    memory = open_memory(embedder=fake)
    assert memory.embed_query("one") is None
    assert fake.seen == []
    memory.remember("one")
    for answer in (down, lambda _: [[0.0, 0.0, 0.0]], lambda _: [[1.0]], lambda _: [None]):
        fake.answer = answer
        assert memory.embed_query("one") is None


@pytest.mark.parametrize("text", [None, 5, b"one", ["one"], "\ud800"])
def test_what_is_no_text_is_no_question(open_memory: OpenMemory, fake: Fake, text: Any) -> None:
    with pytest.raises(InvalidInputError, match="text"):
        open_memory(embedder=fake).embed_query(text)


def test_no_question_is_embedded_before_there_are_vectors(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    assert memory.recall("xyz").facts == ()
    assert fake.seen == []


def test_given_vectors_bypass_the_embedder(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    assert memory.remember("one", vector=[0.0, 0.0, 1.0]).vector == "stored"
    memory.remember_many([{"text": "two", "vector": [0.0, 1.0, 0.0]}, {"text": "three"}])
    assert fake.seen == [["three"]]
    fake.seen.clear()
    found = memory.recall("one", vector=[0.0, 0.0, 1.0], explain=True)
    assert fake.seen == []
    assert found.explanation is not None
    [evidence] = [e for e in found.explanation[0].evidence if e.source == "vector"]
    assert evidence.rank == 1
    assert evidence.raw == pytest.approx(1.0, abs=1e-2)


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda v: np.array(v, np.float64)])
def test_any_flat_sequence_of_numbers_is_a_vector(
    open_memory: OpenMemory, fake: Fake, kind: Callable[[list[float]], Any]
) -> None:
    fake.answer = lambda texts: [kind([1.0, 2.0, 3.0]) for _ in texts]
    memory = open_memory(embedder=fake)
    assert memory.remember("one").vector == "stored"
    assert sources(memory, "xyz") == {"vector"}


def test_an_array_of_rows_is_an_answer(open_memory: OpenMemory, fake: Fake) -> None:
    fake.answer = lambda texts: np.ones((len(texts), 3))
    memory = open_memory(embedder=fake)
    assert {r.vector for r in memory.remember_many([{"text": "a"}, {"text": "b"}])} == {"stored"}


def test_a_text_without_direction_has_no_vector(open_memory: OpenMemory, fake: Fake) -> None:
    fake.answer = lambda texts: [[0.0, 0.0, 0.0] for _ in texts]
    memory = open_memory(embedder=fake)
    assert memory.remember("one").vector == "none"
    assert memory.stats().pending == 0
    assert sources(memory, "one") == {"bm25"}


def test_the_space_is_recorded_with_the_first_vector(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("one")
    with open_memory(tmp_path / "m", embedder=Fake()) as memory:  # the same space
        assert sources(memory, "xyz") == {"vector"}
        assert memory.remember("two").vector == "stored"


# -- the provider is down


def test_a_failing_embedder_leaves_the_vector_pending(
    open_memory: OpenMemory, fake: Fake, caplog: pytest.LogCaptureFixture
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    assert memory.remember("one").vector == "pending"
    assert [r.vector for r in memory.remember_many([{"text": "two"}, {"text": "three"}])] == [
        "pending",
        "pending",
    ]
    assert memory.stats().pending == 3
    assert "pending" in caplog.text
    assert sources(memory, "one") == {"bm25"}
    assert memory.verify().ok


def test_maintain_makes_pending_vectors_when_the_embedder_is_back(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    fake.answer = down
    memory = open_memory(tmp_path / "m", embedder=fake)
    memory.remember_many({"text": f"text {number}"} for number in range(300))
    assert memory.maintain().embedded == 0
    assert memory.stats().pending == 300
    memory.forget(7)
    memory.close()
    fake.answer = None
    again = open_memory(tmp_path / "m", embedder=fake)
    fake.seen.clear()
    assert again.maintain().embedded == 299
    assert sum(map(len, fake.seen)) == 299
    assert max(map(len, fake.seen)) <= 128
    assert (again.stats().pending, again.stats().vectors) == (0, 299)
    assert sources(again, "xyz") == {"vector"}
    assert again.maintain().embedded == 0
    assert again.verify().ok


def test_maintain_asks_an_embedder_that_is_down_once(open_memory: OpenMemory, fake: Fake) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    memory.remember_many({"text": f"text {number}"} for number in range(300))
    fake.seen.clear()
    assert memory.maintain().embedded == 0
    assert len(fake.seen) == 1


def test_what_was_embedded_before_the_embedder_failed_again_is_kept(
    open_memory: OpenMemory, fake: Fake
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    memory.remember_many({"text": f"text {number}"} for number in range(200))
    answers = iter([lambda texts: [[1.0, 2.0, 3.0]] * len(texts), down])
    fake.answer = lambda texts: next(answers)(texts)
    assert memory.maintain().embedded == 128
    assert memory.stats().pending == 72


def test_a_pending_vector_given_by_the_caller_is_no_longer_pending(
    open_memory: OpenMemory, fake: Fake
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    receipt = memory.remember("one")
    assert memory.remember("one", vector=[1.0, 0.0, 0.0]).id == receipt.id
    assert (memory.stats().pending, memory.stats().vectors) == (0, 1)


def test_a_revision_of_a_pending_text_is_pending_in_its_place(
    open_memory: OpenMemory, fake: Fake
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    memory.remember("one")
    memory.revise(0, tags=["t"])
    memory.revise(1, "two")
    fake.answer = None
    memory.maintain()
    found = memory.recall("xyz").facts
    assert [(fact.id, fact.text) for fact in found] == [(2, "two")]


def test_a_question_that_cannot_be_embedded_is_answered_by_the_other_sources(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = down
    assert sources(memory, "one") == {"bm25"}
    [note] = notes(memory, "one")
    assert "vector search was left out" in note
    assert "provider is down" in note


def test_an_interrupt_is_no_failure_of_the_embedder(open_memory: OpenMemory, fake: Fake) -> None:
    def interrupt(texts: list[str]) -> Never:
        raise KeyboardInterrupt

    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = interrupt
    for call in (lambda: memory.remember("two"), lambda: memory.recall("one")):
        with pytest.raises(KeyboardInterrupt):
            call()
    assert memory.stats().facts == 1


# -- left alone for a while


def test_an_embedder_that_failed_is_left_alone_twice_as_long_each_time(
    open_memory: OpenMemory, fake: Fake, clock: Clock
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    for number, seconds in enumerate((1, 2, 4, 8, 16, 32, 60, 60)):
        assert memory.stats().embedder == "active"
        assert memory.remember(f"asked {number}").vector == "pending"
        clock.tick(seconds * SECOND - 1)
        assert memory.stats().embedder == "suspended"
        assert memory.remember(f"not asked {number}").vector == "pending"
        clock.tick(1)
    assert fake.seen == [[f"asked {number}"] for number in range(8)]
    assert memory.stats().pending == 16


def test_a_success_begins_anew(open_memory: OpenMemory, fake: Fake, clock: Clock) -> None:
    memory = open_memory(embedder=fake)
    for _ in range(3):
        fake.answer = down
        memory.remember(f"fails at {clock.now}")
        assert memory.stats().embedder == "suspended"
        clock.tick(SECOND)
        fake.answer = None
        assert memory.remember(f"works at {clock.now}").vector == "stored"
        assert memory.stats().embedder == "active"


def test_questions_and_texts_share_the_wait(
    open_memory: OpenMemory, fake: Fake, clock: Clock
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = down
    assert "provider is down" in notes(memory, "one")[0]
    fake.seen.clear()
    fake.answer = None
    assert memory.remember("two").vector == "pending"
    [note] = notes(memory, "one")
    assert "the embedder failed (the provider is down), and is asked again in 1 seconds" in note
    assert memory.embed_query("one") is None
    assert fake.seen == []
    clock.tick(SECOND)
    assert sources(memory, "one") == {"bm25", "vector"}
    assert memory.remember("three").vector == "stored"


def test_a_text_that_is_known_needs_no_embedder_that_answers(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = down
    memory.remember("two")
    assert memory.remember("one", namespace=("n",)).vector == "stored"


def test_maintain_does_not_wait(open_memory: OpenMemory, fake: Fake) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = None
    assert memory.maintain().embedded == 1
    assert memory.stats().embedder == "active"


def test_the_wait_can_be_set_and_switched_off(
    open_memory: OpenMemory, fake: Fake, clock: Clock
) -> None:
    fake.answer = down
    config = MemoryConfig(embedder_wait=10, embedder_longest_wait=15)
    memory = open_memory(embedder=fake, config=config)
    for seconds in (10, 15, 15):
        memory.remember(f"asked at {clock.now}")
        clock.tick(seconds * SECOND - 1)
        assert memory.stats().embedder == "suspended"
        clock.tick(1)
    always = open_memory(embedder=fake, config=MemoryConfig(embedder_wait=0))
    fake.seen.clear()
    for text in ("one", "two"):
        always.remember(text)
        assert always.stats().embedder == "active"
    assert fake.seen == [["one"], ["two"]]


def test_a_clock_that_is_set_back_makes_nobody_wait_longer(
    open_memory: OpenMemory, fake: Fake, clock: Clock
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    memory.remember("one")
    clock.set("2001-01-01")
    assert memory.stats().embedder == "active"


def test_failures_at_the_same_time_are_one(
    open_memory: OpenMemory, fake: Fake, clock: Clock
) -> None:
    memory = open_memory(embedder=fake)

    def asked_meanwhile(texts: list[str]) -> Never:
        fake.answer = down
        memory.remember("by another thread")  # which began later and fails first
        raise ConnectionError("late")

    fake.answer = asked_meanwhile
    memory.remember("one")
    clock.tick(SECOND)
    assert memory.stats().embedder == "active"


def test_the_wait_grows_no_further_than_numbers_do(
    open_memory: OpenMemory, fake: Fake, clock: Clock
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    for _ in range(1_100):
        memory.embed_query("x")
        memory.remember("one")
        clock.tick(60 * SECOND)
    assert len(fake.seen) == 1_100


def test_a_handle_without_an_embedder_says_so(open_memory: OpenMemory) -> None:
    assert open_memory().stats().embedder == "absent"


# -- facts without a vector by choice


def test_a_text_is_not_embedded_when_that_is_asked(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    assert memory.remember("one", embed=False).vector == "none"
    assert memory.remember_guarded("two", entity="E", embed=False).receipt.vector == "none"
    receipts = memory.remember_many([{"text": "three", "embed": False}, {"text": "four"}])
    assert [receipt.vector for receipt in receipts] == ["none", "stored"]
    assert fake.seen == [["four"]]
    assert memory.stats().pending == 0
    assert memory.maintain().embedded == 0
    assert sources(memory, "one") == {"bm25", "vector"}  # the latter finds "four"
    assert memory.verify().ok


def test_a_given_vector_is_kept_whatever_embed_says(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    assert memory.remember("one", vector=[1.0, 0.0, 0.0], embed=False).vector == "stored"
    assert fake.seen == []


def test_not_embedding_needs_no_embedder_of_the_right_space(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("one")
    other = open_memory(tmp_path / "m", embedder=Fake(space_id="other"))
    assert other.remember("two", embed=False).vector == "none"


def test_a_fact_without_a_vector_gets_one_when_it_is_said_again(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one", embed=False)
    again = memory.remember("one")
    assert (again.id, again.outcome, again.vector) == (0, "unchanged", "stored")
    assert shown(memory, 0) == [[1.0, 3.0, 0.5]]


def test_a_fact_without_a_vector_waits_for_one_when_it_is_said_again_in_vain(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one", embed=False)
    fake.answer = down
    assert memory.remember("one").vector == "pending"
    fake.answer = None
    assert memory.maintain().embedded == 1
    assert shown(memory, 0) == [[1.0, 3.0, 0.5]]


def test_under_a_key_the_last_write_decides(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one", key="k")
    assert memory.remember("one", key="k", tags=["t"], embed=False).vector == "none"
    assert memory.remember("one", key="k", tags=["u"]).vector == "stored"
    assert fake.seen == [["one"]]


@pytest.mark.parametrize("embed", [0, 1, None, "yes", []])
def test_embed_is_true_or_false(memory: Memory, embed: Any) -> None:
    with pytest.raises(WrongTypeError, match="embed"):
        memory.remember("one", embed=embed)


# -- a text is embedded once


def shown(memory: Memory, *ids: int) -> list[Any]:
    vectors = memory.vectors(ids)
    return [None if vector is None else vector.tolist() for vector in vectors]


def test_within_one_call_a_text_is_embedded_once(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    texts = ["one", "two", "one", "one", "three", "two"]
    memory.remember_many({"text": text, "key": f"{n}"} for n, text in enumerate(texts))
    assert fake.seen == [["one", "two", "three"]]
    assert [row[1] for row in shown(memory, *range(6))] == [3.0, 3.0, 3.0, 3.0, 5.0, 3.0]


def test_a_text_that_some_fact_has_is_not_embedded_again(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.seen.clear()
    memory.remember("one")  # confirmed
    memory.remember("one", tags=["t"])  # revised
    memory.remember("one", entity="E")
    memory.remember_guarded("one", entity="F")
    memory.remember("one", namespace=("other",))
    memory.write(remember=[{"text": "one", "key": "k"}])
    two = memory.remember("two", vector=[0.0, 1.0, 0.0])
    memory.revise(two.id, "one")
    assert fake.seen == []
    last = memory.stats().facts
    assert shown(memory, *range(last)).count([1.0, 3.0, 0.5]) == last - 1
    assert memory.verify().ok


def test_what_is_closed_or_forgotten_lends_its_vector_until_it_is_purged(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    memory.end(0)
    assert memory.remember("one").id == 1
    memory.forget_many([0, 1])
    assert memory.remember("one", namespace=("b",)).vector == "stored"
    assert fake.seen == [["one"]]
    memory.forget(2)
    memory.maintain()
    assert memory.remember("one").vector == "stored"
    assert fake.seen == [["one"], ["one"]]


def test_only_the_same_text_lends_its_vector(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    for text in ("one", "One", "one ", "onе", "one."):
        memory.remember(text)
    assert fake.seen == [["one"], ["One"], ["one "], ["onе"], ["one."]]


def test_texts_keep_their_vectors_across_handles_and_reopening(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    first = open_memory(tmp_path / "m", embedder=fake)
    second = open_memory(tmp_path / "m", embedder=fake)
    first.remember_many({"text": f"text {n}"} for n in range(1_200))
    fake.seen.clear()
    second.remember_many({"text": f"text {n}", "key": f"{n}"} for n in range(1_201))
    assert fake.seen == [["text 1200"]]
    first.close()
    second.close()
    third = open_memory(tmp_path / "m", embedder=fake)
    third.remember("text 7", namespace=("n",))
    assert fake.seen == [["text 1200"]]


def test_a_vector_given_for_a_text_serves_the_text_elsewhere(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one", vector=[0.0, 0.0, 1.0])
    memory.remember("one", entity="E")
    assert fake.seen == []
    assert shown(memory, 0, 1) == [[0.0, 0.0, 1.0]] * 2


def test_of_several_vectors_of_a_text_the_newest_serves_it_elsewhere(
    open_memory: OpenMemory, fake: Fake
) -> None:
    memory = open_memory(embedder=fake)
    for n, vector in enumerate(([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])):
        memory.remember("one", vector=vector, key=f"{n}")
    memory.remember("one", key="none", embed=False)
    assert memory.remember("one").vector == "stored"
    assert shown(memory, 2, 3) == [None, [0.0, 1.0, 0.0]]
    assert fake.seen == []


def test_a_known_text_needs_no_embedder_that_is_up(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = down
    receipts = memory.remember_many({"text": text, "key": text} for text in ("one", "two", "three"))
    assert [receipt.vector for receipt in receipts] == ["stored", "pending", "pending"]


def test_one_failed_call_leaves_all_of_its_texts_pending(
    open_memory: OpenMemory, fake: Fake
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    receipts = memory.remember_many(
        {"text": text, "key": f"{n}"} for n, text in enumerate(["one", "two", "one"])
    )
    assert {receipt.vector for receipt in receipts} == {"pending"}
    assert fake.seen == [["one", "two"]]
    fake.answer = None
    fake.seen.clear()
    assert memory.maintain().embedded == 3
    assert fake.seen == [["one", "two"]]
    assert shown(memory, 0, 1, 2) == [[1.0, 3.0, 0.5]] * 3


def test_a_pending_fact_said_again_without_an_embedder_stays_pending(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    fake.answer = down
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("one")
    with open_memory(tmp_path / "m") as memory:
        again = memory.remember("one", tags=["t"])
        assert (again.outcome, again.vector) == ("revised", "pending")
    fake.answer = None
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.maintain()
        assert shown(memory, 1) == [[1.0, 3.0, 0.5]]


@pytest.mark.parametrize("answer", [None, down])
def test_a_text_revised_without_an_embedder_waits_for_its_own_vector(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path, answer: Answer | None
) -> None:
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("the first")
        fake.answer = answer
        memory.remember("one")
    with open_memory(tmp_path / "m") as memory:
        revised = memory.revise(1, "another")
        assert (revised.vector, shown(memory, revised.id)) == ("pending", [None])
        assert memory.revise(revised.id, tags=["t"]).vector == "pending"
        assert memory.verify().ok
    fake.answer = None
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("another", namespace=("n",))
        memory.maintain()
        assert shown(memory, 3, 4) == [[1.0, 7.0, 0.5]] * 2
        assert memory.verify().ok


def test_only_what_has_a_vector_or_waits_for_one_waits_when_it_is_revised(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("the first")
        memory.remember("one", embed=False)
    with open_memory(tmp_path / "m") as memory:
        assert memory.revise(1, "another").vector == "none"
        same = memory.revise(0, "the first", tags=["t"])
        assert (same.vector, shown(memory, same.id)) == ("stored", [[1.0, 9.0, 0.5]])
        assert memory.revise(same.id, "another", vector=None).vector == "none"


def test_a_vector_of_the_callers_own_survives_another_text(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember("one", vector=[0.0, 1.0])
    assert memory.revise(0, "another").vector == "stored"
    assert shown(memory, 1) == [[0.0, 1.0]]


# -- an embedder that does not know its dimension


class Unsure(Fake):
    """Learns its dimension as its users do: from the first vector."""

    def __init__(self, space_id: str = "fake") -> None:
        super().__init__(space_id)
        self.dim = None  # type: ignore[assignment]  # what is tested here

    def _vector(self, text: str) -> list[float]:
        return [1.0, float(len(text)), 0.5]


@pytest.fixture
def unsure() -> Unsure:
    return Unsure()


def test_the_first_vector_tells_the_dimension(open_memory: OpenMemory, unsure: Unsure) -> None:
    memory = open_memory(embedder=unsure)
    assert memory.recall("xyz").facts == ()
    assert memory.remember("one").vector == "stored"
    assert sources(memory, "xyz") == {"vector"}
    unsure.answer = lambda texts: [[1.0, 0.0]] * len(texts)
    with pytest.raises(EmbedderError, match="2 components"):
        memory.remember("two")
    assert len(notes(memory, "one")) == 1
    with pytest.raises(VectorSpaceError):
        memory.remember("three", vector=[1.0, 0.0])
    assert memory.stats().facts == 1


@pytest.mark.parametrize(
    "answer",
    [
        [[1.0, 2.0, 3.0], [1.0, 2.0]],
        [[1.0, 2.0], [1.0, 2.0, 3.0]],
        [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0]],
        [[1.0, 2.0, 3.0], [0.0, 0.0]],
        [[], [1.0]],
        [[1.0] * 5_000],
        [[float("nan"), 1.0]],
    ],
)
def test_vectors_of_mixed_dimensions_are_an_error_and_nothing_is_stored(
    open_memory: OpenMemory, unsure: Unsure, answer: list[list[float]]
) -> None:
    memory = open_memory(embedder=unsure)
    unsure.answer = lambda _: answer
    with pytest.raises(EmbedderError):
        memory.remember_many({"text": f"text {n}"} for n in range(len(answer)))
    assert memory.stats().facts == 0
    unsure.answer = None
    assert memory.remember("one").vector == "stored"
    assert memory.verify().ok


def test_texts_without_direction_do_not_tell_the_dimension(
    open_memory: OpenMemory, unsure: Unsure
) -> None:
    memory = open_memory(embedder=unsure)
    unsure.answer = lambda texts: [[0.0, 0.0]] * len(texts)
    assert memory.remember("...").vector == "none"
    unsure.answer = None
    assert memory.remember("one").vector == "stored"


def test_a_file_tells_the_dimension_when_it_is_opened_again(
    open_memory: OpenMemory, unsure: Unsure, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m", embedder=unsure) as memory:
        memory.remember("one")
    memory = open_memory(tmp_path / "m", embedder=Unsure())
    assert sources(memory, "xyz") == {"vector"}
    assert memory.remember("two").vector == "stored"
    wrong = Unsure()
    wrong.answer = lambda texts: [[1.0, 0.0]] * len(texts)
    other = open_memory(tmp_path / "m", embedder=wrong)
    with pytest.raises(EmbedderError):
        other.remember("three")
    assert open_memory(tmp_path / "m", embedder=Fake()).remember("four").vector == "stored"
    with pytest.raises(VectorSpaceError, match="'fake'"):
        open_memory(tmp_path / "m", embedder=Unsure("other")).remember("five")


def test_maintain_makes_pending_vectors_of_a_dimension_not_known_before(
    open_memory: OpenMemory, unsure: Unsure, tmp_path: Path
) -> None:
    unsure.answer = down
    with open_memory(tmp_path / "m", embedder=unsure) as memory:
        memory.remember_many({"text": f"text {n}"} for n in range(200))
        assert memory.maintain().embedded == 0
    unsure.answer = None
    memory = open_memory(tmp_path / "m", embedder=unsure)
    assert memory.maintain().embedded == 200
    assert (memory.stats().pending, memory.stats().vectors) == (0, 200)
    assert sources(memory, "xyz") == {"vector"}
    assert memory.verify().ok


def test_maintain_keeps_to_the_dimension_of_its_first_batch(
    open_memory: OpenMemory, unsure: Unsure
) -> None:
    unsure.answer = down
    memory = open_memory(embedder=unsure)
    memory.remember_many({"text": f"text {n}"} for n in range(200))
    sizes = iter([3, 2])

    def shrinking(texts: list[str]) -> list[list[float]]:
        return [[1.0] * size for size in [next(sizes)] for _ in texts]

    unsure.answer = shrinking
    with pytest.raises(EmbedderError):
        memory.maintain()
    assert (memory.stats().pending, memory.stats().vectors) == (72, 128)
    assert memory.verify().ok


def test_an_announced_dimension_binds_an_embedder_that_knows_none(
    open_memory: OpenMemory, unsure: Unsure
) -> None:
    memory = open_memory(embedder=unsure, dim=4)
    with pytest.raises(EmbedderError, match="4"):
        memory.remember("one")
    assert open_memory(embedder=Unsure(), dim=3).remember("one").vector == "stored"


def test_a_given_vector_and_a_made_one_must_agree(open_memory: OpenMemory, unsure: Unsure) -> None:
    memory = open_memory(embedder=unsure)
    with pytest.raises(PlugmemError, match="components"):
        memory.remember_many([{"text": "one", "vector": [1.0, 0.0]}, {"text": "two"}])
    assert memory.stats().facts == 0


# -- the embedder breaks its contract

BAD_ANSWERS: dict[str, Answer] = {
    "too few": lambda texts: [],
    "too many": lambda texts: [[1.0, 0.0, 0.0]] * (len(texts) + 1),
    "another dimension": lambda texts: [[1.0, 0.0]] * len(texts),
    "zeros of another dimension": lambda texts: [[0.0, 0.0]] * len(texts),
    "empty": lambda texts: [[]] * len(texts),
    "nan": lambda texts: [[1.0, float("nan"), 0.0]] * len(texts),
    "infinite": lambda texts: [[1.0, float("inf"), 0.0]] * len(texts),
    "beyond single precision": lambda texts: [[1e300, 0.0, 0.0]] * len(texts),
    "text": lambda texts: ["abc"] * len(texts),
    "nested": lambda texts: [[[1.0, 0.0, 0.0]]] * len(texts),
    "numbers for vectors": lambda texts: [1.0] * len(texts),
    "nothing for vectors": lambda texts: [None] * len(texts),
    "nothing": lambda texts: None,
    "no sequence": lambda texts: 5,
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_an_unusable_answer_is_an_error_and_nothing_is_stored(
    open_memory: OpenMemory, fake: Fake, answer: Answer
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("before")
    before = memory.stats()
    fake.answer = answer
    for write in (
        lambda: memory.remember("one", entity="new", tags=["new"]),
        lambda: memory.remember_many([{"text": "one"}, {"text": "two"}]),
        lambda: memory.remember_guarded("one", entity="new"),
        lambda: memory.revise(0, "one"),
    ):
        with pytest.raises(EmbedderError):
            write()
        assert memory.stats() == before
    fake.answer = None
    assert memory.remember("after").id == 1


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_maintain_with_an_unusable_answer_leaves_vectors_pending(
    open_memory: OpenMemory, fake: Fake, answer: Answer
) -> None:
    fake.answer = down
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = answer
    with pytest.raises(EmbedderError):
        memory.maintain()
    assert (memory.stats().pending, memory.stats().vectors) == (1, 0)
    fake.answer = None
    assert memory.maintain().embedded == 1


QUESTION_ANSWERS = {
    name: answer for name, answer in BAD_ANSWERS.items() if name not in ("too many", "no sequence")
}


@pytest.mark.parametrize("answer", QUESTION_ANSWERS.values(), ids=QUESTION_ANSWERS)
def test_a_question_with_an_unusable_vector_is_answered_by_the_other_sources(
    open_memory: OpenMemory, fake: Fake, answer: Answer
) -> None:
    memory = open_memory(embedder=fake)
    memory.remember("one")
    fake.answer = answer
    assert sources(memory, "one") == {"bm25"}
    assert len(notes(memory, "one")) == 1


# -- another space


@pytest.fixture
def file_of_fake(open_memory: OpenMemory, fake: Fake, tmp_path: Path) -> Path:
    """A file with vectors of the space "fake", of three components."""
    with open_memory(tmp_path / "m", embedder=fake) as memory:
        memory.remember("one")
    return tmp_path / "m"


@pytest.mark.parametrize(
    "other", [Fake(space_id="other"), Fake(dim=4), Fake(space_id="other", dim=4)]
)
def test_vectors_of_another_model_are_refused_and_text_goes_on(
    open_memory: OpenMemory, file_of_fake: Path, other: Fake
) -> None:
    memory = open_memory(file_of_fake, embedder=other)
    with pytest.raises(VectorSpaceError, match=r"components|'fake'"):
        memory.remember("two")
    with pytest.raises(VectorSpaceError):
        memory.remember_many([{"text": "two"}])
    with pytest.raises(VectorSpaceError):
        memory.revise(0, "two")
    assert memory.stats().facts == 1
    assert sources(memory, "one") == {"bm25"}
    [note] = notes(memory, "one")
    assert "vector search was left out" in note
    assert memory.forget(0)  # what needs no vector goes on
    assert memory.maintain().purged == 1


def test_an_embedder_over_vectors_given_by_callers_is_refused(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.remember("one", vector=[1.0, 0.0, 0.0])
    memory = open_memory(tmp_path / "m", embedder=fake)
    with pytest.raises(VectorSpaceError, match="a caller"):
        memory.remember("two")
    assert "a caller" in notes(memory, "one")[0]


def test_without_an_embedder_vectors_of_the_right_dimension_are_accepted(
    open_memory: OpenMemory, file_of_fake: Path
) -> None:
    memory = open_memory(file_of_fake)
    assert memory.remember("two", vector=[1.0, 0.0, 0.0]).vector == "stored"
    assert memory.remember("three").vector == "none"
    with pytest.raises(VectorSpaceError, match="2 components"):
        memory.remember("four", vector=[1.0, 0.0])
    assert sources(memory, None, vector=[0.0, 0.0, 1.0]) == {"vector"}
    with pytest.raises(VectorSpaceError, match="4 components"):
        memory.recall(vector=[1.0] * 4)


def test_an_announced_dimension_is_kept_before_the_first_vector(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "m", dim=3)
    with pytest.raises(VectorSpaceError, match="2 components"):
        memory.remember("one", vector=[1.0, 0.0])
    assert memory.remember("one", vector=[1.0, 0.0, 0.0]).vector == "stored"


def test_an_announced_dimension_counts_in_a_file_without_vectors(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.remember("one")
    memory = open_memory(tmp_path / "m", dim=3)
    with pytest.raises(VectorSpaceError):
        memory.remember("two", vector=[1.0, 0.0])


def test_an_announced_dimension_that_the_file_contradicts_is_for_vectors_only(
    open_memory: OpenMemory, file_of_fake: Path
) -> None:
    memory = open_memory(file_of_fake, dim=8)
    for call in (
        lambda: memory.remember("two", vector=[1.0] * 8),
        lambda: memory.remember("two", vector=[1.0] * 3),
        lambda: memory.recall("one", vector=[1.0] * 8),
    ):
        with pytest.raises(VectorSpaceError):
            call()
    assert memory.remember("two").vector == "none"
    assert sources(memory, "one") == {"bm25"}


def test_an_announced_dimension_that_the_embedder_contradicts_is_refused(fake: Fake) -> None:
    with pytest.raises(VectorSpaceError, match="dim is 4, the embedder makes 3"):
        Memory.open(":memory:", embedder=fake, dim=4)


def test_two_handles_cannot_both_decide_the_space(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    first = open_memory(tmp_path / "m", embedder=fake)
    second = open_memory(tmp_path / "m", embedder=Fake(space_id="other"))

    def written_meanwhile(texts: list[str]) -> list[list[float]]:
        first.remember("first")
        return [[1.0, 2.0, 3.0]] * len(texts)

    second._engine.vectorizer.embedder.answer = written_meanwhile
    with pytest.raises(VectorSpaceError, match="'fake'"):
        second.remember("second")
    assert second.stats().facts == 1
    assert first.verify().ok


@pytest.mark.parametrize(
    ("vector", "error"),
    [
        ([0.0, 0.0, 0.0], InvalidInputError),
        ([1.0, float("nan"), 0.0], InvalidInputError),
        ([float("inf"), 0.0, 0.0], InvalidInputError),
        ([1e-30, 0.0, 0.0], InvalidInputError),
        ([], InvalidInputError),
        ([1.0] * 5_000, InvalidInputError),
        ("abc", WrongTypeError),
        ([[1.0, 0.0, 0.0]], WrongTypeError),
        (["a", "b", "c"], WrongTypeError),
        ([True, False, True], WrongTypeError),
    ],
)
def test_given_vectors_are_checked(
    open_memory: OpenMemory, vector: Any, error: type[PlugmemError]
) -> None:
    memory = open_memory()
    with pytest.raises(error):
        memory.remember("one", vector=vector)
    assert memory.stats().facts == 0
    memory.remember("one", vector=[1.0, 0.0, 0.0])
    with pytest.raises(PlugmemError):
        memory.recall("one", vector=vector)


# -- locks


def test_an_embedder_may_use_the_memory_it_serves(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "m", embedder=fake)
    memory.remember("one", entity="a")

    def recall_first(texts: list[str]) -> list[list[float]]:
        fake.answer = None
        assert memory.recall("one", entities=["a"]).facts
        memory.remember("written by the embedder", vector=[1.0, 0.0, 0.0])
        return [[1.0, 2.0, 3.0]] * len(texts)

    for call in (
        lambda: memory.remember("two"),
        lambda: memory.remember_many([{"text": "three"}]),
        lambda: memory.revise(0, "one again"),
        lambda: memory.recall("one"),
        lambda: memory.maintain(),
    ):
        memory.remember("waits", key="waits")
        fake.answer = recall_first
        call()
    assert memory.verify().ok


def test_other_writers_go_on_while_an_embedder_thinks(
    open_memory: OpenMemory, fake: Fake, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "m", embedder=fake)
    other = open_memory(tmp_path / "m")

    def slow(texts: list[str]) -> list[list[float]]:
        other.remember("written meanwhile")  # would be busy if the file were held
        return [[1.0, 2.0, 3.0]] * len(texts)

    fake.answer = slow
    assert memory.remember("one").id == 1
    assert other.get(1).text == "one"


def test_async_verbs_use_the_embedder_too(open_memory: OpenMemory, fake: Fake) -> None:
    memory = open_memory(embedder=fake)

    async def talk() -> tuple[str, list[tuple[str, ...]]]:
        receipt = await memory.aremember("one")
        found = await memory.arecall("xyz")
        return receipt.vector, [fact.sources for fact in found.facts]

    assert asyncio.run(talk()) == ("stored", [("vector",)])


# -- HashingEmbedder


def test_hashing_is_deterministic_and_known() -> None:
    # The digest of "tea" is fixed, so files made on one machine can be read on another.
    vector = HashingEmbedder(dim=8).embed_query("tea")
    assert vector.dtype == np.float32
    assert np.abs(vector).sum() == 1
    assert (vector == HashingEmbedder(dim=8).embed_query("TEA!")).all()
    assert HashingEmbedder(dim=8).embed_query("tea tea")[vector.nonzero()] == 2 * vector.sum()


def test_hashing_adds_up_tokens() -> None:
    embedder = HashingEmbedder(dim=64)
    parts = embedder.embed_documents(["green", "tea"])
    assert (embedder.embed_query("tea, green") == parts[0] + parts[1]).all()
    assert not embedder.embed_query("...").any()


def test_texts_that_share_words_are_nearer(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder())
    memory.remember_many({"text": t} for t in ("green tea is warm", "cars are fast", "!!!"))
    assert memory.recall("warm green tea").facts[0].id == 0
    assert memory.get(2) is not None


def test_hashing_spaces_of_different_dimensions_are_different() -> None:
    assert HashingEmbedder(dim=8).space_id != HashingEmbedder(dim=16).space_id
    for dim in (0, -1, 5_000, 2.5, True):
        with pytest.raises(InvalidInputError, match="dim"):
            HashingEmbedder(dim=dim)


async def test_many_async_verbs_wait_for_an_embedder_that_needs_threads_of_the_loop(
    open_memory: OpenMemory,
) -> None:
    class Threaded(Fake):
        async def aembed_documents(self, texts: list[str]) -> Any:
            return await asyncio.to_thread(self.embed_documents, texts)

        async def aembed_query(self, text: str) -> Any:
            return await asyncio.to_thread(self.embed_query, text)

    memory = open_memory(embedder=Threaded())
    await memory.aremember("tea")
    # More than any pool of threads has, and each of them waits for one more.
    async with asyncio.timeout(60):
        await asyncio.gather(*(memory.arecall(f"tea {n}") for n in range(200)))
