"""`recall` by chosen sources and weights, and what an explanation says of relevance."""

import asyncio
import itertools
import math
from typing import Any

import numpy as np
import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory
from hypothesis import given, settings
from hypothesis import strategies as st
from looking import reasons

from plugmem_core import HashingEmbedder, InvalidInputError, Memory, MemoryConfig, Namespace

NAMES = ("bm25", "vector", "graph", "time")
SUBSETS = [
    chosen for size in range(1, 5) for chosen in itertools.combinations(range(4), size)
]  # fmt: skip


def ids(memory: Memory, text: str | None = None, **options: Any) -> list[int]:
    return [fact.id for fact in memory.recall(text, **options).facts]


@pytest.fixture(params=["reference", "tuned"])
def open_memory(open_memory: OpenMemory, request: pytest.FixtureRequest) -> OpenMemory:
    """Opens memories of both rankings."""

    def open_ranking(*path: Any, config: MemoryConfig | None = None, **options: Any) -> Memory:
        ranking = (config or MemoryConfig()).replace(ranking=request.param)
        return open_memory(*path, config=ranking, **options)

    return open_ranking


in_the_reference = pytest.mark.parametrize("open_memory", ["reference"], indirect=True)
"""For tests of its formulas."""


@pytest.fixture
def four(memory: Memory, clock: Clock) -> Memory:
    """Fact n is what source n finds when asked `QUESTION`, and no other source does."""
    memory.remember("green tea")
    memory.remember("hot drinks", vector=[1.0, 0.0])
    memory.remember("open on Sundays", entity="Shop")
    clock.tick()
    memory.remember("it rained")
    clock.tick()
    return memory


QUESTION: dict[str, Any] = {
    "text": "tea",
    "vector": [1.0, 0.0],
    "entities": ["shop"],
    "range": (START + SECOND, START + 2 * SECOND),
}


# -- sources


@pytest.mark.parametrize("chosen", SUBSETS)
def test_the_chosen_sources_find_what_they_should_and_nothing_else(
    four: Memory, chosen: tuple[int, ...]
) -> None:
    result = four.recall(**QUESTION, sources=[NAMES[n] for n in chosen], explain=True)
    assert sorted(fact.id for fact in result.facts) == [*chosen]
    for fact in result.facts:
        assert fact.sources == (NAMES[fact.id],)
    explanation = reasons(result)
    evidence = {one.source for fact in explanation.facts for one in fact.evidence}
    assert evidence == {NAMES[n] for n in chosen}
    assert explanation.candidates == {name: int(n in chosen) for n, name in enumerate(NAMES)}
    assert bool(explanation.anchors) == (2 in chosen)


def test_all_sources_are_asked_by_default(four: Memory) -> None:
    assert sorted(ids(four, **QUESTION)) == [0, 1, 2, 3]
    assert four.recall(**QUESTION) == four.recall(**QUESTION, sources=NAMES)


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset, lambda names: dict.fromkeys(names)])
def test_sources_may_be_any_collection_in_any_order(four: Memory, kind: Any) -> None:
    expected = ids(four, **QUESTION, sources=["bm25", "time"])
    assert ids(four, **QUESTION, sources=kind(["time", "bm25", "time"])) == expected


def test_a_source_without_a_question_finds_nothing(four: Memory) -> None:
    assert ids(four, "tea", sources=["vector"]) == []
    assert ids(four, "tea", sources=["graph"]) == []
    assert ids(four, vector=[1.0, 0.0], sources=["bm25"]) == []
    assert ids(four, entities=["shop"], sources=["bm25", "vector"]) == []


def test_the_graph_alone_starts_from_the_names_a_text_mentions(four: Memory) -> None:
    assert ids(four, "when is the shop open", sources=["graph"]) == [2]
    assert ids(four, "when is the shop open", sources=["graph"], anchors="given") == []


@in_the_reference
def test_a_source_left_out_gives_no_evidence_for_what_others_find(memory: Memory) -> None:
    memory.remember("the shop sells tea", entity="Shop", vector=[1.0, 0.0])
    question = {**QUESTION, "text": "tea of the shop", "range": (0, START + DAY)}
    for chosen in SUBSETS:
        names = tuple(NAMES[n] for n in chosen)
        result = memory.recall(**question, sources=names, explain=True)
        assert result.facts[0].sources == names
        assert tuple(one.source for one in reasons(result)[0].evidence) == names
        # The first of each ranking, undiminished by age.
        assert result.facts[0].score == pytest.approx(1.25 * len(names) / 61)


