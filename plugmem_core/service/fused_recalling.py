"""Verbs that answer questions by a search and the graph together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from plugmem_core.errors import ServiceError
from plugmem_core.inputs import check_type
from plugmem_core.service.arguments import check_boost, clamp
from plugmem_core.service.config import Mode
from plugmem_core.service.dating import render_dated
from plugmem_core.service.fusion import fuse, graph_weights, place_score
from plugmem_core.service.identity import DATE_KEY
from plugmem_core.service.recalling import RecallVerbs, recalled
from plugmem_core.service.records import DatedRecall, RecalledMemory
from plugmem_core.service.reranking import Reranker
from plugmem_core.service.store import Question, StoredMemory
from plugmem_core.service.walk import Course, check_course, rarities, walk
from plugmem_core.text import check_text
from plugmem_core.verbs.base import twin

LEAST_POOL = 64
POOL_FACTOR = 8


class FusedVerbs(RecallVerbs):
    """Verbs that answer questions by a search and the graph together."""

    def recall_fused(
        self,
        query: str,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        hops: int | None = None,
        graph_boost: float | None = None,
        pool: int | None = None,
        seeds: int = 1,
        direction: Course = "out",
        mode: Mode | None = None,
        min_score: float | None = None,
        use_feedback: bool = False,
    ) -> list[RecalledMemory]:
        """Return the memories that a search or a walk from its best hits finds, best first.

        A pool of hits is searched, and the graph walked from the first of them. A memory
        scores `max(s, 0) / m + graph_boost · w`: `s` is its cosine, or in mode `"fused"` its
        `rank_score`, at most `1 / (1 + place / 8)` for its place in the pool, or 0 outside; `m`
        is the best one; `w` is 1 for a memory that only typed edges lead to, else the `idf` of
        the rarest entity that mentions it (see `Evidence`), and 0 for the seeds and for what the
        walk did not meet.
        The filter holds for the walk, too: see `plugmem_core.service.walk`.

        Args:
            query: The question.
            k: Most memories to return.
            where: Only memories whose metadata passes.
            hops: Most edges from a seed; at most `max_hops`; 0 leaves the graph out.
            graph_boost: What the graph counts; NaN and infinities count as the default.
            pool: Most hits, 1 at least and `max_pool` at most; 8 · k, at least 64, when left out.
            seeds: From how many hits the walk starts.
            direction: `"out"` walks along edges only, `"both"` against them, too.
            mode: What ranks the pool.
            min_score: The least score of the pool; what the graph finds has none.
            use_feedback: Whether what was learned changes the order.

        Raises:
            InvalidInputError: An argument breaks its rule, or the mode needs an embedder.
            ServiceError: The mode needs the embedder, which failed.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> cause = service.remember("the boiler valve was replaced")
        >>> _ = service.remember("heating failed on Monday", links=[(cause, "caused by")])
        >>> [memory.content for memory in service.recall_fused("why did heating fail?")]
        ['heating failed on Monday', 'the boiler valve was replaced']
        """
        question = self._question(query, k, where, mode, min_score)
        fused = self._fused(question, hops, graph_boost, pool, seeds, direction)
        return self._feedback_order(fused[: question.k], use_feedback=use_feedback)

    def recall_fused_dated(
        self,
        query: str,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        date_field: str = DATE_KEY,
        hops: int | None = None,
        graph_boost: float | None = None,
        pool: int | None = None,
        seeds: int = 1,
        direction: Course = "out",
        mode: Mode | None = None,
        min_score: float | None = None,
        use_feedback: bool = False,
    ) -> DatedRecall:
        """Return what `recall_fused` finds, and it as a timeline to reckon by.

        Args:
            query: The question, and as for `recall_fused` are all others.
            k: Most memories to return.
            where: Only memories whose metadata passes.
            date_field: The metadata key that holds a day as an integer, 20240501.
            hops: Most edges from a seed.
            graph_boost: What the graph counts.
            pool: Most hits.
            seeds: From how many hits the walk starts.
            direction: Whether edges are walked in both directions.
            mode: What ranks the pool.
            min_score: The least score of the pool.
            use_feedback: Whether what was learned changes the order.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> _ = service.remember("Ivo moved to Bern", metadata={"_plugmem_date": 20240501})
        >>> print(service.recall_fused_dated("where does Ivo live?").dated_context)
        - [2024-05-01] Ivo moved to Bern
        """
        key = check_text(date_field, "date_field", max_bytes=self._config.max_metadata)
        found = self.recall_fused(
            query,
            k,
            where,
            hops=hops,
            graph_boost=graph_boost,
            pool=pool,
            seeds=seeds,
            direction=direction,
            mode=mode,
            min_score=min_score,
            use_feedback=use_feedback,
        )
        return DatedRecall(tuple(found), *render_dated(found, key))

    def recall_fused_reranked(
        self,
        query: str,
        reranker: Reranker,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        hops: int | None = None,
        graph_boost: float | None = None,
        pool: int | None = None,
        seeds: int = 1,
        direction: Course = "out",
        mode: Mode | None = None,
        min_score: float | None = None,
    ) -> list[RecalledMemory]:
        """Return what a reranker puts first among all that `recall_fused` finds in its pool.

        Args:
            query: The question, and as for `recall_fused` are all others.
            reranker: What orders the candidates.
            k: Most memories to return.
            where: Only memories whose metadata passes.
            hops: Most edges from a seed.
            graph_boost: What the graph counts.
            pool: Most hits, and most candidates.
            seeds: From how many hits the walk starts.
            direction: Whether edges are walked in both directions.
            mode: What ranks the pool.
            min_score: The least score of the pool.

        Raises:
            ServiceError: The reranker failed, or returned something else than candidates.

        >>> from plugmem_core.service import DeterministicReranker, MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> _ = service.remember("green tea is in the tin")
        >>> found = service.recall_fused_reranked("green tea", DeterministicReranker(), k=1)
        >>> found[0].content
        'green tea is in the tin'
        """
        check_type(reranker, Reranker, "reranker", "an object with rerank")
        question = self._question(query, k, where, mode, min_score)
        candidates = self._fused(question, hops, graph_boost, pool, seeds, direction)
        if not candidates:
            return []
        depth = self._depth(pool, question.k)
        return _reranked(reranker, question.text, candidates[:depth])[: question.k]

    arecall_fused = twin(recall_fused)
    arecall_fused_dated = twin(recall_fused_dated)
    arecall_fused_reranked = twin(recall_fused_reranked)

    def _depth(self, pool: int | None, k: int) -> int:
        most = self._config.max_pool
        return max(1, clamp(pool, "pool", max(POOL_FACTOR * k, LEAST_POOL), most))

    def _fused(
        self,
        question: Question,
        hops: int | None,
        graph_boost: float | None,
        pool: int | None,
        seeds: int,
        direction: Course,
    ) -> list[RecalledMemory]:
        if not question.text:
            return []
        config = self._config
        depth = self._depth(pool, question.k)
        steps = clamp(hops, "hops", config.hops, config.max_hops)
        boost = check_boost(graph_boost, config)
        starts = clamp(seeds, "seeds", 1, config.max_nodes)
        course = check_course(direction)
        if not question.k:
            return []
        hits = self._store.search(replace(question, k=depth))
        start = ((hit.memory, hit.score) for hit in hits[:starts])
        walked = walk(self._store, start, steps, course, question.where, config)
        reached = {
            one: met.memory
            for one, met in walked.nodes.items()
            if met.hop and not met.memory.is_entity
        }
        mentioned_by = walked.mentioned_by()
        entities = sorted({entity for ones in mentioned_by.values() for entity in ones})
        weights = graph_weights(list(reached), mentioned_by, rarities(self._store, entities))
        known: dict[int, tuple[StoredMemory, float]] = {
            one: (memory, 0.0) for one, memory in reached.items()
        } | {hit.memory.id: (hit.memory, hit.score) for hit in hits}
        learned = self._store.learned(known)
        by_cosine = question.mode == "vector"
        pool_scores = [
            (hit.memory.id, hit.rank_score if by_cosine else place_score(hit.rank_score, place))
            for place, hit in enumerate(hits)
        ]
        return [
            recalled(*known[one], score, weights.get(one, 0.0), learned)
            for one, score in fuse(pool_scores, weights, boost)
        ]


def _reranked(
    reranker: Reranker, query: str, candidates: list[RecalledMemory]
) -> list[RecalledMemory]:
    try:
        ordered = list(reranker.rerank(query, tuple(candidates)))
    except Exception as error:
        raise ServiceError(
            f"{type(reranker).__name__} failed with {type(error).__name__}; its cause says more"
        ) from error
    given = {candidate.id for candidate in candidates}
    ids = [one.id for one in ordered if isinstance(one, RecalledMemory) and one.id in given]
    if len(set(ids)) < len(ordered):
        raise ServiceError(
            f"{type(reranker).__name__} returned something else than candidates, or one twice; "
            "let it return each of those it was given once at most"
        )
    return ordered
