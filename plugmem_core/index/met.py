"""`MetEdges`: the edges that a walk met, made when somebody looks at them."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Self, TypeAlias

from plugmem_core.index.names import EntityNames
from plugmem_core.kernels import NO_ID, OPEN, EdgeRows
from plugmem_core.model import Edge, Namespace
from plugmem_core.store import load_object

Ends: TypeAlias = tuple[str, str, str]
"""Display name of the source, relation, display name of the target."""


class MetEdges:
    """Edge versions as they stood when they were met, in that order.

    A recall may meet 128 of them and is seldom asked for more than their lines, so only
    their rows are copied at once. Names are never changed in place: when one changes, the
    index takes new ones, and those of before stay with who has them.

    Args:
        rows: The versions.
        names: Of entities, as of now.
        relations: By id.
        paths: Namespaces by id.
        properties: JSON by id of the version, where there is some.
        known_at: Ends that were learned later do not count.

    Attributes:
        ids: Of the versions.
        lines: Those of edges that were shown; new ones when a name changes.
    """

    __slots__ = (
        "_known_at",
        "_names",
        "_paths",
        "_properties",
        "_relations",
        "_rows",
        "ids",
        "lines",
    )

    def __init__(
        self,
        rows: EdgeRows,
        names: EntityNames,
        relations: Mapping[int, str],
        paths: Sequence[Namespace],
        properties: Mapping[int, str],
        known_at: int,
    ) -> None:
        self._rows = rows
        self._names = names.shown
        self._relations = relations
        self._paths = paths
        self._properties = properties
        self._known_at = known_at
        self.ids = rows.ids()
        self.lines = names.lines

    def __len__(self) -> int:
        return len(self.ids)

    def first(self, count: int) -> Self:
        """Return the first so many of them."""
        fewer = copy(self)
        fewer._rows = self._rows.first(count)
        fewer.ids = self.ids[:count]
        return fewer

    def ends(self) -> list[Ends]:
        """Return what each edge says, without its times."""
        names, relations = self._names, self._relations
        return [
            (names[src][0], relations[relation], names[dst][0])
            for _, src, relation, dst, *_ in self._rows.items()
        ]

    def edges(self) -> tuple[Edge, ...]:
        """Return the edges themselves."""
        names, known_at = self._names, self._known_at
        return tuple(
            [
                Edge(
                    edge,
                    names[src][0],
                    self._relations[relation],
                    names[dst][0],
                    None if provenance == NO_ID else provenance,
                    load_object(self._properties.get(edge)),
                    self._paths[names[src][1]],
                    recorded,
                    start,
                    None if end == OPEN or closed > known_at else end,
                )
                for edge, src, relation, dst, provenance, recorded, start, end, closed in (
                    self._rows.items()
                )
            ]
        )
