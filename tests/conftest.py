"""A memory under a clock the test sets, and more of them on demand."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest
from clocks import Clock
from hypothesis import settings

from plugmem_core import Memory, MemoryConfig

OpenMemory: TypeAlias = Callable[..., Memory]
Load: TypeAlias = Callable[[str], ModuleType]

# A test run is the same each time, and no test measures time; `make fuzz` looks further.
settings.register_profile("gate", derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=2_000, deadline=None)
settings.load_profile("gate")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_memory(clock: Clock, request: pytest.FixtureRequest) -> Iterator[OpenMemory]:
    """Opens memories under the clock, by default without a file, and closes them at the end.

    Those of a test that is marked `reference` have that ranking.
    """
    opened: list[Memory] = []
    marked = request.node.get_closest_marker("reference") is not None

    def open_memory(path: str | Path = ":memory:", **options: Any) -> Memory:
        if marked:
            config = options.get("config") or MemoryConfig()
            options["config"] = config.replace(ranking="reference")
        opened.append(Memory.open(path, **{"clock": clock, **options}))
        return opened[-1]

    yield open_memory
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory()


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Imports a module of the benchmarks, which are not installed."""
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)
    return lambda name: import_module(f"benchmarks.{name}")
