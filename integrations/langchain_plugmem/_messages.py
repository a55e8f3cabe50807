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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from langchain_core.messages import (
    BaseMessage,
    RemoveMessage,
    message_to_dict,
    messages_from_dict,
)

from langchain_plugmem._listing import every
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
from plugmem_core.clock import MAX_MS
from plugmem_core.errors import shown
from plugmem_core.inputs import check_key, check_metadata
from plugmem_core.text import check_fact_text
from plugmem_core.verbs.base import twin

WORDLESS = "-"
"""The text of a message that has none: a fact needs one, and this has no words."""

Choice = Callable[[Iterable[RecalledFact]], list[RecalledFact]]


class MessageLog:
    """The messages of one namespace, in the order of their commits.

    What lies below the namespace is not part of it, nor are facts that are no messages.
    """

    def __init__(self, memory: Memory, namespace: Namespace) -> None:
        self.memory = memory
        self.namespace = namespace

    def add(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages in one transaction: all of them or none."""
        config = self.memory.config
        facts = [to_fact(message, place, config) for place, message in enumerate(messages)]
        self.memory.remember_many(fact | {"namespace": self.namespace} for fact in facts)

    def read(self) -> list[BaseMessage]:
        """Return every message."""
        return [to_message(fact) for fact in in_order(self._versions())]

    def clear(self) -> None:
        """Forget every message, superseded versions included."""
        keys = {fact.key for fact in self._versions() if fact.key is not None}
        self.memory.write(forget=[(self.namespace, key) for key in keys])

    aadd = twin(add)
    aread = twin(read)
    aclear = twin(clear)

    def last(self, count: int) -> list[RecalledFact]:
        """Return the facts of the messages that came last, oldest first."""
        if not count:
            return []
        newest = {"sources": ["time"], "weights": {"time": 1, "recency": 0}, "valid_at": MAX_MS}
        return sorted(self._best(None, count, list, **newest))

    def recall(
        self, text: str, count: int, beside: Sequence[RecalledFact], **arguments: Any
    ) -> list[RecalledFact]:
        """Return the facts of the messages that answer a question, best first.

        Args:
            text: The question.
            count: Most of them.
            beside: What is shown anyway; neither that nor anything twice is returned.
            arguments: More arguments of `Memory.recall`.
        """

        def fresh(facts: Iterable[RecalledFact]) -> list[RecalledFact]:
            said = {_said(fact): fact for fact in beside}
            return [fact for fact in facts if said.setdefault(_said(fact), fact) is fact]

        return self._best(text, count, fresh, **arguments)

    def _best(
        self, text: str | None, count: int, choose: Choice, **arguments: Any
    ) -> list[RecalledFact]:
        """Recall ever more facts until enough are messages of this log and chosen."""
        size = count
        while True:
            result = self.memory.recall(
                text, k=size, namespace=self.namespace, token_budget=None, **arguments
            )
            found = choose(fact for fact in result.facts if self._owns(fact))
            if len(found) >= count or not result.truncated:
                return found[:count]
            size *= 2

    def _versions(self) -> Iterator[Fact]:
        """Read all versions of all messages, by ascending id."""
        # A clock that was set back must not hide messages.
        options = {"closed": True, "valid_at": MAX_MS}
        facts = every(self.memory.list_facts, namespace=self.namespace, **options)
        return filter(self._owns, facts)

    def _owns(self, fact: Fact | RecalledFact) -> bool:
        return fact.namespace == self.namespace and fact.metadata.keys() == {"type", "data"}


def in_order(versions: Iterable[Fact]) -> list[Fact]:
    """Return the current version of each chain, at the place of its first one.

    Args:
        versions: By ascending id; superseded ones included.
    """
    first: dict[int | None, int] = {}
    newest: dict[int, Fact] = {}
    for fact in versions:
        place = first[fact.id] = first.get(fact.revises, fact.id)
        newest[place] = fact
    return [fact for fact in newest.values() if fact.is_current]


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


def _said(fact: RecalledFact) -> tuple[tuple[str, ...], str]:
    return fact.tags, fact.text


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
