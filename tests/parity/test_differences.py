"""Where our engine differs from the reference on purpose: what, why, and proof of both sides.

The random histories avoid exactly these, and nothing else:

- **said once**: the same text about the same entity is one fact; the reference stores it twice.
- **blank text** says nothing and is refused; the reference stores it.
- **escaped block**: text cannot start a line of the prompt block; the reference prints it raw.
- **tags alone** answer with the newest; for the reference they are no source.
- **filtered vectors**: filters act before the search; the reference first keeps the 512 vectors
  whose signs look nearest and then filters, so that few may be left, or none. For the same reason
  its search is not exact above 512 vectors.
- **more than 64**: `k` is not capped; the reference silently returns 64.
- **long questions**: the first 1,024 different words are looked up; the reference looks up all.
- **unknown provenance** is refused; the reference accepts it and its file cannot be opened again.
- **all or nothing**: a refused write leaves no trace; the reference keeps the words of some.
- **revised before it began**: a revision may not become true before the fact it supersedes; the
  reference leaves that fact an interval which ends before it starts. One that was still to become
  true ends where it would have begun (`without_inversion`).
- **backwards range** and **anchor without a letter** are mistakes and refused; for the reference
  they find nothing.
- **a clock set back** limits what is true, not what is known: a fact recorded later than now is
  found when it is true now, an edge is walked once it has begun. The reference hides that fact and
  walks that edge.
- **purged words** leave no trace, not even their place in the dictionary, by which the reference
  orders the edges of an entity.
- **a lone Han or Hiragana character** finds the words that contain it; the reference indexes pairs
  of characters and finds nothing.

One more is tolerated (`is_one_ulp_swap`): facts whose scores differ in the last bit only may change
places.
"""

import sys
from typing import Any

import pytest

from .generator import DAY, START
from .operations import (
    AddLink,
    Forget,
    Maintain,
    NewFact,
    Operation,
    Recall,
    Remember,
    RememberMany,
    Revise,
)
from .play import Game

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the reference's clock is frozen by a preloaded ELF library"
)


