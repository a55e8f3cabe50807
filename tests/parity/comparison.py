"""When two outcomes count as equal."""

import math
import re
from typing import Any

import numpy as np

TOLERANCE = 1e-6  # relative, of every score
CLOSED_MONTHS = re.compile(r"\((\d{4,}-\d\d) → (\d{4,}-\d\d); closed\)")


def disagreement(expected: Any, actual: Any, path: str = "") -> str | None:
    """Return where two outcomes first differ, or `None`."""
    if type(expected) is not type(actual):
        return f"{path or 'outcome'}: expected {expected!r}, got {actual!r}"
    if isinstance(expected, dict):
        if list(expected) != list(actual):
            return f"{path or 'outcome'}: expected {expected!r}, got {actual!r}"
        pairs = [(f".{key}", expected[key], actual[key]) for key in expected]
    elif isinstance(expected, list):
        if len(expected) != len(actual):
            return f"{path or 'outcome'}: expected {expected!r}, got {actual!r}"
        pairs = [(f"[{i}]", *pair) for i, pair in enumerate(zip(expected, actual, strict=True))]
    else:
        same = expected == actual
        if isinstance(expected, float):
            same = math.isclose(expected, actual, rel_tol=TOLERANCE)
        return None if same else f"{path or 'outcome'}: expected {expected!r}, got {actual!r}"
    found = (disagreement(left, right, path + step) for step, left, right in pairs)
    return next((problem for problem in found if problem), None)


def without_inversion(outcome: Any) -> Any:
    """Return the reference's recall as if it ended no interval before it began.

    A fact that is closed before it became true never was: for the reference its end then lies
    before its start, for us at its start. Neither is valid at any instant.
    """
    if not _is_recall(outcome):
        return outcome
    facts = [
        fact | {"valid_to": fact["valid_to"] and max(fact["valid_from"], fact["valid_to"])}
        for fact in outcome["facts"]
    ]

    def ordered(months: re.Match[str]) -> str:
        start, end = months.groups()
        return f"({start} → {max(start, end)}; closed)"

    return outcome | {"facts": facts, "rendered": CLOSED_MONTHS.sub(ordered, outcome["rendered"])}


def is_one_ulp_swap(expected: Any, actual: Any) -> bool:
    """Tell whether two recalls differ only in the order of facts whose scores all but tie.

    The recency boost raises 2 to a power in single precision. Mathematical libraries round that
    differently in the last bit, so two facts whose scores lie within one unit in the last place
    may change places. Nothing else may differ.
    """
    if not _is_recall(expected) or not _is_recall(actual):
        return False
    if any(expected[key] != actual[key] for key in ("edges", "truncated")):
        return False
    left = {fact["id"]: fact for fact in expected["facts"]}
    right = {fact["id"]: fact for fact in actual["facts"]}
    if left.keys() != right.keys() or any(disagreement(left[i], right[i]) for i in left):
        return False
    if sorted(expected["rendered"].split("\n")) != sorted(actual["rendered"].split("\n")):
        return False
    return all(
        abs(fact["score"] - left[other["id"]]["score"]) <= np.spacing(np.float32(fact["score"]))
        for fact, other in zip(expected["facts"], actual["facts"], strict=True)
    )


def _is_recall(outcome: Any) -> bool:
    return isinstance(outcome, dict) and "rendered" in outcome
