"""Property graphs as JSON, in the form that LlamaIndex's `SimplePropertyGraphStore` writes.

| there       | is                                                                              |
|-------------|---------------------------------------------------------------------------------|
| `nodes`     | nodes by id; a chunk's properties tell the LlamaIndex node that it was. One     |
|             | whose id an entity has too is under `_plugmem_chunk:` and the id                |
| `relations` | relations by source, label and target, joined by `_`                            |
| `triplets`  | lists of source, label and target                                               |
"""

from collections.abc import Iterable, Mapping
from typing import Any

from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from llama_index_plugmem._graph import CHUNK, RELATION, Element, entity_key, to_llama_node
from llama_index_plugmem._graph_input import from_node, from_relation
from llama_index_plugmem._graph_reads import GraphReader, as_node
from llama_index_plugmem._mapping import NODE
from plugmem_core import InvalidInputError, Namespace
from plugmem_core.errors import shown
from plugmem_core.model import RESERVED

SHARED = f"{RESERVED}chunk:"
"""What stands before the id of a chunk that an entity has, too."""


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
    """
    for part in ("nodes", "relations", "triplets"):
        if part not in data:
            raise InvalidInputError(
                f"the graph has no {part!r}; give what to_dict returned, or a file that persist "
                "or a SimplePropertyGraphStore wrote"
            )
    nodes = [_node(key, one, namespace) for key, one in data["nodes"].items()]
    told = {_triple(one): one for one in map(Relation.model_validate, data["relations"].values())}
    relations = (told.get(tuple(triple)) or _bare(triple) for triple in data["triplets"])
    return nodes, [from_relation(one, f"relation {_triple(one)}") for one in relations]


def _node(key: str, told: Mapping[str, Any], namespace: Namespace) -> Element:
    place = f"node {shown(key)}"
    if "name" in told:
        return from_node(EntityNode.model_validate(told), namespace, place)
    if "text" not in told:
        raise InvalidInputError(
            f"{place} is {shown(told)}; give an entity, with a name, or a chunk, with a text"
        )
    # The id that a chunk without one had is a hash that no other process gives.
    chunk = ChunkNode.model_validate({**told, "id_": key.removeprefix(SHARED)})
    return from_node(chunk, namespace, place)


def _triple(relation: Relation) -> tuple[str, ...]:
    return relation.source_id, relation.label, relation.target_id


def _bare(triple: Iterable[str]) -> Relation:
    source, label, target = triple
    return Relation(label=label, source_id=source, target_id=target)


def _joined(source: str, label: str, target: str) -> str:
    return f"{source}_{label}_{target}"
