"""Evidence: what a walk meets, how it scores, where it ends, and what a filter keeps from it."""

from itertools import pairwise

import pytest
from clocks import SECOND, Clock
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import InvalidInputError
from plugmem_core.extraction import ExtractedFact, Graph, OutlineExtractor, Relation
from plugmem_core.service import (
    DictStore,
    Evidence,
    Link,
    MemoryService,
    ServiceConfig,
    entity_id,
    memory_id,
)
from service.conftest import Compass, OpenService, contents


def chain(service: MemoryService, *texts: str) -> None:
    """Store memories, each with an edge to the next."""
    service.remember_many({"fact": text} for text in texts)
    for one, other in pairwise(texts):
        service.relate(memory_id(one), memory_id(other), "because")


class Fixed:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def extract(self, text: str) -> Graph:
        return self.graph


def hops(found: Evidence) -> dict[str, int]:
    return {node.content: node.hop for node in found.nodes}


def test_a_walk_meets_what_edges_lead_to_the_nearest_first(service: MemoryService) -> None:
    chain(service, "decision", "cause", "problem", "origin")
    assert hops(service.why("decision")) == {"decision": 0, "cause": 1, "problem": 2}
    assert hops(service.why("decision", 0)) == {"decision": 0}
    assert len(service.why("decision", 99).nodes) == 4
    assert service.why("decision", 1).links == (
        Link(memory_id("decision"), memory_id("cause"), "because"),
    )


def test_nothing_is_evidence_for_nothing(service: MemoryService) -> None:
    assert service.why("decision") == service.why(" ") == Evidence()


def test_cycles_are_edges_and_no_second_nodes(service: MemoryService) -> None:
    chain(service, "egg", "hen", "egg")
    found = service.why("egg", 10)
    assert hops(found) == {"egg": 0, "hen": 1}
    assert len(found.links) == 2
    assert not found.truncated


def test_edges_are_followed_as_they_point_unless_both_ways_are_asked_for(
    service: MemoryService,
) -> None:
    chain(service, "effect", "decision")
    assert hops(service.why("decision")) == {"decision": 0}
    both = service.why("decision", direction="both")
    assert hops(both) == {"decision": 0, "effect": 1}
    assert both.paths[0].links == (Link(memory_id("effect"), memory_id("decision"), "because"),)
    with pytest.raises(InvalidInputError):
        service.why("decision", direction="in")


def test_a_walk_may_start_from_several_seeds(open_service: OpenService) -> None:
    service = open_service(Compass({"one": 0.9, "two": 0.5, "three": 0.4}))
    chain(service, "one", "shared")
    chain(service, "two", "shared")
    service.remember("three")
    found = service.why("where?", seeds=2, mode="vector")
    assert hops(found) == {"one": 0, "two": 0, "shared": 1}
    assert len(found.links) == 2
    assert hops(service.why("where?", seeds=3, mode="vector", min_score=0.45)) == hops(found)


# -- scores


def test_a_score_halves_with_every_edge(open_service: OpenService) -> None:
    service = open_service(Compass({"seed": 0.8}))
    chain(service, "seed", "near", "far")
    found = service.why("where?", mode="vector")
    assert [node.score for node in found.nodes] == pytest.approx([0.8, 0.4, 0.2], abs=1e-6)
    assert [len(path.links) for path in found.paths] == [1, 2]
    assert [path.score for path in found.paths] == pytest.approx([0.4, 0.2], abs=1e-6)


def test_a_path_through_a_rare_entity_beats_one_through_a_common_one(
    open_service: OpenService,
) -> None:
    service = open_service(Compass({"seed": 0.8}))
    # Six memories, two entities: N = 8. From "common" start four edges, from "rare" two.
    for text, names in {
        "seed": ("common", "rare"),
        "other 1": ("common",),
        "other 2": ("common",),
        "both": ("common", "rare"),
        "unrelated 1": (),
        "unrelated 2": (),
    }.items():
        service.remember_extracted(text, extractor=Fixed(Graph((ExtractedFact(text, names),))))
    found = service.why("where?", mode="vector")
    scores = {node.content: node.score for node in found.nodes}
    # ln(8/4)/ln 8 = 1/3 and ln(8/2)/ln 8 = 2/3, times a quarter of 0.8.
    assert scores["other 1"] == pytest.approx(0.2 / 3, abs=1e-6)
    assert scores["both"] == pytest.approx(0.4 / 3, abs=1e-6)
    assert found.paths[0].links == (
        Link(memory_id("seed"), entity_id("rare"), "about"),
        Link(entity_id("rare"), memory_id("both"), "mentions"),
    )
    assert [path.score for path in found.paths] == sorted(
        (path.score for path in found.paths), reverse=True
    )
    assert len(found.paths) == 3  # entities end no path


