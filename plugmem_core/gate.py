"""A lock that many readers share, or one writer has alone."""

from threading import Condition, Lock
from types import TracebackType


class Gate:
    """`with gate:` shares it; `with gate.alone:` waits until nobody else is inside.

    A waiting writer goes before new readers. Not reentrant. Inside it nobody may wait
    for the store: the order is always store first, gate second.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._free = Condition(self._lock)
        self._readers = 0
        self._writing = False
        self._waiting = 0
        self.alone = _Alone(self)

    def __enter__(self) -> None:
        with self._lock:
            while self._writing or self._waiting:
                self._free.wait()
            self._readers += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._readers -= 1
            if self._waiting and not self._readers:
                self._free.notify_all()

    def enter_alone(self) -> None:
        """Wait for everybody inside, and keep the others out."""
        with self._lock:
            self._waiting += 1
            try:
                while self._writing or self._readers:
                    self._free.wait()
                self._writing = True
            finally:
                self._waiting -= 1
                self._free.notify_all()

    def leave_alone(self) -> None:
        """Let the others in again."""
        with self._lock:
            self._writing = False
            self._free.notify_all()


class _Alone:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        self._gate.enter_alone()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._gate.leave_alone()
