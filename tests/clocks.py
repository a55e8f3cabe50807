"""A clock that stands still until a test moves it."""

from plugmem_core.clock import Instant, to_ms

START = 1_714_564_800_000  # 2024-05-01T12:00:00Z
SECOND = 1_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


class Clock:
    """Tells the instant it was set to, in Unix milliseconds."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def set(self, instant: Instant) -> int:
        """Move to an instant, back too; returns it."""
        self.now = to_ms(instant, "instant")
        return self.now

    def tick(self, milliseconds: int = SECOND) -> int:
        """Move on; returns the new instant."""
        self.now += milliseconds
        return self.now
