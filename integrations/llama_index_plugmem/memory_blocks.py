"""`PlugmemMemoryBlock`: long-term memory for LlamaIndex's own `Memory`."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Self

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.memory import BaseMemoryBlock
from pydantic import ConfigDict, Field, StrictInt, model_validator

from llama_index_plugmem._handles import KeepsMemory
from llama_index_plugmem._message_log import forget_below
from llama_index_plugmem._messages import (
    ANYTHING_SAID,
    SAVED,
    SPOKEN,
    check_messages,
    fact_text,
)
from llama_index_plugmem._recollection import recollect, shorten, without_recollections
from llama_index_plugmem._window import estimated_tokens
from llama_index_plugmem.memory import SESSIONS
from plugmem_core import InvalidInputError, Memory, Namespace
from plugmem_core.inputs import check_namespace
from plugmem_core.recall import make_query
from plugmem_core.verbs.base import twin

Scope = Literal["user", "session"]


class PlugmemMemoryBlock(KeepsMemory, BaseMemoryBlock[str]):
    """Recalls what bears on the last user message, and saves what is said.

    LlamaIndex's `Memory` hands its blocks messages only when it runs over its limit, which
    short conversations never do. But it shows them its history whenever it is read, before
    each answer. So that is when this block saves what is new in it, besides when it is handed
    messages: every user message before it is answered, and an answer with the next message
    at the latest. (An agent reads its memory after it has answered, too.)

    What users and assistants said is saved, each text once a session, in the namespace
    `(*namespace, "sessions", session_id)`; nothing else is: no system messages, calls or
    results of tools, and no text that was recalled and shown by the template that `Memory`
    has by default. A text that no fact can hold does not stop the chat: it is saved cut to
    `max_text`, with � for NUL characters and lone surrogates. `Memory` tells the session with
    each call, so one block may serve many at once. What is in the history already is not
    recalled.

    Args:
        memory: The open memory. Copies, deep ones too, share it; closing it remains the
            caller's task.
        path: The file, when no memory is given open; it is opened at first use.
        namespace: Whose conversations these are; none should lie above another's.
        scope: `"user"` recalls from all of the namespace: other sessions, and facts written
            there by hand. `"session"` recalls from the same session only.
        name: The block's name, and the tag around it in the prompt.
        description: LlamaIndex's.
        priority: LlamaIndex's; 0 is never truncated, the higher, the later.
        accept_short_term_memory: Whether to save messages that `Memory` hands over.
        k: Most facts to recall.
        min_score: Recall nothing whose score is lower; see `Memory.recall`.
        recall_token_budget: Most tokens of what is recalled, by the estimate of a quarter of
            the bytes.

    Raises:
        pydantic.ValidationError: A setting is unknown or breaks its rule; a `ValueError`.

    >>> import asyncio
    >>> from plugmem_core import Memory
    >>> block = PlugmemMemoryBlock(Memory.open(":memory:"))
    >>> said = [ChatMessage("My desk is on floor two", role="user")]
    >>> asyncio.run(block.aget(said, session_id="monday"))
    ''
    >>> asked = [ChatMessage("Which floor is my desk on?", role="user")]
    >>> print(asyncio.run(block.aget(asked, session_id="tuesday")).splitlines()[-1][:30])
    - [f0] My desk is on floor two
    """

    model_config = ConfigDict(extra="forbid")

    name: str = "plugmem"
    namespace: list[str] = Field(default=["conversation"])
    scope: Scope = "user"
    k: StrictInt = 8
    min_score: float | None = None
    recall_token_budget: StrictInt = Field(default=512, ge=0)

    def __init__(
        self, memory: Memory | None = None, path: str | Path | None = None, **settings: Any
    ) -> None:
        super().__init__(memory, path, **settings)

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        make_query("", k=self.k, min_score=self.min_score)
        check_namespace((*self.namespace, SESSIONS, "session"))
        return self

    async def aput(
        self,
        messages: list[ChatMessage],
        from_short_term_memory: bool = False,  # noqa: FBT001, FBT002 - as LlamaIndex declares it
        session_id: str | None = None,
    ) -> None:
        """Save what users and assistants said in messages that `Memory` hands over.

        Args:
            messages: The messages; they are not changed.
            from_short_term_memory: Whether they come out of the history of `Memory`.
            session_id: Their session.

        Raises:
            WrongTypeError: They are no list of messages.
        """
        if self.accept_short_term_memory or not from_short_term_memory:
            await twin(self._save)(check_messages(messages), self._session(session_id))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.aput(messages)

    # LlamaIndex passes what its hosts are given along, such as `initial_token_count`.
    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = self._session(block_kwargs.get("session_id"))
        said = [] if messages is None else check_messages(messages)
        return await twin(self._recall)(said, session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the text without its last lines, or `None` when nothing would be left."""
        # LlamaIndex gives an empty list for a block that recalled nothing.
        return (shorten(content, tokens_to_truncate, _count) or None) if content else None

    def forget(self, session_id: str | None = None) -> None:
        """Forget what was saved, in one transaction.

        Facts written by hand stay, and so does the history of a `PlugmemMemory` and that of
        LlamaIndex's `Memory`, which is saved again when it is read again: reset it first.

        Args:
            session_id: Of which session; by default of all in the namespace.
        """
        every = (*self.namespace, SESSIONS)
        forget_below(self.memory, every if session_id is None else self._session(session_id), SAVED)

    async def aforget(self, session_id: str | None = None) -> None:
        """`forget` in a worker thread; the event loop runs on."""
        await twin(self.forget)(session_id)

    def _recall(self, messages: Sequence[ChatMessage], session: Namespace) -> str:
        self._save(messages, session)
        said = list(_said(messages))
        questions = (text for role, text in reversed(said) if role == MessageRole.USER)
        return recollect(
            self.memory,
            next(questions, ""),
            session if self.scope == "session" else tuple(self.namespace),
            k=self.k,
            min_score=self.min_score,
            token_budget=self.recall_token_budget,
            count=_count,
            beside={text for _, text in said},
            where=ANYTHING_SAID,
        )

    def _save(self, messages: Sequence[ChatMessage], session: Namespace) -> None:
        """Store what is new, in one transaction; what is there already is not written again."""
        config = self.memory.config
        facts = {
            key: {
                "text": fact_text(text, config),
                "tags": [role.value],
                "metadata": {SAVED: True},
                "key": key,
                "namespace": session,
            }
            for key, role, text in _keyed(messages)
        }
        found = self.memory.get_by_keys(list(facts), namespace=session)
        there = {fact.key for fact in found if fact.namespace == session}
        new = [fact for key, fact in facts.items() if key not in there]
        if new:
            self.memory.remember_many(new)

    def _session(self, session_id: str | None) -> Namespace:
        if session_id is not None:
            return check_namespace((*self.namespace, SESSIONS, session_id))
        if self.scope == "session":
            raise InvalidInputError(
                'session_id is missing, and scope is "session"; pass session_id, as Memory does'
            )
        return (*self.namespace, SESSIONS)


def _keyed(messages: Iterable[ChatMessage]) -> Iterator[tuple[str, MessageRole, str]]:
    """Yield who said what, under a key that is the same whenever the same is said."""
    for role, text in _said(messages):
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
        yield f"{role.value}:{digest}", role, text


def _said(messages: Iterable[ChatMessage]) -> Iterator[tuple[MessageRole, str]]:
    """Yield who said what: not what tools were asked for, nor what was recalled."""
    for message in without_recollections(messages):
        text = message.content or ""
        calls = any(isinstance(block, ToolCallBlock) for block in message.blocks)
        if message.role in SPOKEN and text.strip() and not calls:
            yield message.role, text


def _count(text: str) -> int:
    return len(estimated_tokens(text))
