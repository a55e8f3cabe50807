"""Kills a writer at random moments, and compares what is left with what it had acknowledged."""

import pickle
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from clocks import START
from naive import NaiveMemory

from durability import writer
from durability.elsewhere import DEADLOCK, ENVIRONMENT, Call, World, embedded
from durability.plans import COLLECTION, SPACES, apply, plan
from plugmem_core import Memory
from plugmem_core.verbs.listing import every

LENGTH = 30
"""Calls of one writer."""


class Crashes:
    """One file, and the writers that die on it one after another.

    Args:
        folder: An empty one.
        seed: What decides about everything but the moments of death.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.path = folder / "m.db"
        self.tried: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._embeds = self._chance.random() < 0.5
        self._world = World(START)
        self._model = NaiveMemory(START, embedded if self._embeds else None)

    def kill_one(self) -> None:
        """Let a writer work, kill it, and look at what it leaves."""
        calls = plan(self._chance, self._model, LENGTH)
        witness = self._open() if self._chance.random() < 0.5 else None
        acknowledged = self._run_and_kill(calls)
        self.tried["kills"] += 1
        self.tried["acknowledged calls"] += acknowledged
        print(f"killed after {acknowledged} of", [call[0] for call in calls])
        with self._open() as memory:
            self._check(memory, calls, acknowledged)
            if witness is not None:  # a handle that was open all the time sees the same
                assert_agree(witness, self._model)
                witness.close()
            self._check_next_write(memory)

    def _open(self) -> Memory:
        return self._world.open(self.path, embeds=self._embeds)

    def _run_and_kill(self, calls: list[Call]) -> int:
        """Return how many calls were acknowledged."""
        works = self._world.embedder_works
        task = (self.path, self._embeds, works, self._world.now, calls)
        with subprocess.Popen(
            [sys.executable, writer.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT,
        ) as process:
            pickle.dump(task, process.stdin)
            process.stdin.close()
            lines = [process.stdout.readline() for _ in range(self._chance.randint(1, LENGTH))]
            # The moment is what is random; nothing is waited for.
            time.sleep(self._chance.uniform(0, 0.01))
            process.kill()
            # Not `communicate`: it forgets what `readline` has read ahead.
            lines += process.stdout.readlines()
            process.wait(timeout=DEADLOCK)
        assert lines[0] == b"ready\n", lines
        return sum(line.endswith(b"\n") for line in lines[1:])

    def _check(self, memory: Memory, calls: list[Call], acknowledged: int) -> None:
        for call in calls[:acknowledged]:
            self._follow(call)
        if contents(memory, self._model) != expected(self._model):
            # The call that was cut off may have been written, but then all of it.
            print("cut off was", cut_off := calls[acknowledged])
            self._follow(cut_off)
            self.tried["calls written, but not acknowledged"] += 1
            if cut_off[0] in ("maintain", "reembed", "transaction"):
                self._finish_vectors(memory)
        assert_agree(memory, self._model)
        assert memory.verify().problems == ()

    def _finish_vectors(self, memory: Memory) -> None:
        """Make the vectors of a call whose facts were written; they come in later commits."""
        assert_agree(memory, self._model, apart={"vectors", "counts"})
        self._world.embedder_works = self._model.embedder_works = True
        memory.maintain()
        self._model.maintain()

    def _follow(self, call: Call) -> None:
        apply(self._model, call)
        self._world.embedder_works = self._model.embedder_works
        self._model.now += writer.STEP
        self._world.now = self._model.now

    def _check_next_write(self, memory: Memory) -> None:
        fact: dict[str, Any] = {"text": f"survived{self.tried['kills']}", "entity": "Ann"}
        receipt = memory.remember(**fact)
        assert receipt.id == self._model.remember(**fact).id
        found = memory.recall(fact["text"], sources=["bm25"]).facts
        assert [one.id for one in found] == [receipt.id]
        assert_agree(memory, self._model)


def assert_agree(memory: Memory, model: NaiveMemory, apart: Collection[str] = ()) -> None:
    """Compare a memory with its model, but for some of what `contents` returns."""
    wanted = expected(model)
    for name, found in contents(memory, model).items():
        assert name in apart or found == wanted[name], name


def contents(memory: Memory, model: NaiveMemory) -> dict[str, Any]:
    """Return everything that can be seen in a memory."""
    ids = range(len(model.facts) + 100)
    vectors = memory.vectors(ids)
    stats = memory.stats()
    return {
        "facts": [fact for fact in memory.get_many(ids) if fact is not None],
        "vectors": [None if one is None else tuple(one.tolist()) for one in vectors],
        "edges": list(memory.edges(history=True)),
        "entities": list(every(memory.entities)),
        "tags": list(memory.tags()),
        "keys": [list(memory.keys(namespace=space)) for space in SPACES],
        "values": [memory.get_values(COLLECTION, namespace=space) for space in SPACES],
        "counts": {name: getattr(stats, name) for name in model.counts()},
    }


def expected(model: NaiveMemory) -> dict[str, Any]:
    """Return what `contents` must return."""
    ids = range(len(model.facts) + 100)
    return {
        "facts": [fact for fact in model.get_many(ids) if fact is not None],
        "vectors": model.vectors(ids),
        "edges": model.edges(history=True),
        "entities": model.entities(),
        "tags": model.tags(),
        "keys": [model.keys(space) for space in SPACES],
        "values": [model.values.get((space, COLLECTION), {}) for space in SPACES],
        "counts": model.counts(),
    }
