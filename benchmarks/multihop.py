"""Questions whose answer takes several passages, over one service for each collection.

Each passage, or each sentence of one, is a memory. Its title is an entity it is about; so are
the other titles of the collection that its text has as whole words.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from benchmarks.datasets import Dataset, Passage, sentences
from benchmarks.names import mentioned, words_of
from benchmarks.outcomes import Outcomes
from plugmem_core.embed import Embedder
from plugmem_core.extraction import ExtractedFact, Graph
from plugmem_core.service import MemoryService, ServiceConfig, memory_id

Unit: TypeAlias = Literal["passages", "sentences"]

UNITS: tuple[Unit, ...] = ("passages", "sentences")
NOW = 1_767_225_600_000  # all is said at once, so that no memory is newer than another
BATCH = 512  # memories of one transaction
CONFIG = ServiceConfig(max_fact=65_536)
SEVERAL = 5  # seeds


class Arm(NamedTuple):
    """A way to answer questions.

    Attributes:
        name: As it is printed.
        words: Whether words count.
        vectors: Whether vectors count.
        seeds: From how many hits the graph is walked; 0 leaves it out.
        base: The arm it is compared with: the same without a graph, or vectors alone.
    """

    name: str
    words: bool
    vectors: bool
    seeds: int
    base: str


ARMS = tuple(
    Arm(f"{name}{graph}", "words" in name, "vectors" in name, seeds, name if seeds else "vectors")
    for name in ("vectors", "words and vectors", "words")
    for graph, seeds in (("", 0), (" + graph", 1), (f" + graph, {SEVERAL} seeds", SEVERAL))
)
BASES = {arm.name: arm.base for arm in ARMS if arm.name != arm.base}


class Handles(NamedTuple):
    """One file, with an embedder and without: so words count alone."""

    both: MemoryService
    words: MemoryService

    def ask(self, arm: Arm, question: str, k: int) -> list[int]:
        """Return the ids of the `k` memories that an arm finds."""
        service = self.both if arm.vectors else self.words
        mode: Literal["fused", "vector"] = "fused" if arm.words else "vector"
        if arm.seeds:
            found = service.recall_fused(question, k, seeds=arm.seeds, mode=mode)
        else:
            found = service.recall(question, k, mode=mode)
        return [memory.id for memory in found]


def run_multihop(
    dataset: Dataset, unit: Unit, embedder: Embedder, k: int, folder: Path
) -> Outcomes:
    """Ask every question in every arm; a passage is found when a memory of it is.

    Args:
        dataset: Passages and questions.
        unit: What is a memory.
        embedder: Makes vectors.
        k: Memories of one answer.
        folder: Where the file is made.
    """
    passages_of: dict[int, set[str]] = {}
    facts = list(_facts(dataset.passages, unit, passages_of))
    with open_handles(folder / "memory.db", embedder, facts) as handles:
        status = handles.both.memory_status()
        about = {"memories": status.facts, "entities": status.entities, "edges": status.edges}
        outcomes = Outcomes(about=about, bases=BASES)
        for question in dataset.questions:
            outcomes.groups.append(question.category)
            for arm in ARMS:
                ids = handles.ask(arm, question.text, k)
                found = set[str]().union(*(passages_of[one] for one in ids))
                outcomes.add(arm.name, found, question.gold)
    return outcomes


@contextmanager
def open_handles(
    path: Path, embedder: Embedder, facts: Sequence[ExtractedFact]
) -> Iterator[Handles]:
    """Store memories with the entities they are about, and open both handles on them."""
    with MemoryService.open(path, embedder=embedder, config=CONFIG, clock=lambda: NOW) as both:
        for start in range(0, len(facts), BATCH):
            both.remember_extracted("given", extractor=_Given(facts[start : start + BATCH]))
        with MemoryService.open(path, config=CONFIG, read_only=True, clock=lambda: NOW) as words:
            yield Handles(both, words)


class _Given:
    """An extractor that finds what it was given."""

    def __init__(self, facts: Sequence[ExtractedFact]) -> None:
        self._graph = Graph(tuple(facts))

    def extract(self, text: str) -> Graph:  # noqa: ARG002 - the protocol's
        return self._graph


def _facts(
    passages: Sequence[Passage], unit: Unit, passages_of: dict[int, set[str]]
) -> Iterator[ExtractedFact]:
    """Yield the memories, and note which passages each of them is of."""
    titles = {words_of(passage.title): passage.title for passage in passages}
    longest = max(map(len, titles), default=0)
    for passage in passages:
        whole = f"{passage.title}\n{passage.text}"
        for text in [whole] if unit == "passages" else sentences(passage.text):
            topics = dict.fromkeys([passage.title, *mentioned(text, titles, longest)])
            passages_of.setdefault(memory_id(text), set()).add(passage.id)
            yield ExtractedFact(text, tuple(topics))
