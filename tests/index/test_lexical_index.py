"""The lexical index: rank-bm25's numbers on request, and what happens around BM25 itself."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from plugmem_core import Memory, MemoryConfig
from plugmem_core.config import PLAIN
from plugmem_core.index.lexical import LexicalIndex, discriminating
from plugmem_core.kernels import OPEN, FactTable, Scope
from plugmem_core.text import Analyzer, tokenize

SCORERS = {"okapi": BM25Okapi, "bm25l": BM25L, "bm25plus": BM25Plus}
LEXICALS = ["bm25", *SCORERS]
every_scorer = pytest.mark.parametrize("lexical", SCORERS)
every_lexical = pytest.mark.parametrize("lexical", LEXICALS)

ALL = Scope(valid_at=0, known_at=OPEN, expired_by=0, closed=False, unknown_closings=False)
EVERYTHING: dict[str, Any] = {"k": 1_000, "token_budget": None, "explain": True}


def memory_with(lexical: str, texts: Sequence[str], **knobs: float) -> Memory:
    memory = Memory.open(
        ":memory:",
        config=MemoryConfig(ranking="reference", lexical=lexical, **knobs),
        clock=lambda: 1_700_000_000_000,
    )
    # Keys, because equal texts would be stored once otherwise.
    memory.remember_many({"text": text, "key": str(place)} for place, text in enumerate(texts))
    return memory


def raw_scores(memory: Memory, query: str) -> list[tuple[int, float]]:
    """Return the lexical score of every fact recalled, best first."""
    result = memory.recall(query, **EVERYTHING)
    return [(fact.id, fact.evidence[0].raw) for fact in result.explanation.facts]


def rank_bm25(
    lexical: str, texts: Sequence[str], query: str, *, k1: float = 1.2, b: float = 0.75
) -> list[tuple[int, float]]:
    corpus, tokens = [tokenize(text) for text in texts], tokenize(query)
    scores = SCORERS[lexical](corpus, k1=k1, b=b).get_scores(tokens)
    sharing = [place for place, words in enumerate(corpus) if set(words) & set(tokens)]
    return sorted(
        ((place, scores[place]) for place in sharing), key=lambda pair: (-pair[1], pair[0])
    )


def assert_same_ranking(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> None:
    assert [fact for fact, _ in found] == [fact for fact, _ in expected]
    assert [score for _, score in found] == pytest.approx([s for _, s in expected], rel=1e-6)


TEXTS = [
    "the heater is set to nine degrees",
    "Tomatoes were planted in the greenhouse, tomatoes everywhere",
    "the greenhouse heater failed",
    "café opens at nine",
    "the the the",
    "nothing in common",
]


@every_scorer
@pytest.mark.parametrize(
    "query", ["heater", "the greenhouse heater", "tomatoes tomatoes nine", "cafe", "the absent"]
)
def test_scores_and_order_are_those_of_rank_bm25(lexical: str, query: str) -> None:
    found = raw_scores(memory_with(lexical, TEXTS), query)
    assert_same_ranking(found, rank_bm25(lexical, TEXTS, query))


@every_scorer
def test_the_knobs_reach_rank_bm25(lexical: str) -> None:
    memory = memory_with(lexical, TEXTS, bm25_k1=2.0, bm25_b=0.1)
    expected = rank_bm25(lexical, TEXTS, "the heater", k1=2.0, b=0.1)
    assert_same_ranking(raw_scores(memory, "the heater"), expected)


words = st.sampled_from(["ant", "bee", "cat", "dog", "elk", "fox"])
sentences = st.lists(words, min_size=1, max_size=6).map(" ".join)


@every_scorer
@settings(deadline=None, max_examples=25)
@given(texts=st.lists(sentences, min_size=1, max_size=8), query=sentences)
def test_any_corpus_is_scored_as_rank_bm25_scores_it(
    lexical: str, texts: Sequence[str], query: str
) -> None:
    found = raw_scores(memory_with(lexical, texts), query)
    assert_same_ranking(found, rank_bm25(lexical, texts, query))


@every_scorer
def test_superseded_facts_count_in_the_corpus_and_purged_ones_do_not(lexical: str) -> None:
    memory = memory_with(lexical, TEXTS)
    memory.revise(0, "the heater is set to twelve degrees")
    found = dict(raw_scores(memory, "heater degrees"))
    texts = [*TEXTS, "the heater is set to twelve degrees"]
    expected = dict(rank_bm25(lexical, texts, "heater degrees"))
    del expected[0]
    assert found == pytest.approx(expected, rel=1e-6)
    memory.forget(2)
    memory.maintain()
    kept = [text for place, text in enumerate(texts) if place != 2]
    expected = dict(rank_bm25(lexical, kept, "heater degrees"))
    assert dict(raw_scores(memory, "heater degrees"))[6] == pytest.approx(expected[5], rel=1e-6)


@every_scorer
def test_reopening_gives_the_same_scores(lexical: str, tmp_path: Path) -> None:
    config = MemoryConfig(lexical=lexical)
    with Memory.open(tmp_path / "m", config=config) as memory:
        memory.remember_many({"text": text} for text in TEXTS)
        before = raw_scores(memory, "the heater")
    with Memory.open(tmp_path / "m", config=config) as memory:
        assert raw_scores(memory, "the heater") == before


@every_lexical
def test_an_empty_corpus_and_a_query_without_a_match_find_nothing(lexical: str) -> None:
    memory = memory_with(lexical, [])
    assert memory.recall("anything").facts == ()
    memory.remember("!!!")
    assert memory.recall("anything").facts == ()
    memory.remember("something")
    assert memory.recall("anything").facts == ()
    assert memory.recall("...").facts == ()
    assert [fact.text for fact in memory.recall("something").facts] == ["something"]
    memory.forget_many([0, 1])
    memory.maintain()
    assert memory.recall("something").facts == ()


@every_lexical
def test_filters_act_before_the_cut(lexical: str) -> None:
    texts = [f"{'word ' * 3}filler {number}" for number in range(300)]
    memory = memory_with(lexical, texts)
    memory.remember("a word", tags=["rare"])
    memory.remember("one more word among a good many others", tags=["rare"])
    found = memory.recall("word", tags=["rare"]).facts
    assert [fact.id for fact in found] == [300, 301]


# -- the stop-frequency guard


def index_of(texts: Sequence[str]) -> Callable[[str], list[tuple[int, float]]]:
    index, facts = LexicalIndex(MemoryConfig(), Analyzer(PLAIN)), FactTable()
    for fact, text in enumerate(texts):
        index.add(fact, text)
        facts.put(fact, 0, 0, 0, 0, OPEN, OPEN, OPEN, 0, forgotten=False)
    return lambda query: index.search(tokenize(query), 10_000, facts, ALL).items()


@pytest.mark.parametrize(
    ("common", "documents", "too_frequent"),
    [
        (1_025, 3_000, True),
        (1_024, 3_000, False),  # at the floor
        (1_100, 8_800, False),  # exactly an eighth
        (1_100, 8_799, True),
    ],
)
def test_a_word_nearly_everywhere_is_left_out_beside_a_rarer_one(
    common: int, documents: int, too_frequent: bool
) -> None:
    texts = [f"common n{number}" if number < common else "filler" for number in range(documents)]
    search = index_of(texts)
    found = search("common n7")
    if too_frequent:
        assert found == search("n7")
    else:
        assert (len(found), found[0][0]) == (common, 7)


def test_of_words_that_are_all_too_frequent_the_rarest_is_kept_once() -> None:
    texts = ["one two" if number < 1_100 else "one" for number in range(1_300)]
    search = index_of(texts)
    assert search("one two two") == search("two")
    assert len(search("two")) == 1_100


def test_the_first_of_equally_rare_words_is_kept() -> None:
    assert discriminating([7, 8, 9], [3_000, 2_000, 2_000], 4_000) == [8]
    assert discriminating([7, 8, 7], [5, 2_000, 5], 4_000) == [7, 7]


# -- one CJK character


@every_lexical
def test_a_single_cjk_character_finds_the_words_that_contain_it(lexical: str) -> None:
    memory = memory_with(lexical, ["東京都に住む", "大阪の城", "京", "plain words"])
    assert {fact.id for fact in memory.recall("京").facts} == {0, 2}
    assert {fact.id for fact in memory.recall("阪 words").facts} == {1, 3}
    assert memory.recall("名").facts == ()
