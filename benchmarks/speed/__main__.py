"""Ours against the reference engine and other stores, in turn, on the same facts and questions.

python -m benchmarks.speed [--facts N] [--dim D] [--peers plugmem,ensemble,…] [--data FOLDER]
                           [--ranking reference|tuned] [--json FILE] [--readme] [--stages]
                           [--threads] [--scale N,N,…]
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus, natural, synthetic
from benchmarks.machine import about_machine
from benchmarks.speed import concurrency, report, scaling, stages
from benchmarks.speed.measuring import Run
from benchmarks.speed.peers import PEERS, Ours


def main() -> None:
    """Measure what the command line asks for."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        results = _measure(options, Path(folder))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    if options.readme:
        report.write_into_readme(results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=int, default=10_000, help="facts of the corpus")
    parser.add_argument("--dim", type=int, default=0, help="components of a vector; 0: none")
    parser.add_argument(
        "--peers",
        type=lambda names: [name for name in names.split(",") if name],
        default=list(PEERS),
        help=f"of {', '.join(PEERS)}; by default all that are installed",
    )
    parser.add_argument("--data", type=Path, help="a collection of natural text to use instead")
    parser.add_argument(
        "--ranking",
        choices=["reference", "tuned"],
        default="reference",
        help="ours; by default that of the reference engine, so that both do the same",
    )
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument(
        "--readme", action="store_true", help="write the tables into benchmarks/README.md"
    )
    parser.add_argument("--stages", action="store_true", help="where the time of a recall goes")
    parser.add_argument("--threads", action="store_true", help="two threads, and an event loop")
    parser.add_argument(
        "--scale",
        type=lambda sizes: [int(size) for size in sizes.split(",")],
        help="instead: cost by size of the corpus, for example 10000,100000,1000000",
    )
    options = parser.parse_args()
    unknown = set(options.peers) - set(PEERS)
    if unknown:
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}; known are {', '.join(PEERS)}")
    return options


def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    about = about_machine() | {"ranking": options.ranking}
    Ours.ranking = options.ranking
    print(json.dumps(about))
    if options.scale:
        points = scaling.measure(options.scale, folder, report.print_point)
        return {"about": about, "scale": [point._asdict() for point in points]}
    corpus = _corpus(options)
    print(f"{corpus.name}: {corpus.facts} facts, {corpus.dim} components")
    run = Run(corpus, folder, options.peers, report.print_row)
    results: dict[str, Any] = {
        "about": about,
        "corpus": corpus.name,
        "facts": corpus.facts,
        "dim": corpus.dim,
        "rows": [row.as_json() for row in run.measure()],
    }
    if options.stages:
        results["stages"] = stages.measure(corpus, folder)
        report.print_stages(results["stages"])
    if options.threads:
        results["threads"] = concurrency.measure(corpus, folder)
        report.print_threads(results["threads"])
    return results


def _corpus(options: argparse.Namespace) -> Corpus:
    if options.data:
        return natural(options.data, options.facts, options.dim)
    return synthetic(options.facts, options.dim)


if __name__ == "__main__":
    main()
