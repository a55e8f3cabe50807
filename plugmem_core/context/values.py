"""Where an attached compiler keeps things: collections of JSON values by key."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from threading import Lock
from typing import Any, Protocol, TypeAlias, TypeVar

from pydantic import ValidationError

from plugmem_core.context.reading import Record
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.inputs import check_type
from plugmem_core.model import Namespace

Age: TypeAlias = timedelta | int | float
"""A `timedelta`, or seconds."""

R = TypeVar("R", bound=Record)


class ValueStore(Protocol):
    """Collections of JSON values by key, apart in each namespace; a `Memory` is one.

    Each call is one transaction.
    """

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: Namespace = ()
    ) -> None:
        """Store values; what is under a key already is replaced."""
        ...

    def get_values(
        self, collection: str, keys: Iterable[str] | None = None, *, namespace: Namespace = ()
    ) -> dict[str, Any]:
        """Return values by key; unknown keys are left out, and `None` asks for all."""
        ...

    def delete_values(
        self, collection: str, keys: Iterable[str], *, namespace: Namespace = ()
    ) -> int:
        """Remove values; returns how many there were."""
        ...


class DictValues:
    """Values in plain dictionaries, gone when the process ends.

    >>> values = DictValues()
    >>> values.put_values("settings", {"theme": "dark"})
    >>> values.get_values("settings")
    {'theme': 'dark'}
    """

    def __init__(self) -> None:
        self._collections: dict[tuple[Namespace, str], dict[str, str]] = {}
        self._lock = Lock()

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: Namespace = ()
    ) -> None:
        """Store values; what is under a key already is replaced."""
        written = {key: json.dumps(value) for key, value in values.items()}
        with self._lock:
            self._collections.setdefault((namespace, collection), {}).update(written)

    def get_values(
        self, collection: str, keys: Iterable[str] | None = None, *, namespace: Namespace = ()
    ) -> dict[str, Any]:
        """Return values by key; unknown keys are left out, and `None` asks for all."""
        with self._lock:
            stored = dict(self._collections.get((namespace, collection), {}))
        wanted = None if keys is None else set(keys)
        return {
            key: json.loads(value)
            for key, value in stored.items()
            if wanted is None or key in wanted
        }

    def delete_values(
        self, collection: str, keys: Iterable[str], *, namespace: Namespace = ()
    ) -> int:
        """Remove values; returns how many there were."""
        with self._lock:
            stored = self._collections.get((namespace, collection), {})
            return sum(stored.pop(key, None) is not None for key in set(keys))


def parse(model: type[R], value: object) -> R | None:
    """Return a stored record; `None` if the value is none of this kind."""
    try:
        return model.model_validate(value)
    except ValidationError:
        return None


def expiry(now: int, ttl_seconds: int | None) -> int | None:
    """Return when something stored now expires, in Unix milliseconds; `None` or 0 is never."""
    return now + ttl_seconds * 1000 if ttl_seconds else None


def is_expired(expires_at: int | None, now: int) -> bool:
    """Return whether an expiry has come."""
    return expires_at is not None and expires_at <= now


def cutoff(now: int, older_than: Age | None) -> int | None:
    """Return the last instant that is older than an age, in Unix milliseconds.

    Raises:
        WrongTypeError: It is no age.
        InvalidInputError: It is negative, or no number.
    """
    if older_than is None:
        return None
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
    check_type(seconds, (int, float), "older_than", "seconds or a timedelta")
    if not 0 <= seconds <= 10**12:
        raise InvalidInputError(
            f"older_than is {shown(older_than)}; give an age of 0 seconds or more"
        )
    return now - int(seconds * 1000) - 1
