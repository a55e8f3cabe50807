"""Rows as they stand in the file, and the set of rows a transaction touched."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plugmem_core.errors import CorruptError, shown

Vector = npt.NDArray[np.float32]

NO_VECTOR, STORED, PENDING, DECLINED = 0, 1, 2, 3
"""States of a fact's vector; pending ones are made when the embedder answers again.

Those that were declined by the writer are never made; the others without one may be.
"""


def superseded(fact: int, revises: int | None) -> int | None:
    """Return what a fact supersedes, which came before it.

    Raises:
        CorruptError: It did not; whoever followed such a chain might go round in circles.
    """
    if revises is not None and not (isinstance(revises, int) and revises < fact):
        raise CorruptError(
            f"the file is damaged: fact {fact} supersedes fact {shown(revises)}, which is no "
            "fact before it; salvage what can be read"
        )
    return revises


def only(rows: Sequence["FactRow"], why: str) -> "FactRow":
    """Return the one row of some.

    Args:
        rows: At least one.
        why: What no two facts are.

    Raises:
        CorruptError: There are more.
    """
    if len(rows) > 1:
        raise CorruptError(
            f"the file is damaged: facts {rows[0].id} and {rows[1].id} are both {why}; salvage "
            "what can be read"
        )
    return rows[0]


def most_ids(records: int) -> int:
    """Return how many ids so many records may be spread over; an index has room for each."""
    return 16_777_216 + 64 * records


class FactRow(NamedTuple):
    """One row of `facts`; the field order is the column order."""

    id: int
    namespace: int
    key: str | None
    entity: int | None
    text: str
    tags: str | None  # JSON array of names, or null when empty
    metadata: str | None  # JSON object, or null when empty
    recorded_at: int
    valid_from: int
    valid_to: int | None
    closed_at: int | None  # when the end of validity was learned
    expires_at: int | None
    revises: int | None
    forgotten_at: int | None
    digest: int  # of the text, to find its equal
    vector: int
    change: int
    mentions: str | None = None  # JSON array of entities its text names, or null when empty

    def mentioning(self, mentions: str | None) -> "FactRow":
        """Return the row with other mentions."""
        return FactRow._make((*self[:-1], mentions))  # a quarter of the time of `_replace`

    @property
    def is_current(self) -> bool:
        """Whether it is neither superseded nor forgotten."""
        return self.valid_to is None and self.forgotten_at is None


class EntityRow(NamedTuple):
    """One row of `entities`; `seen` orders strings by first appearance."""

    id: int
    namespace: int
    key: str
    name: str
    seen: int
    change: int


class AliasRow(NamedTuple):
    """Another name of an entity."""

    namespace: int
    key: str
    name: str
    entity: int
    change: int


class RelationRow(NamedTuple):
    """A relation's name, and its place in the order in which edges are walked."""

    id: int
    name: str
    rank: int
    change: int


class NamespaceRow(NamedTuple):
    """A namespace; `path` is a JSON array of labels."""

    id: int
    path: str


class EdgeRow(NamedTuple):
    """One version of an edge; the field order is the column order."""

    id: int
    namespace: int
    src: int
    relation: int
    dst: int
    provenance: int | None
    properties: str | None
    recorded_at: int
    valid_from: int
    valid_to: int | None
    closed_at: int | None
    change: int


class FactCard(NamedTuple):
    """What is shown of a fact, with names instead of ids."""

    id: int
    text: str
    entity: str | None
    tags: str | None
    metadata: str | None
    key: str | None
    namespace: str
    recorded_at: int
    valid_from: int
    valid_to: int | None
    expires_at: int | None
    revises: int | None
    forgotten_at: int | None


class EdgeCard(NamedTuple):
    """What is shown of a version of an edge, with names instead of ids."""

    id: int
    src: str
    relation: str
    dst: str
    provenance: int | None
    properties: str | None
    namespace: str
    recorded_at: int
    valid_from: int
    valid_to: int | None
    closed_at: int | None


class FileState(NamedTuple):
    """The single row of `state`.

    The `uuid` names the past of the file. What removes more than rows can tell, such as an
    erasure, gives it another, so that nothing made before, in other handles and in
    checkpoints, is used any more.
    """

    uuid: str
    change: int
    next_fact: int
    next_entity: int
    next_edge: int
    dim: int
    space: str | None
    checkpoint: str | None
    analyzer: str

    # A quarter of the time of `_replace`, which a bulk load would notice.

    def after_fact(self, fact: int) -> "FileState":
        """Return the state once a fact has got its id."""
        return FileState._make((*self[:2], fact + 1, *self[3:]))

    def after_edge(self, edge: int) -> "FileState":
        """Return the state once an edge has got its id."""
        return FileState._make((*self[:4], edge + 1, *self[5:]))


@dataclass(slots=True)
class Changes:
    """Rows touched since a change number; a row touched twice may come twice, latest last.

    Read from the file, the long ones are generators: consume them once, in order.
    """

    change: int
    uuid: str
    namespaces: Iterable[NamespaceRow] = ()
    entities: Iterable[EntityRow] = ()
    aliases: Iterable[AliasRow] = ()
    relations: Iterable[RelationRow] = ()
    facts: Iterable[FactRow] = ()
    edges: Iterable[EdgeRow] = ()
    vectors: Iterable[tuple[int, Vector]] = ()
    purged: Iterable[int] = ()
