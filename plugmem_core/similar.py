"""Facts that a new one resembles."""

import numpy as np

from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import NO_ID, OPEN, Scope
from plugmem_core.model import Similar
from plugmem_core.store import Vector
from plugmem_core.text import tokenize

LOOKED_AT = 32  # the last facts of the entity, superseded ones included
REPORTED = 8


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
    recent = index.entities.last(entity, LOOKED_AT, NO_ID if before is None else before)
    scope = Scope(OPEN - 1, OPEN, now, closed=False, unknown_closings=False)
    live = index.facts.admitted(scope, recent)
    if not live:
        return ()
    found: dict[int, Similar] = {}
    # Both are in single precision; exactly at a threshold is not over it.
    least_share = float(np.float32(config.similar_jaccard))
    least_cosine = float(np.float32(config.similar_cosine))
    shares = index.lexical.postings.overlap(tokenize(text), live)
    for fact, share in zip(live, shares, strict=True):
        if share > least_share:
            found[fact] = Similar(fact, share, "lexical")
    if vector is not None and index.vectors is not None:
        for fact, cosine in index.vectors.similarities(vector, live, index.facts, scope):
            if cosine > max(least_cosine, found[fact].score if fact in found else 0.0):
                found[fact] = Similar(fact, cosine, "vector")
    return tuple(sorted(found.values(), key=lambda one: (-one.score, one.id))[:REPORTED])
