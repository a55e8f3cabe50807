"""Bad input: a typed error that names the value, the limit and the remedy, and nothing stored."""

import base64
import datetime
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from clocks import DAY, START, Clock

from plugmem_core import (
    ClosedFactError,
    InvalidFilterError,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
    PlugmemError,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)

NAIVE = datetime.datetime(2024, 5, 1)  # noqa: DTZ001 - what is tested
HUGE = 10**5_000  # too long for Python to write in decimal
LOOP: list[Any] = []
LOOP.append(LOOP)

CONFIG = MemoryConfig(max_text=100, max_tags=3, max_links=2, max_metadata=50)


@pytest.fixture
def memory() -> Memory:
    """Fact 0 is superseded by 2, 1 holds the key, 3 is forgotten, 4 is in a namespace."""
    clock = Clock()
    memory = Memory.open(":memory:", config=CONFIG, clock=clock)
    memory.remember("the desk is on floor two", entity="Ivo", tags=["office"], vector=[1, 0])
    memory.remember("held", key="k", entity="Ada", links=[("knows", "Ivo")])
    clock.tick(DAY)
    memory.revise(0, "the desk is on floor five")
    memory.remember("forgotten")
    memory.forget(3)
    memory.remember("secret", namespace=("a",))
    clock.tick(DAY)
    return memory


Call = Callable[[Any], object]  # of a Memory; `Any`, for what it is given is wrong on purpose
Case = tuple[Call, type[PlugmemError], str]

TEXT: list[Case] = [
    (lambda m: m.remember(""), InvalidInputError, "text is '', .*blank; say something"),
    (lambda m: m.remember(" \n\t"), InvalidInputError, r"text is ' \\n\\t', .*blank; say"),
    (lambda m: m.remember("x" * 101), TooLargeError, "101 bytes.*100.*'xxx.*; shorten"),
    (lambda m: m.remember("ч" * 51), TooLargeError, "102 bytes.*100.*; shorten"),
    (lambda m: m.remember("a\0b"), InvalidInputError, "NUL character at 1.*remove it"),
    (lambda m: m.remember("a\ud800"), InvalidInputError, "lone surrogate at 1.*decode"),
    (lambda m: m.remember(b"x"), WrongTypeError, "text is b'x'.*bytes.*give a str"),
    (lambda m: m.remember(None), WrongTypeError, "text is None.*give a str"),
    (lambda m: m.remember(7), WrongTypeError, "text is 7.*int.*give a str"),
    (lambda m: m.revise(1, ""), InvalidInputError, "text is ''.*say something"),
    (lambda m: m.revise(1, "x" * 101), TooLargeError, "101 bytes.*100.*shorten"),
    (lambda m: m.remember_guarded(" "), InvalidInputError, "text is ' '.*say something"),
    (lambda m: m.recall("a\0"), InvalidInputError, "NUL character at 1.*remove it"),
    (lambda m: m.recall("x" * 1_048_577), TooLargeError, "1048577 bytes.*1048576.*shorten"),
    (lambda m: m.recall(5), WrongTypeError, "text is 5.*give a str"),
]

ITEMS: list[Case] = [
    (lambda m: m.remember_many("text"), WrongTypeError, "facts is .*str.*list of mappings"),
    (lambda m: m.remember_many({"text": "x"}), WrongTypeError, "facts is .*dict.*list of map"),
    (lambda m: m.remember_many(5), WrongTypeError, "facts is .*int.*list of mappings"),
    (lambda m: m.remember_many(None), WrongTypeError, "facts is .*None.*list of mappings"),
    (lambda m: m.remember_many(["x"]), WrongTypeError, r"facts\[0\] is .*str.*give a mapping"),
    (lambda m: m.remember_many([{}]), InvalidInputError, r"facts\[0\] has no text.*accepted"),
    (
        lambda m: m.remember_many([{"text": "x", "tag": "t"}]),
        InvalidInputError,
        r"facts\[0\] has unknown \['tag'\].*accepted are text and entity",
    ),
    (
        lambda m: m.remember_many([{"text": "x"}, {"text": "y", "vector": [1, 2, 3]}]),
        VectorSpaceError,
        r"facts\[1\].*3 components.*have 2; use the embedder",
    ),
]

