"""`PlugmemStore`: a memory as a LangGraph store.

| item                      | fact                                                          |
|---------------------------|---------------------------------------------------------------|
| `namespace`               | `namespace`, below the store's own                            |
| `key`                     | `key`                                                         |
| `value`                   | `metadata["value"]`                                           |
| `created_at`, `ttl`       | `metadata`, too: a put keeps the first, and replaces the other |
| `updated_at`              | `metadata["updated_at"]`: every put is a version of its own   |
| the first indexed text    | `text`; `-`, which holds no words, when nothing is indexed    |
| every further one         | a fact of its own, in the label `.parts` below the namespace  |

A label of an item cannot have a dot, so `.parts` is never one of the user's.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
    validate_op_namespace,
)

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
    WrongTypeError,
)
from plugmem_core.clock import to_datetime
from plugmem_core.errors import shown
from plugmem_core.filters import parse_filter
from plugmem_core.inputs import check_count, check_key, check_metadata, check_namespace, check_type
from plugmem_core.verbs.base import MAX_PAGE, twin

logger = logging.getLogger(__name__)

Place: TypeAlias = tuple[Namespace, str]
"""The namespace and the key of an item."""

PARTS: Final = ".parts"
PART_TAG: Final = "part"
NO_WORDS: Final = "-"
FIRST_DEPTH: Final = 127  # a deeper ranking takes more candidates of each source
RELEVANCE_ALONE: Final = {"recency": 0.0}


class ItemVersion(Item):
    """What an item was at some time.

    Attributes:
        ended_at: When the next version replaced it; `None` for the current one.
    """

    __slots__ = ("ended_at",)

    def __init__(self, *, ended_at: datetime | None, **fields: Any) -> None:
        super().__init__(**fields)
        self.ended_at = ended_at


class PlugmemStore(BaseStore):
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
        self.memory = memory
        self.ttl_config = ttl
        self.namespace = check_namespace(namespace)
        self._fields = _check_paths((index or {}).get("fields") or ["$"], "index['fields']")
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
            _check_op(op)
        reading = _Reading(self, as_of=None)
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
        _check_op(op)
        return _Reading(self, as_of).get([op])[0]

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
        _check_op(op)
        return _Reading(self, as_of).search(op)

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
        _check_op(op)
        return [
            ItemVersion(
                **_fields(self._namespace_of(fact), fact),
                ended_at=fact.valid_to_time,
            )
            for fact in self._versions([(op.namespace, op.key)])
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
        _check_op(SearchOp(namespace_prefix))
        scope = (*self.namespace, *namespace_prefix)
        facts = [
            fact
            for page in _pages(self.memory.list_facts, namespace=scope, closed=True)
            for fact in page
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
    aclose = twin(close)

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

    # -- writing

    def _plan(self, puts: Mapping[Place, PutOp]) -> Callable[[], None]:
        """Return the write that puts make, everything about them checked that can be."""
        if not puts:
            return lambda: None
        before = {self._place_of(fact): fact for fact in self._current(list(puts))}
        gone = [place for place, op in puts.items() if op.value is None]
        remember: list[dict[str, Any]] = []
        end: list[Place] = []
        for place, op in puts.items():
            if op.value is not None:
                facts = self._facts(op, before.get(place))
                remember += facts
                end += self._parts(place, len(facts) - 1, _parts_of(before.get(place)))
        forget = [(self._within(namespace), key) for namespace, key in gone]
        most = dict.fromkeys(gone, 0)
        for fact in self._versions(gone):
            place = self._place_of(fact)
            most[place] = max(most[place], _parts_of(fact))
        for place, parts in most.items():
            forget += self._parts(place, 0, parts)

        def write() -> None:
            try:
                self.memory.write(remember=remember, forget=forget, end=end)
            except InvalidInputError as error:
                names = ", ".join(f"{key!r} in {namespace}" for namespace, key in puts)
                raise type(error)(f"put of {names}: {error}") from error

        return write

    def _facts(self, op: PutOp, before: Fact | None) -> list[dict[str, Any]]:
        """Return an item as facts: one with its first text, and one for every further text."""
        name, limit = f"the value of {op.key!r}", self.memory.config.max_metadata
        value = json.loads(check_metadata(op.value, name, max_bytes=limit) or "{}")
        texts = self._texts(op, value)
        now = self.memory.clock()
        metadata = {
            "key": op.key,
            "value": value,
            "created_at": before.metadata["created_at"] if before else now,
            "updated_at": now,
            "ttl": op.ttl,
            "parts": max(0, len(texts) - 1),
        }
        ttl = None if op.ttl is None else op.ttl * 60
        namespace = self._within(op.namespace)
        shared = {"metadata": metadata, "ttl": ttl}
        first = texts[0] if texts else NO_WORDS
        return [
            {
                **shared,
                "text": first,
                "key": op.key,
                "namespace": namespace,
                "embed": bool(texts),
            },
            *(
                {
                    **shared,
                    "text": text,
                    "key": _part_key(number, op.key),
                    "namespace": (*namespace, PARTS),
                    "tags": [PART_TAG],
                }
                for number, text in enumerate(texts[1:])
            ),
        ]

    def _texts(self, op: PutOp, value: dict[str, Any]) -> list[str]:
        if op.index is False:
            return []
        paths = self._fields if op.index is None else op.index
        texts = (text for path in paths for text in get_text_at_path(value, path))
        return list(dict.fromkeys(text for text in texts if text.strip()))

    def _refresh(self, facts: Sequence[Fact | RecalledFact]) -> None:
        """Start the time to live of read items anew."""
        ids: dict[float, set[int]] = {}
        for fact in facts:
            ttl = fact.metadata["ttl"]
            if ttl is None:
                continue
            place = self._place_of(fact)
            keys = {key for _, key in self._parts(place, 0, _parts_of(fact))}
            parts = self.memory.get_by_keys(keys, namespace=(*self._within(place[0]), PARTS))
            mains = self._current([place])
            ids.setdefault(ttl, set()).update(one.id for one in (*mains, *parts))
        try:
            for ttl, found in ids.items():
                self.memory.set_ttl(sorted(found), ttl * 60)
        except (ReadOnlyError, BusyError) as error:
            # What was read is right all the same; it only lives no longer for it.
            logger.warning("the time to live of what was read was not refreshed: %s", error)

    # -- places

    def _within(self, namespace: Namespace) -> Namespace:
        return (*self.namespace, *namespace)

    def _namespace_of(self, fact: Fact | RecalledFact) -> Namespace:
        """Return the namespace of the item that a fact is, or is a part of."""
        inner = fact.namespace[len(self.namespace) :]
        return inner[:-1] if PART_TAG in fact.tags else inner

    def _place_of(self, fact: Fact | RecalledFact) -> Place:
        return self._namespace_of(fact), fact.metadata["key"]

    def _parts(self, place: Place, start: int, stop: int) -> list[Place]:
        namespace, key = place
        return [
            ((*self._within(namespace), PARTS), _part_key(number, key))
            for number in range(start, stop)
        ]

    def _current(self, places: Sequence[Place], as_of: Instant | None = None) -> list[Fact]:
        return self._at(places, as_of=as_of)

    def _versions(self, places: Sequence[Place]) -> list[Fact]:
        return self._at(places, closed=True)

    def _at(self, places: Sequence[Place], **options: Any) -> list[Fact]:
        if not places:
            return []
        wanted = {(self._within(namespace), key) for namespace, key in places}
        keys = [key for _, key in places]
        facts = self.memory.get_by_keys(keys, namespace=self.namespace, **options)
        return [fact for fact in facts if (fact.namespace, fact.key) in wanted]


class _Reading:
    """The reads of one batch, and which facts they have to refresh."""

    def __init__(self, store: PlugmemStore, as_of: Instant | None) -> None:
        self._store = store
        self._as_of = as_of
        self.to_refresh: list[Fact | RecalledFact] = []

    def get(self, ops: Sequence[GetOp]) -> list[Item | None]:
        store = self._store
        places = [(op.namespace, op.key) for op in ops]
        found = {store._place_of(fact): fact for fact in store._current(places, self._as_of)}
        items: list[Item | None] = []
        for op in ops:
            fact = found.get((op.namespace, op.key))
            if fact is not None and op.refresh_ttl:
                self.to_refresh.append(fact)
            items.append(None if fact is None else Item(**_fields(op.namespace, fact)))
        return items

    def answer(self, op: Op) -> Result:
        if isinstance(op, SearchOp):
            return self.search(op)
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def search(self, op: SearchOp) -> list[SearchItem]:
        query = (op.query or "").strip()
        ranking = self._ranked(op, query) if query else self._newest(op)
        items = []
        for fact, score in islice(ranking, op.offset, op.offset + op.limit):
            if op.refresh_ttl:
                self.to_refresh.append(fact)
            items.append(SearchItem(**_fields(self._store._namespace_of(fact), fact), score=score))
        return items

    def _ranked(self, op: SearchOp, query: str) -> Iterator[tuple[RecalledFact, float]]:
        """Yield each item once, by its best fact; deeper rankings only go on where these end."""
        seen: set[Place] = set()
        lowest = float("inf")
        depth = max(1, min(op.offset + op.limit, FIRST_DEPTH))
        vector = self._store.memory.embed_query(query)
        sources = ("bm25",) if vector is None else ("bm25", "vector")
        while True:
            facts = self._recall(op, depth, query, vector=vector, sources=sources)
            current = self._items_of_parts(facts)
            for fact in facts:
                place = self._store._place_of(fact)
                stands = current.get(place) in (None, fact.metadata)
                if stands and place not in seen:
                    seen.add(place)
                    # A deeper ranking has more candidates, which can lift its scores.
                    lowest = min(lowest, fact.score)
                    yield fact, lowest
            if len(facts) < depth:
                return
            depth = FIRST_DEPTH if depth < FIRST_DEPTH else 2 * depth + 1

    def _items_of_parts(self, facts: Sequence[RecalledFact]) -> dict[Place, dict[str, Any]]:
        """Return the metadata of the items of which a part was found.

        Of two puts of one item at the same time, the later may not know of all the parts
        that the earlier wrote, and so leave some behind.
        """
        store = self._store
        places = [store._place_of(fact) for fact in facts if PART_TAG in fact.tags]
        return {
            store._place_of(fact): fact.metadata for fact in store._current(places, self._as_of)
        }

    def _newest(self, op: SearchOp) -> Iterator[tuple[RecalledFact, None]]:
        depth = max(1, op.offset + op.limit)
        for fact in self._recall(op, depth, None, sources=("time",), not_tags=[PART_TAG]):
            yield fact, None

    def _recall(
        self, op: SearchOp, k: int, query: str | None, **options: Any
    ) -> tuple[RecalledFact, ...]:
        store = self._store
        return store.memory.recall(
            query,
            k=k,
            namespace=store._within(op.namespace_prefix),
            where=_where(op.filter),
            as_of=self._as_of,
            weights=store._weights if query else RELEVANCE_ALONE,
            token_budget=None,
            **options,
        ).facts

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        store = self._store
        depth = len(store.namespace)
        held = {
            one.namespace[depth:]
            for page in _pages(store.memory.namespaces, namespace=store.namespace)
            for one in page
        }
        conditions = op.match_conditions or ()
        found = {
            namespace[: op.max_depth]
            for namespace in held
            if namespace[-1:] != (PARTS,)
            and all(_matches(condition, namespace) for condition in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]


# -- what an operation may be


def _check_op(op: Op) -> None:
    """Refuse an operation that breaks a rule, before anything of its batch is done."""
    validate_op_namespace(op)
    if isinstance(op, GetOp | PutOp):
        check_type(op.key, str, "key", "a str")
        check_key(op.key)
        if isinstance(op, PutOp):
            _check_put(op)
    elif isinstance(op, SearchOp | ListNamespacesOp):
        check_count(op.limit, "limit", least=0)
        check_count(op.offset, "offset", least=0)
        if isinstance(op, SearchOp):
            _check_search(op)
        else:
            _check_listing(op)
    else:
        raise WrongTypeError(f"{shown(op)} is no operation of a store")


def _check_put(op: PutOp) -> None:
    if op.value is not None and not isinstance(op.value, Mapping):
        raise WrongTypeError(
            f"the value of {op.key!r} is {shown(op.value)} ({type(op.value).__name__}); "
            "give a mapping, or None to delete the item"
        )
    if op.index is not None and op.index is not False:
        _check_paths(op.index, "index")
    if op.ttl is not None and (
        isinstance(op.ttl, bool) or not isinstance(op.ttl, int | float) or not op.ttl > 0
    ):
        raise InvalidInputError(f"ttl is {shown(op.ttl)}; give minutes, more than 0, or None")


def _check_search(op: SearchOp) -> None:
    if op.query is not None and not isinstance(op.query, str):
        raise WrongTypeError(f"query is {shown(op.query)} ({type(op.query).__name__}); give a str")
    where = _where(op.filter)
    if where is not None:
        parse_filter(where)


def _check_listing(op: ListNamespacesOp) -> None:
    if op.max_depth is not None:
        check_count(op.max_depth, "max_depth")
    for condition in op.match_conditions or ():
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInputError(
                f"match_type is {shown(condition.match_type)}; give 'prefix' or 'suffix'"
            )


def _check_paths(paths: object, name: str) -> list[str]:
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise WrongTypeError(f"{name} is {shown(paths)}; give a list of paths, such as ['$']")
    return list(paths)


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


# -- filters


def _where(given: object) -> dict[str, Any] | None:
    """Return a store's filter as a filter over the metadata of its facts."""
    if not given:
        return None
    if not isinstance(given, Mapping):
        raise WrongTypeError(f"filter is {shown(given)}; give a mapping")
    return {"$and": [_condition("value", name, wanted) for name, wanted in given.items()]}


