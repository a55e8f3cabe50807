"""The index saved beside the file: used when it fits, ignored when it does not."""

import os
import random
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Never

import pytest
from conftest import OpenMemory

from plugmem_core import Memory, MemoryConfig, StorageError
from plugmem_core.index import Index
from plugmem_core.index import checkpoint as checkpoints
from plugmem_core.store import FactRow

QUERIES: list[dict[str, Any]] = [
    {"text": "fact number 7"},
    {"text": "even odd", "tags": ["even"]},
    {"text": "fact", "entities": ["entity 3"], "graph_depth": 2},
    {"text": "number", "where": {"n": {"$gt": 90}}},
    {"vector": [1.0, 0.5, -1.0]},
    {"text": "fact", "closed": True, "namespace": ("sub",)},
    {"range": (0, 2**41), "not_tags": ["even"]},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m"


@pytest.fixture
def beside(path: Path) -> Path:
    return path.with_name("m-index")


def fill(memory: Memory, numbers: Iterable[int] = range(120)) -> None:
    memory.remember_many(
        {
            "text": f"fact number {number}, {'even' if number % 2 == 0 else 'odd'}",
            "entity": f"entity {number % 7}",
            "tags": ["even"] if number % 2 == 0 else [],
            "links": [("knows", f"entity {number % 5}")],
            "metadata": {"n": number},
            "vector": [1.0, number % 9, number % 4],
            "namespace": ("sub",) if number % 3 == 0 else (),
            "key": f"key {number}" if number % 10 == 0 else None,
        }
        for number in numbers
    )


def rework(memory: Memory) -> None:
    memory.revise(3, "fact number 3, revised")
    memory.remember("fact number 10, rewritten", key="key 10")
    memory.forget(5)
    memory.unlink("entity 1", "knows", "entity 1")
    memory.rename_tag("even", "halved")
    memory.rename_entity("entity 2", "entity two")
    memory.merge_entities("entity 4", "entity 6")
    memory.maintain()


def answers(memory: Memory) -> object:
    """Return what recalls say; facts and edges, with scores."""
    results = [memory.recall(**{"k": 40, "token_budget": None, **query}) for query in QUERIES]
    return [(result.facts, result.edges, result.truncated) for result in results]


def leave(memory: Memory) -> None:
    """Close a memory as a process that ends without closing it does: no checkpoint is saved."""
    memory._engine.store.close()
    memory._engine._closed = True


def assert_as_built_anew(memory: Memory) -> None:
    assert memory.verify().ok, memory.verify()
    found = answers(memory)
    memory.rebuild()
    assert answers(memory) == found


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of facts the index has taken in, since the list was last cleared."""
    taken: list[int] = []
    put = Index._put_fact

    def put_and_note(self: Index, row: FactRow) -> None:
        taken.append(row.id)
        put(self, row)

    monkeypatch.setattr(Index, "_put_fact", put_and_note)
    return taken


def reopened(open_memory: OpenMemory, path: Path, rows_read: list[int]) -> int:
    """Open a memory, check it against a fresh build, and return how many rows opening read."""
    rows_read.clear()
    memory = open_memory(path)
    count = len(rows_read)
    assert_as_built_anew(memory)
    leave(memory)
    return count


def test_closing_saves_and_opening_reads_no_fact(
    open_memory: OpenMemory, path: Path, beside: Path, rows_read: list[int]
) -> None:
    memory = open_memory(path)
    fill(memory)
    rework(memory)
    expected = answers(memory)
    memory.close()
    assert beside.exists()
    rows_read.clear()
    again = open_memory(path)
    assert rows_read == []
    assert answers(again) == expected
    assert_as_built_anew(again)


def test_a_checkpoint_on_demand_serves_while_the_writer_goes_on(
    open_memory: OpenMemory, path: Path, rows_read: list[int]
) -> None:
    memory = open_memory(path)
    fill(memory)
    memory.checkpoint()
    assert reopened(open_memory, path, rows_read) == 0
    memory.remember("three more", key="a")
    memory.remember("three more of them", key="b")
    memory.forget(0)
    assert reopened(open_memory, path, rows_read) == 3


def test_an_older_checkpoint_catches_up_with_every_kind_of_change(
    open_memory: OpenMemory, path: Path, rows_read: list[int]
) -> None:
    memory = open_memory(path)
    fill(memory)
    memory.checkpoint()
    rework(memory)
    fill(memory, range(200, 210))
    stored = memory.stats().facts
    leave(memory)
    assert 10 < reopened(open_memory, path, rows_read) < stored


def test_nothing_is_written_when_nothing_changed(
    open_memory: OpenMemory, path: Path, beside: Path
) -> None:
    memory = open_memory(path)
    fill(memory)
    memory.close()
    before = (beside.read_bytes(), beside.stat().st_mtime_ns)
    with open_memory(path) as again:
        answers(again)
    assert (beside.read_bytes(), beside.stat().st_mtime_ns) == before


def test_a_deleted_checkpoint_loses_nothing(
    open_memory: OpenMemory, path: Path, beside: Path, rows_read: list[int]
) -> None:
    with open_memory(path) as memory:
        fill(memory)
        expected = answers(memory)
    beside.unlink()
    rows_read.clear()
    again = open_memory(path)
    assert sorted(rows_read) == list(range(120))
    assert answers(again) == expected
    again.close()
    assert beside.exists()


@pytest.fixture
def filled(open_memory: OpenMemory, path: Path) -> Path:
    """A closed memory with a checkpoint."""
    with open_memory(path) as memory:
        fill(memory)
        rework(memory)
    return path


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.99999])
def test_a_truncated_checkpoint_is_ignored(
    open_memory: OpenMemory, filled: Path, beside: Path, rows_read: list[int], share: float
) -> None:
    data = beside.read_bytes()
    beside.write_bytes(data[: int(share * len(data))])
    assert reopened(open_memory, filled, rows_read) > 100


def test_a_checkpoint_with_a_flipped_bit_is_ignored(
    open_memory: OpenMemory, filled: Path, beside: Path, rows_read: list[int]
) -> None:
    data = beside.read_bytes()
    rng = random.Random(5)
    for place in [0, 9, 40, len(data) - 2, *(rng.randrange(len(data)) for _ in range(12))]:
        spoiled = bytearray(data)
        spoiled[place] ^= 1 << rng.randrange(8)
        beside.write_bytes(spoiled)
        assert reopened(open_memory, filled, rows_read) > 100


@pytest.mark.parametrize("data", [b"", b"no checkpoint", b"PLUGMEM\x01" + b"\xff" * 100])
def test_what_is_no_checkpoint_is_ignored(
    open_memory: OpenMemory, filled: Path, beside: Path, rows_read: list[int], data: bytes
) -> None:
    beside.write_bytes(data)
    assert reopened(open_memory, filled, rows_read) > 100


def test_the_checkpoint_of_another_file_is_ignored(
    open_memory: OpenMemory, filled: Path, beside: Path, tmp_path: Path, rows_read: list[int]
) -> None:
    with open_memory(tmp_path / "other") as other:
        other.remember_many({"text": f"something else {number}"} for number in range(150))
    shutil.copy(tmp_path / "other-index", beside)
    assert reopened(open_memory, filled, rows_read) > 100


def test_a_checkpoint_of_another_past_of_the_file_is_ignored(
    open_memory: OpenMemory, path: Path, tmp_path: Path, rows_read: list[int]
) -> None:
    with open_memory(path) as memory:
        fill(memory, range(20))
    shutil.copy(path, tmp_path / "older")
    with open_memory(path) as memory:
        fill(memory, range(100, 130))
    shutil.copy(tmp_path / "older", path)  # its checkpoint is of the later state
    assert reopened(open_memory, path, rows_read) == 20
    memory = open_memory(path)
    for number in range(40):  # past the change number of the checkpoint
        memory.remember(f"another future {number}", entity="entity 3", vector=[1.0, 1.0, 1.0])
    leave(memory)
    assert reopened(open_memory, path, rows_read) == 60


def test_the_checkpoint_of_a_shared_past_is_used_and_catches_up(
    open_memory: OpenMemory, path: Path, tmp_path: Path, rows_read: list[int]
) -> None:
    memory = open_memory(path)
    fill(memory, range(20))
    memory.close()
    shutil.copy(path, tmp_path / "older")
    memory = open_memory(path)
    fill(memory, range(100, 130))
    leave(memory)
    shutil.copy(tmp_path / "older", path)
    memory = open_memory(path)
    fill(memory, range(50, 55))
    leave(memory)
    assert reopened(open_memory, path, rows_read) == 5


@pytest.mark.parametrize("rules", ["TOKENIZER_VERSION", "STEMMER_VERSION"])
def test_a_checkpoint_of_other_token_rules_is_ignored(
    open_memory: OpenMemory,
    filled: Path,
    rows_read: list[int],
    monkeypatch: pytest.MonkeyPatch,
    rules: str,
) -> None:
    monkeypatch.setattr(checkpoints, rules, "another version")
    assert reopened(open_memory, filled, rows_read) > 100


def test_scorers_that_need_every_text_do_without(
    open_memory: OpenMemory, filled: Path, rows_read: list[int]
) -> None:
    memory = open_memory(filled, config=MemoryConfig(lexical="okapi"))
    assert len(rows_read) > 100
    assert memory.recall("fact number 7").facts
    assert memory.verify().ok


def test_a_memory_without_a_file_has_no_checkpoint(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_memory() as memory:
        fill(memory, range(3))
        memory.checkpoint()
    assert list(tmp_path.iterdir()) == []


def test_a_reader_uses_the_checkpoint_and_leaves_it(
    open_memory: OpenMemory, filled: Path, beside: Path, rows_read: list[int]
) -> None:
    data = beside.read_bytes()
    rows_read.clear()
    with open_memory(filled, read_only=True) as memory:
        assert rows_read == []
        assert_as_built_anew(memory)
    assert beside.read_bytes() == data


# -- when it cannot be written


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> Never:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)


def test_a_full_disk_fails_the_checkpoint_and_nothing_else(
    open_memory: OpenMemory,
    filled: Path,
    beside: Path,
    tmp_path: Path,
    full_disk: None,
    rows_read: list[int],
) -> None:
    data = beside.read_bytes()
    memory = open_memory(filled)
    memory.remember("one more", key="more")
    with pytest.raises(StorageError, match="No space left"):
        memory.checkpoint()
    assert beside.read_bytes() == data
    assert memory.recall("more").facts[0].key == "more"
    memory.close()  # gives it up in silence: truth is on disk
    assert beside.read_bytes() == data
    assert not list(tmp_path.glob("*.tmp"))
    assert reopened(open_memory, filled, rows_read) == 1


def test_a_crash_before_the_file_names_its_checkpoint_costs_a_rebuild(
    open_memory: OpenMemory, filled: Path, monkeypatch: pytest.MonkeyPatch, rows_read: list[int]
) -> None:
    memory = open_memory(filled)
    memory.remember("one more", key="more")
    with monkeypatch.context() as patch:
        patch.setattr(memory._engine.store, "claim_checkpoint", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.checkpoint()
    leave(memory)
    assert reopened(open_memory, filled, rows_read) > 100


def test_staging_files_of_processes_that_died_are_cleared_away(
    open_memory: OpenMemory, filled: Path, tmp_path: Path
) -> None:
    left, recent = tmp_path / "m-index.4711.tmp", tmp_path / "m-index.4712.tmp"
    for file in (left, recent):
        file.write_bytes(b"half a checkpoint")
    hours_ago = time.time() - 7_200
    os.utime(left, (hours_ago, hours_ago))
    memory = open_memory(filled)
    memory.remember("one more")
    memory.close()
    assert not left.exists()
    assert recent.exists()  # another process may be at work on it
