"""`EdgeLines`: the lines of edges that were shown, for those that are shown again and again."""

from collections.abc import Sequence

KEPT = 65_536
"""Lines after which all are dropped, so that they never take more than a few megabytes."""


class EdgeLines:
    """One line an edge, by its id; a list, since looking up in a dict costs twice as much.

    >>> lines = EdgeLines()
    >>> lines.keep([2], ["- links: Mara —knows→ Ivo"])
    >>> lines.of([2]), lines.of([1, 2]), lines.of([9])
    (['- links: Mara —knows→ Ivo'], None, None)
    """

    __slots__ = ("_count", "_lines")

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0

    def of(self, edges: Sequence[int]) -> list[str] | None:
        """Return the lines of edges; `None` unless all of them were kept."""
        lines = self._lines
        try:
            found = [lines[edge] for edge in edges]
        except IndexError:
            return None
        return None if "" in found else found

    def keep(self, edges: Sequence[int], lines: Sequence[str]) -> None:
        """Keep a line of each edge."""
        known = self._lines
        if self._count > KEPT:
            known = self._lines = []
            self._count = 0
        known.extend([""] * (max(edges, default=0) + 1 - len(known)))
        for edge, line in zip(edges, lines, strict=True):
            known[edge] = line
        self._count += len(lines)
