"""How long work tells how far it has come."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int | None], object]
"""Called with how much is done and how much there is, `None` when nobody knows."""

STEP = 1_024


def silent(done: int, total: int | None) -> None:
    """Report progress to nobody."""


class Counted:
    """Tells a callback of every 1,024th thing done, and of the end.

    Args:
        progress: The callback.
        total: How many there are to do.
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def one_more(self, _: object = None) -> None:
        """Count one thing done."""
        self._done += 1
        if self._done % STEP == 0:
            self._progress(self._done, self._total)

    def end(self) -> None:
        """Tell that all is done, if anything was to do."""
        if self._total:
            self._progress(self._total, self._total)
