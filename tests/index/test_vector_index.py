"""The vector index above the threshold: hnswlib's graph, an exact tail, and filters."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from conftest import OpenMemory

from plugmem_core import Memory, MemoryConfig
from plugmem_core.index.vectors import VectorIndex
from plugmem_core.kernels import OPEN, FactTable, IdSet, Scope

Floats: TypeAlias = npt.NDArray[np.float32]

COUNT, DIM = 3_000, 16
CONFIG = MemoryConfig()


def gaussian(count: int, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, DIM)).astype(np.float32)


VECTORS, QUERIES = gaussian(COUNT, 1), gaussian(40, 2)


class Watched:
    """A graph that counts how often it is searched."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self.searches = 0

    def knn_query(self, *args: Any, **kwargs: Any) -> Any:
        self.searches += 1
        return self._graph.knn_query(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)


class Indexed:
    """A vector index whose first facts are in a graph, and the facts beside it."""

    def __init__(self, covered: int = COUNT) -> None:
        self.index = VectorIndex(DIM, CONFIG)
        self.facts = FactTable()
        for fact, vector in enumerate(VECTORS):
            self.put(fact, vector)
        self.graph = Watched(self.index.make_graph(list(range(covered)), VECTORS[:covered]))
        self.index.attach(self.graph, covered)

    def put(self, fact: int, vector: Floats) -> None:
        self.facts.put(fact, 0, 0, 0, 0, OPEN, OPEN, OPEN, 0, forgotten=False)
        self.index.put(fact, vector)

    def search(
        self,
        query: Floats,
        limit: int = 10,
        *,
        ef: int = 64,
        floor: float | None = None,
        chosen: set[int] | None = None,
    ) -> list[tuple[int, float]]:
        view = Scope(valid_at=0, known_at=OPEN, expired_by=0, closed=False, unknown_closings=False)
        allowed = None
        if chosen is not None:
            passing = IdSet(len(self.facts))
            for fact in chosen:
                passing.add(fact)
            view.restrict_facts(passing)
            allowed = passing.count()
        return self.index.search(query, limit, ef, floor, self.facts, view, allowed).items()

    def exact(
        self,
        query: Floats,
        limit: int = 10,
        *,
        floor: float = float("-inf"),
        chosen: set[int] | None = None,
    ) -> list[tuple[int, float]]:
        view = Scope(valid_at=0, known_at=OPEN, expired_by=0, closed=False, unknown_closings=False)
        pairs = self.index.pool.search(query, 0, COUNT * 2, floor, self.facts, view).items()
        return [pair for pair in pairs if chosen is None or pair[0] in chosen][:limit]


