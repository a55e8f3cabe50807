"""`PlugmemPropertyGraphStore`: history, namespaces, copies in files, threads and async."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped] # it has no types
import pytest
from clocks import SECOND, START, Clock
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    ChunkNode,
    EntityNode,
    LabelledPropertyGraph,
    Relation,
)
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from llama_index_plugmem import PlugmemPropertyGraphStore
from plugmem_core import (
    ClosedError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    ReadOnlyError,
    WrongTypeError,
)


@pytest.fixture
def store(memory: Memory) -> PlugmemPropertyGraphStore:
    return PlugmemPropertyGraphStore(memory)


def relation(source: str, label: str, target: str, **properties: Any) -> Relation:
    return Relation(source_id=source, label=label, target_id=target, properties=properties)


def names(store: PlugmemPropertyGraphStore, **options: Any) -> list[str]:
    return [node.id for node in store.get(**options)]


# -- history


def test_every_reading_method_looks_from_an_earlier_instant(
    store: PlugmemPropertyGraphStore, clock: Clock
) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1")])
    store.upsert_nodes([EntityNode(name="A", embedding=[1.0, 0.0], properties={"x": 1})])
    store.upsert_relations([relation("A", "R", "B", x=1)])
    before = clock.now
    clock.tick()
    store.upsert_nodes([EntityNode(name="A", label="NEW", properties={"x": 2})])
    store.upsert_relations([relation("A", "R", "B", x=2), relation("A", "S", "B")])
    store.upsert_llama_nodes([TextNode(text="two", id_="c1")])
    clock.tick()
    store.delete(ids=["A", "c1"])
    a = EntityNode(name="A")
    query = VectorStoreQuery(query_embedding=[1.0, 0.0])

    then = {"as_of": before}
    assert names(store, **then) == ["c1", "A", "B"]
    assert store.get(ids=["A"], **then)[0].properties == {"x": 1}
    assert [one.get_content() for one in store.get_llama_nodes(["c1"], **then)] == ["one"]
    assert [one[1].properties for one in store.get_triplets(ids=["A"], **then)] == [{"x": 1}]
    assert [one[1].properties for one in store.get_rel_map([a], **then)] == [{"x": 1}]
    assert [one.id for one in store.vector_query(query, **then)[0]] == ["A"]
    assert "NEW" not in store.get_schema_str(**then)

    later = {"as_of": before + SECOND}
    assert store.get(ids=["A"], **later)[0].properties == {"x": 2}
    assert len(store.get_rel_map([a], **later)) == 2
    assert "NEW" in store.get_schema(**later)["node_props"]

    assert names(store) == ["B"]
    assert store.get_rel_map([a]) == store.get_triplets(ids=["A"]) == []
    assert store.get_llama_nodes(["c1"]) == []
    assert store.vector_query(query) == ([], [])
    assert names(store, as_of=START - 1) == []


def test_a_store_may_look_from_an_earlier_instant_and_then_refuses_writes(
    memory: Memory, clock: Clock
) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_nodes([EntityNode(name="A")])
    past = PlugmemPropertyGraphStore(memory, as_of="2024-05-01T12:00:00Z")
    clock.tick()
    store.upsert_nodes([EntityNode(name="B")])
    assert names(past) == ["A"]
    assert names(past, as_of=clock.now) == ["A", "B"]
    assert list(past.to_dict()["nodes"]) == ["A"]
    writes: list[Callable[[], None]] = [
        lambda: past.upsert_nodes([EntityNode(name="C")]),
        lambda: past.upsert_relations([relation("A", "R", "B")]),
        lambda: past.upsert_llama_nodes([TextNode(text="x")]),
        lambda: past.delete(ids=["A"]),
        lambda: past.delete_llama_nodes(["A"]),
        lambda: past.delete_ref_doc("d"),
    ]
    for write in writes:
        with pytest.raises(ReadOnlyError, match="write to one without as_of"):
            write()
    assert names(store) == ["A", "B"]


def test_the_nodes_of_a_cascade_stay_readable_as_of_before(
    store: PlugmemPropertyGraphStore, clock: Clock
) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1")])
    store.upsert_nodes([EntityNode(name="A", properties={"triplet_source_id": "c1"})])
    store.upsert_relations([relation("A", "R", "B", triplet_source_id="c1")])
    before = clock.now
    clock.tick()
    store.delete(ids=["c1"])
    assert names(store) == []
    assert names(store, as_of=before) == ["c1", "A", "B"]
    assert len(store.get_rel_map([EntityNode(name="A")], as_of=before)) == 1


def test_without_history_what_is_deleted_is_forgotten_at_every_instant(
    memory: Memory, clock: Clock
) -> None:
    store = PlugmemPropertyGraphStore(memory, keep_history=False)
    store.upsert_nodes([EntityNode(name="A", properties={"x": 1}), EntityNode(name="B")])
    store.upsert_relations([relation("A", "R", "B")])
    clock.tick()
    store.upsert_nodes([EntityNode(name="A", properties={"x": 2})])
    instants = [START, clock.now]
    clock.tick()
    store.delete(ids=["A"])
    for instant in instants:
        assert names(store, as_of=instant) == ["B"]
        assert store.get_triplets(relation_names=["R"], as_of=instant) == []


def test_a_clock_that_was_set_back_loses_no_property(
    store: PlugmemPropertyGraphStore, clock: Clock
) -> None:
    store.upsert_nodes([EntityNode(name="A", properties={"x": 1})])
    clock.tick(-10 * SECOND)
    store.upsert_nodes([EntityNode(name="A", properties={"y": 1})])
    clock.tick(20 * SECOND)
    assert store.get() == [EntityNode(name="A", properties={"x": 1, "y": 1})]


# -- namespaces


def test_no_graph_sees_another(memory: Memory) -> None:
    spaces = [("graph",), ("graph", "below"), ("graphs",), (), ("Graph",)]
    stores = [PlugmemPropertyGraphStore(memory, namespace=space) for space in spaces]
    for number, store in enumerate(stores):
        store.upsert_llama_nodes([TextNode(text=f"text {number}", id_="c1")])
        node = EntityNode(name="A", embedding=[1.0, number], properties={"n": number})
        store.upsert_nodes([node, EntityNode(name=f"only {number}")])
        store.upsert_relations([relation("A", "R", f"only {number}", n=number)])
    query = VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=9)
    for number, store in enumerate(stores):
        assert names(store) == ["c1", "A", f"only {number}"]
        assert store.get(ids=["A"])[0].properties == {"n": number}
        assert [one.get_content() for one in store.get_llama_nodes(["c1"])] == [f"text {number}"]
        assert [one[1].properties for one in store.get_triplets(ids=["A"])] == [{"n": number}]
        assert [one[2].id for one in store.get_rel_map([EntityNode(name="A")])] == [
            f"only {number}"
        ]
        assert [one.properties for one in store.vector_query(query)[0]] == [{"n": number}]
        assert [node.id for node in store.get(properties={"n": number})] == ["A"]
    stores[3].delete(ids=["A", "c1"], relation_names=["R"])
    stores[0].delete_llama_nodes(["c1"])
    assert [names(store) for store in stores] == [
        ["A", "only 0"],
        ["c1", "A", "only 1"],
        ["c1", "A", "only 2"],
        ["only 3"],
        ["c1", "A", "only 4"],
    ]


def test_the_text_of_another_graph_holds_no_entity(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    below = PlugmemPropertyGraphStore(memory, namespace=("graph", "below"))
    below.upsert_llama_nodes([TextNode(text="Ines was here.", id_="c2")])
    memory.remember("Ines was here.", namespace=("graph",))
    store.upsert_nodes([EntityNode(name="Ines", properties={"triplet_source_id": "c1"})])
    store.delete(ids=["c1"])
    assert names(store) == []


def test_other_facts_of_the_namespace_are_no_part_of_the_graph(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    memory.remember("a note", key="note", namespace=("graph",), metadata={"x": 1}, entity="A")
    store.upsert_nodes([EntityNode(name="A", properties={"x": 1})])
    assert names(store) == names(store, properties={"x": 1}) == ["A"]
    assert names(store, ids=["note", "A"]) == ["A"]
    store.delete(ids=["note"], properties={"x": 1})
    assert [fact.text for fact in memory.list_facts()] == ["a note"]


# -- files


def sample() -> list[Any]:
    return [
        EntityNode(name='the "Owl"', label="BIRD", properties={"näme": "Käuzchen"}),
        EntityNode(name="B", embedding=[1.0, 0.5]),
        ChunkNode(text="a chunk", id_="c0", properties={"x": 1}),
    ]


def sample_relations() -> list[Relation]:
    return [
        relation("the  Owl ", "SEES", "B", since=2020),
        relation("B", "SEES", "B"),
        # The simple store knows these two by one name.
        relation("a", "b_c", "d", n=1),
        relation("a_b", "c", "d", n=2),
    ]


LLAMA = TextNode(
    text="Käuzchen sehen gut.",
    id_="c1",
    metadata={"z": 1, "a": "ü"},
    embedding=[0.5, 0.5],
    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d1")},
)


def check(store: Any) -> None:
    """A graph with all of the sample."""
    nodes = {node.id: node for node in store.get()}
    assert nodes["the  Owl "].name == 'the "Owl"'
    assert nodes["the  Owl "].properties == {"näme": "Käuzchen"}
    assert nodes["c0"].text == "a chunk"
    [found] = store.get_llama_nodes(["c1"])
    assert (found.text, found.hash, found.ref_doc_id) == (LLAMA.text, LLAMA.hash, "d1")
    triples = {
        (source.id, one.id, target.id): one.properties
        for source, one, target in store.get_triplets(relation_names=["SEES"])
    }
    assert triples == {("the  Owl ", "SEES", "B"): {"since": 2020}, ("B", "SEES", "B"): {}}


@pytest.mark.parametrize("reader", [PlugmemPropertyGraphStore, SimplePropertyGraphStore])
@pytest.mark.parametrize("writer", [PlugmemPropertyGraphStore, SimplePropertyGraphStore])
def test_a_graph_saved_by_either_store_loads_in_the_other(
    tmp_path: Path, memory: Memory, writer: Any, reader: Any
) -> None:
    ours = writer is PlugmemPropertyGraphStore
    written = writer(memory) if ours else writer()
    written.upsert_nodes(sample())
    written.upsert_llama_nodes([LLAMA])
    written.upsert_relations(sample_relations())
    written.persist(str(tmp_path / "graph.json"))
    check(reader.from_persist_path(str(tmp_path / "graph.json")))
    check(reader.from_dict(written.to_dict()))


def test_a_copy_loses_nothing_but_the_history(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_nodes([EntityNode(name="B", properties={"old": 1})])
    store.upsert_nodes(sample())
    store.upsert_llama_nodes([LLAMA])
    store.upsert_relations(sample_relations())
    data = store.to_dict()
    before = json.dumps(data)
    with PlugmemPropertyGraphStore.from_dict(data, namespace=("copy",)) as copy:
        assert json.dumps(data) == before
        assert copy.get() == store.get()
        labels = ["SEES", "b_c", "c"]
        assert [one[1].properties for one in copy.get_triplets(relation_names=["SEES"])] == [
            {"since": 2020},
            {},
        ]
        assert copy.get_triplets(relation_names=labels)[-1][1].properties == {"n": 2}
        query = VectorStoreQuery(query_embedding=[1.0, 0.5])
        assert [node.id for node in copy.vector_query(query)[0]] == ["B"]
        [found] = copy.get_llama_nodes(["c1"])
        assert found == store.get_llama_nodes(["c1"])[0]


def test_a_copy_has_both_nodes_of_one_id(store: PlugmemPropertyGraphStore, tmp_path: Path) -> None:
    store.upsert_nodes([ChunkNode(text="Paris is large.", id_="Paris", properties={"x": 1})])
    store.upsert_llama_nodes([TextNode(text="Lyon, too.", id_="Lyon")])
    store.upsert_nodes([EntityNode(name="Paris"), EntityNode(name="Lyon")])
    store.upsert_relations([relation("Paris", "MENTIONS", "Lyon")])
    path = str(tmp_path / "graph.json")
    store.persist(path)
    for copy in (
        PlugmemPropertyGraphStore.from_dict(store.to_dict()),
        PlugmemPropertyGraphStore.from_persist_path(path),
    ):
        with copy:
            assert copy.get() == store.get()
            assert copy.to_dict() == store.to_dict()
            [found] = copy.get_llama_nodes(["Lyon"])
            assert found.hash == TextNode(text="Lyon, too.").hash
    simple = SimplePropertyGraphStore.from_persist_path(path)
    assert sorted(node.id for node in simple.get()) == ["Lyon", "Lyon", "Paris", "Paris"]
    assert [node.get_content() for node in simple.get_llama_nodes(["Lyon"])] == ["Lyon, too."]


def test_a_copy_joins_the_graph_of_the_memory_it_is_loaded_into(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory, namespace=("one",))
    store.upsert_relations([relation("A", "R", "B")])
    other = PlugmemPropertyGraphStore.from_dict(store.to_dict(), memory, namespace=("two",))
    assert other.memory is memory
    assert names(other) == ["A", "B"]
    again = PlugmemPropertyGraphStore.from_dict(store.to_dict(), memory, namespace=("one",))
    assert names(again) == ["A", "B"]


def test_the_folder_of_a_copy_is_made_and_found_again(
    store: PlugmemPropertyGraphStore, tmp_path: Path
) -> None:
    store.upsert_nodes(sample())
    folder = tmp_path / "new" / "folder"
    store.persist(str(folder / "property_graph_store.json"))
    with PlugmemPropertyGraphStore.from_persist_dir(str(folder)) as copy:
        assert copy.get() == store.get()
    with pytest.raises(FileNotFoundError):
        PlugmemPropertyGraphStore.from_persist_path(str(tmp_path / "none.json"))


def test_paths_may_be_paths(store: PlugmemPropertyGraphStore, tmp_path: Path) -> None:
    store.upsert_nodes(sample())
    path = tmp_path / "new" / "property_graph_store.json"
    store.persist(path)
    for copy in (
        PlugmemPropertyGraphStore.from_persist_path(path),
        PlugmemPropertyGraphStore.from_persist_dir(path.parent),
        PlugmemPropertyGraphStore.from_persist_dir(f"{path.parent}/"),
    ):
        with copy:
            assert copy.get() == store.get()
    with pytest.raises(WrongTypeError, match="persist_path is None"):
        store.persist(None)
    with pytest.raises(WrongTypeError, match="persist_dir is 5"):
        PlugmemPropertyGraphStore.from_persist_dir(5)


def test_a_copy_may_be_in_another_file_system(store: PlugmemPropertyGraphStore) -> None:
    files = fsspec.filesystem("memory")
    store.upsert_nodes(sample())
    store.persist("folder/property_graph_store.json", fs=files)
    with PlugmemPropertyGraphStore.from_persist_dir("folder", fs=files) as copy:
        assert copy.get() == store.get()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "the graph has no 'nodes'"),
        ({"nodes": {}, "relations": {}}, "the graph has no 'triplets'"),
        (
            {"nodes": {"A": {"label": "x"}}, "relations": {}, "triplets": []},
            "node 'A' is .* give an entity, with a name, or a chunk, with a text",
        ),
        ({"nodes": [], "relations": {}, "triplets": []}, "the graph has no 'nodes'"),
        ({"nodes": {"A": None}, "relations": {}, "triplets": []}, "node 'A' is None; give"),
        ({"nodes": {"A": {"name": 5}}, "relations": {}, "triplets": []}, "node 'A' is .*'name': 5"),
        ({"nodes": {"A": {"text": 5}}, "relations": {}, "triplets": []}, "node 'A' is .*'text': 5"),
        ({"nodes": {}, "relations": {"r": {}}, "triplets": []}, "relation 'r' is {}"),
        ({"nodes": {}, "relations": {"r": "R"}, "triplets": []}, "relation 'r' is 'R'; give"),
        ({"nodes": {}, "relations": {}, "triplets": [["A", "R"]]}, "a triplet is .*; give source"),
        ({"nodes": {}, "relations": {}, "triplets": [["A", 5, "B"]]}, "a triplet is .*; give"),
        (None, "data is None"),
        ([], "data is"),
    ],
    ids=str,
)
def test_what_is_no_graph_is_refused(data: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        PlugmemPropertyGraphStore.from_dict(data)


def test_the_simple_stores_own_model_reads_a_copy(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_relations([relation("A", "R", "B", x=1)])
    graph = LabelledPropertyGraph.model_validate({**store.to_dict(), "nodes": {}})
    assert graph.triplets == {("A", "R", "B")}
    assert graph.relations == {"A_R_B": relation("A", "R", "B", x=1)}


# -- handles, threads, async


def test_a_file_is_opened_and_let_go_of(tmp_path: Path) -> None:
    with PlugmemPropertyGraphStore.open(tmp_path / "graph.db") as store:
        store.upsert_relations([relation("A", "R", "B")])
    with pytest.raises(ClosedError):
        store.get()
    with PlugmemPropertyGraphStore.open(tmp_path / "graph.db") as store:
        assert len(store.get_triplets(ids=["A"])) == 1
    with Memory.open(tmp_path / "graph.db", read_only=True) as memory:
        reader = PlugmemPropertyGraphStore(memory)
        assert names(reader) == ["A", "B"]
        with pytest.raises(ReadOnlyError):
            reader.delete(ids=["A"])


async def test_every_method_has_an_async_twin(store: PlugmemPropertyGraphStore) -> None:
    await store.aupsert_llama_nodes([TextNode(text="one", id_="c1")])
    await store.aupsert_nodes([EntityNode(name="A", embedding=[1.0, 0.0])])
    await store.aupsert_relations([relation("A", "R", "B"), relation("B", "S", "C")])
    a = EntityNode(name="A")
    query = VectorStoreQuery(query_embedding=[1.0, 0.0])
    assert await store.aget() == store.get()
    assert await store.aget({}, ["A"]) == store.get(ids=["A"])
    assert await store.aget_triplets(["A"]) == store.get_triplets(["A"]) != []
    assert await store.aget_rel_map([a], 1, 5, ["X"]) == store.get_rel_map([a], 1, 5, ["X"]) != []
    assert await store.aget_llama_nodes(["c1"]) == store.get_llama_nodes(["c1"]) != []
    assert await store.avector_query(query) == store.vector_query(query)
    assert await store.aget_schema(refresh=True) == store.get_schema()
    assert await store.aget_schema_str() == store.get_schema_str()
    with pytest.raises(NotImplementedError):
        await store.astructured_query("MATCH (n) RETURN n")
    await store.adelete(ids=["A"])
    assert names(store) == ["c1", "B", "C"]
    await store.adelete_llama_nodes(["c1"])
    await store.adelete_ref_doc("d1")
    assert names(store) == ["B", "C"]


async def test_the_event_loop_runs_on_while_the_memory_works(open_memory: Any) -> None:
    loop_ran = threading.Event()

    class Waiting(HashingEmbedder):
        def embed_documents(self, texts: Any) -> Any:
            assert loop_ran.wait(timeout=60)
            return super().embed_documents(texts)

    store = PlugmemPropertyGraphStore(open_memory(embedder=Waiting(dim=16)))
    asyncio.get_running_loop().call_soon(loop_ran.set)
    await store.aupsert_nodes([EntityNode(name="A")])
    assert names(store) == ["A"]


async def test_those_who_change_one_node_at_once_lose_nothing(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    twin = PlugmemPropertyGraphStore(memory)
    await asyncio.gather(
        *(
            one.aupsert_nodes([EntityNode(name="A", properties={f"p{number}": number})])
            for number, one in enumerate([store, twin] * 10)
        )
    )
    assert store.get()[0].properties == {f"p{number}": number for number in range(20)}


def test_two_handles_of_one_file_see_each_others_changes(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with (
        PlugmemPropertyGraphStore.open(path) as one,
        PlugmemPropertyGraphStore.open(path) as other,
    ):
        one.upsert_relations([relation("A", "R", "B")])
        other.upsert_nodes([EntityNode(name="A", properties={"x": 1})])
        assert one.get(ids=["A"])[0].properties == {"x": 1}
        one.delete(ids=["B"])
        assert other.get_rel_map([EntityNode(name="A")]) == []
