"""`Learned`: what a transaction knows of the file, so that it need not ask again."""

from plugmem_core.store.rows import EdgeRow, FactRow

Triple = tuple[int, int, int]
"""Source, relation and target of an edge."""


class Learned:
    """What was asked ahead of its turn, many at a time, and what the transaction did since.

    Args:
        first_entity: Entities from this one on are made by this transaction, and their edges.

    Attributes:
        digests: Of texts that no fact has.
        keys: Under which there is no fact in any namespace.
    """

    def __init__(self, first_entity: int) -> None:
        self.digests: set[int] = set()
        self.keys: set[str] = set()
        self._open: dict[Triple, EdgeRow | None] = {}
        self._first_entity: float = first_entity

    def add_fact(self, row: FactRow) -> None:
        """Take in that a fact is there now."""
        self.digests.discard(row.digest)
        if row.key is not None:
            self.keys.discard(row.key)

    def knows_edge(self, triple: Triple) -> bool:
        """Return whether `open_edge` can tell."""
        return triple in self._open or max(triple[0], triple[2]) >= self._first_entity

    def open_edge(self, triple: Triple) -> EdgeRow | None:
        """Return the open edge of a triple that is known; `None` without one."""
        return self._open.get(triple)

    def set_open_edge(self, triple: Triple, row: EdgeRow | None) -> None:
        """Take in which edge of a triple is open, if one is."""
        self._open[triple] = row

    def put_edge(self, row: EdgeRow) -> None:
        """Take in how an edge stands now."""
        triple = (row.src, row.relation, row.dst)
        if row.valid_to is None:
            self._open[triple] = row
        elif (open_edge := self._open.get(triple)) and open_edge.id == row.id:
            self._open[triple] = None

    def forget_edges(self) -> None:
        """Know nothing of edges any more, since some have been removed."""
        self._open.clear()
        self._first_entity = float("inf")
