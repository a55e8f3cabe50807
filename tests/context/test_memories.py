"""Memories that join a request: which, in what order, and with what said about them."""

from collections.abc import Sequence
from typing import Any

import pytest

from context.asking import DictStore, request
from plugmem_core import InvalidInputError, NotFoundError, ServiceError, WrongTypeError
from plugmem_core.context import (
    CompiledContext,
    ContextCompiler,
    ContextDesk,
    ContextLimits,
    MemoryScope,
    PulledMemory,
)
from plugmem_core.text.fnv import fnv1a64


class Recall:
    """Gives back what it was set up with, and remembers what it was asked."""

    def __init__(self, *pulled: PulledMemory) -> None:
        self.pulled = pulled
        self.asked: list[tuple[str, MemoryScope]] = []

    def __call__(self, query: str, scope: MemoryScope, /) -> Sequence[PulledMemory]:
        self.asked.append((query, scope))
        return self.pulled


def memory(content: str, score: float | None, **fields: Any) -> PulledMemory:
    return PulledMemory(fnv1a64(content), content, score, **fields)


def compiled(
    *pulled: PulledMemory, fragments: Sequence[Any] = (), **fields: Any
) -> CompiledContext:
    fields.setdefault("memory_scope", {"k": 10})
    return ContextDesk(DictStore(), pull=Recall(*pulled)).compile_context(
        request(*fragments, **fields)
    )


def test_memories_follow_the_fragments() -> None:
    result = compiled(memory("pump", 2.0), memory("valve", 1.0), fragments=["oil"])
    assert result.content == "oil\n\npump\n\nvalve"
    assert [one.memory_id for one in result.decisions] == [None, fnv1a64("pump"), fnv1a64("valve")]
    assert [one.memory_id for one in result.sources] == [None, fnv1a64("pump"), fnv1a64("valve")]


def test_the_relevance_is_the_share_of_the_best_score() -> None:
    result = compiled(memory("a", 0.8), memory("b", 0.2), memory("c", -0.4), query="b")
    assert [one.relevance for one in result.decisions] == [1.0, 0.25, 0.0]
    assert [one.relevance for one in compiled(memory("a", 0.0)).decisions] == [0.0]


def test_what_is_packed_first_depends_on_words_all_the_same() -> None:
    result = compiled(memory("a", 0.8), memory("b", 0.2), query="b", budget=2)
    assert result.content == "b"


def test_warnings_go_by_the_score_of_a_memory() -> None:
    pulled = [memory("word " * 20, 1.0), memory("oil " * 20, 0.35), memory("other " * 20, 0.34)]
    result = compiled(*pulled, budget=1, query="oil")
    assert [one.fragment_id for one in result.warnings] == [
        fnv1a64("word " * 20),
        fnv1a64("oil " * 20),
    ]


def test_the_reason_tells_how_a_memory_came() -> None:
    pulled = memory("a", 1.0, vector=0.456, graph=0.1, confidence=0.75)
    (decision,) = compiled(pulled).decisions
    assert f"Memory {fnv1a64('a')} " in decision.reason
    assert "vector 0.46, graph 0.10, confidence 0.75, recency 0.00" in decision.reason
    (decision,) = compiled(pulled, importance={"confidence": 0.0}).decisions
    assert "vector 0.46, graph 0.10." in decision.reason
    assert "confidence" not in decision.reason


def test_learned_confidence_moves_a_memory() -> None:
    # 1 + 0.2 * (0 - 0.5) * 2 = 0.8, and 0.9 + 0.2 * (1 - 0.5) * 2 = 1.1, clamped to 1.
    pulled = memory("a", 1.0, confidence=0.0), memory("b", 0.9, confidence=1.0)
    result = compiled(*pulled)
    assert result.content == "b\n\na"
    assert [one.relevance for one in result.decisions] == [1.0, pytest.approx(0.8)]
    assert compiled(*pulled, importance={"confidence": 0.0}).content == "a\n\nb"
    assert compiled(*pulled, importance={"confidence": -0.2}).content == "a\n\nb"


def dated(content: str, score: float, **metadata: Any) -> PulledMemory:
    return memory(content, score, metadata=metadata)


def test_recency_lies_between_the_oldest_and_the_newest() -> None:
    pulled = [dated("a", 1.0, day=10), dated("b", 1.0, day=20), dated("c", 1.0, day=15)]
    importance = {"confidence": 0.0, "recency": 0.5, "recency_field": "day"}
    result = compiled(*pulled, dated("d", 1.0), importance=importance)
    assert result.content == "b\n\nc\n\na\n\nd"
    recencies = [one.reason.partition("recency ")[2] for one in result.decisions]
    assert recencies == ["1.00.", "0.50.", "0.00.", "0.00."]
    against = compiled(*pulled, importance=importance | {"recency": -0.5})
    assert against.content == "a\n\nc\n\nb"


