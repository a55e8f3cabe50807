"""A memory in another process: what is asked of it here runs there.

Run as a program, this is that process: it answers pickled questions on its standard input
until that ends.
"""

import logging
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plugmem_core import HashingEmbedder, Memory, MemoryConfig, PlugmemError

Call: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A verb, its arguments and its options."""

DEADLOCK = 120
"""Seconds after which a process is taken to be stuck; none needs a tenth of it."""

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
"""In which another process can import the tests."""


class World:
    """What memories get from outside: the time, and an embedder that may be down."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.embedder_works = True
        self.embedder = FailingEmbedder(self)

    def clock(self) -> int:
        return self.now

    def open(self, path: Path, *, embeds: bool, **options: Any) -> Memory:
        """Open a memory of this world."""
        return Memory.open(
            path,
            config=MemoryConfig(
                durability="normal", busy_timeout=60, flat_to_hnsw=20, embedder_wait=0
            ),
            embedder=self.embedder if embeds else None,
            clock=self.clock,
            **options,
        )


class FailingEmbedder(HashingEmbedder):
    """Embeds while its world lets it."""

    def __init__(self, world: World) -> None:
        super().__init__(32)
        self._world = world

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        if not self._world.embedder_works:
            raise ConnectionError("the embedder is down")
        return super().embed_documents(texts)


def embedded(text: str) -> tuple[float, ...]:
    """Return the vector that the embedder makes of a text."""
    return tuple(HashingEmbedder(32).embed_query(text).tolist())


def perform(memory: Memory, verb: str, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Call a verb of a memory, or several of them in one transaction."""
    if verb == "transaction":
        [calls] = args
        with memory.transaction():
            for call in calls:
                perform(memory, *call)
        return None
    if verb == "vector_space":
        return memory.vector_space
    return getattr(memory, verb)(*args, **options)


class Elsewhere:
    """A process that holds at most one memory open.

    Args:
        launcher: A program that runs the one its arguments name, in conditions of its own.
    """

    def __init__(self, launcher: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [*launcher, sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, *question: Any) -> Any:
        """Send a question and return the answer, or raise the error that came of it."""
        pickle.dump(question, self._process.stdin)
        self._process.stdin.flush()
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, PlugmemError):
            raise answer
        return answer

    def stop(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(timeout=DEADLOCK) == 0


class Remote:
    """The memory of another process; its verbs are called like those of one here."""

    def __init__(
        self, elsewhere: Elsewhere, world: World, path: Path, *, embeds: bool, **options: Any
    ) -> None:
        self._elsewhere, self._world = elsewhere, world
        elsewhere.ask("open", world.now, path, embeds, options)

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            world = self._world
            return self._elsewhere.ask(
                "call", world.now, world.embedder_works, (verb, args, options)
            )

        return call

    def close(self) -> None:
        """Close the memory; the process waits for the next."""
        self._elsewhere.ask("close")


class _Here:
    """The end of `Elsewhere` in the other process."""

    def __init__(self) -> None:
        self._world = World(0)
        self._memory: Memory | None = None

    def answer(self, question: tuple[Any, ...]) -> Any:
        try:
            return getattr(self, f"_{question[0]}")(*question[1:])
        except PlugmemError as error:
            return error

    def _open(self, now: int, path: Path, embeds: bool, options: dict[str, Any]) -> None:
        self._world.now = now
        self._memory = self._world.open(path, embeds=embeds, **options)

    def _call(self, now: int, works: bool, call: Call) -> Any:
        self._world.now, self._world.embedder_works = now, works
        assert self._memory is not None
        return perform(self._memory, *call)

    def _close(self) -> None:
        self._memory.close()

    def _limit_files(self, size: int | None) -> None:
        """Let no file grow over so many bytes."""
        unlimited = resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited if size is None else size, unlimited))

    def _fill_disk(self, folder: Path, free: int | None) -> None:
        """Leave so many bytes on the disk of a folder."""
        ballast = folder / "ballast"
        ballast.unlink(missing_ok=True)
        if free is not None:
            disk = os.statvfs(folder)
            ballast.write_bytes(bytes(disk.f_bavail * disk.f_frsize - free))


def _serve() -> None:
    logging.disable()  # an embedder that is down is no news here
    here = _Here()
    while True:
        try:
            question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(here.answer(question), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
