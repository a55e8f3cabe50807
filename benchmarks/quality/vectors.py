"""Vectors of texts, made once: they are kept on disk under a digest of model and texts."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plugmem_core.embed import Embedder

Matrix: TypeAlias = npt.NDArray[np.float32]


class VectorCache:
    """What an embedder makes of whole lists of texts.

    Args:
        embedder: Makes the vectors that are not there yet.
        folder: Where they are kept; made at need. `None` keeps nothing.
    """

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder = embedder
        self._folder = folder

    @property
    def space_id(self) -> str:
        """The model."""
        return self._embedder.space_id

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one row a text; a text without direction has a row of zeros."""
        if self._folder is None:
            return self._embedded(texts)
        path = self._folder / f"{self.space_id}-{_digest(texts)}.npy"
        if path.exists():
            kept: Matrix = np.load(path)
            return kept
        made = self._embedded(texts)
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.save(file, made)
        unfinished.rename(path)
        return made

    def _embedded(self, texts: Sequence[str]) -> Matrix:
        made: Matrix = np.asarray(self._embedder.embed_documents(list(texts)), dtype=np.float32)
        return made


def _digest(texts: Sequence[str]) -> str:
    digest = sha256()
    for text in texts:
        data = text.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]
