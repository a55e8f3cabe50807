"""`PlugmemChatMessageHistory`: the messages of a session as a durable log."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langchain_plugmem._messages import MessageLog
from plugmem_core import InvalidInputError, Memory, Namespace, PlugmemError
from plugmem_core.inputs import check_namespace, check_type

logger = logging.getLogger(__name__)


class PlugmemChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, all of them, in the order in which they came.

    Setup:
        ```bash
        pip install "plugmem-core[langchain]"
        ```

    Each message is a fact in the namespace `(*namespace, session_id)`, so a recall in
    `namespace` finds what was said in any session; what else is stored there, or below,
    is not touched. The messages of one `add_messages` are stored together and stay
    together, whoever else writes at the same time. A message without an id is always a
    new one; one whose id is in the log already takes the place of that one. What is read
    equals what was added, and what could not come back equal is refused.

    Key init args:
        memory: The open memory; closing it remains the caller's task.
        session_id: Any text that can be a label of a namespace: not empty, and at most
            1,024 bytes.
        namespace: The labels above all sessions.

    Raises:
        InvalidInputError: The session id or the namespace breaks its rule.

    Instantiate and use:
        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> history = PlugmemChatMessageHistory(memory, "ann-1")
        >>> history.add_user_message("My desk is on floor two")
        >>> history.add_ai_message("Noted.")
        >>> [(message.type, message.content) for message in history.messages]
        [('human', 'My desk is on floor two'), ('ai', 'Noted.')]

    The memory recalls what was said, and forgets a session that is cleared:
        >>> memory.recall("Which floor?", namespace=("chat",)).facts[0].text
        'My desk is on floor two'
        >>> history.clear()
        >>> history.messages, memory.recall("Which floor?", namespace=("chat",)).facts
        ([], ())

    With `RunnableWithMessageHistory`, give `history_messages_key`: without it, LangChain
    finds the new messages by counting, and loses the user's when another turn of the
    session ends meanwhile. It also swallows the error of a failed write, which is why
    that is logged here, too.
    """

    def __init__(
        self, memory: Memory, session_id: str, *, namespace: Namespace = ("chat",)
    ) -> None:
        super().__init__()
        check_type(memory, Memory, "memory", "an open Memory")
        above = check_namespace(namespace)
        try:
            scope = check_namespace((*above, session_id))
        except InvalidInputError as error:
            raise type(error)(f"session_id cannot be the last label: {error}") from error
        self.session_id = session_id
        self._log = MessageLog(memory, scope)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base only reads it
        """Every message of the session, the oldest first."""
        return self._log.read()

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages in one transaction: all of them or none.

        Args:
            messages: Any of LangChain's messages.

        Raises:
            WrongTypeError: One is no message, or holds what JSON cannot.
            TooLargeError: One is over `max_text` or `max_metadata` of the memory.
            InvalidInputError: One breaks another rule, or would not come back equal.
            BusyError: Another process wrote for longer than `busy_timeout`.
        """
        with self._reporting():
            self._log.add(messages)

    def clear(self) -> None:
        """Forget every message of the session, replaced ones included."""
        self._log.clear()

    async def aget_messages(self) -> list[BaseMessage]:
        """`messages` in a worker thread; the event loop runs on."""
        return await self._log.aread()

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """`add_messages` in a worker thread; the event loop runs on."""
        with self._reporting():
            await self._log.aadd(messages)

    async def aclear(self) -> None:
        """`clear` in a worker thread; the event loop runs on."""
        await self._log.aclear()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        # LangChain calls histories where it catches and goes on.
        try:
            yield
        except PlugmemError as error:
            logger.error("messages of session %r are not stored: %s", self.session_id, error)
            raise
