"""Asking a system every question of a collection."""

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.metrics import measure
from benchmarks.quality.results import Run
from benchmarks.quality.systems import Prepared, System
from plugmem_core import ConfigError


def run_all(
    systems: Sequence[System], prepared: Prepared, folder: Path, skipped: dict[str, str]
) -> dict[str, Run]:
    """Ask every system every question; those that cannot are noted with the reason."""
    runs = {}
    for system in systems:
        if system.needs_vectors and prepared.documents is None:
            skipped[system.name] = "it needs an --encoder"
            continue
        try:
            runs[system.name] = run(system, prepared, folder)
        except (ModuleNotFoundError, ConfigError) as error:
            skipped[system.name] = str(error).split(";")[0]
    return runs


def run(system: System, prepared: Prepared, folder: Path) -> Run:
    """Ask a system every question of a collection.

    Args:
        system: What is asked.
        prepared: The collection.
        folder: For the files of systems that keep any.
    """
    scores, times = [], []
    start = time.perf_counter()
    with system.open(prepared, folder) as ask:
        opened = time.perf_counter() - start
        for place, question in enumerate(prepared.collection.questions):
            begun = time.perf_counter()
            found = ask(place)
            times.append(1e3 * (time.perf_counter() - begun))
            texts = [prepared.by_id[question.space, one].text for one in found]
            tokens = sum(len(text.encode()) // 4 + 1 for text in texts)
            # Some give a document twice; it is of use once.
            scores.append(measure(list(dict.fromkeys(found)), question.grades, tokens))
    return Run(scores, times, opened)
