"""Dates in prose."""

import re
from collections.abc import Iterator
from datetime import date

from plugmem_core.extraction.prose.lexemes import Lexeme
from plugmem_core.extraction.prose.words import MONTHS, YEAR_CUES

_iso = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d)(?:T\d\d)?)?").fullmatch
_day = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?").fullmatch
_year = re.compile(r"[12]\d{3}").fullmatch


def find_dates(lexemes: list[Lexeme]) -> Iterator[tuple[str, int, int]]:
    """Yield each date in ISO form, with the places of its first and last lexeme.

    `2024-06-03`, `3 June 2024`, `June 3rd, 2024`, `June 2024`, and a year after a word such
    as "in" or "since". A day or a month without a year is no date: it comes every year.
    """
    place = 0
    while place < len(lexemes):
        found = _date_at(lexemes, place)
        if found is None:
            place += 1
            continue
        iso, last = found
        yield iso, place, last
        place = last + 1


def _date_at(lexemes: list[Lexeme], place: int) -> tuple[str, int] | None:
    # The longest: "3rd of June, 2024"
    words = [lexeme.text.lower() for lexeme in lexemes[place : place + 5]]
    if match := _iso(lexemes[place].text):
        iso = _checked(*match.groups())
        return (iso, place) if iso else None
    before = lexemes[place - 1].text.lower() if place else ""
    if _year(words[0]):
        return (words[0], place) if before in YEAR_CUES or before in MONTHS else None
    return _spelled(words, place)


def _spelled(words: list[str], place: int) -> tuple[str, int] | None:
    at = 0
    day = None
    if match := _day(words[0]):
        day = match[1]
        at = 2 if words[1:2] == ["of"] else 1
    month = MONTHS.get(words[at]) if at < len(words) else None
    if month is None:
        return None
    at += 1
    if day is None and at < len(words) and (match := _day(words[at])):
        day = match[1]
        at += 1
    at += words[at : at + 1] == [","]
    if at >= len(words) or not _year(words[at]):
        return None
    iso = _checked(words[at], f"{month:02}", day and day.zfill(2))
    return (iso, place + at) if iso else None


def _checked(year: str, month: str, day: str | None) -> str | None:
    try:
        date(int(year), int(month), int(day or 1))
    except ValueError:
        return None
    return "-".join(part for part in (year, month, day) if part)
