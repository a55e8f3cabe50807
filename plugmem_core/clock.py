"""Instants: what is accepted as a time, and how it is kept.

Times are kept as integer Unix milliseconds in UTC. Accepted are such integers,
aware `datetime` objects and ISO-8601 text with an offset (`2024-05-01` alone
means midnight UTC). A naive `datetime` is refused: nobody can know its zone.
"""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from plugmem_core.errors import InvalidInputError, WrongTypeError, shown

Instant: TypeAlias = int | str | datetime
"""What a caller may pass for a time."""

Clock: TypeAlias = Callable[[], int]
"""Returns now, in Unix milliseconds."""

DAY_MS = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_MS = -62_135_596_800_000  # 0001-01-01T00:00:00Z, the first instant of `datetime`
MAX_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last one


def system_clock() -> int:
    """Return the system's time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def checked(clock: Clock) -> Clock:
    """Return a clock that fails on a reading that could not be stored.

    Args:
        clock: What a caller passed.

    Raises:
        WrongTypeError: It cannot be called. The clock returned raises it, too, for a reading
            that is no integer, such as that of `time.time`.
    """
    if not callable(clock):
        raise WrongTypeError(f"clock is {shown(clock)}; give a function of Unix milliseconds")

    def now() -> int:
        reading = clock()
        if type(reading) is not int:
            raise WrongTypeError(
                f"the clock returned {shown(reading)} ({type(reading).__name__}); "
                "let it return integer Unix milliseconds"
            )
        return to_ms(reading, "the clock's reading")

    return clock if clock is system_clock else now


def to_datetime(ms: int) -> datetime:
    """Return the aware UTC `datetime` of Unix milliseconds."""
    return EPOCH + timedelta(milliseconds=ms)


def to_ms(value: Instant, name: str) -> int:
    """Return Unix milliseconds for an instant a caller passed.

    Args:
        value: Unix milliseconds, an aware `datetime`, or ISO-8601 text.
        name: The argument's name, for the message of an error.

    Raises:
        WrongTypeError: Another type (`bool` and `float` included).
        InvalidInputError: A naive `datetime`, text that is not ISO-8601, or an
            instant outside the years 1 to 9999.
    """
    if type(value) is int:
        ms = value
    elif isinstance(value, str):
        ms = _aware_to_ms(_parse_iso(value, name), name)
    elif isinstance(value, datetime):
        ms = _aware_to_ms(value, name)
    else:
        raise WrongTypeError(
            f"{name} is {shown(value)} ({type(value).__name__}); "
            "give an aware datetime, ISO-8601 text or integer Unix milliseconds"
        )
    if not MIN_MS <= ms <= MAX_MS:
        raise InvalidInputError(
            f"{name} is {shown(ms)} ms, outside {MIN_MS}..{MAX_MS} (years 1 to 9999); "
            "give Unix milliseconds in that range"
        )
    return ms


def _parse_iso(text: str, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(
            f"{name} is {shown(text)}, which is not ISO-8601; write it like 2024-05-01T09:30:00Z"
        ) from None
    if moment.tzinfo is None and _is_date(text):
        return moment.replace(tzinfo=UTC)
    return moment


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _aware_to_ms(moment: datetime, name: str) -> int:
    if moment.utcoffset() is None:
        raise InvalidInputError(
            f"{name} is {moment.isoformat()}, a naive time; "
            "attach a zone, for example .replace(tzinfo=timezone.utc)"
        )
    return (moment - EPOCH) // timedelta(milliseconds=1)
