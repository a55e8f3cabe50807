"""`Absent`: what a transaction knows not to be in the file, so that it need not look."""

from plugmem_core.store.rows import FactRow

Triple = tuple[int, int, int]
"""Source, relation and target of an edge."""


class Absent:
    """What was looked for ahead of its turn, many at a time, and was not there.

    Each is taken out again as soon as the transaction brings it.

    Args:
        first_entity: Entities from this one on are made by this transaction.

    Attributes:
        digests: Of texts that no fact has.
        keys: Under which there is no fact in any namespace.
    """

    def __init__(self, first_entity: int) -> None:
        self.digests: set[int] = set()
        self.keys: set[str] = set()
        self._edges: set[Triple] = set()
        self._opened: set[Triple] = set()
        self._first_entity = first_entity

    def add_edge(self, triple: Triple) -> None:
        """Take in that no edge of a triple is open."""
        self._edges.add(triple)

    def has_edge(self, triple: Triple) -> bool:
        """Return whether no edge of a triple is open, as far as is known."""
        if triple in self._edges:
            return True
        is_new = max(triple[0], triple[2]) >= self._first_entity
        return is_new and triple not in self._opened

    def came_fact(self, row: FactRow) -> None:
        """Take in that a fact is there now."""
        self.digests.discard(row.digest)
        if row.key is not None:
            self.keys.discard(row.key)

    def came_edge(self, triple: Triple) -> None:
        """Take in that an edge is open now."""
        self._edges.discard(triple)
        self._opened.add(triple)
