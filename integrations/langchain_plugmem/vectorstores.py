"""`PlugmemVectorStore`: a memory as a LangChain vector store."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, Self, get_args

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from langchain_plugmem._mapping import DocumentMapping, store_documents, to_document
from langchain_plugmem.embeddings import LangChainEmbedder
from plugmem_core import (
    EmbedderError,
    FactExplanation,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    RecalledFact,
    WrongTypeError,
)
from plugmem_core.adapters.documents import Documents
from plugmem_core.errors import shown
from plugmem_core.inputs import VectorLike, check_count, check_namespace, check_type
from plugmem_core.model import SOURCES
from plugmem_core.recall import make_query
from plugmem_core.recall.diversity import diverse
from plugmem_core.verbs.base import Closing, twin

Mode = Literal["hybrid", "vector", "text"]
"""What a search goes by."""

_SOURCES: dict[str, tuple[str, ...]] = {
    "hybrid": SOURCES,
    "vector": ("vector",),
    "text": ("bm25",),
}

_SETTINGS = (
    *("tags", "any_tags", "not_tags", "where", "entities", "anchors", "sources", "weights"),
    *("as_of", "valid_at", "known_at", "range", "closed", "graph_depth", "ef", "min_score"),
    *("reranker", "rerank_top", "diversity", "duplicates"),
    "token_budget",
)
"""Arguments of `Memory.recall` that a search passes on."""


class _Found(NamedTuple):
    fact: RecalledFact
    explained: FactExplanation


class PlugmemVectorStore(Closing, VectorStore):
    """Stores documents as facts, and finds them by words, vectors, entities and time.

    Setup:
        ```bash
        pip install "plugmem-core[langchain]"
        ```

    Every method of `VectorStore`, sync and async. Documents come back as they were given,
    with nothing added to their metadata. Adding a document whose id is there replaces it in
    every source, and keeps the earlier version for reads `as_of` an earlier instant; deleting
    forgets every version. A text is embedded once, however often it is added.

    Key init args:
        memory: The open memory. Closing it remains the caller's task.
        namespace: Where the documents live. Searches and `get_by_ids` see this and what lies
            below it; what is added or deleted is in this namespace itself.
        mapping: Which metadata says more than metadata; see `DocumentMapping`.
        mode: `"hybrid"` fuses all sources on one scale, `"vector"` goes by cosine
            alone, `"text"` by BM25 alone.
        weights: What each source counts, and `recency`; by default age plays no part.

    Every search takes, besides its own arguments, `mode`, `filter` (LangChain's name for
    `where`, a filter of `plugmem_core.filters`) and these arguments of `Memory.recall`:
    `tags`, `any_tags`, `not_tags`, `entities`, `anchors`, `sources`, `weights`, `as_of`,
    `valid_at`, `known_at`, `range`, `closed`, `graph_depth`, `ef`, `min_score`, `reranker`,
    `rerank_top`, `diversity`, `duplicates` and `token_budget`, which has no limit by
    default. Others are errors, and so are `sources` in
    a mode that is one source already.

    Raises:
        InvalidInputError: An argument breaks its rule; so do the methods.

    Instantiate and add:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> store = PlugmemVectorStore.open(":memory:", DeterministicFakeEmbedding(size=16))
        >>> store.add_texts(["Mara prefers green tea", "The barn is red"], ids=["tea", "barn"])
        ['tea', 'barn']

    Search, with a score and with a filter:
        >>> store.similarity_search("which tea?", k=1)
        [Document(id='tea', metadata={}, page_content='Mara prefers green tea')]
        >>> [(found, relevance)] = store.similarity_search_with_relevance_scores(
        ...     "The barn is red", k=1
        ... )
        >>> found.id, round(relevance, 2)
        ('barn', 1.0)
        >>> store.similarity_search("which tea?", filter={"source": "handbook"})
        []

    Update and delete:
        >>> _ = store.add_documents([Document("Mara prefers coffee", id="tea")])
        >>> store.get_by_ids(["tea"])[0].page_content
        'Mara prefers coffee'
        >>> store.delete(["tea"]), store.get_by_ids(["tea"])
        (True, [])

    Use as a retriever:
        >>> retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 1})
        >>> retriever.invoke("barn")[0].id
        'barn'
    """

    def __init__(
        self,
        memory: Memory,
        *,
        namespace: Sequence[str] = (),
        mapping: DocumentMapping | None = None,
        mode: Mode = "hybrid",
        weights: Mapping[str, float] | None = None,
    ) -> None:
        check_type(memory, Memory, "memory", "an open Memory")
        check_type(mapping or DocumentMapping(), DocumentMapping, "mapping", "a DocumentMapping")
        self.memory = memory
        self.namespace = check_namespace(namespace)
        self.mapping = mapping or DocumentMapping()
        self.mode = _check_mode(mode)
        self._documents = Documents(memory, self.namespace)
        self.weights = {"recency": 0.0} if weights is None else _check_weights(weights)

    @classmethod
    def open(
        cls,
        path: str | Path,
        embedding: Embeddings | None = None,
        *,
        config: MemoryConfig | None = None,
        **settings: Any,
    ) -> Self:
        """Open a file as a store of its own; `close`, `with` or `async with` lets go of it.

        Args:
            path: The file, made when missing, or `":memory:"`.
            embedding: Makes the vectors; without, words, entities and time answer.
            config: How the memory stores and ranks.
            **settings: As for the class.
        """
        embedder = None if embedding is None else LangChainEmbedder(embedding)
        memory = Memory.open(path, config=config, embedder=embedder)
        try:
            return cls(memory, **settings)
        except BaseException:
            memory.close()
            raise

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        memory: Memory | None = None,
        path: str | Path | None = None,
        **settings: Any,
    ) -> Self:
        """Make a store of texts.

        Args:
            texts: What to add.
            embedding: Makes the vectors; with a `memory`, what that was opened with.
            metadatas: One a text.
            ids: One a text; made up where there is none.
            memory: An open memory to add to, instead of a `path`.
            path: The file, made when missing; by default there is none.
            **settings: As for the class.
        """
        if memory is None:
            store = cls.open(":memory:" if path is None else path, embedding, **settings)
        elif path is not None:
            raise InvalidInputError("memory and path are two places; give one of them")
        else:
            store = cls(memory, **settings)
            if embedding is not None and store.embeddings is not embedding:
                raise InvalidInputError(
                    "embedding is not what makes the vectors of this memory; open it with "
                    "Memory.open(path, embedder=LangChainEmbedder(embedding)), or leave it out"
                )
        try:
            store.add_texts(texts, metadatas, ids=ids)
        except BaseException:
            if memory is None:
                store.close()
            raise
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings | None = None,
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **settings: Any,
    ) -> Self:
        """`from_texts` in a worker thread; the event loop runs on."""
        return await twin(cls.from_texts)(texts, embedding, metadatas, ids=ids, **settings)

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes the vectors, if LangChain embeddings do."""
        embedder = self.memory.embedder
        return embedder.embeddings if isinstance(embedder, LangChainEmbedder) else None

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    # -- adding, deleting and reading

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        ids: Iterable[str | None] | None = None,
        **_kwargs: Any,
    ) -> list[str]:
        """Add documents in one transaction; those whose id is there are replaced.

        Args:
            documents: What to add; they are not changed.
            ids: One a document, in place of its own; where both are missing, one is made up.

        Returns:
            The ids, in order.

        Raises:
            InvalidInputError: A document cannot be a fact; it is named, and none was stored.
        """
        given = list(documents)
        for place, one in enumerate(given):
            check_type(one, Document, f"documents[{place}]", "a Document")
        if ids is not None:
            keys = _one_each(ids, given, "ids")
            given = [
                one if key is None else one.model_copy(update={"id": key})
                for one, key in zip(given, keys, strict=True)
            ]
        return store_documents(self.memory, given, self.mapping, self.namespace)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts, as `add_documents` does.

        Args:
            texts: What to add.
            metadatas: One a text.
            ids: One a text; made up where there is none.
            **kwargs: Ignored, as LangChain's own callers expect.

        Returns:
            The ids, in order.
        """
        if isinstance(texts, str):
            raise WrongTypeError(f"texts is {shown(texts)}, one text; give a list of them")
        given = list(texts)
        for place, text in enumerate(given):
            check_type(text, str, f"texts[{place}]", "a str")
        data = [None] * len(given)
        if metadatas is not None:
            data = _one_each(metadatas, given, "metadatas")
        for place, one in enumerate(data):
            check_type(one, (dict, NoneType), f"metadatas[{place}]", "a dict")
        documents = [
            Document(text, metadata=one or {}) for text, one in zip(given, data, strict=True)
        ]
        return self.add_documents(documents, ids=ids, **kwargs)

    def delete(self, ids: Iterable[str] | None = None, **_kwargs: Any) -> bool:
        """Forget documents, every version of them, in one transaction.

        Only those in the store's own namespace: what lies below it is found, but belongs to
        others. Unknown ids are passed over. The links that the documents brought end.

        Args:
            ids: Which; `None` means all.
        """
        self._documents.delete(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id, as last added, in the order asked; unknown ids are left out."""
        return [to_document(fact) for fact in self._documents.get(ids)]

    # -- searching

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the documents that answer a question, best first.

        Args:
            query: The question; any text, none of it is syntax.
            k: Most documents.
            **kwargs: See the class.
        """
        return [to_document(one.fact) for one in self._search(query, k, kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their scores; higher is better.

        The score is the fused one in mode `"hybrid"`, the cosine in mode `"vector"`, and BM25
        in mode `"text"`.

        Args:
            query: The question.
            k: Most documents.
            **kwargs: See the class.
        """
        score = _SCORES[self._mode(kwargs)]
        return [(to_document(one.fact), score(one)) for one in self._search(query, k, kwargs)]

    def similarity_search_by_vector(
        self, embedding: VectorLike, k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """Return the documents whose vectors are nearest, by cosine.

        Args:
            embedding: The vector.
            k: Most documents.
            **kwargs: See the class.
        """
        return [document for document, _ in self._nearest(embedding, k, kwargs)]

    def similarity_search_by_vector_with_score(
        self, embedding: VectorLike, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return the documents whose vectors are nearest, with their cosines.

        Args:
            embedding: The vector.
            k: Most documents.
            **kwargs: See the class.
        """
        return self._nearest(embedding, k, kwargs)

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that answer a question and differ from each other.

        Carbonell and Goldstein's maximal marginal relevance (SIGIR 1998) over the best
        `fetch_k`, by the cosines of their vectors; by those of their words where a vector
        is missing.

        Args:
            query: The question.
            k: Most documents.
            fetch_k: Most documents to choose from.
            lambda_mult: 1 goes by relevance alone, 0 by difference alone.
            **kwargs: See the class.
        """
        check_type(query, str, "query", "the question as text")
        asked: VectorLike | None = self.memory.embed_query(query)
        found = self._search(query, _pool(k, fetch_k), kwargs, asked)
        facts = [one.fact for one in found]
        vectors: Sequence[VectorLike | None] = self.memory.vectors([fact.id for fact in facts])
        if asked is None or any(vector is None for vector in vectors):
            words = HashingEmbedder()
            asked = words.embed_query(query)
            vectors = words.embed_documents([fact.text for fact in facts])
        return _diverse(asked, facts, vectors, k, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: VectorLike,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents near a vector that differ from each other.

        Args:
            embedding: The vector.
            k: Most documents.
            fetch_k: Most documents to choose from.
            lambda_mult: 1 goes by relevance alone, 0 by difference alone.
            **kwargs: See the class.
        """
        facts = [one.fact for one in self._near(embedding, _pool(k, fetch_k), kwargs)]
        vectors = self.memory.vectors([fact.id for fact in facts])
        return _diverse(embedding, facts, vectors, k, lambda_mult)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their relevance from 0 to 1, the most relevant first."""
        found = [
            (to_document(one.fact), one.explained.relevance)
            for one in self._search(query, k, kwargs)
        ]
        return sorted(found, key=lambda pair: -pair[1])

    # -- async twins: the inherited ones would not await the embedder's own coroutines

    async def aadd_documents(
        self,
        documents: Iterable[Document],
        *,
        ids: Iterable[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """`add_documents` in a worker thread; the event loop runs on."""
        return await twin(self.add_documents)(documents, ids=ids, **kwargs)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[dict[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """`add_texts` in a worker thread; the event loop runs on."""
        return await twin(self.add_texts)(texts, metadatas, ids=ids, **kwargs)

    async def adelete(self, ids: Iterable[str] | None = None, **kwargs: Any) -> bool:
        """`delete` in a worker thread; the event loop runs on."""
        return await twin(self.delete)(ids, **kwargs)

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """`get_by_ids` in a worker thread; the event loop runs on."""
        return await twin(self.get_by_ids)(ids)

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """`similarity_search` in a worker thread; the event loop runs on."""
        return await twin(self.similarity_search)(query, k, **kwargs)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """`similarity_search_with_score` in a worker thread; the event loop runs on."""
        return await twin(self.similarity_search_with_score)(query, k, **kwargs)

    async def asimilarity_search_by_vector(
        self, embedding: VectorLike, k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """`similarity_search_by_vector` in a worker thread; the event loop runs on."""
        return await twin(self.similarity_search_by_vector)(embedding, k, **kwargs)

    async def asimilarity_search_by_vector_with_score(
        self, embedding: VectorLike, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """`similarity_search_by_vector_with_score` in a worker thread; the event loop runs on."""
        return await twin(self.similarity_search_by_vector_with_score)(embedding, k, **kwargs)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search` in a worker thread; the event loop runs on."""
        search = twin(self.max_marginal_relevance_search)
        return await search(query, k, fetch_k, lambda_mult, **kwargs)

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: VectorLike,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search_by_vector` in a worker thread; the event loop runs on."""
        search = twin(self.max_marginal_relevance_search_by_vector)
        return await search(embedding, k, fetch_k, lambda_mult, **kwargs)

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return await twin(self._similarity_search_with_relevance_scores)(query, k, **kwargs)

    # -- what the methods share

    def _mode(self, given: Mapping[str, Any]) -> Mode:
        return _check_mode(given.get("mode", self.mode))

    def _search(
        self, query: str, k: int, given: dict[str, Any], vector: VectorLike | None = None
    ) -> list[_Found]:
        check_type(query, str, "query", "the question as text")
        if self._mode(given) == "vector" and self.memory.embedder is None:
            raise InvalidInputError(
                'mode is "vector", but nothing makes a vector of the question; open the memory '
                "with an embedder, or use similarity_search_by_vector"
            )
        return self._recall(query, k, given, vector)

    def _nearest(
        self, embedding: VectorLike, k: int, given: dict[str, Any]
    ) -> list[tuple[Document, float]]:
        return [(to_document(one.fact), _cosine(one)) for one in self._near(embedding, k, given)]

    def _near(self, embedding: VectorLike, k: int, given: dict[str, Any]) -> list[_Found]:
        if given.get("mode", "vector") != "vector":
            raise InvalidInputError(
                f"mode is {shown(given['mode'])}, but a vector is compared with vectors only; "
                "leave mode out"
            )
        return self._recall(None, k, {**given, "mode": "vector"}, embedding)

    def _recall(
        self, query: str | None, k: int, given: Mapping[str, Any], vector: VectorLike | None
    ) -> list[_Found]:
        mode = self._mode(given)
        result = self.memory.recall(
            query,
            k=k,
            vector=vector,
            namespace=self.namespace,
            explain=True,
            **self._arguments(given, mode),
        )
        explanation = result.explanation
        assert explanation is not None  # noqa: S101 - for the type checker; asked for above
        if mode == "vector" and explanation.notes:
            raise EmbedderError("; ".join(explanation.notes))
        return list(map(_Found, result.facts, explanation.facts))

    def _arguments(self, given: Mapping[str, Any], mode: Mode) -> dict[str, Any]:
        """Return the arguments of `recall` for those of a search."""
        arguments = {name: value for name, value in given.items() if name != "mode"}
        wanted = _check_filter(arguments.pop("filter", None))
        if wanted is not None:
            if arguments.get("where") is not None:
                raise InvalidInputError("filter and where are one thing; give one of them")
            arguments["where"] = wanted
        unknown = [name for name in arguments if name not in _SETTINGS]
        if unknown:
            raise InvalidInputError(
                f"unknown {', '.join(map(repr, unknown))}; "
                f"accepted are filter, mode, {', '.join(_SETTINGS)}"
            )
        if mode != "hybrid" and "sources" in arguments:
            raise InvalidInputError(
                f'mode "{mode}" is one source already; give sources with mode="hybrid"'
            )
        arguments["weights"] = {**self.weights, **_check_weights(arguments.get("weights"))}
        return {"sources": _SOURCES[mode], "token_budget": None, **arguments}


def _raw(found: _Found) -> float:
    """Return the one source's own score."""
    return found.explained.evidence[0].raw


def _cosine(found: _Found) -> float:
    # Vectors are compared in fewer bits than they came with, which can give a little over 1.
    return max(-1.0, min(1.0, _raw(found)))


def _fused(found: _Found) -> float:
    return found.fact.score


_SCORES: dict[str, Callable[[_Found], float]] = {"hybrid": _fused, "vector": _cosine, "text": _raw}


def _diverse(
    asked: VectorLike,
    facts: Sequence[RecalledFact],
    vectors: Sequence[VectorLike | None],
    k: int,
    lambda_mult: float,
) -> list[Document]:
    places = diverse(asked, vectors, k, lambda_mult, name="lambda_mult")
    return [to_document(facts[place]) for place in places]


def _pool(k: int, fetch_k: int) -> int:
    return max(check_count(k, "k"), check_count(fetch_k, "fetch_k"))


def _check_mode(value: object) -> Mode:
    for mode in get_args(Mode):
        if value == mode:
            return mode  # type: ignore[no-any-return] # get_args has no types
    raise InvalidInputError(f"mode is {shown(value)}; give one of {', '.join(get_args(Mode))}")


def _check_weights(value: Mapping[str, float] | None) -> dict[str, float]:
    return make_query("", weights=value).weights


def _check_filter(value: object) -> Mapping[str, Any] | None:
    if value is None or isinstance(value, Mapping):
        return value
    raise WrongTypeError(
        f"filter is {shown(value)} ({type(value).__name__}); give a mapping, such as "
        '{"source": "handbook"} or {"year": {"$gt": 2020}}'
    )


def _one_each(values: Iterable[Any], items: Sequence[object], name: str) -> list[Any]:
    if isinstance(values, str):
        raise WrongTypeError(f"{name} is {shown(values)}, one text; give a list, one a document")
    given = list(values)
    if len(given) != len(items):
        raise InvalidInputError(
            f"{name} has {len(given)} for {len(items)} documents; give one for each"
        )
    return given
