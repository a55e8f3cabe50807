"""From lines to records, checked by the rules that hold for what callers pass."""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from pydantic import ValidationError

from plugmem_core.clock import to_ms
from plugmem_core.config import MemoryConfig
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.inputs import (
    check_collection,
    check_id,
    check_json,
    check_key,
    check_metadata,
    check_name,
    check_namespace,
    check_relation,
    check_tags,
    check_vector,
)
from plugmem_core.model import Namespace
from plugmem_core.moving.lines import (
    AliasLine,
    EdgeLine,
    EntityLine,
    FactLine,
    ForeignEdge,
    ForeignFact,
    Header,
    Line,
    RelationLine,
    ValueLine,
)
from plugmem_core.store import DECLINED, PENDING, STORED, dump_json
from plugmem_core.store.rows import NO_VECTOR
from plugmem_core.store.transfer import (
    AliasRecord,
    EdgeRecord,
    EntityRecord,
    Extent,
    FactRecord,
    Record,
    RelationRecord,
    ValueRecord,
)
from plugmem_core.text import check_fact_text

_KINDS: dict[str, type[Line]] = {
    "entity": EntityLine,
    "alias": AliasLine,
    "fact": FactLine,
    "relation": RelationLine,
    "edge": EdgeLine,
    "value": ValueLine,
}
_FOREIGN: dict[str, type[Line]] = {"fact": ForeignFact, "edge": ForeignEdge}

L = TypeVar("L", bound=Line)


def read_header(raw: bytes) -> Header | None:
    """Return the first line of a file; `None` when it is one of the reference engine."""
    fields = _object(raw)
    return _model(Header, fields) if fields.get("kind") == "plugmem" else None


