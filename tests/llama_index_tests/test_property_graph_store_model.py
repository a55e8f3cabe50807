"""Random changes to a property graph in a file, compared after each with plain dictionaries."""

import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from clocks import Clock
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation

from llama_index_plugmem import PlugmemPropertyGraphStore
from plugmem_core import Memory, MemoryConfig

pytestmark = pytest.mark.timeout(900)  # shrinking what fails takes minutes

Node = tuple[str, str]  # kind and id
Triple = tuple[str, str, str]

# Entities of a memory are told apart by their words alone; ids of nodes are not.
NAMES = ("Ann", "ann", "Bob", "!", "Ann Bob")
CHUNKS = ("c1", "c2")
LABELS = ("knows", "Knows", "MENTIONS")

names = st.sampled_from(NAMES)
nodes = st.sampled_from((*NAMES, *CHUNKS))
some_nodes = st.lists(nodes, max_size=3)
labels = st.sampled_from(LABELS)
properties = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from([0, 1, "1"]), max_size=2)
triples = st.lists(st.tuples(nodes, labels, nodes, properties), min_size=1, max_size=3)


class Graph:
    """A property graph as plain dictionaries, by insertion."""

    def __init__(self) -> None:
        self.nodes: dict[Node, dict[str, Any]] = {}
        self.placeholders: set[Node] = set()  # entities of which relations alone speak
        self.relations: dict[Triple, dict[str, Any]] = {}

    def copy(self) -> "Graph":
        other = Graph()
        other.nodes, other.relations = dict(self.nodes), dict(self.relations)
        return other

    def add_node(self, kind: str, name: str, given: dict[str, Any]) -> None:
        if kind == "chunk" and ("entity", name) in self.placeholders:
            del self.nodes["entity", name]
            self.placeholders.discard(("entity", name))
        self.placeholders.discard((kind, name))
        self.nodes[kind, name] = {**self.nodes.get((kind, name), {}), **given}

    def add_end(self, name: str) -> None:
        if ("entity", name) not in self.nodes and ("chunk", name) not in self.nodes:
            self.nodes["entity", name] = {}
            self.placeholders.add(("entity", name))

    def add_relation(self, triple: Triple, given: dict[str, Any]) -> None:
        self.relations[triple] = {**self.relations.get(triple, {}), **given}

    def ends(self, triple: Triple) -> tuple[Node, Node]:
        """The nodes that a relation is about: what mentions is a chunk, if it can be one."""
        source, label, target = triple
        kinds = ("chunk", "entity") if label == "MENTIONS" else ("entity", "chunk")
        first, second = ((kind, source) for kind in kinds)
        start = first if first in self.nodes else second
        end = ("entity", target)
        return start, end if end in self.nodes else ("chunk", target)

    def delete_nodes(self, gone: set[Node]) -> None:
        self.relations = {
            triple: one
            for triple, one in self.relations.items()
            if gone.isdisjoint(self.ends(triple))
        }
        self.nodes = {node: one for node, one in self.nodes.items() if node not in gone}
        self.placeholders -= gone

    def with_properties(self, wanted: dict[str, Any]) -> list[Node]:
        return [node for node, given in self.nodes.items() if has(given, wanted)]

    def around(self, start: list[str], depth: int) -> list[set[Triple]]:
        """Triples by how far away they are."""
        seen: set[Triple] = set()
        here = set(start)
        levels = []
        for _ in range(depth):
            level = {
                triple
                for triple in self.relations
                if triple not in seen
                and not here.isdisjoint((triple[0], triple[2]))
                # What a chunk mentions is no part of the map.
                and not (
                    triple[1] == "MENTIONS" and "chunk" in [kind for kind, _ in self.ends(triple)]
                )
            }
            seen |= level
            here |= {end for triple in level for end in (triple[0], triple[2])}
            levels.append(level)
        return levels