NAMES: list[Case] = [
    (lambda m: m.remember("x", entity="?!"), InvalidInputError, r"entity is '\?!'.*give a name"),
    (lambda m: m.remember("x", entity=""), InvalidInputError, "entity is ''.*give a name"),
    (lambda m: m.remember("x", entity=5), WrongTypeError, "entity is 5 .*give a name"),
    (lambda m: m.remember("x", entity="a\0"), InvalidInputError, "entity has a NUL.*remove"),
    (lambda m: m.remember("x", entity="e" * 65_537), TooLargeError, "65537.*65536.*shorten"),
    (lambda m: m.remember("x", links=[("r", "y")]), InvalidInputError, "1 pairs.*name the entity"),
    (
        lambda m: m.remember("x", entity="e", links=[("r", "a"), ("r", "b"), ("r", "c")]),
        TooLargeError,
        "links has 3 pairs, .* 2; give fewer",
    ),
    (lambda m: m.remember("x", entity="e", links="ab"), WrongTypeError, "links is 'ab'.*pairs"),
    (lambda m: m.remember("x", entity="e", links=["ab"]), WrongTypeError, r"links\[0\].*pair"),
    (lambda m: m.remember("x", entity="e", links=[("r",)]), WrongTypeError, r"links\[0\].*pair"),
    (
        lambda m: m.remember("x", entity="e", links=[("r", "?")]),
        InvalidInputError,
        r"links\[0\]\[1\] is '\?'.*give a name",
    ),
    (
        lambda m: m.remember("x", entity="e", links=[(" ", "a")]),
        InvalidInputError,
        "relation is ' '.*name the relation",
    ),
    (lambda m: m.link("a", "", "b"), InvalidInputError, "relation is ''.*name the relation"),
    (lambda m: m.link("a", 5, "b"), WrongTypeError, "relation is 5.*give a str"),
    (lambda m: m.link("?", "r", "b"), InvalidInputError, r"src is '\?'.*give a name"),
    (lambda m: m.link("a", "r", None), WrongTypeError, "dst is None.*give a name"),
    (lambda m: m.link("a", "r", "b", provenance="0"), WrongTypeError, "provenance is '0'.*integer"),
    (lambda m: m.link("a", "r", "b", provenance=9), NotFoundError, "fact 9 does not exist"),
    (lambda m: m.link("a", "r", "b", properties=[1]), WrongTypeError, "properties is .*mapping"),
    (lambda m: m.unlink("a", " ", "b"), InvalidInputError, "relation is ' '.*name the relation"),
    (lambda m: m.edges("?"), InvalidInputError, r"entity is '\?'.*give a name"),
    (lambda m: m.recall("x", entities="ab"), WrongTypeError, "entities is 'ab'.*list of names"),
    (lambda m: m.recall("x", entities=""), WrongTypeError, "entities is ''.*list of names"),
    (lambda m: m.recall("x", entities=0), WrongTypeError, "entities is 0.*list of names"),
    (lambda m: m.recall("x", entities=None), WrongTypeError, "entities is None.*list of names"),
    (lambda m: m.recall("x", entities=[5]), WrongTypeError, r"entities\[0\] is 5.*give a name"),
    (lambda m: m.recall("x", entities=["?"]), InvalidInputError, r"entities\[0\] is '\?'.*give"),
    (lambda m: m.rename_entity("Ivo", "?"), InvalidInputError, r"new_name is '\?'.*give a name"),
    (lambda m: m.rename_entity("Ivo", "ADA"), InvalidInputError, "'ADA'.*another.*merge_entities"),
    (lambda m: m.alias_entity("Ivo", "ADA"), InvalidInputError, "'ADA'.*another.*merge_entities"),
    (lambda m: m.merge_entities("Ivo", "nobody"), NotFoundError, "into is 'nobody'; no such"),
]

