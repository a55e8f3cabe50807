"""`recall`: conditions act on every source, limits and budgets hold, and scores add up."""

import copy
import itertools
import pickle
from pathlib import Path
from typing import Any, Never

import pytest
from clocks import DAY, START, Clock
from conftest import OpenMemory
from looking import reasons

from plugmem_core import (
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    RecallResult,
    VectorSpaceError,
)

SOURCES: dict[str, dict[str, Any]] = {
    "bm25": {"text": "tea"},
    "vector": {"vector": [1.0, 0.0]},
    "graph": {"entities": ["shop"]},
    "time": {"range": (0, START + 10 * DAY)},
}
"""One question per source; each finds every fact of the shelf that is admitted."""

METADATA: list[dict[str, Any]] = [
    {"n": 0},
    {"n": 1},
    {"n": 2, "deep": {"er": "x"}},
    {},
    {"n": 4},
]
COMBINED = {**SOURCES["bm25"], **SOURCES["vector"], **SOURCES["graph"], **SOURCES["time"]}


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
def shelf(memory: Memory, clock: Clock) -> Memory:
    """Six facts of successive days, alike to every source; 1 is superseded by 5, 4 is below."""
    for i in range(5):
        memory.remember(
            "green tea" if i < 4 else "tea green",
            entity="Shop" if i else None,
            key=str(i),
            tags=[["hot", "green"], ["green"], ["Hot"], [], ["hot"]][i],
            metadata=METADATA[i],
            vector=[1.0, i / 100],
            namespace=() if i < 4 else ("below",),
        )
        clock.tick(DAY)
    memory.link("Shop", "sells", "Leaves", provenance=0)
    memory.revise(1, "green tea again")
    return memory


def ids(result: RecallResult) -> list[int]:
    return [fact.id for fact in result.facts]


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_alone_finds_all_it_may_see(shelf: Memory, source: str) -> None:
    result = shelf.recall(**SOURCES[source])
    assert sorted(ids(result)) == [0, 2, 3, 4, 5]
    assert {fact.sources for fact in result.facts} == {(source,)}


@pytest.mark.parametrize("source", [*SOURCES, "combined"])
@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"tags": ["hot"]}, {0, 4}),
        ({"tags": ["hot", "green"]}, {0}),
        ({"tags": ["unknown"]}, set()),
        ({"any_tags": ["Hot", "green"]}, {0, 2, 5}),
        ({"any_tags": ["unknown", "green"]}, {0, 5}),
        ({"not_tags": ["green"]}, {2, 3, 4}),
        ({"not_tags": ["green", "hot", "Hot"]}, {3}),
        ({"not_tags": ["unknown"]}, {0, 2, 3, 4, 5}),
        ({"tags": ["green"], "any_tags": ["hot", "Hot"], "not_tags": ["Hot"]}, {0}),
        ({"where": {"n": 2}}, {2}),
        ({"where": {"n": {"$gte": 2}}}, {2, 4}),
        ({"where": {"n": {"$exists": False}}}, {3}),
        ({"where": {"deep.er": {"$like": "_"}}}, {2}),
        ({"where": {"$or": [{"n": 0}, {"n": {"$in": [4, "2"]}}]}}, {0, 4}),
        ({"where": {"$not": {"n": {"$lt": 2}}}}, {2, 3, 4}),
        ({"where": {"n": {"$ne": 0}}, "tags": ["hot"]}, {4}),
        ({"closed": True}, {0, 1, 2, 3, 4, 5}),
        ({"closed": True, "tags": ["green"]}, {0, 1, 5}),
        ({"namespace": ("below",)}, {4}),
        ({"namespace": ("bel",)}, set()),
        ({"as_of": START + 2 * DAY}, {0, 1, 2}),
        ({"as_of": START + 2 * DAY, "where": {"n": {"$lte": 1}}}, {0, 1}),
        ({"known_at": START + 3 * DAY}, {0, 1, 2, 3}),
        ({"valid_at": START + 4 * DAY}, {0, 1, 2, 3, 4}),
    ],
    ids=str,
)
def test_conditions_act_on_every_source(
    shelf: Memory, source: str, conditions: dict[str, Any], expected: set[int]
) -> None:
    question = COMBINED if source == "combined" else SOURCES[source]
    if source == "graph" and {"as_of", "known_at", "valid_at"} & conditions.keys():
        expected = expected - {0}  # only an edge leads to it, and that is younger
    assert set(ids(shelf.recall(**question, **conditions))) == expected


