"""One score out of up to four rankings."""

import math
from typing import NamedTuple

from plugmem_core.clock import DAY_MS
from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import Fused, Ranked, fuse
from plugmem_core.model import SOURCES
from plugmem_core.recall.query import Query

SOURCE_NAMES = tuple(
    tuple(name for bit, name in enumerate(SOURCES) if bits >> bit & 1)
    for bits in range(2 ** len(SOURCES))
)
"""The sources of a fact, by its bits."""


class Weights(NamedTuple):
    """How much each source counts, in the order of `SOURCES`, and recency."""

    sources: list[float]
    recency: float


def weigh(config: MemoryConfig, query: Query) -> Weights:
    """Return the weights of a recall: its own, and the configuration's for the rest."""
    standing = [config.w_bm25, config.w_vector, config.w_graph, config.w_time]
    own = query.weights
    if not own:
        return Weights(standing, config.recency)
    sources = [own.get(name, weight) for name, weight in zip(SOURCES, standing, strict=True)]
    return Weights(sources, own.get("recency", config.recency))


def deepest_rank(config: MemoryConfig, weights: Weights, k: int) -> int:
    """Return the rank beyond which a single source cannot reach the first `k`.

    A fact at rank r scores at most (1 + w_recency) w / (rrf_k + r), the k-th at least
    w / (rrf_k + k).
    """
    return math.ceil((1 + weights.recency) * (config.rrf_k + k)) - config.rrf_k + 1


def fuse_ranks(
    index: Index, lists: list[Ranked], config: MemoryConfig, weights: Weights, now: int
) -> Fused:
    """Fuse rankings by reciprocal rank, then boost what is recent.

    Reciprocal rank fusion is that of Cormack, Clarke and Büttcher (SIGIR 2009):
    score = sum over sources of w / (rrf_k + rank), here times
    1 + w_recency * 2^(-age / half_life), with the age of the record at `now`.
    """
    return fuse(
        lists,
        weights.sources,
        config.rrf_k,
        weights.recency,
        config.half_life_days * DAY_MS,
        now,
        index.facts,
    )
