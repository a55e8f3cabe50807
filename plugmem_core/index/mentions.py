"""Mentions: which entities the text of a fact names."""

from collections.abc import Container, Sequence

from plugmem_core.kernels import IdLists, NameFinder, names_in
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

    def put(self, row: FactRow, there: Container[int]) -> None:
        """Take in what a fact mentions, instead of what it mentioned before.

        Args:
            row: The fact.
            there: The entities there are; a text may mention one that was erased.
        """
        named = [entity for entity in load_ids(row.mentions) if entity in there]
        before = self.entities.list(row.id)
        if before == named:
            return
        for entity in before:
            self._take(row.id, entity)
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
    found = []
    for row in rows:
        text = row.text if row.text.isascii() else tokenize(row.text)
        mask = bytes(row.namespace) + b"\x01"
        named = names_in(finders, text, mask)
        found.append(dump_ids(entity for entity in named if entity != row.entity))
    return found
