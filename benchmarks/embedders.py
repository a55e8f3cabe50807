"""The embedders that need no network."""

from collections.abc import Callable

from benchmarks.minilm import MiniLM
from plugmem_core import MissingExtraError
from plugmem_core.embed import Embedder, HashingEmbedder, WordLlamaEmbedder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "hashing": HashingEmbedder,
    "wordllama": WordLlamaEmbedder,
    "minilm": MiniLM,
}


def make_embedder(name: str) -> Embedder:
    """Return an embedder by its name in `EMBEDDERS`.

    Raises:
        SystemExit: Its package is not installed.
    """
    try:
        return EMBEDDERS[name]()
    except (ModuleNotFoundError, MissingExtraError) as error:
        raise SystemExit(f"{name}: {error}; pip install 'plugmem-core[bench]'") from None
