"""`PlugmemPropertyGraphStore` in LlamaIndex: `PropertyGraphIndex`, its retrievers, and deletion."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import Document, MockEmbedding, PropertyGraphIndex, StorageContext
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    ChunkNode,
    EntityNode,
    Relation,
)
from llama_index.core.indices.property_graph import (
    ImplicitPathExtractor,
    LLMSynonymRetriever,
    VectorContextRetriever,
)
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import BaseNode, TextNode, TransformComponent
from llama_index.core.vector_stores.types import (
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from llama_index_plugmem import PlugmemPropertyGraphStore
from plugmem_core import (
    HashingEmbedder,
    InvalidInputError,
    Memory,
    VectorSpaceError,
    WrongTypeError,
)

ANSWERED = "Here are some facts extracted from the provided text:\n\n"


class Sentences(TransformComponent):
    """Reads sentences of three words: a name, a verb and a name."""

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> Sequence[BaseNode]:
        for node in nodes:
            sentences = [part.split() for part in node.get_content().split(".") if part.strip()]
            found = [words for words in sentences if len(words) == 3]
            node.metadata[KG_NODES_KEY] = [
                EntityNode(name=name, label="PERSON") for one in found for name in (one[0], one[2])
            ]
            node.metadata[KG_RELATIONS_KEY] = [
                Relation(label=verb, source_id=source, target_id=target)
                for source, verb, target in found
            ]
        return nodes


class Letters(BaseEmbedding):
    """Counts letters: texts of the same letters are near to each other."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


@pytest.fixture
def store(memory: Memory) -> PlugmemPropertyGraphStore:
    return PlugmemPropertyGraphStore(memory)


def index_of(store: PlugmemPropertyGraphStore, *documents: Document) -> PropertyGraphIndex:
    return PropertyGraphIndex.from_documents(
        list(documents),
        property_graph_store=store,
        kg_extractors=[Sentences(), ImplicitPathExtractor()],
        embed_model=MockEmbedding(embed_dim=8),
        llm=MockLLM(),
        use_async=False,
    )


def document(name: str, text: str) -> Document:
    return Document(text=text, id_=name)


def names(store: PlugmemPropertyGraphStore) -> set[str]:
    return {node.id for node in store.get() if node.label == "PERSON"}


def known(store: PlugmemPropertyGraphStore) -> list[tuple[str, str, str]]:
    persons = store.get_triplets(relation_names=["knows", "hires", "likes"])
    return [(source.id, relation.id, target.id) for source, relation, target in persons]


def chunk_of(store: PlugmemPropertyGraphStore, name: str) -> str:
    [chunk] = store.get(properties={"ref_doc_id": name})
    return chunk.id


# -- the index


def test_an_index_is_made_and_asked_without_any_model(store: PlugmemPropertyGraphStore) -> None:
    index = PropertyGraphIndex.from_documents(
        [document("d1", "Ines knows Olga."), document("d2", "Olga hires Ivo.")],
        property_graph_store=store,
        kg_extractors=[Sentences()],
        embed_kg_nodes=False,
        use_async=False,
    )
    assert names(store) == {"Ines", "Olga", "Ivo"}
    assert known(store) == [("Ines", "knows", "Olga"), ("Olga", "hires", "Ivo")]
    assert index.property_graph_store is store


def test_the_index_answers_with_the_text_each_relation_came_from(
    store: PlugmemPropertyGraphStore,
) -> None:
    # Olga comes from the first document; what she does, from the second.
    index = index_of(
        store, document("d1", "Ines knows Olga."), document("d2", "Olga hires Ivo. Nothing else.")
    )
    vectors = VectorContextRetriever(store, embed_model=MockEmbedding(embed_dim=8))
    retriever = index.as_retriever(sub_retrievers=[vectors], use_async=False)
    found = {node.text for node in retriever.retrieve("who?")}
    assert found == {
        f"{ANSWERED}Ines -> knows -> Olga\n\nInes knows Olga.",
        f"{ANSWERED}Olga -> hires -> Ivo\n\nOlga hires Ivo. Nothing else.",
    }


