"""`export_jsonl` and `import_jsonl`: everything, the same bytes again, and no harm by bad lines."""

import base64
import io
import json
import random
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import plugmem
import pytest
from clocks import HOUR, START, Clock
from conftest import OpenMemory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import labels, names, texts

from plugmem_core import (
    ConflictError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    PlugmemError,
    ReadOnlyError,
    StorageError,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)
from plugmem_core.moving import importing


def exported(memory: Memory, **options: Any) -> bytes:
    lines = io.BytesIO()
    memory.export_jsonl(lines, **options)
    return lines.getvalue()


def imported(memory: Memory, data: bytes, **options: Any) -> Any:
    return memory.import_jsonl(io.BytesIO(data), **options)


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def lines(*fields: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in fields)


def fill(memory: Memory, clock: Clock) -> None:
    """Write something of everything there is."""
    vector = [0.5, -1.25, 3e-7]
    ann = memory.remember(
        "Prefers tea", entity="Ann Lee", tags=["taste", "drink"],
        metadata={"b": [1, None], "a": -0.0}, key="drink", namespace=("users", "ann"),
        vector=vector, valid_from="2024-01-01",
    ).id  # fmt: skip
    clock.tick()
    memory.remember("Prefers coffee", entity="Ann Lee", key="drink", namespace=("users", "ann"))
    clock.tick()
    memory.remember("Bo leads", entity="Bo", links=[("leads", "choir"), ("knows", "Ann Lee")])
    memory.link(
        "Bo", "knows", "Cleo", provenance=ann, valid_from="2023-05-05", properties={"since": 1.5}
    )
    clock.tick()
    memory.unlink("Bo", "knows", "Ann Lee")
    memory.alias_entity("Bo", "Robert")
    memory.rename_entity("Cleo", "Cléo")
    memory.remember("expires late", ttl=86_400, metadata={"deep": {"x": [{}, "é"]}})
    first = memory.remember("version one", tags=["v"], vector=vector[::-1]).id
    clock.tick()
    memory.revise(first, "version two", valid_from=START + 3_500)
    memory.end(memory.remember("was true").id)
    memory.put_values("settings", {"z": None, "a": {"y": 1, "x": [True]}}, namespace=("users",))


def seen(memory: Memory) -> dict[str, Any]:
    """Return what can be asked of a memory, as far as it does not depend on a file."""
    facts = memory.list_facts(closed=True, limit=1_000).facts
    return {
        "facts": facts,
        "histories": [memory.history(fact.id) for fact in facts],
        "edges": memory.edges(history=True),
        "entities": memory.entities().entities,
        "tags": memory.tags().tags,
        "values": memory.get_values("settings", namespace=("users",)),
        "recalls": [
            memory.recall(text, k=50, token_budget=None, as_of=as_of, explain=True)
            for text in ("prefers version true", "Robert knows Ann Lee")
            for as_of in (None, START, START + HOUR)
        ],
        "vectors": [
            None if one is None else list(one) for one in memory.vectors([f.id for f in facts])
        ],
    }


# -- there and back


def test_an_empty_memory_gets_everything_as_it_was(
    memory: Memory, open_memory: OpenMemory, clock: Clock, tmp_path: Path
) -> None:
    fill(memory, clock)
    memory.forget(memory.remember("forgotten").id)
    memory.maintain()  # so that its words do not count any more
    path = tmp_path / "lines"
    written = memory.export_jsonl(path)
    other = open_memory(tmp_path / "other")
    assert other.import_jsonl(path) == written
    assert exported(other) == path.read_bytes()
    assert seen(other) == seen(memory)
    assert other.verify().ok
    assert (written.facts, written.edges, written.entities, written.aliases) == (7, 3, 5, 1)
    assert (written.values, written.known) == (2, 0)
    # Ids go on where they were, those of what stayed behind included.
    assert other.remember("next").id == memory.remember("next").id
    assert other.link("x", "y", "z").id == memory.link("x", "y", "z").id


OPERATIONS = st.one_of(
    st.tuples(
        st.just("remember"),
        st.fixed_dictionaries(
            {
                "text": texts().map(lambda text: f"{text} word"),
                "namespace": st.lists(labels(), max_size=2),
            },
            optional={
                "entity": names(),
                "key": st.sampled_from(["k", "K", "\u2028"]),
                "tags": st.lists(labels().map(lambda tag: f"#{tag}"), max_size=3),
                "metadata": st.dictionaries(
                    texts(max_size=8),
                    st.recursive(
                        st.none() | st.booleans() | st.integers(-(2**90), 2**90)
                        | st.floats(allow_nan=False, allow_infinity=False) | texts(max_size=8),
                        lambda inner: st.lists(inner, max_size=2),
                        max_leaves=4,
                    ),
                    max_size=3,
                ),
                "ttl": st.sampled_from([1, 10_000]),
                "vector": st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=2)
                .filter(lambda vector: sum(abs(x) for x in vector) > 0.1),
            },
        ),
    ),
    st.tuples(st.just("revise"), st.integers(0, 20)),
    st.tuples(st.just("forget"), st.integers(0, 20)),
    st.tuples(st.just("end"), st.integers(0, 20)),
    st.tuples(st.just("maintain"), st.none()),
    st.tuples(st.just("link"), st.tuples(names(), labels().map(lambda name: f"r{name}"), names())),
    st.tuples(st.just("unlink"), st.integers(0, 20)),
    st.tuples(st.just("merge"), st.tuples(st.integers(0, 9), st.integers(0, 9))),
    st.tuples(st.just("value"), st.tuples(labels(), texts(max_size=9))),
    st.tuples(st.just("tick"), st.sampled_from([1, 5_000])),
)  # fmt: skip


