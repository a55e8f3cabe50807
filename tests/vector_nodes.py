"""Nodes, filters and queries in short, for the tests of the vector store."""

from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from llama_index_plugmem import PlugmemVectorStore

EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


def note(
    id_: str,
    text: str = "a note",
    vector: Sequence[float] | None = None,
    document: str | None = None,
    **metadata: Any,
) -> TextNode:
    embedding = None if vector is None else [float(one) for one in vector]
    node = TextNode(id_=id_, text=text, embedding=embedding, metadata=metadata)
    if document is not None:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return node


def only(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])


def ids(store: PlugmemVectorStore, query: VectorStoreQuery, **kwargs: Any) -> list[str]:
    result = store.query(query, **kwargs)
    assert result.ids is not None
    assert result.nodes is not None
    assert result.similarities is not None
    assert [node.node_id for node in result.nodes] == result.ids
    assert len(result.similarities) == len(result.ids)
    assert all(type(one) is float for one in result.similarities)
    return result.ids


def near(vector: Sequence[float], k: int = 10, **settings: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=list(vector), similarity_top_k=k, **settings)


def worded(text: str | None, k: int = 10, **settings: Any) -> VectorStoreQuery:
    settings = {"mode": VectorStoreQueryMode.TEXT_SEARCH, **settings}
    return VectorStoreQuery(query_str=text, similarity_top_k=k, **settings)


def listed(store: PlugmemVectorStore) -> list[str]:
    return [node.node_id for node in store.get_nodes()]
