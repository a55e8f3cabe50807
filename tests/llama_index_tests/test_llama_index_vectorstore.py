"""`PlugmemVectorStore` by itself: writing, reading, deleting, and every mode of query."""

import copy
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, Clock
from llama_index.core import MockEmbedding
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    IndexNode,
)
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from pydantic import ValidationError
from vector_nodes import EAST, NORTH, ids, listed, near, note, only, worded

from llama_index_plugmem import NodeMapping, PlugmemVectorStore
from plugmem_core import (
    ClosedError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


# -- what it is


def test_it_is_a_vector_store_that_stores_text(store: PlugmemVectorStore, memory: Memory) -> None:
    assert isinstance(store, BasePydanticVectorStore)
    assert (store.stores_text, store.is_embedding_query, store.flat_metadata) == (True, True, False)
    assert store.class_name() == "PlugmemVectorStore"
    assert store.client is memory


def test_an_empty_store_is_no_missing_one(store: PlugmemVectorStore) -> None:
    assert store
    assert not hasattr(store, "__len__")


def test_every_method_of_the_interface_is_its_own() -> None:
    inherited = {
        name
        for name, method in inspect.getmembers(BasePydanticVectorStore, inspect.isfunction)
        if method.__qualname__ == f"BasePydanticVectorStore.{name}"
        and getattr(PlugmemVectorStore, name) is method
    }
    assert inherited == {"persist"}  # everything is on disk already


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_share_the_open_memory(
    store: PlugmemVectorStore, memory: Memory, duplicate: Callable[[Any], Any]
) -> None:
    store.add([note("a")])
    twin = duplicate(store)
    assert twin.client is memory
    assert listed(twin) == ["a"]


def test_its_settings_are_json_and_restore_it(open_memory: Any, tmp_path: Path) -> None:
    mapping = NodeMapping(entity="who", tags=None)
    store = PlugmemVectorStore(
        open_memory(tmp_path / "a.plugmem"), namespace=("a", "b"), mapping=mapping
    )
    store.add([note("a", who="Ines")])
    restored = PlugmemVectorStore.from_dict(json.loads(json.dumps(store.to_dict())))
    assert (restored.namespace, restored.mapping) == (("a", "b"), mapping)
    assert listed(restored) == ["a"]
    assert json.loads(store.to_json()) == json.loads(restored.to_json())


@pytest.mark.parametrize(
    "wrong", [{"namespace": ("",)}, {"mapping": 5}, {"replace_documents": "what"}, {"mode": "x"}]
)
def test_a_setting_that_breaks_its_rule_is_refused(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        PlugmemVectorStore(memory, **wrong)


@pytest.mark.parametrize("wrong", [None, "not a memory"])
def test_it_needs_an_open_memory(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="memory"):
        PlugmemVectorStore(wrong)


def test_open_owns_its_memory(tmp_path: Path) -> None:
    with PlugmemVectorStore.open(
        tmp_path / "a.plugmem", MockEmbedding(embed_dim=4), config=MemoryConfig(max_text=100)
    ) as store:
        store.add([note("a", "tea")])
        assert store.client.config.max_text == 100
        assert [fact.text for fact in store.client.list_facts()] == ["tea"]
        assert store.client.vectors([0])[0] is not None
    with pytest.raises(ClosedError):
        store.get_nodes()
    with PlugmemVectorStore.open(tmp_path / "a.plugmem") as store:
        assert listed(store) == ["a"]


async def test_open_works_in_async_with(tmp_path: Path) -> None:
    async with PlugmemVectorStore.open(tmp_path / "a.plugmem") as store:
        await store.async_add([note("a")])
    with pytest.raises(ClosedError):
        store.get_nodes()


def test_open_lets_go_of_the_file_when_a_setting_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        PlugmemVectorStore.open(tmp_path / "a.plugmem", namespace=("",))
    assert not (tmp_path / "a.plugmem-wal").exists()


# -- adding


def test_nodes_come_back_as_they_were(store: PlugmemVectorStore) -> None:
    nodes: list[BaseNode] = [
        note("b", "tea", EAST, "handbook", page=3, nested={"z": 1, "a": [True, None]}),
        ImageNode(id_="i", image_url="https://example.org/tea.png", embedding=NORTH),
        IndexNode(id_="x", text="about tea", index_id="tea", embedding=NORTH),
        note("a", "rain", NORTH),
    ]
    before = copy.deepcopy(nodes)
    assert store.add(nodes) == ["b", "i", "x", "a"]
    assert nodes == before
    for stored, node in zip(store.get_nodes(), nodes, strict=True):
        assert type(stored) is type(node)
        assert stored == node.model_copy(update={"embedding": None})
        assert stored.hash == node.hash
    result = store.query(near(EAST, 1))
    assert result.nodes == store.get_nodes(["b"])


def test_adding_an_id_again_replaces_the_node(store: PlugmemVectorStore, clock: Clock) -> None:
    store.add([note("a", "tea at four", EAST, "d", page=1)])
    earlier = clock.now
    clock.tick(DAY)
    store.add([note("a", "tea at five", NORTH, page=2), note("b", "rain", EAST)])
    [node] = store.get_nodes(["a"])
    assert (node.get_content(), node.metadata, node.ref_doc_id) == (
        "tea at five",
        {"page": 2},
        None,
    )
    assert ids(store, near(NORTH, 1)) == ["a"]
    assert ids(store, near(EAST)) == ["b", "a"]
    assert ids(store, worded("four")) == []
    assert ids(store, worded("four"), as_of=earlier) == ["a"]


def test_the_last_of_one_id_in_a_batch_counts(store: PlugmemVectorStore) -> None:
    nodes = [note("a", "one", EAST), note("b", "two", EAST), note("a", "three", NORTH)]
    assert store.add(nodes) == ["a", "b", "a"]
    assert [node.get_content() for node in store.get_nodes(["a", "b"])] == ["three", "two"]


def test_adding_what_is_there_changes_nothing(store: PlugmemVectorStore, memory: Memory) -> None:
    nodes = [note("a", "tea", EAST, "d", page=1), note("b", "rain", NORTH)]
    store.add(nodes)
    store.add(nodes)
    assert len(memory.list_facts(closed=True)) == 2


def test_adding_nothing_is_nothing(store: PlugmemVectorStore) -> None:
    assert store.add([]) == []


def test_many_nodes_go_in_at_once(store: PlugmemVectorStore) -> None:
    nodes = [note(f"n{n}", f"note {n}", [1.0, n / 5000]) for n in range(5000)]
    assert store.add(nodes) == [node.node_id for node in nodes]
    assert ids(store, near([1.0, 0.0], 3)) == ["n0", "n1", "n2"]


@pytest.mark.parametrize(
    ("bad", "error", "said"),
    [
        (note("bad", vector=[1.0, 0.0, 0.0]), VectorSpaceError, "node 'bad'"),
        (note("bad", when={1, 2}), WrongTypeError, "node 'bad'"),
        (note("bad", _plugmem_node=1), InvalidInputError, "reserved"),
        (note("bad", "x" * 70_000), TooLargeError, "SentenceSplitter"),
        ("a text", WrongTypeError, r"nodes\[1\]"),
    ],
)
def test_one_bad_node_and_none_is_stored(
    store: PlugmemVectorStore, bad: Any, error: type[Exception], said: str
) -> None:
    store.add([note("first", vector=EAST)])
    with pytest.raises(error, match=said):
        store.add([note("good", vector=EAST), bad])
    assert listed(store) == ["first"]


def test_a_node_without_an_embedding_gets_a_vector_from_the_embedder(open_memory: Any) -> None:
    memory = open_memory(embedder=HashingEmbedder(dim=64))
    store = PlugmemVectorStore(memory)
    store.add([note("tea", "green tea"), note("barn", "red barn")])
    assert ids(store, VectorStoreQuery(query_str="red barn", similarity_top_k=1)) == ["barn"]
    barn = HashingEmbedder(dim=64).embed_query("red barn").tolist()
    assert ids(store, near(barn, 1)) == ["barn"]


def test_without_an_embedder_only_words_find_it(store: PlugmemVectorStore) -> None:
    store.add([note("tea", "green tea"), note("barn", "red barn", EAST)])
    assert ids(store, near(EAST)) == ["barn"]
    assert ids(store, near(EAST, mode=VectorStoreQueryMode.MMR)) == ["barn"]
    assert ids(store, worded("tea")) == ["tea"]
    hybrid = near(EAST, query_str="tea", mode=VectorStoreQueryMode.HYBRID)
    assert sorted(ids(store, hybrid)) == ["barn", "tea"]


# -- reading


def test_nodes_are_read_in_the_order_asked(store: PlugmemVectorStore) -> None:
    store.add([note("a", page=1), note("b", page=2), note("c", page=2)])

    def got(*args: Any) -> list[str]:
        return [node.node_id for node in store.get_nodes(*args)]

    assert got() == ["a", "b", "c"]
    assert got(["c", "unknown", "a", "c"]) == ["c", "a"]
    assert got([]) == []
    assert got(None, only("page", 2)) == ["b", "c"]
    assert got(["c", "a"], only("page", 2)) == ["c"]
    assert got(None, MetadataFilters(filters=[])) == ["a", "b", "c"]
    with pytest.raises(WrongTypeError, match="give a list"):
        store.get_nodes("abc")


def test_facts_made_otherwise_are_nodes_too(store: PlugmemVectorStore, memory: Memory) -> None:
    memory.remember("Mara prefers green tea", metadata={"page": 1})
    [node] = store.get_nodes()
    assert (node.node_id, node.get_content(), node.metadata) == (
        "fact:0",
        "Mara prefers green tea",
        {"page": 1},
    )
    assert store.get_nodes(["fact:0"]) == [node]
    assert store.get_nodes(["0"]) == []
    assert ids(store, worded("tea")) == ["fact:0"]
    store.delete_nodes(["0"])
    assert listed(store) == ["fact:0"]
    store.delete_nodes(["fact:0"])
    assert listed(store) == []


def test_a_node_whose_embedding_has_no_direction_is_stored(store: PlugmemVectorStore) -> None:
    store.add([note("a", "???", [0.0, 0.0]), note("b", "tea", EAST), note("c", "none", [])])
    assert listed(store) == ["a", "b", "c"]
    assert ids(store, near(EAST)) == ["b"]


@pytest.mark.parametrize("mode", ["default", "mmr"])
def test_a_question_without_direction_is_as_near_to_everything(
    store: PlugmemVectorStore, mode: str
) -> None:
    store.add([note("a", "one", NORTH), note("b", "two", EAST), note("c", "three", NORTH)])
    result = store.query(near([0.0, 0.0], k=2, mode=VectorStoreQueryMode(mode)))
    assert (result.ids, result.similarities) == (["a", "b"], [0.0, 0.0])


def test_a_hybrid_question_without_direction_goes_by_its_words(store: PlugmemVectorStore) -> None:
    store.add([note("a", "one", NORTH), note("b", "two", EAST)])
    asked = near([0.0, 0.0], query_str="two", mode=VectorStoreQueryMode.HYBRID)
    assert ids(store, asked) == ["b"]


def test_a_key_that_is_a_number_is_no_id_of_a_fact(
    store: PlugmemVectorStore, memory: Memory
) -> None:
    memory.remember("green tea at night")  # which gets the id 0
    store.add([note("0", "green tea at noon", EAST)])
    assert sorted(ids(store, worded("tea", k=2))) == ["0", "fact:0"]
    store.delete_nodes(["0"])
    assert listed(store) == ["fact:0"]


def test_a_node_that_is_planned_is_read_but_not_found(
    store: PlugmemVectorStore, clock: Clock
) -> None:
    store.add([note("a", "tea at four", EAST)])
    store.add([note("a", "tea at five", EAST, fact_valid_from="2030-01-01")])
    assert [node.get_content() for node in store.get_nodes()] == ["tea at five"]
    assert [node.get_content() for node in store.get_nodes(["a"])] == ["tea at five"]
    result = store.query(near(EAST))
    assert [node.get_content() for node in result.nodes or ()] == ["tea at four"]
    clock.set("2030-01-02")
    result = store.query(near(EAST))
    assert [node.get_content() for node in result.nodes or ()] == ["tea at five"]


# -- deleting


def test_deleting_a_document_forgets_its_nodes_in_every_version(
    store: PlugmemVectorStore, memory: Memory, clock: Clock
) -> None:
    store.add([note("a", "tea at four", EAST, "d"), note("b", "rain", EAST, "e"), note("c")])
    earlier = clock.now
    clock.tick(DAY)
    store.add([note("a", "tea at five", EAST, "d")])
    store.add([note("f", "planned", EAST, "d", fact_valid_from="2030-01-01")])
    store.delete("d")
    assert listed(store) == ["b", "c"]
    assert ids(store, worded("tea"), as_of=earlier) == []
    assert {fact.key for fact in memory.list_facts(closed=True, valid_at="2031-01-01")} == {
        "b",
        "c",
    }


@pytest.mark.parametrize("nothing", [None, "None", "", " ", "unknown", "%", "_plugmem_node"])
def test_deleting_a_document_that_is_not_there_deletes_nothing(
    store: PlugmemVectorStore, nothing: Any
) -> None:
    store.add([note("parentless"), note("a", document="d"), note("b", doc_id=nothing)])
    store.delete(nothing)
    assert listed(store) == ["parentless", "a", "b"]


def test_a_node_that_went_to_another_document_stays_without_its_past(
    store: PlugmemVectorStore, clock: Clock
) -> None:
    store.add([note("a", "of d", EAST, "d")])
    earlier = clock.now
    clock.tick(DAY)
    store.add([note("a", "of e", EAST, "e")])
    store.delete("d")
    assert [node.get_content() for node in store.get_nodes()] == ["of e"]
    assert ids(store, near(EAST), as_of=earlier) == []


def test_what_a_node_linked_ends_with_it(store: PlugmemVectorStore, memory: Memory) -> None:
    links = {"fact_entity": "Ines", "fact_links": [["keeps", "key"]]}
    store.add([note("a", "Ines keeps the key", document="d", **links)])
    assert [edge.relation for edge in memory.edges()] == ["keeps"]
    store.delete("d")
    assert memory.edges() == ()


def test_nodes_are_deleted_by_id_by_filter_and_by_both(store: PlugmemVectorStore) -> None:
    def left(node_ids: list[str] | None, filters: MetadataFilters | None) -> list[str]:
        store.add([note("a", page=1), note("b", page=2), note("c", page=2)])
        store.delete_nodes(node_ids, filters)
        return sorted(listed(store))

    assert left(["a", "unknown"], None) == ["b", "c"]
    assert left(None, only("page", 2)) == ["a"]
    assert left(["a", "b"], only("page", 2)) == ["a", "c"]
    assert left([], None) == ["a", "b", "c"]
    assert left([], only("page", 2)) == ["a", "b", "c"]
    assert left(["unknown"], None) == ["a", "b", "c"]
    assert left(None, only("page", 5)) == ["a", "b", "c"]
    assert left(["b"], MetadataFilters(filters=[])) == ["a", "c"]


def test_a_deleted_node_leaves_no_version(
    store: PlugmemVectorStore, memory: Memory, clock: Clock
) -> None:
    for page in (1, 2):
        store.add([note("a", page=page), note("b", page=page)])
        clock.tick()
    store.delete_nodes(["a"])
    store.delete_nodes(filters=only("page", 2))
    assert len(memory.list_facts(closed=True)) == 0


@pytest.mark.parametrize("filters", [None, MetadataFilters(filters=[])])
def test_deleting_without_saying_which_is_refused(
    store: PlugmemVectorStore, filters: MetadataFilters | None
) -> None:
    store.add([note("a")])
    with pytest.raises(InvalidInputError, match=r"clear\(\)"):
        store.delete_nodes(filters=filters)
    assert listed(store) == ["a"]


def test_clearing_is_for_the_own_namespace(memory: Memory) -> None:
    stores = [PlugmemVectorStore(memory, namespace=path) for path in ((), ("a",), ("a", "b"))]
    for store in stores:
        store.add([note("n", "tea", EAST)])
    stores[1].clear()
    assert [listed(store) for store in stores] == [["n"], [], ["n"]]
    stores[0].clear()
    assert [listed(store) for store in stores] == [[], [], ["n"]]
    assert ids(stores[0], near(EAST)) == []
    stores[0].add([note("again", vector=EAST)])
    assert ids(stores[0], near(EAST)) == ["again"]


def test_stores_on_one_memory_never_mix(memory: Memory) -> None:
    spaces: list[tuple[str, ...]] = [(), ("a",), ("a", "b"), ("ab",)]
    stores = [PlugmemVectorStore(memory, namespace=space) for space in spaces]
    for number, store in enumerate(stores):
        store.add([note("same", f"tea {number}", EAST, "d"), note(f"own{number}", "tea", EAST)])
    queries = [
        near(EAST),
        near(EAST, mode=VectorStoreQueryMode.MMR),
        worded("tea"),
        near(EAST, query_str="tea", mode=VectorStoreQueryMode.HYBRID),
        VectorStoreQuery(similarity_top_k=10),
        near(EAST, doc_ids=["d"], node_ids=["same"]),
    ]
    for number, store in enumerate(stores):
        for query in queries:
            assert {"same"} <= set(ids(store, query)) <= {"same", f"own{number}"}
        assert store.get_nodes(["same"])[0].get_content() == f"tea {number}"
        [own] = store.get_nodes([f"own{n}" for n in range(4)])
        assert own.node_id == f"own{number}"
    stores[1].delete("d")
    stores[1].delete_nodes(["own0", "own2"])
    assert [listed(store) for store in stores] == [
        ["same", "own0"],
        ["own1"],
        ["same", "own2"],
        ["same", "own3"],
    ]


def test_what_lies_below_never_starves_a_query(memory: Memory) -> None:
    below = PlugmemVectorStore(memory, namespace=("below",))
    below.add([note(f"b{n}", "green tea", [1.0, n / 1000]) for n in range(400)])
    own = PlugmemVectorStore(memory)
    own.add([note("a", "some tea of ours", NORTH), note("b", "more of our own tea", NORTH)])
    assert ids(own, near(EAST, 2)) == ["a", "b"]
    assert sorted(ids(own, worded("green tea", 2))) == ["a", "b"]
    hybrid = near(EAST, 2, query_str="green tea", mode=VectorStoreQueryMode.HYBRID)
    assert sorted(ids(own, hybrid)) == ["a", "b"]
