"""Nodes and facts: the whole mapping is written down here.

| node                            | fact                                                    |
|---------------------------------|---------------------------------------------------------|
| `text`                          | `text`: as it is embedded, with the metadata it shows   |
|                                 | then; the text alone is kept, too, and comes back       |
| `node_id`                       | `key`; for a fact without one, `fact:` and its id       |
| `metadata`                      | `metadata`, as given, with nothing added unasked        |
| `metadata["fact_entity"]`       | `entity` as well: a name                                |
| `metadata["fact_tags"]`         | `tags` as well: a list of labels                        |
| `metadata["fact_links"]`        | `links` as well: a list of `(relation, target)` pairs   |
| `metadata["fact_valid_from"]`   | `valid_from` as well: an instant                        |
| `embedding`                     | its vector; not given back                              |
| class, relationships, templates | `metadata["_plugmem_node"]`, which is not shown         |
| order of the metadata's keys    | idem: a node's hash depends on it                       |
| `hash`                          | follows from text and metadata, so it is always the same |
| `score`                         | `score`, a float, beside the node in `NodeWithScore`    |

The four keys can be called otherwise, or left out of account, with a `NodeMapping`. They
stay in the metadata, so every node comes back as it was; a value of `None` says nothing. A
node without text, such as an image, is stored under its id as text, and comes back without.
The bytes of a `MediaResource` are not kept, as LlamaIndex itself keeps none.

LlamaIndex keeps one node of each `node_id`, so in the answer of a retriever a key is one
only where it names a single fact: in the namespace asked, and not for the superseded
versions that `closed` brings back. Facts from namespaces below it, and those versions, go
by their id, too.

Asked for, the fact's own fields join the metadata under `fact_` and their name, each on
every node: instants as ISO-8601 text, tuples as lists, `None` for what is missing. Like
all metadata they are shown to the language model, but they take no part in the text that
is embedded. `fact_explanation` is shown to neither.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    NodeWithScore,
    TextNode,
)

from llama_index_plugmem._order import KEYS, NESTED, in_order, lost_order
from plugmem_core import (
    Fact,
    InvalidInputError,
    Memory,
    Namespace,
    PlugmemError,
    RecalledFact,
    RecallResult,
    TooLargeError,
    WrongTypeError,
)
from plugmem_core.adapters.documents import document_id
from plugmem_core.adapters.fields import (
    EXPLANATION,
    FactField,
    included_fields,
    plain_explanation,
    visible,
)
from plugmem_core.adapters.mapping import FieldKeys
from plugmem_core.model import RESERVED
from plugmem_core.text import storable

NODE: Final = f"{RESERVED}node"
"""The metadata key of what else a node has."""

BY_ID: Final = "fact:"
"""How the ids of nodes begin whose facts go by their id: keys may be numbers, too."""

REF_DOC: Final = f"{NODE}.ref_doc_id"
"""The path, in metadata, of the id of the document that a node is a part of."""

_CLASSES: dict[str, type[BaseNode]] = {
    kind.class_name(): kind
    for kind in (TextNode, ImageNode, IndexNode, Node, Document, ImageDocument)
}


class NodeMapping(FieldKeys):
    """Which keys of a node's metadata say more than metadata does.

    Attributes:
        entity: The key under which a node names its subject.
        tags: The key of its labels, a list.
        links: The key of its `(relation, target)` pairs, edges from the subject.
        valid_from: The key of the instant at which it became true: ISO-8601 text or Unix
            milliseconds.
        subjects: The keys of which the first that has a name gives the subject, where `entity`
            says nothing: who speaks, or the title or heading that a text stands under. So
            facts that mention that name lead to it. `()` switches that off.

    `None` switches one off. All of them stay in the metadata, too.

    >>> mapping = NodeMapping(entity="speaker", tags="topics")
    >>> node = TextNode(text="Tea is ready", metadata={"speaker": "Mara", "topics": ["tea"]})
    >>> mapping.fields_of(node)
    {'entity': 'Mara', 'tags': ['tea']}
    """

    def fields_of(self, node: BaseNode) -> dict[str, Any]:
        """Return what the metadata says of the fact, by the names of `Memory.remember`."""
        return self.said_in(node.metadata)


# -- from nodes to facts


def to_fact(
    node: BaseNode,
    mapping: NodeMapping,
    namespace: Namespace,
    mode: MetadataMode = MetadataMode.NONE,
) -> dict[str, Any]:
    """Return the arguments of `Memory.remember` for a node.

    Args:
        node: Any of LlamaIndex's nodes.
        mapping: Which metadata says more than metadata.
        namespace: Where the fact is to live.
        mode: Which metadata is a part of the fact's text, for words to be found by.

    Raises:
        InvalidInputError: A metadata key begins as the reserved ones do.
    """
    for key in node.metadata:
        if key.startswith(RESERVED):
            raise InvalidInputError(
                f"node {node.node_id!r}: metadata {key!r} begins with {RESERVED!r}, "
                "which is reserved; call it otherwise"
            )
    text = storable(node.get_content(mode))
    blank = not text.strip()
    if blank:
        text = node.node_id
    state = _state(node) | _own_text(node.get_content(MetadataMode.NONE), text)
    return {
        **mapping.fields_of(node),
        "text": text,
        "metadata": {**node.metadata, NODE: state} if state else node.metadata,
        # A text without words may have a vector without direction, which says nothing.
        "vector": node.embedding if node.embedding and any(node.embedding) else None,
        "key": node.node_id,
        "namespace": namespace,
        "embed": not blank,
    }


def store_nodes(
    memory: Memory,
    nodes: Sequence[BaseNode],
    mapping: NodeMapping,
    namespace: Namespace,
    *,
    end: Iterable[str] = (),
    mode: MetadataMode = MetadataMode.NONE,
) -> None:
    """Store nodes in one transaction; the links end of those that are replaced.

    Args:
        memory: The open memory.
        nodes: What to store.
        mapping: Which metadata says more than metadata.
        namespace: Where the facts are to live.
        end: The ids of nodes that stop being true thereby.
        mode: Which metadata is a part of the facts' texts.

    Raises:
        InvalidInputError: A node cannot be a fact; it is named, and nothing was stored.
    """
    facts = [to_fact(node, mapping, namespace, mode) for node in nodes]
    try:
        memory.write(remember=facts, end=[(namespace, key) for key in end], unlink=True)
    except PlugmemError as error:
        if error.place is None:
            raise
        raise about_node(nodes[error.place], error, mapping) from error


def about_node(node: BaseNode, error: PlugmemError, mapping: NodeMapping) -> PlugmemError:
    """Return an error of a fact as one of the node it was to be made of."""
    name = f"node {node.node_id!r}"
    problem = str(error.__cause__)
    field = re.split(r"\W", problem, maxsplit=1)[0]
    key = dict(mapping).get(field)
    if key is not None:
        name += f": metadata {key!r}"
    if field == "text" and isinstance(error, TooLargeError):
        problem += ", for example with a SentenceSplitter"
    if field == "metadata" and isinstance(error, WrongTypeError):
        problem += ", and dates as ISO-8601 text"
    return type(error)(f"{name}: {problem}")


def _own_text(own: str, text: str) -> dict[str, Any]:
    """Return what it takes to get a node's own text back from that of its fact."""
    if own == text:
        return {}
    start = text.rfind(own) if own else -1
    return {"text": json.dumps(own)} if start < 0 else {"part": [start, len(own)]}


