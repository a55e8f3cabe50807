"""From records to lines."""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from plugmem_core.errors import CorruptError
from plugmem_core.model import Namespace
from plugmem_core.moving.lines import VERSION
from plugmem_core.store import DECLINED, PENDING, load_json, load_labels, load_object
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

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
# What other readers of lines take for the end of one.
_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


def header_line(extent: Extent, namespace: Namespace) -> bytes:
    """Return the first line of a file."""
    fields = {"namespace": list(namespace) or None, **extent._asdict(), "dim": extent.dim or None}
    return _spelled("plugmem", {"version": VERSION, **fields})


def record_line(record: Record) -> bytes:
    """Return the line of a record.

    Raises:
        CorruptError: It holds what belongs elsewhere, or nowhere.
    """
    kind, fields = _SPELLINGS[type(record)]
    try:
        return _spelled(kind, fields(record))
    except (TypeError, ValueError, RecursionError) as error:  # NaN, a lone surrogate, a number
        raise CorruptError(f"the file holds what no write of ours leaves: {error}") from error


def _entity(record: EntityRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "namespace": _labels(record.namespace),
        "name": record.name,
        "seen": record.seen,
    }


def _alias(record: AliasRecord) -> dict[str, Any]:
    return {
        "namespace": _labels(record.namespace),
        "name": record.name,
        "entity": record.entity,
    }


def _fact(record: FactRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "namespace": _labels(record.namespace),
        "key": record.key,
        "entity": record.entity,
        "text": record.text,
        "tags": _labels(record.tags),
        "metadata": load_object(record.metadata) or None,
        "recorded_at": record.recorded_at,
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "closed_at": record.closed_at,
        "expires_at": record.expires_at,
        "revises": record.revises,
        "vector": None if record.data is None else base64.b64encode(record.data).decode(),
        "pending": record.vector == PENDING or None,
        "embed": False if record.vector == DECLINED else None,
    }


def _relation(record: RelationRecord) -> dict[str, Any]:
    return {"name": record.name, "rank": record.rank}


def _edge(record: EdgeRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "namespace": _labels(record.namespace),
        "src": record.src,
        "rel": record.relation,
        "dst": record.dst,
        "provenance": record.provenance,
        "properties": load_object(record.properties) or None,
        "recorded_at": record.recorded_at,
        "valid_from": record.valid_from,
        "valid_to": record.valid_to,
        "closed_at": record.closed_at,
    }


def _value(record: ValueRecord) -> dict[str, Any]:
    return {
        "namespace": _labels(record.namespace),
        "collection": record.collection,
        "key": record.key,
        "value": load_json(record.value),
    }


_SPELLINGS: dict[type[Any], tuple[str, Callable[[Any], dict[str, Any]]]] = {
    EntityRecord: ("entity", _entity),
    AliasRecord: ("alias", _alias),
    FactRecord: ("fact", _fact),
    RelationRecord: ("relation", _relation),
    EdgeRecord: ("edge", _edge),
    ValueRecord: ("value", _value),
}


def _labels(text: str | None) -> list[Any] | None:
    return list(load_labels(text)) or None


def _spelled(kind: str, fields: Mapping[str, Any]) -> bytes:
    # A value may be null, and says something by it.
    said = {name: one for name, one in fields.items() if one is not None or name == "value"}
    text = _encode({"kind": kind, **said})
    return (text if text.isascii() else text.translate(_ENDS)).encode() + b"\n"
