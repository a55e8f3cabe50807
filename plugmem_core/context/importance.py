"""Memories for a compile: in which order they join it, and what is noted about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from plugmem_core.context.output import MemoryNote
from plugmem_core.context.request import Fragment, Importance, MemoryScope

NEUTRAL_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class PulledMemory:
    """A memory that a search found.

    Attributes:
        memory_id: Its id.
        content: Its text.
        score: Its fused score, higher is better; `None` if only the order counts, such as
            after a reranker.
        vector: What the vectors contributed.
        graph: What the graph contributed.
        confidence: Learned from feedback; 0.5 is neutral.
        metadata: What the caller stored with it.
    """

    memory_id: int
    content: str
    score: float | None
    vector: float = 0.0
    graph: float = 0.0
    confidence: float = NEUTRAL_CONFIDENCE
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Pull(Protocol):
    """Finds memories for a query, best first."""

    def __call__(self, query: str, scope: MemoryScope, /) -> Sequence[PulledMemory]:
        """Return at most `scope.k` memories."""
        ...


def blend(
    pulled: Sequence[PulledMemory], importance: Importance
) -> list[tuple[PulledMemory, MemoryNote]]:
    """Return memories in the order of their importance, each with a note.

    The importance is base + confidence weight * 2 * (confidence - 0.5) + recency weight *
    recency. The base is the score as a share of the highest one, or 1 - rank / count where only
    the order counts. The recency is where the value of the recency field lies between the lowest
    and the highest one of all, 0 without one.
    """
    bases = _bases(pulled)
    field_name = importance.recency_field
    has_recency = field_name is not None and importance.recency != 0
    if not importance.confidence and not has_recency:
        return [
            (memory, _note(memory, base, "")) for memory, base in zip(pulled, bases, strict=True)
        ]
    recencies = _recencies(pulled, field_name if has_recency else None)
    blended = []
    for memory, base, recency in zip(pulled, bases, recencies, strict=True):
        trust = (memory.confidence - NEUTRAL_CONFIDENCE) * 2
        score = base + importance.confidence * trust + importance.recency * recency
        more = f", confidence {memory.confidence:.2f}, recency {recency:.2f}"
        blended.append((score, memory, _note(memory, score, more)))
    blended.sort(key=lambda one: -one[0])
    return [(memory, note) for _, memory, note in blended]


def to_fragment(memory: PulledMemory) -> Fragment:
    """Return a memory as a fragment."""
    return Fragment(content=memory.content, kind="memory")


def _note(memory: PulledMemory, score: float, more: str) -> MemoryNote:
    told = f"vector {memory.vector:.2f}, graph {memory.graph:.2f}{more}"
    return MemoryNote(
        memory_id=memory.memory_id,
        relevance=_clamp(score),
        reason=f"Memory {memory.memory_id} says this: {told}.",
    )


def _bases(pulled: Sequence[PulledMemory]) -> list[float]:
    scores = [memory.score for memory in pulled if memory.score is not None]
    if len(scores) < len(pulled):
        return [1 - rank / len(pulled) for rank in range(len(pulled))]
    best = max(scores, default=0.0)
    return [_clamp(score / best) if best > 0 else 0.0 for score in scores]


def _recencies(pulled: Sequence[PulledMemory], field_name: str | None) -> list[float]:
    values = [_number(memory.metadata.get(field_name)) if field_name else None for memory in pulled]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if low == high:
        return [0.0] * len(pulled)
    return [0.0 if value is None else (value - low) / (high - low) for value in values]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and type(value) is not bool else None


def _clamp(score: float) -> float:
    return min(1.0, max(0.0, score))
