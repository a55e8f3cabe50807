"""How values are spelled in rows."""

import json
from hashlib import blake2b
from typing import Any

import numpy as np

from plugmem_core.errors import CorruptError, shown
from plugmem_core.store.rows import Vector

_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True
).encode


def text_digest(text: str) -> int:
    """Return a stable 64-bit digest of a text, as a signed integer."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def dump_json(value: object) -> str:
    """Return the one JSON spelling of a value that rows hold."""
    return _encode(value)


def load_json(text: str) -> Any:
    """Return the JSON value of a row.

    Raises:
        CorruptError: It is no JSON, which no write of ours leaves.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise _damaged(text) from None


def load_object(text: str | None) -> dict[str, Any]:
    """Return the JSON object of a row; none is an empty one.

    Raises:
        CorruptError: It is no object, which no write of ours leaves.
    """
    value = {} if text is None else load_json(text)
    if not isinstance(value, dict):
        raise _damaged(text)
    return value


def load_labels(text: str | None) -> tuple[str, ...]:
    """Return the JSON list of a row; none is an empty one.

    Raises:
        CorruptError: It is no list, which no write of ours leaves.
    """
    if text is None or text == "[]":
        return ()
    value = load_json(text)
    if not isinstance(value, list):
        raise _damaged(text)
    for label in value:
        if type(label) is not str:
            raise _damaged(text)
    return tuple(value)


def dump_ids(ids: list[int]) -> str | None:
    """Return ascending ids as a row holds them; none are null."""
    return str(ids) if ids else None


def load_ids(text: str | None) -> list[int]:
    """Return the ids of a row.

    Raises:
        CorruptError: They are none, which no write of ours leaves.
    """
    if text is None:
        return []
    ids = load_json(text)
    if not isinstance(ids, list) or set(map(type, ids)) != {int}:
        raise _damaged(text)
    return ids


def _damaged(text: object) -> CorruptError:
    return CorruptError(f"the file holds {shown(text)} where JSON belongs; it is damaged")


def encode_vector(vector: Vector) -> bytes:
    """Return a vector as a `vectors` row holds it: little-endian float32."""
    return vector.astype("<f4").tobytes()


def decode_vector(data: object) -> Vector:
    """Return the vector of a `vectors` row.

    Raises:
        CorruptError: It is none, which no write of ours leaves.
    """
    if type(data) is not bytes or len(data) % 4:
        raise CorruptError(
            f"the file holds {shown(data)} where a vector belongs; it is damaged; salvage what "
            "can be read"
        )
    return np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)
