"""`transaction`: several verbs as one write; all of it or nothing, and nobody in between."""

import threading
from pathlib import Path
from typing import Any

import pytest
from clocks import Clock
from conftest import OpenMemory

from plugmem_core import (
    BusyError,
    ClosedFactError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
    ReadOnlyError,
)


def write_everything(memory: Memory) -> None:
    memory.remember("tea", entity="Ann", tags=["t"], key="drink")
    memory.remember_many([{"text": "one"}, {"text": "two", "namespace": ("x",)}])
    memory.link("Ann", "knows", "Bob", properties={"since": 2020})
    memory.put_values("settings", {"theme": "dark"})


def state(memory: Memory) -> tuple[object, ...]:
    return (
        memory.list_facts(closed=True).facts,
        memory.edges(history=True),
        memory.entities().entities,
        memory.get_values("settings"),
    )


def test_what_is_written_becomes_visible_together_at_the_end(memory: Memory) -> None:
    with memory.transaction():
        write_everything(memory)
        assert memory.list_facts().facts == ()
        assert memory.recall("tea").facts == ()
    assert [fact.text for fact in memory.list_facts()] == ["tea", "one", "two"]
    assert [fact.text for fact in memory.recall("tea").facts] == ["tea"]
    assert [(edge.src, edge.dst) for edge in memory.edges()] == [("Ann", "Bob")]
    assert memory.get_values("settings") == {"theme": "dark"}
    assert memory.verify().ok


def test_it_leaves_what_the_same_verbs_leave_one_by_one(
    open_memory: OpenMemory, clock: Clock
) -> None:
    together, alone = open_memory(":memory:"), open_memory(":memory:")
    with together.transaction():
        write_everything(together)
    write_everything(alone)
    assert state(together) == state(alone)


