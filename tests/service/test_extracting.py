"""Memories, entities and relations out of a passage, and graphs that `remember` builds itself."""

from typing import Any

import pytest
from clocks import SECOND, Clock

from plugmem_core import InvalidInputError, ServiceError, TooLargeError, WrongTypeError
from plugmem_core.extraction import (
    Attribute,
    ExtractedFact,
    Graph,
    OutlineExtractor,
    Relation,
)
from plugmem_core.service import (
    DATE_KEY,
    EntityRelation,
    MemoryService,
    ServiceConfig,
    entity_id,
    memory_id,
)
from service.conftest import OpenService, contents, everything


class Fixed:
    """An extractor that finds the same in every text, or fails."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def extract(self, text: str) -> Any:
        if isinstance(self.found, Exception):
            raise type(self.found)(*self.found.args)  # anew: a kept one keeps its frames
        return self.found


ADA = Graph(
    (
        ExtractedFact("Ada wrote a program", ("Ada", "Program")),
        ExtractedFact("Babbage built an engine", ("Babbage", "Engine")),
    ),
    (Relation("Ada", "worked with", "Babbage"),),
    (Attribute("Ada", "born", 1815), Attribute("ada", "titles", ["Countess"])),
)


def names(service: MemoryService) -> list[str]:
    page = service.list_memories(include_internal=True)
    return sorted(one.content for one in page if one.is_entity)


def test_a_passage_becomes_memories_entities_and_relations(service: MemoryService) -> None:
    done = service.remember_extracted("…", metadata={"source": "book"}, extractor=Fixed(ADA))
    assert done.ids == (memory_id("Ada wrote a program"), memory_id("Babbage built an engine"))
    assert (done.skipped_over_cap, done.dropped) == (0, 0)
    [found] = service.recall("program")
    assert found.metadata == {"source": "book", DATE_KEY: 20240501}
    assert names(service) == [f"Entity: {n}" for n in ("ada", "babbage", "engine", "program")]
    ada = service.entity(" ADA ")
    assert (ada.found, ada.id, ada.name) == (True, entity_id("ada"), "ada")
    assert ada.attributes == {"born": 1815, "titles": ["Countess"]}
    babbage = EntityRelation("worked with", entity_id("babbage"), "Entity: babbage")
    assert (ada.relations, ada.relations_in) == ((babbage,), ())
    back = service.entity("babbage")
    assert back.relations_in == (EntityRelation("worked with", ada.id, "Entity: ada"),)
    assert contents(service.why("wrote program", 1).nodes) == [
        "Ada wrote a program",
        "Entity: ada",
        "Entity: program",
    ]


def test_the_same_passage_again_adds_nothing(service: MemoryService) -> None:
    service.remember_extracted("…", extractor=Fixed(ADA))
    before = everything(service)
    service.remember_extracted("…", extractor=Fixed(ADA))
    assert everything(service) == before


def test_facts_about_one_topic_share_its_entity(service: MemoryService) -> None:
    facts = (ExtractedFact("one", ("Ada", " ada ", "ADA")), ExtractedFact("two", ("ada",)))
    service.remember_extracted("…", extractor=Fixed(Graph(facts)))
    assert names(service) == ["Entity: ada"]
    assert service.memory_status().edges == 4


def test_attributes_are_merged_and_survive_a_later_mention(service: MemoryService) -> None:
    service.remember_extracted("…", extractor=Fixed(ADA))
    more = Graph((ExtractedFact("three", ("ada",)),), (), (Attribute("ada", "born", None),))
    service.remember_extracted("…", extractor=Fixed(more))
    assert service.entity("ada").attributes == {"born": None, "titles": ["Countess"]}


def test_what_breaks_a_rule_is_left_out_and_counted(service: MemoryService) -> None:
    graph = Graph(
        (
            ExtractedFact("  ", ("blank",)),
            ExtractedFact("x" * 2_049, ("long",)),
            ExtractedFact("ok", ("!?", "", "a\0b", "n" * 3_000, "fine")),
        ),
        (
            Relation("a", " ", "b"),
            Relation("a", "x\n", "b"),
            Relation("", "to", "b"),
            Relation("c", "to", " "),
            Relation("self", "is", "Self"),
            Relation("?!", "to", "fine"),
        ),
        (
            Attribute("fine", "content", 1),
            Attribute("fine", "_plugmem_x", 1),
            Attribute("fine", " ", 1),
            Attribute(" ", "key", 1),
            Attribute("fine", "key", 1),
            Attribute("fine", "key", "last"),
        ),
    )
    done = service.remember_extracted("…", extractor=Fixed(graph))
    assert contents(service.list_memories()) == ["ok"]
    assert (done.skipped_over_cap, done.dropped) == (1, 4 + 4 + 4)
    assert names(service) == ["Entity: ?!", "Entity: fine", "Entity: self"]
    assert service.entity("self").relations == ()
    assert service.entity("fine").attributes == {"key": "last"}


def test_entities_are_told_apart_by_every_letter(service: MemoryService) -> None:
    facts = tuple(
        ExtractedFact(f"fact {n}", (name,))
        for n, name in enumerate(["c", "C#", "C++", "node 5", "memory 5", "Å", "A", "日本"])
    )
    service.remember_extracted("…", extractor=Fixed(Graph(facts)))
    assert len(names(service)) == 8
    assert service.memory_status().edges == 16
    assert contents(service.why("fact 1", 2).nodes) == ["fact 1", "Entity: c#"]


def test_an_attribute_group_over_the_limit_refuses_the_passage(
    open_service: OpenService,
) -> None:
    service = open_service(config=ServiceConfig(max_metadata=100))
    big = Graph((ExtractedFact("one"),), (), (Attribute("ada", "text", "x" * 200),))
    with pytest.raises(TooLargeError):
        service.remember_extracted("…", extractor=Fixed(big))
    assert everything(service)[0] == []


@pytest.mark.parametrize(
    ("found", "error"),
    [
        (ConnectionError("down"), ServiceError),
        ("a text", ServiceError),
        (None, ServiceError),
        (Graph((ExtractedFact("a\0b"),)), InvalidInputError),
    ],
)
def test_a_failing_extractor_stores_nothing(
    service: MemoryService, found: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        service.remember_extracted("Ada", extractor=Fixed(found))
    assert everything(service)[0] == []


def test_rules_of_a_passage_are_checked_before_the_extractor_is_asked(
    service: MemoryService,
) -> None:
    dead = Fixed(AssertionError("was asked"))
    for text, error in ((" ", InvalidInputError), ("x" * 1_048_577, TooLargeError)):
        with pytest.raises(error, match="text"):
            service.remember_extracted(text, extractor=dead)
    with pytest.raises(InvalidInputError, match="reserved"):
        service.remember_extracted("Ada", metadata={"content": 1}, extractor=dead)
    with pytest.raises(InvalidInputError, match="there is no extractor"):
        service.remember_extracted("Ada")
    odd: Any = "outline"
    with pytest.raises(WrongTypeError, match="an object with extract"):
        service.remember_extracted("Ada", extractor=odd)


def test_a_malformed_outline_is_the_callers_mistake(service: MemoryService) -> None:
    with pytest.raises(InvalidInputError):
        service.remember_extracted("fine | topic\nedge: a | b", extractor=OutlineExtractor())
    assert everything(service)[0] == []


def test_kinship_points_from_its_bearer(service: MemoryService) -> None:
    text = "Tom has a sister, Lea | Tom, Lea\nedge: Tom | sister | Lea"
    service.remember_extracted(text, extractor=OutlineExtractor())
    assert contents(service.entity("lea").relations) == ["Entity: tom"]
    assert service.entity("tom").relations == ()


@pytest.mark.parametrize(
    "graph",
    [
        Graph((ExtractedFact("good"),), (), (Attribute("t", "k", "x\0"),)),
        Graph((ExtractedFact("good"),), (), (Attribute("t", "k", "\ud800"),)),
        Graph((ExtractedFact("good"),), (), (Attribute("t", "_plugmem_date", 20240501),)),
    ],
)
def test_an_attribute_that_cannot_be_stored_costs_itself_alone(
    service: MemoryService, graph: Graph
) -> None:
    done = service.remember_extracted("a passage", extractor=Fixed(graph))
    assert (len(done.ids), done.skipped_over_cap, done.dropped) == (1, 0, 1)
    assert service.entity("t").attributes == {}


# -- autograph

AUTOGRAPH = ServiceConfig(autograph=True)


def test_remember_builds_the_graph_of_its_memory_when_told_to(open_service: OpenService) -> None:
    service = open_service(extractor=Fixed(ADA), config=AUTOGRAPH)
    service.remember("  Ada and Babbage worked on an engine ")
    assert contents(service.list_memories()) == ["Ada and Babbage worked on an engine"]
    assert set(contents(service.why("engine", 1).nodes)) == {
        "Ada and Babbage worked on an engine",
        "Entity: ada",
        "Entity: program",
        "Entity: babbage",
        "Entity: engine",
    }
    assert contents(service.entity("ada").relations) == ["Entity: babbage"]
    service.remember_many([{"fact": "the engine stopped"}])
    assert service.memory_status().edges == 2 * 4 * 2 + 1


def test_an_extractor_alone_is_not_asked(open_service: OpenService) -> None:
    service = open_service(extractor=Fixed(AssertionError("was asked")))
    service.remember("Ada")
    extraction = service.memory_status().extraction
    assert (extraction.configured, extraction.autograph_active) == (True, False)


@pytest.mark.parametrize("found", [ConnectionError("down"), "a text", InvalidInputError("no")])
def test_a_failed_graph_never_costs_the_memory_and_is_counted(
    open_service: OpenService, found: Any
) -> None:
    service = open_service(extractor=Fixed(found), config=AUTOGRAPH)
    tea = service.remember("Mara likes tea", metadata={"a": 1})
    assert [one.id for one in service.recall("tea")] == [tea]
    assert service.memory_status().extraction.autograph_failed == 1


def test_a_graph_that_cannot_be_stored_costs_nothing_either(open_service: OpenService) -> None:
    config = ServiceConfig(autograph=True, max_metadata=100)
    big = Graph((), (), (Attribute("ada", "text", "x" * 200),))
    service = open_service(extractor=Fixed(big), config=config)
    service.remember("Ada")
    assert contents(service.list_memories(include_internal=True)) == ["Ada"]
    assert service.memory_status().extraction.autograph_failed == 1


def test_what_autograph_leaves_out_is_counted(open_service: OpenService) -> None:
    graph = Graph((ExtractedFact("x", ("!", "ok")),), (Relation("a", "", "b"),))
    service = open_service(extractor=Fixed(graph), config=AUTOGRAPH)
    service.remember("Ada")
    extraction = service.memory_status().extraction
    assert (extraction.autograph_dropped, extraction.autograph_failed) == (2, 0)


def test_a_bad_call_asks_no_extractor(open_service: OpenService) -> None:
    service = open_service(extractor=Fixed(AssertionError("was asked")), config=AUTOGRAPH)
    with pytest.raises(InvalidInputError):
        service.remember(" ")
    assert service.memory_status().extraction.autograph_failed == 0


def test_extracting_does_not_extract_twice(open_service: OpenService) -> None:
    asked: list[str] = []

    class Counting:
        def extract(self, text: str) -> Graph:
            asked.append(text)
            return Graph((ExtractedFact("one"),))

    service = open_service(extractor=Counting(), config=AUTOGRAPH)
    service.remember_extracted("passage")
    assert asked == ["passage"]


# -- profiles


@pytest.mark.parametrize("name", ["", " ", "Nobody", "\t"])
def test_an_unknown_entity_is_not_found_and_its_name_is_told(
    service: MemoryService, name: str
) -> None:
    profile = service.entity(name)
    assert (profile.found, profile.id, profile.name) == (False, 0, name.strip().lower())
    assert (profile.attributes, profile.relations, profile.relations_in) == ({}, (), ())


def test_a_memory_is_no_entity_whatever_its_metadata_says(service: MemoryService) -> None:
    service.remember("Entity: ada", metadata={"kind": "entity", "is_entity": True})
    assert not service.entity("ada").found
    assert contents(service.recall("ada")) == ["Entity: ada"]


def test_a_profile_is_cut_in_each_direction_and_says_so(open_service: OpenService) -> None:
    service = open_service(config=ServiceConfig(max_relations=2))
    out = tuple(Relation("ada", "knows", name) for name in ("a", "b", "c"))
    into = tuple(Relation(name, "knows", "ada") for name in ("a", "b"))
    facts = tuple(ExtractedFact(f"fact {n}", ("ada",)) for n in range(5))
    service.remember_extracted("…", extractor=Fixed(Graph(facts, out + into)))
    ada = service.entity("ada")
    assert contents(ada.relations) == ["Entity: a", "Entity: b"]
    assert (ada.relations_truncated, ada.relations_in_truncated) == (True, False)
    assert len(ada.relations_in) == 2


def test_so_many_edges_are_looked_at_for_a_profile(open_service: OpenService) -> None:
    service = open_service(config=ServiceConfig(max_scanned=3))
    facts = tuple(ExtractedFact(f"fact {n}", ("ada",)) for n in range(3))
    graph = Graph(facts, (Relation("ada", "knows", "b"),))
    service.remember_extracted("…", extractor=Fixed(graph))
    ada = service.entity("ada")
    assert (ada.relations, ada.relations_truncated) == ((), True)


def test_a_profile_shows_no_expired_memory(service: MemoryService, clock: Clock) -> None:
    service.remember_extracted("…", extractor=Fixed(ADA))
    service.remember("she left", links=[(entity_id("ada"), "concerns")], ttl=60)
    assert contents(service.entity("ada").relations_in) == ["she left"]
    clock.tick(61 * SECOND)
    assert service.entity("ada").relations_in == ()
