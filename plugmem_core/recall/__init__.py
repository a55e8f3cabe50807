"""Recall: a query through its stages to a result with reasons."""

from plugmem_core.recall.absence import explain_absence
from plugmem_core.recall.explain import Absence, Evidence, Explanation, FactExplanation
from plugmem_core.recall.fusion import SOURCE_NAMES
from plugmem_core.recall.pipeline import Ranking, rank
from plugmem_core.recall.query import MAX_QUERY_BYTES, Anchors, Query, make_query, require_question
from plugmem_core.recall.reasons import explain_rows
from plugmem_core.recall.result import RecallResult
from plugmem_core.recall.scope import build_scope, clocks, passing_facts
from plugmem_core.recall.selection import Row, candidates, choose

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
    "RecallResult",
    "Row",
    "build_scope",
    "candidates",
    "choose",
    "clocks",
    "explain_absence",
    "explain_rows",
    "make_query",
    "passing_facts",
    "rank",
    "require_question",
]
