"""`PlugmemStore`: a memory as a LangGraph store."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
)

from langchain_plugmem._items import (
    PART_TAG,
    PARTS,
    Items,
    ItemVersion,
    Place,
    fields_of,
    parts_of,
)
from langchain_plugmem._operations import check_op, check_paths, matches, where_of
from langchain_plugmem.embeddings import LangChainEmbedder
from plugmem_core import (
    BusyError,
    Fact,
    Instant,
    InvalidInputError,
    Memory,
    MemoryConfig,
    Namespace,
    ReadOnlyError,
    RecalledFact,
)
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.verbs.base import Closing, twin
from plugmem_core.verbs.listing import every

logger = logging.getLogger(__name__)

FIRST_DEPTH: Final = 127  # a deeper ranking takes more candidates of each source
RELEVANCE_ALONE: Final = {"recency": 0.0}
NEWEST: Final = {"sources": ("time",), "not_tags": (PART_TAG,), "weights": RELEVANCE_ALONE}
"""How items are listed without a query: each once, the last put first."""


class PlugmemStore(Closing, BaseStore):
    """Long-term memory of LangGraph graphs and agents, in one file.

    Setup:
        ```bash
        pip install "plugmem-core[langgraph]"
        ```

    A drop-in for `InMemoryStore`: every method of `BaseStore`, sync and async, from any
    thread. What is put is on disk when the call returns, and a batch is written whole or
    not at all. `search` with a query ranks by words, and by vectors when there are
    embeddings; items that nothing speaks for are not returned. Besides, items can be read
    as of an earlier instant, and have a `history`.

    A filter's fields and operators are those of `plugmem_core.filters`, over the value.
    As in other stores, a mapping without operators matches objects that have at least its
    fields, and `None` matches a missing field, too.

    Deleting forgets every version, history included.

    Args:
        memory: The open memory. Closing it remains the caller's task.
        index: `fields` names the parts of a value to search in, by default `["$"]`, all of
            it. `embed` and `dims` are those of the memory's embedder and may be left out;
            use `PlugmemStore.open` to have them taken from here.
        ttl: `default_ttl` in minutes, and `refresh_on_read`. An expired item is gone at
            once; `sweep_ttl` frees its space.
        namespace: Where in the memory the store lives, so that items and other facts of
            one file stay apart.
        weights: What each source counts, and `recency`; by default age plays no part.

    Raises:
        InvalidInputError: An argument breaks its rule; so do the methods.

    >>> store = PlugmemStore(Memory.open(":memory:"))
    >>> store.put(("users", "ann"), "tea", {"text": "drinks green tea"})
    >>> store.put(("users", "ann"), "jazz", {"text": "listens to jazz"})
    >>> [item.key for item in store.search(("users", "ann"), query="which tea?")]
    ['tea']
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        namespace: Sequence[str] = ("store",),
        weights: Mapping[str, float] | None = None,
    ) -> None:
        check_type(memory, Memory, "memory", "an open Memory")
        self.memory = memory
        self.ttl_config = ttl
        self.namespace = check_namespace(namespace)
        fields = check_paths((index or {}).get("fields") or ["$"], "index['fields']")
        self._items = Items(memory, self.namespace, fields)
        self._weights = RELEVANCE_ALONE if weights is None else dict(weights)
        _check_embedder(memory, index or {})

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        namespace: Sequence[str] = ("store",),
        weights: Mapping[str, float] | None = None,
        config: MemoryConfig | None = None,
    ) -> Self:
        """Open a file as a store of its own; `close`, `with` or `async with` lets go of it.

        Args:
            path: The file, made when missing, or `":memory:"`.
            index: As for the class; `embed` makes the vectors: embeddings, a function, a
                coroutine function or a `provider:model` name.
            ttl: As for the class.
            namespace: As for the class.
            weights: As for the class.
            config: How the memory stores and ranks.

        >>> with PlugmemStore.open(":memory:") as store:
        ...     store.put(("users",), "ann", {"likes": "tea"})
        ...     store.get(("users",), "ann").value
        {'likes': 'tea'}
        """
        settings: IndexConfig = {**index} if index else {}
        embedder = None
        if embed := settings.pop("embed", None):
            embedder = LangChainEmbedder(ensure_embeddings(embed), dim=settings.get("dims"))
        memory = Memory.open(path, config=config, embedder=embedder)
        try:
            return cls(memory, index=settings, ttl=ttl, namespace=namespace, weights=weights)
        except BaseException:
            memory.close()
            raise

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations; every read sees the state before the batch.

        Args:
            ops: Operations. The last put of a key wins; a value of `None` deletes it.

        Returns:
            One result an operation, in order.

        Raises:
            InvalidInputError: An operation breaks a rule; nothing was written.
            InvalidNamespaceError: A label is empty, no text, or has a dot.
        """
        asked = list(ops)
        for op in asked:
            check_op(op)
        reading = self._reading(None)
        gets = iter(reading.get([op for op in asked if isinstance(op, GetOp)]))
        answers = [next(gets) if isinstance(op, GetOp) else reading.answer(op) for op in asked]
        write = self._plan({(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)})
        self._refresh(reading.to_refresh)
        write()
        return answers

    def get(
        self,
        namespace: tuple[str, ...],
        key: str,
        *,
        refresh_ttl: bool | None = None,
        as_of: Instant | None = None,
    ) -> Item | None:
        """Return one item, or `None`.

        Args:
            namespace: Where it lives.
            key: Its key.
            refresh_ttl: Whether reading it starts its time to live anew.
            as_of: The instant to look from; now by default. The past is only looked at:
                nothing is refreshed.

        >>> store = PlugmemStore(Memory.open(":memory:"))
        >>> store.put(("users",), "ann", {"likes": "tea"})
        >>> store.get(("users",), "ann", as_of="2024-01-01") is None
        True
        """
        if as_of is None:
            return super().get(namespace, key, refresh_ttl=refresh_ttl)
        op = GetOp(namespace, str(key), refresh_ttl=False)
        check_op(op)
        return self._reading(as_of).get([op])[0]

    async def aget(
        self,
        namespace: tuple[str, ...],
        key: str,
        *,
        refresh_ttl: bool | None = None,
        as_of: Instant | None = None,
    ) -> Item | None:
        """`get` in a worker thread; the event loop runs on."""
        return await twin(self.get)(namespace, key, refresh_ttl=refresh_ttl, as_of=as_of)

    def search(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        as_of: Instant | None = None,
    ) -> list[SearchItem]:
        """Return items at and below a namespace, best first, or newest first without a query.

        Pages are parts of one ranking: none repeats an item, and none is left out.

        Args:
            namespace_prefix: Whole labels; `()` is everything.
            query: What to look for; any text, none of it is syntax.
            filter: Conditions over the value.
            limit: Most items.
            offset: Items to pass over.
            refresh_ttl: Whether reading an item starts its time to live anew.
            as_of: The instant to look from; now by default. The past is only looked at.

        Returns:
            Items with the fused score of `Memory.recall`, higher is better; `None` without
            a query.
        """
        if as_of is None:
            return super().search(
                namespace_prefix,
                query=query,
                filter=filter,
                limit=limit,
                offset=offset,
                refresh_ttl=refresh_ttl,
            )
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl=False)
        check_op(op)
        return self._reading(as_of).search(op)

    async def asearch(
        self,
        namespace_prefix: tuple[str, ...],
        /,
        *,
        query: str | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
        as_of: Instant | None = None,
    ) -> list[SearchItem]:
        """`search` in a worker thread; the event loop runs on."""
        return await twin(self.search)(
            namespace_prefix,
            query=query,
            filter=filter,
            limit=limit,
            offset=offset,
            refresh_ttl=refresh_ttl,
            as_of=as_of,
        )

    def history(self, namespace: tuple[str, ...], key: str) -> list[ItemVersion]:
        """Return every version of an item, oldest first; none of a deleted one.

        >>> store = PlugmemStore(Memory.open(":memory:"))
        >>> store.put(("users",), "ann", {"likes": "tea"})
        >>> store.put(("users",), "ann", {"likes": "coffee"})
        >>> [version.value["likes"] for version in store.history(("users",), "ann")]
        ['tea', 'coffee']
        """
        op = GetOp(namespace, str(key), refresh_ttl=False)
        check_op(op)
        return [
            ItemVersion(
                **fields_of(self._items.namespace_of(fact), fact),
                ended_at=fact.valid_to_time,
            )
            for fact in self._items.versions([(op.namespace, op.key)])
        ]

    def delete_namespace(self, namespace_prefix: tuple[str, ...]) -> int:
        """Delete every item at and below a namespace, in one transaction.

        Args:
            namespace_prefix: Whole labels; `()` is everything in the store.

        Returns:
            How many items there were.

        >>> store = PlugmemStore(Memory.open(":memory:"))
        >>> store.put(("users", "ann"), "tea", {"text": "drinks green tea"})
        >>> store.delete_namespace(("users",)), store.list_namespaces()
        (1, [])
        """
        check_op(SearchOp(namespace_prefix))
        scope = (*self.namespace, *namespace_prefix)
        facts = [
            fact
            for fact in every(self.memory.list_facts, namespace=scope, closed=True)
            if self._items.owns(fact)
        ]
        places = {(fact.namespace, fact.key) for fact in facts if fact.key is not None}
        self.memory.write(forget=sorted(places))
        return len({fact.id for fact in facts if fact.is_current and PART_TAG not in fact.tags})

    def sweep_ttl(self) -> int:
        """Remove what expired or was deleted from the file; returns how many facts went.

        >>> PlugmemStore(Memory.open(":memory:")).sweep_ttl()
        0
        """
        return self.memory.maintain().purged

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a worker thread; the event loop runs on."""
        return await twin(self.batch)(ops)

    ahistory = twin(history)
    adelete_namespace = twin(delete_namespace)
    asweep_ttl = twin(sweep_ttl)

    def _reading(self, as_of: Instant | None) -> "_Reading":
        return _Reading(self._items, self._weights, as_of)

    def _plan(self, puts: Mapping[Place, PutOp]) -> Callable[[], None]:
        """Return the write that puts make, everything about them checked that can be."""
        if not puts:
            return lambda: None
        before = {self._items.place_of(fact): fact for fact in self._items.current(list(puts))}
        gone = [place for place, op in puts.items() if op.value is None]
        remember: list[dict[str, Any]] = []
        end: list[Place] = []
        for place, op in puts.items():
            if op.value is not None:
                facts = self._items.facts(op, before.get(place))
                remember += facts
                end += self._items.parts(place, len(facts) - 1, parts_of(before.get(place)))
        forget = [(self._items.within(namespace), key) for namespace, key in gone]
        most = dict.fromkeys(gone, 0)
        for fact in self._items.versions(gone):
            place = self._items.place_of(fact)
            most[place] = max(most[place], parts_of(fact))
        for place, parts in most.items():
            forget += self._items.parts(place, 0, parts)

        def write() -> None:
            try:
                self.memory.write(remember=remember, forget=forget, end=end)
            except InvalidInputError as error:
                if error.place is None:
                    raise
                fact = remember[error.place]
                key, namespace = fact["metadata"]["key"], fact["namespace"]
                raise type(error)(f"put of {key!r} in {namespace}: {error.__cause__}") from error

        return write

    def _refresh(self, facts: Sequence[Fact | RecalledFact]) -> None:
        """Start the time to live of read items anew."""
        ids: dict[float, set[int]] = {}
        for fact in facts:
            ttl = fact.metadata["ttl"]
            if ttl is None:
                continue
            place = self._items.place_of(fact)
            keys = {key for _, key in self._items.parts(place, 0, parts_of(fact))}
            parts = self.memory.get_by_keys(keys, namespace=(*self._items.within(place[0]), PARTS))
            mains = self._items.current([place])
            ids.setdefault(ttl, set()).update(one.id for one in (*mains, *parts))
        try:
            for ttl, found in ids.items():
                self.memory.set_ttl(sorted(found), ttl * 60)
        except (ReadOnlyError, BusyError) as error:
            # What was read is right all the same; it only lives no longer for it.
            logger.warning("the time to live of what was read was not refreshed: %s", error)


