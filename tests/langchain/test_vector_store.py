"""`PlugmemVectorStore`: the standard suite, every method and argument, and life around it."""

import asyncio
import copy
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import DAY, Clock
from conftest import OpenMemory
from langchain_classic.memory import VectorStoreRetrieverMemory
from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from langchain_plugmem import (
    LangChainEmbedder,
    PlugmemChatMessageHistory,
    PlugmemStore,
    PlugmemVectorStore,
)
from plugmem_core import (
    ClosedError,
    EmbedderError,
    InvalidFilterError,
    InvalidInputError,
    Memory,
    MemoryConfig,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)

COMPASS = {
    "east": [1.0, 0.0],
    "northeast": [1.0, 1.0],
    "north": [0.0, 1.0],
    "west": [-1.0, 0.0],
}


class Compass(Embeddings):
    """Vectors of four winds, and a diary of what was asked for."""

    def __init__(self) -> None:
        self.documents: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return [COMPASS.get(text, [1.0, 1.0]) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return COMPASS.get(text, [1.0, 1.0])


def ids_of(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.fixture
def winds() -> PlugmemVectorStore:
    store = PlugmemVectorStore.open(":memory:", Compass())
    store.add_texts(list(COMPASS), ids=list(COMPASS))
    return store


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    """A store without vectors under the clock of the tests."""
    return PlugmemVectorStore(memory)


class TestInMemory(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        with PlugmemVectorStore.open(":memory:", self.get_embeddings()) as store:
            yield store


class TestInAFile(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        with PlugmemVectorStore.open(tmp_path / "store.plugmem", self.get_embeddings()) as store:
            yield store


class TestInANamespaceBesideOthers(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> VectorStore:
        memory = Memory.open(":memory:", embedder=LangChainEmbedder(self.get_embeddings()))
        memory.remember("foo", key="1", namespace=("other",))
        return PlugmemVectorStore(memory, namespace=("mine",))


# -- scores


def test_in_mode_vector_the_score_is_the_cosine(winds: PlugmemVectorStore) -> None:
    found = winds.similarity_search_with_score("east", mode="vector")
    assert [document.id for document, _ in found] == ["east", "northeast", "north", "west"]
    assert [score for _, score in found] == pytest.approx([1, math.sqrt(0.5), 0, -1], abs=1e-6)


def test_by_vector_the_score_is_the_cosine_whatever_the_length(winds: PlugmemVectorStore) -> None:
    found = winds.similarity_search_by_vector_with_score([0.0, 7.0], k=2)
    assert [document.id for document, _ in found] == ["north", "northeast"]
    assert [score for _, score in found] == pytest.approx([1, math.sqrt(0.5)])


def test_a_cosine_is_never_over_1() -> None:
    embeddings = DeterministicFakeEmbedding(size=4)
    texts = [f"note {number}" for number in range(100)]
    store = PlugmemVectorStore.from_texts(texts, embeddings)
    for text in texts:
        [(document, score)] = store.similarity_search_with_score(text, k=1, mode="vector")
        assert document.page_content == text
        assert 0.99 < score <= 1
        vector = embeddings.embed_query(text)
        assert store.similarity_search_by_vector_with_score(vector, k=1) == [(document, score)]


def test_in_mode_text_the_score_is_bm25(store: PlugmemVectorStore) -> None:
    store.add_texts(["alpha beta", "alpha gamma"], ids=["1", "2"])
    [(document, score)] = store.similarity_search_with_score("beta", mode="text")
    # One of two texts of equal length has the word once: ln(1 + 1.5 / 1.5) * 2.2 / 2.2
    assert document.id == "1"
    assert score == pytest.approx(math.log(2))
    both = store.similarity_search_with_score("alpha", mode="text")
    assert [score for _, score in both] == pytest.approx([math.log(1.2)] * 2)


def test_in_mode_hybrid_the_score_is_the_fused_one(winds: PlugmemVectorStore) -> None:
    (best, score), (second, lower) = winds.similarity_search_with_score("east", k=2)
    assert [best.id, second.id] == ["east", "northeast"]
    assert score == pytest.approx(1.0)  # half of it for the word, half for the vector
    assert 0 < lower < 0.5


def test_weights_choose_what_counts(winds: PlugmemVectorStore) -> None:
    [(_, score)] = winds.similarity_search_with_score("east", k=1, weights={"vector": 0.5})
    assert score == pytest.approx(0.5 + 0.5 * 0.5)
    lexical = PlugmemVectorStore(winds.memory, weights={"vector": 0, "bm25": 3, "recency": 0})
    [(_, score)] = lexical.similarity_search_with_score("east", k=1)
    assert score == pytest.approx(0.5 * 3)


def test_age_plays_no_part_unless_asked(open_memory: OpenMemory, clock: Clock) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(half_life_days=1)))
    store.add_texts(["tea"], ids=["old"])
    clock.tick(100 * DAY)
    store.add_texts(["tea leaf"], ids=["new"])
    assert ids_of(store.similarity_search("tea")) == ["old", "new"]
    assert ids_of(store.similarity_search("tea", weights={"recency": 1})) == ["new", "old"]


def test_mode_is_the_stores_unless_the_call_says_otherwise(winds: PlugmemVectorStore) -> None:
    lexical = PlugmemVectorStore(winds.memory, mode="text")
    assert ids_of(lexical.similarity_search("east")) == ["east"]
    assert len(lexical.similarity_search("east", mode="hybrid")) == 4
    retriever = lexical.as_retriever(search_kwargs={"mode": "vector", "k": 2})
    assert ids_of(retriever.invoke("north")) == ["north", "northeast"]


def test_relevance_is_from_0_to_1_and_falls(winds: PlugmemVectorStore) -> None:
    for query in [*COMPASS, "anything else"]:
        for mode in ("hybrid", "vector"):
            found = winds.similarity_search_with_relevance_scores(query, mode=mode)
            scores = [score for _, score in found]
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)
    found = winds.similarity_search_with_relevance_scores("east")
    assert [document.id for document, _ in found[:2]] == ["east", "northeast"]
    assert [score for _, score in found] == pytest.approx([1, math.sqrt(0.5), 0, 0], abs=1e-6)


async def test_a_threshold_cuts_by_relevance(winds: PlugmemVectorStore) -> None:
    found = winds.similarity_search_with_relevance_scores("east", score_threshold=0.5)
    assert [document.id for document, _ in found] == ["east", "northeast"]
    retriever = winds.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9}
    )
    assert ids_of(retriever.invoke("east")) == ["east"]
    assert ids_of(await retriever.ainvoke("east")) == ["east"]


