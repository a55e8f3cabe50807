"""What systems got in a collection, summed up: means, intervals, gains and categories."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from benchmarks.intervals import bootstrap, permutation_p
from benchmarks.quality.collections import Question
from benchmarks.quality.metrics import Scores

COMPARED = "ndcg10"
"""The score by which systems are compared."""

WITH_INTERVALS = ("recall5", "recall10", "ndcg10")


class Run(NamedTuple):
    """What a system got in a collection.

    Attributes:
        scores: Of each question.
        milliseconds: What the answer to each took; the encoder is not in it.
        opened: Seconds it took to be ready.
    """

    scores: list[Scores]
    milliseconds: list[float]
    opened: float


def sum_up(
    questions: Sequence[Question], runs: Mapping[str, Run], baseline: str | None
) -> dict[str, Any]:
    """Return what there is to tell of a collection, as JSON has it.

    Args:
        questions: Of the collection, in the order of the scores.
        runs: By system.
        baseline: The system the others are compared with; `None`, or one that did not run,
            compares nothing.
    """
    counted = [place for place, question in enumerate(questions) if not question.apart]
    base = runs.get(baseline or "")
    systems = {}
    for name, run in runs.items():
        told = _means(run.scores, counted)
        told["intervals"] = {
            score: bootstrap(_column(run.scores, counted, score))[1:] for score in WITH_INTERVALS
        }
        if base is not None and name != baseline:
            told["gain"] = _gain(run.scores, base.scores, counted)
        told["milliseconds"] = median(run.milliseconds)
        told["opened_seconds"] = run.opened
        told["categories"] = _by_category(questions, run.scores)
        systems[name] = told
    return {
        "questions": len(counted),
        "categories": {
            category: len(places) for category, places in _categories(questions).items()
        },
        "baseline": baseline if base is not None else None,
        "systems": systems,
    }


def _gain(scores: Sequence[Scores], base: Sequence[Scores], places: Sequence[int]) -> Any:
    new, old = _column(scores, places, COMPARED), _column(base, places, COMPARED)
    gains = [one - other for one, other in zip(new, old, strict=True)]
    return {
        **bootstrap(gains)._asdict(),
        "p": permutation_p(gains),
        "better": sum(gain > 0 for gain in gains),
        "worse": sum(gain < 0 for gain in gains),
    }


def _by_category(questions: Sequence[Question], scores: Sequence[Scores]) -> dict[str, Any]:
    return {category: _means(scores, places) for category, places in _categories(questions).items()}


def _categories(questions: Sequence[Question]) -> dict[str, list[int]]:
    """Return the places of each category's questions; nothing if there is but one."""
    found: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        found.setdefault(question.category, []).append(place)
    return found if len(found) > 1 else {}


def _means(scores: Sequence[Scores], places: Iterable[int]) -> dict[str, Any]:
    return Scores(*map(fmean, zip(*(scores[place] for place in places), strict=True)))._asdict()


def _column(scores: Sequence[Scores], places: Iterable[int], name: str) -> list[float]:
    return [getattr(scores[place], name) for place in places]
