"""Where an index differs from the one that truth gives."""

from collections.abc import Iterable

from plugmem_core.index import Index


def differences(truth: Index, index: Index) -> list[str]:
    """Compare two indexes of the same change number; the first was just built from the file."""
    found = list(_facts(truth, index))
    found += _edges(truth, index)
    found += _tags(truth, index)
    if _vectors(truth) != _vectors(index):
        found.append("the index holds other vectors than the file")
    return found


def _facts(truth: Index, index: Index) -> Iterable[str]:
    stored = set(truth.facts.ids())
    for fact in stored.symmetric_difference(index.facts.ids()):
        yield f"fact {fact} is {'missing from' if fact in stored else 'only in'} the index"
    if truth.lexical.postings.documents() != index.lexical.postings.documents():
        yield "the index counts another number of documents than the file"
    if truth.mentions.facts.total() != index.mentions.facts.total():
        yield "the index counts other mentions of entities than the file"
    for fact in stored.intersection(index.facts.ids()):
        if truth.facts.row(fact) != index.facts.row(fact):
            yield f"fact {fact} has other columns in the index"
        if truth.mentions.entities.list(fact) != index.mentions.entities.list(fact):
            yield f"fact {fact} has other mentions in the index"
        if _terms(truth, fact) != _terms(index, fact):
            yield f"fact {fact} has other terms in the index"
        entity = truth.facts.entity(fact)
        if entity < len(truth.entities) and fact not in index.entities.list(entity):
            yield f"fact {fact} is missing from the facts of its entity"


def _terms(index: Index, fact: int) -> list[str]:
    return sorted(index.lexical.postings.terms_of(fact))


def _edges(truth: Index, index: Index) -> Iterable[str]:
    for edge in range(max(len(truth.graph), len(index.graph))):
        if truth.graph.row(edge) != index.graph.row(edge):
            yield f"edge {edge} differs in the index"


def _tags(truth: Index, index: Index) -> Iterable[str]:
    names = {
        tags.name(i) for tags in (truth.tags.names, index.tags.names) for i in range(len(tags))
    }
    for name in sorted(names):
        if truth.tags.facts_of(name) != index.tags.facts_of(name):
            yield f"tag {name!r} has other facts in the index"


def _vectors(index: Index) -> list[int]:
    return sorted(index.vectors.pool.facts()) if index.vectors else []
