"""Embedders that work, fail, lie and call back; vectors of another space."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never, TypeAlias

import numpy as np
import pytest
from conftest import OpenMemory

from plugmem_core import (
    EmbedderError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
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
