"""`Memory`: opening and closing; the verbs come from their families."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self

from plugmem_core.clock import Clock, system_clock
from plugmem_core.config import MemoryConfig
from plugmem_core.embed import Embedder
from plugmem_core.engine import Engine
from plugmem_core.errors import InvalidInputError, WrongTypeError
from plugmem_core.inputs import MAX_DIM, check_count, check_type
from plugmem_core.model import VectorSpace
from plugmem_core.progress import Progress, silent
from plugmem_core.recall import Reranker, check_reranker
from plugmem_core.verbs import (
    CareVerbs,
    EraseVerbs,
    FactVerbs,
    GraphVerbs,
    ListingVerbs,
    MentionVerbs,
    MovingVerbs,
    ReadingVerbs,
    RecallVerbs,
    TagVerbs,
    ValueVerbs,
)
from plugmem_core.verbs.base import Closing, twin
from plugmem_core.work import Work, counting


class Memory(
    FactVerbs,
    ReadingVerbs,
    ListingVerbs,
    RecallVerbs,
    GraphVerbs,
    MentionVerbs,
    TagVerbs,
    ValueVerbs,
    EraseVerbs,
    MovingVerbs,
    CareVerbs,
    Closing,
):
    """An embedded, bitemporal, explainable memory in one file.

    Open one with `Memory.open`. A handle may be shared by threads; other processes may
    have the same file open, and see its commits on their next call. Every verb has an
    async twin with an `a` before its name.

    >>> with Memory.open(":memory:") as memory:
    ...     _ = memory.remember("Mara prefers green tea", entity="Mara")
    ...     print(memory.recall("what does Mara drink? tea").facts[0].text)
    Mara prefers green tea
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        config: MemoryConfig | None = None,
        embedder: Embedder | None = None,
        dim: int = 0,
        read_only: bool = False,
        clock: Clock = system_clock,
        progress: Progress | None = None,
        reranker: Reranker | None = None,
    ) -> Self:
        """Open a memory, making the file if there is none.

        Args:
            path: The file, or `":memory:"` for one that ends with the handle.
            config: Every knob; by default `MemoryConfig()`.
            embedder: Makes vectors of texts and questions; without one, callers may
                pass vectors themselves, or go without.
            dim: Dimension of the vectors callers pass; by default that of the first.
            read_only: Refuse writes, and do not make the file.
            clock: Returns now in Unix milliseconds.
            progress: Called with the facts taken in and those there are, where the index has
                to be made anew: there is no checkpoint of it, or text is read in another way.
            reranker: Gives the best facts of every recall another order; see `recall`.

        Raises:
            StorageError: The file cannot be opened, or belongs to another application.
            CorruptError: The file is damaged or is not a database.
            VectorSpaceError: `dim` contradicts the embedder.

        >>> Memory.open(":memory:", dim=3).stats().facts
        0
        """
        if not isinstance(path, str | Path):
            raise WrongTypeError(f'path is {path!r}; give a path, or ":memory:"')
        if config is not None and not isinstance(config, MemoryConfig):
            raise WrongTypeError(f"config is {config!r}; give a MemoryConfig")
        check_type(read_only, bool, "read_only", "True or False")
        if read_only and str(path) == ":memory:":
            raise InvalidInputError(
                'read_only is True for ":memory:", which would stay empty; give the path of a file'
            )
        announced = check_count(dim, "dim", least=0, most=MAX_DIM)
        engine = Engine(
            path,
            config or MemoryConfig(),
            embedder,
            announced,
            clock,
            read_only=read_only,
            progress=progress or silent,
            reranker=None if reranker is None else check_reranker(reranker),
        )
        return cls(engine)

    @property
    def config(self) -> MemoryConfig:
        """The configuration the memory was opened with."""
        return self._engine.config

    @property
    def clock(self) -> Clock:
        """What tells now, in Unix milliseconds."""
        return self._engine.clock

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors of texts, if anything does."""
        return self._engine.vectorizer.embedder

    @property
    def vector_space(self) -> VectorSpace | None:
        """Which vectors the file holds; `None` while it has none."""
        state = self._engine.state
        return VectorSpace(state.dim, state.space) if state.dim else None

    def check_vectors(self) -> None:
        """Refuse an embedder that cannot work with the vectors of the file.

        Opening only warns of it, since words, entities and time answer all the same.

        Raises:
            VectorSpaceError: They are of another dimension or model.

        >>> Memory.open(":memory:").check_vectors()
        """
        self._engine.sync()
        self._engine.vectorizer.check_space(self._engine.state)

    @property
    def path(self) -> Path | None:
        """The file; `None` for a memory without one."""
        return self._engine.store.path

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make one transaction of all that is written in the block: all of it or nothing.

        Nobody else writes meanwhile, so what is read inside still holds when the block
        ends: a value can be read, changed and stored again without losing an update.

        Verbs inside see what was there before the block; what they write becomes visible
        at its end. An error inside undoes the whole block, even if it is caught, unless it is
        an argument that a verb refuses before it writes. The block belongs to its thread:
        the async twins, which run in others, would wait for its end in vain. No embedder is
        called while others wait for the block: vectors are pending at its end, and made then.

        Raises:
            BusyError: Another process wrote for longer than `busy_timeout`.

        >>> memory = Memory.open(":memory:")
        >>> with memory.transaction():
        ...     _ = memory.remember("the tide is out", entity="harbour")
        ...     _ = memory.link("harbour", "belongs to", "town")
        ...     memory.recall("tide").facts
        ()
        >>> [fact.text for fact in memory.recall("tide").facts]
        ['the tide is out']
        """
        outermost = self._engine.shared is None
        with self._engine.together() as shared:
            yield
        if outermost and shared.owes_vectors:
            self._make_pending_vectors()

    @contextmanager
    def counting(self) -> Iterator[Work]:
        """Count what the calls of this thread look at and write in the block.

        Counts mean the same on every machine, however busy, which times do not.

        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("the tide is out")
        >>> with memory.counting() as work:
        ...     _ = memory.recall("tide")
        >>> work.postings, work.rows
        (2, 1)
        """
        with counting(self.path) as work:
            yield work

    def close(self) -> None:
        """Save a checkpoint and let go of the file; closing twice is fine.

        >>> memory = Memory.open(":memory:")
        >>> memory.close()
        """
        self._engine.close()

    @classmethod
    async def aopen(
        cls,
        path: str | Path,
        *,
        config: MemoryConfig | None = None,
        embedder: Embedder | None = None,
        dim: int = 0,
        read_only: bool = False,
        clock: Clock = system_clock,
        progress: Progress | None = None,
        reranker: Reranker | None = None,
    ) -> Self:
        """`open` in a worker thread; the event loop runs on."""
        return await twin(cls.open)(
            path,
            config=config,
            embedder=embedder,
            dim=dim,
            read_only=read_only,
            clock=clock,
            progress=progress,
            reranker=reranker,
        )

    # An open file has no second self: copies of it, and of what holds it, ask the same memory.

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise WrongTypeError(
            f"{self!r} is open, so it cannot be pickled; open the memory in the other process"
        )

    def __repr__(self) -> str:
        return f"Memory({str(self.path or ':memory:')!r})"
