"""Random verbs on a file through two handles, compared after each with a memory of plain lists."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias, TypeVar

import pytest
from clocks import SECOND, START, Clock
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from naive import NaiveEdge, NaiveFact, NaiveMemory, View, words

from plugmem_core import Edge, Fact, Memory, MemoryConfig, Namespace, PlugmemError

pytestmark = pytest.mark.timeout(900)  # shrinking what fails takes minutes

T = TypeVar("T")
Test: TypeAlias = Callable[[NaiveFact], bool]

TEXTS = ("green tea", "black tea", "rye bread", "tea and bread", "nothing else")
ENTITIES = ("Ann", "ANN", "Bob")
TAGS = ("a", "b", "B", "c")
KEY = "k"
SPACES: tuple[Namespace, ...] = ((), ("x",), ("x", "y"), ("xy",))
NUMBERS = (0, 1, 2)

texts = st.sampled_from(TEXTS)
entities = st.sampled_from(ENTITIES)
tag_lists = st.lists(st.sampled_from(TAGS), max_size=3, unique=True).map(tuple)
metadata = st.none() | st.sampled_from(NUMBERS).map(lambda n: {"n": n})
spaces = st.sampled_from(((), (), *SPACES))
offsets = st.none() | st.integers(-4, 4)
ttls = st.sampled_from([None, None, None, 2, 5, 9])
choices = st.integers(0, 99)  # which fact, counted from the newest
handles = st.integers(0, 1)
pairs = st.lists(st.tuples(spaces, st.sampled_from([KEY, KEY, "other"])), max_size=2)
drafts = st.lists(
    st.fixed_dictionaries(
        {
            "text": texts,
            "entity": st.none() | entities,
            "tags": tag_lists,
            "metadata": metadata.map(lambda value: value or {}),
            "key": st.none() | st.just(KEY),
            "namespace": spaces,
            "valid_from": offsets,
            "ttl": ttls,
        }
    ),
    max_size=3,
)


def outcome(call: Callable[[], T]) -> T | type[PlugmemError]:
    try:
        return call()
    except PlugmemError as error:
        return type(error)


class MemoryMachine(RuleBasedStateMachine):
    """Two handles of one file against the model; both must always agree with it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.clock = Clock()
        self.model = NaiveMemory(START)
        self.memories = [self.open(), self.open()]
        self.steps = 0

    def open(self) -> Memory:
        config = MemoryConfig(durability="normal")
        return Memory.open(self.folder / "m.db", config=config, clock=self.clock)

    def teardown(self) -> None:
        for memory in self.memories:
            memory.close()
        shutil.rmtree(self.folder)

    def choose(self, choice: int) -> int:
        """An id, with some luck one that exists."""
        return max(0, len(self.model.facts) - choice % (len(self.model.facts) + 1))

    def instant(self, offset: int | None) -> int | None:
        return None if offset is None else self.clock.now + offset * SECOND

    # -- verbs

    @initialize(count=st.integers(0, 3))
    def begin(self, count: int) -> None:
        for number in range(count):
            receipt = self.memories[number % 2].remember(f"start {number}", tags=["a"])
            options: dict[str, Any] = {
                "entity": None,
                "key": None,
                "namespace": (),
                "valid_from": None,
                "ttl": None,
            }
            expected = self.model.remember(f"start {number}", tags=("a",), metadata={}, **options)
            assert (receipt.id, receipt.outcome) == expected

    @rule(seconds=st.integers(0, 3))
    def tick(self, seconds: int) -> None:
        self.model.now = self.clock.tick(seconds * SECOND)

    @rule(
        handle=handles, text=texts, entity=st.none() | entities, tags=tag_lists, metadata=metadata,
        key=st.none() | st.just(KEY), namespace=spaces, offset=offsets, ttl=ttls,
    )  # fmt: skip
    def remember(self, handle: int, text: str, offset: int | None, **options: Any) -> None:
        options["valid_from"] = self.instant(offset)
        receipt = outcome(lambda: self.memories[handle].remember(text, **options))
        options["metadata"] = options["metadata"] or {}
        expected = outcome(lambda: self.model.remember(text, **options))
        found = receipt if isinstance(receipt, type) else (receipt.id, receipt.outcome)
        assert found == expected

    @rule(
        handle=handles, choice=choices, offset=offsets, ttl=ttls,
        changes=st.fixed_dictionaries(
            {}, optional={"text": texts, "entity": st.none() | entities, "tags": tag_lists,
                          "metadata": metadata.map(lambda value: value or {})},
        ).filter(bool),
    )  # fmt: skip
    def revise(
        self, handle: int, choice: int, offset: int | None, ttl: int | None, changes: dict[str, Any]
    ) -> None:
        fact_id = self.choose(choice)
        since = self.instant(offset)
        given = changes if ttl is None else {**changes, "ttl": ttl}
        receipt = outcome(lambda: self.memories[handle].revise(fact_id, valid_from=since, **given))
        expected = outcome(lambda: self.model.revise(fact_id, since, ttl, **changes))
        assert (receipt if isinstance(receipt, type) else receipt.id) == expected

    @rule(handle=handles, choice=choices)
    def forget(self, handle: int, choice: int) -> None:
        fact_id = self.choose(choice)
        found = outcome(lambda: self.memories[handle].forget(fact_id))
        assert found == outcome(lambda: self.model.forget(fact_id))

    @rule(handle=handles, choice=choices, offset=offsets)
    def end(self, handle: int, choice: int, offset: int | None) -> None:
        fact_id, at = self.choose(choice), self.instant(offset)
        ended = outcome(lambda: self.memories[handle].end(fact_id, at))
        expected = outcome(lambda: self.model.end(fact_id, at))
        if isinstance(ended, type):
            assert ended == expected
        else:
            assert ended == self.as_fact(self.model.facts[fact_id])

    @rule(
        handle=handles, several=st.lists(choices, max_size=3), ttl=st.none() | st.integers(1, 9),
        namespace=spaces,
    )  # fmt: skip
    def set_ttl(
        self, handle: int, several: list[int], ttl: int | None, namespace: Namespace
    ) -> None:
        ids = [self.choose(choice) for choice in several]
        found = self.memories[handle].set_ttl(ids, ttl, namespace=namespace)
        assert found == self.model.set_ttl(ids, ttl, namespace=namespace)

    @rule(handle=handles, remember=drafts, forget=pairs, end=pairs)
    def write(
        self,
        handle: int,
        remember: list[dict[str, Any]],
        forget: list[tuple[Namespace, str]],
        end: list[tuple[Namespace, str]],
    ) -> None:
        facts = [{**one, "valid_from": self.instant(one["valid_from"])} for one in remember]
        memory = self.memories[handle]
        receipts = outcome(lambda: memory.write(remember=facts, forget=forget, end=end))
        expected = outcome(lambda: self.model.write(facts, forget, end))
        if isinstance(receipts, type):
            assert receipts == expected
        else:
            assert [(one.id, one.outcome) for one in receipts] == expected

    @rule(
        handle=handles, src=entities, relation=st.just("knows"), dst=entities,
        choice=st.none() | choices, offset=offsets, namespace=spaces,
    )  # fmt: skip
    def link(
        self,
        handle: int,
        src: str,
        relation: str,
        dst: str,
        choice: int | None,
        offset: int | None,
        namespace: Namespace,
    ) -> None:
        options: dict[str, Any] = {
            "provenance": None if choice is None else self.choose(choice),
            "valid_from": self.instant(offset),
            "namespace": namespace,
        }
        found = outcome(lambda: self.memories[handle].link(src, relation, dst, **options))
        expected = outcome(lambda: self.model.link(src, relation, dst, **options))
        assert (found if isinstance(found, type) else None) == expected

    @rule(
        handle=handles, src=entities, relation=st.just("knows"), dst=entities,
        namespace=spaces,
    )  # fmt: skip
    def unlink(self, handle: int, src: str, relation: str, dst: str, namespace: Namespace) -> None:
        found = self.memories[handle].unlink(src, relation, dst, namespace=namespace)
        assert found == self.model.unlink(src, relation, dst, namespace=namespace)

    @rule(
        handle=handles, tag=st.sampled_from(TAGS), new=st.none() | st.sampled_from(TAGS),
        namespace=spaces,
    )  # fmt: skip
    def retag(self, handle: int, tag: str, new: str | None, namespace: Namespace) -> None:
        memory = self.memories[handle]
        if new is None:
            found = memory.remove_tag(tag, namespace=namespace)
        else:
            found = memory.rename_tag(tag, new, namespace=namespace)
        assert found == (0 if tag == new else self.model.retag(tag, new, namespace=namespace))

    @rule(handle=handles)
    def maintain(self, handle: int) -> None:
        assert self.memories[handle].maintain().purged == self.model.maintain()

    @rule(handle=handles)
    def reopen(self, handle: int) -> None:
        self.memories[handle].close()
        self.memories[handle] = self.open()

    @rule(handle=handles, verb=st.sampled_from(["checkpoint", "rebuild"]))
    def care(self, handle: int, verb: str) -> None:
        getattr(self.memories[handle], verb)()

    # -- what must always hold

    @invariant()
    def both_handles_agree_with_the_model(self) -> None:
        self.steps += 1
        chance = random.Random(self.steps)
        for memory in self.memories:
            self.check_facts(memory)
            self.check_listings(memory, chance)
            self.check_recall(memory)
            self.check_edges(memory, chance)
        assert memory.verify().problems == ()

    def check_facts(self, memory: Memory) -> None:
        ids = range(len(self.model.facts) + 1)
        shown = {fact.id: self.as_fact(fact) for fact in self.model.shown()}
        assert memory.get_many(ids) == [shown.get(fact_id) for fact_id in ids]
        for fact_id in shown:
            chain = [fact.id for fact in memory.history(fact_id)]
            assert chain == self.model.history(fact_id)
        assert {tag.name: tag.facts for tag in memory.tags()} == self.model.tags()
        for space in SPACES:
            found = {one.namespace: one.facts for one in memory.namespaces(namespace=space)}
            assert found == self.model.namespaces(space)
        facts = self.model.facts
        stats = memory.stats()
        assert stats.facts == sum(not fact.purged for fact in facts)
        assert stats.forgotten == sum(fact.forgotten and not fact.purged for fact in facts)

    def check_listings(self, memory: Memory, chance: random.Random) -> None:
        def ids(view: View, test: Test = lambda _: True, **conditions: Any) -> None:
            times = {name: value for name, value in vars(view).items() if value is not None}
            page = memory.list_facts(**times, **conditions, limit=1_000)
            assert [fact.id for fact in page] == self.model.list_facts(view, test)

        instants = range(START - 5 * SECOND, self.clock.now + 6 * SECOND, SECOND)
        one, other = chance.choice(instants), chance.choice(instants)
        closed, space = chance.random() < 0.5, chance.choice(SPACES)
        tag, entity, number = chance.choice(TAGS), chance.choice(ENTITIES), chance.choice(NUMBERS)
        ids(View())
        ids(View(as_of=one, closed=closed, namespace=space))
        ids(View(valid_at=one, closed=closed))
        ids(View(known_at=one, closed=closed, namespace=space))
        ids(View(valid_at=one, known_at=other, closed=closed))
        ids(View(closed=closed), lambda fact: tag in fact.tags, tags=[tag])
        ids(View(namespace=space), lambda fact: tag not in fact.tags, not_tags=[tag])
        ids(View(as_of=one), lambda fact: fact.entity == entity.lower(), entity=entity)
        ids(View(closed=closed), lambda fact: fact.key == KEY, key=KEY)
        keyed = memory.get_by_keys([KEY], as_of=one, closed=closed, namespace=space)
        view = View(as_of=one, closed=closed, namespace=space)
        assert [fact.id for fact in keyed] == self.model.list_facts(view, lambda f: f.key == KEY)
        ids(View(), lambda fact: fact.metadata.get("n") == number, where={"n": number})
        ids(View(), lambda fact: fact.metadata.get("n", 9) > 0, where={"n": {"$ne": 0}})
        start, end = sorted((one, other))
        ids(View(closed=closed), lambda fact: start <= fact.recorded_at < end, range=(start, end))

    def check_recall(self, memory: Memory) -> None:
        everything = memory.recall(where={}, k=1_000, token_budget=None).facts
        expected = self.model.list_facts(View(), lambda _: True)
        newest = sorted(expected, key=lambda i: (-self.model.facts[i].recorded_at, -i))
        assert [fact.id for fact in everything] == newest
        found = memory.recall("tea", k=1_000, token_budget=None, anchors="given").facts
        about_tea = self.model.list_facts(View(), lambda fact: "tea" in words(fact.text))
        assert sorted(fact.id for fact in found) == about_tea

    def check_edges(self, memory: Memory, chance: random.Random) -> None:
        at = chance.randrange(START - 5 * SECOND, self.clock.now + 6 * SECOND, SECOND)
        views: list[tuple[dict[str, Any], list[NaiveEdge]]] = [
            ({}, self.model.edges_at(None)),
            ({"as_of": at}, self.model.edges_at(at)),
            ({"history": True}, self.model.edges),
        ]
        for options, expected in views:
            assert [self.as_naive(edge) for edge in memory.edges(**options)] == expected
        walked = memory.recall(entities=["ann"], anchors="given", graph_depth=1).edges
        touching = [edge for edge in self.model.edges_at(None) if "ann" in (edge.src, edge.dst)]
        # A walk lists a statement once, though two versions of it may hold.
        assert len(walked) == len({self.statement(self.as_naive(edge)) for edge in walked})
        found = {self.statement(self.as_naive(edge)) for edge in walked}
        assert found == {self.statement(edge) for edge in touching}

    # -- the forms of a thing

    def statement(self, edge: NaiveEdge) -> tuple[Any, ...]:
        return edge.namespace, edge.src, edge.relation, edge.dst, edge.provenance

    def as_fact(self, fact: NaiveFact) -> Fact:
        name = None if fact.entity is None else self.model.names[fact.namespace, fact.entity]
        return Fact(
            fact.id, fact.text, name, fact.tags, fact.metadata, fact.key, fact.namespace,
            fact.recorded_at, fact.valid_from, fact.valid_to, fact.expires_at, fact.revises,
        )  # fmt: skip

    def as_naive(self, edge: Edge) -> NaiveEdge:
        for name in (edge.src, edge.dst):
            assert self.model.names[edge.namespace, name.lower()] == name
        return NaiveEdge(
            edge.src.lower(), edge.relation, edge.dst.lower(), edge.provenance, edge.namespace,
            edge.recorded_at, edge.valid_from, edge.valid_to,
        )  # fmt: skip


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(
    max_examples=50,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
