"""A process that goes over to another model, and may die on the way.

Its arguments are the path and at which of its moments to die, as in `interrupting.py`; it prints
how many there were if it lives.
"""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from durability.interrupting import OURS
from plugmem_core import HashingEmbedder, Memory

COUNT, BATCH = 40, 7
OLD, NEW = 8, 16
"""Components of the former and of the new vectors."""


def text(number: int) -> str:
    return f"fact {number} says {number * number}"


class Mortal:
    """Dies when so many functions have been called.

    Args:
        left: How many.
    """

    def __init__(self, left: int) -> None:
        self.left = left

    def count(self, frame: FrameType, event: str, _: Any) -> None:
        """Count a call, or the return of a function written in C, for `sys.setprofile`."""
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(OURS):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def work(path: Path, moment: int) -> None:
    """Go over to the new model."""
    mortal = Mortal(moment)
    with Memory.open(path) as memory:
        sys.setprofile(mortal.count)
        memory.reembed(HashingEmbedder(NEW), batch=BATCH)
        sys.setprofile(None)
    print(moment - mortal.left)


if __name__ == "__main__":
    work(Path(sys.argv[1]), int(sys.argv[2]))
