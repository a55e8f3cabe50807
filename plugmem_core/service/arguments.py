"""What callers pass, checked before anything is written; no message repeats a question."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from plugmem_core.errors import (
    InvalidFilterError,
    InvalidInputError,
    TooLargeError,
    WrongTypeError,
    shown,
)
from plugmem_core.filters import parse_filter
from plugmem_core.inputs import check_count, check_type
from plugmem_core.inputs import check_metadata as check_json_object
from plugmem_core.inputs import check_ttl as check_lifetime
from plugmem_core.service.config import Mode, ServiceConfig
from plugmem_core.service.dating import check_date
from plugmem_core.service.identity import DATE_KEY, check_memory_id, is_reserved
from plugmem_core.text import check_fact_text, check_text

MAX_QUESTION_BYTES = 1_048_576
NO_LIMIT = 2**62

MemoryId: TypeAlias = int | str
"""What a caller may pass for an id: the integer, or its decimal digits as text."""

LinkLike: TypeAlias = tuple[MemoryId, str]
"""The id of a memory or an entity, and the label of the edge that leads to it."""


def check_fact(value: object, most: int, name: str = "fact") -> str:
    """Return the text of a memory without space around it.

    Raises:
        WrongTypeError: It is no text.
        InvalidInputError: It is blank, or cannot be stored.
        TooLargeError: It has over `most` bytes.
    """
    check_type(value, str, name, "a text")
    text = str(value).strip()
    return check_fact_text(text, name, max_bytes=most)


def check_label(value: object, most: int, name: str = "relation") -> str:
    """Return the label of an edge: not blank, at most `most` bytes, without control characters."""
    label = check_text(value, name, max_bytes=most)
    if not label.strip():
        raise InvalidInputError(f"{name} is {label!r}, which is blank; name the relation")
    if any(character < " " or character == "\x7f" for character in label):
        raise InvalidInputError(f"{name} is {shown(label)}; leave control characters out")
    return label


def check_links(values: Iterable[LinkLike], most: int) -> list[tuple[int, str]]:
    """Return links as ids and labels; labels are checked first."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise WrongTypeError(f"links is {shown(values)}; give a list of (id, relation) pairs")
    pairs = list(values)
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise WrongTypeError(f"links[{place}] is {shown(pair)}; give an (id, relation) pair")
    labels = [check_label(pair[1], most, f"links[{place}][1]") for place, pair in enumerate(pairs)]
    ids = [check_memory_id(pair[0], f"links[{place}][0]") for place, pair in enumerate(pairs)]
    return list(zip(ids, labels, strict=True))


def check_metadata(value: Mapping[str, Any] | None, most: int) -> dict[str, Any]:
    """Return a caller's metadata as plain JSON of its own.

    Raises:
        WrongTypeError: It is no mapping of text to JSON values.
        InvalidInputError: A key is reserved (the first of them in order is named), the date
            is none, or a value is one that JSON cannot hold.
        TooLargeError: Its compact JSON has over `most` bytes.
    """
    if value is None:
        return {}
    check_type(value, Mapping, "metadata", "a mapping with text keys")
    for key in sorted(key for key in value if isinstance(key, str)):
        if is_reserved(key):
            raise InvalidInputError(f"metadata has the key {key!r}, which is reserved; use another")
    text = check_json_object(value, "metadata", max_bytes=most)
    metadata: dict[str, Any] = {} if text is None else json.loads(text)
    check_date(metadata)
    return metadata


def check_merged(metadata: Mapping[str, Any], most: int) -> None:
    """Refuse metadata that grew over the limit; the date is not counted."""
    given = {key: value for key, value in metadata.items() if key != DATE_KEY}
    check_json_object(given, "metadata, merged with what is stored,", max_bytes=most)


def check_ttl(value: float | None, now: int) -> float | None:
    """Return a time to live in seconds.

    Raises:
        InvalidInputError: It is 0, negative, or ends beyond the calendar.
    """
    if value is None:
        return None
    check_type(value, (int, float), "ttl", "seconds")
    if value <= 0:
        raise InvalidInputError(f"ttl is {shown(value)}; give seconds, or leave it out for ever")
    check_lifetime(value, now)
    return value


def check_question(value: object, name: str = "query") -> str:
    """Return a question without space around it; a blank one is fine, and finds nothing.

    Raises:
        WrongTypeError: It is no text.
        InvalidInputError: It has a NUL character or a lone surrogate.
        TooLargeError: It has over `MAX_QUESTION_BYTES`.
    """
    if not isinstance(value, str):
        raise WrongTypeError(f"{name} is of type {type(value).__name__}; give a text")
    text = value.strip()
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInputError(f"{name} has a lone surrogate; decode it properly") from None
    if "\0" in text:
        raise InvalidInputError(f"{name} has a NUL character; remove it")
    if size > MAX_QUESTION_BYTES:
        raise TooLargeError(
            f"{name} has {size} bytes, over the limit of {MAX_QUESTION_BYTES}; shorten it"
        )
    return text


def check_where(where: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a filter over metadata, `None` for one that lets everything pass.

    Raises:
        InvalidFilterError: It cannot be read, or asks for a reserved key.
    """
    if where is None:
        return None
    conditions = parse_filter(where).conditions()
    reserved = sorted(one.path for one in conditions if is_reserved(one.path))
    if reserved:
        raise InvalidFilterError(f"where asks for {reserved[0]!r}, which is reserved; use another")
    return where or None


def check_mode(value: object) -> Mode:
    """Return the mode of a recall."""
    for mode in get_args(Mode):
        if value == mode:
            chosen: Mode = mode
            return chosen
    raise InvalidInputError(f'mode is {shown(value)}; give "fused" or "vector"')


def check_floor(value: float | None) -> float | None:
    """Return the least score of a recall."""
    if value is None:
        return None
    check_type(value, (int, float), "min_score", "a number")
    if value != value:
        raise InvalidInputError("min_score is NaN; give a number")
    return float(value)


def check_boost(value: float | None, config: ServiceConfig) -> float:
    """Return what the graph counts; what is no finite number counts as the default."""
    if value is None:
        return config.graph_boost
    check_type(value, (int, float), "graph_boost", "a number")
    finite = value == value and abs(value) != float("inf")
    return float(value) if finite else config.graph_boost


def clamp(value: int | None, name: str, default: int, most: int) -> int:
    """Return a count from 0; more than `most` counts as `most`."""
    if value is None:
        return min(default, most)
    return min(check_count(value, name, least=0, most=NO_LIMIT), most)
