"""`PlugmemStore`: the conformance suite, and what no other store has."""

import asyncio
import threading
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from clocks import HOUR, SECOND, Clock
from conftest import OpenMemory
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    PutOp,
    SearchOp,
    ensure_embeddings,
)
from strategies import namespaces

from langchain_plugmem import PlugmemRetriever, PlugmemStore
from langchain_plugmem.embeddings import LangChainEmbedder
from langchain_plugmem.testing import StoreConformance, WordEmbeddings
from plugmem_core import (
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
    TooLargeError,
)

ANN = ("users", "ann")
MINUTE = 60 * SECOND


@pytest.fixture
def store(memory: Memory) -> PlugmemStore:
    return PlugmemStore(memory)


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


# -- conformance


class Conformance(StoreConformance):
    """The suite on a store whose clock the suite moves."""

    @pytest.fixture(autouse=True)
    def _clock(self, clock: Clock) -> None:
        self.clock = clock

    def pass_time(self, store: BaseStore, minutes: float) -> None:
        self.clock.tick(round(minutes * MINUTE))


class TestConformanceInMemory(Conformance):
    @pytest.fixture
    def store(self, open_memory: OpenMemory) -> PlugmemStore:
        return PlugmemStore(open_memory())

    @pytest.fixture
    def indexed_store(self, open_memory: OpenMemory) -> PlugmemStore:
        return indexed(self.index_config(), open_memory)


class TestConformanceInAFile(Conformance):
    @pytest.fixture
    def store(self, open_memory: OpenMemory, tmp_path: Path) -> PlugmemStore:
        return PlugmemStore(open_memory(tmp_path / "store.plugmem"))

    @pytest.fixture
    def indexed_store(self, open_memory: OpenMemory, tmp_path: Path) -> PlugmemStore:
        return indexed(self.index_config(), open_memory, tmp_path / "indexed.plugmem")


def indexed(
    index: IndexConfig, open_memory: OpenMemory, path: str | Path = ":memory:"
) -> PlugmemStore:
    embeddings = ensure_embeddings(index["embed"])
    memory = open_memory(path, embedder=LangChainEmbedder(embeddings, dim=index["dims"]))
    return PlugmemStore(memory, index={**index, "embed": embeddings})


# -- opening


def test_a_store_may_own_its_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.plugmem"
    words = WordEmbeddings()
    index: IndexConfig = {"dims": words.dims, "embed": words, "fields": ["text"]}
    with PlugmemStore.open(path, index=index) as store:
        store.put(ANN, "tea", {"text": "drinks green tea"})
    with PlugmemStore.open(path, index=index) as store:
        assert store.get(ANN, "tea").value == {"text": "drinks green tea"}
        assert store.memory.embedder.dim == WordEmbeddings.dims
    with pytest.raises(ValueError, match="closed"):
        store.get(ANN, "tea")


