"""Where the time of a recall goes: every stage timed from outside, on the files of a run."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.corpus import Corpus
from benchmarks.speed.operations import RECALLS
from benchmarks.speed.peers import Ours

STAGES = {
    "arguments": "plugmem_core.verbs.recall.make_query",
    "in step with the file": "plugmem_core.engine.Engine.sync",
    "scope": "plugmem_core.recall.pipeline.build_scope",
    "conditions": "plugmem_core.recall.pipeline.passing_facts",
    "tokens": "plugmem_core.recall.pipeline.words_of",
    "anchors": "plugmem_core.recall.pipeline.find_anchors",
    "words": "plugmem_core.recall.pipeline.lexical",
    "vector": "plugmem_core.recall.pipeline.nearest",
    "walk": "plugmem_core.recall.pipeline.walk",
    "facts around": "plugmem_core.recall.pipeline.around",
    "time": "plugmem_core.recall.pipeline.newest",
    "fusion": "plugmem_core.recall.pipeline.fuse_ranks",
    "edges": "plugmem_core.index.index.Index.met",
    "choosing and reading": "plugmem_core.verbs.recall.choose",
    "block": "plugmem_core.recall.result.RecallResult.rendered",
}
"""What each stage is called, and where it is."""

WHOLE = "whole recall"


def measure(corpus: Corpus, folder: Path) -> dict[str, dict[str, float]]:
    """Return the median µs of each stage, by operation.

    Timing a stage takes about half a microsecond itself, so the parts come to a little more
    than the whole, which is timed without them.
    """
    ours = Ours(folder / "ours", corpus.dim)
    found = {}
    for operation in RECALLS:
        if operation.vectors and not corpus.dim:
            continue
        questions = operation.questions(corpus)
        taken: dict[str, list[int]] = defaultdict(list)
        for question in questions:
            start = time.perf_counter_ns()
            ours.recall(question)
            taken[WHOLE].append(time.perf_counter_ns() - start)
        with _timed_stages(taken):
            for question in questions:
                ours.recall(question)
        found[operation.name] = {
            stage: float(np.median(times)) / 1e3 for stage, times in taken.items()
        }
    ours.close()
    return found


@contextmanager
def _timed_stages(taken: dict[str, list[int]]) -> Iterator[None]:
    with ExitStack() as patches:
        for stage, place in STAGES.items():
            owner, name = place.rsplit(".", 1)
            target = _resolve(owner)
            original = vars(target)[name]
            timed: Any = _timed(original, taken[stage])
            if isinstance(original, property):
                timed = property(_timed(original.fget, taken[stage]))
            patches.enter_context(patch.object(target, name, timed))
        yield
    for stage in [stage for stage, times in taken.items() if not times]:
        del taken[stage]


def _timed(function: Any, times: list[int]) -> Any:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter_ns()
        result = function(*args, **kwargs)
        times.append(time.perf_counter_ns() - start)
        return result

    return timed


def _resolve(path: str) -> Any:
    """Return a module, or a class in one."""
    from importlib import import_module

    try:
        return import_module(path)
    except ModuleNotFoundError:
        owner, name = path.rsplit(".", 1)
        return getattr(import_module(owner), name)
