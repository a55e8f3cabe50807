"""`backup`: a copy of the file as of one commit, whoever writes meanwhile."""

import io
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clocks import Clock

from plugmem_core import (
    BusyError,
    ClosedError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    StorageError,
    WrongTypeError,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m"


def fill(memory: Memory, count: int = 50) -> None:
    memory.remember_many(
        {
            "text": f"note {number}",
            "entity": f"person {number % 7}",
            "tags": [f"tag {number % 3}"],
            "links": [("knows", f"person {number % 5}")],
        }
        for number in range(count)
    )
    memory.put_values("settings", {"theme": "dark"})


def contents(memory: Memory) -> bytes:
    lines = io.BytesIO()
    memory.export_jsonl(lines)
    return lines.getvalue()


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_a_copy_holds_what_the_memory_holds(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copies" / "c"
    copy.parent.mkdir()
    with Memory.open(path, embedder=HashingEmbedder(8)) as memory:
        fill(memory)
        memory.revise(3, "note 3, mended")
        expected = contents(memory)
        memory.backup(copy)
        assert files(copy.parent) == {"c"}
        memory.remember("written later")
    with Memory.open(copy, embedder=HashingEmbedder(8)) as other:
        assert contents(other) == expected
        assert other.verify().ok
        assert [fact.text for fact in other.recall("mended", sources=["bm25"]).facts] == [
            "note 3, mended"
        ]
        other.remember("written into the copy")
        assert other.recall("later", sources=["bm25"]).facts == ()
    with Memory.open(path) as memory:
        assert memory.recall("copy").facts == ()


def test_a_memory_without_a_file_and_a_reader_make_copies(path: Path, tmp_path: Path) -> None:
    with Memory.open(":memory:") as memory:
        fill(memory)
        memory.backup(path)
        expected = contents(memory)
    with Memory.open(path, read_only=True) as reader:
        reader.backup(tmp_path / "second")
    with Memory.open(tmp_path / "second") as second:
        assert contents(second) == expected
        assert second.verify().ok


def test_an_older_backup_is_replaced_with_all_that_belongs_to_it(
    path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "c"
    with Memory.open(path) as memory:
        memory.remember("first")
        memory.backup(copy)
        with Memory.open(copy) as older:
            older.remember("only in the older backup")
        assert (tmp_path / "c-index").exists()
        memory.remember("second")
        memory.backup(copy)
        assert not (tmp_path / "c-index").exists()
        with Memory.open(copy) as newer:
            assert contents(newer) == contents(memory)
            assert newer.verify().ok


def test_what_a_crash_left_beside_an_older_backup_does_not_get_into_the_new_one(
    path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "c"
    with Memory.open(tmp_path / "other") as other:
        fill(other, 300)
        # The files as they stand while a handle is open are those of a process that was killed.
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"other{suffix}", tmp_path / f"c{suffix}")
    with Memory.open(path) as memory:
        memory.remember("all there is")
        memory.backup(copy)
        with Memory.open(copy) as saved:
            assert contents(saved) == contents(memory)
            assert saved.verify().ok


@pytest.mark.parametrize("moved", ["copy over original", "original's index to the copy", "back"])
def test_no_checkpoint_is_taken_for_that_of_the_other(
    path: Path, tmp_path: Path, moved: str
) -> None:
    copy = tmp_path / "c"
    with Memory.open(path) as memory:
        fill(memory)
        memory.checkpoint()
        memory.backup(copy)
        memory.forget(0)
        memory.remember("only in the original")
    with Memory.open(copy) as other:
        other.forget(1)
        other.remember("only in the copy")
    if moved == "copy over original":
        shutil.copy(copy, path)
        opened, expected = path, "only in the copy"
    elif moved == "original's index to the copy":
        shutil.copy(f"{path}-index", f"{copy}-index")
        opened, expected = copy, "only in the copy"
    else:
        shutil.copy(f"{copy}-index", f"{path}-index")
        opened, expected = path, "only in the original"
    with Memory.open(opened) as memory:
        assert [fact.text for fact in memory.recall("only in").facts] == [expected]
        assert memory.verify().ok


def test_a_copy_made_while_others_write_is_of_one_commit(path: Path, tmp_path: Path) -> None:
    ended = threading.Event()
    with Memory.open(path) as memory, Memory.open(path) as other:
        fill(memory, 6_000)  # so that a copy is made in more than one step

        def write() -> None:
            for number in range(10_000):
                if ended.is_set():
                    return
                # Pages at both ends of the file; each transaction leaves as many of both.
                with other.transaction():
                    other.put_values("counters", {"a": number})
                    other.remember(f"line {number}", key="line")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(8):
                memory.backup(tmp_path / "c")
                with Memory.open(tmp_path / "c") as copy:
                    assert copy.verify().ok
                    number = copy.get_values("counters").get("a")
                    lines = copy.get_by_keys(["line"])
                    assert [fact.text for fact in lines] == (
                        [] if number is None else [f"line {number}"]
                    )
        finally:
            ended.set()
            writer.join()


def test_progress_counts_pages_up_to_all_of_them(path: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with Memory.open(path) as memory:
        fill(memory, 8_000)
        memory.backup(tmp_path / "c", progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 1
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == seen[-1][1] == (tmp_path / "c").stat().st_size // 4_096


def test_a_backup_that_fails_leaves_what_was_there(path: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with Memory.open(path) as memory:
        memory.remember("old")
        memory.backup(tmp_path / "c")
        memory.remember("new")
        before = (tmp_path / "c").read_bytes()
        with pytest.raises(KeyboardInterrupt):
            memory.backup(tmp_path / "c", progress=stop)
        with pytest.raises(KeyboardInterrupt):
            memory.backup(tmp_path / "d", progress=stop)
        assert (tmp_path / "c").read_bytes() == before
        memory.remember("newer")
    assert files(tmp_path) == {"m", "m-index", "c"}


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", "-index"])
def test_the_places_of_its_own_files_are_refused(path: Path, suffix: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    with Memory.open(path) as memory:
        memory.remember("kept")
        for folder in (tmp_path, tmp_path / "link"):
            with pytest.raises(InvalidInputError, match="belongs"):
                memory.backup(folder / f"m{suffix}")
    with Memory.open(path) as memory:
        assert memory.stats().facts == 1


def test_its_own_file_is_refused_under_another_name(path: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(path)
    with Memory.open(path) as memory, pytest.raises(InvalidInputError, match="belongs"):
        memory.backup(tmp_path / "alias")


def test_what_is_no_memory_is_not_replaced(path: Path, tmp_path: Path) -> None:
    text, database = tmp_path / "letter.txt", tmp_path / "other.db"
    text.write_text("Dear Ines")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE invoices (id)")
    with Memory.open(path) as memory:
        for target in (text, database):
            before = target.read_bytes()
            with pytest.raises(StorageError, match="another path"):
                memory.backup(target)
            assert target.read_bytes() == before
        (tmp_path / "empty").touch()  # as of a temporary file that was just made
        memory.backup(tmp_path / "empty")
    assert files(tmp_path) == {"m", "m-index", "letter.txt", "other.db", "empty"} - (
        set() if (tmp_path / "m-index").exists() else {"m-index"}
    )


def test_a_backup_that_is_open_is_not_replaced(path: Path, tmp_path: Path) -> None:
    with Memory.open(path, config=MemoryConfig(busy_timeout=0.05)) as memory:
        memory.backup(tmp_path / "c")
        with Memory.open(tmp_path / "c") as copy:
            copy.remember("mine")
            with pytest.raises(BusyError, match="close it"):
                memory.backup(tmp_path / "c")
            assert copy.stats().facts == 1
            assert copy.verify().ok


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (":memory:", InvalidInputError),
        ("a\0b", InvalidInputError),
        (7, WrongTypeError),
        (None, WrongTypeError),
        ("no/such/folder/c", StorageError),
        (".", StorageError),
    ],
)
def test_bad_paths_are_refused(
    memory: Memory, target: Any, error: type[Exception], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error):
        memory.backup(target)
    assert files(tmp_path) == set()


def test_it_is_no_part_of_a_transaction_and_needs_an_open_handle(
    memory: Memory, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="outside"), memory.transaction():
        memory.backup(tmp_path / "c")
    memory.close()
    with pytest.raises(ClosedError):
        memory.backup(tmp_path / "c")
    assert files(tmp_path) == set()


def test_a_full_disk_is_a_storage_error(path: Path, tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Memory.open(path) as memory:
        fill(memory, 5_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(StorageError):
                memory.backup(tmp_path / "c")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert not (tmp_path / "c").exists()
        memory.backup(tmp_path / "c")


def test_the_clock_of_the_copy_is_its_own(path: Path, tmp_path: Path, clock: Clock) -> None:
    with Memory.open(path, clock=clock) as memory:
        memory.remember("tea", ttl=60)
        memory.backup(tmp_path / "c")
    clock.tick(120_000)
    with Memory.open(tmp_path / "c", clock=clock) as copy:
        assert copy.recall("tea").facts == ()