async def test_a_store_is_an_async_context_that_yields_itself(tmp_path: Path) -> None:
    async with PlugmemStore.open(tmp_path / "agent.plugmem") as store:
        await store.aput(ANN, "tea", {"text": "drinks green tea"})
        assert keys(await store.asearch(ANN, query="tea")) == ["tea"]


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        ({"embed": WordEmbeddings()}, "vectors are made by nothing"),
        ({"fields": "text"}, "index\\['fields'\\] is 'text'; give a list of paths"),
        ({"fields": [1]}, "give a list of paths"),
    ],
)
def test_an_index_that_cannot_be_is_refused(memory: Memory, index: Any, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        PlugmemStore(memory, index=index)


def test_dimensions_that_are_not_the_embedders_are_refused(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder(16))
    with pytest.raises(InvalidInputError, match="dims 8, the memory's embedder makes 16"):
        PlugmemStore(memory, index={"dims": 8})


def test_an_opening_that_fails_lets_go_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.plugmem"
    with pytest.raises(InvalidInputError):
        PlugmemStore.open(path, index={"fields": "text"})
    with PlugmemStore.open(path) as store:
        assert store.list_namespaces() == []


# -- time


def test_an_item_reads_as_it_was(store: PlugmemStore, clock: Clock) -> None:
    store.put(ANN, "drink", {"text": "drinks green tea"})
    before = clock.now
    clock.tick(HOUR)
    store.put(ANN, "drink", {"text": "drinks black coffee"})
    assert store.get(ANN, "drink").value == {"text": "drinks black coffee"}
    then = store.get(ANN, "drink", as_of=before)
    assert then.value == {"text": "drinks green tea"}
    assert keys(store.search((), query="tea", as_of=before)) == ["drink"]
    assert store.search((), query="coffee", as_of=before) == []
    assert store.search((), query="tea") == []
    [item] = store.search((), as_of=before)
    assert item.value == {"text": "drinks green tea"}
    assert store.get(ANN, "drink", as_of=before - 1) is None


async def test_reads_of_the_past_have_async_twins(store: PlugmemStore, clock: Clock) -> None:
    await store.aput(ANN, "drink", {"text": "tea"})
    before = clock.now
    clock.tick()
    await store.aput(ANN, "drink", {"text": "coffee"})
    assert (await store.aget(ANN, "drink", as_of=before)).value == {"text": "tea"}
    [item] = await store.asearch(ANN, query="tea", as_of=before)
    assert item.value == {"text": "tea"}
    assert await store.ahistory(ANN, "drink") == store.history(ANN, "drink")


def test_texts_that_went_away_are_found_as_of_then(store: PlugmemStore, clock: Clock) -> None:
    store.put(ANN, "k", {"a": "apple", "b": "banana"}, index=["a", "b"])
    before = clock.now
    clock.tick()
    store.put(ANN, "k", {"a": "apple", "b": "banana"}, index=["a"])
    assert keys(store.search((), query="banana")) == []
    assert keys(store.search((), query="banana", as_of=before)) == ["k"]


def test_history_is_every_version_in_order(store: PlugmemStore, clock: Clock) -> None:
    first = clock.now
    store.put(ANN, "drink", {"text": "tea"})
    second = clock.tick()
    store.put(ANN, "drink", {"text": "coffee"})
    tea, coffee = store.history(ANN, "drink")
    assert (tea.value, coffee.value) == ({"text": "tea"}, {"text": "coffee"})
    assert [round(one.updated_at.timestamp() * 1000) for one in (tea, coffee)] == [first, second]
    assert [round(one.created_at.timestamp() * 1000) for one in (tea, coffee)] == [first, first]
    assert (tea.ended_at, coffee.ended_at) == (coffee.updated_at, None)
    assert (tea.namespace, tea.key) == (ANN, "drink")


def test_history_is_of_this_namespace_only(store: PlugmemStore) -> None:
    store.put(ANN, "drink", {"text": "tea"})
    store.put((*ANN, "work"), "drink", {"text": "coffee"})
    assert [one.value["text"] for one in store.history(ANN, "drink")] == ["tea"]
    assert store.history(("users",), "drink") == []


def test_what_was_deleted_is_on_no_route(store: PlugmemStore, clock: Clock) -> None:
    indexes: list[list[str]] = [["a", "b", "c"], ["a"], ["a", "b"]]
    instants = []
    for index in indexes:
        store.put(ANN, "k", {"a": "apple", "b": "banana", "c": "cherry"}, index=index)
        instants.append(clock.now)
        clock.tick()
    store.delete(ANN, "k")
    for as_of in (None, *instants):
        assert store.get(ANN, "k", as_of=as_of) is None
        assert store.search((), as_of=as_of) == []
        for query in ("apple", "banana", "cherry"):
            assert store.search((), query=query, as_of=as_of) == []
    assert store.history(ANN, "k") == []
    assert store.list_namespaces() == []
    assert list(store.memory.list_facts(closed=True)) == []


def test_a_key_put_again_after_its_deletion_begins_anew(store: PlugmemStore, clock: Clock) -> None:
    store.put(ANN, "k", {"v": 1})
    clock.tick()
    store.delete(ANN, "k")
    store.put(ANN, "k", {"v": 2})
    item = store.get(ANN, "k")
    assert item.created_at == item.updated_at
    assert len(store.history(ANN, "k")) == 1


# -- time to live


def test_the_default_time_to_live_counts_from_the_last_read(memory: Memory, clock: Clock) -> None:
    store = PlugmemStore(memory, ttl={"default_ttl": 10})
    store.put(ANN, "k", {"a": "apple", "b": "banana"}, index=["a", "b"])
    store.put(ANN, "unread", {"a": "avocado"})
    for _ in range(3):
        clock.tick(9 * MINUTE)
        assert store.get(ANN, "k") is not None
    clock.tick(9 * MINUTE)
    assert keys(store.search(ANN, query="banana")) == ["k"]  # its second text lives as long
    clock.tick(10 * MINUTE)
    assert store.get(ANN, "k") is None
    assert store.search((), query="apple banana avocado") == []
    assert store.list_namespaces() == []
    assert store.sweep_ttl() == 3


def test_refreshing_can_be_switched_off(memory: Memory, clock: Clock) -> None:
    store = PlugmemStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(ANN, "k", {"text": "tea"})
    clock.tick(9 * MINUTE)
    assert store.get(ANN, "k") is not None
    clock.tick(MINUTE)
    assert store.get(ANN, "k") is None


def test_looking_at_the_past_refreshes_nothing(memory: Memory, clock: Clock) -> None:
    store = PlugmemStore(memory, ttl={"default_ttl": 10})
    store.put(ANN, "k", {"text": "tea"})
    clock.tick(9 * MINUTE)
    assert store.get(ANN, "k", as_of=clock.now) is not None
    assert store.search(ANN, query="tea", as_of=clock.now) != []
    clock.tick(MINUTE)
    assert store.get(ANN, "k") is None


def test_a_put_in_the_batch_that_read_it_decides(memory: Memory, clock: Clock) -> None:
    store = PlugmemStore(memory)
    store.put(ANN, "k", {"v": 1}, ttl=10)
    item, _ = store.batch([GetOp(ANN, "k"), PutOp(ANN, "k", {"v": 2})])
    assert item.value == {"v": 1}
    clock.tick(HOUR)
    assert store.get(ANN, "k").value == {"v": 2}


def test_a_read_only_store_reads_items_that_would_be_refreshed(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "store.plugmem"
    PlugmemStore(open_memory(path)).put(ANN, "k", {"text": "tea"}, ttl=10)
    store = PlugmemStore(open_memory(path, read_only=True))
    assert store.get(ANN, "k").value == {"text": "tea"}
    assert keys(store.search((), query="tea")) == ["k"]


# -- ranking


def test_a_ranking_without_embeddings_goes_by_words(store: PlugmemStore) -> None:
    store.put(ANN, "1", {"text": "apple pie"})
    store.put(ANN, "2", {"text": "apple apple apple"})
    store.put(ANN, "3", {"text": "plum pie"})
    found = store.search((), query="apple")
    assert keys(found) == ["2", "1"]
    more, less = (item.score or 0 for item in found)
    assert more > less > 0


def test_age_plays_no_part_unless_asked(memory: Memory, clock: Clock) -> None:
    store = PlugmemStore(memory)
    store.put(ANN, "old", {"text": "apple apple"}, index=["text"])
    clock.tick(400 * 24 * HOUR)
    store.put(ANN, "new", {"text": "apple tart and more of it"}, index=["text"])
    assert keys(store.search((), query="apple")) == ["old", "new"]
    recent = PlugmemStore(memory, weights={"recency": 2})
    assert keys(recent.search((), query="apple")) == ["new", "old"]


@pytest.mark.parametrize("embedded", [False, True])
def test_deep_pages_are_parts_of_one_ranking(open_memory: OpenMemory, embedded: bool) -> None:
    memory = open_memory(embedder=HashingEmbedder(32) if embedded else None)
    store = PlugmemStore(memory, index={"fields": ["a", "b"]})
    store.batch(
        [
            PutOp(ANN, str(n), {"a": f"tea {n % 7} leaf", "b": f"tea cup {n} {n % 11}"})
            for n in range(400)
        ]
    )
    query = "tea leaf 3 cup 5"
    whole = store.search((), query=query, limit=1_000)
    assert sorted(keys(whole), key=int) == [str(n) for n in range(400)]
    scores = [item.score or 0 for item in whole]
    assert scores == sorted(scores, reverse=True)
    for limit in (7, 64, 130):
        paged = [
            key
            for offset in range(0, 400, limit)
            for key in keys(store.search((), query=query, limit=limit, offset=offset))
        ]
        assert paged == keys(whole)


def test_an_item_that_is_not_indexed_has_no_vector_either(open_memory: OpenMemory) -> None:
    store = PlugmemStore(open_memory(embedder=HashingEmbedder(32)))
    store.put(ANN, "k", {"text": "tea"}, index=False)
    assert store.memory.stats().vectors == 0
    assert store.search((), query="tea") == []
    assert keys(store.search(())) == ["k"]


def test_each_text_is_embedded_once() -> None:
    embedded: list[str] = []

    class Counting(HashingEmbedder):
        def embed_documents(self, texts: list[str]) -> Any:
            embedded.extend(texts)
            return super().embed_documents(texts)

    store = PlugmemStore(
        Memory.open(":memory:", embedder=Counting(32)), index={"fields": ["a", "b"]}
    )
    store.batch([PutOp(ANN, str(n), {"a": "same", "b": f"other {n % 2}"}) for n in range(4)])
    store.put(ANN, "0", {"a": "same", "b": "other 1"})
    store.delete(ANN, "0")
    store.put(ANN, "0", {"a": "same", "b": "other 0"})
    assert sorted(embedded) == ["other 0", "other 1", "same"]


def test_a_query_is_embedded_once_however_deep_the_page() -> None:
    asked: list[str] = []

    class Counting(HashingEmbedder):
        def embed_query(self, text: str) -> Any:
            asked.append(text)
            return super().embed_query(text)

    class Quiet(Counting):
        def embed_documents(self, texts: list[str]) -> Any:
            return [HashingEmbedder.embed_query(self, text) for text in texts]

    store = PlugmemStore(Memory.open(":memory:", embedder=Quiet(32)), index={"fields": ["a", "b"]})
    store.batch([PutOp(ANN, str(n), {"a": f"tea {n}", "b": f"cup {n}"}) for n in range(300)])
    assert len(store.search((), query="tea cup", limit=300)) == 300
    assert asked == ["tea cup"]


def test_words_still_answer_when_the_embedder_fails() -> None:
    class Down(HashingEmbedder):
        down = False

        def embed_query(self, text: str) -> Any:
            if self.down:
                raise ConnectionError("the provider is down")
            return super().embed_query(text)

    embedder = Down(32)
    store = PlugmemStore(Memory.open(":memory:", embedder=embedder))
    store.put(ANN, "tea", {"text": "drinks green tea"})
    embedder.down = True
    assert keys(store.search((), query="tea")) == ["tea"]


# -- filters


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"n": {"$in": [1, 3]}}, ["a", "c"]),
        ({"$or": [{"n": 1}, {"kind": "x"}]}, ["a", "b"]),
        ({"$and": [{"n": {"$gt": 1}}, {"n": {"$lt": 3}}]}, ["b"]),
        ({"$not": {"n": {"$gt": 1}}}, ["a", "d"]),
        ({"deep.er": 5}, ["c"]),
        ({"deep": {"er": {"$gte": 5}}}, ["c"]),
        ({"deep": {"er": None}}, ["a", "b", "d"]),
        ({"text": {"$like": "t%"}}, ["a", "b", "c", "d"]),
        ({}, ["a", "b", "c", "d"]),
    ],
)
def test_filters_of_the_engine_work(
    store: PlugmemStore, condition: dict[str, Any], expected: list[str]
) -> None:
    store.put(ANN, "a", {"text": "tea", "n": 1})
    store.put(ANN, "b", {"text": "tea", "n": 2, "kind": "x"})
    store.put(ANN, "c", {"text": "tea", "n": 3, "deep": {"er": 5, "est": 6}})
    store.put(ANN, "d", {"text": "tea"})
    assert sorted(keys(store.search(ANN, filter=condition))) == expected
    assert sorted(keys(store.search(ANN, filter=condition, query="tea"))) == expected


