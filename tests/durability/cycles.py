"""A process that opens and closes a memory many times, and tells what that left behind.

Its arguments are the path and how often. It prints, as JSON, how many descriptors, threads and
kibibytes it had once it was warm, and at the end.
"""

import asyncio
import gc
import json
import sys
from contextlib import suppress
from pathlib import Path
from threading import active_count

from plugmem_core import HashingEmbedder, Memory, MemoryConfig, NotFoundError

WARM = 100
"""Rounds after which caches are full."""

CONFIG = MemoryConfig(durability="normal", flat_to_hnsw=8)


def use(path: Path, number: int) -> None:
    """Do a little of everything between opening and closing."""
    with Memory.open(path, config=CONFIG, embedder=HashingEmbedder(16)) as memory:
        memory.remember(f"fact {number % WARM}", entity="Ann", links=[("knows", "Bob")])
        memory.recall("fact", entities=["Ann"], where={"n": {"$exists": False}}, explain=True)
        if number % 10 == 0:
            memory.maintain()
            memory.verify()
    with Memory.open(path, read_only=True) as memory:
        memory.list_facts()


def fail(path: Path) -> None:
    """Leave by an error, and by dropping what was never closed."""
    with suppress(NotFoundError), Memory.open(path) as memory:
        memory.forget(1_000_000)
    memory = Memory.open(path)
    memory.stats()
    del memory


async def use_twins(path: Path) -> None:
    """The same through twins, in an event loop that ends."""
    async with await Memory.aopen(path) as memory:
        await memory.arecall("fact")


def held() -> list[int]:
    """Return descriptors, threads, and kibibytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return [len(list(Path("/proc/self/fd").iterdir())), active_count(), pages * 4]


def main(path: Path, rounds: int) -> None:
    """Open, use and close."""
    told = []
    for number in range(rounds + 1):
        if number in (WARM, rounds):
            told.append(held())
        use(path, number)
        if number % 20 == 0:
            fail(path)
            asyncio.run(use_twins(path))
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
