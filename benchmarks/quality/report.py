"""The report of a measurement, in Markdown."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from benchmarks.quality.systems import NO_ENCODER
from benchmarks.tables import table

HEADINGS = {
    "recall5": "recall@5",
    "recall10": "recall@10",
    "ndcg10": "nDCG@10",
    "mrr10": "MRR@10",
    "all5": "all@5",
    "hit5": "hit@5",
}
SUMMED = ("ndcg10", "recall5", "recall10")
MOST_CATEGORIES = 8  # more are not told apart


def report(told: Mapping[str, Any]) -> str:
    """Return the report of what `benchmarks.quality` measured.

    Args:
        told: As `--json` has it.
    """
    collections = told["collections"]
    parts = list(_about(told["about"]))
    if len(collections) > 1:
        parts += [_summary(collections, score) for score in SUMMED]
    for name, one in collections.items():
        parts += _collection(name, one)
    if "tuning" in told:
        parts.append(_tuning(told["tuning"]))
    parts += [f"Not measured: {name}: {reason}" for name, reason in told["skipped"].items()]
    return "\n\n".join(parts)


def _about(about: Mapping[str, Any]) -> Iterator[str]:
    encoder = about["encoder"]
    yield "## Words alone" if encoder == NO_ENCODER else f"## With {encoder}"
    told = {name: value for name, value in about.items() if value != "absent"}
    yield ", ".join(f"{name} {value}" for name, value in told.items()) + "."


def _summary(collections: Mapping[str, Any], score: str) -> str:
    """Return one score of every system in every collection, and its mean."""
    systems = dict.fromkeys(name for one in collections.values() for name in one["systems"])
    rows = []
    for system in systems:
        values = [one["systems"].get(system, {}).get(score) for one in collections.values()]
        known = [value for value in values if value is not None]
        mean = fmean(known) if len(known) == len(values) else None
        rows.append([system, *map(_number, values), _number(mean)])
    return f"### {HEADINGS[score]}\n\n" + table(["system", *collections, "mean"], rows)


def _collection(name: str, one: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}, {one['questions']} questions"
    yield _scores(one)
    if one["baseline"]:
        yield _gains(one)
    categories = one["categories"]
    if 0 < len(categories) <= MOST_CATEGORIES:
        yield _categories(one["systems"], categories)


def _scores(one: Mapping[str, Any]) -> str:
    head = ["system", *HEADINGS.values(), "tokens", "ms"]
    rows = [
        [
            name,
            *(_with_interval(got, score) for score in HEADINGS),
            f"{got['tokens']:.0f}",
            f"{got['milliseconds']:.2f}",
        ]
        for name, got in one["systems"].items()
    ]
    return table(head, rows)


def _gains(one: Mapping[str, Any]) -> str:
    head = [f"nDCG@10 over {one['baseline']}", "gain", "95 %", "p", "better", "worse"]
    rows = [
        [
            name,
            f"{gain['value']:+.3f}",
            f"{gain['low']:+.3f} to {gain['high']:+.3f}",
            f"{gain['p']:.4f}",
            str(gain["better"]),
            str(gain["worse"]),
        ]
        for name, got in one["systems"].items()
        if (gain := got.get("gain"))
    ]
    return table(head, rows)


def _categories(systems: Mapping[str, Any], categories: Mapping[str, int]) -> str:
    head = ["recall@10 / nDCG@10", *(f"{name} ({size})" for name, size in categories.items())]
    rows = [
        [name, *(_pair(got["categories"][category]) for category in categories)]
        for name, got in systems.items()
    ]
    return table(head, rows)


def _tuning(tuning: Mapping[str, Any]) -> str:
    """Return what cross-validation chose; no question chose the weights it is asked with."""
    head = ["left out", "nDCG@10, defaults", "weights chosen on the others", "weights"]
    rows = [
        [
            fold["name"],
            _number(fold["default"]),
            _number(fold["chosen"]),
            _weights(fold["weights"]),
        ]
        for fold in tuning["folds"]
    ]
    rows.append(["mean", _number(tuning["default"]), _number(tuning["chosen"]), ""])
    chosen = _weights(tuning["weights of all"])
    return (
        f"### Weights by cross-validation, {tuning['tried']} tried\n\n{table(head, rows)}\n\n"
        f"All questions together choose: {chosen}."
    )


def _weights(weights: Mapping[str, float]) -> str:
    pairs = (f"{name}={value:g}" for name, value in weights.items())
    return ", ".join(pairs) or "the defaults"


def _pair(got: Mapping[str, Any]) -> str:
    return f"{_number(got['recall10'])} / {_number(got['ndcg10'])}"


def _with_interval(got: Mapping[str, Any], score: str) -> str:
    if score not in got["intervals"]:
        return _number(got[score])
    low, high = got["intervals"][score]
    return f"{_number(got[score])} [{_number(low)}, {_number(high)}]"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".removeprefix("0")
