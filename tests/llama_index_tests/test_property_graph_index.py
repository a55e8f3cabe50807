"""`PropertyGraphIndex` over the graph store, the rules and the retriever: offline, end to end."""

from pathlib import Path
from typing import Any

import pytest
from clocks import Clock
from conftest import OpenMemory
from llama_index.core import Document, MockEmbedding, PropertyGraphIndex, Settings, StorageContext
from llama_index.core.indices.property_graph import (
    ImplicitPathExtractor,
    SimpleLLMPathExtractor,
    VectorContextRetriever,
)
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from word_embedding import WordEmbedding

from llama_index_plugmem import PlugmemGraphRetriever, RuleExtractor
from llama_index_plugmem.graph_stores import PlugmemPropertyGraphStore
from plugmem_core import Memory

QUESTION = "Where does Mara's sister work?"
TEXTS = {
    "family.txt": "Mara's sister is Ines. Mara lives in Bern.",
    "work.txt": "Ines works at Helvetia Foods.",
    "history.txt": "Helvetia Foods was founded by Paul Kern.",
}


@pytest.fixture(autouse=True)
def no_models_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """LlamaIndex's settings would look for a model of OpenAI; nothing here asks them."""
    for name in ("llm", "embed_model"):
        monkeypatch.setattr(type(Settings), name, property(_refuse))


def _refuse(settings: object) -> None:
    raise AssertionError("a model was looked for in Settings")


def documents() -> list[Document]:
    return [Document(id_=name, text=text) for name, text in TEXTS.items()]


@pytest.fixture
def store(memory: Memory) -> PlugmemPropertyGraphStore:
    return PlugmemPropertyGraphStore(memory)


def extractors() -> list[Any]:
    return [RuleExtractor(), ImplicitPathExtractor()]


def build(
    store: PlugmemPropertyGraphStore, texts: Any = None, **settings: Any
) -> PropertyGraphIndex:
    return PropertyGraphIndex.from_documents(
        documents() if texts is None else texts,
        property_graph_store=store,
        **{
            "kg_extractors": extractors(),
            "embed_model": WordEmbedding(),
            "use_async": False,
            **settings,
        },
    )


def told(
    index: PropertyGraphIndex,
    store: PlugmemPropertyGraphStore,
    question: str = QUESTION,
    **settings: Any,
) -> list[str]:
    retriever = index.as_retriever(
        sub_retrievers=[PlugmemGraphRetriever(store, include_text=False, **settings)],
        use_async=False,
    )
    return texts_of(retriever.retrieve(question))


def texts_of(found: list[NodeWithScore]) -> list[str]:
    return [one.text for one in found]


def entities(store: PlugmemPropertyGraphStore) -> set[str]:
    return {node.id for node in store.get() if node.label == "entity"}


# -- without any language model


def test_prose_becomes_a_graph_without_a_language_model(store: PlugmemPropertyGraphStore) -> None:
    build(store)
    names = {"Mara", "Ines", "Bern", "Helvetia Foods", "Paul Kern"}
    assert names <= entities(store)
    triples = {(a.id, relation.label, b.id) for a, relation, b in store.get_triplets(ids=names)}
    assert {one for one in triples if one[1] != "MENTIONS"} == {
        ("Mara", "HAS_SISTER", "Ines"),
        ("Mara", "LIVES_IN", "Bern"),
        ("Ines", "WORKS_AT", "Helvetia Foods"),
        ("Helvetia Foods", "WAS_FOUNDED_BY", "Paul Kern"),
    }


def test_an_answer_over_two_relations_is_found_in_another_document(
    store: PlugmemPropertyGraphStore,
) -> None:
    index = build(store)
    sources = {"sources": ["bm25", "graph"]}
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told(index, store, **sources)
    near = told(index, store, "Where is Mara's sister employed?", depth=1, **sources)
    assert near
    assert not [text for text in near if "Helvetia" in text]


def test_it_works_without_any_embedding(store: PlugmemPropertyGraphStore) -> None:
    index = build(store, embed_kg_nodes=False, embed_model=None)
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told(index, store)
    # A model may be given nevertheless: there is nothing to compare with.
    assert told(index, store, embed_model=WordEmbedding()) == told(index, store)