@pytest.mark.parametrize("use_async", [True, False])
async def test_the_default_retriever_and_engines_work(
    store: PlugmemPropertyGraphStore, use_async: bool
) -> None:
    index = index_of(store, document("d1", "Ines knows Olga."))
    retriever = index.as_retriever(use_async=use_async)
    [found] = await retriever.aretrieve("who?")
    assert found.text == f"{ANSWERED}Ines -> knows -> Olga\n\nInes knows Olga."
    assert type(found.score) is float
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert "Ines -> knows -> Olga" in str(await engine.aquery("who?"))


def test_names_in_capitals_are_found_by_the_synonym_retriever(
    store: PlugmemPropertyGraphStore,
) -> None:
    index_of(store, document("d1", "Ines knows Olga."))
    retriever = LLMSynonymRetriever(
        store, llm=MockLLM(), include_text=False, output_parsing_fn=lambda _: ["Olga", "", "Nobody"]
    )
    assert [node.text for node in retriever.retrieve("?")] == ["Ines -> knows -> Olga"]


def test_the_nearest_entity_comes_first(store: PlugmemPropertyGraphStore) -> None:
    index = PropertyGraphIndex.from_documents(
        [document("d1", "Zoe knows Ann. Bob likes Max.")],
        property_graph_store=store,
        kg_extractors=[Sentences()],
        embed_model=Letters(),
        llm=MockLLM(),
        use_async=False,
    )
    vectors = VectorContextRetriever(
        store, embed_model=Letters(), include_text=False, similarity_top_k=1
    )
    retriever = index.as_retriever(sub_retrievers=[vectors], use_async=False)
    [found] = retriever.retrieve("Zoe Zoe Zoe")
    assert found.text == "Zoe -> knows -> Ann"


