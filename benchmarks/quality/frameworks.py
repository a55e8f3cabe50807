"""The hybrid retrievers of LangChain and LlamaIndex, as shipped."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from benchmarks.quality.metrics import K
from benchmarks.quality.peers import Rank, documents_of, ranking_system
from benchmarks.quality.systems import Prepared, System
from benchmarks.quality.vectors import Matrix


def framework_peers() -> list[System]:
    """Return both retrievers; each fuses its BM25 and its vector store by reciprocal rank."""
    return [
        ranking_system("LangChain ensemble", rank_ensemble, vectors=True),
        ranking_system("LlamaIndex fusion", rank_query_fusion, vectors=True),
    ]


def rank_ensemble(prepared: Prepared, places: Sequence[int]) -> Rank:
    """`EnsembleRetriever` over `BM25Retriever` and the in-memory vector store."""
    bm25: Any = import_module("langchain_community.retrievers").BM25Retriever
    store: Any = import_module("langchain_core.vectorstores").InMemoryVectorStore
    ensemble: Any = import_module("langchain_classic.retrievers").EnsembleRetriever
    texts = [one.text for one in documents_of(prepared, places)]
    numbers = [{"number": number} for number in range(len(texts))]
    vectors = store(_Known(prepared))
    vectors.add_texts(texts, metadatas=numbers)
    retriever = ensemble(
        retrievers=[
            bm25.from_texts(texts, metadatas=numbers, k=K),
            vectors.as_retriever(search_kwargs={"k": K}),
        ],
        id_key="number",
    )
    questions = prepared.collection.questions
    return lambda place: [
        found.metadata["number"] for found in retriever.invoke(questions[place].text)
    ]


def rank_query_fusion(prepared: Prepared, places: Sequence[int]) -> Rank:
    """`QueryFusionRetriever` over `BM25Retriever` and a `VectorStoreIndex`; no query is made up."""
    bm25: Any = import_module("llama_index.retrievers.bm25").BM25Retriever
    core: Any = import_module("llama_index.core")
    schema: Any = import_module("llama_index.core.schema")
    mocks: Any = import_module("llama_index.core.llms")
    fusion: Any = import_module("llama_index.core.retrievers").QueryFusionRetriever
    nodes = [
        schema.TextNode(
            id_=str(number),
            text=document.text,
            embedding=_listed(prepared.document_vector(place), prepared.dim),
        )
        for number, (place, document) in enumerate(
            zip(places, documents_of(prepared, places), strict=True)
        )
    ]
    index = core.VectorStoreIndex(nodes, embed_model=core.MockEmbedding(embed_dim=prepared.dim))
    retriever = fusion(
        [
            index.as_retriever(similarity_top_k=K),
            bm25.from_defaults(nodes=nodes, similarity_top_k=K),
        ],
        llm=mocks.MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=K,
        use_async=False,
    )

    def rank(place: int) -> list[int]:
        vector = _listed(prepared.question_vector(place), prepared.dim)
        text = prepared.collection.questions[place].text
        bundle = schema.QueryBundle(text, embedding=vector)
        return [int(one.node_id) for one in retriever.retrieve(bundle)]

    return rank


class _Known:
    """Looks vectors up that were made before, as LangChain's `Embeddings`."""

    def __init__(self, prepared: Prepared) -> None:
        collection = prepared.collection
        self._vectors = {
            one.text: _listed(prepared.document_vector(place), prepared.dim)
            for place, one in enumerate(collection.documents)
        }
        self._questions = {
            one.text: _listed(prepared.question_vector(place), prepared.dim)
            for place, one in enumerate(collection.questions)
        }

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._questions[text]


def _listed(vector: Matrix | None, dim: int) -> list[float]:
    return [0.0] * dim if vector is None else [float(one) for one in vector]
