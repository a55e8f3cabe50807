"""The systems that the command line names."""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from benchmarks.quality.frameworks import framework_peers
from benchmarks.quality.ours import RANKINGS, our_system, our_systems
from benchmarks.quality.peers import plain_peers
from benchmarks.quality.systems import System
from benchmarks.quality.wheel import wheel_peers


def every_system() -> list[System]:
    """Return all there are, peers first."""
    return [*plain_peers(), *framework_peers(), *wheel_peers(), *our_systems()]


def choose_systems(patterns: Sequence[str]) -> list[System]:
    """Return the systems that patterns name, in their order.

    A pattern is a name, with `*` and `?`, or a ranking of ours with knobs of `MemoryConfig`:
    `tuned:text_share=0.5;link_boost=0`.

    Raises:
        SystemExit: A pattern names none.

    >>> [system.name for system in choose_systems(["reference", "tuned:text_share=0.5"])]
    ['reference', 'tuned:text_share=0.5']
    """
    known = every_system()
    chosen: dict[str, System] = {}
    for pattern in patterns:
        found = [system for system in known if fnmatchcase(system.name, pattern)]
        if not found:
            found = [_with_knobs(pattern, known)]
        chosen |= {system.name: system for system in found}
    return list(chosen.values())


def _with_knobs(pattern: str, known: Sequence[System]) -> System:
    ranking, _, rest = pattern.partition(":")
    if ranking not in RANKINGS or not rest:
        names = ", ".join(system.name for system in known)
        raise SystemExit(f"there is no system {pattern!r}; there are {names}")
    knobs: dict[str, Any] = dict(RANKINGS[ranking])
    for pair in rest.split(";"):
        name, _, value = pair.partition("=")
        knobs[name.strip()] = _value(value)
    return our_system(pattern, knobs)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
