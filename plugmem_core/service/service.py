"""`MemoryService`: opening and closing; the verbs come from their families."""

from pathlib import Path
from typing import Self

from plugmem_core.clock import Clock, system_clock
from plugmem_core.config import MemoryConfig
from plugmem_core.context import ContextCompiler, ContextDesk
from plugmem_core.context.budgets import Windows
from plugmem_core.embed import Embedder
from plugmem_core.extraction.protocol import Extractor
from plugmem_core.inputs import check_type
from plugmem_core.memory import Memory
from plugmem_core.model import Namespace
from plugmem_core.service.base import Counters
from plugmem_core.service.config import ServiceConfig
from plugmem_core.service.contexts import ContextVerbs
from plugmem_core.service.engine_store import EngineStore
from plugmem_core.service.evidence import EvidenceVerbs
from plugmem_core.service.listing import StatusVerbs
from plugmem_core.service.relating import RelateVerbs
from plugmem_core.service.remembering import RememberVerbs
from plugmem_core.service.store import MemoryStore
from plugmem_core.verbs.base import Closing, twin

_ROOM_FOR_DATE = 64  # bytes of JSON


class MemoryService(RememberVerbs, ContextVerbs, RelateVerbs, EvidenceVerbs, StatusVerbs, Closing):
    """An agent's memory: remember, recall, relate, forget, and why.

    Every verb has an async twin with an `a` before its name.

    Args:
        store: Where memories are kept: an `EngineStore` in a file, or a `DictStore`.
        extractor: What finds entities and relations in text, for `remember_extracted` and,
            with `ServiceConfig.autograph`, for `remember`.
        config: Limits and defaults.
        compiler: The estimator, prices, policy and limits that contexts are compiled with.
        windows: Further models for `suggest_budget`; see `plugmem_core.context`.

    >>> with MemoryService.open(":memory:") as service:
    ...     cause = service.remember("the pump leaked in March")
    ...     _ = service.remember("we bought a new pump in April", links=[(cause, "because")])
    ...     [node.content for node in service.why("new pump").nodes]
    ['we bought a new pump in April', 'the pump leaked in March']
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        extractor: Extractor | None = None,
        config: ServiceConfig | None = None,
        compiler: ContextCompiler | None = None,
        windows: Windows | None = None,
    ) -> None:
        check_type(
            store, MemoryStore, "store", "an EngineStore, a DictStore or another MemoryStore"
        )
        if extractor is not None:
            check_type(extractor, Extractor, "extractor", "an object with extract")
        limits = ServiceConfig() if config is None else config
        check_type(limits, ServiceConfig, "config", "a ServiceConfig")
        self._store = store
        self._extractor = extractor
        self._config = limits
        self._counters = Counters()
        self._desk = ContextDesk(
            store.values,
            namespace=store.namespace,
            clock=store.clock,
            compiler=compiler,
            pull=self.pull,
            windows=windows,
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        namespace: Namespace = ("service",),
        config: ServiceConfig | None = None,
        compiler: ContextCompiler | None = None,
        windows: Windows | None = None,
        read_only: bool = False,
        clock: Clock = system_clock,
    ) -> Self:
        """Open a service over a memory of its own, making the file if there is none.

        Args:
            path: The file, or `":memory:"` for one that ends with the handle.
            embedder: Makes vectors; without one, words alone find memories.
            extractor: What finds entities and relations in text.
            namespace: The scope in the file; services in different ones know nothing of
                each other.
            config: Limits and defaults.
            compiler: What contexts are compiled with.
            windows: Further models for `suggest_budget`.
            read_only: Refuse writes, and do not make the file.
            clock: Returns now in Unix milliseconds.

        Raises:
            StorageError: The file cannot be opened, or belongs to another application.
            VectorSpaceError: The file's vectors are of another dimension than the embedder's.

        >>> MemoryService.open(":memory:").recall("anything")
        []
        """
        limits = ServiceConfig() if config is None else config
        check_type(limits, ServiceConfig, "config", "a ServiceConfig")
        memory = Memory.open(
            path,
            config=MemoryConfig(
                max_text=max(MemoryConfig().max_text, limits.max_fact),
                max_metadata=min(limits.max_metadata + _ROOM_FOR_DATE, 16_777_216),
            ),
            embedder=embedder,
            read_only=read_only,
            clock=clock,
        )
        try:
            memory.check_vectors()  # else no recall would find by them
            return cls(
                _OwnedStore(memory, namespace),
                extractor=extractor,
                config=limits,
                compiler=compiler,
                windows=windows,
            )
        except BaseException:
            memory.close()
            raise

    @property
    def config(self) -> ServiceConfig:
        """Limits and defaults."""
        return self._config

    @property
    def store(self) -> MemoryStore:
        """Where memories are kept."""
        return self._store

    def close(self) -> None:
        """Close the memory that `open` opened; a store that was given stays open."""
        self._store.close()

    @classmethod
    async def aopen(
        cls,
        path: str | Path,
        *,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        namespace: Namespace = ("service",),
        config: ServiceConfig | None = None,
        compiler: ContextCompiler | None = None,
        windows: Windows | None = None,
        read_only: bool = False,
        clock: Clock = system_clock,
    ) -> Self:
        """`open` in a worker thread; the event loop runs on."""
        return await twin(cls.open)(
            path,
            embedder=embedder,
            extractor=extractor,
            namespace=namespace,
            config=config,
            compiler=compiler,
            windows=windows,
            read_only=read_only,
            clock=clock,
        )


class _OwnedStore(EngineStore):
    """A store that closes its memory."""

    def close(self) -> None:
        self.memory.close()
