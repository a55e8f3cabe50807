"""The reference engine behind a pipe: one JSON request a line in, one JSON answer a line out.

Run as a script, alone in its process, with the frozen clock preloaded. It answers in the same
shapes as `ours.py`, so that the two can be compared value by value.
"""

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

import plugmem

NO_ID = 0xFFFFFFFF
OPEN_END = 0xFFFFFFFFFFFFFFFF
SOURCE_BITS = {"bm25": 1, "graph": 2, "time": 4, "vector": 8}
REASONS = {"LexicalOverlap": "lexical", "VectorCosine": "vector"}


class Session:
    """One open database and the verbs the parent may ask for."""

    def __init__(self, freeze_clock: Callable[[int], None]) -> None:
        self._freeze_clock = freeze_clock
        self._verbs: dict[str, Callable[[dict[str, Any]], Any]] = {
            "Remember": self._remember,
            "RememberGuarded": self._remember_guarded,
            "RememberMany": self._remember_many,
            "Revise": self._revise,
            "Forget": lambda given: self._db.forget(given["id"]),
            "AddLink": self._link,
            "Unlink": lambda given: self._db.unlink(given["src"], given["relation"], given["dst"]),
            "RemoveTag": lambda given: self._db.remove_tag(given["tag"]).affected,
            "Maintain": lambda given: self._db.maintain("compact").purged,
            "Reopen": self._reopen,
            "Recall": self._recall,
            "open": self._open,
            "close": lambda given: self._db.close(),
        }

    def answer(self, request: dict[str, Any]) -> Any:
        self._freeze_clock(request["at"])
        try:
            return self._verbs[request["verb"]](request)
        except plugmem.PlugmemError as error:
            return {"refused": _refusal(str(error))}

    def _open(self, given: dict[str, Any]) -> None:
        self._where = given
        self._db = plugmem.Plugmem.open(
            given["path"], dim=given["dim"] or None, config=given["config"]
        )
        if warnings := self._db.config_warnings():
            raise ValueError(f"the reference does not know all of its configuration: {warnings}")

    def _reopen(self, given: dict[str, Any]) -> None:
        self._db.close()
        self._open(self._where)

    def _remember(self, given: dict[str, Any]) -> dict[str, Any]:
        return _receipt(self._db.remember(**_arguments(given["fact"])))

    def _remember_guarded(self, given: dict[str, Any]) -> dict[str, Any]:
        outcome = self._db.remember_guarded(**_arguments(given["fact"]))
        return {
            "blocked": outcome.status == "blocked",
            "checked": outcome.checked,
            "similar": [_similar(each) for each in outcome.similar],
            "receipt": None if outcome.outcome is None else _receipt(outcome.outcome),
        }

    def _remember_many(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        facts = [_arguments(fact) for fact in given["facts"]]
        return [_receipt(outcome) for outcome in self._db.remember_many(facts)]

    def _revise(self, given: dict[str, Any]) -> int:
        return int(self._db.revise(given["id"], **_arguments(given["fact"])).id)

    def _link(self, given: dict[str, Any]) -> None:
        self._db.link(given["src"], given["relation"], given["dst"], provenance=given["provenance"])

    def _recall(self, given: dict[str, Any]) -> dict[str, Any]:
        result = self._db.recall(
            given["text"],
            k=given["k"],
            tags=given["tags"],
            entities=given["entities"],
            as_of=given["as_of"],
            range=given["range"] and tuple(given["range"]),
            closed=given["closed"],
            token_budget=given["token_budget"],
            graph_depth=given["graph_depth"],
            vector=given["vector"],
        )
        return {
            "facts": [_hit(fact) for fact in result.facts],
            "edges": _edges(result),
            "truncated": result.truncated,
            "rendered": result.rendered,
        }


def _refusal(message: str) -> str:
    """Return the kind of a refusal that both engines make, else the message."""
    kinds = [kind for kind in ("not found", "already closed") if kind in message]
    return kinds[0] if kinds else message


def _arguments(fact: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments given; JSON has no tuples, and a batch's mappings allow no `None`."""
    given = {name: value for name, value in fact.items() if value is not None}
    return given | {"links": [tuple(link) for link in fact["links"]]}


def _receipt(outcome: plugmem.RememberOutcome) -> dict[str, Any]:
    return {"id": outcome.id, "similar": [_similar(each) for each in outcome.similar]}


def _similar(each: plugmem.Similar) -> dict[str, Any]:
    return {"id": each.id, "score": each.score, "reason": REASONS[each.reason]}


def _hit(fact: plugmem.RecalledFact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "score": fact.score,
        "sources": sorted(name for name, bit in SOURCE_BITS.items() if fact.sources & bit),
        "recorded_at": fact.recorded_at,
        "valid_from": fact.valid_from,
        "valid_to": None if fact.valid_to == OPEN_END else fact.valid_to,
    }


def _edges(result: plugmem.RecallResult) -> list[dict[str, Any]]:
    """Return the edges by name: the result has ids, its block the names in the same order."""
    lines = [line for line in result.rendered.split("\n") if line.startswith("- links: ")]
    edges = []
    for edge, line in zip(result.edges, lines, strict=True):
        src, rest = line.removeprefix("- links: ").split(" —")
        relation, dst = rest.split("→ ")
        provenance = None if edge.provenance == NO_ID else edge.provenance
        edges.append({"src": src, "relation": relation, "dst": dst, "provenance": provenance})
    return edges


def main() -> None:
    """Answer requests until the pipe is closed."""
    freeze_clock = ctypes.CDLL(None).freeze_clock
    freeze_clock.argtypes = [ctypes.c_int64]
    freeze_clock.restype = None
    session = Session(freeze_clock)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(session.answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
