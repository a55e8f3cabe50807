"""A whole `StorageContext` in one file: indices, documents, graph and chats, across processes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import (
    Document,
    MockEmbedding,
    PropertyGraphIndex,
    StorageContext,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import ImageNode, TextNode

from llama_index_plugmem import (
    PlugmemMemory,
    RuleExtractor,
    storage_context,
)
from plugmem_core import Memory

MODEL = MockEmbedding(embed_dim=4)


def documents(*, changed: bool = False) -> list[Document]:
    tea = "Tea is at five in the library" if changed else "Tea is at four in the kitchen"
    return [
        Document(id_="tea", text=tea),
        Document(id_="work", text="Mara works at Tidewater Labs."),
    ]


@pytest.fixture
def storage(memory: Memory) -> StorageContext:
    return storage_context(memory)


def every_class(storage: StorageContext) -> Iterator[str]:
    for store in (
        storage.docstore,
        storage.index_store,
        storage.vector_store,
        storage.property_graph_store,
        storage.graph_store,
    ):
        yield type(store).__name__


def test_every_store_is_one_of_ours(storage: StorageContext) -> None:
    assert list(every_class(storage)) == [
        "PlugmemDocumentStore",
        "PlugmemIndexStore",
        "PlugmemVectorStore",
        "PlugmemPropertyGraphStore",
        "PlugmemGraphStore",
    ]


def vector_index(storage: StorageContext, documents: list[Document]) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(documents, storage_context=storage, embed_model=MODEL)


def graph_index(storage: StorageContext, documents: list[Document]) -> PropertyGraphIndex:
    return PropertyGraphIndex.from_documents(
        documents,
        storage_context=storage,
        kg_extractors=[RuleExtractor()],
        embed_model=MODEL,
        use_async=False,
    )


def texts(index: Any) -> set[str]:
    return {found.text for found in index.as_retriever(similarity_top_k=9).retrieve("?")}


def test_several_indices_share_the_file_and_do_not_mix(memory: Memory) -> None:
    storage = storage_context(memory)
    vector_index(storage, documents()[:1]).set_index_id("vectors")
    graph = graph_index(storage, documents()[1:])
    PlugmemMemory(memory, session_id="a").put(ChatMessage("Tea?", role="user"))
    again = load_index_from_storage(storage_context(memory), index_id="vectors", embed_model=MODEL)
    assert texts(again) == {"Tea is at four in the kitchen"}
    assert {node.id for node in graph.property_graph_store.get() if node.label != "text_chunk"} == {
        "Mara",
        "Tidewater Labs",
    }


def test_refreshing_a_loaded_index_replaces_what_changed_and_nothing_else(memory: Memory) -> None:
    vector_index(storage_context(memory), documents())
    loaded: Any = load_index_from_storage(storage_context(memory), embed_model=MODEL)
    assert loaded.refresh_ref_docs(documents()) == [False, False]
    assert loaded.refresh_ref_docs(documents(changed=True)) == [True, False]
    assert texts(loaded) == {"Tea is at five in the library", "Mara works at Tidewater Labs."}


def test_refreshing_after_from_vector_store_makes_no_duplicates(memory: Memory) -> None:
    vector_index(storage_context(memory), documents())
    # Such an index knows no document, so it inserts all of them again.
    index: Any = VectorStoreIndex.from_vector_store(
        storage_context(memory).vector_store, embed_model=MODEL
    )
    assert index.refresh_ref_docs(documents(changed=True)) == [True, True]
    assert texts(index) == {"Tea is at five in the library", "Mara works at Tidewater Labs."}


def test_contexts_below_each_other_are_apart(memory: Memory) -> None:
    vector_index(storage_context(memory), documents()[:1])
    vector_index(storage_context(memory, namespace=("team",)), documents()[1:])
    above: Any = load_index_from_storage(storage_context(memory), embed_model=MODEL)
    below: Any = load_index_from_storage(
        storage_context(memory, namespace=("team",)), embed_model=MODEL
    )
    assert texts(above) == {"Tea is at four in the kitchen"}
    assert texts(below) == {"Mara works at Tidewater Labs."}
    below.delete_ref_doc("work", delete_from_docstore=True)
    above.delete_ref_doc("work", delete_from_docstore=True)
    assert texts(above) == {"Tea is at four in the kitchen"}


def test_a_deleted_document_is_gone_for_indices_loaded_later(memory: Memory) -> None:
    index = vector_index(storage_context(memory), documents())
    index.delete_ref_doc("tea", delete_from_docstore=True)
    loaded = load_index_from_storage(storage_context(memory), embed_model=MODEL)
    assert texts(loaded) == {"Mara works at Tidewater Labs."}


def test_a_deleted_document_can_be_inserted_again(memory: Memory) -> None:
    index: Any = vector_index(storage_context(memory), documents())
    index.delete_ref_doc("tea", delete_from_docstore=True)
    loaded: Any = load_index_from_storage(storage_context(memory), embed_model=MODEL)
    assert loaded.refresh_ref_docs(documents()) == [True, False]
    assert texts(loaded) == {"Tea is at four in the kitchen", "Mara works at Tidewater Labs."}


def test_images_are_in_the_file_too(memory: Memory) -> None:
    picture = ImageNode(id_="i", image_url="https://example.org/tea.png", embedding=[1.0] * 4)
    storage_context(memory).vector_stores["image"].add([picture])
    found = storage_context(memory).vector_stores["image"].get_nodes(["i"])
    assert found == [picture.model_copy(update={"embedding": None})]


def test_images_can_have_a_memory_of_their_own(memory: Memory) -> None:
    with Memory.open(":memory:") as images:
        storage = storage_context(memory, images=images)
        storage.vector_store.add([TextNode(id_="t", text="tea", embedding=[1.0] * 4)])
        picture = ImageNode(id_="i", image_url="https://a.org/t.png", embedding=[1.0] * 7)
        storage.vector_stores["image"].add([picture])
        assert images.vector_space == (7, None)
        assert memory.vector_space == (4, None)


def test_persisting_is_harmless(memory: Memory, tmp_path: Path) -> None:
    storage = storage_context(memory)
    index = vector_index(storage, documents())
    index.storage_context.persist(str(tmp_path / "copy"))
    assert texts(index) == {
        "Tea is at four in the kitchen",
        "Mara works at Tidewater Labs.",
    }


WRITER = """
import sys
from test_storage_context import *
with Memory.open(sys.argv[1]) as memory:
    storage = storage_context(memory)
    vector_index(storage, documents()).set_index_id("v")
    graph_index(storage, documents())
    PlugmemMemory(memory, session_id="a").put(ChatMessage("My desk is on floor two", role="user"))
"""


def test_another_process_finds_everything(tmp_path: Path) -> None:
    path = tmp_path / "all.plugmem"
    subprocess.run([sys.executable, "-c", WRITER, str(path)], check=True, cwd=Path(__file__).parent)
    with Memory.open(path) as memory:
        storage = storage_context(memory)
        loaded: Any = load_index_from_storage(storage, index_id="v", embed_model=MODEL)
        assert texts(loaded) == {"Tea is at four in the kitchen", "Mara works at Tidewater Labs."}
        assert storage.property_graph_store is not None
        [(source, relation, target)] = storage.property_graph_store.get_triplets(
            relation_names=["WORKS_AT"]
        )
        assert (source.id, relation.label, target.id) == ("Mara", "WORKS_AT", "Tidewater Labs")
        chat = PlugmemMemory(memory, session_id="b")
        chat.put(ChatMessage("Which floor is my desk on?", role="user"))
        assert "floor two" in str(chat.get()[0].content)
    assert [file.name for file in tmp_path.iterdir() if "index" not in file.name] == [path.name]
