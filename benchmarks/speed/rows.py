"""One line of the results: an operation, everybody's times, and whether the budget is kept."""

from typing import Any, NamedTuple

from benchmarks.speed.operations import Budget, budgets_of
from benchmarks.speed.timing import Times


class Row(NamedTuple):
    """What was measured of one operation.

    Attributes:
        name: The operation's.
        values: By peer: the median in µs, or a size in KiB.
        times: By peer, where percentiles were taken.
        verdicts: What the budgets say, each with whether it is kept.
    """

    name: str
    values: dict[str, float]
    times: dict[str, Times]
    verdicts: list[tuple[str, bool]]

    @property
    def ratio(self) -> float | None:
        """Ours over the reference."""
        if "reference" not in self.values:
            return None
        return self.values["ours"] / self.values["reference"]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        times = {name: one._asdict() for name, one in self.times.items()}
        return {**self._asdict(), "times": times, "ratio": self.ratio}


def timed(name: str, times: dict[str, Times], facts: int, dim: int) -> Row:
    """Return the row of an operation that was timed."""
    return judged(name, {peer: one.p50 for peer, one in times.items()}, times, facts, dim)


def judged(
    name: str, values: dict[str, float], times: dict[str, Times], facts: int, dim: int
) -> Row:
    """Return a row with the verdicts of the budgets for this size of corpus."""
    verdicts: list[tuple[str, bool]] = []
    for budget in budgets_of(name):
        meant = budget.facts == facts and budget.dim in (None, dim)
        if meant and budget.over in values:
            verdicts.append(_verdict(budget, values["ours"], values[budget.over], "p50"))
            if budget.p99:
                verdicts.append(_verdict(budget, times["ours"].p99, times[budget.over].p99, "p99"))
    return Row(name, values, times, verdicts)


def _verdict(budget: Budget, ours: float, theirs: float, what: str) -> tuple[str, bool]:
    if budget.microseconds:
        return f"+{ours - theirs:.1f} of {budget.ratio:g} µs", ours - theirs <= budget.ratio
    if budget.at_least:
        faster = theirs / ours
        return f"{faster:.0f} × faster than {budget.over}, {budget.ratio:g} wanted", (
            faster >= budget.ratio
        )
    return f"{what} {ours / theirs:.2f} of {budget.ratio:g}", ours / theirs <= budget.ratio
