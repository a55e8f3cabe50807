"""`PlugmemVectorStore`: a memory as a LlamaIndex vector store."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from pydantic import ConfigDict, Field, PrivateAttr, field_validator

from llama_index_plugmem._chunks import chunks_of, replaced
from llama_index_plugmem._filters import to_where
from llama_index_plugmem._handles import KeepsMemory
from llama_index_plugmem._mapping import BY_ID, REF_DOC, NodeMapping, node_id, store_nodes, to_node
from llama_index_plugmem._vector_queries import VectorQuery
from llama_index_plugmem.embeddings import LlamaIndexEmbedder
from plugmem_core import Fact, InvalidInputError, Memory, MemoryConfig, Namespace
from plugmem_core.adapters.documents import Documents
from plugmem_core.filters import parse_filter
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.verbs.base import Closing, twin


class PlugmemVectorStore(Closing, KeepsMemory, BasePydanticVectorStore):
    """Stores nodes as facts, and finds them by vectors, by words, and by both.

    Goes wherever a vector store goes: into a `VectorStoreIndex`, an `IngestionPipeline`, a
    `VectorMemoryBlock`. Every method has an async twin that leaves the event loop free.
    LlamaIndex's `Settings` are never used.

    Nodes come back as they were given, without their embedding; see `_mapping`. Each method
    that writes is one transaction, on disk when it returns, so `persist` has nothing to do.
    Adding a node whose id is there replaces it, and keeps the earlier version for queries
    `as_of` an earlier instant; deleting forgets every version.

    **Queries** by `VectorStoreQuery.mode`, each with similarities that are floats:

    | mode                    | goes by                               | similarity             |
    |-------------------------|---------------------------------------|------------------------|
    | `default`               | the vectors, compared exactly         | cosine                 |
    | `mmr`                   | the same, and difference from the     | cosine                 |
    |                         | nodes chosen already                  |                        |
    | `text_search`, `sparse` | BM25                                  | its share, from 0 to 1 |
    | `hybrid`                | `alpha` times cosine plus `1 - alpha` | that sum               |
    |                         | times BM25's share                    |                        |

    BM25's share is its score over the most that the question could reach. The age of a node
    plays no part. `hybrid` compares the best 128 of each, or `sparse_top_k` by BM25, and returns
    `hybrid_top_k`, by default `similarity_top_k`; `alpha` is 0.5 by default, 0 is BM25 alone
    and 1 vectors alone. `mmr` chooses among the best 128. What asks nothing, by neither
    embedding nor text, finds whatever passes, in stored order, with a similarity of 1.

    `filters`, `doc_ids` and `node_ids` all act before ranking; empty ones restrict nothing. (For
    a store like this one LlamaIndex passes an empty list of `node_ids`. An index of images or
    `IndexNode`s beside texts passes those alone: there, use `VectorIndexRetriever(index)`
    instead of `index.as_retriever()`.) Filters may be nested; see `_filters`.

    **Chunks of a document** mostly have random ids, so a document that is inserted again
    brings others. A chunk that says the same as one of the same version of its document,
    at the same place, takes its place; and a new version of a document takes that of the
    others. What is replaced stays readable `as_of` earlier instants. An index with a
    `PlugmemDocumentStore` knows which documents have changed, and adds only those.

    Args:
        memory: The open memory; closing it remains the caller's task.
        path: The file, when no memory is given open.
        docstore: Where an index keeps the hashes of documents. One whose nodes are deleted
            here is forgotten there, which LlamaIndex does not do, so it can come again.
        namespace: Where the nodes live. Neither those below it nor those above are seen.
        mapping: Which metadata says more than metadata; see `NodeMapping`.
        search_metadata: Whether words find a node by the metadata that is embedded with its
            text, too; an embedder of the memory then gets both, as an index does.
        replace_documents: Whether adding chunks of a document ends those of its other
            versions, which LlamaIndex tells apart by a hash of the whole document. `False`
            is for documents of several parts, or of several owners, that share an id.

    Raises:
        pydantic.ValidationError: A setting breaks its rule; a `ValueError`.

    >>> from llama_index.core.schema import TextNode
    >>> store = PlugmemVectorStore(Memory.open(":memory:"))
    >>> store.add([
    ...     TextNode(id_="tea", text="Mara prefers green tea", embedding=[1.0, 0.0]),
    ...     TextNode(id_="barn", text="The barn is red", embedding=[0.0, 1.0]),
    ... ])
    ['tea', 'barn']
    >>> result = store.query(VectorStoreQuery(query_embedding=[0.6, 0.8], similarity_top_k=1))
    >>> result.nodes[0].text, round(result.similarities[0], 2)
    ('The barn is red', 0.8)
    >>> store.query(VectorStoreQuery(query_str="green tea", mode="text_search")).ids
    ['tea']
    >>> store.delete_nodes(["tea"])
    >>> [node.node_id for node in store.get_nodes()]
    ['barn']
    """

    model_config = ConfigDict(extra="forbid")

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False
    namespace: tuple[str, ...] = Field(default=(), description="Where the nodes live.")
    mapping: NodeMapping = Field(
        default=NodeMapping(), description="Which metadata says more than metadata."
    )
    search_metadata: bool = Field(
        default=True, description="Whether words find nodes by the metadata that is embedded."
    )
    replace_documents: bool = Field(
        default=True, description="Whether a version of a document ends its other versions."
    )

    _docstore: BaseDocumentStore | None = PrivateAttr(default=None)

    def __init__(
        self,
        memory: Memory | None = None,
        path: str | Path | None = None,
        docstore: BaseDocumentStore | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(memory, path, **settings)
        self._docstore = docstore

    @field_validator("namespace")
    @classmethod
    def _check_namespace(cls, labels: tuple[str, ...]) -> Namespace:
        return check_namespace(labels)

    @classmethod
    def open(
        cls,
        path: str | Path,
        embed_model: BaseEmbedding | None = None,
        *,
        config: MemoryConfig | None = None,
        **settings: Any,
    ) -> Self:
        """Open a file as a store of its own; `close`, `with` or `async with` lets go of it.

        Args:
            path: The file, made when missing, or `":memory:"`.
            embed_model: Makes the vectors of nodes and questions that come without one. An
                index makes those itself.
            config: How the memory stores and ranks.
            **settings: As for the class.
        """
        embedder = None if embed_model is None else LlamaIndexEmbedder(embed_model)
        memory = Memory.open(path, config=config, embedder=embedder)
        try:
            return cls(memory, **settings)
        except BaseException:
            memory.close()
            raise

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex knows the class by."""
        return "PlugmemVectorStore"

    @property
    def client(self) -> Memory:
        """The memory."""
        return self.memory

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    # -- writing

    def add(self, nodes: Sequence[BaseNode], **_add_kwargs: Any) -> list[str]:
        """Add nodes in one transaction; those whose id is there are replaced.

        Args:
            nodes: What to add; they are not changed. One without an embedding gets a vector
                of its text if the memory has an embedder; if not, only words find it.
            **_add_kwargs: Ignored; an index passes on what it was given for its other parts.

        Returns:
            The ids, in order.

        Raises:
            InvalidInputError: A node cannot be a fact; it is named, and none was stored.
            VectorSpaceError: An embedding has another dimension than those that are stored.
        """
        given = list(nodes)
        for place, one in enumerate(given):
            check_type(one, BaseNode, f"nodes[{place}]", "a node")
        mode = MetadataMode.EMBED if self.search_metadata else MetadataMode.NONE
        # Nobody may add the same chunks between the look and the write.
        with self.memory.transaction():
            end = self._replaced(given)
            store_nodes(self.memory, given, self.mapping, self.namespace, end=end, mode=mode)
        return [node.node_id for node in given]

    def delete(self, ref_doc_id: str, **_delete_kwargs: Any) -> None:
        """Forget all nodes of a document, every version of them, in one transaction.

        Args:
            ref_doc_id: The document. Nodes that are a part of none are never meant, whatever
                is given here.
            **_delete_kwargs: Ignored, as for `add`.
        """
        if ref_doc_id is not None:
            check_type(ref_doc_id, str, "ref_doc_id", "the id of a document")
            self._documents.delete_where({REF_DOC: ref_doc_id})
            if self._docstore is not None and self._docstore.get_ref_doc_info(ref_doc_id) is None:
                self._docstore.delete_ref_doc(ref_doc_id, raise_error=False)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **_delete_kwargs: Any,
    ) -> None:
        """Forget nodes, every version of them, in one transaction.

        Args:
            node_ids: Which; unknown ids are passed over, an empty list means none.
            filters: Only those that pass; alone, all that pass.
            **_delete_kwargs: Ignored, as for `add`.

        Raises:
            InvalidInputError: Neither says which.
        """
        where = to_where(filters)
        if node_ids is not None:
            found = node_ids if where is None else map(node_id, self._get(node_ids, where))
            self._documents.delete(found)
        elif where is not None:
            self._documents.delete_where(where)
        else:
            raise InvalidInputError(
                "neither node_ids nor filters say which nodes to delete; give one of them, "
                "or call clear() to delete all"
            )

    def clear(self) -> None:
        """Forget everything in the store's own namespace, in one transaction."""
        self._documents.delete(None)

    # -- reading

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes as last added, those too that become true only later.

        Args:
            node_ids: Which, in this order; unknown ids are left out, an empty list means none.
            filters: Only those that pass.

        Returns:
            Without `node_ids`, all that pass, in stored order.
        """
        where = to_where(filters)
        if node_ids is None:
            return [to_node(fact) for fact in self._documents.find(where)]
        return [to_node(fact) for fact in self._get(node_ids, where)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes that answer a query, best first; see the class.

        Args:
            query: What is asked. Without an embedding, the embedder of the memory makes one
                of `query_str` where one is needed.
            **kwargs: What an index has as `vector_store_kwargs`: the arguments `tags`,
                `any_tags`, `not_tags`, `where`, `as_of`, `valid_at`, `known_at` and `ef` of
                `Memory.recall`; `mmr_threshold`, by default 0.5, where 1 goes by relevance
                alone and 0 by difference alone; `mmr_prefetch_k`, how many nodes it chooses
                among.

        Raises:
            InvalidInputError: A mode that is not supported, an unknown keyword, or nothing to
                make a vector of.
            VectorSpaceError: The embedding has another dimension than those that are stored.
            EmbedderError: The embedder failed.
        """
        check_type(query, VectorStoreQuery, "query", "a VectorStoreQuery")
        return VectorQuery(self.memory, self.namespace, query, kwargs).result()

    # -- async twins: the inherited ones would hold up the event loop

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """`add` in a worker thread; the event loop runs on."""
        return await twin(self.add)(nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """`delete` in a worker thread; the event loop runs on."""
        await twin(self.delete)(ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """`delete_nodes` in a worker thread; the event loop runs on."""
        await twin(self.delete_nodes)(node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """`clear` in a worker thread; the event loop runs on."""
        await twin(self.clear)()

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """`get_nodes` in a worker thread; the event loop runs on."""
        return await twin(self.get_nodes)(node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """`query` in a worker thread; the event loop runs on."""
        return await twin(self.query)(query, **kwargs)

    # -- what the methods share

    @property
    def _documents(self) -> Documents:
        return Documents(self.memory, self.namespace, BY_ID)

    def _get(self, node_ids: Iterable[str], where: dict[str, Any] | None) -> Iterator[Fact]:
        """Yield nodes by id, in the order asked, that pass a filter."""
        passes = parse_filter(where or {}).matches
        for fact in self._documents.get(node_ids):
            if fact.namespace == self.namespace and passes(fact.metadata):
                yield fact

    def _replaced(self, nodes: list[BaseNode]) -> list[str]:
        """Return the ids of stored chunks whose place these nodes take, under other ids."""
        added = chunks_of(nodes)
        documents = {chunk.version.document for chunk in added}
        if not documents:
            return []
        ids = {node.node_id for node in nodes}
        found = self._documents.find({REF_DOC: {"$in": list(documents)}})
        stored = [to_node(fact) for fact in found if fact.key not in ids]
        return replaced(stored, added, versions=self.replace_documents)
