"""The fragments of a request, checked, decoded and named."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from plugmem_core.context.limits import ContextLimits
from plugmem_core.context.media import decode_base64
from plugmem_core.context.request import ContextRequest, Fragment
from plugmem_core.errors import InvalidInputError, TooLargeError, shown
from plugmem_core.inputs import check_metadata
from plugmem_core.text.fnv import fnv1a64_many

_IMAGE = b"\xff"  # in no UTF-8, so that no text has the bytes that an image is hashed by
_words = re.compile(r"[^\W_]+")
_FEW = 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A fragment with what a compile has to know about it.

    Attributes:
        fragment: As it was given.
        data: The bytes of its image, if it is one.
        size: The length of its content, in bytes of UTF-8.
        content_hash: The hash of the content; of an image, that of its bytes behind a byte
            0xFF, which no text has.
        fragment_id: The id given, or else the hash.
    """

    fragment: Fragment
    data: bytes | None
    size: int
    content_hash: int
    fragment_id: int


def check_pieces(request: ContextRequest, limits: ContextLimits) -> list[Piece]:
    """Return the pieces of a request, all of them checked.

    Raises:
        InvalidInputError: A fragment names a path, or an image is no canonical base64.
        TooLargeError: There are too many fragments, or something is too long.
    """
    fragments = request.fragments
    _refuse_paths(fragments)
    if len(fragments) > limits.fragments:
        raise TooLargeError(
            f"there are {len(fragments)} fragments, over the limit of {limits.fragments}; "
            "join small ones, or leave some out"
        )
    encoded = [_encoded(at, fragment, limits) for at, fragment in enumerate(fragments)]
    for at, fragment in enumerate(fragments):
        check_metadata(
            fragment.metadata, f"fragments[{at}].metadata", max_bytes=limits.metadata_bytes
        )
    images = list(_images(fragments, limits))
    hashes = fnv1a64_many(
        content if data is None else _IMAGE + data
        for content, data in zip(encoded, images, strict=True)
    )
    return [
        Piece(fragment, data, len(content), named, named if fragment.id is None else fragment.id)
        for fragment, data, content, named in zip(fragments, images, encoded, hashes, strict=True)
    ]


def relevances(query: str, pieces: list[Piece]) -> list[float]:
    """Return for each piece the share of the query's words that it has; 0 for a blank query.

    Words are runs of letters and digits in lower case, each counted once.
    """
    wanted = _words_of(query)
    return [_share(wanted, piece.fragment.content.lower()) for piece in pieces]


def _refuse_paths(fragments: tuple[Fragment, ...]) -> None:
    for at, fragment in enumerate(fragments):
        if fragment.path is not None:
            raise InvalidInputError(
                f"fragments[{at}].path is {shown(fragment.path)}, but reading files is disabled; "
                "read the file and give its text as content"
            )


def _encoded(at: int, fragment: Fragment, limits: ContextLimits) -> bytes:
    content = fragment.content.encode()
    if len(content) > limits.fragment_bytes:
        raise TooLargeError(
            f"fragments[{at}].content has {len(content)} bytes of UTF-8, over the limit of "
            f"{limits.fragment_bytes}; split it, for example with chunk_text"
        )
    return content


def _images(fragments: tuple[Fragment, ...], limits: ContextLimits) -> Iterator[bytes | None]:
    total = 0
    for at, fragment in enumerate(fragments):
        if fragment.media is None:
            yield None
            continue
        text = fragment.media.bytes_b64
        total += len(text)
        if total > limits.media_total_bytes:
            raise TooLargeError(
                f"up to fragments[{at}] there are {total} bytes of base64, over the limit of "
                f"{limits.media_total_bytes} for all images; leave some out"
            )
        if len(text) > limits.media_bytes:
            raise TooLargeError(
                f"fragments[{at}].media has {len(text)} bytes of base64, over the limit of "
                f"{limits.media_bytes}; scale the image down"
            )
        data = decode_base64(text)
        if data is None:
            raise InvalidInputError(
                f"fragments[{at}].media.bytes_b64 is {shown(text)}, no canonical base64; use the "
                "standard alphabet, with padding"
            )
        yield data


def _words_of(text: str) -> set[str]:
    return set(_words.findall(text.lower()))


def _share(wanted: set[str], text: str) -> float:
    # A word is a part of a text that has it, and few parts are found faster than all words.
    if len(wanted) <= _FEW and not any(word in text for word in wanted):
        return 0.0
    return len(wanted & set(_words.findall(text))) / len(wanted)
