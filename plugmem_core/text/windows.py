"""`Window`: a stretch of time in whole days, and the stretches that calendars have names for."""

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from plugmem_core.clock import DAY_MS


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

    def unnamed(self) -> "Window":
        """Return the same without years, which nobody named."""
        return self._replace(years=None)


def days(first: date, count: int) -> Window:
    """Return some days."""
    return Window(instant(first), instant(first) + count * DAY_MS)


def named_day(year: int, month: int, day: int) -> Window:
    """Return a day whose year is named."""
    return days(date(year, month, day), 1)._replace(years=(year, year))


def months(year: int, month: int, count: int) -> Window:
    """Return some months, of a year that is named."""
    last = month - 1 + count - 1
    end = date(year + (last + 1) // 12, (last + 1) % 12 + 1, 1)
    return Window(instant(date(year, month, 1)), instant(end), (year, year + last // 12))


def month_from(today: date, step: int) -> Window:
    """Return the month so many after this one."""
    month = today.year * 12 + today.month - 1 + step
    return months(month // 12, month % 12 + 1, 1).unnamed()


def quarter_from(today: date, step: int) -> Window:
    """Return the quarter so many after this one."""
    begins = today.month - 1 - (today.month - 1) % 3 + 3 * step
    return months(today.year + begins // 12, begins % 12 + 1, 3).unnamed()


def years(first: int, last: int) -> Window:
    """Return whole years that are named."""
    return Window(instant(date(first, 1, 1)), instant(date(last + 1, 1, 1)), (first, last))


def week_from(today: date, step: int) -> Window:
    """Return the week so many after this one; weeks begin on Monday."""
    return days(today - timedelta(today.weekday() - 7 * step), 7)


def weekend_from(today: date, step: int) -> Window:
    """Return the weekend of the week so many after this one."""
    return days(today - timedelta(today.weekday() - 5 - 7 * step), 2)


def weekday_from(weekday: int, step: int, today: date) -> Window:
    """Return the last such day before today, that of this week, or the next one after today."""
    ahead = (weekday - today.weekday()) % 7
    if step < 0:
        return days(today + timedelta(ahead - 7), 1)
    if step > 0:
        return days(today + timedelta(ahead or 7), 1)
    return days(today + timedelta(weekday - today.weekday()), 1)


def season_from(month: int, step: int, today: date) -> Window:
    """Return the last, the running or coming, or the next season that begins with a month."""
    year = latest_year(today, month)  # in which it began last
    running = (today.year - year) * 12 + today.month - month < 3
    if step < 0 and running:
        year -= 1
    if step >= 0 and not running:
        year += 1
    return months(year, month, 3).unnamed()


def latest_year(today: date, month: int, day: int = 1) -> int:
    """Return the last year in which a day of the year has come."""
    return today.year - ((month, day) > (today.month, today.day))


def instant(day: date) -> int:
    """Return the instant a day begins, in Unix milliseconds."""
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return round(moment.timestamp() * 1_000)
