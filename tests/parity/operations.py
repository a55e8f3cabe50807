"""What is done to both engines, as plain data.

An operation carries the instant it happens at, so that both engines record the same times. Its
fields become JSON for the reference's process, hence lists of plain values only.
"""

from dataclasses import dataclass
from typing import TypeAlias

Vector: TypeAlias = tuple[float, ...]
Link: TypeAlias = tuple[str, str]  # relation, target


@dataclass(frozen=True, slots=True)
class NewFact:
    """The arguments that `remember` and `revise` share."""

    text: str
    entity: str | None = None
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    metadata: dict[str, str] | None = None
    valid_from: int | None = None
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Remember:
    at: int
    fact: NewFact


@dataclass(frozen=True, slots=True)
class RememberGuarded:
    at: int
    fact: NewFact


@dataclass(frozen=True, slots=True)
class RememberMany:
    at: int
    facts: tuple[NewFact, ...]


@dataclass(frozen=True, slots=True)
class Revise:
    at: int
    id: int
    fact: NewFact


@dataclass(frozen=True, slots=True)
class Forget:
    at: int
    id: int


@dataclass(frozen=True, slots=True)
class AddLink:
    at: int
    src: str
    relation: str
    dst: str
    provenance: int | None = None


@dataclass(frozen=True, slots=True)
class Unlink:
    at: int
    src: str
    relation: str
    dst: str


@dataclass(frozen=True, slots=True)
class RemoveTag:
    at: int
    tag: str


@dataclass(frozen=True, slots=True)
class Maintain:
    """Purge what was forgotten."""

    at: int


@dataclass(frozen=True, slots=True)
class Reopen:
    """Close the file and open it again."""

    at: int


@dataclass(frozen=True, slots=True)
class Recall:
    at: int
    text: str | None = None
    k: int = 8
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    as_of: int | None = None
    range: tuple[int, int] | None = None
    closed: bool = False
    token_budget: int = 512
    graph_depth: int | None = None
    vector: Vector | None = None


Write: TypeAlias = (
    Remember
    | RememberGuarded
    | RememberMany
    | Revise
    | Forget
    | AddLink
    | Unlink
    | RemoveTag
    | Maintain
    | Reopen
)
Operation: TypeAlias = Write | Recall
