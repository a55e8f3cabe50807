"""The differential test: random histories, told to the reference engine and to ours."""

import random
import sys
from collections.abc import Iterable

import pytest

from .generator import DAY, PLAIN_RELATIONS, START, Author, Profile
from .operations import NewFact, Operation, Recall, Remember, RememberMany, Vector
from .play import Game
from .reference import Reference

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the reference's clock is frozen by a preloaded ELF library"
)

SEEDS = ("first", "second")
HISTORIES = 40  # per seed
QUERIES = 50  # per history, so 2,000 per seed
MAX_SWAPS = 2  # per history; see `is_one_ulp_swap`

PROFILES = (
    Profile("text"),
    Profile("vectors", dim=8),
    Profile("tuned", dim=8, tunes=True),
    Profile("one instant", dim=2, clock_steps=(0,)),
    Profile("reopened", dim=8, reopens=True),
    Profile("purged", maintains=True, reopens=True, relations=PLAIN_RELATIONS),
    Profile("hub", dim=8, hub=0.7),
    Profile("clock set back", clock_steps=(-400 * DAY, -1, 0, 1, DAY), dated=True),
)


@pytest.mark.parametrize("number", range(HISTORIES))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_is_answered_as_by_the_reference(
    game: Game, seed: str, number: int
) -> None:
    author = Author(f"{seed}-{number}", PROFILES[number % len(PROFILES)])
    game.play(author, queries=QUERIES)
    assert game.swaps <= MAX_SWAPS


@pytest.mark.parametrize("seed", SEEDS)
def test_more_facts_than_a_source_ranks_are_answered_as_by_the_reference(
    game: Game, seed: str
) -> None:
    # More than 128 texts, vectors and instants each, but so few vectors that the reference's search
    # is still exact: it looks closely at 512 of them only.
    author = Author(f"{seed}-wide", Profile("wide", dim=8, hub=0.3))
    game.play(author, queries=100, facts=200)
    assert game.swaps <= MAX_SWAPS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_long_history_is_answered_as_by_the_reference(game: Game, seed: str) -> None:
    # More than 1,024 documents, so that the common words of the batches are dropped from queries;
    # a hub entity beyond every cap of the graph walk.
    author = Author(f"{seed}-long", Profile("long", hub=0.5))
    game.play(author, queries=100, facts=2_500)
    assert game.swaps <= MAX_SWAPS


@pytest.mark.parametrize("seed", SEEDS)
def test_near_ties_of_words_are_broken_as_by_the_reference(game: Game, seed: str) -> None:
    # All of one instant, so that only the last bits of the BM25 scores decide the order.
    rng = random.Random(seed)
    for _ in range(30):
        knobs = {"bm25_k1": rng.choice((0.5, 1.2, 1.7)), "bm25_b": rng.choice((0.4, 0.75, 1.0))}
        facts = [
            NewFact(" ".join([*rng.choices("xyz", k=rng.randint(1, 6)), *map(str, range(length))]))
            for length in rng.choices(range(9), k=60)
        ]
        queries = ("x", "y x", "z z x", "x y z y")
        recalls = [Recall(START, query, k=64, token_budget=10_000) for query in queries]
        game.follow([RememberMany(START, _distinct(facts)), *recalls], dim=0, knobs=knobs)


@pytest.mark.parametrize("seed", SEEDS)
def test_near_ties_of_vectors_are_broken_as_by_the_reference(game: Game, seed: str) -> None:
    rng = random.Random(seed)

    def vector() -> Vector:
        return (1.0, *(float(rng.randint(-2, 2)) for _ in range(11)))

    facts = tuple(NewFact(f"fact {number}", vector=vector()) for number in range(500))
    recalls = [Recall(START, vector=vector(), k=64, token_budget=10_000) for _ in range(100)]
    game.follow([RememberMany(START, facts), *recalls], dim=12, knobs={})


def test_the_reference_records_at_the_frozen_instant(reference: Reference) -> None:
    reference.open(dim=0, knobs={})
    january, september = 1_704_844_800_000, 1_725_148_800_000  # 2024-01-10, 2024-09-01, UTC
    text = "greenhouse heater set to nine degrees"
    reference.apply(Remember(january, NewFact(text, "Nadia", tags=("setting",))))
    (fact,) = reference.apply(Recall(september, "heater degrees"))["facts"]
    assert fact["recorded_at"] == january
    assert fact["score"] == pytest.approx(1 / 61 * (1 + 0.25 * 2 ** (-235 / 180)), rel=1e-6)


def test_the_same_seed_writes_the_same_history(reference: Reference) -> None:
    def told() -> list[Operation]:
        author = Author("again", PROFILES[1])
        reference.open(dim=8, knobs=author.knobs())
        steps: list[Operation] = []
        for step in author.history(queries=20):
            author.learn(step, reference.apply(step))
            steps.append(step)
        return steps

    assert told() == told()
    assert told()[0].at >= START


def _distinct(facts: Iterable[NewFact]) -> tuple[NewFact, ...]:
    return tuple({fact.text: fact for fact in facts}.values())
