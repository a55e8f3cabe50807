"""The judge of the differential test must itself be able to say no."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .comparison import disagreement, is_one_ulp_swap

RECALL: dict[str, Any] = {
    "facts": [
        {"id": 4, "score": 0.02, "sources": ["bm25"], "valid_to": None},
        {"id": 7, "score": 0.01, "sources": ["time"], "valid_to": 5},
    ],
    "edges": [{"src": "a", "relation": "r", "dst": "b", "provenance": None}],
    "truncated": False,
    "rendered": "## memory\n- [f4] x\n- [f7] y\n- links: a —r→ b\n",
}


def swapped(gap: float) -> tuple[dict[str, Any], dict[str, Any]]:
    left, right = copy.deepcopy(RECALL), copy.deepcopy(RECALL)
    left["facts"][1]["score"] = left["facts"][0]["score"] - gap
    right["facts"] = left["facts"][::-1]
    right["rendered"] = "## memory\n- [f7] y\n- [f4] x\n- links: a —r→ b\n"
    return left, right


def test_equal_outcomes_agree() -> None:
    assert disagreement(RECALL, copy.deepcopy(RECALL)) is None


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda it: it["facts"][0].update(score=0.02 * (1 + 2e-6)), ".facts[0].score"),
        (lambda it: it["facts"][0].update(id=5), ".facts[0].id"),
        (lambda it: it["facts"][1].update(sources=["time", "graph"]), ".facts[1].sources"),
        (lambda it: it["facts"][1].update(valid_to=None), ".facts[1].valid_to"),
        (lambda it: it["facts"].pop(), ".facts"),
        (lambda it: it["edges"][0].update(provenance=0), ".edges[0].provenance"),
        (lambda it: it.update(truncated=True), ".truncated"),
        (lambda it: it.update(rendered=""), ".rendered"),
    ],
)
def test_any_difference_is_reported_where_it_is(
    change: Callable[[dict[str, Any]], object], place: str
) -> None:
    other = copy.deepcopy(RECALL)
    change(other)
    problem = disagreement(RECALL, other)
    assert problem is not None
    assert problem.startswith(place + ":")


def test_a_score_may_differ_by_less_than_a_millionth() -> None:
    other = copy.deepcopy(RECALL)
    other["facts"][0]["score"] *= 1 + 5e-7
    assert disagreement(RECALL, other) is None


def test_a_flag_is_no_number() -> None:
    assert disagreement({"truncated": True}, {"truncated": 1}) is not None


def test_facts_within_one_ulp_may_change_places() -> None:
    left, right = swapped(float(np.spacing(np.float32(0.02))) * 0.99)
    assert disagreement(left, right) is not None
    assert is_one_ulp_swap(left, right)


def test_facts_further_apart_may_not() -> None:
    assert not is_one_ulp_swap(*swapped(float(np.spacing(np.float32(0.02))) * 3))


def test_a_swap_excuses_nothing_else() -> None:
    left, right = swapped(0.0)
    right["truncated"] = True
    assert not is_one_ulp_swap(left, right)
    assert not is_one_ulp_swap({"id": 1}, {"id": 2})
