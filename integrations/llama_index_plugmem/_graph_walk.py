"""What the entities that a question names are connected with, by the exact ids of nodes.

The walk of the memory tells entities apart by their words alone, and would go from `C++` on with
`C#`. Here relations are followed from id to id: those that the memory has found already, and
some more of each node.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from llama_index_plugmem._graph import STRUCTURE, Element
from llama_index_plugmem._graph_reads import GraphReader, ends, labelled
from plugmem_core import InvalidInputError
from plugmem_core.text import entity_key

FAINT = 0.1
"""The weight of a relation of which no word is in the question, against one with all of them."""

MAX_NODES = 16
"""Most nodes of a hop, the weightiest, whose relations are looked up."""

MAX_RELATIONS = 64
"""Most relations of a node that are looked up, and again as many that tell how texts hang
together, beside those that the memory has found."""


class Walk(NamedTuple):
    """What was reached.

    Attributes:
        start: The ids of the nodes it started from.
        nodes: The weight of each node, by id.
        relations: Each relation and its weight, by key.
    """

    start: frozenset[str]
    nodes: dict[str, float]
    relations: dict[str, tuple[Element, float]]


def walk(
    reader: GraphReader,
    start: Iterable[str],
    depth: int,
    decay: float,
    found: Mapping[str, Element],
    said: Mapping[str, float],
) -> Walk:
    """Follow relations in both directions.

    A relation weighs what its words say, and at least a share of the one that led to it: so
    what is behind "Mara's sister" goes before all the others that Mara met.

    Args:
        reader: The graph.
        start: Ids of nodes.
        depth: Most relations from there.
        decay: The share of the weight that is left after a hop.
        found: Relations that the memory has found, by key.
        said: How well they fit the question by their words, from 0 to 1, by key.
    """
    near: dict[str, list[Element]] = defaultdict(list)
    for relation in found.values():
        for end in set(ends(relation)):
            near[end].append(relation)
    reached = Walk(frozenset(start), dict.fromkeys(start, FAINT / decay), {})
    here = list(reached.nodes)
    for _ in range(depth):
        there: dict[str, float] = {}
        for place, node in enumerate(here):
            looked_up = _some_of(reader, node) if place < MAX_NODES else ()
            for one in (*near[node], *looked_up):
                if one.key in reached.relations:
                    continue
                weight = max(said.get(one.key, 0.0), decay * reached.nodes[node])
                reached.relations[one.key] = one, weight
                for end in ends(one):
                    if end not in reached.nodes:
                        there[end] = max(weight, there.get(end, 0.0))
        reached.nodes.update(there)
        here = sorted(there, key=lambda end: -there[end])
    return reached


def named(ids: Iterable[str], names: Collection[str], text: str) -> list[str]:
    """Return those of some ids that names of entities mean.

    Names are told apart by their words; among ids with the same words those that a text has
    verbatim are meant, if it has any.

    Args:
        ids: Ids of nodes.
        names: What the memory calls the entities.
        text: What was asked.
    """
    meant: dict[str, list[str]] = {key: [] for key in map(_key, names) if key is not None}
    for one in dict.fromkeys(ids):
        key = _key(one)
        if key in meant:
            meant[key].append(one)
    return [
        one
        for same in meant.values()
        for one in [spelled for spelled in same if _is_in(spelled, text)] or same
    ]


def _some_of(reader: GraphReader, node: str) -> Iterable[Element]:
    about_texts = labelled(STRUCTURE)
    for labels in ({"$not": about_texts}, about_texts):
        yield from reader.first_relations(node, MAX_RELATIONS, labels)


def _key(name: str) -> str | None:
    try:
        return entity_key(name)
    except InvalidInputError:
        return None


def _is_in(name: str, text: str) -> bool:
    # "C" is not in "C++".
    return re.search(rf"(?<!\w){re.escape(name)}(?![\w+#])", text) is not None
