"""The pages of a SQLite file, read without SQLite, which refuses what is damaged.

Follows the file format that SQLite promises to keep: pages, the write-ahead log that overlays
them, and the cells of b-trees. Nothing is ever written.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from plugmem_core.store.log import NO_LOG, read_log

LEAF, LEAF_INDEX, INNER, INNER_INDEX = 13, 10, 5, 2
_KINDS = (LEAF, LEAF_INDEX, INNER, INNER_INDEX)
_SIZES = tuple(2**power for power in range(9, 17))
_SAMPLE = 4_194_304
"""Bytes looked at to find out how large a page is."""

_FILE_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer, by its code in a row's header."""

_FLOAT, _ZERO, _ONE, _BLOB = 7, 8, 9, 12

Value: TypeAlias = int | float | str | bytes | None


class DamageError(Exception):
    """Something cannot be what it should be; never leaves the store."""


class Cell(NamedTuple):
    """A cell of a b-tree.

    Attributes:
        child: The page to its left, in inner pages.
        rowid: The row's, in tables.
        values: The row, where the page holds rows.
        pages: Those its rest overflows into.
    """

    child: int | None
    rowid: int | None
    values: tuple[Value, ...] | None
    pages: tuple[int, ...]


class Page:
    """A page of a b-tree.

    Args:
        data: Its bytes.
        number: Counted from 1.

    Raises:
        DamageError: It is no such page.
    """

    def __init__(self, data: bytes, number: int) -> None:
        start = _FILE_HEADER if number == 1 else 0
        self.data = data
        self.number = number
        self.kind = data[start]
        if self.kind not in _KINDS:
            raise DamageError(f"it begins with {self.kind}, which is no kind of page")
        inner = self.kind in (INNER, INNER_INDEX)
        self._free, count, content, self._fragments = struct.unpack_from(">HHHB", data, start + 1)
        self._content = content or 65_536
        self._end_of_pointers = start + (12 if inner else 8) + 2 * count
        if self._end_of_pointers > len(data) or self._content > len(data):
            raise DamageError("its header does not fit into it")
        self.right = struct.unpack_from(">I", data, start + 8)[0] if inner else None
        self.pointers: Sequence[int] = struct.unpack_from(
            f">{count}H", data, self._end_of_pointers - 2 * count
        )
        if not all(self._end_of_pointers <= place <= len(data) - 4 for place in self.pointers):
            raise DamageError("a pointer leads out of it")

    @property
    def is_index(self) -> bool:
        """Whether it is of an index, or of a table that is one."""
        return self.kind in (LEAF_INDEX, INNER_INDEX)

    def accounts_for(self, used: int) -> bool:
        """Return whether its cells and what it says is free make up the whole page."""
        free, place, seen = self._fragments, self._free, 0
        while place and place <= len(self.data) - 4 and seen < len(self.data):
            following, size = struct.unpack_from(">HH", self.data, place)
            free, place, seen = free + size, following, seen + 4
        return bool(used + free == len(self.data) - self._content)


