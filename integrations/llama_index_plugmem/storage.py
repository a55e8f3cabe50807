"""`storage_context`: all that LlamaIndex stores, in the file of one memory."""

from llama_index.core import StorageContext

from llama_index_plugmem.graph_stores import PlugmemPropertyGraphStore
from llama_index_plugmem.kvstores import PlugmemDocumentStore, PlugmemIndexStore
from llama_index_plugmem.simple_graph_store import PlugmemGraphStore
from llama_index_plugmem.vector_stores import PlugmemVectorStore
from plugmem_core import Memory, Namespace
from plugmem_core.inputs import check_namespace


def storage_context(
    memory: Memory, *, namespace: Namespace = (), images: Memory | None = None
) -> StorageContext:
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
    | image store          | `PlugmemVectorStore`        | `("images",)`   |

    All vectors of a memory have one dimension, so images whose model has another than that
    of the texts need a memory of their own.

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: The labels above those of the stores.
        images: Another open memory for the vectors of images.

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
    docstore = PlugmemDocumentStore(memory, namespace=(*above, "kv"))
    return StorageContext.from_defaults(
        docstore=docstore,
        index_store=PlugmemIndexStore(memory, namespace=(*above, "kv")),
        vector_store=PlugmemVectorStore(memory, docstore=docstore, namespace=above),
        property_graph_store=PlugmemPropertyGraphStore(memory, namespace=(*above, "graph")),
        graph_store=PlugmemGraphStore(memory, namespace=(*above, "triplets")),
        image_store=PlugmemVectorStore(images or memory, namespace=(*above, "images")),
    )