def test_what_is_there_is_not_inserted_again(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    text = document("d1", "Ines knows Olga.")
    node = TextNode(text="Olga hires Ivo.", id_="c2", metadata={"z": 1, "a": [1]})
    index = index_of(store, text)
    index.insert_nodes([node])
    before = memory.stats().facts
    again = PropertyGraphIndex.from_existing(
        store,
        kg_extractors=[Sentences()],
        embed_model=MockEmbedding(embed_dim=8),
        llm=MockLLM(),
        use_async=False,
    )
    again.insert_nodes([TextNode(text="Olga hires Ivo.", id_="c2", metadata={"z": 1, "a": [1]})])
    assert memory.stats().facts == before
    assert names(store) == {"Ines", "Olga", "Ivo"}


def test_a_name_said_often_in_a_batch_is_one_entity(store: PlugmemPropertyGraphStore) -> None:
    index_of(store, document("d1", "Ines knows Olga. Olga knows Ines. Ines likes Ines."))
    assert [node.id for node in store.get() if node.label == "PERSON"] == ["Ines", "Olga"]
    assert len(known(store)) == 3
    query = VectorStoreQuery(query_embedding=[0.5] * 8, similarity_top_k=10)
    assert sorted(node.id for node in store.vector_query(query)[0]) == ["Ines", "Olga"]


def test_an_index_lives_on_in_the_file(tmp_path: Any) -> None:
    with PlugmemPropertyGraphStore.open(tmp_path / "graph.db") as store:
        index_of(store, document("d1", "Ines knows Olga."))
    with PlugmemPropertyGraphStore.open(tmp_path / "graph.db") as store:
        index = PropertyGraphIndex.from_existing(
            store,
            kg_extractors=[Sentences()],
            embed_model=MockEmbedding(embed_dim=8),
            llm=MockLLM(),
            use_async=False,
        )
        index.insert(document("d2", "Olga hires Ivo."))
        found = {node.text for node in index.as_retriever(include_text=False).retrieve("who?")}
        assert found == {"Ines -> knows -> Olga", "Olga -> hires -> Ivo"}


def test_a_storage_context_keeps_it_though_it_is_empty(
    store: PlugmemPropertyGraphStore, tmp_path: Any
) -> None:
    context = StorageContext.from_defaults(property_graph_store=store)
    assert context.property_graph_store is store
    context.persist(str(tmp_path))
    assert (tmp_path / "property_graph_store.json").exists()


# -- deleting what came from a document


def test_what_came_from_a_document_alone_goes_with_it(store: PlugmemPropertyGraphStore) -> None:
    index = index_of(store, document("d1", "Ines knows Olga."), document("d2", "Ivo likes Max."))
    gone = chunk_of(store, "d1")
    index.delete_ref_doc("d1")
    assert names(store) == {"Ivo", "Max"}
    assert known(store) == [("Ivo", "likes", "Max")]
    assert store.get_llama_nodes([gone]) == []
    assert store.get(ids=["d1"]) == []
    query = VectorStoreQuery(query_embedding=[0.5] * 8, similarity_top_k=10)
    assert sorted(node.id for node in store.vector_query(query)[0]) == ["Ivo", "Max"]
    index.delete_ref_doc("d2")
    assert store.get() == []


def test_an_entity_and_a_relation_of_two_documents_stay_until_both_are_gone(
    store: PlugmemPropertyGraphStore,
) -> None:
    same = "Ines knows Olga."
    index = index_of(store, document("d1", same), document("d2", f"{same} Olga hires Ivo."))
    second = chunk_of(store, "d2")
    index.delete_ref_doc("d1")
    assert names(store) == {"Ines", "Olga", "Ivo"}
    [triple] = [one for one in store.get_rel_map(store.get(ids=["Ines"])) if one[1].id == "knows"]
    assert triple[0].properties["triplet_source_id"] == second
    assert triple[1].properties["triplet_source_id"] == second
    index.delete_ref_doc("d2")
    assert store.get() == []


def test_an_entity_that_a_relation_of_another_document_holds_stays(
    store: PlugmemPropertyGraphStore,
) -> None:
    # LlamaIndex does not insert the entity again with the second document.
    index = index_of(store, document("d1", "Ines knows Olga."))
    index.insert(document("d2", "Olga hires Ivo."))
    index.delete_ref_doc("d1")
    assert names(store) == {"Olga", "Ivo"}
    assert store.get(ids=["Olga"])[0].properties == {"triplet_source_id": chunk_of(store, "d2")}
    index.delete_ref_doc("d2")
    assert store.get() == []


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("A letter from new york came today.", True),
        ("NEW—YORK!", True),
        ("York is new.", False),
        ("New is the York of old.", False),
        ("Newyork", False),
    ],
)
def test_an_entity_that_the_text_of_another_chunk_names_stays(
    store: PlugmemPropertyGraphStore, text: str, stays: bool
) -> None:
    store.upsert_llama_nodes([TextNode(text="New York", id_="c1"), TextNode(text=text, id_="c2")])
    store.upsert_nodes([EntityNode(name="New York", properties={"triplet_source_id": "c1"})])
    store.delete(ids=["c1"])
    found = store.get(ids=["New York"])
    assert bool(found) == stays
    if stays:
        assert found[0].properties == {"triplet_source_id": "c2"}
        store.delete(ids=["c2"])
        assert store.get() == []


def test_the_one_text_that_names_an_entity_is_found_among_many(
    store: PlugmemPropertyGraphStore,
) -> None:
    texts = [f"york new number {number} " * (number % 7 + 1) for number in range(400)]
    store.upsert_llama_nodes(
        [TextNode(text=text, id_=f"c{number}") for number, text in enumerate(texts)]
    )
    long = "new york " + "and many other words " * 200
    store.upsert_llama_nodes([TextNode(text=long, id_="last")])
    store.upsert_nodes([EntityNode(name="New York", properties={"triplet_source_id": "gone"})])
    store.delete_llama_nodes(["gone"])
    assert store.get(ids=["New York"])[0].properties == {"triplet_source_id": "last"}


