"""`PlugmemVectorStore` inside LlamaIndex: indexes, pipelines and memory blocks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import (
    Document,
    Settings,
    StorageContext,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.memory import VectorMemoryBlock
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import (
    VectorIndexRetriever,
)
from llama_index.core.schema import ImageNode, IndexNode, TextNode
from llama_index.core.vector_stores.types import (
    VectorStoreQuery,
)
from vector_indexes import DOCUMENTS, Hashing, documents, index_of, stored, texts

from llama_index_plugmem import (
    LlamaIndexEmbedder,
    PlugmemChatStore,
    PlugmemDocumentStore,
    PlugmemIndexStore,
    PlugmemVectorStore,
)
from plugmem_core import Memory


@pytest.fixture(autouse=True)
def settings_stay_unset() -> Iterator[None]:
    """Whatever a test does, nobody asks LlamaIndex for its default models."""
    yield
    assert Settings._llm is None
    assert Settings._embed_model is None


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


@pytest.fixture
def embedding() -> Hashing:
    return Hashing()


# -- documents come, change and go


async def test_an_index_over_the_store_finds_its_documents(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    retriever = index_of(store, embedding).as_retriever(similarity_top_k=1)
    [found] = retriever.retrieve("where is the pump?")
    assert (found.text, found.node.ref_doc_id) == (DOCUMENTS["pump"], "pump")
    assert found.metadata == {"source": "pump"}
    assert type(found.score) is float
    assert await retriever.aretrieve("where is the pump?") == [found]


@pytest.mark.parametrize("mode", ["text_search", "hybrid"])
def test_words_find_a_node_by_the_metadata_it_is_embedded_with(
    memory: Memory, embedding: Hashing, mode: str
) -> None:
    titled = Document(
        text="It orchestrates containers.",
        metadata={"title": "Kubernetes handbook", "path": "/srv/books"},
        excluded_embed_metadata_keys=["path"],
    )
    index = index_of(PlugmemVectorStore(memory), embedding, [titled])
    search = index.as_retriever(vector_store_query_mode=mode, alpha=0.1)
    [found] = search.retrieve("Kubernetes")
    assert found.text == "It orchestrates containers."
    assert (found.score or 0) > 0
    words = index.as_retriever(vector_store_query_mode="text_search")
    assert words.retrieve("srv") == []
    other = PlugmemVectorStore(memory, namespace=("other",), search_metadata=False)
    plain = index_of(other, embedding, [titled])
    assert plain.as_retriever(vector_store_query_mode="text_search").retrieve("Kubernetes") == []


def test_the_embedder_of_the_memory_embeds_what_an_index_would(embedding: Hashing) -> None:
    memory = Memory.open(":memory:", embedder=LlamaIndexEmbedder(embedding))
    PlugmemVectorStore(memory).add([TextNode(text="orchestrates", metadata={"title": "handbook"})])
    assert embedding.texts == ["title: handbook\n\norchestrates"]


async def test_one_document_inserted_at_once_is_stored_once(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    index = index_of(store, embedding, [])
    same = [Document(id_="same", text="the same text") for _ in range(8)]
    await asyncio.gather(*(index.ainsert(one) for one in same))
    assert stored(store) == ["the same text"]


@pytest.mark.parametrize("mode", ["default", "hybrid", "mmr"])
def test_an_empty_question_finds_what_there_is(
    store: PlugmemVectorStore, embedding: Hashing, mode: str
) -> None:
    search = index_of(store, embedding).as_retriever(vector_store_query_mode=mode)
    assert len(search.retrieve("")) == 2


async def test_documents_are_inserted_updated_and_deleted(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    index = index_of(store, embedding, [])
    for one in documents():
        index.insert(one)
    index.update_ref_doc(documents(tea="Mara prefers coffee")[0])
    await index.aupdate_ref_doc(documents(pump="The pump is sold")[2])
    assert stored(store) == ["Mara prefers coffee", DOCUMENTS["barn"], "The pump is sold"]
    index.delete_ref_doc("tea", delete_from_docstore=True)
    assert stored(store) == [DOCUMENTS["barn"], "The pump is sold"]
    await index.adelete_ref_doc("barn")
    index.delete_ref_doc("unknown")
    assert stored(store) == ["The pump is sold"]
    assert texts(index.as_retriever().retrieve("green tea")) == ["The pump is sold"]


async def test_nodes_are_inserted_and_deleted_by_id(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    index = index_of(store, embedding, [])
    index.insert_nodes([TextNode(id_=one, text=f"note {one}") for one in "abcd"])
    index.delete_nodes(["a"])
    await index.adelete_nodes(["b", "unknown"])
    assert stored(store) == ["note c", "note d"]
    await index.ainsert_nodes([TextNode(id_="c", text="another note c")])
    assert stored(store) == ["another note c", "note d"]


def test_documents_are_refreshed(store: PlugmemVectorStore, embedding: Hashing) -> None:
    index = index_of(store, embedding)
    embedding.texts.clear()
    changed = documents(tea="Mara prefers coffee", new="A new note")
    assert index.refresh_ref_docs(changed) == [True, False, False, True]
    assert stored(store) == sorted(one.text for one in changed)
    assert len(embedding.texts) == 2


LONG = " ".join(f"Sentence {n} is about the number {n}." for n in range(60))


def split(**settings: Any) -> SentenceSplitter:
    return SentenceSplitter(chunk_size=64, chunk_overlap=0, **settings)


def numbered(position: int, document: Any) -> str:
    return f"{document.id_}-{position}"


@pytest.mark.parametrize("splitter", [split(), split(id_func=numbered)], ids=["random", "numbered"])
async def test_refreshing_after_from_vector_store_leaves_no_duplicates(
    store: PlugmemVectorStore, embedding: Hashing, splitter: SentenceSplitter
) -> None:
    long = [Document(id_="long", text=LONG, metadata={"page": 1}), *documents()]
    VectorStoreIndex.from_documents(
        long,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=embedding,
        transformations=[splitter],
    )
    before = stored(store)
    assert len(before) > 10
    for _ in range(2):
        index = VectorStoreIndex.from_vector_store(
            store, embed_model=embedding, transformations=[splitter]
        )
        index.refresh_ref_docs(long)
        assert stored(store) == before
    await VectorStoreIndex.from_vector_store(
        store, embed_model=embedding, transformations=[splitter]
    ).arefresh_ref_docs(long)
    assert stored(store) == before
    found = index.as_retriever(similarity_top_k=100).retrieve("number 7")
    assert sorted(texts(found)) == before


def test_refreshing_changed_documents_after_from_vector_store(
    memory: Memory, embedding: Hashing
) -> None:
    store = PlugmemVectorStore(memory)
    index_of(store, embedding)
    index = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    changed = documents(tea="Mara prefers coffee")
    index.refresh_ref_docs(changed)
    assert stored(store) == sorted(one.text for one in changed)


def one_file(memory: Memory) -> StorageContext:
    return StorageContext.from_defaults(
        docstore=PlugmemDocumentStore(memory),
        index_store=PlugmemIndexStore(memory),
        vector_store=PlugmemVectorStore(memory),
    )


def test_with_the_document_store_a_reopened_index_refreshes_what_changed(
    tmp_path: Path, embedding: Hashing
) -> None:
    with Memory.open(tmp_path / "all.plugmem") as memory:
        index = VectorStoreIndex.from_documents(
            documents(), storage_context=one_file(memory), embed_model=embedding
        )
        index.set_index_id("notes")
    embedding.texts.clear()
    with Memory.open(tmp_path / "all.plugmem") as memory:
        loaded = load_index_from_storage(one_file(memory), index_id="notes", embed_model=embedding)
        assert loaded.refresh_ref_docs(documents()) == [False] * 3
        assert embedding.texts == []
        changed = documents(tea="Mara prefers coffee")
        assert loaded.refresh_ref_docs(changed) == [True, False, False]
        assert len(embedding.texts) == 1
        assert stored(PlugmemVectorStore(memory)) == sorted(one.text for one in changed)
        assert texts(loaded.as_retriever(similarity_top_k=1).retrieve("coffee")) == [
            "Mara prefers coffee"
        ]


def test_persisting_a_storage_context_loses_nothing(
    tmp_path: Path, memory: Memory, embedding: Hashing
) -> None:
    context = one_file(memory)
    VectorStoreIndex.from_documents(documents(), storage_context=context, embed_model=embedding)
    context.persist(tmp_path / "storage")
    assert stored(PlugmemVectorStore(memory)) == sorted(DOCUMENTS.values())


# -- images and objects


def test_images_and_index_nodes_come_back_with_their_class(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    nodes = [
        TextNode(id_="t", text="green tea"),
        ImageNode(id_="i", text="a picture of the barn", image_url="https://example.org/b.png"),
        IndexNode(id_="x", text="about the pump", index_id="pump", obj=TextNode(text="inner")),
    ]
    index = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    index.insert_nodes(nodes)
    assert [type(node) for node in store.get_nodes()] == [TextNode, ImageNode, IndexNode]
    fresh = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    [image] = VectorIndexRetriever(fresh, similarity_top_k=1).retrieve("picture of the barn")
    assert isinstance(image.node, ImageNode)
    assert image.node.image_url == "https://example.org/b.png"
    # What an index node stands for takes its place.
    [inner] = VectorIndexRetriever(fresh, similarity_top_k=1).retrieve("about the pump")
    assert inner.text == "inner"
    # Beside images, LlamaIndex passes their ids alone.
    found = index.as_retriever(similarity_top_k=5).retrieve("green tea")
    assert "green tea" not in texts(found)


# -- pipelines


def pipeline(
    memory: Memory, embedding: Hashing, strategy: DocstoreStrategy = DocstoreStrategy.UPSERTS
) -> IngestionPipeline:
    return IngestionPipeline(
        transformations=[split(), embedding],
        vector_store=PlugmemVectorStore(memory),
        docstore=PlugmemDocumentStore(memory),
        docstore_strategy=strategy,
        disable_cache=True,
    )


async def test_a_pipeline_ingests_only_what_changed(memory: Memory, embedding: Hashing) -> None:
    store = PlugmemVectorStore(memory)
    pipeline(memory, embedding).run(documents=documents())
    assert stored(store) == sorted(DOCUMENTS.values())
    embedding.texts.clear()
    assert pipeline(memory, embedding).run(documents=documents()) == []
    assert embedding.texts == []
    changed = documents(tea="Mara prefers coffee")
    await pipeline(memory, embedding).arun(documents=changed)
    assert len(embedding.texts) == 1
    assert stored(store) == sorted(one.text for one in changed)


def test_a_pipeline_deletes_what_is_gone(memory: Memory, embedding: Hashing) -> None:
    store = PlugmemVectorStore(memory)
    store.add([TextNode(text="mine")])
    strategy = DocstoreStrategy.UPSERTS_AND_DELETE
    pipeline(memory, embedding, strategy).run(documents=documents())
    pipeline(memory, embedding, strategy).run(documents=documents()[:1])
    assert stored(store) == [DOCUMENTS["tea"], "mine"]


# -- memory blocks


async def test_a_vector_memory_block_remembers_and_recalls(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    def block() -> VectorMemoryBlock:
        return VectorMemoryBlock(vector_store=store, embed_model=embedding, similarity_top_k=5)

    said = {"ann": "The guest password is plum", "bob": "The guest password is pear"}
    for session, text in said.items():
        await block().aput([ChatMessage(text, role="user")], session_id=session)
    for session, text in said.items():
        asked = [ChatMessage("What is the guest password?", role="user")]
        recalled = await block().aget(asked, session_id=session)
        assert text in recalled
        assert not any(other in recalled for other in said.values() if other != text)


async def test_the_block_of_a_chat_memory_brings_back_what_was_flushed(
    store: PlugmemVectorStore, embedding: Hashing, memory: Memory
) -> None:
    block = VectorMemoryBlock(vector_store=store, embed_model=embedding, retrieval_context_window=2)
    chat = ChatMemory.from_defaults(
        session_id="ann",
        token_limit=60,
        token_flush_size=1,
        chat_history_token_ratio=0.5,
        memory_blocks=[block],
        chat_store=PlugmemChatStore(memory),
    )
    await chat.aput(ChatMessage("The guest password is plum", role="user"))
    for turn in range(6):
        await chat.aput(ChatMessage(f"Let us talk of the weather {turn}", role="user"))
        await chat.aput(ChatMessage("Fine", role="assistant"))
    history = await chat.aget("What was the guest password?")
    assert "plum" in str(history[0].content)
    assert "plum" not in " ".join(str(one.content) for one in history[1:])


def test_an_empty_store_is_used_and_not_replaced(memory: Memory, embedding: Hashing) -> None:
    store = PlugmemVectorStore(memory)
    context = StorageContext.from_defaults(vector_store=store)
    assert context.vector_store is store
    index = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    assert index.vector_store is store
    assert index.as_retriever().retrieve("tea") == []
    assert store.query(VectorStoreQuery(similarity_top_k=5)).nodes == []
