"""A desk over a memory, and the same over a dict."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from clocks import Clock

from context.asking import DictStore
from plugmem_core import Memory
from plugmem_core.context import ContextDesk, ValueStore

OpenDesk: TypeAlias = Callable[..., ContextDesk]


@pytest.fixture(params=["memory", "dict"])
def values(request: pytest.FixtureRequest, memory: Memory) -> ValueStore:
    return memory if request.param == "memory" else DictStore()


@pytest.fixture
def open_desk(values: ValueStore, clock: Clock) -> OpenDesk:
    """Opens desks over one store."""

    def open_desk(**options: Any) -> ContextDesk:
        return ContextDesk(values, **{"clock": clock, **options})

    return open_desk


@pytest.fixture
def desk(open_desk: OpenDesk) -> ContextDesk:
    return open_desk()
