"""Indexes over a vector store, and an embedding model that needs no model."""

from collections.abc import Sequence

from llama_index.core import (
    Document,
    StorageContext,
    VectorStoreIndex,
)
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore
from pydantic import Field

from llama_index_plugmem import (
    PlugmemVectorStore,
)
from plugmem_core import HashingEmbedder

HASHED = HashingEmbedder(dim=64)


class Hashing(BaseEmbedding):
    """Texts are near when they share words; keeps the texts it was given."""

    texts: list[str] = Field(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        self.texts.append(text)
        return [float(one) for one in HASHED.embed_query(text)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(one) for one in HASHED.embed_query(query)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


DOCUMENTS = {
    "tea": "Mara prefers green tea in the morning",
    "barn": "The barn behind the house is red",
    "pump": "The pump stands in the north shed",
}


def documents(**texts: str) -> list[Document]:
    return [
        Document(id_=id_, text=text, metadata={"source": id_})
        for id_, text in {**DOCUMENTS, **texts}.items()
    ]


def index_of(
    store: PlugmemVectorStore, embedding: Hashing, docs: Sequence[Document] | None = None
) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        documents() if docs is None else docs,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=embedding,
    )


def stored(store: PlugmemVectorStore) -> list[str]:
    return sorted(node.get_content() for node in store.get_nodes())


def texts(found: Sequence[NodeWithScore]) -> list[str]:
    return [one.text for one in found]
