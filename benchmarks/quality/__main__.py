"""Which facts come first: ours and peers, over collections of questions with known answers.

python -m benchmarks.quality --data FOLDER [--encoder none|hashing|wordllama|minilm]
                             [--cache FOLDER] [--collections NAME,…] [--systems PATTERN,…]
                             [--baseline NAME] [--tune]
                             [--json FILE] [--markdown FILE]

FOLDER is a collection, or has one in each of its folders: locomo.json, or corpus.jsonl,
queries.jsonl and qrels.tsv (or qrels/test.tsv), the format of BEIR.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.embedders import EMBEDDERS, make_embedder
from benchmarks.machine import about_machine
from benchmarks.quality.choice import choose_systems
from benchmarks.quality.collections import find_collections, read_collection
from benchmarks.quality.measuring import run_all
from benchmarks.quality.metrics import K
from benchmarks.quality.report import report
from benchmarks.quality.results import sum_up
from benchmarks.quality.systems import Prepared
from benchmarks.quality.tuning import cross_validate
from benchmarks.quality.vectors import VectorCache

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
    prepared = [Prepared(read_collection(folder), cache) for folder in folders]
    skipped: dict[str, str] = {}
    collections = {}
    for one in prepared:
        with tempfile.TemporaryDirectory() as folder:
            runs = run_all(systems, one, Path(folder), skipped)
        questions = one.collection.questions
        collections[one.collection.name] = sum_up(questions, runs, baseline)
    told: dict[str, Any] = {
        "about": {**about_machine(), "encoder": options.encoder, "k": K},
        "collections": collections,
        "skipped": skipped,
    }
    if options.tune:
        with tempfile.TemporaryDirectory() as folder:
            told["tuning"] = cross_validate(prepared, Path(folder))
    text = report(told)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


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
    parser.add_argument("--tune", action="store_true", help="choose weights by cross-validation")
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