TAGS: list[Case] = [
    (lambda m: m.remember("x", tags="office"), WrongTypeError, "tags is 'office'.*list of tags"),
    (lambda m: m.remember("x", tags=None), WrongTypeError, "tags is None.*list of tags"),
    (lambda m: m.remember("x", tags=[""]), InvalidInputError, r"tags\[0\] is ''.*blank; leave"),
    (lambda m: m.remember("x", tags=["a", " "]), InvalidInputError, r"tags\[1\] is ' '.*blank"),
    (lambda m: m.remember("x", tags=[3]), WrongTypeError, r"tags\[0\] is 3.*give a str"),
    (lambda m: m.remember("x", tags=["a\0"]), InvalidInputError, r"tags\[0\] has a NUL.*remove"),
    (
        lambda m: m.remember("x", tags=["a\udfff"]),
        InvalidInputError,
        r"tags\[0\].*surrogate.*decode",
    ),
    (
        lambda m: m.remember("x", tags=list("abcd")),
        TooLargeError,
        "tags has 4 tags, .* 3; give fewer",
    ),
    (lambda m: m.remember("x", tags=["a"] * 4), TooLargeError, "tags has 4 tags, .* 3; give fewer"),
    (lambda m: m.remember("x", tags=["t" * 1_025]), TooLargeError, "1025 bytes.*1024.*shorten"),
    (lambda m: m.recall("x", any_tags="t"), WrongTypeError, "any_tags is 't'.*list of tags"),
    (lambda m: m.recall("x", not_tags=[" "]), InvalidInputError, r"not_tags\[0\] is ' '.*blank"),
    (lambda m: m.rename_tag("office", " "), InvalidInputError, "new_tag is ' '.*blank"),
    (lambda m: m.remove_tag(5), WrongTypeError, "tag is 5.*give a str"),
    (lambda m: m.tags(5), WrongTypeError, "prefix is 5.*give a str"),
]

METADATA: list[Case] = [
    (lambda m: m.remember("x", metadata=[("a", 1)]), WrongTypeError, "metadata is .*mapping"),
    (lambda m: m.remember("x", metadata="{}"), WrongTypeError, "metadata is '{}'.*mapping"),
    (lambda m: m.remember("x", metadata={1: 2}), WrongTypeError, "key of metadata is 1.*text"),
    (
        lambda m: m.remember("x", metadata={"a": {1, 2}}),
        WrongTypeError,
        "metadata.'a' is .*set.*give",
    ),
    (lambda m: m.remember("x", metadata={"a": NAIVE}), WrongTypeError, "'a' is .*datetime.*give"),
    (lambda m: m.remember("x", metadata={"a": b"x"}), WrongTypeError, "'a' is b'x' .*bytes.*give"),
    (
        lambda m: m.remember("x", metadata={"a": float("nan")}),
        InvalidInputError,
        "'a' is nan.*None",
    ),
    (lambda m: m.remember("x", metadata={"a": [-np.inf]}), InvalidInputError, "'a'.*is -inf.*None"),
    (lambda m: m.remember("x", metadata={"a": LOOP}), InvalidInputError, "over 64 levels; flatten"),
    (
        lambda m: m.remember("x", metadata={"a": "\ud800"}),
        InvalidInputError,
        "'a' has a lone surr.*decode",
    ),
    (
        lambda m: m.remember("x", metadata={"a\0": 1}),
        InvalidInputError,
        "key of metadata has a NUL.*remove",
    ),
    (
        lambda m: m.remember("x", metadata={"a": "b" * 50}),
        TooLargeError,
        "58 bytes.*50; keep large",
    ),
    (
        lambda m: m.remember("x", metadata={"a": HUGE}),
        InvalidInputError,
        "'a' is an integer of .* bits.*2048; give it as text",
    ),
    (lambda m: m.revise(1, metadata={"a": {1}}), WrongTypeError, "'a' is .*set.*give"),
    (lambda m: m.recall("x", where=[]), InvalidFilterError, "where.*; give"),
    (
        lambda m: m.recall("x", where={"a": {"$near": 1}}),
        InvalidFilterError,
        "'\\$near'.*give one of",
    ),
    (lambda m: m.recall("x", where={"a": {"$gt": True}}), InvalidFilterError, "True.*JSON number"),
    (lambda m: m.list_facts(where={"$and": []}), InvalidFilterError, "where.*; give"),
]

