"""Fused recall: what the graph adds to a search, to the digit, and what it may not add."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from plugmem_core import InvalidInputError, ServiceError, WrongTypeError
from plugmem_core.extraction import ExtractedFact, Graph
from plugmem_core.service import (
    DeterministicReranker,
    MemoryService,
    RecalledMemory,
    ServiceConfig,
    memory_id,
)
from service.conftest import Compass, OpenService, contents

COSINES = {"seed": 0.8, "typed": 0.4, "rare": 0.2, "common": 0.6, "both": 0.1, "alone": -0.4}
VECTOR = ServiceConfig(mode="vector")


def about(service: MemoryService, text: str, *names: str) -> None:
    """Store a memory with its entities, by the outline of extraction."""

    class Reader:
        def extract(self, passage: str) -> Graph:
            return Graph((ExtractedFact(passage, names),))

    service.remember_extracted(text, extractor=Reader())


@pytest.fixture
def bridged(open_service: OpenService) -> MemoryService:
    """Memories that share a rare and a common entity with the seed.

    Six memories, one more that no question finds, and three entities: N = 10. From "x" start
    two edges, from "y" four, from "z" one.
    """
    service = open_service(Compass(COSINES), config=VECTOR)
    about(service, "seed", "x", "y")
    about(service, "rare", "x")
    about(service, "common", "y")
    about(service, "both", "x2", "y")
    about(service, "far", "y")
    service.remember("typed")
    service.remember("alone")
    service.relate(memory_id("seed"), memory_id("typed"), "because")
    return service


X = 1 - math.log10(2)  # ln(10 / 2) / ln 10
Y = 1 - math.log10(4)


def test_the_graph_lifts_what_it_reaches_by_the_rarest_entity(bridged: MemoryService) -> None:
    assert bridged.memory_status().facts + bridged.memory_status().entities == 10
    found = bridged.recall_fused("where?", graph_boost=0.4)
    expected = {
        "seed": 1.0,
        "common": 0.75 + 0.4 * Y,
        "typed": 0.5 + 0.4 * 1.0,
        "rare": 0.25 + 0.4 * X,
        "both": 0.125 + 0.4 * Y,
        "far": 0.4 * Y,
        "alone": 0.0,
    }
    assert {one.content: one.rank_score for one in found} == pytest.approx(expected, abs=1e-6)
    assert contents(found) == sorted(expected, key=lambda text: -expected[text])
    assert {one.content: one.graph for one in found} == pytest.approx(
        {"seed": 0, "common": Y, "typed": 1, "rare": X, "both": Y, "far": Y, "alone": 0}
    )


@pytest.mark.reference
def test_among_words_places_fall_by_eighths_beside_the_graph(open_service: OpenService) -> None:
    service = open_service(None)
    evidence = service.remember("a nail")
    first = service.remember("pump pump pump", links=[(evidence, "because")])
    second = service.remember("pump of the north")
    third = service.remember("pump of the far and cold north")
    service.relate(first, third, "like")
    found = service.recall_fused("pump", graph_boost=0.15)
    assert {one.id: one.rank_score for one in found} == pytest.approx(
        {first: 1.0, third: 1 / (1 + 2 / 8) + 0.15, second: 1 / (1 + 1 / 8), evidence: 0.15}
    )
    assert [one.id for one in found] == [first, third, second, evidence]


def test_scores_stay_the_similarities_and_what_only_the_graph_found_has_none(
    bridged: MemoryService,
) -> None:
    scores = {one.content: one.score for one in bridged.recall_fused("where?")}
    assert scores == pytest.approx(COSINES | {"far": 0.0}, abs=1e-6)


def test_without_hops_it_is_the_search(bridged: MemoryService) -> None:
    found = bridged.recall_fused("where?", hops=0)
    assert contents(found) == contents(bridged.recall("where?"))
    assert {one.graph for one in found} == {0.0}


def test_one_hop_reaches_what_typed_edges_lead_to(bridged: MemoryService) -> None:
    found = bridged.recall_fused("where?", hops=1)
    assert [one.content for one in found if one.graph] == ["typed"]


def test_a_memory_with_a_typed_edge_and_an_entity_counts_by_the_entity(
    bridged: MemoryService,
) -> None:
    bridged.relate(memory_id("seed"), memory_id("common"), "because")
    weights = {one.content: one.graph for one in bridged.recall_fused("where?")}
    assert weights["common"] == pytest.approx(Y)


@pytest.mark.parametrize("boost", [float("nan"), float("inf"), -float("inf"), None])
def test_a_boost_that_is_no_number_counts_as_the_default(
    bridged: MemoryService, boost: float | None
) -> None:
    assert bridged.recall_fused("where?", graph_boost=boost) == bridged.recall_fused(
        "where?", graph_boost=0.15
    )


@pytest.mark.parametrize(("pool", "in_pool"), [(0, 1), (1, 1), (3, 3), (10**9, 6)])
def test_the_pool_has_a_floor_and_a_ceiling(
    bridged: MemoryService, pool: int, in_pool: int
) -> None:
    found = bridged.recall_fused("where?", pool=pool, hops=0)
    assert contents(found) == sorted(COSINES, key=lambda text: -COSINES[text])[:in_pool]


def test_more_seeds_reach_more(open_service: OpenService) -> None:
    service = open_service(Compass({"one": 0.9, "two": 0.8}), config=VECTOR)
    service.remember("evidence")
    service.remember("one")
    service.remember("two", links=[(memory_id("evidence"), "because")])
    assert contents(service.recall_fused("where?")) == ["one", "two"]
    assert contents(service.recall_fused("where?", seeds=2)) == ["one", "two", "evidence"]


def test_edges_are_walked_backwards_when_asked(open_service: OpenService) -> None:
    service = open_service(Compass({"one": 0.9}), config=VECTOR)
    service.remember("one")
    service.remember("effect", links=[(memory_id("one"), "because")])
    assert contents(service.recall_fused("where?")) == ["one"]
    assert contents(service.recall_fused("where?", direction="both")) == ["one", "effect"]
    with pytest.raises(InvalidInputError, match='give "out" or "both"'):
        service.recall_fused("where?", direction="in")


def test_a_filter_holds_for_the_walk(open_service: OpenService) -> None:
    service = open_service(Compass({"mine": 0.9}), config=VECTOR)
    ours, theirs = {"tenant": "a"}, {"tenant": "b"}
    service.remember("behind theirs", metadata=ours)
    service.remember("theirs", metadata=theirs, links=[(memory_id("behind theirs"), "l")])
    service.remember("ours", metadata=ours)
    links = [(memory_id("theirs"), "l"), (memory_id("ours"), "l")]
    service.remember("mine", metadata=ours, links=links)
    assert contents(service.recall_fused("where?", 10, ours)) == ["mine", "ours"]
    assert len(service.recall_fused("where?", hops=3)) == 4


def test_a_floor_is_for_the_pool(bridged: MemoryService) -> None:
    found = bridged.recall_fused("where?", min_score=0.5)
    assert set(contents(found)) == {"seed", "common", "typed", "rare", "both", "far"}
    assert {one.content: one.score for one in found}["typed"] == 0.0
    assert bridged.recall_fused("where?", min_score=0.9) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"hops": -1},
        {"hops": 1.5},
        {"pool": -1},
        {"seeds": -1},
        {"graph_boost": "1"},
        {"seeds": "1"},
    ],
)
def test_odd_knobs_are_refused(service: MemoryService, odd: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        service.recall_fused("tea", **odd)


def test_unknown_knobs_are_refused(service: MemoryService) -> None:
    unknown: Any = {"hop": 1}
    with pytest.raises(TypeError):
        service.recall_fused("tea", **unknown)


def test_an_empty_memory_answers_nothing(service: MemoryService) -> None:
    assert service.recall_fused("tea") == []
    assert service.recall_fused_reranked("tea", DeterministicReranker()) == []


# -- reranking


class Given:
    """A reranker that does what it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def rerank(self, query: str, candidates: Sequence[RecalledMemory]) -> Any:
        return self.answer(query, candidates)


