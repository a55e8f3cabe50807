"""What moving and rescuing data answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What an export or an import carried.

    Attributes:
        entities: Names of entities.
        aliases: Further names.
        facts: Facts, superseded ones included.
        edges: Versions of edges.
        values: Values by key.
        known: How many of all of these were here before, and were not added again.
    """

    entities: int = 0
    aliases: int = 0
    facts: int = 0
    edges: int = 0
    values: int = 0
    known: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Self:
        """Return the report of records counted by their kind."""
        return cls(
            entities=counts.get("EntityRecord", 0),
            aliases=counts.get("AliasRecord", 0),
            facts=counts.get("FactRecord", 0),
            edges=counts.get("EdgeRecord", 0),
            values=counts.get("ValueRecord", 0),
            known=counts.get("known", 0),
        )


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that could not be rescued.

    Attributes:
        table: Where it stood: `"facts"`, `"entities"`, `"edges"`, … (values by key are in
            `"kv"`), or `"page"` for a part of the file of which nobody can tell what stood
            there, or `"log"` for one of its log.
        first: The id, or the number of the page or the frame; `None` where rows have none.
        last: The last of a range; the same as `first` for one.
        reason: What is wrong with it, and what was done about it.
    """

    table: str
    first: int | None
    last: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What `salvage` rescued and what it did not.

    Attributes:
        saved: What is in the new memory.
        losses: What is not, or not wholly.
    """

    saved: TransferReport
    losses: tuple[Loss, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing was found missing."""
        return not self.losses