def test_relevance_without_vectors_is_a_share_of_the_best_bm25(store: PlugmemVectorStore) -> None:
    store.add_texts(["tea", "tea with milk and a biscuit", "rain"], ids=["a", "b", "c"])
    found = store.similarity_search_with_relevance_scores("tea")
    assert [document.id for document, _ in found] == ["a", "b"]
    assert 1 >= found[0][1] > found[1][1] > 0


# -- every search, sync and async

SEARCHES: dict[str, tuple[Any, ...]] = {
    "similarity_search": ("east",),
    "similarity_search_with_score": ("east",),
    "similarity_search_with_relevance_scores": ("east",),
    "similarity_search_by_vector": ([1.0, 0.2],),
    "similarity_search_by_vector_with_score": ([1.0, 0.2],),
    "max_marginal_relevance_search": ("east",),
    "max_marginal_relevance_search_by_vector": ([1.0, 0.2],),
}


def all_ids(found: list[Any]) -> set[str | None]:
    return {(one[0] if isinstance(one, tuple) else one).id for one in found}


@pytest.mark.parametrize("name", SEARCHES)
async def test_sync_and_async_agree(winds: PlugmemVectorStore, name: str) -> None:
    nothing: list[dict[str, Any]] = [{"filter": {"absent": 1}}, {"valid_at": "1999-01-01"}]
    for settings in [{}, {"k": 1}, {"k": 50}, *nothing]:
        found = getattr(winds, name)(*SEARCHES[name], **settings)
        assert await getattr(winds, f"a{name}")(*SEARCHES[name], **settings) == found
        expected = 0 if settings in nothing else 1 if settings == {"k": 1} else 4
        assert len(found) == expected


@pytest.mark.parametrize("name", SEARCHES)
async def test_every_search_takes_what_a_recall_takes(
    open_memory: OpenMemory, clock: Clock, name: str
) -> None:
    memory = open_memory(embedder=LangChainEmbedder(Compass()))
    store = PlugmemVectorStore(memory)
    store.add_documents(
        [
            Document("east", id="plain"),
            Document("east side", id="tagged", metadata={"fact_tags": ["t", "u"], "n": 1}),
        ]
    )
    then = clock.now
    clock.tick(DAY)
    store.add_documents([Document("west", id="plain")])

    def ask(**settings: Any) -> set[str | None]:
        return all_ids(getattr(store, name)(*SEARCHES[name], **settings))

    assert ask(tags=["t", "u"]) == {"tagged"}
    assert ask(any_tags=["u", "x"]) == {"tagged"}
    assert ask(not_tags=["t"]) == {"plain"}
    assert ask(where={"n": 1}) == ask(filter={"n": 1}) == ask(filter={"n": 1}, where=None)
    assert ask(filter=None, where={"n": 1}) == {"tagged"}
    assert ask(token_budget=1) == set()
    assert ask(min_score=5.0) == set()
    old = getattr(store, name)(*SEARCHES[name], as_of=then)
    texts = [(one[0] if isinstance(one, tuple) else one).page_content for one in old]
    assert sorted(texts) == ["east", "east side"]
    assert ask(known_at=then, valid_at=then) == {"plain", "tagged"}
    assert len(getattr(store, name)(*SEARCHES[name], closed=True)) == 3


