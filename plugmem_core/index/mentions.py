"""Mentions: which entities the text of a fact names."""

from collections.abc import Callable, Sequence

from plugmem_core.kernels import NO_ID, IdLists, NameFinder, mentions_in, put_mentions
from plugmem_core.store import FactRow


class Mentions:
    """The entities that facts mention, and the facts that mention an entity.

    Attributes:
        entities: Entities by fact.
        facts: Facts by entity.
    """

    def __init__(self) -> None:
        self.entities = IdLists()
        self.facts = IdLists()

    def put(self, row: FactRow, end: int) -> None:
        """Take in what a fact mentions, instead of what it mentioned before.

        Args:
            row: The fact.
            end: The id that no entity has yet; the row may be older than the names.

        Raises:
            ValueError: The row holds no ids.
        """
        put_mentions(self.entities, self.facts, row.id, row.mentions, end)

    def remove(self, facts: Sequence[int]) -> None:
        """Take facts out."""
        for fact in facts:
            put_mentions(self.entities, self.facts, fact, None, 0)


def mentions_of(
    finders: list[NameFinder], rows: Sequence[FactRow], read: Callable[[str], str]
) -> list[str | None]:
    """Return the entities that texts name, as the store holds them.

    At each place of a text the longest name counts. Only names of the fact's own namespace
    do, and the fact's own entity is none that it mentions.

    Args:
        finders: The names.
        rows: Facts.
        read: Returns the tokens of a text, joined by spaces.
    """
    if not any(map(len, finders)):
        return [None] * len(rows)
    return mentions_in(
        finders,
        [row.text if row.text.isascii() else read(row.text) for row in rows],
        [row.namespace for row in rows],
        [NO_ID if row.entity is None else row.entity for row in rows],
    )
