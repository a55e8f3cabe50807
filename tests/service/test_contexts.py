"""A service compiles contexts: of fragments, of its memories, and what is kept of them."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, Clock

from plugmem_core import InvalidInputError, Memory, NotFoundError
from plugmem_core.context import ContextCompiler, ContextLimits, Policy
from plugmem_core.service import EngineStore, MemoryService, memory_id

from .conftest import OpenService

PUMP = "the pump leaked in March"
OIL = "the oil of the pump is changed in spring"


def request(**more: Any) -> dict[str, Any]:
    fragments = [{"content": "The pump stands in the north shed."}]
    return {"query": "pump", "fragments": fragments, "token_budget": 200, **more}


@pytest.fixture
def farm(service: MemoryService) -> MemoryService:
    service.remember(PUMP, metadata={"project": "farm"})
    service.remember(OIL, metadata={"project": "farm"})
    service.remember("the pump of the pool is new", metadata={"project": "pool"})
    return service


def test_memories_of_a_project_join_the_fragments(farm: MemoryService) -> None:
    compiled = farm.compile_context(request(memory_scope={"project": "farm"}))
    assert compiled.content.startswith("The pump stands in the north shed.")
    assert PUMP in compiled.content
    assert OIL in compiled.content
    assert "pool" not in compiled.content
    joined = {source.memory_id for source in compiled.sources} - {None}
    assert joined == {memory_id(PUMP), memory_id(OIL)}


def test_without_a_scope_no_memory_joins(farm: MemoryService) -> None:
    assert farm.compile_context(request()).content == "The pump stands in the north shed."


def test_originals_come_back_by_their_handles_until_they_are_purged(
    farm: MemoryService, clock: Clock
) -> None:
    compiled = farm.compile_context(request(token_budget=1, project="farm"))
    assert compiled.content == ""
    [handle] = [one.handle for one in compiled.retrieval_handles]
    original = "The pump stands in the north shed."
    assert farm.retrieve_context_source(handle).content == original
    clock.tick(2 * DAY)
    assert farm.purge_sources(older_than=timedelta(days=3)) == 0
    assert farm.purge_sources(older_than=timedelta(days=1)) == 1
    with pytest.raises(NotFoundError):
        farm.retrieve_context_source(handle)


def test_savings_are_counted_by_project(farm: MemoryService) -> None:
    farm.compile_context(request(token_budget=1, project="farm"))
    farm.compile_context(request(token_budget=1, project="pool"))
    assert farm.context_savings("farm").events == 1
    assert farm.context_savings().events == 2
    assert farm.purge_savings(project="farm") == 1
    assert farm.context_savings().events == 1


def test_an_explanation_stores_nothing(farm: MemoryService) -> None:
    decision = farm.explain_compilation(request(), "0", 0)
    assert decision.rule_id == "preserve.default"
    assert farm.context_savings().events == 0


def test_a_transcript_is_compiled(farm: MemoryService) -> None:
    asked = {"query": "pump", "token_budget": 100, "transcript": "User: the pump\nAI: leaks"}
    compiled = farm.compile_transcript(asked)
    assert compiled.context.content.split("\n\n") == ["User: the pump", "\nAI: leaks"]
    assert [segment.turn for segment in compiled.segmentation.segments] == [0, 1]


def test_working_contexts_are_saved_listed_loaded_and_deleted(
    farm: MemoryService, clock: Clock
) -> None:
    farm.save_working_context("farm", "monday", {"goal": "Repair the pump"})
    clock.tick(DAY)
    farm.save_working_context("farm", "tuesday", {"goal": "Change the oil"})
    assert [one.session for one in farm.list_working_contexts("farm")] == ["tuesday", "monday"]
    loaded = farm.load_working_context("farm", "monday")
    assert loaded.working is not None
    assert loaded.working.goal == "Repair the pump"
    assert [one.session for one in loaded.other_sessions] == ["tuesday"]
    assert farm.delete_working_context("farm", "monday")
    assert not farm.load_working_context("farm", "monday").found


def test_a_budget_is_suggested(service: MemoryService) -> None:
    assert service.suggest_budget("gpt-4o", 8_000).suggested_budget == 120_000


def test_the_compiler_of_a_service_can_be_chosen(open_service: OpenService) -> None:
    compiler = ContextCompiler(
        policy=Policy(store_sources=False), limits=ContextLimits(fragments=1)
    )
    service = open_service(compiler=compiler)
    compiled = service.compile_context(request(token_budget=1))
    with pytest.raises(NotFoundError):
        service.retrieve_context_source(compiled.retrieval_handles[0].handle)
    with pytest.raises(InvalidInputError):
        service.compile_context(request(fragments=[{"content": "a"}, {"content": "b"}]))


def test_what_a_compile_keeps_goes_with_the_callers_transaction(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        service = MemoryService(EngineStore(memory))
        with suppress(KeyError), memory.transaction():
            service.remember(PUMP)
            compiled = service.compile_context(request(token_budget=1))
            raise KeyError
        handle = compiled.retrieval_handles[0].handle
        assert (service.context_savings().events, service.memory_status().facts) == (0, 0)
        with pytest.raises(NotFoundError):
            service.retrieve_context_source(handle)
        with memory.transaction():
            service.remember(PUMP)
            service.compile_context(request(token_budget=1))
        assert (service.context_savings().events, service.memory_status().facts) == (1, 1)
        assert service.retrieve_context_source(handle).content.startswith("The pump stands")


async def test_the_twins_do_the_same(service: MemoryService) -> None:
    await service.aremember(PUMP)
    asked = request(memory_scope={}, token_budget=300)
    assert await service.acompile_context(asked) == service.compile_context(asked)
    await service.asave_working_context("farm", "monday", {"goal": "Repair the pump"})
    assert (await service.aload_working_context("farm", "monday")).found
    assert (await service.acontext_savings()).events == 2


def test_services_of_one_file_have_contexts_of_their_own(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        one, other = (MemoryService(EngineStore(memory, (name,))) for name in ("a", "b"))
        one.save_working_context("farm", "monday", {"goal": "Repair the pump"})
        compiled = one.compile_context(request(token_budget=1))
        assert not other.load_working_context("farm", "monday").found
        with pytest.raises(NotFoundError):
            other.retrieve_context_source(compiled.retrieval_handles[0].handle)
    with MemoryService.open(tmp_path / "m", namespace=("a",)) as again:
        assert again.load_working_context("farm", "monday").found