@pytest.mark.parametrize("importance", [{"recency_field": None}, {"recency": 0.0}])
def test_recency_without_a_field_or_a_weight_has_no_effect(importance: dict[str, Any]) -> None:
    weights = {"confidence": 0.0, "recency": 0.5, "recency_field": "day"} | importance
    pulled = [dated("a", 1.0, day=1), dated("b", 0.9, day=2)]
    assert compiled(*pulled, importance=weights).content == "a\n\nb"


@pytest.mark.parametrize("days", [(5, 5), ("1", "2"), (True, False), (None, 7)])
def test_a_batch_without_two_instants_has_no_recency(days: tuple[Any, Any]) -> None:
    importance = {"recency": 0.5, "recency_field": "day"}
    pulled = [dated("a", 1.0, day=days[0]), dated("b", 0.9, day=days[1])]
    assert compiled(*pulled, importance=importance).content == "a\n\nb"


@pytest.mark.parametrize("missing", [10**400, -(10**400), float("nan"), float("inf")])
def test_what_is_no_finite_number_has_no_recency(missing: float) -> None:
    importance = {"confidence": 0.0, "recency": 0.5, "recency_field": "day"}
    pulled = [dated("a", 1.0, day=missing), dated("b", 1.0, day=1), dated("c", 1.0, day=2)]
    result = compiled(*pulled, importance=importance)
    assert result.content == "c\n\na\n\nb"
    recencies = [one.reason.partition("recency ")[2] for one in result.decisions]
    assert recencies == ["1.00.", "0.00.", "0.00."]


@pytest.mark.parametrize(
    ("low", "middle", "high"),
    [
        (-1.7e308, 0, 1.7e308),
        (0.0, 5e-324, 1e-323),
        (1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 1_700_000_000_000_000_002),
    ],
)
def test_recency_is_right_for_numbers_of_any_size(low: float, middle: float, high: float) -> None:
    importance = {"confidence": 0.0, "recency": 0.5, "recency_field": "day"}
    pulled = [dated("a", 1.0, day=low), dated("b", 1.0, day=middle), dated("c", 1.0, day=high)]
    result = compiled(*pulled, importance=importance)
    recencies = [one.reason.partition("recency ")[2] for one in result.decisions]
    assert recencies == ["1.00.", "0.50.", "0.00."]


def bad(**fields: Any) -> list[PulledMemory]:
    return [PulledMemory(**{"memory_id": 1, "content": "a", "score": 1.0} | fields)]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "the pull returned None"),
        (5, "the pull returned 5"),
        (["x"], "memory 0"),
        ("memories", "memory 0"),
        ([*bad(), None], "memory 1"),
        (bad(content=5), "content"),
        (bad(content=None), "content"),
        (bad(content="\ud800"), "surrogate"),
        (bad(memory_id=-1), "memory_id"),
        (bad(memory_id=2**64), "memory_id"),
        (bad(memory_id="1"), "memory_id"),
        (bad(memory_id=True), "memory_id"),
        (bad(score=float("nan")), "score"),
        (bad(score=float("inf")), "score"),
        (bad(score="1"), "score"),
        (bad(score=10**400), "score"),
        (bad(vector=None), "vector"),
        (bad(graph=float("nan")), "graph"),
        (bad(confidence=None), "confidence"),
        (bad(confidence=7.0), "confidence"),
        (bad(confidence=-0.1), "confidence"),
        (bad(metadata=None), "metadata"),
        (bad(metadata=[("day", 1)]), "metadata"),
    ],
)
def test_an_answer_that_is_no_memory_is_told_and_nothing_is_stored(answer: Any, told: str) -> None:
    store = DictStore()
    desk = ContextDesk(store, pull=lambda query, scope: answer)
    with pytest.raises(ServiceError, match=told):
        desk.compile_context(request("oil", memory_scope={}))
    assert store.puts == []


def test_a_memory_that_fails_is_told() -> None:
    def fails(query: str, scope: MemoryScope, /) -> Sequence[PulledMemory]:
        raise KeyError(query)

    def refuses(query: str, scope: MemoryScope, /) -> Sequence[PulledMemory]:
        raise NotFoundError("no such project")

    with pytest.raises(ServiceError, match="pull failed") as caught:
        ContextDesk(DictStore(), pull=fails).compile_context(request(memory_scope={}))
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(NotFoundError):
        ContextDesk(DictStore(), pull=refuses).compile_context(request(memory_scope={}))