TIMES: list[Case] = [
    (
        lambda m: m.remember("x", valid_from=NAIVE),
        InvalidInputError,
        "valid_from is 2024.*naive.*zone",
    ),
    (lambda m: m.remember("x", valid_from="2024-05-01T10:00"), InvalidInputError, "naive.*zone"),
    (lambda m: m.remember("x", valid_from="soon"), InvalidInputError, "'soon'.*ISO-8601; write"),
    (lambda m: m.remember("x", valid_from=1.5), WrongTypeError, "valid_from is 1.5 .*float.*give"),
    (lambda m: m.remember("x", valid_from=True), WrongTypeError, "valid_from is True .*bool.*give"),
    (
        lambda m: m.remember("x", valid_from=datetime.date(2024, 5, 1)),
        WrongTypeError,
        "valid_from is .*date.*give an aware datetime",
    ),
    (
        lambda m: m.remember("x", valid_from=253_402_300_800_000),
        InvalidInputError,
        "2534.*9999.*give",
    ),
    (lambda m: m.remember("x", valid_from=HUGE), InvalidInputError, "valid_from is .*9999.*give"),
    (lambda m: m.revise(1, "x", valid_from=NAIVE), InvalidInputError, "naive.*zone"),
    (
        lambda m: m.revise(1, "x", valid_from=START - 1),
        InvalidInputError,
        r"valid_from is 2024-05-01T11:59:59\.999.*2024-05-01T12:00:00.*no earlier instant",
    ),
    (
        lambda m: m.remember("other", key="k", valid_from=START - 1),
        InvalidInputError,
        r"valid_from is 2024-05-01T11:59:59\.999.*2024-05-01T12:00:00.*no earlier instant",
    ),
    (lambda m: m.link("a", "r", "b", valid_from=NAIVE), InvalidInputError, "valid_from is .*naive"),
    (lambda m: m.recall("x", as_of=NAIVE), InvalidInputError, "as_of is .*naive.*zone"),
    (lambda m: m.recall("x", valid_at="later"), InvalidInputError, "valid_at is 'later'.*write it"),
    (lambda m: m.recall("x", known_at=1.0), WrongTypeError, "known_at is 1.0 .*float.*give"),
    (
        lambda m: m.recall("x", as_of=1, known_at=1),
        InvalidInputError,
        "as_of.*both.*give as_of alone",
    ),
    (
        lambda m: m.recall("x", as_of=1, valid_at=1),
        InvalidInputError,
        "as_of.*both.*give as_of alone",
    ),
    (
        lambda m: m.recall(range=(2, 1)),
        InvalidInputError,
        "from 2 to 1, backwards; give the earlier",
    ),
    (lambda m: m.recall(range=(1,)), WrongTypeError, r"range is \(1,\); give a \(from, to\) pair"),
    (lambda m: m.recall(range=5), WrongTypeError, r"range is 5; give a \(from, to\) pair"),
    (lambda m: m.recall(range=(NAIVE, 1)), InvalidInputError, r"range\[0\] is .*naive.*zone"),
    (lambda m: m.list_facts(range=(2, 1)), InvalidInputError, "backwards; give the earlier"),
    (lambda m: m.edges(as_of=NAIVE), InvalidInputError, "as_of is .*naive.*zone"),
    (lambda m: m.remember("x", ttl=0), InvalidInputError, "ttl is 0; give from 0.001"),
    (lambda m: m.remember("x", ttl=-5), InvalidInputError, "ttl is -5; give from 0.001"),
    (lambda m: m.remember("x", ttl=float("nan")), InvalidInputError, "ttl is nan; give from"),
    (lambda m: m.remember("x", ttl=float("inf")), InvalidInputError, "ttl is inf; give from"),
    (lambda m: m.remember("x", ttl=HUGE), InvalidInputError, "ttl is .*; give from"),
    (lambda m: m.remember("x", ttl="60"), WrongTypeError, "ttl is '60' .*seconds or a timedelta"),
    (lambda m: m.remember("x", ttl=True), WrongTypeError, "ttl is True .*seconds or a timedelta"),
    (
        lambda m: m.remember("x", ttl=datetime.timedelta(days=-1)),
        InvalidInputError,
        "ttl is .*; give from 0.001",
    ),
]

