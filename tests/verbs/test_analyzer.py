"""The analyser of a file: recorded, followed by every handle, and changed at any time."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenMemory

from plugmem_core import ConfigError, CorruptError, Memory, MemoryConfig, salvage

PLAIN = MemoryConfig(ranking="tuned", analyzer="plain")
ENGLISH = MemoryConfig(ranking="tuned", analyzer="english")
GERMAN = MemoryConfig(ranking="tuned", analyzer="german")
TUNED = MemoryConfig(ranking="tuned")
REFERENCE = MemoryConfig(ranking="reference")

TEXTS = ["she walks home", "she was walking", "er sah die Häuser", "a walk"]


def ids(memory: Memory, question: str) -> list[int]:
    return sorted(fact.id for fact in memory.recall(question).facts)


def filled(memory: Memory) -> Memory:
    memory.remember_many({"text": text} for text in TEXTS)
    return memory


def test_a_new_file_is_read_as_english(open_memory: OpenMemory) -> None:
    memory = filled(open_memory(config=TUNED))
    assert ids(memory, "who walked?") == [0, 1, 3]
    assert ids(memory, "Haus") == []


def test_the_reference_ranking_reads_plainly(open_memory: OpenMemory) -> None:
    memory = filled(open_memory(config=REFERENCE))
    assert ids(memory, "walk") == [3]


def test_what_was_asked_for_last_is_recorded(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    filled(open_memory(path, config=PLAIN)).close()
    assert ids(open_memory(path, config=TUNED), "walk") == [3]
    assert ids(open_memory(path, config=GERMAN), "Haus") == [2]
    memory = open_memory(path, config=TUNED)
    assert ids(memory, "Haus") == [2]
    assert memory.verify().ok


def test_other_handles_follow_at_their_next_call(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    first = filled(open_memory(path, config=TUNED))
    reference = open_memory(path, config=REFERENCE)
    second = open_memory(path, config=GERMAN)
    for memory in (first, second):
        assert ids(memory, "Haus") == [2]
        assert memory.verify().ok
    assert ids(reference, "Haus") == []
    first.remember("zwei Häusern")
    assert [ids(memory, "Haus") for memory in (first, second)] == [[2, 4]] * 2


def test_the_reference_ranking_leaves_the_record_alone(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    filled(open_memory(path, config=GERMAN)).close()
    for config in (REFERENCE, REFERENCE.replace(analyzer="plain")):
        open_memory(path, config=config).close()
    assert ids(open_memory(path, config=TUNED), "Haus") == [2]


def test_a_reader_reads_as_it_likes_and_records_nothing(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    filled(open_memory(path, config=ENGLISH)).close()
    assert ids(open_memory(path, config=GERMAN, read_only=True), "Haus") == [2]
    assert ids(open_memory(path, config=TUNED, read_only=True), "Haus") == []


def test_the_index_is_made_anew_once_and_tells_how_far_it_is(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    told: list[tuple[int, int | None]] = []

    def progress(done: int, total: int | None) -> None:
        told.append((done, total))

    path = tmp_path / "m.db"
    memory = open_memory(path, config=ENGLISH, progress=progress)
    memory.remember_many({"text": f"fact number {n}"} for n in range(2_500))
    memory.close()
    open_memory(path, config=ENGLISH, progress=progress).close()
    assert told == []  # nothing to do, and then a checkpoint
    open_memory(path, config=GERMAN, progress=progress).close()
    assert told == [(1_024, 2_500), (2_048, 2_500), (2_500, 2_500)]
    told.clear()
    memory = open_memory(path, config=TUNED, progress=progress)
    assert told == []
    memory.rebuild(progress=progress)
    assert told[-1] == (2_500, 2_500)


@pytest.mark.parametrize("analyzer", ["klingon", "", "English"])
def test_an_unknown_analyzer_is_refused_with_those_there_are(analyzer: str) -> None:
    with pytest.raises(ConfigError, match=r"analyzer is .*plain, arabic.*english"):
        MemoryConfig(analyzer=analyzer)


def test_the_reference_ranking_has_no_language() -> None:
    with pytest.raises(ConfigError, match="reference ranking reads plainly"):
        MemoryConfig(ranking="reference", analyzer="english")


def test_a_file_that_asks_for_an_unknown_analyzer_is_damaged(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    filled(open_memory(path, config=TUNED)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE state SET analyzer = 'klingon', checkpoint = NULL")
    with pytest.raises(CorruptError, match="klingon"):
        open_memory(path, config=TUNED)
    assert ids(open_memory(path, config=ENGLISH), "walked") == [0, 1, 3]


@pytest.mark.parametrize("way", ["backup", "salvage", "erase"])
def test_the_record_goes_with_the_file(open_memory: OpenMemory, tmp_path: Path, way: str) -> None:
    path, target = tmp_path / "m.db", tmp_path / "copy.db"
    memory = filled(open_memory(path, config=GERMAN))
    match way:
        case "backup":
            memory.backup(target)
        case "salvage":
            memory.close()
            salvage(path, target)
        case _:
            memory.erase(ids=[0])
            target = path
    assert ids(open_memory(target, config=TUNED), "Haus") != []


def test_a_file_from_before_analyzers_is_salvaged(open_memory: OpenMemory, tmp_path: Path) -> None:
    path, target = tmp_path / "m.db", tmp_path / "copy.db"
    filled(open_memory(path, config=TUNED)).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("ALTER TABLE state DROP COLUMN analyzer")
    report = salvage(path, target)
    assert (report.saved.facts, report.losses) == (4, ())
    assert ids(open_memory(target, config=TUNED), "walked") == [0, 1, 3]


@pytest.mark.parametrize("lexical", ["okapi", "bm25l", "bm25plus"])
def test_the_scorers_of_the_package_read_the_same_terms(
    open_memory: OpenMemory, lexical: Any
) -> None:
    memory = filled(open_memory(config=TUNED.replace(lexical=lexical)))
    memory.remember_many({"text": f"something else {n}"} for n in range(5))
    assert ids(memory, "who walked?") == [0, 1, 3]


# -- what the file holds does not depend on it


def relations(path: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT name, rank FROM relations ORDER BY id").fetchall()


@pytest.mark.parametrize("purged", [(), (1,), (0, 1)])
def test_when_a_string_first_appeared_is_told_by_the_string_not_by_its_stem(
    tmp_path: Path, purged: tuple[int, ...]
) -> None:
    told = []
    for config in (PLAIN, ENGLISH):
        path = tmp_path / f"{config.analyzer}.db"
        with Memory.open(path, config=config, clock=lambda: 1_700_000_000_000) as memory:
            memory.remember_many({"text": text} for text in ("walking", "a walks", "b walks", "c"))
            for fact in purged:
                memory.forget(fact)
            memory.maintain()
            memory.link("Mara", "walks", "dog")
            memory.link("Mara", "walked", "dog")
            memory.link("Mara", "c", "dog")
        told.append(relations(path))
    assert told[0] == told[1]
    [(_, walks), (_, walked), (_, c)] = told[0]
    assert walks < c < walked
