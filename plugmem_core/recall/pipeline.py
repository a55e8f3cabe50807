"""The stages of a recall, one after another."""

from dataclasses import dataclass, field

from plugmem_core.clock import DAY_MS
from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import Fused, IdSet, Ranked
from plugmem_core.model import SOURCES
from plugmem_core.recall.anchors import find_anchors
from plugmem_core.recall.explain import Evidence, FactExplanation, relevance_of
from plugmem_core.recall.fusion import Weights, deepest_rank, fuse_ranks, weigh
from plugmem_core.recall.query import Query
from plugmem_core.recall.scope import build_scope, looks_back, passing_facts
from plugmem_core.recall.selection import Row, Selection, select
from plugmem_core.recall.sources import CANDIDATES, EMPTY, around, lexical, nearest, newest, walk
from plugmem_core.store import Vector
from plugmem_core.text import tokenize

NOTHING = Selection([])


@dataclass(slots=True)
class Ranking:
    """What the stages found; ids only.

    Attributes:
        selection: The facts to return.
        edges: Edge versions met, in the order met.
        tokens: Of the question.
        anchors: Entities the walk started from.
        lists: The four rankings, in the order of `SOURCES`.
        fused: All candidates by score.
    """

    selection: Selection = NOTHING
    edges: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    anchors: list[int] = field(default_factory=list)
    lists: list[Ranked] = field(default_factory=lambda: [EMPTY] * len(SOURCES))
    fused: Fused | None = None

    @property
    def candidates(self) -> dict[str, int]:
        """How many facts each source ranked."""
        return dict(zip(SOURCES, map(len, self.lists), strict=True))


def rank(
    index: Index,
    config: MemoryConfig,
    query: Query,
    vector: Vector | None,
    now: int,
    filtered: IdSet | None,
) -> Ranking:
    """Find and order the facts that answer a query.

    Args:
        index: In step with truth, and not changed meanwhile.
        config: Weights and limits.
        query: The question.
        vector: Its vector, given or embedded.
        now: Unix milliseconds.
        filtered: The facts that pass the metadata filter; `None` without one.
    """
    passing = passing_facts(index, query, filtered)
    allowed = None if passing is None else passing.count()
    if allowed == 0:
        return Ranking()
    scope = build_scope(index, query, now, passing)
    limit = max(CANDIDATES, query.k + 1)
    weights = weigh(config, query)
    if "vector" not in query.sources:
        vector = None
    tokens = tokenize(query.text) if query.text else []
    ranking = Ranking(tokens=tokens)
    lists = ranking.lists
    if "graph" in query.sources:
        ranking.anchors = find_anchors(index, query, tokens)
    asked = [
        "bm25" in query.sources and bool(tokens),
        vector is not None,
        bool(ranking.anchors),
        "time" in query.sources and _asks_time(query, tokens, vector),
    ]
    if not query.explain:  # an explanation shows every candidate
        limit = min(limit, _deepest(config, weights, asked, query.k + 1, limit))
    if asked[0]:
        lists[0] = lexical(index, tokens, limit, scope)
    if vector is not None:
        ef = query.ef or config.hnsw_ef_search
        lists[1] = nearest(index, vector, limit, ef, config.min_similarity, scope, allowed)
    if ranking.anchors:
        depth = config.graph_depth if query.graph_depth is None else query.graph_depth
        walked = walk(index, ranking.anchors, depth, config.graph_decay, scope, looks_back(query))
        ranking.edges = walked.edges
        lists[2] = around(index, walked, config, limit, scope)
    if asked[3]:
        lists[3] = newest(index, query.range, limit, scope)
    ranking.fused = fuse_ranks(index, lists, config, weights, now)
    rows = ranking.fused.rows(query.k + 1)
    if query.min_score is not None:
        rows = [row for row in rows if row[1] >= query.min_score]
    ranking.selection = select(rows, query.k, query.token_budget)
    return ranking


def explain_rows(
    index: Index, query: Query, ranking: Ranking, rows: list[Row], config: MemoryConfig, now: int
) -> tuple[FactExplanation, ...]:
    """Return where the scores of some ranked facts come from."""
    weights = weigh(config, query)
    ceiling = index.lexical.ceiling(ranking.tokens)
    places = [
        {fact: (rank, raw) for rank, (fact, raw) in enumerate(ranked.items(), start=1)}
        for ranked in ranking.lists
    ]
    explained = []
    for fact, score, _, _ in rows:
        evidence = tuple(
            Evidence(source, *found[fact], weight / (config.rrf_k + found[fact][0]))
            for source, found, weight in zip(SOURCES, places, weights.sources, strict=True)
            if fact in found
        )
        age = max(0, now - index.facts.recorded(fact))
        boost = 1 + weights.recency * 2 ** (-age / (config.half_life_days * DAY_MS))
        relevance = relevance_of(evidence, ceiling)
        explained.append(FactExplanation(fact, evidence, boost, score, relevance))
    return tuple(explained)


def _deepest(config: MemoryConfig, weights: Weights, asked: list[bool], k: int, limit: int) -> int:
    """Return how far down a ranking has to be known: less far when there is only the one."""
    weighed = [weight for weight, one in zip(weights.sources, asked, strict=True) if one]
    # Without weight every rank scores the same, and the smallest ids win.
    return deepest_rank(config, weights, k) if len(weighed) == 1 and weighed[0] > 0 else limit


def _asks_time(query: Query, tokens: list[str], vector: Vector | None) -> bool:
    # Tags or a filter alone are a question too: the newest facts that pass.
    only_filters = query.filters and not tokens and vector is None and not query.entities
    return query.range is not None or query.newest or only_filters
