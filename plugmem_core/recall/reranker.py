"""`Reranker`: what may give the best facts another order."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class Reranker(Protocol):
    """Scores texts by how well each answers a question."""

    def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one score a text, in the order of the texts; higher is better.

        A score of `-inf` leaves the text out of the result.

        Args:
            question: The text of the recall.
            texts: Those of the best candidates, best first so far.
        """
        ...
