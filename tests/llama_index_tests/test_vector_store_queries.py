"""Every mode of query of `PlugmemVectorStore`: order, scores, restrictions."""

import asyncio
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from clocks import DAY, Clock
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from vector_nodes import EAST, NORTH, WEST, ids, listed, near, note, only, worded

from llama_index_plugmem import PlugmemVectorStore
from plugmem_core import (
    EmbedderError,
    HashingEmbedder,
    InvalidFilterError,
    InvalidInputError,
    Memory,
    MemoryConfig,
    VectorSpaceError,
    WrongTypeError,
)


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


# -- vectors


@pytest.fixture(scope="module")
def corpus() -> npt.NDArray[np.float32]:
    return np.random.default_rng(7).normal(size=(300, 24)).astype(np.float32)


@pytest.fixture(scope="module")
def filled(corpus: npt.NDArray[np.float32]) -> Iterable[PlugmemVectorStore]:
    with PlugmemVectorStore.open(":memory:") as store:
        store.add(
            [
                note(f"n{n}", f"note {n}", row.tolist(), f"d{n % 10}", n=n, third=n % 3)
                for n, row in enumerate(corpus)
            ]
        )
        yield store


def cosines(corpus: npt.NDArray[np.float32], asked: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    rows, wide = corpus.astype(np.float64), asked.astype(np.float64)
    product = rows @ wide
    return np.asarray(product / np.linalg.norm(rows, axis=1) / np.linalg.norm(wide))


@pytest.mark.parametrize("k", [1, 2, 10, 300, 1000])
def test_default_is_exactly_by_cosine(
    filled: PlugmemVectorStore, corpus: npt.NDArray[np.float32], k: int
) -> None:
    for asked in np.random.default_rng(k).normal(size=(3, 24)):
        likeness = cosines(corpus, asked)
        right = np.argsort(-likeness)[:k]
        result = filled.query(near(asked, k))
        assert result.ids == [f"n{n}" for n in right]
        assert result.similarities == pytest.approx(likeness[right].tolist(), abs=1e-6)


def test_vectors_that_differ_a_little_are_told_apart(store: PlugmemVectorStore) -> None:
    store.add([note(f"n{n}", vector=[1.0, n * 1e-4]) for n in reversed(range(30))])
    assert ids(store, near(EAST, 1)) == ["n0"]
    assert ids(store, near(EAST, 30)) == [f"n{n}" for n in range(30)]


def maximal_marginal_relevance(
    likeness: npt.NDArray[np.float64], corpus: npt.NDArray[np.float32], k: int, balance: float
) -> list[int]:
    chosen: list[int] = []
    while len(chosen) < k:
        values = {
            n: balance * likeness[n]
            - (1 - balance)
            * max((cosines(corpus[[n]], corpus[one])[0] for one in chosen), default=0.0)
            for n in range(len(corpus))
            if n not in chosen
        }
        chosen.append(max(values, key=lambda n: values[n]))
    return chosen


@pytest.mark.parametrize("balance", [0.2, 0.5, 0.9, 1.0])
def test_mmr_is_by_relevance_and_difference(
    filled: PlugmemVectorStore, corpus: npt.NDArray[np.float32], balance: float
) -> None:
    few = corpus[:40]
    asked = np.random.default_rng(3).normal(size=24)
    likeness = cosines(few, asked)
    right = maximal_marginal_relevance(likeness, few, 6, balance)
    query = near(asked, 6, mode=VectorStoreQueryMode.MMR, filters=only("n", 40, FilterOperator.LT))
    result = filled.query(query, mmr_threshold=balance)
    assert result.ids == [f"n{n}" for n in right]
    assert result.similarities == pytest.approx(likeness[right].tolist(), abs=1e-6)
    query.mmr_threshold = balance
    assert ids(filled, query) == result.ids
    if balance == 0.5:
        query.mmr_threshold = None
        assert ids(filled, query) == result.ids


def test_mmr_chooses_among_as_many_as_asked(
    filled: PlugmemVectorStore, corpus: npt.NDArray[np.float32]
) -> None:
    asked = np.random.default_rng(4).normal(size=24)
    nearest = ids(filled, near(asked, 5))
    query = near(asked, 5, mode=VectorStoreQueryMode.MMR)
    assert set(ids(filled, query, mmr_prefetch_k=5, mmr_threshold=0.0)) == set(nearest)
    assert ids(filled, query, mmr_prefetch_k=1, mmr_threshold=1) == nearest
    assert set(ids(filled, query, mmr_threshold=0.0)) != set(nearest)


@pytest.mark.parametrize("mode", [VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR])
def test_a_narrow_restriction_never_starves_a_query(
    filled: PlugmemVectorStore, corpus: npt.NDArray[np.float32], mode: VectorStoreQueryMode
) -> None:
    asked = np.random.default_rng(5).normal(size=24)
    farthest = [f"n{n}" for n in np.argsort(cosines(corpus, asked))[:3]]
    numbers = [int(one[1:]) for one in farthest]
    for restriction in (
        {"node_ids": farthest},
        {"filters": only("n", numbers, FilterOperator.IN)},
        {"node_ids": [*farthest, "unknown"], "filters": only("n", numbers, FilterOperator.IN)},
    ):
        assert sorted(ids(filled, near(asked, 5, mode=mode, **restriction))) == sorted(farthest)


def test_restrictions_intersect(filled: PlugmemVectorStore) -> None:
    asked = [1.0] * 24

    def found(**restrictions: Any) -> set[str]:
        return set(ids(filled, near(asked, 300, **restrictions)))

    assert found(doc_ids=["d4"]) == {f"n{n}" for n in range(4, 300, 10)}
    assert found(doc_ids=["d4", "d5"], filters=only("third", 0)) == {
        f"n{n}" for n in range(300) if n % 10 in (4, 5) and n % 3 == 0
    }
    assert found(doc_ids=["d4"], node_ids=["n4", "n5", "n14"]) == {"n4", "n14"}
    assert found(doc_ids=["d4"], node_ids=["n5"]) == set()
    assert found(doc_ids=["unknown"]) == set()
    assert found(node_ids=["unknown"]) == set()
    assert found(filters=only("doc_id", "d4")) == found(doc_ids=["d4"])


def test_empty_restrictions_restrict_nothing(filled: PlugmemVectorStore) -> None:
    free = ids(filled, near([1.0] * 24, 5))
    empty = near([1.0] * 24, 5, doc_ids=[], node_ids=[], filters=MetadataFilters(filters=[]))
    assert ids(filled, empty) == free


def test_filters_nest_in_queries(filled: PlugmemVectorStore) -> None:
    nested = MetadataFilters(
        filters=[
            MetadataFilters(
                filters=[*only("n", 7).filters, *only("n", 8).filters],
                condition=FilterCondition.OR,
            ),
            MetadataFilters(filters=only("third", 1).filters, condition=FilterCondition.NOT),
        ]
    )
    assert ids(filled, near([1.0] * 24, 5, filters=nested)) == ["n8"]


def test_an_unknown_operator_is_an_error_and_not_an_empty_answer(
    filled: PlugmemVectorStore,
) -> None:
    wrong = MetadataFilter.model_construct(key="n", value=1, operator="near")
    filters = MetadataFilters.model_construct(filters=[wrong], condition=FilterCondition.AND)
    with pytest.raises(InvalidFilterError, match="near"):
        filled.query(near([1.0] * 24, filters=filters))


def test_age_plays_no_part(open_memory: Any, clock: Clock) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(w_recency=1.0)))
    store.add([note("old", "green tea", EAST)])
    clock.tick(365 * DAY)
    store.add([note("new", "green tea and much more of it to read", [1.0, 0.1])])
    assert ids(store, near(EAST)) == ["old", "new"]
    assert ids(store, worded("green tea")) == ["old", "new"]


