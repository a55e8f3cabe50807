"""The signals of the tuned ranking: each gives candidates bounded points, for a stated reason.

A candidate's score is the sum of its points, times the boost of recency. Words and vector
together give 1 at most; what every other signal gives is bounded by a knob of the
configuration, and 0 there switches it off. The pool holds the candidates, and every signal's
points apart, so that an explanation can show them.
"""

from collections.abc import Sequence

from plugmem_core.clock import DAY_MS
from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import Pool, Scope, Walk, links_of
from plugmem_core.model import SOURCES
from plugmem_core.recall.sources import CANDIDATES
from plugmem_core.store import Vector
from plugmem_core.text import Window, tokenize

SIGNALS = (*SOURCES, "date", "year", "neighbour", "link")
"""The four sources come first, in their order."""

BM25, VECTOR, GRAPH, TIME, DATE, YEAR, NEIGHBOUR, LINK = range(len(SIGNALS))

AFTERMATH = 12 * DAY_MS
"""People tell of what happened days ago: so long after a date a fact still gets half its points."""

MENTION_HOPS = 2
"""From a fact to the entity that it mentions, and from there to what is about that."""

SEEDS = 2
"""Facts whose links are followed."""

STARTS = 32
"""Facts whose neighbours are looked at."""

LINKED = 16
"""Facts of an entity that a link may lift, the newest."""

MOST_YEARS = 100
"""Years of a window that are looked for in texts."""

NO_FLOOR = float("-inf")


class Scorer:
    """Gives candidates their points for words and vector.

    Both are on one scale: `share * bm25 / max` for the words, and
    `(1 - share) * (cosine - lo) / (hi - lo)` for the vector, with max, lo and hi over the
    candidates the sources ranked. Every candidate has its exact BM25 and its exact cosine,
    whichever source it came from. Where there are only words, or only a vector, that has the
    whole share. A fact about an entity that the question names counts as if its text had the
    words of that name, since texts seldom repeat their subject.

    Args:
        index: In step with truth.
        tokens: What the question asks for, as the lexical index takes it.
        named: The entities that it names.
        vector: The question's vector.
        config: Shares, and the floor under which a cosine is no evidence.
        weights: What words and vector count in this recall, beside their shares.
    """

    def __init__(
        self,
        index: Index,
        tokens: list[str],
        named: Sequence[int],
        vector: Vector | None,
        config: MemoryConfig,
        weights: Sequence[float],
    ) -> None:
        self._index = index
        self._tokens = tokens
        self._named = [(entity, self._asked_of(entity)) for entity in named] if tokens else []
        self._vector = vector if index.vectors is not None else None
        share = config.text_share
        if not tokens or self._vector is None:
            share = 1.0 if tokens else 0.0
        self._words_weight = share * weights[BM25]
        self._vector_weight = (1 - share) * weights[VECTOR]
        floor = config.min_similarity
        self._floor = NO_FLOOR if floor is None else floor

    def score(self, pool: Pool) -> None:
        """Score the candidates that have not been scored yet."""
        index = self._index
        if self._tokens:
            index.lexical.match(pool, self._tokens)
            for entity, tokens in self._named:
                index.lexical.name(pool, tokens, entity, index.facts)
        if self._vector is not None and index.vectors is not None:
            pool.measure(index.vectors.pool, self._vector, self._floor)
        pool.fuse(BM25, self._words_weight, VECTOR, self._vector_weight)

    def _asked_of(self, entity: int) -> list[str]:
        """Return the words of an entity's name that the question has."""
        name = tokenize(self._index.names.shown[entity][0])
        asked = {token.removesuffix("'s").removesuffix("’s") for token in self._tokens}
        return [token for token in dict.fromkeys(name) if token in asked]


def entity_evidence(pool: Pool, index: Index, walked: Walk, points: float) -> None:
    """Lift facts about the entities that the question names, or that are near those.

    A fact gets `points` times what the walk left of its entity's weight: 1 for an entity that
    was named, `graph_decay` to the power of the hops otherwise. Facts that the walk itself met
    by an edge get the weight of that.
    """
    pool.listed(GRAPH, GRAPH, points)
    pool.about(GRAPH, walked.nodes, walked.weights, points, index.facts)


def range_evidence(pool: Pool, points: float) -> None:
    """Lift facts in the window that the caller asked for, or among the newest.

    The newest of them gets `points`, and the one at place p, from 0, `points / (1 + p / 128)`.
    """
    pool.placed(TIME, TIME, points, CANDIDATES)


def date_evidence(pool: Pool, index: Index, windows: Sequence[Window], points: float) -> None:
    """Lift facts that began to hold, or were recorded, in a window that the question names.

    They get `points`; those up to 12 days later half of them. A window is half-open.
    """
    for window in windows:
        pool.within(DATE, window.start, window.end, AFTERMATH, points, index.facts)


def year_evidence(pool: Pool, index: Index, windows: Sequence[Window], points: float) -> None:
    """Give facts whose text names a year that the question asks about `points`."""
    years = {
        year
        for first, last in (window.years for window in windows if window.years)
        for year in range(first, min(last, first + MOST_YEARS) + 1)
    }
    if not years:
        return
    terms, _ = index.lexical.postings.lookup([str(year) for year in sorted(years)])
    if terms:
        pool.naming(YEAR, index.lexical.postings, terms, points)


def neighbour_evidence(
    pool: Pool, index: Index, scorer: Scorer, scope: Scope, before: float, after: float
) -> None:
    """Give each turn of a session a share of the points of the turns beside it.

    `before` times those of the turn before it and `after` times those of the turn after. The
    neighbours of the best candidates become candidates.
    """
    turns = index.sessions.turns
    if not turns or not (before or after):
        return
    pool.bring(turns.beside(pool.best(STARTS), index.facts, scope))
    scorer.score(pool)
    pool.neighbours(NEIGHBOUR, turns, before, after, index.facts, scope)


def link_evidence(
    pool: Pool, index: Index, scorer: Scorer, scope: Scope, share: float, cap: float
) -> None:
    """Lift the facts about what the best two candidates mention.

    A fact about an entity that a better one names may rise to

        min(own + share * weight * seed, cap * seed)

    where `own` are its points so far, `seed` those of the one that leads there, and the weight
    of the entity is (1 - ln(1 + uses) / ln(1 + N))^2: the more of the N facts mention it or
    are about it, the less it leads anywhere. Without the cap, what a passage leads to would come
    before the passage itself.
    """
    if not share:
        return
    mentions, facts = index.mentions, index.facts
    seeds = pool.best(SEEDS)
    links = [
        links_of(seed, mentions.entities, mentions.facts, index.entities, LINKED, facts, scope)
        for seed in seeds
    ]
    for link in links:
        pool.bring(link.facts)
    scorer.score(pool)
    for seed, link in zip(seeds, links, strict=True):
        pool.link(LINK, seed, link, share, cap)