@pytest.mark.parametrize("name", SEARCHES)
async def test_unknown_arguments_are_refused_by_name(winds: PlugmemVectorStore, name: str) -> None:
    expected = r"unknown 'top_k'; accepted are filter, mode, tags, .*token_budget"
    with pytest.raises(InvalidInputError, match=expected):
        getattr(winds, name)(*SEARCHES[name], top_k=3)
    with pytest.raises(InvalidInputError, match=expected):
        await getattr(winds, f"a{name}")(*SEARCHES[name], top_k=3)
    with pytest.raises(InvalidInputError, match="unknown 'namespace'"):
        getattr(winds, name)(*SEARCHES[name], namespace=())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": True}, "k is True"),
        ({"k": "3"}, "k is '3'"),
        ({"filter": lambda document: True}, "filter is .*give a mapping"),
        ({"filter": "year > 3"}, "filter is 'year > 3'"),
        ({"filter": {"a": 1}, "where": {"a": 1}}, "filter and where are one thing"),
        ({"filter": {"a": {"$near": 1}}}, r"\$near"),
        ({"weights": 5}, "weights is 5"),
        ({"weights": {"colour": 1}}, "weights has 'colour'"),
    ],
)
@pytest.mark.parametrize("name", SEARCHES)
def test_bad_arguments_are_refused(
    winds: PlugmemVectorStore, name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        getattr(winds, name)(*SEARCHES[name], **settings)


@pytest.mark.parametrize("query", [None, 5, ["east"], b"east"])
@pytest.mark.parametrize("name", [name for name in SEARCHES if "vector" not in name])
def test_a_question_that_is_no_text_is_refused(
    winds: PlugmemVectorStore, name: str, query: Any
) -> None:
    with pytest.raises(WrongTypeError):
        getattr(winds, name)(query)


@pytest.mark.parametrize("query", ["", "  ", "\n", "!!! ???", "AND OR NOT \" ' * ( % --"])
@pytest.mark.parametrize("name", [name for name in SEARCHES if "vector" not in name])
def test_a_question_without_words_finds_what_the_filter_leaves(
    store: PlugmemVectorStore, name: str, query: str
) -> None:
    store.add_texts(["rain", "!!!"], [{"n": 1}, {"n": 1}], ids=["rain", "marks"])
    assert all_ids(getattr(store, name)(query)) == set()
    if not query.strip():
        assert all_ids(getattr(store, name)(query, filter={"n": 1})) == {"rain", "marks"}
        assert all_ids(getattr(store, name)(query, filter={"n": 1}, mode="text")) == set()


@pytest.mark.parametrize("name", SEARCHES)
def test_an_empty_store_finds_nothing(name: str) -> None:
    assert getattr(PlugmemVectorStore.open(":memory:", Compass()), name)(*SEARCHES[name]) == []


def test_mode_vector_without_an_embedder_says_so(store: PlugmemVectorStore) -> None:
    with pytest.raises(InvalidInputError, match="open the memory with an embedder"):
        store.similarity_search("tea", mode="vector")
    assert store.similarity_search_by_vector([1.0, 0.0]) == []


@pytest.mark.parametrize("mode", ["Hybrid", "bm25", None, 3])
def test_an_unknown_mode_is_refused(winds: PlugmemVectorStore, mode: Any) -> None:
    with pytest.raises(InvalidInputError, match="give one of hybrid, vector, text"):
        winds.similarity_search("east", mode=mode)
    with pytest.raises(InvalidInputError, match="give one of hybrid, vector, text"):
        PlugmemVectorStore(winds.memory, mode=mode)


@pytest.mark.parametrize(
    "settings",
    [
        {"memory": "store.plugmem"},
        {"namespace": "mine"},
        {"mapping": {"entity": "speaker"}},
        {"weights": {"bm25": -1}},
        {"weights": 5},
    ],
    ids=str,
)
def test_a_constructor_argument_that_breaks_its_rule_is_refused(
    memory: Memory, settings: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        PlugmemVectorStore(**{"memory": memory, **settings})


def test_a_mode_or_sources_that_contradict_the_search_are_refused(
    winds: PlugmemVectorStore,
) -> None:
    with pytest.raises(InvalidInputError, match="leave mode out"):
        winds.similarity_search_by_vector([1.0, 0.0], mode="text")
    with pytest.raises(InvalidInputError, match="leave mode out"):
        winds.max_marginal_relevance_search_by_vector([1.0, 0.0], mode="hybrid")
    with pytest.raises(InvalidInputError, match='give sources with mode="hybrid"'):
        winds.similarity_search("east", mode="text", sources=["vector"])
    assert len(winds.similarity_search("east", sources=["bm25"])) == 1


def test_a_vector_of_another_dimension_is_refused(winds: PlugmemVectorStore) -> None:
    with pytest.raises(VectorSpaceError, match=r"3 components.* have 2"):
        winds.similarity_search_by_vector([1.0, 0.0, 0.0])


async def test_many_searches_at_once_wait_for_no_thread_of_each_other(
    winds: PlugmemVectorStore,
) -> None:
    # More than the event loop's pool has threads; these embeddings need threads, too.
    wanted = list(COMPASS) * 20
    found = await asyncio.gather(*(winds.asimilarity_search(wind, k=1) for wind in wanted))
    assert [document.id for [document] in found] == wanted
    await asyncio.gather(*(winds.aadd_texts([f"wind {n}"], ids=[f"{n}"]) for n in range(40)))
    assert len(winds.get_by_ids([f"{n}" for n in range(40)])) == 40


# -- maximal marginal relevance


def brute_force(
    asked: list[float], vectors: dict[str, list[float]], k: int, lambda_mult: float
) -> list[str]:
    """The definition, one candidate at a time."""

    def cosine(one: list[float], other: list[float]) -> float:
        return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))

    left = dict(vectors)
    chosen: list[str] = []
    while left and len(chosen) < k:
        scores = {
            name: cosine(asked, vector)
            if not chosen
            else lambda_mult * cosine(asked, vector)
            - (1 - lambda_mult) * max(cosine(vector, vectors[other]) for other in chosen)
            for name, vector in left.items()
        }
        best = max(scores, key=lambda name: scores[name])
        chosen.append(best)
        del left[best]
    return chosen


@pytest.mark.parametrize("lambda_mult", [0, 0.1, 0.5, 0.9, 1])
@pytest.mark.parametrize("k", [1, 3, 12])
async def test_mmr_is_what_its_definition_says(k: int, lambda_mult: float) -> None:
    embeddings = DeterministicFakeEmbedding(size=8)
    names = [f"note {number}" for number in range(12)]
    vectors = dict(zip(names, embeddings.embed_documents(names), strict=True))
    store = PlugmemVectorStore.open(":memory:", embeddings)
    store.add_texts(names, ids=names)
    asked = embeddings.embed_query("what?")
    settings = {"k": k, "fetch_k": 12, "lambda_mult": lambda_mult}
    expected = brute_force(asked, vectors, k, lambda_mult)
    by_vector = store.max_marginal_relevance_search_by_vector(asked, **settings)
    assert ids_of(by_vector) == expected
    by_text = store.max_marginal_relevance_search("what?", mode="vector", **settings)
    assert ids_of(by_text) == expected
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"mode": "vector", **settings})
    assert ids_of(await retriever.ainvoke("what?")) == expected


