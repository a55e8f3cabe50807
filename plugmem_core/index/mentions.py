"""Mentions: which entities the text of a fact names."""

from collections.abc import Container, Sequence

from plugmem_core.kernels import NO_ID, IdLists, NameFinder, mentions_in
from plugmem_core.store import FactRow, dump_ids, load_ids
from plugmem_core.text import tokenize


class Mentions:
    """The entities that facts mention, and the facts that mention an entity.

    Attributes:
        entities: Entities by fact.
        facts: Facts by entity.
    """

    def __init__(self) -> None:
        self.entities = IdLists()
        self.facts = IdLists()

    def put(self, row: FactRow, there: Container[int], *, known: bool) -> None:
        """Take in what a fact mentions, instead of what it mentioned before.

        Args:
            row: The fact.
            there: The entities there are; a text may mention one that was erased.
            known: Whether the fact was there before.
        """
        named = [entity for entity in load_ids(row.mentions) if entity in there]
        if known:
            if self.entities.list(row.id) == named:
                return
            self.remove([row.id])
        for entity in named:
            self.entities.add(row.id, entity)
            self.facts.add(entity, row.id)

    def remove(self, facts: Sequence[int]) -> None:
        """Take facts out."""
        for fact in facts:
            for entity in self.entities.list(fact):
                self._take(fact, entity)

    def _take(self, fact: int, entity: int) -> None:
        self.entities.remove(fact, entity)
        self.facts.remove(entity, fact)


def mentions_of(finders: list[NameFinder], rows: Sequence[FactRow]) -> list[str | None]:
    """Return the entities that texts name, as the store holds them.

    At each place of a text the longest name counts. Only names of the fact's own namespace
    do, and the fact's own entity is none that it mentions.
    """
    if not any(map(len, finders)):
        return [None] * len(rows)
    found = mentions_in(
        finders,
        [row.text if row.text.isascii() else tokenize(row.text) for row in rows],
        [row.namespace for row in rows],
        [NO_ID if row.entity is None else row.entity for row in rows],
    )
    return list(map(dump_ids, found))
