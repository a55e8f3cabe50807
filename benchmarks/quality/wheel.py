"""The `plugmem` wheel, with words, vectors, the entities a question names, and links."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.names import Names
from benchmarks.quality.metrics import K
from benchmarks.quality.peers import documents_of
from benchmarks.quality.systems import Ask, Prepared, System

BATCH = 512  # facts of one transaction
NO_LIMIT = 1_000_000  # tokens
LONGEST = 4_096  # bytes of a fact, which the wheel does not take more of


class Way(NamedTuple):
    """What the wheel is given.

    Attributes:
        vectors: Vectors of facts and questions.
        entities: The entities whose names a question has.
        links: Edges from a fact's entity to those its text names.
    """

    vectors: bool = False
    entities: bool = False
    links: bool = False


def wheel_peers() -> list[System]:
    """Return the wheel with less and with more to work with."""
    table = {
        "plugmem words": Way(),
        "plugmem": Way(vectors=True),
        "plugmem + entities": Way(vectors=True, entities=True),
        "plugmem + entities + links": Way(vectors=True, entities=True, links=True),
    }
    return [
        System(name, partial(_open, way=way), needs_vectors=way.vectors)
        for name, way in table.items()
    ]


@contextmanager
def _open(prepared: Prepared, folder: Path, way: Way) -> Iterator[Ask]:
    with ExitStack() as opened:
        spaces = {
            space: _Space(
                prepared, places, folder / f"plugmem-{number}-{'-'.join(map(str, way))}", way
            )
            for number, (space, places) in enumerate(prepared.spaces.items())
        }
        for one in spaces.values():
            opened.callback(one.close)
        yield lambda place: spaces[prepared.collection.questions[place].space].ask(place)


class _Space:
    """The file of one space."""

    def __init__(self, prepared: Prepared, places: Sequence[int], path: Path, way: Way) -> None:
        self._prepared = prepared
        self._way = way
        self._documents = documents_of(prepared, places)
        self._names = Names([one.entity for one in self._documents if one.entity])
        package: Any = import_module("plugmem")
        config = path.with_suffix(".toml")  # empty: not that of the user
        config.touch()
        dim = prepared.dim if way.vectors else None
        self._memory = package.Plugmem.open(str(path), dim=dim, config=str(config))
        self._ids: dict[int, str] = {}
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            receipts = self._memory.remember_many([self._fact(place) for place in batch])
            for receipt, document in zip(receipts, self._documents[start:], strict=False):
                self._ids[receipt.id] = document.id

    def ask(self, place: int) -> list[str]:
        """Return the ids of the documents that answer a question."""
        question = self._prepared.collection.questions[place]
        vector = self._prepared.question_vector(place) if self._way.vectors else None
        found = self._memory.recall(
            question.text,
            k=K,
            token_budget=NO_LIMIT,
            entities=self._names.find(question.text) if self._way.entities else None,
            vector=None if vector is None else vector.tolist(),
        )
        return [self._ids[fact.id] for fact in found.facts]

    def close(self) -> None:
        self._memory.close()

    def _fact(self, place: int) -> dict[str, Any]:
        document = self._prepared.collection.documents[place]
        fact: dict[str, Any] = {"text": _cut(document.text)}
        if document.entity:
            fact["entity"] = document.entity
            if self._way.links:
                others = [
                    name for name in self._names.find(document.text) if name != document.entity
                ]
                fact["links"] = [("mentions", name) for name in others]
        vector = self._prepared.document_vector(place) if self._way.vectors else None
        if vector is not None:
            fact["vector"] = vector.tolist()
        return fact


def _cut(text: str) -> str:
    return text.encode()[:LONGEST].decode(errors="ignore")
