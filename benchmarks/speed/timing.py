"""Times of several peers that take turns, so that a busy moment of the machine hits all of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

LONGEST = 4.0
"""Seconds after which a peer is asked no more; the slow ones would take hours."""


class Times(NamedTuple):
    """What calls took, in microseconds."""

    p50: float
    p95: float
    p99: float
    calls: int

    @property
    def per_second(self) -> float:
        """Calls a second, one after another."""
        return 1e6 / self.p50


def in_turn(
    asks: Mapping[str, Callable[[Any], object]], items: Sequence[Any], rounds: int
) -> dict[str, Times]:
    """Let everybody answer the same items, one after another and item by item.

    Each is asked the first item beforehand, so nobody's first call counts.

    Args:
        asks: By peer, what is timed.
        items: What they are called with.
        rounds: How often all items are gone through.
    """
    taken: dict[str, list[int]] = {name: [] for name in asks}
    spent = dict.fromkeys(asks, 0)
    for ask in asks.values():
        ask(items[0])
    for item in [item for _ in range(rounds) for item in items]:
        for name, ask in asks.items():
            if spent[name] > LONGEST * 1e9:
                continue
            start = time.perf_counter_ns()
            ask(item)
            one = time.perf_counter_ns() - start
            taken[name].append(one)
            spent[name] += one
    return {name: summary(times) for name, times in taken.items()}


def summary(nanoseconds: Sequence[int]) -> Times:
    """Return the percentiles of times.

    >>> summary([1000, 2000, 3000]).p50
    2.0
    """
    p50, p95, p99 = (float(one) / 1e3 for one in np.percentile(nanoseconds, [50, 95, 99]))
    return Times(p50, p95, p99, len(nanoseconds))


def once(call: Callable[[], object]) -> float:
    """Return the microseconds of one call."""
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e3
