"""Transcripts as requests: a fragment for each segment."""

from dataclasses import dataclass
from typing import Literal

from plugmem_core.context.chunking import byte_size
from plugmem_core.context.limits import ContextLimits
from plugmem_core.context.pieces import Piece
from plugmem_core.context.request import (
    ContextRequest,
    Fragment,
    Policy,
    Segmentation,
    TranscriptRequest,
)
from plugmem_core.context.result import Segment, SegmentationReport
from plugmem_core.context.segments import Part, join_parts, json_parts, plain_parts
from plugmem_core.errors import InvalidInputError, TooLargeError, shown


@dataclass(frozen=True, slots=True)
class Segmented:
    """A transcript, taken apart.

    Attributes:
        format: How it was read.
        parts: In order.
        merged: How many were joined to a neighbour.
    """

    format: Literal["plain", "jsonl"]
    parts: list[Part]
    merged: int


def segment(request: TranscriptRequest, limits: ContextLimits) -> Segmented:
    """Return the parts of a transcript.

    Raises:
        InvalidInputError: It is missing or empty, names a path, or is no JSONL although it
            should be.
        TooLargeError: It, or a block of code in it, is too long, or there are too many parts.
    """
    how = request.segmentation
    segmented = _taken_apart(_checked(request, limits), how, limits)
    if len(segmented.parts) > limits.fragments:
        raise TooLargeError(
            f"the transcript has {len(segmented.parts)} segments, over the limit of "
            f"{limits.fragments}; raise min_segment_bytes (now {how.min_segment_bytes}), or "
            "compile it in parts"
        )
    return segmented


def to_request(request: TranscriptRequest, segmented: Segmented) -> ContextRequest:
    """Return the request that a transcript amounts to."""
    cached = None
    if request.segmentation.cache_system_turn:
        roles = ((part.turn, part.role) for part in segmented.parts)
        cached = next((turn for turn, role in roles if role and role.lower() == "system"), None)
    return ContextRequest(
        query=request.query,
        fragments=tuple(_fragment(part, cached=part.turn == cached) for part in segmented.parts),
        token_budget=request.token_budget,
        project=request.project,
        target_model=request.target_model,
        policy=request.policy,
    )


def report(segmented: Segmented, pieces: list[Piece], policy: Policy) -> SegmentationReport:
    """Return where each segment lies in the transcript, and which fragment it became."""
    segments = []
    start = 0
    for index, (part, piece) in enumerate(zip(segmented.parts, pieces, strict=True)):
        named = piece.fragment_id
        segments.append(
            Segment(
                index=index,
                turn=part.turn,
                role=part.role,
                kind=part.kind,
                byte_start=start,
                byte_end=start + part.size,
                fragment_id=str(named) if policy.ids_as_strings else named,
            )
        )
        start += part.size
    return SegmentationReport(
        format_detected=segmented.format,
        segments=tuple(segments),
        merged_segments=segmented.merged,
    )


def _checked(request: TranscriptRequest, limits: ContextLimits) -> str:
    if request.path is not None:
        raise InvalidInputError(
            f"path is {shown(request.path)}, but reading files is disabled; read the file and "
            "give its text as transcript"
        )
    text = request.transcript
    if not text:
        raise InvalidInputError(f"transcript is {shown(text)}; give the text of one")
    if byte_size(text) > limits.transcript_bytes:
        raise TooLargeError(
            f"transcript has {byte_size(text)} bytes of UTF-8, over the limit of "
            f"{limits.transcript_bytes}; compile it in parts"
        )
    return text


def _taken_apart(text: str, how: Segmentation, limits: ContextLimits) -> Segmented:
    if how.format != "plain":
        parts, broken = json_parts(text, limits.fragment_bytes)
        if parts and broken is None:
            return Segmented("jsonl", parts, 0)
        if how.format == "jsonl":
            raise InvalidInputError(
                f"line {broken or 1} of the transcript is no JSON object with a text role and a "
                "text content; repair it, or choose another format"
            )
    found = plain_parts(text, limits)
    parts = join_parts(found, how.min_segment_bytes, limits.fragment_bytes)
    return Segmented("plain", parts, len(found) - len(parts))


def _fragment(part: Part, *, cached: bool) -> Fragment:
    metadata: dict[str, object] = {"turn": part.turn}
    if part.role is not None:
        metadata["role"] = part.role
    if cached:
        metadata["cache"] = True
    kind = None if part.kind == "body" else part.kind
    return Fragment(content=part.content, kind=kind, metadata=metadata)
