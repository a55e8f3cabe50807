"""Going over to another model may end at any moment: all vectors are the old ones or the new."""

import random
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from durability import reembedder
from durability.elsewhere import DEADLOCK, ENVIRONMENT
from durability.interrupting import Interrupted
from durability.reembedder import BATCH, COUNT, NEW, OLD, text
from durability.tried import tell
from plugmem_core import HashingEmbedder, Memory

KILLS, INTERRUPTS = 10, 60


class Counting(HashingEmbedder):
    """Counts the texts it is asked for."""

    asked = 0

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        self.asked += len(texts)
        return super().embed_documents(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m"
    with Memory.open(path, embedder=HashingEmbedder(OLD)) as memory:
        memory.remember_many({"text": text(number)} for number in range(COUNT))
    return path


def look(memory: Memory) -> int:
    """Return the dimension of all vectors, none of which is missing or another text's."""
    memory.check_vectors()  # which catches up with what was committed
    dim = memory.vector_space.dim
    assert memory.vector_space.model == HashingEmbedder(dim).space_id
    expected = [HashingEmbedder(dim).embed_query(text(number)) for number in range(COUNT)]
    for found, wanted in zip(memory.vectors(range(COUNT)), expected, strict=True):
        assert found is not None
        assert (found == wanted).all()
    assert memory.recall(vector=expected[7]).facts[0].id == 7
    assert memory.verify().problems == ()
    return dim


def finish(memory: Memory) -> None:
    """Go on to the end, and make nothing a second time that was staged."""
    embedder = Counting(NEW)
    left = 0 if memory.vector_space.dim == NEW else COUNT - memory.stats().staged
    report = memory.reembed(embedder, batch=BATCH)
    assert embedder.asked == report.asked == left
    assert look(memory) == NEW
    assert memory.stats().staged == 0


def run(path: Path, moment: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, reembedder.__file__, str(path), str(moment)],
        capture_output=True,
        text=True,
        timeout=DEADLOCK,
        env=ENVIRONMENT,
        check=False,
    )


def test_a_process_that_is_killed_leaves_the_old_vectors_or_the_new(
    path: Path, tmp_path: Path
) -> None:
    shutil.copy(path, tmp_path / "whole")
    whole = run(tmp_path / "whole", sys.maxsize)
    assert whole.returncode == 0, whole.stderr
    found = []
    for moment in random.Random(1).sample(range(1, int(whole.stdout)), KILLS):
        copy = tmp_path / f"killed at {moment}"
        shutil.copy(path, copy)
        assert run(copy, moment).returncode == -signal.SIGKILL
        with Memory.open(copy) as memory:
            found.append(look(memory))
            finish(memory)
            assert memory.remember("the next write works").vector == "stored"
    tell("re-embeddings", {"killed": len(found), "before the end": found.count(OLD)})


# Python reports an interrupt in the moment in which a generator is let go of, and goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_the_old_vectors_or_the_new(path: Path, tmp_path: Path) -> None:
    def trial(name: str, moment: int) -> tuple[Memory, int]:
        copy = tmp_path / name
        shutil.copy(path, copy)
        memory = Memory.open(copy)
        interrupted = Interrupted()
        again = HashingEmbedder(NEW)
        if moment < 0:
            return memory, interrupted.moments(lambda: memory.reembed(again, batch=BATCH))
        interrupted.run(moment, lambda: memory.reembed(again, batch=BATCH))
        return memory, 0

    memory, count = trial("whole", -1)
    memory.close()
    found = []
    for moment in random.Random(2).sample(range(count), INTERRUPTS):
        memory, _ = trial(f"interrupted at {moment}", moment)
        with memory:
            found.append(look(memory))
            finish(memory)
    tell("re-embeddings", {"interrupted": len(found), "before their end": found.count(OLD)})


def test_threads_of_the_same_handle_write_and_ask_all_the_while(path: Path) -> None:
    with Memory.open(path, embedder=HashingEmbedder(OLD)) as memory:
        begun = threading.Barrier(4)

        def write(name: str) -> None:
            begun.wait()
            for number in range(100):
                memory.remember(f"{name} writes {number}")

        def ask() -> None:
            begun.wait()
            for number in range(100):
                found = memory.recall(text(number % COUNT), explain=True)
                assert found.facts[0].id == number % COUNT
                assert found.explanation is not None
                assert found.explanation.notes == ()

        with ThreadPoolExecutor(3) as pool:
            work = [pool.submit(write, "Ann"), pool.submit(write, "Bob"), pool.submit(ask)]
            begun.wait()
            for dim in (NEW, OLD, NEW):
                memory.reembed(HashingEmbedder(dim), batch=BATCH)
            for one in work:
                one.result()
        memory.reembed()  # what was embedded by the former model in the moment of a switch
        facts = list(memory.list_facts(limit=1_000))
        assert len(facts) == COUNT + 200
        vectors = memory.vectors([fact.id for fact in facts])
        for fact, vector in zip(facts, vectors, strict=True):
            assert vector is not None
            assert (vector == HashingEmbedder(NEW).embed_query(fact.text)).all()
        assert memory.verify().problems == ()
