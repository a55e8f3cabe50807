"""`LangChainEmbedder`: LangChain embeddings in the service of a memory."""

from langchain_core.embeddings import Embeddings

from plugmem_core.inputs import check_type

_MODEL_NAMES = ("model", "model_name", "model_id", "repo_id", "deployment")
"""Attributes by which embeddings tell which model they use."""


class LangChainEmbedder:
    """Lets any LangChain `Embeddings` make the vectors of a memory.

    The model is not called before there is something to embed. The async verbs of the
    memory await its own coroutines.

    Args:
        embeddings: What makes the vectors.
        space_id: Names the model; the file records it, so that vectors of different models
            are never compared. By default the name of the class, and of the model if the
            embeddings have a `model`, `model_name`, `model_id`, `repo_id` or `deployment`. A
            `CacheBackedEmbeddings` is named as what it caches.
        dim: Components of a vector; by default the first vector tells.

    Raises:
        WrongTypeError: These are no embeddings.

    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> from plugmem_core import Memory
    >>> embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=8))
    >>> memory = Memory.open(":memory:", embedder=embedder)
    >>> memory.remember("Mara prefers green tea").vector, embedder.space_id
    ('stored', 'DeterministicFakeEmbedding')
    """

    def __init__(
        self, embeddings: Embeddings, *, space_id: str | None = None, dim: int | None = None
    ) -> None:
        check_type(embeddings, Embeddings, "embeddings", "LangChain Embeddings")
        check_type(space_id or "", str, "space_id", "a name of the model")
        self.embeddings = embeddings
        self.space_id = space_id or _name_of(embeddings)
        self.dim = dim

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        return self.embeddings.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embeddings.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        return await self.embeddings.aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return await self.embeddings.aembed_query(text)


def _name_of(embeddings: Embeddings) -> str:
    # Those of LangChain's cache hold the ones that make the vectors.
    maker = getattr(embeddings, "underlying_embeddings", embeddings)
    name = type(maker).__name__
    models = (getattr(maker, attribute, None) for attribute in _MODEL_NAMES)
    model = next((one for one in models if isinstance(one, str) and one), None)
    return name if model is None else f"{name}:{model}"
