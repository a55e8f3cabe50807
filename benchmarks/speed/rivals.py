"""Other stores, each as its own documentation uses it; embedding a question costs nothing here."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from benchmarks.corpus import Corpus, all_vectors
from benchmarks.speed.operations import Feature, Question
from benchmarks.speed.peer import Peer

K = 8
EF = 64


class Rival(Peer):
    """A store that is filled when it is made."""

    def __init__(self, corpus: Corpus) -> None:
        raise NotImplementedError


class _Vectors:
    """Stands in for a model: the vector of a text is the one it was told to give next."""

    def __init__(self) -> None:
        self.next: list[list[float]] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        given, self.next = self.next[: len(texts)], self.next[len(texts) :]
        return given


class Ensemble(Rival):
    """LangChain's ensemble of BM25 and an in-memory vector store."""

    name = "ensemble"
    features: ClassVar[frozenset[Feature]] = frozenset({"text", "vector"})

    def __init__(self, corpus: Corpus) -> None:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_core.documents import Document
        from langchain_core.embeddings import Embeddings
        from langchain_core.vectorstores import InMemoryVectorStore

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from langchain_community.retrievers import BM25Retriever

        vectors = self._vectors = _Vectors()

        class Given(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return vectors(texts)

            def embed_query(self, text: str) -> list[float]:
                return vectors([text])[0]

        facts = [fact for batch in corpus.batches() for fact in batch]
        documents = [
            Document(fact["text"], id=str(place), metadata={"id": place})
            for place, fact in enumerate(facts)
        ]
        retrievers: list[Any] = [BM25Retriever.from_documents(documents, k=K)]
        if corpus.dim:
            self._vectors.next = [fact["vector"] for fact in facts]
            store = InMemoryVectorStore(Given())
            store.add_documents(documents)
            retrievers.append(store.as_retriever(search_kwargs={"k": K}))
        self._without_vectors = EnsembleRetriever(
            retrievers=retrievers[:1], weights=[1.0], id_key="id"
        )
        weights = [1 / len(retrievers)] * len(retrievers)
        self._with_vectors = EnsembleRetriever(retrievers=retrievers, weights=weights, id_key="id")

    def recall(self, question: Question) -> list[Any]:
        retriever = self._without_vectors
        if question.vector is not None:
            self._vectors.next = [question.vector.tolist()]
            retriever = self._with_vectors
        return [one.page_content for one in retriever.invoke(question.text or "")][:K]


class LangGraphStore(Rival):
    """LangGraph's store in memory, which searches by vector."""

    name = "langgraph"
    features: ClassVar[frozenset[Feature]] = frozenset({"vector"})

    def __init__(self, corpus: Corpus) -> None:
        from langgraph.store.base import IndexConfig
        from langgraph.store.memory import InMemoryStore

        self._vectors = _Vectors()
        index: IndexConfig = {"dims": corpus.dim, "embed": self._vectors, "fields": ["text"]}
        self._store = InMemoryStore(index=index)
        for place, fact in enumerate(fact for batch in corpus.batches() for fact in batch):
            self._vectors.next = [fact["vector"]]
            self._store.put(("facts",), str(place), {"text": fact["text"]})

    def recall(self, question: Question) -> list[Any]:
        assert question.vector is not None
        self._vectors.next = [question.vector.tolist()]
        found = self._store.search(("facts",), query="asked", limit=K)
        return [(one.key, one.score, one.value["text"]) for one in found]


class LlamaFusion(Rival):
    """LlamaIndex's fusion of retrievers, here of BM25 alone."""

    name = "llamaindex"
    features: ClassVar[frozenset[Feature]] = frozenset({"text"})

    def __init__(self, corpus: Corpus) -> None:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever

        nodes: list[Any] = [
            TextNode(text=fact["text"]) for batch in corpus.batches() for fact in batch
        ]
        words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=K)
        self._retriever = QueryFusionRetriever(
            [words], llm=MockLLM(), num_queries=1, similarity_top_k=K, use_async=False
        )

    def recall(self, question: Question) -> list[Any]:
        found = self._retriever.retrieve(question.text or "")
        return [(one.node_id, one.score, one.get_content()) for one in found]


class Bm25s(Rival):
    """bm25s: scores made beforehand, in sparse matrices."""

    name = "bm25s"
    features: ClassVar[frozenset[Feature]] = frozenset({"text"})

    def __init__(self, corpus: Corpus) -> None:
        import bm25s

        self._module = bm25s
        texts = [fact["text"] for batch in corpus.batches() for fact in batch]
        self._index = bm25s.BM25(corpus=texts)
        self._index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)

    def recall(self, question: Question) -> list[Any]:
        tokens = self._module.tokenize(question.text or "", show_progress=False)
        texts, scores = self._index.retrieve(tokens, k=K, show_progress=False)
        return list(zip(texts[0], scores[0], strict=True))


class Hnsw(Rival):
    """hnswlib alone."""

    name = "hnswlib"
    features: ClassVar[frozenset[Feature]] = frozenset({"vector"})

    def __init__(self, corpus: Corpus) -> None:
        import hnswlib

        vectors = all_vectors(corpus)
        self._index = hnswlib.Index(space="cosine", dim=corpus.dim)
        self._index.init_index(max_elements=len(vectors), M=16, ef_construction=200)
        self._index.add_items(vectors)
        self._index.set_ef(EF)

    def recall(self, question: Question) -> list[Any]:
        labels, distances = self._index.knn_query(question.vector, k=K, num_threads=1)
        return list(zip(labels[0], distances[0], strict=True))


class BruteForce(Rival):
    """Every product, by NumPy."""

    name = "numpy"
    features: ClassVar[frozenset[Feature]] = frozenset({"vector"})

    def __init__(self, corpus: Corpus) -> None:
        vectors = all_vectors(corpus)
        self._units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def recall(self, question: Question) -> list[Any]:
        assert question.vector is not None
        cosines = self._units @ (question.vector / np.linalg.norm(question.vector))
        count = min(K, len(cosines))
        best = np.argpartition(-cosines, count - 1)[:count]
        return [(int(one), float(cosines[one])) for one in best[np.argsort(-cosines[best])]]