def perform(memory: Memory, clock: Clock, verb: str, given: Any) -> None:
    if verb == "remember":
        memory.remember(**given)
    elif verb == "revise":
        memory.revise(given, f"revised at {clock.now}")
    elif verb in ("forget", "end"):
        getattr(memory, verb)(given)
    elif verb == "maintain":
        memory.maintain()
    elif verb == "link":
        memory.link(*given, provenance=None)
    elif verb == "unlink":
        edge = memory.edges()[given]
        memory.unlink(edge.src, edge.relation, edge.dst, namespace=edge.namespace)
    elif verb == "merge":
        known = memory.entities(limit=50).entities
        source, into = known[given[0]], known[given[1]]
        memory.merge_entities(source.name, into.name, namespace=source.namespace)
    elif verb == "value":
        memory.put_values(f"c{given[0]}", {f"k{given[0]}": given[1]}, namespace=(given[0],))
    else:
        clock.tick(given)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(OPERATIONS, max_size=14))
def test_whatever_was_done_the_same_bytes_come_again(operations: list[tuple[str, Any]]) -> None:
    clock = Clock()
    with (
        Memory.open(":memory:", clock=clock) as memory,
        Memory.open(":memory:", clock=clock) as other,
    ):
        for verb, given in operations:
            with suppress(PlugmemError, IndexError):
                perform(memory, clock, verb, given)
        data = exported(memory)
        imported(other, data)
        assert exported(other) == data
        assert other.verify().ok
        assert len(data.decode().splitlines()) == data.count(b"\n")
        # What a fact revises may be forgotten, and is then not told.
        told, again = (
            [fact._replace(revises=None) for fact in one.list_facts(limit=100)]
            for one in (memory, other)
        )
        assert again == told
        # A second time changes nothing.
        before = exported(other)
        imported(other, data)
        assert exported(other).splitlines()[1:] == before.splitlines()[1:]
        assert other.verify().ok


def test_a_line_is_what_it_is_said_to_be(memory: Memory, clock: Clock) -> None:
    clock.set(1_000)
    memory.remember(
        "tea\n\u2028é", entity="Ann", tags=["b", "a"], metadata={"z": 1, "a": 2}, key="k",
        namespace=("u", "x"), ttl=5, vector=[1.0, -2.0], links=[("likes", "tea")],
    )  # fmt: skip
    clock.set(2_000)
    memory.remember("milk", entity="Ann", key="k", namespace=("u", "x"))
    memory.alias_entity("Ann", "A.", namespace=("u", "x"))
    memory.put_values("c", {"v": {"z": None, "a": 1}})
    space = '"namespace":["u","x"]'
    vector = base64.b64encode(struct.pack("<2f", 1.0, -2.0)).decode()
    stamp = 1 << 30  # the first write of a fact; a link's target and relation come far behind
    expected = f"""
{{"kind":"plugmem","version":1,"dim":2,"facts":[0,2],"entities":[0,2],"edges":[0,1],"records":8}}
{{"kind":"entity","id":0,{space},"name":"Ann","seen":{stamp}}}
{{"kind":"entity","id":1,{space},"name":"tea","seen":{stamp + (1 << 21)}}}
{{"kind":"alias",{space},"name":"A.","entity":"Ann"}}
{{"kind":"fact","id":0,{space},"key":"k","entity":"Ann","text":"tea\\n\\u2028é","tags":["b","a"],~
"metadata":{{"a":2,"z":1}},"recorded_at":1000,"valid_from":1000,"valid_to":2000,"closed_at":2000,~
"expires_at":6000,"vector":"{vector}"}}
{{"kind":"fact","id":1,{space},"key":"k","entity":"Ann","text":"milk","recorded_at":2000,~
"valid_from":2000,"revises":0}}
{{"kind":"relation","name":"likes","rank":{stamp + (1 << 21) + 1}}}
{{"kind":"edge","id":0,{space},"src":"Ann","rel":"likes","dst":"tea","provenance":0,~
"recorded_at":1000,"valid_from":1000}}
{{"kind":"value","collection":"c","key":"v","value":{{"z":null,"a":1}}}}
"""
    assert exported(memory).decode() == expected.lstrip().replace("~\n", "")


def test_what_is_forgotten_or_expired_stays_behind_and_its_neighbours_join(
    memory: Memory, open_memory: OpenMemory, clock: Clock
) -> None:
    ids = [memory.remember("one").id]
    for text in ("secret two", "three", "four"):
        clock.tick()
        ids.append(memory.revise(ids[-1], text).id)
    memory.forget(ids[1])
    memory.remember("secret code", ttl=1)
    clock.tick(10_000)
    data = exported(memory)
    assert b"secret" not in data
    other = open_memory()
    imported(other, data)
    assert [fact.text for fact in other.history(ids[3])] == ["one", "three", "four"]
    assert exported(other) == data
    assert other.get(ids[1]) is None


