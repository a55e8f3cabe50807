"""Listing without a question."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from plugmem_core.clock import Instant
from plugmem_core.inputs import MAX_KEY_BYTES, check_count, check_key, check_name, check_namespace
from plugmem_core.kernels import NO_ID, IdSet
from plugmem_core.model import FactPage, KeyPage, Namespace, NamespaceCount, NamespacePage
from plugmem_core.recall import Query, build_scope, make_query, passing_facts
from plugmem_core.store import dump_json
from plugmem_core.text import check_text
from plugmem_core.verbs.base import (
    MAX_PAGE,
    Verbs,
    decode_cursor,
    encode_cursor,
    first_page,
    twin,
)


class ListingVerbs(Verbs):
    """Verbs that list facts and where they live."""

    def list_facts(
        self,
        *,
        tags: Iterable[str] = (),
        any_tags: Iterable[str] = (),
        not_tags: Iterable[str] = (),
        entity: str | None = None,
        mentions: str | None = None,
        key: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: Instant | None = None,
        valid_at: Instant | None = None,
        known_at: Instant | None = None,
        range: tuple[Instant, Instant] | None = None,  # noqa: A002 - as in recall
        closed: bool = False,
        namespace: Namespace = (),
        below: bool = True,
        limit: int = 64,
        cursor: str | None = None,
    ) -> FactPage:
        """Return facts by ascending id, a page at a time.

        A page goes on after the last id of the page before, so facts stored or
        forgotten meanwhile neither repeat nor hide others.

        Args:
            tags: Only facts with all of these tags.
            any_tags: Only facts with one of these at least.
            not_tags: Only facts with none of these.
            entity: Only facts about this entity; unknown gives none.
            mentions: Only facts whose text mentions this entity; unknown gives none.
            key: Only facts written under this key.
            where: A filter over metadata; see `plugmem_core.filters`.
            as_of: The instant to look from, moving both clocks.
            valid_at: The instant at which facts must have been true.
            known_at: The instant by which they must have been recorded.
            range: `(from, to)` over record time, half-open.
            closed: Whether superseded facts are listed too.
            namespace: The scope: itself and what lies below it.
            below: Whether what lies below it is in the scope.
            limit: Most facts of the page, 1,000 at most.
            cursor: `next_cursor` of the page before.

        Raises:
            InvalidInputError: An argument breaks its rule.
            StaleCursorError: The cursor belongs to other arguments.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember_many({"text": f"note {i}", "tags": ["n"]} for i in range(3))
        >>> page = memory.list_facts(tags=["n"], limit=2)
        >>> [fact.text for fact in page.facts], page.next_cursor is not None
        (['note 0', 'note 1'], True)
        """
        query = make_query(
            tags=tags,
            any_tags=any_tags,
            not_tags=not_tags,
            entities=() if entity is None else (entity,),
            where=where,
            as_of=as_of,
            valid_at=valid_at,
            known_at=known_at,
            range=range,
            closed=closed,
            namespace=namespace,
            below=below,
        )
        wanted_key = check_key(key)
        mentioned = None if mentions is None else check_name(mentions, "mentions")
        size = check_count(limit, "limit", most=MAX_PAGE)
        # The filter as given: its parsed form has no stable text.
        listing: tuple[object, ...] = (
            *(
                query.tags,
                query.any_tags,
                query.not_tags,
                query.entities,
                mentioned,
                wanted_key,
                where,
            ),
            *(
                query.as_of,
                query.valid_at,
                query.known_at,
                query.range,
                closed,
                query.namespace,
                below,
            ),
        )
        after = -1 if cursor is None else decode_cursor(listing, cursor, int)
        engine = self._ready()
        ids = None
        while ids is None:
            passing, change = engine.passing(query.where)
            keyed = None if wanted_key is None else engine.store.by_keys([wanted_key])
            with engine.gate:
                if engine.index.change == change:
                    ids = self._page(query, passing, keyed, mentioned, after, size + 1)
        facts = engine.facts(ids[:size])
        more = len(ids) > size
        return FactPage(tuple(facts), encode_cursor(listing, ids[size - 1]) if more else None)

    def namespaces(
        self, *, namespace: Namespace = (), limit: int = 64, cursor: str | None = None
    ) -> NamespacePage:
        """Return the namespaces that hold current facts, by label, and how many each holds.

        Args:
            namespace: The scope: itself and what lies below it.
            limit: Most namespaces of the page, 1,000 at most.
            cursor: `next_cursor` of the page before.

        Raises:
            StaleCursorError: The cursor belongs to other arguments.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("drinks green tea", namespace=("users", "ann"))
        >>> [(one.namespace, one.facts) for one in memory.namespaces()]
        [(('users', 'ann'), 1)]
        """
        scope = check_namespace(namespace)
        size = check_count(limit, "limit", most=MAX_PAGE)
        listing = ("namespaces", scope)
        after = None if cursor is None else decode_cursor(listing, cursor, tuple[str, ...])
        engine = self._ready()
        with engine.gate:
            counts = engine.index.facts.by_namespace(self._visible(scope, current=True))
            paths = engine.index.spaces.paths
            found = sorted((paths[space], count) for space, count in enumerate(counts) if count)
        rest = (NamespaceCount(*one) for one in found if after is None or one[0] > after)
        page, more = first_page(rest, size)
        return NamespacePage(
            tuple(page), encode_cursor(listing, page[-1].namespace) if more else None
        )

    def keys(
        self,
        *,
        after: str = "",
        namespace: Namespace = (),
        limit: int = 64,
        cursor: str | None = None,
    ) -> KeyPage:
        """Return the keys of current facts, sorted.

        Args:
            after: Only keys beyond this one.
            namespace: Where the facts live; not what lies below it.
            limit: Most keys of the page, 1,000 at most.
            cursor: `next_cursor` of the page before.

        Raises:
            StaleCursorError: The cursor belongs to other arguments.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember_many({"text": key, "key": key} for key in ("b", "c", "a"))
        >>> memory.keys(limit=2).keys
        ('a', 'b')
        """
        scope = check_namespace(namespace)
        size = check_count(limit, "limit", most=MAX_PAGE)
        first = check_text(after, "after", max_bytes=MAX_KEY_BYTES)
        listing = ("keys", first, scope)
        last = first if cursor is None else decode_cursor(listing, cursor, str)
        engine = self._ready()
        found = engine.store.keys(dump_json(scope), last, engine.clock(), size + 1)
        page, more = first_page(found, size)
        return KeyPage(tuple(page), encode_cursor(listing, page[-1]) if more else None)

    alist_facts = twin(list_facts)
    akeys = twin(keys)
    anamespaces = twin(namespaces)

    def _page(
        self,
        query: Query,
        passing: IdSet | None,
        keyed: list[int] | None,
        mentioned: tuple[str, str] | None,
        after: int,
        size: int,
    ) -> list[int]:
        index = self._engine.index
        passing = passing_facts(index, query, passing)
        scope = build_scope(index, query, self._engine.clock(), passing)
        chosen: list[list[int]] = []
        if keyed is not None:
            chosen.append(keyed)
        names = [(name, index.entities) for name in query.entities]
        if mentioned is not None:
            names.append((mentioned, index.mentions.facts))
        for (_, key), facts_of in names:
            mask = index.spaces.mask(query.namespace, below=query.below)
            entities = index.names.resolve(key, mask)
            chosen.append([fact for entity in entities for fact in facts_of.list(entity)])
        if query.range is not None:
            inside = index.facts.newest(scope, *query.range, NO_ID)
            chosen.append([fact for fact, _ in inside.items()])
        for facts in chosen:
            allowed = IdSet(len(index.facts))
            for fact in facts:
                allowed.add(fact)
            passing = allowed if passing is None else passing
            passing.intersect(allowed)
        if passing is not None:
            scope.restrict_facts(passing)
        return index.facts.page(scope, after, size)


def every(listing: Callable[..., Any], **arguments: Any) -> Iterator[Any]:
    """Yield all that a verb lists, page after page.

    Args:
        listing: A verb that takes `limit` and `cursor`.
        **arguments: Its others.

    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:")
    >>> _ = memory.remember_many({"text": f"note {n}"} for n in range(1_001))
    >>> len(list(every(memory.list_facts)))
    1001
    """
    cursor = None
    while True:
        page = listing(limit=MAX_PAGE, cursor=cursor, **arguments)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return
