"""Facts by tag, and the sets that tag conditions allow."""

from collections.abc import Iterable, Sequence

from plugmem_core.kernels import Dictionary, FactTable, IdLists, IdSet, Scope


class TagIndex:
    """Every fact that ever carried a tag, closed ones included."""

    def __init__(self) -> None:
        self.names = Dictionary()
        self.facts = IdLists()

    def add(self, fact: int, tags: Iterable[str]) -> None:
        """Index a fact's tags."""
        for tag in tags:
            self.facts.add(self.names.intern(tag), fact)

    def facts_of(self, tag: str) -> list[int]:
        """Return the facts that ever carried a tag, ascending."""
        tag_id = self.names.find(tag)
        return [] if tag_id is None else self.facts.list(tag_id)

    def allowed(
        self, every: Sequence[str], some: Sequence[str], none: Sequence[str], size: int
    ) -> IdSet:
        """Return the facts with every tag of one list, some of another and none of a third."""
        allowed = IdSet(size)
        if every:
            self._collect(every[0], allowed)
            for tag in every[1:]:
                allowed.intersect(self._any([tag], size))
        else:
            allowed.complement()
        if some:
            allowed.intersect(self._any(some, size))
        if none:
            allowed.subtract(self._any(none, size))
        return allowed

    def counts(self, prefix: str, facts: FactTable, scope: Scope) -> list[tuple[str, int]]:
        """Return tags that start with a prefix and how many admitted facts carry each."""
        found = []
        for tag_id in range(len(self.names)):
            name = self.names.name(tag_id)
            if name.startswith(prefix):
                count = self.facts.count(tag_id, facts, scope)
                if count:
                    found.append((name, count))
        return sorted(found)

    def _any(self, tags: Iterable[str], size: int) -> IdSet:
        found = IdSet(size)
        for tag in tags:
            self._collect(tag, found)
        return found

    def _collect(self, tag: str, into: IdSet) -> None:
        tag_id = self.names.find(tag)
        if tag_id is not None:
            self.facts.collect(tag_id, into)