@pytest.mark.parametrize(
    "condition",
    [{"n": {"$near": 1}}, {"$nor": []}, {"$and": []}, {"$or": 5}, {"$not": 5}, {1: 2}, ["n"]],
    ids=str,
)
def test_a_filter_that_cannot_be_read_is_an_error_and_nothing_is_written(
    store: PlugmemStore, condition: Any
) -> None:
    ops = [PutOp(ANN, "k", {"v": 1}), SearchOp((), condition)]
    with pytest.raises(InvalidInputError):
        store.batch(ops)
    assert store.get(ANN, "k") is None


# -- bad input


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (PutOp(ANN, 5, {"v": 1}), "key is 5 "),
        (PutOp(ANN, "", {"v": 1}), "key is '', which is blank"),
        (PutOp(ANN, "k", [1]), r"value of 'k' is \[1\]"),
        (PutOp(ANN, "k", {"v": object()}), "the value of 'k'.*which JSON cannot hold"),
        (PutOp(ANN, "k", {"v": float("nan")}), "the value of 'k'.*nan"),
        (PutOp(ANN, "k", {"v": 1}, ttl=0), "ttl is 0; give minutes"),
        (PutOp(ANN, "k", {"v": 1}, ttl=True), "ttl is True"),
        (PutOp(ANN, "k", {"v": 1}, ttl=float("inf")), "ttl is inf; give minutes"),
        (PutOp("ann", "k", {"v": 1}), "namespace is 'ann' .*give a tuple of labels"),
        (PutOp(None, "k", {"v": 1}), "namespace is None"),
        (GetOp("ann", "k"), "namespace is 'ann'"),
        (SearchOp("ann"), "namespace_prefix is 'ann'"),
        (PutOp(ANN, "k", {"v": 1}, index=True), "index is True"),
        (PutOp(ANN, "k", {"v": 1}, index="v"), "index is 'v'"),
        (SearchOp((), query=5), "query is 5"),
        (SearchOp((), limit=-1), "limit is -1"),
        (SearchOp((), limit=1.5), "limit is 1.5"),
        (SearchOp((), offset=-1), "offset is -1"),
        (ListNamespacesOp(max_depth=0), "max_depth is 0"),
        (ListNamespacesOp(limit=-1), "limit is -1"),
        ("get", "'get' is no operation"),
    ],
)
def test_a_bad_operation_is_named_and_its_batch_left_out(
    store: PlugmemStore, op: Any, reason: str
) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        store.batch([PutOp(ANN, "before", {"v": 1}), op, PutOp(ANN, "after", {"v": 1})])
    assert list(store.memory.list_facts()) == []


