"""Memories for a context that is compiled."""

from plugmem_core.context import MemoryScope, PulledMemory
from plugmem_core.service.fused_recalling import FusedVerbs
from plugmem_core.verbs.base import twin


class PullVerbs(FusedVerbs):
    """The verb through which a `ContextDesk` asks for memories."""

    def pull(self, query: str, scope: MemoryScope) -> list[PulledMemory]:
        """Return the memories that join a context: what `recall_fused` finds for its query.

        Args:
            query: The question.
            scope: How many, of which `project` (a metadata key), and how far into the graph.

        >>> from plugmem_core import Memory
        >>> from plugmem_core.context import ContextDesk
        >>> from plugmem_core.service import EngineStore, MemoryService
        >>> memory = Memory.open(":memory:")
        >>> service = MemoryService(EngineStore(memory))
        >>> _ = service.remember("the oil is changed in spring", metadata={"project": "pump"})
        >>> desk = ContextDesk(memory, namespace=("service",), pull=service.pull)
        >>> desk.compile_context({
        ...     "query": "oil", "fragments": [], "token_budget": 100,
        ...     "memory_scope": {"project": "pump"},
        ... }).content
        'the oil is changed in spring'
        """
        found = self.recall_fused(
            query,
            scope.k,
            None if scope.project is None else {"project": scope.project},
            hops=scope.hops,
            graph_boost=scope.graph_boost,
        )
        return [
            PulledMemory(
                memory.id,
                memory.content,
                memory.rank_score,
                memory.score,
                memory.graph,
                memory.confidence,
                memory.metadata or {},
            )
            for memory in found
        ]

    apull = twin(pull)
