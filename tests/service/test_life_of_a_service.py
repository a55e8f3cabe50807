"""Opening and closing a service, its limits, its neighbours in the file, and its async twins."""

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest
from clocks import SECOND, Clock

from plugmem_core import (
    ClosedError,
    ConfigError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
    ReadOnlyError,
    VectorSpaceError,
    WrongTypeError,
)
from plugmem_core.context import MemoryScope
from plugmem_core.extraction import ExtractedFact, Graph
from plugmem_core.service import (
    DeterministicReranker,
    DictStore,
    EngineStore,
    MemoryService,
    MemoryStore,
    ServiceConfig,
    entity_id,
    memory_id,
)
from service.conftest import OpenService, contents, everything

ADA = Graph((ExtractedFact("Ada wrote a program", ("Ada",)),))


class Fixed:
    def extract(self, text: str) -> Graph:
        return ADA


def test_everything_survives_closing(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "m"
    with MemoryService.open(path, embedder=HashingEmbedder(16), clock=clock) as service:
        rain = service.remember("it rained", metadata={"a": [1, {"b": None}]})
        service.remember("the river rose", links=[(rain, "because")], ttl=60)
        service.remember_extracted("…", extractor=Fixed())
        service.feedback(rain, success=True)
        before = everything(service)
    with MemoryService.open(path, embedder=HashingEmbedder(16), clock=clock) as service:
        assert everything(service) == before
        assert service.feedback(rain, success=True) == 0.7
        assert contents(service.recall("rained", mode="vector"))[0] == "it rained"
        clock.tick(60 * SECOND)
        assert "the river rose" not in contents(service.recall("river"))
    with MemoryService.open(path, embedder=HashingEmbedder(16), clock=clock) as service:
        assert "the river rose" not in contents(service.recall("river"))


def test_a_closed_service_refuses_and_a_given_store_stays_open(tmp_path: Path) -> None:
    owner = MemoryService.open(tmp_path / "m")
    owner.close()
    owner.close()
    with pytest.raises(ClosedError):
        owner.recall("tea")
    memory = Memory.open(":memory:")
    with MemoryService(EngineStore(memory)) as guest:
        guest.remember("tea")
    assert memory.stats().facts == 1
    with MemoryService(DictStore()) as simple:
        simple.remember("tea")
    assert contents(simple.recall("tea")) == ["tea"]


def test_a_reader_answers_and_refuses_to_write(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with MemoryService.open(path) as service:
        service.remember("tea")
        with MemoryService.open(path, read_only=True) as reader:
            assert contents(reader.recall("tea")) == ["tea"]
            with pytest.raises(ReadOnlyError):
                reader.remember("coffee")
            with pytest.raises(ReadOnlyError):
                reader.forget(memory_id("tea"))


def test_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with MemoryService.open(path, embedder=HashingEmbedder(16)) as service:
        service.remember("tea")
    with pytest.raises(VectorSpaceError):
        MemoryService.open(path, embedder=HashingEmbedder(32))


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    with MemoryService.open(tmp_path / "m", config=ServiceConfig(max_fact=8_192)) as service:
        service.remember("it rained")
        before = everything(service)
        store = service.store

        def change_my_mind() -> None:
            with store.transaction() as writes:
                writes.delete([memory_id("it rained")])
                raise RuntimeError("changed my mind")

        with pytest.raises(RuntimeError, match="changed my mind"):
            change_my_mind()
        assert everything(service) == before


def test_a_memory_with_less_room_than_the_service_refuses_without_a_trace() -> None:
    memory = Memory.open(":memory:", config=MemoryConfig(max_metadata=100))
    service = MemoryService(EngineStore(memory))
    rain = service.remember("it rained")
    with pytest.raises(InvalidInputError):
        service.remember("tea", metadata={"a": "x" * 200}, links=[(rain, "l")])
    assert contents(service.list_memories()) == ["it rained"]
    assert service.memory_status().edges == 0


# -- neighbours in one file


@pytest.mark.parametrize("other", [("service", "below"), (), ("other",), ("services",)])
def test_services_in_different_namespaces_know_nothing_of_each_other(
    other: tuple[str, ...],
) -> None:
    memory = Memory.open(":memory:", embedder=HashingEmbedder(16))
    one = MemoryService(EngineStore(memory))
    two = MemoryService(EngineStore(memory, other))
    for service, tenant in ((one, "one"), (two, "two")):
        rain = service.remember(f"it rained on {tenant}")
        service.remember("the river rose", metadata={"of": tenant}, links=[(rain, "because")])
        service.remember_extracted("…", extractor=Fixed())
    two.feedback(memory_id("the river rose"), success=True)
    two.relate(entity_id("ada"), memory_id("the river rose"), "saw")
    for service, tenant, edges in ((one, "one", 3), (two, "two", 4)):
        status = service.memory_status()
        assert (status.facts, status.entities, status.edges) == (3, 1, edges)
        expected = {f"it rained on {tenant}", "the river rose", "Ada wrote a program"}
        assert set(contents(service.list_memories())) == expected
        for mode in ("fused", "vector"):
            found = service.recall("it rained, the river rose, Ada", mode=mode)
            assert set(contents(found)) == expected
            assert {one.metadata.get("of") for one in found} == {None, tenant}
        assert contents(service.why("river rose").nodes)[1:] == [f"it rained on {tenant}"]
    assert one.recall("river")[0].confidence == 0.5
    two.forget(memory_id("the river rose"))
    assert one.memory_status().facts == 3


def test_facts_of_others_in_the_namespace_are_no_memories() -> None:
    memory = Memory.open(":memory:")
    service = MemoryService(EngineStore(memory))
    rain = service.remember("it rained")
    scope = {"namespace": ("service",)}
    memory.remember("rained elsewhere", entity=f"node {rain}", **scope)
    memory.remember("rained keyed", key="00000000000000000005", **scope)
    memory.remember("rained oddly", key="a", tags=["memory"], **scope)
    memory.link(f"node {rain}", "to", "node 5", **scope)
    memory.link(f"node {rain}", "to", "elsewhere", **scope)
    assert contents(service.recall("rained")) == ["it rained"]
    assert contents(service.list_memories(include_internal=True)) == ["it rained"]
    assert contents(service.why("rained").nodes) == ["it rained"]
    assert service.memory_status().facts == 1


def test_the_history_of_a_memory_is_in_the_file() -> None:
    memory = Memory.open(":memory:")
    service = MemoryService(EngineStore(memory))
    service.remember("tea", metadata={"a": 1})
    service.remember("tea", metadata={"a": 2})
    [fact] = memory.recall("tea", namespace=("service",)).facts
    assert [one.metadata["a"] for one in memory.history(fact.id)] == [1, 2]
    before = memory.stats().facts
    service.feedback(memory_id("tea"), success=True)
    assert memory.stats().facts == before
    assert memory.verify().ok


# -- configuration and construction


@pytest.mark.parametrize(
    "knobs",
    [
        {"mode": "words"},
        {"max_hop": 1},
        {"hops": -1},
        {"path_decay": 0},
        {"autograph": 1},
        {"default_ttl": -1},
        {"default_ttl": float("inf")},
        {"max_fact": 0},
        {"graph_boost": float("nan")},
    ],
)
def test_a_configuration_out_of_range_is_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ServiceConfig(**knobs)


def test_a_configuration_is_frozen_and_can_be_varied() -> None:
    config = ServiceConfig(mode="vector")
    assert config.replace(hops=3) == ServiceConfig(mode="vector", hops=3)
    with pytest.raises(ConfigError):
        config.replace(hops="3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "store is None"),
        ((Memory,), "give an EngineStore, a DictStore or another"),
    ],
)
def test_a_service_needs_a_store(arguments: Any, message: str) -> None:
    with pytest.raises(WrongTypeError, match=message):
        MemoryService(*arguments)


def test_parts_of_another_type_are_refused() -> None:
    odd: Any
    for odd in ({"extractor": "outline"}, {"config": {}}):
        with pytest.raises(WrongTypeError):
            MemoryService(DictStore(), **odd)
        with pytest.raises(WrongTypeError):
            MemoryService.open(":memory:", **odd)
    odd = "memory.db"
    with pytest.raises(WrongTypeError, match="give a Memory"):
        EngineStore(odd)


def test_both_stores_keep_the_protocol() -> None:
    assert isinstance(DictStore(), MemoryStore)
    assert isinstance(EngineStore(Memory.open(":memory:")), MemoryStore)


# -- async twins

VERBS = [
    "remember", "remember_many", "remember_extracted", "recall", "recall_where", "recall_fused",
    "recall_fused_dated", "recall_fused_reranked", "relate", "unrelate", "forget", "feedback",
    "why", "entity", "list_memories", "memory_status", "open", "close", "pull",
]  # fmt: skip
OF_CONTEXTS = [
    "compile_context", "compile_transcript", "explain_compilation", "retrieve_context_source",
    "context_savings", "suggest_budget", "save_working_context", "load_working_context",
    "list_working_contexts", "delete_working_context", "purge_sources", "purge_savings",
]  # fmt: skip


def test_nothing_public_is_without_a_twin() -> None:
    public = {name for name, _ in inspect.getmembers(MemoryService, callable) if name[0] != "_"}
    verbs = [*VERBS, *OF_CONTEXTS]
    assert public == {*verbs, *(f"a{verb}" for verb in verbs)}


@pytest.mark.parametrize("verb", [*VERBS, *OF_CONTEXTS])
def test_a_twin_is_a_coroutine_function_with_the_same_parameters(verb: str) -> None:
    twin = getattr(MemoryService, f"a{verb}")
    assert inspect.iscoroutinefunction(twin)
    assert (
        inspect.signature(twin).parameters
        == inspect.signature(getattr(MemoryService, verb)).parameters
    )
    assert twin.__doc__


async def test_twins_answer_as_the_verbs_do(open_service: OpenService) -> None:
    config = ServiceConfig(autograph=True)
    one, other = (
        open_service(HashingEmbedder(16), extractor=Fixed(), config=config) for _ in range(2)
    )
    tea, program = memory_id("green tea"), memory_id("Ada wrote a program")
    script: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("remember", ("green tea",), {"metadata": {"a": 1}}),
        ("remember_many", ([{"fact": "black tea"}, {"fact": "coffee"}],), {}),
        ("remember_extracted", ("…",), {"metadata": {"a": 2}}),
        ("relate", (tea, program, "to"), {}),
        ("feedback", (tea, True), {}),
        ("recall", ("tea",), {"mode": "vector"}),
        ("recall_where", ("tea", [("a", "eq", 1)]), {}),
        ("recall_fused", ("tea",), {"hops": 3}),
        ("recall_fused_dated", ("tea",), {}),
        ("recall_fused_reranked", ("tea", DeterministicReranker()), {}),
        ("why", ("tea",), {}),
        ("entity", ("ada",), {}),
        ("unrelate", (tea, program, "to"), {}),
        ("forget", (tea,), {}),
        ("pull", ("tea", MemoryScope(k=3)), {}),
        ("list_memories", (), {"include_internal": True}),
        ("memory_status", (), {}),
        ("close", (), {}),
    ]
    assert {verb for verb, _, _ in script} == {*VERBS} - {"open"}
    for verb, args, options in script:
        expected = getattr(one, verb)(*args, **options)
        assert await getattr(other, f"a{verb}")(*args, **options) == expected, verb
    with pytest.raises((NotFoundError, ClosedError)):
        await other.afeedback(tea, success=True)


