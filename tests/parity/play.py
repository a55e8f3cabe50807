"""Playing a history on both engines, and cutting a failing one down to what matters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .comparison import disagreement, is_one_ulp_swap, without_inversion
from .generator import Author
from .operations import Operation


class Engine(Protocol):
    """What a history is played on."""

    def open(self, *, dim: int, knobs: Mapping[str, float]) -> None: ...

    def apply(self, operation: Operation) -> Any: ...


@dataclass(slots=True)
class Mismatch(Exception):  # noqa: N818 - not an error of the engine, a finding about it
    """The step at which two engines part; the last of `steps`."""

    steps: list[Operation]
    expected: Any
    actual: Any
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.problem}\n{_listing(self.steps)}"
            f"\nexpected: {self.expected}\ngot:      {self.actual}"
        )


@dataclass(slots=True)
class Game:
    """Two engines side by side, of which the first is right."""

    reference: Engine
    ours: Engine
    swaps: int = field(init=False, default=0)

    def play(self, author: Author, *, queries: int, facts: int = 0) -> None:
        """Play the author's history until so many queries agreed.

        Raises:
            Mismatch: They did not; the history is cut down first.
        """
        self.follow(
            author.history(queries=queries, facts=facts),
            dim=author.profile.dim,
            knobs=author.knobs(),
            learn=author.learn,
        )

    def follow(
        self,
        history: Iterable[Operation],
        *,
        dim: int,
        knobs: Mapping[str, float],
        learn: Callable[[Operation, Any], None] = lambda step, outcome: None,
    ) -> None:
        """Take the steps of a history; `learn` hears of each outcome before the next one.

        Raises:
            Mismatch: They did not agree; the history is cut down first.
        """
        self._open(dim, knobs)
        steps: list[Operation] = []
        try:
            for step in history:
                steps.append(step)
                learn(step, self._compare(steps))
        except Mismatch as mismatch:
            raise self._shrunk(mismatch, dim, knobs) from None
        except Exception as error:
            error.add_note(_listing(steps))
            raise

    def _open(self, dim: int, knobs: Mapping[str, float]) -> None:
        self.reference.open(dim=dim, knobs=knobs)
        self.ours.open(dim=dim, knobs=knobs)

    def _compare(self, steps: list[Operation]) -> Any:
        expected = without_inversion(self.reference.apply(steps[-1]))
        actual = self.ours.apply(steps[-1])
        if problem := disagreement(expected, actual):
            if not is_one_ulp_swap(expected, actual):
                raise Mismatch(list(steps), expected, actual, problem)
            self.swaps += 1
        return expected

    def _shrunk(self, mismatch: Mismatch, dim: int, knobs: Mapping[str, float]) -> Mismatch:
        """Leave out steps, many at first, as long as the last one still disagrees."""
        size = len(mismatch.steps) // 2
        while size:
            start = 0
            while start < len(mismatch.steps) - 1:
                *before, last = mismatch.steps
                kept = [*before[:start], *before[start + size :], last]
                if smaller := self._replay(kept, dim, knobs):
                    mismatch = smaller
                else:
                    start += size
            size //= 2
        return mismatch

    def _replay(
        self, steps: list[Operation], dim: int, knobs: Mapping[str, float]
    ) -> Mismatch | None:
        """Return the mismatch if the last step, and none before it, disagrees."""
        self._open(dim, knobs)
        for count in range(1, len(steps) + 1):
            try:
                self._compare(steps[:count])
            except Mismatch as mismatch:
                return mismatch if count == len(steps) else None
        return None


def _listing(steps: list[Operation]) -> str:
    *before, last = steps
    return "\n".join(["after:", *(f"    {step}," for step in before), f"at: {last}"])
