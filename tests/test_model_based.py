"""Random verbs through three handles, one in another process, against a memory of plain lists."""

import pickle
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

import pytest
from clocks import SECOND, START
from durability.elsewhere import Elsewhere, Remote, World, embedded, perform
from durability.tried import tell
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from naive import NaiveMemory
from naive_reading import NaiveFact, View, words
from naive_rules import BATCH

from plugmem_core import (
    GuardedReceipt,
    Memory,
    Namespace,
    PlugmemError,
    Receipt,
    ReembedReport,
    Retain,
    VectorSpace,
)

pytestmark = pytest.mark.timeout(3_600)  # shrinking what fails takes minutes

Test: TypeAlias = Callable[[NaiveFact], bool]
Options: TypeAlias = dict[str, Any]

TEXTS = (
    "green tea",
    "black tea",
    "rye bread",
    "tea and bread",
    "nothing else",
    "Ann has tea, Eve, Bob",
)
NAMES = ("Ann", "ANN", "Bob", "Cleo")
TAGS = ("a", "b", "B", "c")
KEYS = ("k", "other")
SPACES: tuple[Namespace, ...] = ((), ("x",), ("x", "y"), ("xy",))
NUMBERS = (0, 1, 2)
COLLECTIONS = ("settings", "Settings")
PLACES = ("p", "q")

texts = st.sampled_from(TEXTS)
names = st.sampled_from(NAMES)
tag_lists = st.lists(st.sampled_from(TAGS), max_size=3, unique=True).map(tuple)
metadata = st.sampled_from([{}, *({"n": number} for number in NUMBERS)])
spaces = st.sampled_from(((), (), *SPACES))
instants = st.integers(-4, 4).map(lambda offset: ("instant", offset))  # counted from now
ttls = st.sampled_from([2, 5, 9])
some_ids = st.integers(0, 99).map(lambda choice: ("id", choice))  # mostly of current facts
handles = st.integers(0, 2)
links = st.lists(st.tuples(st.just("knows"), names), max_size=2)
pairs = st.lists(st.tuples(spaces, st.sampled_from(KEYS)), max_size=2)
values = st.dictionaries(st.sampled_from(PLACES), st.integers(0, 9), max_size=2)
collections = st.sampled_from((*COLLECTIONS, "settings"))
vectors = st.sampled_from([(1.0, 0.0), (0.0, 1.0)])


