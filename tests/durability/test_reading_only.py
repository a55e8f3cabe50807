"""Readers that cannot write: beside writers, and where nothing can be written at all."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from clocks import START

from durability.elsewhere import Elsewhere, Remote, World
from plugmem_core import StorageError

OpenRemote: TypeAlias = Callable[[Path], Remote]

WORLD = World(START)

# Permissions do not bind root, unless it gives up the capability to override them.
OBEDIENT = """
import ctypes, os, sys
if os.geteuid() == 0:
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose permissions the tests change."""
    folder = tmp_path / "folder"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "m.db"


@pytest.fixture
def open_reader() -> Iterator[OpenRemote]:
    """Opens a memory for reading in a process that permissions bind."""
    elsewhere = Elsewhere([sys.executable, "-c", OBEDIENT])
    yield lambda path: Remote(elsewhere, WORLD, path, embeds=False, read_only=True)
    elsewhere.stop()


def found(reader: Remote) -> set[str]:
    return {fact.text for fact in reader.recall("fact", k=100, token_budget=None).facts}


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_closed_memory_is_read_in_a_folder_that_cannot_be_written(
    folder: Path, path: Path, open_reader: OpenRemote, checkpointed: bool
) -> None:
    with WORLD.open(path, embeds=False) as memory:
        memory.remember("fact one", entity="Ann", links=[("knows", "Bob")], vector=[1.0, 0.0])
    if not checkpointed:
        (folder / "m.db-index").unlink()
    before = names(folder)
    folder.chmod(0o555)
    reader = open_reader(path)
    assert found(reader) == {"fact one"}
    assert reader.edges()[0].dst == "Bob"
    assert reader.verify().ok
    reader.rebuild()
    assert found(reader) == {"fact one"}
    reader.close()
    assert names(folder) == before


def test_such_a_reader_follows_those_who_may_write(
    folder: Path, path: Path, open_reader: OpenRemote
) -> None:
    with WORLD.open(path, embeds=False) as memory:
        memory.remember("fact one")
    folder.chmod(0o555)
    reader = open_reader(path)
    assert found(reader) == {"fact one"}
    folder.chmod(0o755)
    memory = WORLD.open(path, embeds=False)
    memory.remember("fact two")
    folder.chmod(0o555)
    assert found(reader) == {"fact one", "fact two"}  # now by way of the log
    memory.remember("fact three")
    memory.forget(0)
    assert found(reader) == {"fact two", "fact three"}
    folder.chmod(0o755)
    memory.close()
    folder.chmod(0o555)
    assert found(reader) == {"fact two", "fact three"}
    reader.close()
    assert found(open_reader(path)) == {"fact two", "fact three"}


def test_what_a_writer_did_between_two_looks_is_seen(
    folder: Path, path: Path, open_reader: OpenRemote
) -> None:
    with WORLD.open(path, embeds=False) as memory:
        memory.remember("fact one")
    folder.chmod(0o555)
    reader = open_reader(path)
    for number in range(3):  # each time, the file stands alone again
        folder.chmod(0o755)
        with WORLD.open(path, embeds=False) as memory:
            memory.remember(f"fact {number} more")
        folder.chmod(0o555)
        assert f"fact {number} more" in found(reader)
    reader.close()


def leave_a_log(folder: Path, path: Path) -> None:
    """Leave the files of a memory as a writer leaves them that was killed."""
    with WORLD.open(path, embeds=False) as memory:
        memory.remember("fact one")
        files = {file: file.read_bytes() for file in folder.iterdir()}
    for file, data in files.items():
        file.write_bytes(data)


def test_the_log_of_a_killed_writer_is_read(
    folder: Path, path: Path, open_reader: OpenRemote
) -> None:
    leave_a_log(folder, path)
    folder.chmod(0o555)
    reader = open_reader(path)
    assert found(reader) == {"fact one"}
    reader.close()


def test_a_log_that_cannot_be_read_there_is_an_error_that_says_what_to_do(
    folder: Path, path: Path, open_reader: OpenRemote
) -> None:
    leave_a_log(folder, path)
    (folder / "m.db-shm").unlink()  # as a copy without it would be
    folder.chmod(0o555)
    with pytest.raises(StorageError, match=r"m\.db-wal.*let the folder be writable, or copy both"):
        open_reader(path)
    folder.chmod(0o755)
    assert found(open_reader(path)) == {"fact one"}


def test_a_file_that_is_gone_is_an_error(folder: Path, path: Path, open_reader: OpenRemote) -> None:
    folder.chmod(0o555)
    with pytest.raises(StorageError, match="does not exist"):
        open_reader(path)
