"""`PlugmemMemory`: a memory for chat engines and agents that outlives them."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.llms import LLM
from llama_index.core.memory import BaseMemory
from pydantic import ConfigDict, Field, StrictInt, model_validator

from llama_index_plugmem._handles import NO_FILE, KeepsMemory, opened
from llama_index_plugmem._message_log import MessageLog, forget_below
from llama_index_plugmem._messages import ANYTHING_SAID, MESSAGE, SAVED, check_messages
from llama_index_plugmem._recollection import enclosed, recollect, without_recollections
from llama_index_plugmem._window import estimated_tokens, message_tokens, system_head, window
from plugmem_core import Memory, Namespace
from plugmem_core.inputs import check_namespace, check_type
from plugmem_core.recall import make_query
from plugmem_core.verbs.base import twin

Insert = Literal["system", "user", "none"]

SESSIONS = "sessions"
"""The label between a namespace and its sessions."""

RECALL_SHARE = 4  # what is recalled takes at most one part in so many of the token limit


class PlugmemMemory(KeepsMemory, BaseMemory):
    """Gives chat engines and agents the history of their session, and what else they know.

    Each message is stored when it is said, as a fact in `(*namespace, "sessions",
    session_id)`, and comes back as `PlugmemChatStore` describes. `get` returns the history of
    this session as a provider accepts it, under `token_limit`: the leading system messages;
    the last turns, the newest one whatever it costs; tool calls and their results in pairs
    only. To that it adds, while the limit allows, what the memory recalls for the last user
    message from all of `namespace`: what users and assistants said in other sessions, what
    was said in this one before those turns, and facts written there by hand
    (`memory.remember(text, namespace=…)`). Never system messages, results of tools, or what
    the model is shown anyway. What was recalled is never stored again.

    Give every user a namespace of their own, none above another's: a namespace sees all that
    lies below it.

    It goes wherever LlamaIndex takes a memory. A ReActAgent drops the first system message
    that is not its own, so give it a `system_prompt`, or use `insert="user"`.
    `ctx.to_dict()` keeps the settings. A context restored from them, in another process
    too, opens the same file again. A memory with an embedder has to be opened there first,
    and given to any adapter of this package: that handle is shared.

    Args:
        memory: The open memory. Copies, deep ones too, share it; closing it remains the
            caller's task.
        path: The file, when no memory is given open; it is opened at first use.
        namespace: Whose conversations these are.
        session_id: Which conversation this is; by default a new one.
        token_limit: Most tokens of what `get` returns, with the `initial_token_count` it is
            given.
        insert: Where recalled text goes: into the last leading `"system"` message, or one of
            its own; into the last `"user"` message; or `"none"` is recalled.
        k: Most facts to recall.
        min_score: Recall nothing whose score is lower; see `Memory.recall`.
        recall_token_budget: Most tokens of what is recalled, and never more than a quarter
            of the limit, nor than the history leaves of it.
        tokenizer_fn: Returns the tokens of a text; not part of a dump. By default an
            estimate, one for four bytes of UTF-8, which needs no vocabulary.

    Raises:
        pydantic.ValidationError: A setting is unknown or breaks its rule; a `ValueError`.

    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:")
    >>> monday = PlugmemMemory(memory, session_id="monday")
    >>> monday.put(ChatMessage("My desk is on floor two", role="user"))
    >>> tuesday = PlugmemMemory(memory, session_id="tuesday")
    >>> tuesday.put(ChatMessage("Which floor is my desk on?", role="user"))
    >>> [message.role.value for message in tuesday.get()]
    ['system', 'user']
    >>> "My desk is on floor two" in tuesday.get()[0].content
    True
    >>> [message.content for message in tuesday.get_all()]
    ['Which floor is my desk on?']
    """

    model_config = ConfigDict(extra="forbid")

    namespace: list[str] = Field(default=["conversation"])
    session_id: str = Field(default_factory=lambda: str(uuid4()))
    token_limit: StrictInt = Field(default=30_000, ge=1)
    insert: Insert = "system"
    k: StrictInt = 8
    min_score: float | None = None
    recall_token_budget: StrictInt = Field(default=512, ge=0)
    tokenizer_fn: Callable[[str], Collection[Any]] = Field(default=estimated_tokens, exclude=True)

    def __init__(
        self, memory: Memory | None = None, path: str | Path | None = None, **settings: Any
    ) -> None:
        super().__init__(memory, path, **settings)

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        make_query("", k=self.k, min_score=self.min_score)
        check_namespace(self._session)
        return self

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex knows the class by."""
        return "PlugmemMemory"

    @classmethod
    def from_defaults(
        cls,
        memory: Memory | None = None,
        path: str | Path | None = None,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        token_limit: int | None = None,
        **settings: Any,
    ) -> Self:
        """Return a memory, as LlamaIndex's hosts make theirs.

        Args:
            memory: The open memory.
            path: The file, opened at once. Without `memory` and `path`, what is said ends
                with the process.
            chat_history: The history to begin with; an empty one changes nothing.
            llm: Its context window tells the limit, if none is given: three quarters of it.
            token_limit: The limit.
            settings: All others; `None` stands for the default.

        Raises:
            pydantic.ValidationError: A setting is unknown or breaks its rule.
            InvalidInputError: The path is blank.
            StorageError: The file cannot be opened.
        """
        if token_limit is None and llm is not None:
            token_limit = llm.metadata.context_window * 3 // 4
        given = {name: value for name, value in settings.items() if value is not None}
        if token_limit is not None:
            given["token_limit"] = token_limit
        made = cls(opened(NO_FILE if path is None else path) if memory is None else memory, **given)
        if chat_history:
            made.set(chat_history)
        return made

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: A002 - LlamaIndex's name
        """Return the history of this session and what is recalled; all of it the caller's own.

        Args:
            input: What to recall for; by default the last user message.
            kwargs: `initial_token_count`, the tokens that the prompt has beside; others that
                hosts may pass mean nothing here.
        """
        history = self._log.read()
        limit = self.token_limit - (kwargs.get("initial_token_count") or 0)
        spare = max(0, min(self.recall_token_budget, limit // RECALL_SHARE))
        if self.insert == "none":
            spare = 0
        shown = window(history, limit - spare, self._count)
        if spare:  # of which the newest turn may have needed some
            left = limit - sum(message_tokens(message, self._count) for message in shown)
            spare = max(0, min(spare, left))
        recalled = self._recalled(_question(input, history), shown, spare)
        return _with_recalled(shown, recalled, self.insert) if recalled else shown

    def get_all(self) -> list[ChatMessage]:
        """Return the whole history of this session and nothing else."""
        return self._log.read()

    def put(self, message: ChatMessage) -> None:
        """Append a message to the history.

        Raises:
            WrongTypeError: It is no message.
            TooLargeError: It is over `max_value` of the memory: 64 MiB.
            InvalidInputError: LlamaIndex cannot write it as JSON, or not read that again.
            BusyError: Another process wrote for longer than `busy_timeout`.
        """
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Append messages to the history in one transaction: all of them or none."""
        self._log.add(without_recollections(check_messages(messages)))

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Make these the history of this session, in one transaction.

        Messages that the history begins with already stay as they are; those that are not
        among the new ones are forgotten.

        Raises:
            WrongTypeError: They are no list of messages; the history is as it was.
        """
        self._log.replace(without_recollections(check_messages(messages)))

    def reset(self) -> None:
        """Forget the history of this session; other sessions and facts stay."""
        self._log.clear()

    def forget(self) -> None:
        """Forget every session of the namespace, and what `PlugmemMemoryBlock` saved there.

        Facts written by hand stay.
        """
        forget_below(self.memory, (*self.namespace, SESSIONS), MESSAGE, SAVED)

    async def aget(
        self,
        input: str | ChatMessage | None = None,  # noqa: A002 - LlamaIndex's name
        **kwargs: Any,
    ) -> list[ChatMessage]:
        """`get` in a worker thread; the event loop runs on."""
        return await twin(self.get)(input, **kwargs)

    async def aget_all(self) -> list[ChatMessage]:
        """`get_all` in a worker thread; the event loop runs on."""
        return await twin(self.get_all)()

    async def aput(self, message: ChatMessage) -> None:
        """`put` in a worker thread; the event loop runs on."""
        await twin(self.put)(message)

    async def aput_messages(self, messages: Sequence[ChatMessage]) -> None:
        """`put_messages` in a worker thread; the event loop runs on."""
        await twin(self.put_messages)(messages)

    async def aset(self, messages: Sequence[ChatMessage]) -> None:
        """`set` in a worker thread; the event loop runs on."""
        await twin(self.set)(messages)

    async def areset(self) -> None:
        """`reset` in a worker thread; the event loop runs on."""
        await twin(self.reset)()

    async def aforget(self) -> None:
        """`forget` in a worker thread; the event loop runs on."""
        await twin(self.forget)()

    @property
    def _session(self) -> Namespace:
        return (*self.namespace, SESSIONS, self.session_id)

    @property
    def _log(self) -> MessageLog:
        return MessageLog(self.memory, self._session)

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))

    def _recalled(self, question: str, shown: Sequence[ChatMessage], budget: int) -> str:
        if not budget:
            return ""
        return recollect(
            self.memory,
            question,
            tuple(self.namespace),
            k=self.k,
            min_score=self.min_score,
            token_budget=budget - message_tokens(ChatMessage(enclosed("")), self._count),
            count=self._count,
            beside={question, *(message.content or "" for message in shown)},
            where=ANYTHING_SAID,
        )


def _question(given: str | ChatMessage | None, history: Sequence[ChatMessage]) -> str:
    """Return what to recall for."""
    check_type(given, (str, ChatMessage, type(None)), "input", "a text or a ChatMessage")
    if isinstance(given, str) and given.strip():
        return given
    asked = [given] if isinstance(given, ChatMessage) else []
    asked += [one for one in reversed(history) if one.role == MessageRole.USER]
    texts = (message.content or "" for message in without_recollections(asked))
    return next((text for text in texts if text.strip()), "")


def _with_recalled(
    shown: Sequence[ChatMessage], recalled: str, insert: Insert
) -> list[ChatMessage]:
    """Return what is shown with what was recalled in it."""
    block = TextBlock(text=enclosed(recalled))
    messages = list(shown)
    if insert == "system":
        head = system_head(messages)
        if head:
            head[-1].blocks.append(block)
        else:
            messages.insert(0, ChatMessage(role=MessageRole.SYSTEM, blocks=[block]))
        return messages
    for message in reversed(messages):
        if message.role == MessageRole.USER:
            message.blocks.insert(0, block)
            return messages
    return [*messages, ChatMessage(role=MessageRole.USER, blocks=[block])]
