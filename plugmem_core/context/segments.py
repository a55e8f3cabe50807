"""Transcripts, taken apart into turns, and turns into prose, code and logs."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

from plugmem_core.context.chunking import byte_size, cut_bytes, cut_text, split_fences
from plugmem_core.context.limits import ContextLimits
from plugmem_core.context.logs import has_timestamp
from plugmem_core.errors import TooLargeError

Kind: TypeAlias = Literal["body", "code", "log"]

ROLES = {
    "System:": "system",
    "User:": "user",
    "Human:": "user",
    "Assistant:": "assistant",
    "AI:": "assistant",
    "Tool:": "tool",
    "### User": "user",
    "### Assistant": "assistant",
}
"""Who speaks in a turn whose first line begins so; in plain text, nothing else begins a turn."""

_marker = re.compile(rf"^(?:{'|'.join(map(re.escape, ROLES))})", re.MULTILINE)
_line = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Part:
    """A segment before it is a fragment.

    Attributes:
        turn: Which turn it is of, from 0.
        role: Who spoke, if that is known.
        kind: What it is.
        content: Its text.
        size: How many bytes of the transcript it stands for.
    """

    turn: int
    role: str | None
    kind: Kind
    content: str
    size: int


def json_parts(text: str, most: int) -> tuple[list[Part], int | None]:
    """Return the parts of a transcript in JSONL, and the number of the first line that is no turn.

    Args:
        text: The transcript: an object with `role` and `content` a line; others may be blank.
        most: Longest content of a part, in bytes; longer ones are cut.
    """
    parts: list[Part] = []
    turns = before = 0  # bytes of blank lines before the first turn, which are taken by it
    for number, line in enumerate(_lines(text), start=1):
        size = byte_size(line)
        if line.strip():
            turn = _json_turn(line)
            if turn is None:
                return [], number
            parts += _spread(*turn, turns, size + before, most)
            turns, before = turns + 1, 0
        elif parts:
            parts[-1] = replace(parts[-1], size=parts[-1].size + size)
        else:
            before += size
    return parts, None


def plain_parts(text: str, limits: ContextLimits) -> list[Part]:
    """Return the parts of a transcript whose turns begin with markers; see `ROLES`.

    Raises:
        TooLargeError: A fenced block is too long for a fragment.
    """
    return [
        Part(turn, role, kind, content, byte_size(content))
        for turn, (role, said) in enumerate(_plain_turns(text))
        for kind, content in _kinds(said, limits)
    ]


def join_parts(parts: Iterable[Part], least: int, most: int) -> list[Part]:
    """Return parts of plain text, with neighbours of one turn and kind joined.

    Args:
        parts: In order.
        least: They are joined if one has fewer bytes than this.
        most: They are not if they have more together.
    """
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last is not None and _belong(last, part, least, most):
            joined[-1] = replace(
                last, content=last.content + part.content, size=last.size + part.size
            )
        else:
            joined.append(part)
    return joined


def _belong(one: Part, other: Part, least: int, most: int) -> bool:
    return (
        (one.turn, one.kind) == (other.turn, other.kind)
        and min(one.size, other.size) < least
        and one.size + other.size <= most
    )


def _lines(text: str) -> list[str]:
    return _line.findall(text)


def _json_turn(line: str) -> tuple[str, str] | None:
    try:
        turn = json.loads(line)
        role, content = turn["role"], turn["content"]
        role.encode()  # refuses lone surrogates, which JSON can write and UTF-8 cannot
        content.encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return (role, content) if isinstance(role, str) and isinstance(content, str) else None


def _spread(role: str, content: str, turn: int, size: int, most: int) -> Iterator[Part]:
    # The bytes of the line are shared out as those of the content, which it spells otherwise.
    chunks = cut_text(content, most, "paragraph")
    total = byte_size(content) or 1
    done = [0]
    for chunk in chunks:
        done.append(done[-1] + byte_size(chunk))
    ends = [size * part // total for part in done[:-1]] + [size]
    for chunk, (start, end) in zip(chunks, pairwise(ends), strict=True):
        yield Part(turn, role, "body", chunk, end - start)


def _plain_turns(text: str) -> Iterator[tuple[str | None, str]]:
    markers = list(_marker.finditer(text))
    bounds = [*(marker.start() for marker in markers), len(text)]
    if bounds[0]:
        yield None, text[: bounds[0]]
    for marker, (start, end) in zip(markers, pairwise(bounds), strict=True):
        yield ROLES[marker[0]], text[start:end]


def _kinds(text: str, limits: ContextLimits) -> Iterator[tuple[Kind, str]]:
    most = limits.fragment_bytes
    for fenced, part in split_fences(text):
        if fenced:
            yield "code", _checked_code(part, most)
            continue
        for is_log, stretch in _logs(part, limits.log_run_lines):
            if is_log:
                yield from (("log", piece) for piece in _cut_lines(stretch, most))
            else:
                yield from (("body", piece) for piece in cut_text(stretch, most, "paragraph"))


def _checked_code(text: str, most: int) -> str:
    if byte_size(text) > most:
        raise TooLargeError(
            f"a fenced block of the transcript has {byte_size(text)} bytes, over the limit of "
            f"{most} for a fragment; shorten it"
        )
    return text


def _logs(text: str, run: int) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a text, and whether each is a log: so many lines in a row like one."""
    lines = _lines(text)
    is_log: list[bool] = []
    for like_log, group in groupby(_like_logs(lines, run)):
        length = len(list(group))
        is_log += [like_log and length >= run] * length
    for kind, places in groupby(range(len(lines)), key=is_log.__getitem__):
        yield kind, "".join(lines[place] for place in places)


def _like_logs(lines: Iterable[str], run: int) -> Iterator[bool]:
    """Yield for each line whether it has a timestamp, or repeats between two blank ones."""
    for filled, group in groupby(lines, key=lambda line: bool(line.strip())):
        stretch = [line.removesuffix("\n") for line in group]
        if not filled or len(stretch) < run:  # too short to have a run
            yield from (False for _ in stretch)
            continue
        counts = Counter(stretch)
        yield from (counts[line] > 1 or has_timestamp(line) for line in stretch)


def _cut_lines(text: str, most: int) -> Iterator[str]:
    if byte_size(text) <= most:
        yield text
        return
    waiting, size = [""], 0
    for line in _lines(text):
        for piece in cut_bytes(line, most):
            if size + byte_size(piece) > most:
                yield "".join(waiting)
                waiting, size = [], 0
            waiting.append(piece)
            size += byte_size(piece)
    yield "".join(waiting)
