"""What kinds of nodes and relations a property graph has."""

from collections.abc import Iterable
from typing import Any

from llama_index.core.graph_stores.types import LabelledNode, Triplet

Schema = dict[str, Any]

_TYPES = {
    bool: "BOOLEAN",
    int: "INTEGER",
    float: "FLOAT",
    str: "STRING",
    list: "LIST",
    dict: "MAP",
    type(None): "NULL",
}


def make_schema(nodes: Iterable[LabelledNode], triples: Iterable[Triplet]) -> Schema:
    """Return labels, their properties with types, and what relates to what.

    The shape is that of the stores which speak Cypher.
    """
    of_nodes: dict[str, dict[str, str]] = {}
    of_relations: dict[str, dict[str, str]] = {}
    met: dict[tuple[str, str, str], None] = {}
    for node in nodes:
        _learn(of_nodes, node.label, node.properties)
    for source, relation, target in triples:
        _learn(of_relations, relation.label, relation.properties)
        met[source.label, relation.label, target.label] = None
    return {
        "node_props": _listed(of_nodes),
        "rel_props": _listed(of_relations),
        "relationships": [
            {"start": start, "type": label, "end": end} for start, label, end in sorted(met)
        ],
        "metadata": {"constraint": [], "index": []},
    }


def schema_text(schema: Schema) -> str:
    """Return a schema as lines for a prompt."""
    return "\n".join(
        [
            "Node properties:",
            *map(_described, schema["node_props"].items()),
            "Relationship properties:",
            *map(_described, schema["rel_props"].items()),
            "The relationships:",
            *(
                f"(:{one['start']})-[:{one['type']}]->(:{one['end']})"
                for one in schema["relationships"]
            ),
        ]
    )


def _learn(known: dict[str, dict[str, str]], label: str, properties: dict[str, Any]) -> None:
    types = known.setdefault(label, {})
    for name, value in properties.items():
        types.setdefault(name, _TYPES[type(value)])


def _listed(known: dict[str, dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    return {
        label: [{"property": name, "type": kind} for name, kind in sorted(types.items())]
        for label, types in sorted(known.items())
    }


def _described(entry: tuple[str, list[dict[str, str]]]) -> str:
    label, properties = entry
    told = ", ".join(f"{one['property']}: {one['type']}" for one in properties)
    return f"{label} {{{told}}}"
