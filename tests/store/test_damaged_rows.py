"""Files that SQLite still reads, but that hold rows no write of ours leaves."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from plugmem_core import CorruptError, Memory, salvage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.remember("Mara knows Ivo", entity="Mara", links=[("knows", "Ivo")], tags=["t"])
        memory.remember("Ivo is here", entity="Ivo", namespace=("a",), metadata={"n": 1})
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
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_named_when_the_index_is_made(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(DAMAGES[damage])
        database.execute("UPDATE state SET checkpoint = NULL")
    before = path.read_bytes()
    with pytest.raises(CorruptError):
        Memory.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["an edge without its end", "tags that are no list"])
def test_what_is_readable_of_it_is_salvaged(path: Path, tmp_path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(DAMAGES[damage])
    assert salvage(path, tmp_path / "saved.db").losses
    with Memory.open(tmp_path / "saved.db") as memory:
        assert memory.verify().ok
        assert "Ivo is here" in [fact.text for fact in memory.list_facts()]
