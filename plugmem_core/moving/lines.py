"""The lines of a file: what each kind holds.

The first line says what the file is. Then come entities, aliases, facts, relations, edges and
values, those with ids in their order. A line is compact JSON in UTF-8 with its fields in the
order below; fields that say nothing are left out. So the same memory is always the same bytes.

A file without that first line is one of the reference engine: its lines are facts (`id`,
`text`, `entity`, `tags`, `metadata`, `recorded_at`, `valid_from`, of which only `text` is
needed, and no `kind`) and edges (`kind`, `src`, `rel`, `dst`, `provenance`).

| kind | fields |
|---|---|
| `plugmem` | `version`, `namespace`, `dim`, `space`, `facts`, `entities`, `edges`, `records` |
| `entity` | `id`, `namespace`, `name`, `seen` |
| `alias` | `namespace`, `name`, `entity` |
| `fact` | `id`, `namespace`, `key`, `entity`, `text`, `tags`, `metadata`, `recorded_at`, `valid_from`, `valid_to`, `closed_at`, `expires_at`, `revises`, `vector`, `pending`, `embed` |
| `relation` | `name`, `rank` |
| `edge` | `id`, `namespace`, `src`, `rel`, `dst`, `provenance`, `properties`, `recorded_at`, `valid_from`, `valid_to`, `closed_at` |
| `value` | `namespace`, `collection`, `key`, `value` |

Instants are Unix milliseconds; `vector` is base64 of little-endian float32.
"""  # noqa: E501 - rows of a table

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from plugmem_core.clock import to_ms
from plugmem_core.errors import InvalidInputError, TooLargeError
from plugmem_core.inputs import MAX_DIM, check_id, check_namespace
from plugmem_core.store.rows import most_ids
from plugmem_core.store.transfer import Extent
from plugmem_core.text import check_text

VERSION = 1
MAX_SPACE_BYTES = 65_536
MAX_STAMP = 2**63 - 1

Ids: TypeAlias = Annotated[list[int], Field(min_length=2, max_length=2)]


class Line(BaseModel):
    """Any line; its fields are those of the table above."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Header(Line):
    """The first line."""

    kind: Literal["plugmem"]
    version: int
    namespace: list[str] = []
    dim: Annotated[int, Field(ge=0, le=MAX_DIM)] = 0
    space: str | None = None
    facts: Ids
    entities: Ids
    edges: Ids
    records: Annotated[int, Field(ge=0)]

    def extent(self) -> Extent:
        """Return what it says, checked.

        Raises:
            InvalidInputError: It is of another version, or its numbers cannot be.
        """
        if self.version != VERSION:
            raise InvalidInputError(
                f"the file has version {self.version} of the format, this package reads "
                f"{VERSION}; upgrade the package"
            )
        check_namespace(self.namespace)
        if self.space is not None:
            check_text(self.space, "space", max_bytes=MAX_SPACE_BYTES)
        facts, entities, edges = map(self._span, ("facts", "entities", "edges"))
        return Extent(self.dim, self.space, facts, entities, edges, self.records)

    def _span(self, name: str) -> tuple[int, int]:
        first, end = (check_id(one, name) for one in getattr(self, name))
        if end < first:
            raise InvalidInputError(f"{name} is {[first, end]}; the first id is not above the end")
        most = most_ids(self.records)
        if end - first > most:
            raise TooLargeError(
                f"{name} has room for {end - first} ids, over the limit of {most} for "
                f"{self.records} records; number them with fewer gaps"
            )
        return first, end


class EntityLine(Line):
    """An entity."""

    kind: Literal["entity"]
    id: int
    namespace: list[str] = []
    name: str
    seen: Annotated[int, Field(ge=0, le=MAX_STAMP)]


class AliasLine(Line):
    """Another name of an entity."""

    kind: Literal["alias"]
    namespace: list[str] = []
    name: str
    entity: str


class Period(Line):
    """What facts and edges have in common: both clocks."""

    recorded_at: int
    valid_from: int
    valid_to: int | None = None
    closed_at: int | None = None

    def instants(self) -> tuple[int, int, int | None, int | None]:
        """Return the four of them, checked."""
        if (self.valid_to is None) != (self.closed_at is None):
            raise InvalidInputError(
                f"valid_to is {self.valid_to} and closed_at is {self.closed_at}; give both or none"
            )
        start, end = to_ms(self.valid_from, "valid_from"), _instant(self.valid_to, "valid_to")
        if end is not None and end < start:
            raise InvalidInputError(f"valid_to is {end}, before valid_from, which is {start}")
        recorded = to_ms(self.recorded_at, "recorded_at")
        return recorded, start, end, _instant(self.closed_at, "closed_at")


def _instant(value: int | None, name: str) -> int | None:
    return None if value is None else to_ms(value, name)


class FactLine(Period):
    """A fact."""

    kind: Literal["fact"]
    id: int
    namespace: list[str] = []
    key: str | None = None
    entity: str | None = None
    text: str
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    expires_at: int | None = None
    revises: int | None = None
    vector: str | None = None
    pending: bool = False
    embed: bool = True


class RelationLine(Line):
    """A relation."""

    kind: Literal["relation"]
    name: str
    rank: Annotated[int, Field(ge=0, le=MAX_STAMP)]


class EdgeLine(Period):
    """One version of an edge."""

    kind: Literal["edge"]
    id: int
    namespace: list[str] = []
    src: str
    rel: str
    dst: str
    provenance: int | None = None
    properties: dict[str, Any] = {}


class ValueLine(Line):
    """A value by key."""

    kind: Literal["value"]
    namespace: list[str] = []
    collection: str
    key: str
    value: Any


class ForeignFact(Line):
    """A fact as the reference engine writes it."""

    kind: Literal["fact"] = "fact"
    id: int | None = None
    text: str
    entity: str | None = None
    tags: list[str] = []
    metadata: dict[str, Any] | None = None
    recorded_at: int | None = None
    valid_from: int | None = None


class ForeignEdge(Line):
    """An edge as the reference engine writes it."""

    kind: Literal["edge"]
    src: str
    rel: str
    dst: str
    provenance: int | None = None