def test_a_reranker_sees_the_whole_pool_and_its_first_ones_are_returned(
    bridged: MemoryService,
) -> None:
    seen: list[Any] = []

    def backwards(query: str, candidates: Sequence[RecalledMemory]) -> list[RecalledMemory]:
        seen.extend([query, contents(candidates)])
        return list(reversed(candidates))

    found = bridged.recall_fused_reranked(" where? ", Given(backwards), k=2, pool=5)
    assert seen == ["where?", contents(bridged.recall_fused("where?", pool=5))[:5]]
    assert contents(found) == seen[1][:-3:-1]


def test_the_shipped_reranker_counts_distinct_words_and_keeps_the_order_of_equals() -> None:
    texts = ["tea tea tea", "green", "Green, TEA!", "greenish teapot", "tea and green"]
    memories = [RecalledMemory(n, 0.0, text, None) for n, text in enumerate(texts)]
    ranked = DeterministicReranker().rerank("Green tea? tea", memories)
    assert [one.id for one in ranked] == [2, 4, 0, 1, 3]
    assert contents(DeterministicReranker().rerank("?!", memories)) == texts


def test_a_failing_reranker_is_a_fault_of_the_service_with_its_cause(
    bridged: MemoryService,
) -> None:
    def fail(query: str, candidates: Any) -> Any:
        raise ZeroDivisionError("no")

    with pytest.raises(ServiceError, match="Given failed with ZeroDivisionError") as caught:
        bridged.recall_fused_reranked("where?", Given(fail))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    "answer",
    [
        lambda _, candidates: [*candidates, candidates[0]],
        lambda _, candidates: [RecalledMemory(1, 1.0, "forged", None)],
        lambda _, candidates: ["text"],
        lambda _, candidates: None,
    ],
)
def test_a_reranker_may_not_invent(bridged: MemoryService, answer: Any) -> None:
    with pytest.raises(ServiceError):
        bridged.recall_fused_reranked("where?", Given(answer))


def test_a_reranker_may_leave_candidates_out(bridged: MemoryService) -> None:
    assert bridged.recall_fused_reranked("where?", Given(lambda _, candidates: ())) == []
    odd: Any = sorted
    with pytest.raises(WrongTypeError, match="an object with rerank"):
        bridged.recall_fused_reranked("where?", odd)
