"""Verbs that list memories and report how the service stands."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from plugmem_core.embed import HashingEmbedder
from plugmem_core.filters import parse_filter
from plugmem_core.inputs import check_count, check_type
from plugmem_core.service.arguments import check_where
from plugmem_core.service.base import ServiceVerbs
from plugmem_core.service.records import (
    EmbedderStatus,
    ExtractionStatus,
    ListedMemory,
    MemoryPage,
    MemoryStatus,
)
from plugmem_core.service.store import StoredMemory
from plugmem_core.verbs.base import MAX_PAGE, decode_cursor, encode_cursor, first_page, twin

_BATCH = 256


class StatusVerbs(ServiceVerbs):
    """Verbs that list memories and report how the service stands."""

    def list_memories(
        self,
        cursor: str | None = None,
        limit: int = 50,
        where: Mapping[str, Any] | None = None,
        *,
        include_internal: bool = False,
    ) -> MemoryPage:
        """Return memories by ascending id, a full page at a time.

        Args:
            cursor: `next_cursor` of the page before.
            limit: Most memories of the page, 1,000 at most.
            where: Only memories whose metadata passes.
            include_internal: Whether entities, whose metadata are their attributes, are
                listed as well.

        Raises:
            InvalidInputError: An argument breaks its rule.
            StaleCursorError: The cursor belongs to other arguments.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> _ = service.remember("the tide is out")
        >>> [memory.content for memory in service.list_memories()]
        ['the tide is out']
        """
        size = check_count(limit, "limit", most=MAX_PAGE)
        passing = check_where(where)
        check_type(include_internal, bool, "include_internal", "True or False")
        listing = ("memories", passing, include_internal)
        after = -1 if cursor is None else decode_cursor(listing, cursor, int)
        page, more = first_page(self._passing(after, passing, include_internal), size)
        found = tuple(
            ListedMemory(node.id, node.content, node.metadata or None, node.is_entity)
            for node in page
        )
        return MemoryPage(found, encode_cursor(listing, page[-1].id) if more else None)

    def memory_status(self) -> MemoryStatus:
        """Return what the service runs with, and how much it holds.

        >>> from plugmem_core.service import MemoryService
        >>> status = MemoryService.open(":memory:").memory_status()
        >>> status.facts, status.embedder, status.extraction.configured
        (0, None, False)
        """
        embedder = self._store.embedder
        counts = self._store.counts()
        return MemoryStatus(
            None
            if embedder is None
            else EmbedderStatus(
                embedder.space_id, embedder.dim, not isinstance(embedder, HashingEmbedder)
            ),
            ExtractionStatus(
                self._extractor is not None,
                self._extractor is not None and self._config.autograph,
                self._counters.dropped,
                self._counters.failed,
            ),
            counts.facts,
            counts.entities,
            counts.edges,
            self._store.vector_space,
        )

    alist_memories = twin(list_memories)
    amemory_status = twin(memory_status)

    def _passing(
        self,
        after: int,
        where: Mapping[str, Any] | None,
        include_internal: bool,  # noqa: FBT001 - private
    ) -> Iterator[StoredMemory]:
        passing = None if where is None else parse_filter(where)
        ids = self._store.ids(after)
        while batch := list(islice(ids, _BATCH)):
            nodes = self._store.get(batch)
            for one in batch:
                node = nodes.get(one)
                if node is None or (node.is_entity and not include_internal):
                    continue
                if passing is None or passing.matches(node.metadata):
                    yield node
