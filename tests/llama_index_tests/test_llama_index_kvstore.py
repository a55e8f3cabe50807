"""`PlugmemKVStore` and what LlamaIndex builds on it: document store and index store."""

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import (
    Document,
    MockEmbedding,
    StorageContext,
    SummaryIndex,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.kvstore.types import BaseKVStore

from llama_index_plugmem import PlugmemDocumentStore, PlugmemIndexStore, PlugmemKVStore
from plugmem_core import InvalidInputError, Memory, WrongTypeError


@pytest.fixture
def store(memory: Memory) -> PlugmemKVStore:
    return PlugmemKVStore(memory)


def test_it_is_a_key_value_store(store: PlugmemKVStore) -> None:
    assert isinstance(store, BaseKVStore)


def test_what_is_put_is_got_in_its_collection(store: PlugmemKVStore) -> None:
    store.put("k", {"b": 1, "a": [None, True]})
    store.put("k", {"other": 1}, collection="c")
    assert store.get("k") == {"b": 1, "a": [None, True]}
    assert list(store.get("k") or {}) == ["b", "a"]
    assert store.get("k", collection="c") == {"other": 1}
    assert store.get("x") is None
    assert store.get_all() == {"k": {"b": 1, "a": [None, True]}}
    assert store.get_all(collection="empty") == {}


def test_a_value_that_is_got_can_be_changed_without_changing_the_store(
    store: PlugmemKVStore,
) -> None:
    store.put("k", {"list": [1]})
    (store.get("k") or {})["list"].append(2)
    assert store.get("k") == {"list": [1]}


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_many_are_put_at_once_whatever_the_batch_size(
    store: PlugmemKVStore, batch_size: int
) -> None:
    store.put_all([("a", {"n": 1}), ("b", {"n": 2}), ("a", {"n": 3})], batch_size=batch_size)
    assert store.get_all() == {"a": {"n": 3}, "b": {"n": 2}}


def test_all_or_none_are_put(store: PlugmemKVStore) -> None:
    with pytest.raises(WrongTypeError, match=r"values\['b'\]"):
        store.put_all([("a", {"n": 1}), ("b", {"n": object()})])
    assert store.get_all() == {}


def test_deleting_says_whether_there_was_anything(store: PlugmemKVStore) -> None:
    store.put("k", {})
    assert store.delete("k", collection="c") is False
    assert store.delete("k") is True
    assert store.delete("k") is False
    assert store.get("k") is None


async def test_the_async_methods_do_the_same(store: PlugmemKVStore) -> None:
    await store.aput("a", {"n": 1}, collection="c")
    await store.aput_all([("b", {"n": 2})], collection="c", batch_size=5)
    assert await store.aget("a", collection="c") == {"n": 1}
    assert await store.aget_all(collection="c") == {"a": {"n": 1}, "b": {"n": 2}}
    assert await store.adelete("a", collection="c") is True
    assert store.get_all("c") == {"b": {"n": 2}}


def test_namespaces_are_apart_also_one_below_the_other(memory: Memory) -> None:
    above, below = (PlugmemKVStore(memory, namespace=scope) for scope in [("a",), ("a", "b")])
    above.put("k", {"n": 1})
    below.put("k", {"n": 2})
    assert (above.get_all(), below.get_all()) == ({"k": {"n": 1}}, {"k": {"n": 2}})


@pytest.mark.parametrize("key", ["", " ", "x" * 1_025])
def test_a_key_that_breaks_its_rule_is_refused(store: PlugmemKVStore, key: str) -> None:
    with pytest.raises(InvalidInputError):
        store.put(key, {})


@pytest.mark.parametrize("method", ["__len__", "__bool__"])
def test_an_empty_store_is_no_false_one(memory: Memory, method: str) -> None:
    for one in (PlugmemKVStore, PlugmemDocumentStore, PlugmemIndexStore):
        assert not hasattr(one, method)
        assert one(memory)


# -- the document store


def chunk(name: str, document: str, text: str) -> TextNode:
    source = RelatedNodeInfo(node_id=document)
    return TextNode(id_=name, text=text, relationships={NodeRelationship.SOURCE: source})


def test_documents_come_back_equal_with_their_hashes(tmp_path: Path) -> None:
    document = Document(id_="d", text="Tea", metadata={"b": 1, "a": {"z": 1, "c": 2}})
    nodes = [document, chunk("n1", "d", "Tea"), chunk("n2", "d", "Coffee")]
    with Memory.open(tmp_path / "m") as memory:
        PlugmemDocumentStore(memory).add_documents(nodes)
    with Memory.open(tmp_path / "m") as memory:
        store = PlugmemDocumentStore(memory)
        assert store.docs == {node.node_id: node for node in nodes}
        assert store.get_document("d").hash == document.hash
        assert store.get_document_hash("d") == document.hash
        assert store.get_all_document_hashes()[document.hash] == "d"
        info = store.get_ref_doc_info("d")
        assert info is not None
        assert info.node_ids == ["n1", "n2"]


def test_deleting_a_document_deletes_its_nodes_and_no_others(memory: Memory) -> None:
    store = PlugmemDocumentStore(memory)
    store.add_documents([chunk("n1", "d", "Tea"), chunk("n2", "e", "Coffee")])
    store.delete_ref_doc("d")
    assert list(store.docs) == ["n2"]
    assert list(store.get_all_ref_doc_info() or {}) == ["e"]
    store.delete_ref_doc("unknown", raise_error=False)
    assert list(store.docs) == ["n2"]


@pytest.mark.parametrize("known_by", ["nodes", "hash"])
async def test_a_hash_goes_with_its_document(memory: Memory, known_by: str) -> None:
    store = PlugmemDocumentStore(memory)
    for delete in (store.delete_ref_doc, store.adelete_ref_doc):
        if known_by == "nodes":
            store.add_documents([chunk(f"n{number}", "d", "Tea") for number in range(5)])
        store.set_document_hash("d", "abc")
        done = delete("d")
        if done is not None:
            await done
        assert store.get_document_hash("d") is None
        assert store.get_ref_doc_info("d") is None
        assert store.docs == {}
        assert store.get_all_document_hashes() == {}


def test_a_document_that_is_not_there_is_an_error_when_asked_for(memory: Memory) -> None:
    with pytest.raises(ValueError, match="'d'"):
        PlugmemDocumentStore(memory).delete_ref_doc("d")


def test_texts_of_any_characters_are_kept(memory: Memory) -> None:
    nodes = [TextNode(id_=str(at), text=text) for at, text in enumerate(["PK\0\3", "caf\udce9"])]
    store = PlugmemDocumentStore(memory)
    store.add_documents(nodes)
    assert [store.get_document(node.node_id) for node in nodes] == nodes


async def test_the_document_store_works_asynchronously(memory: Memory) -> None:
    store = PlugmemDocumentStore(memory)
    await store.async_add_documents([chunk("n1", "d", "Tea")])
    assert await store.adocument_exists("n1")
    await store.adelete_document("n1")
    assert not await store.adocument_exists("n1")


def test_two_stores_in_two_namespaces_of_one_file_do_not_mix(memory: Memory) -> None:
    one, other = (PlugmemDocumentStore(memory, namespace=(name,)) for name in ("a", "b"))
    one.add_documents([chunk("n", "d", "Tea")])
    assert other.docs == {}


# -- ingestion: what is known is not embedded again


class Counting(MockEmbedding):
    """Counts the texts it embeds."""

    seen: list[str] = []  # noqa: RUF012 - pydantic copies it for every instance

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.seen.extend(texts)
        return super()._get_text_embeddings(texts)


def test_a_later_pipeline_run_embeds_only_what_is_new(tmp_path: Path) -> None:
    def run(*documents: Document) -> list[str]:
        model = Counting(embed_dim=4)
        with Memory.open(tmp_path / "m") as memory:
            pipeline = IngestionPipeline(
                transformations=[SentenceSplitter(), model],
                docstore=PlugmemDocumentStore(memory),
                docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY,
            )
            pipeline.run(documents=list(documents))
        return model.seen

    tea, coffee = Document(id_="t", text="Tea"), Document(id_="c", text="Coffee")
    assert run(tea) == ["Tea"]
    assert run(tea, coffee) == ["Coffee"]


# -- the index store


def test_an_index_is_loaded_from_the_file(tmp_path: Path) -> None:
    def storage(memory: Memory) -> StorageContext:
        return StorageContext.from_defaults(
            docstore=PlugmemDocumentStore(memory), index_store=PlugmemIndexStore(memory)
        )

    with Memory.open(tmp_path / "m") as memory:
        index = SummaryIndex.from_documents(
            [Document(id_="d", text="Tea is at four")], storage_context=storage(memory)
        )
        index.set_index_id("notes")
    with Memory.open(tmp_path / "m") as memory:
        loaded = load_index_from_storage(storage(memory), index_id="notes")
        assert isinstance(loaded, SummaryIndex)
        [found] = loaded.as_retriever().retrieve("when?")
        assert found.text == "Tea is at four"
        loaded.insert(Document(id_="e", text="Coffee is at ten"))
    with Memory.open(tmp_path / "m") as memory:
        loaded = load_index_from_storage(storage(memory), index_id="notes")
        assert len(loaded.as_retriever().retrieve("when?")) == 2


def test_several_indices_live_in_one_index_store(memory: Memory) -> None:
    store: Any = PlugmemIndexStore(memory)
    storage = StorageContext.from_defaults(index_store=store)
    SummaryIndex([], storage_context=storage).set_index_id("one")
    VectorStoreIndex(
        [], storage_context=storage, embed_model=MockEmbedding(embed_dim=4)
    ).set_index_id("two")
    assert {struct.index_id for struct in store.index_structs()} >= {"one", "two"}
    store.delete_index_struct("one")
    assert "one" not in {struct.index_id for struct in store.index_structs()}
