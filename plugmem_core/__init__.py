"""An embedded, bitemporal, explainable hybrid-recall memory.

>>> from plugmem_core import Memory
>>> with Memory.open(":memory:") as memory:
...     receipt = memory.remember("Mara prefers green tea", entity="Mara")
...     memory.recall("tea").facts[0].text
'Mara prefers green tea'
"""

from plugmem_core.clock import Clock, Instant
from plugmem_core.config import MemoryConfig
from plugmem_core.embed import AsyncEmbedder, Embedder, HashingEmbedder
from plugmem_core.errors import (
    BusyError,
    ClosedError,
    ClosedFactError,
    ConfigError,
    ConflictError,
    CorruptError,
    EmbedderError,
    InvalidFilterError,
    InvalidInputError,
    NotFoundError,
    PlugmemError,
    ReadOnlyError,
    ServiceError,
    StaleCursorError,
    StorageError,
    TooLargeError,
    VectorSpaceError,
    WrongTypeError,
)
from plugmem_core.memory import Memory
from plugmem_core.model import (
    Edge,
    Entity,
    EntityPage,
    ErasureReceipt,
    Fact,
    FactPage,
    GuardedReceipt,
    History,
    KeyPage,
    MaintainReport,
    Metadata,
    Namespace,
    NamespaceCount,
    NamespacePage,
    Neighbours,
    RecalledFact,
    Receipt,
    Similar,
    Stats,
    Tag,
    TagPage,
    VectorSpace,
    VerifyReport,
)
from plugmem_core.moving import Loss, SalvageReport, TransferReport
from plugmem_core.moving.salvaging import salvage
from plugmem_core.recall import Absence, Evidence, Explanation, FactExplanation, RecallResult
from plugmem_core.retention import Retain

__all__ = [
    "Absence",
    "AsyncEmbedder",
    "BusyError",
    "Clock",
    "ClosedError",
    "ClosedFactError",
    "ConfigError",
    "ConflictError",
    "CorruptError",
    "Edge",
    "Embedder",
    "EmbedderError",
    "Entity",
    "EntityPage",
    "ErasureReceipt",
    "Evidence",
    "Explanation",
    "Fact",
    "FactExplanation",
    "FactPage",
    "GuardedReceipt",
    "HashingEmbedder",
    "History",
    "Instant",
    "InvalidFilterError",
    "InvalidInputError",
    "KeyPage",
    "Loss",
    "MaintainReport",
    "Memory",
    "MemoryConfig",
    "Metadata",
    "Namespace",
    "NamespaceCount",
    "NamespacePage",
    "Neighbours",
    "NotFoundError",
    "PlugmemError",
    "ReadOnlyError",
    "RecallResult",
    "RecalledFact",
    "Receipt",
    "Retain",
    "SalvageReport",
    "ServiceError",
    "Similar",
    "StaleCursorError",
    "Stats",
    "StorageError",
    "Tag",
    "TagPage",
    "TooLargeError",
    "TransferReport",
    "VectorSpace",
    "VectorSpaceError",
    "VerifyReport",
    "WrongTypeError",
    "salvage",
]
