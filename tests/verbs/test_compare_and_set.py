"""`revise(expected=…)`: a version that somebody else made first is not overwritten."""

import threading
from pathlib import Path
from typing import Any

import pytest

from plugmem_core import (
    ClosedFactError,
    ConflictError,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
)


def test_the_expected_version_is_revised_whichever_version_names_the_fact(memory: Memory) -> None:
    first = memory.remember("one").id
    second = memory.revise(first, "two", expected=first).id
    third = memory.revise(first, "three", expected=second).id
    memory.revise(second, "four", expected=third)
    assert [fact.text for fact in memory.history(first)] == ["one", "two", "three", "four"]


def test_another_version_than_the_expected_one_is_a_conflict(memory: Memory) -> None:
    first = memory.remember("one").id
    second = memory.revise(first, "two").id
    with pytest.raises(ConflictError, match=f"stands at version {second}") as raised:
        memory.revise(first, "mine", expected=first)
    assert isinstance(raised.value, ValueError)
    with pytest.raises(ConflictError):
        memory.revise(second, "mine", expected=first)
    with pytest.raises(ConflictError):
        memory.revise(second, "mine", expected=99)
    assert [fact.text for fact in memory.history(first)] == ["one", "two"]


def test_an_ended_or_forgotten_version_is_no_current_one(memory: Memory) -> None:
    ended, forgotten = memory.remember("one").id, memory.remember("two").id
    memory.end(ended)
    memory.forget(forgotten)
    with pytest.raises(ClosedFactError):
        memory.revise(ended, "mine", expected=ended)
    with pytest.raises(NotFoundError):
        memory.revise(forgotten, "mine", expected=forgotten)


def test_the_newest_version_may_be_forgotten(memory: Memory) -> None:
    first = memory.remember("one").id
    second = memory.revise(first, "two").id
    memory.forget(second)
    with pytest.raises(ConflictError):
        memory.revise(first, "mine", expected=first)
    with pytest.raises(NotFoundError):
        memory.revise(first, "mine", expected=second)


@pytest.mark.parametrize("expected", [-1, "1", 1.5, True])
def test_what_is_expected_is_an_id(memory: Memory, expected: Any) -> None:
    first = memory.remember("one").id
    with pytest.raises(InvalidInputError, match="expected"):
        memory.revise(first, "two", expected=expected)


def test_many_writers_that_retry_lose_no_update(tmp_path: Path) -> None:
    config = MemoryConfig(durability="normal", busy_timeout=60)
    conflicts: list[ConflictError] = []

    def count(memory: Memory) -> None:
        for _ in range(15):
            while True:
                [fact] = memory.get_by_keys(["n"])
                try:
                    more = {"n": fact.metadata["n"] + 1}
                    memory.revise(fact.id, metadata=more, expected=fact.id)
                except ConflictError as error:
                    conflicts.append(error)
                else:
                    break

    with (
        Memory.open(tmp_path / "m", config=config) as one,
        Memory.open(tmp_path / "m", config=config) as other,
    ):
        one.remember("counter", key="n", metadata={"n": 0})
        threads = [
            threading.Thread(target=count, args=(memory,)) for memory in (one, one, other, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.get_by_keys(["n"])[0].metadata == {"n": 60}
        assert len(one.history(0).facts) == 61
