"""An embedding model of LlamaIndex that knows words, and counts what it was asked."""

from zlib import crc32

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr


class WordEmbedding(BaseEmbedding):
    """Texts with common words have near vectors; nothing is random."""

    dim: int = 256

    _queries: list[str] = PrivateAttr(default_factory=list)

    @property
    def queries(self) -> list[str]:
        """The questions that were embedded, sync and async."""
        return self._queries

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = [0.0] * self.dim
        for word in "".join(c if c.isalnum() else " " for c in text.lower()).split():
            vector[crc32(word.encode()) % self.dim] += 1.0
        return vector if any(vector) else [1.0] * self.dim

    def _get_query_embedding(self, query: str) -> list[float]:
        self._queries.append(query)
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
