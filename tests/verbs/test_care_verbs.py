"""`stats`, `verify`, `rebuild`, `checkpoint` and `maintain`."""

import sqlite3
from pathlib import Path
from typing import Never

import pytest
from clocks import SECOND, Clock
from conftest import OpenMemory

from plugmem_core import HashingEmbedder, MaintainReport, Memory, MemoryConfig, ReadOnlyError, Stats

# --- stats ------------------------------------------------------------------------------------


def test_an_empty_memory_counts_nothing(memory: Memory) -> None:
    stats = memory.stats()
    assert stats == Stats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "absent", stats.bytes)
    assert stats.bytes > 0


def test_stats_count_what_is_there(memory: Memory, clock: Clock) -> None:
    memory.remember("green tea", entity="Mara", tags=["a", "b"], vector=[1, 0])
    memory.remember("rye bread", entity="Tomas", tags=["b"], links=[("knows", "Mara")])
    memory.remember("old news", namespace=("n",))
    clock.tick()
    memory.revise(0, "black tea")
    memory.forget(2)
    memory.link("Mara", "knows", "Tomas")
    memory.unlink("Mara", "knows", "Tomas")
    stats = memory.stats()
    assert (stats.facts, stats.current, stats.forgotten) == (4, 2, 1)
    assert (stats.entities, stats.edges, stats.edge_versions) == (2, 1, 2)
    assert (stats.tags, stats.vectors, stats.pending, stats.vectors_in_graph) == (2, 2, 0, 0)
    assert stats.terms == len({"green", "tea", "black", "rye", "bread", "old", "news"})
    memory.maintain()
    stats = memory.stats()
    assert (stats.facts, stats.current, stats.forgotten, stats.terms) == (3, 2, 0, 5)


