"""FNV-1a in 64 bits: the hash by which texts, fragments and their handles are named.

It is the same on every machine and in every process, unlike `hash`. It protects against
nothing: anybody can make two texts with one hash, so where that matters the contents are
compared as well.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

OFFSET_BASIS = 0xCBF29CE484222325
PRIME = 0x100000001B3

_MASK = 2**64 - 1
_BLOCK = 65_536  # bytes hashed in one run of array operations


def fnv1a64(data: str | bytes) -> int:
    """Return the FNV-1a hash of a text's UTF-8, or of bytes.

    From the offset basis on, each byte is xored into the hash, which is then multiplied by the
    prime modulo 2^64.

    >>> f"{fnv1a64('hello'):016x}"
    'a430d84680aabd0b'
    """
    value = OFFSET_BASIS
    for byte in data.encode() if isinstance(data, str) else data:
        value = (value ^ byte) * PRIME & _MASK
    return value


def fnv1a64_many(data: Iterable[bytes]) -> list[int]:
    """Return the hashes of many byte strings; much faster than one at a time, or for long ones.

    >>> fnv1a64_many([b"", b"hello"]) == [fnv1a64(b""), fnv1a64(b"hello")]
    True
    """
    hashes: list[int] = []
    group: list[bytes] = []
    size = 0
    for item in data:
        if group and size + len(item) > _BLOCK:
            hashes += _advance([OFFSET_BASIS] * len(group), group)
            group, size = [], 0
        if len(item) > _BLOCK:
            hashes.append(_hash_long(item))
        else:
            group.append(item)
            size += len(item)
    return hashes + _advance([OFFSET_BASIS] * len(group), group)


def _hash_long(data: bytes) -> int:
    value = OFFSET_BASIS
    for start in range(0, len(data), _BLOCK):
        (value,) = _advance([value], [data[start : start + _BLOCK]])
    return value


def _advance(hashes: Sequence[int], pieces: Sequence[bytes]) -> list[int]:
    """Return each hash after the bytes of its piece, at most `_BLOCK` bytes altogether.

    A byte changes only the low byte s of the hash, by d = (s ^ byte) - s. So the hash after n
    bytes is PRIME^n * start + sum of PRIME^(n-i) * d_i, which is a scalar product once all
    low bytes are known.
    """
    joined = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    lengths = np.array([len(piece) for piece in pieces], dtype=np.intp)
    starts = np.asarray(hashes, dtype=np.uint64)
    if not len(joined):
        return [int(value) for value in starts]
    begins = np.cumsum(lengths) - lengths
    low = _low_bytes(joined, lengths, begins, starts)
    change = (joined ^ low).astype(np.int64) - low
    left = np.repeat(begins + lengths, lengths) - np.arange(len(joined))
    terms = change.astype(np.uint64) * _powers()[left]
    totals = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    sums = totals[begins + lengths] - totals[begins]
    return [int(value) for value in starts * _powers()[lengths] + sums]


def _low_bytes(
    joined: npt.NDArray[np.uint8],
    lengths: npt.NDArray[np.intp],
    begins: npt.NDArray[np.intp],
    starts: npt.NDArray[np.uint64],
) -> npt.NDArray[np.uint8]:
    """Return the low byte of the hash before each byte.

    Found from the lowest bit up: bit k of a product by an odd number is bit k of the factor,
    xored with what the bits below carry into it. So it is a running xor of what is known.
    """
    first = np.repeat((starts & np.uint64(255)).astype(np.uint8), lengths)
    low = np.zeros(len(joined), dtype=np.uint8)
    running = np.zeros(len(joined) + 1, dtype=np.uint8)
    for bit in (1, 2, 4, 8, 16, 32, 64, 128):
        below = (joined ^ low) & np.uint8(bit - 1)
        np.bitwise_xor.accumulate(joined ^ below * np.uint8(PRIME & 255), out=running[1:])
        since = running[:-1] ^ np.repeat(running[begins], lengths)
        low |= (since ^ first) & np.uint8(bit)
    return low


@cache
def _powers() -> npt.NDArray[np.uint64]:
    factors = np.full(_BLOCK + 1, PRIME, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