def recall(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> float:
    return len({fact for fact, _ in found} & {fact for fact, _ in expected}) / len(expected)


def truly_nearest(query: Floats, limit: int = 10) -> list[tuple[int, float]]:
    """Return the facts with the nearest vectors by their cosines, which nothing rounded."""
    lengths = np.linalg.norm(VECTORS, axis=1) * np.linalg.norm(query)
    cosines = VECTORS @ query / lengths
    return [(int(fact), float(cosines[fact])) for fact in np.argsort(-cosines)[:limit]]


@pytest.fixture(scope="module")
def indexed() -> Indexed:
    """An index that tests only read."""
    return Indexed()


def test_the_graph_finds_nearly_all_of_the_nearest(indexed: Indexed) -> None:
    before = indexed.graph.searches
    shares = [recall(indexed.search(query), indexed.exact(query)) for query in QUERIES]
    assert np.mean(shares) >= 0.95
    assert indexed.graph.searches == before + len(QUERIES)


def test_what_the_graph_finds_is_scored_by_the_vectors_themselves(indexed: Indexed) -> None:
    for query in QUERIES:
        exact = dict(indexed.exact(query, COUNT))
        found = indexed.search(query)
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        # The scan has one byte a component, which is off by half a step at most.
        assert all(exact[fact] == pytest.approx(score, abs=0.01) for fact, score in found)


def test_a_wider_beam_finds_no_less(indexed: Indexed) -> None:
    narrow = np.mean([recall(indexed.search(q, ef=10), truly_nearest(q)) for q in QUERIES])
    wide = np.mean([recall(indexed.search(q, ef=150), truly_nearest(q)) for q in QUERIES])
    assert wide >= narrow
    assert wide >= 0.99


def test_a_beam_over_a_twentieth_of_the_graph_is_exact(indexed: Indexed) -> None:
    before = indexed.graph.searches
    for query in QUERIES[:5]:
        assert indexed.search(query, ef=COUNT // 20 + 1) == indexed.exact(query)
    assert indexed.graph.searches == before


def test_a_narrow_filter_returns_all_its_facts(indexed: Indexed) -> None:
    chosen = set(range(5, COUNT, 200))  # one in two hundred
    for query in QUERIES:
        assert indexed.search(query, 128, chosen=chosen) == indexed.exact(query, 128, chosen=chosen)
        assert len(indexed.search(query, 128, chosen=chosen)) == 15


def test_a_wide_filter_widens_the_walk_until_enough_pass(indexed: Indexed) -> None:
    chosen = set(range(0, COUNT, 10))
    before = indexed.graph.searches
    shares = []
    for query in QUERIES:
        found = indexed.search(query, 2, ef=4, chosen=chosen)
        assert len(found) == 2
        assert chosen.issuperset(fact for fact, _ in found)
        shares.append(recall(found, indexed.exact(query, 2, chosen=chosen)))
    assert np.mean(shares) >= 0.8
    assert indexed.graph.searches > before + len(QUERIES)


def test_a_filter_far_from_the_query_is_found_by_the_exact_scan(indexed: Indexed) -> None:
    for query in QUERIES[:10]:
        order = [fact for fact, _ in indexed.exact(query, COUNT)]
        chosen = set(order[-300:])  # a tenth, all of it pointing away
        assert indexed.search(query, 128, chosen=chosen) == indexed.exact(query, 128, chosen=chosen)


def test_a_floor_cuts_the_same_facts_with_the_graph(indexed: Indexed) -> None:
    for query in QUERIES:
        found = dict(indexed.search(query, 128, floor=0.6))
        assert all(score >= 0.6 for score in found.values())
        assert set(found) >= {fact for fact, _ in indexed.exact(query, 128, floor=0.61)}


def test_vectors_behind_the_graph_are_scanned_exactly() -> None:
    indexed = Indexed(covered=COUNT - 100)
    assert indexed.index.covered == COUNT - 100
    for fact in range(COUNT - 100, COUNT, 9):
        assert indexed.search(VECTORS[fact], 1)[0][0] == fact
    assert indexed.graph.searches > 0


def test_a_replaced_vector_is_found_where_it_is_now_and_not_where_it_was() -> None:
    indexed = Indexed()
    old, new = VECTORS[7], gaussian(1, 9)[0]
    indexed.put(7, new)
    assert indexed.index.covered == COUNT - 1
    assert indexed.search(new, 1)[0][0] == 7
    assert dict(indexed.search(old, 10)).get(7, -1.0) < 0.99
    newer = gaussian(1, 10)[0]
    indexed.put(7, newer)  # out of the tail this time
    assert indexed.index.covered == COUNT - 1
    assert indexed.search(newer, 1)[0][0] == 7
    assert len(indexed.index.pool) == COUNT


def test_a_vector_written_again_as_it_stands_stays_in_the_graph() -> None:
    indexed = Indexed()
    indexed.put(7, VECTORS[7])
    assert indexed.index.covered == COUNT
    assert indexed.search(VECTORS[7], 1)[0][0] == 7


def test_removed_vectors_are_never_found_again() -> None:
    indexed = Indexed(covered=COUNT - 100)
    gone = [fact for fact in range(COUNT) if fact % 3]
    indexed.index.remove([*gone, 99_999])
    assert indexed.index.covered == (COUNT - 100 + 2) // 3
    assert len(indexed.index.pool) == COUNT // 3
    for query in QUERIES:
        found = indexed.search(query, 5, ef=20)
        assert len(found) == 5
        assert not any(fact % 3 for fact, _ in found)
    shares = [recall(indexed.search(q, 5, ef=40), indexed.exact(q, 5)) for q in QUERIES]
    assert np.mean(shares) >= 0.9


def test_the_same_vectors_give_the_same_graph(indexed: Indexed) -> None:
    again = Indexed()
    for query in QUERIES:
        assert again.search(query, ef=10) == indexed.search(query, ef=10)


# -- through a memory


@pytest.fixture
def built(open_memory: OpenMemory, tmp_path: Path) -> Memory:
    """A memory whose vectors are in a graph."""
    memory = open_memory(tmp_path / "m", config=MemoryConfig(flat_to_hnsw=COUNT))
    memory.remember_many(
        {"text": f"vector {fact}", "vector": vector, "tags": ["rare"] if fact % 200 == 5 else []}
        for fact, vector in enumerate(VECTORS)
    )
    assert memory.stats().vectors_in_graph == 0
    assert memory.maintain().vectors_in_graph == COUNT
    return memory


def nearest(memory: Memory, query: Floats, **arguments: Any) -> list[int]:
    found = memory.recall(vector=query, k=100, token_budget=None, **arguments)
    return [fact.id for fact in found.facts]


def exact_ids(indexed: Indexed, query: Floats, limit: int = 100, **arguments: Any) -> set[int]:
    return {fact for fact, _ in indexed.exact(query, limit, **arguments)}


def test_a_memory_searches_the_graph_that_maintain_built(built: Memory, indexed: Indexed) -> None:
    shares = [
        len(set(nearest(built, query)) & exact_ids(indexed, query)) / 100 for query in QUERIES
    ]
    assert np.mean(shares) >= 0.95
    chosen = set(range(5, COUNT, 200))
    for query in QUERIES[:5]:
        assert set(nearest(built, query, tags=["rare"])) == chosen


def test_below_the_threshold_maintain_builds_nothing(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(flat_to_hnsw=11))
    memory.remember_many({"text": f"v {n}", "vector": VECTORS[n]} for n in range(10))
    assert memory.maintain().vectors_in_graph == 0
    memory.remember("one more", vector=VECTORS[10])
    assert memory.maintain().vectors_in_graph == 11


def test_the_graph_is_made_anew_when_an_eighth_has_come_since(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(flat_to_hnsw=80))
    memory.remember_many({"text": f"v {n}", "vector": VECTORS[n]} for n in range(80))
    assert memory.maintain().vectors_in_graph == 80
    for count, covered in [(90, 80), (91, 91), (102, 91), (103, 103)]:
        memory.remember_many(
            {"text": f"v {n}", "vector": VECTORS[n]} for n in range(memory.stats().facts, count)
        )
        assert memory.maintain().vectors_in_graph == covered


def test_a_checkpoint_holds_the_graph(
    built: Memory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    before = [nearest(built, query) for query in QUERIES[:10]]
    built.close()
    opened = open_memory(tmp_path / "m", config=MemoryConfig(flat_to_hnsw=COUNT))
    assert opened.stats().vectors_in_graph == COUNT
    assert [nearest(opened, query) for query in QUERIES[:10]] == before
    opened.remember("nearest of all", vector=QUERIES[0])
    opened.forget(before[1][0])
    opened.maintain()
    assert nearest(opened, QUERIES[0])[0] == COUNT
    assert before[1][0] not in nearest(opened, QUERIES[1])
    assert opened.verify().ok


def test_a_graph_built_after_the_last_write_is_saved_on_closing(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    config = MemoryConfig(flat_to_hnsw=10)
    memory = open_memory(tmp_path / "m", config=config)
    memory.remember_many({"text": f"v {n}", "vector": VECTORS[n]} for n in range(10))
    memory.checkpoint()
    assert memory.maintain().vectors_in_graph == 10
    memory.close()
    assert open_memory(tmp_path / "m", config=config).stats().vectors_in_graph == 10


def test_another_handle_keeps_its_graph_when_facts_are_revised(
    built: Memory, open_memory: OpenMemory, tmp_path: Path
) -> None:
    other = open_memory(tmp_path / "m", config=MemoryConfig(flat_to_hnsw=COUNT))
    other.maintain()
    for fact in range(20):
        built.revise(fact, tags=["seen"])
    assert other.stats().vectors == COUNT + 20
    assert other.stats().vectors_in_graph == COUNT
    assert other.verify().ok


def test_vectors_removed_elsewhere_while_the_graph_is_made_are_left_out(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = MemoryConfig(flat_to_hnsw=10)
    memory, other = (open_memory(tmp_path / "m", config=config) for _ in range(2))
    memory.remember_many({"text": f"v {n}", "vector": VECTORS[n]} for n in range(12))
    read = memory._engine.store.vectors

    def read_after_a_purge(facts: list[int]) -> object:
        other.forget(3)
        other.maintain()
        return read(facts)

    monkeypatch.setattr(memory._engine.store, "vectors", read_after_a_purge)
    memory.maintain()
    monkeypatch.undo()
    assert 3 not in nearest(memory, VECTORS[3])
    assert memory.maintain().vectors_in_graph == 11
    assert memory.verify().ok
