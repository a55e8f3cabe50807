"""Keeping out of a result what it says already."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plugmem_core.recall.selection import Row
from plugmem_core.store import Vector
from plugmem_core.text import tokenize


class Likeness:
    """How alike candidates are: by their vectors or by their words, whichever says more.

    Vectors are compared by cosine, words by the share of distinct tokens in common (Jaccard);
    a pair of which one has no vector is compared by words alone.

    Args:
        texts: Of the candidates.
        vectors: Theirs, `None` where there is none.
    """

    def __init__(self, texts: Sequence[str], vectors: Sequence[Vector | None]) -> None:
        self._words = [frozenset(tokenize(text)) for text in texts]
        dim = max((len(one) for one in vectors if one is not None), default=0)
        self._units = np.zeros((len(vectors), dim))
        for place, vector in enumerate(vectors):
            if vector is not None and (length := float(np.linalg.norm(vector))):
                self._units[place] = vector / length

    def of(self, place: int) -> npt.NDArray[np.float64]:
        """Return how alike one candidate and each of them are, from 0 to 1."""
        mine = self._words[place]
        shared = np.array(
            [len(mine & words) / (len(mine | words) or 1) for words in self._words], dtype=float
        )
        likeness: npt.NDArray[np.float64] = np.maximum(shared, self._units @ self._units[place])
        return likeness


class Varied(NamedTuple):
    """Candidates without repetition.

    Attributes:
        rows: Those that are left, best first.
        left_out: Those that are not, with the better one each repeats.
    """

    rows: list[Row]
    left_out: dict[int, int]


def without_duplicates(rows: list[Row], likeness: Likeness, limit: float) -> Varied:
    """Leave out what is like a better candidate by more than a limit.

    Args:
        rows: Best first.
        likeness: Of the rows.
        limit: From 0 to 1; at 1 nothing is left out.
    """
    kept: list[int] = []
    left_out: dict[int, int] = {}
    for place, row in enumerate(rows):
        alike = likeness.of(place)
        better = next((other for other in kept if alike[other] > limit), None)
        if better is None:
            kept.append(place)
        else:
            left_out[row[0]] = rows[better][0]
    return Varied([rows[place] for place in kept], left_out)


def diversified(rows: list[Row], likeness: Likeness, balance: float) -> list[Row]:
    """Order candidates so that each differs from those before it.

    Carbonell and Goldstein's maximal marginal relevance (SIGIR 1998): next is always the
    greatest `balance * relevance - (1 - balance) * redundancy`. Relevance is the score as a
    share of the best, redundancy the likeness to the most alike that is chosen already.

    Args:
        rows: Best first.
        likeness: Of the rows.
        balance: 1 goes by relevance alone, 0 by difference alone.
    """
    best = max((abs(row[1]) for row in rows), default=0.0) or 1.0
    relevance = np.array([row[1] / best for row in rows])
    redundancy = np.zeros(len(rows))
    order: list[int] = []
    while len(order) < len(rows):
        value = balance * relevance - (1 - balance) * redundancy
        value[order] = -np.inf
        order.append(int(np.argmax(value)))
        redundancy = np.maximum(redundancy, likeness.of(order[-1]))
    return [rows[place] for place in order]