def test_a_desk_is_made_of_what_it_needs() -> None:
    values: Any
    for values in (None, {}, object()):
        with pytest.raises(WrongTypeError, match="values"):
            ContextDesk(values)
    wrong: Any = 5
    with pytest.raises(WrongTypeError, match="pull"):
        ContextDesk(DictStore(), pull=wrong)
    with pytest.raises(WrongTypeError, match="compiler"):
        ContextDesk(DictStore(), compiler=wrong)


def test_without_scores_the_order_counts() -> None:
    pulled = [memory("a", None), memory("b", None), memory("c", None), memory("d", None)]
    result = compiled(*pulled)
    assert [one.relevance for one in result.decisions] == [1.0, 0.75, 0.5, 0.25]


def test_a_fragment_that_says_the_same_is_annotated_too() -> None:
    result = compiled(memory("pump", 1.0), fragments=["pump"])
    mine, pulled = result.decisions
    assert (mine.action, pulled.action) == ("preserve", "drop")
    assert mine.memory_id == pulled.memory_id == fnv1a64("pump")
    assert result.sources[0].memory_id == fnv1a64("pump")


def test_ids_of_memories_can_be_texts() -> None:
    result = compiled(memory("pump", 1.0), ids_as_strings=True)
    assert result.decisions[0].memory_id == str(fnv1a64("pump"))
    assert result.sources[0].memory_id == str(fnv1a64("pump"))


def test_the_memory_is_asked_what_the_request_asks() -> None:
    recall = Recall()
    desk = ContextDesk(DictStore(), pull=recall)
    scope = {"project": "farm", "hops": 3, "graph_boost": 0.5}
    desk.compile_context(request(query="oil", memory_scope=scope))
    assert recall.asked == [("oil", MemoryScope(project="farm", k=5, hops=3, graph_boost=0.5))]


@pytest.mark.parametrize(("fragments", "k", "asked"), [(2, 9, 4), (5, 9, 3), (5, 2, 2)])
def test_memories_are_as_many_as_there_is_room_for(fragments: int, k: int, asked: int) -> None:
    limits = ContextLimits(fragments=8, memories=4)
    recall = Recall(*(memory(word, 1.0) for word in "abcdef"))
    desk = ContextDesk(DictStore(), pull=recall, compiler=ContextCompiler(limits=limits))
    result = desk.compile_context(request(*["x"] * fragments, memory_scope={"k": k}))
    assert recall.asked[0][1].k == asked
    assert len(result.decisions) == fragments + asked


def test_without_room_the_memory_is_not_asked() -> None:
    recall = Recall()
    compiler = ContextCompiler(limits=ContextLimits(fragments=2))
    desk = ContextDesk(DictStore(), pull=recall, compiler=compiler)
    desk.compile_context(request("a", "b", memory_scope={}))
    desk.compile_context(request("a", memory_scope={"k": 0}))
    desk.compile_context(request("a"))
    assert recall.asked == []


def test_a_refused_request_asks_nothing_and_stores_nothing() -> None:
    recall, store = Recall(memory("a", 1.0)), DictStore()
    desk = ContextDesk(store, pull=recall)
    for asked in (
        request({"path": "/x"}, memory_scope={}),
        request("a", budget=0, memory_scope={}),
        request("a", memory_scope={"k": -1}),
        request("a", project="a\0", memory_scope={}),
    ):
        with pytest.raises(InvalidInputError):
            desk.compile_context(asked)
    with pytest.raises(InvalidInputError, match="give the desk a pull"):
        ContextDesk(store).compile_context(request(memory_scope={}))
    assert (recall.asked, store.puts) == ([], [])


def test_memories_are_sources_too() -> None:
    desk = ContextDesk(DictStore(), pull=Recall(memory("pump " * 20, 1.0)))
    result = desk.compile_context(request(budget=1, memory_scope={}))
    left = result.retrieval_handles[0].handle
    assert desk.retrieve_context_source(left).content == "pump " * 20


def test_an_explanation_is_about_memories_too_and_stores_nothing() -> None:
    store = DictStore()
    desk = ContextDesk(store, pull=Recall(memory("pump", 1.0)))
    asked = request("oil", memory_scope={}, slim_response=True)
    assert desk.explain_compilation(asked, fnv1a64("pump")).memory_id == fnv1a64("pump")
    assert desk.explain_compilation(asked, 0, 1).memory_id == fnv1a64("pump")
    assert store.puts == []