IDS: list[Case] = [
    (lambda m: m.revise(99, "x"), NotFoundError, "fact 99 does not exist"),
    (lambda m: m.forget(99), NotFoundError, "fact 99 does not exist"),
    (lambda m: m.forget_many([1, 99]), NotFoundError, "fact 99 does not exist"),
    (lambda m: m.history(99), NotFoundError, "fact 99 does not exist"),
    (lambda m: m.explain_absent(99, "x"), NotFoundError, "fact 99 does not exist"),
    (lambda m: m.revise(3, "x"), NotFoundError, "fact 3 does not exist"),
    (lambda m: m.revise(4, "x", namespace=("b",)), NotFoundError, "fact 4 does not exist"),
    (lambda m: m.forget(4, namespace=("b",)), NotFoundError, "fact 4 does not exist"),
    (lambda m: m.history(4, namespace=("b",)), NotFoundError, "fact 4 does not exist"),
    (
        lambda m: m.revise(0, "x"),
        ClosedFactError,
        "fact 0 has been revised.*revise its successor 2",
    ),
    (lambda m: m.revise("1", "x"), WrongTypeError, "id is '1' .*give an integer"),
    (lambda m: m.revise(1.0, "x"), WrongTypeError, "id is 1.0 .*give an integer"),
    (lambda m: m.revise(id=True, text="x"), WrongTypeError, "id is True .*give an integer"),
    (lambda m: m.get(-1), InvalidInputError, "is -1; give an integer from 0"),
    (lambda m: m.get(2**32 - 1), InvalidInputError, "is 4294967295; .*to 4294967294"),
    (lambda m: m.get(HUGE), InvalidInputError, "give an integer from 0"),
    (lambda m: m.forget(None), WrongTypeError, "is None .*give an integer"),
    (lambda m: m.get_many(5), WrongTypeError, "ids is 5 .*list of fact ids"),
    (lambda m: m.get_many([1, "2"]), WrongTypeError, r"ids\[1\] is '2' .*give an integer"),
    (lambda m: m.forget_many("12"), WrongTypeError, "ids is '12' .*list of fact ids"),
]

VECTORS: list[Case] = [
    (lambda m: m.remember("x", vector=[np.nan, 1]), InvalidInputError, "NaN.*check the embedder"),
    (
        lambda m: m.remember("x", vector=[np.inf, 1]),
        InvalidInputError,
        "infinite.*check the embedder",
    ),
    (
        lambda m: m.remember("x", vector=[1e39, 1]),
        InvalidInputError,
        "infinite.*check the embedder",
    ),
    (lambda m: m.remember("x", vector=[0, 0]), InvalidInputError, "length 0.*not all zero"),
    (lambda m: m.remember("x", vector=[1e-30, 0]), InvalidInputError, "no direction; give"),
    (lambda m: m.remember("x", vector=[1e30, 0]), InvalidInputError, "no direction; give"),
    (lambda m: m.remember("x", vector=[1, 2, 3]), VectorSpaceError, "3 components.*have 2; use"),
    (lambda m: m.remember("x", vector=[1]), VectorSpaceError, "1 components.*have 2; use"),
    (lambda m: m.remember("x", vector=[]), InvalidInputError, "0 components; give from 1 to 4096"),
    (lambda m: m.remember("x", vector=[1] * 4_097), InvalidInputError, "4097.*from 1 to 4096"),
    (lambda m: m.remember("x", vector=[[1, 2]]), WrongTypeError, "vector is .*flat sequence"),
    (
        lambda m: m.remember("x", vector=["1", "2"]),
        WrongTypeError,
        "vector is .*sequence of numbers",
    ),
    (lambda m: m.remember("x", vector=[True, False]), WrongTypeError, "vector is .*sequence"),
    (lambda m: m.remember("x", vector=[1, None]), WrongTypeError, "vector is .*sequence"),
    (lambda m: m.remember("x", vector=[1 + 2j, 0]), WrongTypeError, "vector is .*sequence"),
    (lambda m: m.remember("x", vector="ab"), WrongTypeError, "vector is 'ab'.*sequence of numbers"),
    (lambda m: m.remember("x", vector=5), WrongTypeError, "vector is 5.*sequence of numbers"),
    (lambda m: m.remember("x", vector=[HUGE, 1]), InvalidInputError, "beyond.*check the embedder"),
    (lambda m: m.revise(1, vector=[0.0, 0.0]), InvalidInputError, "length 0.*not all zero"),
    (lambda m: m.revise(1, "x", vector=[1, 2, 3]), VectorSpaceError, "3 components.*have 2; use"),
    (lambda m: m.recall(vector=[0, 0]), InvalidInputError, "length 0.*not all zero"),
    (lambda m: m.recall(vector=[np.nan, 0]), InvalidInputError, "NaN.*check the embedder"),
    (lambda m: m.recall(vector=[1, 2, 3]), VectorSpaceError, "3 components.*have 2; use"),
]

