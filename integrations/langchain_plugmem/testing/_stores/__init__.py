"""`StoreConformance`: everything a LangGraph store should do, as one class of tests."""

from langchain_plugmem.testing._stores.batches import BatchBehaviours
from langchain_plugmem.testing._stores.expiry import ExpiryBehaviours
from langchain_plugmem.testing._stores.items import ItemBehaviours
from langchain_plugmem.testing._stores.namespaces import NamespaceBehaviours
from langchain_plugmem.testing._stores.ranking import RankingBehaviours
from langchain_plugmem.testing._stores.running import RunningBehaviours
from langchain_plugmem.testing._stores.searches import SearchBehaviours


class StoreConformance(
    ItemBehaviours,
    BatchBehaviours,
    SearchBehaviours,
    RankingBehaviours,
    NamespaceBehaviours,
    ExpiryBehaviours,
    RunningBehaviours,
):
    """Tests of a LangGraph `BaseStore`, to be subclassed by its author.

    Setup:
        ```bash
        pip install "plugmem-core[langgraph]" pytest
        ```

    Override the fixture `store` so that it gives a new, empty store without a ttl config or
    an index, and `indexed_store` so that it gives one made with `index_config()`. Without the
    latter, the tests of ranking are skipped. Each behaviour is checked through the sync and
    the async methods. The tests are plain functions: no plugin for async tests is needed, and
    each mode of pytest-asyncio will do.

    Settings, as class attributes:
        has_sync: Whether the sync methods work. By default `True`.
        has_async: Whether the async methods work. By default `True`.
        tick: The ttl of the items that expire, in minutes; by default 0.01. Give more if a
            tenth of it is too short for the store's clock.
        patience: The seconds after which a call that has not returned counts as a
            deadlock. By default 10.

    Whether items can expire is read from the store's own `supports_ttl`.

    Methods to override where needed:
        pass_time: Lets time pass for the store; by default it sleeps. A store that drops
            expired items only when swept is swept here, and one with a clock of its own
            has it moved.

    Fixtures to use:
        runner: The `asyncio.Runner` on whose loop the async calls are made. A store that
            belongs to a loop is opened and closed by `runner.run(...)`.

    Example:
        >>> import pytest
        >>> from langgraph.store.memory import InMemoryStore
        >>> class TestMyStore(StoreConformance):
        ...     @pytest.fixture
        ...     def store(self):
        ...         return InMemoryStore()
        ...
        ...     @pytest.fixture
        ...     def indexed_store(self):
        ...         return InMemoryStore(index=self.index_config())
    """
