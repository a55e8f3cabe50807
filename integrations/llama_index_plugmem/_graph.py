"""A property graph as facts: the whole mapping is written down here.

| node                        | fact                                                             |
|-----------------------------|------------------------------------------------------------------|
| a chunk's `id`              | `key`                                                            |
| an entity's `id`            | `key`: `_plugmem_entity:` and its digest                         |
| `name`, a chunk's `id`      | `entity`, where it has a letter or digit                         |
| a chunk's `text`            | `text`, verbatim; the id in place of a blank one                 |
| an entity, readable         | `text`: name, label, and the properties that are texts           |
| `properties`                | `metadata`, as they are, but for an `"embedding"` among them     |
| `embedding`, or else that   | `vector`                                                         |
| what it is                  | one of `tags`: `entity` or `chunk`                               |

| relation                    | fact                                                             |
|-----------------------------|------------------------------------------------------------------|
| both ends and the label     | `key`: `_plugmem_relation:` and their digest                     |
| the same, readable          | `text`; `entity`, `links`: an edge from one end to the other     |
| `properties`                | `metadata`, as they are                                          |
| what it is                  | one of `tags`: `relation`                                        |

An entity and a chunk may have the same id, and relations know ids alone: `ends_of` tells which
of the two is meant. Entities of a memory are told apart by their words, ids of nodes by every
character. So the graph is looked up by keys and by the metadata under `_plugmem_graph`, which
is never shown:

| there         | of             | is                                                           |
|---------------|----------------|--------------------------------------------------------------|
| `kind`        | all            | `entity`, `chunk` or `relation`                              |
| `label`       | all            | the label                                                    |
| `id`          | nodes          | the id                                                       |
| `name`        | entities       | the name                                                     |
| `source`      | relations      | the id of the node it starts from                            |
| `target`      | relations      | the id of the node it leads to                               |
| `sources`     | all            | every `triplet_source_id` it came with, oldest first; of     |
|               |                | many the newest, and the others are values under its key     |
| `crowded`     | all            | whether there are such others; they have no history          |
| `document`    | chunks         | the id of the document it is of                              |
| `placeholder` | entities       | whether a relation alone speaks of it                        |
| `blank`       | chunks         | a text that is blank                                         |
| `order`       | all            | the order of the keys of the properties, if not sorted; that |
|               |                | of a chunk that was a LlamaIndex node is with the node's     |
| `first`       | later versions | the id of the fact that was the first version                |
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, TypeAlias

from llama_index.core.graph_stores.types import (
    KG_SOURCE_REL,
    TRIPLET_SOURCE_KEY,
    VECTOR_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    Relation,
)
from llama_index.core.schema import BaseNode, TextNode

from llama_index_plugmem._graph_sources import split_sources
from llama_index_plugmem._mapping import NODE, to_node
from llama_index_plugmem._order import KEYS, NESTED, in_order, lost_order
from plugmem_core import Fact, InvalidInputError, Metadata, Namespace, RecalledFact
from plugmem_core.adapters.fields import visible
from plugmem_core.errors import shown as shortened
from plugmem_core.inputs import VectorLike
from plugmem_core.model import RESERVED
from plugmem_core.text import names

RECORD = f"{RESERVED}graph"
"""The metadata key of what the graph knows of a fact."""

ENTITY_KEY, RELATION_KEY = f"{RESERVED}entity:", f"{RESERVED}relation:"
"""How the keys of entities and of relations begin."""

ENTITY, CHUNK, RELATION = "entity", "chunk", "relation"

MENTIONS = "MENTIONS"
"""The label of the relation by which a chunk names its entities."""

STRUCTURE = (MENTIONS, KG_SOURCE_REL, "PARENT", "PREVIOUS", "NEXT", "CHILD")
"""Labels of relations that tell how texts hang together, and nothing about the world."""

DOCUMENT_KEYS = ("ref_doc_id", "doc_id", "document_id")
"""Properties under which stores of LlamaIndex keep the document of a chunk."""

MAX_LINE = 2_000
"""Most characters of the line that an entity is read as."""

_FORMER = (KEYS, NESTED, "text", "part")
"""What the rest of a LlamaIndex node says of its text and the order of its metadata."""

_HIDDEN = {TRIPLET_SOURCE_KEY, VECTOR_SOURCE_KEY, *DOCUMENT_KEYS}


class VerbatimEntity(EntityNode):
    """An entity whose id is its name, where LlamaIndex would put spaces for double quotes."""

    @property
    def id(self) -> str:
        """Its name."""
        return self.name


Shown: TypeAlias = EntityNode | ChunkNode | Relation
"""What LlamaIndex knows of a node or relation."""


@dataclass(frozen=True, slots=True)
class Element:
    """A node or relation of the graph.

    Attributes:
        shown: What LlamaIndex sees of it; the embedding left out.
        sources: Chunks it came from, oldest first.
        crowded: Whether older ones are stored apart.
        older: These, once they are read and among the sources.
        placeholder: Whether a relation alone speaks of it.
        document: The document of a chunk.
        rest: Reserved metadata of others, such as what else a LlamaIndex node has.
        vector: Its embedding, on the way into the memory.
        first: The fact of its first version; `None` while that is the only one.
        fact: The fact it was read from.
    """

    shown: Shown
    sources: tuple[str, ...] = ()
    crowded: bool = False
    older: tuple[str, ...] = ()
    placeholder: bool = False
    document: str | None = None
    rest: Metadata = field(default_factory=dict)
    vector: VectorLike | None = None
    first: int | None = None
    fact: Fact | RecalledFact | None = None

    @property
    def kind(self) -> str:
        """What it is."""
        if isinstance(self.shown, Relation):
            return RELATION
        return CHUNK if isinstance(self.shown, ChunkNode) else ENTITY

    @property
    def key(self) -> str:
        """The key of its fact."""
        if isinstance(self.shown, Relation):
            return relation_key(self.shown)
        return self.shown.id if isinstance(self.shown, ChunkNode) else entity_key(self.shown.id)

    @property
    def id(self) -> str:
        """The id of a node, the label of a relation."""
        return self.shown.id

    @property
    def place(self) -> int:
        """What tells which was first inserted; 0 for one that is not stored yet."""
        if self.first is not None:
            return self.first
        return 0 if self.fact is None else self.fact.id

    def __str__(self) -> str:
        """What messages call it."""
        if isinstance(self.shown, Relation):
            relation = self.shown
            return f"relation {(relation.source_id, relation.label, relation.target_id)}"
        return f"node {shortened(self.shown.id)}"


def relation_key(relation: Relation) -> str:
    """Return the key of the fact that a relation is."""
    return RELATION_KEY + _digest([relation.source_id, relation.label, relation.target_id])


def entity_key(node_id: str) -> str:
    """Return the key of the fact that the entity of an id is."""
    return ENTITY_KEY + _digest(node_id)


def _digest(value: object) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def entity_id(name: str) -> str:
    """Return the id that LlamaIndex gives to an entity of a name."""
    return EntityNode(name=name).id


def make_entity(node_id: str, name: str, **fields: Any) -> EntityNode:
    """Return the entity of an id and a name."""
    verbatim = entity_id(name) != node_id == name
    return VerbatimEntity(name=name, **fields) if verbatim else EntityNode(name=name, **fields)


def placeholder(node_id: str, sources: tuple[str, ...]) -> Element:
    """Return what stands for a node that a relation speaks of."""
    return Element(make_entity(node_id, node_id), sources=sources, placeholder=True)


def with_ends(relation: Element, known: Collection[str]) -> Element:
    """Return a relation whose ends are ids of nodes, where they were names of entities.

    Args:
        relation: The relation.
        known: The ids of the nodes there are.
    """
    shown = relation.shown
    assert isinstance(shown, Relation)  # noqa: S101 - for the type checker
    source, target = (
        end if end in known else entity_id(end) for end in (shown.source_id, shown.target_id)
    )
    if (source, target) == (shown.source_id, shown.target_id):
        return relation
    ends = {"source_id": source, "target_id": target}
    return replace(relation, shown=shown.model_copy(update=ends))


def merged(old: Element | None, new: Element) -> Element:
    """Return what an element becomes when it is stated again.

    Properties join, and the later ones win; a LlamaIndex node takes the place of the whole
    chunk, since its hash must stay.
    """
    if old is None:
        return new
    shown, rest = new.shown, new.rest
    if not rest:
        shown = shown.model_copy(update={"properties": old.shown.properties | shown.properties})
        rest = {
            name: {key: value for key, value in said.items() if key not in _FORMER}
            for name, said in old.rest.items()
        }
    return replace(
        new,
        shown=shown,
        crowded=old.crowded,
        older=old.older,
        document=new.document or old.document,
        rest=rest,
        vector=old.vector if new.vector is None else new.vector,
        first=old.first,
        fact=old.fact,
    )


def with_older(element: Element, older: Sequence[str]) -> Element:
    """Return an element with its older sources, too."""
    return replace(element, sources=(*older, *element.sources), older=tuple(older))


# -- into facts and back


def to_fact(element: Element, namespace: Namespace) -> dict[str, Any]:
    """Return an element as arguments of `Memory.remember`."""
    shown = element.shown
    record: Metadata = {"kind": element.kind, "label": shown.label}
    apart, listed = split_sources(element.sources)
    told = {
        "sources": list(listed),
        "crowded": bool(apart),
        "placeholder": element.placeholder,
        "document": element.document,
    }
    record |= {key: value for key, value in told.items() if value}
    if element.first is not None:
        record["first"] = element.first
    rest, order = element.rest, lost_order(shown.properties)
    if NODE in rest:
        rest = {**rest, NODE: {**rest[NODE], **order}}
    elif order:
        record["order"] = order
    links: list[tuple[str, str]] = []
    if isinstance(shown, Relation):
        source, target = shown.source_id, shown.target_id
        record |= {"source": source, "target": target}
        text = f"{source} {_spaced(shown.label)} {target}"
        entity = _name(source)
        if entity is not None and _name(target) is not None:
            links = [(shown.label, target)]
    elif isinstance(shown, ChunkNode):
        record["id"] = shown.id
        text, entity = shown.text, _name(shown.id)
        if not text.strip():
            record["blank"] = text
            text = shown.id
    else:
        record |= {"id": shown.id, "name": shown.name}
        text, entity = _line(shown), _name(shown.name)
    return {
        "text": text,
        "entity": entity,
        "links": links,
        "tags": [element.kind],
        "metadata": {**shown.properties, **rest, RECORD: record},
        "vector": element.vector,
        "key": element.key,
        "namespace": namespace,
        "embed": "blank" not in record,
    }


def is_of_graph(fact: Fact | RecalledFact) -> bool:
    """Whether a fact is part of a graph."""
    return RECORD in fact.metadata


def to_element(fact: Fact | RecalledFact) -> Element:
    """Return the element that a fact is."""
    metadata = fact.metadata
    record = metadata[RECORD]
    hidden = {key: value for key, value in metadata.items() if key.startswith(RESERVED)}
    order = record.get("order") or hidden.get(NODE) or {}
    properties = in_order(visible(metadata), order)
    shown: Shown
    if record["kind"] == RELATION:
        shown = Relation(
            label=record["label"],
            source_id=record["source"],
            target_id=record["target"],
            properties=properties,
        )
    elif record["kind"] == CHUNK:
        shown = ChunkNode(
            text=record.get("blank", fact.text),
            id_=record["id"],
            label=record["label"],
            properties=properties,
        )
    else:
        shown = make_entity(
            record["id"], record["name"], label=record["label"], properties=properties
        )
    return Element(
        shown,
        sources=tuple(record.get("sources", ())),
        crowded=record.get("crowded", False),
        placeholder=record.get("placeholder", False),
        document=record.get("document"),
        rest={key: value for key, value in hidden.items() if key != RECORD},
        first=record.get("first"),
        fact=fact,
    )


def to_llama_node(chunk: Element) -> BaseNode:
    """Return a chunk of the graph as a LlamaIndex node: the one it was, if it was one."""
    shown, fact = chunk.shown, chunk.fact
    assert isinstance(shown, ChunkNode)  # noqa: S101 - for the type checker
    assert fact is not None  # noqa: S101 - idem; it was read
    if NODE in fact.metadata:
        return to_node(fact)
    return TextNode(id_=shown.id, text=shown.text, metadata=shown.properties)


def _name(text: str) -> str | None:
    """Return a text if it can name an entity of the memory."""
    try:
        names.entity_key(text)
    except InvalidInputError:
        return None
    return text


def _line(entity: EntityNode) -> str:
    label = "" if entity.label == ENTITY else f" ({_spaced(entity.label)})"
    told = (
        f"{_spaced(key)}: {value}"
        for key, value in entity.properties.items()
        if isinstance(value, str) and key not in _HIDDEN and not key.startswith("_")
    )
    return ". ".join([entity.name + label, *told])[:MAX_LINE]


def _spaced(text: str) -> str:
    return text.replace("_", " ")
