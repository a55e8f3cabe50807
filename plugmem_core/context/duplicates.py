"""Which fragments are repeats of others, and which screenshots are outdated."""

import json
from dataclasses import dataclass

from plugmem_core.context.pieces import Piece
from plugmem_core.context.rules import Rule

_SURVIVING_ACTIONS = ("preserve", "cache")


@dataclass(frozen=True, slots=True)
class Twin:
    """The fragment that stands for a duplicate.

    Attributes:
        place: Its place in the request.
        near: Whether it differs in case or whitespace.
    """

    place: int
    near: bool


def find_superseded(pieces: list[Piece]) -> set[int]:
    """Return the places of the screenshots that a later one of the same target replaces.

    Targets are the same if they are equal as JSON.
    """
    latest: dict[str, int] = {}
    outdated = set()
    for place, piece in enumerate(pieces):
        metadata = piece.fragment.metadata or {}
        if piece.data is None or piece.fragment.kind != "screenshot" or "target" not in metadata:
            continue
        target = json.dumps(metadata["target"], sort_keys=True)
        if target in latest:
            outdated.add(latest[target])
        latest[target] = place
    return outdated


def find_duplicates(
    pieces: list[Piece], rules: list[Rule], superseded: set[int], *, near: bool
) -> dict[int, Twin]:
    """Return which fragments are dropped, and what stands for each.

    Equal bytes are exact duplicates; text that is equal in lower case with single spaces is a
    near one. A verdict does not stand if its twin is not emitted as it is, or if the two differ
    and one of them is critical.

    Args:
        pieces: The fragments.
        rules: The rule of each.
        superseded: The places of outdated screenshots.
        near: Whether near duplicates count.
    """
    twins: dict[int, Twin] = {}
    anchors = _anchors(pieces, superseded, near=near)
    # An anchor is decided on before what it stands for. Where it comes later, it replaced an
    # outdated image and is no duplicate itself.
    for place in sorted(anchors, key=lambda place: (anchors[place] < place, place)):
        anchor = anchors[place]
        earlier = twins.get(anchor)
        survivor = anchor if earlier is None else earlier.place
        differs = _differ(pieces[place], pieces[survivor])
        if survivor in superseded or rules[survivor].action not in _SURVIVING_ACTIONS:
            continue
        if differs and (rules[place].critical or rules[survivor].critical):
            continue
        twins[place] = Twin(survivor, differs)
    return twins


def _anchors(pieces: list[Piece], superseded: set[int], *, near: bool) -> dict[int, int]:
    anchors: dict[int, int] = {}
    exact: dict[str, int] = {}
    alike: dict[str, int] = {}
    images: dict[bytes, int] = {}
    for place, piece in enumerate(pieces):
        content = piece.fragment.content
        if piece.data is not None:
            _anchor_image(piece.data, place, images, anchors, superseded)
        elif content in exact:
            anchors[place] = exact[content]
        else:
            exact[content] = place
            root = alike.setdefault(_normal(content), place) if near else place
            if root != place:
                anchors[place] = root
    return anchors


def _anchor_image(
    data: bytes,
    place: int,
    images: dict[bytes, int],
    anchors: dict[int, int],
    superseded: set[int],
) -> None:
    anchor = images.setdefault(data, place)
    if anchor == place:
        return
    if anchor in superseded and place not in superseded:
        images[data] = place
        anchors[anchor] = place
    else:
        anchors[place] = anchor


def _differ(one: Piece, other: Piece) -> bool:
    return one.data is None and one.fragment.content != other.fragment.content


def _normal(text: str) -> str:
    return " ".join(text.lower().split())
