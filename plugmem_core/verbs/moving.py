"""Moving data: copies of the file, and lines of JSON out of it and into it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from plugmem_core.engine import Engine
from plugmem_core.errors import StorageError
from plugmem_core.index import remove_checkpoint
from plugmem_core.inputs import check_namespace
from plugmem_core.model import Namespace
from plugmem_core.moving import TransferReport
from plugmem_core.moving.exporting import export
from plugmem_core.moving.files import check_binary, check_path, is_database, refuse_own, staged
from plugmem_core.moving.importing import Importer
from plugmem_core.progress import Progress, silent
from plugmem_core.store.copying import copy_to, release
from plugmem_core.verbs.base import Verbs, twin


class MovingVerbs(Verbs):
    """Verbs that carry a memory from one place to another."""

    def backup(self, path: str | Path, *, progress: Progress | None = None) -> None:
        """Copy the memory as of now into another file, while others read and write it.

        The copy is a memory like any other; it makes its index when it is opened first. It
        appears in one step, so that a backup that fails leaves what was there before.

        Args:
            path: The new file, or an older backup that nobody has open, which is replaced.
            progress: Called with the pages copied and those there are.

        Raises:
            InvalidInputError: `path` is where a file of this memory belongs.
            StorageError: There is something else than a memory, or it cannot be written.
            BusyError: The memory that is to be replaced is open.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("the gate is green")
        >>> memory.backup("gate.backup")
        >>> with Memory.open("gate.backup") as copy:
        ...     copy.recall("gate").facts[0].text
        'the gate is green'
        """
        target = check_path(path, "path")
        engine = self._outside("backup")
        refuse_own(target, engine.store.path, "path")
        with staged(target) as beside:
            if target.exists():
                release(target, engine.config.busy_timeout)
            copy_to(engine.store, beside, progress or silent)
            remove_checkpoint(target)  # of the backup that is replaced

    def export_jsonl(
        self,
        path_or_file: str | Path | IO[bytes],
        *,
        namespace: Namespace = (),
        progress: Progress | None = None,
    ) -> TransferReport:
        """Write everything that a namespace sees as lines of JSON.

        Facts with all their versions, both clocks, expiry, keys, tags, metadata and vectors;
        entities with all their names; every version of edges; values by key. What is
        forgotten or expired stays behind, and its versions before and after join. The same
        memory gives the same bytes, also after an import into an empty one. The docstring
        of `plugmem_core.moving.lines` says what each line holds.

        Others may read and write meanwhile; the lines are as of the beginning.

        Args:
            path_or_file: A file, which appears in one step, or one opened for writing bytes.
            namespace: The scope; everything by default.
            progress: Called with the lines written and those there are.

        Returns:
            How much was written.

        Raises:
            InvalidInputError: The path is where a file of this memory belongs.
            StorageError: The path is that of a database, or it cannot be written.

        >>> import io
        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:", clock=lambda: 0)
        >>> _ = memory.remember("the gate is green")
        >>> file = io.BytesIO()
        >>> memory.export_jsonl(file).facts
        1
        >>> print(file.getvalue().decode().splitlines()[1])
        {"kind":"fact","id":0,"text":"the gate is green","recorded_at":0,"valid_from":0}
        """
        labels = check_namespace(namespace)
        engine = self._outside("export_jsonl")
        with _written(path_or_file, engine) as file:
            return export(engine, file, labels, progress or silent)

    def import_jsonl(
        self,
        path_or_file: str | Path | IO[bytes],
        *,
        namespace: Namespace | None = None,
        progress: Progress | None = None,
    ) -> TransferReport:
        """Bring in what `export_jsonl` wrote, or facts and edges of the reference engine.

        In a memory in which nothing was ever written, everything is as it was, with its ids.
        Otherwise facts and edges get new ones, and names lead to the entities that have them
        here. Facts and edges that are here already, with all that was said and when it was
        recorded, are not added again, even if they were forgotten here; if they have ended
        there, they end here. Where a key or an edge has something current here and there, what
        was recorded later holds, and the other ends where that begins. Values replace
        those under the same keys.

        A thousand lines are one transaction. After an error or a crash, what came before is
        written, and a call with the same file, mended from there on or not, goes on.

        Facts of the reference engine keep their instants. Its edges begin with the fact they
        follow from, or else now. With an embedder, `maintain` makes their vectors.

        Args:
            path_or_file: A file, or one opened for reading bytes, which can be sought.
            namespace: Where the exported namespace is to be here; its own place by default.
            progress: Called with the lines written and those there are, `None` if unknown.

        Returns:
            How much was in the file, and how much of that was known.

        Raises:
            InvalidInputError: A line cannot be read, or breaks a rule; the message has its
                number.
            VectorSpaceError: Its vectors are of another dimension or model than those here.
            ConflictError: Another import into this memory has begun meanwhile.

        >>> import io
        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> memory.import_jsonl(io.BytesIO(b'{"text":"the gate is green"}')).facts
        1
        >>> memory.recall("gate").facts[0].text
        'the gate is green'
        """
        into = None if namespace is None else check_namespace(namespace)
        engine = self._outside("import_jsonl")
        with _read(path_or_file) as file:
            return Importer(engine, file, into, progress or silent).run()

    abackup = twin(backup)
    aexport_jsonl = twin(export_jsonl)
    aimport_jsonl = twin(import_jsonl)


@contextmanager
def _written(path_or_file: str | Path | IO[bytes], engine: Engine) -> Iterator[IO[bytes]]:
    if not isinstance(path_or_file, str | Path):
        yield check_binary(path_or_file, "path_or_file", "wb")
        return
    path = check_path(path_or_file, "path_or_file")
    refuse_own(path, engine.store.path, "path_or_file")
    with staged(path) as beside:
        if path.exists() and is_database(path):
            raise StorageError(f"{path} is a database; give another path")
        with beside.open("wb") as file:
            yield file


@contextmanager
def _read(path_or_file: str | Path | IO[bytes]) -> Iterator[IO[bytes]]:
    if not isinstance(path_or_file, str | Path):
        yield check_binary(path_or_file, "path_or_file", "rb")
        return
    path = check_path(path_or_file, "path_or_file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}") from error
    with file:
        yield file
