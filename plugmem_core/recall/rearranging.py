"""What may happen to the ranked facts before some are chosen: a reranker, and variety."""

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from plugmem_core.config import MemoryConfig
from plugmem_core.recall.query import Query
from plugmem_core.recall.reranking import RerankError, rerank
from plugmem_core.recall.selection import Read, Row
from plugmem_core.recall.variety import Likeness, diversified, without_duplicates
from plugmem_core.store import Vector

VARIED = 4
"""Candidates a fact to return that are looked at for variety."""

VectorsOf: TypeAlias = Callable[[list[int]], dict[int, Vector]]
"""Reads the vectors of facts; those without one are left out."""

logger = logging.getLogger(__name__)


class Rearranged(NamedTuple):
    """The ranked facts in another order.

    Attributes:
        rows: Best first.
        reranked: The scores that a reranker gave.
        left_out: Near-duplicates, with the better fact each repeats.
        note: Why a reranker had no say, if it had none.
    """

    rows: list[Row]
    reranked: dict[int, float] = {}  # noqa: RUF012 - never changed
    left_out: dict[int, int] = {}  # noqa: RUF012 - never changed
    note: str | None = None


def looked_at(query: Query, config: MemoryConfig) -> int:
    """Return how many of the best candidates a query rearranges; 0 when it does not."""
    count = 0
    if query.reranker is not None and query.text:
        top = config.rerank_top if query.rerank_top is None else query.rerank_top
        count = max(top, query.k) if top else 0
    if query.diversity is not None or query.duplicates is not None:
        count = max(count, VARIED * (query.k + 1))
    return count


def rearrange(
    rows: list[Row], query: Query, config: MemoryConfig, read: Read, vectors_of: VectorsOf
) -> Rearranged:
    """Let a reranker and the wish for variety have their say.

    Facts beyond those that are looked at stay behind them. Where the reranker fails or takes too
    long, the order of before stands, which is logged and noted.

    Args:
        rows: Best first.
        query: The question, and what is wished.
        config: How many are reranked, and how long.
        read: Reads the texts.
        vectors_of: Reads the vectors.
    """
    count = looked_at(query, config)
    facts = {fact.id: fact.text for fact in read(rows[:count])}
    near, rest = [row for row in rows[:count] if row[0] in facts], rows[count:]
    reranked: dict[int, float] = {}
    note = None
    if query.reranker is not None and query.text and near and query.rerank_top != 0:
        try:
            texts = [facts[row[0]] for row in near]
            near = rerank(query.reranker, query.text, near, texts, config.rerank_timeout)
            reranked = {fact: score for fact, score, *_ in near}
            rest = []  # their scores mean something else
        except RerankError as error:
            note = f"{error}; the order of before stands"
            logger.warning("%s", note)
    left_out: dict[int, int] = {}
    if query.duplicates is not None or query.diversity is not None:
        vectors = vectors_of([row[0] for row in near])

        def likeness() -> Likeness:
            return Likeness([facts[row[0]] for row in near], [vectors.get(row[0]) for row in near])

        if query.duplicates is not None:
            near, left_out = without_duplicates(near, likeness(), query.duplicates)
        if query.diversity is not None:
            near = diversified(near, likeness(), query.diversity)
    return Rearranged(near + rest, reranked, left_out, note)