class Pages:
    """The pages of a file, overlaid by its log.

    Args:
        path: The file; its log is looked for beside it, and may be missing.

    Raises:
        OSError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        beside = path.with_name(f"{path.name}-wal")
        self._log_file = beside.open("rb") if beside.is_file() else None
        self._length = path.stat().st_size
        self.size = self._find_size()
        self.log = NO_LOG if self._log_file is None else read_log(self._log_file, self.size)
        self.count = max(-(-self._length // self.size), *self.log.pages, self.log.size, 0)

    def close(self) -> None:
        """Let go of both files."""
        self._file.close()
        if self._log_file is not None:
            self._log_file.close()

    def read(self, number: int) -> bytes:
        """Return a page's bytes; what is cut off reads as zeros.

        Raises:
            DamageError: There is no such page.
        """
        if not 1 <= number <= self.count:
            raise DamageError(f"there is no page {number}")
        place = self.log.pages.get(number)
        if place is not None and self._log_file is not None:
            self._log_file.seek(place)
            return self._log_file.read(self.size)
        self._file.seek((number - 1) * self.size)
        return self._file.read(self.size).ljust(self.size, b"\0")

    def is_cut_off(self, number: int) -> bool:
        """Return whether a page is not wholly there."""
        return number not in self.log.pages and number * self.size > self._length

    def declared(self) -> int:
        """Return how many pages the header says there are."""
        (count,) = struct.unpack_from(">I", self.read(1), 28) if self.count else (0,)
        return int(count)

    def free(self) -> tuple[set[int], bool]:
        """Return the pages that are in no use, and whether the list of them is sound."""
        found: set[int] = set()
        header = self.read(1) if self.count else b""
        if not header.startswith(_MAGIC):
            return found, False
        trunk, expected = struct.unpack_from(">II", header, 32)
        while trunk:
            if trunk in found or not 1 < trunk <= self.count:
                return found, False
            found.add(trunk)
            data = self.read(trunk)
            trunk, leaves = struct.unpack_from(">II", data)
            if leaves > self.size // 4 - 2:
                return found, False
            listed = struct.unpack_from(f">{leaves}I", data, 8)
            if not all(1 < leaf <= self.count for leaf in listed):
                return found, False
            found.update(listed)
        return found, len(found) == expected

    # -- cells

    def cells(self, page: Page) -> Iterator[Cell | DamageError]:
        """Yield a page's cells, or what is wrong with one."""
        used = 0
        seen: set[int] = set()
        for place in page.pointers:
            try:
                cell, size = self._cell(page, place)
            except (DamageError, IndexError, struct.error, UnicodeDecodeError) as error:
                used = -len(page.data)  # nothing can be said of the whole
                yield DamageError(f"a row of it cannot be read: {error}")
                continue
            used += max(size, 4)
            if place not in seen:
                yield cell
            seen.add(place)
        if used >= 0 and not page.accounts_for(used):
            yield DamageError("its rows do not make up the whole page")

    def _cell(self, page: Page, place: int) -> tuple[Cell, int]:
        data, start = page.data, place
        child = rowid = None
        if page.kind in (INNER, INNER_INDEX):
            (child,) = struct.unpack_from(">I", data, place)
            place += 4
        if page.kind == INNER:
            rowid, place = _varint(data, place)
            return Cell(child, rowid, None, ()), place - start
        length, place = _varint(data, place)
        if page.kind == LEAF:
            rowid, place = _varint(data, place)
            rowid -= (rowid >> 63) << 64
        if not 0 < length <= self.count * self.size:
            raise DamageError(f"it says to be of {length} bytes")
        local = self._local(length, index=page.is_index)
        payload, end = data[place : place + local], place + local
        pages: tuple[int, ...] = ()
        if local < length:
            (first,) = struct.unpack_from(">I", data, end)
            rest, pages = self._overflow(first, length - local)
            payload, end = payload + rest, end + 4
        if end > len(data):
            raise DamageError("it does not end in its page")
        return Cell(child, rowid, _row(payload), pages), end - start

    def _local(self, length: int, *, index: bool) -> int:
        """Return how many bytes of a row stand in its own page."""
        usable = self.size
        most = (usable - 12) * 64 // 255 - 23 if index else usable - 35
        if length <= most:
            return length
        least = (usable - 12) * 32 // 255 - 23
        fitting = least + (length - least) % (usable - 4)
        return fitting if fitting <= most else least

    def _overflow(self, first: int, length: int) -> tuple[bytes, tuple[int, ...]]:
        parts, pages, left, number = [], [], length, first
        while left > 0:
            if self.is_cut_off(number):
                raise DamageError(f"it goes on in page {number}, which is cut off")
            data = self.read(number)
            parts.append(data[4 : 4 + left])
            pages.append(number)
            left -= self.size - 4
            (number,) = struct.unpack_from(">I", data)
        return b"".join(parts), tuple(pages)

    # -- the shape of the file

    def _find_size(self) -> int:
        """Return how large a page is: where most pages begin that look like one."""
        said = [4_096]
        self._file.seek(16)
        said.insert(0, int.from_bytes(self._file.read(2), "big"))
        if self._log_file is not None:
            self._log_file.seek(8)
            said.insert(1, int.from_bytes(self._log_file.read(4), "big"))
            self._log_file.seek(0)
        sizes = [one for one in (*said, *_SIZES) if one in _SIZES]
        size: int = max(sizes, key=self._plausible)  # of equals the first
        return size

    def _plausible(self, size: int) -> int:
        found = 0
        for number in range(1, min(self._length, _SAMPLE) // size + 1):
            self._file.seek((number - 1) * size)
            with suppress(DamageError):
                found += bool(Page(self._file.read(size), number).pointers)
        return found


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return an integer of one to nine bytes, and where it ends."""
    value = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    return value << 8 | data[place], place + 1


def _row(payload: bytes) -> tuple[Value, ...]:
    """Return the values of a row.

    Raises:
        DamageError: It is not as long as its header says.
    """
    end, place = _varint(payload, 0)
    codes = []
    while place < end:
        code, place = _varint(payload, place)
        codes.append(code)
    values: list[Value] = []
    at = end
    for code in codes:
        value, at = _value(payload, at, code)
        values.append(value)
    if place != end or at != len(payload):
        raise DamageError("it is not as long as it says")
    return tuple(values)


def _value(data: bytes, place: int, code: int) -> tuple[Value, int]:
    if code == 0:
        return None, place
    if code in (_ZERO, _ONE):
        return code - _ZERO, place
    if code in (10, 11):
        raise DamageError(f"a value has the code {code}, which nothing has")
    size = _INTEGERS.get(code, 8) if code <= _FLOAT else (code - _BLOB) // 2
    end = place + size
    if end > len(data):
        raise DamageError("a value of it is longer than the row")
    raw = data[place:end]
    if code == _FLOAT:
        (number,) = struct.unpack(">d", raw)
        return float(number), end
    if code < _FLOAT:
        return int.from_bytes(raw, "big", signed=True), end
    return (raw if code % 2 == 0 else raw.decode()), end
