"""The dimension and model of a file's vectors: decided by the first, free when none is left."""

from collections.abc import Callable
from pathlib import Path

import pytest

from plugmem_core import HashingEmbedder, Memory, VectorSpace, VectorSpaceError


def forget(memory: Memory) -> None:
    memory.forget_many([fact.id for fact in memory.list_facts()])
    memory.maintain()


def erase(memory: Memory) -> None:
    memory.erase([fact.id for fact in memory.list_facts()])


def test_a_file_tells_which_vectors_it_holds(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        assert memory.vector_space is None
        memory.remember("east", vector=[1.0, 0.0])
        assert memory.vector_space == VectorSpace(dim=2, model=None)
    embedder = HashingEmbedder(8)
    with Memory.open(tmp_path / "n", embedder=embedder) as memory:
        memory.remember("tea")
        assert memory.vector_space == (8, embedder.space_id)


def test_an_embedder_of_another_space_is_refused_when_checked(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m", embedder=HashingEmbedder(8)) as memory:
        memory.check_vectors()
        memory.remember("tea")
        memory.check_vectors()
    with (
        Memory.open(tmp_path / "m", embedder=HashingEmbedder(4)) as memory,
        pytest.raises(VectorSpaceError, match="8 components"),
    ):
        memory.check_vectors()


@pytest.mark.parametrize("empty", [forget, erase])
def test_when_no_vector_is_left_the_next_one_decides(
    tmp_path: Path, empty: Callable[[Memory], None]
) -> None:
    with Memory.open(tmp_path / "m") as memory, Memory.open(tmp_path / "m") as other:
        memory.remember("east", vector=[1.0, 0.0])
        assert other.recall(vector=[1.0, 0.0]).facts
        empty(memory)
        assert memory.vector_space is None
        memory.remember("up", vector=[0.0, 0.0, 1.0])
        for handle in (memory, other):
            assert [fact.text for fact in handle.recall(vector=[0.0, 0.0, 1.0]).facts] == ["up"]
            assert handle.vector_space == (3, None)
            assert handle.verify().ok
    with Memory.open(tmp_path / "m", embedder=HashingEmbedder(8)) as memory:
        empty(memory)
        assert memory.remember("tea").vector == "stored"
        assert memory.verify().ok


@pytest.mark.parametrize("empty", [forget, erase])
def test_one_vector_that_is_left_still_decides(
    memory: Memory, empty: Callable[[Memory], None]
) -> None:
    memory.remember("words alone")
    kept = memory.remember("west", vector=[-1.0, 0.0]).id
    gone = memory.remember("east", vector=[1.0, 0.0]).id
    if empty is erase:
        memory.erase([gone])
    else:
        memory.forget(gone)
        memory.maintain()
    with pytest.raises(VectorSpaceError):
        memory.remember("up", vector=[0.0, 0.0, 1.0])
    assert [fact.id for fact in memory.recall(vector=[1.0, 0.0]).facts] == [kept]