def test_an_item_over_a_limit_is_named_with_the_remedy(open_memory: OpenMemory) -> None:
    store = PlugmemStore(open_memory(config=MemoryConfig(max_text=100, max_metadata=400)))
    with pytest.raises(TooLargeError, match=r"put of 'k' in \(.*'users', 'ann'\).*limit of 100"):
        store.batch([PutOp(ANN, "fine", {"v": 1}), PutOp(ANN, "k", {"text": "x" * 150})])
    with pytest.raises(TooLargeError, match=r"the value of 'k' has .*limit of 400"):
        store.put(ANN, "k", {"text": "x" * 500})
    assert store.get(ANN, "k") is None


# -- beside other facts


def test_other_facts_of_the_file_are_no_items(memory: Memory) -> None:
    memory.remember("the meter reads 4711", key="k", metadata={"value": 1}, tags=["part"])
    memory.remember("tea of a tenant", key="k", namespace=("store2",))
    store = PlugmemStore(memory)
    store.put(ANN, "k", {"text": "tea"})
    assert keys(store.search((), query="tea meter")) == ["k"]
    assert keys(store.search(())) == ["k"]
    assert store.list_namespaces() == [ANN]
    assert store.delete_namespace(()) == 1
    assert sorted(fact.text for fact in memory.list_facts()) == [
        "tea of a tenant",
        "the meter reads 4711",
    ]


