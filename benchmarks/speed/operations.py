"""What is measured, and how fast it is to be."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from benchmarks.corpus import Corpus, Vectors

Feature = Literal["text", "tags", "entities", "vector", "newest"]
MATCHED = 10_000
LARGE = 100_000


class Question(NamedTuple):
    """One recall; what is empty is not asked for."""

    text: str | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    vector: Vectors | None = None
    until: int | None = None

    @property
    def features(self) -> set[Feature]:
        """What a store has to know of to answer it."""
        asked: dict[Feature, bool] = {
            "text": self.text is not None,
            "tags": bool(self.tags),
            "entities": bool(self.entities),
            "vector": self.vector is not None,
            "newest": self.until is not None,
        }
        return {feature for feature, wanted in asked.items() if wanted}


class Budget(NamedTuple):
    """The most that ours may take, as a ratio to the reference in the same run.

    Attributes:
        ratio: Of the medians; the least a ratio may be for `at_least`.
        facts: The size of the corpus it is meant for.
        p99: Whether it holds for the 99th percentile, too.
        dim: Components of the vectors it is meant for; `None` for any.
        over: Whom it is compared with.
        microseconds: It is a difference in µs instead of a ratio.
        at_least: Ours is to be so many times faster, instead of at most so much slower.
    """

    ratio: float
    facts: int
    p99: bool = False
    dim: int | None = None
    over: str = "reference"
    microseconds: bool = False
    at_least: bool = False


class Operation(NamedTuple):
    """A kind of recall."""

    name: str
    questions: Callable[[Corpus], list[Question]]
    budgets: tuple[Budget, ...] = ()
    vectors: bool = False  # it needs some


NOW = 4_102_444_800_000  # 2100: behind all that is recorded
FEW = "tag7"  # on 0.4 % of the facts

RECALLS = (
    Operation(
        "text",
        lambda corpus: [Question(text) for text in corpus.questions],
        (Budget(0.8, MATCHED), Budget(0.6, LARGE)),
    ),
    Operation(
        "text + tag",
        lambda corpus: [Question(text, tags=(FEW,)) for text in corpus.questions],
        (Budget(0.4, LARGE, p99=True),),
    ),
    Operation(
        "text + entity",
        lambda corpus: [
            Question(text, entities=(name,))
            for text, name in zip(corpus.questions, corpus.entities, strict=True)
        ],
        (Budget(0.8, MATCHED), Budget(0.6, LARGE)),
    ),
    Operation(
        "a term in every fact",
        lambda corpus: [Question(corpus.common)] * 100,
        (Budget(0.3, LARGE),),
    ),
    Operation(
        "newest in a time range",
        lambda _: [Question(until=NOW)] * 200,
        (Budget(1.0, LARGE),),
    ),
    Operation(
        "vector",
        lambda corpus: [Question(vector=vector) for vector in corpus.vectors[:200]],
        (Budget(0.6, MATCHED, dim=256), Budget(1.0, LARGE, dim=256)),
        vectors=True,
    ),
    Operation(
        "text + vector",
        lambda corpus: [
            Question(text, vector=vector)
            for text, vector in zip(corpus.questions[:200], corpus.vectors, strict=False)
        ],
        (Budget(50.0, MATCHED, over="ensemble", at_least=True),),
        vectors=True,
    ),
    Operation(
        "text + vector + entity",
        lambda corpus: [
            Question(text, entities=(name,), vector=vector)
            for text, name, vector in zip(
                corpus.questions[:200], corpus.entities, corpus.vectors, strict=False
            )
        ],
        (Budget(0.6, MATCHED),),
        vectors=True,
    ),
    Operation(
        "vector, filtered",
        lambda corpus: [Question(tags=(FEW,), vector=vector) for vector in corpus.vectors[:200]],
        vectors=True,
    ),
)

OTHERS = {
    "bulk load, a fact": (Budget(1.0, LARGE),),
    "open": (Budget(2.0, LARGE),),
    "get": (Budget(3.0, LARGE, microseconds=True),),
    "durable remember": (Budget(1.0, LARGE),),
    "memory, KiB": (Budget(1.2, LARGE, dim=0), Budget(2.5, LARGE, dim=256)),
    "files, KiB": (Budget(1.2, LARGE, dim=0),),
}
"""Budgets of what is no recall, by its name."""

FILTERED_BUDGET = 2.0
"""The most that a filtered vector recall may take, in unfiltered ones of ours."""

RECALL_BUDGET = 0.97
"""The least share of the ten exactly nearest vectors that a vector recall finds."""


def budgets_of(name: str) -> tuple[Budget, ...]:
    """Return the budgets of an operation."""
    for operation in RECALLS:
        if operation.name == name:
            return operation.budgets
    return OTHERS.get(name, ())


def some_ids(facts: int, count: int = 1_000) -> list[int]:
    """Return ids of facts, the same for everybody."""
    ids: list[int] = np.random.default_rng(9).integers(0, facts, count).tolist()
    return ids