# --- conditions alone -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"tags": ["green"]}, [5, 0]),
        ({"any_tags": ["hot", "Hot"]}, [4, 2, 0]),
        ({"not_tags": ["green"]}, [4, 3, 2]),
        ({"where": {"n": {"$gt": 0}}}, [5, 4, 2]),
        ({"where": {}}, [5, 4, 3, 2, 0]),
        ({"tags": ["hot"], "where": {"n": 0}}, [0]),
        ({"tags": ["green"], "closed": True}, [5, 1, 0]),
        ({"tags": ["green"], "as_of": START + DAY}, [1, 0]),
        ({"tags": ["hot"], "namespace": ("below",)}, [4]),
        ({"tags": ["hot"], "text": "?!"}, [4, 0]),
        ({"tags": ["unknown"]}, []),
    ],
    ids=str,
)
def test_conditions_alone_answer_with_the_newest(
    shelf: Memory, conditions: dict[str, Any], expected: list[int]
) -> None:
    result = shelf.recall(**conditions)
    assert ids(result) == expected
    assert {fact.sources for fact in result.facts} <= {("time",)}


def test_conditions_alone_respect_k(shelf: Memory) -> None:
    result = shelf.recall(where={}, k=2)
    assert (ids(result), result.truncated) == ([5, 4], True)


def test_nothing_asked_is_an_error(shelf: Memory) -> None:
    for arguments in ({}, {"tags": ()}, {"closed": True}, {"namespace": ("below",)}):
        with pytest.raises(InvalidInputError, match="nothing was asked"):
            shelf.recall(**arguments)


def test_words_that_occur_nowhere_find_nothing(shelf: Memory) -> None:
    assert ids(shelf.recall("coffee")) == []
    assert ids(shelf.recall("coffee", tags=["hot"])) == []
    assert ids(shelf.recall("")) == []


def test_any_text_is_a_question_and_none_of_it_is_syntax(shelf: Memory) -> None:
    for text in ('tea"', "tea AND (", "tea*", "-tea", "tea:", "tea'; DROP TABLE facts", "%tea%"):
        assert ids(shelf.recall(text)) != [], text


# --- limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [*SOURCES, "combined"])
@pytest.mark.parametrize("k", [5, 6, 129, 1_000_000, 4_000_000_000])
def test_k_beyond_what_there_is_returns_all(shelf: Memory, source: str, k: int) -> None:
    question = COMBINED if source == "combined" else SOURCES[source]
    result = shelf.recall(**question, k=k, token_budget=None)
    assert sorted(ids(result)) == [0, 2, 3, 4, 5]
    assert not result.truncated


@pytest.mark.parametrize("source", ["bm25", "vector", "graph", "time"])
def test_k_above_the_candidates_of_a_source_returns_as_many(memory: Memory, source: str) -> None:
    memory.remember_many(
        {"text": f"tea {i}", "entity": "Shop", "vector": [1.0, i / 1000]} for i in range(400)
    )
    result = memory.recall(**SOURCES[source], k=300, token_budget=None)
    assert len(set(ids(result))) == 300
    assert result.truncated


@pytest.mark.parametrize("k", [1, 2, 4])
def test_fewer_are_the_first_of_more(shelf: Memory, k: int) -> None:
    everything = ids(shelf.recall(**COMBINED, k=99))
    result = shelf.recall(**COMBINED, k=k)
    assert (ids(result), result.truncated) == (everything[:k], True)


@in_the_reference
def test_the_token_budget_counts_a_quarter_of_the_bytes_and_eight(memory: Memory) -> None:
    # Texts of 40, 7 and 7 bytes cost 18, 9 and 9 tokens.
    for text in ("heater " + "x" * 33, "heater1", "heater2"):
        memory.remember(text, tags=["t"], metadata={"heater": text})
    assert ids(memory.recall(tags=["t"], token_budget=None)) == [2, 1, 0]
    found = {
        budget: (ids(result), result.truncated)
        for budget in (0, 8, 9, 17, 18, 35, 36)
        for result in [memory.recall(tags=["t"], token_budget=budget)]
    }
    assert found == {
        0: ([], True),
        8: ([], True),
        9: ([2], True),
        17: ([2], True),
        18: ([2, 1], True),
        35: ([2, 1], True),
        36: ([2, 1, 0], False),
    }


