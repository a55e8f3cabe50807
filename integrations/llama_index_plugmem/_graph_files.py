"""Property graphs as JSON, in the form that LlamaIndex's `SimplePropertyGraphStore` writes.

| there       | is                                                                              |
|-------------|---------------------------------------------------------------------------------|
| `nodes`     | nodes by id; a chunk's properties tell the LlamaIndex node that it was. One     |
|             | whose id an entity has too is under `_plugmem_chunk:` and the id                |
| `relations` | relations by source, label and target, joined by `_`                            |
| `triplets`  | lists of source, label and target                                               |
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from llama_index.core.graph_stores.types import ChunkNode, Relation
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from pydantic import ValidationError

from llama_index_plugmem._graph import (
    CHUNK,
    RELATION,
    Element,
    entity_key,
    make_entity,
    to_llama_node,
)
from llama_index_plugmem._graph_input import from_node, from_relation
from llama_index_plugmem._graph_reads import GraphReader, as_node
from llama_index_plugmem._mapping import NODE
from plugmem_core import InvalidInputError, Namespace
from plugmem_core.errors import shown
from plugmem_core.inputs import check_type
from plugmem_core.model import RESERVED

T = TypeVar("T")

SHARED = f"{RESERVED}chunk:"
"""What stands before the id of a chunk that an entity has, too."""


_PARTS: dict[str, tuple[type, ...]] = {
    "nodes": (Mapping,),
    "relations": (Mapping,),
    "triplets": (list, tuple, set),
}


def to_json(reader: GraphReader) -> dict[str, Any]:
    """Return the graph, vectors included, without its history."""
    elements = reader.find(None, None)
    ids = [element.fact.id for element in elements if element.fact is not None]
    vectors = reader.memory.vectors(ids)
    keys = {element.key for element in elements}
    nodes: dict[str, Any] = {}
    for element, vector in zip(elements, vectors, strict=True):
        embedding = None if vector is None else vector.tolist()
        node = as_node(element).model_copy(update={"embedding": embedding})
        if NODE in element.rest:
            told = node_to_metadata_dict(to_llama_node(element), remove_text=True)
            node = node.model_copy(update={"properties": told})
        shared = element.kind == CHUNK and entity_key(element.id) in keys
        nodes[SHARED + element.id if shared else element.id] = node.model_dump()
    relations = [
        element.shown
        for element in sorted(reader.elements([RELATION]), key=lambda one: one.place)
        if isinstance(element.shown, Relation)
    ]
    return {
        "nodes": nodes,
        "relations": {_joined(*_triple(one)): one.model_dump() for one in relations},
        "triplets": [list(_triple(one)) for one in relations],
    }


def from_json(data: Mapping[str, Any], namespace: Namespace) -> tuple[list[Element], list[Element]]:
    """Return the nodes and relations of a graph.

    Raises:
        InvalidInputError: A node is neither an entity nor a chunk, or something is missing.
        WrongTypeError: It is no mapping.
    """
    check_type(data, Mapping, "data", "what to_dict returned")
    for part, kind in _PARTS.items():
        if not isinstance(data.get(part), kind):
            raise InvalidInputError(
                f"the graph has no {part!r}; give what to_dict returned, or a file that persist "
                "or a SimplePropertyGraphStore wrote"
            )
    nodes = [_node(key, one, namespace) for key, one in data["nodes"].items()]
    stated = (_relation(one, f"relation {shown(key)}") for key, one in data["relations"].items())
    told = {_triple(one): one for one in stated}
    relations = (told.get(_triple(one), one) for one in map(_bare, data["triplets"]))
    return nodes, [from_relation(one, f"relation {_triple(one)}") for one in relations]


def _node(key: str, told: object, namespace: Namespace) -> Element:
    place = f"node {shown(key)}"
    if isinstance(told, Mapping) and "name" in told:
        return from_node(_made(partial(make_entity, key), told, place), namespace, place)
    if not isinstance(told, Mapping) or "text" not in told:
        raise InvalidInputError(
            f"{place} is {shown(told)}; give an entity, with a name, or a chunk, with a text"
        )
    # The id that a chunk without one had is a hash that no other process gives.
    chunk = _made(ChunkNode, {**told, "id_": key.removeprefix(SHARED)}, place)
    return from_node(chunk, namespace, place)


def _relation(told: object, place: str) -> Relation:
    if not isinstance(told, Mapping):
        raise InvalidInputError(f"{place} is {shown(told)}; give its label and both ends")
    return _made(Relation, told, place)


def _made(make: Callable[..., T], told: Mapping[str, Any], place: str) -> T:
    try:
        return make(**told)
    except (TypeError, ValidationError) as error:
        raise InvalidInputError(f"{place} is {shown(told)}: {error}") from None


def _triple(relation: Relation) -> tuple[str, str, str]:
    return relation.source_id, relation.label, relation.target_id


def _bare(triple: object) -> Relation:
    parts = list(triple) if isinstance(triple, list | tuple) else []
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise InvalidInputError(f"a triplet is {shown(triple)}; give source, label and target")
    source, label, target = parts
    return Relation(label=label, source_id=source, target_id=target)


def _joined(source: str, label: str, target: str) -> str:
    return f"{source}_{label}_{target}"
