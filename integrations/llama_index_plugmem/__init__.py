"""LlamaIndex adapters of plugmem-core.

Each name is imported on first use and needs one of the package's extras:

| name                    | extra         |
|-------------------------|---------------|
| `PlugmemRetriever`      | `llama-index` |
| `PlugmemMemory`         | `llama-index` |
| `PlugmemMemoryBlock`    | `llama-index` |
| `PlugmemChatStore`      | `llama-index` |
| `PlugmemVectorStore`    | `llama-index` |
| `PlugmemKVStore`        | `llama-index` |
| `PlugmemDocumentStore`  | `llama-index` |
| `PlugmemIndexStore`     | `llama-index` |
| `NodeMapping`           | `llama-index` |
| `LlamaIndexEmbedder`    | `llama-index` |
| `PlugmemGraphRetriever` | `llama-index` |
| `RuleExtractor`         | `llama-index` |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_plugmem._mapping import NodeMapping
    from llama_index_plugmem.chat_stores import PlugmemChatStore
    from llama_index_plugmem.embeddings import LlamaIndexEmbedder
    from llama_index_plugmem.extractors import RuleExtractor
    from llama_index_plugmem.graph_retrievers import PlugmemGraphRetriever
    from llama_index_plugmem.kvstores import (
        PlugmemDocumentStore,
        PlugmemIndexStore,
        PlugmemKVStore,
    )
    from llama_index_plugmem.memory import PlugmemMemory
    from llama_index_plugmem.memory_blocks import PlugmemMemoryBlock
    from llama_index_plugmem.retrievers import PlugmemRetriever
    from llama_index_plugmem.vector_stores import PlugmemVectorStore

__all__ = [
    "LlamaIndexEmbedder",
    "NodeMapping",
    "PlugmemChatStore",
    "PlugmemDocumentStore",
    "PlugmemGraphRetriever",
    "PlugmemIndexStore",
    "PlugmemKVStore",
    "PlugmemMemory",
    "PlugmemMemoryBlock",
    "PlugmemRetriever",
    "PlugmemVectorStore",
    "RuleExtractor",
]

_HOMES = {
    "LlamaIndexEmbedder": "embeddings",
    "NodeMapping": "_mapping",
    "PlugmemDocumentStore": "kvstores",
    "PlugmemIndexStore": "kvstores",
    "PlugmemKVStore": "kvstores",
    "PlugmemChatStore": "chat_stores",
    "PlugmemMemory": "memory",
    "PlugmemMemoryBlock": "memory_blocks",
    "PlugmemRetriever": "retrievers",
    "PlugmemVectorStore": "vector_stores",
    "PlugmemGraphRetriever": "graph_retrievers",
    "RuleExtractor": "extractors",
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    # On first use, so that a missing extra is named instead of one of its modules.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        home = import_module(f"{__name__}.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        # `llama_index` alone may be there: other distributions share it as a namespace.
        package = ".".join((error.name or "").split(".")[:2])
        if package not in {"llama_index", "llama_index.core"}:
            raise
        raise ImportError(
            f"{name} needs llama-index-core; run: pip install 'plugmem-core[llama-index]'"
        ) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
