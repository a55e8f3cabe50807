"""Why a fact was recalled, and why another was not."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple

from plugmem_core.model import html_table

AbsenceReason = Literal[
    "present",
    "not in scope",
    "forgotten",
    "expired",
    "not yet known",
    "not yet valid",
    "no longer valid",
    "no evidence",
    "below the cut",
    "near duplicate",
    "over budget",
    "below the floor",
]


class Evidence(NamedTuple):
    """One source's part in a score, or in the tuned ranking one signal's.

    Attributes:
        source: `"bm25"`, `"vector"`, `"graph"` or `"time"`; in the tuned ranking `"date"`,
            `"year"`, `"neighbour"` and `"link"`, too.
        rank: Place in that source's ranking, from 1; 0 where the source did not rank the fact,
            and for a signal that ranks nothing.
        raw: The source's own score: BM25, cosine, weight of the walk; 0 for the others.
        contribution: What it added to the fused score.
    """

    source: str
    rank: int
    raw: float
    contribution: float


@dataclass(frozen=True, slots=True)
class FactExplanation:
    """Where one fact's score comes from.

    Attributes:
        id: The fact.
        evidence: One entry per source that ranked it, or signal that gave it points.
        boost: The factor of recency.
        score: The sum of the contributions, times the boost.
        relevance: How well the text answers the question, from 0 to 1; unlike the score
            it means the same in every recall, so a threshold can be set on it.
        reranked: The score that a reranker gave, which then is the fact's score and order.
    """

    id: int
    evidence: tuple[Evidence, ...]
    boost: float
    score: float
    relevance: float
    reranked: float | None = None


def relevance_of(evidence: Iterable[Evidence], ceiling: float) -> float:
    """Return the larger of two shares: the cosine, and BM25 over the most it could be.

    Places in a ranking say nothing of this: the best of bad answers is still first. The
    graph and time speak for a fact, not for its text, so they do not count.

    Args:
        evidence: What the sources found.
        ceiling: The score no text can exceed for the question.
    """
    shares = [0.0]
    for one in evidence:
        if one.source == "vector":
            shares.append(one.raw)
        elif one.source == "bm25" and ceiling > 0:
            shares.append(one.raw / ceiling)
    return min(1.0, max(shares))


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the scores of a recall come from.

    Attributes:
        facts: One entry per returned fact, in the same order.
        anchors: The names of the entities the walk started from.
        candidates: How many facts each source ranked.
        notes: What was left out and why, such as a vector search without an embedder.
    """

    facts: tuple[FactExplanation, ...]
    anchors: tuple[str, ...]
    candidates: dict[str, int]
    notes: tuple[str, ...] = ()

    def __getitem__(self, fact: int) -> FactExplanation:
        """Return the explanation of a fact by its id.

        Raises:
            KeyError: The fact is not among the returned ones.
        """
        for explained in self.facts:
            if explained.id == fact:
                return explained
        raise KeyError(fact)

    def _repr_html_(self) -> str:
        rows = [
            {
                "id": f"f{fact.id}",
                "source": evidence.source,
                "rank": str(evidence.rank),
                "raw": f"{evidence.raw:.4f}",
                "contribution": f"{evidence.contribution:.5f}",
                "boost": f"{fact.boost:.4f}",
                "score": f"{fact.score:.5f}",
            }
            for fact in self.facts
            for evidence in fact.evidence
        ]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return html_table(rows) + notes


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a fact is not in the result of a recall.

    Attributes:
        reason: The first test it failed.
        detail: The same with the values compared.
    """

    reason: AbsenceReason
    detail: str