def test_a_mention_of_another_chunk_holds_an_entity(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1"), TextNode(text="two", id_="c2")])
    store.upsert_nodes([EntityNode(name="A", properties={"triplet_source_id": "c1"})])
    store.upsert_relations(
        [Relation(label="MENTIONS", source_id=chunk, target_id="A") for chunk in ("c1", "c2")]
    )
    store.delete(ids=["c1"])
    assert store.get(ids=["A"])[0].properties == {"triplet_source_id": "c2"}
    store.delete(ids=["c2"])
    assert store.get() == []


def test_what_was_added_by_hand_never_goes_with_a_chunk(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1")])
    store.upsert_nodes([EntityNode(name="A"), EntityNode(name="B")])
    store.upsert_relations([Relation(label="R", source_id="A", target_id="B")])
    store.upsert_relations(
        [Relation(label="S", source_id="A", target_id="B", properties={"triplet_source_id": "c1"})]
    )
    store.delete(ids=["c1"])
    assert [node.id for node in store.get()] == ["A", "B"]
    assert [one[1].id for one in store.get_triplets(ids=["A"])] == ["R"]


def test_a_relation_by_hand_holds_an_entity_that_then_has_no_source(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1")])
    store.upsert_nodes([EntityNode(name="A", properties={"triplet_source_id": "c1", "x": 1})])
    store.upsert_relations([Relation(label="R", source_id="A", target_id="B")])
    store.delete(ids=["c1"])
    assert store.get(ids=["A"])[0].properties == {"x": 1}


def test_ends_that_a_relation_made_go_with_its_chunk(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(text="one", id_="c1")])
    relation = Relation(
        label="R", source_id="A", target_id="B", properties={"triplet_source_id": "c1"}
    )
    store.upsert_relations([relation])
    store.delete(ids=["c1"])
    assert store.get() == []


def test_a_document_goes_though_a_text_has_its_id(store: PlugmemPropertyGraphStore) -> None:
    index = index_of(store, document("report", "Ines knows Olga."), document("d2", "A report."))
    index.delete_ref_doc("report")
    assert store.get(ids=["report", "Ines"]) == []


@pytest.mark.parametrize("implicit", [True, False])
def test_an_entity_with_the_name_of_the_document_stays(
    store: PlugmemPropertyGraphStore, implicit: bool
) -> None:
    index = PropertyGraphIndex.from_documents(
        [document("Ines", "Ines hires Ivo."), document("d2", "Ines knows Olga.")],
        property_graph_store=store,
        kg_extractors=[Sentences(), *([ImplicitPathExtractor()] if implicit else [])],
        embed_kg_nodes=False,
        use_async=False,
    )
    index.delete_ref_doc("Ines")
    assert names(store) == {"Ines", "Olga"}
    assert known(store) == [("Ines", "knows", "Olga")]
    assert store.get_triplets(relation_names=["SOURCE"], ids=["Ines"]) == []


def test_an_entity_by_hand_stays_when_a_document_or_chunk_of_its_name_goes(
    store: PlugmemPropertyGraphStore,
) -> None:
    store.upsert_relations([Relation(label="R", source_id="Ines", target_id="Olga")])
    store.upsert_nodes([EntityNode(name="Ivo")])
    store.delete_llama_nodes(node_ids=["Ines", "Ivo"], ref_doc_ids=["Ines", "Ivo"])
    assert [node.id for node in store.get()] == ["Ines", "Olga", "Ivo"]
    assert len(store.get_triplets(ids=["Ines"])) == 1


def test_what_stands_for_a_document_goes_once_nothing_holds_it(
    store: PlugmemPropertyGraphStore,
) -> None:
    source = document("d1", "").as_related_node_info()
    store.upsert_llama_nodes([TextNode(text="one", id_="c1", relationships={"1": source})])
    store.upsert_relations([Relation(label="SOURCE", source_id="c1", target_id="d1")])
    store.upsert_relations([Relation(label="CITES", source_id="d2", target_id="d1")])
    store.delete_ref_doc("d1")
    assert [node.id for node in store.get()] == ["d1", "d2"]
    store.delete(relation_names=["CITES"])
    store.delete_ref_doc("d1")
    assert [node.id for node in store.get()] == ["d2"]


MANY = {
    "short": [f"c{number}" for number in range(700)],
    "long": [f"https://example.org/{'d' * 140}#{number}" for number in range(480)],
    "very long": [f"{'d' * 1000}{number}" for number in range(100)],
}


@pytest.mark.parametrize("sources", MANY.values(), ids=MANY)
@pytest.mark.parametrize("at_once", [True, False])
def test_what_very_many_chunks_brought_goes_with_the_last_of_them(
    store: PlugmemPropertyGraphStore, memory: Memory, sources: list[str], at_once: bool
) -> None:
    given = [
        Relation(label="R", source_id="A", target_id="B", properties={"triplet_source_id": one})
        for one in sources
    ]
    store.upsert_nodes(
        [EntityNode(name="A", properties={"triplet_source_id": one}) for one in sources]
    )
    if at_once:
        store.upsert_relations(given)
    else:
        for some in range(0, len(given), 20):
            store.upsert_relations(given[some : some + 20])
    shown = store.get_triplets(ids=["A"])[0][1].properties["triplet_source_id"]
    assert shown == sources[-1]
    for one in (sources[0], sources[len(sources) // 2], sources[-1]):
        found = store.get(properties={"triplet_source_id": one})
        assert [node.id for node in found if node.id == "A"] == ["A"]
        # Its ends have the source as well.
        assert len(store.get_triplets(properties={"triplet_source_id": one})) == 1
    assert store.get(properties={"triplet_source_id": "other"}) == []
    kept = sources[3]
    store.delete_llama_nodes([one for one in sources if one != kept])
    assert [node.id for node in store.get()] == ["A", "B"]
    [(source, relation, _)] = store.get_triplets(ids=["A"])
    assert source.properties == relation.properties == {"triplet_source_id": kept}
    store.delete_llama_nodes([kept])
    assert memory.list_facts(namespace=("graph",)).facts == ()


def test_many_sources_are_counted_out_one_by_one(store: PlugmemPropertyGraphStore) -> None:
    sources = [f"chunk number {number:04} of a long document" for number in range(200)]
    order = random.Random(5).sample(sources, len(sources))
    store.upsert_nodes(
        [EntityNode(name="A", properties={"triplet_source_id": one}) for one in sources]
    )
    for place, one in enumerate(order):
        assert len(store.get(ids=["A"])) == 1
        if place == 100:  # a source that was there, and one that was not
            again = [EntityNode(name="A", properties={"triplet_source_id": order[150]})]
            again.append(EntityNode(name="A", properties={"triplet_source_id": "new"}))
            store.upsert_nodes(again)
        store.delete(ids=[one])
    assert store.get(ids=["A"])[0].properties == {"triplet_source_id": "new"}
    store.delete(ids=["new"])
    assert store.get() == []


def test_sources_of_what_was_deleted_do_not_come_back(store: PlugmemPropertyGraphStore) -> None:
    sources = [f"chunk number {number:04} of a long document" for number in range(200)]
    given = [EntityNode(name="A", properties={"triplet_source_id": one}) for one in sources]
    store.upsert_nodes(given)
    store.delete(ids=["A"])
    store.upsert_nodes(given[100:])
    store.delete_llama_nodes(sources[100:])
    assert store.get() == []


def test_a_failed_change_changes_no_sources(store: PlugmemPropertyGraphStore) -> None:
    sources = [f"chunk number {number:04} of a long document" for number in range(200)]
    given = [EntityNode(name="A", properties={"triplet_source_id": one}) for one in sources]
    store.upsert_nodes(given[:100])
    with pytest.raises(InvalidInputError):
        store.upsert_nodes([*given[100:], EntityNode(name="B", properties={"x": float("nan")})])
    assert store.get(properties={"triplet_source_id": sources[150]}) == []
    store.delete_llama_nodes(sources[:100])
    assert store.get() == []


def test_the_facts_of_a_hub_do_not_grow_with_its_sources(
    store: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    for number in range(300):
        node = EntityNode(name="A", properties={"triplet_source_id": f"chunk {number:030}"})
        store.upsert_nodes([node])
    versions = memory.list_facts(namespace=("graph",), closed=True, limit=1_000)
    assert len(versions.facts) == 300
    assert max(len(str(fact.metadata)) for fact in versions) < 6_000


def test_other_chunks_of_the_document_stay(store: PlugmemPropertyGraphStore) -> None:
    index = index_of(store)
    source = document("d1", "").as_related_node_info()
    nodes = [
        TextNode(text="Ines knows Olga.", id_="c1", relationships={"1": source}),
        TextNode(text="Ivo likes Max.", id_="c2", relationships={"1": source}),
    ]
    index.insert_nodes(nodes)
    index.delete_nodes(["c1"])
    assert names(store) == {"Ivo", "Max"}
    assert [node.id for node in store.get() if isinstance(node, ChunkNode)] == ["c2"]


def test_an_entity_deleted_by_hand_takes_no_chunk_and_no_other_with_it(
    store: PlugmemPropertyGraphStore,
) -> None:
    index_of(store, document("d1", "Ines knows Olga."))
    store.delete(entity_names=["Ines"])
    assert names(store) == {"Olga"}
    assert chunk_of(store, "d1")


@pytest.mark.parametrize("way", ["delete_ref_doc", "ref_doc_ids", "node_ids", "delete"])
def test_every_way_to_delete_a_document_deletes_what_came_from_it(
    store: PlugmemPropertyGraphStore, way: str
) -> None:
    index_of(store, document("d1", "Ines knows Olga."), document("d2", "Ivo likes Max."))
    chunk = chunk_of(store, "d1")
    match way:
        case "delete_ref_doc":
            store.delete_ref_doc("d1")
        case "ref_doc_ids":
            store.delete_llama_nodes(ref_doc_ids=["d1"])
        case "node_ids":
            store.delete_llama_nodes(node_ids=[chunk])
        case "delete":
            store.delete(ids=[chunk])
    assert names(store) == {"Ivo", "Max"}
    assert known(store) == [("Ivo", "likes", "Max")]
    assert store.get(ids=["d1", chunk]) == []


def test_a_document_that_is_a_node_itself_goes_with_its_chunks(
    store: PlugmemPropertyGraphStore,
) -> None:
    source = TextNode(text="all of it", id_="d1")
    part = TextNode(text="a part", id_="c1", relationships={"1": source.as_related_node_info()})
    store.upsert_llama_nodes([source, part, TextNode(text="another", id_="c2")])
    store.delete_llama_nodes(ref_doc_ids=["d1"])
    assert [node.id for node in store.get()] == ["c2"]


def test_a_chunk_that_was_never_stored_takes_what_came_from_it(
    store: PlugmemPropertyGraphStore,
) -> None:
    # LlamaIndex leaves out a chunk whose hash is there, but not what was found in it.
    store.upsert_nodes([EntityNode(name="A", properties={"triplet_source_id": "c9"})])
    store.delete(ids=["c9"])
    assert store.get() == []


WORDS = ("Ann", "Bob", "Cleo", "Dan")
stories = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(WORDS), st.sampled_from(["knows", "likes"]), st.sampled_from(WORDS)
        ),
        min_size=1,
        max_size=3,
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(told=stories, order=st.randoms(use_true_random=False), at_once=st.booleans())
def test_the_graph_is_always_that_of_the_documents_that_are_left(
    told: list[list[tuple[str, str, str]]], order: random.Random, at_once: bool
) -> None:
    texts = {f"d{n}": ". ".join(map(" ".join, story)) for n, story in enumerate(told)}
    documents = [document(name, text) for name, text in texts.items()]
    with PlugmemPropertyGraphStore.open(":memory:") as store:
        index = index_of(store, *(documents if at_once else []))
        if not at_once:
            for one in documents:
                index.insert(one)
        left = dict(zip(texts, told, strict=True))
        for gone in order.sample(list(left), len(left)):
            index.delete_ref_doc(gone)
            del left[gone]
            said = {triple for story in left.values() for triple in story}
            assert set(known(store)) == said
            assert names(store) == {name for source, _, target in said for name in (source, target)}
            for source, relation, target in store.get_triplets(relation_names=["knows", "likes"]):
                line = f"{source.id} {relation.id} {target.id}"
                for part, text in ((source, source.id), (relation, line), (target, target.id)):
                    [chunk] = store.get_llama_nodes([part.properties["triplet_source_id"]])
                    assert text in chunk.get_content()
        assert store.get() == []


# -- vectors and words


def query(**fields: Any) -> VectorStoreQuery:
    return VectorStoreQuery(**{"similarity_top_k": 10, **fields})


def found(store: PlugmemPropertyGraphStore, **fields: Any) -> list[str]:
    return [node.id for node in store.vector_query(query(**fields))[0]]


@pytest.fixture
def directions(store: PlugmemPropertyGraphStore) -> PlugmemPropertyGraphStore:
    store.upsert_llama_nodes([TextNode(text="north", id_="c1", embedding=[1.0, 0.0])])
    store.upsert_nodes(
        [
            EntityNode(name="East", embedding=[0.0, 1.0], properties={"n": 1}),
            EntityNode(name="North", properties={"embedding": [1.0, 0.0], "n": 2}),
            EntityNode(name="Northeast", embedding=[1.0, 1.0], properties={"n": 3}),
            EntityNode(name="Nowhere", embedding=[0.0, 0.0]),
            EntityNode(name="Anywhere"),
        ]
    )
    return store


def test_entities_are_found_by_cosine_the_nearest_first(
    directions: PlugmemPropertyGraphStore,
) -> None:
    nodes, scores = directions.vector_query(query(query_embedding=[2.0, 0.0]))
    assert [node.id for node in nodes] == ["North", "Northeast", "East"]
    assert scores == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-3)
    assert all(type(score) is float for score in scores)
    assert nodes[0].properties == {"n": 2}
    assert found(directions, query_embedding=[1.0, 0.0], similarity_top_k=1) == ["North"]


def test_chunks_answer_when_no_entity_has_a_vector(store: PlugmemPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(text="north", id_="c1", embedding=[1.0, 0.0])])
    store.upsert_nodes([EntityNode(name="East")])
    assert found(store, query_embedding=[1.0, 0.0]) == ["c1"]


def test_relations_and_other_facts_of_the_namespace_are_never_found(
    directions: PlugmemPropertyGraphStore, memory: Memory
) -> None:
    directions.upsert_relations([Relation(label="R", source_id="East", target_id="North")])
    memory.remember("north", vector=[1.0, 0.0], namespace=("graph",))
    memory.remember("north", vector=[1.0, 0.0], namespace=("graph", "below"))
    assert found(directions, query_embedding=[1.0, 0.0], similarity_top_k=1) == ["North"]


def test_ids_documents_and_filters_restrict_a_query(store: PlugmemPropertyGraphStore) -> None:
    source = document("d1", "").as_related_node_info()
    store.upsert_llama_nodes([TextNode(text="one", id_="c1", relationships={"1": source})])
    store.upsert_nodes(
        [
            EntityNode(
                name=name,
                embedding=[1.0, n],
                properties={"n": n, "a.b": n, "triplet_source_id": chunk},
            )
            for n, (name, chunk) in enumerate([("A", "c1"), ("B", "c2"), ("C", "c1")])
        ]
    )
    vector = [1.0, 0.0]
    assert found(store, query_embedding=vector) == ["A", "B", "C"]
    assert found(store, query_embedding=vector, node_ids=["C", "B", "unknown"]) == ["B", "C"]
    assert found(store, query_embedding=vector, node_ids=[], doc_ids=[]) == ["A", "B", "C"]
    assert found(store, query_embedding=vector, node_ids=["unknown"]) == []
    assert found(store, query_embedding=vector, doc_ids=["d1"]) == ["A", "C"]
    assert found(store, query_embedding=vector, doc_ids=["unknown"]) == []
    recent = MetadataFilters(filters=[MetadataFilter(key="n", value=1, operator=">=")])
    assert found(store, query_embedding=vector, filters=recent) == ["B", "C"]
    assert found(store, query_embedding=vector, filters=recent, doc_ids=["d1"]) == ["C"]
    assert found(store, query_embedding=vector, filters=recent, similarity_top_k=1) == ["B"]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (VectorStoreQueryMode.TEXT_SEARCH, ["East"]),
        (VectorStoreQueryMode.SPARSE, ["East"]),
        (VectorStoreQueryMode.HYBRID, ["East", "North", "Northeast"]),
        (VectorStoreQueryMode.SEMANTIC_HYBRID, ["East", "North", "Northeast"]),
        (VectorStoreQueryMode.DEFAULT, ["North", "Northeast", "East"]),
    ],
)
def test_the_mode_says_what_a_query_goes_by(
    directions: PlugmemPropertyGraphStore, mode: VectorStoreQueryMode, expected: list[str]
) -> None:
    nodes, scores = directions.vector_query(
        query(query_embedding=[1.0, 0.0], query_str="the east", mode=mode)
    )
    assert [node.id for node in nodes] == expected
    assert scores == sorted(scores, reverse=True)


