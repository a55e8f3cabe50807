"""`LlamaIndexEmbedder`: LlamaIndex's embedding models in the service of a memory."""

from llama_index.core.base.embeddings.base import BaseEmbedding

from plugmem_core.inputs import check_type

_UNNAMED = "unknown"  # what LlamaIndex calls a model that was given no name


class LlamaIndexEmbedder:
    """Lets any LlamaIndex `BaseEmbedding` make the vectors of a memory.

    The model is not called before there is something to embed. The async verbs of the
    memory await its own coroutines. Texts go to the model in batches of its own size.

    Args:
        embed_model: What makes the vectors.
        space_id: Names the model; the file records it, so that vectors of different models
            are never compared. By default the name of the class, and the `model_name` if
            there is one.
        dim: Components of a vector; by default the first vector tells.

    Raises:
        WrongTypeError: This is no embedding model.

    >>> from llama_index.core import MockEmbedding
    >>> from plugmem_core import Memory
    >>> embedder = LlamaIndexEmbedder(MockEmbedding(embed_dim=8))
    >>> memory = Memory.open(":memory:", embedder=embedder)
    >>> memory.remember("Mara prefers green tea").vector, embedder.space_id
    ('stored', 'MockEmbedding')
    """

    def __init__(
        self, embed_model: BaseEmbedding, *, space_id: str | None = None, dim: int | None = None
    ) -> None:
        check_type(embed_model, BaseEmbedding, "embed_model", "a LlamaIndex BaseEmbedding")
        check_type(space_id or "", str, "space_id", "a name of the model")
        self.embed_model = embed_model
        self.space_id = space_id or _name_of(embed_model)
        self.dim = dim

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        return self.embed_model.get_text_embedding_batch(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_model.get_query_embedding(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        return await self.embed_model.aget_text_embedding_batch(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return await self.embed_model.aget_query_embedding(text)


def _name_of(embed_model: BaseEmbedding) -> str:
    name = type(embed_model).__name__  # `class_name` is the same for all that do not set it
    model = embed_model.model_name
    return name if model in ("", _UNNAMED) else f"{name}:{model}"
