"""An agent's memory as a service: remember, recall, relate, forget, and why.

`MemoryService` is the whole of it; it keeps its memories in a `Memory`, or in dictionaries.
"""

from plugmem_core.service.config import Mode, ServiceConfig
from plugmem_core.service.dict_store import DictStore
from plugmem_core.service.engine_store import EngineStore
from plugmem_core.service.identity import DATE_KEY, edge_id, entity_id, memory_id
from plugmem_core.service.predicates import Predicate
from plugmem_core.service.records import (
    DatedRecall,
    EmbedderStatus,
    EntityProfile,
    EntityRelation,
    Evidence,
    EvidenceNode,
    EvidencePath,
    Extracted,
    ExtractionStatus,
    Link,
    ListedMemory,
    MemoryPage,
    MemoryStatus,
    RecalledMemory,
    Unrelated,
    to_json,
)
from plugmem_core.service.reranking import DeterministicReranker, Reranker
from plugmem_core.service.service import MemoryService
from plugmem_core.service.store import MemoryStore

__all__ = [
    "DATE_KEY",
    "DatedRecall",
    "DeterministicReranker",
    "DictStore",
    "EmbedderStatus",
    "EngineStore",
    "EntityProfile",
    "EntityRelation",
    "Evidence",
    "EvidenceNode",
    "EvidencePath",
    "Extracted",
    "ExtractionStatus",
    "Link",
    "ListedMemory",
    "MemoryPage",
    "MemoryService",
    "MemoryStatus",
    "MemoryStore",
    "Mode",
    "Predicate",
    "RecalledMemory",
    "Reranker",
    "ServiceConfig",
    "Unrelated",
    "edge_id",
    "entity_id",
    "memory_id",
    "to_json",
]
