"""Choosing what answers a question and differs from what is chosen already."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plugmem_core.errors import InvalidInputError
from plugmem_core.inputs import VectorLike, check_type


def diverse(
    asked: VectorLike,
    vectors: Sequence[VectorLike | None],
    k: int,
    balance: float,
    *,
    name: str = "balance",
) -> list[int]:
    """Return the places of vectors near a question and far from each other, best first.

    Carbonell and Goldstein's maximal marginal relevance (SIGIR 1998) over cosines: next is
    always the greatest `balance * relevance - (1 - balance) * redundancy`, the latter being
    the greatest cosine to one that is chosen.

    Args:
        asked: The question's vector.
        vectors: The candidates'; none may be `None`.
        k: Most places.
        balance: 1 goes by relevance alone, 0 by difference alone.
        name: What the caller calls `balance`.

    Raises:
        InvalidInputError: `balance` is not between 0 and 1.

    >>> diverse([1.0, 0.0], [[1.0, 0.1], [1.0, 0.2], [0.3, 1.0]], 2, 0.3)
    [0, 2]
    """
    check_type(balance, (int, float), name, "a number from 0 to 1")
    if not 0 <= balance <= 1:
        raise InvalidInputError(f"{name} is {balance}; give a number from 0 to 1")
    if not vectors:
        return []
    units = _units(vectors)
    relevance = units @ _units([asked])[0]
    redundancy = np.full(len(units), -1.0)
    value = relevance  # of the first; nothing is redundant yet
    chosen: list[int] = []
    while len(chosen) < min(k, len(units)):
        chosen.append(int(np.argmax(value)))
        redundancy = np.maximum(redundancy, units @ units[chosen[-1]])
        value = balance * relevance - (1 - balance) * redundancy
        value[chosen] = -np.inf
    return chosen


def _units(vectors: Sequence[VectorLike | None]) -> npt.NDArray[np.float64]:
    """Return vectors at length 1; one without direction, as of a text without words, stays 0."""
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units: npt.NDArray[np.float64] = np.zeros_like(rows)
    np.divide(rows, lengths, out=units, where=lengths > 0)
    return units
