"""`ContextLimits`: how much a compile takes in, with the defaults."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plugmem_core.errors import ConfigError

_MIB = 1_048_576


class ContextLimits(BaseModel):
    """What is refused as too large, and a few thresholds; plain frozen data.

    An unknown name or a value out of range raises `ConfigError`.

    Attributes:
        fragments: Most fragments of a request, pulled memories included; also most segments of
            a transcript.
        fragment_bytes: Longest content of one, in bytes of UTF-8.
        metadata_bytes: Longest metadata of one, in bytes of JSON.
        media_bytes: Longest image, in bytes of its base64 text.
        media_total_bytes: Longest images of one request together.
        token_budget: The largest budget; a larger one counts as this.
        transcript_bytes: Longest transcript.
        working_bytes: Longest working context, in bytes of JSON.
        name_bytes: Longest name of a project, session or model.
        memories: Most memories pulled into one request.
        min_chunk_bytes: No fragment is cut into pieces smaller than this.
        warning_relevance: From this relevance on, what was left out is warned about.
        log_run_lines: Lines in a row that a transcript needs to be seen as a log.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    fragments: int = Field(default=1_024, ge=1)
    fragment_bytes: int = Field(default=_MIB, ge=1)
    metadata_bytes: int = Field(default=65_536, ge=2)
    media_bytes: int = Field(default=4 * _MIB, ge=0)
    media_total_bytes: int = Field(default=64 * _MIB, ge=0)
    token_budget: int = Field(default=10_000_000, ge=1)
    transcript_bytes: int = Field(default=8 * _MIB, ge=1)
    working_bytes: int = Field(default=_MIB, ge=2)
    name_bytes: int = Field(default=4_096, ge=1)
    memories: int = Field(default=1_000, ge=0)
    min_chunk_bytes: int = Field(default=256, ge=4)
    warning_relevance: float = Field(default=0.35, ge=0, le=1)
    log_run_lines: int = Field(default=8, ge=2)

    def __init__(self, **limits: Any) -> None:
        try:
            super().__init__(**limits)
        except ValidationError as error:
            problem = error.errors()[0]
            accepted = ", ".join(type(self).model_fields)
            raise ConfigError(
                f"{problem['loc'][0]} is {problem['input']!r}: {problem['msg']}; "
                f"accepted are {accepted}"
            ) from None