# -- time alone


@pytest.fixture
def diary(memory: Memory, clock: Clock) -> Memory:
    """Six days; even ones are tagged, every third is Bob's, two facts share the last day."""
    for day in range(6):
        memory.remember(
            f"day {day}",
            tags=["even"] if day % 2 == 0 else [],
            namespace=("bob",) if day % 3 == 0 else ("ann",),
        )
        clock.tick(DAY)
    memory.remember("day 6")
    memory.remember("also day 6")
    return memory


def test_time_alone_gives_the_newest_first(diary: Memory) -> None:
    assert ids(diary, sources=["time"]) == [7, 6, 5, 4, 3, 2, 1, 0]
    assert ids(diary, sources=["time"], k=3) == [7, 6, 5]


def test_time_alone_keeps_to_the_namespace_and_the_tags(diary: Memory) -> None:
    only_time: dict[str, Any] = {"sources": ["time"]}
    assert ids(diary, **only_time, namespace=("ann",)) == [5, 4, 2, 1]
    assert ids(diary, **only_time, tags=["even"]) == [4, 2, 0]
    assert ids(diary, **only_time, namespace=("bob",), tags=["even"]) == [0]
    assert ids(diary, **only_time, namespace=("ann",), not_tags=["even"]) == [5, 1]
    assert ids(diary, **only_time, namespace=("an",)) == []


def test_time_alone_looks_back_and_into_windows(diary: Memory) -> None:
    assert ids(diary, sources=["time"], as_of=START + 2 * DAY) == [2, 1, 0]
    assert ids(diary, sources=["time"], range=(START + DAY, START + 3 * DAY)) == [2, 1]


def test_time_alone_leaves_out_what_is_closed_or_gone(diary: Memory) -> None:
    diary.revise(7, "much of day 6")
    diary.end(6)
    diary.forget(5)
    assert ids(diary, sources=["time"]) == [8, 4, 3, 2, 1, 0]
    assert ids(diary, sources=["time"], closed=True) == [8, 7, 6, 4, 3, 2, 1, 0]


def test_time_alone_takes_no_notice_of_the_text(diary: Memory) -> None:
    assert ids(diary, "day 2", sources=["time"]) == ids(diary, sources=["time"])
    assert ids(diary, "day 2", sources=("time",), tags=["even"]) == [4, 2, 0]


def test_time_among_others_needs_a_window(diary: Memory) -> None:
    assert ids(diary, "also", sources=["bm25", "time"]) == [7]
    assert ids(diary, "also", sources=["bm25", "time"], range=(START, START + 1)) == [7, 0]
    with pytest.raises(InvalidInputError, match="nothing was asked"):
        diary.recall(sources=["bm25", "time"])


# -- the embedder


class Counting(HashingEmbedder):
    """Counts the questions it is asked."""

    def __init__(self) -> None:
        super().__init__(16)
        self.questions: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.questions.append(text)
        return super().embed_query(text)

    def embed_documents(self, texts: list[str]) -> Any:
        return [super(Counting, self).embed_query(text) for text in texts]


@pytest.mark.parametrize("chosen", SUBSETS)
def test_the_embedder_is_asked_only_for_the_vector_source(
    open_memory: OpenMemory, chosen: tuple[int, ...]
) -> None:
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    memory.remember("green tea")
    names = [NAMES[n] for n in chosen]
    memory.recall("tea", sources=names)
    memory.explain_absent(0, "tea", sources=names)
    asyncio.run(memory.arecall("tea", sources=names))
    assert embedder.questions == ["tea"] * (3 if "vector" in names else 0)


def test_an_embedder_that_is_down_is_not_missed_where_it_is_not_asked(
    open_memory: OpenMemory,
) -> None:
    class Down(Counting):
        def embed_query(self, text: str) -> Any:
            raise ConnectionError("down")

    memory = open_memory(embedder=Down())
    memory.remember("green tea")
    assert reasons(memory.recall("tea", sources=["bm25"], explain=True)).notes == ()
    assert len(reasons(memory.recall("tea", explain=True)).notes) == 1


# -- weights


@pytest.fixture
def rivals(open_memory: OpenMemory, clock: Clock) -> Memory:
    """By text 0, 1, 2 are found in this order; by vector 1, 0; recorded just now."""
    memory = open_memory()
    memory.remember("tea", vector=[0.8, 0.6])
    memory.remember("tea with milk", vector=[1.0, 0.0])
    memory.remember("tea with milk and sugar and honey")
    return memory


