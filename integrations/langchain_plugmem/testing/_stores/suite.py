"""What the tests of stores share: the stores under test, and how they are called."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from langgraph.store.base import BaseStore, IndexConfig

from langchain_plugmem.testing._stores.access import Access
from langchain_plugmem.testing._stores.words import WordEmbeddings


class StoreSuite:
    """The fixtures and settings of `StoreConformance`, which documents them."""

    has_sync: bool = True
    has_async: bool = True
    tick: float = 0.01
    patience: float = 10.0

    @pytest.fixture
    def store(self) -> BaseStore:
        """Return an empty store; to be overridden."""
        raise NotImplementedError("override the fixture `store` so that it gives an empty store")

    @pytest.fixture
    def indexed_store(self) -> BaseStore:
        """Return an empty store made with `index_config()`; to be overridden."""
        pytest.skip("the fixture `indexed_store` is not overridden")

    def index_config(self) -> IndexConfig:
        """Return what the `indexed_store` is to be made with."""
        return {"dims": WordEmbeddings.dims, "embed": WordEmbeddings(), "fields": ["text"]}

    def pass_time(self, store: BaseStore, minutes: float) -> None:  # noqa: ARG002 - for overriders
        """Let time pass for the store, until it has dropped what has expired.

        Override it to move the clock of your store, or to call its sweeper.
        """
        time.sleep(minutes * 60)

    @pytest.fixture
    def runner(self) -> Iterator[asyncio.Runner]:
        """Give the event loop on which the async calls of one test run."""
        runner = asyncio.Runner()
        yield runner
        # After a deadlock the loop runs on in another thread and cannot be closed.
        if not runner.get_loop().is_running():
            runner.close()

    @pytest.fixture(params=["sync", "async"])
    def way(self, request: pytest.FixtureRequest) -> str:
        """Say whether the sync or the async methods are called."""
        way = str(request.param)
        if not getattr(self, f"has_{way}"):
            pytest.skip(f"has_{way} is False")
        return way

    @pytest.fixture
    def plain(self, store: BaseStore, way: str, runner: asyncio.Runner) -> Access:
        """Give the calls of the `store`."""
        return Access(store, runner if way == "async" else None)

    @pytest.fixture
    def indexed(self, indexed_store: BaseStore, way: str, runner: asyncio.Runner) -> Access:
        """Give the calls of the `indexed_store`."""
        return Access(indexed_store, runner if way == "async" else None)

    @pytest.fixture
    def expiring(self, plain: Access) -> Access:
        """Give the calls of the `store` if its items can expire."""
        if not plain.store.supports_ttl:
            pytest.skip("supports_ttl is False")
        return plain
