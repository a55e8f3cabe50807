"""A LangGraph store that does everything right, slowly; and one method per rule to break."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import mul
from threading import RLock
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
    validate_op_namespace,
)

Path = tuple[str, ...]
Vector = list[float]

RANGES: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}


@dataclass
class Row:
    """An item as it is kept."""

    namespace: Path
    key: str
    value: str
    created_at: float
    updated_at: float
    vectors: list[Vector]
    ttl: float | None
    expires_at: float | None


class ModelStore(BaseStore):
    """Keeps rows in a dict; `now`, in minutes, is its clock and moves only by hand."""

    supports_ttl = True

    def __init__(self, *, index: IndexConfig | None = None) -> None:
        self.fields = (index or {}).get("fields") or ["$"]
        self.embeddings = ensure_embeddings(index["embed"]) if index else None
        self.rows: dict[tuple[Path, str], Row] = {}
        self.lock = RLock()
        self.now = 0.0

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        ops = list(ops)
        for op in ops:
            self.check(op)
        with self.lock:
            self.expire()
            rows = [self.row_of(op) for op in self.last_puts(ops)]
            results = [self.read(op) for op in ops]
            for row in rows:
                self.write(row)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return self.batch(ops)

    # Checks

    def check(self, op: Op) -> None:
        if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
            raise ValueError(f"{op!r} is no operation")
        self.check_labels(op)
        if isinstance(op, PutOp) and op.value is not None:
            self.encode(op.value)
        if isinstance(op, SearchOp | ListNamespacesOp):
            self.check_bounds(op)
        if isinstance(op, SearchOp):
            self.check_filter(op.filter or {})

    def check_labels(self, op: Op) -> None:
        validate_op_namespace(op)

    def check_bounds(self, op: SearchOp | ListNamespacesOp) -> None:
        if op.limit < 0 or op.offset < 0:
            raise ValueError(f"limit {op.limit} or offset {op.offset} is negative")

    def check_filter(self, condition: Mapping[str, Any]) -> None:
        for field, wanted in condition.items():
            if field.startswith("$") or "." in field:
                raise ValueError(f"{field!r} is no field")
            for operator in wanted if isinstance(wanted, dict) else ():
                self.check_operator(operator)

    def check_operator(self, operator: str) -> None:
        if operator.startswith("$") and operator not in {*RANGES, "$eq", "$ne"}:
            raise ValueError(f"{operator!r} is no operator")

    # Values

    def encode(self, value: Mapping[str, Any]) -> str:
        text = json.dumps(dict(value), allow_nan=False)
        if json.loads(text) != value:
            raise ValueError(f"{value!r} is not the same in JSON")
        return text

    def decode(self, text: str) -> Any:
        return json.loads(text)

    # Writing

    def last_puts(self, ops: list[Op]) -> list[PutOp]:
        return list({(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}.values())

    def row_of(self, op: PutOp) -> Row | PutOp:
        if op.value is None:
            return op
        old = self.rows.get((op.namespace, op.key))
        return Row(
            namespace=op.namespace,
            key=op.key,
            value=self.encode(op.value),
            created_at=self.created_at(old),
            updated_at=self.now,
            vectors=self.vectors_of(op, old),
            ttl=self.ttl_of(op, old),
            expires_at=None if op.ttl is None else self.now + op.ttl,
        )

    def created_at(self, old: Row | None) -> float:
        return old.created_at if old else self.now

    def ttl_of(self, op: PutOp, old: Row | None) -> float | None:
        return op.ttl

    def vectors_of(self, op: PutOp, old: Row | None) -> list[Vector]:
        if self.embeddings is None or op.index is False:
            return []
        return self.embeddings.embed_documents(self.texts_of(op))

    def texts_of(self, op: PutOp) -> list[str]:
        value = dict(op.value or {})
        paths = self.fields if op.index is None else op.index or []
        return [text for path in paths for text in get_text_at_path(value, path)]

    def write(self, row: Row | PutOp) -> None:
        if isinstance(row, Row):
            self.rows[self.slot(row.namespace, row.key)] = row
        else:
            self.rows.pop(self.slot(row.namespace, row.key), None)

    def slot(self, namespace: Path, key: str) -> tuple[Path, str]:
        return namespace, key

    # Time to live

    def expire(self) -> None:
        for slot, row in [*self.rows.items()]:
            if row.expires_at is not None and row.expires_at <= self.now:
                del self.rows[slot]

    def refresh(self, row: Row, *, asked: bool) -> None:
        if asked and row.ttl is not None:
            row.expires_at = self.now + row.ttl

    # Reading

    def read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self.find(op)
        if isinstance(op, SearchOp):
            return self.search_rows(op)
        if isinstance(op, ListNamespacesOp):
            return self.namespaces(op)
        return None

    def find(self, op: GetOp) -> Item | None:
        row = self.rows.get(self.slot(op.namespace, op.key))
        if row is None:
            return None
        self.refresh(row, asked=op.refresh_ttl)
        return Item(**self.parts(row))

    def parts(self, row: Row) -> dict[str, Any]:
        return {
            "namespace": row.namespace,
            "key": row.key,
            "value": self.decode(row.value),
            "created_at": self.instant(row.created_at),
            "updated_at": self.instant(row.updated_at),
        }

    def instant(self, minutes: float) -> datetime:
        return datetime.fromtimestamp(minutes * 60, UTC)

    def search_rows(self, op: SearchOp) -> list[SearchItem]:
        rows = self.candidates(op)
        if op.query and self.embeddings is not None:
            ranked = self.rank(rows, self.embeddings.embed_query(op.query))
        else:
            ranked = [(row, None) for row in rows]
        found = self.page(ranked, op)
        for row, _ in found:
            self.refresh(row, asked=op.refresh_ttl)
        return [SearchItem(**self.parts(row), score=score) for row, score in found]

    def candidates(self, op: SearchOp) -> list[Row]:
        return [
            row
            for row in self.rows.values()
            if self.is_below(row.namespace, op.namespace_prefix)
            and self.matches(self.decode(row.value), op.filter or {})
        ]

    def is_below(self, namespace: Path, prefix: Path) -> bool:
        return namespace[: len(prefix)] == prefix

    def rank(self, rows: list[Row], query: Vector) -> list[tuple[Row, float | None]]:
        scored = [
            (row, max(self.likeness(vector, query) for vector in row.vectors))
            for row in rows
            if row.vectors
        ]
        scored.sort(key=lambda pair: -pair[1])
        return [*scored, *((row, None) for row in rows if not row.vectors)]

    def likeness(self, one: Vector, other: Vector) -> float:
        product = math.fsum(map(mul, one, other))
        return product / math.hypot(*one) / math.hypot(*other)

    def page(
        self, ranked: list[tuple[Row, float | None]], op: SearchOp
    ) -> list[tuple[Row, float | None]]:
        return ranked[op.offset : op.offset + op.limit]

    # Filters

    def matches(self, value: Any, wanted: Any) -> bool:
        if not isinstance(wanted, dict):
            return bool(value == wanted)
        if any(name.startswith("$") for name in wanted):
            return all(self.compare(value, name, bound) for name, bound in wanted.items())
        return isinstance(value, dict) and all(
            self.matches(value.get(field), inner) for field, inner in wanted.items()
        )

    def compare(self, value: Any, operator: str, bound: Any) -> bool:
        if operator == "$eq":
            return bool(value == bound)
        if operator == "$ne":
            return bool(value != bound)
        return self.comparable(value, bound) and RANGES[operator](value, bound)

    def comparable(self, value: Any, bound: Any) -> bool:
        return any(
            isinstance(value, kind) and isinstance(bound, kind) for kind in (str, int | float)
        )

    # Namespaces

    def namespaces(self, op: ListNamespacesOp) -> list[Path]:
        matching = [
            namespace
            for namespace in self.all_namespaces()
            if all(self.meets(namespace, one) for one in op.match_conditions or ())
        ]
        cut = sorted({namespace[: op.max_depth] for namespace in matching})
        return cut[op.offset : op.offset + op.limit]

    def all_namespaces(self) -> Iterator[Path]:
        return (row.namespace for row in self.rows.values())

    def meets(self, namespace: Path, condition: MatchCondition) -> bool:
        path = condition.path
        if len(path) > len(namespace):
            return False
        part = namespace[: len(path)]
        if condition.match_type == "suffix":
            part = namespace[len(namespace) - len(path) :]
        return all(self.stands_for(one, label) for one, label in zip(path, part, strict=True))

    def stands_for(self, pattern: str, label: str) -> bool:
        return pattern in ("*", label)
