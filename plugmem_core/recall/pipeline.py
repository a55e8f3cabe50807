"""The stages of a recall, one after another."""

from dataclasses import dataclass, field

from plugmem_core.clock import DAY_MS
from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import Fused, IdSet, Pool, Ranked, Scope, Walk
from plugmem_core.model import SOURCES
from plugmem_core.recall.anchors import find_anchors
from plugmem_core.recall.fusion import Weights, deepest_rank, fuse_ranks, weigh
from plugmem_core.recall.query import Query, words_of
from plugmem_core.recall.scope import build_scope, clocks, looks_back, passing_facts
from plugmem_core.recall.selection import Row
from plugmem_core.recall.signals import (
    BM25,
    GRAPH,
    MENTION_HOPS,
    SIGNALS,
    TIME,
    VECTOR,
    Scorer,
    date_evidence,
    entity_evidence,
    link_evidence,
    neighbour_evidence,
    range_evidence,
    year_evidence,
)
from plugmem_core.recall.sources import CANDIDATES, EMPTY, around, lexical, nearest, newest, walk
from plugmem_core.store import Vector
from plugmem_core.text import windows_in


@dataclass(slots=True)
class Ranking:
    """What the stages found; ids only.

    Attributes:
        walked: What the walk met, if there was one.
        tokens: What the lexical index was asked for.
        anchors: Entities the walk started from.
        lists: The four rankings, in the order of `SOURCES`.
        fused: All candidates by score.
        pool: The candidates with the points of each signal, in the tuned ranking.
    """

    walked: Walk | None = None
    tokens: list[str] = field(default_factory=list)
    anchors: list[int] = field(default_factory=list)
    lists: list[Ranked] = field(default_factory=lambda: [EMPTY] * len(SOURCES))
    fused: Fused | None = None
    pool: Pool | None = None

    def rows(self, count: int, floor: float | None) -> list[Row]:
        """Return the best candidates, those whose score reaches a floor."""
        rows = [] if self.fused is None else self.fused.rows(count)
        return rows if floor is None else [row for row in rows if row[1] >= floor]

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
    tokens = words_of(query.text)
    ranking = Ranking()
    tuned = config.ranking == "tuned"
    if "graph" in query.sources:
        ranking.anchors = find_anchors(index, query, tokens, as_reference=not tuned)
    asked = [
        "bm25" in query.sources and bool(tokens),
        vector is not None,
        bool(ranking.anchors),
        "time" in query.sources and _asks_time(query, tokens, vector),
    ]
    if tuned:
        tokens = index.lexical.analyzer.question(tokens)
    ranking.tokens = index.lexical.expand(tokens)
    if not tuned and not query.explain:  # an explanation shows every candidate
        limit = min(limit, _deepest(config, weights, asked, query.k + 1, limit))
    walked = _find(index, config, query, vector, ranking, asked, limit, scope, allowed)
    if tuned:
        ranking.pool = _weigh_signals(
            index, config, query, vector, ranking, walked, weights, scope, now
        )
        ranking.fused = ranking.pool.rank(
            weights.recency, config.half_life_days * DAY_MS, now, index.facts
        )
    else:
        ranking.fused = fuse_ranks(index, ranking.lists, config, weights, now)
    return ranking


def _find(
    index: Index,
    config: MemoryConfig,
    query: Query,
    vector: Vector | None,
    ranking: Ranking,
    asked: list[bool],
    limit: int,
    scope: Scope,
    allowed: int | None,
) -> Walk | None:
    """Let the sources that are asked rank their facts; returns the walk, if there was one."""
    lists, walked = ranking.lists, None
    if asked[0]:
        lists[0] = lexical(index, ranking.tokens, limit, scope)
    if vector is not None:
        ef = query.ef or config.hnsw_ef_search
        lists[1] = nearest(index, vector, limit, ef, config.min_similarity, scope, allowed)
    if ranking.anchors:
        depth = _depth(config, query)
        walked = walk(index, ranking.anchors, depth, config.graph_decay, scope, looks_back(query))
        ranking.walked = walked
        lists[2] = around(index, walked, config, limit, scope)
    if asked[3]:
        lists[3] = newest(index, query.range, limit, scope)
    return walked


def _weigh_signals(
    index: Index,
    config: MemoryConfig,
    query: Query,
    vector: Vector | None,
    ranking: Ranking,
    walked: Walk | None,
    weights: Weights,
    scope: Scope,
    now: int,
) -> Pool:
    """Gather the candidates, with the points that every signal gives them."""
    pool = Pool(len(SIGNALS), len(SOURCES))
    lists, counts = ranking.lists, weights.sources
    tokens = ranking.tokens if "bm25" in query.sources else []
    scorer = Scorer(index, tokens, ranking.anchors, vector, config, counts)
    for source in (BM25, VECTOR):
        pool.add(lists[source], source)
    scorer.score(pool)  # their scale is that of what words and vector found
    for source in (GRAPH, TIME):
        pool.add(lists[source], source)
    scorer.score(pool)
    if "graph" in query.sources:
        before, after = config.previous_boost * counts[GRAPH], config.next_boost * counts[GRAPH]
        neighbour_evidence(pool, index, scorer, scope, before, after)
    if walked is not None and config.entity_boost:
        entity_evidence(pool, index, walked, config.entity_boost * counts[GRAPH])
    if lists[TIME] and config.date_boost:
        range_evidence(pool, config.date_boost * counts[TIME])
    if "time" in query.sources:
        windows = windows_in(query.text or "", clocks(query, now)[0])
        date_evidence(pool, index, windows, config.date_boost * counts[TIME])
        year_evidence(pool, index, windows, config.year_boost * counts[TIME])
    if "graph" in query.sources and _depth(config, query) >= MENTION_HOPS:
        share = config.link_boost * counts[GRAPH]
        link_evidence(pool, index, scorer, scope, share, config.link_cap)
    return pool


def _depth(config: MemoryConfig, query: Query) -> int:
    return config.graph_depth if query.graph_depth is None else query.graph_depth


def _deepest(config: MemoryConfig, weights: Weights, asked: list[bool], k: int, limit: int) -> int:
    """Return how far down a ranking has to be known: less far when there is only the one."""
    # Without weight every rank scores the same, and the smallest ids win.
    alone = asked.count(True) == 1 and weights.sources[asked.index(True)] > 0
    return deepest_rank(config, weights, k) if alone else limit


def _asks_time(query: Query, tokens: list[str], vector: Vector | None) -> bool:
    # Tags or a filter alone are a question too: the newest facts that pass.
    only_filters = not tokens and vector is None and not query.entities and query.filters
    return query.range is not None or only_filters or query.newest
