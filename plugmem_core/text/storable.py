"""Text as it can be stored, whatever came."""

import re

_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str, max_bytes: int | None = None) -> str:
    r"""Return text without what no fact can hold: NUL characters and lone surrogates.

    Args:
        text: Any text.
        max_bytes: Where to cut it, in bytes of UTF-8; no character is cut in two.

    >>> storable("caf\udce9 and\0 more", 13)
    'caf� and�'
    """
    clean = _UNWRITABLE.sub("�", text)
    return clean if max_bytes is None else clean.encode()[:max_bytes].decode(errors="ignore")