def test_settings_of_the_memory_do_not_reweigh_a_query(open_memory: Any) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(w_vector=0.0, w_bm25=0.0)))
    store.add([note("far", "rain", NORTH), note("near", "green tea", EAST)])
    assert ids(store, near(EAST)) == ["near", "far"]
    assert ids(store, worded("tea rain green")) == ["near", "far"]


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3).filter(any), min_size=1, max_size=30))
def test_ties_go_by_age(rows: list[tuple[int, int, int]]) -> None:
    with PlugmemVectorStore.open(":memory:") as store:
        store.add([note(f"n{n}", vector=row) for n, row in enumerate(rows)])
        likeness = np.round(cosines(np.asarray(rows, np.float32), np.asarray([1.0, 2.0, 3.0])), 9)
        result = store.query(near([1.0, 2.0, 3.0], 30))
        assert result.similarities == pytest.approx(sorted(likeness, reverse=True), abs=1e-6)
        assert sorted(result.ids or ()) == sorted(f"n{n}" for n in range(len(rows)))


# -- both


def test_hybrid_weighs_the_cosine_against_the_share_of_bm25(store: PlugmemVectorStore) -> None:
    texts = {"both": "green tea", "words": "green tea", "vector": "rain", "neither": "snow"}
    vectors = {"both": [0.8, 0.6], "words": NORTH, "vector": EAST, "neither": WEST}
    store.add([note(id_, text, vectors[id_]) for id_, text in texts.items()])
    share, other = store.query(worded("tea")).similarities or (0.0, 1.0)
    assert share == other
    for alpha in (0.1, 0.25, 0.5, 0.75, 0.9, None):
        query = near(EAST, query_str="tea", mode=VectorStoreQueryMode.HYBRID, alpha=alpha)
        weight = 0.5 if alpha is None else alpha
        right = {
            "both": weight * 0.8 + (1 - weight) * share,
            "words": (1 - weight) * share,
            "vector": weight,
            "neither": -weight,
        }
        result = store.query(query)
        assert result.ids == sorted(right, key=lambda one: -right[one])
        assert result.similarities == pytest.approx(sorted(right.values(), reverse=True), abs=1e-6)