def test_mmr_chooses_among_fetch_k_only(winds: PlugmemVectorStore) -> None:
    settings: dict[str, Any] = {"k": 2, "mode": "vector", "lambda_mult": 0}
    wide = winds.max_marginal_relevance_search("east", fetch_k=4, **settings)
    assert ids_of(wide) == ["east", "west"]
    narrow = winds.max_marginal_relevance_search("east", fetch_k=2, **settings)
    assert ids_of(narrow) == ["east", "northeast"]
    assert len(winds.max_marginal_relevance_search("east", k=4, fetch_k=1)) == 4


def test_mmr_without_vectors_goes_by_words(store: PlugmemVectorStore) -> None:
    store.add_texts(
        ["green tea from Japan", "green tea from Japan, too", "tea needs hot water"],
        ids=["one", "same", "other"],
    )
    assert ids_of(store.max_marginal_relevance_search("green tea", k=2, lambda_mult=0.2)) == [
        "one",
        "other",
    ]


def test_mmr_works_while_a_vector_is_pending(winds: PlugmemVectorStore) -> None:
    winds.memory.remember("east wind", key="pending", embed=False)
    found = winds.max_marginal_relevance_search("east wind", k=5)
    assert set(ids_of(found)) == {*COMPASS, "pending"}
    assert found[0].id == "pending"


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "0.5", True, None])
def test_a_lambda_that_is_no_share_is_refused(winds: PlugmemVectorStore, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="lambda_mult is"):
        winds.max_marginal_relevance_search("east", lambda_mult=value)


# -- filters


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, "abcd"),
        ({"n": 1}, "a"),
        ({"n": {"$eq": 2}}, "b"),
        ({"n": {"$ne": 2}}, "acd"),
        ({"n": {"$gt": 1}}, "bc"),
        ({"n": {"$gte": 2, "$lt": 3}}, "b"),
        ({"n": {"$lte": 1}}, "a"),
        ({"n": {"$in": [1, 3]}}, "ac"),
        ({"n": {"$nin": [1, 3]}}, "bd"),
        ({"n": {"$exists": False}}, "d"),
        ({"words": {"$contains": "x"}}, "ab"),
        ({"name": {"$like": "A%"}}, "a"),
        ({"deep.er": True}, "c"),
        ({"dotted.key": 7}, "d"),
        ({"$or": [{"n": 1}, {"n": 3}]}, "ac"),
        ({"$and": [{"n": {"$gt": 1}}, {"n": {"$lt": 3}}]}, "b"),
        ({"$not": {"n": {"$in": [1, 2]}}}, "cd"),
        ({"n": {"$not": {"$gt": 1}}}, "ad"),
    ],
    ids=str,
)
def test_each_operator_of_a_filter(
    store: PlugmemVectorStore, wanted: dict[str, Any], expected: str
) -> None:
    store.add_texts(
        ["tea a", "tea b", "tea c", "tea d"],
        [
            {"n": 1, "words": ["x", "y"], "name": "Ann"},
            {"n": 2, "words": "six"},
            {"n": 3, "deep": {"er": True}},
            {"dotted.key": 7},
        ],
        ids=["a", "b", "c", "d"],
    )
    assert sorted(map(str, ids_of(store.similarity_search("tea", filter=wanted)))) == list(expected)


def test_a_bad_filter_is_refused_before_anything_is_searched(store: PlugmemVectorStore) -> None:
    with pytest.raises(InvalidFilterError, match=r"\$gtt"):
        store.similarity_search("tea", filter={"n": {"$gtt": 1}})


# -- adding


def test_an_id_added_again_replaces_the_document_in_every_source(
    open_memory: OpenMemory, clock: Clock
) -> None:
    store = PlugmemVectorStore(open_memory(embedder=LangChainEmbedder(Compass())))
    metadata = {"fact_entity": "Mara", "fact_tags": ["wind"], "side": "left"}
    store.add_documents([Document("east", id="x", metadata=metadata)])
    then = clock.now
    clock.tick()
    store.add_documents([Document("west", id="x")])
    assert store.get_by_ids(["x"]) == [Document("west", id="x")]
    assert store.similarity_search("east", mode="text") == []
    [(document, score)] = store.similarity_search_by_vector_with_score([1.0, 0.0])
    assert document.page_content == "west"
    assert score == pytest.approx(-1)
    assert store.similarity_search("east", tags=["wind"]) == []
    assert store.similarity_search("east", filter={"side": "left"}) == []
    old = Document("east", id="x", metadata=metadata)
    assert store.similarity_search("east", mode="text", as_of=then) == [old]
    assert store.similarity_search_by_vector([1.0, 0.0], as_of=then) == [old]


def test_the_last_of_one_id_in_a_batch_stays(store: PlugmemVectorStore) -> None:
    assert store.add_texts(["first tea", "second tea"], ids=["x", "x"]) == ["x", "x"]
    assert store.similarity_search("tea") == [Document("second tea", id="x")]


async def test_equal_texts_with_different_ids_stay_two(store: PlugmemVectorStore) -> None:
    store.add_texts(["tea"] * 2, ids=["a", "b"])
    made_up = await store.aadd_texts(["tea"] * 2)
    assert all_ids(store.similarity_search("tea", k=9)) == {"a", "b", *made_up}
    store.delete(["a"])
    assert all_ids(store.similarity_search("tea", k=9)) == {"b", *made_up}


async def test_generators_are_accepted_everywhere(store: PlugmemVectorStore) -> None:
    store.add_texts((t for t in ["tea"]), (m for m in [{"n": 1}]), ids=(i for i in ["a"]))
    await store.aadd_documents((d for d in [Document("milk")]), ids=(i for i in ["b"]))
    assert store.get_by_ids(i for i in ["a"])[0].metadata == {"n": 1}
    store.delete(i for i in ["a"])
    assert ids_of(store.get_by_ids(["a", "b"])) == ["b"]


