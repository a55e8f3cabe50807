"""What callers of a property graph store give, checked once and brought into its own form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    Relation,
)
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.utils import metadata_dict_to_node
from pydantic import BaseModel

from llama_index_plugmem._graph import DOCUMENT_KEYS, Element
from llama_index_plugmem._mapping import NODE, NodeMapping
from llama_index_plugmem._mapping import to_fact as node_to_fact
from plugmem_core import InvalidInputError, Namespace, WrongTypeError
from plugmem_core.adapters.fields import visible
from plugmem_core.errors import shown
from plugmem_core.inputs import VectorLike, check_type
from plugmem_core.model import RESERVED

T = TypeVar("T")

_NODE_CONTENT = "_node_content"
"""The property by which stores of LlamaIndex tell the node that a chunk is."""

_TELLING = {_NODE_CONTENT, "_node_type", *DOCUMENT_KEYS}
"""All of their properties that are not the node's metadata."""

_TEXT_ONLY = NodeMapping(entity=None, tags=None, links=None, valid_from=None)


def from_node(node: object, namespace: Namespace, place: str) -> Element:
    """Return a node that a caller gives.

    Args:
        node: An entity or chunk. A chunk may tell the LlamaIndex node that it is in the way of
            LlamaIndex's own stores, by its properties.
        namespace: Where it is to live.
        place: What the caller knows it by, for the message of an error.
    """
    if not isinstance(node, EntityNode | ChunkNode):
        raise WrongTypeError(
            f"{place} is {shown(node)} ({type(node).__name__}); give an EntityNode or "
            "ChunkNode, and LlamaIndex nodes to upsert_llama_nodes"
        )
    _check_id(node.id, place)
    properties = dict(node.properties)
    vector: VectorLike | None = node.embedding
    if _is_embedding(properties.get("embedding")):
        given = properties.pop("embedding")
        vector = given if vector is None else vector
    bare = node.model_copy(update={"properties": properties, "embedding": None})
    told = _told_node(bare) if isinstance(bare, ChunkNode) else None
    if told is not None:
        return replace(from_llama_node(told, namespace, place), vector=directed(vector))
    return Element(
        bare,
        sources=_sources(properties, place),
        document=_document(properties) if isinstance(node, ChunkNode) else None,
        vector=directed(vector),
    )


def from_relation(relation: object, place: str) -> Element:
    """Return a relation that a caller gives."""
    if not isinstance(relation, Relation):
        raise WrongTypeError(
            f"{place} is {shown(relation)} ({type(relation).__name__}); give a Relation"
        )
    _check_id(relation.source_id, f"the source of {place}")
    _check_id(relation.target_id, f"the target of {place}")
    return Element(relation.model_copy(), sources=_sources(relation.properties, place))


def from_llama_node(node: object, namespace: Namespace, place: str) -> Element:
    """Return the chunk that a LlamaIndex node is."""
    check_type(node, BaseNode, place, "a LlamaIndex node")
    assert isinstance(node, BaseNode)  # noqa: S101 - for the type checker; checked above
    _check_id(node.node_id, place)
    fact = node_to_fact(node, _TEXT_ONLY, namespace, MetadataMode.NONE)
    metadata = fact["metadata"]
    properties = visible(metadata)
    text = node.get_content(MetadataMode.NONE)
    return Element(
        ChunkNode(text=text, id_=node.node_id, properties=properties),
        document=node.ref_doc_id,
        # Even if it is empty, it tells a LlamaIndex node.
        rest={NODE: metadata.get(NODE, {})},
        vector=directed(node.embedding),
    )


def _told_node(chunk: ChunkNode) -> BaseNode | None:
    """Return the LlamaIndex node of which the properties of a chunk tell, if they can be read.

    What the chunk has beside is metadata of the node.
    """
    told = chunk.properties.get(_NODE_CONTENT)
    if not isinstance(told, str):
        return None
    try:
        node = metadata_dict_to_node(chunk.properties, chunk.text)
    except (AttributeError, TypeError, ValueError):
        return None  # somebody else's property of that name
    node.id_ = chunk.id
    own = {key: value for key, value in chunk.properties.items() if key not in _TELLING}
    node.metadata = {**node.metadata, **own}
    return node


def directed(vector: Sequence[float] | VectorLike | None) -> VectorLike | None:
    """Return a vector, `None` for one without direction: nothing is near to it."""
    return None if vector is None or not any(vector) else vector


def given_list(values: Iterable[T], name: str, wanted: str) -> list[T]:
    """Return what is given as a list; refuse a single one in place of several."""
    if isinstance(values, str | bytes | Mapping | BaseModel) or not isinstance(values, Iterable):
        raise WrongTypeError(
            f"{name} is {shown(values)} ({type(values).__name__}); give a list of {wanted}"
        )
    return list(values)


def _check_id(node_id: str, place: str) -> None:
    if not node_id.strip():
        raise InvalidInputError(f"{place} has the id {shown(node_id)}, which is blank; name it")
    if node_id.startswith(RESERVED):
        raise InvalidInputError(
            f"{place} has the id {shown(node_id)}; ids that begin with {RESERVED} are the "
            "memory's own, so give it another"
        )


def _sources(properties: Mapping[str, Any], place: str) -> tuple[str, ...]:
    """Return the source that properties tell; refuse those whose names are ours."""
    reserved = [name for name in properties if name.startswith(RESERVED)]
    if reserved:
        raise InvalidInputError(
            f"{place} has the property {reserved[0]!r}; names that begin with {RESERVED} are "
            "the memory's own, so call it otherwise"
        )
    source = properties.get(TRIPLET_SOURCE_KEY)
    if source is None:
        return ()
    check_type(source, str, f"{TRIPLET_SOURCE_KEY} of {place}", "the id of a chunk, a str")
    return (source,)


def _document(properties: Mapping[str, Any]) -> str | None:
    # "None" is how LlamaIndex writes that there is none.
    told = (properties.get(key) for key in DOCUMENT_KEYS)
    return next((one for one in told if isinstance(one, str) and one != "None"), None)


def _is_embedding(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
    )
