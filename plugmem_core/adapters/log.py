"""A log of facts: what was said in a conversation, in order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from plugmem_core.clock import MAX_MS
from plugmem_core.memory import Memory
from plugmem_core.model import Fact, Namespace, RecalledFact
from plugmem_core.verbs.listing import every

Choice = Callable[[Iterable[RecalledFact]], list[RecalledFact]]


class FactLog:
    """The entries of one namespace, in the order of their commits.

    What lies below the namespace is not part of it, nor are facts that `owns` does not
    know as entries. An entry whose key is in the log already takes the place of that one.

    Args:
        memory: The open memory.
        namespace: Where the entries live.
        owns: Whether a fact is an entry, by its metadata.

    >>> log = FactLog(Memory.open(":memory:"), ("chat",), lambda metadata: "role" in metadata)
    >>> log.add({"text": text, "metadata": {"role": "user"}} for text in ("one", "two"))
    >>> [fact.text for fact in log.read()], [fact.text for fact in log.last(1)]
    (['one', 'two'], ['two'])
    """

    def __init__(
        self, memory: Memory, namespace: Namespace, owns: Callable[[Mapping[str, Any]], bool]
    ) -> None:
        self.memory = memory
        self.namespace = namespace
        self._knows = owns

    def add(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Append entries, arguments of `Memory.remember`, in one transaction."""
        self.memory.remember_many({**one, "namespace": self.namespace} for one in entries)

    def read(self) -> list[Fact]:
        """Return every entry."""
        return in_order(self._versions())

    def clear(self) -> None:
        """Forget every entry, superseded versions included."""
        keys = {fact.key for fact in self._versions() if fact.key is not None}
        self.memory.write(forget=[(self.namespace, key) for key in keys])

    def last(self, count: int) -> list[RecalledFact]:
        """Return the entries that came last, oldest first."""
        if not count:
            return []
        newest = {"sources": ["time"], "weights": {"time": 1, "recency": 0}, "valid_at": MAX_MS}
        return sorted(self._best(None, count, list, **newest))

    def recall(
        self, text: str, count: int, beside: Sequence[RecalledFact], **arguments: Any
    ) -> list[RecalledFact]:
        """Return the entries that answer a question, best first.

        Args:
            text: The question.
            count: Most of them.
            beside: What is shown anyway; neither that nor anything twice is returned.
            arguments: More arguments of `Memory.recall`.
        """

        def fresh(facts: Iterable[RecalledFact]) -> list[RecalledFact]:
            said = {_said(fact): fact for fact in beside}
            return [fact for fact in facts if said.setdefault(_said(fact), fact) is fact]

        return self._best(text, count, fresh, **arguments)

    def _best(
        self, text: str | None, count: int, choose: Choice, **arguments: Any
    ) -> list[RecalledFact]:
        """Recall ever more facts until enough are entries of this log and chosen."""
        size = count
        while True:
            result = self.memory.recall(
                text,
                k=size,
                namespace=self.namespace,
                below=False,
                token_budget=None,
                **arguments,
            )
            found = choose(fact for fact in result.facts if self._owns(fact))
            if len(found) >= count or not result.truncated:
                return found[:count]
            size *= 2

    def _versions(self) -> Iterator[Fact]:
        """Read all versions of all entries, by ascending id."""
        # A clock that was set back must not hide any.
        options = {"closed": True, "valid_at": MAX_MS, "below": False}
        facts = every(self.memory.list_facts, namespace=self.namespace, **options)
        return filter(self._owns, facts)

    def _owns(self, fact: Fact | RecalledFact) -> bool:
        return self._knows(fact.metadata)


def in_order(versions: Iterable[Fact]) -> list[Fact]:
    """Return the current version of each chain, at the place of its first one.

    Args:
        versions: By ascending id; superseded ones included.
    """
    first: dict[int | None, int] = {}
    newest: dict[int, Fact] = {}
    for fact in versions:
        place = first[fact.id] = first.get(fact.revises, fact.id)
        newest[place] = fact
    return [fact for fact in newest.values() if fact.is_current]


def _said(fact: RecalledFact) -> tuple[tuple[str, ...], str]:
    return fact.tags, fact.text