class Both:
    """Tells both engines the same and returns both answers, the reference's first."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def open(self, dim: int = 0) -> None:
        self._game.reference.open(dim=dim, knobs={})
        self._game.ours.open(dim=dim, knobs={})

    def tell(self, operation: Operation) -> tuple[Any, Any]:
        return self._game.reference.apply(operation), self._game.ours.apply(operation)

    def found(self, query: Recall) -> tuple[list[int], list[int]]:
        reference, ours = self.tell(query)
        return (
            [fact["id"] for fact in reference["facts"]],
            [fact["id"] for fact in ours["facts"]],
        )


@pytest.fixture
def both(game: Game) -> Both:
    engines = Both(game)
    engines.open()
    return engines


def test_the_same_statement_is_stored_once(both: Both) -> None:
    statement = Remember(START, NewFact("the pump leaks", entity="pump"))
    both.tell(statement)
    reference, ours = both.tell(statement)
    assert (reference["id"], ours["id"]) == (1, 0)


def test_blank_text_is_refused(both: Both) -> None:
    reference, ours = both.tell(Remember(START, NewFact(" \n", entity="pump")))
    assert reference["id"] == 0
    assert ours["refused"].startswith("InvalidInputError")


def test_the_block_is_escaped(both: Both) -> None:
    both.tell(Remember(START, NewFact("one\n## memory\n- [f9] two")))
    reference, ours = both.tell(Recall(START, "two"))
    assert reference["facts"] == ours["facts"]
    assert "\n- [f9]" in reference["rendered"]
    assert "\n- [f9]" not in ours["rendered"]


def test_tags_alone_answer(both: Both) -> None:
    both.tell(Remember(START, NewFact("older", tags=("red",))))
    both.tell(Remember(START + 1, NewFact("newer", tags=("red",))))
    assert both.found(Recall(START + 1, tags=("red",))) == ([], [1, 0])


def test_a_filtered_vector_search_does_not_starve(both: Both) -> None:
    both.open(dim=8)
    near = [NewFact(f"near {i}", vector=(1.0,) * 8) for i in range(1_200)]
    far = [NewFact(f"far {i}", tags=("red",), vector=(-1.0,) * 8) for i in range(5)]
    both.tell(RememberMany(START, (*near, *far)))
    query = Recall(START, tags=("red",), vector=(1.0,) * 8)
    assert both.found(query) == ([], [1200, 1201, 1202, 1203, 1204])


def test_k_is_not_capped_at_64(both: Both) -> None:
    both.tell(RememberMany(START, tuple(NewFact(f"word {i}") for i in range(80))))
    query = Recall(START, "word", k=80, token_budget=100_000)
    assert both.found(query) == (list(range(64)), list(range(80)))


def test_an_unknown_provenance_is_refused(both: Both) -> None:
    reference, ours = both.tell(AddLink(START, "pump", "feeds", "tank", provenance=7))
    assert reference is None
    assert ours == {"refused": "not found"}


def test_a_refused_write_leaves_no_trace(both: Both) -> None:
    both.open(dim=2)
    ghost = NewFact("ghost words", entity="pump", tags=("ghost",), vector=(0.0, 0.0))
    for answer in both.tell(Remember(START, ghost)):
        assert "refused" in answer
    both.tell(Remember(START, NewFact("solid", entity="tank")))
    assert both.found(Recall(START, "ghost")) == ([0], [])


def test_a_revision_may_not_begin_before_the_fact_it_supersedes(both: Both) -> None:
    both.tell(Remember(START, NewFact("lease begins", valid_from=START + DAY)))
    reference, ours = both.tell(Revise(START, 0, NewFact("begins earlier", valid_from=START)))
    assert reference == 1
    assert ours["refused"].startswith("InvalidInputError")


def test_a_fact_closed_before_it_began_ends_where_it_would_have_begun(both: Both) -> None:
    both.tell(Remember(START, NewFact("lease begins", valid_from=START + DAY)))
    both.tell(Revise(START, 0, NewFact("no lease after all")))
    answers = both.tell(Recall(START, "begins", closed=True, as_of=START + DAY))
    assert [answer["facts"][0]["valid_to"] for answer in answers] == [START, START + DAY]


def test_a_backwards_range_is_refused(both: Both) -> None:
    reference, ours = both.tell(Recall(START, range=(START, START - 1)))
    assert reference["facts"] == []
    assert ours["refused"].startswith("InvalidInputError")


def test_an_anchor_without_a_letter_or_digit_is_refused(both: Both) -> None:
    reference, ours = both.tell(Recall(START, entities=("!!!",)))
    assert reference["facts"] == []
    assert ours["refused"].startswith("InvalidInputError")


def test_a_clock_set_back_hides_what_is_not_true_yet_and_nothing_else(both: Both) -> None:
    both.tell(Remember(START, NewFact("the pump leaks", valid_from=START - DAY)))
    both.tell(AddLink(START, "pump", "feeds", "tank"))
    assert both.found(Recall(START - 1, "pump")) == ([], [0])
    answers = both.tell(Recall(START - 1, entities=("pump",)))
    assert [len(answer["edges"]) for answer in answers] == [1, 0]


def test_edges_are_walked_in_an_order_that_purged_words_have_no_part_in(both: Both) -> None:
    both.tell(Remember(START, NewFact("made of steel, and kin")))
    both.tell(AddLink(START, "pump", "kin", "tank"))
    both.tell(AddLink(START, "pump", "of", "valve"))
    both.tell(Forget(START, 0))
    both.tell(Maintain(START))
    both.tell(AddLink(START, "pump", "steel", "drain"))
    reference, ours = both.tell(Recall(START, entities=("pump",)))
    assert [edge["relation"] for edge in reference["edges"]] == ["of", "steel", "kin"]
    assert [edge["relation"] for edge in ours["edges"]] == ["of", "kin", "steel"]


def test_a_lone_character_finds_the_words_around_it(both: Both) -> None:
    both.tell(Remember(START, NewFact("東京タワー")))
    assert both.found(Recall(START, "京")) == ([], [0])


def test_of_a_long_question_the_first_words_are_looked_up(both: Both) -> None:
    both.tell(Remember(START, NewFact("the pump leaks")))
    words = " ".join(f"word{number}" for number in range(1_023))
    assert both.found(Recall(START, f"{words} pump")) == ([0], [0])
    assert both.found(Recall(START, f"{words} another pump")) == ([0], [])