class _Reading:
    """The reads of one batch, and which facts they have to refresh."""

    def __init__(self, items: Items, weights: Mapping[str, float], as_of: Instant | None) -> None:
        self._items = items
        self._weights = weights
        self._as_of = as_of
        self.to_refresh: list[Fact | RecalledFact] = []

    def get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        places = [(op.namespace, op.key) for op in ops]
        found = {
            self._items.place_of(fact): fact for fact in self._items.current(places, self._as_of)
        }
        items: list[Item | None] = []
        for op in ops:
            fact = found.get((op.namespace, op.key))
            if fact is not None and op.refresh_ttl:
                self.to_refresh.append(fact)
            items.append(None if fact is None else Item(**fields_of(op.namespace, fact)))
        return items

    def answer(self, op: Op) -> Result:
        if isinstance(op, SearchOp):
            return self.search(op)
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def search(self, op: SearchOp) -> list[SearchItem]:
        query = (op.query or "").strip() or None
        items = []
        for fact, score in islice(self._ranked(op, query), op.offset, op.offset + op.limit):
            if op.refresh_ttl:
                self.to_refresh.append(fact)
            items.append(SearchItem(**fields_of(self._items.namespace_of(fact), fact), score=score))
        return items

    def _ranked(
        self, op: SearchOp, query: str | None
    ) -> Iterator[tuple[RecalledFact, float | None]]:
        """Yield each item once, by its best fact; deeper rankings only go on where these end."""
        options = self._asking(query) if query else NEWEST
        seen: set[Place] = set()
        lowest = float("inf")
        depth = max(1, min(op.offset + op.limit, FIRST_DEPTH))
        while True:
            facts = self._recall(op, depth, query, **options)
            for fact in self._standing(facts):
                place = self._items.place_of(fact)
                if place not in seen:
                    seen.add(place)
                    # A deeper ranking has more candidates, which can lift its scores.
                    lowest = min(lowest, fact.score)
                    yield fact, lowest if query else None
            if len(facts) < depth:
                return
            depth = FIRST_DEPTH if depth < FIRST_DEPTH else 2 * depth + 1

    def _asking(self, query: str) -> dict[str, Any]:
        # Embedded here, so that deeper rankings need not do so again.
        vector = self._items.memory.embed_query(query)
        sources = ("bm25",) if vector is None else ("bm25", "vector")
        return {"vector": vector, "sources": sources, "weights": self._weights}

    def _standing(self, facts: Sequence[RecalledFact]) -> list[RecalledFact]:
        """Return the facts that are items, or parts of what their item is now.

        Of two puts of one item at the same time, the later may not know of all the parts
        that the earlier wrote, and so leave some behind.
        """
        own = [fact for fact in facts if self._items.owns(fact)]
        places = [self._items.place_of(fact) for fact in own if PART_TAG in fact.tags]
        current = {
            self._items.place_of(fact): fact.metadata
            for fact in self._items.current(places, self._as_of)
        }
        return [
            fact
            for fact in own
            if current.get(self._items.place_of(fact), fact.metadata) == fact.metadata
        ]

    def _recall(
        self, op: SearchOp, k: int, query: str | None, **options: Any
    ) -> tuple[RecalledFact, ...]:
        return self._items.memory.recall(
            query,
            k=k,
            namespace=self._items.within(op.namespace_prefix),
            where=where_of(op.filter),
            as_of=self._as_of,
            token_budget=None,
            **options,
        ).facts

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        depth = len(self._items.namespace)
        held = {
            one.namespace[depth:]
            for one in every(self._items.memory.namespaces, namespace=self._items.namespace)
        }
        conditions = op.match_conditions or ()
        found = {
            namespace[: op.max_depth]
            for namespace in held
            if namespace[-1:] != (PARTS,)
            and all(matches(condition, namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]


def _check_embedder(memory: Memory, index: IndexConfig) -> None:
    embedder = memory.embedder
    if embed := index.get("embed"):
        held = embedder.embeddings if isinstance(embedder, LangChainEmbedder) else None
        if held is not embed:
            raise InvalidInputError(
                "index has an embed, but the memory's vectors are made by "
                f"{type(embedder).__name__ if embedder else 'nothing'}; leave it out and open "
                "the memory with embedder=LangChainEmbedder(...), or use PlugmemStore.open"
            )
    dims, dim = index.get("dims"), embedder.dim if embedder else None
    if dims is not None and dim is not None and dims != dim:
        raise InvalidInputError(
            f"index has dims {dims}, the memory's embedder makes {dim}; leave dims out"
        )