class LineReader:
    """Reads the lines that follow the first.

    Args:
        header: What the first line said; `None` in a file of the reference engine.
        config: The limits.
        into: Where what was exported is to stand; `None` leaves it in its place.
        embeds: Whether there is an embedder, for which the facts of the reference wait.
    """

    def __init__(
        self, header: Header | None, config: MemoryConfig, into: Namespace | None, *, embeds: bool
    ) -> None:
        self.extent: Extent | None = None if header is None else header.extent()
        self._config = config
        self._from = () if header is None else tuple(header.namespace)
        self._into = self._from if into is None else into
        self._kinds = _FOREIGN if header is None else _KINDS
        self._pending = PENDING if embeds else NO_VECTOR
        self._places: dict[tuple[str, ...], str] = {}
        self._records: dict[type[Line], Callable[[Any], Record]] = {
            EntityLine: self._entity,
            AliasLine: self._alias,
            FactLine: self._fact,
            RelationLine: self._relation,
            EdgeLine: self._edge,
            ValueLine: self._value,
            ForeignFact: self._foreign_fact,
            ForeignEdge: self._foreign_edge,
        }

    def record(self, raw: bytes, last: dict[str, int]) -> Record:
        """Return the record of a line.

        Args:
            raw: The line.
            last: The last id of each kind; this one is noted in it.

        Raises:
            InvalidInputError: It is no such line, or breaks the rule of a value.
            TooLargeError: A value is over its limit.
            VectorSpaceError: Its vector is of another dimension.
        """
        fields = _object(raw)
        kind = fields.get("kind", "fact" if self.extent is None else None)
        model = self._kinds.get(kind) if isinstance(kind, str) else None
        if model is None:
            raise InvalidInputError(
                f"kind is {shown(kind)}; a line here is one of {', '.join(self._kinds)}"
            )
        line = _model(model, fields)
        if self.extent is not None:
            self._check_order(line, self.extent, last)
        return self._records[model](line)

    @staticmethod
    def _check_order(line: Line, extent: Extent, last: dict[str, int]) -> None:
        if not isinstance(line, EntityLine | FactLine | EdgeLine):
            return
        ids = {"entity": extent.entities, "fact": extent.facts, "edge": extent.edges}[line.kind]
        least = last.get(line.kind, ids[0] - 1) + 1
        if not least <= line.id < ids[1]:
            raise InvalidInputError(
                f"id is {line.id}; give ids in their order, here from {least} to {ids[1] - 1}"
            )
        last[line.kind] = line.id

    def _place(self, labels: list[str]) -> str:
        """Return a namespace as rows hold it, moved to where it is to stand."""
        path = tuple(labels)
        place = self._places.get(path)
        if place is None:
            checked = check_namespace(path)
            depth = len(self._from)
            if checked[:depth] != self._from:
                raise InvalidInputError(
                    f"namespace is {shown(labels)}, which is not in {list(self._from)}, of which "
                    "the file says to be"
                )
            place = dump_json(check_namespace((*self._into, *checked[depth:])))
            if len(self._places) > _PLACES:
                self._places.clear()
            self._places[path] = place
        return place

    # -- by kind

    def _entity(self, line: EntityLine) -> EntityRecord:
        check_name(line.name, "name")
        return EntityRecord(line.id, self._place(line.namespace), line.name, line.seen)

    def _alias(self, line: AliasLine) -> AliasRecord:
        check_name(line.name, "name")
        check_name(line.entity, "entity")
        return AliasRecord(self._place(line.namespace), line.name, line.entity)

    def _fact(self, line: FactLine) -> FactRecord:
        data = None if line.vector is None else self._vector(line.vector)
        state = _vector_state(line, data)
        return FactRecord(
            line.id,
            self._place(line.namespace),
            check_key(line.key),
            self._name(line.entity),
            check_fact_text(line.text, max_bytes=self._config.max_text),
            self._tags(line.tags),
            self._metadata(line.metadata, "metadata"),
            *line.instants(),
            None if line.expires_at is None else to_ms(line.expires_at, "expires_at"),
            None if line.revises is None else check_id(line.revises, "revises"),
            state,
            data,
        )

    def _foreign_fact(self, line: ForeignFact) -> FactRecord:
        recorded, start = (
            None if instant is None else to_ms(instant, name)
            for name, instant in (
                ("recorded_at", line.recorded_at),
                ("valid_from", line.valid_from),
            )
        )
        return FactRecord(
            None if line.id is None else check_id(line.id),
            self._place([]),
            None,
            self._name(line.entity),
            check_fact_text(line.text, max_bytes=self._config.max_text),
            self._tags(line.tags),
            self._metadata(line.metadata, "metadata"),
            recorded,
            start,
            *(None,) * 4,
            self._pending,
            None,
        )

    def _relation(self, line: RelationLine) -> RelationRecord:
        return RelationRecord(check_relation(line.name), line.rank)

    def _edge(self, line: EdgeLine) -> EdgeRecord:
        return EdgeRecord(
            line.id,
            self._place(line.namespace),
            check_name(line.src, "src")[0],
            check_relation(line.rel),
            check_name(line.dst, "dst")[0],
            None if line.provenance is None else check_id(line.provenance, "provenance"),
            self._metadata(line.properties, "properties"),
            *line.instants(),
        )

    def _foreign_edge(self, line: ForeignEdge) -> EdgeRecord:
        return EdgeRecord(
            None,
            self._place([]),
            check_name(line.src, "src")[0],
            check_relation(line.rel),
            check_name(line.dst, "dst")[0],
            None if line.provenance is None else check_id(line.provenance, "provenance"),
            *(None,) * 5,
        )

    def _value(self, line: ValueLine) -> ValueRecord:
        key = check_key(line.key)
        assert key is not None  # noqa: S101 - for the type checker; it is a text
        value = check_json(line.value, "value", max_bytes=self._config.max_value)
        return ValueRecord(
            self._place(line.namespace), check_collection(line.collection), key, value
        )

    # -- values

    @staticmethod
    def _name(name: str | None) -> str | None:
        return None if name is None else check_name(name, "entity")[0]

    def _tags(self, tags: list[str]) -> str | None:
        return dump_json(check_tags(tags, most=self._config.max_tags)) if tags else None

    def _metadata(self, value: dict[str, Any] | None, name: str) -> str | None:
        return check_metadata(value, name, max_bytes=self._config.max_metadata)

    def _vector(self, text: str) -> bytes:
        try:
            data = base64.b64decode(text, validate=True)
            vector = np.frombuffer(data, dtype="<f4")
        except (binascii.Error, ValueError):
            raise InvalidInputError(
                f"vector is {shown(text)}; give the base64 of little-endian float32"
            ) from None
        dim = self.extent.dim if self.extent else 0
        if not dim:
            raise InvalidInputError("vector is given, but the first line says there are none")
        check_vector(vector, "vector", dim)
        return data


_PLACES = 65_536
"""Namespaces whose place is remembered."""


def _vector_state(line: FactLine, data: bytes | None) -> int:
    said = {"a vector": data is not None, "pending": line.pending, "embed": not line.embed}
    given = [name for name, one in said.items() if one]
    if len(given) > 1:
        raise InvalidInputError(f"{' and '.join(given)} are given; give one of them")
    states = {"a vector": STORED, "pending": PENDING, "embed": DECLINED}
    return states[given[0]] if given else NO_VECTOR


def _object(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw)
    except RecursionError:
        raise InvalidInputError("the line is nested too deeply; flatten it") from None
    except ValueError as error:  # no JSON, no UTF-8, or an integer of thousands of digits
        raise InvalidInputError(f"the line is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise InvalidInputError(f"the line is {shown(fields)}; give a JSON object")
    return fields


def _model(model: type[L], fields: dict[str, Any]) -> L:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"])) or "the line"
        raise InvalidInputError(f"{place} is {shown(problem['input'])}: {problem['msg']}") from None
