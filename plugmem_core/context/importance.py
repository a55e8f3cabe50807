"""Memories for a compile: in which order they join it, and what is noted about them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any, Protocol, TypeGuard

from plugmem_core.context.output import MemoryNote
from plugmem_core.context.reading import MAX_U64, check_writable
from plugmem_core.context.request import Fragment, Importance, MemoryScope
from plugmem_core.errors import InvalidInputError, PlugmemError, ServiceError, shown

NEUTRAL_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class PulledMemory:
    """A memory that a search found.

    Attributes:
        memory_id: Its id, an unsigned 64-bit integer.
        content: Its text.
        score: Its fused score, higher is better; `None` if only the order counts, such as
            after a reranker.
        vector: What the vectors contributed.
        graph: What the graph contributed.
        confidence: Learned from feedback, from 0 to 1; 0.5 is neutral.
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


def ask(pull: Pull, query: str, scope: MemoryScope) -> list[PulledMemory]:
    """Return the memories for a query, at most `scope.k`.

    Raises:
        ServiceError: The pull failed, or returned what are no memories.
    """
    try:
        answer: object = pull(query, scope)
        if not isinstance(answer, Iterable):
            raise ServiceError(f"the pull returned {shown(answer)}; let it return memories")
        pulled = list(islice(answer, scope.k))
    except PlugmemError:
        raise
    except Exception as error:
        raise ServiceError(
            f"the pull failed with {type(error).__name__}; repair it, or leave memory_scope out"
        ) from error
    for place, memory in enumerate(pulled):
        _check(memory, f"memory {place} of the pull")
    return pulled


def blend(
    pulled: Sequence[PulledMemory], importance: Importance
) -> list[tuple[PulledMemory, MemoryNote]]:
    """Return memories in the order of their importance, each with a note.

    The importance is base + confidence weight * 2 * (confidence - 0.5) + recency weight *
    recency. The base is the score as a share of the highest one, or 1 - rank / count where only
    the order counts. The recency is where the value of the recency field lies between the lowest
    and the highest one of all, 0 without a value that is a finite number.
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
    given = [None if field_name is None else memory.metadata.get(field_name) for memory in pulled]
    # As fractions, since the difference of two floats may be infinite.
    values = [Fraction(value) if _is_finite(value) else None for value in given]
    known = [value for value in values if value is not None]
    low, high = min(known, default=Fraction()), max(known, default=Fraction())
    if low == high:
        return [0.0] * len(pulled)
    return [0.0 if value is None else float((value - low) / (high - low)) for value in values]


def _check(memory: object, name: str) -> None:
    if not isinstance(memory, PulledMemory):
        raise ServiceError(f"{name} is {shown(memory)}; let it be a PulledMemory")
    numbers = {"vector": memory.vector, "graph": memory.graph, "confidence": memory.confidence}
    if memory.score is not None:
        numbers["score"] = memory.score
    for field_name, value in numbers.items():
        if not _is_finite(value):
            raise ServiceError(
                f"the {field_name} of {name} is {shown(value)}; let it be a finite number"
            )
    if not 0 <= memory.confidence <= 1:
        raise ServiceError(
            f"the confidence of {name} is {shown(memory.confidence)}; let it be from 0 to 1"
        )
    if type(memory.memory_id) is not int or not 0 <= memory.memory_id <= MAX_U64:
        raise ServiceError(
            f"the memory_id of {name} is {shown(memory.memory_id)}; let it be an integer from 0 "
            f"to {MAX_U64}"
        )
    if not isinstance(memory.metadata, Mapping):
        raise ServiceError(
            f"the metadata of {name} is {shown(memory.metadata)}; let it be a mapping"
        )
    _check_content(memory.content, name)


def _check_content(content: object, name: str) -> None:
    if not isinstance(content, str):
        raise ServiceError(f"the content of {name} is {shown(content)}; let it be a text")
    try:
        check_writable(content)
    except InvalidInputError as error:
        raise ServiceError(f"the content of {name} cannot be written: {error}") from error


def _is_finite(value: object) -> TypeGuard[int | float]:
    try:
        return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)
    except OverflowError:  # an integer beyond floating point
        return False


def _clamp(score: float) -> float:
    return min(1.0, max(0.0, score))
