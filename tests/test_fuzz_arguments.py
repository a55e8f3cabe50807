"""Whatever is passed to a memory, the answer is one of the right kind or a typed error.

Few inputs are tried by default, the same each time; `make fuzz` tries many.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from inspect import Parameter, signature
from typing import Any

import pytest
from clocks import Clock
from fuzzing import (
    answered_or_refused,
    anything_written,
    atoms,
    few,
    fill,
    nested,
    operators,
    spoilt,
)
from hypothesis import example, given
from hypothesis import strategies as st

from plugmem_core import Memory, MemoryConfig, Retain
from plugmem_core.model import SOURCES


@pytest.fixture(scope="module")
def filled() -> Iterator[Memory]:
    clock = Clock()
    with Memory.open(":memory:", clock=clock, config=MemoryConfig(max_text=1_000)) as memory:
        fill(memory, clock)
        yield memory


@few
@given(st.one_of(nested, st.dictionaries(operators, nested, max_size=3)))
@example({"$not": {"$and": [{"year": {"$in": [2**64, None]}}]}})
def test_filters(filled: Memory, where: Any) -> None:
    with answered_or_refused():
        filled.recall("garden", where=where)
    with answered_or_refused():
        filled.list_facts(where=where)


class Scores:
    """A reranker that gives whatever it was made with."""

    def __init__(self, scores: Any) -> None:
        self._scores = scores

    def rerank(self, question: str, texts: Sequence[str]) -> Any:
        return self._scores


instants = st.one_of(st.integers(2**40, 2**41), st.sampled_from(["2024-01-01"]))
few_ids = st.lists(st.integers(0, 15), max_size=4)
tags = st.lists(st.sampled_from(["garden", "x"]), max_size=2)
RIGHT = {
    "k": st.integers(1, 300),
    "tags": tags,
    "any_tags": tags,
    "not_tags": tags,
    "entities": st.lists(st.sampled_from(["Ann", "bed 1", "x"]), max_size=3),
    "anchors": st.sampled_from(["auto", "given"]),
    "sources": st.lists(st.sampled_from(SOURCES), min_size=1),
    "weights": st.dictionaries(st.sampled_from([*SOURCES, "recency"]), st.floats(0, 1_000)),
    "where": st.just({"year": {"$gte": 2003}}),
    "among": few_ids,
    "vector": st.tuples(st.just(1.0), st.floats(-1, 1)),
    "as_of": instants,
    "valid_at": instants,
    "known_at": instants,
    "range": st.tuples(st.integers(0, 2**40), st.integers(2**40, 2**41)),
    "closed": st.booleans(),
    "token_budget": st.integers(0, 600),
    "graph_depth": st.integers(0, 1_000),
    "namespace": st.sampled_from([(), ("a",), ("a", "b")]),
    "below": st.booleans(),
    "ef": st.integers(1, 2**40),
    "min_score": st.floats(),
    "explain": st.booleans(),
    "reranker": st.one_of(nested, st.lists(st.floats(), max_size=4)).map(Scores),
    "rerank_top": st.integers(0, 2**40),
    "diversity": st.floats(0, 1),
    "duplicates": st.floats(0, 1),
    "entity": st.sampled_from(["Ann", "bed 1", "x"]),
    "mentions": st.sampled_from(["Ann", "bed 1", "x"]),
    "key": st.sampled_from(["drink", "x"]),
    "limit": st.integers(1, 1_000),
    "cursor": st.none(),
}


def arguments_of(verb: Callable[..., object]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the arguments that a verb can be given by name, whatever they are."""
    names = [
        name
        for name, one in signature(verb).parameters.items()
        if one.kind is Parameter.KEYWORD_ONLY
    ]
    return spoilt(st.fixed_dictionaries({}, optional={name: RIGHT[name] for name in names}))


@few
@given(st.one_of(anything_written, anything_written, atoms), arguments_of(Memory.recall))
@example("garden", {"reranker": Scores([10**400] * 12)})
def test_questions(filled: Memory, text: Any, arguments: dict[str, Any]) -> None:
    with answered_or_refused():
        filled.recall(text)
    with answered_or_refused():
        filled.recall("the garden of Ann", **arguments)
    with answered_or_refused():
        filled.recall(text, **arguments)
    with answered_or_refused():
        filled.explain_absent(3, text, **arguments)


@few
@given(arguments_of(Memory.list_facts))
def test_lists(filled: Memory, arguments: dict[str, Any]) -> None:
    with answered_or_refused():
        filled.list_facts(**arguments)


FACT = ("entity", "tags", "metadata", "key", "namespace", "valid_from", "ttl", "links", "vector")


