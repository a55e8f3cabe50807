"""`salvage`: whatever happened to a file, all that stands in whole pages is saved."""

import io
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plugmem_core import (
    CorruptError,
    Fact,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    SalvageReport,
    StorageError,
    WrongTypeError,
    salvage,
)
from plugmem_core.store.shapes import TABLES

PAGE = 4_096
COUNT = 260


def text_of(number: int) -> str:
    """Return a text of which every stretch of bytes says whose it is; some need many pages."""
    repeats = {0: 1, 1: 6, 2: 40}.get(number % 13, 2) if number % 50 else 700
    return " ".join(f"[{number}:{at}]" for at in range(repeats))


class Sample(NamedTuple):
    """A sound memory, and what can be told of it."""

    path: Path
    data: bytes
    lines: bytes
    facts: dict[int, Fact]
    pages: dict[int, set[int]]  # those in which the text of a fact stands
    names: set[int]  # those in which the labels of namespaces stand


def exported(memory: Memory) -> bytes:
    lines = io.BytesIO()
    memory.export_jsonl(lines)
    return lines.getvalue()


def fill(memory: Memory) -> None:
    memory.remember_many(
        {
            "text": text_of(number),
            "entity": f"person {number % 11}",
            "tags": [f"tag {number % 3}"],
            "metadata": {"n": number},
            "namespace": ("users", str(number % 4)),
            "key": f"key {number}" if number % 5 == 0 else None,
            "links": [("knows", f"person {(number * 7) % 11}")],
        }
        for number in range(COUNT)
    )
    for number in range(0, COUNT, 20):
        fresh = COUNT + number
        memory.remember(text_of(fresh), key=f"key {number}", namespace=("users", str(number % 4)))
    memory.alias_entity("person 1", "Number One", namespace=("users", "1"))
    memory.put_values("settings", {f"key {n}": "value " * 30 for n in range(60)})


def facts_of(memory: Memory) -> dict[int, Fact]:
    found: dict[int, Fact] = {}
    cursor = None
    while True:
        page = memory.list_facts(closed=True, limit=1_000, cursor=cursor)
        found.update((fact.id, fact) for fact in page.facts)
        cursor = page.next_cursor
        if cursor is None:
            return found


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    path = tmp_path_factory.mktemp("sample") / "m"
    with Memory.open(path, embedder=HashingEmbedder(24)) as memory:
        fill(memory)
        lines, facts = exported(memory), facts_of(memory)
    data = path.read_bytes()
    pages: dict[int, set[int]] = {}
    for fact in facts.values():
        mark = fact.text[: fact.text.index(":") + 1].encode()
        pages[fact.id] = set(places(data, mark))
    return Sample(path, data, lines, facts, pages, set(places(data, b'["users","')))


