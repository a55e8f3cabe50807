"""Whatever bytes a file holds, the answer is one of the right kind or a typed error.

Few inputs are tried by default, the same each time; `make fuzz` tries many.
"""

import io
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from clocks import Clock
from fuzzing import answered_or_refused, few, fewer, fill
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import Memory, PlugmemError, Retain, salvage
from plugmem_core.clock import MAX_MS, MIN_MS
from plugmem_core.store.schema import SCHEMA


def everything(memory: Memory) -> None:
    """Ask for all there is, then write; each may be refused by itself."""
    calls: list[Callable[[], object]] = [
        memory.stats,
        memory.verify,
        lambda: memory.get_many(range(16)),
        lambda: memory.get_by_keys(["drink"], namespace=("a", "b")),
        lambda: memory.recall("garden tea", entities=["Ann"], explain=True),
        lambda: memory.recall("tea", vector=[1.0, 0.0], namespace=("a",)),
        lambda: memory.recall(where={"year": {"$gte": 1}}, closed=True),
        lambda: list(memory.list_facts(closed=True)),
        lambda: [memory.history(fact.id) for fact in memory.list_facts()],
        lambda: memory.recall("the garden of Ann", namespace=("a",), below=False, graph_depth=2),
        lambda: memory.explain_absent(1, "garden"),
        lambda: memory.explain_absent(12, "garden"),
        lambda: memory.vectors([0, 1, 2]),
        lambda: memory.edges("Ann", history=True),
        memory.edges,
        lambda: memory.neighbours(["Ann"]),
        lambda: memory.mentions(1),
        lambda: memory.list_facts(mentions="Ann"),
        lambda: memory.get_values("counters"),
        memory.entities,
        memory.tags,
        memory.keys,
        memory.namespaces,
        lambda: memory.export_jsonl(io.BytesIO()),
        lambda: memory.remember("one more", entity="Ann", tags=["new"]),
        lambda: memory.remember("tea", key="drink", namespace=("a", "b"), entity="Ivo"),
        lambda: memory.revise(0, "another garden"),
        lambda: memory.link("bed 3", "beside", "bed 4"),
        lambda: memory.unlink("Ann", "tends", "bed 5"),
        lambda: memory.end(6),
        lambda: memory.forget(7),
        lambda: memory.rename_entity("bed 8", "bed eight"),
        lambda: memory.alias_entity("bed 9", "bed nine"),
        lambda: memory.merge_entities("bed 10", "bed 11"),
        lambda: memory.rename_tag("garden", "yard"),
        lambda: memory.put_values("counters", {"visits": 2}),
        lambda: memory.find_mentions(),
        lambda: memory.maintain(retain=[Retain(max_age=1, tags=["new"])]),
        lambda: memory.erase(entity="bed 3"),
        lambda: memory.erase([4]),
        memory.maintain,
        memory.rebuild,
        memory.verify,
    ]
    for call in calls:
        with answered_or_refused():
            call()


@dataclass(frozen=True, repr=False)
class Seeds:
    """A memory's file, its checkpoint, its log before it was brought over, and its lines."""

    database: bytes
    checkpoint: bytes
    logged: bytes
    log: bytes
    lines: bytes

    def _repr_pretty_(self, printer: Any, cycle: Any) -> None:
        printer.text("seeds")  # all of it would be pages of bytes in every failure


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Seeds:
    folder = tmp_path_factory.mktemp("seeds")
    clock = Clock()
    memory = Memory.open(folder / "m", clock=clock)
    fill(memory, clock)
    logged, log = (folder / "m").read_bytes(), (folder / "m-wal").read_bytes()
    lines = io.BytesIO()
    memory.export_jsonl(lines)
    memory.close()
    database, checkpoint = (folder / "m").read_bytes(), (folder / "m-index").read_bytes()
    return Seeds(database, checkpoint, logged, log, lines.getvalue())


class Damage(NamedTuple):
    """Bytes written over places that are given as shares of the length, and a cut."""

    writes: list[tuple[float, bytes]]
    keep: float

    def of(self, sound: bytes) -> bytes:
        data = bytearray(sound)
        for share, new in self.writes:
            at = int(share * len(data))
            data[at : at + len(new)] = new[: len(data) - at]
        return bytes(data[: int(self.keep * len(data))])


shares = st.floats(0, 1, exclude_max=True)
damages = st.builds(
    Damage,
    st.lists(st.tuples(shares, st.binary(min_size=1, max_size=64)), min_size=1, max_size=6),
    st.one_of(st.just(1.0), shares),
)


@contextmanager
def folder_with(files: dict[str, bytes]) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        yield folder
    finally:
        shutil.rmtree(folder)


def use(path: Path, **options: Any) -> None:
    with answered_or_refused(), Memory.open(path, **options) as memory:
        everything(memory)