@in_the_reference
def test_nothing_after_the_first_fact_over_budget_is_taken(memory: Memory) -> None:
    memory.remember("short")
    memory.remember("heater " * 100, tags=["t"])
    memory.remember("heater", tags=["t"])
    result = memory.recall(range=(0, START + 1), token_budget=30)
    assert (ids(result), result.truncated) == ([2], True)


def test_no_budget_is_no_limit(memory: Memory) -> None:
    memory.remember_many({"text": f"heater {i} " + "x" * 2_000} for i in range(8))
    assert len(memory.recall("heater").facts) < 8
    assert len(memory.recall("heater", token_budget=None).facts) == 8


@in_the_reference
def test_the_budget_counts_bytes_not_characters(memory: Memory) -> None:
    memory.remember("ч" * 20)  # 40 bytes: 18 tokens
    assert ids(memory.recall("ч" * 20, token_budget=17)) == []
    assert ids(memory.recall("ч" * 20, token_budget=18)) == [0]


def test_a_least_score_leaves_out_what_is_below_it(shelf: Memory) -> None:
    scores = [fact.score for fact in shelf.recall(**COMBINED).facts]
    assert scores == sorted(scores, reverse=True)
    cut = scores[2]
    assert ids(shelf.recall(**COMBINED, min_score=cut)) == ids(shelf.recall(**COMBINED))[:3]
    assert ids(shelf.recall(**COMBINED, min_score=0)) == ids(shelf.recall(**COMBINED))
    above = shelf.recall(**COMBINED, min_score=scores[0] + 1e-6)
    assert (ids(above), above.truncated) == ([], False)


def test_facts_below_the_least_score_do_not_count_as_left_out(shelf: Memory) -> None:
    first = shelf.recall(**COMBINED).facts[0]
    result = shelf.recall(**COMBINED, k=1, min_score=first.score)
    assert (ids(result), result.truncated) == ([first.id], False)


# --- what a recalled fact shows ---------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_a_recalled_fact_carries_all_of_the_fact(shelf: Memory, source: str) -> None:
    for fact in shelf.recall(**SOURCES[source], closed=True).facts:
        stored = shelf.get(fact.id)
        assert stored is not None
        assert fact[:12] == stored[:]
        assert fact.score >= 0
        assert fact.sources == (source,)


def test_metadata_of_a_recalled_fact_is_a_copy(shelf: Memory) -> None:
    shelf.recall("tea", tags=["Hot"]).facts[0].metadata["deep"]["er"] = "changed"
    assert shelf.recall("tea", tags=["Hot"]).facts[0].metadata["deep"] == {"er": "x"}


def test_edges_are_met_once_and_bounded_by_depth(memory: Memory) -> None:
    for src, dst in itertools.pairwise("abcde"):
        memory.link(src, "next", dst)
    for depth in range(6):
        edges = memory.recall(entities=["a"], graph_depth=depth).edges
        assert [(e.src, e.dst) for e in edges] == list(itertools.pairwise("abcde"))[:depth]
    both = memory.recall(entities=["c", "C"], graph_depth=1).edges
    assert [(e.src, e.dst) for e in both] == [("c", "d"), ("b", "c")]


def test_cycles_and_self_loops_end(memory: Memory) -> None:
    for src, dst in (("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")):
        memory.link(src, "r", dst)
    assert len(memory.recall(entities=["a"], graph_depth=1_000).edges) == 4


def test_names_in_the_text_are_anchors_unless_switched_off(shelf: Memory) -> None:
    auto = shelf.recall("what does the SHOP sell?", explain=True)
    assert reasons(auto).anchors == ("Shop", "Shop")  # there is one in each namespace
    assert 0 in ids(auto)
    given = shelf.recall("what does the SHOP sell?", anchors="given")
    assert (ids(given), given.edges) == ([], ())
    named = shelf.recall("what?", anchors="given", entities=["shop"])
    assert named.edges[0].src == "Shop"


