"""`PlugmemRetriever`: recall as a LlamaIndex retriever."""

from collections.abc import Iterator, KeysView, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_plugmem._mapping import to_nodes
from plugmem_core import Instant, Memory, Namespace
from plugmem_core.adapters.fields import FactField, check_include
from plugmem_core.inputs import VectorLike, check_type
from plugmem_core.model import SOURCES
from plugmem_core.recall import Anchors, Reranker, make_query
from plugmem_core.verbs.base import twin


class PlugmemRetriever(BaseRetriever):
    """Answers a question with the facts a memory recalls, as nodes with scores.

    The settings mean what the arguments of `Memory.recall` mean, under the same names.
    Sync and async agree; the async methods leave the event loop free.

    A node's `text` is the fact's text, its `metadata` the fact's metadata as stored, its
    `node_id` the fact's key, or else `fact:` and its id. Facts from namespaces below
    `namespace`, and the superseded versions that `closed=True` brings back, go by their
    id: they may share a key with another fact, and LlamaIndex would drop one of the two.
    Equal facts are equal nodes whatever was asked, so fusion adds up their scores.

    An engine that is given no nodes answers "Empty Response" without asking its language
    model. So the best there is comes back however little it fits, and when nothing fits at
    all, the newest facts; unless `min_score` is set, or `sources` leaves one out. A blank
    question without an embedding finds nothing.

    The `embedding` of a `QueryBundle` is used as the question's vector: it must come from
    the model that the memory's vectors come from. Without one the memory embeds the
    question itself, or what the bundle says to embed instead. (LlamaIndex's own vector
    retriever leaves its embedding in the bundle when called synchronously; fused with one
    of another model, keep `use_async=True`.)
    Neither LlamaIndex's `Settings` nor a language model is ever used.

    Args:
        memory: The open memory; closing it remains the caller's task.
        k: Most nodes to return.
        tags: Only facts with all of these tags.
        any_tags: Only facts with one of these at least.
        not_tags: Only facts with none of these.
        where: A filter over metadata; see `plugmem_core.filters`.
        namespace: The scope: itself and what lies below it.
        as_of: The instant to look from, moving both clocks.
        valid_at: The instant at which facts must have been true.
        known_at: The instant by which they must have been recorded.
        range: `(from, to)` over record time: adds the newest facts in it.
        closed: Whether superseded facts are returned too.
        entities: Names to start the graph walk from.
        anchors: `"auto"` adds the entities whose names the question mentions.
        sources: Which of `bm25`, `vector`, `graph` and `time` may find facts.
        weights: What each source counts, and `recency`; by default as the memory's
            configuration says.
        graph_depth: Hops from the anchors; by default the memory's `graph_depth`.
        min_score: Leave out facts whose final score is lower.
        reranker: Gives the best facts another order, such as a `PostprocessorReranker`; by
            default the memory's own.
        rerank_top: How many facts it looks at; by default as the memory's configuration says.
        diversity: From 1, where nothing changes, to 0, where nodes differ most.
        duplicates: Leave out what is like a better node by more than this, from 0 to 1.
        token_budget: Most tokens of all texts together. Unlike `Memory.recall`, no limit
            by default: who asks a retriever for `k` nodes expects `k`.
        include: Fields of the fact to add to the metadata, each as `fact_` and its name:
            `id`, `key`, `entity`, `tags`, `namespace`, `recorded_at`, `valid_from`,
            `valid_to`, `expires_at`, `revises`, `score`, `sources`. None by default, so
            that equal facts are equal nodes.
        explain: Whether to add `fact_explanation`: which sources found the fact, at
            which rank, and what that gave.
        callback_manager: LlamaIndex's; told of every retrieval.
        verbose: LlamaIndex's.

    Raises:
        InvalidInputError: A setting breaks its rule; a `ValueError`.
        WrongTypeError: A setting, or the question, has another type; a `TypeError`.
        VectorSpaceError: An `embedding` has another dimension than the memory's vectors.

    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:")
    >>> _ = memory.remember("Mara prefers green tea", key="mara-drink", tags=["taste"])
    >>> [found] = PlugmemRetriever(memory, k=3).retrieve("what tea?")
    >>> found.node_id, found.text, found.metadata
    ('mara-drink', 'Mara prefers green tea', {})
    >>> PlugmemRetriever(memory, tags=["travel"]).retrieve("what tea?")
    []
    >>> [found] = PlugmemRetriever(memory, include=["sources"]).retrieve("what tea?")
    >>> found.metadata
    {'fact_sources': ['bm25']}
    """

    def __init__(
        self,
        memory: Memory,
        *,
        k: int = 8,
        tags: Sequence[str] = (),
        any_tags: Sequence[str] = (),
        not_tags: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        namespace: Namespace = (),
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
        known_at: Instant | None = None,
        range: tuple[Instant, Instant] | None = None,  # noqa: A002 - the name users know
        closed: bool = False,
        entities: Sequence[str] = (),
        anchors: Anchors = "auto",
        sources: Sequence[str] = SOURCES,
        weights: Mapping[str, float] | None = None,
        graph_depth: int | None = None,
        min_score: float | None = None,
        reranker: Reranker | None = None,
        rerank_top: int | None = None,
        diversity: float | None = None,
        duplicates: float | None = None,
        token_budget: int | None = None,
        include: Sequence[FactField] = (),
        explain: bool = False,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        check_type(memory, Memory, "memory", "an open Memory")
        settings = {
            "k": k,
            "tags": tags,
            "any_tags": any_tags,
            "not_tags": not_tags,
            "where": where,
            "namespace": namespace,
            "as_of": as_of,
            "valid_at": valid_at,
            "known_at": known_at,
            "range": range,
            "closed": closed,
            "entities": entities,
            "anchors": anchors,
            "sources": sources,
            "weights": weights,
            "graph_depth": graph_depth,
            "min_score": min_score,
            "rerank_top": rerank_top,
            "diversity": diversity,
            "duplicates": duplicates,
            "token_budget": token_budget,
            "explain": explain,
        }
        lasting = {name: _lasting(value) for name, value in settings.items()}
        query = make_query("", reranker=reranker, **lasting)
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self.memory = memory
        # A later change to what the caller passed changes no setting.
        self._settings: dict[str, Any] = {**deepcopy(lasting), "reranker": reranker}
        self._include = check_include(include)
        self._namespace = query.namespace
        self._closed = query.closed

    # LlamaIndex passes the bundle by this very name.
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if not _asks(query_bundle):
            return []
        vector: VectorLike | None = query_bundle.embedding
        if vector is None and query_bundle.custom_embedding_strs:
            vector = self._mean_vector(query_bundle.custom_embedding_strs)
        if vector is not None and not np.any(vector):  # as of a text without words
            vector = None
        result = self.memory.recall(query_bundle.query_str, vector=vector, **self._settings)
        if not result.facts and self._fills_up:
            result = self.memory.recall(**{**self._settings, "sources": ("time",)})
        return to_nodes(result, self._include, self._namespace, closed=self._closed)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await twin(self._retrieve)(query_bundle)

    @property
    def _fills_up(self) -> bool:
        """Whether the newest facts are better than none."""
        settings = self._settings
        return settings["min_score"] is None and set(settings["sources"]) == set(SOURCES)

    def _mean_vector(self, texts: Sequence[str]) -> VectorLike | None:
        """Return the mean vector of texts, as LlamaIndex's own retrievers make it."""
        vectors = [self.memory.embed_query(text) for text in texts if text.strip()]
        made = [vector for vector in vectors if vector is not None]
        return np.mean(made, axis=0) if made else None


def _lasting(value: Any) -> Any:
    """Return the value; a list of what it gives, if that can be read once or changes elsewhere."""
    return list(value) if isinstance(value, Iterator | KeysView) else value


def _asks(query_bundle: QueryBundle) -> bool:
    check_type(query_bundle.query_str, str, "query_str", "the question as text")
    return query_bundle.embedding is not None or bool(query_bundle.query_str.strip())
