"""The memory of a process of its own: what a peer adds to it, and the most it ever had."""

import json
import subprocess
import sys
from pathlib import Path

MEASURE = """
import json, sys
from pathlib import Path
from benchmarks.speed.resources import resident
name, folder, dim = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
from benchmarks.speed import peers
import numpy
import {package}
before = resident("VmRSS")
peer = peers.ENGINES[name](folder, dim)
print(json.dumps([resident("VmRSS") - before, resident("VmHWM")]))
"""
PACKAGES = {"ours": "plugmem_core", "reference": "plugmem"}


def added_memory(name: str, folder: Path, dim: int) -> tuple[float, float]:
    """Open an engine's files in a new process.

    Args:
        name: `"ours"` or `"reference"`.
        folder: Of its files, which nobody else has open.
        dim: Components of its vectors.

    Returns:
        The KiB that opening added to the process, and the most KiB it ever had.
    """
    code = MEASURE.format(package=PACKAGES[name])
    done = subprocess.run(
        [sys.executable, "-c", code, name, str(folder), str(dim)],
        check=True,
        capture_output=True,
        text=True,
    )
    added, peak = json.loads(done.stdout.splitlines()[-1])
    return float(added), float(peak)


def resident(field: str) -> int:
    """Return a field of this process's status, in KiB; 0 where there is no such file."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)