@few
@given(st.binary(min_size=2, max_size=600))  # to SQLite a file of one byte is an empty one
def test_random_bytes_as_a_database_are_refused_and_left_alone(data: bytes) -> None:
    with folder_with({"m": data}) as folder:
        for options in ({}, {"read_only": True}):
            with pytest.raises(PlugmemError):
                Memory.open(folder / "m", **options)
        assert (folder / "m").read_bytes() == data


@fewer
@given(damages, st.booleans())
def test_a_damaged_database_answers_or_is_refused(
    seeds: Seeds, damage: Damage, checkpointed: bool
) -> None:
    beside = {"m-index": seeds.checkpoint} if checkpointed else {}
    with folder_with({"m": damage.of(seeds.database), **beside}) as folder:
        use(folder / "m", read_only=True)
        use(folder / "m")


class Change(NamedTuple):
    """Another value of a column, in one row of a table."""

    table: str
    column: str
    row: int
    value: Any


def columns() -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        return database.execute(
            "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c "
            "WHERE t.type = 'table'"
        ).fetchall()


changes = st.builds(
    lambda place, row, value: Change(place[0], place[1], row, value),
    st.sampled_from(columns()),
    st.integers(0, 12),
    st.one_of(
        st.none(),
        st.integers(-1, 20),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),  # to SQLite it is null
        st.sampled_from([2**31, 2**32 - 1, 2**32, MIN_MS, MAX_MS, MAX_MS + 1]),
        st.sampled_from(["[]", "{}", "[1]", '["a"]', '[["a"]]', '{"a":', "[-1]", "[" * 3_000]),
        st.text(max_size=4),
        st.binary(max_size=4),
    ),
)
wrong_rows = st.lists(changes, min_size=1, max_size=3)


def write_rows(path: Path, rows: list[Change]) -> None:
    """Write values into a file as damage would, whatever its schema allows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema = ON")
        schema = database.execute("SELECT sql, name FROM sqlite_master").fetchall()
        database.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'"
        )
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        for table, column, row, value in rows:
            (key, *_) = (name for one, name in columns() if one == table)
            with suppress(sqlite3.IntegrityError):  # the value is taken, or is no row's id
                database.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {key} = "
                    f"(SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET ?)",
                    (value, row % max(1, rows_of(database, table))),
                )
        database.execute("PRAGMA writable_schema = ON")
        database.executemany("UPDATE sqlite_master SET sql = ? WHERE name = ?", schema)


def rows_of(database: sqlite3.Connection, table: str) -> int:
    (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


@fewer
@given(wrong_rows, st.booleans())
def test_a_database_of_rows_that_no_write_leaves_answers_or_is_refused(
    seeds: Seeds, rows: list[Change], checkpointed: bool
) -> None:
    beside = {"m-index": seeds.checkpoint} if checkpointed else {}
    with folder_with({"m": seeds.database, **beside}) as folder:
        write_rows(folder / "m", rows)
        use(folder / "m", read_only=True)
        use(folder / "m")


@fewer
@given(damages)
def test_a_damaged_log_answers_or_is_refused(seeds: Seeds, damage: Damage) -> None:
    with folder_with({"m": seeds.logged, "m-wal": damage.of(seeds.log)}) as folder:
        use(folder / "m")


@few
@given(st.one_of(damages, st.binary(max_size=400)))
def test_whatever_stands_in_the_checkpoint_the_memory_is_whole(
    seeds: Seeds, damage: Damage | bytes
) -> None:
    data = damage if isinstance(damage, bytes) else damage.of(seeds.checkpoint)
    with (
        folder_with({"m": seeds.database, "m-index": data}) as folder,
        Memory.open(folder / "m") as memory,
    ):
        assert memory.verify().ok
        assert len(memory.list_facts(closed=True).facts) == 12
        everything(memory)


@fewer
@given(st.one_of(damages, st.binary(max_size=600), wrong_rows))
def test_a_salvage_gives_a_sound_memory_or_is_refused_and_leaves_its_source(
    seeds: Seeds, damage: Damage | bytes | list[Change]
) -> None:
    data = damage.of(seeds.database) if isinstance(damage, Damage) else damage
    with folder_with({"m": seeds.database if isinstance(data, list) else data}) as folder:
        if isinstance(data, list):
            write_rows(folder / "m", data)
        source = (folder / "m").read_bytes()
        with answered_or_refused():
            salvage(folder / "m", folder / "saved")
            with Memory.open(folder / "saved") as saved:
                assert saved.verify().ok
                everything(saved)
        assert (folder / "m").read_bytes() == source


@few
@given(st.one_of(damages, st.binary(max_size=400)))
def test_lines_to_import_are_taken_or_refused(seeds: Seeds, damage: Damage | bytes) -> None:
    data = damage if isinstance(damage, bytes) else damage.of(seeds.lines)
    with Memory.open(":memory:") as memory:
        with answered_or_refused():
            memory.import_jsonl(io.BytesIO(data))
        assert memory.verify().ok
