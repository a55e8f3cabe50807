"""Ours against the reference wheel, in turn, on the same facts and questions.

python -m benchmarks.speed [--facts N] [--dim D] [--json FILE]

Both handles are open and warm; each answer is read: ids, scores and the prompt block.
The two take turns question by question, so that a busy moment of the machine hits both.
"""

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import plugmem

from benchmarks.corpus import Corpus, make_corpus
from plugmem_core import Memory

BATCH = 512
ROUNDS = 3

Answer = Callable[[Any], Any]


def main() -> None:
    """Run the benchmark the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    corpus = make_corpus(options.facts, options.dim)
    with tempfile.TemporaryDirectory() as folder:
        rows = run(corpus, options.dim, Path(folder))
    about = {
        "facts": options.facts,
        "dim": options.dim,
        "plugmem-core": version("plugmem-core"),
        "plugmem": version("plugmem"),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {_processor()}",
    }
    print(json.dumps(about))
    print(f"{'':24}{'reference':>12}{'ours':>12}{'ratio':>8}")
    for row in rows:
        print(f"{row['what']:24}{row['reference']:12.1f}{row['ours']:12.1f}{row['ratio']:8.2f}")
    if options.json:
        options.json.write_text(json.dumps({**about, "rows": rows}, indent=1))


def run(corpus: Corpus, dim: int, folder: Path) -> list[dict[str, Any]]:
    """Load both, then time every operation; times in µs, sizes in KiB, rates in µs a fact."""
    reference: Any = plugmem.Plugmem.open(str(folder / "reference"), dim=dim or None)
    ours = Memory.open(folder / "ours.db", dim=dim)
    rows = [
        _row(
            "bulk load, a fact",
            _load(reference, corpus.facts),
            _load(ours, corpus.facts),
        )
    ]
    reference.maintain()
    reference.checkpoint()
    ours.maintain()
    reference.close()
    ours.close()
    start = time.perf_counter_ns()
    reference = plugmem.Plugmem.open(str(folder / "reference"), dim=dim or None)
    opened_reference = time.perf_counter_ns() - start
    start = time.perf_counter_ns()
    ours = Memory.open(folder / "ours.db", dim=dim)
    opened_ours = time.perf_counter_ns() - start
    rows.append(_row("open", opened_reference / 1e3, opened_ours / 1e3))
    rows += _recalls(reference, ours, corpus)
    rows.append(_pairs("get", _ids(corpus), reference.get, ours.get))
    notes = [f"one more durable fact, number {number}" for number in range(200)]
    rows.append(
        _pairs(
            "durable remember",
            notes,
            lambda text: reference.remember(text, entity="ent5"),
            lambda text: ours.remember(text, entity="ent5"),
            rounds=1,
        )
    )
    reference.checkpoint()
    ours.close()
    rows.append(_row("files, KiB", _size(folder, "reference"), _size(folder, "ours")))
    return rows


def _recalls(reference: Any, ours: Memory, corpus: Corpus) -> list[dict[str, Any]]:
    now = time.time_ns() // 1_000_000
    words = Counter(word for fact in corpus.facts[:1_000] for word in fact["text"].split())
    [(common, _)] = words.most_common(1)
    both: list[tuple[str, Sequence[Any], Callable[[Any], dict[str, Any]]]] = [
        ("text", corpus.questions, lambda text: {"text": text}),
        ("text + tag", corpus.questions, lambda text: {"text": text, "tags": ["tag7"]}),
        (
            "text + entity",
            list(zip(corpus.questions, corpus.entities, strict=True)),
            lambda pair: {"text": pair[0], "entities": [pair[1]]},
        ),
        ("one frequent word", [common] * 100, lambda text: {"text": text}),
        ("newest in a range", [now] * 200, lambda end: {"range": (0, end)}),
    ]
    rows = []
    for what, items, arguments in both:

        def ask_reference(item: Any, arguments: Any = arguments) -> None:
            given = arguments(item)
            _read(reference.recall(given.pop("text", None), **given))

        def ask_ours(item: Any, arguments: Any = arguments) -> None:
            _read(ours.recall(**arguments(item), anchors="given"))

        rows.append(_pairs(what, items, ask_reference, ask_ours))
    if corpus.vectors is not None:
        rng = np.random.default_rng(8)
        near = corpus.vectors[:100] + 0.3 * rng.normal(size=(100, corpus.vectors.shape[1]))
        lists = [vector.tolist() for vector in near.astype(np.float32)]
        rows.append(
            _pairs(
                "vector",
                lists,
                lambda vector: _read(reference.recall(vector=vector)),
                lambda vector: _read(ours.recall(vector=vector)),
            )
        )
    return rows


def _read(result: Any) -> None:
    for fact in result.facts:
        _ = fact.id, fact.score
    _ = result.rendered


def _load(memory: Any, facts: list[dict[str, Any]]) -> float:
    start = time.perf_counter_ns()
    for place in range(0, len(facts), BATCH):
        memory.remember_many(facts[place : place + BATCH])
    return (time.perf_counter_ns() - start) / len(facts) / 1e3


def _pairs(
    what: str, items: Sequence[Any], reference: Answer, ours: Answer, rounds: int = ROUNDS
) -> dict[str, Any]:
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(rounds):
        for item in items:
            for answer, taken in zip((reference, ours), times, strict=True):
                start = time.perf_counter_ns()
                answer(item)
                taken.append(time.perf_counter_ns() - start)
    return _row(f"{what}, p50", *(statistics.median(taken) / 1e3 for taken in times)) | {
        "p99": [float(np.percentile(taken, 99)) / 1e3 for taken in times]
    }


def _row(what: str, reference: float, ours: float) -> dict[str, Any]:
    return {"what": what, "reference": reference, "ours": ours, "ratio": ours / reference}


def _ids(corpus: Corpus) -> list[int]:
    ids: list[int] = np.random.default_rng(9).integers(0, len(corpus.facts), 1_000).tolist()
    return ids


def _size(folder: Path, name: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(f"{name}*")) / 1024


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    main()
