"""Texts cut into chunks that, put together, are the text again."""

import re
from collections.abc import Iterable, Iterator
from typing import get_args

from plugmem_core.context.reading import check_writable
from plugmem_core.context.request import Boundary
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.inputs import check_count, check_type

MIN_BYTES = 4
"""The longest character of UTF-8; a chunk must be able to hold it."""

_ENDS = {
    "paragraph": re.compile(r"\n{2,}"),
    "sentence": re.compile(r"[.!?](?=\s)"),
}
_fence_line = re.compile(r"^[^\S\n]*```[^\n]*\n?", re.MULTILINE)


def chunk_text(
    text: str,
    *,
    max_bytes: int = 2_048,
    overlap_bytes: int = 0,
    boundary: Boundary = "paragraph",
) -> list[str]:
    """Return a text in chunks; without an overlap, they join to the text exactly.

    Fenced code is never cut. Other text is cut after paragraphs or sentences, and neighbours
    are joined again while they fit; what is too long without them is cut between characters.

    Args:
        text: Any text; one that fits is one chunk, an empty one, too.
        max_bytes: Longest chunk, in bytes of UTF-8, before the overlap; fenced code may be
            longer.
        overlap_bytes: Each chunk but the first begins with so many bytes of the chunk before,
            fewer where a character would be split.
        boundary: `"paragraph"`, `"sentence"` or `"fixed"`.

    Raises:
        WrongTypeError: An argument has another type.
        InvalidInputError: The text has a lone surrogate, a size is out of range, or the
            boundary is unknown.

    >>> chunk_text("One two. Three four. Five.", max_bytes=16, boundary="sentence")
    ['One two.', ' Three four.', ' Five.']
    """
    check_type(text, str, "text", "a text")
    check_writable(text)
    check_count(max_bytes, "max_bytes", least=MIN_BYTES)
    check_count(overlap_bytes, "overlap_bytes", least=0)
    if boundary not in get_args(Boundary):
        raise InvalidInputError(
            f"boundary is {shown(boundary)}; give one of {', '.join(get_args(Boundary))}"
        )
    chunks = cut_text(text, max_bytes, boundary)
    return _overlapped(chunks, overlap_bytes) if overlap_bytes else chunks


def cut_text(text: str, max_bytes: int, boundary: Boundary) -> list[str]:
    """Return the chunks of a text, as `chunk_text` without an overlap."""
    if byte_size(text) <= max_bytes:
        return [text]
    return list(_merged(_units(text, max_bytes, boundary), max_bytes))


def byte_size(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def split_fences(text: str) -> Iterator[tuple[bool, str]]:
    r"""Yield the parts of a text, and whether each is fenced code.

    A fence goes from a line that begins with three backticks, whitespace aside, to the end of
    the next such line, or of the text.

    >>> list(split_fences("see\n```\nx = 1\n```\nabove"))
    [(False, 'see\n'), (True, '```\nx = 1\n```\n'), (False, 'above')]
    """
    done = 0
    fences = _fence_line.finditer(text)
    for opening in fences:
        closing = next(fences, None)
        end = len(text) if closing is None else closing.end()
        if done < opening.start():
            yield False, text[done : opening.start()]
        yield True, text[opening.start() : end]
        done = end
    if done < len(text):
        yield False, text[done:]


def cut_bytes(text: str, max_bytes: int) -> Iterator[str]:
    """Yield a text in parts of at most so many bytes, cut between characters."""
    data = text.encode()
    start = 0
    while start < len(data):
        end = _boundary_before(data, start + max_bytes)
        yield data[start:end].decode()
        start = end


def _units(text: str, max_bytes: int, boundary: Boundary) -> Iterator[str]:
    for fenced, part in split_fences(text):
        if fenced:
            yield part
            continue
        for unit in _cut_at(part, boundary):
            if byte_size(unit) <= max_bytes:
                yield unit
            else:
                yield from cut_bytes(unit, max_bytes)


def _cut_at(text: str, boundary: Boundary) -> Iterator[str]:
    done = 0
    for end in _ENDS[boundary].finditer(text) if boundary in _ENDS else ():
        yield text[done : end.end()]
        done = end.end()
    if done < len(text):
        yield text[done:]


def _merged(units: Iterable[str], max_bytes: int) -> Iterator[str]:
    waiting: list[str] = []
    size = 0
    for unit in units:
        length = byte_size(unit)
        if waiting and size + length > max_bytes:
            yield "".join(waiting)
            waiting, size = [], 0
        waiting.append(unit)
        size += length
    if waiting:
        yield "".join(waiting)


def _overlapped(chunks: list[str], overlap_bytes: int) -> list[str]:
    tails = ["", *(_tail(chunk, overlap_bytes) for chunk in chunks[:-1])]
    return [tail + chunk for tail, chunk in zip(tails, chunks, strict=True)]


def _tail(text: str, most: int) -> str:
    data = text.encode()
    start = max(0, len(data) - most)
    while start < len(data) and _continues(data[start]):
        start += 1
    return data[start:].decode()


def _boundary_before(data: bytes, end: int) -> int:
    if end >= len(data):
        return len(data)
    while _continues(data[end]):
        end -= 1
    return end


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # not the first byte of a character