def test_hybrid_finds_what_is_first_in_neither(store: PlugmemVectorStore) -> None:
    store.add(
        [
            note("vector", "rain", EAST),
            note("words", "green tea", WEST),
            note("both", "green tea with milk", [0.9, 0.1]),
        ]
    )
    query = near(EAST, 1, query_str="green tea", mode=VectorStoreQueryMode.HYBRID)
    assert ids(store, query) == ["both"]


def test_hybrid_at_its_ends_is_one_of_the_two(filled: PlugmemVectorStore) -> None:
    asked = [1.0] * 24

    def hybrid(alpha: float, **settings: Any) -> Any:
        return filled.query(
            near(
                asked,
                7,
                query_str="note 7 17 27",
                mode=VectorStoreQueryMode.HYBRID,
                alpha=alpha,
                **settings,
            )
        )

    assert hybrid(0) == filled.query(worded("note 7 17 27", 7))
    assert hybrid(1.0) == filled.query(near(asked, 7))
    assert hybrid(0, filters=only("n", 17)).ids == ["n17"]


def test_hybrid_takes_the_sizes_it_is_given(filled: PlugmemVectorStore) -> None:
    def hybrid(**settings: Any) -> list[str]:
        text = "7 17 27 37 47"
        mode = VectorStoreQueryMode.HYBRID
        return ids(filled, near([1.0] * 24, 2, query_str=text, mode=mode, alpha=0.01, **settings))

    assert len(hybrid()) == 2
    assert len(hybrid(hybrid_top_k=4)) == 4
    assert set(hybrid(hybrid_top_k=5)) == {"n7", "n17", "n27", "n37", "n47"}
    assert len(set(hybrid(hybrid_top_k=5, sparse_top_k=2)) & {"n7", "n17", "n27", "n37", "n47"}) < 5


