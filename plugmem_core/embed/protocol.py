"""What an embedder is: a named space, its dimension, and two functions into it."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from plugmem_core.inputs import VectorLike


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors; called outside every lock, never without being handed in."""

    @property
    def space_id(self) -> str:
        """Names the model; the file records it, so vectors of different ones never mix."""
        ...

    @property
    def dim(self) -> int | None:
        """Components of every vector; `None` when only the first one will tell."""
        ...

    def embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        """Return one vector a text, in order."""
        ...

    def embed_query(self, text: str) -> VectorLike:
        """Return the vector of a question."""
        ...


@runtime_checkable
class AsyncEmbedder(Embedder, Protocol):
    """An embedder with coroutines of its own; the `a…` verbs await them."""

    async def aembed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        """Return one vector a text, in order."""
        ...

    async def aembed_query(self, text: str) -> VectorLike:
        """Return the vector of a question."""
        ...
