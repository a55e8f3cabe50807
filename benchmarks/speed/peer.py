"""What a store has to do to be measured."""

from typing import Any, ClassVar

from benchmarks.corpus import Fact
from benchmarks.speed.operations import Feature, Question


class Peer:
    """A store that is full and can be asked.

    Attributes:
        name: What the results call it.
        features: The parts of a question that it knows of.
    """

    name: ClassVar[str]
    features: ClassVar[frozenset[Feature]]

    def recall(self, question: Question) -> list[Any]:
        """Answer a question with at most 8 facts, and read the answer."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what is open."""


class Engine(Peer):
    """A peer that keeps its facts in files, and can be read and written one by one.

    Attributes:
        memory: The open handle.
    """

    features: ClassVar[frozenset[Feature]] = frozenset(
        {"text", "tags", "entities", "vector", "newest"}
    )
    memory: Any

    def open(self) -> None:
        """Open the files, which are made when missing."""
        raise NotImplementedError

    def load(self, facts: list[Fact]) -> None:
        """Store a batch."""
        self.memory.remember_many(facts)

    def ready(self) -> None:
        """Do what has to be done once between the load and the questions."""

    def get(self, fact: int) -> object:
        """Read one fact."""
        return self.memory.get(fact)

    def remember(self, text: str) -> object:
        """Write one fact; it is on disk when this returns."""
        return self.memory.remember(text, entity="ent5")

    def nearest(self, vector: Any, count: int) -> list[int]:
        """Return the ids of the facts nearest to a vector."""
        found = self.memory.recall(vector=vector, k=count, token_budget=1_000_000)
        return [fact.id for fact in found.facts]

    def size(self) -> int:
        """Return the bytes of the files."""
        raise NotImplementedError

    def close(self) -> None:
        self.memory.close()
