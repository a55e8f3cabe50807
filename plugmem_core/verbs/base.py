"""What all families of verbs share."""

import asyncio
import base64
import json
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from hashlib import blake2b
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter, ValidationError

from plugmem_core.clock import MAX_MS
from plugmem_core.engine import Engine
from plugmem_core.errors import InvalidInputError, NotFoundError, StaleCursorError, shown
from plugmem_core.kernels import OPEN, Scope
from plugmem_core.model import Namespace
from plugmem_core.store import FactRow, Transaction
from plugmem_core.vectorizer import EVENT_LOOP

MAX_PAGE = 1_000
"""Most items of one page of any listing."""

WORKERS = 16
"""Async verbs of one event loop that run at the same time; others wait their turn."""

_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadPoolExecutor] = WeakKeyDictionary()

P = ParamSpec("P")
R = TypeVar("R")


def twin(verb: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the async twin of a verb: the same in a worker thread, off the event loop."""

    @wraps(verb)
    async def asynchronous(*args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        context = copy_context()
        context.run(EVENT_LOOP.set, loop)

        def work() -> R:
            try:
                return context.run(verb, *args, **kwargs)
            except StopIteration as error:  # no future would take it, and the await never end
                raise RuntimeError("StopIteration was raised in a worker thread") from error

        return await loop.run_in_executor(_workers(loop), work)

    asynchronous.__name__ = f"a{verb.__name__}"
    asynchronous.__qualname__ = verb.__qualname__.replace(verb.__name__, asynchronous.__name__)
    asynchronous.__doc__ = f"`{verb.__name__}` in a worker thread; the event loop runs on."
    return asynchronous


def _workers(loop: asyncio.AbstractEventLoop) -> ThreadPoolExecutor:
    # Not the loop's own pool: verbs that wait there for an embedder's coroutine would hold all
    # of the threads that this coroutine may need, for a look-up of an address for example.
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = ThreadPoolExecutor(WORKERS, thread_name_prefix="plugmem")
    return pool


class Closing:
    """What is closed at the end of a `with` or `async with` block."""

    __slots__ = ()

    def close(self) -> None:
        """Let go of what is open."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """`close` in a worker thread; the event loop runs on."""
        await twin(self.close)()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


class Verbs:
    """A family of verbs over one engine."""

    _engine: Engine

    def _ready(self) -> Engine:
        """Return the engine, in step with truth."""
        engine = self._engine
        engine.check_open()
        engine.sync()
        return engine

    def _outside(self, verb: str) -> Engine:
        """Return the engine for a verb that has transactions of its own."""
        if self._engine.shared is not None:
            raise InvalidInputError(f"{verb} is no part of a transaction; call it outside")
        return self._ready()

    def _visible(self, namespace: Namespace, *, current: bool = False, below: bool = True) -> Scope:
        """Return the scope of what a namespace may see at all, or of its current facts."""
        # Every instant of validity: listings show what is planned, too.
        now = self._engine.clock()
        scope = Scope(MAX_MS, OPEN, now, closed=not current, unknown_closings=False)
        mask = self._engine.index.spaces.mask(namespace, below=below)
        if mask is not None:
            scope.restrict_namespaces(mask)
        return scope

    def _visible_row(self, transaction: Transaction, fact: int, namespace: Namespace) -> FactRow:
        """Return the row of a fact that a write names.

        Raises:
            NotFoundError: It does not exist here, is forgotten, or has expired.
        """
        row = transaction.fact(fact)
        scope = self._visible(namespace)
        # Within a transaction it may have been forgotten since the index was last in step.
        if row.forgotten_at is not None or not self._engine.index.facts.admits(scope, fact):
            raise NotFoundError(f"fact {fact} does not exist")
        return row


def encode_cursor(listing: object, after: object) -> str:
    """Return an opaque page cursor: where a listing goes on, and which listing it is."""
    data = json.dumps([_fingerprint(listing), after]).encode()
    return base64.urlsafe_b64encode(data).decode()


def decode_cursor(listing: object, cursor: str, kind: type[R]) -> R:
    """Return where a listing goes on, which is of a kind such as `int` or `tuple[str, ...]`.

    Raises:
        InvalidInputError: The text is no cursor.
        StaleCursorError: It belongs to a listing with other arguments.
    """
    try:
        fingerprint, after = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise _no_cursor(cursor) from None
    if fingerprint != _fingerprint(listing):
        raise StaleCursorError(
            "the cursor belongs to a listing with other arguments; repeat those, or start anew"
        )
    try:
        # A cursor is made up easily: what it says is no more than what a caller says.
        return TypeAdapter(kind).validate_json(json.dumps(after), strict=True)
    except ValidationError:
        raise _no_cursor(cursor) from None


def _no_cursor(cursor: object) -> InvalidInputError:
    return InvalidInputError(
        f"cursor is {shown(cursor)}; pass the next_cursor of the page before, unchanged"
    )


def first_page(items: Iterable[R], limit: int) -> tuple[list[R], bool]:
    """Return at most `limit` items, and whether there were more."""
    page: list[R] = []
    for item in items:
        if len(page) == limit:
            return page, True
        page.append(item)
    return page, False


def _fingerprint(listing: object) -> str:
    return blake2b(repr(listing).encode(), digest_size=8).hexdigest()
