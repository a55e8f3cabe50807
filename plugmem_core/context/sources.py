"""The originals of fragments, by the hash of their content."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from plugmem_core.clock import Clock
from plugmem_core.context.handles import read_handle
from plugmem_core.context.media import decode_base64
from plugmem_core.context.pieces import Piece
from plugmem_core.context.reading import Record, Text
from plugmem_core.context.request import Media
from plugmem_core.context.values import (
    Age,
    ValueStore,
    check_age,
    cutoff,
    expiry,
    is_expired,
    parse,
)
from plugmem_core.errors import InvalidInputError, NotFoundError, ServiceError
from plugmem_core.model import RESERVED, Namespace

CONTENTS = f"{RESERVED}context_contents"
INDEX = f"{RESERVED}context_sources"


class RetrievedSource(Record):
    """An original.

    Attributes:
        handle: Where it was found.
        content: The text; of an image, its caption.
        media: The image, if it is one.
    """

    handle: str
    content: str
    media: Media | None = None


class _Original(Record):
    content: Text
    media: Media | None


class _Entry(Record):
    """What is known of an original: its uses are pairs of a project and when it used it last."""

    digest: str
    expires_at: int | None
    uses: tuple[tuple[str | None, int], ...]


class Sources:
    """Stores what was compiled, once per content, and gives it back byte for byte.

    What it changes, it reads in the same transaction: no other thread or process comes between.
    """

    def __init__(self, values: ValueStore, namespace: Namespace, clock: Clock) -> None:
        self._values = values
        self._namespace = namespace
        self._clock = clock

    def store(
        self, distinct: Mapping[str, Piece], *, project: str | None, ttl_seconds: int | None
    ) -> None:
        """Store the originals of fragments.

        What is stored already is not written again, unless it is damaged. It is kept for longer
        if that is asked, and never for less.

        Args:
            distinct: As from `distinct_pieces`.
            project: Who uses them.
            ttl_seconds: How long they are kept; `None` or 0 is for good.

        Raises:
            InvalidInputError: Another content of the same hash is stored; nothing was.
        """
        if not distinct:
            return
        with self._values.transaction():
            now = self._clock()
            expires_at, uses = expiry(now, ttl_seconds), ((project, now),)
            known = self._live_entries(distinct, now)
            intact = self._intact(known)
            entries, contents = {}, {}
            for key, piece in distinct.items():
                digest = _digest(piece.fragment.content, piece.data)
                new = _Entry(digest=digest, expires_at=expires_at, uses=uses)
                old = known.get(key)
                if old is not None and old.digest != digest:
                    if key in intact:
                        raise _collision(key)
                    old = None  # it is of nothing that is stored
                if key not in intact:
                    contents[key] = _encode(piece)
                entries[key] = new if old is None else _merged(old, new)
            self._put(CONTENTS, contents)
            self._put(INDEX, {key: one.model_dump(mode="json") for key, one in entries.items()})

    def retrieve(self, handle: str) -> RetrievedSource:
        """Return an original.

        Raises:
            WrongTypeError: The handle is no text.
            NotFoundError: Nothing is stored under it, or not any more.
            ServiceError: What is stored is damaged.
        """
        key = str(read_handle(handle))
        while True:
            found = self._get(INDEX, [key])
            entry = parse(_Entry, found[key]) if found else None
            if not found or (entry and is_expired(entry.expires_at, self._clock())):
                raise NotFoundError(
                    f"handle is {handle!r}, under which nothing is stored; it may have expired or "
                    "been purged, or be of another namespace"
                )
            original = self._intact({} if entry is None else {key: entry}).get(key)
            if original is not None:
                return RetrievedSource(
                    handle=handle, content=original.content, media=original.media
                )
            # Reading takes no transaction, so a purge or a compile may have come between.
            if self._get(INDEX, [key]) == found:
                raise ServiceError(f"the source {handle} is damaged; compile its content again")

    def purge(
        self,
        *,
        older_than: Age | None = None,
        project: str | None = None,
        handle: str | None = None,
    ) -> int:
        """Remove originals that meet all the criteria given, and those that have expired.

        What several projects use stays until it is purged for each.

        Returns:
            How many were removed.
        """
        key = None if handle is None else str(read_handle(handle))
        age = check_age(older_than)
        chooses = any(one is not None for one in (older_than, project, handle))
        with self._values.transaction():
            now = self._clock()
            before = cutoff(now, age)
            removed, kept = [], {}
            for one, value in self._get(INDEX, None if key is None else [key]).items():
                entry = parse(_Entry, value)
                if entry is None:  # damaged; it goes by its handle only
                    removed += [one] if key is not None else []
                    continue
                uses = _remaining(entry, before, project) if chooses else entry.uses
                if not uses or is_expired(entry.expires_at, now):
                    removed.append(one)
                elif uses != entry.uses:
                    kept[one] = entry.model_copy(update={"uses": uses}).model_dump(mode="json")
            self._put(INDEX, kept)
            for collection in (INDEX, CONTENTS) if removed else ():
                self._values.delete_values(collection, removed, namespace=self._namespace)
        return len(removed)

    def _live_entries(self, keys: Iterable[str], now: int) -> dict[str, _Entry]:
        """Return the entries that can be read and have not expired."""
        found = self._get(INDEX, list(keys))
        entries = ((key, parse(_Entry, value)) for key, value in found.items())
        return {
            key: entry for key, entry in entries if entry and not is_expired(entry.expires_at, now)
        }

    def _intact(self, entries: Mapping[str, _Entry]) -> dict[str, _Original]:
        """Return the originals that are what their entries say."""
        found = self._get(CONTENTS, list(entries)) if entries else {}
        originals = ((key, parse(_Original, value)) for key, value in found.items())
        return {
            key: original
            for key, original in originals
            if original and _digest_of(original) == entries[key].digest
        }

    def _get(self, collection: str, keys: Iterable[str] | None) -> dict[str, Any]:
        return self._values.get_values(collection, keys, namespace=self._namespace)

    def _put(self, collection: str, values: Mapping[str, Any]) -> None:
        if values:
            self._values.put_values(collection, values, namespace=self._namespace)


def distinct_pieces(pieces: Iterable[Piece]) -> dict[str, Piece]:
    """Return the first fragment of each content, by the key it is stored under.

    Raises:
        InvalidInputError: Two contents have one hash.
    """
    distinct: dict[str, Piece] = {}
    for piece in pieces:
        key = str(piece.content_hash)
        first = distinct.setdefault(key, piece)
        if _digest(first.fragment.content, first.data) != _digest(
            piece.fragment.content, piece.data
        ):
            raise _collision(key)
    return distinct


def _merged(old: _Entry, new: _Entry) -> _Entry:
    is_for_good = old.expires_at is None or new.expires_at is None
    return _Entry(
        digest=old.digest,
        expires_at=None if is_for_good else max(old.expires_at or 0, new.expires_at or 0),
        uses=tuple((dict(old.uses) | dict(new.uses)).items()),
    )


def _remaining(
    entry: _Entry, before: int | None, project: str | None
) -> tuple[tuple[str | None, int], ...]:
    return tuple(
        (user, at)
        for user, at in entry.uses
        if (project is not None and user != project) or (before is not None and at > before)
    )


def _digest(content: str, data: bytes | None) -> str:
    # Images are told by their bytes: what is said of them does not make them others.
    hashed = hashlib.sha256(b"text\0" if data is None else b"media\0")
    hashed.update(content.encode() if data is None else data)
    return hashed.hexdigest()


def _digest_of(original: _Original) -> str | None:
    if original.media is None:
        return _digest(original.content, None)
    data = decode_base64(original.media.bytes_b64)
    return None if data is None else _digest("", data)


def _encode(piece: Piece) -> dict[str, Any]:
    fragment = piece.fragment
    return _Original(content=fragment.content, media=fragment.media).model_dump()


def _collision(key: str) -> InvalidInputError:
    return InvalidInputError(
        f"two different contents have the hash {key}, so one could not be retrieved; change one "
        "of them by a character, or compile without store_sources"
    )
