"""How long an embedder that failed is left alone, so that not every call waits for it in vain."""

from plugmem_core.clock import Clock


class Pause:
    """None after a success, and after each failure in a row twice as long as before.

    Args:
        clock: Tells now, in Unix milliseconds.
        first: Seconds after the first failure; 0 for no pause ever.
        longest: The most seconds.

    Attributes:
        failures: How many there were in a row.
        reason: The last of them.
    """

    def __init__(self, clock: Clock, first: float, longest: float) -> None:
        self._clock = clock
        self._first = first
        self._longest = longest
        self._begun = 0
        self.failures = 0
        self.reason = ""

    @property
    def left(self) -> float:
        """Seconds until the embedder may be asked again; 0 when it may be now."""
        if not self.failures:
            return 0.0
        passed = (self._clock() - self._begun) / 1000
        # A clock that was set back says nothing about what has passed.
        return max(0.0, self._length - passed) if passed >= 0 else 0.0

    @property
    def _length(self) -> float:
        # No double holds 2 to the 1,024th.
        return min(self._first * 2.0 ** min(self.failures - 1, 1_000), self._longest)

    def begin(self, known: int, error: Exception) -> None:
        """Note a failure.

        Args:
            known: The `failures` when the embedder was asked: of calls that fail at the same
                time, one counts.
            error: What was raised.
        """
        if known == self.failures:
            self.failures += 1
            self._begun = self._clock()
            self.reason = str(error) or type(error).__name__

    def end(self) -> None:
        """Note a success, or that somebody wants the embedder to be asked in any case."""
        self.failures = 0