def test_a_namespace_is_exported_with_what_lies_below_it_and_nothing_else(
    memory: Memory, open_memory: OpenMemory
) -> None:
    for space in [(), ("ann",), ("ann", "x"), ("anna",), ("ANN",), ('ann","x',), ("bo", "ann")]:
        mark = "mine" if space[:1] == ("ann",) else "secret"
        memory.remember(
            f"{mark} text", entity=f"{mark} entity", tags=[mark], metadata={mark: mark},
            links=[(f"{mark} relation", f"{mark} target")], namespace=space, key=mark,
        )  # fmt: skip
        memory.alias_entity(f"{mark} entity", f"{mark} alias", namespace=space)
        memory.put_values(mark, {mark: mark}, namespace=space)
    data = exported(memory, namespace=("ann",))
    assert b"secret" not in data
    other = open_memory()
    report = imported(other, data)
    assert (report.facts, report.entities, report.aliases, report.edges, report.values) == (
        *(2, 4, 2, 2, 2),
    )
    assert {one.namespace for one in other.namespaces()} == {("ann",), ("ann", "x")}
    assert exported(other, namespace=("ann",)) == data
    assert exported(memory, namespace=("nobody",)).count(b"\n") == 1


def test_a_namespace_is_put_where_it_is_wanted(memory: Memory, open_memory: OpenMemory) -> None:
    memory.remember("tea", entity="Ann", namespace=("users", "ann"))
    memory.remember("milk", namespace=("users", "ann", "2024"), links=())
    data = exported(memory, namespace=("users", "ann"))
    other = open_memory()
    imported(other, data, namespace=("team", "bo"))
    assert [(fact.text, fact.namespace) for fact in other.list_facts()] == [
        ("tea", ("team", "bo")),
        ("milk", ("team", "bo", "2024")),
    ]
    imported(other, data, namespace=())
    assert {one.namespace for one in other.namespaces()} >= {(), ("2024",)}
    assert other.verify().ok


# -- among what is there


def test_ids_move_and_what_points_at_them_moves_along(
    memory: Memory, open_memory: OpenMemory, clock: Clock
) -> None:
    fill(memory, clock)
    other = open_memory()
    there = [other.remember(f"here before {number}", entity="Robert").id for number in range(3)]
    other.link("Robert", "keeps", "bees", provenance=there[1])
    imported(other, exported(memory))
    assert other.verify().ok
    moved = {fact.text: fact for fact in other.list_facts(closed=True, limit=100)}
    assert [fact.text for fact in other.history(moved["version two"].id)] == [
        "version one",
        "version two",
    ]
    # Bo was not known here, but Robert was; so each name leads where it leads here.
    assert moved["Bo leads"].entity == "Bo"
    assert {fact.entity for fact in other.get_many(there)} == {"Robert"}
    by_ends = {(edge.relation, edge.dst): edge for edge in other.edges(history=True)}
    assert by_ends["leads", "choir"].provenance == moved["Bo leads"].id
    assert by_ends["knows", "Cléo"].provenance == moved["Prefers tea"].id
    assert by_ends["keeps", "bees"].provenance == there[1]
    original = {fact.text: fact for fact in memory.list_facts(closed=True, limit=100)}
    for text, fact in original.items():
        assert (moved[text].recorded_at, moved[text].valid_from, moved[text].valid_to) == (
            *(fact.recorded_at, fact.valid_from, fact.valid_to),
        )


@pytest.mark.parametrize("later", ["here", "there", "neither"])
def test_of_two_facts_under_a_key_the_one_recorded_later_holds(
    memory: Memory, open_memory: OpenMemory, clock: Clock, later: str
) -> None:
    other = open_memory()
    here, there = {"here": (20, 10), "there": (10, 20), "neither": (10, 10)}[later]
    clock.set(START + here)
    other.remember("said here", key="k", entity="Ann")
    clock.set(START + there)
    memory.remember("said there", key="k", entity="Ann")
    clock.set(START + 100)
    imported(other, exported(memory))
    holds, ended = ("here", "there") if later == "here" else ("there", "here")
    [current] = other.get_by_keys(["k"])
    assert current.text == f"said {holds}"
    [old] = [fact for fact in other.list_facts(closed=True) if fact.text == f"said {ended}"]
    assert old.valid_to == max(START + here, START + there)
    # That one of them has ended was learned now, so what was known before stays known.
    for text in ("here", "there"):
        found = other.recall("said", known_at=START + 50, valid_at=START + 50).facts
        assert f"said {text}" in [fact.text for fact in found]
    assert other.verify().ok


@pytest.mark.parametrize("later", ["here", "there"])
def test_of_two_versions_of_an_edge_the_one_recorded_later_holds(
    memory: Memory, open_memory: OpenMemory, clock: Clock, later: str
) -> None:
    other = open_memory()
    clock.set(START + (20 if later == "here" else 10))
    other.link("Ann", "knows", "Bo", properties={"said": "here"})
    clock.set(START + (20 if later == "there" else 10))
    memory.link("Ann", "knows", "Bo", properties={"said": "there"})
    clock.set(START + 100)
    imported(other, exported(memory))
    assert [edge.properties for edge in other.edges()] == [{"said": later}]
    assert len(other.edges(history=True)) == 2
    assert other.verify().ok