def test_a_seed_that_points_away_has_no_score(open_service: OpenService) -> None:
    service = open_service(Compass({"seed": -0.5}))
    chain(service, "seed", "near")
    assert [node.score for node in service.why("where?", mode="vector").nodes] == [0.0, 0.0]


# -- bounds


def star(service: MemoryService, leaves: int) -> None:
    service.remember("hub")
    service.remember_many({"fact": f"leaf {n}"} for n in range(leaves))
    for n in range(leaves):
        service.relate(memory_id("hub"), memory_id(f"leaf {n}"), "has")


@pytest.mark.parametrize(("leaves", "truncated"), [(4, False), (5, True)])
def test_so_many_edges_are_read_at_a_node(
    open_service: OpenService, leaves: int, truncated: bool
) -> None:
    service = open_service(config=ServiceConfig(max_degree=4))
    star(service, leaves)
    found = service.why("hub")
    assert (len(found.nodes), found.truncated) == (5, truncated)
    assert contents(found.nodes[1:]) == [f"leaf {n}" for n in range(4)]


@pytest.mark.parametrize(("leaves", "truncated"), [(3, False), (4, True), (20, True)])
def test_nodes_never_exceed_their_bound(
    open_service: OpenService, leaves: int, truncated: bool
) -> None:
    service = open_service(config=ServiceConfig(max_nodes=4))
    star(service, leaves)
    found = service.why("hub")
    assert (len(found.nodes), len(found.links), found.truncated) == (4, 3, truncated)


@pytest.mark.parametrize(("size", "truncated"), [(4, False), (5, True)])
def test_edges_never_exceed_their_bound(
    open_service: OpenService, size: int, truncated: bool
) -> None:
    service = open_service(config=ServiceConfig(max_edges=12))
    texts = [f"node {n}" for n in range(size)]
    service.remember_many({"fact": text} for text in texts)
    for one in texts:
        for other in texts:
            if one != other:
                service.relate(memory_id(one), memory_id(other), "knows")
    found = service.why("node 0", 10)
    assert (len(found.links), found.truncated) == (12, truncated)


def test_the_bounds_are_those_that_are_documented() -> None:
    service = MemoryService(DictStore())
    star(service, 65)
    found = service.why("hub")
    assert (len(found.nodes), found.truncated) == (65, True)


@pytest.mark.parametrize("direction", ["out", "both"])
def test_what_fails_the_filter_uses_up_none_of_the_edges_of_a_node(
    open_service: OpenService, direction: str
) -> None:
    service = open_service(config=ServiceConfig(max_degree=4))
    outline = OutlineExtractor()
    crowd = "\n".join(f"note {n} | bern" for n in range(9))
    service.remember_extracted(crowd, metadata={"t": "b"}, extractor=outline)
    own = "zug station | bern\n" + "\n".join(f"late answer {n} | bern" for n in range(4))
    service.remember_extracted(own, metadata={"t": "a"}, extractor=outline)
    found = service.why("zug station", where={"t": "a"}, direction=direction)
    assert contents(found.nodes) == [
        "zug station", "Entity: bern", *(f"late answer {n}" for n in range(3))
    ]  # fmt: skip
    assert found.truncated
    fused = service.recall_fused("zug station", where={"t": "a"})
    assert [one.graph > 0 for one in fused] == [
        one.content in contents(found.nodes[2:]) for one in fused
    ]


def test_a_walk_is_whole_when_all_that_passes_was_followed(open_service: OpenService) -> None:
    service = open_service(config=ServiceConfig(max_degree=2))
    outline = OutlineExtractor()
    service.remember_extracted("a | x\nb | x\nc | x", metadata={"t": 1}, extractor=outline)
    service.remember_extracted("d | x\ne | x", metadata={"t": 2}, extractor=outline)
    found = service.why("d", where={"t": 2})
    assert contents(found.nodes) == ["d", "Entity: x", "e"]
    assert not found.truncated


def test_an_entity_is_met_however_late_it_was_mentioned_by_what_passes(
    open_service: OpenService,
) -> None:
    service = open_service(config=ServiceConfig(max_degree=2))
    outline = OutlineExtractor()
    service.remember_extracted("\n".join(f"n{n} | y" for n in range(5)), extractor=outline)
    own = "start | x\nend | y\nedge: x | near | y"
    service.remember_extracted(own, metadata={"t": 1}, extractor=outline)
    found = service.why("start", 4, where={"t": 1})
    assert contents(found.nodes) == ["start", "Entity: x", "Entity: y", "end"]