def test_the_longest_name_in_the_text_counts(memory: Memory) -> None:
    memory.remember("one", entity="York")
    memory.remember("two", entity="New York")
    memory.remember("three", entity="New York Times")
    result = memory.recall("who reads the new york times?", explain=True)
    assert reasons(result).anchors == ("New York Times",)
    result = memory.recall("from New  YORK to york", explain=True)
    assert reasons(result).anchors == ("New York", "York")


def test_unknown_entities_are_skipped(shelf: Memory) -> None:
    assert ids(shelf.recall(entities=["nobody"])) == []
    assert ids(shelf.recall(entities=["nobody", "shop"])) == ids(shelf.recall(entities=["shop"]))


# --- explanations -----------------------------------------------------------------------------


@in_the_reference
@pytest.mark.parametrize("source", [*SOURCES, "combined"])
def test_contributions_times_boost_are_the_score(shelf: Memory, clock: Clock, source: str) -> None:
    clock.tick(100 * DAY)
    question = COMBINED if source == "combined" else SOURCES[source]
    result = shelf.recall(**question, explain=True)
    assert result.explanation is not None
    assert [one.id for one in reasons(result).facts] == ids(result)
    for fact in result.facts:
        explained = reasons(result)[fact.id]
        total = sum(evidence.contribution for evidence in explained.evidence)
        assert explained.score == fact.score
        assert total * explained.boost == pytest.approx(fact.score, rel=1e-5)
        assert tuple(evidence.source for evidence in explained.evidence) == fact.sources
        for evidence in explained.evidence:
            assert evidence.contribution == pytest.approx(1 / (60 + evidence.rank))
        age = clock.now - fact.recorded_at
        assert explained.boost == pytest.approx(1 + 0.25 * 2 ** (-age / (180 * DAY)))


def test_ranks_of_a_source_are_places_from_one(shelf: Memory) -> None:
    result = shelf.recall(**SOURCES["vector"], explain=True)
    ranks = {one.id: one.evidence[0].rank for one in reasons(result).facts}
    assert ranks == {0: 1, 5: 2, 2: 3, 3: 4, 4: 5}  # vectors (1, i / 100); 5 has that of 1
    assert reasons(result).candidates == {"bm25": 0, "vector": 5, "graph": 0, "time": 0}


@in_the_reference
def test_weights_of_the_configuration_show_in_contributions(open_memory: OpenMemory) -> None:
    memory = open_memory(config=MemoryConfig(w_bm25=3.0, rrf_k=10, w_recency=0))
    memory.remember("green tea")
    explanation = memory.recall("tea", explain=True).explanation
    assert explanation is not None
    explained = explanation[0]
    assert explained.evidence[0].contribution == pytest.approx(3 / 11)
    assert explained.boost == 1
    assert explained.score == pytest.approx(3 / 11)


def test_explanations_cost_only_those_who_ask(shelf: Memory) -> None:
    assert shelf.recall("tea").explanation is None
    explanation = shelf.recall("tea", explain=True).explanation
    assert explanation is not None
    with pytest.raises(KeyError):
        explanation[99]


# --- vectors ----------------------------------------------------------------------------------


def test_a_vector_of_another_size_is_a_typed_error(shelf: Memory) -> None:
    with pytest.raises(VectorSpaceError, match=r"3 components.*have 2"):
        shelf.recall(vector=[1, 0, 0])


def test_a_vector_search_without_vectors_finds_nothing(memory: Memory) -> None:
    memory.remember("green tea")
    assert ids(memory.recall(vector=[1, 2, 3])) == []
    assert ids(memory.recall("tea", vector=[1, 2, 3])) == [0]


def test_an_embedder_makes_the_question_a_vector(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder(64))
    memory.remember_many([{"text": "green tea"}, {"text": "rye bread"}])
    assert memory.recall("tea").facts[0].sources == ("bm25", "vector")