def test_a_later_export_of_the_same_memory_brings_it_up_to_date(
    memory: Memory, open_memory: OpenMemory, clock: Clock
) -> None:
    fill(memory, clock)
    other = open_memory()
    other.remember("here before")
    imported(other, exported(memory))
    clock.tick()
    memory.remember("Prefers water", entity="Ann Lee", key="drink", namespace=("users", "ann"))
    memory.unlink("Bo", "leads", "choir")
    memory.remember("new there")
    report = imported(other, exported(memory))
    assert report.facts + report.edges + report.entities + report.aliases - report.known < 3

    def told(of: Memory) -> list[Any]:
        facts = of.list_facts(closed=True, limit=100)
        return sorted((f.text, f.recorded_at, f.valid_to or 0) for f in facts)

    assert [one for one in told(other) if one[0] != "here before"] == told(memory)
    ended = {(e.relation, e.dst): e.valid_to for e in memory.edges(history=True)}
    assert {(e.relation, e.dst): e.valid_to for e in other.edges(history=True)} == ended
    assert other.verify().ok


def test_what_was_forgotten_here_does_not_come_back(
    memory: Memory, open_memory: OpenMemory
) -> None:
    memory.remember("gone here", entity="Ann", key="k")
    data = exported(memory)
    other = open_memory()
    other.remember("before")
    imported(other, data)
    other.forget(1)
    assert imported(other, data).known == 2
    assert other.recall("gone").facts == ()
    assert list(other.get_by_keys(["k"])) == []


def test_a_fact_revised_here_and_there_has_both_revisions(
    memory: Memory, open_memory: OpenMemory, clock: Clock
) -> None:
    first = memory.remember("one").id
    other = open_memory()
    other.remember("before")
    imported(other, exported(memory))
    clock.tick()
    other.revise(1, "two here")
    memory.revise(first, "two there")
    imported(other, exported(memory))
    assert {fact.text for fact in other.recall("two").facts} == {"two here", "two there"}
    assert [fact.text for fact in other.history(1)] == ["one", "two here"]
    assert other.verify().ok


def test_aliases_and_values_that_are_here(memory: Memory, open_memory: OpenMemory) -> None:
    memory.remember("sings", entity="Robert")
    memory.alias_entity("Robert", "Bo")
    memory.put_values("c", {"a": 1, "b": 2})
    other = open_memory()
    other.remember("digs", entity="Bo")
    other.put_values("c", {"a": 0, "z": 9})
    imported(other, exported(memory))
    assert {fact.entity: fact.text for fact in other.list_facts()} == {
        "Bo": "digs",
        "Robert": "sings",
    }
    assert other.get_values("c") == {"a": 1, "z": 9, "b": 2}


# -- vectors


def test_vectors_are_those_of_one_model(memory: Memory, open_memory: OpenMemory) -> None:
    memory.remember("tea", vector=[1.0, 2.0])
    data = exported(memory)
    for other in (
        open_memory(dim=3),
        open_memory(embedder=HashingEmbedder(2)),
    ):
        with pytest.raises(VectorSpaceError):
            imported(other, data)
        assert other.stats().facts == 0
        assert other.remember("next", embed=False).id == 0
    filled = open_memory()
    filled.remember("milk", vector=[1.0, 2.0, 3.0])
    with pytest.raises(VectorSpaceError, match="new file"):
        imported(filled, data)
    assert filled.stats().facts == 1


def test_pending_vectors_stay_pending_and_the_model_comes_along(open_memory: OpenMemory) -> None:
    class Flaky(HashingEmbedder):
        up = True

        def embed_documents(self, texts: list[str]) -> Any:
            if not self.up:
                raise ConnectionError
            return super().embed_documents(texts)

    embedder = Flaky(8)
    memory = open_memory(embedder=embedder)
    memory.remember("tea is green")
    embedder.up = False
    memory.remember("milk is white")
    data = exported(memory)
    other = open_memory(embedder=HashingEmbedder(8))
    imported(other, data)
    assert exported(other) == data
    assert other.stats().pending == 1
    assert other.maintain().embedded == 1
    assert {fact.text for fact in other.recall("milk", sources=["vector"]).facts} == {
        "tea is green",
        "milk is white",
    }
    assert open_memory().vector_space is None
    assert other.vector_space.model == HashingEmbedder(8).space_id


# -- bad lines

HEADER = {
    "kind": "plugmem", "version": 1, "dim": 2, "facts": [0, 10], "entities": [0, 10],
    "edges": [0, 10], "records": 2,
}  # fmt: skip
FACT = {"kind": "fact", "id": 3, "text": "good", "recorded_at": 5, "valid_from": 5}
EDGE = {
    "kind": "edge", "id": 1, "src": "a", "rel": "r", "dst": "b", "recorded_at": 5, "valid_from": 5,
}  # fmt: skip
VALUE = {"kind": "value", "collection": "c", "key": "k", "value": None}

