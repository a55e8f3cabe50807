"""The entities a recall starts its graph walk from."""

from plugmem_core.index import Index
from plugmem_core.recall.query import Query


def find_anchors(index: Index, query: Query, tokens: list[str], *, as_reference: bool) -> list[int]:
    """Return entity ids: those the caller named, then those whose names the text mentions.

    A name without an entity is skipped; the text is not searched with `anchors="given"`.

    Args:
        index: In step with truth.
        query: The question.
        tokens: Of its text.
        as_reference: Whether names count as in the reference ranking, or as mentions do.
    """
    searched = query.anchors == "auto" and bool(tokens)
    if not (searched or query.entities):
        return []
    mask = index.spaces.mask(query.namespace, below=query.below)
    anchors: list[int] = []
    for _, key in query.entities:
        anchors += index.names.resolve(key, mask)
    if searched:
        named = index.names.mentions if as_reference else index.names.named
        anchors += named(tokens, mask)
    return anchors
