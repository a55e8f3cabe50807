"""Opening and closing: contexts, closed handles, read-only handles, files that are no memory."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from clocks import START, Clock
from conftest import OpenMemory

from plugmem_core import (
    ClosedError,
    ConfigError,
    CorruptError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
    PlugmemError,
    ReadOnlyError,
    StorageError,
    VectorSpaceError,
)
from plugmem_core.clock import MAX_MS, MIN_MS

READS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("get", (0,), {}),
    ("get_many", ([0],), {}),
    ("history", (0,), {}),
    ("list_facts", (), {}),
    ("list_facts", (), {"key": "k", "entity": "e", "where": {"a": 1}}),
    ("tags", (), {}),
    ("entities", (), {}),
    ("edges", (), {}),
    ("recall", ("one",), {}),
    ("recall", (), {"vector": [1.0]}),
    ("explain_absent", (0, "one"), {}),
    ("stats", (), {}),
    ("verify", (), {}),
    ("rebuild", (), {}),
]
WRITES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("remember", ("two",), {}),
    ("remember", ("one",), {}),
    ("remember_many", ([{"text": "two"}],), {}),
    ("remember_guarded", ("two",), {"entity": "e"}),
    ("revise", (0, "two"), {}),
    ("forget", (0,), {}),
    ("forget_many", ([0],), {}),
    ("link", ("a", "r", "b"), {}),
    ("unlink", ("a", "r", "b"), {}),
    ("rename_tag", ("t", "u"), {}),
    ("remove_tag", ("t",), {}),
    ("rename_entity", ("e", "f"), {}),
    ("alias_entity", ("e", "f"), {}),
    ("merge_entities", ("e", "f"), {}),
    ("maintain", (), {}),
    ("checkpoint", (), {}),
]


@pytest.fixture
def file(open_memory: OpenMemory, tmp_path: Path) -> Path:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("one", entity="e", tags=["t"])
    return tmp_path / "m.db"


@pytest.mark.parametrize(("verb", "args", "options"), READS + WRITES)
def test_no_verb_works_after_close(
    memory: Memory, verb: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    memory.remember("one")
    memory.close()
    with pytest.raises(ClosedError, match="open it again"):
        getattr(memory, verb)(*args, **options)


def test_closing_twice_is_fine(file: Path, open_memory: OpenMemory) -> None:
    memory = open_memory(file)
    memory.close()
    memory.close()


def test_a_context_closes_also_when_an_error_passes(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "m.db")
    memory.remember("one")
    with pytest.raises(NotFoundError), memory:
        memory.forget(9)
    with pytest.raises(ClosedError):
        memory.stats()
    with Memory.open(tmp_path / "m.db") as memory:
        assert memory.recall("one").facts[0].text == "one"


def test_closing_one_handle_leaves_the_other(file: Path, open_memory: OpenMemory) -> None:
    one, other = open_memory(file), open_memory(file)
    one.close()
    other.remember("two")
    assert other.stats().facts == 2


@pytest.mark.parametrize(("verb", "args", "options"), WRITES)
def test_a_read_only_handle_refuses_writes(
    file: Path, open_memory: OpenMemory, verb: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    memory = open_memory(file, read_only=True)
    before = (memory.stats(), list(memory.list_facts()))
    with pytest.raises(ReadOnlyError, match="read_only"):
        getattr(memory, verb)(*args, **options)
    assert (memory.stats(), list(memory.list_facts())) == before


@pytest.mark.parametrize(("verb", "args", "options"), READS)
def test_a_read_only_handle_reads(
    file: Path, open_memory: OpenMemory, verb: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    reader, writer = open_memory(file, read_only=True), open_memory(file)
    assert getattr(reader, verb)(*args, **options) == getattr(writer, verb)(*args, **options)


def test_a_read_only_handle_follows_a_writer(file: Path, open_memory: OpenMemory) -> None:
    reader, writer = open_memory(file, read_only=True), open_memory(file)
    writer.remember("news")
    assert [fact.text for fact in reader.recall("news").facts] == ["news"]
    writer.forget(1)
    assert reader.recall("news").facts == ()


def test_a_read_only_handle_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="does not exist"):
        Memory.open(tmp_path / "m.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_everything_is_there_after_reopening(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path
) -> None:
    def everything(memory: Memory) -> list[Any]:
        return [
            list(memory.list_facts(closed=True)),
            list(memory.tags()),
            list(memory.entities()),
            memory.edges(history=True),
            memory.history(0),
            memory.recall("green tea", vector=[1, 0], entities=["Mara"], explain=True),
        ]

    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("green tea", entity="Mara", tags=["t"], metadata={"a": [1]}, vector=[1, 0])
        memory.remember("bread", key="k", namespace=("n",), ttl=60, links=[], valid_from=0)
        clock.tick()
        memory.revise(0, "black tea", links=[("likes", "Milk")])
        memory.alias_entity("Mara", "Maruschka")
        expected = everything(memory)
    memory = open_memory(tmp_path / "m.db")
    assert everything(memory) == expected
    assert memory.remember("next").id == 3


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"SQLite format 3\0" + b"\0" * 84, b"x" * 9_000]
)
def test_a_file_that_is_no_memory_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(content)
    if content == b"":  # an empty file is an empty database
        with Memory.open(path) as memory:
            assert memory.stats().facts == 0
        return
    with pytest.raises(CorruptError):
        Memory.open(path)
    assert path.read_bytes() == content


def test_a_database_of_another_application_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE facts (id INTEGER PRIMARY KEY)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StorageError, match="another application"):
        Memory.open(path)
    assert path.read_bytes() == content


def test_a_file_of_a_newer_version_is_refused(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StorageError, match=r"999.*upgrade"):
        Memory.open(file)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="create it first"):
        Memory.open(tmp_path / "missing" / "m.db")
    with pytest.raises(StorageError):
        Memory.open(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"path": 5},
        {"path": None},
        {"path": b"m.db"},
        {"config": {"durability": "full"}},
        {"dim": -1},
        {"dim": 4_097},
        {"dim": 1.5},
        {"dim": True},
        {"embedder": object()},
        {"embedder": HashingEmbedder},
        {"read_only": 1},
        {"read_only": True},
        {"clock": 5},
    ],
    ids=str,
)
def test_wrong_arguments_of_open_are_typed_errors(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Memory.open(**{"path": ":memory:", **options})


@pytest.mark.parametrize("dim", [0, -1, 4_097, "8", 8.0])
def test_an_embedder_of_an_impossible_dimension_is_refused(dim: Any) -> None:
    embedder = HashingEmbedder(8)
    embedder.dim = dim
    with pytest.raises(InvalidInputError, match=r"embedder\.dim is "):
        Memory.open(":memory:", embedder=embedder)


@pytest.mark.parametrize("reading", [1.5, True, None, "2024-05-01", MAX_MS + 1, MIN_MS - 1])
def test_a_clock_that_tells_no_milliseconds_harms_nothing(
    open_memory: OpenMemory, tmp_path: Path, reading: Any
) -> None:
    clock: Any = Clock()
    with open_memory(tmp_path / "m.db", clock=clock) as memory:
        memory.remember("one")
        clock.now = reading
        with pytest.raises(InvalidInputError, match=r"clock"):
            memory.remember("two")
        with pytest.raises(InvalidInputError, match=r"clock"):
            memory.recall("one")
        clock.now = START
        assert memory.remember("two").id == 1
    assert open_memory(tmp_path / "m.db").verify().ok


def test_a_dimension_that_contradicts_the_embedder_is_refused() -> None:
    with pytest.raises(VectorSpaceError, match=r"8.*16"):
        Memory.open(":memory:", embedder=HashingEmbedder(16), dim=8)


def test_an_unknown_knob_or_value_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"colour.*durability"):
        MemoryConfig(colour="red")  # type: ignore[call-arg] # what is tested
    with pytest.raises(ConfigError, match=r"bm25_b.*1\.5"):
        MemoryConfig(bm25_b=1.5)
    assert issubclass(ConfigError, PlugmemError)


def test_a_path_may_be_text_with_odd_characters(tmp_path: Path) -> None:
    path = tmp_path / "a % b?#'é.db"
    with Memory.open(str(path)) as memory:
        memory.remember("one")
        assert memory.path == path
    with Memory.open(path, read_only=True) as memory:
        assert memory.stats().facts == 1


def test_a_handle_shows_where_it_is(file: Path, open_memory: OpenMemory) -> None:
    assert repr(open_memory(file)) == f"Memory({str(file)!r})"
    assert repr(open_memory()) == "Memory(':memory:')"
