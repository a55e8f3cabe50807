"""Whatever is done in one namespace, others neither show it nor change.

Every text, tag, key and name written in a namespace holds a word that stands nowhere else. After
each step, every scope is looked at in every way: no foreign word may be in anything it says,
and a scope that neither holds nor is held by the one written in has to look as before.
"""

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from clocks import SECOND, Clock
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from strategies import namespaces

from plugmem_core import HashingEmbedder, Memory, Namespace, PlugmemError, Retain
from plugmem_core.clock import MAX_MS
from plugmem_core.service import EngineStore, MemoryService
from plugmem_core.verbs.listing import every

pytestmark = pytest.mark.timeout(1_800)  # shrinking what fails takes minutes

Options: TypeAlias = dict[str, Any]

NAMES = ("Shop", "Harbour", "Kiosk")
COLLECTION = "settings"
LOOK_ALIKES = (
    "a",
    "A",
    "а",
    "a%",
    "a_",
    "%",
    "_",
    "a.b",
    "a:b",
    "a\\",
    "\\",
    "'",
    '"',
    'a","b',
    "aa",
)
EVERYTHING: Options = {"k": 1_000, "token_budget": None, "explain": True}
QUESTIONS: list[Options] = [
    {"text": "tea milk"},
    {"text": "what does the shop at the harbour sell?"},
    {"text": "tea", "sources": ["bm25"]},
    {"text": "tea", "sources": ["vector"]},
    {"entities": NAMES, "sources": ["graph"], "graph_depth": 9},
    {"range": (0, MAX_MS), "sources": ["time"]},
    {"tags": ["t"]},
    {"not_tags": ["nothing"], "closed": True},
    {"where": {"n": 1}},
    {"where": {"own": {"$exists": True}}},
]

hostile = st.lists(
    namespaces().filter(bool) | st.sampled_from(LOOK_ALIKES).map(lambda label: (label,)),
    min_size=2,
    max_size=5,
    unique=True,
)
places = st.integers(0, 9)  # which namespace
some_ids = st.integers(0, 99)
names = st.sampled_from(NAMES)


def word(place: int) -> str:
    """The word that stands in one namespace only."""
    return f"secret{'abcdefgh'[place]}"


def holds(scope: Namespace, namespace: Namespace) -> bool:
    return namespace[: len(scope)] == scope


def near_misses(namespace: Namespace) -> Iterator[Namespace]:
    """Scopes that a careless comparison would take for a namespace."""
    *above, label = namespace
    for other in (label + "%", label[:-1] + "_", label[:-1], label.swapcase(), f"{label}.", "%"):
        if other:
            yield (*above, other)
    yield (".".join(namespace),)
    yield ("/".join(namespace),)
    yield (*namespace, "")[: len(namespace)] if len(namespace) > 1 else ("*",)


