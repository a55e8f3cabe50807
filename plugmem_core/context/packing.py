"""Which chunks fit into the budget: greedily, in one order, without going back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

JOINER = "\n\n"
JOINER_TOKENS = 1

_NO_PRIORITY = 256  # above all

Count: TypeAlias = Callable[[str], int]
Taken: TypeAlias = dict[int, int]  # how many leading chunks of a parcel, by place


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


def fixed_first(ranked: Sequence[Parcel]) -> tuple[Sequence[Parcel], Sequence[Parcel]]:
    """Return the parcels up to the last of the stable prefix, and the rest.

    What comes first is the same whatever the query; with the rest, it may change.
    """
    end = max((at for at, parcel in enumerate(ranked, start=1) if parcel.cached), default=0)
    return ranked[:end], ranked[end:]


def pack(ranked: Sequence[Parcel], budget: int, count: Count) -> Taken:
    """Return how many leading chunks of each parcel fit, by place.

    Each chunk costs its tokens, and the first of a parcel one more for the blank line that
    joins it. At the first that does not fit, the parcel ends and the next one is tried.

    Args:
        ranked: In the order of `by_rank`.
        budget: Tokens that may be used.
        count: Tells the tokens of a text.
    """
    taken = {}
    for parcel in ranked:
        fitting = 0
        while fitting < len(parcel.chunks):
            cost = _cost(parcel, fitting, count)
            if cost > budget:
                break
            budget -= cost
            fitting += 1
        taken[parcel.place] = fitting
    return taken


def unload(ranked: Sequence[Parcel], taken: Taken, fits: Callable[[], bool]) -> None:
    """Take out as few chunks as possible, the last packed first, so that the rest fits.

    They are found by halving, since each question costs an estimate of the whole text.

    Args:
        ranked: From which to take out, in the order of `by_rank`.
        taken: How many chunks of them are in; changed.
        fits: Whether what is in `taken` now fits; without any of these, it does.
    """
    if fits():
        return
    packed = [taken[parcel.place] for parcel in ranked]
    fewest, most = 0, sum(packed)
    while most - fewest > 1:
        middle = (fewest + most) // 2
        _keep(ranked, packed, middle, taken)
        fewest, most = (middle, most) if fits() else (fewest, middle)
    _keep(ranked, packed, fewest, taken)


def _keep(ranked: Sequence[Parcel], packed: Sequence[int], chunks: int, taken: Taken) -> None:
    for parcel, most in zip(ranked, packed, strict=True):
        taken[parcel.place] = min(most, chunks)
        chunks -= taken[parcel.place]


def _cost(parcel: Parcel, chunk: int, count: Count) -> int:
    tokens = count(parcel.chunks[chunk])
    return tokens if chunk else tokens + JOINER_TOKENS + parcel.image_tokens
