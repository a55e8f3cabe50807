"""`PlugmemGraphStore`: triplets for the older indices of LlamaIndex."""

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import KnowledgeGraphIndex, MockEmbedding, StorageContext
from llama_index.core.graph_stores.types import GraphStore
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

from llama_index_plugmem import PlugmemGraphStore, PlugmemPropertyGraphStore
from plugmem_core import InvalidInputError, Memory, WrongTypeError

CHAIN = [["A", "r", "B"], ["B", "r", "C"], ["C", "r", "D"]]


@pytest.fixture
def store(memory: Memory) -> PlugmemGraphStore:
    return PlugmemGraphStore(memory)


def tell(store: PlugmemGraphStore, *triplets: list[str]) -> None:
    for source, label, target in triplets:
        store.upsert_triplet(source, label, target)


def test_it_is_a_graph_store_that_is_never_false(store: PlugmemGraphStore, memory: Memory) -> None:
    assert isinstance(store, GraphStore)
    assert bool(store)
    assert store.client is memory


def test_a_subject_has_its_relations_in_the_order_they_were_told(store: PlugmemGraphStore) -> None:
    tell(store, ["A", "s", "C"], ["A", "r", "B"], ["B", "r", "A"], ["A", "r", "C"])
    assert store.get("A") == [["s", "C"], ["r", "B"], ["r", "C"]]
    assert store.get("C") == store.get("unknown") == store.get("") == []


def test_a_triplet_told_again_is_there_once(store: PlugmemGraphStore, memory: Memory) -> None:
    tell(store, ["A", "r", "B"], ["A", "r", "B"])
    assert store.get("A") == [["r", "B"]]
    assert memory.stats().facts == 3


def test_deleting_takes_away_one_triplet_and_nothing_else(store: PlugmemGraphStore) -> None:
    tell(store, ["A", "r", "B"], ["A", "s", "B"], ["B", "r", "A"], ["A", "r", "C"])
    store.delete("A", "r", "B")
    assert store.get("A") == [["s", "B"], ["r", "C"]]
    assert store.get("B") == [["r", "A"]]
    for triplet in (["A", "r", "B"], ["X", "r", "B"], ["A", "x", "C"], ["a", "r", "C"]):
        store.delete(*triplet)
    assert store.get("A") == [["s", "B"], ["r", "C"]]


def test_what_only_the_deleted_triplet_spoke_of_goes_with_it(
    store: PlugmemGraphStore, memory: Memory
) -> None:
    graph = PlugmemPropertyGraphStore(memory, namespace=("triplets",))
    tell(store, ["A", "r", "B"], ["B", "r", "C"], ["C", "r", "C"])
    store.delete("A", "r", "B")
    assert [node.id for node in graph.get()] == ["B", "C"]
    store.delete("C", "r", "C")
    assert [node.id for node in graph.get()] == ["B", "C"]
    store.delete("B", "r", "C")
    assert graph.get() == []
    tell(store, ["A", "r", "B"])
    assert store.get("A") == [["r", "B"]]


def test_the_map_leads_away_from_each_subject(store: PlugmemGraphStore) -> None:
    tell(store, *CHAIN)
    assert store.get_rel_map(["A", "C", "X"], depth=2) == {
        "A": CHAIN[:2],
        "C": CHAIN[2:],
        "X": [],
    }
    assert store.get_rel_map(["D"]) == {"D": []}
    assert store.get_rel_map([]) == {}
    assert store.get_rel_map(depth=1) == {"A": CHAIN[:1], "B": CHAIN[1:2], "C": CHAIN[2:]}


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 9])
def test_the_map_goes_as_deep_as_it_is_told(store: PlugmemGraphStore, depth: int) -> None:
    tell(store, *CHAIN)
    assert store.get_rel_map(["A"], depth=depth) == {"A": CHAIN[:depth]}


@pytest.mark.parametrize("limit", range(6))
def test_the_limit_of_the_map_counts_all_of_it(store: PlugmemGraphStore, limit: int) -> None:
    tell(store, *CHAIN)
    found = store.get_rel_map(["A", "B"], depth=9, limit=limit)
    assert found["A"] + found["B"] == [*CHAIN, *CHAIN[1:]][:limit]


def test_cycles_and_loops_give_each_triplet_once(store: PlugmemGraphStore) -> None:
    triplets = [["A", "r", "A"], ["A", "r", "B"], ["A", "s", "B"], ["B", "r", "A"]]
    tell(store, *triplets)
    assert store.get_rel_map(["A"], depth=9) == {"A": triplets}


def test_subjects_are_told_apart_by_every_character(store: PlugmemGraphStore) -> None:
    tell(store, ["café", "r", "x"], ["Cafe", "r", "y"], ["!", "r", "?"])
    assert store.get("café") == [["r", "x"]]
    assert store.get("cafe") == []
    assert store.get("!") == [["r", "?"]]


