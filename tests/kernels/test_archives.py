"""Saved structures: what is loaded is what was saved, and damage never crashes the process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core.kernels import (
    NO_ID,
    OPEN,
    Dictionary,
    FactTable,
    Graph,
    IdLists,
    Lexical,
    Turns,
    VectorPool,
    graph_candidates,
)

from .tables import ALL, EVERY_FACT, facts, put, scope

Damage: TypeAlias = Callable[[bytes], bytes]

DIM = 5


@dataclass(frozen=True)
class Kind:
    """A structure: how to make it, fill it, and read everything there is to read of it."""

    name: str
    make: Callable[[], Any]
    fill: Callable[[Any, np.random.Generator], None]
    read: Callable[[Any], object]
    extend: Callable[[Any], object]


def fill_facts(table: FactTable, rng: np.random.Generator) -> None:
    for fact in rng.permutation(60)[:50].tolist():
        put(
            table,
            fact,
            namespace=fact % 3,
            entity=fact % 7,
            recorded_at=int(rng.integers(0, 9)),
            valid_from=int(rng.integers(-5, 9)),
            valid_to=OPEN if fact % 4 else 9,
            closed_at=OPEN if fact % 4 else 9,
            expires_at=OPEN if fact % 5 else 3,
            size=fact * 11,
            forgotten=fact % 11 == 0,
        )
    table.remove([3, 8])


def read_facts(table: FactTable) -> object:
    ids = table.ids()
    return (
        ids,
        [table.row(fact) for fact in range(len(table))],
        [table.has(fact) for fact in range(70)],
        table.newest(scope(valid_at=5), 0, 8, 20).items(),
        table.page(ALL, -1, EVERY_FACT),
        (table.count(ALL), table.stored(), table.forgotten(), len(table)),
    )


def extend_facts(table: FactTable) -> None:
    put(table, len(table), recorded_at=4)
    put(table, 0, recorded_at=4)
    table.remove(table.ids()[:2])


def fill_dictionary(dictionary: Dictionary, rng: np.random.Generator) -> None:
    for number in rng.permutation(200).tolist():
        dictionary.intern("é" * (number % 5) + str(number))


def read_dictionary(dictionary: Dictionary) -> object:
    names = [dictionary.name(number) for number in range(len(dictionary))]
    return names, [dictionary.find(name) for name in [*names, "absent"]]


def fill_lists(lists: IdLists, rng: np.random.Generator) -> None:
    for _ in range(200):
        lists.add(int(rng.integers(0, 9)), int(rng.integers(0, 50)))


def read_lists(lists: IdLists) -> object:
    table = facts(range(50))
    keys = range(len(lists) + 1)
    return [(lists.list(key), lists.last(key, 3, 25), lists.count(key, table, ALL)) for key in keys]


def extend_lists(lists: IdLists) -> None:
    for key, fact in [(0, 0), (0, 25), (2, 10**6), (0, NO_ID - 1)]:
        lists.add(key, fact)
        lists.remove(key, fact)
    lists.remove_facts(facts(range(20)))


def first_letters(word: str) -> str:
    return word[:2]


def fill_lexical(index: Lexical, rng: np.random.Generator) -> None:
    for document in range(40):
        words = [f"w{number}" for number in rng.integers(0, 30, size=int(rng.integers(0, 12)))]
        index.add_tokens(document * 2, words + ["long"] * (300 if document == 7 else 0))
    index.remove([10, 12])


def read_lexical(index: Lexical) -> object:
    words = [f"w{number}" for number in range(31)] + ["long"]
    terms, frequencies = index.lookup(words)
    table = facts(range(100))
    return (
        [index.search([term], 1.2, 0.75, 20, table, ALL).items() for term in terms],
        index.search(terms, 1.2, 0.75, EVERY_FACT, table, ALL).items(),
        frequencies,
        index.overlap(words[:5], list(range(100))),
        [sorted(index.terms_of(document)) for document in range(100)],
        sorted(index.terms_containing("1")),
        [index.next_document(word, 0) for word in words],
        (index.documents(), index.terms()),
    )


def extend_lexical(index: Lexical) -> None:
    for document in range(200, 203):
        index.add_tokens(document, ["w1", "new"])
    index.overlap(["w1", "other"], [0, 2, 200])
    index.remove([0, 2, 4, 200])
    index.add_text(300, "w1 w2")


def fill_graph(graph: Graph, rng: np.random.Generator) -> None:
    for relation in range(3):
        graph.put_relation(relation, 10 - relation)
    for number in rng.permutation(60)[:50].tolist():
        start = int(rng.integers(0, 9))
        ended = number % 3 == 0
        graph.put(
            number,
            int(rng.integers(0, 9)),
            int(rng.integers(0, 3)),
            int(rng.integers(0, 9)),
            number if number % 2 else NO_ID,
            start,
            start,
            start + 2 if ended else OPEN,
            start + 3 if ended else OPEN,
        )


def read_graph(graph: Graph) -> object:
    walks = [
        graph.walk([anchor], 3, 0.5, 30, 8, scope(valid_at=instant), history)
        for anchor in range(10)
        for instant in (3, 9)
        for history in (False, True)
    ]
    lists = IdLists()
    for fact in range(20):
        lists.add(fact % 9, fact)
    table = facts(range(60))
    return (
        [(walk.edges, walk.nodes, walk.weights) for walk in walks],
        [
            graph_candidates(graph, walk, lists, 20, 100, 10, 0.5, table, ALL).items()
            for walk in walks
        ],
        [graph.row(number) for number in range(len(graph) + 1)],
        (graph.open(), len(graph)),
    )


def extend_graph(graph: Graph) -> None:
    for number in range(len(graph) + 2):
        graph.put(number, 1, 0, number % 4, NO_ID, 0, 0, OPEN, OPEN)


def fill_vectors(pool: VectorPool, rng: np.random.Generator) -> None:
    for fact in rng.permutation(60)[:50].tolist():
        pool.put(fact, rng.standard_normal(DIM).astype(np.float32))
    pool.remove([1, 2, 3], 10)


def read_vectors(pool: VectorPool) -> object:
    table = facts(range(60))
    query = np.ones(DIM, dtype=np.float32)
    return (
        pool.facts(),
        pool.search(query, 0, 20, float("-inf"), table, ALL).items(),
        pool.rescore(query, list(range(70)), 90, float("-inf"), table, ALL).items(),
        [pool.has(fact) for fact in range(70)],
        len(pool),
    )


def extend_vectors(pool: VectorPool) -> None:
    for fact in (0, 5, 61):
        pool.put(fact, np.ones(DIM, dtype=np.float32))
    pool.remove([0, 7, 61], 30)


def fill_turns(turns: Turns, rng: np.random.Generator) -> None:
    for fact in rng.permutation(60)[:50].tolist():
        turns.put(fact, fact % 4, fact // 2 if fact % 3 == 0 else None)
    turns.remove([4, 5, 6])


def read_turns(turns: Turns) -> object:
    table = facts(range(60))
    sessions = [turns.backwards(session) for session in range(6)]
    return sessions, [turns.beside([fact], table, ALL) for fact in range(70)]


def extend_turns(turns: Turns) -> None:
    for fact in (100, 101):
        turns.put(fact, 1, 100)
    turns.remove([100, 0])


KINDS = [
    Kind("facts", FactTable, fill_facts, read_facts, extend_facts),
    Kind(
        "dictionary",
        Dictionary,
        fill_dictionary,
        read_dictionary,
        lambda dictionary: dictionary.intern("one more"),
    ),
    Kind("lists", IdLists, fill_lists, read_lists, extend_lists),
    Kind("lexical", Lexical, fill_lexical, read_lexical, extend_lexical),
    Kind("stems", lambda: Lexical(first_letters), fill_lexical, read_lexical, extend_lexical),
    Kind("graph", Graph, fill_graph, read_graph, extend_graph),
    Kind("turns", Turns, fill_turns, read_turns, extend_turns),
    Kind("vectors", lambda: VectorPool(DIM), fill_vectors, read_vectors, extend_vectors),
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def filled(kind: Kind, seed: int = 3) -> Any:
    structure = kind.make()
    kind.fill(structure, np.random.default_rng(seed))
    return structure


@every_kind
@pytest.mark.parametrize("seed", range(3))
def test_what_is_loaded_is_what_was_saved(kind: Kind, seed: int) -> None:
    saved = filled(kind, seed)
    loaded = kind.make()
    loaded.load(memoryview(saved.save()))
    assert kind.read(loaded) == kind.read(saved)
    assert loaded.save() == saved.save()
    kind.extend(loaded)
    kind.extend(saved)
    assert kind.read(loaded) == kind.read(saved)


@every_kind
def test_an_empty_structure_is_saved_and_loaded(kind: Kind) -> None:
    loaded = filled(kind)
    loaded.load(kind.make().save())
    assert kind.read(loaded) == kind.read(kind.make())


@every_kind
def test_a_failed_load_leaves_the_structure_as_it_was(kind: Kind) -> None:
    structure = filled(kind)
    before = kind.read(structure)
    data = filled(kind, seed=4).save()
    for damaged in (b"", data[:-1], data + b"\0", b"\xff" * len(data)):
        with pytest.raises(RuntimeError):
            structure.load(damaged)
    assert kind.read(structure) == before


@every_kind
def test_every_cut_is_noticed(kind: Kind) -> None:
    data = filled(kind).save()
    for size in range(0, len(data), max(1, len(data) // 200)):
        with pytest.raises(RuntimeError):
            kind.make().load(data[:size])


def test_vectors_of_another_dimension_are_refused() -> None:
    data = filled(KINDS[-1]).save()
    with pytest.raises(RuntimeError, match="dimension"):
        VectorPool(DIM + 1).load(data)


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """A function that damages an archive: bits flipped, a word replaced, bytes cut, all random."""
    where = draw(st.floats(0, 1, exclude_max=True))
    match draw(st.sampled_from(["flip", "word", "cut", "random", "header"])):
        case "flip":
            bit = draw(st.integers(0, 7))
            return lambda data: replaced(data, where, lambda old: bytes([old[0] ^ 1 << bit]), 1)
        case "word":
            word = draw(st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))
            return lambda data: replaced(data, where, lambda _: word.to_bytes(4, "little"), 4)
        case "cut":
            size = draw(st.integers(1, 40))
            return lambda data: replaced(data, where, lambda _: b"", size)
        case "random":
            noise = draw(st.binary(max_size=200))
            return lambda _: noise
        case _:
            count = draw(st.sampled_from([0, 1, 2**32, 2**61, 2**63, 2**64 - 1]))
            return lambda data: replaced(data, 0.0, lambda _: count.to_bytes(8, "little"), 8)


def replaced(data: bytes, where: float, change: Damage, size: int) -> bytes:
    at = int(where * (len(data) - size) / 4) * 4 if size > 1 else int(where * len(data))
    return data[:at] + change(data[at : at + size]) + data[at + size :]


@every_kind
@settings(deadline=None, max_examples=150)
@given(st.lists(damages(), min_size=1, max_size=3))
def test_a_damaged_archive_is_refused_or_usable(kind: Kind, damage: list[Damage]) -> None:
    data = filled(kind).save()
    for spoil in damage:
        data = spoil(data) if data else data
    structure = kind.make()
    try:
        structure.load(data)
    except RuntimeError:
        return
    for use in (kind.read, kind.extend, kind.read, lambda one: kind.make().load(one.save())):
        try:
            use(structure)
        except RuntimeError as error:
            assert "str" in str(error)  # noqa: PT017 - a name that is no longer UTF-8
