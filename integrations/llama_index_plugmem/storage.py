"""`storage_context`: all that LlamaIndex stores, in the file of one memory."""

from llama_index.core import StorageContext

from llama_index_plugmem.graph_stores import PlugmemPropertyGraphStore
from llama_index_plugmem.kvstores import PlugmemDocumentStore, PlugmemIndexStore
from llama_index_plugmem.simple_graph_store import PlugmemGraphStore
from llama_index_plugmem.vector_stores import PlugmemVectorStore
from plugmem_core import Memory, Namespace
from plugmem_core.inputs import check_namespace


def storage_context(memory: Memory, *, namespace: Namespace = ()) -> StorageContext:
    """Return a `StorageContext` whose stores all live in one memory.

    What an index does is on disk at once; there is nothing to persist. Another process, or
    the same one later, loads its indices from a context over the same file. The stores are
    those of this package with their usual namespaces, below the one given:

    | store                | class                       | labels          |
    |----------------------|-----------------------------|-----------------|
    | vector store         | `PlugmemVectorStore`        |                 |
    | property graph store | `PlugmemPropertyGraphStore` | `("graph",)`    |
    | graph store          | `PlugmemGraphStore`         | `("triplets",)` |
    | document store       | `PlugmemDocumentStore`      | `("kv",)`       |
    | index store          | `PlugmemIndexStore`         | `("kv",)`       |

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: The labels above those of the stores.

    >>> from llama_index.core import Document, MockEmbedding, VectorStoreIndex
    >>> from llama_index.core import load_index_from_storage
    >>> memory = Memory.open(":memory:")
    >>> model = MockEmbedding(embed_dim=4)
    >>> index = VectorStoreIndex.from_documents(
    ...     [Document(text="Tea is at four")],
    ...     storage_context=storage_context(memory),
    ...     embed_model=model,
    ... )
    >>> again = load_index_from_storage(storage_context(memory), embed_model=model)
    >>> [found.text for found in again.as_retriever().retrieve("when?")]
    ['Tea is at four']
    """
    above = check_namespace(namespace)
    return StorageContext.from_defaults(
        docstore=PlugmemDocumentStore(memory, namespace=(*above, "kv")),
        index_store=PlugmemIndexStore(memory, namespace=(*above, "kv")),
        vector_store=PlugmemVectorStore(memory, namespace=above),
        property_graph_store=PlugmemPropertyGraphStore(memory, namespace=(*above, "graph")),
        graph_store=PlugmemGraphStore(memory, namespace=(*above, "triplets")),
    )
