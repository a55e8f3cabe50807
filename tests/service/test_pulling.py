"""Memories that join a context: those of its project, with what speaks for each."""

import pytest

from plugmem_core.context import ContextDesk, DictValues, MemoryScope
from plugmem_core.service import MemoryService, ServiceConfig, memory_id
from service.conftest import Compass, OpenService, contents


@pytest.fixture
def pumps(open_service: OpenService) -> MemoryService:
    """One memory that answers, one that an edge leads to, and one of another project."""
    embedder = Compass({"the pump leaks": 0.8, "the other pump leaks": 0.9})
    service = open_service(embedder, config=ServiceConfig(mode="vector"))
    ours = {"project": "pump"}
    seal = service.remember("the seal is worn", metadata=ours)
    service.remember("the pump leaks", metadata=ours, links=[(seal, "because")])
    service.remember("the other pump leaks", metadata={"project": "other"})
    return service


def test_what_is_pulled_tells_why(pumps: MemoryService) -> None:
    pumps.feedback(memory_id("the seal is worn"), success=True)
    leak, seal = pumps.pull("leaks?", MemoryScope(project="pump", graph_boost=0.5))
    assert (leak.memory_id, leak.content) == (memory_id("the pump leaks"), "the pump leaks")
    assert (leak.score, leak.graph, leak.confidence) == (1.0, 0.0, 0.5)
    assert leak.vector == pytest.approx(0.8, abs=1e-6)
    assert (seal.score, seal.vector, seal.graph, seal.confidence) == (0.5, 0.0, 1.0, 0.6)
    assert seal.metadata["project"] == "pump"


def test_a_scope_says_how_many_and_how_far(pumps: MemoryService) -> None:
    assert contents(pumps.pull("leaks?", MemoryScope(project="pump", hops=0))) == ["the pump leaks"]
    assert len(pumps.pull("leaks?", MemoryScope(k=1))) == 1
    assert len(pumps.pull("leaks?", MemoryScope())) == 2
    assert pumps.pull("leaks?", MemoryScope(project="none")) == []
    assert pumps.pull(" ", MemoryScope()) == []


def test_a_desk_compiles_them_into_its_context(pumps: MemoryService) -> None:
    desk = ContextDesk(DictValues(), pull=pumps.pull)
    request = {
        "query": "why does it leak?",
        "fragments": [{"content": "Be brief."}],
        "token_budget": 100,
        "memory_scope": {"project": "pump"},
    }
    compiled = desk.compile_context(request)
    assert compiled.content == "Be brief.\n\nthe pump leaks\n\nthe seal is worn"
    assert [decision.memory_id for decision in compiled.decisions] == [
        None,
        memory_id("the pump leaks"),
        memory_id("the seal is worn"),
    ]