def test_double_quotes_in_names_are_found_again(store: PlugmemGraphStore) -> None:
    tell(store, ['the "Owl"', 'is "r"', "B"])
    assert store.get('the "Owl"') == [['is "r"', "B"]]
    store.delete('the "Owl"', 'is "r"', "B")
    assert store.get('the "Owl"') == []


def test_texts_come_back_with_every_character(store: PlugmemGraphStore, memory: Memory) -> None:
    texts = ['"no"', " no ", "no", 'a"b', "a b", "a  b", 'a""b', "\\", '\\"', "C++", "C#"]
    triplets = [[one, f"is {one}", two] for one in texts for two in texts]
    tell(store, *triplets)
    for text in texts:
        assert store.get(text) == [[f"is {text}", two] for two in texts]
    assert store.get_rel_map(['a"b'], depth=1) == {
        'a"b': [['a"b', 'is a"b', two] for two in texts],
    }
    graph = PlugmemPropertyGraphStore(memory, namespace=("triplets",))
    assert [node.id for node in graph.get()] == texts
    with PlugmemPropertyGraphStore.from_dict(graph.to_dict()) as copy:
        assert [node.id for node in copy.get()] == texts
        assert len(copy.get_triplets(ids=['a"b'])) == 2 * len(texts) - 1
    for triplet in triplets:
        if triplet != ["a b", "is a b", 'a"b']:
            store.delete(*triplet)
    assert store.get_rel_map() == {"a b": [["a b", "is a b", 'a"b']]}
    assert [node.id for node in graph.get()] == ['a"b', "a b"]


@pytest.mark.parametrize("text", [None, 5, ["A"]])
def test_a_subject_of_another_type_is_refused(store: PlugmemGraphStore, text: Any) -> None:
    with pytest.raises(WrongTypeError, match="subj is"):
        store.get(text)


def test_namespaces_are_kept_apart(memory: Memory) -> None:
    one = PlugmemGraphStore(memory, namespace=("one",))
    other = PlugmemGraphStore(memory, namespace=("one", "below"))
    tell(one, ["A", "r", "B"])
    tell(other, ["A", "r", "C"])
    assert (one.get("A"), other.get("A")) == ([["r", "B"]], [["r", "C"]])
    one.delete("A", "r", "C")
    assert other.get_rel_map() == {"A": [["A", "r", "C"]]}


def test_triplets_last(tmp_path: Path) -> None:
    with PlugmemGraphStore.open(tmp_path / "graph.db") as store:
        tell(store, *CHAIN)
        store.persist(str(tmp_path / "graph_store.json"))
    assert not (tmp_path / "graph_store.json").exists()
    with PlugmemGraphStore.open(tmp_path / "graph.db") as store:
        assert store.get_rel_map(["A"], depth=9) == {"A": CHAIN}


def test_the_memory_recalls_triplets(store: PlugmemGraphStore, memory: Memory) -> None:
    tell(store, ["Ines", "reports_to", "Olga"])
    [fact, *_] = memory.recall("reports", namespace=("triplets",)).facts
    assert fact.text == "Ines reports to Olga"


def test_the_schema_names_the_relations(store: PlugmemGraphStore) -> None:
    tell(store, *CHAIN)
    assert "(:entity)-[:r]->(:entity)" in store.get_schema(refresh=True)


def test_there_is_no_query_language(store: PlugmemGraphStore) -> None:
    with pytest.raises(NotImplementedError, match="use get or get_rel_map"):
        store.query("MATCH (n) RETURN n")


@pytest.mark.parametrize(
    ("triplet", "error", "says"),
    [
        (["", "r", "B"], InvalidInputError, "the source of the triplet has the id '', which is"),
        (["A", " ", "B"], InvalidInputError, "relation is ' ', which is blank"),
        (["A", "r", None], WrongTypeError, "obj is None"),
    ],
    ids=str,
)
def test_a_triplet_that_cannot_be_stored_is_refused(
    store: PlugmemGraphStore, triplet: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        tell(store, triplet)
    assert store.get_rel_map() == {}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"subjs": "A"}, "subjs is 'A', one text"),
        ({"depth": -1}, "depth"),
        ({"limit": -1}, "limit"),
    ],
    ids=str,
)
def test_a_map_that_cannot_be_made_is_refused(
    store: PlugmemGraphStore, arguments: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        store.get_rel_map(**arguments)


# LlamaIndex has deprecated this index, and tells so.
@pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
def test_the_older_index_works_on_it(store: PlugmemGraphStore) -> None:
    context = StorageContext.from_defaults(graph_store=store)
    index = KnowledgeGraphIndex(
        [TextNode(text="Ines tends the library")],
        storage_context=context,
        llm=MockLLM(),
        embed_model=MockEmbedding(embed_dim=4),
        kg_triplet_extract_fn=lambda _: [("Ines", "tends", "the library")],
    )
    assert store.get("Ines") == [["tends", "the library"]]
    index.upsert_triplet(("Ines", "reports to", "Olga"))
    assert store.get("Ines") == [["tends", "the library"], ["reports to", "Olga"]]
