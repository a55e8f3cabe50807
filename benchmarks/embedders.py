"""The embedders that need no network."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plugmem_core.embed import Embedder, HashingEmbedder


class _WordLlama:
    """Averaged word vectors of 256 components, out of the wheel `wordllama`."""

    def __init__(self) -> None:
        try:
            package: Any = import_module("wordllama")
        except ModuleNotFoundError:
            raise SystemExit("wordllama is not installed: pip install wordllama") from None
        # The wheel has its tokenizer where the loader expects it in a cache, not in a package.
        self._model = package.WordLlama.load(
            cache_dir=Path(package.__file__).parent, disable_download=True
        )
        self.space_id = "wordllama-l2-supercat-256"
        self.dim: int | None = 256

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        return list(self._model.embed(texts))

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        return self.embed_documents([text])[0]


EMBEDDERS: dict[str, Callable[[], Any]] = {"hashing": HashingEmbedder, "wordllama": _WordLlama}


def make_embedder(name: str) -> Embedder:
    """Return an embedder by its name in `EMBEDDERS`.

    Raises:
        SystemExit: Its package is not installed.
    """
    embedder: Embedder = EMBEDDERS[name]()
    return embedder