def test_hybrid_finds_by_words_what_is_far_by_vector(
    filled: PlugmemVectorStore, corpus: npt.NDArray[np.float32]
) -> None:
    asked = np.random.default_rng(9).normal(size=24)
    likeness = cosines(corpus, asked)
    farthest = int(np.argmin(likeness))
    text = f"{farthest}"
    query = near(asked, 300, query_str=text, mode=VectorStoreQueryMode.HYBRID, alpha=0.5)
    result = filled.query(query)
    scores = dict(zip(result.ids or (), result.similarities or (), strict=True))
    share = (filled.query(worded(text, 1)).similarities or [0.0])[0]
    expected = 0.5 * likeness[farthest] + 0.5 * share
    assert scores[f"n{farthest}"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "half"])
def test_alpha_is_from_0_to_1(filled: PlugmemVectorStore, alpha: Any) -> None:
    query = near([1.0] * 24, query_str="a", mode=VectorStoreQueryMode.HYBRID, alpha=alpha)
    with pytest.raises(InvalidInputError, match=r"alpha is .*0 to 1"):
        filled.query(query)


# -- what is asked


def test_what_asks_nothing_finds_what_passes_in_stored_order(filled: PlugmemVectorStore) -> None:
    query = VectorStoreQuery(similarity_top_k=3, filters=only("third", 1))
    assert filled.query(query).similarities == [1.0, 1.0, 1.0]
    assert ids(filled, query) == ["n1", "n4", "n7"]
    assert ids(filled, VectorStoreQuery(query_str="", similarity_top_k=2)) == ["n0", "n1"]
    restricted = VectorStoreQuery(similarity_top_k=9, node_ids=["n250", "n13"], doc_ids=["d3"])
    assert ids(filled, restricted) == ["n13"]


@pytest.mark.parametrize(
    "mode",
    ["svm", "logistic_regression", "linear_regression", "semantic_hybrid", "anything"],
)
def test_another_mode_is_refused_by_name(filled: PlugmemVectorStore, mode: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"mode is '{mode}'; give default, mmr"):
        filled.query(near([1.0] * 24, mode=mode))


@pytest.mark.parametrize("mode", ["default", "mmr", "text_search", "sparse", "hybrid"])
def test_a_mode_may_be_given_as_text(filled: PlugmemVectorStore, mode: Any) -> None:
    query = near([1.0] * 24, 3, query_str="note", mode=mode)
    assert ids(filled, query) == ids(
        filled, near([1.0] * 24, 3, query_str="note", mode=VectorStoreQueryMode(mode))
    )


@pytest.mark.parametrize("mode", ["default", "mmr", "hybrid"])
def test_a_text_without_an_embedder_makes_no_vector(filled: PlugmemVectorStore, mode: Any) -> None:
    query = VectorStoreQuery(query_str="note", mode=mode)
    with pytest.raises(InvalidInputError, match="query_embedding"):
        filled.query(query)


@pytest.mark.parametrize("mode", ["text_search", "sparse", "hybrid"])
def test_a_search_by_words_needs_a_text(filled: PlugmemVectorStore, mode: Any) -> None:
    with pytest.raises(WrongTypeError, match="query_str is None"):
        filled.query(near([1.0] * 24, mode=mode))


@pytest.mark.parametrize("mode", ["default", "mmr", "hybrid"])
def test_an_embedding_of_another_dimension_is_refused(
    filled: PlugmemVectorStore, mode: Any
) -> None:
    with pytest.raises(VectorSpaceError):
        filled.query(near(EAST, query_str="note", mode=mode))


class Failing(HashingEmbedder):
    def embed_query(self, text: str) -> Any:
        raise OSError("out of reach")


def test_a_failing_embedder_is_an_error_and_not_an_empty_answer(open_memory: Any) -> None:
    store = PlugmemVectorStore(open_memory(embedder=Failing(dim=2)))
    store.add([note("a", "tea", EAST)])
    with pytest.raises(EmbedderError, match="out of reach"):
        store.query(VectorStoreQuery(query_str="tea"))
    assert ids(store, worded("tea")) == ["a"]


