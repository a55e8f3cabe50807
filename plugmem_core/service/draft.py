"""`Draft`: what a call is about to store, worked out before any of it is written."""

from collections.abc import Iterable, Mapping
from typing import Any

from plugmem_core.errors import InvalidInputError, NotFoundError, shown
from plugmem_core.extraction.protocol import canonical
from plugmem_core.service.arguments import check_merged
from plugmem_core.service.dating import stamp
from plugmem_core.service.identity import DATE_KEY, entity_id, memory_id
from plugmem_core.service.records import Link
from plugmem_core.service.store import MemoryStore, StoredMemory, Writes


class Draft:
    """Nodes and edges to be stored, over those that are stored already.

    Args:
        store: What is there.
        max_metadata: Longest metadata of a node, in bytes of compact JSON.
        ids: Nodes to read at once; others are read when they are met.
    """

    def __init__(self, store: MemoryStore, max_metadata: int, ids: Iterable[int] = ()) -> None:
        self._store = store
        self._max_metadata = max_metadata
        wanted = list(ids)
        self._stored: dict[int, StoredMemory | None] = dict.fromkeys(wanted)
        self._stored.update(store.get(wanted))
        self._planned: dict[int, tuple[StoredMemory, float | None]] = {}
        self._links: dict[Link, None] = {}

    def find(self, id: int) -> StoredMemory | None:  # noqa: A002 - the name users know
        """Return a node as it will be."""
        if id in self._planned:
            return self._planned[id][0]
        return self._find_stored(id)

    def require(self, id: int) -> StoredMemory:  # noqa: A002 - the name users know
        """Return a node as it will be.

        Raises:
            NotFoundError: There is none.
        """
        found = self.find(id)
        if found is None:
            raise NotFoundError(f"memory {id} does not exist; it was forgotten, or has expired")
        return found

    def remember(
        self, text: str, metadata: Mapping[str, Any], ttl: float | None, *, replace: bool
    ) -> int:
        """Plan a memory and return its id.

        Metadata is merged, key by key, into what is stored, unless it replaces that. The
        date stays in either case, unless a new one is given; a new memory gets today's.
        """
        node = memory_id(text)
        found = self.find(node)
        if found is not None and (found.is_entity or found.content != text):
            raise InvalidInputError(
                f"fact is {shown(text)}, whose id {node} belongs to another text; reword it"
            )
        before = {} if found is None else found.metadata
        merged = dict(metadata) if replace else before | dict(metadata)
        check_merged(merged, self._max_metadata)
        merged.setdefault(DATE_KEY, before.get(DATE_KEY, stamp(self._store.clock())))
        self._planned[node] = (StoredMemory(node, text, merged), ttl)
        return node

    def entity(self, name: str) -> int:
        """Plan an entity unless there is one, and return its id."""
        node = entity_id(name)
        if self.find(node) is None:
            self._planned[node] = (StoredMemory(node, entity_text(name), {}, is_entity=True), None)
        return node

    def describe(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Plan attributes of an entity, merged key by key into those it has."""
        node = self.entity(name)
        known = self.require(node)
        merged = known.metadata | dict(attributes)
        check_merged(merged, self._max_metadata)
        self._planned[node] = (
            StoredMemory(node, known.content, merged, is_entity=True),
            None,
        )

    def link(self, source: int, target: int, relation: str) -> None:
        """Plan an edge; from a node to itself there is none."""
        if source != target:
            self._links.setdefault(Link(source, target, relation))

    def write(self, writes: Writes) -> None:
        """Store what was planned."""
        # An expired memory is as good as forgotten: who says it again begins anew.
        fresh = [node for node in self._planned if self._find_stored(node) is None]
        if fresh:
            writes.delete(fresh)
        for memory, ttl in self._planned.values():
            writes.put(memory, ttl)
        for link in self._links:
            writes.link(link)

    def _find_stored(self, node: int) -> StoredMemory | None:
        if node not in self._stored:
            self._stored[node] = self._store.get([node]).get(node)
        return self._stored[node]


def entity_text(name: str) -> str:
    """Return the text of an entity.

    >>> entity_text(" Ada ")
    'Entity: ada'
    """
    return f"Entity: {canonical(name)}"
