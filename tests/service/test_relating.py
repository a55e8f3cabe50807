"""Edges added and removed, memories forgotten, and feedback kept."""

import threading
from pathlib import Path
from typing import Any

import pytest

from plugmem_core import InvalidInputError, NotFoundError, TooLargeError, WrongTypeError
from plugmem_core.extraction import ExtractedFact, Graph, Relation
from plugmem_core.service import (
    Link,
    MemoryService,
    Unrelated,
    edge_id,
    entity_id,
    memory_id,
)
from service.conftest import contents, everything


class Fixed:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def extract(self, text: str) -> Graph:
        return self.graph


def about(service: MemoryService, text: str, *names: str, relations: Any = ()) -> int:
    graph = Graph((ExtractedFact(text, names),), tuple(relations))
    return service.remember_extracted(text, extractor=Fixed(graph)).ids[0]


def entities(service: MemoryService) -> set[str]:
    page = service.list_memories(include_internal=True)
    return {one.content.removeprefix("Entity: ") for one in page if one.is_entity}


# -- relate and unrelate


def test_an_edge_is_added_once(service: MemoryService) -> None:
    one, other = service.remember("it rained"), service.remember("the river rose")
    added = service.relate(other, one, "because")
    assert added == edge_id(other, one, "because")
    before = everything(service)
    assert service.relate(str(other), f" {one} ", "because") == added
    assert everything(service) == before
    assert service.memory_status().edges == 1


def test_labels_and_directions_tell_edges_apart(service: MemoryService) -> None:
    one, other = service.remember("egg"), service.remember("hen")
    ids = {
        service.relate(one, other, "to"),
        service.relate(one, other, "To"),
        service.relate(other, one, "to"),
    }
    assert len(ids) == service.memory_status().edges == 3
    assert service.unrelate(one, other, "to") == Unrelated(found=True, removed=1)
    assert service.unrelate(one, other, "to") == Unrelated(found=False, removed=0)
    assert service.memory_status().edges == 2


def test_an_edge_that_was_removed_can_be_added_again(service: MemoryService) -> None:
    one, other = service.remember("egg"), service.remember("hen")
    for _ in range(3):
        service.relate(one, other, "to")
        assert contents(service.why("egg").nodes) == ["egg", "hen"]
        assert service.unrelate(one, other, "to").found
        assert contents(service.why("egg").nodes) == ["egg"]


@pytest.mark.parametrize(
    ("label", "error"),
    [
        ("", InvalidInputError),
        (" ", InvalidInputError),
        ("\u2003", InvalidInputError),
        ("a\tb", InvalidInputError),
        ("a\x7f", InvalidInputError),
        ("a\0", InvalidInputError),
        ("a\ud800", InvalidInputError),
        ("x" * 513, TooLargeError),
        (1, WrongTypeError),
    ],
)
def test_a_bad_label_is_refused_before_anything_else(
    service: MemoryService, label: Any, error: type[Exception]
) -> None:
    for verb in (service.relate, service.unrelate):
        with pytest.raises(error, match="relation"):
            verb(5, 5, label)


def test_ends_are_checked_after_the_label_and_the_source_first(service: MemoryService) -> None:
    known = service.remember("egg")
    with pytest.raises(InvalidInputError, match="source and target are both 5"):
        service.relate(5, "5", "to")
    with pytest.raises(InvalidInputError, match="source and target are both 5"):
        service.unrelate(5, "5", "to")
    with pytest.raises(NotFoundError, match="memory 5 does"):
        service.relate(5, 6, "to")
    with pytest.raises(NotFoundError, match="memory 6 does"):
        service.relate(known, 6, "to")
    assert service.unrelate(5, 6, "to") == Unrelated(found=False, removed=0)
    assert service.memory_status().edges == 0


@pytest.mark.parametrize("label", ["x" * 512, "é" * 256, "führt zu 🚀", "'; DROP TABLE--"])
def test_any_printable_label_is_kept_verbatim(service: MemoryService, label: str) -> None:
    one, other = service.remember("egg"), service.remember("hen")
    service.relate(one, other, label)
    assert service.why("egg").links == (Link(one, other, label),)


# -- forget


