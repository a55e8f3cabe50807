"""A whole measurement: collections of a folder, the systems, and what there is to tell."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.embedders import make_embedder
from benchmarks.machine import about_machine
from benchmarks.quality.choice import choose_systems
from benchmarks.quality.collections import find_collections, read_collection
from benchmarks.quality.measuring import run_all
from benchmarks.quality.metrics import K
from benchmarks.quality.results import sum_up
from benchmarks.quality.systems import NO_ENCODER, Prepared, System
from benchmarks.quality.tuning import cross_validate
from benchmarks.quality.vectors import VectorCache

BASELINE = "rank fusion + stemming"
"""What a careful user builds: BM25 with stems and stop words, and vectors, fused by rank."""

BASELINE_OF_WORDS = "bm25s + stemming"


def evaluate(
    data: Path,
    *,
    encoder: str = NO_ENCODER,
    cache: Path | None = None,
    collections: Sequence[str] = (),
    systems: Sequence[str] = ("*",),
    baseline: str | None = None,
    tune: bool = False,
) -> dict[str, Any]:
    """Ask systems the questions of collections.

    Args:
        data: A collection, or a folder of them.
        encoder: Makes the vectors: a name in `EMBEDDERS`; `"none"` leaves them out.
        cache: Where vectors are kept, so that each text is embedded once.
        collections: Names of the collections; all by default.
        systems: Names, patterns, or rankings with knobs, as `choose_systems` takes them.
        baseline: The system that the others are compared with; by default the fusion by rank
            of BM25 and vectors, or BM25 where there are none.
        tune: Whether weights are chosen by cross-validation, too.

    Returns:
        What `--json` has: `about`, `collections` with their `systems`, `skipped` with reasons,
        and `tuning`.

    Raises:
        SystemExit: A name is unknown, or a file is not as it should be.
    """
    vectors = None if encoder == NO_ENCODER else VectorCache(make_embedder(encoder), cache)
    chosen = choose_systems(systems)
    folders = _named(find_collections(data), collections)
    prepared = [Prepared(read_collection(folder), vectors) for folder in folders]
    compared = baseline or (BASELINE_OF_WORDS if vectors is None else BASELINE)
    skipped: dict[str, str] = {}
    told: dict[str, Any] = {
        "about": {**about_machine(), "encoder": encoder, "k": K},
        "collections": {
            one.collection.name: _measured(one, chosen, compared, skipped) for one in prepared
        },
        "skipped": skipped,
    }
    if tune:
        with tempfile.TemporaryDirectory() as folder:
            told["tuning"] = cross_validate(prepared, Path(folder))
    return told


def _measured(
    prepared: Prepared, systems: Sequence[System], baseline: str, skipped: dict[str, str]
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        runs = run_all(systems, prepared, Path(folder), skipped)
    return sum_up(prepared.collection.questions, runs, baseline)


def _named(folders: Sequence[Path], names: Sequence[str]) -> Sequence[Path]:
    if not names:
        return folders
    known: Mapping[str, Path] = {folder.resolve().name: folder for folder in folders}
    missing = [name for name in names if name not in known]
    if missing:
        raise SystemExit(f"there is no collection {missing[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names]
