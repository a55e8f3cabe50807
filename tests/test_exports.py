"""The public API: `__all__` is pinned, and every name in it is what it says."""

import importlib
from types import ModuleType

import pytest

import langchain_plugmem
import llama_index_plugmem
import plugmem_core

PUBLIC = {
    plugmem_core: """
        Absence AsyncEmbedder BusyError Clock ClosedError ClosedFactError ConfigError
        ConflictError CorruptError Edge Embedder EmbedderError EndpointEmbedder Entity EntityPage
        ErasureReceipt Evidence Explanation Fact FactExplanation FactPage GuardedReceipt
        HashingEmbedder History Instant InvalidFilterError InvalidInputError KeyPage Loss
        MaintainReport Memory MemoryConfig Metadata MissingExtraError Namespace NamespaceCount
        NamespacePage Neighbours NotFoundError PlugmemError ReadOnlyError RecallResult
        RecalledFact Receipt ReembedReport Reranker Retain SalvageReport ServiceError Similar
        StaleCursorError Stats StorageError Tag TagPage TooLargeError TransferReport VectorSpace
        VectorSpaceError VerifyReport WordLlamaEmbedder Work WrongTypeError salvage
    """,
    langchain_plugmem: """
        ChatModelExtractor CompressorReranker DocumentMapping LangChainEmbedder
        PlugmemChatMessageHistory PlugmemForgetTool PlugmemLinkTool PlugmemMemory
        PlugmemMiddleware PlugmemRecallTool PlugmemRememberTool PlugmemRetriever PlugmemReviseTool
        PlugmemStore PlugmemToolkit PlugmemTranslator PlugmemVectorStore PlugmemWhyTool
    """,
    llama_index_plugmem: """
        LLMExtractor LlamaIndexEmbedder NodeMapping PlugmemChatStore PlugmemDocumentStore
        PlugmemGraphRetriever PlugmemGraphStore PlugmemIndexStore PlugmemKVStore PlugmemMemory
        PlugmemMemoryBlock PlugmemPropertyGraphStore PlugmemRetriever PlugmemVectorStore
        PostprocessorReranker RuleExtractor storage_context
    """,
}


@pytest.mark.parametrize("package", PUBLIC, ids=lambda package: package.__name__)
def test_exports_are_pinned_and_sorted(package: ModuleType) -> None:
    assert package.__all__ == sorted(PUBLIC[package].split())
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize(
    "module",
    ["plugmem_core.embed", "plugmem_core.filters", "plugmem_core.recall", "plugmem_core.text"],
)
def test_documented_modules_import(module: str) -> None:
    assert importlib.import_module(module).__doc__


def test_every_error_is_a_plugmem_error_and_a_builtin_one() -> None:
    builtins = {
        "BusyError": TimeoutError,
        "ClosedError": ValueError,
        "ClosedFactError": ValueError,
        "ConfigError": ValueError,
        "ConflictError": ValueError,
        "CorruptError": OSError,
        "EmbedderError": RuntimeError,
        "InvalidFilterError": ValueError,
        "InvalidInputError": ValueError,
        "MissingExtraError": ImportError,
        "NotFoundError": KeyError,
        "ReadOnlyError": PermissionError,
        "ServiceError": RuntimeError,
        "StaleCursorError": ValueError,
        "StorageError": OSError,
        "TooLargeError": ValueError,
        "VectorSpaceError": ValueError,
        "WrongTypeError": TypeError,
    }
    named = {name for name in plugmem_core.__all__ if name.endswith("Error")}
    assert named - {"PlugmemError"} == builtins.keys()
    for name, builtin in builtins.items():
        assert issubclass(getattr(plugmem_core, name), (plugmem_core.PlugmemError, builtin))
        assert issubclass(getattr(plugmem_core, name), builtin)
