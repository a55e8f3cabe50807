"""Verbs that answer questions by a search."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plugmem_core.inputs import check_type
from plugmem_core.service.arguments import check_question
from plugmem_core.service.base import ServiceVerbs
from plugmem_core.service.config import Mode
from plugmem_core.service.fusion import rerank_key
from plugmem_core.service.predicates import PredicateLike, to_where
from plugmem_core.service.records import RecalledMemory
from plugmem_core.service.store import Hit, Learned, StoredMemory
from plugmem_core.verbs.base import twin


class RecallVerbs(ServiceVerbs):
    """Verbs that answer questions with memories.

    What they have in common:

    - A blank question, and `k=0`, find nothing. A `k` over `max_recall` counts as that.
    - `where` is a filter over metadata in the language of `plugmem_core.filters`, and acts
      before ranking, so that a narrow one does not starve the answer. Entities are no
      memories, and never answer.
    - `mode` is `"fused"` (words and vectors, in an `EngineStore` by the ranking of its memory, else
      by reciprocal ranks) or `"vector"` (cosine alone, which needs an embedder);
      `ServiceConfig.mode` when left out. `RecalledMemory` says what `score` means in each.
    - `min_score` leaves out memories whose `score` is lower.
    - `use_feedback` puts what is returned into the order of
      `(s + 1) / 2 · (1 + (2c - 1) / 2)`, where `s` is the `rank_score` (in `recall_fused`
      as a share of the best) and `c` the confidence. It moves memories, and admits none.
    """

    def recall(
        self,
        query: str,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        mode: Mode | None = None,
        min_score: float | None = None,
        use_feedback: bool = True,
    ) -> list[RecalledMemory]:
        """Return the memories that answer a question, best first.

        Args:
            query: The question.
            k: Most memories to return.
            where: Only memories whose metadata passes.
            mode: What ranks.
            min_score: The least score.
            use_feedback: Whether what was learned changes the order.

        Raises:
            InvalidInputError: An argument breaks its rule, or the mode needs an embedder.
            ServiceError: The mode needs the embedder, which failed.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> _ = service.remember("Mara prefers green tea")
        >>> [memory.content for memory in service.recall("what tea does Mara like?")]
        ['Mara prefers green tea']
        """
        question = self._question(query, k, where, mode, min_score)
        return self._answer(self._hits(question), use_feedback=use_feedback)

    def recall_where(
        self,
        query: str,
        predicates: Iterable[PredicateLike],
        k: int = 10,
        *,
        mode: Mode | None = None,
        min_score: float | None = None,
        use_feedback: bool = False,
    ) -> list[RecalledMemory]:
        """Return the memories that answer a question and pass typed comparisons, best first.

        Args:
            query: The question.
            predicates: `(field, operator, value)` triples, all of which have to hold; the
                operators are `eq`, `ne`, `lt`, `le`, `gt` and `ge`. See
                `plugmem_core.service.predicates`.
            k: Most memories to return.
            mode: What ranks.
            min_score: The least score.
            use_feedback: Whether what was learned changes the order.

        Raises:
            InvalidFilterError: A predicate breaks its rule.
            InvalidInputError: Another argument does.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> _ = service.remember("the old pump leaks", metadata={"year": 2003})
        >>> _ = service.remember("the new pump leaks", metadata={"year": 2020})
        >>> found = service.recall_where("pump", [("year", "ge", 2010)])
        >>> [memory.content for memory in found]
        ['the new pump leaks']
        """
        if not check_question(query):
            return []
        question = self._question(query, k, to_where(predicates), mode, min_score)
        return self._answer(self._hits(question), use_feedback=use_feedback)

    arecall = twin(recall)
    arecall_where = twin(recall_where)

    def _answer(self, hits: Sequence[Hit], *, use_feedback: bool) -> list[RecalledMemory]:
        learned = self._store.learned(hit.memory.id for hit in hits)
        found = [recalled(*hit, 0.0, learned) for hit in hits]
        return self._feedback_order(found, use_feedback=use_feedback)

    def _feedback_order(
        self, found: list[RecalledMemory], *, use_feedback: bool
    ) -> list[RecalledMemory]:
        check_type(use_feedback, bool, "use_feedback", "True or False")
        if not use_feedback:
            return found
        # A cosine is a share of 1 already; fused scores may be higher.
        best = max([1.0, *(memory.rank_score for memory in found)])
        return sorted(
            found,
            key=lambda memory: -rerank_key(memory.rank_score / best, memory.confidence),
        )


def recalled(
    memory: StoredMemory,
    score: float,
    rank_score: float,
    graph: float,
    learned: Mapping[int, Learned],
) -> RecalledMemory:
    """Return a memory as it is recalled."""
    return RecalledMemory(
        memory.id,
        score,
        memory.content,
        memory.metadata or None,
        rank_score,
        graph,
        learned.get(memory.id, Learned()).confidence,
    )