ASKED: dict[str, Any] = {"text": "tea", "vector": [1.0, 0.0]}


def scores(memory: Memory, **options: Any) -> dict[int, float]:
    return {fact.id: fact.score for fact in memory.recall(**ASKED, **options).facts}


@in_the_reference
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"recency": 0}, [(0, 1 / 61 + 1 / 62), (1, 1 / 62 + 1 / 61), (2, 1 / 63)]),
        ({}, [(0, 1.25 * (1 / 61 + 1 / 62)), (1, 1.25 * (1 / 62 + 1 / 61)), (2, 1.25 / 63)]),
        (
            {"vector": 2, "recency": 0},
            [(1, 1 / 62 + 2 / 61), (0, 1 / 61 + 2 / 62), (2, 1 / 63)],
        ),
        (
            {"bm25": 3, "vector": 0.5, "recency": 0},
            [(0, 3 / 61 + 0.5 / 62), (1, 3 / 62 + 0.5 / 61), (2, 3 / 63)],
        ),
        ({"bm25": 0, "recency": 0}, [(1, 1 / 61), (0, 1 / 62), (2, 0.0)]),
        ({"vector": 0, "recency": 0}, [(0, 1 / 61), (1, 1 / 62), (2, 1 / 63)]),
        ({"bm25": 0, "vector": 0}, [(0, 0.0), (1, 0.0), (2, 0.0)]),
        (
            {"bm25": 1_000, "recency": 1_000},
            [(0, 1_001 * (1_000 / 61 + 1 / 62)), (1, 1_001 * (1_000 / 62 + 1 / 61)),
             (2, 1_001 * 1_000 / 63)],
        ),
        ({"graph": 7, "time": 9, "recency": 0},
         [(0, 1 / 61 + 1 / 62), (1, 1 / 62 + 1 / 61), (2, 1 / 63)]),
    ],
)  # fmt: skip
def test_weights_count_as_the_formula_says(
    rivals: Memory, weights: dict[str, float], expected: list[tuple[int, float]]
) -> None:
    found = scores(rivals, weights=weights)
    assert found == pytest.approx(dict(expected), rel=1e-5)
    # Equal sums, added in another order, may differ in the last bit of single precision.
    if len({round(score, 9) for _, score in expected}) == len(expected):
        assert list(found) == [fact for fact, _ in expected]


@in_the_reference
def test_the_explanation_adds_up_with_weights(rivals: Memory) -> None:
    weights = {"bm25": 3.0, "vector": 0.5, "recency": 2.0}
    result = rivals.recall(**ASKED, weights=weights, explain=True)
    for fact in result.facts:
        explained = reasons(result)[fact.id]
        for one in explained.evidence:
            assert one.contribution == pytest.approx(weights[one.source] / (60 + one.rank))
        assert explained.boost == pytest.approx(3.0)
        total = sum(one.contribution for one in explained.evidence)
        assert explained.score == pytest.approx(3.0 * total, rel=1e-5)


@in_the_reference
def test_weights_left_out_are_those_of_the_configuration(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(w_bm25=3.0, w_vector=5.0, w_recency=0.0))
    memory.remember("tea", vector=[1.0, 0.0])
    assert scores(memory) == pytest.approx({0: 3 / 61 + 5 / 61})
    assert scores(memory, weights={"vector": 2}) == pytest.approx({0: 3 / 61 + 2 / 61})
    assert scores(memory, weights={"recency": 1}) == pytest.approx({0: 2 * 8 / 61})
    assert scores(memory) == pytest.approx({0: 3 / 61 + 5 / 61})  # for that recall only


@in_the_reference
def test_weights_of_the_graph_and_of_time_count_too(four: Memory) -> None:
    weights = {"bm25": 1, "vector": 2, "graph": 3, "time": 4, "recency": 0}
    found = {fact.id: fact.score for fact in four.recall(**QUESTION, weights=weights).facts}
    assert list(found) == [3, 2, 1, 0]
    assert found == pytest.approx({n: (n + 1) / 61 for n in range(4)}, rel=1e-5)


@in_the_reference
def test_recency_halves_with_its_half_life(memory: Memory, clock: Clock) -> None:
    memory.remember("tea")
    clock.tick(180 * DAY)
    [fact] = memory.recall("tea", weights={"recency": 3}).facts
    assert fact.score == pytest.approx((1 + 3 / 2) / 61, rel=1e-5)
    [fact] = memory.recall("tea", weights={"recency": 0}).facts
    assert fact.score == pytest.approx(1 / 61, rel=1e-5)


