"""The lexical index: the kernel's BM25, or rank-bm25 for its exact numbers."""

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

from plugmem_core.config import MemoryConfig
from plugmem_core.kernels import FactTable, Lexical, Pool, Ranked, Scope
from plugmem_core.text import Analyzer, is_unigram, tokenize

STOP_FLOOR = 1_024  # documents below which no term is too frequent
MAX_EXPANDED = 1_024
STOP_SHARE = 8  # a term in more than one document of eight is too frequent


class LexicalIndex:
    """Postings of every stored fact.

    Attributes:
        analyzer: What words become terms by.
    """

    def __init__(self, config: MemoryConfig, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.postings = Lexical(analyzer.stem)
        self._read: dict[str, str] = {}  # texts, each as its tokens joined by spaces
        self._k1, self._b = config.bm25
        self._scorer = None if config.lexical == "bm25" else RankBm25(config, analyzer)

    def add(self, fact: int, text: str) -> None:
        """Index a text; a fact indexed already is left alone."""
        if self.postings.has(fact):
            return
        if not self.postings.add_text(fact, text):
            read = self._read.pop(text, None)
            self.postings.add_tokens(fact, tokenize(text) if read is None else read.split())
        if self._scorer:
            self._scorer.add(fact, text)

    def read_ahead(self, text: str) -> str:
        """Return the tokens of a text joined by spaces; `add` need not read it once more."""
        joined = self._read[text] = " ".join(tokenize(text))
        return joined

    def forget_what_was_read(self) -> None:
        """Keep nothing of texts that were read ahead, whether they were added or not."""
        self._read.clear()

    def remove(self, facts: list[int]) -> None:
        """Take facts out, and out of every statistic."""
        self.postings.remove(facts)
        if self._scorer:
            self._scorer.remove(facts)

    def search(self, tokens: list[str], limit: int, facts: FactTable, scope: Scope) -> Ranked:
        """Return the best admitted facts that share a token with the query."""
        if self._scorer:
            return self._scorer.search(tokens, limit, facts, scope)
        terms, frequencies = self.postings.lookup(tokens)
        if not terms:
            return Ranked()
        terms = discriminating(terms, frequencies, self.postings.documents())
        return self.postings.search(terms, self._k1, self._b, limit, facts, scope)

    def match(self, pool: Pool, tokens: list[str]) -> None:
        """Give candidates their exact scores for a query, those that have none yet."""
        if self._scorer:
            pool.match_as(self._scorer.scores(tokens, pool.fresh()))
            return
        terms, _ = self.postings.lookup(tokens)
        pool.match(self.postings, terms, self._k1, self._b)

    def name(self, pool: Pool, tokens: list[str], entity: int, facts: FactTable) -> None:
        """Score candidates about an entity as if their text had some words of its name once."""
        terms, _ = self.postings.lookup(tokens)
        if terms and self._scorer is None:
            pool.name(self.postings, terms, self._k1, self._b, entity, facts)

    def ceiling(self, tokens: list[str]) -> float:
        """Return the score that no text can exceed for a query; 0 when none matches.

        BM25 gives a term idf * tf (k1 + 1) / (tf + …), which stays below idf (k1 + 1).
        """
        if self._scorer:
            return self._scorer.ceiling(tokens)
        terms, frequencies = self.postings.lookup(tokens)
        if not terms:
            return 0.0
        documents = self.postings.documents()
        rarity = dict(zip(terms, frequencies, strict=True))
        kept = discriminating(terms, frequencies, documents)
        idfs = (math.log1p((documents - rarity[t] + 0.5) / (rarity[t] + 0.5)) for t in kept)
        return sum(idfs) * (self._k1 + 1)

    def expand(self, tokens: list[str]) -> list[str]:
        """Replace a lone CJK character by the indexed words that contain it, once.

        One that comes after 1,024 such words stays as it is: each costs a look at every word.
        """
        if all(map(str.isascii, tokens)) or not any(map(is_unigram, tokens)):
            return tokens
        expanded: list[str] = []
        done: set[str] = set()
        words = 0
        for token in tokens:
            if not is_unigram(token) or words >= MAX_EXPANDED:
                expanded.append(token)
            elif token not in done:
                done.add(token)
                containing = self.postings.terms_containing(token)
                words += len(containing)
                expanded += containing or [token]
        return expanded

    def first_document(self, token: str, has: Callable[[int, str], bool]) -> int | None:
        """Return the first fact that contains a token.

        Args:
            token: As it stands in texts, not its stem.
            has: Whether a fact contains it; asked where words are stemmed.
        """
        fact = self.postings.next_document(token, 0)
        while fact is not None and self.analyzer.stem and not has(fact, token):
            fact = self.postings.next_document(token, fact + 1)
        return fact


def discriminating(terms: list[int], frequencies: list[int], documents: int) -> list[int]:
    """Drop terms that occur nearly everywhere, as the reference does.

    A term is too frequent when its document frequency is over 1,024 and over an
    eighth of all documents. When every term is, the rarest one is kept, once.
    """
    most = max(STOP_FLOOR, documents // STOP_SHARE)
    if max(frequencies) <= most:
        return terms
    kept = [term for term, frequency in zip(terms, frequencies, strict=True) if frequency <= most]
    return kept or [terms[frequencies.index(min(frequencies))]]


class _Bm25(Protocol):
    idf: dict[str, float]
    k1: float

    def get_scores(self, query: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]: ...


class RankBm25:
    """Scores from the rank-bm25 package, made anew after every write: for small corpora."""

    def __init__(self, config: MemoryConfig, analyzer: Analyzer) -> None:
        self._config = config
        self._analyzer = analyzer
        self._tokens: dict[int, list[str]] = {}
        self._model: tuple[_Bm25, list[int]] | None = None

    def add(self, fact: int, text: str) -> None:
        """Take a text in."""
        self._tokens[fact] = self._terms(tokenize(text))
        self._model = None

    def remove(self, facts: list[int]) -> None:
        """Take texts out."""
        for fact in facts:
            self._tokens.pop(fact, None)
        self._model = None

    def search(self, tokens: list[str], limit: int, facts: FactTable, scope: Scope) -> Ranked:
        """Return the best admitted facts that share a token with the query."""
        tokens = self._terms(tokens)
        known = set(tokens)
        matching = [fact for fact, words in self._tokens.items() if not known.isdisjoint(words)]
        admitted = set(facts.admitted(scope, matching))
        if not admitted:
            return Ranked()
        model, order = self._current_model()
        scores = model.get_scores(tokens)
        best = sorted(
            (
                (float(score), fact)
                for fact, score in zip(order, scores, strict=True)
                if fact in admitted
            ),
            key=lambda pair: (-pair[0], pair[1]),
        )[:limit]
        return Ranked.of([fact for _, fact in best], [score for score, _ in best])

    def scores(self, tokens: list[str], facts: list[int]) -> list[float]:
        """Return the scores of some facts."""
        if not facts:
            return []
        model, order = self._current_model()
        found = dict(zip(order, model.get_scores(self._terms(tokens)), strict=True))
        return [float(found[fact]) for fact in facts]

    def ceiling(self, tokens: list[str]) -> float:
        """Return the score that no text can exceed for a query.

        In BM25L one that repeats a word can: the package multiplies by its frequency.
        """
        model, _ = self._current_model() if self._tokens else (None, None)
        if model is None:
            return 0.0
        # BM25+ adds its delta to what the other two give a term at most.
        most = model.k1 + 1 + (model.delta if isinstance(model, BM25Plus) else 0.0)
        terms = self._terms(tokens)
        return sum(max(0.0, model.idf.get(term) or 0.0) for term in terms) * most

    def _terms(self, tokens: list[str]) -> list[str]:
        return [self._analyzer.term(token) for token in tokens]

    def _current_model(self) -> tuple[_Bm25, list[int]]:
        if self._model is None:
            order = sorted(self._tokens)
            kind = {"okapi": BM25Okapi, "bm25l": BM25L, "bm25plus": BM25Plus}[self._config.lexical]
            corpus = [self._tokens[fact] for fact in order]
            k1, b = self._config.bm25
            self._model = kind(corpus, k1=k1, b=b), order
        return self._model
