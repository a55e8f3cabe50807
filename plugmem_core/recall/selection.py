"""Which of the ranked facts are returned."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from plugmem_core.config import MemoryConfig
from plugmem_core.index import MetEdges
from plugmem_core.model import RecalledFact
from plugmem_core.recall.query import Query
from plugmem_core.recall.render import HEADING, fact_line, met_lines, tokens_of

Row: TypeAlias = tuple[int, float, int, int]
"""Fact id, score, source bits, bytes of text; best first."""

Read: TypeAlias = Callable[[list[Row]], tuple[RecalledFact, ...]]
"""Reads ranked facts, leaving out those that were removed meanwhile."""

EVERY = 2**31  # candidates: all of them
LOOKED_AT = 4  # candidates a fact to return, while some do not fit the budget
FACT_OVERHEAD = 8  # tokens a fact's line costs beside its text
LEAST_LINE = 7  # tokens of the shortest line there is: "- [f0] a (2024-01; active)"


class Selection(NamedTuple):
    """The facts chosen, and whether others were left."""

    rows: list[Row]
    truncated: bool = False
    over_budget: tuple[int, ...] = ()  # the facts that the budget left out


class Chosen(NamedTuple):
    """What a recall returns.

    `facts` has fewer than `selection` when some were removed after they had been ranked.
    """

    selection: Selection
    facts: tuple[RecalledFact, ...]
    met: MetEdges | None
    truncated: bool


def candidates(config: MemoryConfig, query: Query, rearranged: int) -> int:
    """Return how many of the best candidates a selection looks at.

    `rearranged` are looked at before that.
    """
    if query.explain:
        return EVERY
    if rearranged:
        return max(rearranged, LOOKED_AT * (query.k + 1))
    passes_over = config.ranking == "tuned" and query.token_budget is not None
    return LOOKED_AT * (query.k + 1) if passes_over else query.k + 1


def choose(
    rows: list[Row], met: MetEdges | None, config: MemoryConfig, query: Query, read: Read
) -> Chosen:
    """Choose among ranked facts, and read those that are returned.

    The reference ranking stops at the first fact over the token budget, which counts facts
    only, by estimate. The tuned one passes it over for others that fit; it counts the lines
    that are rendered, and edges get what the facts leave.
    """
    if config.ranking == "reference" or query.token_budget is None:
        selection = select(rows, query.k, query.token_budget)
        return Chosen(selection, read(selection.rows), met, selection.truncated)
    known = {fact.id: fact for fact in read(rows[: query.k])}

    def cost(row: Row) -> int:
        if row[0] not in known:
            known.update((fact.id, fact) for fact in read([row]))
        return tokens_of(fact_line(known[row[0]])) if row[0] in known else 0

    selection, left = pack(rows, query.k, query.token_budget - tokens_of(HEADING), cost)
    facts = tuple(known[fact] for fact, *_ in selection.rows if fact in known)
    if met is None:
        return Chosen(selection, facts, None, selection.truncated)
    count = _fitting(met_lines(met), left)
    return Chosen(selection, facts, met.first(count), selection.truncated or count < len(met))


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
            return Selection(rows[:place], truncated=True, over_budget=(fact,))
    return Selection(rows)


def pack(
    rows: Iterable[Row], k: int, budget: int, cost: Callable[[Row], int]
) -> tuple[Selection, int]:
    """Take facts from the top while `k` allows, passing over those that do not fit the budget.

    Args:
        rows: Candidates, best first.
        k: Most facts.
        budget: Tokens to spend.
        cost: What the line of a fact costs, at least a quarter of the bytes of its text.

    Returns:
        The facts, and the tokens that are left.
    """
    taken: list[Row] = []
    over: list[int] = []
    for row in rows:
        if len(taken) == k:
            return Selection(taken, truncated=True, over_budget=tuple(over)), budget
        if budget < LEAST_LINE or row[3] // 4 > budget or (spent := cost(row)) > budget:
            over.append(row[0])
            continue
        budget -= spent
        taken.append(row)
    return Selection(taken, truncated=bool(over), over_budget=tuple(over)), budget


def _fitting(lines: list[str], budget: int) -> int:
    """Return how many lines, from the first, the budget allows."""
    for place, line in enumerate(lines):
        budget -= tokens_of(line)
        if budget < 0:
            return place
    return len(lines)
