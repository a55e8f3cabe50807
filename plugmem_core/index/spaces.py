"""Namespaces by id, and which of them a scope sees."""

from collections.abc import Iterable

from plugmem_core.model import Namespace
from plugmem_core.store import NamespaceRow, load_labels


class Namespaces:
    """The namespaces of a file.

    Attributes:
        paths: Labels of every namespace, by id.
    """

    def __init__(self) -> None:
        self.paths: list[Namespace] = [()]  # the root is there before any row
        self._ids: dict[str, int] = {"[]": 0}
        self._masks: dict[tuple[Namespace, bool], bytes] = {}

    def update(self, rows: Iterable[NamespaceRow]) -> None:
        """Take in rows, known ones included."""
        for row in rows:
            if row.path in self._ids:
                continue
            self._ids[row.path] = row.id
            self.paths.extend([()] * (row.id + 1 - len(self.paths)))
            self.paths[row.id] = load_labels(row.path)
            self._masks.clear()

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
            mask = bytes(path[:depth] == scope for path in self.paths)
            self._masks[scope, below] = mask
        return mask
