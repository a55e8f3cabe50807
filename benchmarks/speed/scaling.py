"""What a larger corpus costs."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import synthetic
from benchmarks.speed.operations import RECALLS, some_ids
from benchmarks.speed.peers import Ours
from benchmarks.speed.resources import added_memory
from benchmarks.speed.timing import in_turn, once


class Point(NamedTuple):
    """What one size costs.

    Attributes:
        facts: The size.
        load: Facts a second, in batches.
        open: Milliseconds.
        memory: KiB that the open handle adds.
        files: KiB on disk.
        recalls: Median µs by operation.
    """

    facts: int
    load: float
    open: float
    memory: float
    files: float
    recalls: dict[str, float]


def measure(sizes: list[int], folder: Path, tell: Callable[[Point], object]) -> list[Point]:
    """Return what each size costs, without vectors."""
    points = []
    for size in sizes:
        place = folder / f"scale{size}"
        place.mkdir()
        point = _measure(size, place)
        tell(point)
        points.append(point)
    return points


def _measure(size: int, folder: Path) -> Point:
    corpus = synthetic(size)
    ours = Ours(folder, 0)
    spent = 0.0
    for batch in corpus.batches():
        spent += once(lambda b=batch: ours.load(b))  # type: ignore[misc] # bound early
    ours.ready()
    files = ours.size() / 1024
    ours.close()
    added, _ = added_memory("ours", folder, 0)
    opened = once(ours.open)
    recalls = {
        operation.name: in_turn({"ours": ours.recall}, operation.questions(corpus), 2)["ours"].p50
        for operation in RECALLS
        if not operation.vectors
    }
    recalls["get"] = in_turn({"ours": ours.get}, some_ids(size), 2)["ours"].p50
    ours.close()
    return Point(size, size / spent * 1e6, opened / 1e3, added, files, recalls)
