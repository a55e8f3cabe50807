"""A write that does not fit fails as a whole, and what fits afterwards works."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clocks import SECOND, START
from naive import NaiveMemory

from durability.crash import assert_agree
from durability.elsewhere import Call, Elsewhere, Remote, World
from plugmem_core import StorageError

IN_A_SMALL_DISK = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=8m none "$0" && exec "$@"']
LARGE = "x" * 50_000
LITTLE = 60_000


class Disk:
    """Where a memory is, and how much more can be written there."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "m.db"
        self.elsewhere = self._start()
        self.world = World(START)
        self.model = NaiveMemory(START)
        self.memory = self.open()

    def open(self) -> Remote:
        return Remote(self.elsewhere, self.world, self.path, embeds=False)

    def _start(self) -> Elsewhere:
        return Elsewhere()

    def leave(self, room: int | None) -> None:
        """Let so many bytes be written; `None` for as many as one likes."""
        size = max(file.stat().st_size for file in self.path.parent.iterdir())
        self.elsewhere.ask("limit_files", None if room is None else size + room)

    def leave_little(self) -> None:
        """Leave less than an index of thousands of facts needs."""
        self.elsewhere.ask("limit_files", LITTLE)

    def do(self, verb: str, *args: Any, **options: Any) -> None:
        """Write, and check that everything is there."""
        self.world.now = self.model.now = self.world.now + SECOND
        getattr(self.memory, verb)(*args, **options)
        getattr(self.model, verb)(*args, **options)
        self.check()

    def check(self) -> None:
        assert_agree(self.memory, self.model)
        assert self.memory.verify().problems == ()


class SmallDisk(Disk):
    """A disk of its own, seen by nobody but the process that writes there."""

    def _start(self) -> Elsewhere:
        return Elsewhere([*IN_A_SMALL_DISK, str(self.path.parent)])

    def leave(self, room: int | None) -> None:
        self.elsewhere.ask("fill_disk", self.path.parent, room)

    def leave_little(self) -> None:
        self.leave(LITTLE)


def disks(folder: Path) -> list[type[Disk]]:
    """The kinds of full disks that this machine lets one make."""
    done = subprocess.run([*IN_A_SMALL_DISK, str(folder), "true"], capture_output=True, check=False)
    return [Disk, SmallDisk] if done.returncode == 0 else [Disk]


@pytest.fixture
def full_disks(tmp_path: Path) -> Iterator[Iterator[Disk]]:
    """Memories with something in them, each on a disk of another kind."""
    made: list[Disk] = []

    def make() -> Iterator[Disk]:
        for kind in disks(tmp_path):
            folder = tmp_path / kind.__name__
            folder.mkdir()
            made.append(disk := kind(folder))
            disk.do("remember_many", [{"text": f"note {n}", "entity": "Ann"} for n in range(50)])
            disk.do("put_values", "settings", {"k": 1})
            disk.memory.checkpoint()
            yield disk

    yield make()
    for disk in made:
        disk.elsewhere.stop()


TOO_LARGE: list[Call] = [
    ("remember_many", ([{"text": f"{n} {LARGE}", "entity": f"E{n}"} for n in range(60)],), {}),
    ("put_values", ("settings", {str(n): LARGE for n in range(60)}), {}),
    (
        "transaction",
        ([("remember", (f"{n} {LARGE}",), {"entity": "Bob"}) for n in range(60)],),
        {},
    ),
    ("write", (), {"remember": [{"text": f"{n} {LARGE}", "key": str(n)} for n in range(60)]}),
]


def test_a_write_that_does_not_fit_leaves_nothing_and_the_next_small_one_works(
    full_disks: Iterator[Disk],
) -> None:
    for disk in full_disks:
        for number, (verb, args, options) in enumerate(TOO_LARGE):
            disk.leave(600_000)
            with pytest.raises(StorageError):
                getattr(disk.memory, verb)(*args, **options)
            disk.check()
            disk.do("remember", f"small {number}", entity="Cleo")
            disk.do("revise", number, f"note {number}, revised")
        disk.leave(None)
        disk.do("remember_many", *TOO_LARGE[0][1])
        disk.memory.close()
        disk.memory = disk.open()
        disk.check()


def test_a_checkpoint_that_does_not_fit_costs_nothing_but_itself(
    full_disks: Iterator[Disk],
) -> None:
    for disk in full_disks:
        many = [{"text": f"word{n} word{n + 1} word{n + 2}"} for n in range(3_000)]
        disk.do("remember_many", many)
        disk.leave_little()
        with pytest.raises(StorageError, match="checkpoint"):
            disk.memory.checkpoint()
        disk.check()
        disk.memory.close()  # which gives up the checkpoint in silence
        disk.leave(None)
        disk.memory = disk.open()
        disk.check()
        disk.memory.checkpoint()
        disk.do("remember", "afterwards")


def test_an_erasure_that_cannot_write_the_file_anew_can_be_repeated(
    full_disks: Iterator[Disk],
) -> None:
    for disk in full_disks:
        disk.do("remember_many", [{"text": f"{n} {LARGE}"} for n in range(40)])
        disk.leave(300_000)
        with pytest.raises(StorageError):
            disk.memory.erase(entity="Ann")
        disk.leave(None)
        disk.memory.erase(entity="Ann")
        disk.model.erase(entity="Ann")
        disk.check()
        disk.do("remember", "afterwards")


def test_a_full_disk_refuses_to_open_and_opens_later(full_disks: Iterator[Disk]) -> None:
    for disk in full_disks:
        disk.memory.close()
        disk.elsewhere.ask("limit_files", 0)
        with pytest.raises(StorageError):
            disk.open()
        disk.elsewhere.ask("limit_files", None)
        disk.memory = disk.open()
        disk.do("remember", "afterwards")