def test_given_ids_go_before_the_documents_own(store: PlugmemVectorStore) -> None:
    documents = [Document("tea", id="own"), Document("milk", id="kept"), Document("rain")]
    ids = store.add_documents(documents, ids=["given", None, None])
    assert ids[:2] == ["given", "kept"]
    assert ids_of(store.get_by_ids(ids)) == ids
    assert store.get_by_ids(["own"]) == []
    assert ids_of(documents) == ["own", "kept", None]


async def test_inputs_are_left_as_they_were(store: PlugmemVectorStore) -> None:
    documents = [Document("tea", id="x", metadata={"fact_tags": ["a"], "deep": {"n": [1]}})]
    texts, metadatas = ["milk", "rain"], [{"n": 1}, None]
    before = copy.deepcopy((documents, texts, metadatas))
    store.add_documents(documents, ids=["y"])
    await store.aadd_texts(texts, metadatas)
    assert (documents, texts, metadatas) == before
    store.get_by_ids(["y"])[0].metadata["deep"]["n"].append(2)
    assert store.get_by_ids(["y"])[0].metadata == before[0][0].metadata


def test_nothing_is_a_valid_thing_to_add(store: PlugmemVectorStore) -> None:
    assert store.add_texts([]) == store.add_documents([]) == []
    assert store.memory.stats().facts == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "tea"}, "texts is 'tea'"),
        ({"texts": ["tea", 5]}, r"texts\[1\] is 5"),
        ({"texts": ["tea", None]}, r"texts\[1\] is None"),
        ({"texts": ["tea", "milk"], "ids": ["a"]}, "ids has 1 for 2 documents"),
        ({"texts": ["tea", "milk"], "ids": ["a", "b", "c"]}, "ids has 3 for 2 documents"),
        ({"texts": ["tea", "milk"], "ids": "ab"}, "ids is 'ab'"),
        ({"texts": ["tea", "milk"], "ids": ["a", 5]}, "key is 5"),
        ({"texts": ["tea", "milk"], "ids": ["a", " "]}, "document ' '"),
        ({"texts": ["tea", "milk"], "metadatas": [{}]}, "metadatas has 1 for 2 documents"),
        ({"texts": ["tea", "milk"], "metadatas": [{}, 5]}, r"metadatas\[1\] is 5"),
        ({"texts": ["tea", "milk"], "metadatas": [{}, {1: 2}]}, "document 1: a key of metadata"),
        ({"texts": ["tea", ""]}, "document 1: text is ''"),
        ({"texts": ["tea", " \n"], "ids": ["a", "b"]}, "document 'b': text is"),
        ({"texts": ["tea", "a\ud800"], "ids": ["a", "b"]}, "document 'b'.*surrogate"),
    ],
    ids=str,
)
async def test_what_cannot_be_added_is_named_and_nothing_is_stored(
    store: PlugmemVectorStore, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        store.add_texts(**arguments)
    with pytest.raises(InvalidInputError, match=message):
        await store.aadd_texts(**arguments)
    assert store.memory.stats().facts == 0


@pytest.mark.parametrize("documents", [["tea"], [None], Document("tea"), [{"page_content": "tea"}]])
def test_only_documents_are_documents(store: PlugmemVectorStore, documents: Any) -> None:
    with pytest.raises(WrongTypeError, match=r"documents.* is .* give a "):
        store.add_documents(documents)


def test_a_document_that_is_too_long_is_named_with_a_remedy(open_memory: OpenMemory) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(max_text=100)))
    documents = [Document("tea", id="short"), Document("tea " * 50, id="the-long-one")]
    with pytest.raises(TooLargeError, match=r"document 'the-long-one'.*100.*TextSplitter"):
        store.add_documents(documents)
    assert store.memory.stats().facts == 0


def test_an_embedders_error_stores_nothing_either() -> None:
    embeddings = DeterministicFakeEmbedding(size=4)
    store = PlugmemVectorStore.open(":memory:", embeddings)
    store.add_texts(["tea"])
    embeddings.size = 5
    with pytest.raises(EmbedderError, match=r"5 components.*4"):
        store.add_texts(["milk", "rain"])
    assert store.memory.stats().facts == 1


# -- deleting


