"""The kernel's BM25 against the formula written down again, and against rank-bm25."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from plugmem_core.kernels import FactTable, IdLists, IdSet, Lexical, Scope

from .tables import ALL, EVERY_FACT, facts, put, scope

Corpus: TypeAlias = list[list[str]]

K1, B = 1.2, 0.75
PRECISION = 1e-5  # a sum of a few single-precision terms


def index_of(corpus: Corpus) -> Lexical:
    index = Lexical()
    for document, words in enumerate(corpus):
        index.add_tokens(document, list(words))
    return index


def search(
    index: Lexical,
    query: Sequence[str],
    table: FactTable,
    *,
    k1: float = K1,
    b: float = B,
    limit: int = EVERY_FACT,
    view: Scope = ALL,
) -> list[tuple[int, float]]:
    terms, _ = index.lookup(list(query))
    return index.search(terms, k1, b, limit, table, view).items()


def bm25(corpus: Corpus, query: Sequence[str], k1: float, b: float) -> dict[int, float]:
    """Score every document that has a word of the query, in double precision."""
    counts = [Counter(words) for words in corpus]
    frequencies = [{word: min(tf, 255) for word, tf in count.items()} for count in counts]
    lengths = [min(sum(tf.values()), 65_534) for tf in frequencies]
    average = sum(lengths) / len(corpus)
    scores: dict[int, float] = {}
    holders: dict[str, list[int]] = {}
    for document, words in enumerate(frequencies):
        for word in words:
            holders.setdefault(word, []).append(document)
    for word in query:
        df = len(holders.get(word, ()))
        idf = math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
        for document in holders.get(word, ()):
            tf = frequencies[document][word]
            norm = k1 * (1 - b + b * lengths[document] / average)
            part = idf * tf * (k1 + 1) / (tf + norm)
            scores[document] = scores.get(document, 0.0) + part
    return scores


FRUIT = ["apple banana", "apple apple banana cherry", "banana cherry date elder fig", "apple"]


def test_worked_scores() -> None:
    corpus = [text.split() for text in FRUIT]
    index, table = index_of(corpus), facts(range(4))
    found = search(index, ["apple"], table)
    assert [document for document, _ in found] == [3, 1, 0]
    assert [score for _, score in found] == pytest.approx([0.490428, 0.448391, 0.412992], abs=1e-6)
    assert [d for d, _ in search(index, ["banana", "apple"], table)] == [0, 1, 3, 2]
    assert [d for d, _ in search(index, ["cherry", "cherry", "banana"], table)] == [1, 2, 0]


words = st.sampled_from("abcdefgh")
corpora = st.lists(st.lists(words, max_size=12), min_size=1, max_size=12)
queries = st.lists(st.sampled_from("abcdefghz"), min_size=1, max_size=5)
parameters = st.tuples(
    st.sampled_from([0.5, 1.2, 2.0, 50.0]), st.sampled_from([0.0, 0.3, 0.75, 1.0])
)


@settings(deadline=None)
@given(corpora, queries, parameters)
def test_scores_are_the_formula(
    corpus: Corpus, query: Sequence[str], knobs: tuple[float, float]
) -> None:
    found = search(index_of(corpus), query, facts(range(len(corpus))), k1=knobs[0], b=knobs[1])
    assert dict(found) == pytest.approx(bm25(corpus, query, *knobs), rel=PRECISION)
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


@given(corpora, queries, parameters)
def test_chosen_documents_get_the_scores_of_a_search(
    corpus: Corpus, query: Sequence[str], knobs: tuple[float, float]
) -> None:
    index = index_of(corpus)
    found = dict(search(index, query, facts(range(len(corpus))), k1=knobs[0], b=knobs[1]))
    terms, _ = index.lookup(list(query))
    chosen = [*range(len(corpus) + 2)]
    assert index.scores(terms, *knobs, chosen) == [found.get(one, 0.0) for one in chosen]


def test_documents_that_hold_one_of_some_terms() -> None:
    index = index_of([text.split() for text in FRUIT])
    terms, _ = index.lookup(["cherry", "fig", "unknown"])
    assert index.holds(terms, [3, 2, 1, 9]) == [False, True, True, False]
    assert index.holds([], [0, 1]) == [False, False]


@settings(deadline=None)
@given(
    st.lists(st.lists(words, max_size=6), min_size=1, max_size=250),
    queries,
    st.integers(1, 90),
    st.data(),
)
def test_a_limit_under_admission_keeps_the_best_admitted(
    corpus: Corpus, query: Sequence[str], limit: int, data: st.DataObject
) -> None:
    size = len(corpus)
    index, table = index_of(corpus), facts(range(size))
    chosen = data.draw(st.sets(st.integers(0, size - 1)))
    allowed = IdSet(size)
    for document in chosen:
        allowed.add(document)
    view = scope()
    view.restrict_facts(allowed)
    everything = search(index, query, table)
    expected = [pair for pair in everything if pair[0] in chosen][:limit]
    assert search(index, query, table, limit=limit, view=view) == expected


@pytest.mark.parametrize("chosen", [range(0, 5_000, 7), (3, 2_900, 4_999)])
def test_few_allowed_are_found_among_many_postings(chosen: Sequence[int]) -> None:
    rng = np.random.default_rng(4)
    corpus = [[f"w{n}" for n in rng.zipf(1.3, size=15) % 50] for _ in range(5_000)]
    index, table, allowed = index_of(corpus), facts(range(5_000)), IdSet(5_000)
    for document in chosen:
        allowed.add(document)
    view = scope()
    view.restrict_facts(allowed)
    for query in (["w1"], ["w1", "w2", "w49"], ["w7", "w1", "w7", "w3"]):
        expected = [pair for pair in search(index, query, table) if pair[0] in set(chosen)]
        assert search(index, query, table, view=view) == expected


def test_stopping_early_finds_what_adding_up_everything_finds() -> None:
    rng = np.random.default_rng(6)
    corpus = [[f"w{n}" for n in rng.zipf(1.3, size=15) % 500] for _ in range(3_000)]
    index, table = index_of(corpus), facts(range(3_000))
    for _ in range(150):
        query = [f"w{n}" for n in rng.zipf(1.3, size=int(rng.integers(2, 12))) % 500]
        everything = search(index, query, table)
        for limit in (1, 10, 128):
            assert search(index, query, table, limit=limit) == everything[:limit]


def test_a_limit_of_none_finds_nothing() -> None:
    corpus = [["a"]] * 200
    assert search(index_of(corpus), ["a"], facts(range(200)), limit=0) == []


def test_equal_scores_are_ordered_by_id_at_the_cut() -> None:
    corpus = [["a", "b"]] * 500
    found = search(index_of(corpus), ["a"], facts(range(500)), limit=128)
    assert [document for document, _ in found] == list(range(128))


def test_documents_the_table_does_not_hold_are_counted_but_not_found() -> None:
    corpus = [text.split() for text in FRUIT]
    found = search(index_of(corpus), ["apple"], facts([1]))
    assert dict(found) == pytest.approx({1: 0.448391}, abs=1e-6)


def test_a_word_given_twice_counts_twice() -> None:
    corpus = [text.split() for text in FRUIT]
    index, table = index_of(corpus), facts(range(4))
    once, twice = dict(search(index, ["fig"], table)), dict(search(index, ["fig", "fig"], table))
    assert twice[2] == pytest.approx(2 * once[2], rel=PRECISION)


def test_term_frequency_saturates_at_255_and_so_does_its_part_of_the_length() -> None:
    corpus = [["a"] * 300, ["a"] * 255, ["a", "b"], ["c"]]
    found = dict(search(index_of(corpus), ["a"], facts(range(4))))
    assert found[0] == found[1]
    assert found == pytest.approx(bm25(corpus, ["a"], K1, B), rel=PRECISION)


def test_very_long_documents_are_scored_by_a_saturated_length() -> None:
    long = [f"w{number}" for number in range(280) for _ in range(255)]  # 71,400 tokens
    corpus = [long, ["w0", "b"], [f"w{number}" for number in range(300)], ["b"] * 254 + ["c"]]
    index, table = index_of(corpus), facts(range(4))
    for query in (["w0"], ["b"], ["c", "w0", "w279"]):
        found = dict(search(index, query, table))
        assert found == pytest.approx(bm25(corpus, query, K1, B), rel=PRECISION)


def test_documents_without_words_count() -> None:
    corpus = [["a"], [], ["a", "b"], []]
    found = dict(search(index_of(corpus), ["a"], facts(range(4))))
    assert found == pytest.approx(bm25(corpus, ["a"], K1, B), rel=PRECISION)


def test_an_empty_index_and_a_query_without_known_words_find_nothing() -> None:
    assert search(Lexical(), ["a"], facts([])) == []
    assert search(index_of([[], []]), ["a"], facts(range(2))) == []
    assert search(index_of([["a"]]), [], facts([0])) == []


def test_a_document_for_a_query_is_searched_term_by_term() -> None:
    rng = np.random.default_rng(4)
    vocabulary = [f"w{number}" for number in range(6_000)]
    corpus = [rng.choice(vocabulary, size=30).tolist() for _ in range(2_000)]
    index, table = index_of(corpus), facts(range(2_000))
    query = rng.permutation(vocabulary).tolist()  # looked up pairwise, this would take minutes
    found = search(index, query, table, limit=50)
    expected = bm25(corpus, query, K1, B)
    assert dict(found) == pytest.approx({fact: expected[fact] for fact, _ in found}, rel=1e-4)
    worst = min(score for _, score in found)
    left_out = max(score for fact, score in expected.items() if fact not in dict(found))
    assert left_out <= worst * 1.0001


def test_lookup_keeps_order_and_repeats_and_drops_unknown_words() -> None:
    index = index_of([["a", "b"], ["b"]])
    terms, frequencies = index.lookup(["b", "x", "a", "b"])
    assert (len(terms), terms[0], frequencies) == (3, terms[2], [2, 1, 2])


def test_a_search_for_an_unknown_term_fails_and_leaves_nothing_behind() -> None:
    index, table = index_of([["a", "b"], ["b"]]), facts(range(2))
    expected = search(index, ["b"], table)
    terms, _ = index.lookup(["a"])
    with pytest.raises(IndexError):
        index.search([*terms, 10**6], K1, B, 9, table, ALL)
    assert search(index, ["b"], table) == expected


# -- rank-bm25
#
# Its three scorers differ from ours, and from one another, as follows; `idf` is a table in
# each of them, so ours can be put in its place:
#   BM25Okapi    another idf, ln((N - df + 0.5) / (df + 0.5)), floored where it is negative;
#                the same share of tf and length
#   BM25Plus     another idf, ln((N + 1) / df), and a constant `delta` for every document;
#                with delta = 0 the same share
#   BM25L        another idf, ln((N + 1) / (df + 0.5)); with delta = 0 its share is ours
#                multiplied by tf once more, so it agrees where every word occurs once


def our_idf(corpus: Corpus, word: str) -> float:
    df = sum(word in document for document in corpus)
    return math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))


def with_our_idf(model: Any, corpus: Corpus) -> Any:
    model.idf = {word: our_idf(corpus, word) for document in corpus for word in document}
    return model


def matching(
    scores: npt.NDArray[np.float64], corpus: Corpus, query: Sequence[str]
) -> dict[int, float]:
    return {
        document: score
        for document, score in enumerate(scores.tolist())
        if set(query) & set(corpus[document])
    }


wordy = st.lists(st.lists(words, max_size=12), min_size=1, max_size=12).filter(any)


@settings(deadline=None)
@given(wordy, queries)
def test_scores_are_those_of_rank_bm25_okapi_and_plus_but_for_idf(
    corpus: Corpus, query: Sequence[str]
) -> None:
    found = dict(search(index_of(corpus), query, facts(range(len(corpus)))))
    for model in (BM25Okapi(corpus, k1=K1, b=B), BM25Plus(corpus, k1=K1, b=B, delta=0)):
        scores = with_our_idf(model, corpus).get_scores(query)
        assert found == pytest.approx(matching(scores, corpus, query), rel=PRECISION)


@settings(deadline=None)
@given(wordy, st.sampled_from("abcdefgh"))
def test_a_single_word_is_ranked_as_rank_bm25_okapi_ranks_it(corpus: Corpus, word: str) -> None:
    model = BM25Okapi(corpus, k1=K1, b=B)
    if model.idf.get(word, 0) <= 0:  # floored, or negative
        return
    found = dict(search(index_of(corpus), [word], facts(range(len(corpus)))))
    ratio = our_idf(corpus, word) / model.idf[word]
    expected = matching(model.get_scores([word]) * ratio, corpus, [word])
    assert found == pytest.approx(expected, rel=PRECISION)


@settings(deadline=None)
@given(st.lists(st.sets(words), min_size=1, max_size=12).filter(any), queries)
def test_scores_are_those_of_rank_bm25_l_where_no_word_repeats(
    documents: list[set[str]], query: Sequence[str]
) -> None:
    corpus = [sorted(document) for document in documents]
    found = dict(search(index_of(corpus), query, facts(range(len(corpus)))))
    model = with_our_idf(BM25L(corpus, k1=K1, b=B, delta=0), corpus)
    expected = matching(model.get_scores(query), corpus, query)
    assert found == pytest.approx(expected, rel=PRECISION)


# -- change


@settings(deadline=None)
@given(corpora, st.lists(st.sets(st.integers(0, 15), max_size=6), max_size=3), corpora, queries)
def test_removed_documents_leave_every_statistic(
    corpus: Corpus, removals: list[set[int]], later: list[list[str]], query: Sequence[str]
) -> None:
    index, kept = index_of(corpus), dict(enumerate(corpus))
    for removal in removals:
        index.remove(sorted(removal))
        kept = {document: text for document, text in kept.items() if document not in removal}
    for number, text in enumerate(later, start=len(corpus)):
        index.add_tokens(number, text)
        kept[number] = text
    order = sorted(kept)
    expected = bm25([kept[document] for document in order], query, K1, B)
    found = search(index, query, facts(order))
    assert dict(found) == pytest.approx(
        {order[place]: score for place, score in expected.items()}, rel=PRECISION
    )
    assert index.documents() == len(kept)
    assert index.terms() == len({word for text in kept.values() for word in text})
    for document in range(len(corpus) + len(later)):
        assert sorted(index.terms_of(document)) == sorted(set(kept.get(document, ())))
        assert index.has(document) is (document in kept)


def test_a_removed_document_is_no_longer_the_first_of_its_word() -> None:
    index = index_of([["a"], ["a", "b"]])
    assert index.next_document("a", 0) == 0
    index.remove([0])
    assert (index.next_document("a", 0), index.lookup(["a"])[1]) == (1, [1])
    index.remove([1])
    assert (index.next_document("a", 0), index.lookup(["a", "b"])) == (None, ([], []))
    assert index.next_document("never seen", 0) is None


def test_documents_are_added_in_ascending_order() -> None:
    index = Lexical()
    index.add_tokens(3, ["a"])
    for document in (3, 0):
        with pytest.raises(ValueError, match="ascending"):
            index.add_tokens(document, ["a"])
    index.add_tokens(90, ["a"])
    assert [document for document, _ in search(index, ["a"], facts([3, 90]))] == [3, 90]
    assert (index.documents(), index.has(50), index.terms_of(50)) == (2, False, [])


def test_ascii_text_is_tokenised_on_the_way_in_and_other_text_is_left_to_the_caller() -> None:
    index = Lexical()
    assert index.add_text(0, "Node.js, don't PANIC")
    assert not index.add_text(1, "café")
    assert (sorted(index.terms_of(0)), index.has(1)) == (["don't", "node.js", "panic"], False)


@settings(deadline=None)
@given(corpora, st.lists(st.sampled_from("abcdefghxyz"), max_size=6), st.data())
def test_overlap_is_the_jaccard_of_the_sets_of_words(
    corpus: Corpus, query: Sequence[str], data: st.DataObject
) -> None:
    index = index_of(corpus)
    chosen = data.draw(st.lists(st.integers(0, len(corpus) + 1), max_size=5))
    expected = []
    for document in chosen:
        own = set(corpus[document]) if document < len(corpus) else set()
        union = own | set(query)
        shared = own & set(query)
        expected.append(np.float32(len(shared)) / np.float32(len(union)) if shared else 0.0)
    assert index.overlap(query, chosen) == expected


def test_overlap_follows_additions_and_removals() -> None:
    index = index_of([["a", "b"], ["b"]])
    assert index.overlap(["b"], [0, 1]) == [0.5, 1.0]
    index.add_tokens(2, ["b", "c", "d"])
    assert index.overlap(["b", "c"], [2]) == [pytest.approx(2 / 3)]
    index.remove([1])
    assert index.overlap(["b"], [0, 1, 2]) == [0.5, 0.0, pytest.approx(1 / 3)]


@settings(deadline=None)
@given(corpora, st.data())
def test_documents_are_alike_by_their_overlap_with_the_last_of_their_entity(
    corpus: Corpus, data: st.DataObject
) -> None:
    size = len(corpus)
    index, table, of_entity = index_of(corpus), FactTable(), IdLists()
    owners = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    for fact, owner in enumerate(owners):
        put(table, fact, entity=owner)
        of_entity.add(owner, fact)
    most, least = data.draw(st.integers(0, 4)), data.draw(st.sampled_from([0.0, 0.4, 0.5]))
    expected = []
    for fact in range(size):
        before = [other for other in range(fact) if owners[other] == owners[fact]]
        last = before[-most:] if most else []
        shares = index.overlap(list(corpus[fact]), last)
        found = zip(last, shares, strict=True)
        expected += [(fact, other, share) for other, share in found if share > least]
    assert index.alike(list(range(size)), of_entity, table, scope(), most, least) == expected


def test_words_that_contain_a_part_are_found_while_some_document_has_them() -> None:
    index = index_of([["東京", "京都"], ["大阪"]])
    assert sorted(index.terms_containing("京")) == sorted(["東京", "京都"])
    assert index.terms_containing("名") == []
    index.remove([0])
    assert index.terms_containing("京") == []


# -- words that are stemmed


STEMS = {"walk": "w", "walks": "w", "walking": "w", "tea": "t", "teas": "t"}
forms = st.lists(st.sampled_from([*STEMS]), max_size=6)


def stemmed(corpus: Corpus, asked: list[str] | None = None) -> Lexical:
    def stem(word: str) -> str:
        if asked is not None:
            asked.append(word)
        return STEMS.get(word, word)

    index = Lexical(stem)
    for document, words in enumerate(corpus):
        index.add_tokens(document, list(words))
    return index


@settings(deadline=None)
@given(st.lists(forms, min_size=1, max_size=8), forms)
def test_an_index_of_stems_is_that_of_texts_written_in_stems(
    corpus: Corpus, query: list[str]
) -> None:
    index, plain = stemmed(corpus), index_of([[STEMS[w] for w in words] for words in corpus])
    table, everything = facts(range(len(corpus))), list(range(len(corpus)))
    stems = [STEMS[word] for word in query]
    assert search(index, query, table) == search(plain, stems, table)
    assert index.overlap(query, everything) == plain.overlap(stems, everything)
    assert index.terms() == plain.terms()
    for document in everything:
        assert index.terms_of(document) == plain.terms_of(document)


def test_a_word_is_stemmed_once_however_often_it_is_indexed() -> None:
    asked: list[str] = []
    index = stemmed([["walk", "walks"], ["walks", "tea", "walk"]], asked)
    index.add_text(2, "Walks, walks and tea")
    assert asked == ["walk", "walks", "tea", "and"]
    index.lookup(["walks", "tea"])
    assert asked == ["walk", "walks", "tea", "and"]


def test_forms_of_an_unknown_word_are_one_word_of_what_is_compared() -> None:
    assert stemmed([["tea"]]).overlap(["walk", "walks", "tea"], [0]) == [0.5]


@settings(deadline=None)
@given(st.lists(forms, min_size=1, max_size=8), st.sampled_from([*STEMS]), st.integers(0, 9))
def test_no_document_that_has_a_word_itself_is_passed_over(
    corpus: Corpus, word: str, start: int
) -> None:
    index = stemmed(corpus)
    having = [document for document, words in enumerate(corpus) if word in words]
    found = [index.next_document(word, start)]
    while found[-1] is not None:
        assert {STEMS[word]} <= {STEMS[w] for w in corpus[found[-1]]}
        found.append(index.next_document(word, found[-1] + 1))
    assert {document for document in having if document >= start} <= set(found)
    if having:  # at once, if nothing was removed
        assert index.next_document(word, 0) == having[0]
    else:
        assert found == [None]
