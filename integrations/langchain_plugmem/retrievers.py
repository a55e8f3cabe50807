"""`PlugmemRetriever`: recall as a LangChain retriever."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, Field, Strict, StrictBool, StrictInt, StrictStr, model_validator

from langchain_plugmem._mapping import to_documents
from langchain_plugmem.embeddings import LangChainEmbedder
from plugmem_core import InvalidInputError, Memory
from plugmem_core.adapters.fields import FactField, check_include
from plugmem_core.inputs import check_type
from plugmem_core.model import SOURCES
from plugmem_core.recall import make_query

StrictInstant = StrictInt | StrictStr | Annotated[datetime, Strict()]
"""An `Instant` that pydantic does not convert: 1.0 and True are no times."""


class PlugmemRetriever(BaseRetriever):
    """Answers a question with the facts a memory recalls, as documents.

    Setup:
        ```bash
        pip install "plugmem-core[langchain]"
        ```

    Every setting below may be given to the constructor, to one call (`invoke`, `ainvoke`,
    `batch`, `bind`), or through `configurable_fields`; sync and async agree. A setting
    that does not exist is an error everywhere. The settings mean what the arguments of
    `Memory.recall` mean, under the same names. That holds for `tags`, too: it chooses
    facts, and tags of a run are given with `with_config(tags=...)`.

    A document's `page_content` is the fact's text, its `id` the fact's key or else its
    id as text, its `metadata` the fact's metadata as stored. The versions of a fact that
    `closed=True` brings back share their key; `include=["id"]` tells them apart.

    Key init args:
        memory: The open memory. Copies of the retriever, deep ones too, share it; closing
            it remains the caller's task.
        k: Most documents to return.
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
        reranker: Gives the best facts another order, such as a `CompressorReranker`; by default
            the memory's own.
        rerank_top: How many facts it looks at; by default as the memory's configuration says.
        diversity: From 1, where nothing changes, to 0, where documents differ most.
        duplicates: Leave out what is like a better document by more than this, from 0 to 1.
        token_budget: Most tokens of all texts together. Unlike `Memory.recall`, no limit
            by default: who asks a retriever for `k` documents expects `k`.
        include: Fields of the fact to add to the metadata, each as `fact_` and its name:
            `id`, `key`, `entity`, `tags`, `namespace`, `recorded_at`, `valid_from`,
            `valid_to`, `expires_at`, `revises`, `score`, `sources`. None by default, so
            that equal facts are equal documents.
        explain: Whether to add `fact_explanation`: which sources found the fact, at
            which rank, and what that gave.

    Raises:
        pydantic.ValidationError: A setting of the constructor is unknown or breaks its
            rule; a `ValueError`.
        InvalidInputError: The same for one call; a `ValueError`, too.
        WrongTypeError: The question is no text.

    Instantiate and use:
        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("Mara prefers green tea", key="mara-drink", tags=["taste"])
        >>> retriever = PlugmemRetriever(memory=memory, k=3)
        >>> retriever.invoke("what tea?")
        [Document(id='mara-drink', metadata={}, page_content='Mara prefers green tea')]

    One call with other settings:
        >>> retriever.invoke("what tea?", tags=["travel"])
        []
        >>> retriever.bind(include=["sources"]).invoke("what tea?")[0].metadata
        {'fact_sources': ['bm25']}
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    k: StrictInt = 8
    tags: list[str] | None = None
    any_tags: Sequence[str] = ()
    not_tags: Sequence[str] = ()
    where: dict[str, Any] | None = None
    namespace: Sequence[str] = ()
    as_of: StrictInstant | None = None
    valid_at: StrictInstant | None = None
    known_at: StrictInstant | None = None
    range: tuple[StrictInstant, StrictInstant] | None = None
    closed: StrictBool = False
    entities: Sequence[str] = ()
    anchors: Literal["auto", "given"] = "auto"
    sources: Sequence[str] = SOURCES
    weights: dict[str, float] | None = None
    graph_depth: StrictInt | None = None
    min_score: float | None = None
    reranker: Any = Field(default=None, exclude=True, repr=False)
    rerank_top: StrictInt | None = None
    diversity: float | None = None
    duplicates: float | None = None
    token_budget: StrictInt | None = None
    include: Sequence[FactField] = ()
    explain: StrictBool = False

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_settings(cls, given: Any) -> Any:
        # `extra="forbid"` would do, but its message does not say what is accepted.
        if isinstance(given, dict):
            _refuse_unknown(given, cls.model_fields)
        return given

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        arguments, _ = self._arguments({})
        make_query("", **arguments)
        return self

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - nothing runs below recall
        **overrides: Any,
    ) -> list[Document]:
        arguments, include = self._arguments(overrides)
        return to_documents(self.memory.recall(_checked(query), **arguments), include)

    # The inherited one would refuse the overrides.
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - as above
        **overrides: Any,
    ) -> list[Document]:
        arguments, include = self._arguments(overrides)
        return to_documents(await self.memory.arecall(_checked(query), **arguments), include)

    def _arguments(self, overrides: dict[str, Any]) -> tuple[dict[str, Any], list[FactField]]:
        """Return the arguments of `recall`, and the fields to include in the metadata."""
        _refuse_unknown(overrides, _SETTINGS)
        settings = {name: getattr(self, name) for name in _SETTINGS} | overrides
        settings["tags"] = settings["tags"] or ()
        return settings, check_include(settings.pop("include"))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        params["ls_vector_store_provider"] = "plugmem"
        embedder = self.memory.embedder
        if embedder is not None:
            maker = embedder.embeddings if isinstance(embedder, LangChainEmbedder) else embedder
            params["ls_embedding_provider"] = type(maker).__name__
            params["ls_embedding_model"] = embedder.space_id
        return params


_SETTINGS = [
    name
    for name in PlugmemRetriever.model_fields
    if name not in {"memory", "name", "metadata"}  # the last two are LangChain's
]


def _refuse_unknown(given: Iterable[str], accepted: Collection[str]) -> None:
    unknown = [name for name in given if name not in accepted]
    if unknown:
        raise InvalidInputError(
            f"unknown {', '.join(map(repr, unknown))}; accepted are {', '.join(accepted)}"
        )


def _checked(query: object) -> str:
    check_type(query, str, "query", "the question as text")
    return str(query)
