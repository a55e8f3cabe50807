"""`PlugmemChatStore`: the messages of sessions, durable, for LlamaIndex's own `Memory`."""

from pathlib import Path
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from pydantic import ConfigDict, Field, field_validator

from llama_index_plugmem._handles import KeepsMemory
from llama_index_plugmem._message_log import MessageLog
from llama_index_plugmem._messages import is_message
from plugmem_core import InvalidInputError, Memory, Namespace
from plugmem_core.inputs import check_count, check_namespace
from plugmem_core.verbs.base import twin
from plugmem_core.verbs.listing import every

ACTIVE = MessageStatus.ACTIVE


class PlugmemChatStore(KeepsMemory, AsyncDBChatStore):
    """Keeps the messages of many sessions in a memory's file.

    LlamaIndex's `Memory` keeps its messages in RAM unless it is given a store; with this
    one they outlive the process, and every process that has the file open sees them. Each
    message is a fact in the namespace `(*namespace, key)`. Their order is that in which they
    were added; archiving a message does not move it. What is read is the caller's own, and
    equals what was added, but for what LlamaIndex's JSON changes: a message of a class of your
    own is a `ChatMessage`, and in `additional_kwargs` a model is the dictionary it dumps to, a
    tuple a list, bytes are base64, an instant is ISO-8601. Texts, pictures and other files
    inside a message may have any usual size, up to `max_value` (64 MiB) a message. What recall
    finds of a text ends at `max_text` (64 KiB), and has � in place of what no fact can hold.
    A message is forgotten whole by this store; by hand, the fact alone.

    Every method is one transaction. Those that take the oldest or replace messages first
    read what is there; threads of one process take turns at that.

    A dump has the settings only, no messages. Restored from it, in another process too, the
    store opens the file again.

    Args:
        memory: The open memory; closing it remains the caller's task.
        path: The file, when no memory is given open.
        namespace: The labels above all sessions.

    Raises:
        pydantic.ValidationError: A setting breaks its rule; a `ValueError`.

    >>> import asyncio
    >>> from llama_index.core.memory import Memory as ChatMemory
    >>> from plugmem_core import Memory
    >>> store = PlugmemChatStore(Memory.open(":memory:"))
    >>> chat = ChatMemory.from_defaults(session_id="ann-1", chat_store=store)
    >>> asyncio.run(chat.aput(ChatMessage("My desk is on floor two", role="user")))
    >>> [message.content for message in asyncio.run(store.get_messages("ann-1"))]
    ['My desk is on floor two']
    """

    model_config = ConfigDict(extra="forbid")

    namespace: list[str] = Field(default=["chat"], description="The labels above all sessions.")

    def __init__(
        self, memory: Memory | None = None, path: str | Path | None = None, **settings: Any
    ) -> None:
        super().__init__(memory, path, **settings)

    @field_validator("namespace")
    @classmethod
    def _check_namespace(cls, labels: list[str]) -> list[str]:
        return list(check_namespace((*labels, "key"))[:-1])

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex knows the class by."""
        return "PlugmemChatStore"

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON."""
        return self.model_dump() | {"class_name": self.class_name()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the store with these settings, its memory opened again at first use."""
        return cls(**data)

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the messages of a session, the oldest first.

        Args:
            key: The session; an unknown one has none.
            status: Only messages with this status; `None` for all.
            limit: Most messages to return.
            offset: How many to pass over.
        """
        start = 0 if offset is None else check_count(offset, "offset", least=0)
        size = None if limit is None else check_count(limit, "limit", least=0)
        messages = await twin(self._log(key).read)(status)
        return messages[start:][:size]

    async def count_messages(self, key: str, status: MessageStatus | None = ACTIVE) -> int:
        """Return how many messages with a status, or at all, a session has."""
        return len(await twin(self._log(key).facts)(status))

    async def add_message(
        self, key: str, message: ChatMessage, status: MessageStatus = ACTIVE
    ) -> None:
        """Append a message to a session."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE
    ) -> None:
        """Append messages to a session: all of them or none.

        Raises:
            WrongTypeError: They are no list of messages.
            TooLargeError: One is over `max_value` of the memory.
            InvalidInputError: LlamaIndex cannot write one as JSON, or not read that again; or
                the key breaks its rule.
            BusyError: Another process wrote for longer than `busy_timeout`.
        """
        await twin(self._log(key).add)(messages, status)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE
    ) -> None:
        """Make these the messages of a session, in place of all it has, archived ones too."""
        await twin(self._log(key).replace)(messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete one active message and return it.

        Args:
            key: The session.
            idx: Its place among the active messages, as `get_messages` returns them.

        Returns:
            `None` when there is no message at that place.
        """
        return await twin(self._log(key).forget_at)(check_count(idx, "idx", least=0))

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a session with a status, or all."""
        await twin(self._log(key).clear)(status)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the oldest `n` active messages of a session and return them."""
        return await twin(self._log(key).forget_oldest)(check_count(n, "n", least=0))

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the oldest `n` active messages of a session and return them."""
        return await twin(self._log(key).archive_oldest)(check_count(n, "n", least=0))

    async def get_keys(self) -> list[str]:
        """Return the sessions that have messages, in alphabetical order."""
        return await twin(self._keys)()

    def _log(self, key: str) -> MessageLog:
        return MessageLog(self.memory, self._session(key))

    def _session(self, key: str) -> Namespace:
        try:
            return check_namespace((*self.namespace, key))
        except InvalidInputError as error:
            raise type(error)(f"key cannot be the last label: {error}") from error

    def _keys(self) -> list[str]:
        spaces = every(self.memory.namespaces, namespace=tuple(self.namespace))
        below = [one.namespace for one in spaces if len(one.namespace) == len(self.namespace) + 1]
        return [space[-1] for space in below if self._has_messages(space)]

    def _has_messages(self, space: Namespace) -> bool:
        facts = every(self.memory.list_facts, namespace=space)
        return any(fact.namespace == space and is_message(fact.metadata) for fact in facts)
