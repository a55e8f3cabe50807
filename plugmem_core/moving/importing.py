"""Bringing a file of lines into a memory, batch by batch."""

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import IO, NoReturn

from plugmem_core.engine import Engine
from plugmem_core.errors import InvalidInputError, PlugmemError, TooLargeError, WrongTypeError
from plugmem_core.model import Namespace
from plugmem_core.moving.reading import LineReader, read_header
from plugmem_core.moving.reports import TransferReport
from plugmem_core.progress import Progress
from plugmem_core.store.arrivals import Arrivals
from plugmem_core.store.passage import Passage, advance, begin, end, go_on, interrupted, settled
from plugmem_core.store.transfer import Record

BATCH = 1_000
"""Most lines of one transaction."""

BATCH_BYTES = 16_777_216
"""Bytes after which a transaction takes no more lines."""

_CHUNK = 1 << 20


class Importer:
    """One import.

    Args:
        engine: Of the memory.
        file: Of bytes, at its beginning, seekable.
        into: Where what was exported is to stand; `None` leaves it in its place.
        progress: Called after each transaction.
    """

    def __init__(
        self, engine: Engine, file: IO[bytes], into: Namespace | None, progress: Progress
    ) -> None:
        self._engine = engine
        self._file = file
        self._progress = progress
        config = engine.config
        # Escapes may double what is stored; names, tags and a vector come on top of it.
        self._longest = 2 * (config.max_value + config.max_text + config.max_metadata) + 4 * _CHUNK
        self._target = json.dumps(into).encode()
        self._start = self._position()
        self._number = 0
        self._bytes = 0
        self._hash = blake2b(self._target, digest_size=16)
        first = self._next_line()
        if first is None:
            raise InvalidInputError("the file is empty; give what an export has written")
        try:
            header = read_header(first)
            self._reader = LineReader(
                header, config, into, embeds=engine.vectorizer.embedder is not None
            )
        except PlugmemError as error:
            self._fail(1, error)
        self._total = None if header is None else header.records
        self._passage = self._resumed()
        if self._passage is None and header is None:
            self._go_to(0)  # the first line is a fact already

    def run(self) -> TransferReport:
        """Write what is still to be written.

        Raises:
            InvalidInputError: A line cannot be read, or the file ends too soon; what came
                before its batch is written, and a further call goes on there.
        """
        while True:
            last = dict(self._passage.last) if self._passage else {}
            batch = list(self._batch(last))
            ended = len(batch) < BATCH and self._ended
            counts = self._write(batch, last, ended=ended)
            self._progress(_total(counts), self._total)
            if ended:
                return TransferReport.of(counts)

    # -- reading

    def _batch(self, last: dict[str, int]) -> Iterator[tuple[int, Record]]:
        start = self._bytes
        for _ in range(BATCH):
            raw = self._next_line()
            if raw is None:
                return
            try:
                yield self._number, self._reader.record(raw, last)
            except PlugmemError as error:
                self._fail(self._number, error)
            if self._bytes - start > BATCH_BYTES:
                return

    def _next_line(self) -> bytes | None:
        """Return the next line that is not blank; `None` at the end."""
        self._ended = False
        while True:
            raw = self._file.readline(self._longest + 1)
            if not isinstance(raw, bytes):
                raise WrongTypeError(f"the file gives {type(raw).__name__}; open it with mode 'rb'")
            if not raw:
                self._ended = True
                return None
            self._number += 1
            if len(raw) > self._longest:
                self._fail(
                    self._number,
                    TooLargeError(f"the line is longer than {self._longest} bytes; split it"),
                )
            self._bytes += len(raw)
            self._hash.update(raw)
            if not raw.isspace():
                return raw

    # -- going on

    def _resumed(self) -> Passage | None:
        """Return the import that was interrupted, if it was of this file; else begin anew."""
        passage = interrupted(self._engine.store)
        if passage is None:
            return None
        self._go_to(0)
        left = passage.bytes
        while left and (chunk := self._file.read(min(left, _CHUNK))):
            self._hash.update(chunk)
            left -= len(chunk)
        if left == 0 and self._hash.hexdigest() == passage.digest:
            self._bytes, self._number = passage.bytes, passage.lines
            return passage
        self._go_to(0)
        if self._reader.extent is not None:
            self._next_line()
        return None

    def _position(self) -> int:
        try:
            return self._file.tell()
        except (AttributeError, OSError) as error:
            raise WrongTypeError(
                "the file cannot be read from its beginning again, which an import that goes on "
                "has to; save it and give its path"
            ) from error

    def _go_to(self, place: int) -> None:
        self._file.seek(self._start + place)
        self._number = self._bytes = 0
        self._hash = blake2b(self._target, digest_size=16)

    # -- writing

    def _write(
        self, batch: list[tuple[int, Record]], last: dict[str, int], *, ended: bool
    ) -> dict[str, int]:
        extent = self._reader.extent
        with self._engine.writing() as transaction:
            before = self._passage
            begun = begin(transaction, extent) if before is None else go_on(transaction, before)
            if extent is not None and extent.dim:
                self._engine.vectorizer.check_space(transaction.state)
            arrivals = Arrivals(transaction, begun)
            counts = dict(begun.counts)
            for number, record in batch:
                try:
                    new = arrivals.put(record)
                except PlugmemError as error:
                    self._fail(number, error)
                kind = type(record).__name__
                counts[kind] = counts.get(kind, 0) + 1
                counts["known"] = counts.get("known", 0) + (not new)
            self._check_number(_total(counts), ended=ended)
            if ended:
                end(transaction, begun, extent)
            after = replace(
                settled(transaction, begun),
                digest=self._hash.hexdigest(),
                bytes=self._bytes,
                lines=self._number,
                last=last,
                counts=counts,
            )
            advance(transaction, before, None if ended else after)
        self._passage = after
        return counts

    def _check_number(self, came: int, *, ended: bool) -> None:
        expected = self._total
        if expected is None or came == expected or (came < expected and not ended):
            return
        if came < expected:
            raise InvalidInputError(
                f"the file ends after {came} of {expected} records; give the whole file, and the "
                "import goes on where it stopped"
            )
        raise InvalidInputError(
            f"line {self._number}: the file goes on after the {expected} records it says to have"
        )

    @staticmethod
    def _fail(number: int, error: PlugmemError) -> NoReturn:
        raise type(error)(f"line {number}: {error}") from error


def _total(counts: dict[str, int]) -> int:
    return sum(counts.values()) - counts.get("known", 0)
