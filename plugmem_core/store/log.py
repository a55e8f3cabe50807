"""The write-ahead log of a SQLite file, read without SQLite, which ends it at the first damage."""

import struct
from typing import IO, NamedTuple

_HEADER, _FRAME_HEADER = 32, 24
_LITTLE = 0x82  # the last byte of the magic number where checksums take words so


class Log(NamedTuple):
    """What a write-ahead log holds.

    Attributes:
        pages: The place in the log of the newest committed version of each page.
        size: The pages of the file as of the last commit; 0 without one.
        damaged: The numbers of the frames that cannot be trusted; 0 is the log's header.
    """

    pages: dict[int, int]
    size: int
    damaged: tuple[int, ...]


NO_LOG = Log({}, 0, ())


def read_log(log: IO[bytes], page_size: int) -> Log:
    """Return what a log holds.

    Args:
        log: The file, at its beginning.
        page_size: Of the database.
    """
    header, first = log.read(_HEADER), log.read(_FRAME_HEADER)
    if len(first) < _FRAME_HEADER:
        return NO_LOG
    log.seek(_HEADER)
    order = "<" if header[3] == _LITTLE else ">"
    seed: tuple[int, ...] = struct.unpack(">II", header[24:])
    damaged = []
    if _sums(header[:24], (0, 0), order) != seed:
        damaged.append(0)
        order = "<"  # as nearly every machine writes it
    salts = first[8:16] if damaged else header[16:24]
    pages: dict[int, int] = {}
    pending: dict[int, int] = {}
    doubtful: list[tuple[int, bool]] = []
    size = frame = 0
    while len(start := log.read(_FRAME_HEADER)) == _FRAME_HEADER:
        place = log.tell()
        data = log.read(page_size)
        frame += 1
        number, commits = struct.unpack_from(">II", start)
        sums = struct.unpack_from(">II", start, 16)
        ours = start[8:16] == salts
        whole = len(data) == page_size and _sums(start[:8] + data, seed, order) == sums
        # The next frame goes on from what this one says of itself, so one that is damaged
        # does not take all that follow with it.
        seed = sums
        if not (ours and whole):
            doubtful.append((frame, ours))
            continue
        pending[number] = place
        if commits:
            pages.update(pending)
            size = commits
            damaged += [one for one, _ in doubtful]
            pending.clear()
            doubtful.clear()
    # Behind the last commit stands what an older log has left, too.
    damaged += [one for one, ours in doubtful if ours]
    return Log(pages, size, tuple(damaged))


def _sums(data: bytes, seed: tuple[int, ...], order: str) -> tuple[int, int]:
    """Return the checksum of a log, which goes on from a seed."""
    first, second = seed
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second
