"""Which facts a recall may see: one admission test, used by every source.

A fact is admitted when it is not forgotten, lives in the namespace or below it,
passes the tag and metadata conditions, has not expired, was known at the instant
of knowledge and held at the instant of validity.

`as_of` moves both instants and uses the end of validity as it stands today, as the
reference does. `known_at` on its own, or with `valid_at`, asks what was believed
then: an end of validity that was learned later does not count yet.
"""

from plugmem_core.index import Index
from plugmem_core.kernels import OPEN, IdSet, Scope
from plugmem_core.recall.query import Query


def build_scope(index: Index, query: Query, now: int, passing: IdSet | None) -> Scope:
    """Return the admission test of a query.

    Args:
        index: In step with truth.
        query: The question.
        now: Unix milliseconds.
        passing: The facts that pass the query's conditions; `None` when it has none.
    """
    valid_at, known_at = clocks(query, now)
    scope = Scope(
        valid_at,
        known_at,
        max(now, valid_at),
        query.closed,
        query.known_at is not None,
    )
    mask = index.spaces.mask(query.namespace, below=query.below)
    if mask is not None:
        scope.restrict_namespaces(mask)
    if passing is not None:
        scope.restrict_facts(passing)
    return scope


def clocks(query: Query, now: int) -> tuple[int, int]:
    """Return the instants of validity and of knowledge a query looks from."""
    valid_at, known_at = now, OPEN
    if query.as_of is not None:
        valid_at = known_at = query.as_of
    if query.valid_at is not None:
        valid_at = query.valid_at
    if query.known_at is not None:
        known_at = query.known_at
    return valid_at, known_at


def looks_back(query: Query) -> bool:
    """Whether the query is about another instant than now, so that edge history is walked."""
    return (query.as_of, query.valid_at, query.known_at) != (None, None, None)


def passing_facts(index: Index, query: Query, filtered: IdSet | None) -> IdSet | None:
    """Return the facts that pass every condition and the filter; `None` without any."""
    passing = filtered
    if query.tags or query.any_tags or query.not_tags:
        tags = (query.tags, query.any_tags, query.not_tags)
        passing = _both(passing, index.tags.allowed(*tags, len(index.facts)))
    if query.among is not None:
        chosen = IdSet(len(index.facts))
        for fact in query.among:
            chosen.add(fact)
        passing = _both(passing, chosen)
    return passing


def _both(one: IdSet | None, other: IdSet) -> IdSet:
    if one is not None:
        other.intersect(one)
    return other
