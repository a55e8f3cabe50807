"""Corpora to measure on: a seeded synthetic one shaped like a memory, and natural text."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.datasets import read_dataset, sentences

VOCABULARY = 30_000
WORD_EXPONENT = 1.07
ENTITY_EXPONENT = 0.9
FACTS_PER_ENTITY = 20
TAGS = 500
RELATIONS = 8
CLUSTERS = 64
BATCH = 512
YEARS_MS = 2 * 365 * 86_400_000
BEGIN_MS = 1_700_000_000_000
QUESTIONS = 400

Fact: TypeAlias = dict[str, Any]
"""Keyword arguments of `remember`."""

Vectors: TypeAlias = npt.NDArray[np.float32]


class Corpus(NamedTuple):
    """Facts in batches, and what they are asked.

    Attributes:
        name: What the corpus is called in a report.
        facts: How many there are.
        dim: Components of a vector; 0 for none.
        batches: Makes all the facts anew, `BATCH` at a time.
        questions: Texts.
        entities: Names, one a question.
        vectors: Vectors near those of facts, one a question; empty without a dimension.
        common: A word that occurs in nearly every fact.
    """

    name: str
    facts: int
    dim: int
    batches: Callable[[], Iterator[list[Fact]]]
    questions: list[str]
    entities: list[str]
    vectors: Vectors
    common: str


def synthetic(facts: int, dim: int = 0, seed: int = 7) -> Corpus:
    """Return a corpus of made-up words; the same arguments give the same corpus everywhere.

    Zipf words, popular entities, two tags and one link a fact, two years of times, and vectors
    from a few clusters. A smaller corpus is the beginning of a larger one, but for its entities.
    """
    words = [
        f"w{np.base_repr(place * 7919 % 1_000_003, 36).lower()}" for place in range(VOCABULARY)
    ]
    word_at = _drawer(VOCABULARY, WORD_EXPONENT)
    entities = max(1, facts // FACTS_PER_ENTITY)
    entity_at = _drawer(entities, ENTITY_EXPONENT)
    centres = np.random.default_rng(seed).normal(size=(CLUSTERS, dim))

    def batch(first: int) -> list[Fact]:
        rng = np.random.default_rng([seed, first])
        size = min(BATCH, facts - first)
        lengths = rng.integers(18, 31, size)
        drawn = np.split(word_at(rng.random(int(lengths.sum()))), np.cumsum(lengths)[:-1])
        subjects, targets = entity_at(rng.random(size)), entity_at(rng.random(size))
        tags = rng.integers(0, TAGS, size)
        apart = rng.integers(1, TAGS, size)
        began = BEGIN_MS + rng.integers(0, YEARS_MS, size)
        made: list[Fact] = [
            {
                "text": " ".join(map(words.__getitem__, drawn[at])),
                "entity": f"ent{subjects[at]}",
                "tags": [f"tag{tags[at]}", f"tag{(tags[at] + apart[at]) % TAGS}"],
                "links": [(f"rel{(first + at) % RELATIONS}", f"ent{targets[at]}")],
                "valid_from": int(began[at]),
            }
            for at in range(size)
        ]
        _give_vectors(made, _near(centres, size, rng) if dim else None)
        return made

    rng, picker = np.random.default_rng([seed, 1]), random.Random(seed)
    asked = [
        " ".join(words[word] for word in word_at(rng.random(picker.randint(2, 4))))
        for _ in range(QUESTIONS)
    ]
    about = [f"ent{entity}" for entity in rng.integers(0, entities, QUESTIONS)]
    near = _near(centres, QUESTIONS, rng)
    return Corpus(
        "synthetic",
        facts,
        dim,
        lambda: map(batch, range(0, facts, BATCH)),
        asked,
        about,
        near,
        words[0],
    )


def natural(folder: Path, facts: int, dim: int = 0, seed: int = 7) -> Corpus:
    """Return the sentences of a collection as facts about the titles of their passages.

    Args:
        folder: A collection; see `benchmarks.datasets`.
        facts: Most facts.
        dim: Components of the vectors, which are random: no model takes part.
        seed: Of tags and vectors.
    """
    dataset = read_dataset(folder)
    pairs = [(one.title, text) for one in dataset.passages for text in sentences(one.text)][:facts]
    titles = sorted({title for title, _ in pairs})
    centres = np.random.default_rng(seed).normal(size=(CLUSTERS, dim))

    def batches() -> Iterator[list[Fact]]:
        rng = np.random.default_rng(seed)
        rest = iter(pairs)
        while some := list(islice(rest, BATCH)):
            made: list[Fact] = [
                {
                    "text": text,
                    "entity": title,
                    "tags": [f"tag{tag}" for tag in rng.choice(TAGS, 2, replace=False)],
                    "links": [("beside", titles[rng.integers(len(titles))])],
                }
                for title, text in some
            ]
            _give_vectors(made, _near(centres, len(made), rng) if dim else None)
            yield made

    rng = np.random.default_rng([seed, 1])
    asked = [one.text for one in dataset.questions][:QUESTIONS]
    about = [titles[place] for place in rng.integers(0, len(titles), len(asked))]
    counts = Counter(word for _, text in pairs for word in set(text.lower().split()))
    [(common, _)] = counts.most_common(1)
    near = _near(centres, len(asked), rng)
    return Corpus(folder.name, len(pairs), dim, batches, asked, about, near, common)


def all_vectors(corpus: Corpus) -> Vectors:
    """Return the vectors of all facts, one row a fact."""
    return np.array([fact["vector"] for batch in corpus.batches() for fact in batch], np.float32)


def _give_vectors(made: list[Fact], vectors: Vectors | None) -> None:
    if vectors is not None:
        for fact, vector in zip(made, vectors, strict=True):
            fact["vector"] = vector.tolist()


def _near(centres: npt.NDArray[np.float64], size: int, rng: np.random.Generator) -> Vectors:
    picked = centres[rng.integers(0, len(centres), size)]
    return (picked + 0.5 * rng.normal(size=picked.shape)).astype(np.float32)


def _drawer(
    size: int, exponent: float
) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.intp]]:
    """Return what turns uniform numbers into places, the first of which are the popular ones."""
    weights = 1 / np.arange(1, size + 1) ** exponent
    ends = np.cumsum(weights / weights.sum())
    return lambda uniform: np.minimum(np.searchsorted(ends, uniform), size - 1)
