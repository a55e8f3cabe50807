"""The pool of candidates: each signal against its formula, by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core.kernels import (
    FactTable,
    IdLists,
    Lexical,
    Links,
    Pool,
    Ranked,
    Turns,
    VectorPool,
    links_of,
)

from .tables import ALL, EVERY_FACT, facts, put

WORDS, VECTOR, OTHER = range(3)
LISTS = 2
K1, B = 0.9, 0.4
NO_FLOOR = float("-inf")
DAY = 86_400_000


def pool_of(*ids: int) -> Pool:
    """Candidates without any points."""
    pool = Pool(3, LISTS)
    pool.bring(list(ids))
    return pool


def points(pool: Pool, signal: int) -> dict[int, Any]:
    ranked = pool.rank(0.0, 1.0, 0, facts(range(40))).rows(EVERY_FACT)
    return {fact: pytest.approx(pool.explain(fact)[2][signal], abs=1e-6) for fact, *_ in ranked}


def scores(pool: Pool, table: FactTable | None = None) -> dict[int, float]:
    rows = pool.rank(0.0, 1.0, 0, table or facts(range(40))).rows(EVERY_FACT)
    return {fact: score for fact, score, *_ in rows}


def start(**given: float) -> Pool:
    """Candidates 0, 1, … with these points of the first signal."""
    pool = Pool(3, LISTS)
    pool.add(Ranked.of(list(range(len(given))), list(given.values())), 0)
    pool.listed(WORDS, 0, 1.0)
    return pool


def test_candidates_of_several_lists_are_there_once_with_their_places() -> None:
    pool = Pool(3, LISTS)
    pool.add(Ranked.of([7, 3], [2.5, 1.0]), 0)
    pool.add(Ranked.of([3, 9], [0.5, 0.25]), 1)
    pool.bring([9, 4])
    assert len(pool) == 4
    assert pool.explain(3)[3] == [(2, 1.0), (1, 0.5)]
    assert pool.explain(4)[3] == [(0, 0.0), (0, 0.0)]
    bits = {fact: found for fact, _, found, _ in pool.rank(0, 1.0, 0, facts(range(10))).rows(9)}
    assert bits == {7: 1, 3: 3, 9: 2, 4: 0}


def test_the_pool_grows_beyond_any_expectation() -> None:
    pool = pool_of(*range(5_000))
    pool.bring(list(range(4_000, 6_000)))
    assert len(pool) == 6_000
    assert sorted(scores(pool, facts(range(6_000)))) == list(range(6_000))


def test_words_and_vector_are_brought_to_one_scale() -> None:
    lexical = Lexical()
    for fact, text in enumerate(["tea", "tea tea", "coffee", "milk"]):
        lexical.add_text(fact, text)
    vectors = VectorPool(2)
    for fact, (x, y) in enumerate([(1, 0), (0.6, 0.8), (0, 1)]):
        vectors.put(fact, np.array([x, y], dtype=np.float32))
    terms, _ = lexical.lookup(["tea"])
    pool = pool_of(0, 1, 2, 3)
    pool.match(lexical, terms, K1, B)
    pool.measure(vectors, np.array([1, 0], dtype=np.float32), NO_FLOOR)
    pool.fuse(WORDS, 0.4, VECTOR, 0.6)
    exact = lexical.scores(terms, K1, B, [0, 1])
    assert points(pool, WORDS) == {0: 0.4 * exact[0] / exact[1], 1: 0.4, 2: 0, 3: 0}
    # Cosines are 1, 0.6 and 0, but for the quantisation; the fourth has no vector.
    assert pool.explain(1)[2][VECTOR] == pytest.approx(0.36, abs=0.01)
    assert [pool.explain(fact)[2][VECTOR] for fact in (0, 2, 3)] == pytest.approx([0.6, 0, 0])
    assert math.isnan(pool.explain(3)[1])


def test_late_candidates_are_scored_on_the_scale_of_the_first() -> None:
    lexical = Lexical()
    for fact, text in enumerate(["tea with milk", "tea", "milk"]):
        lexical.add_text(fact, text)
    vectors = VectorPool(2)
    for fact, (x, y) in enumerate([(0.6, 0.8), (0.8, 0.6), (-1, 0)]):
        vectors.put(fact, np.array([x, y], dtype=np.float32))
    terms, _ = lexical.lookup(["tea"])
    pool = pool_of(0)
    for late in ([], [1, 2]):
        pool.bring(late)
        pool.match(lexical, terms, K1, B)
        pool.measure(vectors, np.array([1, 0], dtype=np.float32), NO_FLOOR)
        pool.fuse(WORDS, 1.0, VECTOR, 1.0)
    # One is better than all that set the scale, the other is worse than all.
    assert points(pool, WORDS) == {0: 1, 1: 1, 2: 0}
    assert points(pool, VECTOR) == {0: 1, 1: 1, 2: 0}


def test_a_cosine_under_the_floor_is_none() -> None:
    vectors = VectorPool(2)
    vectors.put(0, np.array([0.6, 0.8], dtype=np.float32))
    pool = pool_of(0)
    pool.measure(vectors, np.array([1, 0], dtype=np.float32), 0.7)
    pool.fuse(WORDS, 1.0, VECTOR, 1.0)
    assert math.isnan(pool.explain(0)[1])
    assert scores(pool) == {0: 0}


def test_facts_about_entities_get_the_share_of_theirs() -> None:
    table = FactTable()
    for fact, entity in enumerate([5, 6, 7, 5]):
        put(table, fact, entity=entity)
    put(table, 4)
    pool = pool_of(*range(5))
    pool.about(OTHER, [5, 6], [2.0, 0.5], 0.2, table)
    pool.about(OTHER, [6], [0.25], 0.2, table)  # less than it has
    assert points(pool, OTHER) == {0: 0.2, 1: 0.1, 2: 0, 3: 0.2, 4: 0}


def test_what_a_list_ranked_gets_points_by_its_score_or_its_place() -> None:
    pool = Pool(3, LISTS)
    pool.add(Ranked.of([0, 1], [3.0, 0.5]), 1)
    pool.bring([2])
    pool.listed(WORDS, 1, 0.2)
    pool.placed(OTHER, 1, 0.2, 4)
    assert points(pool, WORDS) == {0: 0.2, 1: 0.1, 2: 0}
    assert points(pool, OTHER) == {0: 0.2, 1: 0.2 / 1.25, 2: 0}


@pytest.mark.parametrize(
    ("recorded", "valid", "given"),
    [
        (10, 10, 0.2),
        (19, 0, 0.2),
        (0, 19, 0.2),
        (20, 0, 0.1),
        (24, 0, 0.1),
        (25, 0, 0.0),
        (9, 0, 0.0),
        (24, 12, 0.2),
    ],
)
def test_a_window_lifts_what_lies_in_it_and_what_follows_by_half(
    recorded: int, valid: int, given: float
) -> None:
    table = FactTable()
    put(table, 0, recorded_at=recorded, valid_from=valid)
    pool = pool_of(0)
    pool.within(OTHER, 10, 20, 5, 0.2, table)
    assert pool.explain(0)[2][OTHER] == pytest.approx(given)


def test_texts_that_name_a_term_are_lifted_once() -> None:
    lexical = Lexical()
    for fact, text in enumerate(["from 1984 to 1985", "in 1986", "ever"]):
        lexical.add_text(fact, text)
    terms, _ = lexical.lookup(["1984", "1985"])
    pool = pool_of(0, 1, 2)
    pool.naming(OTHER, lexical, terms, 0.2)
    assert points(pool, OTHER) == {0: 0.2, 1: 0, 2: 0}


def test_turns_share_what_they_have_with_their_neighbours() -> None:
    turns = Turns()
    for fact in range(4):
        turns.put(fact, 0, None)
    pool = start(a=0.1, b=0.8, c=0.4)  # the fourth turn is no candidate
    pool.neighbours(OTHER, turns, 0.3, 0.2, facts(range(4)), ALL)
    assert points(pool, OTHER) == {
        0: 0.2 * 0.8,
        1: 0.3 * 0.1 + 0.2 * 0.4,
        2: 0.3 * 0.8,
    }


def test_links_lift_up_to_a_share_of_the_seed() -> None:
    pool = start(seed=0.8, near=0.5, far=0.1, best=0.75, other=0.3)
    pool.link(OTHER, 0, Links([0, 1, 2, 3, 39], [1.0, 1.0, 0.5, 1.0, 1.0]), 0.5, 0.85)
    assert points(pool, OTHER) == {
        0: 0,
        1: 0.85 * 0.8 - 0.5,  # capped
        2: 0.5 * 0.5 * 0.8,
        3: 0,  # it has more already
        4: 0,
    }


def test_a_second_link_lifts_only_if_it_lifts_further() -> None:
    pool = start(one=0.8, two=0.6, linked=0.0)
    for seed, weight in ((1, 1.0), (0, 1.0), (1, 0.2)):
        pool.link(OTHER, seed, Links([2], [weight]), 0.5, 0.85)
    assert pool.explain(2)[2][OTHER] == pytest.approx(0.4)


def test_a_fact_leads_to_facts_about_what_it_mentions() -> None:
    mentions, mentioned, about = IdLists(), IdLists(), IdLists()
    table = facts(range(10))
    put(table, 6, forgotten=True)
    for entity in (1, 2, 3):
        mentions.add(0, entity)
        mentioned.add(entity, 0)
    for entity, fact in ((1, 4), (1, 5), (1, 6), (1, 7), (2, 0), (2, 8)):
        about.add(entity, fact)
    links = links_of(0, mentions, mentioned, about, 2, table, ALL)
    assert links.facts == [7, 5, 8]  # the newest two, and not the fact itself
    everything = math.log(11)
    assert links.weights == pytest.approx(
        [(1 - math.log(6) / everything) ** 2] * 2 + [(1 - math.log(4) / everything) ** 2]
    )


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_order_is_by_score_then_newest_then_id(rows: list[tuple[float, int]]) -> None:
    table = FactTable()
    for fact, (_, day) in enumerate(rows):
        put(table, fact, recorded_at=day * DAY)
    pool = Pool(3, LISTS)
    pool.add(Ranked.of(list(range(len(rows))), [score for score, _ in rows]), 0)
    pool.listed(WORDS, 0, 1.0)
    order = [fact for fact, *_ in pool.rank(0.0, DAY, 0, table).rows(EVERY_FACT)]
    assert order == sorted(range(len(rows)), key=lambda one: (-rows[one][0], -rows[one][1], one))
    best = pool.best(3)
    assert best == sorted(range(len(rows)), key=lambda one: (-rows[one][0], one))[:3]


def test_recency_multiplies_the_sum() -> None:
    table = FactTable()
    put(table, 0, recorded_at=0)
    put(table, 1, recorded_at=20 * DAY)
    pool = start(a=0.4, b=0.4)
    rows = pool.rank(0.25, 10 * DAY, 10 * DAY, table).rows(2)
    assert [fact for fact, *_ in rows] == [1, 0]
    assert [score for _, score, *_ in rows] == pytest.approx([0.4 * 1.25, 0.4 * 1.125])
