"""`PlugmemPropertyGraphStore`: a memory as a LlamaIndex property graph store."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, get_args

# It comes with LlamaIndex, and has no types.
import fsspec  # type: ignore[import-untyped]
from llama_index.core.graph_stores.types import (
    DEFAULT_PERSIST_DIR,
    DEFAULT_PG_PERSIST_FNAME,
    LabelledNode,
    Relation,
)
from llama_index.core.schema import BaseNode

from llama_index_plugmem._graph import Element
from llama_index_plugmem._graph_files import from_json, to_json
from llama_index_plugmem._graph_input import from_llama_node, from_node, from_relation, given_list
from llama_index_plugmem._graph_properties import PropertyMatch
from llama_index_plugmem._graph_queries import GraphQueries, texts
from llama_index_plugmem._graph_writes import GraphWriter
from plugmem_core import (
    Instant,
    InvalidInputError,
    Memory,
    MemoryConfig,
    Namespace,
    ReadOnlyError,
)
from plugmem_core.clock import to_ms
from plugmem_core.errors import shown
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.verbs.base import Closing, twin


class PlugmemPropertyGraphStore(Closing, GraphQueries):
    """Keeps a property graph in a memory, with its history and where everything came from.

    Goes wherever a `PropertyGraphStore` goes: into a `PropertyGraphIndex`, its retrievers and a
    `StorageContext`. Every method has an async twin that leaves the event loop free. Neither
    LlamaIndex's `Settings` nor any model is used.

    Each node and each relation is a fact: chunks by their text, entities and relations as a
    readable line. So the recall of the memory finds them, too, and walks the graph.

    - **Upserts** go by id. Properties join, and later ones win. What LlamaIndex says it comes
      from, its `triplet_source_id`, adds up.
    - **Ids.** An entity and a chunk with the same id are two nodes; `get` returns both, and a
      relation is the entity's, save for those that tell how texts hang together.
    - **Deletion** takes away what is named, nodes with their relations, and nothing else. With
      a chunk goes what came from it alone. An entity stays while another chunk brought it, a
      relation holds it, or the text of another chunk has its name.
    - **History.** What is changed or deleted stays readable `as_of` an earlier instant.
    - **Many at once.** Every method is one transaction. Threads take turns; of two processes
      that change one node at the same time, the later one wins.
    - **Vectors.** `vector_query` compares the embeddings of entities; that of a node without
      one is made by the embedder of the memory, if it has one.

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: Where the graph lives. Stores in other namespaces never see it, and neither
            do those in namespaces above it.
        as_of: The instant to look from; the store then refuses writes. Each reading method
            takes one of its own, too.
        keep_history: Whether deleted nodes and relations stay readable as of earlier instants;
            if not, deleting forgets every version of them.
        property_match: Whether nodes must have `"all"` of the properties asked for, or `"any"`.

    Raises:
        InvalidInputError: An argument breaks its rule; so do the methods.

    >>> from llama_index.core.graph_stores.types import EntityNode, Relation
    >>> store = PlugmemPropertyGraphStore.open(":memory:")
    >>> store.upsert_nodes([EntityNode(name="Ines", label="PERSON"), EntityNode(name="Olga")])
    >>> store.upsert_relations([Relation(label="REPORTS_TO", source_id="Ines", target_id="Olga")])
    >>> for source, relation, target in store.get_rel_map(store.get(ids=["Olga"])):
    ...     print(source.id, relation.id, target.id)
    Ines REPORTS_TO Olga
    >>> print(store.client.recall("reports", namespace=("graph",)).facts[0].text)
    Ines REPORTS TO Olga
    >>> store.delete(ids=["Olga"])
    >>> [node.id for node in store.get()], store.get_triplets(ids=["Ines"])
    (['Ines'], [])
    >>> store.close()
    """

    supports_structured_queries = False
    supports_vector_queries = True

    def __init__(
        self,
        memory: Memory,
        *,
        namespace: Namespace = ("graph",),
        as_of: Instant | None = None,
        keep_history: bool = True,
        property_match: PropertyMatch = "all",
    ) -> None:
        check_type(memory, Memory, "memory", "an open Memory")
        check_type(keep_history, bool, "keep_history", "True or False")
        if property_match not in get_args(PropertyMatch):
            raise InvalidInputError(
                f"property_match is {shown(property_match)}; give 'all' or 'any'"
            )
        self.memory = memory
        self.namespace = check_namespace(namespace)
        self.as_of = None if as_of is None else to_ms(as_of, "as_of")
        self.keep_history = keep_history
        self.property_match: PropertyMatch = property_match

    @classmethod
    def open(cls, path: str | Path, *, config: MemoryConfig | None = None, **settings: Any) -> Self:
        """Open a file as a store of its own; `close`, `with` or `async with` lets go of it.

        Args:
            path: The file, made when missing, or `":memory:"`.
            config: How the memory stores and ranks.
            **settings: As for the class.
        """
        memory = Memory.open(path, config=config)
        try:
            return cls(memory, **settings)
        except BaseException:
            memory.close()
            raise

    @property
    def client(self) -> Memory:
        """The memory."""
        return self.memory

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    # -- writing

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Add entities and chunks, or join them with those of the same id.

        Args:
            nodes: What to add; they are not changed. An `"embedding"` among the properties is
                taken for the node's. A chunk that tells of a LlamaIndex node in its properties,
                as other stores return it, is that node.

        Raises:
            InvalidInputError: A node cannot be stored; it is named, and none was.
        """
        given = given_list(nodes, "nodes", "entities and chunks")
        self._upsert(
            [from_node(node, self.namespace, f"nodes[{at}]") for at, node in enumerate(given)]
        )

    def upsert_relations(self, relations: Sequence[Relation]) -> None:
        """Add relations, or join them with those of the same source, label and target.

        An end that is not there yet is made, as an entity with that name; a real node of its
        id replaces it.

        Args:
            relations: What to add; they are not changed.

        Raises:
            InvalidInputError: A relation cannot be stored; it is named, and none was.
        """
        given = given_list(relations, "relations", "relations")
        self._upsert([], [from_relation(one, f"relations[{at}]") for at, one in enumerate(given)])

    def upsert_llama_nodes(self, llama_nodes: Sequence[BaseNode]) -> None:
        """Add LlamaIndex nodes as chunks; those of the same id are replaced.

        Args:
            llama_nodes: What to add; `get_llama_nodes` returns them as they are.

        Raises:
            InvalidInputError: A node cannot be stored; it is named, and none was.
        """
        given = given_list(llama_nodes, "llama_nodes", "LlamaIndex nodes")
        chunks = (
            from_llama_node(node, self.namespace, f"llama_nodes[{at}]")
            for at, node in enumerate(given)
        )
        self._upsert(list(chunks))

    def delete(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Delete what any of the arguments names; nothing for those that are empty.

        Args:
            entity_names: Names of entities.
            relation_names: Labels of relations; the nodes at their ends stay.
            properties: As for `get`; of nodes and of relations.
            ids: Ids of nodes, entities and chunks alike. With a chunk goes what came from it
                alone.
        """
        self._writer().delete(
            ids=texts(ids, "ids"),
            names=texts(entity_names, "entity_names"),
            labels=texts(relation_names, "relation_names"),
            properties=self._properties(properties),
        )

    def delete_llama_nodes(
        self,
        node_ids: Sequence[str] | None = None,
        ref_doc_ids: Sequence[str] | None = None,
    ) -> None:
        """Delete chunks, and what came from them alone.

        Args:
            node_ids: Ids of chunks; an entity of the same id stays.
            ref_doc_ids: Ids of documents: all of their chunks, and the node that stands for
                the document where a relation alone made it. An entity of that name stays.
        """
        self._writer().delete(
            chunks=texts(node_ids, "node_ids"), documents=texts(ref_doc_ids, "ref_doc_ids")
        )

    def delete_ref_doc(self, ref_doc_id: str) -> None:
        """Delete the chunks of a document, and what came from them alone."""
        self.delete_llama_nodes(ref_doc_ids=[ref_doc_id])

    # -- files

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as `SimplePropertyGraphStore` does: plain JSON, without history."""
        return to_json(self._reader(None))

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], memory: Memory | None = None, **settings: Any
    ) -> Self:
        """Return a store with the graph that `to_dict` gave, of this store or LlamaIndex's.

        Args:
            data: The graph; it is not changed.
            memory: Where to keep it, beside what is there; by default a memory without a file.
            **settings: As for the class.
        """
        store = cls.open(":memory:", **settings) if memory is None else cls(memory, **settings)
        try:
            store._upsert(*from_json(data, store.namespace))
        except BaseException:
            if memory is None:
                store.close()
            raise
        return store

    def persist(
        self, persist_path: str | Path, fs: fsspec.AbstractFileSystem | None = None
    ) -> None:
        """Write a copy of the graph that `SimplePropertyGraphStore` can read, too.

        The memory is on disk already; this is for exchange. The copy has no history.

        Args:
            persist_path: The file; its folder is made where it is missing.
            fs: Where; the local disk by default.
        """
        files = fs or fsspec.filesystem("file")
        path = _path(persist_path, "persist_path")
        folder = path.rpartition("/")[0]
        if folder:
            files.makedirs(folder, exist_ok=True)
        with files.open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, ensure_ascii=False)

    @classmethod
    def from_persist_path(
        cls,
        persist_path: str | Path,
        fs: fsspec.AbstractFileSystem | None = None,
        memory: Memory | None = None,
        **settings: Any,
    ) -> Self:
        """Return a store with the graph of a file, of this store's or LlamaIndex's.

        Args:
            persist_path: The file.
            fs: Where; the local disk by default.
            memory: Where to keep it, beside what is there; by default a memory without a file.
            **settings: As for the class.

        Raises:
            FileNotFoundError: There is no such file.
        """
        path = _path(persist_path, "persist_path")
        with (fs or fsspec.filesystem("file")).open(path, "r", encoding="utf-8") as file:
            return cls.from_dict(json.load(file), memory, **settings)

    @classmethod
    def from_persist_dir(
        cls,
        persist_dir: str | Path = DEFAULT_PERSIST_DIR,
        fs: fsspec.AbstractFileSystem | None = None,
        memory: Memory | None = None,
        **settings: Any,
    ) -> Self:
        """Return a store with the graph of a folder that a `StorageContext` wrote."""
        path = f"{_path(persist_dir, 'persist_dir').rstrip('/')}/{DEFAULT_PG_PERSIST_FNAME}"
        return cls.from_persist_path(path, fs, memory, **settings)

    # -- async twins

    async def aupsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """`upsert_nodes` in a worker thread; the event loop runs on."""
        await twin(self.upsert_nodes)(nodes)

    async def aupsert_relations(self, relations: Sequence[Relation]) -> None:
        """`upsert_relations` in a worker thread; the event loop runs on."""
        await twin(self.upsert_relations)(relations)

    async def aupsert_llama_nodes(self, llama_nodes: Sequence[BaseNode]) -> None:
        """`upsert_llama_nodes` in a worker thread; the event loop runs on."""
        await twin(self.upsert_llama_nodes)(llama_nodes)

    async def adelete(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """`delete` in a worker thread; the event loop runs on."""
        await twin(self.delete)(entity_names, relation_names, properties, ids)

    async def adelete_llama_nodes(
        self,
        node_ids: Sequence[str] | None = None,
        ref_doc_ids: Sequence[str] | None = None,
    ) -> None:
        """`delete_llama_nodes` in a worker thread; the event loop runs on."""
        await twin(self.delete_llama_nodes)(node_ids, ref_doc_ids)

    async def adelete_ref_doc(self, ref_doc_id: str) -> None:
        """`delete_ref_doc` in a worker thread; the event loop runs on."""
        await twin(self.delete_ref_doc)(ref_doc_id)

    # -- what the methods share

    def _writer(self) -> GraphWriter:
        if self.as_of is not None:
            raise ReadOnlyError(
                f"the store looks at the graph as of {self.as_of}; write to one without as_of"
            )
        return GraphWriter(self.memory, self.namespace, keep_history=self.keep_history)

    def _upsert(self, nodes: Sequence[Element], relations: Sequence[Element] = ()) -> None:
        self._writer().upsert(nodes, relations)


def _path(path: str | Path, name: str) -> str:
    check_type(path, (str, Path), name, "a str or Path")
    return path.as_posix() if isinstance(path, Path) else path
