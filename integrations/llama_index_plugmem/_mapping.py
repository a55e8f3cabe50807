"""Facts as nodes: the whole mapping is written down here.

| node           | fact                                                               |
|----------------|--------------------------------------------------------------------|
| `text`         | `text`, verbatim                                                   |
| `node_id`      | `key`, or the decimal id of a fact without one; see below          |
| `metadata`     | `metadata`, as stored, with nothing added unasked                  |
| `hash`         | follows from text and metadata, so it is the same for every answer |
| `score`        | `score`, a float, beside the node in `NodeWithScore`               |

LlamaIndex keeps one node of each `node_id`, so a key is one only where it names a single
fact: in the namespace asked, and not for the superseded versions that `closed` brings
back. Facts from namespaces below it, and those versions, go by their decimal id.

Asked for, the fact's own fields join the metadata under `fact_` and their name, each on
every node: instants as ISO-8601 text, tuples as lists, `None` for what is missing. Like
all metadata they are shown to the language model, but they take no part in the text that
is embedded. `fact_explanation` is shown to neither.
"""

from collections.abc import Sequence

from llama_index.core.schema import NodeWithScore, TextNode

from plugmem_core import Namespace, RecalledFact, RecallResult
from plugmem_core.adapters.fields import EXPLANATION, FactField, included_fields, plain_explanation


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
    nodes = [_to_node(fact, include) for fact in result.facts]
    for node, fact in zip(nodes, result.facts, strict=True):
        superseded = closed and not fact.is_current
        if fact.key is not None and fact.namespace == namespace and not superseded:
            node.id_ = fact.key
    if result.explanation is not None:
        for node, explained in zip(nodes, result.explanation.facts, strict=True):
            node.metadata[EXPLANATION] = plain_explanation(explained)
            node.excluded_embed_metadata_keys.append(EXPLANATION)
            node.excluded_llm_metadata_keys.append(EXPLANATION)
    return [
        NodeWithScore(node=node, score=fact.score)
        for node, fact in zip(nodes, result.facts, strict=True)
    ]


def _to_node(fact: RecalledFact, include: Sequence[FactField]) -> TextNode:
    fields = included_fields(fact, include)
    return TextNode(
        id_=str(fact.id),
        text=fact.text,
        metadata=fact.metadata | fields,
        excluded_embed_metadata_keys=list(fields),
    )