def test_a_text_alone_goes_by_words(directions: PlugmemPropertyGraphStore) -> None:
    assert found(directions, query_str="the east") == ["East"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "neither what it needs of query_embedding"),
        ({"query_str": ""}, "give an embedding, or a text"),
        ({"mode": VectorStoreQueryMode.TEXT_SEARCH, "query_embedding": [1.0, 0.0]}, "query_str"),
        ({"mode": VectorStoreQueryMode.MMR, "query_str": "x"}, "mode is 'mmr'; give one of"),
        ({"query_str": "x", "similarity_top_k": 0}, "k is 0"),
    ],
    ids=str,
)
def test_a_query_that_asks_nothing_or_in_an_unknown_mode_is_refused(
    directions: PlugmemPropertyGraphStore, fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        directions.vector_query(query(**fields))


def test_a_mode_may_be_given_by_its_name(directions: PlugmemPropertyGraphStore) -> None:
    named = query(query_embedding=[1.0, 0.0], query_str="the east", mode="text_search")
    assert [node.id for node in directions.vector_query(named)[0]] == ["East"]
    for mode in ("mmr", "nonsense", None, ["default"]):
        with pytest.raises(InvalidInputError, match=r"mode is .*; give one of 'default'"):
            directions.vector_query(query(query_embedding=[1.0, 0.0], mode=mode))


@pytest.mark.parametrize("mode", ["default", "hybrid", "semantic_hybrid"])
def test_a_vector_without_direction_asks_nothing(
    directions: PlugmemPropertyGraphStore, mode: Any
) -> None:
    assert found(directions, query_embedding=[0.0, 0.0], mode=mode) == []
    assert found(directions, query_embedding=[0.0, 0.0], query_str="👍", mode=mode) == []
    assert found(directions, query_embedding=[0.0, 0.0], query_str="the east", mode=mode) == [
        "East"
    ]


@pytest.mark.parametrize("question", ["👍", "???"])
async def test_a_question_without_words_is_answered_by_nothing(
    store: PlugmemPropertyGraphStore, question: str
) -> None:
    class Nowhere(MockEmbedding):
        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_query_embedding(self, query: str) -> list[float]:
            return [0.0] * 8

    store.upsert_nodes([EntityNode(name="Mara", embedding=[1.0] * 8)])
    vectors = VectorContextRetriever(store, embed_model=Nowhere(embed_dim=8))
    assert vectors.retrieve(question) == []
    assert await vectors.aretrieve(question) == []


@pytest.mark.parametrize("asked", [None, "mara", [1.0, 0.0]])
def test_what_is_no_query_is_refused(directions: PlugmemPropertyGraphStore, asked: Any) -> None:
    with pytest.raises(WrongTypeError, match="give a VectorStoreQuery"):
        directions.vector_query(asked)


def test_vectors_of_another_dimension_are_refused(directions: PlugmemPropertyGraphStore) -> None:
    with pytest.raises(VectorSpaceError):
        directions.vector_query(query(query_embedding=[1.0, 0.0, 0.0]))
    with pytest.raises(VectorSpaceError, match="node 'A'"):
        directions.upsert_nodes([EntityNode(name="A", embedding=[1.0, 0.0, 0.0])])


def test_an_entity_that_changes_keeps_its_vector(directions: PlugmemPropertyGraphStore) -> None:
    directions.upsert_nodes([EntityNode(name="East", properties={"said": "of the sun"})])
    directions.upsert_nodes([EntityNode(name="North", label="DIRECTION")])
    assert found(directions, query_embedding=[1.0, 0.0]) == ["North", "Northeast", "East"]
    directions.upsert_nodes([EntityNode(name="East", embedding=[3.0, 0.1])])
    assert found(directions, query_embedding=[1.0, 0.0]) == ["North", "East", "Northeast"]


def test_the_vector_of_a_deleted_node_is_gone(directions: PlugmemPropertyGraphStore) -> None:
    directions.delete(ids=["North"])
    assert found(directions, query_embedding=[1.0, 0.0]) == ["Northeast", "East"]


def test_a_memory_with_an_embedder_makes_the_vectors_that_nodes_lack(open_memory: Any) -> None:
    embedder = HashingEmbedder(dim=64)
    store = PlugmemPropertyGraphStore(open_memory(embedder=embedder))
    store.upsert_nodes([EntityNode(name="green tea"), EntityNode(name="red barn")])
    vector = embedder.embed_query("tea, green").tolist()
    assert found(store, query_embedding=vector, similarity_top_k=1) == ["green tea"]
