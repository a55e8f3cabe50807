"""A service over each kind of store, under a clock that the test sets."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from clocks import Clock
from conftest import OpenMemory

from plugmem_core.embed import Embedder
from plugmem_core.service import DictStore, EngineStore, MemoryService, MemoryStore

MakeStore: TypeAlias = Callable[[Embedder | None], MemoryStore]
OpenService: TypeAlias = Callable[..., MemoryService]


class Compass:
    """An embedder of two components: each text points where the test says.

    Args:
        cosines: The cosine of each text with the question; other texts have no direction.
    """

    def __init__(self, cosines: Mapping[str, float]) -> None:
        self.space_id = "compass"
        self.dim: int | None = 2
        self.cosines = cosines

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float64]]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> npt.NDArray[np.float64]:
        return np.array([1.0, 0.0])

    def _vector(self, text: str) -> npt.NDArray[np.float64]:
        if text not in self.cosines:
            return np.zeros(2)
        cosine = self.cosines[text]
        return np.array([cosine, math.sqrt(1 - cosine * cosine)])


@pytest.fixture(params=["engine", "dict"])
def make_store(request: pytest.FixtureRequest, clock: Clock, open_memory: OpenMemory) -> MakeStore:
    """Makes stores of either kind."""

    def make(embedder: Embedder | None = None) -> MemoryStore:
        if request.param == "dict":
            return DictStore(embedder, clock)
        return EngineStore(open_memory(embedder=embedder))

    return make


@pytest.fixture
def open_service(make_store: MakeStore) -> OpenService:
    """Opens services over stores of either kind."""

    def open_service(embedder: Embedder | None = None, **options: Any) -> MemoryService:
        return MemoryService(make_store(embedder), **options)

    return open_service


@pytest.fixture
def service(open_service: OpenService) -> MemoryService:
    return open_service()


def contents(found: Any) -> list[str]:
    """Return the texts of what was found, in order."""
    return [one.content for one in found]


def everything(service: MemoryService) -> Any:
    """Return all that a service holds."""
    nodes = list(service.list_memories(limit=1_000, include_internal=True))
    store = service.store
    return (
        nodes,
        [store.links(node.id) for node in nodes],
        store.learned([node.id for node in nodes]),
    )