def test_facts_that_others_put_among_the_items_are_no_items(memory: Memory) -> None:
    store = PlugmemStore(memory)
    store.put(ANN, "1", {"text": "tea"})
    scope = ("store", *ANN)
    memory.remember_many(
        {"text": f"tea {n}", "key": str(n), "namespace": scope} for n in range(2, 300)
    )
    store.put(ANN, "300", {"text": "tea"})
    assert keys(store.search((), limit=5)) == ["300", "1"]
    assert keys(store.search((), query="tea", limit=5)) == ["1", "300"]
    assert store.get(ANN, "2") is None
    assert store.history(ANN, "2") == []
    assert store.delete_namespace(()) == 2
    assert memory.stats().current == 298


def test_items_are_facts_that_a_retriever_finds(memory: Memory) -> None:
    PlugmemStore(memory, index={"fields": ["text"]}).put(ANN, "tea", {"text": "drinks green tea"})
    retriever = PlugmemRetriever(memory=memory, namespace=("store", *ANN))
    [document] = retriever.invoke("tea")
    assert (document.id, document.page_content) == ("tea", "drinks green tea")
    assert document.metadata["value"] == {"text": "drinks green tea"}


def test_two_stores_of_one_file_are_apart(memory: Memory) -> None:
    one = PlugmemStore(memory, namespace=("one",))
    two = PlugmemStore(memory, namespace=("two",))
    one.put(ANN, "k", {"v": 1})
    assert two.get(ANN, "k") is None
    assert two.search(()) == []
    assert two.list_namespaces() == []
    two.delete(ANN, "k")
    assert one.get(ANN, "k").value == {"v": 1}


