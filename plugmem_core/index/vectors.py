"""The vector index: an exact int8 scan, and an hnswlib graph above a threshold."""

import hnswlib
import numpy as np
import numpy.typing as npt

from plugmem_core.config import MemoryConfig
from plugmem_core.kernels import FactTable, Ranked, Scope, VectorPool
from plugmem_core.store import Vector

NO_FLOOR = float("-inf")
GROWTH = 8  # an eighth more vectors make a graph worth making anew; fewer are soon scanned
EXACT_SHARE = 20  # a search wider than a twentieth of the graph, or for fewer facts, is exact


class VectorIndex:
    """Quantised vectors of one dimension.

    The graph covers the first `covered` vectors of the pool, those that
    `make_graph` was given; later ones are scanned exactly at every search.
    """

    def __init__(self, dim: int, config: MemoryConfig) -> None:
        self.dim = dim
        self.pool = VectorPool(dim)
        self.covered = 0
        self._config = config
        self._graph: hnswlib.Index | None = None

    def put(self, fact: int, vector: Vector) -> None:
        """Store or replace the vector of a fact."""
        if self.pool.holds(fact, vector):
            return  # it stays where it is, covered by the graph or not
        self.remove([fact])
        self.pool.put(fact, vector)

    def remove(self, facts: list[int]) -> None:
        """Take vectors out."""
        covered = self.pool.remove(facts, self.covered)
        self.covered -= len(covered)
        if self._graph is not None:
            for fact in covered:
                self._graph.mark_deleted(fact)

    def search(
        self,
        query: Vector,
        limit: int,
        ef: int,
        floor: float | None,
        facts: FactTable,
        scope: Scope,
        allowed: int | None,
    ) -> Ranked:
        """Return the admitted facts nearest to the query by cosine.

        Args:
            query: `dim` finite components, not all zero.
            limit: Most facts to return.
            ef: Beam of the graph search.
            floor: Cosine below which a fact is left out.
            facts: Their columns.
            scope: Which of them are admitted.
            allowed: How many facts a filter allows at most, when there is one.
        """
        lowest = NO_FLOOR if floor is None else floor
        if self._graph is not None and (allowed is None or allowed * EXACT_SHARE > self.covered):
            nearest = self._walk(self._graph, query, limit, ef, lowest, facts, scope)
            if nearest is not None:
                tail = self.pool.search(query, self.covered, limit, lowest, facts, scope)
                return nearest.merge(tail, limit)
        return self.pool.search(query, 0, limit, lowest, facts, scope)

    def similarities(
        self, query: Vector, chosen: list[int], facts: FactTable, scope: Scope
    ) -> list[tuple[int, float]]:
        """Return the cosines of some facts with a vector, the admitted ones that have one."""
        return self.pool.rescore(query, chosen, len(chosen), NO_FLOOR, facts, scope).items()

    def make_graph(self, facts: list[int], vectors: npt.NDArray[np.float32]) -> hnswlib.Index:
        """Return a graph over vectors, one row a fact; the index itself is not changed."""
        graph = hnswlib.Index(space="cosine", dim=self.dim)
        graph.init_index(
            max_elements=len(facts),
            M=self._config.hnsw_m,
            ef_construction=self._config.hnsw_ef_construction,
            random_seed=100,
        )
        # One thread inserts in the order given: the same vectors give the same graph everywhere.
        graph.add_items(vectors, facts, num_threads=1)
        return graph

    def attach(self, graph: hnswlib.Index, covered: int) -> None:
        """Use a graph that covers the first vectors of the pool."""
        self._graph = graph
        self.covered = covered

    @property
    def graph_is_due(self) -> bool:
        """Whether so many vectors are behind the graph that it is worth making anew."""
        size = len(self.pool)
        behind = size - self.covered
        return size >= self._config.flat_to_hnsw and behind * GROWTH > self.covered

    @property
    def graph(self) -> "hnswlib.Index | None":
        """The graph, if one was built."""
        return self._graph

    def _walk(
        self,
        graph: hnswlib.Index,
        query: Vector,
        limit: int,
        ef: int,
        floor: float,
        facts: FactTable,
        scope: Scope,
    ) -> Ranked | None:
        # The graph knows no filter: widen until enough is admitted, so that a filter never
        # starves the result; `None` once an exact scan is cheaper.
        width = max(ef, limit)
        while width * EXACT_SHARE <= self.covered:
            graph.set_ef(width)
            try:
                labels, distances = graph.knn_query(query, k=width, num_threads=1)
            except RuntimeError:  # fewer than `width` nodes can be reached
                return None
            # By the distances of the graph, which keeps the vectors as they were given.
            nearest = facts.ranked(scope, labels[0], 1.0 - distances[0], limit, floor)
            farthest = 1.0 - float(distances[0][-1])
            if len(nearest) >= limit or farthest < floor:
                return nearest
            width *= 4
        return None