BAD = {
    "no JSON": b"{",
    "no object": b"[1]\n",
    "no UTF-8": b'{"kind":"fact","text":"\xff"}\n',
    "too many digits": b'{"kind":"fact","id":' + b"9" * 9_000 + b"}\n",
    "too deep": b'{"kind":"value","collection":"c","key":"k","value":' + b"[" * 99_999 + b"\n",
    "deep": lines(VALUE).replace(b"null", b"[" * 70 + b"]" * 70),
    "no kind": lines({"text": "x"}),
    "unknown kind": lines({"kind": "fiction"}),
    "kind is a list": lines({"kind": []}),
    "second header": lines(HEADER),
    "unknown field": lines(FACT | {"id": 4, "colour": "red"}),
    "missing field": lines({"kind": "fact", "id": 4, "text": "x"}),
    "id as text": lines(FACT | {"id": "4"}),
    "id as truth": lines(FACT | {"id": True}),
    "id as float": lines(FACT | {"id": 4.0}),
    "id again": lines(FACT),
    "id going back": lines(FACT | {"id": 2}),
    "id beyond": lines(FACT | {"id": 10}),
    "negative id": lines(FACT | {"id": -1}),
    "blank text": lines(FACT | {"id": 4, "text": " "}),
    "NUL": lines(FACT | {"id": 4, "text": "a\0b"}),
    "lone surrogate": lines(FACT | {"id": 4, "text": "\ud800"}),
    "surrogate in metadata": lines(FACT | {"id": 4, "metadata": {"a": "\ud800"}}),
    "tags as text": lines(FACT | {"id": 4, "tags": "tag"}),
    "blank tag": lines(FACT | {"id": 4, "tags": [" "]}),
    "NaN": lines(FACT | {"id": 4, "metadata": {"a": float("nan")}}),
    "infinity": lines(FACT | {"id": 4, "metadata": {"a": float("inf")}}),
    "metadata as list": lines(FACT | {"id": 4, "metadata": []}),
    "instant beyond": lines(FACT | {"id": 4, "recorded_at": 10**18}),
    "instant as text": lines(FACT | {"id": 4, "valid_from": "2024-01-01"}),
    "end before the beginning": lines(FACT | {"id": 4, "valid_to": 4, "closed_at": 9}),
    "end without learning": lines(FACT | {"id": 4, "valid_to": 9}),
    "learning without end": lines(FACT | {"id": 4, "closed_at": 9}),
    "revises the unknown": lines(FACT | {"id": 4, "revises": 1}),
    "revises itself": lines(FACT | {"id": 4, "revises": 4}),
    "revises what holds": lines(FACT | {"id": 4, "revises": 3}),
    "blank key": lines(FACT | {"id": 4, "key": ""}),
    "entity without a letter": lines(FACT | {"id": 4, "entity": "!"}),
    "empty label": lines(FACT | {"id": 4, "namespace": [""]}),
    "many labels": lines(FACT | {"id": 4, "namespace": ["a"] * 33}),
    "vector as list": lines(FACT | {"id": 4, "vector": [1.0, 2.0]}),
    "vector of letters": lines(FACT | {"id": 4, "vector": "zzz"}),
    "vector of another dimension": lines(FACT | {"id": 4, "vector": "AAAAAA=="}),
    "vector without direction": lines(FACT | {"id": 4, "vector": "AAAAAAAAAAA="}),
    "vector of half a number": lines(FACT | {"id": 4, "vector": "AAAAAAAA"}),
    "vector and pending": lines(FACT | {"id": 4, "vector": "AACAPwAAAAA=", "pending": True}),
    "alias of nobody": lines({"kind": "alias", "name": "x", "entity": "nobody"}),
    "relation without a name": lines({"kind": "relation", "name": " ", "rank": 1}),
    "rank beyond": lines({"kind": "relation", "name": "r", "rank": 2**63}),
    "entity seen before time": lines({"kind": "entity", "id": 0, "name": "a", "seen": -1}),
    "edge without an end": lines({key: EDGE[key] for key in EDGE if key != "dst"}),
    "edge to nothing": lines(EDGE | {"dst": "?"}),
    "properties as text": lines(EDGE | {"properties": "x"}),
    "value without a collection": lines(
        {"kind": "value", "collection": "", "key": "k", "value": 1}
    ),
    "value without a key": lines({"kind": "value", "collection": "c", "key": " ", "value": 1}),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_is_named_and_nothing_of_its_batch_is_written(memory: Memory, bad: str) -> None:
    error = VectorSpaceError if bad == "vector of another dimension" else InvalidInputError
    with pytest.raises(error, match=r"^line 3: "):
        imported(memory, lines(HEADER, FACT) + BAD[bad])
    assert memory.stats().facts == 0
    assert memory.namespaces().namespaces == ()
    assert memory.remember("next").id == 0
    assert memory.verify().ok


@pytest.mark.parametrize(
    "second",
    [
        FACT | {"id": 4, "key": "k"},
        FACT | {"id": 4, "revises": 2, "key": "l"},
        EDGE | {"id": 2},
    ],
)
def test_lines_that_contradict_each_other_are_named(memory: Memory, second: dict[str, Any]) -> None:
    first = [
        FACT | {"id": 2, "valid_to": 9, "closed_at": 9},
        FACT | {"key": "k", "revises": 2},
        EDGE,
    ]
    with pytest.raises(InvalidInputError, match=r"^line 5: "):
        imported(memory, lines(HEADER | {"records": 4}, *first, second))
    assert memory.stats().facts == 0


@pytest.mark.parametrize(
    "header",
    [
        {"version": 2}, {"version": "1"}, {"facts": [0]}, {"facts": [3, 2]}, {"facts": [0, 2**32]},
        {"facts": [-1, 2]}, {"edges": None}, {"records": -1}, {"records": 1.5}, {"dim": 5_000},
        {"dim": -1}, {"space": 7}, {"space": "a\0"}, {"namespace": "users"}, {"namespace": [""]},
        {"what": 1}, {"facts": [0, 2**31]}, {"entities": [0, 2**31]},
    ],
)  # fmt: skip
def test_a_bad_first_line_is_named(memory: Memory, header: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"^line 1: "):
        imported(memory, lines(HEADER | header, FACT, EDGE))
    assert memory.stats().facts == 0


def test_a_namespace_outside_the_exported_one_is_refused(memory: Memory) -> None:
    header = HEADER | {"namespace": ["ann"], "records": 1}
    for outside in ({}, {"namespace": ["anna"]}):
        with pytest.raises(InvalidInputError, match="line 2: namespace"):
            imported(memory, lines(header, FACT | outside), namespace=("bo",))


def test_limits_are_those_of_the_handle(open_memory: OpenMemory) -> None:
    data = lines(
        HEADER | {"records": 1},
        FACT | {"text": "four", "tags": ["a", "b"], "metadata": {"a": "bcd"}},
    )
    assert imported(open_memory(config=MemoryConfig(max_text=4, max_tags=2)), data).facts == 1
    for config in ({"max_text": 3}, {"max_tags": 1}, {"max_metadata": 4}):
        with pytest.raises(TooLargeError, match=r"line 2: .*over the limit"):
            imported(open_memory(config=MemoryConfig(**config)), data)


def test_a_file_that_ends_too_soon_or_goes_on_too_long_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="ends after 1 of 2"):
        imported(memory, lines(HEADER, FACT))
    with pytest.raises(InvalidInputError, match="goes on after the 2"):
        imported(memory, lines(HEADER, FACT, EDGE, EDGE | {"id": 2, "src": "c"}))
    with pytest.raises(InvalidInputError, match="empty"):
        imported(memory, b"\n \n")
    assert memory.stats().facts == 0
    assert imported(memory, b"\r\n" + lines(HEADER, FACT) + b"\n\n" + lines(EDGE)).facts == 1


