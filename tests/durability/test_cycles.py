"""Closing gives back what opening took."""

import json
import subprocess
import sys
from pathlib import Path

from durability import cycles
from durability.elsewhere import DEADLOCK
from durability.tried import tell

ROOM = 16 * 1_024
"""Kibibytes that the allocator may keep; a leak of a handle a round is many times that."""


def held(path: Path, rounds: int) -> list[list[int]]:
    done = subprocess.run(
        [sys.executable, cycles.__file__, str(path), str(rounds)],
        capture_output=True,
        text=True,
        timeout=10 * DEADLOCK,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[list[int]] = json.loads(done.stdout)
    return told


def test_a_thousand_openings_leave_descriptors_threads_and_memory_as_they_were(
    tmp_path: Path,
) -> None:
    warm, end = held(tmp_path / "m.db", 1_000)
    tell("openings", {"of a memory": 1_000, "KiB when warm": warm[2], "KiB at the end": end[2]})
    assert end[:2] == warm[:2]
    assert end[2] - warm[2] < ROOM
