"""How good a ranking is, by the grades of what it found."""

from collections.abc import Mapping, Sequence
from math import log2
from typing import NamedTuple

K = 10  # documents asked for
FEW = 5  # what a reader looks at


class Scores(NamedTuple):
    """What one question got; from 0 to 1 each, and tokens.

    Attributes:
        recall5: Share of the right documents among the first 5.
        recall10: Share of them among the first 10.
        ndcg10: Discounted gain of the first 10, as a share of the best there is.
        mrr10: 1 / place of the first right one among the first 10; 0 without one.
        all5: 1 if the first 5 have all the right ones, else 0.
        hit5: 1 if they have one at least.
        tokens: Length of the documents returned.
    """

    recall5: float
    recall10: float
    ndcg10: float
    mrr10: float
    all5: float
    hit5: float
    tokens: float


def measure(found: Sequence[str], grades: Mapping[str, int], tokens: int = 0) -> Scores:
    """Return the scores of a ranking, best first.

    >>> measure(["b", "x", "a"], {"a": 1, "b": 1})._asdict()["mrr10"]
    1.0
    """
    right = recall(found, grades, FEW)
    return Scores(
        recall5=right,
        recall10=recall(found, grades, K),
        ndcg10=ndcg(found, grades, K),
        mrr10=reciprocal_rank(found, grades, K),
        all5=float(right == 1),
        hit5=float(right > 0),
        tokens=float(tokens),
    )


def recall(found: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return the share of the right documents that are among the first `k`.

    >>> recall(["a", "x", "b"], {"a": 2, "b": 1}, 2)
    0.5
    """
    return len(grades.keys() & set(found[:k])) / len(grades)


def ndcg(found: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return the normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002).

    The gain of a grade g is 2^g - 1, the discount of place i, from 1, is log2(i + 1).

    >>> round(ndcg(["x", "a"], {"a": 1}, 10), 4)
    0.6309
    """
    ideal = sorted(grades.values(), reverse=True)
    return _gain([grades.get(one, 0) for one in found[:k]]) / _gain(ideal[:k])


def reciprocal_rank(found: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return 1 / place of the first right document among the first `k`; 0 without one.

    >>> reciprocal_rank(["x", "a"], {"a": 1}, 10)
    0.5
    """
    places = (place for place, one in enumerate(found[:k], start=1) if one in grades)
    return 1 / next(places, float("inf"))


def _gain(grades: Sequence[int]) -> float:
    return sum((2.0**grade - 1) / log2(place + 2) for place, grade in enumerate(grades))
