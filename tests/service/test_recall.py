"""Recall: what is found, in which order and with which score, and what a filter means."""

from typing import Any

import pytest
from clocks import Clock

from plugmem_core import (
    HashingEmbedder,
    InvalidFilterError,
    InvalidInputError,
    ServiceError,
    TooLargeError,
    WrongTypeError,
)
from plugmem_core.extraction import Attribute, ExtractedFact, Graph
from plugmem_core.service import MemoryService, ServiceConfig
from service.conftest import Compass, OpenService, contents

COSINES = {"near": 0.8, "nearer": 0.96, "aside": 0.0, "against": -0.6}


@pytest.fixture
def compass(open_service: OpenService) -> MemoryService:
    """Four memories whose cosines with any question are known."""
    service = open_service(Compass(COSINES), config=ServiceConfig(mode="vector"))
    for text in COSINES:
        service.remember(text)
    return service


# -- modes and scores


def test_vector_mode_orders_by_the_cosine_and_shows_it(compass: MemoryService) -> None:
    found = compass.recall("where?")
    assert contents(found) == ["nearer", "near", "aside", "against"]
    assert [one.score for one in found] == pytest.approx([0.96, 0.8, 0.0, -0.6], abs=1e-6)
    assert contents(compass.recall("where?", k=2)) == ["nearer", "near"]


def test_vector_mode_forgets_no_floor(compass: MemoryService) -> None:
    assert contents(compass.recall("where?", min_score=0.5)) == ["nearer", "near"]
    assert contents(compass.recall("where?", min_score=-0.1)) == ["nearer", "near", "aside"]
    assert compass.recall("where?", min_score=1) == []


def test_fused_mode_finds_by_words_and_by_vectors(open_service: OpenService) -> None:
    service = open_service(Compass({"a pump leaks": 0.0, "water everywhere": 0.9}))
    service.remember_many([{"fact": "a pump leaks"}, {"fact": "water everywhere"}])
    found = service.recall("which pump?")
    assert set(contents(found)) == {"a pump leaks", "water everywhere"}
    assert found[0].rank_score == 1.0 >= found[1].rank_score > 0


def test_fused_mode_scores_relevance_from_nothing_to_one(open_service: OpenService) -> None:
    service = open_service(Compass({"near": 0.9, "a pump": -0.5}))
    service.remember_many([{"fact": "near"}, {"fact": "a pump"}])
    scores = {one.content: one.score for one in service.recall("where?")}
    assert scores["near"] == pytest.approx(0.9, abs=0.01)
    assert scores["a pump"] == 0.0


def test_a_floor_lets_those_pass_that_are_good_enough_wherever_they_rank(
    open_service: OpenService,
) -> None:
    texts = [f"pump number {n}" for n in range(30)]
    service = open_service(Compass({text: 0.02 * n for n, text in enumerate(texts)}))
    service.remember_many({"fact": text} for text in texts)
    found = service.recall("where?", k=5, min_score=0.49)
    assert contents(found) == ["pump number 29", "pump number 28", "pump number 27",
                               "pump number 26", "pump number 25"]  # fmt: skip
    assert service.recall("where?", min_score=0.99) == []


def test_words_alone_find_memories_without_an_embedder(service: MemoryService) -> None:
    service.remember("the pump leaks")
    service.remember("the tide is out")
    assert contents(service.recall("PUMP?")) == ["the pump leaks"]
    assert service.recall("boat") == service.recall("???") == []


def test_vector_mode_needs_an_embedder(service: MemoryService) -> None:
    with pytest.raises(InvalidInputError, match="the memory has no embedder"):
        service.recall("tea", mode="vector")


class Dead(HashingEmbedder):
    """An embedder whose provider is down while a test says so."""

    down = False

    def embed_documents(self, texts: list[str]) -> list[Any]:
        self._answer()
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        self._answer()
        return super().embed_query(text)

    def _answer(self) -> None:
        if self.down:
            raise ConnectionError("down")


def test_a_dead_embedder_costs_no_memory_and_words_still_answer(open_service: OpenService) -> None:
    embedder = Dead(64)
    service = open_service(embedder)
    service.remember("the tide is out")
    embedder.down = True
    service.remember("the pump leaks")
    assert contents(service.recall("pump")) == ["the pump leaks"]
    with pytest.raises(ServiceError, match="embedder"):
        service.recall("pump", mode="vector")


