"""Reading a folder into pieces of text, each to become a fact.

Markdown is split at its headings and at blank lines, plain text at blank lines; a chat
(JSONL) has a message a line. Whatever cannot be read is skipped, with a note saying why.
"""

import json
import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plugmem_core.clock import to_ms

MAX_FILE = 5_000_000  # bytes
MAX_PIECE = 1_000  # characters: a passage one can read, and far below `max_text`
MAX_HEADING = 200
MAX_PIECES = 20_000  # so that the demo stays a demo

HEADING = re.compile(r"#{1,6}\s+(.*?)[\s#]*")
FENCE = re.compile(r"\s*(```|~~~)")
BLANK_LINES = re.compile(r"\n\s*\n")

# What exports of chats call their fields; the first that is there counts.
TEXT = ("text", "content", "message", "body")
SPEAKER = ("speaker", "author", "sender", "user", "name", "role")
TIME = ("time", "timestamp", "date", "created_at")


@dataclass(frozen=True)
class Piece:
    """A passage or a message.

    Attributes:
        text: One line: at most `MAX_PIECE` characters, after the heading if it has one.
        source: The file it comes from.
        heading: The section it stands under.
        entity: What it is about: a message's subject, or else its speaker.
        key: Names a statement that later messages may replace.
        time: When the message was written, in Unix milliseconds.
        valid_from: When what it says began to hold, if not when it was written.
    """

    text: str
    source: str
    heading: str | None = None
    entity: str | None = None
    key: str | None = None
    time: int | None = None
    valid_from: int | None = None


class UnreadableError(Exception):
    """A file or a line that holds nothing to remember; says why."""


def read_sources(roots: Iterable[Path]) -> tuple[list[Piece], list[str]]:
    """Return the pieces of files and folders, and notes on what was skipped."""
    pieces: list[Piece] = []
    notes: list[str] = []
    for root in roots:
        for path in _files(root):
            name = path.relative_to(root.parent).as_posix()
            try:
                pieces += _read(path, name, notes)
            except UnreadableError as problem:
                notes.append(f"{name}: skipped, {problem}")
            except OSError as problem:
                notes.append(f"{name}: skipped, {problem.strerror}")
    if len(pieces) > MAX_PIECES:
        notes.append(f"{len(pieces) - MAX_PIECES} pieces after the first {MAX_PIECES} left out")
    return pieces[:MAX_PIECES], notes


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _read(path: Path, name: str, notes: list[str]) -> list[Piece]:
    text = _text(path)
    match path.suffix.lower():
        case ".md" | ".markdown":
            pieces = list(_markdown(text, name))
        case ".jsonl":
            pieces = _chat(text, name, notes)
        case _:
            pieces = [Piece(part, name) for part in _paragraphs(text)]
    if not pieces:
        raise UnreadableError("nothing in it to remember")
    return pieces


def _text(path: Path) -> str:
    if path.suffix.lower() not in {".md", ".markdown", ".txt", ".rst", ".jsonl"}:
        raise UnreadableError("not Markdown (.md), text (.txt, .rst) or a chat (.jsonl)")
    if not path.is_file():
        raise UnreadableError("not a regular file")
    size = path.stat().st_size
    if size > MAX_FILE:
        raise UnreadableError(f"{size:,} bytes, over the limit of {MAX_FILE:,}; split it")
    data = path.read_bytes()
    if b"\0" in data:
        raise UnreadableError("binary")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not UTF-8 at byte {error.start}; convert it") from None


def _paragraphs(text: str) -> Iterator[str]:
    for block in BLANK_LINES.split(text):
        yield from _parts(block)


def _parts(text: str) -> list[str]:
    """Return a text on one line, cut between words where it is too long."""
    return textwrap.wrap(" ".join(text.split()), MAX_PIECE, break_on_hyphens=False)


def _markdown(text: str, name: str) -> Iterator[Piece]:
    for heading, body in _sections(text):
        for part in _paragraphs(body):
            yield Piece(f"{heading}: {part}" if heading else part, name, heading)


def _sections(text: str) -> Iterator[tuple[str | None, str]]:
    heading, body, fenced = None, [], False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        found = None if fenced else HEADING.fullmatch(line)
        if found is None:
            body.append(line)
            continue
        yield heading, "\n".join(body)
        heading, body = " ".join(found[1].split())[:MAX_HEADING] or None, []
    yield heading, "\n".join(body)


def _chat(text: str, name: str, notes: list[str]) -> list[Piece]:
    pieces: list[Piece] = []
    problems: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            pieces += _message(line, name)
        except UnreadableError as problem:
            problems.append(f"line {number} {problem}")
    if problems:
        notes.append(f"{name}: {len(problems)} lines skipped; {problems[0]}")
    return pieces


def _message(line: str, name: str) -> list[Piece]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise UnreadableError("is not JSON") from None
    if not isinstance(fields, dict):
        raise UnreadableError("is no JSON object")
    parts = _parts(_first_text(fields, TEXT) or "")
    if not parts:
        raise UnreadableError(f"has no text; give one of {', '.join(TEXT)}")
    speaker = _first_text(fields, SPEAKER)
    key = _first_text(fields, ("key",))
    return [
        Piece(
            part,
            name,
            entity=_first_text(fields, ("about",)) or speaker,
            key=key if len(parts) == 1 else None,  # the parts would replace one another
            time=_instant(fields, TIME),
            valid_from=_instant(fields, ("valid_from",)),
        )
        for part in parts
    ]


def _first_text(fields: dict[str, Any], names: Iterable[str]) -> str | None:
    values = (fields.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _instant(fields: dict[str, Any], names: Iterable[str]) -> int | None:
    value = next((fields[name] for name in names if fields.get(name) is not None), None)
    if value is None:
        return None
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
            value = value if value.tzinfo else value.replace(tzinfo=UTC)
        return to_ms(value, "time")
    except ValueError:
        raise UnreadableError(f"has the time {value!r}; write it as 2024-05-01T09:30:00Z") from None
