"""What is accepted as a memory's file, what is refused, and that a refusal leaves it alone."""

import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from plugmem_core import (
    CorruptError,
    HashingEmbedder,
    Memory,
    MemoryConfig,
    PlugmemError,
    ReadOnlyError,
    StorageError,
)
from plugmem_core.store import schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m"


def sql(path: Path, *statements: str) -> list[Any]:
    """Run statements on a file behind the memory's back; returns the rows of the last."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        return rows


def assert_refused(path: Path, kind: type[Exception], match: str, **options: Any) -> None:
    before = path.read_bytes()
    with pytest.raises(kind, match=match):
        Memory.open(path, **options)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_new_file_says_whose_it_is(path: Path) -> None:
    Memory.open(path).close()
    assert sql(path, "PRAGMA application_id") == [(schema.APPLICATION_ID,)]
    assert sql(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert sql(path, "PRAGMA journal_mode") == [("wal",)]
    assert path.read_bytes()[68:72] == b"PMEM"


def test_an_empty_file_becomes_a_memory(path: Path) -> None:
    path.touch()
    with Memory.open(path) as memory:
        memory.remember("a fact")
    with Memory.open(path) as memory:
        assert memory.stats().facts == 1


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE facts (id INTEGER PRIMARY KEY)"],
        ["PRAGMA application_id = 77"],
        ["PRAGMA user_version = 1"],
        ["CREATE TABLE t (a)", f"PRAGMA user_version = {schema.SCHEMA_VERSION}"],
    ],
)
def test_a_database_of_another_application_is_refused(
    path: Path, statements: list[str], read_only: bool
) -> None:
    sql(path, *statements)
    assert_refused(path, StorageError, "another application", read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_version_is_refused(path: Path, read_only: bool) -> None:
    Memory.open(path).close()
    sql(path, "PRAGMA user_version = 1000", "PRAGMA journal_mode = DELETE")
    assert_refused(path, StorageError, "version 1000", read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_damage(path: Path, version: int, read_only: bool) -> None:
    Memory.open(path).close()
    sql(path, f"PRAGMA user_version = {version}", "PRAGMA journal_mode = DELETE")
    assert_refused(path, CorruptError, f"version {version},", read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "data",
    [b"just some text", b"\0" * 5_000, b"SQLite format 3\0" + b"\xff" * 5_000],
    ids=["text", "zeros", "header only"],
)
def test_what_is_no_database_is_refused(path: Path, data: bytes, read_only: bool) -> None:
    path.write_bytes(data)
    assert_refused(path, CorruptError, "not a", read_only=read_only)


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "such" / "folder"):
        with pytest.raises(StorageError):
            Memory.open(path)
    with pytest.raises(StorageError, match="does not exist"):
        Memory.open(tmp_path / "missing", read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a?mode=ro&b#c", "per%20cent", "späce ü", "-index", "'; --"])
def test_any_file_name_is_a_file_name(tmp_path: Path, name: str) -> None:
    with Memory.open(tmp_path / name) as memory:
        memory.remember("a fact")
    with Memory.open(tmp_path / name, read_only=True) as memory:
        assert memory.stats().facts == 1
    # A reader may leave SQLite's own companions behind.
    companions = {f"{name}{suffix}" for suffix in ("", "-index", "-wal", "-shm")}
    assert {name} <= {file.name for file in tmp_path.iterdir()} <= companions


def test_damage_gives_typed_errors_only(tmp_path: Path) -> None:
    intact = tmp_path / "intact"
    with Memory.open(intact) as memory:
        memory.remember_many(
            {
                "text": f"fact number {number}",
                "entity": f"entity {number % 9}",
                "tags": [f"tag {number % 5}"],
                "metadata": {"n": number},
                "links": [("knows", f"entity {number % 7}")],
            }
            for number in range(200)
        )
    data = intact.read_bytes()
    for seed in range(40):
        rng = random.Random(seed)
        path = tmp_path / f"damaged {seed}"
        spoiled = bytearray(data)
        for _ in range(rng.choice([1, 20, 400])):
            spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
        path.write_bytes(spoiled[: rng.choice([len(data), len(data) // 2])])
        try:
            with Memory.open(path) as memory:
                memory.recall("fact number 7", where={"n": {"$gt": 3}})
                memory.remember("one more")
                memory.verify()
        except PlugmemError:
            pass


def look_everywhere(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.recall("tea", where={"n": 1})
        memory.get(0)
        memory.edges()
        memory.get_values("settings")


@pytest.mark.parametrize(
    ("row", "values"),
    [
        ("facts SET metadata", ("'{'", "7", "'[1]'", "'7'")),
        ("facts SET tags", ("'['", "7", "'{\"a\": 1}'")),
        ("edges SET properties", ("'{'", "7", "'[1]'")),
        ("namespaces SET path", ("'['", "7", "'{\"a\": 1}'")),
        ("kv SET value", ("'{'", "x'00'")),
    ],
)
def test_a_row_whose_json_is_broken_is_reported_as_damage(
    path: Path, row: str, values: tuple[str, ...]
) -> None:
    with Memory.open(path) as memory:
        memory.remember("tea", tags=["t"], metadata={"n": 1})
        memory.link("Ann", "knows", "Bob", properties={"since": 2020})
        memory.put_values("settings", {"theme": "dark"})
    look_everywhere(path)
    path.with_name(f"{path.name}-index").unlink()
    for value in values:
        sql(path, f"UPDATE {row} = {value}")
        with pytest.raises(CorruptError):
            look_everywhere(path)


# -- versions


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package one version ahead, which adds a table."""
    monkeypatch.setattr(schema, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    monkeypatch.setattr(
        schema,
        "MIGRATIONS",
        {
            schema.SCHEMA_VERSION - 1: (
                "CREATE TABLE extra (a INTEGER);\nINSERT INTO extra\nSELECT count(*) FROM facts;\n"
            )
        },
    )


def test_an_older_file_is_brought_to_the_current_version(
    path: Path, request: pytest.FixtureRequest
) -> None:
    with Memory.open(path) as memory:
        memory.remember("kept")
    request.getfixturevalue("next_version")
    with Memory.open(path) as memory:
        assert memory.get(0).text == "kept"
        memory.remember("added")
        assert memory.verify().ok
    assert sql(path, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert sql(path, "SELECT a FROM extra") == [(1,)]
    with Memory.open(path) as memory:  # and only once
        assert memory.stats().facts == 2


def test_an_older_file_is_not_touched_by_a_reader(
    path: Path, request: pytest.FixtureRequest
) -> None:
    Memory.open(path).close()
    request.getfixturevalue("next_version")
    sql(path, "PRAGMA journal_mode = DELETE")
    assert_refused(path, StorageError, "older version", read_only=True)


def test_a_migration_that_fails_leaves_the_older_file(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(path) as memory:
        memory.remember("kept")
    old = schema.SCHEMA_VERSION
    with monkeypatch.context() as patch:
        patch.setattr(schema, "SCHEMA_VERSION", old + 2)
        broken = {old: "CREATE TABLE half (a);", old + 1: "INSERT INTO no_such_table VALUES (1);"}
        patch.setattr(schema, "MIGRATIONS", broken)
        with pytest.raises(StorageError, match="no_such_table"):
            Memory.open(path)
    with Memory.open(path) as memory:
        assert memory.get(0).text == "kept"
    assert sql(path, "PRAGMA user_version") == [(old,)]
    assert sql(path, "SELECT name FROM sqlite_master WHERE name = 'half'") == []


# -- the first version: texts of current facts only could be looked up

FIRST = (
    "DROP INDEX facts_digest",
    "CREATE INDEX facts_digest ON facts (digest) WHERE valid_to IS NULL AND forgotten_at IS NULL",
    "DROP TABLE kv",
    "ALTER TABLE state DROP COLUMN analyzer",
    "ALTER TABLE facts DROP COLUMN mentions",
    "DROP TABLE staged",
    "PRAGMA user_version = 1",
)
DEFINITIONS = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"


def fill(path: Path) -> list[Any]:
    """Write revised, forgotten and ended facts, vectors and an edge; returns what is there."""
    with Memory.open(path) as memory:
        memory.remember("tea", entity="Ann", tags=["t"], key="drink", vector=[1.0, 0.0])
        memory.remember("coffee", entity="Ann", key="drink", links=[("likes", "Bob")])
        memory.remember("bread", namespace=("x",), vector=[0.0, 1.0], metadata={"n": 1})
        memory.remember("forgotten", vector=[1.0, 1.0])
        memory.forget(3)
        memory.end(2)
        return everything(memory)


def everything(memory: Memory) -> list[Any]:
    facts = list(memory.list_facts(closed=True))
    vectors = [None if one is None else one.tolist() for one in memory.vectors(range(4))]
    found = memory.recall("tea coffee bread", closed=True).facts
    return [facts, vectors, list(memory.edges()), [fact.id for fact in found]]


@pytest.fixture
def first_version(path: Path) -> Path:
    """A file as the first version left it."""
    fill(path)
    sql(path, *FIRST)
    return path


def definitions(path: Path) -> list[Any]:
    """What is defined in a file, without comments and blanks."""
    return [
        (*names, re.sub(r"--.*|\s+", "", text or "")) for *names, text in sql(path, DEFINITIONS)
    ]


def test_a_file_of_the_first_version_becomes_like_a_new_one(
    first_version: Path, tmp_path: Path
) -> None:
    Memory.open(tmp_path / "fresh").close()
    assert definitions(first_version) != definitions(tmp_path / "fresh")
    Memory.open(first_version).close()
    assert sql(first_version, "PRAGMA user_version") == [(schema.SCHEMA_VERSION,)]
    assert definitions(first_version) == definitions(tmp_path / "fresh")
    assert sql(first_version, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_file_of_the_first_version_keeps_everything(path: Path, checkpointed: bool) -> None:
    before = fill(path)
    sql(path, *FIRST)
    if not checkpointed:
        path.with_name(f"{path.name}-index").unlink()
    with Memory.open(path) as memory:
        assert everything(memory) == before
        assert (memory.stats().facts, memory.stats().vectors) == (4, 3)
        assert memory.verify().ok
        assert memory.remember("coffee", entity="Ann", key="drink").outcome == "unchanged"
        assert memory.remember("bread", namespace=("x",)).outcome == "created"
        assert memory.verify().ok


def test_a_file_of_the_first_version_lends_the_vectors_of_its_texts(path: Path) -> None:
    class Counting(HashingEmbedder):
        seen: list[str] = []  # noqa: RUF012 - of this one test

        def embed_documents(self, texts: list[str]) -> list[Any]:
            self.seen.extend(texts)
            return super().embed_documents(texts)

    embedder = Counting(8)
    with Memory.open(path, embedder=embedder) as memory:
        memory.remember_many([{"text": "tea"}, {"text": "bread"}])
        memory.end(0)
    sql(path, *FIRST)
    embedder.seen.clear()
    with Memory.open(path, embedder=embedder) as memory:
        memory.remember_many([{"text": "tea"}, {"text": "bread", "key": "k"}, {"text": "milk"}])
    assert embedder.seen == ["milk"]


def test_a_reader_refuses_the_first_version_and_says_what_to_do(first_version: Path) -> None:
    first_version.with_name(f"{first_version.name}-index").unlink()
    sql(first_version, "PRAGMA journal_mode = DELETE")
    assert_refused(
        first_version, StorageError, "older version; open it once for writing", read_only=True
    )
    assert sql(first_version, "PRAGMA user_version") == [(1,)]
    Memory.open(first_version).close()
    with Memory.open(first_version, read_only=True) as memory:
        assert memory.stats().facts == 4


# -- read-only handles


def writes(memory: Memory) -> list[Callable[[], object]]:
    return [
        lambda: memory.remember("no"),
        lambda: memory.remember_many([{"text": "no"}]),
        lambda: memory.remember_guarded("no", entity="a"),
        lambda: memory.revise(0, "no"),
        lambda: memory.forget(0),
        lambda: memory.end(0),
        lambda: memory.set_ttl([0], 60),
        lambda: memory.write(remember=[{"text": "no"}]),
        lambda: memory.write(forget=[((), "k")]),
        lambda: memory.link("a", "knows", "b"),
        lambda: memory.unlink("a", "knows", "b"),
        lambda: memory.rename_entity("a", "b"),
        lambda: memory.alias_entity("a", "b"),
        lambda: memory.merge_entities("a", "b"),
        lambda: memory.rename_tag("a", "b"),
        lambda: memory.remove_tag("a"),
        lambda: memory.maintain(),
        lambda: memory.checkpoint(),
    ]


def test_a_read_only_handle_reads_and_refuses_every_write(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.remember("a fact", entity="a")
    files = {file: file.read_bytes() for file in path.parent.iterdir()}
    with Memory.open(path, read_only=True) as memory:
        for write in writes(memory):
            with pytest.raises(ReadOnlyError, match="read_only"):
                write()
        assert [fact.id for fact in memory.recall("fact").facts] == [0]
        assert memory.verify().ok
        memory.rebuild()
        assert memory.stats().facts == 1
    for file, data in files.items():
        assert file.read_bytes() == data


def test_a_read_only_handle_follows_a_writer(path: Path) -> None:
    with Memory.open(path) as writer:
        writer.remember("first")
        with Memory.open(path, read_only=True) as reader:
            assert len(reader.recall("first second").facts) == 1
            writer.remember("second")
            assert len(reader.recall("first second").facts) == 2
            writer.forget(0)
            assert [fact.id for fact in reader.recall("first second").facts] == [1]


def test_a_copy_of_the_file_is_the_whole_memory(path: Path, tmp_path: Path) -> None:
    with Memory.open(path) as memory:
        memory.remember("a fact", entity="a", tags=["t"], vector=[1.0, 0.0])
    shutil.copy(path, tmp_path / "copy")
    with Memory.open(tmp_path / "copy") as copy:
        assert copy.recall("fact", tags=["t"]).facts[0].entity == "a"
        assert copy.verify().ok


@pytest.mark.parametrize(("durability", "pragma"), [("full", 2), ("normal", 1)])
def test_durability_is_sqlites_synchronous_setting(
    path: Path, durability: str, pragma: int
) -> None:
    with Memory.open(path, config=MemoryConfig(durability=durability)) as memory:
        memory.remember("a fact")
        writer = memory._engine.store._writer
        assert writer.execute("PRAGMA synchronous").fetchone() == (pragma,)


# -- before the sixth version: nothing was staged, and nobody could say that he wants no vector

FIFTH = ("DROP TABLE staged", "UPDATE facts SET vector = 0 WHERE vector = 3")


def test_facts_that_an_embedder_left_without_a_vector_stay_so(path: Path) -> None:
    embedder = HashingEmbedder(8)
    with Memory.open(path, embedder=embedder) as memory:
        memory.remember("one", embed=False)
        memory.remember("two")
    sql(path, *FIFTH, "PRAGMA user_version = 5")
    with Memory.open(path, embedder=embedder) as memory:
        assert memory.reembed().embedded == 0
        assert memory.reembed(HashingEmbedder(4)).embedded == 1
        assert memory.verify().ok


def test_facts_of_a_memory_without_an_embedder_may_still_get_one(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.remember("one")
        memory.remember("two", vector=[1.0, 0.0])
    sql(path, *FIFTH, "PRAGMA user_version = 5")
    with Memory.open(path) as memory:
        assert memory.reembed(HashingEmbedder(8)).embedded == 2
        assert memory.verify().ok


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed by Linux")
def test_what_threads_count_commits_by_is_closed_with_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    def descriptors() -> int:
        open_files = []
        for one in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # the listing itself
                open_files.append(str(one.readlink()))
        return sum(name.startswith(str(path)) for name in open_files)

    with Memory.open(path) as memory:
        memory.remember("tea")
        meet = Barrier(4)

        def ask(_: int) -> int:
            meet.wait()
            return len(memory.recall("tea"))

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(ask, range(40))) == [1] * 40
        assert descriptors() > 0
    assert descriptors() == 0