@pytest.mark.parametrize("recency", [0, 0.1, 0.25, 1, 10])
@pytest.mark.parametrize("source", [["bm25"], ["time"], ["graph"]])
def test_the_first_few_are_the_first_of_many(
    memory: Memory, clock: Clock, source: list[str], recency: float
) -> None:
    for number in range(100):
        memory.remember(f"tea {'and more ' * (number % 7)}{number}", entity="Shop")
        clock.tick(20 * DAY)
    question: dict[str, Any] = {
        "text": "tea of the shop", "sources": source, "token_budget": None,
        "weights": {"recency": recency},
    }  # fmt: skip
    many = ids(memory, **question, k=100)
    for k in (1, 5, 40):
        assert ids(memory, **question, k=k) == many[:k]
        assert ids(memory, **question, k=k, explain=True) == many[:k]


def test_a_score_floor_counts_the_weights(rivals: Memory) -> None:
    weights = {"bm25": 0, "recency": 0}
    assert set(scores(rivals, weights=weights, min_score=1 / 61.5)) == {1}


# -- what is refused


@pytest.mark.parametrize(
    "sources",
    ["bm25", "", [], (), {}, ["bm52"], ["bm25", "BM25"], ["recency"], [1], [None], [["bm25"]],
     None, 5, b"bm25", [b"bm25"], iter(["bm25"]), ["bm25", "vector", "graph", "time", "more"]],
    ids=repr,
)  # fmt: skip
def test_wrong_sources_are_refused_by_name(four: Memory, sources: Any) -> None:
    for verb in (
        lambda: four.recall("tea", sources=sources),
        lambda: four.explain_absent(0, "tea", sources=sources),
    ):
        with pytest.raises(InvalidInputError, match=r"sources is .*bm25, vector, graph, time"):
            verb()


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ({"bm52": 1}, r"weights has 'bm52'; accepted are bm25, vector, graph, time, recency"),
        ({"bm25": 1, "w_bm25": 1}, "weights has 'w_bm25'"),
        ({1: 1}, "weights has 1"),
        ({None: 1}, "weights has None"),
        ({"bm25": -0.1}, r"weights\['bm25'\] is -0.1"),
        ({"vector": 1_000.5}, r"weights\['vector'\] is 1000.5"),
        ({"time": float("nan")}, r"weights\['time'\] is NaN"),
        ({"time": float("inf")}, r"weights\['time'\] is inf"),
        ({"recency": 10**400}, r"weights\['recency'\]"),
        ({"graph": "1"}, r"weights\['graph'\]"),
        ({"graph": True}, r"weights\['graph'\]"),
        ({"graph": None}, r"weights\['graph'\]"),
        ([("bm25", 1)], "weights is"),
        ("bm25", "weights is"),
        (5, "weights is"),
        ([1, 1, 1, 1], "weights is"),
    ],
)
def test_wrong_weights_are_refused_by_name(four: Memory, weights: Any, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match):
        four.recall("tea", weights=weights)
    with pytest.raises(InvalidInputError, match=match):
        four.explain_absent(0, "tea", weights=weights)


@pytest.mark.parametrize("weight", [0, 1_000, 0.0, 1_000.0, np.float64(2.5)])
def test_weights_at_the_bounds_are_accepted(four: Memory, weight: float) -> None:
    assert ids(four, "tea", weights=dict.fromkeys((*NAMES, "recency"), weight)) == [0]


# -- the same elsewhere


@pytest.mark.parametrize("chosen", SUBSETS)
def test_the_async_twin_answers_the_same(four: Memory, chosen: tuple[int, ...]) -> None:
    options: dict[str, Any] = {
        **QUESTION, "sources": [NAMES[n] for n in chosen], "explain": True,
        "weights": {"bm25": 0.5, "time": 3, "recency": 1},
    }  # fmt: skip
    assert asyncio.run(four.arecall(**options)) == four.recall(**options)
    for fact in range(4):
        absence = four.explain_absent(fact, **options)
        assert asyncio.run(four.aexplain_absent(fact, **options)) == absence
        assert absence.reason == ("present" if fact in chosen else "no evidence")


@in_the_reference
def test_an_absence_below_the_cut_follows_the_weights(rivals: Memory) -> None:
    def reason(fact: int, **weights: float) -> str:
        return rivals.explain_absent(fact, **ASKED, k=1, weights=weights).reason

    assert (reason(0, vector=2), reason(1, vector=2)) == ("below the cut", "present")
    assert (reason(0, bm25=2), reason(1, bm25=2)) == ("present", "below the cut")


