"""The int8 vector pool against the same arithmetic in numpy."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plugmem_core.kernels import INSTRUCTIONS, IdSet, VectorPool, dot_products

from .tables import ALL, EVERY_FACT, facts, scope

Floats: TypeAlias = npt.NDArray[np.float32]

NO_FLOOR = float("-inf")


def quantised(vector: npt.ArrayLike) -> tuple[np.float32, npt.NDArray[np.int64]]:
    """Return scale and components: x^ = x / |x|, scale = max|x^| / 127, q = round(x^ / scale)."""
    x = np.asarray(vector, dtype=np.float32)
    norm2 = np.add.accumulate(x * x)[-1]  # in single precision, one after another
    unit = x * (np.float32(1) / np.sqrt(norm2))
    scale = np.abs(unit).max() / np.float32(127)
    ratio = (unit / scale).astype(np.float64)
    rounded = np.sign(ratio) * np.floor(np.abs(ratio) + 0.5)  # halves away from zero
    return scale, np.clip(rounded, -127, 127).astype(np.int64)


def similarity(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    (scale_a, a), (scale_b, b) = quantised(first), quantised(second)
    return float(scale_a * scale_b * np.float32(a @ b))


def pool_of(vectors: Floats) -> VectorPool:
    pool = VectorPool(vectors.shape[1])
    for fact, vector in enumerate(vectors):
        pool.put(fact, vector)
    return pool


def ranking(
    vectors: Floats, query: Floats, ids: Iterable[int], limit: int = EVERY_FACT
) -> list[tuple[int, float]]:
    pairs = [(fact, similarity(query, vectors[fact])) for fact in ids]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]


def gaussian(count: int, dim: int, seed: int = 7) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, dim), dtype=np.float32)


def test_the_kernel_names_the_instructions_it_uses() -> None:
    assert INSTRUCTIONS in {"avx512vnni", "avx512", "avx2", "baseline"}


@pytest.mark.parametrize(
    ("vector", "scale", "components"),
    [
        ((1, 0, 0, 0), 0.00787401572, (127, 0, 0, 0)),
        ((0.9, 0.1, 0, 0), 0.0078258561, (127, 14, 0, 0)),
        ((-2, 2, -2, 2), 0.5 / 127, (-127, 127, -127, 127)),
    ],
)
def test_worked_quantisation(
    vector: tuple[float, ...], scale: float, components: tuple[int, ...]
) -> None:
    assert quantised(vector)[0] == pytest.approx(scale, rel=1e-7)
    assert quantised(vector)[1].tolist() == list(components)
    # A query along one axis is (127, 0, ...) with scale 1/127, so it reads a component back.
    pool = pool_of(np.array([vector], dtype=np.float32))
    for axis, component in enumerate(components):
        unit = np.zeros(4, dtype=np.float32)
        unit[axis] = 3.0
        [(_, found)] = pool.search(unit, 0, 1, NO_FLOOR, facts([0]), ALL).items()
        assert found == pytest.approx(scale * component, rel=1e-6)


components = st.floats(-1e3, 1e3, width=32)


@settings(deadline=None)
@given(
    st.integers(1, 130).flatmap(
        lambda dim: arrays.arrays(np.float32, (3, dim), elements=components)
    )
)
def test_similarity_is_exactly_the_quantised_product(vectors: Floats) -> None:
    assume((np.square(vectors).sum(axis=1) > 1e-30).all())
    found = pool_of(vectors[:2]).search(vectors[2], 0, 9, NO_FLOOR, facts(range(2)), ALL)
    assert found.items() == ranking(vectors, vectors[2], range(2))


@pytest.mark.parametrize("dim", [1, 3, 31, 32, 63, 64, 65, 384, 1000, 4096])
def test_every_width_of_vector_is_summed_completely(dim: int) -> None:
    vectors = gaussian(5, dim)
    vectors[1] = np.where(vectors[1] < 0, -1, 1)  # ±127 everywhere: the largest sums there are
    found = pool_of(vectors).search(vectors[1], 0, 9, NO_FLOOR, facts(range(5)), ALL)
    assert found.items() == ranking(vectors, vectors[1], range(5))
    best, score = found.items()[0]
    assert best == 1
    assert score == pytest.approx(1.0, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 2**32 - 1), st.integers(0, 140), st.integers(0, 5), st.sets(st.integers(0, 199))
)
def test_search_is_exact_under_admission_a_floor_and_a_first_slot(
    seed: int, limit: int, first: int, chosen: set[int]
) -> None:
    vectors = gaussian(200, 8, seed)
    pool, table, allowed = pool_of(vectors), facts(range(200)), IdSet(200)
    for fact in chosen:
        allowed.add(fact)
    view = scope()
    view.restrict_facts(allowed)
    query = gaussian(1, 8, seed + 1)[0]
    expected = ranking(vectors, query, [fact for fact in chosen if fact >= first], limit)
    assert pool.search(query, first, limit, NO_FLOOR, table, view).items() == expected
    above = [pair for pair in expected if pair[1] >= np.float32(0.2)]
    assert pool.search(query, first, limit, 0.2, table, view).items() == above
    listed = [*chosen, 5000]
    rescored = ranking(vectors, query, chosen, limit)
    assert pool.rescore(query, listed, limit, NO_FLOOR, table, view).items() == rescored


def test_no_floor_lists_the_opposite_vector_too() -> None:
    vectors = np.array([[1, 0], [-1, 0]], dtype=np.float32)
    found = pool_of(vectors).search(vectors[0], 0, 9, NO_FLOOR, facts(range(2)), ALL)
    assert [fact for fact, _ in found.items()] == [0, 1]
    assert found.items()[1][1] == pytest.approx(-1.0, abs=1e-6)


def test_quantisation_costs_few_of_the_ten_nearest() -> None:
    vectors, queries = gaussian(3000, 64), gaussian(50, 64, seed=8)
    pool, table = pool_of(vectors), facts(range(3000))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    hits = 0
    for query in queries:
        exact = np.argsort(-(unit @ query))[:10].tolist()
        found = [fact for fact, _ in pool.search(query, 0, 10, NO_FLOOR, table, ALL).items()]
        hits += len(set(exact) & set(found))
    assert hits / (10 * len(queries)) >= 0.95


def test_a_vector_is_replaced_in_its_place() -> None:
    vectors = gaussian(6, 5)
    pool = pool_of(vectors[:4])
    pool.put(2, vectors[5])
    assert (len(pool), pool.facts()) == (4, [0, 1, 2, 3])
    now = vectors.copy()
    now[2] = vectors[5]
    found = pool.search(vectors[4], 0, 9, NO_FLOOR, facts(range(4)), ALL)
    assert found.items() == ranking(now, vectors[4], range(4))


def test_a_pool_holds_a_vector_while_it_is_the_same() -> None:
    vectors = gaussian(2, 70)
    pool = pool_of(vectors)
    assert pool.holds(0, vectors[0])
    assert pool.holds(0, 2 * vectors[0])  # the same direction
    assert not pool.holds(0, vectors[1])
    assert not pool.holds(2, vectors[0])
    pool.remove([0], 0)
    assert not pool.holds(0, vectors[0])


def test_removal_keeps_the_order_of_the_others_and_counts_those_of_a_prefix() -> None:
    vectors = gaussian(9, 5)
    pool = pool_of(vectors[:8])
    assert pool.remove([1, 6, 1, 77], 4) == [1]
    assert pool.facts() == [0, 2, 3, 4, 5, 7]
    assert pool.remove([4, 2, 3], 4) == [4, 2, 3]
    assert (pool.facts(), pool.has(2), pool.has(5), pool.has(99)) == ([0, 5, 7], False, True, False)
    found = pool.search(vectors[8], 0, 9, NO_FLOOR, facts(range(8)), ALL)
    assert found.items() == ranking(vectors, vectors[8], [0, 5, 7])
    pool.put(2, vectors[2])
    assert pool.facts() == [0, 5, 7, 2]


def test_an_empty_pool_finds_nothing() -> None:
    pool = VectorPool(3)
    query = np.ones(3, dtype=np.float32)
    assert pool.search(query, 0, 9, NO_FLOOR, facts([]), ALL).items() == []
    assert pool.rescore(query, [0, 1], 9, NO_FLOOR, facts([]), ALL).items() == []
    assert pool.remove([0], 5) == []


def test_a_vector_of_another_dimension_is_refused() -> None:
    pool = pool_of(gaussian(1, 3))
    wrong = np.ones(4, dtype=np.float32)
    for call in (
        lambda: pool.put(1, wrong),
        lambda: pool.search(wrong, 0, 9, NO_FLOOR, facts([0]), ALL),
        lambda: pool.rescore(wrong, [0], 9, NO_FLOOR, facts([0]), ALL),
    ):
        with pytest.raises(ValueError, match="dimension"):
            call()
    assert len(pool) == 1


@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_every_instruction_set_gives_the_same_product(registers: int, random: Any) -> None:
    a, b = (
        np.array([random.randint(-127, 127) for _ in range(64 * registers)], dtype=np.int8)
        for _ in "ab"
    )
    products = dot_products(a.tobytes(), b.tobytes())
    assert set(products.values()) == {int(np.dot(a.astype(np.int64), b.astype(np.int64)))}
    assert next(iter(products)) == INSTRUCTIONS  # the fastest is the one in use
    assert "baseline" in products


def test_the_largest_product_fits() -> None:
    a = np.full(4096, -127, dtype=np.int8).tobytes()
    assert set(dot_products(a, a).values()) == {127 * 127 * 4096}
