"""Our own memory, with one ranking or another."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.quality.collections import Document
from benchmarks.quality.metrics import K
from benchmarks.quality.systems import Ask, Prepared, System
from plugmem_core import Memory, MemoryConfig

Knobs: TypeAlias = Mapping[str, Any]
"""Arguments of `MemoryConfig`."""

SIGNALS: dict[str, Knobs] = {
    "entities": {"entity_boost": 0.0},
    "links": {"link_boost": 0.0},
    "neighbours": {"previous_boost": 0.0, "next_boost": 0.0},
    "dates": {"date_boost": 0.0},
    "years": {"year_boost": 0.0},
    "recency": {"w_recency": 0.0},
}
"""The signals beside words and vectors, and the knobs that switch each off."""

LEXICAL: dict[str, Knobs] = {
    "stemming": {"analyzer": "plain"},
    "stop words": {"stop_words": False},
    "short texts": {"bm25_k1": 1.2, "bm25_b": 0.75},
}
"""What the tuned ranking does with words, and the knobs that undo it."""

WRITTEN = frozenset({"analyzer", "mentions", "session_key"})
"""Knobs that decide what a file holds, so that it is made anew for each of their values."""

RANKINGS: dict[str, Knobs] = {"reference": {"ranking": "reference"}, "tuned": {"ranking": "tuned"}}
OFF: Knobs = {name: off for knobs in SIGNALS.values() for name, off in knobs.items()}


def our_systems() -> list[System]:
    """Return both rankings, and the tuned one with each signal alone and without each."""
    tuned = RANKINGS["tuned"]
    table: dict[str, Knobs] = {"tuned": tuned, "fusion alone": {**tuned, **OFF}}
    for name, knobs in SIGNALS.items():
        others = {one: value for one, value in OFF.items() if one not in knobs}
        table[f"fusion + {name}"] = {**tuned, **others}
    for name, knobs in {**SIGNALS, **LEXICAL}.items():
        table[f"tuned - {name}"] = {**tuned, **knobs}
    return [
        our_system("reference", RANKINGS["reference"]),
        our_system("reference - entities", RANKINGS["reference"], anchors="given"),
        *(our_system(name, knobs) for name, knobs in table.items()),
    ]


def our_system(name: str, knobs: Knobs, **asked: Any) -> System:
    """Return a memory with these knobs, and further arguments of `recall`."""
    return System(name, partial(open_memory, knobs=knobs, asked=asked))


@contextmanager
def open_memory(
    prepared: Prepared, folder: Path, knobs: Knobs, asked: Mapping[str, Any]
) -> Iterator[Ask]:
    """Write the collection to a file, unless it is there, and open that with the knobs.

    Raises:
        ConfigError: There is no such knob, or it cannot have that value.
    """
    config = MemoryConfig(**knobs)
    stored = {name: value for name, value in knobs.items() if name in WRITTEN}
    path = folder / f"ours-{'-'.join(f'{name}={stored[name]}' for name in sorted(stored))}.db"
    if not path.exists():
        _write(prepared, path, MemoryConfig(**stored))
    hands = _Hands()
    with Memory.open(path, config=config, dim=prepared.dim, clock=hands.tell) as memory:
        questions = prepared.collection.questions

        def ask(place: int) -> list[str]:
            question = questions[place]
            hands.now = question.now
            found = memory.recall(
                question.text,
                k=K,
                token_budget=None,
                namespace=_namespace(question.space),
                vector=prepared.question_vector(place),
                **asked,
            )
            return [str(fact.key) for fact in found]

        yield ask


class _Hands:
    """A clock that stands where it was set."""

    def __init__(self) -> None:
        self.now = 0

    def tell(self) -> int:
        return self.now


def _write(prepared: Prepared, path: Path, config: MemoryConfig) -> None:
    """Store each document that is not blank; what was said at one time in one transaction."""
    hands = _Hands()
    documents = (one for one in enumerate(prepared.collection.documents) if one[1].text.strip())
    with Memory.open(path, config=config, dim=prepared.dim, clock=hands.tell) as memory:
        for (_, at), batch in groupby(documents, key=lambda one: (one[1].space, one[1].at)):
            hands.now = at
            memory.remember_many(_fact(document, prepared, place) for place, document in batch)
        memory.maintain()


def _fact(document: Document, prepared: Prepared, place: int) -> dict[str, Any]:
    return {
        "text": document.text if document.text.strip() else "(blank)",  # one of Cranfield's is
        "entity": document.entity,
        "key": document.id,
        "namespace": _namespace(document.space),
        "metadata": None if document.session is None else {"session": document.session},
        "valid_from": document.at,
        "vector": prepared.document_vector(place),
    }


def _namespace(space: str) -> tuple[str, ...]:
    return (space,) if space else ()
