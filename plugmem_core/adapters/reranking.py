"""What frameworks say of candidates, as scores."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

LEFT_OUT = float("-inf")


def scores_of_places(kept: Sequence[tuple[int, Any]], count: int) -> list[float]:
    """Return one score a candidate, of what a framework kept of them.

    Args:
        kept: The place of each candidate that was kept, and its score, best first.
        count: How many candidates there were.

    Returns:
        The scores given, if they are numbers that fall; else 1, 1/2, 1/3, … in the order
        kept; `-inf` for what was not kept.
    """
    given = [score for _, score in kept]
    falling = all(isinstance(score, int | float) for score in given) and all(
        better >= worse for better, worse in pairwise(given)
    )
    scores = [LEFT_OUT] * count
    for rank, (place, score) in enumerate(kept, start=1):
        scores[place] = float(score) if falling else 1 / rank
    return scores
