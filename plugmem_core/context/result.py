"""What a compile gives back."""

from typing import Literal, TypeAlias

from plugmem_core.context.reading import Record
from plugmem_core.context.request import RuleId
from plugmem_core.context.rules import Action

Id: TypeAlias = int | str
"""An unsigned 64-bit integer, or its decimal digits if the policy asks for `ids_as_strings`."""

Risk: TypeAlias = Literal["low", "medium", "high"]
"""Nothing was lost; reductions that can be undone; something critical did not fit."""

RISKS: tuple[Risk, ...] = ("low", "medium", "high")


class Section(Record):
    """A part of the compiled text.

    Attributes:
        kind: `"cache"`, the stable prefix, or `"body"`.
        content: Its text.
        fragment_ids: The fragments in it, in order; images, too.
    """

    kind: Literal["cache", "body"]
    content: str
    fragment_ids: tuple[Id, ...]


class Decision(Record):
    """What became of a fragment.

    Attributes:
        fragment_id: The fragment.
        content_hash: The hash of its content, or that of its image's bytes behind a byte 0xFF.
        action: What was done with it.
        rule_id: By which rule.
        relevance: Its share of the query's words, or a memory's score, from 0 to 1.
        risk: What may be lost by it.
        reason: Why, in words.
        memory_id: The memory that says the same, if one was pulled.
        handle: Where the whole of it can be retrieved, if it is not here.
    """

    fragment_id: Id
    content_hash: Id
    action: Action
    rule_id: RuleId
    relevance: float
    risk: Risk
    reason: str
    memory_id: Id | None = None
    handle: str | None = None


class SourceRef(Record):
    """Where the original of a fragment can be retrieved.

    Attributes:
        fragment_id: The fragment.
        handle: Its handle.
        memory_id: The memory that says the same, if one was pulled.
    """

    fragment_id: Id
    handle: str
    memory_id: Id | None = None


class RetrievalHandle(Record):
    """A fragment that was left out.

    Attributes:
        handle: Where it can be retrieved.
        fragment_id: The fragment.
        estimated_tokens: What it would cost.
    """

    handle: str
    fragment_id: Id
    estimated_tokens: int


class ContextWarning(Record):
    """A fragment that was left out although it seems relevant.

    Attributes:
        fragment_id: The fragment.
        handle: Where it can be retrieved.
        relevance: As in its decision.
        message: The same in words.
    """

    fragment_id: Id
    handle: str
    relevance: float
    message: str


class Insights(Record):
    """What the compile saved.

    Attributes:
        tokens_in: Of all fragments.
        tokens_out: Of the result, its images included.
        tokens_saved: The difference, or 0.
        tokens_saved_by_rule: Of the fragments each rule decided about; rules without savings
            are left out.
        estimated_cost_saved_micros: In millionths of the currency, if the model has a price.
        currency: Of the price.
        pricing_version: Of the price list.
    """

    tokens_in: int
    tokens_out: int
    tokens_saved: int
    tokens_saved_by_rule: dict[RuleId, int]
    estimated_cost_saved_micros: int | None = None
    currency: str | None = None
    pricing_version: str | None = None


class CompiledContext(Record):
    """The context, and an account of it.

    `model_dump_json()` writes it as JSON; equal requests give equal bytes.

    Attributes:
        content: The text for the prompt.
        sections: The same in parts, the stable prefix first; empty in a slim response.
        decisions: One per fragment, in their order; empty in a slim response.
        sources: One per fragment that is no duplicate.
        retrieval_handles: What was left out.
        insights: What was saved.
        risk: The highest of the decisions.
        warnings: What was left out although it seems relevant. None is no all-clear: parts and
            log lines that were left out are never here.
    """

    content: str
    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    sources: tuple[SourceRef, ...]
    retrieval_handles: tuple[RetrievalHandle, ...]
    insights: Insights
    risk: Risk
    warnings: tuple[ContextWarning, ...]


class Segment(Record):
    """A part of a transcript.

    Attributes:
        index: Its place among the segments, from 0.
        turn: The turn it belongs to, from 0.
        role: Who spoke, if that is known.
        kind: `"body"`, `"code"` or `"log"`.
        byte_start: Where it begins in the transcript's UTF-8.
        byte_end: Where it ends; the next one begins there.
        fragment_id: The fragment it became.
    """

    index: int
    turn: int
    role: str | None
    kind: Literal["body", "code", "log"]
    byte_start: int
    byte_end: int
    fragment_id: Id


class SegmentationReport(Record):
    """How a transcript was taken apart.

    Attributes:
        format_detected: `"plain"` or `"jsonl"`.
        segments: Which, in order; their bytes are those of the transcript, without gaps.
        merged_segments: How many small ones were joined to a neighbour.
    """

    format_detected: Literal["plain", "jsonl"]
    segments: tuple[Segment, ...]
    merged_segments: int


class CompiledTranscript(Record):
    """A compiled transcript.

    Attributes:
        context: The context, as of any compile.
        segmentation: How the transcript was taken apart.
    """

    context: CompiledContext
    segmentation: SegmentationReport
