"""`windows_in`: the stretches of time that a question names.

Dates are read as people write them in questions: `3 May 2023`, `May 3rd`, `2023-05-03`, `in May`,
`1984`, `the 1980s`, `between 1990 and 1995`, `since 2001`, `Q3 2023`, `the 19th century`,
`yesterday`, `two weeks ago`, `last summer`, `last Friday`. A day or a month without a year is the
latest that is not in the future. Days begin at midnight UTC, weeks on Monday, winter in December.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple, TypeAlias

from plugmem_core.clock import DAY_MS, MAX_MS, MIN_MS, to_datetime

MAX_SCANNED = 2_000
"""Characters of a question that are read for dates."""

MAX_WINDOWS = 16

NEARBY = 5
"""Years that "before 1990" and "after 1990" are about: texts then name years near it."""

FIRST_YEAR, LAST_YEAR = 1_000, 2_099


class Window(NamedTuple):
    """A stretch of time.

    Attributes:
        start: Its first instant, in Unix milliseconds.
        end: The first instant after it.
        years: The first and the last year it is about, where the text names years; `None` for
            "yesterday" and the like.
    """

    start: int
    end: int
    years: tuple[int, int] | None = None


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar fevrier febrero",
            "march mar marz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug aout agosto",
            "september sep sept septembre septiembre",
            "october oct oktober octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember decembre diciembre",
        ),
        start=1,
    )
    for name in names.split()
}
_NUMBERS = {"a": 1, "an": 1, "couple": 2, "few": 3} | {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
# Words of other meanings, which are months only where something says so.
_AMBIGUOUS = {"may", "mar", "march", "mars", "mai", "sept", "dec", "nov", "jan"}
_YEAR = r"(?:1\d{3}|20\d{2})"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})"

_Read: TypeAlias = Callable[[re.Match[str], date], Window | None]
_KINDS: list[tuple[Callable[[str], Iterator[re.Match[str]]], _Read]] = []


def _kind(*pattern: str) -> Callable[[_Read], _Read]:
    """Let a function read what a pattern finds; those written first are asked first."""

    def register(read: _Read) -> _Read:
        _KINDS.append((re.compile("".join(pattern)).finditer, read))
        return read

    return register


_hint = re.compile(
    rf"\d|\b(?:{_MONTH}|yesterday|today|tonight|tomorrow|ago|last|past|this|next|quarter)\b"
).search


def windows_in(text: str, now: int) -> tuple[Window, ...]:
    """Return the stretches of time that a question names, at most 16, in the order of kinds.

    Args:
        text: The question; its first 2,000 characters are read.
        now: The instant it is asked at, in Unix milliseconds.

    >>> [window.years for window in windows_in("Where did he live from 1990 to 1995?", 0)]
    [(1990, 1995)]
    """
    small = text[:MAX_SCANNED].lower()
    if not _hint(small):
        return ()
    return tuple(_windows(small, to_datetime(now).date()))[:MAX_WINDOWS]


def _windows(text: str, today: date) -> Iterator[Window]:
    for find, read in _KINDS:
        kept, at = "", 0
        for match in find(text):
            try:
                window = read(match, today)
            except (ValueError, OverflowError):  # beyond the calendar, or no day of it
                continue
            if window is None:
                continue
            yield window
            # What one kind has read is not read again as another.
            kept += text[at : match.start()] + " " * (match.end() - match.start())
            at = match.end()
        text = kept + text[at:]


# -- what each kind of date means


@_kind(rf"(?<![\d-])({_YEAR})-(\d\d)-(\d\d)\b")
def _iso_day(match: re.Match[str], _: date) -> Window:
    return _day(int(match[1]), int(match[2]), int(match[3]))


@_kind(rf"(?<![\d-])({_YEAR})-(\d\d)\b")
def _iso_month(match: re.Match[str], _: date) -> Window | None:
    month = int(match[2])
    return _months(int(match[1]), month, 1) if 1 <= month <= 12 else None


@_kind(
    r"\b(?P<before>\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?",
    rf"(?P<month>{_MONTH})(?:,? (?P<year>{_YEAR}))?\b(?!\d)(?P<after>)?",
)
@_kind(
    rf"\b(?P<month>{_MONTH})\.? (?P<after>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)",
    rf"(?:,? (?P<year>{_YEAR}))?(?P<before>)?",
)
def _spelled_day(match: re.Match[str], today: date) -> Window | None:
    month = _MONTHS[match["month"]]
    day = int(match["before"] or match["after"])
    if match["year"]:
        return _day(int(match["year"]), month, day)
    this_year = (month, day) <= (today.month, today.day)
    return _day(today.year - (not this_year), month, day)._replace(years=None)


@_kind(
    r"\b(?P<cue>in|during|last|this|since|of|early|late|mid)?[ -]?\b",
    rf"(?P<month>{_MONTH})\b\.?(?:(?:,| of)? (?P<year>{_YEAR})\b)?",
)
def _spelled_month(match: re.Match[str], today: date) -> Window | None:
    month = _MONTHS[match["month"]]
    if match["year"]:
        return _months(int(match["year"]), month, 1)
    if match["month"] in _AMBIGUOUS and not match["cue"]:
        return None
    year = today.year - (month > today.month) - (match["cue"] == "last" and month == today.month)
    return _months(year, month, 1)._replace(years=None)


@_kind(
    rf"\b(?:q(?P<short>[1-4])|(?P<long>{'|'.join(_ORDINALS)}) quarter)\b",
    rf"(?:(?: of)? (?P<year>{_YEAR})\b)?",
)
def _quarter(match: re.Match[str], today: date) -> Window | None:
    quarter = int(match["short"]) if match["short"] else _ORDINALS[match["long"]]
    year = match["year"]
    if year:
        return _months(int(year), 3 * quarter - 2, 3)
    begun = 3 * quarter - 2 <= today.month
    return _months(today.year - (not begun), 3 * quarter - 2, 3)._replace(years=None)


@_kind(r"\b(\d\d)(?:st|nd|rd|th) century\b")
def _century(match: re.Match[str], _: date) -> Window | None:
    century = int(match[1])
    return _years(100 * century - 99, 100 * century) if 11 <= century <= 21 else None


@_kind(r"\b((?:1\d|20)\d0)'?s\b")
def _decade(match: re.Match[str], _: date) -> Window | None:
    first = int(match[1])
    return _years(first, first + 9)


@_kind(rf"\b({_YEAR})\b ?(?:to|and|until|till|through|[-\u2013]) ?\b({_YEAR})\b")
def _span(match: re.Match[str], _: date) -> Window | None:
    first, last = int(match[1]), int(match[2])
    return _years(first, last) if first <= last else None


@_kind(rf"\b(?P<cue>before|after|since|until|till) (?P<year>{_YEAR})\b")
def _bounded(match: re.Match[str], today: date) -> Window | None:
    year = int(match["year"])
    match match["cue"]:
        case "before" | "until" | "till":
            return Window(MIN_MS, _ms(date(year, 1, 1)), (max(FIRST_YEAR, year - NEARBY), year))
        case "after":
            last = min(LAST_YEAR, year + NEARBY)
            return Window(_ms(date(year, 1, 1)), MAX_MS, (year, last))
    return Window(_ms(date(year, 1, 1)), MAX_MS, (year, max(year, today.year)))


@_kind(rf"(?<!\d-)\b{_YEAR}\b(?!-\d)")
def _year(match: re.Match[str], _: date) -> Window | None:
    return _years(int(match[0]), int(match[0]))


@_kind(
    r"\b(?P<further>the day (?:before|after) )?",
    r"(?P<day>today|tonight|yesterday|tomorrow)\b",
)
def _named_day(match: re.Match[str], today: date) -> Window | None:
    back = {"today": 0, "tonight": 0, "yesterday": 1, "tomorrow": -1}[match["day"]]
    further = {"yesterday": 1, "tomorrow": -1}.get(match["day"], 0) if match["further"] else 0
    return _days(today - timedelta(back + further), 1)


@_kind(rf"\b{_COUNT} (?:of )?(?P<unit>day|week|month|year)s? ago\b")
def _ago(match: re.Match[str], today: date) -> Window | None:
    count = _NUMBERS.get(match["count"]) or int(match["count"])
    match match["unit"]:
        case "day":
            return _days(today - timedelta(count), 1)
        case "week":
            return _days(today - timedelta(7 * count + 3), 7)
        case "month":
            return _months_from(today, -count)
    year = today.year - count
    return _years(year, year)._replace(years=None)


@_kind(rf"\b(?:last|past) {_COUNT} (?P<unit>day|week|month|year)s?\b")
def _recent(match: re.Match[str], today: date) -> Window | None:
    count = _NUMBERS.get(match["count"]) or int(match["count"])
    days = {"day": 1, "week": 7, "month": 31, "year": 366}[match["unit"]] * count
    return _days(today - timedelta(days), days + 1)


@_kind(
    r"\b(?P<which>last|past|this|next) ",
    rf"(?P<unit>week|weekend|month|year|quarter|{'|'.join((*_SEASONS, *_WEEKDAYS))})\b",
)
def _relative(match: re.Match[str], today: date) -> Window | None:
    step = {"last": -1, "past": -1, "this": 0, "next": 1}[match["which"]]
    unit = match["unit"]
    if unit == "week":
        return _days(today - timedelta(today.weekday() - 7 * step), 7)
    if unit == "weekend":
        return _days(today - timedelta(today.weekday() - 5 - 7 * step), 2)
    if unit == "month":
        return _months_from(today, step)
    if unit == "year":
        year = today.year + step
        return _years(year, year)._replace(years=None)
    if unit == "quarter":
        begins = today.month - 1 - (today.month - 1) % 3 + 3 * step
        return _months(today.year + begins // 12, begins % 12 + 1, 3)._replace(years=None)
    if unit in _WEEKDAYS:
        return _weekday(_WEEKDAYS.index(unit), step, today)
    return _season(_SEASONS[unit], step, today)


def _weekday(weekday: int, step: int, today: date) -> Window:
    ahead = (weekday - today.weekday()) % 7
    if step < 0:
        return _days(today - timedelta((today.weekday() - weekday - 1) % 7 + 1), 1)
    if step > 0:
        return _days(today + timedelta(ahead or 7), 1)
    return _days(today + timedelta(weekday - today.weekday()), 1)


def _season(month: int, step: int, today: date) -> Window:
    # The one that has begun last, by the month it began in.
    year = today.year - (month > today.month)
    running = (today.year - year) * 12 + today.month - month < 3
    if step < 0 and running:
        year -= 1
    if step >= 0 and not running:
        year += 1
    return _months(year, month, 3)._replace(years=None)


# -- windows


def _day(year: int, month: int, day: int) -> Window:
    return _days(date(year, month, day), 1)._replace(years=(year, year))


def _days(start: date, count: int) -> Window:
    return Window(_ms(start), _ms(start) + count * DAY_MS)


def _months(year: int, month: int, count: int) -> Window:
    following = month - 1 + count
    end = date(year + following // 12, following % 12 + 1, 1)
    return Window(_ms(date(year, month, 1)), _ms(end), (year, year))


def _months_from(today: date, step: int) -> Window:
    months = today.year * 12 + today.month - 1 + step
    return _months(months // 12, months % 12 + 1, 1)._replace(years=None)


def _years(first: int, last: int) -> Window:
    return Window(_ms(date(first, 1, 1)), _ms(date(last + 1, 1, 1)), (first, last))


def _ms(day: date) -> int:
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return round(moment.timestamp() * 1_000)
