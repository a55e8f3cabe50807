"""The part of a history that a language model is shown, as its provider accepts it.

The leading system messages are always there. After them comes a user message, and what
follows it; of older turns, a turn being a user message and all up to the next, as many as
the budget allows. The last turn is always there. The results of tools stand right behind
the message that calls them; calls without all of their results, and results without a call,
are left out, unless the calls end the history: then their results are still to come.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from llama_index.core.base.llms.types import (
    AudioBlock,
    BaseRecursiveContentBlock,
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ToolCallBlock,
    VideoBlock,
)

from llama_index_plugmem._messages import RESULTS, SYSTEM

MESSAGE_TOKENS = 4  # what a message costs beside its content
MEDIA_TOKENS = {ImageBlock: 256, AudioBlock: 256, VideoBlock: 256, DocumentBlock: 2048}

Count = Callable[[str], int]


def estimated_tokens(text: str) -> range:
    """Return as many items as a text has tokens, by estimate: a quarter of its UTF-8 bytes.

    >>> len(estimated_tokens("nine bytes"))
    3
    """
    return range(-(-len(text.encode(errors="replace")) // 4))


def window(messages: Sequence[ChatMessage], budget: int, count: Count) -> list[ChatMessage]:
    """Return what a model is shown of a history.

    Args:
        messages: The history, the oldest message first.
        budget: Most tokens, as long as more than the least is shown.
        count: Counts the tokens of a text.
    """
    head = system_head(messages)
    turns = _turns(_paired(messages[len(head) :]))
    left = budget - sum(message_tokens(message, count) for message in head)
    shown: list[ChatMessage] = []
    for turn in reversed(turns):
        left -= sum(message_tokens(message, count) for message in turn)
        if shown and left < 0:
            break
        shown = [*turn, *shown]
    return [*head, *shown]


def system_head(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the system messages that messages begin with."""
    return list(takewhile(lambda message: message.role in SYSTEM, messages))


def message_tokens(message: ChatMessage, count: Count) -> int:
    """Return how many tokens a message has, by estimate where it is more than text."""
    extra = count(str(message.additional_kwargs)) if message.additional_kwargs else 0
    return MESSAGE_TOKENS + extra + _block_tokens(message, count)


def _block_tokens(block: object, count: Count) -> int:
    if isinstance(block, TextBlock):
        return count(block.text)
    for kind, tokens in MEDIA_TOKENS.items():
        if isinstance(block, kind):
            return tokens
    if isinstance(block, BaseRecursiveContentBlock):
        return sum(_block_tokens(one, count) for one in block.nested_blocks)
    return count(str(block))


def _turns(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Return the turns; what comes before the first user message belongs to none."""
    turns: list[list[ChatMessage]] = []
    for message in messages:
        if message.role == MessageRole.USER:
            turns.append([message])
        elif turns:
            turns[-1].append(message)
    return turns


def _paired(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with calls and results of tools in complete pairs only."""
    kept: list[ChatMessage] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        results = list(takewhile(lambda one: one.role in RESULTS, messages[at + 1 :]))
        at += 1 + len(results)
        if message.role in RESULTS:  # no call came before it
            continue
        answers, unanswered = _answers(list(_calls(message)), results)
        if not unanswered or at == len(messages):
            kept += [message, *answers]
    return kept


def _calls(message: ChatMessage) -> Iterator[str | None]:
    """Yield the ids of the tool calls a message makes; `None` for a call without one."""
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    if calls:
        yield from (call.tool_call_id or None for call in calls)
        return
    # Older messages and other providers keep them as dictionaries, beside the blocks.
    for call in message.additional_kwargs.get("tool_calls") or ():
        yield (call.get("id") or call.get("tool_id") or None) if isinstance(call, dict) else None
    if message.additional_kwargs.get("function_call"):
        yield None


def _answers(
    calls: list[str | None], results: Sequence[ChatMessage]
) -> tuple[list[ChatMessage], list[str | None]]:
    """Return the results that answer calls, and the calls that none answers.

    Providers without ids of calls make some up for the results: any result answers a call
    without an id, and a result without an id answers any call.
    """
    answers = []
    unanswered = list(calls)
    for result in results:
        named = result.additional_kwargs.get("tool_call_id") or None
        if named not in unanswered:
            named = None if named is not None else next(iter(unanswered), None)
        if named in unanswered:
            unanswered.remove(named)
            answers.append(result)
    return answers, unanswered
