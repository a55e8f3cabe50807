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
    VerifyReport,
)
from plugmem_core.recall import Absence, Evidence, Explanation, FactExplanation, RecallResult

__all__ = [
    "Absence",
    "AsyncEmbedder",
    "BusyError",
    "Clock",
    "ClosedError",
    "ClosedFactError",
    "ConfigError",
    "CorruptError",
    "Edge",
    "Embedder",
    "EmbedderError",
    "Entity",
    "EntityPage",
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
    "ServiceError",
    "Similar",
    "StaleCursorError",
    "Stats",
    "StorageError",
    "Tag",
    "TagPage",
    "TooLargeError",
    "VectorSpaceError",
    "VerifyReport",
    "WrongTypeError",
]
