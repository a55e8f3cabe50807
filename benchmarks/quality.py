"""Which facts come first: ours and peers, over collections of questions with known answers.

python -m benchmarks.quality --data FOLDER [--encoder none|hashing|wordllama|minilm]
                             [--cache FOLDER] [--collections NAME,…] [--systems PATTERN,…]
                             [--baseline NAME] [--json FILE] [--markdown FILE]

FOLDER is a collection, or has one in each of its folders: locomo.json, or corpus.jsonl,
queries.jsonl and qrels.tsv (or qrels/test.tsv), the format of BEIR.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.choice import choose_systems
from benchmarks.collections import find_collections, read_collection
from benchmarks.embedders import EMBEDDERS, make_embedder
from benchmarks.machine import about_machine
from benchmarks.metrics import K, measure
from benchmarks.report import report
from benchmarks.results import Run, sum_up
from benchmarks.systems import Prepared, System
from benchmarks.vectors import VectorCache
from plugmem_core import ConfigError

NO_ENCODER = "none"
BASELINE = "rank fusion + stemming"
"""What a careful user builds: BM25 with stems and stop words, and vectors, fused by rank."""

BASELINE_OF_WORDS = "bm25s + stemming"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    options = _parser().parse_args(arguments)
    cache = _cache(options.encoder, options.cache)
    systems = choose_systems(options.systems.split(","))
    baseline = options.baseline or (BASELINE_OF_WORDS if cache is None else BASELINE)
    folders = find_collections(options.data)
    if options.collections:
        folders = _named(folders, options.collections.split(","))
    skipped: dict[str, str] = {}
    collections = {}
    for folder in folders:
        prepared = Prepared(read_collection(folder), cache)
        runs = run_all(systems, prepared, skipped)
        name = prepared.collection.name
        collections[name] = sum_up(prepared.collection.questions, runs, baseline)
    told = {
        "about": {**about_machine(), "encoder": options.encoder, "k": K},
        "collections": collections,
        "skipped": skipped,
    }
    text = report(told)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


def run_all(
    systems: Sequence[System], prepared: Prepared, skipped: dict[str, str]
) -> dict[str, Run]:
    """Ask every system every question; those that cannot are noted with the reason."""
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for system in systems:
            if system.needs_vectors and prepared.documents is None:
                skipped[system.name] = "it needs an --encoder"
                continue
            try:
                runs[system.name] = run(system, prepared, Path(folder))
            except (ModuleNotFoundError, ConfigError) as error:
                skipped[system.name] = str(error).split(";")[0]
    return runs


def run(system: System, prepared: Prepared, folder: Path) -> Run:
    """Ask a system every question of a collection."""
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
            scores.append(measure(list(dict.fromkeys(found)), question.grades, tokens))
    return Run(scores, times, opened)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--encoder", choices=[NO_ENCODER, *EMBEDDERS], default=NO_ENCODER)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where vectors are kept")
    parser.add_argument("--collections", metavar="NAME,…", help="all by default")
    parser.add_argument("--systems", default="*", metavar="PATTERN,…", help="all by default")
    parser.add_argument("--baseline", metavar="NAME", help="what others are compared with")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    return parser


def _cache(encoder: str, folder: Path | None) -> VectorCache | None:
    return None if encoder == NO_ENCODER else VectorCache(make_embedder(encoder), folder)


def _named(folders: Sequence[Path], names: Sequence[str]) -> list[Path]:
    known: Mapping[str, Path] = {folder.resolve().name: folder for folder in folders}
    missing = [name for name in names if name not in known]
    if missing:
        raise SystemExit(f"there is no collection {missing[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names]


if __name__ == "__main__":
    main()
