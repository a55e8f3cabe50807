"""The four ranked sources: plain arguments in, at most `limit` admitted facts out."""

from plugmem_core.clock import MAX_MS, MIN_MS
from plugmem_core.config import MemoryConfig
from plugmem_core.index import Index
from plugmem_core.kernels import Ranked, Scope, Walk, graph_candidates
from plugmem_core.store import Vector

CANDIDATES = 128
"""Facts per source, more when `k` asks for more."""

MAX_EDGES = 128
MAX_NODES = 64
MAX_GRAPH_FACTS = 256
MAX_EXAMINED = 2_048

EMPTY = Ranked()


def lexical(index: Index, tokens: list[str], limit: int, scope: Scope) -> Ranked:
    """Facts that share tokens with the query, by BM25."""
    return index.lexical.search(tokens, limit, index.facts, scope) if tokens else EMPTY


def nearest(
    index: Index,
    query: Vector,
    limit: int,
    ef: int,
    floor: float | None,
    scope: Scope,
    allowed: int | None,
) -> Ranked:
    """Facts with the nearest vectors, by cosine, of quantised vectors unless the graph has them."""
    if index.vectors is None:
        return EMPTY
    return index.vectors.search(query, limit, ef, floor, index.facts, scope, allowed)


def walk(
    index: Index,
    anchors: list[int],
    depth: int,
    decay: float,
    scope: Scope,
    history: bool,  # noqa: FBT001
) -> Walk:
    """The edges and entities within `depth` hops of the anchors."""
    return index.graph.walk(anchors, depth, decay, MAX_EDGES, MAX_NODES, scope, history)


def around(index: Index, walked: Walk, config: MemoryConfig, limit: int, scope: Scope) -> Ranked:
    """Facts about the walked entities, and those the edges follow from.

    An entity's facts weigh what the walk gave it; a fact that only an edge names weighs
    one decay, however far the edge.
    """
    return graph_candidates(
        index.graph,
        walked,
        index.entities,
        max(MAX_GRAPH_FACTS, limit),
        MAX_EXAMINED,
        limit,
        config.graph_decay,
        index.facts,
        scope,
    )


def newest(index: Index, window: tuple[int, int] | None, limit: int, scope: Scope) -> Ranked:
    """Facts recorded in a half-open window, the newest first."""
    start, end = window or (MIN_MS, MAX_MS)
    return index.facts.newest(scope, start, end, limit)