def test_deleting_a_namespace_leaves_its_neighbours(store: PlugmemStore) -> None:
    for namespace in (("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b", "a")):
        store.put(namespace, "k", {"x": "apple", "y": "banana"}, index=["x", "y"])
    assert store.delete_namespace(("a", "b")) == 2
    assert store.list_namespaces() == [("a",), ("ab",), ("b", "a")]
    assert store.delete_namespace(("none",)) == 0


def item_namespaces() -> st.SearchStrategy[tuple[str, ...]]:
    """Namespaces of items: they have a label, and none has a dot."""
    return namespaces(max_depth=2).map(
        lambda labels: ("t", *(label.replace(".", ";") for label in labels))
    )


@settings(deadline=None, max_examples=50)
@given(st.lists(item_namespaces(), min_size=2, max_size=6, unique=True))
def test_no_namespace_sees_anothers_items(spaces: list[tuple[str, ...]]) -> None:
    store = PlugmemStore(Memory.open(":memory:"))
    for number, space in enumerate(spaces):
        store.put(space, "k", {"text": f"tea {number}", "b": "milk"}, index=["text", "b"])
    for space in {*spaces}:
        below = {other for other in spaces if other[: len(space)] == space}
        for query in (None, "tea", "milk"):
            found = store.search(space, query=query, limit=100)
            assert {item.namespace for item in found} == below
            assert len(found) == len(below)
        if "*" not in space:  # which is a wildcard there
            assert {*store.list_namespaces(prefix=space)} == below
    assert {*store.list_namespaces()} == {*spaces}


