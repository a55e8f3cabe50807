"""The tables of a file by the shape of their rows, which tells whose a row is."""

from typing import Any, NamedTuple, get_type_hints

from plugmem_core.store.pages import Value
from plugmem_core.store.rows import (
    AliasRow,
    EdgeRow,
    EntityRow,
    FactRow,
    NamespaceRow,
    RelationRow,
)
from plugmem_core.store.schema import ANALYZER


class VectorRow(NamedTuple):
    """One row of `vectors`."""

    fact: int
    data: bytes


class PurgeRow(NamedTuple):
    """One row of `purges`."""

    fact: int
    change: int


class ValueRow(NamedTuple):
    """One row of `kv`."""

    id: int
    namespace: int
    collection: str
    key: str
    value: str


class StateRow(NamedTuple):
    """The row of `state`."""

    one: int
    uuid: str
    change: int
    next_fact: int
    next_entity: int
    next_edge: int
    dim: int
    space: str | None
    checkpoint: str | None
    analyzer: str


TABLES: dict[str, type[Any]] = {
    "state": StateRow,
    "namespaces": NamespaceRow,
    "entities": EntityRow,
    "aliases": AliasRow,
    "relations": RelationRow,
    "facts": FactRow,
    "vectors": VectorRow,
    "edges": EdgeRow,
    "purges": PurgeRow,
    "kv": ValueRow,
}
_TYPES = {name: tuple(get_type_hints(row).values()) for name, row in TABLES.items()}
INDEX_TABLE = "aliases"
"""The one table that stands in the tree of an index."""


_ADDED: dict[str, tuple[Value, ...]] = {"state": (ANALYZER,), "facts": (None,)}
"""What rows lack that were written before their table got its last columns."""


def whole(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return a row with the columns that it was written without, if it lacks some."""
    for table, added in _ADDED.items():
        if len(values) == len(_TYPES[table]) - len(added):
            complete = values + added
            if table_of(complete, index=False) == table:
                return complete
    return values


def table_of(values: tuple[Value, ...], *, index: bool) -> str | None:
    """Return the table that rows of a shape belong to."""
    for table, types in _TYPES.items():
        fits = len(values) == len(types) and (table == INDEX_TABLE) == index
        if fits and all(map(isinstance, values, types)):
            return table
    return None