def test_any_bytes_give_an_answer_or_a_typed_error() -> None:
    good = lines(
        HEADER | {"records": 5},
        {"kind": "entity", "id": 0, "name": "Ann", "seen": 1},
        FACT | {"entity": "Ann", "metadata": {"a": [1, {"b": None}]}, "vector": "AACAPwAAAAA="},
        {"kind": "relation", "name": "knows", "rank": 2},
        EDGE,
        {"kind": "value", "collection": "c", "key": "k", "value": [1.5]},
    )
    for seed in range(400):
        rng = random.Random(seed)
        data = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 5, 40])):
            at = rng.randrange(len(data))
            if rng.random() < 0.3:
                del data[at : at + rng.choice([1, 3, 30])]
            else:
                data[at : at + 1] = rng.choice([rng.randbytes(1), b'"', b"9", b"{", b"\n", b"]"])
        with Memory.open(":memory:") as memory:
            try:
                imported(memory, bytes(data))
            except PlugmemError:
                assert memory.stats().facts == 0
            assert memory.verify().ok


# -- going on


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(importing, "BATCH", 3)
    return 3


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("stop_after", range(1, 7))
def test_an_import_that_was_interrupted_goes_on(
    memory: Memory, open_memory: OpenMemory, clock: Clock, small_batches: int, tmp_path: Path,
    stop_after: int, before: bool,
) -> None:  # fmt: skip
    fill(memory, clock)
    data = exported(memory)
    path = tmp_path / "lines"
    path.write_bytes(data)

    def prepared(name: str) -> Memory:
        other = open_memory(tmp_path / name)
        if before:
            other.remember("here before", entity="Bo")
        return other

    def stop(done: int, total: int | None) -> None:
        steps.append(done)
        if len(steps) == stop_after:
            raise KeyboardInterrupt

    whole, broken = prepared("whole"), prepared("broken")
    expected = whole.import_jsonl(path)
    steps: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        broken.import_jsonl(path, progress=stop)
    broken.close()
    again = open_memory(tmp_path / "broken")  # as if the process had ended
    after: list[int] = []
    assert again.import_jsonl(path, progress=lambda done, _: after.append(done)) == expected
    assert after[0] > steps[-1] or stop_after * small_batches > len(records(data)) - 1
    assert exported(again).splitlines()[1:] == exported(whole).splitlines()[1:]
    assert again.verify().ok


def test_a_file_that_was_mended_goes_on_behind_the_bad_line(
    memory: Memory, open_memory: OpenMemory, clock: Clock, small_batches: int
) -> None:
    fill(memory, clock)
    data = exported(memory)
    place = data.index(b'"text":"version two"')
    other = open_memory()
    with pytest.raises(InvalidInputError, match=r"^line \d+: "):
        imported(other, data[:place] + b'"text":""' + data[place + 20 :])
    assert 0 < other.stats().facts < 8
    with pytest.raises(InvalidInputError, match="ends after"):
        imported(other, data[: data.rindex(b"\n", 0, place) + 1])
    imported(other, data)
    assert exported(other) == data
    # Nothing is left of where it stood.
    imported(other, data)
    assert exported(other).splitlines()[1:] == data.splitlines()[1:]


def test_another_file_puts_an_end_to_an_interrupted_import(
    memory: Memory, open_memory: OpenMemory, clock: Clock, small_batches: int
) -> None:
    fill(memory, clock)
    data = exported(memory)
    other = open_memory()
    with pytest.raises(InvalidInputError):
        imported(other, data[:-2])
    second = open_memory()
    second.remember("from elsewhere")
    imported(other, exported(second))
    imported(other, data)  # anew, and still nothing is doubled
    texts_of = sorted(fact.text for fact in other.list_facts(closed=True, limit=100))
    expected = [fact.text for fact in memory.list_facts(closed=True, limit=100)]
    assert texts_of == sorted([*expected, "from elsewhere"])
    assert len(other.edges(history=True)) == len(memory.edges(history=True))
    assert other.verify().ok