async def test_an_async_context_closes_the_service(tmp_path: Path) -> None:
    async with await MemoryService.aopen(tmp_path / "m") as service:
        await service.aremember("tea")
    with pytest.raises(ClosedError):
        await service.arecall("tea")


async def test_an_async_extractor_is_awaited_on_the_loop(open_service: OpenService) -> None:
    threads: list[threading.Thread] = []

    class Waiting:
        def extract(self, text: str) -> Graph:
            raise AssertionError("the coroutine is there")

        async def aextract(self, text: str) -> Graph:
            await asyncio.sleep(0)
            threads.append(threading.current_thread())
            return ADA

    service = open_service(extractor=Waiting(), config=ServiceConfig(autograph=True))
    await service.aremember("one")
    await service.aremember_many([{"fact": "two"}])
    await service.aremember_extracted("three")
    assert threads == [threading.current_thread()] * 3
    assert service.memory_status().extraction.autograph_failed == 0
    assert service.entity("ada").found


def test_threads_may_share_a_service(open_service: OpenService) -> None:
    service = open_service()

    def remember(start: int) -> None:
        for n in range(start, start + 10):
            service.remember(f"memory {n}")
            service.feedback(memory_id(f"memory {n}"), success=True)

    threads = [threading.Thread(target=remember, args=(start,)) for start in (0, 5, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(service.list_memories()) == 20
    known = service.store.learned(memory_id(f"memory {n}") for n in range(20)).values()
    assert sum(one.successes for one in known) == 30


def test_facts_of_others_with_the_key_of_a_memory_stay(memory: Memory) -> None:
    service = MemoryService(EngineStore(memory))
    theirs = {f"{one:020d}": f"theirs {one}" for one in (7, memory_id("hello"))}
    for key, text in theirs.items():
        memory.remember(text, key=key, namespace=("service",))
    assert not service.forget(7)
    with pytest.raises(InvalidInputError, match="belongs to a fact that no service stored"):
        service.remember("hello")
    with pytest.raises(InvalidInputError, match="belongs to a fact that no service stored"):
        service.remember_many([{"fact": "one more"}, {"fact": "hello"}])
    facts = memory.list_facts(namespace=("service",))
    assert {fact.key: fact.text for fact in facts} == theirs