def test_text_recall_goes_on_under_another_embedder(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    with open_memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as memory:
        memory.remember("green tea")
    memory = open_memory(tmp_path / "m.db", embedder=HashingEmbedder(32))
    result = memory.recall("tea", explain=True)
    assert (ids(result), result.facts[0].sources) == ([0], ("bm25",))
    assert "hashing-64" in reasons(result).notes[0] or "64" in reasons(result).notes[0]
    with pytest.raises(VectorSpaceError):
        memory.recall(vector=[1.0] * 32)


def test_text_recall_goes_on_when_the_embedder_fails(open_memory: OpenMemory) -> None:
    class Failing(HashingEmbedder):
        def embed_query(self, text: str) -> Never:
            raise ConnectionError("no route to the model")

    embedder = Failing(2)
    memory = open_memory(embedder=embedder)
    memory.remember("green tea", vector=[1, 0])
    result = memory.recall("tea", explain=True)
    assert ids(result) == [0]
    assert "no route to the model" in reasons(result).notes[0]


# --- the same answer everywhere ---------------------------------------------------------------


def test_answers_do_not_depend_on_what_happened_to_the_index(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    clock = Clock()
    memory = open_memory(tmp_path / "m.db", clock=clock)
    for i in range(60):
        clock.tick(DAY)
        memory.remember(
            f"tea number {i} of shop {i % 5}", entity=f"shop {i % 5}", tags=[f"t{i % 3}"],
            links=[("near", f"shop {(i + 1) % 5}")], vector=[1, i % 4, i % 3],
        )  # fmt: skip
    memory.forget_many([3, 30])
    memory.revise(5, "tea is gone")
    memory.rename_tag("t1", "t9")

    def answers(memory: Memory) -> list[Any]:
        return [
            memory.recall("tea shop 3", vector=[1, 2, 0], range=(0, clock.now), k=k, **conditions)
            for k in (3, 20)
            for conditions in ({}, {"tags": ["t9"]}, {"as_of": START + 20 * DAY})
        ]

    before = answers(memory)
    memory.rebuild()
    assert answers(memory) == before
    memory.checkpoint()
    reader = open_memory(tmp_path / "m.db", clock=clock, read_only=True)
    assert answers(reader) == before
    memory.close()
    assert answers(open_memory(tmp_path / "m.db", clock=clock)) == before


def test_a_result_can_be_pickled_with_its_edges_and_nothing_else(memory: Memory) -> None:
    memory.remember("Mara likes tea", entity="Mara")
    memory.link("Mara", "knows", "Ivo")
    memory.remember("else", entity="Somebody Secret", namespace=("else",))
    found = memory.recall("Mara", namespace=(), below=False, explain=True)
    pickled = pickle.dumps(found)
    assert b"Secret" not in pickled
    again = pickle.loads(pickled)
    assert (again, again.rendered, again.edges) == (found, found.rendered, found.edges)
    assert len(again.edges) == 1
    assert copy.deepcopy(found) == found


def test_edges_are_as_they_were_at_the_recall_whenever_they_are_looked_at(
    open_memory: OpenMemory, clock: Clock
) -> None:
    memory = open_memory()
    memory.remember("Mara visits the shop", entity="Mara", links=[("visits", "shop")])
    at_once, late, copied = (memory.recall(entities=["Mara"]) for _ in range(3))
    edges, rendered = at_once.edges, at_once.rendered
    assert [(edge.src, edge.relation, edge.dst) for edge in edges] == [("Mara", "visits", "shop")]
    clock.now += DAY
    memory.rename_entity("Mara", "Mara Holt")
    memory.unlink("Mara Holt", "visits", "shop")
    memory.forget(0)
    memory.maintain()
    assert (late.rendered, late.edges) == (rendered, edges)
    assert late == at_once
    for other in (pickle.loads(pickle.dumps(copied)), copy.deepcopy(late), copy.copy(late)):
        assert (other, other.rendered, repr(other)) == (at_once, rendered, repr(at_once))


def test_lines_of_edges_follow_a_change_of_name(memory: Memory) -> None:
    memory.link("Mara", "visits", "shop")
    assert "- links: Mara —visits→ shop" in memory.recall(entities=["shop"]).rendered
    memory.rename_entity("Mara", "Mara Holt")
    assert "- links: Mara Holt —visits→ shop" in memory.recall(entities=["shop"]).rendered