def has(given: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(key in given and given[key] == value for key, value in wanted.items())


class GraphMachine(RuleBasedStateMachine):
    """A store whose file is closed and opened now and then must always agree with the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.clock = Clock()
        self.model = Graph()
        self.past: list[tuple[int, Graph]] = []
        self.store = self.open()

    def open(self) -> PlugmemPropertyGraphStore:
        config = MemoryConfig(durability="normal")
        memory = Memory.open(self.folder / "graph.db", config=config, clock=self.clock)
        return PlugmemPropertyGraphStore(memory)

    def teardown(self) -> None:
        for instant, model in self.past[-3:]:
            self.compare(model, as_of=instant)
        assert self.store.memory.verify().ok
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(name=names, given=properties)
    def add_entity(self, name: str, given: dict[str, Any]) -> None:
        self.store.upsert_nodes([EntityNode(name=name, properties=given)])
        self.model.add_node("entity", name, given)

    @rule(chunk=st.sampled_from((*CHUNKS, "Bob")), given=properties)
    def add_chunk(self, chunk: str, given: dict[str, Any]) -> None:
        # A text that names nobody, so that it holds no entity.
        self.store.upsert_nodes([ChunkNode(text="", id_=chunk, properties=given)])
        self.model.add_node("chunk", chunk, given)

    @rule(some=triples)
    def add_relations(self, some: list[tuple[str, str, str, dict[str, Any]]]) -> None:
        self.store.upsert_relations(
            [
                Relation(source_id=source, label=label, target_id=target, properties=given)
                for source, label, target, given in some
            ]
        )
        for source, _, target, _ in some:
            for end in (source, target):
                self.model.add_end(end)
        for source, label, target, given in some:
            self.model.add_relation((source, label, target), given)

    @rule(gone=some_nodes)
    def delete_by_ids(self, gone: list[str]) -> None:
        self.store.delete(ids=gone)
        self.model.delete_nodes({(kind, one) for kind in ("entity", "chunk") for one in gone})

    @rule(gone=st.lists(nodes, max_size=2))
    def delete_chunks(self, gone: list[str]) -> None:
        self.store.delete_llama_nodes(gone)
        self.model.delete_nodes({("chunk", one) for one in gone})

    @rule(gone=st.lists(names, max_size=2))
    def delete_by_names(self, gone: list[str]) -> None:
        self.store.delete(entity_names=gone)
        self.model.delete_nodes({("entity", one) for one in gone})

    @rule(gone=st.lists(labels, max_size=2))
    def delete_by_labels(self, gone: list[str]) -> None:
        self.store.delete(relation_names=gone)
        kept = {key: one for key, one in self.model.relations.items() if key[1] not in gone}
        self.model.relations = kept

    @rule(wanted=properties)
    def delete_by_properties(self, wanted: dict[str, Any]) -> None:
        self.store.delete(properties=wanted)
        if wanted:
            self.model.relations = {
                key: one for key, one in self.model.relations.items() if not has(one, wanted)
            }
            self.model.delete_nodes(set(self.model.with_properties(wanted)))

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.open()

    @rule()
    def let_time_pass(self) -> None:
        self.past.append((self.clock.now, self.model.copy()))
        self.clock.tick()

    @rule(wanted=properties, some=some_nodes)
    def get(self, wanted: dict[str, Any], some: list[str]) -> None:
        found = [node.id for node in self.store.get(wanted, some)]
        expected = self.model.with_properties(wanted)
        assert found == [one for _, one in expected if not some or one in some]

    @rule(named=some_nodes, some=some_nodes, labelled=st.lists(labels, max_size=2))
    def get_triplets(self, named: list[str], some: list[str], labelled: list[str]) -> None:
        found = self.store.get_triplets(named, labelled, None, some)
        expected = [
            triple
            for triple in self.model.relations
            if (named or some or labelled)
            and (not named or triple[0] in named or triple[2] in named)
            and (not some or triple[0] in some or triple[2] in some)
            and (not labelled or triple[1] in labelled)
        ]
        assert [(source.id, one.id, target.id) for source, one, target in found] == expected

    @rule(
        start=some_nodes,
        depth=st.integers(0, 3),
        limit=st.sampled_from([0, 1, 2, 3, 100]),
        ignored=st.lists(labels, max_size=1),
    )
    def get_rel_map(self, start: list[str], depth: int, limit: int, ignored: list[str]) -> None:
        around = self.store.get_rel_map(
            [EntityNode(name=one) for one in start], depth, limit, ignored
        )
        found = [(source.id, one.id, target.id) for source, one, target in around]
        levels = [
            {triple for triple in level if triple[1] not in ignored}
            for level in self.model.around(start, depth)
        ]
        assert len(found) == min(limit, sum(map(len, levels)))
        for level in levels:  # in any order, but the nearest first
            here, found = found[: len(level)], found[len(level) :]
            assert len(set(here)) == len(here)
            assert set(here) == level if found or len(here) == len(level) else set(here) <= level

    @invariant()
    def the_graph_is_that_of_the_model(self) -> None:
        self.compare(self.model)

    def compare(self, model: Graph, **options: Any) -> None:
        nodes = {
            ("chunk" if isinstance(node, ChunkNode) else "entity", node.id): node.properties
            for node in self.store.get(**options)
        }
        assert nodes == model.nodes
        assert list(nodes) == list(model.nodes)
        relations = {
            (source.id, one.id, target.id): one.properties
            for source, one, target in self.store.get_triplets(relation_names=LABELS, **options)
        }
        assert relations == model.relations
        assert list(relations) == list(model.relations)


TestGraph = GraphMachine.TestCase
TestGraph.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
