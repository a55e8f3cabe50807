"""Which chunks fit into the budget: greedily, in one order, without going back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

JOINER = "\n\n"
JOINER_TOKENS = 1

_NO_PRIORITY = 256  # above all

Count: TypeAlias = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Parcel:
    """A fragment to pack.

    Attributes:
        place: Its place in the request.
        critical: Packed first.
        priority: Then, higher ones first.
        cached: Then, those of the stable prefix.
        relevance: Then, higher ones; see `by_rank`.
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


def by_rank(parcels: Sequence[Parcel]) -> list[Parcel]:
    """Return parcels in the order in which they are packed.

    The stable prefix must not depend on the query. So relevance is of no account in it, nor
    among what is packed before the last of it; there, the order in which they were given counts.
    """
    cached = [parcel.priority for parcel in parcels if parcel.cached]
    lowest = min(cached, default=_NO_PRIORITY)

    def rank(parcel: Parcel) -> tuple[bool, int, bool, float, int]:
        before = parcel.critical and parcel.priority > lowest
        relevance = 0.0 if parcel.cached or before else parcel.relevance
        return (not parcel.critical, -parcel.priority, not parcel.cached, -relevance, parcel.place)

    return sorted(parcels, key=rank)


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
    for parcel in by_rank(parcels):
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
    for parcel in reversed(by_rank(parcels)):
        while excess > 0 and taken[parcel.place]:
            taken[parcel.place] -= 1
            excess -= max(1, _cost(parcel, taken[parcel.place], count))


def _cost(parcel: Parcel, chunk: int, count: Count) -> int:
    tokens = count(parcel.chunks[chunk])
    return tokens if chunk else tokens + JOINER_TOKENS + parcel.image_tokens
