"""Logs: lines that repeat are written once, with how often they came."""

import re
from collections import Counter
from typing import NamedTuple, TypeAlias

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_CLOCK = "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_ZONE = "Z|[+-][0-9]{2}:[0-9]{2}"
_timestamp = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}(?:[.,][0-9]+)?(?:{_ZONE})?"
    rf"|(?:{_MONTHS}) [0-9 ][0-9] {_CLOCK}"
)
_hex_tokens = re.compile(r"(?:[ \t]*\[[0-9A-Fa-f]+\])*")

_Key: TypeAlias = tuple[bool, str]  # whether a timestamp is masked, and the rest of the line


class Collapsed(NamedTuple):
    """A log with each line once.

    Attributes:
        text: The lines, in the order of their first occurrence.
        merged: How many lines are left out.
    """

    text: str
    merged: int


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text without their ends, LF or CRLF.

    >>> split_lines("one\r\ntwo\n")
    ['one', 'two']
    """
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def has_timestamp(line: str) -> bool:
    """Return whether a line begins with an ISO-8601 or syslog timestamp."""
    return _timestamp.match(line) is not None


def mask_timestamp(line: str) -> tuple[bool, str]:
    """Return whether a line begins with a timestamp, and the line without it.

    Hex in brackets behind the timestamp goes with it.

    >>> mask_timestamp("2024-05-01T09:30:00Z [1a2f] ready")
    (True, ' ready')
    """
    stamp = _timestamp.match(line)
    if stamp is None:
        return False, line
    end = stamp.end()
    if tokens := _hex_tokens.match(line, end):
        end = tokens.end()
    return True, line[end:]


def repeats(text: str, *, normalize: bool) -> bool:
    """Return whether a line that is not blank comes more than once."""
    keys = [key for line, key in _keyed(text, normalize=normalize) if line.strip()]
    return len(set(keys)) < len(keys)


def collapse(text: str, *, normalize: bool) -> Collapsed:
    r"""Return a log with each line where it came first, followed by ` (xN)` if it came N times.

    Args:
        text: The log.
        normalize: Lines that differ only in a leading timestamp are the same.

    >>> print(collapse("up\nretry\nretry\ndone", normalize=False).text)
    up
    retry (x2)
    done
    """
    keyed = _keyed(text, normalize=normalize)
    counts = Counter(key for _, key in keyed)
    first: dict[_Key, str] = {}
    for line, key in keyed:
        first.setdefault(key, line)
    lines = [f"{line} (x{counts[key]})" if counts[key] > 1 else line for key, line in first.items()]
    return Collapsed("\n".join(lines), len(keyed) - len(first))


def _keyed(text: str, *, normalize: bool) -> list[tuple[str, _Key]]:
    return [
        (line, mask_timestamp(line) if normalize else (False, line)) for line in split_lines(text)
    ]
