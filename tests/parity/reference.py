"""The reference engine, seen from the test: a child process with a frozen clock."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from .operations import Operation

HERE = Path(__file__).parent
RECALL_KNOBS = {"w_vector": "w_vec", "similar_cosine": "similar_cos"}
"""Our name of a knob, and the reference's where it is another one."""


class ReferenceFailure(Exception):  # noqa: N818 - it is not an error of the engine under test
    """The reference's process ended, or raised something the test does not expect."""


def compile_frozen_clock(directory: Path) -> Path:
    """Return a library to preload, built with the system's C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ReferenceFailure("no C compiler (cc, gcc, clang) to build the frozen clock with")
    library = directory / "frozen_clock.so"
    source = HERE / "frozen_clock.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


class Reference:
    """The reference engine; `open` starts an empty memory, `apply` does one operation."""

    def __init__(self, frozen_clock: Path, directory: Path) -> None:
        self._directory = directory
        self._opened = 0
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PLUGMEM_")}
        self._process = subprocess.Popen(
            [sys.executable, "-P", HERE / "reference_child.py"],
            env=inherited | {"LD_PRELOAD": str(frozen_clock)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._process.__exit__(None, None, None)  # closes the pipes, waits

    def open(self, *, dim: int, knobs: Mapping[str, float]) -> None:
        """Start an empty memory; the one before is closed."""
        if self._opened:
            self._ask({"verb": "close", "at": 0})
        home = self._directory / f"reference-{self._opened}"
        home.mkdir()
        config = home / "config.toml"
        config.write_text(_config(knobs), encoding="utf-8")
        self._opened += 1
        path = str(home / "memory.plugmem")
        self._ask({"verb": "open", "at": 0, "path": path, "dim": dim, "config": str(config)})

    def apply(self, operation: Operation) -> Any:
        """Do one operation and return what came back, as plain JSON values."""
        verb = type(operation).__name__
        return self._ask({"verb": verb} | dataclasses.asdict(operation))

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reason is on its stderr
        if not (line := self._process.stdout.readline()):
            raise ReferenceFailure(self._process.stderr.read() + f"\nat {request}")
        return json.loads(line)


def _config(knobs: Mapping[str, float]) -> str:
    recall = "".join(f"{RECALL_KNOBS.get(name, name)} = {knobs[name]}\n" for name in knobs)
    # Nothing here needs to survive a power cut, and a checkpoint would only cost time.
    return (
        "[maintenance]\n"
        'fsync = "on_snapshot"\n'
        "snapshot_every_ops = 0\n"
        "snapshot_journal_bytes = 0\n"
        f"[recall]\n{recall}"
    )
