"""Context for a prompt, fitted into a token budget without a model.

`ContextCompiler` takes fragments (texts, code, logs, images) and a budget, and returns one text,
with a decision about every fragment. It has no clock, no model and no store, and equal requests
give equal bytes. `ContextDesk` adds a store: originals that can be retrieved byte for byte, what
was saved, working contexts, and memories that join a request.

| a fragment                                        | is                                          |
|---------------------------------------------------|---------------------------------------------|
| an image, verbatim, cached, code, a prohibition,  | critical: packed first, and its loss is a   |
| several numbers, a link                           | high risk                                   |
| a log whose lines repeat                          | abstracted: each line once, with a count    |
| a repeat of another                               | dropped                                     |
| an outdated screenshot, or over the budget        | left behind a handle, `ctx://source/…`      |
| anything else                                     | packed as far as it fits                    |

>>> compiled = compile_context({
...     "query": "oil",
...     "fragments": [{"content": "Change the oil."}, {"content": "change  the oil."}],
...     "token_budget": 100,
... })
>>> compiled.content, compiled.insights.tokens_saved, compiled.risk
('Change the oil.', 5, 'low')

Where the description this follows leaves a loss unsaid, this says or avoids it:

- The budget holds with any estimator, also with one that finds more in a text than in its parts.
- A near duplicate is kept if it is critical itself, not only if the one before it is.
- The stable prefix does not depend on the query, with any estimator: nor does the order of what
  is packed before it.
- Phrases that mark a prohibition can be added by a policy; `disabled_rules` refuses what is no
  rule; a `memory_scope` without a memory is refused instead of passed over.
- Contents are compared, not only their hashes. Two with one hash are refused where they would be
  stored; there is no handle under which another content could be served.
- Savings count all events, so there is no `truncated`; sources and savings can be purged.
- A compile keeps all it keeps in one transaction. What is lost or damaged of a source is
  replaced when its content is compiled again.
- A working context is one value, so its list cannot disagree with it. What is damaged is told:
  by an error where it is loaded, and in lists.
- The hash of an image is that of its bytes behind a byte 0xFF, which no text has: an image and
  a text of the same bytes, such as an SVG, have an id and a handle each.
- An image that is stored already keeps the caption it was stored with.
- A recency that is no finite number counts as missing.
"""

from plugmem_core.context.budgets import BudgetSuggestion, suggest_budget
from plugmem_core.context.chunking import chunk_text
from plugmem_core.context.compiler import ContextCompiler, compile_context
from plugmem_core.context.desk import ContextDesk
from plugmem_core.context.estimate import Estimator, HeuristicEstimator, TokenizerEstimator
from plugmem_core.context.importance import Pull, PulledMemory
from plugmem_core.context.limits import ContextLimits
from plugmem_core.context.request import (
    ChunkPolicy,
    ContextRequest,
    Fragment,
    Importance,
    Media,
    MemoryScope,
    Policy,
    Pricing,
    Segmentation,
    TranscriptRequest,
)
from plugmem_core.context.result import (
    CompiledContext,
    CompiledTranscript,
    ContextWarning,
    Decision,
    Insights,
    RetrievalHandle,
    Section,
    Segment,
    SegmentationReport,
    SourceRef,
)
from plugmem_core.context.savings import ContextSavings
from plugmem_core.context.sources import RetrievedSource
from plugmem_core.context.values import DictValues, ValueStore
from plugmem_core.context.working import (
    ExactEvidence,
    Hypothesis,
    KeptDecision,
    LoadedWorkingContext,
    WorkingContext,
    WorkingSession,
)

__all__ = [
    "BudgetSuggestion",
    "ChunkPolicy",
    "CompiledContext",
    "CompiledTranscript",
    "ContextCompiler",
    "ContextDesk",
    "ContextLimits",
    "ContextRequest",
    "ContextSavings",
    "ContextWarning",
    "Decision",
    "DictValues",
    "Estimator",
    "ExactEvidence",
    "Fragment",
    "HeuristicEstimator",
    "Hypothesis",
    "Importance",
    "Insights",
    "KeptDecision",
    "LoadedWorkingContext",
    "Media",
    "MemoryScope",
    "Policy",
    "Pricing",
    "Pull",
    "PulledMemory",
    "RetrievalHandle",
    "RetrievedSource",
    "Section",
    "Segment",
    "Segmentation",
    "SegmentationReport",
    "SourceRef",
    "TokenizerEstimator",
    "TranscriptRequest",
    "ValueStore",
    "WorkingContext",
    "WorkingSession",
    "chunk_text",
    "compile_context",
    "suggest_budget",
]
