"""Namespaces by id, and which of them a scope sees."""

from collections.abc import Iterable

from plugmem_core.errors import CorruptError, shown
from plugmem_core.model import Namespace
from plugmem_core.store import NamespaceRow, load_labels


class Namespaces:
    """The namespaces of a file.

    Attributes:
        paths: Labels of every namespace, by id; none where there is none any more.
    """

    def __init__(self) -> None:
        self.paths: list[Namespace] = [()]  # the root is there before any row
        self._ids: dict[str, int] = {"[]": 0}
        self._masks: dict[tuple[Namespace, bool], bytes] = {}

    def update(self, rows: Iterable[NamespaceRow]) -> None:
        """Take in rows, known ones included."""
        for row in rows:
            if self._ids.get(row.path) == row.id:
                continue
            if row.path in self._ids or row.id == 0:
                raise CorruptError(
                    f"the file is damaged: namespace {row.id} is called {shown(row.path)}, as "
                    "another is or must be; salvage what can be read"
                )
            self._ids[row.path] = row.id
            self.paths.extend([()] * (row.id + 1 - len(self.paths)))
            self.paths[row.id] = load_labels(row.path)
            self._masks.clear()

    def holds(self, space: int) -> bool:
        """Return whether there is a namespace of an id."""
        return space == 0 or (0 < space < len(self.paths) and bool(self.paths[space]))

    def find(self, path: str) -> int | None:
        """Return the id of a namespace, given as the JSON of its labels."""
        return self._ids.get(path)

    def mask(self, scope: Namespace, *, below: bool = True) -> bytes | None:
        """Return one byte per namespace id, 1 where the scope sees it; `None` sees all.

        A scope sees itself and, unless `below` is false, what lies below it, by whole labels.
        """
        if not scope and below:
            return None
        mask = self._masks.get((scope, below))
        if mask is None:
            depth = len(scope) if below else None
            mask = bytes(
                path[:depth] == scope and self.holds(space) for space, path in enumerate(self.paths)
            )
            self._masks[scope, below] = mask
        return mask
