"""One process of a crowd: threads that read and write one memory, and look for what is lost.

Its arguments are the path, its name, how many threads it has and how many rounds each makes.
It prints what it wrote as JSON when it is done, reads a line, and then looks whether all that
the others wrote is there, too: that line holds how many facts and what sum to expect.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TypeVar

from plugmem_core import BusyError, ConflictError, Memory, MemoryConfig
from plugmem_core.verbs.listing import every

T = TypeVar("T")

PATIENCE = 60
"""Times that a call may find the file busy before that is a failure."""

CONFIG = MemoryConfig(durability="normal", busy_timeout=2.0)


class Member:
    """What the threads of one process share."""

    def __init__(self, path: Path, name: str) -> None:
        self.memory = Memory.open(path, config=CONFIG)
        self.name = name
        self.did: Counter[str] = Counter()
        self.written: list[str] = []
        self.failures: list[str] = []

    def work(self, thread: int, rounds: int) -> None:
        """Write and read, in an order of this thread's own."""
        chance = random.Random(f"{self.name} {thread}")
        steps = [self._add, self._add, self._count, self._revise, self._look]
        try:
            for number in range(rounds):
                chance.choice(steps)(f"{self.name} {thread} {number}")
        except BaseException as error:
            self.failures.append(f"{self.name} {thread}: {error!r}")
            raise

    def _add(self, text: str) -> None:
        receipt = self._patiently(lambda: self.memory.remember(text, entity=self.name, tags=["t"]))
        self.written.append(text)
        fact = self.memory.get(receipt.id)
        assert fact is not None
        assert fact.text == text
        self.did["facts"] += 1

    def _count(self, _: str) -> None:
        self._patiently(self._count_once)
        self.did["counts"] += 1

    def _count_once(self) -> None:
        with self.memory.transaction():
            value = self.memory.get_values("counters").get("n", 0)
            self.memory.put_values("counters", {"n": value + 1})

    def _revise(self, text: str) -> None:
        """Add one to a number in a fact, as often as it takes to be the first."""
        while True:
            [fact] = self.memory.get_by_keys(["shared"])
            number = fact.metadata["n"]
            try:
                self._patiently(
                    lambda fact=fact, number=number: self.memory.revise(  # type: ignore[misc]
                        fact.id, text, metadata={"n": number + 1}, expected=fact.id
                    )  # the lambda is called at once
                )
            except ConflictError:
                self.did["conflicts"] += 1
                continue
            self.did["revisions"] += 1
            return

    def _look(self, text: str) -> None:
        for own in self.written[-3:]:
            assert own in {fact.text for fact in self.memory.recall(own, k=50).facts}
        self.memory.list_facts(tags=["t"], where={"n": {"$exists": False}})
        self.memory.recall("Ann", entities=[self.name], explain=True)
        self.did["looks"] += 1

    def _patiently(self, call: Callable[[], T]) -> T:
        for _ in range(PATIENCE):
            try:
                return call()
            except BusyError:
                self.did["busy"] += 1
        raise AssertionError(f"busy {PATIENCE} times")

    def check(self, facts: int, counted: int, revised: int) -> None:
        """See what everybody wrote."""
        assert sum(1 for _ in every(self.memory.list_facts, tags=["t"])) == facts
        assert self.memory.get_values("counters").get("n", 0) == counted
        [fact] = self.memory.get_by_keys(["shared"])
        assert fact.metadata["n"] == revised
        assert len(self.memory.history(fact.id)) == revised + 1
        assert self.memory.verify().problems == ()


def main(path: str, name: str, threads: str, rounds: str) -> None:
    """Work, tell, listen, look."""
    member = Member(Path(path), name)
    workers = [Thread(target=member.work, args=(n, int(rounds))) for n in range(int(threads))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps({"did": member.did, "failures": member.failures}), flush=True)
    member.check(**json.loads(sys.stdin.readline()))
    member.memory.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
