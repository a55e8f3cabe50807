"""What is recalled for a turn, as text that a language model can be shown safely.

    These notes were remembered in earlier conversations …
    - [f3] My desk is on floor two (2024-05; active) #user
    - links: Nadia —tends→ North Greenhouse

A fact is one line: the core escapes line breaks and whatever reorders text. Here, a space
follows every brace and angle bracket that would begin something, so that no stored text is a
variable of a prompt template (LlamaIndex formats whole histories as templates), closes the
block it stands in, or writes the marks by which chat models tell turns apart.

What was recalled is cut out of every message that is to be stored, so it never becomes a memory
itself: whole, in the tags and with the sentence at the top that it was shown with. Messages
that quote that sentence, or speak of memory in tags of their own, stay as they are.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, TextBlock

from plugmem_core import Memory, Namespace, RecalledFact
from plugmem_core.adapters.recollection import PREAMBLE
from plugmem_core.recall.query import MAX_QUERY_BYTES
from plugmem_core.recall.render import render
from plugmem_core.text import storable

OPEN, CLOSE = "<memory>", "</memory>"

_BEGINNINGS = re.compile(r"([{<])(?=[\w/|!?])")
_NOTES = re.compile(re.escape(PREAMBLE) + r"(?:\n- (?:\[f\d+\]|links:) [^\n]*)+")
_TAG = re.compile(r"\s*<([^<>\n]+)>")

Count = Callable[[str], int]
"""Counts the tokens of a text."""


def recollect(
    memory: Memory,
    question: str,
    namespace: Namespace,
    *,
    k: int,
    min_score: float | None,
    token_budget: int,
    count: Count,
    beside: Collection[str],
    where: Mapping[str, Any] | None = None,
) -> str:
    """Return what bears on a question, or an empty text.

    Args:
        memory: The open memory.
        question: What was said last; blank asks nothing.
        namespace: The scope.
        k: Most facts.
        min_score: Leave out facts whose score is lower.
        token_budget: Most tokens of the whole text; a fact too long for the rest is left out.
        count: Counts tokens.
        beside: Texts that are shown anyway; none of them is repeated.
        where: A filter over metadata.
    """
    budget = token_budget - count(PREAMBLE)
    asked = storable(question, MAX_QUERY_BYTES)
    if budget <= 0 or not asked.strip():
        return ""
    shown = {storable(text, memory.config.max_text) for text in beside}
    vector = memory.embed_query(asked)
    size = k
    while True:
        result = memory.recall(
            asked,
            k=size,
            vector=vector,
            where=where,
            min_score=min_score,
            token_budget=None,
            namespace=namespace,
        )
        facts = list(_fresh(result.facts, shown))
        if len(facts) >= k or not result.truncated:
            break
        size *= 2
    lines = map(_harmless, render(facts[:k], result.edges).split("\n")[1:-1])
    chosen = list(_fitting(lines, budget, count))
    return "\n".join([PREAMBLE, *chosen]) if chosen else ""


def shorten(text: str, tokens: int, count: Count) -> str:
    """Return a recollection without its last lines, at least so many tokens of them."""
    header, *lines = text.split("\n")
    while lines and tokens > 0:
        tokens -= count(lines.pop())
    return "\n".join([header, *lines]) if lines else ""


def enclosed(text: str) -> str:
    """Return a recollection in the tags that set it off from what is said now."""
    return f"{OPEN}\n{text}\n{CLOSE}"


def without_recollections(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    """Yield messages as they were before something recalled was put into them.

    Messages that were nothing else are left out; a message without any is yielded as it is.
    """
    for message in messages:
        blocks = [_without_notes(block) for block in message.blocks]
        if blocks == message.blocks:
            yield message
        elif kept := [block for block in blocks if block is not None]:
            yield message.model_copy(update={"blocks": kept})


def _fresh(facts: Iterable[RecalledFact], beside: Collection[str]) -> Iterator[RecalledFact]:
    """Yield the best of the facts that say the same, unless it is said beside them."""
    said: set[tuple[str | None, str]] = {(None, text) for text in beside}
    for fact in facts:
        if (fact.entity, fact.text) not in said:
            said.add((fact.entity, fact.text))
            yield fact


def _harmless(line: str) -> str:
    return _BEGINNINGS.sub(r"\1 ", line)


def _fitting(lines: Iterable[str], budget: int, count: Count) -> Iterator[str]:
    for line in lines:
        tokens = count(f"\n{line}")
        if tokens <= budget:
            budget -= tokens
            yield line


def _without_notes(block: ContentBlock) -> ContentBlock | None:
    """Return a block without what was recalled, or `None` when it was nothing else."""
    if not isinstance(block, TextBlock) or PREAMBLE not in block.text:
        return block
    text = _cut(block.text)
    return block.model_copy(update={"text": text}) if text.strip() else None


def _cut(text: str) -> str:
    """Return a text without recollections, and without the line breaks that joined them to it."""
    kept, at = "", 0
    for start, end in _recollections(text):
        kept += text[at:start]
        at = end + text.startswith("\n", end)
        if end == len(text):
            kept = kept.removesuffix("\n")
    return kept + text[at:]


def _recollections(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each recollection starts and ends."""
    at = 0
    while (close := text.find(CLOSE, at)) >= 0:
        start = text.rfind(OPEN, at, close)
        at = close + len(CLOSE)
        if start >= 0 and _is_recollection(text[start + len(OPEN) : close].strip()):
            yield start, at


def _is_recollection(text: str) -> bool:
    """Whether that is what we, or LlamaIndex around a block of ours, put between the tags."""
    return any(_NOTES.fullmatch(one) for one in (text, *_sections(text)))


def _sections(text: str) -> list[str]:
    """Return what is in the tags that a text is made of; nothing when it is more than tags."""
    sections, at = [], 0
    while at < len(text):
        opening = _TAG.match(text, at)
        close = "" if opening is None else f"</{opening[1]}>"
        end = -1 if opening is None else text.find(close, opening.end())
        if opening is None or end < 0:
            return []
        sections.append(text[opening.end() : end].strip())
        at = end + len(close)
    return sections
