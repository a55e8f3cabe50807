"""Reciprocal-rank fusion against the formula written down again."""

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core.kernels import FactTable, Ranked, fuse

from .tables import EVERY_FACT, put

DAY = 86_400_000
HALF_LIFE = 180 * DAY


def table_of(recorded: Iterable[int]) -> FactTable:
    table = FactTable()
    for fact, instant in enumerate(recorded):
        put(table, fact, recorded_at=instant, size=10 * fact)
    return table


def ranked(ids: Sequence[int]) -> Ranked:
    return Ranked.of(list(ids), [0.0] * len(ids))


def fused_scores(
    lists: list[list[int]],
    weights: list[float],
    k: float,
    boost: float,
    now: int,
    recorded: list[int],
) -> tuple[dict[int, np.float32], dict[int, int]]:
    scores: dict[int, np.float32] = {}
    sources: dict[int, int] = {}
    for bit, (ids, weight) in enumerate(zip(lists, weights, strict=True)):
        for rank, fact in enumerate(ids):
            part = np.float32(weight) / (np.float32(k) + np.float32(rank) + np.float32(1))
            scores[fact] = np.float32(scores.get(fact, np.float32(0)) + part)
            sources[fact] = sources.get(fact, 0) | 1 << bit
    for fact in scores:
        age = max(0, now - recorded[fact])
        scores[fact] *= np.float32(1 + boost * 2 ** (-age / HALF_LIFE))
    return scores, sources


rankings = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), min_size=4, max_size=4)
weights = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=4, max_size=4)


@settings(deadline=None)
@given(rankings, weights, st.sampled_from([1, 60]), st.sampled_from([0.0, 0.25]), st.data())
def test_scores_sources_and_order_are_the_formula(
    lists: list[list[int]], parts: list[float], k: float, boost: float, data: st.DataObject
) -> None:
    recorded = data.draw(st.lists(st.integers(0, 900 * DAY), min_size=31, max_size=31))
    now = 500 * DAY  # some facts are recorded in the future of it
    table = table_of(recorded)
    found = fuse([ranked(ids) for ids in lists], parts, k, boost, HALF_LIFE, now, table)
    rows = found.rows(EVERY_FACT)
    scores, sources = fused_scores(lists, parts, k, boost, now, recorded)
    assert {row[0]: row[1] for row in rows} == pytest.approx(scores, rel=1e-6)
    assert {row[0]: row[2] for row in rows} == sources
    assert [row[3] for row in rows] == [10 * row[0] for row in rows]
    assert rows == sorted(rows, key=lambda row: (-row[1], row[0]))
    assert len(found) == len(scores)
    for count in (0, 1, 2, 5):
        assert found.rows(count) == rows[:count]


def test_the_best_score_of_one_source() -> None:
    table = table_of([0])
    found = fuse([ranked([0])], [1.0], 60, 0.25, HALF_LIFE, 0, table)
    [(fact, score, sources, size)] = found.rows(1)
    assert (fact, sources, size) == (0, 1, 0)
    assert score == pytest.approx(1.25 / 61, rel=1e-6)


def test_the_boost_halves_with_each_half_life_and_the_future_counts_as_now() -> None:
    table = table_of([0, 180 * DAY, 999 * DAY])
    for ids, boost in [([1], 1.25), ([0], 1.125), ([2], 1.25)]:
        found = fuse([ranked(ids)], [1.0], 60, 0.25, HALF_LIFE, 180 * DAY, table)
        assert found.rows(1)[0][1] == pytest.approx(boost / 61, rel=1e-6)


def test_equal_scores_are_ordered_by_id() -> None:
    table = table_of([0] * 5)
    found = fuse([ranked([4]), ranked([1]), ranked([3])], [1.0] * 3, 60, 0.0, HALF_LIFE, 0, table)
    assert [row[0] for row in found.rows(9)] == [1, 3, 4]


def test_a_weight_of_zero_keeps_its_facts_without_score() -> None:
    found = fuse([ranked([0]), ranked([1])], [0.0, 1.0], 60, 0.0, HALF_LIFE, 0, table_of([0, 0]))
    assert found.rows(9) == [(1, pytest.approx(1 / 61), 2, 10), (0, 0.0, 1, 0)]


def test_nothing_ranked_gives_nothing() -> None:
    assert len(fuse([Ranked(), Ranked()], [1.0, 1.0], 60, 0.25, HALF_LIFE, 0, FactTable())) == 0


def test_a_list_needs_a_weight_and_a_fact_its_row() -> None:
    with pytest.raises(ValueError, match="weight"):
        fuse([ranked([0])], [], 60, 0.25, HALF_LIFE, 0, table_of([0]))
    with pytest.raises(IndexError):
        fuse([ranked([1000])], [1.0], 60, 0.25, HALF_LIFE, 0, table_of([0])).rows(1)
