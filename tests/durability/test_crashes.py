"""Whenever a writer is killed, what it had acknowledged is there, and nothing by half."""

from collections import Counter
from pathlib import Path

import pytest

from durability.crash import Crashes
from durability.tried import tell

KILLS_OF_A_FILE = 10


def kill(folder: Path, kills: int) -> None:
    tried: Counter[str] = Counter()
    for seed in range(kills // KILLS_OF_A_FILE):
        print("seed", seed)
        place = folder / str(seed)
        place.mkdir()
        crashes = Crashes(place, seed)
        for _ in range(KILLS_OF_A_FILE):
            crashes.kill_one()
        tried += crashes.tried
    tell("crashes", {**tried, "lost or halved": 0})
    # Otherwise the writers died before or after their work, and nothing was tried.
    assert tried["acknowledged calls"] > 4 * kills


def test_a_killed_writer_loses_nothing_it_acknowledged_and_leaves_nothing_by_half(
    tmp_path: Path,
) -> None:
    kill(tmp_path, 30)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_hundreds_of_killed_writers_lose_nothing(tmp_path: Path) -> None:
    kill(tmp_path, 300)