def test_an_embedder_in_a_store_without_vectors_finds_nothing(open_memory: Any) -> None:
    store = PlugmemVectorStore(open_memory(embedder=HashingEmbedder(dim=8)))
    assert ids(store, VectorStoreQuery(query_str="tea")) == []
    assert ids(store, VectorStoreQuery(query_str="tea", mode=VectorStoreQueryMode.MMR)) == []


@pytest.mark.parametrize("k", [0, -1, 1.5, None])
def test_similarity_top_k_is_a_count(filled: PlugmemVectorStore, k: Any) -> None:
    with pytest.raises(InvalidInputError, match="similarity_top_k"):
        filled.query(VectorStoreQuery(similarity_top_k=k))


def test_what_is_no_query_is_refused(filled: PlugmemVectorStore) -> None:
    with pytest.raises(WrongTypeError, match="VectorStoreQuery"):
        filled.query("tea")


def test_keywords_of_recall_restrict_a_query(store: PlugmemVectorStore) -> None:
    store.add(
        [
            note("a", "tea", EAST, fact_tags=["drink"], page=1),
            note("b", "tea", EAST, fact_tags=["plant"], page=2),
        ]
    )
    hybrid = near(EAST, query_str="tea", mode=VectorStoreQueryMode.HYBRID)
    for query in (near(EAST), worded("tea"), hybrid, VectorStoreQuery(similarity_top_k=5)):
        assert ids(store, query, tags=["drink"]) == ["a"]
        assert ids(store, query, not_tags=["drink"]) == ["b"]
        assert ids(store, query, where={"page": {"$gt": 1}}) == ["b"]
        assert ids(store, query, any_tags=["plant", "x"], where={"page": 1}) == []
        assert ids(store, query, valid_at="2020-01-01") == []
        assert ids(store, query, known_at="2020-01-01") == []
        assert sorted(ids(store, query, ef=10)) == ["a", "b"]


@pytest.mark.parametrize("name", ["namespace", "k", "closed", "token_budget", "anything"])
def test_an_unknown_keyword_is_refused_with_those_accepted(
    filled: PlugmemVectorStore, name: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"unknown '{name}'; accepted are tags"):
        filled.query(near([1.0] * 24), **{name: 1})


# -- async


async def test_the_async_methods_do_the_same(memory: Memory) -> None:
    store = PlugmemVectorStore(memory)
    assert await store.async_add(
        [note("a", "tea", EAST, "d"), note("b", "rain", NORTH, page=1)]
    ) == [
        "a",
        "b",
    ]
    assert await store.aquery(near(EAST)) == store.query(near(EAST))
    assert (await store.aquery(near(EAST), where={"page": 1})).ids == ["b"]
    assert await store.aget_nodes() == store.get_nodes()
    assert await store.aget_nodes(["b"], only("page", 1)) == store.get_nodes(["b"])
    await store.adelete("d")
    assert listed(store) == ["b"]
    await store.adelete_nodes(["b"], only("page", 2))
    assert listed(store) == ["b"]
    await store.adelete_nodes(["b"])
    assert listed(store) == []
    await store.async_add([note("c")])
    await store.aclear()
    assert listed(store) == []
    with pytest.raises(InvalidInputError, match="clear"):
        await store.adelete_nodes()


async def test_the_event_loop_runs_on_while_the_memory_works(open_memory: Any) -> None:
    loop_ran = threading.Event()

    class Waiting(HashingEmbedder):
        def embed_query(self, text: str) -> Any:
            assert loop_ran.wait(timeout=60)
            return super().embed_query(text)

    store = PlugmemVectorStore(open_memory(embedder=Waiting(dim=2)))
    store.add([note("a", "tea", EAST)])
    asyncio.get_running_loop().call_soon(loop_ran.set)
    assert (await store.aquery(VectorStoreQuery(query_str="tea"))).ids == ["a"]


async def test_many_at_once_get_their_own_answers(filled: PlugmemVectorStore) -> None:
    queries = [near([1.0] * 24, 1, node_ids=[f"n{n}"]) for n in range(40)]
    found = await asyncio.gather(*map(filled.aquery, queries))
    assert [one.ids for one in found] == [[f"n{n}"] for n in range(40)]
