"""Questions to a property graph that is kept in a memory, sync and async."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from llama_index.core.graph_stores.types import LabelledNode, PropertyGraphStore, Triplet
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from llama_index_plugmem._graph import to_llama_node
from llama_index_plugmem._graph_input import given_list
from llama_index_plugmem._graph_properties import Properties, PropertyMatch
from llama_index_plugmem._graph_reads import GraphReader, as_node
from llama_index_plugmem._graph_schema import Schema, make_schema, schema_text
from llama_index_plugmem._graph_search import search
from plugmem_core import Instant, Memory, Namespace, WrongTypeError
from plugmem_core.errors import shown
from plugmem_core.inputs import check_count, check_type
from plugmem_core.verbs.base import twin


class GraphQueries(PropertyGraphStore):
    """The methods of a property graph store that read."""

    memory: Memory
    namespace: Namespace
    as_of: int | None
    property_match: PropertyMatch

    def get(
        self,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
    ) -> list[LabelledNode]:
        """Return nodes, by the order of their insertion.

        Args:
            properties: Values by name. `name` is also the name of an entity, `ref_doc_id`,
                `doc_id` and `document_id` the document of a chunk, `triplet_source_id` any of
                the sources. Empty or `None` for no restriction.
            ids: Ids; unknown ones are left out, and of one that an entity and a chunk have,
                both are returned. Empty or `None` for no restriction.
            as_of: The instant to look from, in place of the store's.
        """
        found = self._reader(as_of).find(self._properties(properties), texts(ids, "ids"))
        return [as_node(element) for element in found]

    def get_triplets(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
    ) -> list[Triplet]:
        """Return the relations, with their ends, that pass everything given.

        Args:
            entity_names: Names of entities, at either end.
            relation_names: Labels of relations.
            properties: As for `get`; of the relation or one of its ends.
            ids: Ids of nodes, at either end.
            as_of: The instant to look from, in place of the store's.

        Returns:
            By the order of insertion; nothing when nothing is given.
        """
        names, labels = (
            texts(entity_names, "entity_names"),
            texts(relation_names, "relation_names"),
        )
        wanted, nodes = self._properties(properties), texts(ids, "ids")
        if not (names or labels or wanted or nodes):
            return []
        return self._reader(as_of).triples(names, labels, wanted, nodes)

    def get_rel_map(
        self,
        graph_nodes: Sequence[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
    ) -> list[Triplet]:
        """Return the triples around nodes, the nearest first and each once.

        The subject of a triple is a copy whose `triplet_source_id` is that of the relation, so
        that LlamaIndex shows the text which the relation came from. What chunks mention is
        left out; `get_triplets(relation_names=["MENTIONS"])` has it.

        Args:
            graph_nodes: Where to start; those that are not in the graph are passed over.
            depth: Most relations from there, in either direction.
            limit: Most triples.
            ignore_rels: Labels of relations that are followed, but not returned.
            as_of: The instant to look from, in place of the store's.
        """
        nodes = given_list(graph_nodes, "graph_nodes", "nodes")
        for place, node in enumerate(nodes):
            check_type(node, LabelledNode, f"graph_nodes[{place}]", "a node, as get returns it")
        hops, most = check_count(depth, "depth", least=0), check_count(limit, "limit", least=0)
        ignored = texts(ignore_rels, "ignore_rels")
        if not most:
            return []
        start = [node.id for node in nodes]
        return self._reader(as_of).around(start, hops, most, ignored)

    def get_llama_nodes(
        self, node_ids: Sequence[str], *, as_of: Instant | None = None
    ) -> list[BaseNode]:
        """Return chunks as the LlamaIndex nodes they were, in the order asked.

        Args:
            node_ids: Ids; unknown ones, and those of entities, are left out.
            as_of: The instant to look from, in place of the store's.
        """
        wanted = texts(node_ids, "node_ids")
        chunks = self._reader(as_of).chunks(wanted)
        return [to_llama_node(chunks[one]) for one in dict.fromkeys(wanted) if one in chunks]

    def vector_query(
        self, query: VectorStoreQuery, *, as_of: Instant | None = None, **_kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """Return the entities that answer a query, best first, and their scores.

        Chunks answer only when no entity does.

        Args:
            query: Its mode says what it goes by: `default` by cosine, `text_search` and
                `sparse` by the words of `query_str`, `hybrid` and `semantic_hybrid` by both;
                the scores are cosines, those of BM25, or fused ones. Without an embedding it
                goes by words in any case. `node_ids`, and `doc_ids`, the documents that nodes
                came from, restrict it, and so do `filters`.
            as_of: The instant to look from, in place of the store's.
            **_kwargs: Ignored, as LlamaIndex's own stores do.
        """
        return search(self._reader(as_of), query)

    def structured_query(self, query: str, param_map: Mapping[str, Any] | None = None) -> Any:
        """Refuse: the graph speaks no query language.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "PlugmemPropertyGraphStore has no query language; use get, get_triplets, "
            "get_rel_map or vector_query"
        )

    def get_schema(
        self,
        refresh: bool = False,  # noqa: ARG002, FBT001, FBT002 - LlamaIndex's signature
        *,
        as_of: Instant | None = None,
    ) -> Schema:
        """Return labels, properties with types, and what relates to what.

        Args:
            refresh: Plays no part: it is read from the graph each time.
            as_of: The instant to look from, in place of the store's.
        """
        reader = self._reader(as_of)
        nodes = [as_node(element) for element in reader.find(None, None)]
        return make_schema(nodes, reader.triples(None, None, None, None))

    def get_schema_str(
        self,
        refresh: bool = False,  # noqa: FBT001, FBT002 - as above
        *,
        as_of: Instant | None = None,
    ) -> str:
        """Return the schema as text for a prompt."""
        return schema_text(self.get_schema(refresh, as_of=as_of))

    # -- async twins

    async def aget(
        self,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
    ) -> list[LabelledNode]:
        """`get` in a worker thread; the event loop runs on."""
        return await twin(self.get)(properties, ids, as_of=as_of)

    async def aget_triplets(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
    ) -> list[Triplet]:
        """`get_triplets` in a worker thread; the event loop runs on."""
        read = twin(self.get_triplets)
        return await read(entity_names, relation_names, properties, ids, as_of=as_of)

    async def aget_rel_map(
        self,
        graph_nodes: Sequence[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: Sequence[str] | None = None,
        *,
        as_of: Instant | None = None,
    ) -> list[Triplet]:
        """`get_rel_map` in a worker thread; the event loop runs on."""
        return await twin(self.get_rel_map)(graph_nodes, depth, limit, ignore_rels, as_of=as_of)

    async def aget_llama_nodes(
        self, node_ids: Sequence[str], *, as_of: Instant | None = None
    ) -> list[BaseNode]:
        """`get_llama_nodes` in a worker thread; the event loop runs on."""
        return await twin(self.get_llama_nodes)(node_ids, as_of=as_of)

    async def avector_query(
        self, query: VectorStoreQuery, *, as_of: Instant | None = None, **kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """`vector_query` in a worker thread; the event loop runs on."""
        return await twin(self.vector_query)(query, as_of=as_of, **kwargs)

    async def astructured_query(
        self, query: str, param_map: Mapping[str, Any] | None = None
    ) -> Any:
        """Refuse, as `structured_query` does."""
        return self.structured_query(query, param_map)

    # LlamaIndex declares a text here, and its own stores return a dict.
    async def aget_schema(  # type: ignore[override]
        self,
        refresh: bool = False,  # noqa: FBT001, FBT002 - as above
        *,
        as_of: Instant | None = None,
    ) -> Schema:
        """`get_schema` in a worker thread; the event loop runs on."""
        return await twin(self.get_schema)(refresh, as_of=as_of)

    async def aget_schema_str(
        self,
        refresh: bool = False,  # noqa: FBT001, FBT002 - as above
        *,
        as_of: Instant | None = None,
    ) -> str:
        """`get_schema_str` in a worker thread; the event loop runs on."""
        return await twin(self.get_schema_str)(refresh, as_of=as_of)

    # -- what the methods share

    def _reader(self, as_of: Instant | None) -> GraphReader:
        return GraphReader(self.memory, self.namespace, self.as_of if as_of is None else as_of)

    def _properties(self, wanted: Mapping[str, Any] | None) -> Properties | None:
        if wanted is None:
            return None
        check_type(wanted, Mapping, "properties", "a dict")
        return Properties(wanted, self.property_match) if wanted else None


def texts(values: Collection[str] | None, name: str) -> list[str]:
    """Return ids, names or labels as a list; none for `None`."""
    if isinstance(values, str):
        raise WrongTypeError(f"{name} is {shown(values)}, one text; give a list of them")
    given = [] if values is None else given_list(values, name, "texts")
    for place, one in enumerate(given):
        check_type(one, str, f"{name}[{place}]", "a str")
    return given
