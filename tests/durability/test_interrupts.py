"""Ctrl-C at any moment of a verb leaves what was before it or what is after it, and no lock."""

import subprocess
import sys
from pathlib import Path

import pytest

from durability import interrupting
from durability.elsewhere import DEADLOCK, ENVIRONMENT
from durability.tried import tell

NAMES = sorted(interrupting.CALLS)


def interrupt(folder: Path, most: int, *names: str) -> None:
    done = subprocess.run(
        [sys.executable, interrupting.__file__, str(folder), str(most), *names],
        capture_output=True,
        text=True,
        timeout=20 * DEADLOCK,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    count = int(done.stdout)
    tell("interrupts", {f"inside {', '.join(names)}": count, "halved": 0})
    assert count > min(most, 50) * len(names) // 2


@pytest.mark.parametrize("half", [0, 1])
def test_an_interrupt_of_any_verb_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, half: int
) -> None:
    interrupt(tmp_path, 30, *NAMES[half::2])


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", NAMES)
def test_an_interrupt_at_every_moment_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, name: str
) -> None:
    interrupt(tmp_path, 1_500, name)