def places(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at // PAGE
        at = data.find(mark, at + 1)


def salvaged(
    folder: Path, data: bytes, log: bytes | None = None
) -> tuple[SalvageReport, dict[int, Fact]]:
    """Salvage bytes; returns the report, and the facts by id."""
    source, target = folder / "damaged", folder / "saved"
    source.write_bytes(data)
    if log is not None:
        (folder / "damaged-wal").write_bytes(log)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    try:
        report = salvage(source, target)
    finally:
        kept = {file.name: file.read_bytes() for file in folder.iterdir() if file != target}
        assert kept == before
    with Memory.open(target) as memory:
        assert memory.verify().ok, memory.verify().problems
        facts = facts_of(memory)
        assert memory.stats().facts == report.saved.facts
        memory.recall("person", entities=["person 3"], token_budget=None)
        memory.remember("the next one")
        memory.maintain()
        assert memory.verify().ok
    for file in folder.iterdir():
        file.unlink()
    return report, facts


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def told(fact: Fact) -> tuple[Any, ...]:
    return fact.text, fact.tags, fact.metadata, fact.recorded_at, fact.valid_from


def assert_saved(sample: Sample, facts: dict[int, Fact], damaged: set[int]) -> int:
    """Check that what stands in whole pages is there, and nothing that never was."""
    whole = [fact for fact, pages in sample.pages.items() if not pages & damaged]
    for fact in whole:
        assert fact in facts, f"fact {fact} stands in {sample.pages[fact]}"
        assert told(facts[fact]) == told(sample.facts[fact])
    # What was changed may look sound, such as an id or a namespace; a text never does.
    for number, saved in facts.items():
        known = sample.facts.get(number)
        if known is None or known.text != saved.text:
            [known] = [fact for fact in sample.facts.values() if fact.text == saved.text]
            assert sample.pages[known.id] & damaged
        if saved.namespace != known.namespace:
            lost = saved.namespace and saved.namespace[0].startswith("lost namespace")
            assert lost or (sample.pages[known.id] | sample.names) & damaged
    return len(whole)


def assert_told(sample: Sample, facts: dict[int, Fact], report: SalvageReport) -> None:
    """Check that every fact that is missing is listed."""
    listed: set[int] = set()
    for loss in report.losses:
        if loss.table == "facts" and loss.first is not None and loss.last is not None:
            listed.update(range(loss.first, min(loss.last, 2 * COUNT) + 1))
        if loss.table == "state":  # how many there were is not known, then
            listed.update(range(max(facts), 2 * COUNT))
    assert sample.facts.keys() - facts.keys() <= listed


# -- without damage


def test_a_sound_file_is_saved_as_it_is(sample: Sample, tmp_path: Path) -> None:
    report = salvage(sample.path, tmp_path / "saved")
    assert report.losses == ()
    assert report.complete
    with Memory.open(tmp_path / "saved") as memory:
        assert exported(memory) == sample.lines
        assert memory.verify().ok
    assert sample.path.read_bytes() == sample.data
    assert names(tmp_path) == ["saved", "saved-index"]


def test_what_is_in_the_log_only_is_saved(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        memory.remember("in the file")
        memory.close()
    with Memory.open(tmp_path / "m") as memory:
        fill(memory)
        memory.revise(0, "revised in the log")
        expected = exported(memory)
        # The files as they stand are those of a process that was killed.
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"m{suffix}", tmp_path / f"killed{suffix}")
    assert salvage(tmp_path / "killed", tmp_path / "saved").losses == ()
    with Memory.open(tmp_path / "saved") as memory:
        assert exported(memory) == expected
    (tmp_path / "killed-wal").unlink()
    report = salvage(tmp_path / "killed", tmp_path / "without")
    assert report.saved.facts == 1


@pytest.mark.parametrize("size", [512, 1_024, 8_192, 65_536])
def test_pages_of_any_size_are_read(sample: Sample, tmp_path: Path, size: int) -> None:
    path = tmp_path / "m"
    path.write_bytes(sample.data)
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute("PRAGMA journal_mode = DELETE")
        sql.execute(f"PRAGMA page_size = {size}")
        sql.execute("VACUUM")
    report = salvage(path, tmp_path / "saved")
    assert report.losses == ()
    with Memory.open(tmp_path / "saved") as memory:
        assert exported(memory) == sample.lines
    data = bytearray(path.read_bytes())
    data[:100] = bytes(100)  # the size is to be found without the header
    path.write_bytes(data)
    assert salvage(path, tmp_path / "again").saved.facts > 0.8 * len(sample.facts)


def test_what_was_deleted_does_not_come_back(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        fill(memory)
        memory.forget_many(range(100))
        memory.maintain()
        memory.forget_many(range(100, 120))
        memory.delete_values("settings", [f"key {n}" for n in range(50)])
        memory.merge_entities("person 3", "person 5", namespace=("users", "1"))
        expected = exported(memory)
    report = salvage(tmp_path / "m", tmp_path / "saved")
    assert report.losses == ()
    with Memory.open(tmp_path / "saved") as memory:
        assert exported(memory) == expected


def test_purged_facts_do_not_come_back_from_pages_that_are_free(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        fill(memory)
        memory.forget_many(range(200))
        memory.maintain()
    data = bytearray((tmp_path / "m").read_bytes())
    data[:PAGE] = bytes(PAGE)  # the list of free pages, and the roots of all trees
    (tmp_path / "m").write_bytes(data)
    report = salvage(tmp_path / "m", tmp_path / "saved")
    with Memory.open(tmp_path / "saved") as memory:
        assert min(facts_of(memory)) >= 200
        assert memory.verify().ok
    assert any("free pages" in loss.reason for loss in report.losses)


def test_every_table_of_the_schema_is_read(tmp_path: Path) -> None:
    Memory.open(tmp_path / "m").close()
    with closing(sqlite3.connect(tmp_path / "m")) as sql:
        tables = {
            name: [column[1] for column in sql.execute(f"PRAGMA table_info({name})")]
            for (name,) in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    # What waits there for a re-embedding is made again.
    assert tables.pop("staged") == ["fact", "space", "data"]
    assert tables == {name: list(row._fields) for name, row in TABLES.items()}


def test_staged_vectors_are_not_taken_for_others(tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 200:
            raise InterruptedError

    with Memory.open(tmp_path / "m", embedder=HashingEmbedder(8)) as memory:
        memory.remember_many({"text": text_of(number)} for number in range(COUNT))
        facts = facts_of(memory)
        with pytest.raises(InterruptedError):
            memory.reembed(HashingEmbedder(16), batch=100, progress=stop)
    damaged = bytearray((tmp_path / "m").read_bytes())
    damaged[100:110] = bytes(10)  # the root of the schema: every page has to tell whose it is
    (tmp_path / "m").write_bytes(damaged)
    salvage(tmp_path / "m", tmp_path / "saved")
    with Memory.open(tmp_path / "saved") as memory:
        assert facts_of(memory) == facts
        assert memory.verify().ok
        vectors = [one for one in memory.vectors([*facts]) if one is not None]
        assert {len(one) for one in vectors} <= {8}


# -- with damage


def spoil(data: bytes, rng: random.Random, kind: str) -> tuple[bytes, set[int]]:
    """Return damaged bytes, and the pages that are not whole any more."""
    spoiled = bytearray(data)
    if kind == "truncated":
        del spoiled[rng.randrange(PAGE, len(spoiled)) :]
        return bytes(spoiled), set(range(len(spoiled) // PAGE, len(data) // PAGE))
    times, length = {
        "bits": (rng.choice([1, 5, 60]), 1),
        "bytes": (rng.choice([1, 4, 30]), 16),
        "blocks": (rng.choice([1, 3, 10]), 2 * PAGE),
    }[kind]
    for _ in range(times):
        at = rng.randrange(len(spoiled) - length)
        if kind == "bits":
            spoiled[at] ^= 1 << rng.randrange(8)
        else:
            spoiled[at : at + length] = rng.choice([rng.randbytes(length), bytes(length)])
    changed = {
        number
        for number in range(len(data) // PAGE)
        if data[number * PAGE : (number + 1) * PAGE] != spoiled[number * PAGE : (number + 1) * PAGE]
    }
    return bytes(spoiled), changed


@pytest.mark.parametrize("kind", ["bits", "bytes", "blocks", "truncated"])
@pytest.mark.parametrize("seed", range(8))
def test_all_that_stands_in_whole_pages_is_saved(
    sample: Sample, tmp_path: Path, kind: str, seed: int
) -> None:
    data, damaged = spoil(sample.data, random.Random(seed), kind)
    try:
        report, facts = salvaged(tmp_path, data)
    except CorruptError:
        assert all(pages & damaged for pages in sample.pages.values())
        return
    assert_saved(sample, facts, damaged)
    if kind in ("blocks", "truncated"):  # a number that changed may hide a fact without a trace
        assert_told(sample, facts, report)


def test_any_page_may_be_lost(sample: Sample, tmp_path: Path) -> None:
    saved = []
    count = len(sample.data) // PAGE
    for page in [*range(12), *range(12, count, 9)]:  # those at the beginning are special
        data = bytearray(sample.data)
        data[page * PAGE : (page + 1) * PAGE] = (b"\xff" if page % 2 else b"\0") * PAGE
        report, facts = salvaged(tmp_path, bytes(data))
        saved.append(assert_saved(sample, facts, {page}))
        assert_told(sample, facts, report)
    assert min(saved) > 0.8 * len(sample.facts)


def test_a_text_that_was_changed_is_listed_and_not_saved(sample: Sample, tmp_path: Path) -> None:
    at = sample.data.index(b"[7:1]")
    data = sample.data[:at] + b"[7;1]" + sample.data[at + 5 :]
    report, facts = salvaged(tmp_path, data)
    [loss] = report.losses
    assert (loss.table, loss.first, loss.last) == ("facts", 7, 7)
    assert "[7;1]" in loss.reason
    assert sample.facts.keys() - facts.keys() == {7}


def test_a_damaged_frame_of_the_log_takes_no_other_with_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        for number in range(40):
            memory.remember(text_of(3 * number + 1), entity=f"person {number}")
        main, log = (tmp_path / "m").read_bytes(), (tmp_path / "m-wal").read_bytes()
    frames = len(log) // (PAGE + 24)
    folder = tmp_path / "folder"
    folder.mkdir()
    for frame in range(0, frames, 25):
        at = 32 + frame * (PAGE + 24) + 24 + 2_000
        spoiled = log[:at] + bytes([log[at] ^ 0xFF]) + log[at + 1 :]
        report, facts = salvaged(folder, main, spoiled)
        assert len(facts) >= 28  # a page holds a dozen
        assert any(loss.table == "log" and loss.first == frame + 1 for loss in report.losses)
    for spoiled in (log[:1_000], bytes(32) + log[32:], random.Random(1).randbytes(9_999)):
        try:
            salvaged(folder, main, spoiled)
        except CorruptError:  # the file itself may be empty still
            for file in folder.iterdir():
                file.unlink()
    damaged_header = bytes([log[0], log[1], log[2], log[3], 0xFF]) + log[5:]
    report, facts = salvaged(folder, main, damaged_header)
    assert len(facts) == 40


# -- rows that cannot be


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as sql:
        sql.execute("PRAGMA ignore_check_constraints = ON")
        for index in ("facts_key", "facts_revises", "edges_open"):
            sql.execute(f"DROP INDEX {index}")
        for statement in statements:
            sql.execute(statement)


def lose(statement: str, table: str, row: int | None, reason: str, facts: int = 6) -> Any:
    return pytest.param(statement, table, row, reason, facts, id=f"{table}: {statement[:50]}")


@pytest.mark.parametrize(
    ("statement", "table", "row", "reason", "facts"),
    [
        lose("UPDATE facts SET valid_to = 1, closed_at = 1 WHERE id = 0", "facts", 0, "before", 5),
        lose("UPDATE facts SET closed_at = 1 WHERE id = 0", "facts", 0, "give both or none", 5),
        lose("UPDATE facts SET recorded_at = 1 << 60 WHERE id = 0", "facts", 0, "outside", 5),
        lose("UPDATE facts SET metadata = '{' WHERE id = 0", "facts", 0, "saved without metadata"),
        lose("UPDATE facts SET metadata = '[1]' WHERE id = 0", "facts", 0, "without metadata"),
        lose("UPDATE facts SET metadata = '{\"a\":NaN}' WHERE id = 0", "facts", 0, "without metad"),
        lose("UPDATE facts SET tags = '[\" \"]' WHERE id = 0", "facts", 0, "saved without tags"),
        lose("UPDATE facts SET tags = '[7]' WHERE id = 0", "facts", 0, "saved without tags"),
        lose("UPDATE facts SET key = 'k' WHERE id = 0", "facts", 1, "saved without key"),
        lose("UPDATE facts SET revises = 77 WHERE id = 0", "", None, ""),
        lose("UPDATE facts SET revises = 5 WHERE id = 0", "facts", 0, "without revises"),
        lose("UPDATE facts SET revises = 3 WHERE id = 2", "facts", 2, "without revises"),
        lose("UPDATE facts SET valid_to = NULL, closed_at = NULL WHERE id = 3", "facts", 3, "ends"),
        lose("UPDATE facts SET id = 1 << 40 WHERE id = 0", "facts", 1 << 40, "an id that", 5),
        lose("UPDATE facts SET entity = 1 << 40 WHERE id = 0", "facts", 0, "without one"),
        lose("UPDATE facts SET entity = 1 WHERE id = 0", "", None, ""),
        lose("UPDATE facts SET entity = 2 WHERE id = 0", "facts", 0, "set apart"),
        lose("UPDATE facts SET namespace = 0 WHERE id = 0", "facts", 0, "set apart"),
        lose("UPDATE facts SET namespace = 2 WHERE id = 0", "facts", 0, "set apart"),
        lose("UPDATE edges SET namespace = 2", "edges", 0, "set apart"),
        lose("UPDATE facts SET namespace = 999 WHERE id = 0", "facts", 0, "set apart"),
        lose("UPDATE facts SET namespace = 999 WHERE id = 1", "namespaces", 999, "labels"),
        lose("UPDATE namespaces SET path = '[' WHERE id = 1", "namespaces", 1, "labels"),
        lose("UPDATE namespaces SET path = '[\"\"]' WHERE id = 1", "namespaces", 1, "labels"),
        lose("DELETE FROM namespaces WHERE id = 1", "namespaces", 1, "labels"),
        lose("DELETE FROM entities WHERE id = 0", "entities", 0, "'lost entity 0'"),
        lose("UPDATE entities SET name = '?' WHERE id = 0", "entities", 0, "no indexable"),
        lose("DELETE FROM relations", "relations", 1, "'lost relation 1'"),
        lose("UPDATE relations SET name = ''", "relations", None, "blank"),
        lose("DELETE FROM vectors WHERE fact = 0", "vectors", 0, "holds it"),
        lose("UPDATE vectors SET data = x'0000' WHERE fact = 0", "facts", 0, "without data"),
        lose("UPDATE facts SET vector = 9 WHERE id = 0", "", None, ""),
        lose("UPDATE edges SET provenance = -5", "edges", 0, "without provenance"),
        lose("UPDATE edges SET properties = 'x'", "edges", 0, "without properties"),
        lose("UPDATE edges SET dst = -1", "edges", 0, "an end of it"),
        lose("UPDATE edges SET valid_to = 5", "edges", 0, "give both or none"),
        lose("UPDATE kv SET value = '{'", "kv", None, "'c'|damaged|JSON"),
        lose("UPDATE kv SET collection = ' '", "kv", None, "blank"),
        lose("DELETE FROM state", "state", None, "counters"),
        lose("UPDATE state SET next_fact = 1 << 40", "", None, ""),
        lose("UPDATE state SET next_fact = 0, next_edge = 0, next_entity = 0", "", None, ""),
        lose("UPDATE state SET dim = 77", "", None, ""),
        lose("UPDATE state SET space = char(0)", "state", None, "embedder"),
    ],
)
def test_rows_that_cannot_be_are_judged_one_by_one(
    tmp_path: Path, statement: str, table: str, row: int | None, reason: str, facts: int
) -> None:
    path = tmp_path / "m"
    with Memory.open(path, embedder=HashingEmbedder(8)) as memory:
        first = {"tags": ["t"], "metadata": {"a": 1}, "namespace": ("users", "ann")}
        memory.remember("zero", entity="Ann", links=[("knows", "Bo")], **first)
        memory.remember("one", key="k", namespace=("users", "ann"))
        memory.remember("two")
        memory.revise(memory.remember("three").id, "four")
        memory.remember("five", entity="Cleo", namespace=("users", "cleo"))
        memory.put_values("c", {"k": 1})
    change(path, statement)
    report = salvage(path, tmp_path / "saved")
    found = [(loss.table, loss.first) for loss in report.losses]
    if table:
        [loss] = [loss for loss in report.losses if (loss.table, loss.first) == (table, row)]
        assert any(part in loss.reason for part in reason.split("|")), loss.reason
    else:
        assert found == []
    with Memory.open(tmp_path / "saved") as memory:
        assert memory.verify().ok, memory.verify().problems
        kept = facts_of(memory)
        assert len(kept) == facts == report.saved.facts
        words = {"zero", "one", "two", "three", "four", "five"}
        assert {fact.text for fact in kept.values()} <= words
        # A fact never gets into a namespace that is another's.
        for fact in kept.values():
            lost = fact.namespace and fact.namespace[0].startswith("lost")
            assert lost or fact.namespace == {
                "zero": ("users", "ann"), "one": ("users", "ann"), "five": ("users", "cleo"),
            }.get(fact.text, ())  # fmt: skip
        assert memory.remember("after").id < 100


def test_expired_facts_are_saved_and_stay_hidden(tmp_path: Path) -> None:
    now = 1_714_564_800_000
    with Memory.open(tmp_path / "m", clock=lambda: now) as memory:
        memory.remember("tea", ttl=1)
        memory.remember("milk")
    assert salvage(tmp_path / "m", tmp_path / "saved").saved.facts == 2
    with Memory.open(tmp_path / "saved", clock=lambda: now + 5_000) as memory:
        assert [fact.text for fact in memory.recall("tea milk").facts] == ["milk"]


# -- what is refused


@pytest.mark.parametrize(
    "data", [b"", b"some text " * 999, bytes(99_999), random.Random(5).randbytes(99_999)]
)
def test_what_was_never_a_memory_is_refused(tmp_path: Path, data: bytes) -> None:
    source = tmp_path / "source"
    source.write_bytes(data)
    with pytest.raises(CorruptError, match="nothing of a memory"):
        salvage(source, tmp_path / "saved")
    with closing(sqlite3.connect(tmp_path / "other.db")) as sql:
        sql.execute("CREATE TABLE invoices (id INTEGER PRIMARY KEY, name TEXT)")
        sql.execute("INSERT INTO invoices VALUES (1, 'x')")
        sql.commit()
    with pytest.raises(CorruptError, match="nothing of a memory"):
        salvage(tmp_path / "other.db", tmp_path / "saved")
    assert names(tmp_path) == ["other.db", "source"]


def test_paths_are_checked(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    for target, error in (
        (tmp_path / "there", StorageError),
        (sample.path, StorageError),
        (tmp_path / "no" / "folder", StorageError),
        (":memory:", InvalidInputError),
        (7, WrongTypeError),
    ):
        with pytest.raises(error):
            salvage(sample.path, target)
    for source, error in (
        (tmp_path / "missing", StorageError),
        (tmp_path, StorageError),
        (":memory:", InvalidInputError),
        (None, WrongTypeError),
    ):
        with pytest.raises(error):
            salvage(source, tmp_path / "saved")
    assert (tmp_path / "there").read_text() == "mine"
    assert names(tmp_path) == ["there"]


def test_a_salvage_that_is_interrupted_leaves_nothing(sample: Sample, tmp_path: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    salvage(sample.path, tmp_path / "whole", progress=lambda *step: steps.append(step))
    total = sample.lines.count(b"\n") - 1
    assert steps[-1] == (total, total)
    for wanted in steps:

        def stop(done: int, total: int | None, wanted: tuple[int, int | None] = wanted) -> None:
            if (done, total) == wanted:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            salvage(sample.path, tmp_path / "saved", progress=stop)
        assert names(tmp_path) == ["whole"]


def test_limits_of_the_handle_that_wrote_do_not_matter(tmp_path: Path) -> None:
    config = MemoryConfig(max_text=200_000, max_tags=100)
    with Memory.open(tmp_path / "m", config=config) as memory:
        memory.remember("long " * 30_000, tags=[f"tag {n}" for n in range(100)])
    assert salvage(tmp_path / "m", tmp_path / "saved").losses == ()