def test_mock_embeddings_will_do(store: PlugmemPropertyGraphStore) -> None:
    model = MockEmbedding(embed_dim=8)
    index = build(store, embed_model=model)
    assert "Mara -> HAS_SISTER -> Ines" in told(index, store, embed_model=model)


def test_the_retriever_of_llamaindex_works_over_the_same_store(
    store: PlugmemPropertyGraphStore,
) -> None:
    model = WordEmbedding()
    index = build(store, embed_model=model)
    retriever = index.as_retriever(
        sub_retrievers=[
            VectorContextRetriever(store, embed_model=model, include_text=False),
            PlugmemGraphRetriever(store, embed_model=model, include_text=False),
        ],
        use_async=False,
    )
    found = texts_of(retriever.retrieve("Who is Ines?"))
    assert "Ines -> WORKS_AT -> Helvetia Foods" in found
    assert len(found) == len(set(found))


def test_texts_behind_relations_are_shown(store: PlugmemPropertyGraphStore) -> None:
    index = build(store)
    retriever = index.as_retriever(sub_retrievers=[PlugmemGraphRetriever(store)], use_async=False)
    found = texts_of(retriever.retrieve(QUESTION))
    for document in ("family.txt", "work.txt"):
        assert len([text for text in found if text.endswith(TEXTS[document])]) == 1


def test_the_names_of_documents_are_no_answer(store: PlugmemPropertyGraphStore) -> None:
    # Their ids are ends of the relations by which chunks name their documents.
    index = build(store, [Document(id_="soup", text="it is red.")])
    assert told(index, store, "soup", sources=["bm25"]) == []


# -- with one


def test_a_language_model_may_extract_too(store: PlugmemPropertyGraphStore) -> None:
    def parse(_answer: str) -> list[tuple[str, str, str]]:
        return [("Ines", "ADORES", "Tea")]

    extractor = SimpleLLMPathExtractor(llm=MockLLM(), parse_fn=parse)
    index = build(store, kg_extractors=[extractor, *extractors()])
    assert "Ines -> ADORES -> Tea" in told(index, store, "What does Ines adore?")
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told(index, store, "Where does Ines work?")


def test_the_extractors_of_llamaindex_alone_work_offline(
    store: PlugmemPropertyGraphStore,
) -> None:
    index = build(store, kg_extractors=None, llm=MockLLM())
    assert TEXTS["work.txt"] in told(index, store, "Helvetia")


async def test_a_query_engine_answers_from_the_graph(store: PlugmemPropertyGraphStore) -> None:
    index = build(store)
    engine = index.as_query_engine(
        llm=MockLLM(), sub_retrievers=[PlugmemGraphRetriever(store)], use_async=False
    )
    assert isinstance(engine, RetrieverQueryEngine)
    for answer in (engine.query(QUESTION), await engine.aquery(QUESTION)):
        assert "Ines works at Helvetia Foods" in str(answer)
        assert answer.source_nodes


# -- over time


def test_inserting_a_document_again_adds_nothing(
    store: PlugmemPropertyGraphStore, memory: Memory, clock: Clock
) -> None:
    def nodes() -> list[TextNode]:
        # An index splits documents into nodes with new ids.
        return [TextNode(id_=name, text=text) for name, text in TEXTS.items()]

    index = PropertyGraphIndex(
        nodes(),
        property_graph_store=store,
        kg_extractors=extractors(),
        embed_model=WordEmbedding(),
        use_async=False,
    )
    before, facts = store.to_dict(), memory.stats().facts
    clock.now += 1_000
    index.insert_nodes(nodes())
    assert store.to_dict() == before
    assert memory.stats().facts == facts


def test_inserted_documents_are_found(store: PlugmemPropertyGraphStore) -> None:
    index = build(store)
    index.insert(Document(id_="pets.txt", text="Ines owns a dog, and Ines adores Rex."))
    assert "Ines -> ADORES -> Rex" in told(index, store, "Whom does Ines adore?")


