"""Dates of memories: the stamp they get, and the timeline they make for a model to reckon by."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from plugmem_core.clock import to_datetime
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.recall.render import escape
from plugmem_core.service.identity import DATE_KEY


class Dated(Protocol):
    """What a timeline is made of: a text, and metadata that may hold its date."""

    @property
    def content(self) -> str:
        """The text."""

    @property
    def metadata(self) -> Mapping[str, Any] | None:
        """The metadata."""


def stamp(now: int) -> int:
    """Return the UTC date of Unix milliseconds as the integer `YYYYMMDD`.

    >>> stamp(1_714_564_800_000)
    20240501
    """
    moment = to_datetime(now)
    return moment.year * 10_000 + moment.month * 100 + moment.day


def day_of(value: object) -> date | None:
    """Return the day that an integer `YYYYMMDD` names; `None` for whatever names none.

    >>> day_of(20240229), day_of(20230229), day_of("20240229")
    (datetime.date(2024, 2, 29), None, None)
    """
    if type(value) is not int or value <= 0:
        return None
    try:
        return date(value // 10_000, value // 100 % 100, value % 100)
    except (ValueError, OverflowError):
        return None


def check_date(metadata: Mapping[str, Any]) -> None:
    """Refuse metadata whose date is none.

    Raises:
        InvalidInputError: The date is no integer `YYYYMMDD` of the calendar.
    """
    if DATE_KEY in metadata and day_of(metadata[DATE_KEY]) is None:
        raise InvalidInputError(
            f"metadata[{DATE_KEY!r}] is {shown(metadata[DATE_KEY])}; "
            "give a day as an integer, 20240501, or leave it out for today"
        )


def render_dated(memories: Sequence[Dated], key: str = DATE_KEY) -> tuple[str, str | None]:
    r"""Return memories as a timeline, and the latest day in it.

    One line each: first the dated ones, oldest first, then the others, best first. A line
    break or a control character in a text is escaped, so that no text can pose as another.

    Args:
        memories: Best first.
        key: The metadata key that holds their days, as integers `YYYYMMDD`.

    Returns:
        The lines, and the latest day in ISO form, or `None` when nothing is dated. That day
        is what a model should take for today: the wall clock says nothing about old memories.

    >>> from plugmem_core.service.records import RecalledMemory
    >>> notes = [RecalledMemory(1, 0.9, "moved", {"on": 20240501}),
    ...          RecalledMemory(2, 0.8, "likes tea", None),
    ...          RecalledMemory(3, 0.7, "was born", {"on": 19900228})]
    >>> lines, now = render_dated(notes, "on")
    >>> print(lines, now, sep="\n")
    - [1990-02-28] was born
    - [2024-05-01] moved
    - likes tea
    2024-05-01
    """
    days = [day_of((memory.metadata or {}).get(key)) for memory in memories]
    dated = sorted(
        ((day, memory) for day, memory in zip(days, memories, strict=True) if day is not None),
        key=lambda pair: pair[0],
    )
    lines = [f"- [{day.isoformat()}] {escape(memory.content)}" for day, memory in dated]
    lines += [
        f"- {escape(memory.content)}"
        for day, memory in zip(days, memories, strict=True)
        if day is None
    ]
    return "\n".join(lines), dated[-1][0].isoformat() if dated else None