SCOPES: list[Case] = [
    (
        lambda m: m.remember("x", namespace="ab"),
        WrongTypeError,
        "namespace is 'ab'.*tuple of labels",
    ),
    (lambda m: m.remember("x", namespace=None), WrongTypeError, "namespace is None.*tuple"),
    (lambda m: m.remember("x", namespace=5), WrongTypeError, "namespace is 5.*tuple of labels"),
    (
        lambda m: m.remember("x", namespace=("",)),
        InvalidInputError,
        r"namespace\[0\] is empty; .*give",
    ),
    (lambda m: m.remember("x", namespace=("a", 1)), WrongTypeError, r"namespace\[1\] is 1.*str"),
    (
        lambda m: m.remember("x", namespace=("a\0",)),
        InvalidInputError,
        r"namespace\[0\].*NUL.*remove",
    ),
    (lambda m: m.remember("x", namespace=("\ud800",)), InvalidInputError, "surrogate.*decode"),
    (
        lambda m: m.remember("x", namespace=("a",) * 33),
        TooLargeError,
        "33 labels, .* 32; nest less",
    ),
    (lambda m: m.remember("x", namespace=("a" * 1_025,)), TooLargeError, "1025 bytes.*1024.*short"),
    (lambda m: m.recall("x", namespace="ab"), WrongTypeError, "namespace is 'ab'.*tuple of labels"),
    (lambda m: m.get(0, namespace=("a\0",)), InvalidInputError, r"namespace\[0\].*NUL.*remove"),
    (lambda m: m.remember("x", key=""), InvalidInputError, "key is ''.*blank; leave it out"),
    (lambda m: m.remember("x", key=" "), InvalidInputError, "key is ' '.*blank; leave it out"),
    (lambda m: m.remember("x", key=5), WrongTypeError, "key is 5.*give a str"),
    (lambda m: m.remember("x", key="k" * 1_025), TooLargeError, "1025 bytes.*1024.*shorten"),
    (lambda m: m.remember("x", key="k\0"), InvalidInputError, "key has a NUL.*remove it"),
]

NUMBERS: list[Case] = [
    (lambda m: m.recall("x", k=0), InvalidInputError, "k is 0; give an integer from 1"),
    (lambda m: m.recall("x", k=-3), InvalidInputError, "k is -3; give an integer from 1"),
    (lambda m: m.recall("x", k=2.0), WrongTypeError, "k is 2.0 .*give an integer"),
    (lambda m: m.recall("x", k=True), WrongTypeError, "k is True .*give an integer"),
    (lambda m: m.recall("x", k=None), WrongTypeError, "k is None .*give an integer"),
    (lambda m: m.recall("x", k=HUGE), InvalidInputError, "k is .*give an integer from 1"),
    (lambda m: m.recall("x", token_budget=-1), InvalidInputError, "token_budget is -1.*from 0"),
    (lambda m: m.recall("x", token_budget="9"), WrongTypeError, "token_budget is '9'.*integer"),
    (lambda m: m.recall("x", graph_depth=-1), InvalidInputError, "graph_depth is -1.*0 to 1000"),
    (lambda m: m.recall("x", graph_depth=1_001), InvalidInputError, "1001.*0 to 1000"),
    (lambda m: m.recall("x", ef=0), InvalidInputError, "ef is 0; give an integer from 1"),
    (lambda m: m.recall("x", min_score="1"), WrongTypeError, "min_score is '1'.*give a number"),
    (lambda m: m.recall("x", min_score=float("nan")), InvalidInputError, "min_score is NaN; give"),
    (lambda m: m.recall("x", min_score=True), WrongTypeError, "min_score is True.*give a number"),
    (lambda m: m.recall("x", min_score=HUGE), InvalidInputError, "min_score is .*give"),
    (lambda m: m.recall("x", closed=1), WrongTypeError, "closed is 1 .*give True or False"),
    (lambda m: m.recall("x", explain="yes"), WrongTypeError, "explain is 'yes' .*True or False"),
    (lambda m: m.recall("x", anchors="all"), InvalidInputError, "anchors is 'all'.*\"auto\" or"),
    (lambda m: m.recall(), InvalidInputError, "nothing was asked; give text"),
    (lambda m: m.list_facts(limit=0), InvalidInputError, "limit is 0; .*1 to 1000"),
    (lambda m: m.list_facts(cursor="x"), InvalidInputError, "cursor is 'x'; pass the next_cursor"),
    (lambda m: m.revise(1), InvalidInputError, "nothing of fact 1 was given to change; give"),
]

