"""An offline embedder whose weights come with a package: WordLlama's static token vectors."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from plugmem_core.embed.extra import missing
from plugmem_core.errors import EmbedderError, InvalidInputError, shown

if TYPE_CHECKING:
    from wordllama import WordLlamaInference

MODEL = "l2_supercat"
DIMS = (64, 128, 256)
"""Dimensions that the weights in the package can be cut to."""

CHARACTERS = 4_096
"""Most characters of a batch of several: padded, at a kilobyte a token, it fits the cache."""


class WordLlamaEmbedder:
    """Mean of static token vectors: ten thousand short texts a second, and no download.

    Needs `pip install "plugmem-core[embed]"`, which brings the weights (16 MB). The same text
    gives the same vector whatever texts are embedded with it. A text without a token gives the
    zero vector, which a memory treats as no vector. One may be shared by threads.

    Args:
        dim: Components: 64, 128 or 256. Fewer take less room and find a little less.

    Raises:
        InvalidInputError: There are no vectors of that dimension.
        MissingExtraError: WordLlama is not installed.
        EmbedderError: It is installed without its weights.

    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:", embedder=WordLlamaEmbedder(64))
    >>> for text in ("The cat sleeps on the sofa", "Interest rates went up again"):
    ...     _ = memory.remember(text)
    >>> [fact.text for fact in memory.recall("where is my kitten?", k=1).facts]
    ['The cat sleeps on the sofa']
    """

    def __init__(self, dim: Literal[64, 128, 256] = 256) -> None:
        if dim not in DIMS or isinstance(dim, bool):
            raise InvalidInputError(
                f"dim is {shown(dim)}; give one of {', '.join(map(str, DIMS))}, the dimensions "
                "of the weights that WordLlama brings"
            )
        self.dim = dim
        self.space_id = f"wordllama-{MODEL}-{dim}"
        self._model = _load(dim)

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        """Return one vector a text."""
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for places in _batches(texts):
            batch = [texts[place] for place in places]
            # Without `norm`, which divides by zero where there is no token.
            vectors[places] = self._model.embed(batch, batch_size=len(batch))
        return list(vectors)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a text."""
        return self.embed_documents([text])[0]

    def __repr__(self) -> str:
        return f"WordLlamaEmbedder({self.dim})"


def _batches(texts: list[str]) -> Iterator[list[int]]:
    """Yield places of texts that are embedded together, those of like length; blank ones never."""
    batch: list[int] = []
    places = (place for place, text in enumerate(texts) if text.strip())
    for place in sorted(places, key=lambda place: len(texts[place])):
        if batch and (len(batch) + 1) * len(texts[place]) > CHARACTERS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _load(dim: int) -> "WordLlamaInference":
    with _logging_as_it_was():
        try:
            import wordllama
        except ImportError as error:
            raise missing("WordLlamaEmbedder", "wordllama") from error
    # It looks for the tokenizer in `tokenizer`, but brings it in `tokenizers`, where it looks
    # within the cache only; so its own folder is the cache.
    package = Path(wordllama.__file__).parent
    try:
        return wordllama.WordLlama.load(
            MODEL, cache_dir=package, trunc_dim=dim, disable_download=True
        )
    except FileNotFoundError as error:
        raise EmbedderError(
            f"wordllama is installed in {package} without its weights ({error}); install its wheel "
            "from a package index anew"
        ) from error


@contextmanager
def _logging_as_it_was() -> Iterator[None]:
    # Importing it sets up the logging of the whole program.
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
