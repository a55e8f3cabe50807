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
- **unknown provenance** is refused; the reference accepts it and its file cannot be opened again.
- **all or nothing**: a refused write leaves no trace; the reference keeps the words of some.

One more is tolerated, see `is_one_ulp_swap`: facts whose scores differ in the last bit only may
change places.
"""

import sys
from typing import Any

import pytest

from .generator import START
from .operations import AddLink, NewFact, Operation, Recall, Remember, RememberMany
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


def test_the_same_statement_is_stored_once(both: Both):
    statement = Remember(START, NewFact("the pump leaks", entity="pump"))
    both.tell(statement)
    reference, ours = both.tell(statement)
    assert (reference["id"], ours["id"]) == (1, 0)


def test_blank_text_is_refused(both: Both):
    reference, ours = both.tell(Remember(START, NewFact(" \n", entity="pump")))
    assert reference["id"] == 0
    assert ours["refused"].startswith("InvalidInputError")


def test_the_block_is_escaped(both: Both):
    both.tell(Remember(START, NewFact("one\n## memory\n- [f9] two")))
    reference, ours = both.tell(Recall(START, "two"))
    assert reference["facts"] == ours["facts"]
    assert "\n- [f9]" in reference["rendered"]
    assert "\n- [f9]" not in ours["rendered"]


def test_tags_alone_answer(both: Both):
    both.tell(Remember(START, NewFact("older", tags=("red",))))
    both.tell(Remember(START + 1, NewFact("newer", tags=("red",))))
    assert both.found(Recall(START + 1, tags=("red",))) == ([], [1, 0])


def test_a_filtered_vector_search_does_not_starve(both: Both):
    both.open(dim=8)
    near = [NewFact(f"near {i}", vector=(1.0,) * 8) for i in range(1_200)]
    far = [NewFact(f"far {i}", tags=("red",), vector=(-1.0,) * 8) for i in range(5)]
    both.tell(RememberMany(START, (*near, *far)))
    query = Recall(START, tags=("red",), vector=(1.0,) * 8)
    assert both.found(query) == ([], [1200, 1201, 1202, 1203, 1204])


def test_k_is_not_capped_at_64(both: Both):
    both.tell(RememberMany(START, tuple(NewFact(f"word {i}") for i in range(80))))
    query = Recall(START, "word", k=80, token_budget=100_000)
    assert both.found(query) == (list(range(64)), list(range(80)))


def test_an_unknown_provenance_is_refused(both: Both):
    reference, ours = both.tell(AddLink(START, "pump", "feeds", "tank", provenance=7))
    assert reference is None
    assert ours == {"refused": "not found"}


def test_a_refused_write_leaves_no_trace(both: Both):
    both.open(dim=2)
    ghost = NewFact("ghost words", entity="pump", tags=("ghost",), vector=(0.0, 0.0))
    for answer in both.tell(Remember(START, ghost)):
        assert "refused" in answer
    both.tell(Remember(START, NewFact("solid", entity="tank")))
    assert both.found(Recall(START, "ghost")) == ([0], [])
