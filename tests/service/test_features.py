"""What the page promises of a whole service, where no test of one part shows it."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, SECOND, Clock

from plugmem_core import (
    HashingEmbedder,
    InvalidFilterError,
    InvalidInputError,
    NotFoundError,
    ServiceError,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)
from plugmem_core.context import MemoryScope
from plugmem_core.extraction import Attribute, ExtractedFact, Graph, OutlineExtractor, Relation
from plugmem_core.service import (
    DATE_KEY,
    DeterministicReranker,
    MemoryService,
    ServiceConfig,
    entity_id,
    memory_id,
)
from service.conftest import OpenService, contents, everything


class Fixed:
    """An extractor that finds the same in every text."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def extract(self, text: str) -> Any:
        return self.graph


class Renamed(HashingEmbedder):
    """Another model with vectors of the same dimension."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.space_id = "another model"


def test_vectors_of_another_model_of_the_same_dimension_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with MemoryService.open(path, embedder=HashingEmbedder(16)) as service:
        service.remember("tea")
        assert service.memory_status().vectors == (16, "hashing-16")
    with pytest.raises(VectorSpaceError, match="another model"):
        MemoryService.open(path, embedder=Renamed(16))


def test_what_the_service_keeps_for_itself_is_never_shown(open_service: OpenService) -> None:
    graph = Graph((ExtractedFact("x", ("tea",)),), (), (Attribute("tea", "color", "green"),))
    config = ServiceConfig(autograph=True, default_ttl=3_600)
    service = open_service(HashingEmbedder(16), extractor=Fixed(graph), config=config)
    tea = service.remember("Mara likes tea", metadata={"a": 1})
    service.feedback(tea, success=True)
    service.feedback(entity_id("tea"), success=True)
    shown = {DATE_KEY: 20240501, "a": 1}
    found = [
        *service.recall("tea"),
        *service.recall_where("tea", []),
        *service.recall_fused("tea"),
        *service.recall_fused_dated("tea"),
        *service.recall_fused_reranked("tea", DeterministicReranker()),
        *service.list_memories(),
    ]
    assert [one.metadata for one in found] == [shown] * 6
    assert service.entity("tea").attributes == {"color": "green"}
    listed = service.list_memories(include_internal=True)
    assert {one.content: one.metadata for one in listed} == {
        "Mara likes tea": shown,
        "Entity: tea": {"color": "green"},
    }


Read = Callable[[MemoryService], list[str]]

READS: list[Read] = [
    lambda service: contents(service.recall("gate code")),
    lambda service: contents(service.recall("gate code", mode="vector")),
    lambda service: contents(service.recall_where("gate code", [(DATE_KEY, "gt", 0)])),
    lambda service: contents(service.recall_fused("gate code")),
    lambda service: contents(service.recall_fused_dated("gate code")),
    lambda service: contents(service.recall_fused_reranked("gate code", DeterministicReranker())),
    lambda service: contents(service.why("the door is green").nodes),
    lambda service: contents(service.list_memories(include_internal=True)),
    lambda service: contents(service.entity("gate").relations_in),
    lambda service: contents(service.pull("gate code", MemoryScope())),
    lambda service: service.compile_context(
        {"query": "gate code", "fragments": [], "token_budget": 1_000, "memory_scope": {}}
    ).content.split("\n\n"),
]


@pytest.mark.parametrize("read", READS)
def test_what_has_expired_is_in_no_answer(
    open_service: OpenService, clock: Clock, read: Read
) -> None:
    service = open_service(HashingEmbedder(64))
    service.remember("the door is green")
    gate = Graph((ExtractedFact("the door is green", ("gate",)),))
    service.remember_extracted("…", extractor=Fixed(gate))
    code = service.remember("the gate code is 4711", links=[(entity_id("gate"), "opens")], ttl=60)
    service.relate(memory_id("the door is green"), code, "has")
    assert "the gate code is 4711" in read(service)
    clock.tick(60 * SECOND)
    assert "the gate code is 4711" not in read(service)


def test_a_link_that_cannot_be_written_leaves_everything_as_it_was(
    open_service: OpenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = open_service()
    rain = service.remember("it rained", metadata={"a": 1})
    service.remember("the snow melted")
    before = everything(service)

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("plugmem_core.service.engine_store._EngineWrites.link", fail)
    monkeypatch.setattr("plugmem_core.service.dict_store._DictWrites.link", fail)
    for fact in ("the river rose", "the snow melted"):
        with pytest.raises(OSError, match="the disk is full"):
            service.remember(fact, links=[(rain, "because")], metadata={"b": 2}, ttl=60)
    assert everything(service) == before


def test_an_entity_and_a_memory_may_be_linked(service: MemoryService) -> None:
    ada = Graph((ExtractedFact("Ada wrote a program", ("Ada",)),))
    service.remember_extracted("…", extractor=Fixed(ada))
    service.remember("a letter was found", links=[(entity_id("ada"), "written by")])
    assert contents(service.why("letter").nodes) == [
        "a letter was found",
        "Entity: ada",
        "Ada wrote a program",
    ]
    assert [one.predicate for one in service.entity("ada").relations_in] == ["written by"]


def test_a_relation_is_kept_in_the_direction_stated_and_in_no_other(
    service: MemoryService,
) -> None:
    married = Graph((), (Relation("Ada", "married to", "William"),))
    service.remember_extracted("…", extractor=Fixed(married))
    assert contents(service.entity("ada").relations) == ["Entity: william"]
    assert service.entity("william").relations == ()
    assert service.memory_status().edges == 1


def test_narrow_predicates_do_not_starve_the_answer(open_service: OpenService) -> None:
    service = open_service(HashingEmbedder(64))
    service.remember_many(
        {"fact": f"pump {n} leaks", "metadata": {"year": 1_999 if n % 101 == 7 else 2_000 + n}}
        for n in range(505)
    )
    rare = {f"pump {n} leaks" for n in (7, 108, 209, 310, 411)}
    for mode in ("fused", "vector"):
        found = service.recall_where("pump leaks", [("year", "lt", 2_000)], mode=mode)
        assert set(contents(found)) == rare


def test_no_more_hops_are_walked_than_the_limit_allows(service: MemoryService) -> None:
    names = list("abcdefghijklm")
    service.remember_many(
        {"fact": name, "links": [(memory_id(after), "to")] if after else []}
        for name, after in zip(names, [*names[1:], None], strict=True)
    )
    found = service.why("a", 10**9)
    assert [(node.hop, node.content) for node in found.nodes] == list(enumerate(names[:11]))
    assert len(service.recall_fused("a", 100, hops=10**9)) == 11


def test_the_graph_finds_what_shares_no_word_with_the_question(service: MemoryService) -> None:
    subjects = [f"service{n}" for n in range(24)]
    for subject in subjects:
        problem = service.remember(f"{subject}lost messages")
        change = service.remember(f"{subject}rewrote its queue", links=[(problem, "because")])
        service.remember(f"choose a broker for {subject}", links=[(change, "led to")])
    for subject in subjects:
        question, problem = f"broker {subject}?", memory_id(f"{subject}lost messages")
        assert problem not in {one.id for one in service.recall(question, k=72)}
        evidence = service.why(question)
        assert contents(evidence.nodes) == [
            f"choose a broker for {subject}",
            f"{subject}rewrote its queue",
            f"{subject}lost messages",
        ]
        fused = service.recall_fused(question, k=3, graph_boost=2.0)
        assert problem in {one.id for one in fused}


@pytest.mark.parametrize(
    ("act", "error", "builtin"),
    [
        (lambda service: service.remember(" "), InvalidInputError, ValueError),
        (lambda service: service.remember(1), WrongTypeError, TypeError),
        (lambda service: service.remember("x" * 2_049), TooLargeError, ValueError),
        (lambda service: service.remember("x", ttl=0), InvalidInputError, ValueError),
        (lambda service: service.recall("x", 1, {"content": 1}), InvalidFilterError, ValueError),
        (lambda service: service.relate(5, 6, "to"), NotFoundError, KeyError),
        (lambda service: service.feedback(5, success=True), NotFoundError, KeyError),
        (
            lambda service: service.retrieve_context_source("ctx://source/5"),
            NotFoundError,
            KeyError,
        ),
        (lambda service: service.compile_context({}), InvalidInputError, ValueError),
        (
            lambda service: service.remember_extracted("edge: a", extractor=OutlineExtractor()),
            InvalidInputError,
            ValueError,
        ),
        (
            lambda service: service.remember_extracted("a", extractor=Fixed(None)),
            ServiceError,
            RuntimeError,
        ),
    ],
)
def test_an_error_is_of_its_kind_and_of_a_builtin_one(
    service: MemoryService, act: Any, error: type[Exception], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin) as caught:
        act(service)
    assert type(caught.value) is error
    assert str(caught.value)


def test_with_room_for_everything_a_compile_tells_what_matters_to_a_question(
    service: MemoryService,
) -> None:
    service.remember("the pump runs at 4 bar")
    service.feedback(memory_id("the pump runs at 4 bar"), success=True)
    audit = service.compile_context(
        {
            "query": "pump pressure",
            "fragments": [{"content": "The pressure is low."}, {"content": "The tide is out."}],
            "token_budget": 10_000_000,
            "memory_scope": {},
            "policy": {"record_events": False, "store_sources": False},
        }
    )
    assert [decision.relevance for decision in audit.decisions] == [0.5, 0.0, 1.0]
    assert "confidence 0.60" in audit.decisions[2].reason
    assert audit.retrieval_handles == ()
    assert service.context_savings().events == 0
    with pytest.raises(NotFoundError):
        service.retrieve_context_source(audit.sources[0].handle)


class Down:
    """A model that quotes what it was asked, and fails."""

    def extract(self, text: str) -> Graph:
        raise ConnectionError(f"could not ask about {text}")


@pytest.mark.parametrize("extractor", [Down(), OutlineExtractor()])
def test_logs_hold_no_texts(
    open_service: OpenService, caplog: pytest.LogCaptureFixture, extractor: Any
) -> None:
    service = open_service(extractor=extractor, config=ServiceConfig(autograph=True))
    with caplog.at_level(logging.DEBUG):
        service.remember("edge: the gate code is 4711")
        service.recall("gate code 4711")
    assert service.memory_status().extraction.autograph_failed == 1
    assert "without its graph" in caplog.text
    assert "4711" not in caplog.text


def test_age_plays_no_part_in_a_recall(open_service: OpenService, clock: Clock) -> None:
    service = open_service()
    old = service.remember("the pump is in the north shed")
    clock.tick(3 * 365 * DAY)
    for number in range(8):
        service.remember(f"the pump number {number} may be in one or another of the sheds")
    assert service.recall("the pump is in the north shed")[0].id == old
