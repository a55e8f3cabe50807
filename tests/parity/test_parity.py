"""The differential test: random histories, told to the reference engine and to ours."""

import sys

import pytest

from .generator import START, Author, Profile
from .operations import NewFact, Recall, Remember
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
    Profile("purged", maintains=True, reopens=True),
    Profile("hub", dim=8, hub=0.7),
    Profile("clock set back", clock_steps=(-400 * 86_400_000, -1, 0, 1, 86_400_000)),
)


@pytest.mark.parametrize("number", range(HISTORIES))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_history_is_answered_as_by_the_reference(game: Game, seed: str, number: int):
    author = Author(f"{seed}-{number}", PROFILES[number % len(PROFILES)])
    game.play(author, queries=QUERIES)
    assert game.swaps <= MAX_SWAPS


@pytest.mark.parametrize("seed", SEEDS)
def test_more_facts_than_a_source_ranks_are_answered_as_by_the_reference(game: Game, seed: str):
    # More than 128 texts, vectors and instants each, but so few vectors that the reference's search
    # is still exact: it looks closely at 512 of them only.
    author = Author(f"{seed}-wide", Profile("wide", dim=8, hub=0.3))
    game.play(author, queries=100, facts=200)
    assert game.swaps <= MAX_SWAPS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_long_history_is_answered_as_by_the_reference(game: Game, seed: str):
    # More than 1,024 documents, so that the common words of the batches are dropped from queries;
    # a hub entity beyond every cap of the graph walk.
    author = Author(f"{seed}-long", Profile("long", hub=0.5))
    game.play(author, queries=100, facts=2_500)
    assert game.swaps <= MAX_SWAPS


def test_the_reference_records_at_the_frozen_instant(reference: Reference):
    reference.open(dim=0, knobs={})
    january, september = 1_704_844_800_000, 1_725_148_800_000  # 2024-01-10, 2024-09-01, UTC
    text = "greenhouse heater set to nine degrees"
    reference.apply(Remember(january, NewFact(text, "Nadia", tags=("setting",))))
    (fact,) = reference.apply(Recall(september, "heater degrees"))["facts"]
    assert fact["recorded_at"] == january
    assert fact["score"] == pytest.approx(1 / 61 * (1 + 0.25 * 2 ** (-235 / 180)), rel=1e-6)


def test_the_same_seed_writes_the_same_history(reference: Reference):
    def told() -> list[object]:
        author = Author("again", PROFILES[1])
        reference.open(dim=8, knobs=author.knobs())
        steps = []
        for step in author.history(queries=20):
            author.learn(step, reference.apply(step))
            steps.append(step)
        return steps

    assert told() == told()
    assert told()[0].at >= START
