"""Messages as facts: the whole mapping is written down here.

| fact       | message                                                                      |
|------------|------------------------------------------------------------------------------|
| `text`     | its readable text, so that recall finds it; `-` when it has none             |
| `tags`     | its type: `human`, `ai`, `tool`, …                                           |
| `metadata` | the dictionary LangChain makes of it, without a `content` that is the `text` |
| `key`      | its id; a new one if it has none, or names another, as `RemoveMessage` does  |
| `id`       | its place in the log is that of its first version                            |

So equal texts are as many messages as were said, while a message whose id is in the log
already takes the place of that one. What is read equals what was added: a message that
JSON would change is refused.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from langchain_core.messages import (
    BaseMessage,
    RemoveMessage,
    message_to_dict,
    messages_from_dict,
)

from plugmem_core import (
    Fact,
    InvalidInputError,
    Memory,
    MemoryConfig,
    Metadata,
    Namespace,
    RecalledFact,
    TooLargeError,
    WrongTypeError,
)
from plugmem_core.adapters.log import FactLog
from plugmem_core.errors import shown
from plugmem_core.inputs import check_key, check_metadata
from plugmem_core.text import check_fact_text
from plugmem_core.verbs.base import twin

WORDLESS = "-"
"""The text of a message that has none: a fact needs one, and this has no words."""


class MessageLog:
    """The messages of one namespace, in the order of their commits."""

    def __init__(self, memory: Memory, namespace: Namespace) -> None:
        self._facts = FactLog(memory, namespace, lambda stored: stored.keys() == {"type", "data"})
        self.last = self._facts.last
        self.recall = self._facts.recall

    def add(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages in one transaction: all of them or none."""
        config = self._facts.memory.config
        self._facts.add([to_fact(message, at, config) for at, message in enumerate(messages)])

    def read(self) -> list[BaseMessage]:
        """Return every message."""
        return [to_message(fact) for fact in self._facts.read()]

    def clear(self) -> None:
        """Forget every message, superseded versions included."""
        self._facts.clear()

    aadd = twin(add)
    aread = twin(read)
    aclear = twin(clear)


def to_fact(message: BaseMessage, place: int, config: MemoryConfig) -> dict[str, Any]:
    """Return the arguments of `remember` for a message.

    Args:
        message: Any of LangChain's messages.
        place: Where it stands among those added; errors name it.
        config: The limits.

    Raises:
        WrongTypeError: It is no message, or holds what JSON cannot.
        TooLargeError: It is over a limit.
        InvalidInputError: It breaks another rule of facts, or would not come back equal.
    """
    if not isinstance(message, BaseMessage):
        raise WrongTypeError(
            f"messages[{place}] is {shown(message)} ({type(message).__name__}); give a message"
        )
    with _naming(message, place):
        stored = message_to_dict(message)
        text = str(message.text)
        if not text or text.isspace():
            text = WORDLESS
        elif text == message.content:
            del stored["data"]["content"]
        check_fact_text(text, max_bytes=config.max_text)
        written = check_metadata(stored, "message", max_bytes=config.max_metadata)
        assert written is not None  # noqa: S101 - for the type checker; `stored` is not empty
        _check_equal(message, _restored(text, json.loads(written)))
        return {
            "text": text,
            "tags": [message.type],
            "metadata": stored,
            "key": check_key(_key(message)),
            "embed": text != WORDLESS,
        }


def to_message(fact: Fact | RecalledFact) -> BaseMessage:
    """Return the message a fact was made of."""
    return _restored(fact.text, fact.metadata)


def _restored(text: str, stored: Metadata) -> BaseMessage:
    data = {"content": text} | stored["data"]
    [message] = messages_from_dict([{"type": stored["type"], "data": data}])
    return message


def _check_equal(message: BaseMessage, restored: BaseMessage) -> None:
    if restored == message:
        return
    given, read = dict(message), dict(restored)
    changed = [name for name in given if name not in read or read[name] != given[name]]
    raise InvalidInputError(
        f"{', '.join(changed) or type(message).__name__} would not come back equal; give one of "
        "LangChain's own messages, with nothing but what JSON can hold: lists, no tuples or objects"
    )


def _key(message: BaseMessage) -> str:
    # The id of a RemoveMessage is that of the message it would remove.
    if not message.id or isinstance(message, RemoveMessage):
        return str(uuid4())
    return message.id


@contextmanager
def _naming(message: BaseMessage, place: int) -> Iterator[None]:
    """Make errors name the message, and say what to do about its size."""
    named = f" {message.id!r}" if message.id else ""
    name = f"messages[{place}] ({message.type}{named})"
    try:
        yield
    except TooLargeError as error:
        raise TooLargeError(
            f"{name}: {error}; or open the memory with a larger max_text or max_metadata"
        ) from error
    except InvalidInputError as error:
        raise type(error)(f"{name}: {error}") from error
    except ValueError as error:  # LangChain can neither write nor read it
        raise InvalidInputError(f"{name}: {error}") from error
