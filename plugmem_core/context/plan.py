"""What a compile does with each fragment, before anything is written."""

from collections.abc import Sequence
from dataclasses import dataclass

from plugmem_core.context.chunking import cut_text
from plugmem_core.context.duplicates import Twin, find_duplicates, find_superseded
from plugmem_core.context.estimate import Counter
from plugmem_core.context.limits import ContextLimits
from plugmem_core.context.logs import collapse
from plugmem_core.context.media import image_tokens
from plugmem_core.context.packing import JOINER, Parcel, by_rank, fixed_first, pack, unload
from plugmem_core.context.pieces import Piece, check_pieces, relevances
from plugmem_core.context.request import ContextRequest, Policy
from plugmem_core.context.rules import SUPERSEDED, Classifier, Rule
from plugmem_core.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Plan:
    """A compile, decided. Lists are by a fragment's place; the dicts hold only some places.

    Attributes:
        policy: By which it was decided.
        pieces: The fragments.
        rules: The rule of each.
        relevances: What share of the query's words each has.
        images: What the image of each costs, 0 without one.
        costs: What each costs as it was given.
        superseded: The outdated screenshots.
        twins: The duplicates, and what stands for each.
        parcels: All others that have something to pack.
        taken: How many of a parcel's chunks fit.
        count: Tells the tokens of a text.
    """

    policy: Policy
    pieces: list[Piece]
    rules: list[Rule]
    relevances: list[float]
    images: list[int]
    costs: list[int]
    superseded: set[int]
    twins: dict[int, Twin]
    parcels: dict[int, Parcel]
    taken: dict[int, int]
    count: Counter

    def is_cached(self, place: int) -> bool:
        """Return whether the fragment belongs into the stable prefix."""
        return self.rules[place].action == "cache"

    def is_full(self, place: int) -> bool:
        """Return whether the fragment is emitted to its end."""
        if place in self.twins or place in self.superseded:
            return False
        return place not in self.parcels or self.taken[place] == len(self.parcels[place].chunks)

    def chunks(self, place: int) -> Sequence[str]:
        """Return the chunks that are emitted."""
        return self.parcels[place].chunks[: self.taken[place]] if place in self.parcels else ()

    def tokens(self, place: int) -> int:
        """Return what the emitted part of a fragment costs, without joiners."""
        chunks = self.chunks(place)
        return sum(map(self.count, chunks)) + (self.images[place] if chunks else 0)

    def text(self, *, cached: bool) -> str:
        """Return the text of the stable prefix, or of the body."""
        blocks = ("".join(self.chunks(place)) for place in self.places(cached=cached))
        return JOINER.join(block for block in blocks if block)

    def places(self, *, cached: bool) -> list[int]:
        """Return the places of what the stable prefix, or the body, has."""
        emitted = (place for place in sorted(self.taken) if self.taken[place])
        return [place for place in emitted if self.is_cached(place) == cached]

    def content(self) -> str:
        """Return the whole text."""
        parts = (self.text(cached=True), self.text(cached=False))
        return JOINER.join(part for part in parts if part)

    def total(self) -> int:
        """Return the tokens of the whole text and the images beside it."""
        images = sum(self.images[place] for place, chunks in self.taken.items() if chunks)
        return self.count(self.content()) + images


def make_plan(
    request: ContextRequest, policy: Policy, limits: ContextLimits, count: Counter
) -> Plan:
    """Return the plan of a request that says its policy.

    Raises:
        InvalidInputError: A fragment is refused, or the budget leaves no room.
    """
    pieces = check_pieces(request, limits)
    usable = usable_tokens(request, policy, limits)
    classifier = Classifier(policy)
    rules = [classifier.rule_of(piece.fragment) for piece in pieces]
    superseded = set() if SUPERSEDED in policy.disabled_rules else find_superseded(pieces)
    twins = find_duplicates(pieces, rules, superseded, near=policy.near_dup_dedup)
    superseded -= twins.keys()
    images = [_image_tokens(piece, count) for piece in pieces]
    plan = Plan(
        policy=policy,
        pieces=pieces,
        rules=rules,
        relevances=relevances(request.query, pieces),
        images=images,
        costs=[
            image + count(piece.fragment.content)
            for image, piece in zip(images, pieces, strict=True)
        ],
        superseded=superseded,
        twins=twins,
        parcels={},
        taken={},
        count=count,
    )
    longest = max(
        limits.min_chunk_bytes,
        min(policy.chunk.max_chunk_bytes, usable * count.bytes_per_token),
    )
    _fill(plan, longest, usable)
    return plan


def emitted_text(plan: Plan, place: int) -> str:
    """Return what a fragment would be emitted as, if all of it fits."""
    content = plan.pieces[place].fragment.content
    if plan.rules[place].action != "abstract":
        return content
    return collapse(content, normalize=plan.policy.normalize_log_timestamps).text


def usable_tokens(request: ContextRequest, policy: Policy, limits: ContextLimits) -> int:
    """Return the tokens of the budget that are left without the reserve.

    Raises:
        InvalidInputError: None are.
    """
    budget = min(request.token_budget, limits.token_budget)
    usable = budget - policy.response_reserve_tokens
    if usable <= 0:
        raise InvalidInputError(
            f"token_budget is {budget} and response_reserve_tokens "
            f"{policy.response_reserve_tokens}, which leaves no room; raise the budget, or "
            "lower the reserve"
        )
    return usable


def _image_tokens(piece: Piece, count: Counter) -> int:
    if piece.data is None or piece.fragment.media is None:
        return 0
    return image_tokens(piece.data, piece.fragment.media.bytes_b64, count)


def _fill(plan: Plan, longest: int, usable: int) -> None:
    for place, piece in enumerate(plan.pieces):
        is_packed = place not in plan.twins and place not in plan.superseded
        if is_packed and (piece.size or piece.data is not None):
            plan.parcels[place] = _parcel(plan, place, longest)
    ranked = by_rank(list(plan.parcels.values()))
    packed = pack(ranked, usable, plan.count)
    plan.taken.update(dict.fromkeys(packed, 0))
    # The chunks cost no less than the text they make, unless a plugged-in estimator finds
    # more in a whole than in its parts. Then what no query changes has to fit by itself.
    for part in fixed_first(ranked):
        plan.taken.update((parcel.place, packed[parcel.place]) for parcel in part)
        unload(part, plan.taken, lambda: plan.total() <= usable)


def _parcel(plan: Plan, place: int, longest: int) -> Parcel:
    piece, rule = plan.pieces[place], plan.rules[place]
    text = emitted_text(plan, place)
    is_whole = piece.data is not None
    return Parcel(
        place=place,
        critical=rule.critical,
        priority=piece.fragment.priority,
        cached=rule.action == "cache",
        relevance=plan.relevances[place],
        chunks=[text] if is_whole else cut_text(text, longest, plan.policy.chunk.boundary),
        image_tokens=plan.images[place],
    )