def test_so_many_edges_are_looked_at_for_those_that_pass(open_service: OpenService) -> None:
    service = open_service(config=ServiceConfig(max_degree=1, max_scanned=3))
    outline = OutlineExtractor()
    service.remember_extracted("seed | x", metadata={"t": 1}, extractor=outline)
    service.remember_extracted("\n".join(f"n{n} | x" for n in range(5)), extractor=outline)
    service.remember_extracted("late | x", metadata={"t": 1}, extractor=outline)
    found = service.why("seed", where={"t": 1})
    assert contents(found.nodes) == ["seed", "Entity: x"]
    assert found.truncated


@given(
    edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40),
    bounds=st.tuples(st.integers(1, 6), st.integers(1, 8), st.integers(1, 12)),
    steps=st.integers(0, 4),
    direction=st.sampled_from(["out", "both"]),
)
def test_a_walk_is_connected_and_within_its_bounds(
    edges: list[tuple[int, int]],
    bounds: tuple[int, int, int],
    steps: int,
    direction: str,
) -> None:
    degree, nodes, links = bounds
    config = ServiceConfig(max_degree=degree, max_nodes=nodes, max_edges=links)
    service = MemoryService(DictStore(), config=config)
    service.remember_many({"fact": f"memory{n}"} for n in range(10))
    for one, other in edges:
        if one != other:
            service.relate(memory_id(f"memory{one}"), memory_id(f"memory{other}"), "to")
    found = service.why("memory0", steps, direction=direction)
    assert len(found.nodes) <= nodes
    assert len(found.links) <= links
    met = {node.id: node.hop for node in found.nodes}
    assert all(hop <= steps for hop in met.values())
    for link in found.links:
        assert met.keys() >= {link.source, link.target}
    for node in found.nodes[1:]:
        ends = {link.source for link in found.links if link.target == node.id}
        if direction == "both":
            ends |= {link.target for link in found.links if link.source == node.id}
        assert min(met[end] for end in ends) == node.hop - 1
    if not found.truncated and steps == 4 and direction == "out":
        reachable = {0}
        for _ in range(4):
            reachable |= {b for a, b in edges if a in reachable}
        assert set(met) == {memory_id(f"memory{n}") for n in reachable}


# -- filters and expiry

OURS, THEIRS = {"tenant": "a"}, {"tenant": "b"}


def test_what_fails_the_filter_is_neither_met_nor_walked_through(service: MemoryService) -> None:
    chain(service, "decision", "theirs", "behind theirs")
    chain(service, "decision", "ours")
    for text, metadata in {
        "decision": OURS, "theirs": THEIRS, "behind theirs": OURS, "ours": OURS
    }.items():  # fmt: skip
        service.remember(text, metadata=metadata)
    found = service.why("decision", 5, OURS)
    assert hops(found) == {"decision": 0, "ours": 1}
    assert len(found.links) == 1
    assert len(service.why("decision", 5).nodes) == 4


def test_an_entity_leads_to_what_passes_only(service: MemoryService) -> None:
    for text, metadata in {"decision": OURS, "ours": OURS, "theirs": THEIRS}.items():
        graph = Graph((ExtractedFact(text, ("shard",)),))
        service.remember_extracted(text, metadata=metadata, extractor=Fixed(graph))
    found = service.why("decision", 3, OURS)
    assert set(hops(found)) == {"decision", "Entity: shard", "ours"}


def test_an_entity_that_nothing_that_passes_mentions_is_not_met(service: MemoryService) -> None:
    ours = Graph((ExtractedFact("decision", ("shard",)), ExtractedFact("ours", ("disk",))))
    theirs = Graph(
        (ExtractedFact("theirs", ("secret",)),),
        (Relation("shard", "stores", "secret"), Relation("shard", "runs on", "disk")),
    )
    service.remember_extracted("…", metadata=OURS, extractor=Fixed(ours))
    service.remember_extracted("…", metadata=THEIRS, extractor=Fixed(theirs))
    found = service.why("decision", 4, OURS)
    assert set(hops(found)) == {"decision", "Entity: shard", "Entity: disk", "ours"}
    assert "Entity: secret" in hops(service.why("decision", 4))


def test_what_has_expired_is_not_met(service: MemoryService, clock: Clock) -> None:
    chain(service, "decision", "expiring", "behind")
    service.remember("expiring", ttl=60)
    clock.tick(61 * SECOND)
    found = service.why("decision", 5)
    assert hops(found) == {"decision": 0}
    assert found.links == ()
