"""`RecallResult`: facts, edges, and why."""

from dataclasses import dataclass
from html import escape
from typing import Any

from plugmem_core.index import MetEdges
from plugmem_core.model import Edge, Listed, RecalledFact, fact_row, html_table
from plugmem_core.recall.explain import Explanation
from plugmem_core.recall.render import render, render_met


@dataclass(frozen=True, eq=False)
class RecallResult(Listed[RecalledFact]):
    """What a recall found. Iterates over its facts, and is false without any.

    Attributes:
        facts: Best first.
        met: The edges the graph walk met, not made yet; `None` without a walk.
        truncated: Whether `k` or the token budget left candidates out.
        explanation: Where each score comes from; only with `explain=True`.
    """

    facts: tuple[RecalledFact, ...]
    met: MetEdges | None = None
    truncated: bool = False
    explanation: Explanation | None = None

    @property
    def _items(self) -> tuple[RecalledFact, ...]:
        return self.facts

    # Made at the first look, and kept beside the fields; `cached_property` does so under a lock.

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges the graph walk met, in the order met."""
        kept = self.__dict__
        if "_edges" not in kept:
            kept["_edges"] = () if self.met is None else self.met.edges()
        edges: tuple[Edge, ...] = kept["_edges"]
        return edges

    @property
    def rendered(self) -> str:
        """The facts and edges as a block for a prompt; stored text cannot break out of its line."""
        kept = self.__dict__
        if "_rendered" not in kept:
            if self.met is None:
                kept["_rendered"] = render(self.facts, kept.get("_edges", ()))
            else:
                kept["_rendered"] = render_met(self.facts, self.met)
        rendered: str = kept["_rendered"]
        return rendered

    def __reduce__(self) -> tuple[Any, ...]:
        # With the edges themselves: what makes them knows the names of the whole file.
        return _with_edges, (self.facts, self.edges, self.truncated, self.explanation)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecallResult):
            return NotImplemented
        return self._all == other._all

    __hash__ = None  # type: ignore[assignment] # metadata is a dict

    @property
    def _all(self) -> tuple[object, ...]:
        return self.facts, self.edges, self.truncated, self.explanation

    def __repr__(self) -> str:
        return (
            f"RecallResult(facts={self.facts!r}, edges={self.edges!r}, "
            f"truncated={self.truncated!r})"
        )

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


def _with_edges(
    facts: tuple[RecalledFact, ...],
    edges: tuple[Edge, ...],
    truncated: bool,  # noqa: FBT001 - as it was pickled
    explanation: Explanation | None,
) -> RecallResult:
    result = RecallResult(facts, None, truncated, explanation)
    result.__dict__["_edges"] = edges
    return result
