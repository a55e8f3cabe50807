"""Which of the ranked facts are returned."""

from typing import NamedTuple, TypeAlias

Row: TypeAlias = tuple[int, float, int, int]
"""Fact id, score, source bits, bytes of text; best first."""

FACT_OVERHEAD = 8  # tokens a fact's line costs beside its text


class Selection(NamedTuple):
    """The facts chosen, and whether others were left."""

    rows: list[Row]
    truncated: bool = False
    over_budget: int | None = None  # the id of the fact the budget stopped at


def select(rows: list[Row], k: int, budget: int | None) -> Selection:
    """Take facts from the top while `k` and the token budget allow.

    A fact costs its bytes / 4, rounded down, plus 8 tokens. Selection stops at the
    first fact that does not fit.
    """
    if budget is None:
        return Selection(rows[:k], len(rows) > k)
    spent = 0
    for place, (fact, _, _, size) in enumerate(rows):
        if place == k:
            return Selection(rows[:k], truncated=True)
        spent += size // 4 + FACT_OVERHEAD
        if spent > budget:
            return Selection(rows[:place], truncated=True, over_budget=fact)
    return Selection(rows)
