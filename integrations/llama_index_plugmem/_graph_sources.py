"""Where elements of a graph come from, if from more than fits beside them.

Of many sources only the newest are listed in the metadata of a fact, which is limited, and of
which every version is kept. The older ones are values under the key of the fact.
"""

from collections.abc import Sequence

from plugmem_core.model import RESERVED

OLDER_SOURCES = f"{RESERVED}graph_sources"
"""The collection of values by key that has the older sources of what has many."""

SOURCES_PAGE = 2_000
"""Bytes of sources after which older ones are kept there: facts are stored anew for each."""


def split_sources(sources: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which sources are stored apart, and which are listed: one or two pages.

    So another source seldom changes those that are apart.
    """
    starts, size = [0], 0
    for place, source in enumerate(sources):
        if size > SOURCES_PAGE:
            starts.append(place)
            size = 0
        size += len(source.encode(errors="replace"))
    first = starts[-2] if len(starts) > 1 else 0
    return tuple(sources[:first]), tuple(sources[first:])
