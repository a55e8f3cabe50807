"""Two threads at one handle, and how long an event loop has to wait for async calls."""

import asyncio
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import Corpus
from benchmarks.speed.operations import RECALLS, Question
from benchmarks.speed.peers import Ours

SECONDS = 1.5
THREADS = 2
TURNS = 3
TICK = 0.001
CALLS = 300


def measure(corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Return the gain of two threads by operation, and the longest wait of an event loop."""
    ours = Ours(folder / "ours", corpus.dim)
    gains = {}
    for operation in RECALLS:
        if operation.vectors and not corpus.dim:
            continue
        questions = operation.questions(corpus)
        turns = [(_rate(ours, questions, 1), _rate(ours, questions, THREADS)) for _ in range(TURNS)]
        gains[operation.name] = median(many / one for one, many in turns)
    waits = asyncio.run(_waits(ours, corpus))
    ours.close()
    return {"gain of two threads": gains, "event loop, ms": waits}


def _rate(ours: Ours, questions: list[Question], threads: int) -> float:
    """Return the recalls a second of some threads together."""
    end = time.perf_counter() + SECONDS
    counts = [0] * threads

    def work(place: int) -> None:
        at = place
        while time.perf_counter() < end:
            ours.recall(questions[at % len(questions)])
            at += 1
        counts[place] = at - place

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) / SECONDS


async def _waits(ours: Ours, corpus: Corpus) -> dict[str, float]:
    """Return how much later than asked the loop came back to a task that sleeps."""
    late: list[float] = []
    done = asyncio.Event()

    async def tick() -> None:
        while not done.is_set():
            start = time.perf_counter()
            await asyncio.sleep(TICK)
            late.append((time.perf_counter() - start - TICK) * 1e3)

    ticking = asyncio.create_task(tick())
    memory = ours.memory
    for number in range(CALLS):
        await memory.arecall(corpus.questions[number % len(corpus.questions)])
    for number in range(10):
        await memory.aremember_many(
            [{"text": f"fact {number} {place} of an event loop"} for place in range(500)]
        )
    await memory.amaintain()
    done.set()
    await ticking
    late.sort()
    return {"median": late[len(late) // 2], "p99": late[len(late) * 99 // 100], "longest": late[-1]}
