"""`PlugmemVectorStore` among failures and other writers, and inside retrievers and chains."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, Clock
from conftest import OpenMemory
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.tools import create_retriever_tool
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_plugmem import LangChainEmbedder, PlugmemVectorStore
from plugmem_core import EmbedderError, InvalidInputError, Memory, MemoryConfig, TooLargeError
from plugmem_core.store import Transaction

FAKE = DeterministicFakeEmbedding(size=6)


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    """A store without vectors under the clock of the tests."""
    return PlugmemVectorStore(memory)


def ids_of(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def texts_of(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


# -- faults


def second_fails(monkeypatch: pytest.MonkeyPatch, step: str) -> Callable[[], None]:
    """Let the second call of a step of a transaction fail; returns what mends it."""
    real, calls = getattr(Transaction, step), []

    def failing(transaction: Transaction, *arguments: Any) -> Any:
        calls.append(step)
        if len(calls) == 2:
            raise sqlite3.OperationalError("disk I/O error")
        return real(transaction, *arguments)

    monkeypatch.setattr(Transaction, step, failing)
    return lambda: monkeypatch.setattr(Transaction, step, real)


def seen(store: PlugmemVectorStore) -> dict[str, list[str]]:
    """Return what each source, a filter, and a look-up show."""
    everything: dict[str, list[Document]] = {
        "words": store.similarity_search("tea", mode="text"),
        "vectors": store.similarity_search("tea", mode="vector"),
        "graph": store.similarity_search("Mara", sources=["graph"]),
        "time": store.similarity_search("", filter={"hot": True}),
        "ids": store.get_by_ids(["a", "b", "c"]),
    }
    return {name: sorted(d.page_content for d in found) for name, found in everything.items()}


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_addition_that_fails_midway_leaves_no_trace_in_any_source(
    monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    with PlugmemVectorStore.open(":memory:", FAKE) as store:
        said = {"fact_entity": "Mara", "hot": True}
        store.add_documents([Document("black tea", id="a", metadata=said)])
        before = seen(store)
        assert set(map(tuple, before.values())) == {("black tea",)}
        documents = [
            Document("green tea", id="a", metadata=said),
            Document("white tea", id="b", metadata=said),
            Document("mint tea", id="c", metadata=said),
        ]
        mend = second_fails(monkeypatch, "remember")
        with pytest.raises((sqlite3.Error, OSError)):
            await store.aadd_documents(documents) if asynchronous else store.add_documents(
                documents
            )
        assert seen(store) == before
        mend()
        store.add_documents(documents)
        assert set(map(tuple, seen(store).values())) == {("green tea", "mint tea", "white tea")}


@pytest.mark.parametrize("everything", [False, True])
def test_a_deletion_that_fails_midway_deletes_nothing(
    store: PlugmemVectorStore, monkeypatch: pytest.MonkeyPatch, everything: bool
) -> None:
    without_key = str(store.memory.remember("tea without a key").id)
    store.add_texts(["tea with a key"], ids=["a"])
    ids = None if everything else ["a", without_key]
    mend = second_fails(monkeypatch, "forget")
    with pytest.raises((sqlite3.Error, OSError)):
        store.delete(ids)
    assert len(store.similarity_search("tea")) == 2
    mend()
    assert store.delete(ids) is True
    assert store.similarity_search("tea", closed=True) == []


@pytest.mark.parametrize("everything", [False, True])
def test_what_another_process_removes_meanwhile_does_not_stop_a_deletion(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, everything: bool
) -> None:
    path = tmp_path / "store.plugmem"
    mine, other = (open_memory(path) for _ in range(2))
    store = PlugmemVectorStore(mine)
    gone = mine.remember("tea without a key").id
    store.add_texts(["tea one", "tea two"], ids=["a", "b"])
    forget_many = mine.forget_many

    def late(ids: list[int], **options: Any) -> list[bool]:
        if other.get(gone) is not None:
            other.forget(gone)
            other.maintain()
        return forget_many(ids, **options)

    monkeypatch.setattr(mine, "forget_many", late)
    assert store.delete(None if everything else ["a", "b", str(gone)]) is True
    assert store.similarity_search("tea", closed=True) == []


def test_deleting_reaches_every_version_whenever_it_is_true(
    store: PlugmemVectorStore, clock: Clock
) -> None:
    memory = store.memory
    for year in (2997, 2998, 2999):
        dated = {"fact_valid_from": f"{year}-01-01"}
        store.add_documents([Document(f"tea of {year}", id="x", metadata=dated)])
    store.add_texts(["tea of today"], ids=["x"])
    [current] = memory.get_by_keys(["x"])
    memory.revise(current.id, "tea of tomorrow", valid_from=clock.now + DAY)
    store.delete(["x"])
    assert memory.stats().facts == memory.stats().forgotten == 5


def test_an_index_run_with_a_bad_answer_of_the_provider_can_be_repeated() -> None:
    class Lossy(Embeddings):
        lossy = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return FAKE.embed_documents(texts[:1] if self.lossy else texts)

        def embed_query(self, text: str) -> list[float]:
            return FAKE.embed_query(text)

    embeddings = Lossy()
    store = PlugmemVectorStore.open(":memory:", embeddings)
    records = InMemoryRecordManager("tests")
    records.create_schema()
    documents = [Document("green tea"), Document("black tea")]
    with pytest.raises(EmbedderError, match="1 vectors for 2 texts"):
        index(documents, records, store, key_encoder="sha256")
    assert store.memory.stats().facts == 0
    embeddings.lossy = False
    done = index(documents, records, store, key_encoder="sha256")
    assert (done["num_added"], done["num_skipped"]) == (2, 0)
    assert store.memory.stats().vectors == 2


def test_the_splitter_that_the_error_names_is_the_remedy(open_memory: OpenMemory) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(max_text=100)))
    long = Document("Mara prefers green tea. " * 20, id="long", metadata={"page": 1})
    with pytest.raises(TooLargeError, match=r"'long'.* 480 bytes.* 100.*RecursiveCharacterText"):
        store.add_documents([long])
    splitter = RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=0)
    parts = store.add_documents(splitter.split_documents([long]))
    assert len(set(parts)) == len(parts) >= 5
    assert all(one.metadata == {"page": 1} for one in store.similarity_search("tea", k=20))


def test_an_error_names_the_key_of_the_metadata_and_how_to_write_a_date(
    store: PlugmemVectorStore,
) -> None:
    wrong = Document("tea", id="x", metadata={"fact_tags": "green"})
    expected = r"document 'x': metadata 'fact_tags': tags is 'green' .*give a list of tags"
    with pytest.raises(InvalidInputError, match=expected):
        store.add_documents([wrong])
    moment = datetime(2024, 5, 1, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match=r"document 'x': .*'when'.* dates as ISO-8601 text"):
        store.add_documents([Document("tea", id="x", metadata={"when": moment})])


# -- what finds documents


@pytest.fixture
def household(open_memory: OpenMemory, clock: Clock) -> PlugmemVectorStore:
    """Three documents, a day apart; Mara lives in Bern, of which the last one speaks."""
    store = PlugmemVectorStore(open_memory(embedder=LangChainEmbedder(FAKE)))
    mara = {"fact_entity": "Mara", "fact_links": [["lives in", "Bern"]]}
    bern = {"fact_entity": "Bern"}
    for key, text, said in [
        ("tea", "Green tea in the morning", mara),
        ("bike", "The bike is red", {}),
        ("bear", "A bear lives in the pit", bern),
    ]:
        store.add_documents([Document(text, id=key, metadata=said)])
        clock.tick(DAY)
    return store


@pytest.mark.reference
@pytest.mark.parametrize(
    ("question", "settings", "expected"),
    [
        ("bike", {"sources": ["bm25"]}, ["bike"]),
        ("What does Mara do?", {"sources": ["graph"]}, ["tea", "bear"]),
        ("What does Mara do?", {"sources": ["graph"], "graph_depth": 0}, ["tea"]),
        ("What does Mara do?", {"sources": ["graph"], "anchors": "given"}, []),
        ("Who?", {"sources": ["graph"], "entities": ["Bern"], "graph_depth": 0}, ["bear"]),
        ("Who?", {"sources": ["time"]}, ["bear", "bike", "tea"]),
        ("Who?", {"sources": ["bm25", "time"], "range": ("2024-05-02", "2024-05-03")}, ["bike"]),
        ("The bike is red", {"sources": ["vector"], "ef": 10, "k": 1}, ["bike"]),
        ("The bike is red", {"sources": ["bm25", "vector"], "min_score": 0.0325}, ["bike"]),
        ("The bike is red", {"weights": {"vector": 0, "graph": 0}, "k": 1}, ["bike"]),
    ],
    ids=str,
)
async def test_each_way_of_finding_can_be_chosen_sync_and_async(
    household: PlugmemVectorStore,
    question: str,
    settings: dict[str, Any],
    expected: list[str],
) -> None:
    assert ids_of(household.similarity_search(question, **settings)) == expected
    assert ids_of(await household.asimilarity_search(question, **settings)) == expected
    retriever = household.as_retriever(search_kwargs=settings)
    assert ids_of(retriever.invoke(question)) == expected
    assert ids_of(await retriever.ainvoke(question)) == expected


def test_a_mode_of_one_source_and_other_sources_contradict(household: PlugmemVectorStore) -> None:
    with pytest.raises(InvalidInputError, match='mode "text" is one source already'):
        household.similarity_search("tea", mode="text", sources=["graph"])
    lexical = PlugmemVectorStore(household.memory, mode="text")
    assert ids_of(lexical.similarity_search("Mara", mode="hybrid", sources=["graph"])) == [
        "tea",
        "bear",
    ]
    with pytest.raises(InvalidInputError, match="mode is 'text', but a vector"):
        household.similarity_search_by_vector(FAKE.embed_query("tea"), mode="text")


WORDS = st.sampled_from(["tea", "milk", "bike", "red", "the", "Mara", "bear"])
TEXTS = st.lists(
    st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8, unique=True
)


@given(TEXTS)
def test_relevance_puts_the_exact_text_first_and_stays_within_0_and_1(texts: list[str]) -> None:
    # So many components that no two texts are near each other by chance.
    with PlugmemVectorStore.from_texts(texts, DeterministicFakeEmbedding(size=64)) as store:
        for text in texts:
            found = store.similarity_search_with_relevance_scores(text, k=len(texts))
            scores = [score for _, score in found]
            assert len(found) == len(texts)
            assert found[0][0].page_content == text
            # Vectors are compared in a byte a component.
            assert scores[0] == pytest.approx(1, abs=0.01)
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)


@given(TEXTS)
def test_relevance_by_words_alone_is_no_certainty(texts: list[str]) -> None:
    with PlugmemVectorStore.from_texts(texts) as store:
        found = store.similarity_search_with_relevance_scores("tea milk", k=len(texts))
        assert all(0 < score < 1 for _, score in found)
        cut = store.similarity_search_with_relevance_scores(
            "tea milk", k=len(texts), score_threshold=0.25
        )
        assert cut == [pair for pair in found if pair[1] >= 0.25]


def test_what_only_the_graph_finds_has_no_relevance(household: PlugmemVectorStore) -> None:
    found = household.similarity_search_with_relevance_scores("Mara", sources=["graph"])
    assert [(document.id, score) for document, score in found] == [("tea", 0), ("bear", 0)]


# -- in retrievers and chains


async def test_k_counts_wherever_it_is_given(store: PlugmemVectorStore) -> None:
    store.add_texts([f"tea {number}" for number in range(9)])
    retriever = store.as_retriever(search_kwargs={"k": 7})
    configured = retriever.configurable_fields(search_kwargs=ConfigurableField(id="search"))
    config = {"configurable": {"search": {"k": 2}}}
    assert len(store.as_retriever().invoke("tea")) == 4
    assert len(retriever.invoke("tea")) == 7
    assert len(retriever.invoke("tea", k=3)) == 3
    assert len(await retriever.ainvoke("tea", k=3)) == 3
    assert len(retriever.bind(k=3).invoke("tea")) == 3
    assert len(await retriever.bind(k=3).ainvoke("tea")) == 3
    assert list(map(len, retriever.batch(["tea", "tea 5"], k=3))) == [3, 3]
    assert list(map(len, await retriever.abatch(["tea", "tea 5"], k=3))) == [3, 3]
    assert len(configured.invoke("tea", config)) == 2
    assert len(await configured.ainvoke("tea", config)) == 2


@pytest.mark.parametrize("search_type", ["similarity", "mmr", "similarity_score_threshold"])
async def test_every_search_type_answers_in_a_chain(
    household: PlugmemVectorStore, search_type: str
) -> None:
    settings: dict[str, Any] = {"k": 1}
    if search_type == "similarity_score_threshold":
        settings["score_threshold"] = 0.5
    retriever = household.as_retriever(search_type=search_type, search_kwargs=settings)
    chain = retriever | RunnableLambda(texts_of)
    assert chain.invoke("The bike is red") == ["The bike is red"]
    assert await chain.ainvoke("The bike is red") == ["The bike is red"]


async def test_search_by_name_of_its_type_agrees_with_the_method(
    household: PlugmemVectorStore,
) -> None:
    for search_type, method in [
        ("similarity", household.similarity_search),
        ("mmr", household.max_marginal_relevance_search),
    ]:
        expected = method("The bike is red", k=2)
        assert household.search("The bike is red", search_type, k=2) == expected
        assert await household.asearch("The bike is red", search_type, k=2) == expected


def test_a_retriever_adds_documents_to_its_store(household: PlugmemVectorStore) -> None:
    retriever = household.as_retriever(search_kwargs={"k": 1})
    assert retriever.add_documents([Document("Coffee at noon", id="coffee")]) == ["coffee"]
    assert ids_of(retriever.invoke("Coffee at noon")) == ["coffee"]


def test_a_tool_answers_with_what_its_retriever_may_see(household: PlugmemVectorStore) -> None:
    retriever = household.as_retriever(search_kwargs={"filter": {"fact_entity": "Bern"}})
    tool = create_retriever_tool(retriever, "notes", "Notes of the household.")
    assert tool.invoke({"query": "The bike is red"}) == "A bear lives in the pit"


def test_tracing_learns_the_store_and_its_embeddings(household: PlugmemVectorStore) -> None:
    started: list[dict[str, Any]] = []

    class Events(BaseCallbackHandler):
        def on_retriever_start(self, serialized: Any, query: str, **details: Any) -> None:
            started.append(details)

    household.as_retriever().invoke("tea", {"callbacks": [Events()]})
    [details] = started
    assert {"PlugmemVectorStore", "DeterministicFakeEmbedding"} <= set(details["tags"])
    assert details["metadata"]["ls_vector_store_provider"] == "PlugmemVectorStore"
    assert details["metadata"]["ls_embedding_provider"] == "DeterministicFakeEmbedding"


async def test_two_handles_on_one_file_see_each_others_documents(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "store.plugmem"
    writer, reader = (
        PlugmemVectorStore(open_memory(path, embedder=LangChainEmbedder(FAKE))) for _ in range(2)
    )
    writer.add_texts(["green tea"], ids=["x"])
    assert ids_of(reader.similarity_search("tea")) == ["x"]
    await reader.aadd_texts(["black tea"], ids=["x"])
    assert texts_of(writer.similarity_search("tea", mode="vector")) == ["black tea"]
    writer.delete(["x"])
    assert reader.get_by_ids(["x"]) == []