class IsolationMachine(RuleBasedStateMachine):
    """Some namespaces of one memory, and a service in each."""

    @initialize(spaces=hostile)
    def begin(self, spaces: list[Namespace]) -> None:
        self.clock = Clock()
        self.memory = Memory.open(":memory:", clock=self.clock, embedder=HashingEmbedder(32))
        self.spaces = spaces
        self.services = [MemoryService(EngineStore(self.memory, space)) for space in spaces]
        written = set(spaces)
        misses = {miss for space in spaces for miss in near_misses(space)} - written
        self.scopes = [*spaces, *sorted(misses)[:8]]
        self.facts = 0
        for place in range(len(spaces)):
            self.remember(place, 1)
            self.service(place, 1)
        self.seen = [self.look(scope) for scope in self.scopes]
        self.wrote: Namespace | None = None

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()

    def write(self, place: int, call: Callable[..., Any]) -> None:
        """Make a call in a namespace; what it answers, and what it refuses, is looked at, too."""
        scope = self.spaces[place % len(self.spaces)]
        try:
            answer = call(namespace=scope)
        except PlugmemError as error:
            answer = error
        stored = every(self.memory.list_facts, closed=True)
        self.facts = 1 + max((fact.id for fact in stored), default=0)
        self.check_words(scope, repr(answer))
        self.wrote = scope

    def own(self, place: int, number: int) -> Options:
        """Arguments of a fact with the word of its namespace everywhere."""
        secret = word(place % len(self.spaces))
        return {
            "text": f"tea and milk of {secret} {number}, from the harbour and the kiosk",
            "entity": "Shop",
            "tags": ["t", secret],
            "metadata": {"n": 1, "own": secret, secret: number},
            "links": [("near", "Harbour"), (f"sells {secret}", f"{secret} {number}")],
        }

    @rule(seconds=st.integers(1, 3))
    def tick(self, seconds: int) -> None:
        self.clock.tick(seconds * SECOND)
        self.wrote = None  # what has expired by now may be gone

    # -- what is done in a namespace

    @rule(place=places, number=st.integers(0, 3))
    def remember(self, place: int, number: int) -> None:
        keyed = {"key": "k"} if number % 2 else {"key": f"{word(place % len(self.spaces))} k"}
        fact = self.own(place, number) | (keyed if number else {})
        self.write(place, lambda **scope: self.memory.remember(**fact, **scope))

    @rule(place=places, number=st.integers(0, 3))
    def remember_guarded(self, place: int, number: int) -> None:
        fact = self.own(place, number)
        self.write(place, lambda **scope: self.memory.remember_guarded(**fact, **scope))

    @rule(place=places, fact=some_ids)
    def revise(self, place: int, fact: int) -> None:
        # Without a word: the fact may live below.
        self.write(place, lambda **scope: self.memory.revise(self.any(fact), "tea", **scope))

    @rule(place=places, fact=some_ids, verb=st.sampled_from(["forget", "end"]))
    def leave(self, place: int, fact: int, verb: str) -> None:
        self.write(place, lambda **scope: getattr(self.memory, verb)(self.any(fact), **scope))

    @rule(place=places, ttl=st.sampled_from([None, 3]))
    def set_ttl(self, place: int, ttl: int | None) -> None:
        ids = range(self.facts)
        self.write(place, lambda **scope: self.memory.set_ttl(ids, ttl, **scope))

    @rule(place=places)
    def write_by_key(self, place: int) -> None:
        fact = self.own(place, 9)

        def write(namespace: Namespace) -> Any:
            return self.memory.write(
                remember=[{**fact, "namespace": namespace}],
                forget=[(namespace, "k")],
                end=[(namespace, f"{word(place % len(self.spaces))} k")],
                unlink=True,
            )

        self.write(place, write)

    @rule(place=places, src=names, dst=names, verb=st.sampled_from(["link", "unlink"]))
    def edge(self, place: int, src: str, dst: str, verb: str) -> None:
        self.write(place, lambda **scope: getattr(self.memory, verb)(src, "near", dst, **scope))

    @rule(place=places, fact=some_ids)
    def link_by_fact(self, place: int, fact: int) -> None:
        ends = "Shop", "knows", "Kiosk"
        self.write(
            place, lambda **scope: self.memory.link(*ends, provenance=self.any(fact), **scope)
        )

    @rule(
        place=places, one=names, other=names,
        verb=st.sampled_from(["rename_entity", "alias_entity", "merge_entities"]),
    )  # fmt: skip
    def name(self, place: int, one: str, other: str, verb: str) -> None:
        secret = f"{word(place % len(self.spaces))} {other}"
        target = other if verb == "merge_entities" else secret
        self.write(place, lambda **scope: getattr(self.memory, verb)(one, target, **scope))

    @rule(place=places, new=st.booleans())
    def retag(self, place: int, new: bool) -> None:
        if new:
            self.write(place, lambda **scope: self.memory.rename_tag("t", "u", **scope))
        else:
            self.write(place, lambda **scope: self.memory.remove_tag("u", **scope))

    @rule(place=places, number=st.integers(0, 3))
    def values(self, place: int, number: int) -> None:
        secret = word(place % len(self.spaces))
        values = {"k": secret, f"{secret} {number}": number}
        if number:
            self.write(place, lambda **scope: self.memory.put_values(COLLECTION, values, **scope))
        else:
            self.write(place, lambda **scope: self.memory.delete_values(COLLECTION, ["k"], **scope))

    @rule(
        place=places,
        what=st.sampled_from([{"entity": "Shop"}, {"key": "k"}, {"ids": range(40)}, {}]),
    )
    def erase(self, place: int, what: Options) -> None:
        self.write(place, lambda **scope: self.memory.erase(**what, **scope))

    @rule(place=places)
    def retain(self, place: int) -> None:
        # What is forgotten goes in every namespace, and what superseded it then names nothing.
        self.memory.maintain()
        self.seen = [self.look(scope) for scope in self.scopes]
        self.write(place, lambda **scope: self.memory.maintain(retain=[Retain(max_age=5, **scope)]))

    @rule(place=places, other=places)
    def import_elsewhere(self, place: int, other: int) -> None:
        """Lines about one namespace, with its word replaced, come in below another."""
        lines = io.BytesIO()
        self.memory.export_jsonl(lines, namespace=self.spaces[other % len(self.spaces)])
        own, foreign = word(place % len(self.spaces)), word(other % len(self.spaces))
        text = lines.getvalue().decode()
        if all(word(at) == foreign or word(at) not in text for at in range(len(self.spaces))):
            changed = io.BytesIO(text.replace(foreign, own).encode())
            self.write(place, lambda **scope: self.memory.import_jsonl(changed, **scope))

    @rule(place=places, number=st.integers(0, 3))
    def service(self, place: int, number: int) -> None:
        secret, service = word(place % len(self.spaces)), self.services[place % len(self.spaces)]

        def use(namespace: Namespace) -> Any:
            if number == 0:
                return [service.forget(one.id) for one in service.recall("rained", k=1)]
            first = service.remember("it rained on tea", metadata={"own": secret})
            service.remember(f"{secret} rose {number}", links=[(first, f"because {secret}")])
            service.feedback(first, success=True)
            return service.save_working_context("p", secret, {"task": secret})

        self.write(place, use)

    # -- what must hold

    @invariant()
    def nobody_sees_or_loses_anything(self) -> None:
        if not hasattr(self, "seen"):
            return
        for at, scope in enumerate(self.scopes):
            seen, self.seen[at] = self.seen[at], self.look(scope)
            self.check_words(scope, repr(self.seen[at]))
            wrote = self.wrote
            if wrote is not None and not holds(scope, wrote) and not holds(wrote, scope):
                for name, before in seen.items():
                    assert self.seen[at][name] == before, (name, scope, wrote)

    def check_words(self, scope: Namespace, said: str) -> None:
        for place, namespace in enumerate(self.spaces):
            if not holds(scope, namespace):
                assert word(place) not in said.lower(), (scope, namespace)

    def any(self, fact: int) -> int:
        return fact % (self.facts + 1)

    def look(self, scope: Namespace) -> Options:
        """All that can be read in a scope; of recalls, what does not depend on scores."""
        memory, where = self.memory, {"namespace": scope}
        ids = range(self.facts + 1)
        lines = io.BytesIO()
        memory.export_jsonl(lines, **where)
        facts = memory.list_facts(closed=True, limit=1_000, **where).facts
        return {
            "listing": facts,
            "gets": [fact for fact in memory.get_many(ids, **where) if fact is not None],
            "histories": [memory.history(fact.id, **where) for fact in facts],
            "by key": memory.get_by_keys(["k", *(f"{word(at)} k" for at in range(5))], **where),
            "mentions": [memory.mentions(fact.id, **where) for fact in facts],
            "mentioned in": [memory.list_facts(mentions=name, **where).facts for name in NAMES],
            "by entity": [memory.list_facts(entity=name, **where).facts for name in NAMES],
            "vectors": [v.tolist() for v in memory.vectors(ids, **where) if v is not None],
            "edges": [memory.edges(name, history=True, **where) for name in (None, *NAMES)],
            "neighbours": [
                memory.neighbours(NAMES, direction="out", **where),
                memory.neighbours(NAMES, direction="in", **where),
            ],
            "entities": memory.entities(limit=1_000, **where),
            "tags": memory.tags(limit=1_000, **where),
            "namespaces": memory.namespaces(limit=1_000, **where),
            "keys": memory.keys(limit=1_000, **where),
            "values": memory.get_values(COLLECTION, **where),
            "lines": lines.getvalue().splitlines()[1:],
            "recalls": [self.recall(scope, question) for question in QUESTIONS],
            "absences": [
                memory.explain_absent(fact.id, tags=["t"], k=1_000, **where).reason
                for fact in facts
            ],
            "service": self.look_at_service(scope),
        }

    def recall(self, scope: Namespace, question: Options) -> Any:
        result = self.memory.recall(**question, **EVERYTHING, namespace=scope)
        self.check_words(scope, repr(result) + result.rendered)
        ids = sorted(fact.id for fact in result.facts)
        edges = sorted(edge[:4] for edge in result.edges)
        return ids, edges, sorted(result.explanation.anchors), result.explanation.candidates

    def look_at_service(self, scope: Namespace) -> Any:
        if scope not in self.spaces:
            return None
        service = self.services[self.spaces.index(scope)]
        found = service.recall("it rained on tea", k=100)
        fused = service.recall_fused("it rained on tea", k=100)
        self.check_words(scope, repr([found, fused]))
        return [
            service.list_memories(limit=1_000, include_internal=True),
            replace(service.memory_status(), vectors=None),  # those are of the whole file
            service.why("it rained", direction="both", max_hops=5).nodes,
            service.list_working_contexts("p"),
            sorted(one.id for one in found),
            sorted(one.id for one in fused),
        ]


class LongIsolationMachine(IsolationMachine):
    """The same for longer."""


LIMITS: Options = {"deadline": None, "suppress_health_check": list(HealthCheck)}

TestIsolationMachine = IsolationMachine.TestCase
TestIsolationMachine.settings = settings(max_examples=15, stateful_step_count=15, **LIMITS)

TestLongIsolationMachine = pytest.mark.slow(LongIsolationMachine.TestCase)
TestLongIsolationMachine.settings = settings(max_examples=500, stateful_step_count=40, **LIMITS)