# -- relevance


def relevance(memory: Memory, text: str | None = None, **options: Any) -> dict[int, float]:
    result = memory.recall(text, k=1_000, token_budget=None, explain=True, **options)
    return {fact.id: fact.relevance for fact in reasons(result).facts}


def test_the_relevance_of_a_vector_is_its_cosine(open_memory: OpenMemory) -> None:
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(60, 8))
    question = chance.normal(size=8)
    memory = open_memory()
    memory.remember_many(
        {"text": f"fact {n}", "vector": vector.tolist()} for n, vector in enumerate(vectors)
    )
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(question)
    cosines = vectors @ question / lengths
    found = relevance(memory, vector=question.tolist())
    assert len(found) == 60
    assert min(cosines) < -0.3  # nothing is less than irrelevant
    for fact, cosine in enumerate(cosines):
        assert found[fact] == pytest.approx(max(0.0, cosine), abs=0.02)


def test_the_same_vector_is_wholly_relevant_whatever_its_length(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember("one", vector=[3.0, 4.0])
    found = relevance(memory, vector=[30.0, 40.0])[0]
    assert found == pytest.approx(1.0, abs=0.02)
    assert found <= 1.0


CORPUS = ["tea", "tea with milk", "milk milk milk and rye bread", "rye bread and butter", "rain"]


def share(question: list[str], text: str, k1: float, b: float) -> float:
    """BM25 of a text of `CORPUS` over what it would be with endless repetition."""
    words = text.split()
    average = sum(len(one.split()) for one in CORPUS) / len(CORPUS)
    score = ceiling = 0.0
    for word in question:
        holding = sum(word in one.split() for one in CORPUS)
        if not holding:
            continue
        idf = math.log(1 + (len(CORPUS) - holding + 0.5) / (holding + 0.5))
        often = words.count(word)
        score += idf * often * (k1 + 1) / (often + k1 * (1 - b + b * len(words) / average))
        ceiling += idf * (k1 + 1)
    return score / ceiling


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.0), (0.5, 1.0), (100.0, 0.3)])
@pytest.mark.parametrize(
    "question",
    ["tea", "milk", "milk tea", "rye bread milk", "tea unknown", "milk milk tea", "rain tea rye"],
)
def test_the_relevance_of_a_text_is_its_share_of_the_most_bm25_can_give(
    open_memory: OpenMemory, question: str, k1: float, b: float
) -> None:
    memory = open_memory(config=MemoryConfig(bm25_k1=k1, bm25_b=b))
    memory.remember_many({"text": text} for text in CORPUS)
    words = question.split()
    expected = {
        fact: share(words, text, k1, b)
        for fact, text in enumerate(CORPUS)
        if not {*words}.isdisjoint(text.split())
    }
    assert relevance(memory, question) == pytest.approx(expected, rel=1e-4)


@in_the_reference
def test_a_numeric_example_by_hand(open_memory: OpenMemory) -> None:
    # Two texts of one and three words, "tea" in both: the idf, 0.182, is in both halves
    # of the fraction. tf 1, average length 2: 1 / (1 + 1.2 (0.25 + 0.75 len / 2)).
    memory = open_memory()
    memory.remember("tea")
    memory.remember("tea with milk")
    expected = {0: 1 / (1 + 1.2 * 0.625), 1: 1 / (1 + 1.2 * 1.375)}
    assert relevance(memory, "tea") == pytest.approx(expected, rel=1e-4)


@in_the_reference
@pytest.mark.parametrize("lexical", ["okapi", "bm25l", "bm25plus"])
@pytest.mark.parametrize(("word", "fact"), [("rain", 4), ("tea", 0), ("tea", 1), ("milk", 2)])
def test_each_kind_of_bm25_is_measured_by_its_own_most(
    open_memory: OpenMemory, lexical: Any, word: str, fact: int
) -> None:
    # For one word, its rarity cancels out. k1 is 1.2 and b 0.75; what is added to a frequency
    # is 0.5 in BM25L, what is added to a score is 1 in BM25+. The package's BM25L multiplies
    # by the frequency once more, so a word said thrice is over the most that once can give.
    memory = open_memory(config=MemoryConfig(lexical=lexical))
    memory.remember_many({"text": text} for text in CORPUS)
    words = CORPUS[fact].split()
    average = sum(len(text.split()) for text in CORPUS) / len(CORPUS)
    length = 0.25 + 0.75 * len(words) / average
    often = words.count(word)
    saturated = often / (often + 1.2 * length)
    lifted = often / length + 0.5
    expected = {
        "okapi": saturated,
        "bm25l": min(1.0, often * lifted / (1.2 + lifted)),
        "bm25plus": (1 + 2.2 * saturated) / (1 + 2.2),
    }
    assert relevance(memory, word)[fact] == pytest.approx(expected[lexical], rel=1e-4)


