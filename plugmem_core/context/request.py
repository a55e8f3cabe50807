"""What a compile is asked: the request, its fragments and its policy."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, field_validator

from plugmem_core.context.reading import MAX_COUNT, Record, Text, read_id
from plugmem_core.errors import InvalidInputError, shown

Id = Annotated[int, BeforeValidator(lambda value: read_id(value, "the id"))]
Count = Annotated[StrictInt, Field(ge=0)]
Price = Annotated[StrictInt, Field(ge=0, le=MAX_COUNT)]
Label = Annotated[Text, Field(max_length=1_024)]
Ttl = Annotated[StrictInt, Field(ge=0, le=10**10)]
Weight = Annotated[float, Field(strict=True, allow_inf_nan=False)]
RuleId: TypeAlias = Literal[
    "media.atomic",
    "preserve.marked_verbatim",
    "cache.stable_prefix",
    "preserve.code_fence",
    "preserve.negative_constraint",
    "abstract.log_dedup",
    "preserve.exact_values",
    "preserve.url",
    "preserve.default",
    "retrieve.screenshot_superseded",
    "drop.duplicate",
    "drop.near_duplicate",
    "budget.externalize",
]
"""Why something is done with a fragment; see the modules `rules` and `compiler`."""

Boundary: TypeAlias = Literal["paragraph", "sentence", "fixed"]


class Media(Record):
    """An image.

    Attributes:
        mime: Its media type, such as `image/png`, at most 1,024 characters; carried along, not
            interpreted.
        bytes_b64: Its bytes in padded base64 of the standard alphabet.
    """

    mime: Label
    bytes_b64: Text


class Fragment(Record):
    """One piece of context.

    Attributes:
        content: The text; beside an image, its caption.
        id: How decisions name it: an unsigned 64-bit integer or its digits. By default the hash
            of the content, or that of the image's bytes behind a byte 0xFF.
        kind: `"code"`, `"log"` and `"screenshot"` mean something, `"memory"` marks pulled ones,
            and any other text is free to use.
        priority: 0 to 255; higher is packed earlier.
        metadata: A JSON object, without NUL characters, as that of facts. `verbatim: true` keeps
            the content as it is, `cache: true` puts it into the stable prefix, and `target`
            tells which screenshots show the same.
        media: The image, if it is one.
        path: Refused: nothing here reads files.
    """

    content: Text = ""
    id: Id | None = None
    kind: Text | None = None
    priority: Annotated[StrictInt, Field(ge=0, le=255)] = 0
    metadata: dict[str, Any] | None = None
    media: Media | None = None
    path: Text | None = None

    def flag(self, name: str) -> bool:
        """Return whether the metadata says so: with JSON `true`, and nothing else."""
        return self.metadata is not None and self.metadata.get(name) is True


class ChunkPolicy(Record):
    """How large fragments are cut, so that a part may fit.

    Attributes:
        max_chunk_bytes: Longest piece, unless it is fenced code; see `ContextLimits` for the
            floor.
        overlap_bytes: Accepted, and without effect: compiled text repeats nothing. For
            `chunk_text` it has one.
        boundary: Where a text is cut: after `"paragraph"`s, `"sentence"`s, or anywhere
            (`"fixed"`).
    """

    max_chunk_bytes: Annotated[StrictInt, Field(ge=1)] = 2_048
    overlap_bytes: Count = 0
    boundary: Boundary = "paragraph"


class Pricing(Record):
    """What input tokens cost.

    Attributes:
        version: Which price list this is; reported with the savings.
        currency: Such as `"USD"`; at most 1,024 characters.
        models: Millionths of the currency per million input tokens, by model; 0 to 2^53.
    """

    version: Text
    currency: Label
    models: dict[Text, Price]


class Importance(Record):
    """What else than recall orders pulled memories; a weight may be negative.

    Attributes:
        confidence: Weight of learned confidence, around its neutral 0.5.
        recency: Weight of recency; without a `recency_field` it has no effect.
        recency_field: The numeric metadata field that tells how recent a memory is.
    """

    confidence: Weight = 0.2
    recency: Weight = 0.1
    recency_field: Text | None = None


class Policy(Record):
    """How to compile; the policy of a request replaces the compiler's as a whole.

    Attributes:
        response_reserve_tokens: Kept free of the budget for the answer.
        near_dup_dedup: Drop what differs only in case and whitespace, too.
        disabled_rules: Ids of rules that do not apply; `preserve.default` and what the budget
            and duplicates decide always do.
        negative_constraints: Further phrases that mark a prohibition, as `must not` does; a
            trailing space asks for the end of a word. In lower case, punctuation is a space; so
            a phrase needs a letter or a digit.
        chunk: How large fragments are cut.
        record_events: Count what this compile saves.
        store_sources: Keep the fragments for retrieval.
        source_ttl_seconds: How long they are kept; `None` or 0 is for good.
        event_ttl_seconds: How long the savings count; `None` or 0 is for good.
        pricing: Prices that go before the compiler's.
        importance: What orders pulled memories.
        normalize_log_timestamps: Log lines that differ only in a leading timestamp are repeats.
        ids_as_strings: Write ids as decimal digits, for readers that have no 64-bit integers.
        slim_response: Leave sections and decisions out of the result.
    """

    response_reserve_tokens: Count = 0
    near_dup_dedup: StrictBool = True
    disabled_rules: tuple[RuleId, ...] = ()
    negative_constraints: tuple[Text, ...] = ()
    chunk: ChunkPolicy = ChunkPolicy()
    record_events: StrictBool = True
    store_sources: StrictBool = True
    source_ttl_seconds: Ttl | None = None
    event_ttl_seconds: Ttl | None = None
    pricing: Pricing | None = None
    importance: Importance = Importance()
    normalize_log_timestamps: StrictBool = False
    ids_as_strings: StrictBool = False
    slim_response: StrictBool = False

    @field_validator("negative_constraints")
    @classmethod
    def _not_blank(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        for phrase in phrases:
            if not any(map(str.isalnum, phrase)):
                raise InvalidInputError(
                    f"the phrase {shown(phrase)} has no letter and no digit, so it is blank, and "
                    "lines without a prohibition have it, too; leave it out"
                )
        return phrases


class MemoryScope(Record):
    """Which memories join a request.

    Attributes:
        project: Only those of this project.
        k: How many at most; there is never more than the limits leave room for.
        hops: How far the graph is walked; the service's default if `None`.
        graph_boost: What the graph counts; the service's default if `None`.
    """

    project: Text | None = None
    k: Count = 5
    hops: Count | None = None
    graph_boost: Weight | None = None


class ContextRequest(Record):
    """A question, and what might help to answer it.

    Attributes:
        query: What the context is for; relevance is measured against it.
        fragments: In the order in which they are to be read.
        token_budget: Most tokens of the result, the response reserve included.
        project: What the savings and sources are booked on.
        target_model: The model the context is for; prices go by it.
        memory_scope: Memories to pull in; for an attached compile only.
        policy: How to compile; the compiler's policy by default.
    """

    query: Text
    fragments: tuple[Fragment, ...]
    token_budget: Count
    project: Text | None = None
    target_model: Text | None = None
    memory_scope: MemoryScope | None = None
    policy: Policy | None = None


class Segmentation(Record):
    """How a transcript is taken apart.

    Attributes:
        format: `"jsonl"`: one object with `role` and `content` a line; `"plain"`: turns begin
            with markers such as `User:`; `"auto"`: the first if it can be read so.
        min_segment_bytes: Neighbours of one turn and kind are joined while one is smaller.
        cache_system_turn: Put the first system turn into the stable prefix.
    """

    format: Literal["auto", "plain", "jsonl"] = "auto"
    min_segment_bytes: Count = 256
    cache_system_turn: StrictBool = True


class TranscriptRequest(Record):
    """A transcript to compile.

    Attributes:
        query: What the context is for.
        transcript: The text.
        token_budget: As in `ContextRequest`, like the rest.
        path: Refused: nothing here reads files.
        segmentation: How the text is taken apart.
    """

    query: Text
    transcript: Text | None = None
    token_budget: Count
    path: Text | None = None
    project: Text | None = None
    target_model: Text | None = None
    policy: Policy | None = None
    segmentation: Segmentation = Segmentation()


Request: TypeAlias = ContextRequest | Mapping[str, Any]
"""A request, or a mapping of its fields."""
