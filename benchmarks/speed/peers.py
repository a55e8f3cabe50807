"""Who is measured: ours, the reference engine, and what every other store has to offer."""

import shutil
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchmarks.corpus import Corpus
from benchmarks.speed.operations import Question
from benchmarks.speed.peer import Engine, Peer
from benchmarks.speed.rivals import (
    Bm25s,
    BruteForce,
    Ensemble,
    Hnsw,
    LangGraphStore,
    LlamaFusion,
    Rival,
)


class Ours(Engine):
    """This package.

    Attributes:
        ranking: By default that of the reference engine, so that both do the same work.
    """

    name = "ours"
    ranking: ClassVar[Literal["reference", "tuned"]] = "reference"

    def __init__(self, folder: Path, dim: int) -> None:
        self._path, self._dim = folder / "ours.db", dim
        self.open()

    def open(self) -> None:
        # A process that measures another does not pay for it.
        from plugmem_core import Memory, MemoryConfig

        config = MemoryConfig(ranking=self.ranking)
        self.memory = Memory.open(self._path, dim=self._dim, config=config)

    def ready(self) -> None:
        self.memory.maintain()

    def recall(self, question: Question) -> list[Any]:
        until = question.until
        return _read(
            self.memory.recall(
                question.text,
                tags=question.tags,
                entities=question.entities,
                anchors="given",
                vector=question.vector,
                range=None if until is None else (0, until),
            )
        )

    def size(self) -> int:
        return _bytes_of(self._path)


class Reference(Engine):
    """The reference engine, a wheel of Rust."""

    name = "reference"

    def __init__(self, folder: Path, dim: int) -> None:
        self._path, self._dim = folder / "reference", dim
        self.open()

    def open(self) -> None:
        import plugmem

        self.memory = plugmem.Plugmem.open(str(self._path), dim=self._dim or None)

    def ready(self) -> None:
        self.memory.maintain()
        self.memory.checkpoint()

    def recall(self, question: Question) -> list[Any]:
        asked: dict[str, Any] = {}
        if question.tags:
            asked["tags"] = list(question.tags)
        if question.entities:
            asked["entities"] = list(question.entities)
        if question.vector is not None:
            asked["vector"] = question.vector
        if question.until is not None:
            asked["range"] = (0, question.until)
        return _read(self.memory.recall(question.text, **asked))

    def size(self) -> int:
        self.memory.checkpoint()
        return _bytes_of(self._path)


def engines(folder: Path, dim: int, wanted: Iterable[str]) -> list[Engine]:
    """Return the engines to compare, the reference first, new files under a folder."""
    made: list[Engine] = []
    for name, kind in ENGINES.items():
        if name == "ours" or ("plugmem" in wanted and _installed("plugmem")):
            place = folder / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            made.append(kind(place, dim))
    return made


ENGINES: dict[str, type[Reference] | type[Ours]] = {"reference": Reference, "ours": Ours}
"""The engines by name."""


def rivals(corpus: Corpus, wanted: Iterable[str]) -> list[Peer]:
    """Return the other stores that are wanted, installed and of use, filled."""
    return [
        kind(corpus)
        for name, (kind, modules) in RIVALS.items()
        if name in wanted
        and all(map(_installed, modules))
        and (corpus.dim or "text" in kind.features)
    ]


RIVALS: dict[str, tuple[type[Rival], tuple[str, ...]]] = {
    "ensemble": (Ensemble, ("langchain_classic", "langchain_community")),
    "langgraph": (LangGraphStore, ("langgraph.store.memory",)),
    "llamaindex": (LlamaFusion, ("llama_index.core", "llama_index.retrievers.bm25")),
    "bm25s": (Bm25s, ("bm25s",)),
    "hnswlib": (Hnsw, ("hnswlib",)),
    "numpy": (BruteForce, ()),
}
"""Other stores by name, and the modules they need."""

PEERS = ("plugmem", *RIVALS)
"""What `--peers` may name."""


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even its parent is there
        return False


def _read(result: Any) -> list[Any]:
    found = [(fact.id, fact.score) for fact in result.facts]
    _ = result.rendered
    return found


def _bytes_of(path: Path) -> int:
    return sum(one.stat().st_size for one in path.parent.glob(f"{path.name}*"))
