"""Asking extractors that others wrote, and what becomes of their faults."""

import asyncio
import threading
from typing import Any

import pytest

from plugmem_core import InvalidInputError, ServiceError
from plugmem_core.extraction import (
    AsyncExtractor,
    Attribute,
    ExtractedFact,
    Extractor,
    Graph,
    OutlineExtractor,
    Relation,
    aextract_graph,
    extract_graph,
)

FOUND = Graph(
    (ExtractedFact("Tom has a sister, Lea", ("lea", "tom")),),
    (Relation("Tom", "sister", "Lea"), Relation("Tom", "lives in", "Rome")),
    (Attribute("Tom", "age", 5),),
)
ORIENTED = FOUND._replace(
    relations=(Relation("Lea", "sister", "Tom"), Relation("Tom", "lives in", "Rome"))
)


class Saying:
    """Finds the same in any text."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def extract(self, text: str) -> Any:
        if isinstance(self.found, BaseException):
            raise self.found
        return self.found


class SayingAsync(Saying):
    async def aextract(self, text: str) -> Any:
        await asyncio.sleep(0)
        return self.extract(text)

    def extract(self, text: str) -> Any:
        assert threading.current_thread() is threading.main_thread()
        return super().extract(text)


class Wrapped:
    """Another extractor behind a pointer of its own."""

    def __init__(self, inner: Extractor) -> None:
        self._inner = inner

    def extract(self, text: str) -> Graph:
        return self._inner.extract(text)


@pytest.mark.parametrize("extractor", [Saying(FOUND), Wrapped(Wrapped(Saying(FOUND)))])
async def test_all_that_is_found_comes_through_with_kinship_the_right_way_round(
    extractor: Extractor,
) -> None:
    assert extract_graph(extractor, "Tom has a sister, Lea.") == ORIENTED
    assert await aextract_graph(extractor, "Tom has a sister, Lea.") == ORIENTED


async def test_a_coroutine_of_the_extractor_is_awaited() -> None:
    assert isinstance(SayingAsync(FOUND), AsyncExtractor)
    assert not isinstance(Saying(FOUND), AsyncExtractor)
    assert await aextract_graph(SayingAsync(FOUND), "Tom has a sister, Lea.") == ORIENTED


async def test_an_extractor_without_one_does_not_block_the_event_loop() -> None:
    reached = threading.Event()

    class Waiting:
        def extract(self, text: str) -> Graph:
            assert reached.wait(10)
            return Graph()

    async def reach() -> None:
        reached.set()

    graph, _ = await asyncio.gather(aextract_graph(Waiting(), "a"), reach())
    assert graph == Graph()


async def test_a_refusal_of_the_passage_is_the_callers() -> None:
    with pytest.raises(InvalidInputError, match="line 1"):
        extract_graph(OutlineExtractor(), "edge: a")
    with pytest.raises(InvalidInputError, match="line 1"):
        await aextract_graph(OutlineExtractor(), "edge: a")


@pytest.mark.parametrize("fault", [ConnectionError("down"), ValueError("no"), KeyError("x")])
async def test_any_other_failure_is_the_services_with_its_cause(fault: Exception) -> None:
    with pytest.raises(ServiceError, match=f"Saying failed with {type(fault).__name__}") as caught:
        extract_graph(Saying(fault), "a")
    assert caught.value.__cause__ is fault
    with pytest.raises(ServiceError, match=f"SayingAsync failed with {type(fault).__name__}"):
        await aextract_graph(SayingAsync(fault), "a")


@pytest.mark.timeout(20)
async def test_an_extractor_that_runs_out_of_answers_has_failed() -> None:
    with pytest.raises(ServiceError, match="Saying failed with StopIteration"):
        extract_graph(Saying(StopIteration()), "a")
    with pytest.raises(ServiceError, match="Saying failed with RuntimeError"):
        await aextract_graph(Saying(StopIteration()), "a")
    with pytest.raises(ServiceError, match="SayingAsync failed with RuntimeError"):
        await aextract_graph(SayingAsync(StopIteration()), "a")


def test_an_interrupt_is_no_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        extract_graph(Saying(KeyboardInterrupt()), "a")


def test_plain_lists_and_tuples_of_the_right_shape_will_do() -> None:
    found = ([("a", ["b"])], [("a", "b", "c")], [("a", "b", [1])])
    assert extract_graph(Saying(found), "a") == Graph(
        (ExtractedFact("a", ("b",)),), (Relation("a", "b", "c"),), (Attribute("a", "b", [1]),)
    )


@pytest.mark.parametrize(
    "found",
    [
        None,
        5,
        "text",
        [],
        {},
        {"facts": [], "relations": [], "attributes": []},
        [ExtractedFact("a")],
        ([ExtractedFact("a")], []),
        Graph(facts=("a",)),
        Graph(facts=(ExtractedFact(5),)),
        Graph(facts=(ExtractedFact("a", "bc"),)),
        Graph(relations=(("a", "b"),)),
        Graph(relations=(Relation("a", None, "c"),)),
        Graph(attributes=(Attribute("a", "b", object()),)),
    ],
)
def test_what_is_no_graph_is_a_fault_of_the_extractor(found: Any) -> None:
    with pytest.raises(ServiceError, match=r"Saying returned .* an extractor returns a Graph"):
        extract_graph(Saying(found), "a")