def test_the_larger_share_counts(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember("tea", vector=[1.0, 0.0])
    memory.remember("rain", vector=[0.0, 1.0])
    text, both = relevance(memory, "tea"), relevance(memory, "tea", vector=[1.0, 0.0])
    assert 0 < text[0] < both[0] == pytest.approx(1.0, abs=0.02)
    across = relevance(memory, "tea", vector=[0.0, 1.0])
    assert across[0] == pytest.approx(text[0])
    assert across[1] == pytest.approx(1.0, abs=0.02)


def test_relevance_does_not_depend_on_weights_rank_or_age(memory: Memory, clock: Clock) -> None:
    memory.remember_many({"text": text} for text in CORPUS)
    before = relevance(memory, "milk tea")
    clock.tick(999 * DAY)
    assert relevance(memory, "milk tea") == before
    assert relevance(memory, "milk tea", weights={"bm25": 0, "recency": 9}) == before
    narrowed = relevance(memory, "milk tea", range=(0, START + 1), sources=["bm25"])
    assert narrowed == before


def test_the_graph_and_time_say_nothing_of_relevance(four: Memory) -> None:
    found = relevance(four, **QUESTION)
    assert found[2] == found[3] == 0.0
    assert found[0] > 0.0
    assert found[1] > 0.9
    assert relevance(four, sources=["time"]) == dict.fromkeys(range(4), 0.0)
    assert set(relevance(four, where={}).values()) == {0.0}


WORDS = st.sampled_from(["tea", "milk", "rye", "rain", "茶", "お茶", "the"])
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@pytest.mark.parametrize("lexical", ["bm25", "okapi", "bm25l", "bm25plus"])
@given(
    corpus=st.lists(TEXTS, min_size=1, max_size=8),
    question=TEXTS,
    k1=st.sampled_from([0.001, 0.5, 1.2, 100.0]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
    components=st.none() | st.lists(st.integers(-3, 3), min_size=2, max_size=2).filter(any),
)
@settings(max_examples=60, deadline=None)
def test_relevance_lies_between_nothing_and_one(
    lexical: Any, corpus: list[str], question: str, k1: float, b: float, components: Any
) -> None:
    config = MemoryConfig(lexical=lexical, bm25_k1=k1, bm25_b=b)
    with Memory.open(":memory:", config=config) as memory:
        memory.remember_many(
            {"text": text, "vector": [1.0, float(n)]} for n, text in enumerate(corpus)
        )
        memory.revise(0, "tea")
        memory.forget(0)
        memory.maintain()
        found = relevance(memory, question, vector=components, closed=True)
        assert all(0.0 <= one <= 1.0 for one in found.values())


@pytest.mark.parametrize("lexical", ["bm25", "okapi", "bm25l", "bm25plus"])
def test_an_empty_memory_explains_nothing(lexical: Any) -> None:
    with Memory.open(":memory:", config=MemoryConfig(lexical=lexical)) as memory:
        assert relevance(memory, "tea") == {}
        memory.remember("rain")
        assert relevance(memory, "tea") == {}
        assert relevance(memory, "tea", sources=["time"]) == {0: 0.0}


@pytest.mark.parametrize("namespace", [(), ("a",), ("a", "b")])
def test_a_scope_sees_the_relevance_of_its_own_facts(memory: Memory, namespace: Namespace) -> None:
    for one in [(), ("a",), ("a", "b")]:
        memory.remember("tea", namespace=one)
    found = relevance(memory, "tea", namespace=namespace)
    assert len(found) == 3 - len(namespace)
    assert len(set(found.values())) == 1


def test_a_vector_that_no_source_looks_for_leaves_tags_a_question_of_their_own(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory()
    memory.remember("tea", tags=["drink"], vector=[1.0, 0.0])
    result = memory.recall(vector=[1.0, 0.0], tags=["drink"], sources=["bm25", "time"])
    assert [(fact.text, fact.sources) for fact in result] == [("tea", ("time",))]
