"""Isolation: from one namespace nothing of another can be seen, counted, reached or changed."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from clocks import SECOND, START, Clock
from conftest import OpenMemory
from hypothesis import example, given, settings
from hypothesis import strategies as st
from looking import reasons, stored
from strategies import labels, namespaces

from plugmem_core import (
    ClosedFactError,
    Fact,
    HashingEmbedder,
    Memory,
    Namespace,
    NotFoundError,
    RecalledFact,
)
from plugmem_core.clock import MAX_MS

World: TypeAlias = tuple[Memory, list[Namespace]]

LOOK_ALIKES = [
    (), ("a",), ("a", "b"), ("a.b",), ("a/b",), ("a\x1fb",), ("a','b",), ("a\",\"b",), ("A",),
    ("a ",), ("aa",), ("a%",), ("a_",), ("%",), ("_",), ("а",), ("é",), ("e\u0301",), ("\\",),
    ("\\\\",), ("'",), ('"',), ("[]",), ('["a"]',), ("a", "b", "c"), ("a\n",), ("b",), ("b", "a"),
]  # fmt: skip


def populate(spaces: list[Namespace]) -> Memory:
    """Per namespace i: facts 3i to 3i + 2, an edge, an alias; all alike but for `own{i}`.

    Fact 3i is superseded by 3i + 1, which holds the key; 3i + 2 has nothing but its text.
    """
    clock = Clock()
    memory = Memory.open(":memory:", clock=clock, embedder=HashingEmbedder(32))
    for i, namespace in enumerate(spaces):
        held: dict[str, Any] = {
            "entity": "Shop", "tags": ["t", f"own{i}"], "metadata": {"n": 1, "own": i},
            "key": "k", "namespace": namespace,
        }  # fmt: skip
        memory.remember(f"tea of own{i}", links=[("sells", f"Own{i}")], **held)
        clock.tick()
        memory.remember(f"black tea of own{i}", **held)
        memory.remember(f"milk of own{i}", namespace=namespace)
        memory.link("Shop", "near", "Harbour", namespace=namespace, properties={"own": i})
        memory.alias_entity("Shop", f"Kiosk{i}", namespace=namespace)
        clock.tick()
    return memory


def visible(spaces: list[Namespace], scope: Namespace) -> set[int]:
    """The namespaces a scope sees: itself and those below it, by whole labels."""
    return {i for i, namespace in enumerate(spaces) if namespace[: len(scope)] == scope}


def owners(facts: Iterable[Fact | RecalledFact]) -> set[int]:
    return {fact.id // 3 for fact in facts}


Q = dict[str, Any]
QUESTIONS: list[Q] = [
    {"text": "tea milk"},
    {"text": "what does the shop at the harbour sell?"},
    {"entities": ["shop", "harbour"]},
    {"entities": [f"kiosk{i}" for i in range(30)]},
    {"entities": [f"own{i}" for i in range(30)], "graph_depth": 9},
    {"vector": HashingEmbedder(32).embed_query("tea of milk")},
    {"range": (0, MAX_MS)},
    {"tags": ["t"]},
    {"any_tags": [f"own{i}" for i in range(30)]},
    {"not_tags": ["nothing"]},
    {"where": {"n": 1}},
    {"where": {"own": {"$gte": 0}}},
    {"text": "tea shop", "entities": ["shop"], "range": (0, MAX_MS), "where": {"n": 1}},
]
LISTINGS: list[Q] = [
    {},
    {"closed": True},
    {"tags": ["t"]},
    {"not_tags": ["nothing"]},
    {"entity": "shop"},
    {"key": "k"},
    {"where": {"n": 1}},
    {"range": (0, MAX_MS)},
    {"as_of": START + 90 * SECOND},
]
TIMES: list[Q] = [{}, {"closed": True}, {"as_of": START + 90 * SECOND}, {"known_at": START}]


def check_recall(memory: Memory, spaces: list[Namespace], scope: Namespace) -> None:
    seen = visible(spaces, scope)
    hidden = [f"own{i}" for i in range(len(spaces)) if i not in seen]
    for question in QUESTIONS:
        for times in TIMES:
            result = memory.recall(
                **question, **times, namespace=scope, k=500, token_budget=None, explain=True
            )
            assert owners(result.facts) <= seen, (question, times)
            assert {spaces.index(edge.namespace) for edge in result.edges} <= seen
            words = set(result.rendered.lower().replace("#", " ").split())
            assert words.isdisjoint(hidden)
            assert {a.lower() for a in reasons(result).anchors}.isdisjoint(hidden)
            assert max(reasons(result).candidates.values()) <= 3 * len(seen)
        everything = memory.recall(**question, namespace=scope, k=500, token_budget=None)
        assert owners(everything.facts) == seen, question


def check_reading(memory: Memory, spaces: list[Namespace], scope: Namespace) -> None:
    seen = visible(spaces, scope)
    for conditions in LISTINGS:
        page = memory.list_facts(**conditions, namespace=scope, limit=500)
        assert owners(page) == seen, conditions
    for i, namespace in enumerate(spaces):
        ids = [3 * i, 3 * i + 1, 3 * i + 2]
        found = memory.get_many(ids, namespace=scope)
        if i in seen:
            assert [fact and fact.namespace for fact in found] == [namespace] * 3
            assert len(memory.history(3 * i, namespace=scope)) == 2
            assert memory.explain_absent(3 * i, "tea", namespace=scope, k=500).reason
        else:
            assert found == [None] * 3
            for fact_id in ids:
                assert memory.get(fact_id, namespace=scope) is None
                for call in (memory.history, partial(memory.explain_absent, text="tea")):
                    with pytest.raises(NotFoundError):
                        call(fact_id, namespace=scope)


def check_catalogues(memory: Memory, spaces: list[Namespace], scope: Namespace) -> None:
    seen = visible(spaces, scope)
    tags = {tag.name: tag.facts for tag in memory.tags(namespace=scope, limit=1_000)}
    assert tags == ({"t": len(seen)} if seen else {}) | {f"own{i}": 1 for i in seen}
    first = memory.tags(namespace=scope, limit=1)
    assert {tag.name for tag in first} <= tags.keys()
    entities = memory.entities(namespace=scope, limit=1_000)
    assert {entity.namespace for entity in entities} == {spaces[i] for i in seen}
    assert {alias for entity in entities for alias in entity.aliases} == {f"Kiosk{i}" for i in seen}
    shops = [entity.facts for entity in entities if entity.name == "Shop"]
    assert shops == [1] * len(seen)
    for options in ({}, {"history": True}, {"as_of": START + 90 * SECOND}):
        for entity in (None, "shop", "harbour"):
            edges = memory.edges(entity, namespace=scope, **options)
            assert {edge.namespace for edge in edges} == {spaces[i] for i in seen}
    for i in range(len(spaces)):
        assert bool(memory.edges(f"kiosk{i}", namespace=scope)) == (i in seen)


def steal(memory: Memory, fact_id: int, scope: Namespace) -> list[Callable[[], object]]:
    return [
        lambda: memory.revise(fact_id, "stolen", namespace=scope),
        lambda: memory.forget(fact_id, namespace=scope),
        lambda: memory.forget_many([fact_id], namespace=scope),
        lambda: memory.link("a", "r", "b", provenance=fact_id, namespace=scope),
    ]


def check_writes(memory: Memory, spaces: list[Namespace], scope: Namespace) -> None:
    seen = visible(spaces, scope)
    hidden = [fact_id for fact_id in range(3 * len(spaces)) if fact_id // 3 not in seen]
    before, edges = memory.get_many(hidden), memory.edges(history=True)
    for write in (write for fact_id in hidden for write in steal(memory, fact_id, scope)):
        with pytest.raises(NotFoundError):
            write()
    if scope not in spaces:
        assert not memory.unlink("Shop", "near", "Harbour", namespace=scope)
        with pytest.raises(NotFoundError):
            memory.rename_entity("Shop", "Store", namespace=scope)
    assert memory.edges(history=True) == edges
    assert memory.rename_tag("t", "u", namespace=scope) == len(seen)
    assert memory.remove_tag("u", namespace=scope) == len(seen)
    for i in seen:
        with pytest.raises(ClosedFactError):
            memory.revise(3 * i + 1, "x", namespace=scope)
    receipt = memory.remember("tea of own0", entity="Shop", namespace=(*scope, "new"))
    assert receipt.similar == ()
    receipt = memory.remember("held anew", key="k", namespace=(*scope, "newer"))
    assert receipt.outcome == "created"
    assert memory.get_many(hidden) == before
    assert memory.verify().ok


CHECKS = [check_recall, check_reading, check_catalogues, check_writes]


@pytest.mark.parametrize("check", [check_recall, check_reading, check_catalogues])
def test_look_alikes_see_nothing_of_each_other(check: Callable[..., None]) -> None:
    with populate(LOOK_ALIKES) as memory:
        for scope in [*LOOK_ALIKES, ("x",), ("a", "b", "d")]:
            check(memory, LOOK_ALIKES, scope)


@pytest.mark.parametrize("scope", [("a",), ("a", "b"), ("%",), ("\\",), ('"',), ("x",)], ids=str)
def test_look_alikes_change_nothing_of_each_other(scope: Namespace) -> None:
    with populate(LOOK_ALIKES) as memory:
        check_writes(memory, LOOK_ALIKES, scope)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Namespace], Namespace]:
    spaces = draw(st.lists(namespaces(), min_size=1, max_size=5, unique=True))
    below = st.sampled_from(spaces).flatmap(
        lambda space: labels().map(lambda label: (*space, label))
    )
    above = st.sampled_from(spaces).map(lambda space: space[:-1])
    return spaces, draw(st.sampled_from(spaces) | above | below | namespaces())


@settings(max_examples=25, deadline=None)
@given(world=worlds())
@example(world=([("a",), ("a%",), ("a_",)], ("a",)))
@example(world=([("a", "b"), ('a","b',)], ("a",)))
def test_a_scope_sees_itself_and_what_is_below_it_and_nothing_else(
    world: tuple[list[Namespace], Namespace],
) -> None:
    spaces, scope = world
    with populate(spaces) as memory:
        for check in CHECKS:
            check(memory, spaces, scope)


def test_isolation_survives_reopening_and_another_handle(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path, spaces = tmp_path / "m.db", [*LOOK_ALIKES, ("later",)]
    with open_memory(path) as memory:
        for i, namespace in enumerate(LOOK_ALIKES):
            memory.remember(f"tea {i}", namespace=namespace, entity="Shop", tags=["t"])
    reopened, other = open_memory(path), open_memory(path)
    reopened.remember("tea again", namespace=("later",))
    for memory in (reopened, other):
        for scope in spaces:
            expected = visible(spaces, scope)
            for facts in (
                memory.list_facts(namespace=scope),
                memory.recall("tea", k=100, token_budget=None, namespace=scope).facts,
            ):
                assert {fact.id for fact in facts} == expected, scope


def test_labels_come_back_to_the_letter(memory: Memory) -> None:
    for namespace in LOOK_ALIKES:
        memory.remember("x", namespace=namespace)
    assert [fact.namespace for fact in memory.list_facts(limit=100)] == LOOK_ALIKES


def test_a_list_of_labels_is_the_same_namespace(memory: Memory) -> None:
    memory.remember("x", namespace=cast("Namespace", ["a", "b"]))
    assert stored(memory, 0).namespace == ("a", "b")
    assert memory.get(0, namespace=cast("Namespace", ["a"])) is not None


def test_the_root_writes_below_itself_by_id(memory: Memory) -> None:
    memory.remember("secret", namespace=("a",), entity="Shop", tags=["t"])
    assert memory.revise(0, "changed").id == 1
    assert stored(memory, 1).namespace == ("a",)
    assert memory.link("x", "r", "y", provenance=1).namespace == ()
    assert memory.edges(namespace=("a",)) == ()
    assert memory.forget(1)