@few
@given(st.one_of(anything_written, atoms), st.dictionaries(st.sampled_from(FACT), nested))
def test_facts(filled: Memory, text: Any, arguments: dict[str, Any]) -> None:
    for written in ("garden", text):
        before = filled.stats().facts
        stored = False
        with answered_or_refused():
            receipt = filled.remember(written, **arguments)
            stored = True
            assert receipt.id in [fact.id for fact in filled.history(receipt.id)]
        assert stored or filled.stats().facts == before


@few
@given(nested, nested, nested)
def test_names_and_ids(filled: Memory, one: Any, other: Any, third: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: filled.edges(one, history=True),
        lambda: filled.link(one, other, third),
        lambda: filled.unlink(one, other, third),
        lambda: filled.rename_entity(one, other),
        lambda: filled.alias_entity(one, other),
        lambda: filled.merge_entities(one, other),
        lambda: filled.rename_tag(one, other),
        lambda: filled.remove_tag(one),
        lambda: filled.tags(one),
        lambda: filled.history(one),
        lambda: filled.revise(one, other),
        lambda: filled.forget(one),
        lambda: filled.end(one, other),
        lambda: filled.put_values(one, other),
        lambda: filled.get_values(one),
        lambda: filled.list_facts(cursor=one, namespace=other),
        lambda: filled.explain_absent(one, other),
    ]
    for call in calls:
        with answered_or_refused():
            call()


OF_TYPE = {
    int: st.integers(2, 300),
    float: st.floats(0.01, 1),
    bool: st.booleans(),
}
knobs = {
    name: OF_TYPE.get(type(knob.default), st.floats(0.01, 1))
    for name, knob in MemoryConfig.model_fields.items()
} | {
    "durability": st.sampled_from(["full", "normal"]),
    "ranking": st.sampled_from(["reference", "tuned"]),
    "lexical": st.sampled_from(["bm25", "okapi", "bm25l", "bm25plus"]),
    "analyzer": st.sampled_from(["english", "german", "plain"]),
    "session_key": st.sampled_from(["session", "year", "a.b"]),
}


@few
@given(spoilt(st.fixed_dictionaries({}, optional=knobs)))
@example({"no knob": 1})
@example({name: knob.default for name, knob in MemoryConfig.model_fields.items()})
def test_configurations(some: dict[str, Any]) -> None:
    with answered_or_refused():
        config = MemoryConfig(**some)
        clock = Clock()
        with Memory.open(":memory:", clock=clock, config=config) as memory:
            with answered_or_refused():
                fill(memory, clock)
            for text in ("garden", "the garden of Ann in 2003"):
                with answered_or_refused():
                    memory.recall(text, vector=[1.0, 0.0])
            assert memory.verify().ok


@few
@given(nested, nested, nested, nested)
def test_tags(filled: Memory, one: Any, other: Any, third: Any, fourth: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: filled.tags(one, namespace=other, limit=third, cursor=fourth),
        lambda: filled.rename_tag(one, other, namespace=third),
        lambda: filled.remove_tag(one, namespace=other),
        lambda: filled.remember("the garden", tags=[one, other]),
        lambda: filled.recall("garden", tags=one, any_tags=other, not_tags=third),
    ]
    for call in calls:
        with answered_or_refused():
            call()


scopes = st.one_of(RIGHT["namespace"], nested)
names = st.one_of(st.sampled_from(["Ann", "bed 1", "drink"]), nested)


@few
@given(st.one_of(few_ids, nested), names, names, scopes)
def test_erasing(one: Any, other: Any, third: Any, fourth: Any) -> None:
    clock = Clock()
    with Memory.open(":memory:", clock=clock) as memory:
        fill(memory, clock)
        calls: list[Callable[[], object]] = [
            lambda: memory.erase(one, entity=other, key=third, namespace=fourth),
            lambda: memory.erase([3, one]),
            lambda: memory.erase([one, other]),
            lambda: memory.erase(entity=other, namespace=fourth),
            lambda: memory.erase(key=third, namespace=fourth),
            lambda: memory.erase(range(3), namespace=fourth),
            lambda: memory.erase(namespace=fourth),
        ]
        for call in calls:
            with answered_or_refused():
                call()
        assert memory.verify().ok


RETAIN = ("max_age", "tags", "entity", "namespace")
ages = st.one_of(nested, st.integers(1, 10**9), st.timedeltas())


@few
@given(ages, st.dictionaries(st.sampled_from(RETAIN), nested), nested)
@example(10**400, {}, None)
@example(timedelta.max, {}, None)
def test_rules_of_retention(age: Any, fields: dict[str, Any], other: Any) -> None:
    clock = Clock()
    with Memory.open(":memory:", clock=clock) as memory:
        fill(memory, clock)
        for rule in ({"max_age": age}, {"max_age": age, **fields}, {"max_age": 1, **fields}):
            with answered_or_refused():
                memory.maintain(retain=[Retain(**rule)])
        with answered_or_refused():
            memory.maintain(retain=other)
        assert memory.verify().ok
