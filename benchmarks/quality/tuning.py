"""Weights by cross-validation: chosen on some questions, and measured on others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from benchmarks.quality.measuring import run
from benchmarks.quality.ours import RANKINGS, our_system
from benchmarks.quality.results import COMPARED
from benchmarks.quality.systems import Prepared

GRID: dict[str, tuple[float, ...]] = {
    "text_share": (0.3, 0.4, 0.5, 0.6),
    "entity_boost": (0.0, 0.15, 0.3, 0.45),
    "link_boost": (0.0, 0.5, 0.7, 0.9),
    "previous_boost": (0.0, 0.2, 0.3, 0.4),
    "next_boost": (0.0, 0.1, 0.2, 0.3),
    "date_boost": (0.0, 0.2, 0.3, 0.4),
    "year_boost": (0.0, 0.2, 0.3, 0.4),
    "w_recency": (0.0, 0.1, 0.25),
    "bm25_k1": (0.9, 1.2),
    "bm25_b": (0.4, 0.75),
}
"""What is tried of each knob; what the configuration has by default is tried, too."""

FOLDS = 5  # of the questions of a single collection without conversations

Weights: TypeAlias = Mapping[str, float]
"""Knobs; those left out are as the configuration has them by default."""

Gains: TypeAlias = Sequence[Sequence[float]]
"""nDCG@10 of every question that counts, by collection."""


class Fold(NamedTuple):
    """Questions that are left out while weights are chosen: by collection, their places."""

    name: str
    held: Sequence[frozenset[int]]


class Validated(NamedTuple):
    """What was chosen without some questions, and nDCG@10 of those with the defaults and so."""

    name: str
    weights: Weights
    default: float
    chosen: float


class Evaluator:
    """Measures weights over all questions, each weights once.

    Args:
        prepared: The collections.
        folder: Where their memories are kept.
    """

    def __init__(self, prepared: Sequence[Prepared], folder: Path) -> None:
        self._places = [(one, folder / str(number)) for number, one in enumerate(prepared)]
        self._known: dict[frozenset[tuple[str, float]], Gains] = {}
        for _, place in self._places:
            place.mkdir()

    @property
    def tried(self) -> int:
        """How many weights were measured."""
        return len(self._known)

    def __call__(self, weights: Weights) -> Gains:
        """Return what each question got."""
        key = frozenset(weights.items())
        if key not in self._known:
            system = our_system("tried", {**RANKINGS["tuned"], **weights})
            self._known[key] = [
                _gains(run(system, *place).scores, place[0]) for place in self._places
            ]
        return self._known[key]


def cross_validate(prepared: Sequence[Prepared], folder: Path) -> dict[str, Any]:
    """Choose weights without some questions, measure them on those, and so for all in turn.

    Of several collections one is left out at a time; of a single one, a conversation, or a
    fifth of the questions.

    Returns:
        By fold the weights chosen, and nDCG@10 of the questions left out, with the defaults
        and with those weights; and the weights that all questions together choose.
    """
    evaluate = Evaluator(prepared, folder)
    folds = [_validate(evaluate, fold) for fold in make_folds(prepared)]
    return {
        "folds": [one._asdict() for one in folds],
        "default": fmean(one.default for one in folds),
        "chosen": fmean(one.chosen for one in folds),
        "weights of all": choose(evaluate, _mean_of_means),
        "tried": evaluate.tried,
    }


def _validate(evaluate: Evaluator, fold: Fold) -> Validated:
    weights = choose(evaluate, partial(_outside, fold=fold))
    default, chosen = (_inside(evaluate(one), fold) for one in ({}, weights))
    return Validated(fold.name, weights, default, chosen)


def choose(
    evaluate: Callable[[Weights], Gains], worth: Callable[[Gains], float]
) -> dict[str, float]:
    """Return the best weights found by changing one knob at a time until none helps.

    Of equals the one tried first stays, and the defaults are the first.
    """
    best: dict[str, float] = {}
    most = worth(evaluate(best))
    improved = True
    while improved:
        improved = False
        for knob, values in GRID.items():
            for value in values:
                tried = {**best, knob: value}
                got = worth(evaluate(tried))
                if got > most:
                    best, most, improved = tried, got, True
    return best


def make_folds(prepared: Sequence[Prepared]) -> list[Fold]:
    """Return what is left out in turn; together it is every question that counts, once."""
    sizes = [len(_counted(one)) for one in prepared]
    if len(prepared) > 1:
        return [
            Fold(
                one.collection.name,
                [
                    frozenset(range(size)) if at == out else frozenset()
                    for at, size in enumerate(sizes)
                ],
            )
            for out, one in enumerate(prepared)
        ]
    [only] = prepared
    spaces = [only.collection.questions[place].space for place in _counted(only)]
    fifths = [f"fifth {place % FOLDS + 1}" for place in range(len(spaces))]
    groups = spaces if len(set(spaces)) > 1 else fifths
    return [
        Fold(name, [frozenset(at for at, one in enumerate(groups) if one == name)])
        for name in dict.fromkeys(groups)
    ]


def _counted(prepared: Prepared) -> list[int]:
    questions = prepared.collection.questions
    return [place for place, question in enumerate(questions) if not question.apart]


def _gains(scores: Sequence[Any], prepared: Prepared) -> list[float]:
    return [getattr(scores[place], COMPARED) for place in _counted(prepared)]


def _inside(gains: Gains, fold: Fold) -> float:
    """Return the mean of what was left out."""
    return fmean(one[place] for one, held in zip(gains, fold.held, strict=True) for place in held)


def _outside(gains: Gains, fold: Fold) -> float:
    """Return the mean of the means of the collections, without what was left out."""
    rests = (
        [gain for place, gain in enumerate(one) if place not in held]
        for one, held in zip(gains, fold.held, strict=True)
    )
    return _mean_of_means(rests)


def _mean_of_means(groups: Iterable[Sequence[float]]) -> float:
    return fmean(fmean(group) for group in groups if group)
