"""What calls had to look at and to write, counted instead of timed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import local

from plugmem_core.kernels import work


@dataclass(slots=True)
class Work:
    """What the calls of one thread did in a block; 0 everywhere until the block ends.

    Attributes:
        postings: Postings added up, or looked up for one fact.
        distances: Products of two vectors, those of the graph index not counted.
        edges: Versions of edges that walks met, those without use included.
        facts: Facts examined for an entity or a range of time.
        rows: Facts read from the file; those shown lately are kept in memory.
        bytes: What the file and its log have grown by.
    """

    postings: int = 0
    distances: int = 0
    edges: int = 0
    facts: int = 0
    rows: int = 0
    bytes: int = 0


class Tally(local):
    """What a thread has read from files so far."""

    rows = 0


tally = Tally()


@contextmanager
def counting(path: Path | None) -> Iterator[Work]:
    """Count what this thread does in the block.

    Args:
        path: The file whose growth counts; `None` for none.
    """
    counted = Work()
    before, rows, size = work(), tally.rows, _size(path)
    try:
        yield counted
    finally:
        kinds = ("postings", "distances", "edges", "facts")
        for kind, earlier, later in zip(kinds, before, work(), strict=True):
            setattr(counted, kind, later - earlier)
        counted.rows = tally.rows - rows
        counted.bytes = _size(path) - size


def _size(path: Path | None) -> int:
    if path is None:
        return 0
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(one.stat().st_size for one in files if one.exists())