def _state(node: BaseNode) -> dict[str, Any]:
    """Return what a node has beside id, text, metadata and embedding, without defaults."""
    kind = next(one for one in type(node).__mro__ if one in _CLASSES.values())
    state: dict[str, Any] = node.model_dump(mode="json", exclude_defaults=True)
    for field in ("id_", "embedding", "metadata", "text", "class_name"):
        state.pop(field, None)
    if state.get("text_resource") is not None:
        state["text_resource"].pop("text", None)
    if state.get("obj", ...) is None:
        del state["obj"]
    if node.ref_doc_id is not None:
        state["ref_doc_id"] = node.ref_doc_id  # as a relationship it is harder to find
    if kind is not TextNode:
        state["class"] = kind.__name__
    return state | lost_order(node.metadata)


# -- from facts to nodes


def to_node(fact: Fact | RecalledFact) -> BaseNode:
    """Return the node a fact was made of; a `TextNode` for one made otherwise."""
    state = dict(fact.metadata.get(NODE) or {})
    state.pop("ref_doc_id", None)
    metadata = in_order(visible(fact.metadata), state)
    for key in (KEYS, NESTED):
        state.pop(key, None)
    kind = _CLASSES[state.pop("class", "TextNode")]
    start, length = state.pop("part", (0, len(fact.text)))
    written = state.pop("text", None)
    text = fact.text[start : start + length] if written is None else json.loads(written)
    if not issubclass(kind, Node):
        state["text"] = text
    elif "text_resource" in state:
        state["text_resource"] = {**state["text_resource"], "text": text}
    return kind.from_dict({**state, "id_": node_id(fact), "metadata": metadata})


def node_id(fact: Fact | RecalledFact) -> str:
    """Return the id of the node that a fact is."""
    return document_id(fact, BY_ID)


def to_nodes(
    result: RecallResult, include: Sequence[FactField], namespace: Namespace, *, closed: bool
) -> list[NodeWithScore]:
    """Return the facts of a recall as nodes with their scores, best first.

    Args:
        result: The answer of the recall.
        include: Fields to add to the metadata.
        namespace: The namespace the recall asked.
        closed: Whether it asked for superseded facts, too.
    """
    nodes = [_recalled(fact, include, namespace, closed=closed) for fact in result.facts]
    if result.explanation is not None:
        for node, explained in zip(nodes, result.explanation.facts, strict=True):
            node.metadata[EXPLANATION] = plain_explanation(explained)
            node.excluded_embed_metadata_keys.append(EXPLANATION)
            node.excluded_llm_metadata_keys.append(EXPLANATION)
    return [
        NodeWithScore(node=node, score=fact.score)
        for node, fact in zip(nodes, result.facts, strict=True)
    ]


def _recalled(
    fact: RecalledFact, include: Sequence[FactField], namespace: Namespace, *, closed: bool
) -> BaseNode:
    node = to_node(fact)
    superseded = closed and not fact.is_current
    if fact.namespace != namespace or superseded:
        node.id_ = f"{BY_ID}{fact.id}"
    fields = included_fields(fact, include)
    node.metadata.update(fields)
    node.excluded_embed_metadata_keys.extend(fields)
    return node
