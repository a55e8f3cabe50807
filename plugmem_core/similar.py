"""Facts that a new one resembles."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import NO_ID, OPEN, Scope
from plugmem_core.model import Similar
from plugmem_core.store import Vector
from plugmem_core.text import tokenize

LOOKED_AT = 32  # the last facts of the entity, superseded ones included
REPORTED = 8

Shares: TypeAlias = Iterable[tuple[int, float]]
"""Facts, each with the share of distinct tokens that it has in common with the new one."""


def find_similar(
    index: Index,
    config: MemoryConfig,
    entity: int,
    text: str,
    vector: Vector | None,
    before: int | None,
    now: int,
) -> tuple[Similar, ...]:
    """Compare a text with the last facts of an entity.

    A fact is similar when the share of common distinct tokens is over
    `similar_jaccard`, or the cosine over `similar_cosine`; the larger counts.

    Args:
        index: In step with truth, and ours alone.
        config: The two thresholds.
        entity: The subject of both.
        text: The new text.
        vector: The new vector, if there is one.
        before: Only facts before this id are compared; `None` compares all.
        now: Unix milliseconds.

    Returns:
        At most eight, best first, ties by the smaller id.
    """
    scope = _current(now)
    live = _last(index, entity, before, scope)
    if not live:
        return ()
    least = _threshold(config.similar_jaccard)
    shares = zip(live, index.lexical.postings.overlap(tokenize(text), live), strict=True)
    alike = [(fact, share) for fact, share in shares if share > least]
    return _best(alike, _cosines(index, config, vector, live, scope))


def similar_to_stored(
    index: Index, config: MemoryConfig, facts: Mapping[int, Vector | None], now: int
) -> dict[int, tuple[Similar, ...]]:
    """Compare facts with those that were told of their entities before, as `find_similar` does.

    Args:
        index: In step with truth, which has the facts, and ours alone.
        config: The two thresholds.
        facts: Ids, each with its vector, if there is one.
        now: Unix milliseconds.

    Returns:
        What is similar to those that anything is similar to.
    """
    scope = _current(now)
    alike: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for fact, other, share in index.lexical.postings.alike(
        list(facts),
        index.entities,
        index.facts,
        scope,
        LOOKED_AT,
        _threshold(config.similar_jaccard),
    ):
        alike[fact].append((other, share))
    near: dict[int, Shares] = {}
    for fact, vector in facts.items():
        entity = index.facts.entity(fact)
        if vector is not None and entity != NO_ID:
            live = _last(index, entity, fact, scope)
            near[fact] = _cosines(index, config, vector, live, scope)
    return {
        fact: _best(alike.get(fact, ()), near.get(fact, ())) for fact in alike.keys() | near.keys()
    }


def _current(now: int) -> Scope:
    return Scope(OPEN - 1, OPEN, now, closed=False, unknown_closings=False)


def _last(index: Index, entity: int, before: int | None, scope: Scope) -> list[int]:
    recent = index.entities.last(entity, LOOKED_AT, NO_ID if before is None else before)
    return index.facts.admitted(scope, recent)


def _threshold(least: float) -> float:
    # Both sides are in single precision; exactly at a threshold is not over it.
    return float(np.float32(least))


def _cosines(
    index: Index, config: MemoryConfig, vector: Vector | None, live: Sequence[int], scope: Scope
) -> Shares:
    if vector is None or index.vectors is None:
        return []
    least = _threshold(config.similar_cosine)
    found = index.vectors.similarities(vector, list(live), index.facts, scope)
    return [(fact, cosine) for fact, cosine in found if cosine > least]


def _best(shares: Shares, cosines: Shares) -> tuple[Similar, ...]:
    found = {fact: Similar(fact, share, "lexical") for fact, share in shares}
    for fact, cosine in cosines:
        if fact not in found or cosine > found[fact].score:
            found[fact] = Similar(fact, cosine, "vector")
    return tuple(sorted(found.values(), key=lambda one: (-one.score, one.id))[:REPORTED])
