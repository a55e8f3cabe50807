"""Recall: a query through its stages to a result with reasons."""

from plugmem_core.recall.absence import explain_absence
from plugmem_core.recall.explain import Absence, Evidence, Explanation, FactExplanation
from plugmem_core.recall.fusion import SOURCE_NAMES
from plugmem_core.recall.pipeline import Ranking, rank
from plugmem_core.recall.query import (
    MAX_QUERY_BYTES,
    Anchors,
    Query,
    check_reranker,
    make_query,
    require_question,
)
from plugmem_core.recall.rearranging import Rearranged, looked_at, rearrange
from plugmem_core.recall.reasons import explain_rows
from plugmem_core.recall.reranker import Reranker
from plugmem_core.recall.result import RecallResult
from plugmem_core.recall.scope import build_scope, clocks, passing_facts
from plugmem_core.recall.selection import Read, Row, candidates, choose

__all__ = [
    "MAX_QUERY_BYTES",
    "SOURCE_NAMES",
    "Absence",
    "Anchors",
    "Evidence",
    "Explanation",
    "FactExplanation",
    "Query",
    "Ranking",
    "Read",
    "Rearranged",
    "RecallResult",
    "Reranker",
    "Row",
    "build_scope",
    "candidates",
    "check_reranker",
    "choose",
    "clocks",
    "explain_absence",
    "explain_rows",
    "looked_at",
    "make_query",
    "passing_facts",
    "rank",
    "rearrange",
    "require_question",
]
