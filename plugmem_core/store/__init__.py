"""Truth: the SQLite file, its rows and its transactions. All SQL of the package is here."""

from plugmem_core.store.ahead import look_ahead
from plugmem_core.store.encoding import (
    dump_json,
    load_json,
    load_labels,
    load_object,
)
from plugmem_core.store.rows import (
    DECLINED,
    PENDING,
    STORED,
    AliasRow,
    Changes,
    EdgeRow,
    EntityRow,
    FactRow,
    FileState,
    NamespaceRow,
    RelationRow,
    Vector,
)
from plugmem_core.store.sqlite import SqliteStore
from plugmem_core.store.transaction import FactWrite, Transaction, Written
from plugmem_core.store.writes import NewNames, find_nothing

__all__ = [
    "DECLINED",
    "PENDING",
    "STORED",
    "AliasRow",
    "Changes",
    "EdgeRow",
    "EntityRow",
    "FactRow",
    "FactWrite",
    "FileState",
    "NamespaceRow",
    "NewNames",
    "RelationRow",
    "SqliteStore",
    "Transaction",
    "Vector",
    "Written",
    "dump_json",
    "find_nothing",
    "load_json",
    "load_labels",
    "load_object",
    "look_ahead",
]