async def test_deleting_forgets_every_version(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "store.plugmem"
    store = PlugmemVectorStore(open_memory(path, embedder=LangChainEmbedder(Compass())))
    store.add_texts(["east tea", "west tea"], ids=["x", "y"])
    then = clock.now
    clock.tick()
    store.add_texts(["north tea"], ids=["x"])
    clock.tick()
    assert await store.adelete(["x"]) is True
    for settings in ({}, {"as_of": then}, {"as_of": clock.now - 1}, {"closed": True}):
        assert ids_of(store.similarity_search("tea", **settings)) == ["y"]
        assert ids_of(store.similarity_search_by_vector([0.0, 1.0], **settings)) == ["y"]
    assert store.get_by_ids(["x"]) == []
    store.memory.maintain()
    store.close()
    again = PlugmemVectorStore(open_memory(path, embedder=LangChainEmbedder(Compass())))
    assert ids_of(again.similarity_search("tea", closed=True)) == ["y"]


@pytest.mark.parametrize("ids", [[], ["unknown"], ["", " "], ["7", "-1", "01", "9" * 30, "٣"]])
async def test_deleting_what_is_not_there_is_no_failure(
    store: PlugmemVectorStore, ids: list[str]
) -> None:
    store.add_texts(["tea"], ids=["x"])
    assert store.delete(ids) is True
    assert await store.adelete(ids) is True
    assert store.get_by_ids(ids) == []
    assert ids_of(store.similarity_search("tea")) == ["x"]


@pytest.mark.parametrize("ids", ["x", [5], [None], b"x"])
def test_ids_that_are_none_are_refused(store: PlugmemVectorStore, ids: Any) -> None:
    store.add_texts(["tea"], ids=["x"])
    with pytest.raises(WrongTypeError):
        store.delete(ids)
    with pytest.raises(WrongTypeError):
        store.get_by_ids(ids)
    assert ids_of(store.get_by_ids(["x"])) == ["x"]


async def test_deleting_none_empties_the_namespace_of_the_store(memory: Memory) -> None:
    mine, other = (PlugmemVectorStore(memory, namespace=(name,)) for name in ("mine", "other"))
    mine.add_texts([f"tea {number}" for number in range(1100)])
    other.add_texts(["tea"], ids=["x"])
    memory.remember("tea of a note", namespace=("mine", "below"))
    assert await mine.adelete() is True
    found = mine.similarity_search("tea", closed=True)
    assert [document.page_content for document in found] == ["tea of a note"]
    assert ids_of(other.similarity_search("tea")) == ["x"]
    assert memory.stats().current == 2


def test_a_store_at_the_root_deletes_nothing_of_other_adapters(memory: Memory) -> None:
    PlugmemStore(memory).put(("users",), "x", {"text": "tea"})
    history = PlugmemChatMessageHistory(memory, "session")
    history.add_user_message("tea")
    store = PlugmemVectorStore(memory)
    store.add_texts(["tea"], ids=["x"])
    assert store.delete(["x"])
    store.add_texts(["more tea"], ids=["y"])
    assert store.delete()
    assert PlugmemStore(memory).get(("users",), "x").value == {"text": "tea"}
    assert [message.content for message in history.messages] == ["tea"]
    assert memory.stats().current == 2


def test_links_of_a_deleted_document_end(memory: Memory) -> None:
    store = PlugmemVectorStore(memory)
    links = {"fact_entity": "Ines", "fact_links": [("is treated by", "Dr Bob")]}
    store.add_texts(["Ines phones"], [links], ids=["gone"])
    store.add_texts(["Ines writes"], [{"fact_entity": "Ines"}], ids=["kept"])
    memory.link("Ines", "knows", "Olga")
    assert store.delete(["gone"])
    assert [edge.dst for edge in memory.edges("Ines")] == ["Olga"]
    assert "Bob" not in memory.recall("Ines").rendered


def test_links_that_a_replaced_document_does_not_repeat_end(memory: Memory) -> None:
    store = PlugmemVectorStore(memory)
    about = {"fact_entity": "Ines", "fact_links": [("knows", "Bob"), ("knows", "Olga")]}
    store.add_texts(["Ines phones"], [about], ids=["a"])
    store.add_texts(["Ines writes"], [{**about, "fact_links": [("knows", "Olga")]}], ids=["a"])
    assert [edge.dst for edge in memory.edges("Ines")] == ["Olga"]
    store.add_texts(["Ines sings"], [{"fact_entity": "Ines"}], ids=["a"])
    assert memory.edges("Ines") == ()


def test_documents_that_are_true_later_are_deleted_with_all_others(memory: Memory) -> None:
    store = PlugmemVectorStore(memory)
    store.add_texts(["tea"], [{"fact_valid_from": "2030-01-01"}])
    memory.remember("tea for a while", ttl=3600)
    assert store.delete()
    assert memory.stats().current == 0


def test_facts_without_a_key_have_their_number_as_id(store: PlugmemVectorStore) -> None:
    first = store.memory.remember("tea at nine")
    second = store.memory.revise(first.id, "tea at ten")
    other = store.memory.remember("tea for two")
    assert ids_of(store.similarity_search("tea")) == [str(second.id), str(other.id)]
    assert store.get_by_ids([str(first.id)]) == []
    assert store.get_by_ids([str(other.id), str(second.id)]) == [
        Document("tea for two", id=str(other.id)),
        Document("tea at ten", id=str(second.id)),
    ]
    assert store.delete([str(second.id)])
    assert ids_of(store.similarity_search("tea", closed=True)) == [str(other.id)]


def test_an_earlier_or_ended_version_without_a_key_can_be_deleted(
    store: PlugmemVectorStore,
) -> None:
    first = store.memory.remember("tea at nine")
    store.memory.revise(first.id, "tea at ten")
    ended = store.memory.remember("tea at noon")
    store.memory.end(ended.id)
    store.delete([str(first.id), str(ended.id)])
    assert store.similarity_search("tea", closed=True) == []


def test_a_key_goes_before_the_number_of_a_fact(store: PlugmemVectorStore) -> None:
    number = str(store.memory.remember("tea without a key").id)
    store.add_texts(["tea with a key"], ids=[number])
    assert store.get_by_ids([number]) == [Document("tea with a key", id=number)]
    store.delete([number])
    assert [d.page_content for d in store.similarity_search("tea")] == ["tea without a key"]


def test_a_document_that_becomes_true_later_can_be_read_and_deleted(
    store: PlugmemVectorStore,
) -> None:
    planned = Document("tea at eleven", id="x", metadata={"fact_valid_from": "2100-01-01"})
    store.add_documents([planned])
    assert store.similarity_search("tea") == []
    assert store.get_by_ids(["x"]) == [planned]
    store.delete(["x"])
    assert store.get_by_ids(["x"]) == []
    assert store.similarity_search("tea", valid_at="2101-01-01") == []


def test_what_was_added_last_is_read_even_if_it_becomes_true_later(
    store: PlugmemVectorStore,
) -> None:
    planned = Document("tea at eleven", id="x", metadata={"fact_valid_from": "2100-01-01"})
    store.add_documents([Document("tea at nine", id="x")])
    store.add_documents([planned])
    assert store.get_by_ids(["x"]) == [planned]
    store.delete(["x"])
    assert store.similarity_search("tea", closed=True) == []


def test_a_fact_with_a_time_to_live_is_read_until_then(
    store: PlugmemVectorStore, clock: Clock
) -> None:
    store.memory.remember("tea is brewing", key="x", ttl=60)
    assert ids_of(store.get_by_ids(["x"])) == ["x"]
    clock.tick(DAY)
    assert store.get_by_ids(["x"]) == []


def test_documents_are_read_in_the_order_asked_and_once(store: PlugmemVectorStore) -> None:
    store.add_texts(["tea", "milk", "rain"], ids=["a", "b", "c"])
    assert ids_of(store.get_by_ids(["c", "x", "a", "c"])) == ["c", "a"]


# -- namespaces

LOOK_ALIKES = [("user",), ("users",), ("user", "1"), ("user", "10"), ("User",), ("user%",)]


def test_look_alike_scopes_see_nothing_of_each_other(memory: Memory) -> None:
    embedded = Memory.open(":memory:", embedder=LangChainEmbedder(Compass()))
    stores = [PlugmemVectorStore(embedded, namespace=one) for one in LOOK_ALIKES]
    for one in stores:
        one.add_texts([f"east {'/'.join(one.namespace)}"], ids=["x"])
    visible = {("user",): {("user",), ("user", "1"), ("user", "10")}}
    for one in stores:
        expected = {
            f"east {'/'.join(space)}" for space in visible.get(one.namespace, {one.namespace})
        }
        for name, question in SEARCHES.items():
            found = getattr(one, name)(*question, k=20)
            documents = [hit[0] if isinstance(hit, tuple) else hit for hit in found]
            assert {document.page_content for document in documents} == expected
        assert {document.page_content for document in one.get_by_ids(["x"])} == expected
    stores[3].delete(["x"])
    stores[4].delete()
    left = {document.page_content for one in stores for document in one.get_by_ids(["x"])}
    assert left == {"east user", "east users", "east user/1", "east user%"}


def test_numbers_of_facts_elsewhere_lead_nowhere(memory: Memory) -> None:
    other = memory.remember("tea of another", namespace=("other",))
    mine = PlugmemVectorStore(memory, namespace=("mine",))
    assert mine.get_by_ids([str(other.id)]) == []
    assert mine.delete([str(other.id)]) is True
    assert memory.get(other.id) is not None


# -- making stores


@pytest.mark.parametrize("embedding", [None, DeterministicFakeEmbedding(size=6)])
async def test_stores_are_made_of_texts_and_documents(embedding: Embeddings | None) -> None:
    texts, metadatas, ids = ["tea", "milk"], [{"n": 1}, {}], ["a", "b"]
    documents = [Document("tea", id="a", metadata={"n": 1}), Document("milk", id="b")]
    made = [
        PlugmemVectorStore.from_texts(texts, embedding, metadatas, ids=ids),
        await PlugmemVectorStore.afrom_texts(texts, embedding, metadatas, ids=ids),
        PlugmemVectorStore.from_documents(documents, embedding),
        await PlugmemVectorStore.afrom_documents(documents, embedding),
    ]
    for store in made:
        assert store.get_by_ids(ids) == documents
        assert store.embeddings is embedding
        assert store.memory.stats().vectors == (0 if embedding is None else 2)


def test_a_store_is_made_in_a_file_or_in_an_open_memory(tmp_path: Path) -> None:
    embedding = DeterministicFakeEmbedding(size=6)
    path = tmp_path / "store.plugmem"
    with PlugmemVectorStore.from_texts(["tea"], embedding, path=path, namespace=("a",)):
        pass
    memory = Memory.open(path, embedder=LangChainEmbedder(embedding))
    store = PlugmemVectorStore.from_texts(["milk"], embedding, memory=memory, mode="text")
    assert store.memory is memory
    assert {d.page_content for d in store.similarity_search("tea milk")} == {"tea", "milk"}
    assert PlugmemVectorStore.from_texts([], memory=memory).embeddings is embedding
    with pytest.raises(InvalidInputError, match="memory and path are two places"):
        PlugmemVectorStore.from_texts(["rain"], memory=memory, path=path)
    memory.close()


@pytest.mark.parametrize("embedder", [None, LangChainEmbedder(DeterministicFakeEmbedding(size=6))])
async def test_an_embedding_that_is_not_the_memorys_is_refused(embedder: Any) -> None:
    memory = Memory.open(":memory:", embedder=embedder)
    other = DeterministicFakeEmbedding(size=7)
    with pytest.raises(InvalidInputError, match=r"open it with Memory\.open"):
        PlugmemVectorStore.from_texts(["tea"], other, memory=memory)
    with pytest.raises(InvalidInputError, match=r"open it with Memory\.open"):
        await PlugmemVectorStore.afrom_texts(["tea"], other, memory=memory)
    assert memory.stats().facts == 0


def test_a_store_that_cannot_be_made_lets_go_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "store.plugmem"
    with pytest.raises(InvalidInputError):
        PlugmemVectorStore.from_texts(["tea", ""], path=path)
    with pytest.raises(InvalidInputError):
        PlugmemVectorStore.open(path, mode="none")
    path.unlink()
    with PlugmemVectorStore.open(path) as store:
        assert store.similarity_search("tea") == []


async def test_open_stores_close_at_the_end_of_their_block(tmp_path: Path) -> None:
    with PlugmemVectorStore.open(tmp_path / "a.plugmem") as store:
        store.add_texts(["tea"])
    with pytest.raises(ClosedError):
        store.similarity_search("tea")
    async with PlugmemVectorStore.open(tmp_path / "a.plugmem") as again:
        assert len(await again.asimilarity_search("tea")) == 1
    with pytest.raises(ClosedError):
        await again.asimilarity_search("tea")


# -- index()


def page(text: str, source: str) -> Document:
    return Document(text, metadata={"source": source})


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("cleanup", ["incremental", "full", "scoped_full"])
async def test_index_embeds_each_text_once(cleanup: Any, asynchronous: bool) -> None:
    embeddings = Compass()
    store = PlugmemVectorStore.open(":memory:", embeddings)
    records = InMemoryRecordManager("tests")
    records.create_schema()

    async def run(documents: list[Document]) -> dict[str, int]:
        settings: dict[str, Any] = {
            "cleanup": cleanup,
            "source_id_key": "source",
            "key_encoder": "sha256",
        }
        if asynchronous:
            return dict(await aindex(documents, records, store, **settings))
        return dict(index(documents, records, store, **settings))

    def counts(added: int, skipped: int, deleted: int) -> dict[str, int]:
        return {
            "num_added": added,
            "num_updated": 0,
            "num_skipped": skipped,
            "num_deleted": deleted,
        }

    one, two, three = page("one", "a"), page("two", "a"), page("three", "b")
    assert await run([one, two, three]) == counts(3, 0, 0)
    assert await run([one, two, three]) == counts(0, 3, 0)
    assert embeddings.documents == ["one", "two", "three"]
    changed = page("two and a half", "a")
    assert await run([one, changed, three]) == counts(1, 2, 1)
    assert embeddings.documents == ["one", "two", "three", "two and a half"]
    found = store.similarity_search("two", k=9)
    assert sorted(d.page_content for d in found) == ["one", "three", "two and a half"]
    assert all(d.metadata.keys() == {"source"} for d in found)


def test_full_cleanup_removes_what_is_not_there_any_more() -> None:
    store = PlugmemVectorStore.open(":memory:")
    records = InMemoryRecordManager("tests")
    records.create_schema()
    index([page("tea", "a"), page("milk", "b")], records, store, key_encoder="sha256")
    done = index([page("tea", "a")], records, store, cleanup="full", key_encoder="sha256")
    assert done["num_deleted"] == 1
    assert store.similarity_search("milk", closed=True) == []
    assert len(store.similarity_search("tea")) == 1


def test_incremental_cleanup_keeps_a_source_that_is_larger_than_a_batch() -> None:
    embeddings = Compass()
    store = PlugmemVectorStore.open(":memory:", embeddings)
    records = InMemoryRecordManager("tests")
    records.create_schema()
    pages = [page(f"page {number}", "book") for number in range(7)]
    for _ in range(2):
        index(
            pages,
            records,
            store,
            cleanup="incremental",
            source_id_key="source",
            batch_size=2,
            key_encoder="sha256",
        )
        found = store.similarity_search("page", k=20)
        assert sorted(d.page_content for d in found) == [f"page {number}" for number in range(7)]
    assert sorted(embeddings.documents) == [f"page {number}" for number in range(7)]


def test_a_text_that_is_there_under_another_id_is_not_embedded_anew() -> None:
    embeddings = Compass()
    store = PlugmemVectorStore.open(":memory:", embeddings)
    store.add_texts(["east"], ids=["a"])
    store.add_texts(["east", "east"], ids=["a", "b"])
    store.add_documents([Document("east", id="a", metadata={"n": 1})])
    assert embeddings.documents == ["east"]
    assert len(store.similarity_search_by_vector([1.0, 0.0])) == 2


def test_a_text_that_is_deleted_and_added_again_is_not_embedded_anew_until_it_is_purged() -> None:
    embeddings = Compass()
    store = PlugmemVectorStore.open(":memory:", embeddings)
    for _ in range(2):
        store.add_texts(["east"], ids=["a"])
        assert len(store.similarity_search_by_vector([1.0, 0.0])) == 1
        store.delete(["a"])
    assert embeddings.documents == ["east"]
    store.memory.maintain()
    store.add_texts(["east", "east"])
    assert embeddings.documents == ["east", "east"]


# -- in other components

deprecated = pytest.mark.filterwarnings(
    # The classes are deprecated by their authors, and still used.
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
)


@deprecated
async def test_a_classic_conversation_memory_works_on_it(store: PlugmemVectorStore) -> None:
    conversation = VectorStoreRetrieverMemory(retriever=store.as_retriever(search_kwargs={"k": 1}))
    conversation.save_context({"input": "I like green tea"}, {"output": "noted"})
    await conversation.asave_context({"input": "My bike is red"}, {"output": "nice"})
    question = {"input": "Which tea do I like?"}
    expected = {"history": "input: I like green tea\noutput: noted"}
    assert conversation.load_memory_variables(question) == expected
    assert await conversation.aload_memory_variables(question) == expected


async def test_a_time_weighted_retriever_works_with_times_as_numbers() -> None:
    store = PlugmemVectorStore.open(":memory:", Compass())
    retriever = TimeWeightedVectorStoreRetriever(vectorstore=store, k=2, decay_rate=0.5)
    accessed = datetime(2024, 5, 1, tzinfo=UTC).timestamp()
    documents = [
        Document(wind, id=wind, metadata={"last_accessed_at": accessed, "created_at": accessed})
        for wind in ("east", "north")
    ]
    retriever.add_documents(documents[:1])
    await retriever.aadd_documents(documents[1:])
    assert ids_of(retriever.invoke("east")) == ["east", "north"]
    assert ids_of(await retriever.ainvoke("north"))[0] == "north"


def test_a_time_weighted_retriever_without_them_is_told_of_its_datetimes() -> None:
    store = PlugmemVectorStore.open(":memory:", Compass())
    retriever = TimeWeightedVectorStoreRetriever(vectorstore=store)
    with pytest.raises(InvalidInputError, match=r"document 'x'.*datetime"):
        retriever.add_documents([Document("east", id="x")])
    assert store.memory.stats().facts == 0
