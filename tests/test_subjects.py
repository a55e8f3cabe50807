"""Titles, speakers and headings of documents become entities."""

from typing import Any

import pytest
from langchain_core.documents import Document
from llama_index.core.schema import TextNode

from langchain_plugmem import DocumentMapping, PlugmemVectorStore
from llama_index_plugmem import NodeMapping
from llama_index_plugmem import PlugmemVectorStore as PlugmemNodeStore
from plugmem_core import Memory
from plugmem_core.adapters.mapping import FieldKeys


@pytest.mark.parametrize(
    ("metadata", "entity"),
    [
        ({"title": "Ed Wood (film)"}, "Ed Wood (film)"),
        ({"speaker": "Mara", "title": "Minutes"}, "Mara"),
        ({"fact_entity": "Ivo", "title": "Minutes"}, "Ivo"),
        ({"fact_entity": None, "title": "Minutes"}, "Minutes"),
        ({"Header 1": "Pumps", "Header 2": "Repair"}, "Pumps"),
        ({"document_title": "Manual"}, "Manual"),
        ({"title": "  ", "heading": "Repair"}, "Repair"),
        ({"title": "…", "heading": "Repair"}, "Repair"),
        ({"title": 7}, None),
        ({"title": "x" * 201}, None),
        ({"title": "a\x00b"}, None),
        ({"source": "a.txt"}, None),
    ],
)
def test_the_first_name_there_is_is_the_subject(
    metadata: dict[str, Any], entity: str | None
) -> None:
    assert FieldKeys().said_in(metadata).get("entity") == entity
    assert FieldKeys(subjects=()).said_in({"title": "Minutes"}) == {}
    assert FieldKeys(subjects=("chapter",)).said_in({"chapter": "One"}) == {"entity": "One"}


def test_documents_lead_to_what_they_mention(memory: Memory) -> None:
    documents = [
        Document("The film is a biography of Ed Wood.", metadata={"title": "Ed Wood (film)"}),
        Document("He was born in Poughkeepsie.", metadata={"title": "Edward Wood", "p": 2}),
        Document("The film was directed by Edward Wood.", metadata={"title": "Plan 9"}),
    ]
    store = PlugmemVectorStore(memory)
    ids = store.add_documents(documents)
    found = store.get_by_ids(ids)
    assert [one.metadata for one in found] == [one.metadata for one in documents]
    facts = memory.list_facts()
    assert [fact.entity for fact in facts] == ["Ed Wood (film)", "Edward Wood", "Plan 9"]
    assert memory.mentions(facts.facts[2].id) == ("Edward Wood",)
    texts = [one.page_content for one in store.similarity_search("who directed Plan 9?", k=2)]
    assert texts == [documents[2].page_content, documents[1].page_content]


def test_a_mapping_can_switch_it_off(memory: Memory) -> None:
    store = PlugmemVectorStore(memory, mapping=DocumentMapping(subjects=()))
    store.add_documents([Document("a biography", metadata={"title": "Ed Wood"})])
    assert memory.list_facts().facts[0].entity is None


def test_nodes_have_subjects_too(memory: Memory) -> None:
    for mapping, entity in ((NodeMapping(), "Pumps"), (NodeMapping(subjects=()), None)):
        store = PlugmemNodeStore(memory, mapping=mapping, namespace=(str(entity),))
        store.add([TextNode(text="oil it", id_="n", metadata={"title": "Pumps"})])
        [fact] = memory.list_facts(namespace=(str(entity),))
        assert fact.entity == entity
