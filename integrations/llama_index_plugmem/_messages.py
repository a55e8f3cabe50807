"""Messages as facts: the whole mapping is written down here.

| fact       | message                                                                       |
|------------|-------------------------------------------------------------------------------|
| `text`     | the text of its text blocks, so that recall finds it; `-` when it has none    |
| `tags`     | its role: `user`, `assistant`, `tool`, …                                      |
| `metadata` | `_plugmem_message`: role, blocks and `additional_kwargs`, without a text that |
|            | is the `text`; paths of files apart, as they may be gone when it is read      |
|            | `_plugmem_status`: `active` or `archived`                                     |
| `key`      | a new one for each: equal texts are as many messages as were said             |
| `id`       | its place in the log is that of its first version                             |
| vector     | of what a user or an assistant said; others have none                         |

The text of a system message stays in the metadata, so that no recall finds it. What is read
equals what was added: a message that JSON would change is refused. Models that providers put
into `additional_kwargs` are stored, as LlamaIndex does, as the dictionaries they dump to.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from llama_index.core.base.llms.types import (
    AudioBlock,
    BaseRecursiveContentBlock,
    ChatMessage,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    VideoBlock,
)
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import BaseModel

from plugmem_core import (
    Fact,
    InvalidInputError,
    Memory,
    MemoryConfig,
    Metadata,
    Namespace,
    TooLargeError,
    WrongTypeError,
)
from plugmem_core.adapters.fields import RESERVED
from plugmem_core.adapters.log import FactLog
from plugmem_core.clock import MAX_MS
from plugmem_core.errors import shown
from plugmem_core.inputs import check_metadata
from plugmem_core.text import check_fact_text
from plugmem_core.verbs.listing import every

MESSAGE = f"{RESERVED}message"
STATUS = f"{RESERVED}status"

WORDLESS = "-"
"""The text of a message that has none: a fact needs one, and this has no words."""

SYSTEM = frozenset({MessageRole.SYSTEM, MessageRole.DEVELOPER})
RESULTS = frozenset({MessageRole.TOOL, MessageRole.FUNCTION})
SPOKEN = frozenset(MessageRole) - SYSTEM - RESULTS
"""Who takes part in the conversation: only that is recalled."""

ANYTHING_SAID = {f"{MESSAGE}.role": {"$nin": sorted(role.value for role in SYSTEM | RESULTS)}}
"""A filter: every fact but system messages and what tools returned."""

_Media = ImageBlock | AudioBlock | VideoBlock | DocumentBlock


def is_message(metadata: Mapping[str, Any]) -> bool:
    """Whether a fact is a message, by its metadata."""
    return MESSAGE in metadata


class MessageLog:
    """The messages of one session, in order, each with a status.

    Args:
        memory: The open memory.
        namespace: That of the session; what lies below it is another's.
    """

    def __init__(self, memory: Memory, namespace: Namespace) -> None:
        self._memory = memory
        self._namespace = namespace
        self._log = FactLog(memory, namespace, is_message)

    def facts(self, status: MessageStatus | None = None) -> list[Fact]:
        """Return the facts of the messages with a status, or of all."""
        facts = self._log.read()
        return [fact for fact in facts if status is None or fact.metadata[STATUS] == status.value]

    def read(self, status: MessageStatus | None = None) -> list[ChatMessage]:
        """Return the messages with a status, or all; each is the caller's own."""
        return [to_message(fact) for fact in self.facts(status)]

    def add(
        self, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Append messages in one transaction: all of them or none."""
        self._log.add(self._to_facts(messages, status))

    def replace(
        self, messages: Sequence[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make these the messages, in one transaction; what they begin with alike stays."""
        wanted = self._to_facts(messages, status)
        with self._memory.transaction():
            there = self.facts()
            same = _common_start(there, wanted)
            self._memory.write(
                forget=self._keyed(there[same:]),
                remember=[one | {"namespace": self._namespace} for one in wanted[same:]],
            )

    def archive_oldest(self, count: int) -> list[ChatMessage]:
        """Archive the oldest active messages and return them."""
        with self._memory.transaction():
            oldest = self.facts(MessageStatus.ACTIVE)[:count]
            self._log.add(_archived(fact) for fact in oldest)
        return [to_message(fact) for fact in oldest]

    def forget_oldest(self, count: int) -> list[ChatMessage]:
        """Forget the oldest active messages and return them."""
        with self._memory.transaction():
            return self._forget(self.facts(MessageStatus.ACTIVE)[:count])

    def forget_at(self, place: int) -> ChatMessage | None:
        """Forget one of the active messages and return it; `None` when there is none there."""
        with self._memory.transaction():
            active = self.facts(MessageStatus.ACTIVE)
            chosen = active[place : place + 1] if place >= 0 else []
            return next(iter(self._forget(chosen)), None)

    def clear(self, status: MessageStatus | None = None) -> None:
        """Forget the messages with a status, or all."""
        if status is None:
            self._log.clear()
            return
        with self._memory.transaction():
            self._forget(self.facts(status))

    def _forget(self, facts: Sequence[Fact]) -> list[ChatMessage]:
        self._memory.write(forget=self._keyed(facts))
        return [to_message(fact) for fact in facts]

    def _keyed(self, facts: Iterable[Fact]) -> list[tuple[Namespace, str]]:
        return [(self._namespace, fact.key) for fact in facts if fact.key is not None]

    def _to_facts(
        self, messages: Sequence[ChatMessage], status: MessageStatus
    ) -> list[dict[str, Any]]:
        if isinstance(messages, ChatMessage | str) or not isinstance(messages, Iterable):
            raise WrongTypeError(f"messages is {shown(messages)}; give a list of messages")
        config = self._memory.config
        return [to_fact(one, place, status, config) for place, one in enumerate(messages)]


def messages_below(memory: Memory, namespace: Namespace) -> Iterator[Fact]:
    """Yield the facts of all messages in a namespace and below, replaced versions too."""
    options: dict[str, Any] = {"closed": True, "valid_at": MAX_MS, "namespace": namespace}
    return (fact for fact in every(memory.list_facts, **options) if is_message(fact.metadata))


def to_fact(
    message: ChatMessage, place: int, status: MessageStatus, config: MemoryConfig
) -> dict[str, Any]:
    """Return the arguments of `remember` for a message.

    Args:
        message: The message.
        place: Where it stands among those added; errors name it.
        status: Active or archived.
        config: The limits.

    Raises:
        WrongTypeError: It is no message, or holds what JSON cannot.
        TooLargeError: It is over a limit.
        InvalidInputError: It breaks another rule of facts, or would not come back equal.
    """
    if not isinstance(message, ChatMessage):
        raise WrongTypeError(
            f"messages[{place}] is {shown(message)} ({type(message).__name__}); give a ChatMessage"
        )
    with _naming(message, place):
        text, stored = _dumped(message)
        check_fact_text(text, max_bytes=config.max_text)
        metadata = {MESSAGE: stored, STATUS: status.value}
        written = check_metadata(metadata, "message", max_bytes=config.max_metadata)
        assert written is not None  # noqa: S101 - for the type checker; `metadata` is not empty
        plain = json.loads(written)
        _check_equal(message, _restored(text, plain[MESSAGE]))
    return {
        "text": text,
        "tags": [message.role.value],
        "metadata": plain,
        "key": uuid4().hex,
        "embed": text != WORDLESS and message.role in SPOKEN,
    }


def to_message(fact: Fact) -> ChatMessage:
    """Return the message a fact was made of."""
    return _restored(fact.text, fact.metadata[MESSAGE])


def _dumped(message: ChatMessage) -> tuple[str, Metadata]:
    """Return the text of a message, and the rest of it."""
    bare = message.model_copy(deep=True)
    bare.additional_kwargs = {}  # they are dumped apart: LlamaIndex would change bytes in silence
    paths = [_take_path(block) for block in _media(bare.blocks)]
    stored = bare.model_dump(mode="json") | {
        "additional_kwargs": _without_models(message.additional_kwargs)
    }
    if any(path is not None for path in paths):
        stored["paths"] = paths
    text = "" if message.role in SYSTEM else message.content or ""
    if not text or text.isspace():
        return WORDLESS, stored
    texts = [block for block in stored["blocks"] if block["block_type"] == "text"]
    if len(texts) == 1:
        del texts[0]["text"]
    return text, stored


def _restored(text: str, stored: Metadata) -> ChatMessage:
    data = {name: value for name, value in stored.items() if name != "paths"}
    data["blocks"] = [
        {"text": text} | block if block["block_type"] == "text" else block
        for block in stored["blocks"]
    ]
    message = ChatMessage.model_validate(data)
    # Set afterwards: LlamaIndex refuses the path of a file that is gone meanwhile.
    for block, path in zip(_media(message.blocks), stored.get("paths", ()), strict=False):
        if path is not None:
            block.path = Path(path)
    return message


def _media(blocks: Iterable[ContentBlock]) -> Iterator[_Media]:
    """Yield the blocks that can name a file, also those inside others."""
    for block in blocks:
        if isinstance(block, _Media):
            yield block
        elif isinstance(block, BaseRecursiveContentBlock):
            yield from _media(block.nested_blocks)  # type: ignore[arg-type]  # too wide there


def _take_path(block: _Media) -> str | None:
    path = block.path
    if not isinstance(path, Path):
        return None
    block.path = None
    return str(path)


def _without_models(value: Any) -> Any:
    """Return the value with every model in it as the dictionary it dumps to."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _without_models(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_models(one) for one in value]
    return value


def _check_equal(message: ChatMessage, restored: ChatMessage) -> None:
    given = message.model_copy(
        update={"additional_kwargs": _without_models(message.additional_kwargs)}
    )
    if given == restored:
        return
    read = dict(restored)
    changed = [name for name, value in given if read.get(name) != value]
    raise InvalidInputError(
        f"{', '.join(changed) or type(message).__name__} would not come back equal; give a "
        "ChatMessage with nothing but what JSON can hold: lists, no tuples, bytes or open files"
    )


def _archived(fact: Fact) -> dict[str, Any]:
    return {
        "text": fact.text,
        "tags": fact.tags,
        "metadata": fact.metadata | {STATUS: MessageStatus.ARCHIVED.value},
        "key": fact.key,
        "embed": fact.text != WORDLESS and MessageRole(fact.metadata[MESSAGE]["role"]) in SPOKEN,
    }


def _common_start(there: Sequence[Fact], wanted: Sequence[Mapping[str, Any]]) -> int:
    """Return how many messages both begin with."""
    same = 0
    for fact, one in zip(there, wanted, strict=False):
        if (fact.text, fact.metadata) != (one["text"], one["metadata"]):
            break
        same += 1
    return same


@contextmanager
def _naming(message: ChatMessage, place: int) -> Iterator[None]:
    """Make errors name the message, and say what to do about its size."""
    name = f"messages[{place}] ({message.role.value})"
    try:
        yield
    except TooLargeError as error:
        raise TooLargeError(
            f"{name}: {error}; or open the memory with a larger max_text or max_metadata"
        ) from error
    except InvalidInputError as error:
        raise type(error)(f"{name}: {error}") from error
    except (ValueError, AttributeError) as error:  # LlamaIndex can neither write nor read it
        raise InvalidInputError(f"{name}: {error}") from error
