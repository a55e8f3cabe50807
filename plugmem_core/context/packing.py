"""Which chunks fit into the budget: greedily, in one order, without going back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

JOINER = "\n\n"
JOINER_TOKENS = 1

Count: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Parcel:
    """A fragment to pack.

    Attributes:
        place: Its place in the request.
        critical: Packed first.
        priority: Then, higher ones first.
        cached: Then, those of the stable prefix.
        relevance: Then, higher ones; of no account in the prefix, which must not depend on the
            query.
        chunks: Its text; an image has one.
        image_tokens: What its image costs.
    """

    place: int
    critical: bool
    priority: int
    cached: bool
    relevance: float
    chunks: Sequence[str]
    image_tokens: int = 0

    @property
    def rank(self) -> tuple[bool, int, bool, float, int]:
        """What parcels are sorted by."""
        relevance = 0.0 if self.cached else self.relevance
        return (not self.critical, -self.priority, not self.cached, -relevance, self.place)


def pack(parcels: Sequence[Parcel], budget: int, count: Count) -> dict[int, int]:
    """Return how many leading chunks of each parcel fit, by place.

    Each chunk costs its tokens, and the first of a parcel one more for the blank line that
    joins it. At the first that does not fit, the parcel ends and the next one is tried.

    Args:
        parcels: In any order.
        budget: Tokens that may be used.
        count: Tells the tokens of a text.
    """
    taken = {}
    for parcel in sorted(parcels, key=lambda parcel: parcel.rank):
        fitting = 0
        while fitting < len(parcel.chunks):
            cost = _cost(parcel, fitting, count)
            if cost > budget:
                break
            budget -= cost
            fitting += 1
        taken[parcel.place] = fitting
    return taken


def unload(parcels: Sequence[Parcel], taken: dict[int, int], excess: int, count: Count) -> None:
    """Take out chunks, the last packed first, until their cost reaches the excess."""
    for parcel in sorted(parcels, key=lambda parcel: parcel.rank, reverse=True):
        while excess > 0 and taken[parcel.place]:
            taken[parcel.place] -= 1
            excess -= max(1, _cost(parcel, taken[parcel.place], count))


def _cost(parcel: Parcel, chunk: int, count: Count) -> int:
    tokens = count(parcel.chunks[chunk])
    return tokens if chunk else tokens + JOINER_TOKENS + parcel.image_tokens
