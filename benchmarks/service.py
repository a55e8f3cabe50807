"""The agent-memory service and the context compiler, measured without any language model.

python -m benchmarks.service [--data FOLDER] [--collections NAME,…] [--k K]
                             [--embedder hashing|wordllama] [--json FILE]

FOLDER has a folder for each collection, with corpus.jsonl, queries.jsonl and qrels.tsv.
Without it, the experiments on generated data run alone.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import tokens
from benchmarks.chains import run_chains
from benchmarks.datasets import read_dataset
from benchmarks.embedders import EMBEDDERS, make_embedder
from benchmarks.machine import about_machine
from benchmarks.multihop import UNITS, run_multihop
from benchmarks.outcomes import Outcomes, print_outcomes
from benchmarks.tenures import run_headquarters, run_tenures
from benchmarks.timespans import SCOPES, run_timespans
from plugmem_core.embed import Embedder
from plugmem_core.service import Mode

DATED = "timeqa"
COLLECTIONS = ("hotpotqa", "2wiki", "musique", DATED)
MODES: dict[str, Mode] = {"vectors": "vector", "words and vectors": "fused"}
GENERATED = (
    ("Offices by organisation and years", run_tenures),
    ("Offices by the city of a company and years", run_headquarters),
    ("What came of a decision", run_chains),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments the command line asks for."""
    options = _parser().parse_args(arguments)
    embedder = make_embedder(options.embedder)
    about: dict[str, Any] = {**about_machine(), "embedder": embedder.space_id, "k": options.k}
    print(json.dumps(about))
    experiments: dict[str, dict[str, Outcomes]] = {}
    if options.data is not None:
        experiments |= _collected(options.data, options.collections.split(","), embedder, options.k)
    for title, run in GENERATED:
        experiments[title] = {name: run(embedder, mode) for name, mode in MODES.items()}
        print_outcomes(title, experiments[title])
    compiler = tokens.report()
    if options.json:
        told = {
            title: {name: outcomes.as_json() for name, outcomes in columns.items()}
            for title, columns in experiments.items()
        }
        text = json.dumps({"about": about, "experiments": told, "compiler": compiler}, indent=1)
        options.json.write_text(text, encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--collections", default=",".join(COLLECTIONS), metavar="NAME,…")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--embedder", choices=list(EMBEDDERS), default="hashing")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser


def _collected(
    folder: Path, names: Sequence[str], embedder: Embedder, k: int
) -> dict[str, dict[str, Outcomes]]:
    experiments: dict[str, dict[str, Outcomes]] = {}
    datasets = {name: read_dataset(folder / name) for name in names}
    dated = datasets.pop(DATED, None)
    for unit in UNITS if datasets else ():
        columns = {}
        for name, dataset in datasets.items():
            with tempfile.TemporaryDirectory() as place:
                columns[name] = run_multihop(dataset, unit, embedder, k, Path(place))
        experiments[f"Several passages, memories are {unit}"] = columns
    if dated is not None:
        columns = {}
        for unit in UNITS:
            for scope in SCOPES:
                with tempfile.TemporaryDirectory() as place:
                    columns[f"{unit}, {scope}"] = run_timespans(
                        dated, unit, scope, embedder, k, Path(place)
                    )
        experiments["Spans of years"] = columns
    for title, columns in experiments.items():
        print_outcomes(title, columns)
    return experiments


if __name__ == "__main__":
    main()
