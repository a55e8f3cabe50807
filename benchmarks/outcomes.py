"""What arms of an experiment found of what they should have, and how that is printed."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from benchmarks.intervals import bootstrap, wilson


@dataclass(slots=True)
class Outcomes:
    """The share of the right answers that each question got, for each arm.

    Attributes:
        shares: By arm, in the order of the questions.
        groups: Which kind each question is of; none where they are all of one.
        bases: By arm, the arm it is compared with.
        about: What else there is to say.
    """

    shares: dict[str, list[float]] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    bases: dict[str, str] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def add(self, arm: str, found: Set[Any], right: Set[Any]) -> None:
        """Count one more question."""
        self.shares.setdefault(arm, []).append(len(found & right) / len(right))

    def as_json(self) -> dict[str, Any]:
        """Return means, complete answers and gains over the base, with intervals."""
        return {
            **self.about,
            "questions": len(next(iter(self.shares.values()))),
            "arms": {arm: self._arm(arm) for arm in self.shares},
            "groups": {group: self._group(group) for group in sorted(set(self.groups))},
        }

    def _group(self, group: str) -> dict[str, Any]:
        places = [place for place, one in enumerate(self.groups) if one == group]
        means = {
            arm: fmean(shares[place] for place in places) for arm, shares in self.shares.items()
        }
        return {"questions": len(places), "recall": means}

    def _arm(self, arm: str) -> dict[str, Any]:
        shares = self.shares[arm]
        told: dict[str, Any] = {
            "recall": bootstrap(shares),
            "complete": wilson(sum(share == 1 for share in shares), len(shares)),
        }
        if arm in self.bases:
            base = self.shares[self.bases[arm]]
            gains = [one - other for one, other in zip(shares, base, strict=True)]
            told |= {
                "base": self.bases[arm],
                "gain": bootstrap(gains),
                "better": sum(gain > 0 for gain in gains),
                "worse": sum(gain < 0 for gain in gains),
            }
        return told


def print_outcomes(title: str, columns: Mapping[str, Outcomes]) -> None:
    """Print a table in Markdown: a row an arm, a column a collection.

    A cell has the mean share of right answers in percent with its interval, and the share of
    questions that got all of them; then the gain over the arm it is compared with, in points,
    with its interval, and how many questions are better and worse.
    """
    told = {name: outcomes.as_json() for name, outcomes in columns.items()}
    print(f"\n{title}\n")
    print_head("arm", *(f"{name} ({one['questions']})" for name, one in told.items()))
    for arm in next(iter(told.values()))["arms"]:
        print_row(arm, *(_cell(one["arms"][arm]) for one in told.values()))
    groups = {
        f"{name}, {group} ({one['questions']})": one["recall"]
        for name, outcomes in told.items()
        for group, one in outcomes["groups"].items()
    }
    if groups:
        _print_means(groups)
    for name, outcomes in columns.items():
        if outcomes.about:
            print(f"\n{name}: {', '.join(f'{n} {what}' for what, n in outcomes.about.items())}")


def print_head(*cells: object) -> None:
    """Print the head of a table in Markdown."""
    print_row(*cells)
    print("|" + "---|" * len(cells))


def print_row(*cells: object) -> None:
    """Print one row of a table in Markdown."""
    print("| " + " | ".join(map(str, cells)) + " |")


def _print_means(columns: Mapping[str, Mapping[str, float]]) -> None:
    print()
    print_head("recall", *columns)
    for arm in next(iter(columns.values())):
        print_row(arm, *(f"{100 * one[arm]:.1f}" for one in columns.values()))


def _cell(arm: Mapping[str, Any]) -> str:
    value, low, high = (100 * one for one in arm["recall"])
    text = f"{value:.1f} [{low:.0f}, {high:.0f}], all {100 * arm['complete'].value:.0f}"
    if "base" not in arm:
        return text
    gain, least, most = (100 * one for one in arm["gain"])
    return f"{text}; {gain:+.1f} [{least:+.0f}, {most:+.0f}], {arm['better']}:{arm['worse']}"
