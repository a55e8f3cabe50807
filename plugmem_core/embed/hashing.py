"""An embedder without a model: words hashed into a fixed number of components."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from plugmem_core.inputs import MAX_DIM, check_count
from plugmem_core.text import tokenize


class HashingEmbedder:
    """Feature hashing: each token adds +1 or -1 to one component.

    Deterministic everywhere and free of any model; texts are near when they share
    words, so it stands in for a real embedder in tests and examples. A text without
    tokens gives the zero vector, which a memory treats as no vector.

    Args:
        dim: Components, from 1 to 4,096.

    >>> embedder = HashingEmbedder(dim=8)
    >>> embedder.embed_query("green tea").tolist() == embedder.embed_query("tea, green!").tolist()
    True
    """

    def __init__(self, dim: int = 256) -> None:
        self.dim = check_count(dim, "dim", most=MAX_DIM)
        self.space_id = f"hashing-{dim}"

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        """Return one vector a text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a text."""
        vector = np.zeros(self.dim, dtype=np.float32)
        for token in tokenize(text):
            digest = int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")
            vector[digest // 2 % self.dim] += 1.0 if digest % 2 else -1.0
        return vector