CASES = [
    pytest.param(*case, id=f"{group}-{number}")
    for group, cases in {
        "text": TEXT, "items": ITEMS, "names": NAMES, "tags": TAGS, "metadata": METADATA,
        "times": TIMES, "ids": IDS, "vectors": VECTORS, "scopes": SCOPES, "numbers": NUMBERS,
    }.items()
    for number, case in enumerate(cases)
]  # fmt: skip


def state(memory: Memory) -> list[object]:
    return [
        memory.stats(),
        list(memory.list_facts(closed=True)),
        list(memory.tags()),
        list(memory.entities()),
        memory.edges(history=True),
    ]


@pytest.mark.parametrize(("call", "kind", "message"), CASES)
def test_bad_input_is_a_typed_error_and_leaves_nothing(
    memory: Memory, call: Call, kind: type[PlugmemError], message: str
) -> None:
    before = state(memory)
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        call(memory)
    assert type(caught.value) is kind
    assert len(str(caught.value)) < 1_000
    assert state(memory) == before
    assert memory.verify().ok
    assert memory.remember("the next id").id == 5


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (InvalidInputError, ValueError), (WrongTypeError, TypeError), (TooLargeError, ValueError),
        (NotFoundError, KeyError), (ClosedFactError, ValueError), (VectorSpaceError, ValueError),
    ],
)  # fmt: skip
def test_errors_are_also_the_builtin_one_would_catch(kind: type[Exception], builtin: type) -> None:
    assert issubclass(kind, builtin)
    assert issubclass(kind, PlugmemError)


def test_limits_are_inclusive(memory: Memory) -> None:
    memory.remember("x" * 100)
    memory.remember("three tags", tags=["a", "b", "c"])
    memory.remember("two links", entity="e", links=[("r", "a"), ("r", "b")])
    memory.remember("50 bytes", metadata={"a": "b" * 42})
    memory.remember("deep", namespace=("a",) * 32)
    memory.remember("widest", key="k" * 1_024, tags=["t" * 1_024])
    assert memory.verify().ok


def test_k_above_the_number_of_facts_returns_what_exists(memory: Memory) -> None:
    assert len(memory.recall(where={}, k=1_000).facts) == 3


def test_the_default_limits_are_those_documented() -> None:
    with Memory.open(":memory:") as memory:
        memory.remember("x" * 65_536)
        with pytest.raises(TooLargeError, match=r"65537 bytes.*65536"):
            memory.remember("x" * 65_537)
        memory.remember("tags", tags=[str(i) for i in range(32)])
        with pytest.raises(TooLargeError, match=r"33 tags, .* 32; give fewer"):
            memory.remember("tags", tags=[str(i) for i in range(33)])


@pytest.mark.parametrize("after", [None, True, 1.5, {}, ["a", "b", "c"], [["a"], 1], "\ud800"])
@pytest.mark.parametrize("listing", ["list_facts", "tags", "entities", "keys", "namespaces"])
def test_a_forged_cursor_is_refused_or_leads_somewhere(
    memory: Memory, listing: str, after: object
) -> None:
    for name in ("a", "b"):
        memory.remember(name, tags=[name], entity=name, key=name, namespace=(name,))
        memory.remember(name, key=name)
    page = getattr(memory, listing)(limit=1)
    fingerprint, _ = json.loads(base64.urlsafe_b64decode(page.next_cursor))
    forged = base64.urlsafe_b64encode(json.dumps([fingerprint, after]).encode()).decode()
    if listing == "namespaces" and after == ["a", "b", "c"]:
        assert [one.namespace for one in memory.namespaces(cursor=forged)] == [("b",)]
    else:
        with pytest.raises(InvalidInputError, match="cursor is"):
            getattr(memory, listing)(cursor=forged)
