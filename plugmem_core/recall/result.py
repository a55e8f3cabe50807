"""`RecallResult`: facts, edges, and why."""

from dataclasses import dataclass, field
from functools import cached_property
from html import escape

from plugmem_core.model import Edge, Listed, RecalledFact, fact_row, html_table
from plugmem_core.recall.explain import Explanation
from plugmem_core.recall.render import render


@dataclass(frozen=True)
class RecallResult(Listed[RecalledFact]):
    """What a recall found. Iterates over its facts, and is false without any.

    Attributes:
        facts: Best first.
        edges: The edges the graph walk met, in the order met.
        truncated: Whether `k` or the token budget left candidates out.
        explanation: Where each score comes from; only with `explain=True`.
    """

    facts: tuple[RecalledFact, ...]
    edges: tuple[Edge, ...] = ()
    truncated: bool = False
    explanation: Explanation | None = field(default=None, repr=False)

    @property
    def _items(self) -> tuple[RecalledFact, ...]:
        return self.facts

    @cached_property
    def rendered(self) -> str:
        """The facts and edges as a block for a prompt; stored text cannot break out of its line."""
        return render(self.facts, self.edges)

    def __str__(self) -> str:
        return self.rendered

    def _repr_html_(self) -> str:
        rows = [
            fact_row(fact) | {"score": f"{fact.score:.4f}", "sources": " ".join(fact.sources)}
            for fact in self.facts
        ]
        edges = "".join(
            f"<li>{escape(edge.src)} —{escape(edge.relation)}→ {escape(edge.dst)}</li>"
            for edge in self.edges
        )
        return html_table(rows) + (f"<ul>{edges}</ul>" if edges else "")