def test_other_handles_see_nothing_before_the_end_and_everything_after(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as one, Memory.open(tmp_path / "m") as other:
        with one.transaction():
            write_everything(one)
            assert other.list_facts().facts == ()
            assert other.get_values("settings") == {}
        assert len(other.list_facts().facts) == 3
        assert other.get_values("settings") == {"theme": "dark"}
        assert other.verify().ok


@pytest.mark.parametrize("in_file", [True, False])
def test_an_error_undoes_all_of_it(tmp_path: Path, in_file: bool) -> None:
    path = tmp_path / "m" if in_file else ":memory:"
    with Memory.open(path) as memory:
        memory.remember("before")
        old = state(memory)
        with pytest.raises(RuntimeError, match="changed my mind"), memory.transaction():
            write_everything(memory)
            raise RuntimeError("changed my mind")
        assert state(memory) == old
        assert memory.remember("after").id == 1
        assert memory.verify().ok


def test_an_error_of_a_verb_that_was_caught_undoes_all_of_it_too(memory: Memory) -> None:
    first = memory.remember("first").id
    memory.revise(first, "second")
    with pytest.raises(ClosedFactError), memory.transaction():
        memory.remember("third")
        try:
            memory.revise(first, "fourth")
        except ClosedFactError:
            memory.remember("fifth")
    assert [fact.text for fact in memory.list_facts()] == ["second"]


def test_bad_input_that_was_caught_before_anything_was_written_undoes_nothing(
    memory: Memory,
) -> None:
    with memory.transaction():
        memory.remember("first")
        with pytest.raises(InvalidInputError):
            memory.remember(" ")
    assert [fact.text for fact in memory.list_facts()] == ["first"]


def test_later_verbs_build_on_rows_of_earlier_ones(memory: Memory) -> None:
    with memory.transaction():
        memory.remember("tea", key="drink", entity="Ann")
        assert memory.remember("coffee", key="drink", entity="Ann").outcome == "revised"
        edge = memory.link("ann", "likes", "coffee")
        assert (edge.src, edge.dst) == ("Ann", "coffee")
        memory.remember("a secret", key="s")
        memory.write(forget=[((), "s")])
    assert [fact.text for fact in memory.list_facts(closed=True)] == ["tea", "coffee"]
    assert memory.verify().ok


def test_later_verbs_find_what_is_in_a_namespace_that_earlier_ones_made(memory: Memory) -> None:
    with memory.transaction():
        memory.remember("tea", key="drink", namespace=("new",))
        memory.remember("rye", key="bread", entity="Ann", namespace=("new",))
        memory.write(forget=[(("new",), "drink")])
        memory.link("Ann", "likes", "tea", namespace=("new",))
        assert memory.unlink("Ann", "likes", "tea", namespace=("new",))
        memory.rename_entity("Ann", "Anna", namespace=("new",))
        memory.put_values("settings", {"theme": "dark", "font": "serif"}, namespace=("new",))
        assert memory.delete_values("settings", ["font"], namespace=("new",)) == 1
    assert [(fact.text, fact.entity) for fact in memory.list_facts()] == [("rye", "Anna")]
    assert memory.edges() == ()
    assert memory.get_values("settings", namespace=("new",)) == {"theme": "dark"}


def test_what_was_forgotten_in_the_same_transaction_is_not_brought_back(memory: Memory) -> None:
    memory.remember_many({"text": text, "tags": ["t"]} for text in ("tea", "rye"))
    with memory.transaction():
        memory.forget(0)
        assert memory.rename_tag("t", "u") == 1
    assert [(fact.text, fact.tags) for fact in memory.list_facts()] == [("rye", ("u",))]
    with pytest.raises(NotFoundError), memory.transaction():
        memory.forget(2)
        memory.revise(2, tags=["v"])
    assert [fact.tags for fact in memory.list_facts()] == [("u",)]
    assert memory.verify().ok


def test_a_fact_of_the_same_transaction_cannot_be_named_by_its_id_yet(memory: Memory) -> None:
    with pytest.raises(NotFoundError), memory.transaction():
        fact = memory.remember("tea", namespace=("new",)).id
        memory.forget(fact, namespace=("new",))
    assert memory.list_facts().facts == ()


def test_transactions_nest_as_one(memory: Memory) -> None:
    with pytest.raises(RuntimeError), memory.transaction():
        with memory.transaction():
            memory.remember("inner")
        raise RuntimeError
    assert memory.list_facts().facts == ()


def test_an_inner_block_that_fails_undoes_the_outer_one_even_if_that_goes_on(
    memory: Memory,
) -> None:
    with pytest.raises(LookupError, match="half"), memory.transaction():
        memory.remember("outer")
        try:
            with memory.transaction():
                memory.put_values("c", {"half": 1})
                raise LookupError("half")
        except LookupError:
            memory.remember("more")
    assert memory.list_facts().facts == ()
    assert memory.get_values("c") == {}


def test_nothing_written_is_nothing_changed(memory: Memory) -> None:
    memory.remember("tea")
    before = memory.stats()
    with memory.transaction():
        assert memory.get(0) is not None
    assert memory.stats() == before


def test_a_value_is_counted_up_by_many_threads_without_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "m"
    config = MemoryConfig(durability="normal", busy_timeout=60)

    def count(memory: Memory) -> None:
        for _ in range(20):
            with memory.transaction():
                number = memory.get_values("c").get("n", 0)
                memory.put_values("c", {"n": number + 1})

    with Memory.open(path, config=config) as one, Memory.open(path, config=config) as other:
        threads = [
            threading.Thread(target=count, args=(memory,)) for memory in (one, one, other, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.get_values("c") == other.get_values("c") == {"n": 80}


def test_another_thread_waits_and_writes_afterwards(memory: Memory) -> None:
    thread = threading.Thread(target=memory.remember, args=("from the other",))
    with memory.transaction():
        thread.start()
        memory.remember("from this one")
    thread.join()
    assert [fact.text for fact in memory.list_facts()] == ["from this one", "from the other"]


def test_another_process_holding_the_file_is_a_busy_error(tmp_path: Path) -> None:
    config = MemoryConfig(busy_timeout=0.01)
    with Memory.open(tmp_path / "m") as one, Memory.open(tmp_path / "m", config=config) as other:
        with one.transaction():
            one.remember("tea")
            with pytest.raises(BusyError), other.transaction():
                pass
        other.remember("coffee")
        assert len(one.list_facts().facts) == 2


def test_a_reader_has_no_transactions(tmp_path: Path) -> None:
    Memory.open(tmp_path / "m").close()
    with (
        Memory.open(tmp_path / "m", read_only=True) as memory,
        pytest.raises(ReadOnlyError),
        memory.transaction(),
    ):
        pass


class Watchful(HashingEmbedder):
    """Tries to write to the same file whenever it is called."""

    def __init__(self, other: Memory) -> None:
        super().__init__(8)
        self.other = other

    def embed_documents(self, texts: list[str]) -> list[Any]:
        self.other.remember(f"embedding {len(texts)}", vector=[1.0] * 8)
        return super().embed_documents(texts)


def test_vectors_are_made_when_nobody_waits_any_more(tmp_path: Path) -> None:
    config = MemoryConfig(busy_timeout=0.1)
    with (
        Memory.open(tmp_path / "m", config=config) as other,
        Memory.open(tmp_path / "m", embedder=Watchful(other)) as memory,
    ):
        with memory.transaction():
            with memory.transaction():
                assert memory.remember("tea").vector == "pending"
            memory.remember("coffee", vector=[1.0] * 8)
            memory.remember("no vector", embed=False)
        texts = [fact.text for fact in memory.list_facts()]
        assert texts == ["tea", "coffee", "no vector", "embedding 1"]
        assert (memory.stats().vectors, memory.stats().pending) == (3, 0)
        assert memory.verify().ok


def test_vectors_of_a_transaction_stay_pending_while_the_embedder_fails(
    open_memory: OpenMemory,
) -> None:
    class Broken(HashingEmbedder):
        def embed_documents(self, texts: list[str]) -> list[Any]:
            raise ConnectionError("down")

    memory = open_memory(embedder=Broken(8))
    with memory.transaction():
        memory.remember("tea")
    assert memory.stats().pending == 1
    assert [fact.text for fact in memory.recall("tea").facts] == ["tea"]