def test_two_imports_at_once_are_a_conflict(
    memory: Memory, open_memory: OpenMemory, clock: Clock, small_batches: int, tmp_path: Path
) -> None:
    fill(memory, clock)
    data = exported(memory)
    one, two = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")

    def meanwhile(done: int, total: int | None) -> None:
        if done == small_batches:
            imported(two, data)

    with pytest.raises(ConflictError, match="one file at a time"):
        imported(one, data, progress=meanwhile)
    assert exported(one).splitlines()[1:] == data.splitlines()[1:]


def test_others_write_while_an_import_runs(
    memory: Memory, open_memory: OpenMemory, clock: Clock, small_batches: int, tmp_path: Path
) -> None:
    fill(memory, clock)
    one, two = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")

    def meanwhile(done: int, total: int | None) -> None:
        two.remember(f"meanwhile {done}", entity="choir", links=[("knows", "Bo")])

    imported(one, exported(memory), progress=meanwhile)
    assert one.verify().ok
    assert two.verify().ok
    told = {fact.text for fact in one.list_facts(closed=True, limit=100)}
    assert told >= {fact.text for fact in memory.list_facts(closed=True, limit=100)}
    assert len([text for text in told if text.startswith("meanwhile")]) > 3


@pytest.mark.parametrize("gone", ["purged", "erased"])
def test_an_import_goes_on_though_something_of_it_is_gone(
    memory: Memory, open_memory: OpenMemory, clock: Clock, small_batches: int, gone: str
) -> None:
    old = memory.remember("one").id
    for text in ("two", "three", "four", "five", "six"):
        clock.tick()
        old = memory.revise(old, text).id
    other = open_memory()

    def meanwhile(done: int, total: int | None) -> None:
        other.forget(2)
        if gone == "purged":
            other.maintain()
        else:
            other.erase([2])
        raise KeyboardInterrupt

    data = exported(memory)
    with pytest.raises(KeyboardInterrupt):
        imported(other, data, progress=meanwhile)
    imported(other, data)
    told = [fact.text for fact in other.list_facts(closed=True, limit=100)]
    # What is erased is as if it had never been, so it comes anew.
    expected = ["one", "two", "four", "five", "six"]
    assert sorted(told) == sorted([*expected, "three"] if gone == "erased" else expected)
    assert [fact.text for fact in other.list_facts()] == ["six"]
    assert other.verify().ok


def test_an_export_is_as_of_its_beginning(open_memory: OpenMemory, tmp_path: Path) -> None:
    one, two = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")
    one.remember_many({"text": f"note {number}"} for number in range(2_500))
    expected = exported(one)

    def meanwhile(done: int, total: int | None) -> None:
        two.remember(f"meanwhile {done}")

    assert exported(one, progress=meanwhile) == expected
    assert one.recall("meanwhile").facts


def test_progress_counts_lines_up_to_all_of_them(memory: Memory, open_memory: OpenMemory) -> None:
    memory.remember_many({"text": f"note {number}"} for number in range(2_500))
    out: list[tuple[int, int | None]] = []
    back: list[tuple[int, int | None]] = []
    data = exported(memory, progress=lambda done, total: out.append((done, total)))
    imported(open_memory(), data, progress=lambda done, total: back.append((done, total)))
    assert out[-1] == back[-1] == (2_500, 2_500)
    assert [done for done, _ in back] == [1_000, 2_000, 2_500]
    assert len(out) >= 3


# -- files


