"""What the tests of durability tried, told at the end of a run."""

from collections.abc import Mapping

TOLD: list[str] = []


def tell(test: str, counts: Mapping[str, int]) -> None:
    """Add a line to the summary of the run."""
    TOLD.append(f"{test}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