def test_forgetting_removes_a_memory_its_edges_and_what_was_learned(
    service: MemoryService,
) -> None:
    one, other = service.remember("egg"), service.remember("hen")
    service.relate(one, other, "to")
    service.relate(other, one, "to")
    service.feedback(one, success=True)
    assert service.forget(str(one)) is True
    assert service.forget(one) is False
    assert contents(service.list_memories()) == ["hen"]
    assert service.memory_status().edges == 0
    service.remember("egg")
    assert service.feedback(one, success=False) == 0.45
    assert contents(service.why("egg").nodes) == ["egg"]


def test_forgetting_nothing_is_no_error(service: MemoryService) -> None:
    assert service.forget(5) is False
    with pytest.raises(InvalidInputError):
        service.forget("five")


def test_entities_go_with_the_last_memory_that_is_about_them(service: MemoryService) -> None:
    one = about(service, "Ada wrote a program", "Ada", "Program")
    other = about(service, "Ada met Babbage", "Ada", "Babbage")
    assert entities(service) == {"ada", "program", "babbage"}
    service.forget(one)
    assert entities(service) == {"ada", "babbage"}
    service.forget(other)
    assert everything(service)[0] == []
    assert service.memory_status().edges == 0


def test_an_entity_that_a_memory_points_to_by_hand_stays(service: MemoryService) -> None:
    one = about(service, "Ada wrote a program", "Ada")
    note = service.remember("see the biography")
    service.relate(note, entity_id("ada"), "describes")
    service.forget(one)
    assert entities(service) == {"ada"}


def test_edges_between_entities_keep_none_alive(service: MemoryService) -> None:
    met = [Relation("Ada", "met", "Babbage"), Relation("Babbage", "met", "Ada")]
    one = about(service, "Ada met Babbage", "Ada", "Babbage", relations=met)
    service.forget(one)
    assert entities(service) == set()


def test_an_entity_can_be_forgotten_itself(service: MemoryService) -> None:
    about(service, "Ada wrote a program", "Ada")
    assert service.forget(entity_id("ada"))
    assert not service.entity("ada").found
    assert contents(service.why("program").nodes) == ["Ada wrote a program"]


# -- feedback


def test_feedback_climbs_its_ladder(service: MemoryService) -> None:
    tide = service.remember("the tide is out")
    ladder = [service.feedback(tide, success) for success in [True] * 6 + [False] * 2]
    assert ladder == [0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 0.95, 0.9]
    assert service.recall("tide")[0].confidence == 0.9


def test_feedback_stops_at_nothing(service: MemoryService) -> None:
    tide = service.remember("the tide is out")
    assert [service.feedback(tide, success=False) for _ in range(12)][-3:] == [0.0, 0.0, 0.0]


def test_an_entity_may_get_feedback(service: MemoryService) -> None:
    about(service, "Ada wrote a program", "Ada")
    assert service.feedback(entity_id("Ada"), success=True) == 0.6


@pytest.mark.parametrize("odd", [1, None, "yes"])
def test_an_outcome_is_true_or_false(service: MemoryService, odd: Any) -> None:
    tide = service.remember("the tide is out")
    with pytest.raises(WrongTypeError, match="give True or False"):
        service.feedback(tide, odd)


def test_feedback_for_nothing_is_not_found(service: MemoryService) -> None:
    with pytest.raises(NotFoundError, match="memory 5 does not exist"):
        service.feedback(5, success=True)


def test_no_feedback_is_lost_between_handles(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with MemoryService.open(path) as one, MemoryService.open(path) as other:
        tide = one.remember("the tide is out")

        def fail_ten_times(handle: MemoryService) -> None:
            for _ in range(10):
                handle.feedback(tide, success=False)

        handles = [one, other] * 2
        threads = [threading.Thread(target=fail_ten_times, args=(handle,)) for handle in handles]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.store.learned([tide])[tide] == (0.0, 0, 40)


def test_memories_that_look_like_nodes_are_memories(service: MemoryService) -> None:
    texts = [f"node {memory_id('egg')}", "Entity: ada", "entity 5", "_plugmem_entity_hub"]
    service.remember("egg")
    for text in texts:
        service.remember(text, links=[(memory_id("egg"), "to")])
    assert set(contents(service.list_memories())) == {"egg", *texts}
    assert not service.entity("ada").found
    assert all(service.forget(memory_id(text)) for text in texts)
    assert contents(service.list_memories()) == ["egg"]