def often(usual: Any, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly the usual value."""
    return st.one_of(st.just(usual), st.just(usual), strategy)


def facts(*, linked: bool = True) -> st.SearchStrategy[Options]:
    """Arguments of `remember`."""
    return st.fixed_dictionaries(
        {"text": texts},
        optional={
            "entity": names,
            "tags": tag_lists,
            "metadata": metadata,
            "key": st.sampled_from(KEYS),
            "namespace": spaces,
            "valid_from": instants,
            "ttl": ttls,
            "embed": st.booleans(),
            "vector": vectors,
            **({"links": links} if linked else {}),
        },
    ).map(lambda given: given if given.get("entity") else {**given, "links": []})


drafts = st.lists(facts(), max_size=3)
changes = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "entity": st.none() | names,
        "tags": tag_lists,
        "metadata": metadata,
        "vector": st.none() | vectors,
    },
).filter(bool)
edges = st.fixed_dictionaries(
    {},
    optional={
        "provenance": some_ids,
        "valid_from": instants,
        "properties": st.sampled_from([{"since": 1}, {"since": 2}]),
        "namespace": spaces,
    },
)
erasures = st.one_of(
    st.fixed_dictionaries({"ids": st.lists(some_ids, max_size=2), "namespace": often((), spaces)}),
    st.fixed_dictionaries({"entity": names, "namespace": often((), spaces)}),
    st.fixed_dictionaries({"key": st.sampled_from(KEYS), "namespace": often((), spaces)}),
    st.fixed_dictionaries({"namespace": st.sampled_from(SPACES[1:])}),
)

retentions = st.builds(
    Retain,
    max_age=st.integers(1, 9),
    tags=st.sampled_from([(), (), ("a",), ("a", "b")]),
    entity=st.none() | names,
    namespace=spaces,
)


def outcome(call: Callable[[], Any]) -> Any:
    """What came of a call, in a form in which both memories can be compared."""
    try:
        return plain(call())
    except PlugmemError as error:
        return type(error)


def plain(result: Any) -> Any:
    if isinstance(result, list):
        return [plain(one) for one in result]
    if isinstance(result, Receipt):
        return result.id, result.outcome, result.vector, {one.id for one in result.similar}
    if isinstance(result, GuardedReceipt):
        similar = {one.id for one in result.similar}
        return result.receipt and plain(result.receipt), similar, result.checked
    return result.embedded if isinstance(result, ReembedReport) else result


elsewhere: list[Elsewhere] = []
tried: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def another_process() -> Iterator[None]:
    elsewhere.append(Elsewhere())
    yield
    elsewhere.pop().stop()
    tell("against the model", {**tried, "differences": 0})


class MemoryMachine(RuleBasedStateMachine):
    """Two handles of one file here and one elsewhere; all must always agree with the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.world = World(START)
        self.steps = 0

    @initialize(embeds=st.booleans(), first=st.lists(facts(), max_size=8))
    def begin(self, embeds: bool, first: list[Options]) -> None:
        self.embeds = embeds
        self.model = NaiveMemory(START, embedded if embeds else None)
        self.memories = [self.open(place) for place in range(3)]
        self.both(2, "remember_many", first)

    def open(self, place: int) -> Any:
        path = self.folder / "m.db"
        if place == 2:
            return Remote(elsewhere[0], self.world, path, embeds=self.embeds)
        return self.world.open(path, embeds=self.embeds)

    def teardown(self) -> None:
        for memory in getattr(self, "memories", []):
            memory.close()
        tried.update({"histories": 1, "steps": self.steps})
        shutil.rmtree(self.folder)

    def both(self, handle: int, verb: str, *args: Any, **options: Any) -> None:
        """Call a verb of a memory and of the model, and compare what comes of it."""
        args, options = self.meant(args), self.meant(options)
        memory = self.memories[handle]
        found = outcome(
            lambda: (
                perform(memory, verb, args, options)
                if handle < 2
                else getattr(memory, verb)(*args, **options)
            )
        )
        assert found == outcome(lambda: getattr(self.model, verb)(*args, **options))
        self.model.note_mentions()

    def meant(self, drawn: Any) -> Any:
        """Arguments with ids and instants of this moment for what was drawn."""
        match drawn:
            case ("id", int(choice)):
                current = [fact.id for fact in self.model.current()]
                everything = [*range(len(self.model.facts) + 1)]  # one more than there are
                chosen = current if choice % 4 and current else everything
                return chosen[-1 - choice // 4 % len(chosen)]
            case ("instant", int(offset)):
                return self.world.now + offset * SECOND
            case dict():
                kept = {key: self.meant(value) for key, value in drawn.items()}
                if self.embeds:  # callers give vectors only where no embedder does
                    kept = {key: value for key, value in kept.items() if key != "vector"}
                return kept
            case list() | tuple():
                return type(drawn)(map(self.meant, drawn))
        return drawn

    # -- what happens

    @rule(seconds=st.integers(0, 3))
    def tick(self, seconds: int) -> None:
        self.world.now += seconds * SECOND
        self.model.now = self.world.now

    @rule(works=st.booleans())
    def embedder_works(self, works: bool) -> None:
        self.world.embedder_works = self.model.embedder_works = works

    @rule(handle=handles)
    def reopen(self, handle: int) -> None:
        self.memories[handle].close()
        self.memories[handle] = self.open(handle)

    @rule(handle=handles, verb=st.sampled_from(["checkpoint", "rebuild"]))
    def care(self, handle: int, verb: str) -> None:
        getattr(self.memories[handle], verb)()

    # -- verbs

    @rule(handle=handles, fact=facts())
    def remember(self, handle: int, fact: Options) -> None:
        self.both(handle, "remember", **fact)

    @rule(handle=handles, fact=facts())
    def remember_guarded(self, handle: int, fact: Options) -> None:
        self.both(handle, "remember_guarded", **fact)

    @rule(handle=handles, facts=drafts)
    def remember_many(self, handle: int, facts: list[Options]) -> None:
        self.both(handle, "remember_many", facts)

    @rule(handle=handles, remember=drafts, forget=pairs, end=pairs, unlink=st.booleans())
    def write(self, handle: int, **options: Any) -> None:
        self.both(handle, "write", **options)

    @rule(
        handle=handles, fact=some_ids, changes=changes,
        options=st.fixed_dictionaries(
            {},
            optional={"valid_from": instants, "ttl": ttls, "links": links, "expected": some_ids},
        ),
        namespace=often((), spaces),
    )  # fmt: skip
    def revise(
        self, handle: int, fact: Any, changes: Options, options: Options, namespace: Namespace
    ) -> None:
        self.both(handle, "revise", fact, **changes, **options, namespace=namespace)

    @rule(handle=handles, fact=some_ids, namespace=often((), spaces))
    def forget(self, handle: int, fact: Any, namespace: Namespace) -> None:
        self.both(handle, "forget", fact, namespace=namespace)

    @rule(handle=handles, several=st.lists(some_ids, max_size=3), unlink=st.booleans())
    def forget_many(self, handle: int, several: list[Any], unlink: bool) -> None:
        self.both(handle, "forget_many", several, unlink=unlink)

    @rule(handle=handles, fact=some_ids, at=st.none() | instants, namespace=often((), spaces))
    def end(self, handle: int, fact: Any, at: Any, namespace: Namespace) -> None:
        self.both(handle, "end", fact, at, namespace=namespace)

    @rule(
        handle=handles, several=st.lists(some_ids, max_size=3), ttl=st.none() | ttls,
        namespace=spaces,
    )  # fmt: skip
    def set_ttl(self, handle: int, several: list[Any], ttl: int, namespace: Namespace) -> None:
        self.both(handle, "set_ttl", several, ttl, namespace=namespace)

    @rule(handle=handles, src=names, dst=names, options=edges)
    def link(self, handle: int, src: str, dst: str, options: Options) -> None:
        self.both(handle, "link", src, "knows", dst, **options)

    @rule(handle=handles, src=names, dst=names, namespace=spaces)
    def unlink(self, handle: int, src: str, dst: str, namespace: Namespace) -> None:
        self.both(handle, "unlink", src, "knows", dst, namespace=namespace)

    @rule(
        handle=handles, verb=st.sampled_from(["rename_entity", "alias_entity", "merge_entities"]),
        one=names, other=names | st.sampled_from(["Dan", "Eve"]), namespace=spaces,
    )  # fmt: skip
    def name(self, handle: int, verb: str, one: str, other: str, namespace: Namespace) -> None:
        self.both(handle, verb, one, other, namespace=namespace)

    @rule(
        handle=handles, tag=st.sampled_from(TAGS), new=st.none() | st.sampled_from(TAGS),
        namespace=spaces,
    )  # fmt: skip
    def retag(self, handle: int, tag: str, new: str | None, namespace: Namespace) -> None:
        if new is None:
            self.both(handle, "remove_tag", tag, namespace=namespace)
        else:
            self.both(handle, "rename_tag", tag, new, namespace=namespace)

    @rule(handle=handles, collection=collections, values=values, namespace=often((), spaces))
    def put_values(
        self, handle: int, collection: str, values: Options, namespace: Namespace
    ) -> None:
        self.both(handle, "put_values", collection, values, namespace=namespace)

    @rule(
        handle=handles, collection=collections,
        keys=st.lists(st.sampled_from(PLACES), max_size=2), namespace=often((), spaces),
    )  # fmt: skip
    def delete_values(
        self, handle: int, collection: str, keys: list[str], namespace: Namespace
    ) -> None:
        self.both(handle, "delete_values", collection, keys, namespace=namespace)

    @rule(
        handle=handles, one=facts(), other=facts(), src=names, dst=names, values=values,
        namespace=spaces,
    )  # fmt: skip
    def transaction(
        self, handle: int, one: Options, other: Options, src: str, dst: str, values: Options,
        namespace: Namespace,
    ) -> None:  # fmt: skip
        scope = {"namespace": namespace}
        calls = [
            ("remember", (), one),
            ("link", (src, "knows", dst), scope),
            ("put_values", ("settings", values), scope),
            ("remember_many", ([other, one],), {}),
        ]
        self.both(handle, "transaction", calls)

    @rule(handle=handles, retain=st.lists(retentions, max_size=2))
    def maintain(self, handle: int, retain: list[Retain]) -> None:
        self.both(handle, "maintain", retain=retain)

    @rule(handle=handles)
    def reembed(self, handle: int) -> None:
        self.both(handle, "reembed", batch=BATCH)

    @rule(handle=handles)
    def find_mentions(self, handle: int) -> None:
        self.both(handle, "find_mentions")

    @rule(handle=handles, what=erasures)
    def erase(self, handle: int, what: Options) -> None:
        self.both(handle, "erase", **what)

    @rule(handle=handles)
    def backup(self, handle: int) -> None:
        copy = self.folder / "copy.db"
        self.memories[handle].backup(copy)
        with self.world.open(copy, embeds=self.embeds) as memory:
            self.check(memory, random.Random(self.steps))

    @rule(handle=handles)
    def export_and_import(self, handle: int) -> None:
        lines = self.folder / "lines.jsonl"
        self.memories[handle].export_jsonl(lines)
        expected = pickle.loads(pickle.dumps(self.model))
        expected.drop_what_nobody_sees()
        expected.find_mentions()  # an import knows all names before it takes in a fact
        with self.world.open(self.folder / "imported.db", embeds=self.embeds) as memory:
            memory.import_jsonl(lines)
            here, self.model = self.model, expected
            self.check(memory, random.Random(self.steps))
            self.model = here
        for file in self.folder.glob("imported.db*"):
            file.unlink()

    # -- what must always hold

    @invariant()
    def every_handle_agrees_with_the_model(self) -> None:
        self.steps += 1
        chance = random.Random(self.steps)
        for place in {self.steps % 3, 2 if self.steps % 4 else 0}:
            self.check(self.memories[place], chance)
        for memory in self.memories:
            self.check_counts(memory)

    def check(self, memory: Any, chance: random.Random) -> None:
        self.check_facts(memory)
        self.check_listings(memory, chance)
        self.check_recall(memory, chance)
        self.check_catalogues(memory)
        self.check_edges(memory, chance)
        self.check_vectors(memory)
        self.check_counts(memory)
        assert memory.verify().problems == ()

    def check_counts(self, memory: Any) -> None:
        stats = memory.stats()
        expected = self.model.counts()
        assert {name: getattr(stats, name) for name in expected} == expected

    def check_facts(self, memory: Any) -> None:
        ids = range(len(self.model.facts) + 1)
        for space in ((), ("x",)):
            found = memory.get_many(ids, namespace=space)
            assert found == self.model.get_many(ids, namespace=space)
        for fact in self.model.seen():
            assert [one.id for one in memory.history(fact.id)] == self.model.history(fact.id)
            named = {entity.name for entity in self.model.mentions_of(fact)}
            assert set(memory.mentions(fact.id, namespace=fact.namespace)) == named

    def check_listings(self, memory: Any, chance: random.Random) -> None:
        def ids(view: View, test: Test = lambda _: True, **conditions: Any) -> None:
            times = {name: value for name, value in vars(view).items() if value is not None}
            page = memory.list_facts(**times, **conditions, limit=1_000)
            assert [fact.id for fact in page] == self.model.list_facts(view, test)

        moments = range(START - 5 * SECOND, self.world.now + 6 * SECOND, SECOND)
        one, other = chance.choice(moments), chance.choice(moments)
        closed, space = chance.random() < 0.5, chance.choice(SPACES)
        tag, name, number = chance.choice(TAGS), chance.choice(NAMES), chance.choice(NUMBERS)
        key = chance.choice(KEYS)
        ids(View())
        ids(View(as_of=one, closed=closed, namespace=space))
        ids(View(valid_at=one, closed=closed))
        ids(View(known_at=one, closed=closed, namespace=space))
        ids(View(valid_at=one, known_at=other, closed=closed))
        ids(View(closed=closed), lambda fact: tag in fact.tags, tags=[tag])
        ids(View(namespace=space), lambda fact: tag not in fact.tags, not_tags=[tag])
        ids(View(as_of=one), lambda fact: self.model.is_about(fact, name), entity=name)
        ids(View(closed=closed), lambda fact: self.model.is_mentioned(fact, name), mentions=name)
        ids(View(closed=closed), lambda fact: fact.key == key, key=key)
        ids(View(), lambda fact: fact.metadata.get("n") == number, where={"n": number})
        ids(View(), lambda fact: fact.metadata.get("n", 9) > 0, where={"n": {"$ne": 0}})
        start, end = sorted((one, other))
        ids(View(closed=closed), lambda fact: start <= fact.recorded_at < end, range=(start, end))
        view = View(as_of=one, closed=closed, namespace=space)
        keyed = memory.get_by_keys([key], as_of=one, closed=closed, namespace=space)
        assert [fact.id for fact in keyed] == self.model.list_facts(view, lambda f: f.key == key)

    def check_recall(self, memory: Any, chance: random.Random) -> None:
        unlimited: Options = {"k": 1_000, "token_budget": None}
        everything = memory.recall(where={}, **unlimited).facts
        expected = self.model.list_facts(View())
        newest = sorted(expected, key=lambda i: (-self.model.facts[i].recorded_at, -i))
        assert [fact.id for fact in everything] == newest
        space, tag = chance.choice(SPACES), chance.choice(TAGS)
        found = memory.recall(
            "tea", anchors="given", sources=["bm25"], namespace=space, **unlimited
        )
        about_tea = self.model.list_facts(View(namespace=space), lambda f: "tea" in words(f.text))
        assert sorted(fact.id for fact in found.facts) == about_tea
        for fact in range(max(0, len(self.model.facts) - 3), len(self.model.facts) + 1):
            reason = outcome(
                lambda fact=fact: (
                    memory.explain_absent(  # type: ignore[misc] # bound at once
                        fact, tags=[tag], namespace=space, **unlimited
                    ).reason
                )
            )
            assert reason == outcome(
                lambda fact=fact: self.model.absence(fact, tag, space)  # type: ignore[misc] # idem
            )

    def check_catalogues(self, memory: Any) -> None:
        for space in SPACES:
            assert list(memory.tags(namespace=space)) == self.model.tags(space)
            assert list(memory.namespaces(namespace=space)) == self.model.namespaces(space)
            assert list(memory.entities(namespace=space)) == self.model.entities(space)
            assert list(memory.keys(namespace=space)) == self.model.keys(space)
            for collection in COLLECTIONS:
                found = memory.get_values(collection, namespace=space)
                kept = self.model.values.get((space, collection), {})
                assert list(found.items()) == list(kept.items())

    def check_edges(self, memory: Any, chance: random.Random) -> None:
        at = chance.randrange(START - 5 * SECOND, self.world.now + 6 * SECOND, SECOND)
        name, space = chance.choice(NAMES), chance.choice(SPACES)
        looks: list[Options] = [
            {},
            {"as_of": at},
            {"history": True},
            {"entity": name, "namespace": space},
        ]
        for look in looks:
            assert list(memory.edges(**look)) == self.model.edges(**look)
        for direction in ("out", "in"):
            [near] = memory.neighbours([name], direction=direction, limit=1, namespace=space)
            assert near == self.model.neighbours(name, direction, 1, space)
        # A walk lists a statement once, though two versions of it may hold.
        walked = [
            statement(edge)
            for edge in memory.recall(entities=[name], anchors="given", graph_depth=1).edges
        ]
        assert len(walked) == len(set(walked))
        assert set(walked) == {statement(edge) for edge in self.model.edges(name)}

    def check_vectors(self, memory: Any) -> None:
        ids = range(len(self.model.facts) + 1)
        stored = memory.vectors(ids)
        found = [None if vector is None else tuple(vector.tolist()) for vector in stored]
        assert found == self.model.vectors(ids)
        dim, model = (32, "hashing-32") if self.embeds else (2, None)
        expected = VectorSpace(dim, model) if self.model.has_space else None
        assert (
            perform(memory, "vector_space", (), {})
            if isinstance(memory, Memory)
            else memory.vector_space()
        ) == expected


def statement(edge: Any) -> tuple[Any, ...]:
    return edge.namespace, edge.src, edge.relation, edge.dst, edge.provenance


class LongMemoryMachine(MemoryMachine):
    """The same for longer."""


LIMITS: Options = {"deadline": None, "suppress_health_check": list(HealthCheck)}

TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(max_examples=30, stateful_step_count=30, **LIMITS)

TestLongMemoryMachine = pytest.mark.slow(LongMemoryMachine.TestCase)
TestLongMemoryMachine.settings = settings(
    max_examples=1_000, stateful_step_count=60, derandomize=False, **LIMITS
)


DRIVEN = """
    alias_entity backup checkpoint close delete_values edges end entities erase explain_absent
    export_jsonl find_mentions forget forget_many get_by_keys get_many get_values history
    import_jsonl keys link list_facts maintain mentions merge_entities namespaces neighbours
    open put_values rebuild recall reembed remember remember_guarded remember_many remove_tag
    rename_entity rename_tag revise set_ttl stats tags transaction unlink vectors verify write
"""
LEFT_OUT = """
    check_vectors counting embed_query get
"""  # they change nothing, or ask what others are asked


def test_a_new_verb_has_to_be_driven_by_the_machine_too() -> None:
    members = {name: getattr(Memory, name) for name in dir(Memory) if not name.startswith("_")}
    twins = {name for name in members if name[0] == "a" and name[1:] in members}
    verbs = {name for name, member in members.items() if callable(member)} - twins
    assert verbs == {*DRIVEN.split(), *LEFT_OUT.split()}
