"""Where an attached compiler keeps things: collections of JSON values by key."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock, RLock
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from pydantic import ValidationError

from plugmem_core.context.reading import Record
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.inputs import check_type
from plugmem_core.model import Namespace

Age: TypeAlias = timedelta | int | float
"""A `timedelta`, or seconds."""

R = TypeVar("R", bound=Record)

_Place: TypeAlias = tuple[Namespace, str]


@runtime_checkable
class ValueStore(Protocol):
    """Collections of JSON values by key, apart in each namespace; a `Memory` is one.

    Each call is one transaction, or a part of the one it is made in.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """Make one transaction of a block: all that it writes, or nothing.

        Nobody else writes meanwhile, so what is read before the first write still holds at the
        end. Whether reading finds what the block itself has written is open. A block within a
        block is a part of it.
        """
        ...

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
        self._collections: dict[_Place, dict[str, str]] = {}
        self._block: _Block | None = None  # of the thread that writes
        self._writing = RLock()
        self._applying = Lock()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make one transaction of a block; an error inside undoes it, even if it is caught."""
        with self._joined():
            yield

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: Namespace = ()
    ) -> None:
        """Store values; what is under a key already is replaced."""
        written = {key: json.dumps(value) for key, value in values.items()}
        with self._joined() as block:
            block.changes_of((namespace, collection)).update(written)

    def get_values(
        self, collection: str, keys: Iterable[str] | None = None, *, namespace: Namespace = ()
    ) -> dict[str, Any]:
        """Return values by key; unknown keys are left out, and `None` asks for all."""
        wanted = None if keys is None else list(keys)
        with self._applying:
            stored = self._collections.get((namespace, collection), {})
            found = [
                (key, stored[key])
                for key in (stored if wanted is None else wanted)
                if key in stored
            ]
        return {key: json.loads(value) for key, value in found}

    def delete_values(
        self, collection: str, keys: Iterable[str], *, namespace: Namespace = ()
    ) -> int:
        """Remove values; returns how many there were."""
        place = (namespace, collection)
        with self._joined() as block:
            stored, changes = self._collections.get(place, {}), block.changes_of(place)
            found = [key for key in set(keys) if changes.get(key, stored.get(key)) is not None]
            changes.update(dict.fromkeys(found))
            return len(found)

    @contextmanager
    def _joined(self) -> Iterator["_Block"]:
        with self._writing:
            if self._block is not None:
                with self._block.failing():
                    yield self._block
                return
            block = self._block = _Block()
            try:
                yield block
            finally:
                self._block = None
            if block.failure is not None:
                raise block.failure
            self._apply(block)

    def _apply(self, block: "_Block") -> None:
        with self._applying:
            for place, changes in block.changes.items():
                stored = self._collections.setdefault(place, {})
                for key, value in changes.items():
                    if value is None:
                        stored.pop(key, None)
                    else:
                        stored[key] = value


@dataclass(slots=True)
class _Block:
    """What a transaction is going to write; `None` removes a value."""

    changes: dict[_Place, dict[str, str | None]] = field(default_factory=dict)
    failure: BaseException | None = None

    def changes_of(self, place: _Place) -> dict[str, str | None]:
        return self.changes.setdefault(place, {})

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Note an error that passes, since half of what it ended may have been written."""
        try:
            yield
        except BaseException as error:
            self.failure = self.failure or error
            raise


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


def check_age(older_than: Age | None) -> int | None:
    """Return an age in milliseconds.

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
    return int(seconds * 1000)


def cutoff(now: int, age: int | None) -> int | None:
    """Return the last instant that is older than an age, in Unix milliseconds."""
    return None if age is None else now - age - 1
