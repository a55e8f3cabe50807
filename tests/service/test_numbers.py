"""The formulas, with right answers worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core.service.fusion import fuse, graph_weights, idf, learn, rerank_key
from plugmem_core.service.scoring import bm25, reciprocal_ranks
from plugmem_core.service.store import Learned


@pytest.mark.parametrize(
    ("degree", "population", "expected"),
    [
        (1, 16, 1.0),  # ln 16 / ln 16
        (2, 16, 0.75),  # ln 8 / ln 16 = 3/4
        (4, 16, 0.5),
        (16, 16, 0.0),
        (32, 16, 0.0),  # more edges than nodes: as common as can be
        (0, 16, 0.0),
        (1, 1, 0.0),
        (1, 0, 0.0),
    ],
)
def test_the_rarer_an_entity_the_more_it_says(
    degree: int, population: int, expected: float
) -> None:
    assert idf(degree, population) == pytest.approx(expected, abs=1e-12)


def test_a_memory_counts_by_the_rarest_entity_that_mentions_it() -> None:
    weights = graph_weights([5, 6, 7], {5: [1, 2], 7: [1]}, {1: 0.25, 2: 0.75})
    assert weights == {5: 0.75, 6: 1.0, 7: 0.25}


def test_fusion_adds_the_boost_to_shares_of_the_best() -> None:
    # m = 0.8; 1: 0.8/0.8; 2: 0.6/0.8 + 0.15 * 1; 3: 0/0.8 + 0.15 * 0.5; 4: only the graph, 0.15.
    pool = [(1, 0.8), (2, 0.6), (3, -0.4)]
    fused = dict(fuse(pool, {2: 1.0, 4: 1.0, 3: 0.5}, 0.15))
    assert fused == pytest.approx({1: 1.0, 2: 0.9, 4: 0.15, 3: 0.075})


def test_equals_stay_in_the_order_of_the_pool_and_then_of_the_walk() -> None:
    fused = fuse([(1, 0.5), (2, 0.5)], {9: 1.0, 8: 1.0}, 1.0)
    assert [one for one, _ in fused] == [1, 2, 9, 8]


def test_a_pool_of_negative_scores_is_no_reason_to_rank_them_first() -> None:
    assert fuse([(1, -0.5), (2, -0.9)], {3: 1.0}, 0.15) == [(3, 0.15), (1, 0.0), (2, 0.0)]


def test_nothing_fused_with_nothing_is_nothing() -> None:
    assert fuse([], {}, 0.15) == []


def test_feedback_climbs_by_a_tenth_and_falls_by_a_twentieth() -> None:
    known, ladder = Learned(), []
    for success in [True] * 6 + [False] * 3:
        known = learn(known, success=success)
        ladder.append(known.confidence)
    assert ladder == [0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 0.95, 0.9, 0.85]
    assert (known.successes, known.failures) == (6, 3)


@given(st.lists(st.booleans(), max_size=60))
def test_confidence_stays_within_its_bounds_and_counts_every_outcome(outcomes: list[bool]) -> None:
    known = Learned()
    for success in outcomes:
        known = learn(known, success=success)
        assert 0 <= known.confidence <= 1
    assert (known.successes, known.failures) == (sum(outcomes), len(outcomes) - sum(outcomes))


@pytest.mark.parametrize(
    ("similarity", "confidence", "expected"),
    [
        (1.0, 0.5, 1.0),
        (1.0, 0.0, 0.5),
        (1.0, 1.0, 1.5),
        (0.0, 0.5, 0.5),
        (0.6, 0.75, 1.0),  # 0.8 * 1.25
        (-1.0, 1.0, 0.0),
    ],
)
def test_confidence_scales_a_similarity_by_a_half_to_one_and_a_half(
    similarity: float, confidence: float, expected: float
) -> None:
    assert rerank_key(similarity, confidence) == pytest.approx(expected)


def test_bm25_is_what_its_formula_says() -> None:
    # N = 2, mean length 2. "tea" is in one text of length 2: tf = 1, so the norm is 1.2.
    scores, ceiling = bm25("tea tea", {1: "green tea", 2: "black coffee"})
    rarity = math.log(1 + 1.5 / 1.5)
    assert scores == pytest.approx({1: rarity * 2.2 / 2.2})
    assert ceiling == pytest.approx(rarity * 2.2)


def test_reciprocal_ranks_add_up() -> None:
    assert reciprocal_ranks([[1, 2], [2]]) == pytest.approx({1: 1 / 61, 2: 1 / 62 + 1 / 61})
