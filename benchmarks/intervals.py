"""Intervals of 95 % for means and shares of a few questions."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 10_000
CHUNK = 1_000  # of them at once
SEED = 7
Z = 1.959964  # of the normal distribution, two-sided 95 %


class Interval(NamedTuple):
    """A value and the bounds within which it lies with 95 %."""

    value: float
    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """Return the mean and its percentile interval over resampled questions (Efron, 1979)."""
    taken = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(SEED)
    means = [
        taken[rng.integers(0, len(taken), (CHUNK, len(taken)))].mean(axis=1)
        for _ in range(RESAMPLES // CHUNK)
    ]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return Interval(float(taken.mean()), float(low), float(high))


def wilson(successes: int, total: int) -> Interval:
    """Return a share and its score interval (Wilson, 1927).

    >>> [round(100 * bound) for bound in wilson(5, 10)]
    [50, 24, 76]
    """
    share = successes / total
    spread = Z * Z / total
    centre = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return Interval(share, centre - half, centre + half)


def permutation_p(gains: Sequence[float]) -> float:
    """Return how often chance alone makes a mean gain as large, of either sign (Fisher, 1935).

    Each question's gain keeps or changes its sign at random: that is how gains would be if
    both systems were alike. Two-sided; the sample itself counts as one of the draws.
    """
    taken = np.asarray(gains, dtype=np.float64)
    moved = taken[taken != 0]
    if not len(moved):
        return 1.0
    rng = np.random.default_rng(SEED)
    reached = 0
    for _ in range(RESAMPLES // CHUNK):
        signs = 2.0 * rng.integers(0, 2, (CHUNK, len(moved))) - 1.0
        # Sums that differ by rounding only are equal.
        reached += int((abs(signs @ moved) >= abs(moved.sum()) - 1e-9).sum())
    return (reached + 1) / (RESAMPLES + 1)
