"""`PlugmemKVStore`: document store and index store in the file of a memory."""

from collections.abc import Iterable, Sequence
from typing import Any

from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore.keyval_docstore import KVDocumentStore
from llama_index.core.storage.index_store.keyval_index_store import KVIndexStore
from llama_index.core.storage.kvstore.types import DEFAULT_COLLECTION, BaseKVStore

from plugmem_core import Memory, Namespace
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.verbs.base import twin


class PlugmemKVStore(BaseKVStore):
    """Values by key in the file of a memory: what LlamaIndex's stores keep their state in.

    Every put and every delete is one transaction, on disk when it returns, and other
    processes see it at once. Values come back as they were, in the order in which their
    keys were first put. No recall finds them, and they have no history.

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: The scope of all collections. Stores of other namespaces, above or below
            it, are apart.

    Raises:
        InvalidInputError: A key, a collection or a value breaks its rule: no text, blank,
            too long, or no JSON. So do the methods.

    >>> from plugmem_core import Memory
    >>> store = PlugmemKVStore(Memory.open(":memory:"))
    >>> store.put("theme", {"name": "dark"}, collection="settings")
    >>> store.get("theme", collection="settings"), store.get("font", collection="settings")
    ({'name': 'dark'}, None)
    """

    def __init__(self, memory: Memory, *, namespace: Namespace = ("kv",)) -> None:
        check_type(memory, Memory, "memory", "an open Memory")
        self.memory = memory
        self.namespace = check_namespace(namespace)

    def put(self, key: str, val: dict[str, Any], collection: str = DEFAULT_COLLECTION) -> None:
        """Store a value under a key, in place of what is there.

        Args:
            key: Text that is not blank, at most 1,024 bytes.
            val: A JSON object, at most `max_value` bytes.
            collection: Where the key lives.
        """
        self.memory.put_values(collection, {key: val}, namespace=self.namespace)

    def put_all(
        self,
        kv_pairs: list[tuple[str, dict[str, Any]]],
        collection: str = DEFAULT_COLLECTION,
        batch_size: int = 1,  # noqa: ARG002 - a part of LlamaIndex's signature
    ) -> None:
        """Store many values in one transaction: all of them or none.

        Args:
            kv_pairs: Keys and values; the last value of a key counts.
            collection: Where the keys live.
            batch_size: Ignored; there is one batch.
        """
        self.memory.put_values(collection, dict(kv_pairs), namespace=self.namespace)

    def get(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """Return the value under a key, a copy; `None` when there is none."""
        return self.memory.get_values(collection, [key], namespace=self.namespace).get(key)

    def get_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """Return every value of a collection by its key."""
        return self.memory.get_values(collection, namespace=self.namespace)

    def delete(self, key: str, collection: str = DEFAULT_COLLECTION) -> bool:
        """Remove what is under a key; `False` when there is nothing."""
        return bool(self.memory.delete_values(collection, [key], namespace=self.namespace))

    def delete_all(self, keys: Iterable[str], collection: str = DEFAULT_COLLECTION) -> int:
        """Remove what is under keys in one transaction; return how many there were."""
        return self.memory.delete_values(collection, keys, namespace=self.namespace)

    async def aput(
        self, key: str, val: dict[str, Any], collection: str = DEFAULT_COLLECTION
    ) -> None:
        """`put` in a worker thread; the event loop runs on."""
        await twin(self.put)(key, val, collection)

    async def aput_all(
        self,
        kv_pairs: list[tuple[str, dict[str, Any]]],
        collection: str = DEFAULT_COLLECTION,
        batch_size: int = 1,
    ) -> None:
        """`put_all` in a worker thread; the event loop runs on."""
        await twin(self.put_all)(kv_pairs, collection, batch_size)

    async def aget(self, key: str, collection: str = DEFAULT_COLLECTION) -> dict[str, Any] | None:
        """`get` in a worker thread; the event loop runs on."""
        return await twin(self.get)(key, collection)

    async def aget_all(self, collection: str = DEFAULT_COLLECTION) -> dict[str, dict[str, Any]]:
        """`get_all` in a worker thread; the event loop runs on."""
        return await twin(self.get_all)(collection)

    async def adelete(self, key: str, collection: str = DEFAULT_COLLECTION) -> bool:
        """`delete` in a worker thread; the event loop runs on."""
        return await twin(self.delete)(key, collection)


class PlugmemDocumentStore(KVDocumentStore):
    """LlamaIndex's document store over a `PlugmemKVStore`: nodes, documents and their hashes.

    Documents are added and deleted in one transaction each, all of their nodes or none. With
    a document goes its hash, even where a vector store keeps the nodes: it can be inserted
    again.

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: The scope of the `PlugmemKVStore`.

    >>> from llama_index.core import Document
    >>> from plugmem_core import Memory
    >>> store = PlugmemDocumentStore(Memory.open(":memory:"))
    >>> store.add_documents([Document(text="Tea is at four", id_="tea")])
    >>> store.get_document("tea").text
    'Tea is at four'
    """

    def __init__(self, memory: Memory, *, namespace: Namespace = ("kv",)) -> None:
        self._values = PlugmemKVStore(memory, namespace=namespace)
        super().__init__(self._values)

    def add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,  # noqa: FBT001, FBT002 - as LlamaIndex declares it
        batch_size: int | None = None,
        store_text: bool = True,  # noqa: FBT001, FBT002 - idem
    ) -> None:
        """Add documents or nodes in one transaction.

        Args:
            docs: What to add.
            allow_update: Whether those that are there are replaced.
            batch_size: Ignored; there is one batch.
            store_text: Whether more than their hashes is kept.

        Raises:
            ValueError: One is there already and may not be replaced; none was added.
        """
        with self._values.memory.transaction():
            super().add_documents(docs, allow_update, batch_size, store_text)

    def delete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:  # noqa: FBT001, FBT002
        """Delete a document, its nodes and their hashes, in one transaction.

        Args:
            ref_doc_id: The document.
            raise_error: Whether one that is not there is an error.

        Raises:
            ValueError: There is no such document.
        """
        with self._values.memory.transaction():
            info = self.get_ref_doc_info(ref_doc_id)
            if info is None and self.get_document_hash(ref_doc_id) is None:
                if raise_error:
                    raise ValueError(f"ref_doc_id is {ref_doc_id!r}; there is no such document")
                return
            nodes = [] if info is None else info.node_ids
            for collection in (self._node_collection, self._metadata_collection):
                self._values.delete_all([*nodes, ref_doc_id], collection)
            self._values.delete_all([ref_doc_id], self._ref_doc_collection)

    async def async_add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,  # noqa: FBT001, FBT002 - as LlamaIndex declares it
        batch_size: int | None = None,
        store_text: bool = True,  # noqa: FBT001, FBT002 - idem
    ) -> None:
        """`add_documents` in a worker thread; the event loop runs on."""
        await twin(self.add_documents)(docs, allow_update, batch_size, store_text)

    async def adelete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:  # noqa: FBT001, FBT002
        """`delete_ref_doc` in a worker thread; the event loop runs on."""
        await twin(self.delete_ref_doc)(ref_doc_id, raise_error)


class PlugmemIndexStore(KVIndexStore):
    """LlamaIndex's index store over a `PlugmemKVStore`: what makes an index loadable.

    Args:
        memory: The open memory; closing it remains the caller's task.
        namespace: The scope of the `PlugmemKVStore`.

    >>> from plugmem_core import Memory
    >>> PlugmemIndexStore(Memory.open(":memory:")).index_structs()
    []
    """

    def __init__(self, memory: Memory, *, namespace: Namespace = ("kv",)) -> None:
        super().__init__(PlugmemKVStore(memory, namespace=namespace))
