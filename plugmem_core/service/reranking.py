"""Rerankers: the protocol, and one that counts words."""

import re
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from plugmem_core.service.records import RecalledMemory

_terms = re.compile(r"[^\W_]+").findall


@runtime_checkable
class Reranker(Protocol):
    """Puts candidates into another order; it may leave some out."""

    def rerank(self, query: str, candidates: Sequence[RecalledMemory]) -> Sequence[RecalledMemory]:
        """Return candidates, best first.

        Args:
            query: The question.
            candidates: Memories, best first so far.
        """
        ...


class DeterministicReranker:
    """Orders by the share of the question's distinct words that a memory has.

    Words are runs of letters and digits, in any case; equals stay in their order. It moves
    down just those memories that the graph found without a word in common, so nothing uses it
    unless asked to.

    >>> coffee, tea = (RecalledMemory(n, 0.5, text, None) for n, text in
    ...                enumerate(["Black coffee", "Green TEA"]))
    >>> [one.content for one in DeterministicReranker().rerank("green tea?", [coffee, tea])]
    ['Green TEA', 'Black coffee']
    """

    def rerank(self, query: str, candidates: Sequence[RecalledMemory]) -> Sequence[RecalledMemory]:
        """Return the candidates by how many words of the question they have."""
        wanted = set(_terms(query.lower()))
        return sorted(
            candidates, key=lambda one: -len(wanted.intersection(_terms(one.content.lower())))
        )
