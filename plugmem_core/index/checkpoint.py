"""The index saved beside the file, so that opening need not read every fact.

Layout: a magic, the length of a JSON header, the header, the sections it names
one after another, and a CRC-32 of all that. It is a cache: a checkpoint that is
damaged, of another version, of another file or of another past of this file is
ignored, and deleting it loses nothing. It is written beside its place, flushed,
and renamed over it, so a crash leaves the old one or the new one.
"""

import json
import logging
import mmap
import os
import struct
import time
import unicodedata
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hnswlib

from plugmem_core.index.index import Index
from plugmem_core.store import FileState
from plugmem_core.text import STEMMER_VERSION, TOKENIZER_VERSION

MAGIC = b"PLUGMEM\x01"
FORMAT = 5
ABANDONED = 3_600
"""Seconds after which nobody is taken to be writing a staged checkpoint any more."""
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")

logger = logging.getLogger(__name__)


def checkpoint_path(database: Path) -> Path:
    """Return where the checkpoint of a database stands."""
    return database.with_name(database.name + "-index")


def save(index: Index, database: Path, state: FileState, token: str) -> None:
    """Write the index of a database as its checkpoint.

    Args:
        index: In step with truth.
        database: The file it was derived from.
        state: Its counters.
        token: What the file will name as its checkpoint once this has returned.
    """
    sections = {name: part() for name, part in _savers(index).items()}
    header = {
        "format": FORMAT,
        "made": _made_with(index),
        "uuid": state.uuid,
        "token": token,
        "change": index.change,
        "dim": index.vectors.dim if index.vectors else 0,
        "covered": index.vectors.covered if index.vectors else 0,
        "sections": [[name, len(data)] for name, data in sections.items()],
    }
    encoded = json.dumps(header).encode()
    _replace(
        checkpoint_path(database), [MAGIC, _LENGTH.pack(len(encoded)), encoded, *sections.values()]
    )


def load(index: Index, database: Path, state: FileState) -> Index | None:
    """Fill an empty index from a checkpoint, if there is one that belongs to the file.

    It may be behind the file; the caller lets it catch up.

    Returns:
        The index; `None` without such a checkpoint, and the one given is to be thrown away.
    """
    if state.checkpoint is None:
        return None
    path = checkpoint_path(database)
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # Unmapped when the last view of it goes; closing it sooner fails while one is about.
        return _read(index, memoryview(data), state)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, struct.error) as error:
        logger.warning("checkpoint %s is not usable, the index is built anew: %s", path, error)
        return None


def _read(index: Index, view: memoryview, state: FileState) -> Index | None:
    body, checksum = view[: -_CHECKSUM.size], view[-_CHECKSUM.size :]
    if bytes(view[: len(MAGIC)]) != MAGIC or _CHECKSUM.unpack(checksum) != (zlib.crc32(body),):
        raise ValueError("it is damaged")
    start = len(MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack(view[len(MAGIC) : start])
    header = json.loads(bytes(view[start : start + length]))
    if not _belongs(header, state) or header["made"] != _made_with(index):
        return None
    sections: dict[str, memoryview] = {}
    at = start + length
    for name, size in header["sections"]:
        sections[name] = view[at : at + size]
        at += size
    if header["dim"]:
        index.vectors_of(header["dim"])
    for name, restore in _loaders(index).items():
        restore(sections[name])
    if "hnsw" in sections and index.vectors:
        index.vectors.attach(_load_graph(sections["hnsw"], header["dim"]), header["covered"])
    index.change, index.past = header["change"], header["uuid"]
    return index


def _made_with(index: Index) -> list[Any]:
    """Return what the index would be another without."""
    return [
        TOKENIZER_VERSION,
        unicodedata.unidata_version,
        STEMMER_VERSION,
        index.lexical.analyzer.language,
        index.sessions.key,
    ]


def _belongs(header: dict[str, Any], state: FileState) -> bool:
    return bool(
        header["format"] == FORMAT
        and header["uuid"] == state.uuid
        and header["token"] == state.checkpoint
        and header["change"] <= state.change
    )


def _savers(index: Index) -> dict[str, Callable[[], bytes]]:
    parts: dict[str, Callable[[], bytes]] = {
        "facts": index.facts.save,
        "postings": index.lexical.postings.save,
        "tag names": index.tags.names.save,
        "tags": index.tags.facts.save,
        "entities": index.entities.save,
        "graph": index.graph.save,
        "mentions": index.mentions.entities.save,
        "mentioned": index.mentions.facts.save,
        "session names": index.sessions.names.save,
        "turns": index.sessions.turns.save,
    }
    if index.vectors:
        parts["vectors"] = index.vectors.pool.save
        if index.vectors.graph:
            parts["hnsw"] = partial(_save_graph, index.vectors.graph)
    return parts


def _loaders(index: Index) -> dict[str, Callable[[memoryview], None]]:
    parts: dict[str, Callable[[memoryview], None]] = {
        "facts": index.facts.load,
        "postings": index.lexical.postings.load,
        "tag names": index.tags.names.load,
        "tags": index.tags.facts.load,
        "entities": index.entities.load,
        "graph": index.graph.load,
        "mentions": index.mentions.entities.load,
        "mentioned": index.mentions.facts.load,
        "session names": index.sessions.names.load,
        "turns": index.sessions.turns.load,
    }
    if index.vectors:
        parts["vectors"] = index.vectors.pool.load
    return parts


def _save_graph(graph: hnswlib.Index) -> bytes:
    # hnswlib reads and writes files only.
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        graph.save_index(str(path))
        return path.read_bytes()


def _load_graph(data: memoryview, dim: int) -> hnswlib.Index:
    graph = hnswlib.Index(space="cosine", dim=dim)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        path.write_bytes(data)
        graph.load_index(str(path))
    return graph


def remove(database: Path) -> None:
    """Remove the checkpoint of a database, and what anybody is about to make one of."""
    path = checkpoint_path(database)
    for one in (path, *path.parent.glob(f"{escape(path.name)}.*.tmp")):
        one.unlink(missing_ok=True)


def _replace(path: Path, parts: list[bytes]) -> None:
    """Put a file in its place in one step, its checksum appended."""
    _clear_away(path)
    staged = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    checksum = 0
    try:
        with staged.open("wb") as file:
            for part in parts:
                checksum = zlib.crc32(part, checksum)
                file.write(part)
            file.write(_CHECKSUM.pack(checksum))
            file.flush()
            os.fsync(file.fileno())
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)


def _clear_away(path: Path) -> None:
    """Remove what processes that died while saving have left, but nothing recent."""
    for staged in path.parent.glob(f"{escape(path.name)}.*.tmp"):
        with suppress(OSError):  # another process was faster
            if time.time() - staged.stat().st_mtime > ABANDONED:
                staged.unlink()
