"""The numbers of recall: what the graph adds, and what feedback changes."""

import math
import sys
from collections.abc import Mapping, Sequence

from plugmem_core.service.store import Learned

SUCCESS_STEP = 0.1
FAILURE_STEP = 0.05
HALVING_PLACE = 8


def idf(degree: int, population: int) -> float:
    """Return how rare an entity is: `ln(N / degree) / ln N`, from 0 to 1.

    Args:
        degree: Edges that start at it.
        population: `N`, all memories and entities.

    >>> idf(1, 100), idf(10, 100), idf(100, 100), idf(0, 100), idf(1, 1)
    (1.0, 0.5, 0.0, 0.0, 0.0)
    """
    if degree <= 0 or population <= 1:
        return 0.0
    return max(0.0, math.log(population / degree) / math.log(population))


def graph_weights(
    reached: Sequence[int], mentioned_by: Mapping[int, Sequence[int]], rarity: Mapping[int, float]
) -> dict[int, float]:
    """Return what the graph says for each memory that a walk reached.

    Args:
        reached: Memories, in the order of the walk.
        mentioned_by: The entities by which the walk came to them.
        rarity: The `idf` of each entity.

    Returns:
        The rarity of the rarest entity; 1 for a memory that only typed edges lead to.
    """
    return {
        one: max((rarity[entity] for entity in mentioned_by.get(one, ())), default=1.0)
        for one in reached
    }


def place_score(share: float, place: int) -> float:
    """Return what a hit among words and vectors is worth beside the graph.

    Scores by reciprocal ranks fall so slowly, 13 % over the first ten places, that any boost
    would outdo them. At most `1 / (1 + place / 8)` falls about as the cosines of an embedding
    do (`benchmarks/README.md` compares both modes).

    Args:
        share: The score as a share of the best.
        place: From 0.

    >>> place_score(1.0, 0), place_score(0.98, 2), place_score(0.5, 2)
    (1.0, 0.8, 0.5)
    """
    return min(share, 1 / (1 + place / HALVING_PLACE))


def fuse(
    pool: Sequence[tuple[int, float]], weights: Mapping[int, float], boost: float
) -> list[tuple[int, float]]:
    """Add what the graph says to what a search says.

    With `m` the best score of the pool, a memory gets `max(score, 0) / m + boost · weight`;
    one that only the graph led to, `boost · weight`.

    Args:
        pool: Ids and scores, best first.
        weights: By id, in the order of the walk.
        boost: What full weight counts, beside the best of the pool, which counts 1.

    Returns:
        Ids and fused scores, best first; equals in the order of the pool, then of the walk.

    >>> fuse([(1, 0.8), (2, 0.4)], {2: 1.0, 3: 0.5}, 0.6)
    [(2, 1.1), (1, 1.0), (3, 0.3)]
    """
    best = max((score for _, score in pool), default=0.0)
    scale = max(best, sys.float_info.epsilon)
    fused = {one: max(score, 0.0) / scale + boost * weights.get(one, 0.0) for one, score in pool}
    for one, weight in weights.items():
        fused.setdefault(one, boost * weight)
    return sorted(fused.items(), key=lambda pair: -pair[1])


def learn(known: Learned, *, success: bool) -> Learned:
    """Return what is known after one more outcome: 0.1 more or 0.05 less, from 0 to 1.

    >>> learn(Learned(), success=True)
    Learned(confidence=0.6, successes=1, failures=0)
    """
    step = SUCCESS_STEP if success else -FAILURE_STEP
    # Rounded, so that the ladder has the same steps however often it was climbed.
    confidence = round(min(1.0, max(0.0, known.confidence + step)), 9)
    return Learned(confidence, known.successes + success, known.failures + (not success))


def rerank_key(similarity: float, confidence: float) -> float:
    """Return what feedback makes of a similarity: `(s + 1) / 2 · (1 + (2c - 1) / 2)`.

    Half at confidence 0, the same at 0.5, half as much again at 1.

    >>> rerank_key(1.0, 0.5), rerank_key(0.0, 1.0), rerank_key(0.0, 0.0)
    (1.0, 0.75, 0.25)
    """
    return (similarity + 1) / 2 * (1 + 0.5 * (2 * confidence - 1))
