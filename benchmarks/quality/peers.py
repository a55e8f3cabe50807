"""Peers in a few lines each: BM25 of two packages, vectors, and their fusion by rank."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.names import words_of
from benchmarks.quality.collections import Document
from benchmarks.quality.metrics import K
from benchmarks.quality.systems import Ask, Prepared, System

RRF = 60  # Cormack, Clarke and Büttcher, 2009
DEPTH = 100  # places of a list that are fused

Rank: TypeAlias = Callable[[int], Sequence[int]]
"""Takes the place of a question; returns places among the documents of its space, best first."""

Ranker: TypeAlias = Callable[[Prepared, Sequence[int]], Rank]
"""Makes the documents at some places ready to be ranked."""


def plain_peers() -> list[System]:
    """Return BM25, vectors, and both fused."""
    return [
        ranking_system("rank-bm25", rank_bm25),
        ranking_system("bm25s", partial(rank_bm25s, stem=False)),
        ranking_system("bm25s + stemming", partial(rank_bm25s, stem=True)),
        ranking_system("dense", rank_dense, vectors=True),
        ranking_system("rank fusion", partial(rank_fused, stem=False), vectors=True),
        ranking_system("rank fusion + stemming", partial(rank_fused, stem=True), vectors=True),
    ]


def rank_bm25(prepared: Prepared, places: Sequence[int]) -> Rank:
    """Okapi BM25 of the package rank-bm25, over lower-cased words."""
    package: Any = import_module("rank_bm25")
    index = package.BM25Okapi([words_of(one.text) for one in documents_of(prepared, places)])
    questions = prepared.collection.questions
    return lambda place: _best(index.get_scores(words_of(questions[place].text)))


def rank_bm25s(prepared: Prepared, places: Sequence[int], *, stem: bool) -> Rank:
    """BM25 of the package bm25s with its English stop words; PyStemmer's stems or none."""
    package: Any = import_module("bm25s")
    stemmer = import_module("Stemmer").Stemmer("english") if stem else None
    cut = partial(package.tokenize, stopwords="en", stemmer=stemmer, show_progress=False)
    index = package.BM25(method="lucene")
    index.index(cut([one.text for one in documents_of(prepared, places)]), show_progress=False)
    questions = prepared.collection.questions
    depth = min(DEPTH, len(places))

    def rank(place: int) -> list[int]:
        found, scores = index.retrieve(cut(questions[place].text), k=depth, show_progress=False)
        return [int(one) for one, score in zip(found[0], scores[0], strict=True) if score > 0]

    return rank


def rank_dense(prepared: Prepared, places: Sequence[int]) -> Rank:
    """Exact search by cosine."""
    if prepared.documents is None:
        raise SystemExit("vectors need an --encoder")
    matrix = prepared.documents[list(places)]
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = matrix / np.where(norms, norms, 1)

    def rank(place: int) -> list[int]:
        vector = prepared.question_vector(place)
        return [] if vector is None else _best(unit @ vector, least=-np.inf)

    return rank


def rank_fused(prepared: Prepared, places: Sequence[int], *, stem: bool) -> Rank:
    """Reciprocal-rank fusion of words and vectors."""
    rankers = (rank_bm25s(prepared, places, stem=stem), rank_dense(prepared, places))
    return lambda place: fuse([rank(place) for rank in rankers])


def fuse(lists: Sequence[Sequence[int]]) -> list[int]:
    """Order what several lists have by the sum of 1 / (60 + place); equals by number.

    >>> fuse([[7, 8], [9, 8]])
    [8, 7, 9]
    """
    scores: dict[int, float] = {}
    for ranking in lists:
        for place, one in enumerate(ranking, start=1):
            scores[one] = scores.get(one, 0.0) + 1 / (RRF + place)
    return sorted(scores, key=lambda one: (-scores[one], one))


def documents_of(prepared: Prepared, places: Sequence[int]) -> list[Document]:
    """Return the documents at some places."""
    return [prepared.collection.documents[place] for place in places]


def ranking_system(name: str, ranker: Ranker, *, vectors: bool = False) -> System:
    """Return a system that ranks the documents of each space apart."""
    return System(name, partial(_open, ranker=ranker), vectors)


@contextmanager
def _open(prepared: Prepared, folder: Path, ranker: Ranker) -> Iterator[Ask]:  # noqa: ARG001 - a System's
    rankers = {space: ranker(prepared, places) for space, places in prepared.spaces.items()}

    def ask(place: int) -> list[str]:
        space = prepared.collection.questions[place].space
        documents, places = prepared.collection.documents, prepared.spaces[space]
        return [documents[places[one]].id for one in rankers[space](place)[:K]]

    yield ask


def _best(scores: npt.NDArray[Any], least: float = 0.0) -> list[int]:
    """Return the places of the highest scores above the least, best first; equals in order."""
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [int(one) for one in order if scores[one] > least]
