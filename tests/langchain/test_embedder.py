"""`LangChainEmbedder`: any embeddings, sync or async, well or ill."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_classic.embeddings import CacheBackedEmbeddings
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, aindex
from langchain_core.stores import InMemoryByteStore

from langchain_plugmem import LangChainEmbedder, PlugmemVectorStore
from plugmem_core import (
    EmbedderError,
    InvalidInputError,
    Memory,
    VectorSpaceError,
    WrongTypeError,
)

PLAIN = DeterministicFakeEmbedding(size=4)


class AsyncOnly(Embeddings):
    """A client with coroutines alone, bound to the event loop it is used on."""

    def __init__(self) -> None:
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("the sync method was called")

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("the sync method was called")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.loops.add(asyncio.get_running_loop())
        self.asked += texts
        return PLAIN.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        self.loops.add(asyncio.get_running_loop())
        self.asked.append(text)
        return PLAIN.embed_query(text)


class Provider(Embeddings):
    """A provider whose answers a test can change."""

    def __init__(self, model: str = "small") -> None:
        self.model = model
        self.down = False
        self.answer: Callable[[list[str]], Any] = PLAIN.embed_documents

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("the provider is down")
        answer: list[list[float]] = self.answer(texts)
        return answer

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


# -- async


CALLS: dict[str, Callable[[PlugmemVectorStore], Awaitable[Any]]] = {
    "aadd_texts": lambda store: store.aadd_texts(["milk"]),
    "aadd_documents": lambda store: store.aadd_documents([Document("milk")]),
    "asimilarity_search": lambda store: store.asimilarity_search("tea"),
    "asimilarity_search_with_score": lambda store: store.asimilarity_search_with_score(
        "tea", mode="vector"
    ),
    "asimilarity_search_with_relevance_scores": lambda store: (
        store.asimilarity_search_with_relevance_scores("tea", score_threshold=0.5)
    ),
    "amax_marginal_relevance_search": lambda store: store.amax_marginal_relevance_search("tea"),
    "asearch": lambda store: store.asearch("tea", "mmr"),
    "as_retriever": lambda store: store.as_retriever().ainvoke("tea"),
}


@pytest.mark.parametrize("name", CALLS)
async def test_async_methods_await_the_embeddings_own_coroutines(name: str) -> None:
    embeddings = AsyncOnly()
    store = await PlugmemVectorStore.afrom_texts(["tea"], embeddings)
    before = len(embeddings.asked)
    assert len(await CALLS[name](store)) == 1
    assert len(embeddings.asked) == before + 1
    assert embeddings.loops == {asyncio.get_running_loop()}
    assert store.memory.stats().pending == 0


async def test_aindex_awaits_them_too() -> None:
    embeddings = AsyncOnly()
    store = PlugmemVectorStore.open(":memory:", embeddings)
    records = InMemoryRecordManager("tests")
    await records.acreate_schema()
    await aindex([Document("tea"), Document("milk")], records, store, key_encoder="sha256")
    assert embeddings.asked == ["tea", "milk"]
    assert store.memory.stats().vectors == 2


async def test_methods_without_a_text_need_no_embeddings() -> None:
    embeddings = AsyncOnly()
    store = await PlugmemVectorStore.afrom_texts(["tea"], embeddings, ids=["x"])
    vector = PLAIN.embed_query("tea")
    embeddings.asked.clear()
    assert len(await store.asimilarity_search_by_vector(vector)) == 1
    assert len(await store.asimilarity_search_by_vector_with_score(vector)) == 1
    assert len(await store.amax_marginal_relevance_search_by_vector(vector)) == 1
    assert len(await store.aget_by_ids(["x"])) == 1
    assert await store.adelete(["x"])
    assert embeddings.asked == []


async def test_the_loop_runs_on_while_embeddings_without_coroutines_work() -> None:
    ran = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(Provider):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            asyncio.run_coroutine_threadsafe(ran.wait(), loop).result(timeout=60)
            return super().embed_documents(texts)

    store = PlugmemVectorStore.open(":memory:", Waiting())
    adding = asyncio.create_task(store.aadd_texts(["tea"]))
    await asyncio.sleep(0)
    ran.set()
    await adding
    assert len(await store.asimilarity_search("tea")) == 1


async def test_an_error_in_a_coroutine_is_handled_like_one_in_a_function() -> None:
    class Broken(AsyncOnly):
        async def aembed_query(self, text: str) -> list[float]:
            raise ConnectionError("the provider is down")

    store = await PlugmemVectorStore.afrom_texts(["tea"], Broken())
    assert len(await store.asimilarity_search("tea")) == 1
    assert len(await store.amax_marginal_relevance_search("tea")) == 1
    with pytest.raises(EmbedderError, match="the provider is down"):
        await store.asimilarity_search("tea", mode="vector")
    with pytest.raises(EmbedderError, match="the provider is down"):
        await store.amax_marginal_relevance_search("tea", mode="vector")


# -- the name of the model


@pytest.mark.parametrize("attribute", ["model", "model_name", "model_id", "repo_id", "deployment"])
def test_the_space_is_named_after_class_and_model(attribute: str) -> None:
    class Named(Provider):
        def __init__(self) -> None:
            self.__dict__[attribute] = "text-9"

    assert LangChainEmbedder(Named()).space_id == "Named:text-9"


def test_the_space_is_named_after_the_class_when_it_tells_no_model() -> None:
    class Odd(Provider):
        def __init__(self) -> None:
            self.model = ""
            self.__dict__["model_name"] = object()

    assert LangChainEmbedder(Odd()).space_id == "Odd"
    assert LangChainEmbedder(PLAIN).space_id == "DeterministicFakeEmbedding"


async def test_a_cache_neither_hides_the_model_nor_changes_it() -> None:
    def cached(model: str) -> CacheBackedEmbeddings:
        return CacheBackedEmbeddings.from_bytes_store(
            Provider(model), InMemoryByteStore(), namespace=model, key_encoder="sha256"
        )

    assert LangChainEmbedder(cached("small")).space_id == "Provider:small"
    store = await PlugmemVectorStore.afrom_texts(["tea"], cached("small"))
    assert len(await store.asimilarity_search("tea", mode="vector")) == 1
    other = PlugmemVectorStore.open(":memory:", cached("large"))
    assert other.memory.embedder.space_id != store.memory.embedder.space_id


def test_a_given_name_goes_before() -> None:
    assert LangChainEmbedder(Provider("small"), space_id="mine").space_id == "mine"


def test_the_model_is_not_called_before_there_is_a_text(tmp_path: Path) -> None:
    provider = Provider()
    provider.down = True
    with PlugmemVectorStore.open(tmp_path / "a.plugmem", provider) as store:
        assert store.similarity_search("tea") == []
        assert store.similarity_search("tea", mode="vector") == []


def test_another_model_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.plugmem"
    with PlugmemVectorStore.from_texts(["tea"], Provider("small"), path=path):
        pass
    with pytest.raises(VectorSpaceError, match=r"'Provider:small'.*'Provider:large'"):
        PlugmemVectorStore.from_texts(["milk"], Provider("large"), path=path)
    with PlugmemVectorStore.open(path, Provider("small")) as store:
        assert len(store.similarity_search("tea", mode="vector")) == 1
        assert store.memory.stats().facts == 1


def test_another_dimension_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.plugmem"
    with PlugmemVectorStore.from_texts(["tea"], PLAIN, path=path):
        pass
    memory = Memory.open(path, embedder=LangChainEmbedder(PLAIN, dim=9))
    with memory, pytest.raises(VectorSpaceError, match=r"4 components.*9"):
        memory.remember("milk")
    with pytest.raises(EmbedderError, match=r"9 components.*4"):
        PlugmemVectorStore.from_texts(["milk"], DeterministicFakeEmbedding(size=9), path=path)


def test_a_file_can_be_read_by_words_without_its_model(tmp_path: Path) -> None:
    path = tmp_path / "a.plugmem"
    with PlugmemVectorStore.from_texts(["tea"], PLAIN, path=path):
        pass
    with PlugmemVectorStore.open(path) as store:
        assert len(store.similarity_search("tea")) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"embeddings": None},
        {"embeddings": "text-embedding"},
        {"embeddings": PLAIN, "space_id": 5},
    ],
    ids=str,
)
def test_wrong_types_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(WrongTypeError):
        LangChainEmbedder(**arguments)


# -- a provider that is down


async def test_what_is_added_while_the_provider_is_down_gets_its_vector_later() -> None:
    provider = Provider()
    store = PlugmemVectorStore.open(":memory:", provider)
    store.add_texts(["milk"], ids=["milk"])
    provider.down = True
    assert store.add_texts(["green tea"], ids=["tea"]) == ["tea"]
    assert await store.aadd_texts(["black tea"], ids=["black"]) == ["black"]
    assert store.memory.stats().pending == 2
    assert {d.id for d in store.similarity_search("tea")} == {"tea", "black"}
    assert {d.id for d in store.max_marginal_relevance_search("tea")} == {"tea", "black"}
    provider.down = False
    assert store.memory.maintain().embedded == 2
    [(document, score)] = store.similarity_search_with_score("green tea", k=1, mode="vector")
    assert document.id == "tea"
    assert score == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    "search",
    [
        "similarity_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
        "max_marginal_relevance_search",
    ],
)
async def test_a_search_by_vectors_alone_fails_with_the_provider(search: str) -> None:
    provider = Provider()
    store = PlugmemVectorStore.from_texts(["tea"], provider)
    provider.down = True
    with pytest.raises(EmbedderError, match="the provider is down"):
        getattr(store, search)("tea", mode="vector")
    with pytest.raises(EmbedderError, match="the provider is down"):
        await getattr(store, f"a{search}")("tea", mode="vector")
    assert len(getattr(store, search)("tea", mode="text")) == 1
    assert len(getattr(store, search)("tea")) == 1


ANSWERS: dict[str, Callable[[list[str]], Any]] = {
    "too few": lambda texts: PLAIN.embed_documents(texts)[:-1],
    "too many": lambda texts: PLAIN.embed_documents([*texts, "more"]),
    "another dimension": DeterministicFakeEmbedding(size=9).embed_documents,
    "mixed dimensions": lambda texts: [[1.0] * (4 + place) for place, _ in enumerate(texts)],
    "not finite": lambda texts: [[float("nan")] * 4 for _ in texts],
    "no vectors": lambda texts: None,
    "texts": lambda texts: texts,
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_wrong_answer_is_an_error_and_nothing_is_stored(name: str) -> None:
    provider = Provider()
    store = PlugmemVectorStore.from_texts(["tea"], provider, ids=["x"])
    provider.answer = ANSWERS[name]
    with pytest.raises(EmbedderError):
        store.add_texts(["milk", "rain"], ids=["x", "y"])
    with pytest.raises(EmbedderError):
        await store.aadd_texts(["milk", "rain"], ids=["x", "y"])
    assert store.get_by_ids(["x", "y"]) == [Document("tea", id="x")]
    assert store.memory.stats().facts == 1


def test_a_text_without_direction_is_found_by_words() -> None:
    provider = Provider()
    provider.answer = lambda texts: [
        [0.0] * 4 if text == "tea" else PLAIN.embed_query(text) for text in texts
    ]
    store = PlugmemVectorStore.from_texts(["milk", "tea"], provider, ids=["milk", "tea"])
    assert [d.id for d in store.similarity_search("tea")] == ["tea"]
    assert [d.id for d in store.max_marginal_relevance_search("tea")] == ["tea"]


def test_a_misspelled_argument_of_open_is_refused() -> None:
    with pytest.raises((TypeError, InvalidInputError)):
        PlugmemVectorStore.open(":memory:", PLAIN, name_space=("a",))
