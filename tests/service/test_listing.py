"""Pages of memories, what a status says, and records as JSON."""

import base64
import json
from itertools import chain
from typing import Any

import pytest
from clocks import SECOND, Clock
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import HashingEmbedder, InvalidInputError, StaleCursorError
from plugmem_core.extraction import ExtractedFact, Graph
from plugmem_core.service import DictStore, MemoryService, memory_id, to_json
from service.conftest import OpenService, contents


class Fixed:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def extract(self, text: str) -> Graph:
        return self.graph


def pages(service: MemoryService, **arguments: Any) -> list[list[int]]:
    found, cursor = [], None
    while True:
        page = service.list_memories(cursor, **arguments)
        found.append([one.id for one in page])
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_pages_are_full_and_ascending(service: MemoryService, clock: Clock) -> None:
    texts = [f"memory {n}" for n in range(20)]
    service.remember_many(
        {"fact": text, "metadata": {"odd": n % 2}} for n, text in enumerate(texts)
    )
    service.remember("memory 19", ttl=1)
    clock.tick(2 * SECOND)
    graph = Graph((ExtractedFact("memory 0", ("ada", "bob")),))
    service.remember_extracted("…", extractor=Fixed(graph))
    expected = sorted(memory_id(text) for text in texts[:19])
    assert pages(service, limit=7) == [expected[:7], expected[7:14], expected[14:]]
    even = sorted(memory_id(text) for text in texts[:19:2])
    assert pages(service, limit=5, where={"odd": 0}) == [even[:5], even[5:]]
    assert pages(service, limit=1_000, where={"odd": 7}) == [[]]
    assert len(pages(service, include_internal=True)[0]) == 21


@given(size=st.integers(0, 12), limit=st.integers(1, 13))
def test_every_memory_is_on_one_page(size: int, limit: int) -> None:
    service = MemoryService(DictStore())
    ids = service.remember_many({"fact": f"memory {n}"} for n in range(size))
    found = pages(service, limit=limit)
    assert list(chain(*found)) == sorted(ids)
    assert all(len(page) == limit for page in found[:-1])


def test_what_is_stored_meanwhile_repeats_nothing(service: MemoryService) -> None:
    ids = service.remember_many({"fact": f"memory {n}"} for n in range(10))
    first = service.list_memories(limit=5)
    service.remember_many({"fact": f"other {n}"} for n in range(10))
    service.forget(max(ids))
    rest = service.list_memories(first.next_cursor, limit=50)
    later = [one.id for one in rest]
    assert not {one.id for one in first} & set(later)
    assert later == sorted(later)
    assert set(ids) - {max(ids)} <= {one.id for one in first} | set(later)


def test_more_memories_than_are_read_at_once(service: MemoryService) -> None:
    ids = service.remember_many({"fact": f"memory {n}"} for n in range(600))
    assert list(chain(*pages(service, limit=599))) == sorted(ids)


@pytest.mark.parametrize("cursor", ["", "5", "x" * 50, 5, b"", memory_id("memory 1")])
def test_a_cursor_is_one_that_a_page_gave(service: MemoryService, cursor: Any) -> None:
    with pytest.raises(InvalidInputError):
        service.list_memories(cursor)


@pytest.mark.parametrize("after", ["x", None, [1], 1.5, True, {}])
def test_a_forged_cursor_is_refused(service: MemoryService, after: Any) -> None:
    service.remember_many({"fact": f"memory {n}"} for n in range(2))
    cursor = service.list_memories(limit=1).next_cursor
    assert cursor is not None
    fingerprint, _ = json.loads(base64.urlsafe_b64decode(cursor))
    forged = base64.urlsafe_b64encode(json.dumps([fingerprint, after]).encode()).decode()
    with pytest.raises(InvalidInputError, match="cursor is"):
        service.list_memories(forged)


def test_a_cursor_belongs_to_its_listing(service: MemoryService) -> None:
    service.remember_many({"fact": f"memory {n}"} for n in range(3))
    cursor = service.list_memories(limit=1).next_cursor
    with pytest.raises(StaleCursorError):
        service.list_memories(cursor, where={"a": 1})
    assert len(service.list_memories(cursor, limit=2)) == 2


@pytest.mark.parametrize("limit", [0, -1, 1_001, 1.0, True, "5"])
def test_a_page_holds_from_one_to_a_thousand(service: MemoryService, limit: Any) -> None:
    with pytest.raises(InvalidInputError):
        service.list_memories(limit=limit)


def test_entities_are_listed_on_request_with_their_attributes(service: MemoryService) -> None:
    graph = Graph((ExtractedFact("one", ("ada",)),))
    service.remember_extracted("…", extractor=Fixed(graph))
    listed = {one.content: one for one in service.list_memories(include_internal=True)}
    assert listed["Entity: ada"].is_entity
    assert listed["Entity: ada"].metadata is None
    assert not listed["one"].is_entity
    with pytest.raises(InvalidInputError, match="reserved"):
        service.list_memories(where={"_plugmem_hub": True})


def test_a_status_counts_and_names(open_service: OpenService) -> None:
    service = open_service(HashingEmbedder(8))
    graph = Graph((ExtractedFact("one", ("ada",)),))
    service.remember_extracted("…", extractor=Fixed(graph))
    status = service.memory_status()
    assert (status.facts, status.entities, status.edges) == (1, 1, 2)
    assert status.embedder is not None
    assert (status.embedder.model, status.embedder.dimension) == ("hashing-8", 8)
    assert status.embedder.semantic is False
    assert status.extraction.configured is False
    assert open_service().memory_status().embedder is None


def test_records_become_json_with_ids_as_text_too(service: MemoryService) -> None:
    cause = service.remember("it rained", metadata={"tags": ["a"]})
    service.remember("the river rose", links=[(cause, "because")])
    [found] = to_json(service.recall("rained"))
    assert found["id"] == cause
    assert found["id_str"] == str(cause)
    assert found["metadata"]["tags"] == ["a"]
    done = service.remember_extracted("it rained", extractor=Fixed(Graph((ExtractedFact("hail"),))))
    assert to_json(done)["ids_str"] == [str(memory_id("hail"))]
    evidence = to_json(service.why("river rose"))
    assert evidence["links"][0]["target_str"] == str(cause)
    assert evidence["paths"][0]["links"][0]["source_str"] == str(memory_id("the river rose"))
    for answer in (
        service.entity("x"),
        service.memory_status(),
        service.list_memories(),
        service.recall_fused_dated("rained"),
    ):
        assert json.loads(json.dumps(to_json(answer))) == to_json(answer)


def test_contents_are_those_of_the_page(service: MemoryService) -> None:
    service.remember("one")
    page = service.list_memories()
    assert contents(page) == ["one"]
    assert (len(page), page[0].content) == (1, "one")
