"""Scores of texts and vectors, worked out one by one."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from plugmem_core.store import Vector
from plugmem_core.text import tokenize

K1 = 1.2
B = 0.75


def bm25(question: str, texts: Mapping[int, str]) -> tuple[dict[int, float], float]:
    """Score texts by the words that they share with a question.

    A word that is in n of N texts counts `ln(1 + (N - n + 0.5) / (n + 0.5))`, times
    `tf (K1 + 1) / (tf + K1 (1 - B + B length / mean length))` for each text (Robertson and
    Zaragoza, 2009).

    Args:
        question: Its distinct words count.
        texts: By id.

    Returns:
        The scores of those that share a word, and what no text can exceed.

    >>> scores, ceiling = bm25("tea", {1: "green tea", 2: "black coffee"})
    >>> list(scores), scores[1] < ceiling
    ([1], True)
    """
    words = {one: Counter(tokenize(text)) for one, text in texts.items()}
    lengths = {one: counted.total() for one, counted in words.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    scores: dict[int, float] = {}
    ceiling = 0.0
    for word in sorted(set(tokenize(question))):
        holders = [one for one, counted in words.items() if word in counted]
        weight = _rarity(len(holders), len(texts))
        ceiling += weight * (K1 + 1)
        for one in holders:
            count = words[one][word]
            norm = K1 * (1 - B + B * lengths[one] / mean)
            scores[one] = scores.get(one, 0.0) + weight * count * (K1 + 1) / (count + norm)
    return scores, ceiling


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors that have a direction, from -1 to 1.

    >>> cosine(np.array([3.0, 4.0]), np.array([4.0, 3.0]))
    0.96
    """
    a, b = one.astype(np.float64), other.astype(np.float64)
    value = float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return min(1.0, max(-1.0, value))


def reciprocal_ranks(rankings: Iterable[Iterable[int]], constant: int = 60) -> dict[int, float]:
    """Fuse rankings: an item scores the sum of `1 / (constant + rank)` over all that rank it.

    >>> reciprocal_ranks([[7, 8], [7]], constant=1)[7]
    1.0
    """
    fused: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            fused[item] = fused.get(item, 0.0) + 1 / (constant + rank)
    return fused


def _rarity(holders: int, total: int) -> float:
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5))
