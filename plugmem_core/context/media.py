"""Images: their bytes, and what they cost by their size in pixels."""

import base64
import binascii
import struct

from plugmem_core.context.estimate import Counter

PIXELS_PER_TOKEN = 750

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_JPEG = b"\xff\xd8"
_SIZED_FRAMES = (0xC0, 0xC2)  # baseline and progressive
_BARE_MARKERS = (0x01, *range(0xD0, 0xD9))  # without a length


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of padded base64 in the standard alphabet; `None` if it is none.

    >>> decode_base64("aGk="), decode_base64("aGk"), decode_base64("aGl=")
    (b'hi', None, None)
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Refuses stray bits in the last character, too: bytes have one spelling.
    return data if base64.b64encode(data) == text.encode() else None


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG or JPEG image; `None` if they cannot be told."""
    size = _png_size(data) if data.startswith(_PNG) else _jpeg_size(data)
    return size if size and all(size) else None


def image_tokens(data: bytes, bytes_b64: str, count: Counter) -> int:
    """Return what an image costs: ceil(width * height / 750), or what its base64 would as text."""
    size = image_size(data)
    if size is None:
        return count(bytes_b64)
    return -(-size[0] * size[1] // PIXELS_PER_TOKEN)


def _png_size(data: bytes) -> tuple[int, int] | None:
    if len(data) < len(_PNG) + 8:
        return None
    width, height = struct.unpack_from(">II", data, len(_PNG))
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(_JPEG):
        return None
    at = len(_JPEG)
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _SIZED_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        if marker == 0xFF:  # fill
            at += 1
        elif marker in _BARE_MARKERS:
            at += 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
