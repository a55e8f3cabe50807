"""The order of what a recall found in a property graph.

The ranks of a recall tell little of a hub: all of its relations have its name in them, and all
are as near to it, so those of which a question speaks would drown among the others. So here
counts what each source says of a fact, from 0 to 1:

| source           | says                                                                    |
|------------------|-------------------------------------------------------------------------|
| `bm25`           | one over the rank, and at most the share of the best score              |
| `vector`, `time` | one over the rank                                                       |
| `graph`          | the share of the best weight of the walk, which follows what words say  |

Equal facts share what their ranks would have, so that a hundred of them leave room for
others.

The score is the sum of these, each times the weight of its source, over `rrf_k + 1`, times the
boost of recency: the best fact of a source scores what it does in a recall.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from llama_index_plugmem._graph import CHUNK, ENTITY, RELATION, Element, is_of_graph, to_element
from llama_index_plugmem._graph_properties import Where
from llama_index_plugmem._graph_reads import GraphReader, ends
from llama_index_plugmem._graph_walk import Walk, named, walk
from plugmem_core import RecallResult
from plugmem_core.filters import parse_filter
from plugmem_core.recall import FactExplanation

Scored = tuple[Element, float]

_OWN = ("bm25", "vector", "time")
"""Sources that tell facts apart by what they are, and not by where they are."""


class Asked(NamedTuple):
    """What a question asks of the graph.

    Attributes:
        text: The question, and the names given with it.
        depth: Most relations from the entities that it names; 0 without the graph.
        sources: What may find something; words order what only the graph finds, too.
        weights: What each source counts.
        where: The filter that all that is found passes.
    """

    text: str
    depth: int
    sources: Collection[str]
    weights: Mapping[str, float]
    where: Where


class Ranking(NamedTuple):
    """What answers, each with its score; not in order.

    Attributes:
        chunks: Chunks.
        relations: Relations, those that only the walk found among them.
        entities: Entities that words or vectors found.
        start: The ids of the nodes that the question names.
    """

    chunks: list[Scored]
    relations: list[Scored]
    entities: list[Scored]
    start: frozenset[str]


class _Found(NamedTuple):
    element: Element
    explained: FactExplanation


def rank(result: RecallResult, reader: GraphReader, asked: Asked) -> Ranking:
    """Return what a recall found, scored as the module says.

    Args:
        result: The answer of a recall that was asked to explain.
        reader: The graph.
        asked: What was asked.
    """
    assert result.explanation is not None  # noqa: S101 - for the type checker; asked for
    found = list(map(_Found, map(to_element, result.facts), result.explanation.facts))
    entities = [one for one in found if one.element.kind == ENTITY]
    others = [one for one in found if one.element.kind != ENTITY]
    said = _said(others, asked, asked.sources)
    reached = _walk(result, others, reader, asked)
    led = _led_to(reached, others, asked)
    boosts = {one.element.key: one.explained.boost for one in found}
    best = reader.memory.config.rrf_k + 1

    def scored(elements: Iterable[Element], *parts: Mapping[str, float]) -> list[Scored]:
        answers = []
        for one in elements:
            if any(one.key in part for part in parts):
                told = sum(part.get(one.key, 0.0) for part in parts)
                # Not so finely that milliseconds of age tell equals apart.
                answers.append((one, round(told * boosts.get(one.key, 1.0) / best, 9)))
        return answers

    read = [one.element for one in others]
    walked = [one for one, _ in reached.relations.values() if one.key not in boosts]
    return Ranking(
        chunks=scored((one for one in read if one.kind == CHUNK), said, led),
        relations=scored([*(one for one in read if one.kind == RELATION), *walked], said, led),
        entities=scored((one.element for one in entities), _said(entities, asked, asked.sources)),
        start=reached.start,
    )


def _said(
    found: Sequence[_Found], asked: Asked, sources: Collection[str] = _OWN
) -> dict[str, float]:
    """Return what words, vectors and time say of each fact that they found, by key."""
    said: dict[str, float] = {}
    for source in set(_OWN).intersection(sources):
        values = {
            one.element.key: -evidence.rank if source == "time" else evidence.raw
            for one in found
            for evidence in one.explained.evidence
            if evidence.source == source
        }
        parts = _by_rank(values)
        best = max(values.values(), default=0.0)
        for key, part in parts.items():
            # Some ways to score words give negative scores.
            cap = max(values[key], 0.0) / best if source == "bm25" and best > 0 else 1.0
            said[key] = said.get(key, 0.0) + asked.weights[source] * min(part, cap)
    return said


def _by_rank(values: Mapping[str, float]) -> dict[str, float]:
    """Return one over the rank of each value, on average over equal ones."""
    parts: dict[str, float] = {}
    for keys in _groups(values):
        parts |= dict.fromkeys(keys, _mean(len(parts) + 1, len(keys)))
    return parts


def _by_share(values: Mapping[str, float]) -> dict[str, float]:
    """Return the share of the best that each value is, less where many are equal.

    What is worth less never gets more than that.
    """
    parts: dict[str, float] = {}
    best, part = max(values.values(), default=0.0), 1.0
    for keys in _groups(values):
        part = min(part, values[keys[0]] / best, _mean(1, len(keys)))
        parts |= dict.fromkeys(keys, part)
    return parts


def _groups(values: Mapping[str, float]) -> Iterator[list[str]]:
    """Yield the keys of equal values, the highest first."""
    ranked = sorted(values, key=lambda key: -values[key])
    for _, keys in groupby(ranked, key=lambda key: values[key]):
        yield list(keys)


def _mean(rank: int, count: int) -> float:
    """Return one over the rank, on average over ranks from one on."""
    return sum(1 / one for one in range(rank, rank + count)) / count


def _walk(result: RecallResult, found: Sequence[_Found], reader: GraphReader, asked: Asked) -> Walk:
    assert result.explanation is not None  # noqa: S101 - as above
    anchors = result.explanation.anchors
    if not asked.depth or not anchors:
        return Walk(frozenset(), {}, {})
    told = [one for one in found if one.element.kind == RELATION]
    said = _said(told, asked)
    most = max(said.values(), default=0.0) or 1.0
    relations = [*(one.element for one in told), *_met(result, reader)]
    ids = [one.id for one in reader.entities(anchors).values()]
    ids += [one.id for one in map(to_element, result.facts) if one.kind != RELATION]
    ids += [end for one in relations for end in ends(one)]
    return walk(
        reader,
        named(ids, anchors, asked.text),
        asked.depth,
        reader.memory.config.graph_decay,
        {one.key: one for one in relations},
        {key: one / most for key, one in said.items()},
    )


def _met(result: RecallResult, reader: GraphReader) -> list[Element]:
    """Return the relations whose edges the walk of the memory met, filtered or not."""
    ids = [edge.provenance for edge in result.edges if edge.provenance is not None]
    facts = reader.memory.get_many(ids, namespace=reader.namespace)
    met = [
        to_element(fact)
        for fact in facts
        if fact is not None and fact.namespace == reader.namespace and is_of_graph(fact)
    ]
    return [one for one in met if one.kind == RELATION]


def _led_to(reached: Walk, found: Sequence[_Found], asked: Asked) -> dict[str, float]:
    """Return what the walk says of each fact that it led to, by key."""
    shown = parse_filter(asked.where)
    led = {
        key: weight
        for key, (one, weight) in reached.relations.items()
        if one.fact is not None and shown.matches(one.fact.metadata)
    }
    led |= {
        one.element.key: reached.nodes[one.element.id]
        for one in found
        if one.element.kind == CHUNK and one.element.id in reached.nodes
    }
    return {key: asked.weights["graph"] * part for key, part in _by_share(led).items()}
