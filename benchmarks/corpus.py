"""A seeded synthetic corpus shaped like a memory: Zipf words, popular entities, tags, links."""

import random
from typing import Any, NamedTuple

import numpy as np

VOCABULARY = 30_000
WORD_EXPONENT = 1.07
ENTITY_EXPONENT = 0.9
TAGS = 500
CLUSTERS = 64


class Corpus(NamedTuple):
    """Facts as `remember_many` takes them, and questions about them."""

    facts: list[dict[str, Any]]
    questions: list[str]
    entities: list[str]
    vectors: np.ndarray[Any, np.dtype[np.float32]] | None


def make_corpus(facts: int, dim: int = 0, questions: int = 400, seed: int = 7) -> Corpus:
    """Return a corpus; the same arguments give the same corpus everywhere."""
    rng, picker = np.random.default_rng(seed), random.Random(seed)
    words = [
        f"w{np.base_repr(place * 7919 % 1_000_003, 36).lower()}" for place in range(VOCABULARY)
    ]
    popularity = _zipf(VOCABULARY, WORD_EXPONENT)
    entities = max(1, facts // 20)
    subjects = rng.choice(entities, facts, p=_zipf(entities, ENTITY_EXPONENT))
    targets = rng.choice(entities, facts, p=_zipf(entities, ENTITY_EXPONENT))
    lengths = rng.integers(18, 31, facts)
    ends = np.cumsum(lengths)
    drawn = iter(np.split(rng.choice(VOCABULARY, int(ends[-1]), p=popularity), ends))
    made: list[dict[str, Any]] = [
        {
            "text": " ".join(words[word] for word in next(drawn)),
            "entity": f"ent{subjects[place]}",
            "tags": [f"tag{tag}" for tag in rng.choice(TAGS, 2, replace=False)],
            "links": [(f"rel{place % 8}", f"ent{targets[place]}")],
        }
        for place in range(facts)
    ]
    vectors = None
    if dim:
        centres = rng.normal(size=(CLUSTERS, dim))
        noise = 0.5 * rng.normal(size=(facts, dim))
        vectors = (centres[rng.integers(0, CLUSTERS, facts)] + noise).astype(np.float32)
        for fact, vector in zip(made, vectors, strict=True):
            fact["vector"] = vector.tolist()
    asked = [
        " ".join(words[word] for word in rng.choice(VOCABULARY, picker.randint(2, 4), p=popularity))
        for _ in range(questions)
    ]
    about = [f"ent{entity}" for entity in rng.integers(0, entities, questions)]
    return Corpus(made, asked, about, vectors)


def _zipf(size: int, exponent: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    weights: np.ndarray[Any, np.dtype[np.float64]] = 1 / np.arange(1, size + 1) ** exponent
    weights /= weights.sum()
    return weights
