"""Our engine, answering in the same shapes as `reference_child.py`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plugmem_core import Memory, MemoryConfig
from plugmem_core.errors import ClosedFactError, NotFoundError, PlugmemError
from plugmem_core.model import RecalledFact, Receipt, Similar

from .operations import (
    AddLink,
    Forget,
    Maintain,
    NewFact,
    Operation,
    Recall,
    Remember,
    RememberGuarded,
    RememberMany,
    RemoveTag,
    Reopen,
    Revise,
    Unlink,
)


class Ours:
    """Our engine; `open` starts an empty memory, `apply` does one operation."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._opened = 0
        self._now = 0
        self._memory: Memory | None = None

    def open(self, *, dim: int, knobs: Mapping[str, float]) -> None:
        """Start an empty memory; the one before is closed."""
        self.close()
        self._opened += 1
        self._path = self._directory / f"ours-{self._opened}.db"
        self._config = MemoryConfig(ranking="reference", durability="normal", **knobs)
        self._dim = dim
        self._memory = self._open()

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def apply(self, operation: Operation) -> Any:
        """Do one operation and return what came back, as plain JSON values."""
        self._now = operation.at
        try:
            return self._do(operation)
        except NotFoundError:
            return {"refused": "not found"}
        except ClosedFactError:
            return {"refused": "already closed"}
        except PlugmemError as error:
            return {"refused": repr(error)}

    def _open(self) -> Memory:
        return Memory.open(
            str(self._path), config=self._config, dim=self._dim, clock=lambda: self._now
        )

    def _do(self, operation: Operation) -> Any:
        memory = self._memory
        assert memory is not None
        match operation:
            case Remember(fact=fact):
                return _receipt(memory.remember(**_arguments(fact)))
            case RememberGuarded(fact=fact):
                outcome = memory.remember_guarded(**_arguments(fact))
                return {
                    "blocked": outcome.blocked,
                    "checked": outcome.checked,
                    "similar": [_similar(each) for each in outcome.similar],
                    "receipt": outcome.receipt and _receipt(outcome.receipt),
                }
            case RememberMany(facts=facts):
                receipts = memory.remember_many([_arguments(fact) for fact in facts])
                return [_receipt(receipt) for receipt in receipts]
            case Revise(id=target, fact=fact):
                return memory.revise(target, **_arguments(fact)).id
            case Forget(id=target):
                return memory.forget(target)
            case AddLink(src=src, relation=relation, dst=dst, provenance=provenance):
                memory.link(src, relation, dst, provenance=provenance)
                return None
            case Unlink(src=src, relation=relation, dst=dst):
                return memory.unlink(src, relation, dst)
            case RemoveTag(tag=tag):
                return memory.remove_tag(tag)
            case Maintain():
                return memory.maintain().purged
            case Reopen():
                memory.close()
                self._memory = self._open()
                return None
            case Recall():
                return _recall(memory, operation)


def _arguments(fact: NewFact) -> dict[str, Any]:
    # Every argument is passed, None included: the reference's revise inherits nothing.
    return {
        "text": fact.text,
        "entity": fact.entity,
        "tags": fact.tags,
        "links": fact.links,
        "metadata": fact.metadata,
        "valid_from": fact.valid_from,
        "vector": fact.vector,
    }


def _receipt(receipt: Receipt) -> dict[str, Any]:
    return {"id": receipt.id, "similar": [_similar(each) for each in receipt.similar]}


def _similar(each: Similar) -> dict[str, Any]:
    return {"id": each.id, "score": each.score, "reason": each.reason}


def _recall(memory: Memory, query: Recall) -> dict[str, Any]:
    result = memory.recall(
        query.text,
        k=query.k,
        tags=query.tags,
        entities=query.entities,
        anchors="given",
        as_of=query.as_of,
        range=query.range,
        closed=query.closed,
        token_budget=query.token_budget,
        graph_depth=query.graph_depth,
        vector=query.vector,
    )
    return {
        "facts": [_hit(fact) for fact in result.facts],
        "edges": [
            {
                "src": edge.src,
                "relation": edge.relation,
                "dst": edge.dst,
                "provenance": edge.provenance,
            }
            for edge in result.edges
        ],
        "truncated": result.truncated,
        "rendered": result.rendered,
    }


def _hit(fact: RecalledFact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "score": fact.score,
        "sources": sorted(fact.sources),
        "recorded_at": fact.recorded_at,
        "valid_from": fact.valid_from,
        "valid_to": fact.valid_to,
    }
