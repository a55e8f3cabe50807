"""Answers that may be missing, for tests that know they are there."""

from plugmem_core import Explanation, Fact, Memory, RecallResult


def stored(memory: Memory, fact_id: int) -> Fact:
    """Return a fact that `get` must find."""
    fact = memory.get(fact_id)
    assert fact is not None
    return fact


def reasons(result: RecallResult) -> Explanation:
    """Return the explanation that was asked for."""
    assert result.explanation is not None
    return result.explanation