# -- many at once, and in graphs


def test_what_an_overtaken_put_left_behind_is_not_found(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.plugmem"
    one, other = (PlugmemStore(open_memory(path), index={"fields": ["a", "b"]}) for _ in "12")
    write = one.memory.write

    def overtaken(**arguments: Any) -> Any:
        other.put(ANN, "k", {"a": "apple", "b": "banana"})
        clock.tick()
        return write(**arguments)

    clock.tick()
    monkeypatch.setattr(one.memory, "write", overtaken)
    ops = [PutOp(ANN, "k", {"a": "avocado"})]
    one.batch(ops)
    for store in (one, other):
        assert store.get(ANN, "k").value == {"a": "avocado"}
        assert store.search((), query="banana") == []
        assert keys(store.search((), query="avocado")) == ["k"]
    one.delete(ANN, "k")
    assert list(one.memory.list_facts(closed=True)) == []


async def test_concurrent_puts_lose_nothing(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "store.plugmem"
    stores = [PlugmemStore(open_memory(path)) for _ in range(2)]
    await asyncio.gather(
        *(stores[n % 2].aput(ANN, str(n), {"text": f"note {n}"}) for n in range(40))
    )
    threads = [
        threading.Thread(target=stores[n % 2].put, args=(ANN, str(n), {"text": f"note {n}"}))
        for n in range(40, 60)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        assert sorted(keys(store.search((), limit=100)), key=int) == [str(n) for n in range(60)]


class State(TypedDict):
    said: Annotated[str, "what the user says"]
    known: list[str]


async def test_a_graph_keeps_what_it_learns_across_threads(store: PlugmemStore) -> None:
    def remember(state: State, runtime: Runtime[None]) -> dict[str, Any]:
        known = runtime.store.search(ANN, query=state["said"])
        runtime.store.put(ANN, state["said"], {"text": state["said"]})
        return {"known": [item.value["text"] for item in known]}

    graph = StateGraph(State)
    graph.add_node("remember", remember)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", END)
    agent = graph.compile(store=store)
    assert agent.invoke({"said": "I like tea", "known": []})["known"] == []
    assert (await agent.ainvoke({"said": "tea?", "known": []}))["known"] == ["I like tea"]


# It imports names that LangGraph has deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
async def test_the_tools_of_langmem_run_on_it_unchanged(store: PlugmemStore) -> None:
    from langmem import create_manage_memory_tool, create_search_memory_tool

    config = {"configurable": {"langgraph_user_id": "ann"}}
    namespace = ("memories", "{langgraph_user_id}")
    manage = create_manage_memory_tool(namespace, store=store)
    search = create_search_memory_tool(namespace, store=store)
    manage.invoke({"action": "create", "content": "Ann drinks green tea"}, config)
    await manage.ainvoke({"action": "create", "content": "Ann lives in Bern"}, config)
    found = await search.ainvoke({"query": "tea"}, config)
    assert "green tea" in str(found)
    assert "Bern" not in str(found)
    [item] = store.search(("memories", "ann"), query="tea")
    change = {"action": "update", "id": item.key, "content": "Ann drinks coffee"}
    manage.invoke(change, config)
    assert store.search(("memories", "ann"), query="tea") == []
    assert len(store.history(("memories", "ann"), item.key)) == 2
    manage.invoke({"action": "delete", "id": item.key}, config)
    assert "coffee" not in str(search.invoke({"query": "coffee"}, config))
    other = {"configurable": {"langgraph_user_id": "an"}}
    assert "Bern" not in str(search.invoke({"query": "Bern"}, other))


def test_closing_is_left_to_who_opened(memory: Memory) -> None:
    PlugmemStore(memory)
    with pytest.raises(NotFoundError):
        memory.forget(0)
