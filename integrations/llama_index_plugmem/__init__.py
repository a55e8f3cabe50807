"""LlamaIndex adapters of plugmem-core.

Each name is imported on first use, and needs the package's extra `llama-index`.

| name                        | is                                                        |
|-----------------------------|-----------------------------------------------------------|
| `PlugmemRetriever`          | a retriever over a memory                                 |
| `PlugmemMemory`             | a memory for chat engines and agents, across sessions     |
| `PlugmemMemoryBlock`        | a long-term block for LlamaIndex's own `Memory`           |
| `PlugmemChatStore`          | what makes LlamaIndex's own `Memory` last                 |
| `PlugmemVectorStore`        | a vector store                                            |
| `PlugmemPropertyGraphStore` | a property graph store                                    |
| `PlugmemGraphRetriever`     | hybrid, multi-hop recall for a `PropertyGraphIndex`       |
| `RuleExtractor`             | entities and relations of texts, without a model          |
| `LLMExtractor`              | facts and relations of passages, by a language model      |
| `PlugmemGraphStore`         | the older store of triplets                               |
| `PlugmemKVStore`            | values by key                                             |
| `PlugmemDocumentStore`      | a document store over it                                  |
| `PlugmemIndexStore`         | an index store over it                                    |
| `storage_context`           | all stores in one memory                                  |
| `NodeMapping`               | which metadata of a node says more than metadata          |
| `PostprocessorReranker`     | a node postprocessor as the reranker of a memory          |
| `LlamaIndexEmbedder`        | a LlamaIndex model as the embedder of a memory            |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_plugmem._mapping import NodeMapping
    from llama_index_plugmem.chat_stores import PlugmemChatStore
    from llama_index_plugmem.embeddings import LlamaIndexEmbedder
    from llama_index_plugmem.extractors import RuleExtractor
    from llama_index_plugmem.graph_retrievers import PlugmemGraphRetriever
    from llama_index_plugmem.graph_stores import PlugmemPropertyGraphStore
    from llama_index_plugmem.kvstores import PlugmemDocumentStore, PlugmemIndexStore, PlugmemKVStore
    from llama_index_plugmem.llm_extractors import LLMExtractor
    from llama_index_plugmem.memory import PlugmemMemory
    from llama_index_plugmem.memory_blocks import PlugmemMemoryBlock
    from llama_index_plugmem.rerankers import PostprocessorReranker
    from llama_index_plugmem.retrievers import PlugmemRetriever
    from llama_index_plugmem.simple_graph_store import PlugmemGraphStore
    from llama_index_plugmem.storage import storage_context
    from llama_index_plugmem.vector_stores import PlugmemVectorStore

__all__ = [
    "LLMExtractor",
    "LlamaIndexEmbedder",
    "NodeMapping",
    "PlugmemChatStore",
    "PlugmemDocumentStore",
    "PlugmemGraphRetriever",
    "PlugmemGraphStore",
    "PlugmemIndexStore",
    "PlugmemKVStore",
    "PlugmemMemory",
    "PlugmemMemoryBlock",
    "PlugmemPropertyGraphStore",
    "PlugmemRetriever",
    "PlugmemVectorStore",
    "PostprocessorReranker",
    "RuleExtractor",
    "storage_context",
]

_HOMES = {
    "LLMExtractor": "llm_extractors",
    "LlamaIndexEmbedder": "embeddings",
    "NodeMapping": "_mapping",
    "PlugmemChatStore": "chat_stores",
    "PlugmemDocumentStore": "kvstores",
    "PlugmemGraphRetriever": "graph_retrievers",
    "PlugmemGraphStore": "simple_graph_store",
    "PlugmemIndexStore": "kvstores",
    "PlugmemKVStore": "kvstores",
    "PlugmemMemory": "memory",
    "PlugmemMemoryBlock": "memory_blocks",
    "PlugmemPropertyGraphStore": "graph_stores",
    "PlugmemRetriever": "retrievers",
    "PlugmemVectorStore": "vector_stores",
    "PostprocessorReranker": "rerankers",
    "RuleExtractor": "extractors",
    "storage_context": "storage",
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
