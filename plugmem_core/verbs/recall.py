"""Recall, and the explanation of what is missing from it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from plugmem_core.clock import Instant
from plugmem_core.engine import Engine
from plugmem_core.errors import NotFoundError
from plugmem_core.index import MetEdges
from plugmem_core.inputs import VectorLike, check_id, check_vector
from plugmem_core.kernels import OPEN, IdSet, recalled_facts
from plugmem_core.model import SOURCES, Namespace, RecalledFact
from plugmem_core.recall import (
    MAX_QUERY_BYTES,
    SOURCE_NAMES,
    Absence,
    Anchors,
    Explanation,
    FactExplanation,
    Query,
    Ranking,
    Read,
    Rearranged,
    RecallResult,
    Reranker,
    Row,
    candidates,
    choose,
    explain_absence,
    explain_rows,
    looked_at,
    make_query,
    rank,
    rearrange,
    require_question,
)
from plugmem_core.store import Vector, load_object
from plugmem_core.text import check_text
from plugmem_core.verbs.base import Verbs, twin

ATTEMPTS = 8
"""Rankings tried while other handles remove the facts that were ranked."""


class _Found(NamedTuple):
    """What the stages found, as of one moment."""

    ranking: Ranking
    rows: list[Row]  # the best candidates, more than are returned
    met: MetEdges | None
    unlearned: set[int]  # facts whose end was learned after the instant of knowledge
    explained: tuple[FactExplanation, ...]
    passing: IdSet | None
    now: int
    note: str | None


class RecallVerbs(Verbs):
    """Verbs that answer questions."""

    def recall(
        self,
        text: str | None = None,
        *,
        k: int = 8,
        tags: Iterable[str] = (),
        any_tags: Iterable[str] = (),
        not_tags: Iterable[str] = (),
        entities: Iterable[str] = (),
        anchors: Anchors = "auto",
        sources: Collection[str] = SOURCES,
        weights: Mapping[str, float] | None = None,
        where: Mapping[str, Any] | None = None,
        among: Iterable[int] | None = None,
        vector: VectorLike | None = None,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
        known_at: Instant | None = None,
        range: tuple[Instant, Instant] | None = None,  # noqa: A002 - the name users know
        closed: bool = False,
        token_budget: int | None = 512,
        graph_depth: int | None = None,
        namespace: Namespace = (),
        below: bool = True,
        ef: int | None = None,
        min_score: float | None = None,
        explain: bool = False,
        reranker: Reranker | None = None,
        rerank_top: int | None = None,
        diversity: float | None = None,
        duplicates: float | None = None,
    ) -> RecallResult:
        """Return the facts that answer a question, best first, and why.

        Up to four sources rank facts: the words of `text`, its vector, the graph
        around the anchors, and record time within `range`. Their rankings are fused,
        recent facts are lifted, and the best are returned while `k` and the token
        budget allow. Tags or a filter alone answer with the newest facts that match.

        Args:
            text: The question; any text, none of it is syntax. Of a long one the first 1,024
                different words are looked up; embedders, rerankers and dates have all of it.
            k: Most facts to return.
            tags: Only facts with all of these tags.
            any_tags: Only facts with one of these at least.
            not_tags: Only facts with none of these.
            entities: Names to start the graph walk from; unknown ones are skipped.
            anchors: `"auto"` adds the entities whose names the text mentions,
                `"given"` keeps to those named.
            sources: Which of `"bm25"`, `"vector"`, `"graph"` and `"time"` may find facts.
                `("time",)` alone is a question, too: the newest facts.
            weights: What each source counts in this recall, and `"recency"`, from 0 to
                1,000; what is left out counts as the configuration says.
            where: A filter over metadata; see `plugmem_core.filters`.
            among: Only facts with one of these ids; all by default.
            vector: The question's embedding; by default the embedder makes it.
            as_of: The instant to look from, moving both clocks: only what was
                recorded and true by then, and the edges of that time.
            valid_at: The instant at which facts must have been true.
            known_at: The instant by which they must have been recorded; what was
                learned later, an end of validity too, does not count.
            range: `(from, to)` over record time, half-open: adds the newest in it.
            closed: Whether superseded facts are returned too.
            token_budget: Most tokens of the block, by the estimate of a quarter of
                the bytes plus 8 a fact; `None` for no limit.
            graph_depth: Hops from the anchors; by default `config.graph_depth`.
            namespace: The scope: itself and what lies below it.
            below: Whether what lies below it is in the scope.
            ef: Beam of the vector graph; by default `config.hnsw_ef_search`.
            min_score: Leave out facts whose final score is lower.
            explain: Whether to say where each score comes from.
            reranker: Gives the best facts another order, and their scores; by default the one
                the memory was opened with. Where it fails or takes longer than
                `config.rerank_timeout`, the order of before stands.
            rerank_top: How many facts it looks at, or `k` if that is more; 0 for none; by
                default `config.rerank_top`.
            diversity: From 1, where nothing changes, to 0, where the facts are as different
                from each other as can be: the balance of maximal marginal relevance.
            duplicates: Leave out a fact that is like a better one by more than this, from 0 to
                1, by vector or by words: 0.9 keeps one of two that say nearly the same.

        Returns:
            The facts, the edges met, whether candidates were left out, and the block.

        Raises:
            InvalidInputError: An argument breaks its rule, or nothing was asked.
            VectorSpaceError: The vector has another dimension than the file's.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> old = memory.remember("the heater stands at nine degrees", valid_from="2024-01-10")
        >>> _ = memory.revise(old.id, "the heater stands at twelve", valid_from="2024-08-20")
        >>> print(memory.recall("heater").rendered, end="")
        ## memory
        - [f1] the heater stands at twelve (2024-08; active)
        >>> [fact.text for fact in memory.recall("heater", valid_at="2024-03-01").facts]
        ['the heater stands at nine degrees']
        """
        query = make_query(
            text,
            k=k,
            tags=tags,
            any_tags=any_tags,
            not_tags=not_tags,
            entities=entities,
            anchors=anchors,
            sources=sources,
            weights=weights,
            where=where,
            among=among,
            vector=vector,
            as_of=as_of,
            valid_at=valid_at,
            known_at=known_at,
            range=range,
            closed=closed,
            token_budget=token_budget,
            graph_depth=graph_depth,
            namespace=namespace,
            below=below,
            ef=ef,
            min_score=min_score,
            explain=explain,
            reranker=self._engine.reranker if reranker is None else reranker,
            rerank_top=rerank_top,
            diversity=diversity,
            duplicates=duplicates,
            dim=0 if vector is None else self._query_dim(vector),
        )
        if text is None:
            require_question(query)
        return self._answer(query)

    def explain_absent(self, id: int, text: str | None = None, **arguments: Any) -> Absence:  # noqa: A002
        """Say why a fact is not in the result of a recall.

        Args:
            id: The fact.
            text: The question, as given to `recall`.
            **arguments: The other arguments of that `recall`.

        Returns:
            The first test the fact failed, in the order of the stages, or `"present"`.

        Raises:
            NotFoundError: No such fact in the namespace.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipt = memory.remember("the barn is red", tags=["farm"])
        >>> memory.explain_absent(receipt.id, "barn", tags=["city"]).reason
        'not in scope'
        """
        fact = check_id(id)
        arguments["explain"] = True  # every candidate counts here
        if arguments.get("reranker") is None:
            arguments["reranker"] = self._engine.reranker
        query = make_query(text, dim=self._query_dim(arguments.get("vector")), **arguments)
        require_question(query)
        engine = self._ready()
        rows = engine.store.facts([fact])
        spaces = engine.index.spaces.mask(query.namespace, below=query.below)
        if not rows or (spaces is not None and not spaces[rows[0].namespace]):
            raise NotFoundError(f"fact {fact} does not exist")
        found = self._rank(engine, query)
        read = _Reader(engine, found).read
        arranged = self._arranged(engine, query, found, read)
        selection = choose(arranged.rows, found.met, engine.config, query, read).selection
        with engine.gate:
            return explain_absence(
                engine.index,
                query,
                rows[0],
                found.ranking,
                selection,
                arranged.left_out,
                found.passing,
                found.now,
            )

    def embed_query(self, text: str) -> Vector | None:
        """Return the vector of a question, for recalls that ask it more than once.

        Args:
            text: The question.

        Returns:
            What the embedder makes of it; `None` without an embedder, while the file has no
            vectors, or when the embedder failed, which is logged.

        >>> from plugmem_core import HashingEmbedder, Memory
        >>> memory = Memory.open(":memory:", embedder=HashingEmbedder(2))
        >>> _ = memory.remember("tea")
        >>> memory.embed_query("tea").shape
        (2,)
        """
        question = check_text(text, "text", max_bytes=MAX_QUERY_BYTES)
        engine = self._ready()
        return engine.vectorizer.query(question, engine.state)[0]

    arecall = twin(recall)
    aembed_query = twin(embed_query)
    aexplain_absent = twin(explain_absent)

    def _query_dim(self, vector: object) -> int:
        if vector is None:
            return 0
        engine = self._ready()
        return engine.vectorizer.expected_dim(engine.state)

    def _rank(self, engine: Engine, query: Query) -> _Found:
        vector, note, past = self._question(engine, query)
        while True:
            passing = None
            if query.where is not None:
                passing, change = engine.passing(query.where)
            now = engine.clock()
            with engine.gate:
                left = vector is not None and engine.index.past != past
                if not left and (passing is None or engine.index.change == change):
                    return self._rank_inside(engine, query, vector, now, passing, note)
            if left:  # the vectors that it was made for are no longer those of the file
                engine.sync()
                vector, note, past = self._question(engine, query)

    @staticmethod
    def _question(engine: Engine, query: Query) -> tuple[Vector | None, str | None, str]:
        """Return a question's vector, why there is none, and the past of the file it is for."""
        wanted = "vector" in query.sources and engine.vectorizer.embedder is not None
        if query.vector is None and not (query.text and wanted):
            return None, None, ""
        with engine.gate:  # both change together
            vectorizer, state = engine.vectorizer, engine.state
        if query.vector is None:
            return *vectorizer.query(query.text or "", state), state.uuid
        if len(query.vector) != state.dim:
            check_vector(query.vector, "vector", state.dim)
        return query.vector, None, state.uuid

    def _rank_inside(
        self,
        engine: Engine,
        query: Query,
        vector: Vector | None,
        now: int,
        passing: IdSet | None,
        note: str | None,
    ) -> _Found:
        index = engine.index
        ranking = rank(index, engine.config, query, vector, now, passing)
        known_at = OPEN if query.known_at is None else query.known_at
        met = None if ranking.walked is None else index.met(ranking.walked, known_at)
        count = candidates(engine.config, query, looked_at(query, engine.config))
        rows = ranking.rows(count, query.min_score)
        unlearned = set()
        if known_at < OPEN:
            closed_at = index.facts.closed_at
            unlearned = {fact for fact, *_ in rows if known_at < closed_at(fact) < OPEN}
        explained: tuple[FactExplanation, ...] = ()
        if query.explain:
            explained = explain_rows(index, query, ranking, rows, engine.config, now)
        return _Found(ranking, rows, met, unlearned, explained, passing, now, note)

    def _answer(self, query: Query) -> RecallResult:
        engine = self._ready()
        for _ in range(ATTEMPTS):
            found = self._rank(engine, query)
            read = _Reader(engine, found).read
            arranged = self._arranged(engine, query, found, read)
            chosen = choose(arranged.rows, found.met, engine.config, query, read)
            if len(chosen.facts) == len(chosen.selection.rows):
                break
            engine.sync()  # a fact was removed between ranking and reading; rank again
        explanation = None
        if query.explain:
            explained = {one.id: one for one in found.explained}
            explanation = Explanation(
                tuple(
                    replace(explained[fact.id], reranked=arranged.reranked.get(fact.id))
                    for fact in chosen.facts
                ),
                tuple(engine.store.entity_names(found.ranking.anchors)),
                found.ranking.candidates,
                tuple(note for note in (found.note, arranged.note) if note is not None),
            )
        return RecallResult(chosen.facts, chosen.met, chosen.truncated, explanation)

    @staticmethod
    def _arranged(engine: Engine, query: Query, found: _Found, read: Read) -> Rearranged:
        if not looked_at(query, engine.config):
            return Rearranged(found.rows)
        return rearrange(found.rows, query, engine.config, read, engine.store.vectors)


class _Reader:
    """Reads ranked facts, as they were at the instant that the recall looks from."""

    def __init__(self, engine: Engine, found: _Found) -> None:
        self._engine = engine
        self._unlearned = found.unlearned

    def read(self, rows: list[Row]) -> tuple[RecalledFact, ...]:
        """Return the facts of rows, without those that were removed meanwhile."""
        cards = self._engine.shown([row[0] for row in rows])
        if len(cards) < len(rows):
            there = {card[0] for card in cards}
            rows = [row for row in rows if row[0] in there]
        facts = recalled_facts(RecalledFact, cards, rows, SOURCE_NAMES, load_object)
        if not self._unlearned:
            return facts
        return tuple(
            fact._replace(valid_to=None) if fact.id in self._unlearned else fact for fact in facts
        )
