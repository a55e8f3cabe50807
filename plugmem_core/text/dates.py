"""`windows_in`: the stretches of time that a question names.

Dates are read as people write them in questions: `3 May 2023`, `May 3rd`, `2023-05-03`,
`25.12.2023`, `in May`, `summer 2020`, `1984`, `the 1980s`, `between 1990 and 1995`, `since 2001`,
`Q3 2023`, `the 19th century`, `yesterday`, `two weeks ago`, `last summer`, `last Friday`. A day
or a month without a year is the latest that is not in the future. Days begin at midnight UTC,
weeks on Monday, winter in December.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import TypeAlias

from plugmem_core.clock import MAX_MS, MIN_MS, to_datetime
from plugmem_core.text.date_words import (
    CENTURIES,
    MONTHS,
    NUMBERS,
    QUARTERS,
    SEASONS,
    WEEKDAYS,
    any_of,
)
from plugmem_core.text.windows import (
    Window,
    days,
    instant,
    latest_year,
    month_from,
    months,
    named_day,
    quarter_from,
    season_from,
    week_from,
    weekday_from,
    weekend_from,
    years,
)

MAX_SCANNED = 2_000
"""Characters of a question that are read for dates."""

MAX_WINDOWS = 16

NEARBY = 5
"""Years that "before 1990" and "after 1990" are about: texts then name years near it."""

FIRST_YEAR, LAST_YEAR = 1_000, 2_099


_MONTH = any_of(MONTHS)
# Words of other meanings, which are months only where something says so.
_AMBIGUOUS = {"may", "mar", "march", "mars", "mai", "sept", "dec", "nov", "jan"}
_VERBS = {"may", "march"}  # "may 2 people"
_YEAR = r"(?:1\d{3}|20\d{2})"
_OF_YEAR = rf"(?:(?:,| of| del?)? (?P<year>{_YEAR})\b)?"
_UNTIL = r"(?:to|and|until|till|through|[-\u2013])"
_BOUND = r"(?P<cue>before|after|since|until|till)"
_COUNT = rf"(?P<count>\d{{1,3}}|{any_of(NUMBERS)})"
_UNIT = r"(?P<unit>day|night|week|month|year)s?"

_Read: TypeAlias = Callable[[re.Match[str], date], Window | None]
_KINDS: list[tuple[Callable[[str], Iterator[re.Match[str]]], _Read]] = []


def _kind(*pattern: str) -> Callable[[_Read], _Read]:
    """Let a function read what a pattern finds; those written first are asked first."""

    def register(read: _Read) -> _Read:
        _KINDS.append((re.compile("".join(pattern)).finditer, read))
        return read

    return register


# Most questions name no date, and this is all that is looked at of them.
_hint = re.compile(
    rf"\d{{4}}|\d0'?s|q[1-4]|\b(?:{_MONTH}|yesterday|today|tonight|tomorrow|ago|century|quarter"
    rf"|on (?:{any_of(WEEKDAYS)})|(?:last|past|this|next) (?:night|morning|afternoon|evening"
    rf"|{_COUNT}|week|weekend|month|year|{any_of(SEASONS)}|{any_of(WEEKDAYS)}))\b"
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


# -- days and months


@_kind(rf"(?<![\d-])({_YEAR})([-/.])(\d\d)\2(\d\d)\b")
def _iso_day(match: re.Match[str], _: date) -> Window:
    return named_day(int(match[1]), int(match[3]), int(match[4]))


@_kind(rf"(?<![\d./-])(\d\d?)([-/.])(\d\d?)\2({_YEAR})\b")
def _numeric_day(match: re.Match[str], _: date) -> Window | None:
    month, day = sorted((int(match[1]), int(match[3])))
    if month != day and day <= 12:
        return None  # which is which is known only where it is written
    return named_day(int(match[4]), month, day)


@_kind(rf"(?<![\d-])({_YEAR})-(\d\d)\b")
def _iso_month(match: re.Match[str], _: date) -> Window | None:
    month = int(match[2])
    return months(int(match[1]), month, 1) if 1 <= month <= 12 else None


@_kind(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of |de )?(?P<month>{_MONTH})\b", _OF_YEAR)
def _day_of_month(match: re.Match[str], today: date) -> Window:
    return _spelled_day(match, int(match[1]), today)


@_kind(
    rf"\b(?P<cue>on )?(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?!\d)(?P<ordinal>st|nd|rd|th)?\b",
    _OF_YEAR,
)
def _day_after_month(match: re.Match[str], today: date) -> Window | None:
    if match["month"] in _VERBS and not (match["cue"] or match["ordinal"] or match["year"]):
        return None
    return _spelled_day(match, int(match["day"]), today)


def _spelled_day(match: re.Match[str], day: int, today: date) -> Window:
    month = MONTHS[match["month"]]
    if match["year"]:
        return named_day(int(match["year"]), month, day)
    return named_day(latest_year(today, month, day), month, day).unnamed()


# What has a look-ahead only is read again by those that follow: texts name the ends of a span.
@_kind(
    rf"(?=\b(?:from|between) (?P<first>{_MONTH}) (?P<begin>{_YEAR}) ",
    rf"{_UNTIL} (?P<last>{_MONTH}) (?P<year>{_YEAR})\b)",
)
def _long_span(match: re.Match[str], _: date) -> Window | None:
    begin, end = int(match["begin"]), int(match["year"])
    count = (end - begin) * 12 + MONTHS[match["last"]] - MONTHS[match["first"]] + 1
    return months(begin, MONTHS[match["first"]], count).unnamed() if count > 0 else None


@_kind(rf"\b(?:from|between) (?P<first>{_MONTH}) {_UNTIL} (?P<last>{_MONTH})\b", _OF_YEAR)
def _short_span(match: re.Match[str], today: date) -> Window:
    first, last = MONTHS[match["first"]], MONTHS[match["last"]]
    end = int(match["year"] or latest_year(today, last))
    span = months(end - (first > last), first, (last - first) % 12 + 1)
    return span if match["year"] else span.unnamed()


@_kind(rf"\b{_BOUND} (?P<month>{_MONTH})\b", _OF_YEAR)
def _bounded_by_month(match: re.Match[str], today: date) -> Window:
    month = MONTHS[match["month"]]
    year = int(match["year"] or latest_year(today, month))
    bounded = _bounded(match["cue"], date(year, month, 1), today)
    return bounded if match["year"] else bounded.unnamed()


@_kind(
    r"\b(?:(?P<cue>in|during|last|this|of|early|late|mid)[ -])?",
    rf"(?P<month>{_MONTH})\b\.?",
    _OF_YEAR,
)
def _spelled_month(match: re.Match[str], today: date) -> Window | None:
    month = MONTHS[match["month"]]
    if match["year"]:
        return months(int(match["year"]), month, 1)
    if match["month"] in _AMBIGUOUS and not match["cue"]:
        return None
    year = latest_year(today, month) - (match["cue"] == "last" and month == today.month)
    return months(year, month, 1).unnamed()


@_kind(rf"\b({any_of(SEASONS)})(?:,| of)? ({_YEAR})\b")
def _season_of_year(match: re.Match[str], _: date) -> Window:
    return months(int(match[2]), SEASONS[match[1]], 3)


@_kind(rf"\b(?:q(?P<short>[1-4])|(?P<long>{any_of(QUARTERS)}) quarter)\b", _OF_YEAR)
def _quarter(match: re.Match[str], today: date) -> Window:
    begins = 3 * int(match["short"] or QUARTERS[match["long"]]) - 2
    if match["year"]:
        return months(int(match["year"]), begins, 3)
    return months(latest_year(today, begins), begins, 3).unnamed()


# -- years


@_kind(rf"\b(?:(\d\d)(?:st|nd|rd|th)|({any_of(CENTURIES)})) century\b")
def _century(match: re.Match[str], _: date) -> Window | None:
    century = int(match[1] or CENTURIES[match[2]])
    return years(100 * century - 99, 100 * century) if 11 <= century <= 21 else None


@_kind(r"\b(?:((?:1\d|20)\d0)|the ['\u2019]?([2-9]0))['\u2019]?s\b")
def _decade(match: re.Match[str], _: date) -> Window:
    first = int(match[1] or 1_900 + int(match[2]))
    return years(first, first + 9)


@_kind(rf"\b({_YEAR}) ?{_UNTIL} ?({_YEAR})\b")
@_kind(rf"(?<!-)\b({_YEAR})[-/\u2013](\d\d)\b(?!-)")
def _span(match: re.Match[str], _: date) -> Window | None:
    first, last = int(match[1]), int(match[2])
    if last < 100:  # of the same century
        last += first - first % 100
    return years(first, last) if first <= last else None


@_kind(rf"\b{_BOUND} (?P<year>{_YEAR})\b")
def _bounded_by_year(match: re.Match[str], today: date) -> Window:
    return _bounded(match["cue"], date(int(match["year"]), 1, 1), today)


def _bounded(cue: str, bound: date, today: date) -> Window:
    at, year = instant(bound), bound.year
    match cue:
        case "before" | "until" | "till":
            return Window(MIN_MS, at, (max(FIRST_YEAR, year - NEARBY), year))
        case "after":
            return Window(at, MAX_MS, (year, min(LAST_YEAR, year + NEARBY)))
    return Window(at, MAX_MS, (year, max(year, today.year)))


@_kind(rf"(?<!\d-)\b{_YEAR}\b(?!-\d)")
def _year(match: re.Match[str], _: date) -> Window:
    return years(int(match[0]), int(match[0]))


# -- relative to now


@_kind(
    r"\b(?P<further>the day (?:before|after) )?",
    r"(?P<day>today|tonight|yesterday|tomorrow|last night|this (?:morning|afternoon|evening))\b",
)
def _day_by_name(match: re.Match[str], today: date) -> Window:
    step = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(match["day"], 0)
    return days(today + timedelta(2 * step if match["further"] else step), 1)


@_kind(rf"\b{_COUNT} (?:of )?{_UNIT} ago\b")
def _ago(match: re.Match[str], today: date) -> Window:
    count = NUMBERS.get(match["count"]) or int(match["count"])
    match match["unit"]:
        case "day" | "night":
            return days(today - timedelta(count), 1)
        case "week":
            return days(today - timedelta(7 * count + 3), 7)
        case "month":
            return month_from(today, -count)
    return years(today.year - count, today.year - count).unnamed()


@_kind(rf"\b(?:last|past) {_COUNT} (?:of )?{_UNIT}\b")
def _recent(match: re.Match[str], today: date) -> Window:
    count = NUMBERS.get(match["count"]) or int(match["count"])
    back = {"day": 1, "night": 1, "week": 7, "month": 31, "year": 366}[match["unit"]] * count
    return days(today - timedelta(back), back + 1)


@_kind(
    r"\b(?P<which>last|past|this|next) ",
    rf"(?P<unit>week|weekend|month|year|quarter|{any_of(SEASONS)}|{any_of(WEEKDAYS)})\b",
)
def _relative(match: re.Match[str], today: date) -> Window:
    step = {"last": -1, "past": -1, "this": 0, "next": 1}[match["which"]]
    match match["unit"]:
        case "week":
            return week_from(today, step)
        case "weekend":
            return weekend_from(today, step)
        case "month":
            return month_from(today, step)
        case "quarter":
            return quarter_from(today, step)
        case "year":
            return years(today.year + step, today.year + step).unnamed()
        case weekday if weekday in WEEKDAYS:
            return weekday_from(WEEKDAYS[weekday], step, today)
        case season:
            return season_from(SEASONS[season], step, today)


@_kind(rf"\bon ({any_of(WEEKDAYS)})\b")
def _on_weekday(match: re.Match[str], today: date) -> Window:
    return weekday_from(WEEKDAYS[match[1]], -1, today + timedelta(1))  # today is one, too
