"""Writing a memory as a file of lines."""

from collections import Counter
from typing import IO

from plugmem_core.engine import Engine
from plugmem_core.model import Namespace
from plugmem_core.moving.reports import TransferReport
from plugmem_core.moving.spelling import header_line, record_line
from plugmem_core.progress import Progress
from plugmem_core.store.transfer import Departures, snapshot

BATCH = 1_000
"""Lines written at once, and between two reports of progress."""


def export(
    engine: Engine, file: IO[bytes], namespace: Namespace, progress: Progress
) -> TransferReport:
    """Write a namespace and what lies below it.

    Args:
        engine: Of the memory.
        file: Of bytes.
        namespace: Its labels.
        progress: Called with the lines written and those there are.
    """
    counts: Counter[str] = Counter()
    with snapshot(engine.store) as sql:
        departures = Departures(sql, namespace, engine.clock())
        extent = departures.extent()
        lines = [header_line(extent, namespace)]
        for record in departures.records():
            counts[type(record).__name__] += 1
            lines.append(record_line(record))
            if len(lines) >= BATCH:
                file.write(b"".join(lines))
                lines.clear()
                progress(counts.total(), extent.records)
        file.write(b"".join(lines))
        progress(counts.total(), extent.records)
    return TransferReport.of(counts)
