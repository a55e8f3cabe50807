"""Where the scores of a ranking come from, fact by fact."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from plugmem_core.clock import DAY_MS
from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import Pool
from plugmem_core.model import SOURCES
from plugmem_core.recall.explain import Evidence, FactExplanation, relevance_of
from plugmem_core.recall.fusion import weigh
from plugmem_core.recall.pipeline import Ranking
from plugmem_core.recall.query import Query
from plugmem_core.recall.selection import Row
from plugmem_core.recall.signals import BM25, SIGNALS, VECTOR

EvidenceOf: TypeAlias = Callable[[int], Iterable[Evidence]]


def explain_rows(
    index: Index, query: Query, ranking: Ranking, rows: list[Row], config: MemoryConfig, now: int
) -> tuple[FactExplanation, ...]:
    """Return where the scores of some ranked facts come from."""
    weights = weigh(config, query)
    ceiling = index.lexical.ceiling(ranking.tokens)
    evidence_of = _ranks(ranking, weights.sources, config.rrf_k)
    if ranking.pool is not None:
        evidence_of = _points(ranking.pool)
    explained = []
    for fact, score, _, _ in rows:
        evidence = tuple(evidence_of(fact))
        age = max(0, now - index.facts.recorded(fact))
        boost = 1 + weights.recency * 2 ** (-age / (config.half_life_days * DAY_MS))
        relevance = relevance_of(evidence, ceiling)
        explained.append(FactExplanation(fact, evidence, boost, score, relevance))
    return tuple(explained)


def _ranks(ranking: Ranking, weights: list[float], rrf_k: int) -> EvidenceOf:
    places = [
        {fact: (rank, raw) for rank, (fact, raw) in enumerate(ranked.items(), start=1)}
        for ranked in ranking.lists
    ]

    def evidence_of(fact: int) -> Iterable[Evidence]:
        for source, found, weight in zip(SOURCES, places, weights, strict=True):
            if fact in found:
                yield Evidence(source, *found[fact], weight / (rrf_k + found[fact][0]))

    return evidence_of


def _points(pool: Pool) -> EvidenceOf:
    def evidence_of(fact: int) -> Iterable[Evidence]:
        bm25, cosine, points, places = pool.explain(fact)
        exact = {BM25: bm25, VECTOR: cosine}
        for signal, given in enumerate(points):
            rank, raw = places[signal] if signal < len(places) else (0, 0.0)
            if given or rank:
                yield Evidence(SIGNALS[signal], rank, exact.get(signal, raw), given)

    return evidence_of