def test_deleting_a_document_takes_what_came_from_it_alone(
    store: PlugmemPropertyGraphStore,
) -> None:
    index = build(store)
    index.delete_ref_doc("work.txt")
    assert not store.get_triplets(relation_names=["WORKS_AT"])
    # Another document mentions them still.
    assert {"Ines", "Helvetia Foods", "Mara", "Paul Kern"} <= entities(store)
    assert "Helvetia Foods -> WAS_FOUNDED_BY -> Paul Kern" in told(index, store, "Helvetia Foods")
    index.delete_ref_doc("history.txt")
    assert entities(store) & {"Helvetia Foods", "Paul Kern"} == set()
    assert {"Ines", "Mara", "Bern"} <= entities(store)
    assert told(index, store, "Helvetia Foods", sources=["bm25", "graph"]) == []
    index.delete_ref_doc("family.txt")
    assert entities(store) == set()
    assert store.get_llama_nodes([node.id for node in store.get()]) == []


def test_the_order_of_documents_does_not_matter_for_what_survives(
    store: PlugmemPropertyGraphStore,
) -> None:
    index = build(store, list(reversed(documents())))
    index.delete_ref_doc("family.txt")
    assert "Mara" not in entities(store)
    assert {"Ines", "Helvetia Foods"} <= entities(store)
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told(index, store, "Where does Ines work?")


def test_a_changed_document_replaces_what_it_said(store: PlugmemPropertyGraphStore) -> None:
    index = build(store)
    index.update_ref_doc(Document(id_="work.txt", text="Ines works at Alpine Cheese."))
    found = told(index, store)
    assert "Ines -> WORKS_AT -> Alpine Cheese" in found
    assert "Ines -> WORKS_AT -> Helvetia Foods" not in found


def test_what_was_deleted_is_found_as_of_earlier(
    store: PlugmemPropertyGraphStore, clock: Clock
) -> None:
    index = build(store)
    before = clock()
    clock.now += 1_000
    index.delete_ref_doc("work.txt")
    assert "Ines -> WORKS_AT -> Helvetia Foods" not in told(index, store)
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told(index, store, as_of=before)


def test_a_file_that_is_opened_again_answers_the_same(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "graph.plugmem"
    memory = open_memory(path)
    store = PlugmemPropertyGraphStore(memory)
    before = told(build(store), store)
    memory.close()
    store = PlugmemPropertyGraphStore(open_memory(path))
    index = PropertyGraphIndex.from_existing(
        store, kg_extractors=extractors(), embed_model=WordEmbedding(), use_async=False
    )
    assert told(index, store) == before != []
    index.insert(Document(id_="pets.txt", text="Ines adores Rex, and Rex adores Ines."))
    assert "Rex -> ADORES -> Ines" in told(index, store, "Rex")


def test_it_goes_into_a_storage_context(store: PlugmemPropertyGraphStore, tmp_path: Path) -> None:
    context = StorageContext.from_defaults(property_graph_store=store)
    index = PropertyGraphIndex.from_documents(
        documents(),
        storage_context=context,
        kg_extractors=extractors(),
        embed_kg_nodes=False,
        use_async=False,
    )
    context.persist(tmp_path)
    loaded = StorageContext.from_defaults(persist_dir=str(tmp_path), property_graph_store=store)
    assert loaded.property_graph_store is store
    assert told(index, store)


# -- inside a running event loop


async def test_inside_an_event_loop_insertion_works_with_use_async_off(
    store: PlugmemPropertyGraphStore,
) -> None:
    index = build(store)
    index.insert(Document(id_="pets.txt", text="Ines adores Rex, and Rex adores Ines."))
    for use_async in (True, False):
        retriever = index.as_retriever(
            sub_retrievers=[PlugmemGraphRetriever(store, include_text=False)], use_async=use_async
        )
        assert "Ines -> ADORES -> Rex" in texts_of(await retriever.aretrieve("Whom adores Ines?"))
        assert "Ines -> ADORES -> Rex" in texts_of(retriever.retrieve("Whom adores Ines?"))


def test_outside_of_one_insertion_works_with_use_async_on(
    store: PlugmemPropertyGraphStore,
) -> None:
    index = build(store, use_async=True)
    assert "Ines -> WORKS_AT -> Helvetia Foods" in told(index, store)