class Odd(HashingEmbedder):
    """An embedder whose vectors are wrong while a test says so."""

    wrong: Any = None

    def embed_documents(self, texts: list[str]) -> list[Any]:
        return [self._vector(vector) for vector in super().embed_documents(texts)]

    def embed_query(self, text: str) -> Any:
        return self._vector(super().embed_query(text))

    def _vector(self, right: Any) -> Any:
        return right if self.wrong is None else self.wrong


@pytest.mark.parametrize(
    "wrong", [[1.0, 0.0], [[1.0] * 64], [float("nan")] * 64, [float("inf")] * 64, ["x"] * 64, None]
)
def test_wrong_vectors_cost_nothing_and_are_not_kept(open_service: OpenService, wrong: Any) -> None:
    embedder = Odd(64)
    service = open_service(embedder)
    service.remember("the tide is out")
    assert contents(service.recall("tide", mode="vector")) == ["the tide is out"]
    service.remember("the pump leaks")
    embedder.wrong = wrong
    assert contents(service.recall("the pump leaks", k=1)) == ["the pump leaks"]
    if wrong is not None:
        with pytest.raises(ServiceError, match="embedder"):
            service.recall("pump", mode="vector")
    embedder.wrong = None
    service.remember("the oil is low")
    found = service.recall("oil", mode="vector")
    assert contents(found)[0] == "the oil is low"
    assert all(0 <= one.score <= 1 for one in found)


# -- blank and odd questions


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u2003"])
def test_a_blank_question_finds_nothing_whatever_else_is_asked(
    service: MemoryService, blank: str
) -> None:
    odd: Any = {"content": 1}
    assert service.recall(blank, -1, odd, mode="x") == []
    assert service.recall_where(blank, [("content", "??", None)]) == []
    assert service.recall_fused(blank, -1, odd, hops=-1) == []
    assert service.why(blank, -1, odd).nodes == ()


@pytest.mark.parametrize("k", [0, 1, 10_000])
def test_k_is_cut_at_both_ends(open_service: OpenService, k: int) -> None:
    service = open_service(config=ServiceConfig(max_recall=2))
    service.remember_many({"fact": f"pump {n}"} for n in range(5))
    for found in (service.recall("pump", k), service.recall_fused("pump", k)):
        assert len(found) == min(k, 2)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"query": 1}, WrongTypeError),
        ({"query": "secret\0"}, InvalidInputError),
        ({"query": "secret\ud800"}, InvalidInputError),
        ({"query": "secret" * 200_000}, TooLargeError),
        ({"k": -1}, InvalidInputError),
        ({"k": 1.0}, WrongTypeError),
        ({"k": True}, WrongTypeError),
        ({"mode": "words"}, InvalidInputError),
        ({"min_score": float("nan")}, InvalidInputError),
        ({"min_score": "1"}, WrongTypeError),
        ({"where": {"a": {"$no": 1}}}, InvalidFilterError),
        ({"where": {"content": 1}}, InvalidFilterError),
        ({"where": {"$or": [{"a": 1}, {"_plugmem_x": 1}]}}, InvalidFilterError),
        ({"where": []}, InvalidFilterError),
    ],
)
def test_odd_arguments_are_refused_without_repeating_the_question(
    service: MemoryService, arguments: dict[str, Any], error: type[Exception]
) -> None:
    service.remember("secret tea")
    for verb in (service.recall, service.recall_fused):
        with pytest.raises(error) as caught:
            verb(**({"query": "secret"} | arguments))
        assert "secret" not in str(caught.value)


# -- filters


def test_a_narrow_filter_does_not_starve_the_answer(open_service: OpenService) -> None:
    service = open_service(HashingEmbedder(64))
    service.remember_many(
        {"fact": f"pump {n} leaks", "metadata": {"project": "rare" if n % 101 == 7 else "common"}}
        for n in range(505)
    )
    rare = {f"pump {n} leaks" for n in (7, 108, 209, 310, 411)}
    where = {"project": "rare"}
    assert set(contents(service.recall("pump leaks", 10, where))) == rare
    assert set(contents(service.recall("pump leaks", 10, where, mode="vector"))) == rare
    assert set(contents(service.recall_fused("pump leaks", 10, where))) == rare
    assert service.why("pump leaks", 2, where).nodes[0].content in rare


