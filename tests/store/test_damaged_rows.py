"""Files that SQLite still reads, but that hold rows no write of ours leaves."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from plugmem_core import CorruptError, Memory, salvage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.remember(
            "Mara knows Ivo",
            entity="Mara",
            links=[("knows", "Ivo")],
            tags=["t"],
            vector=[1.0, 0.0],
        )
        memory.remember("Ivo is here", entity="Ivo", namespace=("a",), metadata={"n": 1})
        memory.alias_entity("Mara", "Mara Lind")
    return tmp_path / "m.db"


DAMAGES = {
    "an edge without its end": "DELETE FROM entities WHERE name = 'Ivo' AND namespace = 0",
    "an edge without its relation": "DELETE FROM relations",
    "a fact without its entity": "DELETE FROM entities WHERE namespace != 0",
    "a fact in no namespace": "UPDATE facts SET namespace = 99 WHERE id = 1",
    "tags that are no list": "UPDATE facts SET tags = '7' WHERE id = 0",
    "mentions that are no list": "UPDATE facts SET mentions = '{}' WHERE id = 0",
    "mentions that are no ids": "UPDATE facts SET mentions = '[\"x\"]' WHERE id = 0",
    "a fact with an id far away": "UPDATE facts SET id = 4294967290 WHERE id = 1",
    "an edge with an id far away": "UPDATE edges SET id = 4294967290",
    "an entity with an id far away": "UPDATE entities SET id = 4294967290 WHERE namespace != 0",
    "a namespace with an id far away": "UPDATE namespaces SET id = 4294967290 WHERE id != 0",
    "no namespace but one": "DELETE FROM namespaces WHERE id = 0",
    "a namespace called as the root": "UPDATE namespaces SET path = '[ ]' WHERE id = 0",
    "a fact in a namespace that is gone": "DELETE FROM namespaces WHERE id = 1",
    "a relation with an id far away": "UPDATE relations SET id = 4294967290",
    "a fact with an id below 0": "UPDATE facts SET id = -1 WHERE id = 1",
    "a next id far away": "UPDATE state SET next_edge = 4294967290",
    "an entity in no namespace": "UPDATE entities SET namespace = 99 WHERE id = 0",
    "an entity whose name is no text": "UPDATE entities SET name = x'00' WHERE id = 0",
    "an alias of no entity": "UPDATE aliases SET entity = 99",
    "a relation whose rank is no number": "UPDATE relations SET rank = 'x'",
    "a time that is none": "UPDATE facts SET recorded_at = 'x' WHERE id = 0",
    "tags that are no text": "UPDATE facts SET tags = '[1]' WHERE id = 0",
    "JSON of too many levels": "UPDATE facts SET tags = '" + "[" * 100_000 + "' WHERE id = 0",
    "a vector that is no bytes": "UPDATE vectors SET data = 7",
    "a vector that ends within a number": "UPDATE vectors SET data = x'000000'",
    "no state": "DELETE FROM state",
    "a state of another kind": "UPDATE state SET dim = 'x'",
}


def damage_by(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(statement)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_named_when_the_index_is_made(path: Path, damage: str) -> None:
    damage_by(path, DAMAGES[damage])
    damage_by(path, "UPDATE state SET checkpoint = NULL")
    before = path.read_bytes()
    with pytest.raises(CorruptError):
        Memory.open(path)
    assert path.read_bytes() == before


READS: dict[str, tuple[str, Callable[[Memory], object]]] = {
    "a time that is none": ("facts SET valid_from = 'x'", lambda memory: memory.get(0)),
    "a time beyond all": ("facts SET valid_from = 1 << 62", lambda memory: memory.recall("Mara")),
    "a text that is none": ("facts SET text = x'00'", lambda memory: memory.recall("Mara")),
    "tags that are no text": ("facts SET tags = '[1]'", lambda memory: memory.list_facts()),
    "metadata that is no object": ("facts SET metadata = '[1]'", lambda memory: memory.get(1)),
    "a fact that supersedes itself": (
        "facts SET revises = id WHERE id = 1",
        lambda memory: memory.history(1),
    ),
    "a fact that supersedes a later one": (
        "facts SET revises = 1 WHERE id = 0",
        lambda memory: memory.history(1),
    ),
    "a fact of another kind": (
        "facts SET vector = 'x'",
        lambda memory: memory.remember("Mara knows Ivo", entity="Mara"),
    ),
    "an edge of another kind": ("edges SET closed_at = 'x'", lambda memory: memory.edges()),
    "properties that are no JSON": ("edges SET properties = '{'", lambda memory: memory.edges()),
    "a vector that is no bytes": ("vectors SET data = 7", lambda memory: memory.vectors([0])),
    "a fact in a namespace that is not there": (
        "facts SET namespace = 99",
        lambda memory: memory.end(0),
    ),
}


@pytest.mark.parametrize("damage", READS)
def test_a_damaged_row_is_named_when_it_is_read(path: Path, damage: str) -> None:
    statement, read = READS[damage]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(f"UPDATE {statement}")
    with Memory.open(path) as memory, pytest.raises(CorruptError, match="damage"):
        read(memory)


def test_a_write_that_follows_a_chain_in_a_circle_is_refused(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.revise(1, "Ivo is there")
    damage_by(path, "DROP INDEX facts_revises")
    damage_by(path, "UPDATE facts SET revises = 2 WHERE id = 1")
    with Memory.open(path) as memory, pytest.raises(CorruptError, match="supersedes"):
        memory.history(2)


def test_verify_names_times_that_are_none(path: Path) -> None:
    damage_by(path, "UPDATE facts SET recorded_at = 1 << 62 WHERE id = 1")
    damage_by(path, "UPDATE edges SET valid_from = 'x' WHERE id = 0")
    with Memory.open(path) as memory:
        problems = memory.verify().problems
    assert "fact 1: recorded_at is no time" in problems
    assert "edge 0: valid_from is no time" in problems


def test_salvage_cuts_a_chain_that_goes_in_a_circle(path: Path, tmp_path: Path) -> None:
    damage_by(path, "UPDATE facts SET revises = 1 WHERE id = 1")
    (loss,) = salvage(path, tmp_path / "saved.db").losses
    assert (loss.table, loss.first) == ("facts", 1)
    with Memory.open(tmp_path / "saved.db") as memory:
        assert memory.verify().ok
        assert [fact.id for fact in memory.history(1)] == [1]


@pytest.mark.parametrize("damage", ["an edge without its end", "tags that are no list"])
def test_what_is_readable_of_it_is_salvaged(path: Path, tmp_path: Path, damage: str) -> None:
    damage_by(path, DAMAGES[damage])
    assert salvage(path, tmp_path / "saved.db").losses
    with Memory.open(tmp_path / "saved.db") as memory:
        assert memory.verify().ok
        assert "Ivo is here" in [fact.text for fact in memory.list_facts()]
