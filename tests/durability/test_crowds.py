"""Many processes with many threads on one file: nothing is lost, everybody sees everything."""

import json
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from clocks import START

from durability import member
from durability.elsewhere import DEADLOCK, Elsewhere, Remote, World
from durability.tried import tell
from plugmem_core import Memory

PROCESSES = ("alpha", "beta", "gamma", "delta")
THREADS = 8


def start(path: Path, name: str, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, member.__file__, str(path), name, str(THREADS), str(rounds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def crowd(path: Path, rounds: int) -> None:
    with Memory.open(path) as memory:
        memory.remember("nobody", key="shared", metadata={"n": 0})
    did: Counter[str] = Counter()
    with ExitStack() as running:
        members = [running.enter_context(start(path, name, rounds)) for name in PROCESSES]
        for one in members:
            told = json.loads(one.stdout.readline())
            assert told["failures"] == []
            did.update(told["did"])
        expected = {"facts": did["facts"], "counted": did["counts"], "revised": did["revisions"]}
        for one in members:
            one.communicate(json.dumps(expected) + "\n", timeout=DEADLOCK)
            assert one.returncode == 0
    tell("crowds", {**did, "lost": 0})
    work = did["facts"] + did["counts"] + did["revisions"] + did["looks"]
    assert work == len(PROCESSES) * THREADS * rounds


def test_four_processes_with_eight_threads_each_lose_nothing(tmp_path: Path) -> None:
    crowd(tmp_path / "m.db", 12)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_four_processes_with_eight_threads_each_lose_nothing_for_longer(tmp_path: Path) -> None:
    crowd(tmp_path / "m.db", 300)


def read(memory: Any) -> None:
    """Read in every way, and see what was there before the bulk."""
    assert [fact.text for fact in memory.recall("fact").facts] == ["fact before"]
    assert len(memory.list_facts().facts) == 1
    assert memory.get(0).text == "fact before"
    assert memory.edges()[0].dst == "Bob"
    assert memory.entities()[0].name == "Ann"
    assert memory.get_values("settings") == {"theme": "dark"}
    assert memory.stats().facts == 1
    assert memory.verify().problems == ()


def test_readers_are_not_kept_waiting_by_a_long_write(tmp_path: Path) -> None:
    """The write ends only after everybody has read: were they to wait, all would be stuck."""
    path, world, elsewhere = tmp_path / "m.db", World(START), Elsewhere()
    begun, everybody_has_read = Event(), Event()
    with world.open(path, embeds=False) as memory, world.open(path, embeds=False) as other:
        memory.remember("fact before", entity="Ann", links=[("knows", "Bob")])
        memory.put_values("settings", {"theme": "dark"})

        def write() -> None:
            with memory.transaction():
                memory.remember_many({"text": f"fact {number}"} for number in range(2_000))
                memory.put_values("settings", {"theme": "light"})
                begun.set()
                assert everybody_has_read.wait(DEADLOCK)

        writer = Thread(target=write)
        writer.start()
        assert begun.wait(DEADLOCK)
        read(memory)  # the handle that writes, from another thread
        read(other)
        with world.open(path, embeds=False, read_only=True) as late:
            read(late)
        remote = Remote(elsewhere, world, path, embeds=False)
        read(remote)
        everybody_has_read.set()
        writer.join()
        for handle in (memory, other, remote):
            assert handle.stats().facts == 2_001
        remote.close()
    elsewhere.stop()


def test_a_reader_that_may_not_write_sees_what_others_do(tmp_path: Path) -> None:
    path, world, elsewhere = tmp_path / "m.db", World(START), Elsewhere()
    writer = Remote(elsewhere, world, path, embeds=False)
    with world.open(path, embeds=False, read_only=True) as reader:
        for number in range(50):
            writer.remember(f"fact {number}")
            assert reader.stats().facts == number + 1
            assert reader.recall(f"fact {number}").facts[0].id == number
        writer.close()
        assert reader.stats().facts == 50
    elsewhere.stop()