class Fixed:
    """An extractor that finds the same in every text."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def extract(self, text: str) -> Graph:
        return self.graph


def test_entities_are_never_memories_even_if_their_attributes_pass(
    open_service: OpenService,
) -> None:
    graph = Graph(
        (ExtractedFact("the pump leaks", ("pump",)),), (), (Attribute("pump", "project", "apollo"),)
    )
    service = open_service(HashingEmbedder(64), extractor=Fixed(graph))
    service.remember_extracted("…")
    where = {"project": "apollo"}
    for mode in ("fused", "vector"):
        assert service.recall("pump", 10, where, mode=mode) == []
        assert service.recall_fused("pump", 10, where, mode=mode) == []
        assert service.why("pump", 2, where, mode=mode).nodes == ()
        assert contents(service.recall("pump", 10, {}, mode=mode)) == ["the pump leaks"]
        assert service.recall_where("pump", [("project", "eq", "apollo")], mode=mode) == []


@pytest.mark.parametrize("nothing", [None, {}])
def test_an_empty_filter_is_no_filter(service: MemoryService, nothing: Any) -> None:
    service.remember("the pump leaks")
    assert contents(service.recall("pump", 10, nothing)) == ["the pump leaks"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"n": 1}, {"one"}),
        ({"n": "1"}, {"text"}),
        ({"n": None}, {"null"}),
        ({"n": True}, {"true"}),
        ({"n": [1, 2]}, {"list"}),
        ({"n": {"a": 1}}, {"object"}),
        ({"n": 1, "m": 2}, set()),
        ({"_plugmem_date": 20240501}, {"one", "text", "null", "true", "list", "object", "none"}),
    ],
)
def test_a_filter_compares_by_type_and_all_of_it_has_to_hold(
    service: MemoryService, where: dict[str, Any], expected: set[str]
) -> None:
    values = {"one": 1, "text": "1", "null": None, "true": True, "list": [1, 2], "object": {"a": 1}}
    for name, value in values.items():
        service.remember(f"pump {name}", metadata={"n": value})
    service.remember("pump none")
    assert set(contents(service.recall("pump", 10, where))) == {f"pump {name}" for name in expected}


# -- predicates


@pytest.fixture
def table(service: MemoryService) -> MemoryService:
    """The facts of the conformance table, and an entity that carries every field."""
    rows: dict[int, dict[str, Any]] = {
        1: {},
        2: {"status": None},
        3: {"status": "archived"},
        4: {"status": "active"},
        5: {"status": "active", "year": 2003},
        6: {"status": "active", "year": 2020},
        7: {"year": 2010},
    }
    service.remember_many({"fact": f"row {n}", "metadata": row} for n, row in rows.items())
    hub = (Attribute("row 90", "status", "active"), Attribute("row 90", "year", 2010))
    service.remember_extracted("row 1", extractor=Fixed(Graph((), (), hub)))
    return service


@pytest.mark.parametrize(
    ("predicates", "rows"),
    [
        ([("status", "ne", "archived")], {4, 5, 6}),
        ([("status", "eq", "archived")], {3}),
        ([("status", "eq", "missing")], set()),
        ([("year", "lt", 2010)], {5}),
        ([("year", "le", 2010)], {5, 7}),
        ([("year", "gt", 2010)], {6}),
        ([("year", "ge", 2010)], {6, 7}),
        ([("status", "ne", "archived"), ("year", "ge", 2010)], {6}),
        ([], {1, 2, 3, 4, 5, 6, 7}),
        ([("status", "NE", "archived")], {4, 5, 6}),
        ([{"field": "year", "op": "Lt", "value": 2010.5}], {5, 7}),
        ([("year", "eq", 2010.0)], {7}),
        ([("year", "ne", 2010)], {5, 6}),
        ([("year", "ne", "2010")], {5, 6, 7}),
        ([("year", "eq", "2010")], set()),
        ([("year", "lt", "9")], set()),
        ([("status", "gt", "active")], {3}),
        ([("status", "ge", "active")], {3, 4, 5, 6}),
        ([("status", "lt", True)], set()),
        ([("_plugmem_date", "ge", 20240501)], {1, 2, 3, 4, 5, 6, 7}),
    ],
)
def test_predicates_pass_what_the_table_says(
    table: MemoryService, predicates: list[Any], rows: set[int]
) -> None:
    found = table.recall_where("row", predicates)
    assert set(contents(found)) == {f"row {n}" for n in rows}


@pytest.mark.parametrize(
    ("stored", "predicate", "passes"),
    [
        (True, ("f", "eq", True), True),
        (True, ("f", "eq", 1), False),
        (1, ("f", "eq", True), False),
        (True, ("f", "ne", False), True),
        (True, ("f", "gt", False), False),
        ([1], ("f", "ne", 1), True),
        ([1], ("f", "eq", 1), False),
        ({"a": 1}, ("f", "ne", "x"), True),
        ({"a": 1}, ("f", "lt", 5), False),
        (0.1 + 0.2, ("f", "eq", 0.3), True),
        (0.1 + 0.2, ("f", "ne", 0.3), False),
        (0.3000001, ("f", "eq", 0.3), False),
        (1e-17, ("f", "eq", 0), True),
        (2**60, ("f", "eq", 2**60 + 1), False),
        (2**60, ("f", "lt", 2**60 + 1), True),
    ],
)
def test_values_are_compared_by_type(
    service: MemoryService, stored: Any, predicate: Any, passes: bool
) -> None:
    service.remember("row", metadata={"f": stored})
    assert contents(service.recall_where("row", [predicate])) == ["row"] * passes


@pytest.mark.parametrize(
    "predicate",
    [
        ("1st", "eq", 1),
        ("", "eq", 1),
        ("a b", "eq", 1),
        ("a.b", "eq", 1),
        ("é", "eq", 1),
        ("a\n", "eq", 1),
        ("$or", "eq", 1),
        (1, "eq", 1),
        ("content", "eq", 1),
        ("_plugmem_x", "eq", 1),
        ("f", "like", "x"),
        ("f", "", 1),
        ("f", None, 1),
        ("f", "eq", None),
        ("f", "eq", [1]),
        ("f", "eq", {"a": 1}),
        ("f", "lt", float("nan")),
        ("f", "eq", float("inf")),
        ("f", "eq"),
        "feq",
        {"field": "f", "op": "eq"},
        {"field": "f", "op": "eq", "value": 1, "more": 2},
        None,
    ],
)
def test_a_predicate_that_breaks_a_rule_is_refused_without_repeating_the_question(
    service: MemoryService, predicate: Any
) -> None:
    with pytest.raises(InvalidFilterError) as caught:
        service.recall_where("secret", [predicate])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("odd", ["f", {"f": 1}, None, 5])
def test_predicates_are_a_list(service: MemoryService, odd: Any) -> None:
    with pytest.raises(WrongTypeError, match="give a list of"):
        service.recall_where("tea", odd)


# -- feedback


def learned(service: MemoryService, text: str, outcomes: list[bool]) -> None:
    [memory] = (one for one in service.list_memories() if one.content == text)
    for success in outcomes:
        service.feedback(memory.id, success)


def test_feedback_reorders_what_is_returned_and_admits_nothing(compass: MemoryService) -> None:
    # near: 0.9 · (1 + 0.5 · 0.4) = 1.08 > nearer: 0.98 · 1; aside: 0.5 · 1.5 = 0.75.
    learned(compass, "near", [True, True])
    learned(compass, "aside", [True] * 5)
    found = compass.recall("where?")
    assert contents(found) == ["near", "nearer", "aside", "against"]
    assert [one.confidence for one in found] == [0.7, 0.5, 1.0, 0.5]
    assert [one.score for one in found] == pytest.approx([0.8, 0.96, 0.0, -0.6], abs=1e-6)
    assert contents(compass.recall("where?", k=2)) == ["near", "nearer"]


def test_feedback_counts_in_every_recall_that_is_asked_to(compass: MemoryService) -> None:
    learned(compass, "near", [True] * 5)
    by_cosine = ["nearer", "near", "aside", "against"]
    assert contents(compass.recall("where?", use_feedback=False)) == by_cosine
    assert contents(compass.recall_where("where?", [])) == by_cosine
    assert contents(compass.recall_fused("where?")) == by_cosine
    assert contents(compass.recall_where("where?", [], use_feedback=True))[0] == "near"
    assert contents(compass.recall_fused("where?", use_feedback=True))[0] == "near"
    assert compass.recall_fused_dated("where?", use_feedback=True).memories[0].content == "near"
    with pytest.raises(WrongTypeError):
        compass.recall("where?", use_feedback=1)


def test_without_feedback_fused_mode_keeps_the_fused_order(open_service: OpenService) -> None:
    service = open_service(HashingEmbedder(64))
    service.remember_many({"fact": f"pump {n} {'leaks ' * (n % 3)}"} for n in range(9))
    plain = service.recall("pump leaks", use_feedback=False)
    assert contents(service.recall("pump leaks")) == contents(plain)
    assert [one.rank_score for one in plain] == sorted((o.rank_score for o in plain), reverse=True)


def test_a_recent_saying_does_not_disturb_vector_mode(
    open_service: OpenService, clock: Clock
) -> None:
    service = open_service(Compass({"near": 0.8, "a bit less near": 0.79}))
    service.remember("near")
    clock.set("2030-01-01")
    service.remember("a bit less near")
    assert contents(service.recall("where?", mode="vector")) == ["near", "a bit less near"]
