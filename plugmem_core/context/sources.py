"""The originals of fragments, by the hash of their content."""

import hashlib
import json
from collections.abc import Iterable
from threading import Lock
from typing import Any

from pydantic import ValidationError

from plugmem_core.clock import Clock
from plugmem_core.context.handles import handle_of, read_handle
from plugmem_core.context.media import decode_base64
from plugmem_core.context.pieces import Piece
from plugmem_core.context.reading import Record
from plugmem_core.context.request import Media
from plugmem_core.context.values import Age, ValueStore, cutoff, expiry, is_expired, parse
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
    content: str
    media: Media | None


class _Entry(Record):
    """What is known of an original: its uses are pairs of a project and when it used it last."""

    digest: str
    expires_at: int | None
    uses: tuple[tuple[str | None, int], ...]


class Sources:
    """Stores what was compiled, once per content, and gives it back byte for byte.

    Threads may share it. A purge by another process, at the same time as a compile that uses
    what is purged, may win; the handle is then unknown.
    """

    def __init__(self, values: ValueStore, namespace: Namespace, clock: Clock) -> None:
        self._values = values
        self._namespace = namespace
        self._clock = clock
        self._lock = Lock()

    def store(
        self, pieces: Iterable[Piece], *, project: str | None, ttl_seconds: int | None
    ) -> None:
        """Store the originals of fragments.

        What is stored already is not written again. It is kept for longer if that is asked, and
        never for less.

        Args:
            pieces: The fragments.
            project: Who uses them.
            ttl_seconds: How long they are kept; `None` or 0 is for good.

        Raises:
            InvalidInputError: Two contents have one hash; nothing was stored.
            ServiceError: A stored record is damaged; nothing was stored.
        """
        now = self._clock()
        with self._lock:
            distinct = _distinct(pieces)
            stored = self._values.get_values(INDEX, list(distinct), namespace=self._namespace)
            entries, contents = {}, {}
            for key, piece in distinct.items():
                new = _Entry(
                    digest=_digest(piece.fragment.content, piece.data),
                    expires_at=expiry(now, ttl_seconds),
                    uses=((project, now),),
                )
                old = _live_entry(key, stored[key], now) if key in stored else None
                if old is None:
                    contents[key] = _encode(piece)
                entries[key] = (new if old is None else _merged(key, old, new)).model_dump(
                    mode="json"
                )
            if contents:
                self._values.put_values(CONTENTS, contents, namespace=self._namespace)
            if entries:
                self._values.put_values(INDEX, entries, namespace=self._namespace)

    def retrieve(self, handle: str) -> RetrievedSource:
        """Return an original.

        Raises:
            WrongTypeError: The handle is no text.
            NotFoundError: Nothing is stored under it, or not any more.
            ServiceError: What is stored is damaged.
        """
        key = str(read_handle(handle))
        entry = parse(_Entry, self._get(INDEX, key))
        original = None
        if entry is not None and not is_expired(entry.expires_at, self._clock()):
            original = self._get(CONTENTS, key)
        if entry is None or original is None:
            raise NotFoundError(
                f"handle is {handle!r}, under which nothing is stored; it may have expired or "
                "been purged, or be of another namespace"
            )
        return _decode(handle, original, entry.digest)

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
        now = self._clock()
        before = cutoff(now, older_than)
        keys = None if handle is None else [str(read_handle(handle))]
        chooses = any(one is not None for one in (older_than, project, handle))
        with self._lock:
            removed, kept = [], {}
            found = self._values.get_values(INDEX, keys, namespace=self._namespace)
            for key, value in found.items():
                entry = parse(_Entry, value)
                if entry is None:  # damaged; it goes by its handle only
                    removed += [key] if handle is not None else []
                    continue
                uses = _remaining(entry, before, project) if chooses else entry.uses
                if not uses or is_expired(entry.expires_at, now):
                    removed.append(key)
                elif uses != entry.uses:
                    kept[key] = entry.model_copy(update={"uses": uses}).model_dump(mode="json")
            if kept:
                self._values.put_values(INDEX, kept, namespace=self._namespace)
            for collection in (INDEX, CONTENTS) if removed else ():
                self._values.delete_values(collection, removed, namespace=self._namespace)
        return len(removed)

    def _get(self, collection: str, key: str) -> Any:
        return self._values.get_values(collection, [key], namespace=self._namespace).get(key)


def _distinct(pieces: Iterable[Piece]) -> dict[str, Piece]:
    distinct: dict[str, Piece] = {}
    for piece in pieces:
        key = str(piece.content_hash)
        first = distinct.setdefault(key, piece)
        if _digest(first.fragment.content, first.data) != _digest(
            piece.fragment.content, piece.data
        ):
            raise _collision(key)
    return distinct


def _live_entry(key: str, value: object, now: int) -> _Entry | None:
    entry = parse(_Entry, value)
    if entry is None:
        raise ServiceError(
            f"the record of the source {handle_of(int(key))} is damaged; purge that handle"
        )
    return None if is_expired(entry.expires_at, now) else entry


def _merged(key: str, old: _Entry, new: _Entry) -> _Entry:
    if old.digest != new.digest:
        raise _collision(key)
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


def _encode(piece: Piece) -> str:
    # As JSON in a text, because a value may hold no NUL character, and a content may.
    fragment = piece.fragment
    return json.dumps(
        {
            "content": fragment.content,
            "media": None if fragment.media is None else fragment.media.model_dump(),
        },
        ensure_ascii=False,
    )


def _decode(handle: str, value: object, digest: str) -> RetrievedSource:
    try:
        original = _Original.model_validate_json(value if isinstance(value, str) else "")
    except ValidationError:
        original = None
    data = None
    if original is not None and original.media is not None:
        data = decode_base64(original.media.bytes_b64)
    if original is None or _digest(original.content, data) != digest:
        raise ServiceError(f"the source {handle} is damaged; purge it, and compile it again")
    return RetrievedSource(handle=handle, content=original.content, media=original.media)


def _collision(key: str) -> InvalidInputError:
    return InvalidInputError(
        f"two different contents have the hash {key}, so one could not be retrieved; change one "
        "of them by a character, or compile without store_sources"
    )
