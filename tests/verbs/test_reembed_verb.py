"""`reembed`: missing vectors are made, and another model takes over while everybody goes on."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Never

import pytest
from clocks import Clock
from conftest import OpenMemory

from plugmem_core import (
    EmbedderError,
    InvalidInputError,
    Memory,
    MemoryConfig,
    ReadOnlyError,
    ReembedReport,
    VectorSpace,
    VectorSpaceError,
)


class Model:
    """Embeds a text as its length and the number of the model, and keeps what it was asked."""

    def __init__(self, number: int = 1, dim: int = 2, *, told: bool = True) -> None:
        self.number = number
        self.space_id = f"model-{number}"
        self.size = dim
        self.dim = dim if told else None
        self.asked: list[str] = []
        self.batches: list[int] = []
        self.before: Callable[[list[str]], object] = lambda texts: None

    def embed_documents(self, texts: list[str]) -> Any:
        self.before(texts)
        self.asked += texts
        self.batches.append(len(texts))
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if text == "...":
            return [0.0] * self.size
        return [float(len(text)), *[float(self.number)] * (self.size - 1)]


def down(texts: list[str]) -> Never:
    raise ConnectionError("the provider is down")


def vectors(memory: Memory, count: int) -> list[list[float] | None]:
    return [None if one is None else one.tolist() for one in memory.vectors(range(count))]


def by_vector(memory: Memory, vector: list[float]) -> list[int]:
    return [fact.id for fact in memory.recall(vector=vector).facts]


TEXTS = ("a", "bb", "ccc", "dddd", "eeeee")


def fill(memory: Memory) -> None:
    memory.remember_many({"text": text} for text in TEXTS)


@pytest.fixture
def old() -> Model:
    return Model(1)


@pytest.fixture
def new() -> Model:
    return Model(2, dim=3)


@pytest.fixture
def memory(open_memory: OpenMemory, tmp_path: Path, old: Model) -> Iterator[Memory]:
    with open_memory(tmp_path / "m", embedder=old) as memory:
        fill(memory)
        old.asked.clear()
        yield memory


OLD = [[float(len(text)), 1.0] for text in TEXTS]
NEW = [[float(len(text)), 2.0, 2.0] for text in TEXTS]


# -- what is missing


def test_facts_written_without_an_embedder_get_vectors(open_memory: OpenMemory, old: Model) -> None:
    memory = open_memory()
    fill(memory)
    memory.revise(0, "aa")
    memory.forget(4)
    report = memory.reembed(old)
    assert report == ReembedReport(None, VectorSpace(2, "model-1"), 5, 5, 0)
    assert sorted(old.asked) == ["a", "aa", "bb", "ccc", "dddd"]  # superseded ones, too
    assert vectors(memory, 6) == [[1, 1], [2, 1], [3, 1], [4, 1], None, [2, 1]]
    assert memory.recall("ccc").facts[0].sources == ("bm25", "vector")
    assert memory.embedder is old
    assert memory.remember("new").vector == "stored"
    assert memory.verify().ok


def test_what_is_pending_is_made(memory: Memory, old: Model) -> None:
    old.before = down
    memory.remember("pending")
    old.before = lambda texts: None
    old.asked.clear()
    report = memory.reembed()
    assert (report.embedded, report.asked) == (1, 1)
    assert old.asked == ["pending"]
    assert (memory.stats().pending, memory.stats().embedder) == (0, "active")
    assert memory.reembed() == ReembedReport(report.after, report.after, 0, 0, 0)
    assert memory.verify().ok


def test_a_text_that_another_fact_has_is_not_embedded(
    open_memory: OpenMemory, tmp_path: Path, memory: Memory, old: Model
) -> None:
    with open_memory(tmp_path / "m") as bare:
        bare.remember("ccc", entity="E")
        bare.remember("twice", entity="E")
        bare.remember("twice", entity="F")
    report = memory.reembed(batch=1)
    assert (report.embedded, report.asked, old.asked) == (3, 1, ["twice"])
    assert vectors(memory, 8)[5:] == [[3, 1], [5, 1], [5, 1]]


def test_a_fact_that_was_to_have_no_vector_gets_none(
    open_memory: OpenMemory, old: Model, new: Model
) -> None:
    memory = open_memory(embedder=old)
    memory.remember("one", embed=False)
    memory.revise(0, tags=["t"])
    memory.remember("two", embed=False)
    memory.rename_tag("t", "u")
    memory.remember("three")
    assert memory.reembed().embedded == 0
    assert memory.reembed(new).embedded == 1
    assert vectors(memory, 5) == [None, None, None, None, [5, 2, 2]]
    assert memory.remember("two").vector == "stored"  # now it is to have one
    assert memory.verify().ok


def test_a_text_without_direction_stays_without_a_vector(
    open_memory: OpenMemory, old: Model, new: Model
) -> None:
    memory = open_memory()
    memory.remember_many([{"text": "..."}, {"text": "one"}])
    assert memory.reembed(old).embedded == 1
    assert memory.reembed(new).embedded == 1
    assert vectors(memory, 2) == [None, [3, 2, 2]]


def test_an_empty_memory_has_nothing_to_embed(open_memory: OpenMemory, old: Model) -> None:
    memory = open_memory()
    assert memory.reembed(old) == ReembedReport(None, None, 0, 0, 0)
    assert old.asked == []
    assert memory.embedder is old


# -- another model


def test_another_model_takes_over(memory: Memory, old: Model, new: Model) -> None:
    report = memory.reembed(new)
    spaces = VectorSpace(2, "model-1"), VectorSpace(3, "model-2")
    assert report == ReembedReport(*spaces, 5, 5, 0)
    assert vectors(memory, 5) == NEW
    assert by_vector(memory, [5.0, 2.0, 2.0])[0] == 4
    assert memory.vector_space == spaces[1]
    assert (memory.stats().vectors, memory.stats().staged) == (5, 0)
    assert old.asked == []
    assert memory.remember("ffffff").vector == "stored"
    assert vectors(memory, 6)[5] == [6, 2, 2]
    assert memory.verify().ok


@pytest.mark.parametrize("told", [True, False])
def test_a_model_of_the_same_dimension_takes_over(memory: Memory, told: bool) -> None:
    other = Model(7, told=told)
    memory.reembed(other)
    assert vectors(memory, 5) == [[float(len(text)), 7.0] for text in TEXTS]
    assert memory.vector_space == (2, "model-7")


def test_the_same_model_in_another_dimension_takes_over(memory: Memory) -> None:
    memory.reembed(Model(1, dim=4))
    assert vectors(memory, 1) == [[1, 1, 1, 1]]
    assert memory.vector_space == (4, "model-1")


def test_vectors_of_a_caller_are_replaced(open_memory: OpenMemory, new: Model) -> None:
    memory = open_memory()
    memory.remember("one", vector=[1.0, 0.0])
    memory.remember("two")
    assert memory.reembed(new).before == VectorSpace(2, None)
    assert vectors(memory, 2) == [[3, 2, 2], [3, 2, 2]]


def test_forgotten_facts_lose_their_vectors(memory: Memory, new: Model) -> None:
    memory.forget(2)
    memory.reembed(new)
    assert new.asked == ["a", "bb", "dddd", "eeeee"]
    assert memory.stats().vectors == 4
    assert memory.verify().ok
    memory.maintain()
    assert memory.verify().ok


def test_when_only_forgotten_facts_had_vectors_none_are_left(memory: Memory, new: Model) -> None:
    memory.forget_many(range(5))
    report = memory.reembed(new)
    assert (report.after, report.embedded) == (None, 0)
    assert memory.remember("one").vector == "stored"
    assert memory.vector_space == (3, "model-2")
    assert memory.verify().ok


def test_the_former_embedder_is_refused_afterwards_and_words_still_answer(
    open_memory: OpenMemory, tmp_path: Path, memory: Memory, new: Model
) -> None:
    other = open_memory(tmp_path / "m", embedder=Model(1))
    bare = open_memory(tmp_path / "m")
    assert by_vector(bare, [5.0, 1.0])[0] == 4
    memory.reembed(new)
    with pytest.raises(VectorSpaceError, match="3 components"):
        other.remember("one")
    found = other.recall("ccc", explain=True)
    assert [fact.sources for fact in found.facts] == [("bm25",)]
    assert "vector search was left out" in found.explanation.notes[0]
    assert other.vector_space == (3, "model-2")
    assert by_vector(bare, [5.0, 2.0, 2.0])[0] == 4
    with pytest.raises(VectorSpaceError, match="2 components"):
        bare.recall(vector=[5.0, 1.0])
    assert other.reembed(Model(2, dim=3)).asked == 0  # which goes over to the new one
    assert other.remember("one").vector == "stored"
    for handle in (memory, other, bare):
        assert handle.verify().ok


def test_the_new_vectors_are_there_when_the_file_is_opened_again(
    open_memory: OpenMemory, tmp_path: Path, memory: Memory, new: Model
) -> None:
    memory.checkpoint()
    memory.reembed(new)
    memory.close()
    again = open_memory(tmp_path / "m", embedder=new)
    assert vectors(again, 5) == NEW
    assert by_vector(again, [5.0, 2.0, 2.0])[0] == 4
    assert again.verify().ok


def test_the_vector_graph_is_made_anew(open_memory: OpenMemory, old: Model, new: Model) -> None:
    memory = open_memory(embedder=old, config=MemoryConfig(flat_to_hnsw=20))
    memory.remember_many({"text": "x" * n} for n in range(1, 31))
    assert memory.maintain().vectors_in_graph == 30
    assert memory.reembed(new).vectors_in_graph == 30
    assert by_vector(memory, [1.0, 2.0, 2.0])[0] == 0
    assert memory.verify().ok


def test_the_room_of_the_former_vectors_is_given_back(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "m", embedder=Model(1, dim=4_000))
    memory.remember_many({"text": "x" * n} for n in range(1, 101))
    large = memory.stats().bytes
    memory.reembed(Model(2, dim=4))
    assert memory.stats().bytes < large / 10
    assert (tmp_path / "m").stat().st_size < large / 10


def test_a_reader_in_the_way_keeps_nothing_from_happening(
    open_memory: OpenMemory, tmp_path: Path, memory: Memory, new: Model
) -> None:
    hasty = open_memory(tmp_path / "m", embedder=new, config=MemoryConfig(busy_timeout=0.01))
    other = open_memory(tmp_path / "m")
    with other._engine.store._snapshot() as sql:
        sql.execute("SELECT count(*) FROM facts").fetchall()
        assert hasty.reembed().embedded == 5
    assert vectors(memory, 5) == NEW


# -- meanwhile


def test_reads_go_on_with_the_old_vectors_and_writers_write(
    open_memory: OpenMemory, tmp_path: Path, memory: Memory, new: Model
) -> None:
    other = open_memory(tmp_path / "m", embedder=Model(1))
    seen: list[str] = []

    def meanwhile(texts: list[str]) -> None:
        for handle in (memory, other):
            assert handle.recall("ccc").facts[0].sources == ("bm25", "vector")
            assert by_vector(handle, [5.0, 1.0])[0] == 4
            assert handle.vector_space == (2, "model-1")
        if len(seen) < 4:
            handle = (memory, other)[len(seen) % 2]
            seen.append(handle.remember(f"written {len(seen)}" + "!" * len(seen)).vector)

    new.before = meanwhile
    report = memory.reembed(new, batch=2)
    assert seen == ["stored"] * 4
    assert report.embedded == 9
    assert vectors(memory, 9)[5:] == [[9.0 + n, 2, 2] for n in range(4)]
    assert memory.verify().ok


def test_what_is_written_last_is_covered_before_the_switch(memory: Memory, new: Model) -> None:
    late = iter(["late", "later", "latest"])

    def meanwhile(texts: list[str]) -> None:
        for text in late:
            memory.remember(text)
            memory.revise(0, tags=[text]) if text == "late" else None
            break

    new.before = meanwhile
    memory.reembed(new)
    facts = list(memory.list_facts(closed=True))
    assert len(facts) == 9
    assert all(one is not None and len(one) == 3 for one in memory.vectors(range(9)))
    assert len(new.asked) == len(set(new.asked)) == 8


def test_facts_that_go_meanwhile_are_gone(memory: Memory, new: Model) -> None:
    def meanwhile(texts: list[str]) -> None:
        new.before = lambda texts: None
        memory.forget(0)
        memory.forget(3)
        memory.maintain()
        memory.erase([1])

    new.before = meanwhile
    memory.reembed(new, batch=2)
    assert vectors(memory, 5) == [None, None, NEW[2], None, NEW[4]]
    assert memory.stats().staged == 0
    assert memory.verify().ok


def test_erased_facts_leave_no_staged_vector(memory: Memory, tmp_path: Path) -> None:
    class Marked(Model):
        def embed_query(self, text: str) -> list[float]:
            return [1.2345678e9, 2.3456789e9]

    new = Marked(2)
    calls = iter([None, down, down])
    new.before = lambda texts: (one := next(calls)) and one(texts)
    with pytest.raises(EmbedderError):
        memory.reembed(new, batch=2)
    assert memory.stats().staged == 2
    memory.erase([0, 1])
    assert memory.stats().staged == 0
    mark = memory.vectors([0])
    assert mark == [None]
    import numpy as np

    assert np.float32(1.2345678e9).tobytes() not in (tmp_path / "m").read_bytes()
    assert memory.verify().ok


def test_a_write_that_was_embedded_before_the_switch_is_made_good_after_it(
    memory: Memory, old: Model, new: Model
) -> None:
    same_size = Model(3)  # nothing but its name tells its vectors from the old ones

    def switch_meanwhile(texts: list[str]) -> None:
        old.before = lambda texts: None
        memory.reembed(same_size)

    old.before = switch_meanwhile
    assert memory.remember("written").vector == "pending"
    assert memory.reembed().embedded == 1
    assert vectors(memory, 6)[5] == [7, 3]
    assert memory.verify().ok


def test_a_question_that_was_embedded_before_the_switch_is_embedded_again(
    memory: Memory, old: Model
) -> None:
    other = Model(50)

    class Asking(Model):
        def embed_query(self, text: str) -> list[float]:
            if text == "question?":
                memory.reembed(other)
                return [1.0, 0.0]
            return super().embed_query(text)

    memory.reembed(Asking(4))
    explanation = memory.recall("question?", explain=True).explanation
    assert explanation is not None
    [evidence] = [one for one in explanation[0].evidence if one.source == "vector"]
    # (1, 50) against (9, 50); against (1, 0) it would be a fiftieth
    assert evidence.raw == pytest.approx(2_509 / (2_501 * 2_581) ** 0.5, abs=0.005)


# -- cut off


def fail_after(model: Model, batches: int) -> None:
    left = iter(range(batches))

    def before(texts: list[str]) -> None:
        if next(left, None) is None:
            down(texts)

    model.before = before


def test_a_failure_keeps_what_was_made_and_changes_nothing_else(
    memory: Memory, old: Model, new: Model
) -> None:
    fail_after(new, 2)
    with pytest.raises(EmbedderError, match=r"provider is down; 4 of 5 facts are done") as caught:
        memory.reembed(new, batch=2)
    assert isinstance(caught.value.__cause__, EmbedderError)
    assert vectors(memory, 5) == OLD
    assert (memory.vector_space, memory.embedder) == ((2, "model-1"), old)
    assert (memory.stats().staged, memory.stats().embedder) == (4, "active")
    assert memory.remember("ffffff").vector == "stored"
    assert memory.verify().ok
    new.before = lambda texts: None
    new.asked.clear()
    report = memory.reembed(new, batch=2)
    assert new.asked == ["eeeee", "ffffff"]
    assert (report.embedded, report.asked) == (2, 2)
    assert vectors(memory, 6) == [*NEW, [6, 2, 2]]
    assert memory.verify().ok


def test_a_failure_while_filling_keeps_what_was_made(open_memory: OpenMemory, old: Model) -> None:
    memory = open_memory()
    fill(memory)
    fail_after(old, 1)
    with pytest.raises(EmbedderError, match="2 of 5"):
        memory.reembed(old, batch=2)
    assert memory.stats().vectors == 2
    old.before = lambda texts: None
    old.asked.clear()
    assert memory.reembed(old).asked == 3
    assert old.asked == ["ccc", "dddd", "eeeee"]


def test_another_handle_goes_on(
    open_memory: OpenMemory, tmp_path: Path, memory: Memory, new: Model
) -> None:
    fail_after(new, 1)
    with pytest.raises(EmbedderError):
        memory.reembed(new, batch=2)
    memory.close()
    again = Model(2, dim=3)
    other = open_memory(tmp_path / "m", embedder=again)
    assert other.reembed().asked == 3
    assert again.asked == ["ccc", "dddd", "eeeee"]
    assert vectors(other, 5) == NEW


def test_a_third_model_does_not_use_what_another_staged(memory: Memory, new: Model) -> None:
    fail_after(new, 1)
    with pytest.raises(EmbedderError):
        memory.reembed(new, batch=2)
    third = Model(3, dim=3)
    assert memory.reembed(third).asked == 5
    assert vectors(memory, 1) == [[1, 3, 3]]
    assert memory.stats().staged == 0


def test_the_embedder_of_the_file_drops_what_was_staged(memory: Memory, new: Model) -> None:
    fail_after(new, 1)
    with pytest.raises(EmbedderError):
        memory.reembed(new, batch=2)
    assert memory.reembed().embedded == 0
    assert memory.stats().staged == 0
    assert vectors(memory, 5) == OLD


@pytest.mark.parametrize("told", [True, False])
def test_what_was_staged_in_another_dimension_is_made_anew(memory: Memory, told: bool) -> None:
    wide = Model(2, dim=5)
    fail_after(wide, 1)
    with pytest.raises(EmbedderError):
        memory.reembed(wide, batch=2)
    memory.remember("a", entity="E")  # whose text is staged
    report = memory.reembed(Model(2, dim=3, told=told), batch=2)
    assert report.asked == 5
    assert vectors(memory, 6) == [*NEW, NEW[0]]
    assert memory.verify().ok


def test_an_answer_that_breaks_the_contract_is_an_error(memory: Memory, new: Model) -> None:
    new.embed_query = lambda text: [1.0] * len(text)  # type: ignore[method-assign] # on purpose
    with pytest.raises(EmbedderError, match="components"):
        memory.reembed(new)
    assert vectors(memory, 5) == OLD


# -- progress and arguments


def test_progress_is_told_after_each_transaction(memory: Memory, new: Model) -> None:
    told: list[tuple[int, int | None]] = []
    fail_after(new, 2)
    with pytest.raises(EmbedderError):
        memory.reembed(new, batch=2, progress=lambda *said: told.append(said))
    assert told == [(0, 5), (2, 5), (4, 5)]
    told.clear()
    new.before = lambda texts: None
    memory.reembed(new, batch=2, progress=lambda *said: told.append(said))
    assert told == [(4, 5), (5, 5)]


def test_batches_are_no_larger_than_asked(memory: Memory, new: Model) -> None:
    memory.reembed(new, batch=2)
    assert new.batches == [2, 2, 1]


def test_a_progress_that_raises_stops_it_and_another_call_goes_on(
    memory: Memory, new: Model
) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 2:
            raise LookupError("enough")

    with pytest.raises(LookupError):
        memory.reembed(new, batch=2, progress=stop)
    assert vectors(memory, 5) == OLD
    assert memory.reembed(new).asked == 3


def test_arguments_are_checked(open_memory: OpenMemory, memory: Memory) -> None:
    for batch in (0, -1, 1.5, True, "2"):
        with pytest.raises(InvalidInputError, match="batch"):
            memory.reembed(batch=batch)
    with pytest.raises(InvalidInputError, match="embedder is"):
        memory.reembed("model")
    with pytest.raises(InvalidInputError, match="opened without one"):
        open_memory().reembed()
    with memory.transaction(), pytest.raises(InvalidInputError, match="no part of a transaction"):
        memory.reembed()


def test_a_reader_cannot(open_memory: OpenMemory, tmp_path: Path, memory: Memory) -> None:
    new = Model(2)
    with pytest.raises(ReadOnlyError):
        open_memory(tmp_path / "m", read_only=True).reembed(new)
    assert new.asked == []


def test_the_twin_awaits_the_coroutines_of_an_embedder(memory: Memory) -> None:
    class Awaited(Model):
        async def aembed_documents(self, texts: list[str]) -> Any:
            return self.embed_documents(texts)

        async def aembed_query(self, text: str) -> Any:
            return self.embed_query(text)

    new = Awaited(2, dim=3)
    assert asyncio.run(memory.areembed(new)).embedded == 5
    assert vectors(memory, 5) == NEW


def test_a_suspended_embedder_is_asked(open_memory: OpenMemory, old: Model, clock: Clock) -> None:
    old.before = down
    memory = open_memory(embedder=old)
    memory.remember("one")
    assert memory.stats().embedder == "suspended"
    with pytest.raises(EmbedderError):
        memory.reembed()
    old.before = lambda texts: None
    assert memory.reembed().embedded == 1
    assert memory.stats().embedder == "active"


# -- elsewhere


def test_an_export_keeps_which_facts_are_to_have_no_vector(
    open_memory: OpenMemory, tmp_path: Path, old: Model
) -> None:
    memory = open_memory(embedder=old)
    memory.remember("one", embed=False)
    memory.remember("two")
    memory.export_jsonl(tmp_path / "lines")
    copy = open_memory(embedder=old)
    copy.import_jsonl(tmp_path / "lines")
    assert copy.reembed().embedded == 0
    assert copy.verify().ok
    copy.export_jsonl(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "lines").read_bytes()