def _condition(path: str, name: object, wanted: object) -> dict[str, Any]:
    if not isinstance(name, str):
        raise WrongTypeError(f"a field of the filter is {shown(name)}; give a str")
    if name in ("$and", "$or"):
        parts = wanted if isinstance(wanted, list | tuple) else [wanted]
        return {name: [_where(part) or {} for part in parts]}
    if name == "$not":
        return {name: (_where(wanted) or {}) if isinstance(wanted, Mapping) else wanted}
    if name.startswith("$"):
        return {name: wanted}  # which the engine refuses, naming what it takes
    field = f"{path}.{name}"
    if wanted is None:
        return {"$or": [{field: None}, {field: {"$exists": False}}]}
    if isinstance(wanted, Mapping) and wanted:
        if any(isinstance(key, str) and key.startswith("$") for key in wanted):
            return {field: wanted}
        return {"$and": [_condition(field, key, value) for key, value in wanted.items()]}
    return {field: {"$eq": wanted}}


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    end = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or (
        len(end) == len(path)
        and all(label in ("*", own) for label, own in zip(path, end, strict=True))
    )


# -- items and facts


def _fields(namespace: Namespace, fact: Fact | RecalledFact) -> dict[str, Any]:
    metadata = fact.metadata
    return {
        "namespace": namespace,
        "key": metadata["key"],
        "value": metadata["value"],
        "created_at": to_datetime(metadata["created_at"]),
        "updated_at": to_datetime(metadata["updated_at"]),
    }


def _part_key(number: int, key: str) -> str:
    return f"{number}:{key}"


def _parts_of(fact: Fact | RecalledFact | None) -> int:
    """Return how many facts there are beside an item's own."""
    return 0 if fact is None else int(fact.metadata["parts"])


def _pages(listing: Callable[..., Any], **arguments: Any) -> Iterator[Any]:
    page = listing(limit=MAX_PAGE, **arguments)
    yield page
    while page.next_cursor is not None:
        page = listing(limit=MAX_PAGE, cursor=page.next_cursor, **arguments)
        yield page
