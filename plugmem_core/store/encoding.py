"""How values are spelled in rows."""

import json
from hashlib import blake2b

import numpy as np

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


def encode_vector(vector: Vector) -> bytes:
    """Return a vector as a `vectors` row holds it: little-endian float32."""
    return vector.astype("<f4").tobytes()


def decode_vector(data: bytes) -> Vector:
    """Return the vector of a `vectors` row."""
    return np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)
