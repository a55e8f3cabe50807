"""LangChain and LangGraph adapters of plugmem-core.

Each name is imported on first use and needs one of the package's extras:

| name                        | extra       |
|-----------------------------|-------------|
| `ChatModelExtractor`        | `langchain` |
| `CompressorReranker`        | `langchain` |
| `DocumentMapping`           | `langchain` |
| `LangChainEmbedder`         | `langchain` |
| `PlugmemChatMessageHistory` | `langchain` |
| `PlugmemForgetTool`         | `langchain` |
| `PlugmemLinkTool`           | `langchain` |
| `PlugmemMemory`             | `classic`   |
| `PlugmemMiddleware`         | `agents`    |
| `PlugmemRecallTool`         | `langchain` |
| `PlugmemRememberTool`       | `langchain` |
| `PlugmemRetriever`          | `langchain` |
| `PlugmemReviseTool`         | `langchain` |
| `PlugmemStore`              | `langgraph` |
| `PlugmemToolkit`            | `langchain` |
| `PlugmemTranslator`         | `langchain` |
| `PlugmemVectorStore`        | `langchain` |
| `PlugmemWhyTool`            | `langchain` |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_plugmem._mapping import DocumentMapping
    from langchain_plugmem.chat_message_histories import PlugmemChatMessageHistory
    from langchain_plugmem.embeddings import LangChainEmbedder
    from langchain_plugmem.extractors import ChatModelExtractor
    from langchain_plugmem.memory import PlugmemMemory
    from langchain_plugmem.middleware import PlugmemMiddleware
    from langchain_plugmem.rerankers import CompressorReranker
    from langchain_plugmem.retrievers import PlugmemRetriever
    from langchain_plugmem.stores import PlugmemStore
    from langchain_plugmem.tools import (
        PlugmemForgetTool,
        PlugmemLinkTool,
        PlugmemRecallTool,
        PlugmemRememberTool,
        PlugmemReviseTool,
        PlugmemToolkit,
        PlugmemWhyTool,
    )
    from langchain_plugmem.translators import PlugmemTranslator
    from langchain_plugmem.vectorstores import PlugmemVectorStore

__all__ = [
    "ChatModelExtractor",
    "CompressorReranker",
    "DocumentMapping",
    "LangChainEmbedder",
    "PlugmemChatMessageHistory",
    "PlugmemForgetTool",
    "PlugmemLinkTool",
    "PlugmemMemory",
    "PlugmemMiddleware",
    "PlugmemRecallTool",
    "PlugmemRememberTool",
    "PlugmemRetriever",
    "PlugmemReviseTool",
    "PlugmemStore",
    "PlugmemToolkit",
    "PlugmemTranslator",
    "PlugmemVectorStore",
    "PlugmemWhyTool",
]

_HOMES = {
    "ChatModelExtractor": "extractors",
    "CompressorReranker": "rerankers",
    "DocumentMapping": "_mapping",
    "LangChainEmbedder": "embeddings",
    "PlugmemChatMessageHistory": "chat_message_histories",
    "PlugmemForgetTool": "tools",
    "PlugmemLinkTool": "tools",
    "PlugmemMemory": "memory",
    "PlugmemMiddleware": "middleware",
    "PlugmemRecallTool": "tools",
    "PlugmemRememberTool": "tools",
    "PlugmemRetriever": "retrievers",
    "PlugmemReviseTool": "tools",
    "PlugmemStore": "stores",
    "PlugmemToolkit": "tools",
    "PlugmemTranslator": "translators",
    "PlugmemVectorStore": "vectorstores",
    "PlugmemWhyTool": "tools",
}
"""The module of each name."""

_EXTRAS = {"memory": "classic", "middleware": "agents", "stores": "langgraph"}
"""The extra of a module; of every other, `langchain`."""

_OPTIONAL = {"langchain_core", "langgraph", "langchain", "langchain_classic"}
"""The packages that extras bring."""


def __getattr__(name: str) -> Any:
    # On first use, so that a missing extra is named instead of one of its modules.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _HOMES[name]
    try:
        home = import_module(f"{__name__}.{module}")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _OPTIONAL:
            raise
        needed, extra = package.replace("_", "-"), _EXTRAS.get(module, "langchain")
        raise ImportError(
            f"{name} needs {needed}; run: pip install 'plugmem-core[{extra}]'"
        ) from error
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