def test_bytes_are_those_of_the_file(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m.db")
    memory.remember("x" * 50_000)
    stats = memory.stats()
    memory.close()
    assert stats.bytes == (tmp_path / "m.db").stat().st_size > 50_000


# --- maintain ---------------------------------------------------------------------------------


def test_maintain_purges_what_is_forgotten_or_expired_and_nothing_else(
    memory: Memory, clock: Clock
) -> None:
    for i in range(6):
        memory.remember(f"fact {i}", ttl=10 if i == 3 else None)
    memory.revise(0, "fact 0 again")
    memory.forget_many([1, 4])
    clock.tick(10 * SECOND)
    assert memory.maintain() == MaintainReport(purged=3, vectors_in_graph=0, embedded=0)
    assert [fact.id for fact in memory.list_facts(closed=True)] == [0, 2, 5, 6]
    assert memory.verify().ok
    assert memory.maintain() == MaintainReport(0, 0, 0)


def test_maintain_leaves_a_fact_that_expires_later(memory: Memory, clock: Clock) -> None:
    memory.remember("fact", ttl=10)
    clock.tick(10 * SECOND - 1)
    assert memory.maintain().purged == 0
    clock.tick(1)
    assert memory.maintain().purged == 1


def test_maintain_builds_the_vector_graph_once_there_are_enough(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(flat_to_hnsw=10))
    memory.remember_many({"text": f"fact {i}", "vector": [1, i, i * i]} for i in range(9))
    assert memory.maintain().vectors_in_graph == 0
    before = memory.recall(vector=[1, 3, 9]).facts[0].id
    memory.remember("fact 9", vector=[1, 9, 81])
    assert memory.maintain().vectors_in_graph == 10
    assert memory.recall(vector=[1, 3, 9]).facts[0].id == before == 3
    memory.remember("tail", vector=[-1, 0, 0])
    assert memory.recall(vector=[-1, 0, 0]).facts[0].id == 10
    assert (memory.stats().vectors, memory.stats().vectors_in_graph) == (11, 10)
    assert memory.verify().ok


def test_the_vector_graph_loses_what_is_purged(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(flat_to_hnsw=10))
    memory.remember_many({"text": f"fact {i}", "vector": [1, i, 0]} for i in range(20))
    memory.maintain()
    memory.forget_many(range(0, 20, 2))
    memory.maintain()
    for query in ([1, 4, 0], [0, 1, 0]):
        found = [fact.id for fact in memory.recall(vector=query, k=30, token_budget=None).facts]
        assert sorted(found) == list(range(1, 20, 2))
    assert memory.stats().vectors == 10
    assert memory.verify().ok


def test_maintain_makes_pending_vectors(open_memory: OpenMemory, tmp_path: Path) -> None:
    class Failing(HashingEmbedder):
        def embed_documents(self, texts: list[str]) -> Never:
            raise ConnectionError

    with open_memory(tmp_path / "m.db", embedder=Failing(256)) as memory:
        memory.remember_many({"text": f"fact {i}"} for i in range(300))
        memory.forget(0)
        assert memory.maintain().embedded == 0  # it still fails; nothing is lost
        assert memory.stats().pending == 299
    memory = open_memory(tmp_path / "m.db", embedder=HashingEmbedder(256))
    assert memory.maintain().embedded == 299
    assert (memory.stats().pending, memory.stats().vectors) == (0, 299)
    assert memory.verify().ok


# --- verify and rebuild -----------------------------------------------------------------------


def damage(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


@pytest.fixture
def file(open_memory: OpenMemory, tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("tea", entity="Mara", links=[("knows", "Tomas")], vector=[1, 0], tags=["t"])
        memory.remember("bread", entity="Tomas", namespace=("n",))
        memory.revise(0, "black tea")
    return tmp_path / "m.db"


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE facts SET valid_to = NULL, closed_at = NULL WHERE id = 0", "still open"),
        ("UPDATE facts SET revises = 5 WHERE id = 2", "later fact"),
        ("UPDATE facts SET entity = 99 WHERE id = 1", "missing row of entities"),
        ("UPDATE facts SET namespace = 0 WHERE id = 1", "different namespaces"),
        ("UPDATE edges SET namespace = 1", "leaves its namespace"),
        ("UPDATE facts SET id = 77 WHERE id = 1", "never given"),
        ("DELETE FROM vectors WHERE fact = 2", "vector of fact 2 is missing"),
        ("UPDATE vectors SET data = x'00' WHERE fact = 2", "another dimension"),
    ],
)
def test_verify_finds_rows_that_break_the_rules(
    open_memory: OpenMemory, file: Path, sql: str, problem: str
) -> None:
    damage(file, sql)
    report = open_memory(file, read_only=True).verify()
    assert not report.ok
    assert any(problem in line for line in report.problems), report.problems


def test_verify_finds_an_index_that_disagrees_and_rebuild_mends_it(
    open_memory: OpenMemory, file: Path
) -> None:
    memory = open_memory(file)
    assert memory.verify().ok
    damage(
        file, "UPDATE facts SET text = 'coffee', valid_from = 5 WHERE id = 1"
    )  # no change number
    report = memory.verify()
    assert not report.ok
    assert any("fact 1" in line for line in report.problems)
    memory.rebuild()
    assert memory.verify().ok
    assert memory.recall("coffee").facts[0].text == "coffee"


def test_rebuild_changes_no_answer(open_memory: OpenMemory, file: Path) -> None:
    memory = open_memory(file)
    before = (memory.recall("tea bread", explain=True), memory.stats(), memory.edges())
    memory.rebuild()
    assert (memory.recall("tea bread", explain=True), memory.stats(), memory.edges()) == before


# --- checkpoint -------------------------------------------------------------------------------


def beside(path: Path) -> list[Path]:
    own = {path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")}
    return [other for other in path.parent.iterdir() if other not in own]


def test_closing_saves_a_checkpoint_and_deleting_it_loses_nothing(
    open_memory: OpenMemory, file: Path
) -> None:
    (checkpoint,) = beside(file)
    with open_memory(file) as memory:
        expected = memory.recall("tea bread")
    checkpoint.unlink()
    memory = open_memory(file)
    assert memory.recall("tea bread") == expected
    memory.checkpoint()
    assert beside(file) == [checkpoint]


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "garbage", "foreign"])
def test_a_damaged_checkpoint_is_ignored(
    open_memory: OpenMemory, file: Path, tmp_path: Path, harm: str
) -> None:
    (checkpoint,) = beside(file)
    data = checkpoint.read_bytes()
    match harm:
        case "cut":
            checkpoint.write_bytes(data[: len(data) // 2])
        case "flip":
            middle = len(data) // 2
            checkpoint.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
        case "empty":
            checkpoint.write_bytes(b"")
        case "garbage":
            checkpoint.write_bytes(b"PK\x03\x04" * 100)
        case "foreign":
            (tmp_path / "other").mkdir()
            with open_memory(tmp_path / "other" / "m.db") as other:
                other.remember("something else entirely")
            (foreign,) = beside(tmp_path / "other" / "m.db")
            checkpoint.write_bytes(foreign.read_bytes())
    memory = open_memory(file)
    assert [fact.text for fact in memory.recall("tea bread").facts] == ["bread", "black tea"]
    assert memory.verify().ok


def test_a_stale_checkpoint_is_caught_up_or_ignored(open_memory: OpenMemory, file: Path) -> None:
    (checkpoint,) = beside(file)
    old = checkpoint.read_bytes()
    with open_memory(file) as memory:
        memory.forget(1)
        memory.maintain()
        memory.remember("coffee")
    checkpoint.write_bytes(old)
    memory = open_memory(file)
    assert [fact.text for fact in memory.list_facts()] == ["black tea", "coffee"]
    assert memory.recall("bread").facts == ()
    assert memory.verify().ok


def test_a_read_only_handle_saves_no_checkpoint(open_memory: OpenMemory, file: Path) -> None:
    for other in beside(file):
        other.unlink()
    memory = open_memory(file, read_only=True)
    with pytest.raises(ReadOnlyError):
        memory.checkpoint()
    memory.close()
    assert beside(file) == []


def test_a_memory_without_a_file_needs_no_checkpoint(memory: Memory) -> None:
    memory.remember("one")
    memory.checkpoint()
    assert memory.path is None