def test_an_export_appears_in_one_step(memory: Memory, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    memory.remember("tea")
    path = tmp_path / "lines"
    memory.export_jsonl(path)
    before = path.read_bytes()
    memory.remember("milk")
    with pytest.raises(KeyboardInterrupt):
        memory.export_jsonl(path, progress=stop)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["lines"]
    memory.export_jsonl(path)
    assert path.read_bytes() == exported(memory)


def test_no_memory_is_overwritten_by_an_export(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "m")
    open_memory(tmp_path / "other").close()
    for name in ("m", "m-wal", "m-index"):
        with pytest.raises(InvalidInputError, match="belongs"):
            memory.export_jsonl(tmp_path / name)
    with pytest.raises(StorageError, match="database"):
        memory.export_jsonl(tmp_path / "other")
    with pytest.raises(StorageError, match="folder"):
        memory.export_jsonl(tmp_path / "no" / "folder")
    with pytest.raises(StorageError, match="cannot be read"):
        memory.import_jsonl(tmp_path / "missing")


@pytest.mark.parametrize("file", [7, None, io.StringIO('{"text":"x"}'), b"{}", object()])
def test_other_things_than_files_are_refused(memory: Memory, file: Any) -> None:
    for verb in (memory.export_jsonl, memory.import_jsonl):
        with pytest.raises(WrongTypeError):
            verb(file)


def test_a_file_that_cannot_be_sought_is_refused(memory: Memory) -> None:
    class Pipe(io.RawIOBase):
        def readable(self) -> bool:
            return True

    with pytest.raises(WrongTypeError, match="give its path"):
        memory.import_jsonl(io.BufferedReader(Pipe()))


def test_a_reader_exports_and_does_not_import(open_memory: OpenMemory, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        memory.remember("tea")
        data = exported(memory)
    reader = open_memory(tmp_path / "m", read_only=True)
    assert exported(reader) == data
    with pytest.raises(ReadOnlyError):
        imported(reader, data)


@pytest.mark.parametrize("verb", ["export_jsonl", "import_jsonl"])
def test_they_are_no_part_of_a_transaction(memory: Memory, verb: str) -> None:
    with pytest.raises(InvalidInputError, match="outside"), memory.transaction():
        getattr(memory, verb)(io.BytesIO(b'{"text":"x"}'))


# -- of the reference engine


def dumped(database: plugmem.Plugmem) -> bytes:
    """Return the lines the reference's own tool writes: facts that hold, then edges."""
    found: list[dict[str, Any]] = [
        {
            "kind": "fact", "id": fact.id, "text": fact.text, "entity": fact.entity,
            "tags": fact.tags, "metadata": fact.metadata, "recorded_at": fact.recorded_at,
            "valid_from": fact.valid_from,
        }
        for fact in database.export()
    ]  # fmt: skip

    def take(edges: list[Any]) -> None:
        for edge in edges:
            named = {"kind": "edge", "src": edge.src, "rel": edge.rel, "dst": edge.dst}
            found.append(named | {"provenance": edge.provenance})

    database.export_edges(take)
    return lines(*found)


@pytest.mark.parametrize("before", [False, True])
def test_a_dump_of_the_reference_engine_is_read(
    open_memory: OpenMemory, clock: Clock, tmp_path: Path, before: bool
) -> None:
    database = plugmem.Plugmem.open(str(tmp_path / "reference"))
    database.remember("will be revised")
    database.revise(0, "The heater is at twelve", entity="North Greenhouse", tags=["setting"])
    database.remember(
        "Nadia tends it", entity="Nadia", metadata={"source": "rota"}, valid_from=1_000,
        links=[("tends", "North Greenhouse"), ("knows", "Ivo")],
    )  # fmt: skip
    database.link("Ivo", "knows", "Nadia")
    data = dumped(database)
    facts = database.export()
    database.close()
    clock.set(max(fact.recorded_at for fact in facts) + 1)
    memory = open_memory(embedder=HashingEmbedder(16))
    if before:
        memory.remember("here before", entity="Ivo")
    report = imported(memory, data)
    assert (report.facts, report.edges) == (2, 3)
    told = {fact.text: fact for fact in memory.list_facts() if fact.text != "here before"}
    assert {(f.text, f.entity, f.tags, f.recorded_at, f.valid_from) for f in told.values()} == {
        (f.text, f.entity, tuple(f.tags), f.recorded_at, f.valid_from) for f in facts
    }
    nadia = told["Nadia tends it"]
    assert nadia.metadata == {"source": "rota"}
    edges = {(edge.src, edge.relation, edge.dst): edge for edge in memory.edges()}
    assert set(edges) == {
        ("Nadia", "tends", "North Greenhouse"),
        ("Nadia", "knows", "Ivo"),
        ("Ivo", "knows", "Nadia"),
    }
    tends = edges["Nadia", "tends", "North Greenhouse"]
    assert (tends.provenance, tends.recorded_at, tends.valid_from) == (
        *(nadia.id, nadia.recorded_at, 1_000),
    )
    assert edges["Ivo", "knows", "Nadia"].provenance is None
    assert memory.maintain().embedded == 2
    assert memory.verify().ok
    assert imported(memory, data).known == 5
    assert len(memory.list_facts().facts) == 2 + before


def test_lines_without_a_kind_are_facts(memory: Memory, clock: Clock) -> None:
    report = imported(memory, b'{"text":"tea","entity":"Ann"}\n{"kind":"fact","text":"milk"}\n')
    assert report.facts == 2
    assert [(f.text, f.recorded_at, f.valid_from) for f in memory.list_facts()] == [
        ("tea", clock.now, clock.now),
        ("milk", clock.now, clock.now),
    ]


def test_ids_of_the_reference_are_not_taken_for_ids_here(memory: Memory) -> None:
    for number in range(5):
        memory.remember(f"here {number}")
    imported(
        memory,
        lines(
            {"id": 70, "text": "seventy", "recorded_at": 5, "valid_from": 5},
            {"id": 2, "text": "two", "recorded_at": 5, "valid_from": 5},
            {"kind": "edge", "src": "a", "rel": "r", "dst": "b", "provenance": 2},
            {"kind": "edge", "src": "a", "rel": "r", "dst": "c", "provenance": 3},
            {"kind": "edge", "src": "a", "rel": "r", "dst": "d", "provenance": 70},
        ),
    )
    told = {fact.text: fact.id for fact in memory.list_facts()}
    assert {edge.dst: edge.provenance for edge in memory.edges()} == {
        "b": told["two"],
        "c": None,
        "d": told["seventy"],
    }


@pytest.mark.parametrize(
    "line",
    [
        {"text": "x", "colour": 1}, {"text": ""}, {"entity": "x"}, {"kind": "edge", "src": "a"},
        {"kind": "value", "collection": "c", "key": "k", "value": 1},
        {"text": "x", "recorded_at": "now"}, {"text": "x", "id": -1}, {"text": "x", "vector": "AA"},
    ],
)  # fmt: skip
def test_a_bad_line_of_the_reference_is_named(memory: Memory, line: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"^line 2: "):
        imported(memory, lines({"text": "good"}, line))
    assert memory.stats().facts == 0


def test_threads_may_export_at_once(memory: Memory, clock: Clock) -> None:
    fill(memory, clock)
    expected = exported(memory)
    found: list[bytes] = []
    work: Callable[[], None] = lambda: found.append(exported(memory))  # noqa: E731 - one line
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
