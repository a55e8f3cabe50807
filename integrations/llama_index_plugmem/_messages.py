"""Messages as facts: the whole mapping is written down here.

| fact       | message                                                                        |
|------------|--------------------------------------------------------------------------------|
| `text`     | the text of its text blocks, so that recall finds it: cut to `max_text`, and � |
|            | for what no fact can hold; `-` when it has none                                |
| `tags`     | its role: `user`, `assistant`, `tool`, …                                       |
| `metadata` | `_plugmem_message`: its role, and as `json` the message as JSON text, without  |
|            | a text that is the `text`                                                      |
|            | `_plugmem_status`: `active` or `archived`                                      |
| `key`      | a new one for each: equal texts are as many messages as were said              |
| `id`       | its place in the log is that of its first version                              |
| vector     | of what a user or an assistant said; others have none                          |

The JSON text of a message too large for metadata is a value under the same key instead. The
text of a system message is in the JSON only, so that no recall finds it.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.storage.chat_store.base_db import MessageStatus

from llama_index_plugmem._message_json import decode, dump, encode, restore
from plugmem_core import (
    Fact,
    InvalidInputError,
    MemoryConfig,
    Metadata,
    TooLargeError,
    WrongTypeError,
)
from plugmem_core.errors import shown
from plugmem_core.inputs import check_json, check_metadata, check_type
from plugmem_core.model import RESERVED
from plugmem_core.text import storable

MESSAGE = f"{RESERVED}message"
STATUS = f"{RESERVED}status"
SAVED = f"{RESERVED}saved"
"""Marks what a memory block saved: what was said, without the message it was said in."""

LARGE = f"{RESERVED}messages"
"""The collection of the JSON texts that are too large for metadata."""

WORDLESS = "-"
"""The text of a message that has none: a fact needs one, and this has no words."""

SYSTEM = frozenset({MessageRole.SYSTEM, MessageRole.DEVELOPER})
RESULTS = frozenset({MessageRole.TOOL, MessageRole.FUNCTION})
SPOKEN = frozenset(MessageRole) - SYSTEM - RESULTS
"""Who takes part in the conversation: only that is recalled."""

ANYTHING_SAID = {f"{MESSAGE}.role": {"$nin": sorted(role.value for role in SYSTEM | RESULTS)}}
"""A filter: every fact but system messages and what tools returned."""


class Draft(NamedTuple):
    """A message that is to be stored.

    Attributes:
        fact: The arguments of `remember`.
        json: The JSON text.
        is_large: Whether that is too large for the metadata.
    """

    fact: dict[str, Any]
    json: str
    is_large: bool


def is_message(metadata: Mapping[str, Any]) -> bool:
    """Whether a fact is a message, by its metadata."""
    return MESSAGE in metadata


def json_in(metadata: Mapping[str, Any]) -> str | None:
    """Return the JSON text of a message, or `None` when it is too large for metadata."""
    text: str | None = metadata[MESSAGE].get("json")
    return text


def fact_text(text: str, config: MemoryConfig) -> str:
    """Return a text as that of a fact, which cannot be blank."""
    cut = storable(text, config.max_text)
    return cut if cut.strip() else WORDLESS


def check_messages(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return messages as a list.

    Raises:
        WrongTypeError: They are no list of messages.
    """
    unordered_or_one = isinstance(messages, str | bytes | Mapping | Set | ChatMessage)
    if unordered_or_one or not isinstance(messages, Iterable):
        raise WrongTypeError(
            f"messages is {shown(messages)} ({type(messages).__name__}); give a list of messages"
        )
    given = list(messages)
    for place, one in enumerate(given):
        check_type(one, ChatMessage, f"messages[{place}]", "a ChatMessage")
    return given


def check_status(status: object) -> MessageStatus:
    """Return a status."""
    check_type(status, MessageStatus, "status", "a MessageStatus")
    assert isinstance(status, MessageStatus)  # noqa: S101 - for the type checker; checked above
    return status


def to_draft(
    message: ChatMessage, place: int, status: MessageStatus, config: MemoryConfig
) -> Draft:
    """Return what is to be stored of a message.

    Args:
        message: The message.
        place: Where it stands among those added; errors name it.
        status: Active or archived.
        config: The limits.

    Raises:
        InvalidInputError: LlamaIndex can neither write it as JSON nor read that again.
        TooLargeError: It is over `max_value`.
    """
    with _naming(message, place):
        role = MessageRole(message.role)
        said = "" if role in SYSTEM else message.content or ""
        text = fact_text(said, config)
        data = dump(message)
        if text == said:
            _leave_out_text(data)
        json = encode(data)
        _restored(text, json)  # what cannot be read would make every later reading fail
        metadata: Metadata = {
            MESSAGE: {"role": role.value, "json": json},
            STATUS: status.value,
        }
        is_large = not _fits(metadata, config)
        if is_large:
            check_json(json, "message", max_bytes=config.max_value)
            metadata[MESSAGE] = {"role": role.value}
    fact = {
        "text": text,
        "tags": [role.value],
        "metadata": metadata,
        "key": uuid4().hex,
        "embed": _has_vector(text, role),
    }
    return Draft(fact, json, is_large)


def archived(fact: Fact) -> dict[str, Any]:
    """Return the arguments of `remember` that make a message an archived one."""
    return {
        "text": fact.text,
        "tags": fact.tags,
        "metadata": fact.metadata | {STATUS: MessageStatus.ARCHIVED.value},
        "key": fact.key,
        "embed": _has_vector(fact.text, MessageRole(fact.metadata[MESSAGE]["role"])),
    }


def to_message(fact: Fact, json: str) -> ChatMessage:
    """Return the message of a fact and its JSON text."""
    return _restored(fact.text, json)


def _leave_out_text(data: Mapping[str, Any]) -> None:
    texts = [block for block in data["blocks"] if block["block_type"] == "text"]
    if len(texts) == 1:
        del texts[0]["text"]


def _restored(text: str, json: str) -> ChatMessage:
    data = decode(json)
    for block in data["blocks"]:
        if block["block_type"] == "text":
            block.setdefault("text", text)
    return restore(data)


def _fits(metadata: Mapping[str, Any], config: MemoryConfig) -> bool:
    try:
        check_metadata(metadata, "message", max_bytes=config.max_metadata)
    except TooLargeError:
        return False
    return True


def _has_vector(text: str, role: MessageRole) -> bool:
    return text != WORDLESS and role in SPOKEN


@contextmanager
def _naming(message: ChatMessage, place: int) -> Iterator[None]:
    """Make errors name the message, and say what to do about it."""
    name = f"messages[{place}] ({getattr(message.role, 'value', message.role)})"
    try:
        yield
    except TooLargeError as error:
        raise TooLargeError(
            f"{name}: {error}, or open the memory with a larger max_value"
        ) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError(
            f"{name} cannot be written as JSON and read again: {error}; "
            "give text, numbers, lists, dictionaries, bytes, instants or models"
        ) from error
