"""Facts by the ids under which frameworks know documents."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from plugmem_core.clock import MAX_MS
from plugmem_core.errors import NotFoundError, WrongTypeError, shown
from plugmem_core.inputs import MAX_ID, check_type
from plugmem_core.memory import Memory
from plugmem_core.model import Fact, Namespace, RecalledFact
from plugmem_core.verbs.listing import every


class Documents:
    """The facts of a namespace as documents: a document's id is a key, or else a fact's id.

    What lies below the namespace is found as well, but belongs to others: it is never
    deleted from here.

    Args:
        memory: The open memory.
        namespace: Where the documents live.
        prefix: What ids of facts begin with, so that keys that are numbers are no such ids.

    >>> memory = Memory.open(":memory:")
    >>> _ = memory.remember("Mara prefers green tea", key="tea")
    >>> [fact.text for fact in Documents(memory, ()).get(["coffee", "tea"])]
    ['Mara prefers green tea']
    """

    def __init__(self, memory: Memory, namespace: Namespace, prefix: str = "") -> None:
        self.memory = memory
        self.namespace = namespace
        self._prefix = prefix

    def get(self, ids: Iterable[str]) -> list[Fact]:
        """Return documents as last written, in the order asked; unknown ids are left out.

        Those that become true only later are among them.
        """
        wanted = _checked(ids)
        keyed = self._keyed(wanted, closed=False)
        keyless = [fact for fact in self._keyless(wanted, keyed) if fact.is_current]
        places = {key: place for place, key in enumerate(wanted)}
        return sorted([*keyed, *keyless], key=lambda fact: places[self._id(fact)])

    def versions(self, ids: Iterable[str]) -> list[int]:
        """Return the facts that are, or were, documents of the very namespace."""
        found = self._versions(_checked(ids))
        return [fact.id for fact in found if fact.namespace == self.namespace]

    def find(self, where: Mapping[str, Any] | None) -> list[Fact]:
        """Return the documents of the very namespace as last written, by their age.

        Args:
            where: A filter over metadata; `None` for all.
        """
        return [fact for fact in self._own(where=where, closed=False) if fact.is_current]

    def delete(self, ids: Iterable[str] | None) -> None:
        """Forget documents, every version of them, in one transaction.

        The links that they brought end. Unknown ids are passed over.

        Args:
            ids: Which; `None` means all.
        """
        wanted = None if ids is None else _checked(ids)
        self._forget(lambda: self._own() if wanted is None else self._versions(wanted))

    def delete_where(self, where: Mapping[str, Any]) -> None:
        """Forget the documents that pass a filter as last written, every version of them.

        Earlier versions of others that pass it are forgotten, too.

        Args:
            where: A filter over metadata.
        """

        def found() -> list[Fact]:
            passing = self._own(where=where)
            current = [self._id(fact) for fact in passing if fact.is_current]
            return [*passing, *self._versions(current)]

        self._forget(found)

    def _forget(self, find: Callable[[], Iterable[Fact]]) -> None:
        while True:
            own = {fact.id for fact in find() if fact.namespace == self.namespace}
            try:
                self.memory.forget_many(own, unlink=True)
            except NotFoundError:  # another process has removed one since; look again
                continue
            return

    def _keyed(self, ids: list[str], *, closed: bool) -> list[Fact]:
        """Return the facts under keys.

        Args:
            ids: The keys.
            closed: Whether to return every version, or only the last one of each.
        """
        # Two instants: at the later one, what has a time to live is gone.
        found = {
            fact.id if closed else (fact.namespace, fact.key): fact
            for as_of in (None, MAX_MS)
            for fact in self.memory.get_by_keys(
                ids, as_of=as_of, closed=closed, namespace=self.namespace
            )
        }
        return list(found.values())

    def _keyless(self, ids: list[str], keyed: Iterable[Fact]) -> list[Fact]:
        """Return the facts without a key whose ids these are; a key goes before an id."""
        taken = {fact.key for fact in keyed}
        start = len(self._prefix)
        free = (one for one in ids if one not in taken and one.startswith(self._prefix))
        numbers = [int(one[start:]) for one in free if _is_fact_id(one[start:])]
        found = self.memory.get_many(numbers, namespace=self.namespace)
        return [fact for fact in found if fact and fact.key is None]

    def _id(self, fact: Fact) -> str:
        return document_id(fact, self._prefix)

    def _versions(self, ids: list[str]) -> list[Fact]:
        keyed = self._keyed(ids, closed=True)
        versions = {fact.id: fact for fact in keyed}
        for fact in self._keyless(ids, keyed):
            chain = self.memory.history(fact.id, namespace=self.namespace)
            versions.update((version.id, version) for version in chain)
        return list(versions.values())

    def _own(self, **restrictions: Any) -> list[Fact]:
        """Return what is in the very namespace, superseded versions too, by age."""
        scope = {"namespace": self.namespace, "below": False}
        arguments = {"closed": True, **scope, **restrictions}
        found = {
            fact.id: fact
            for valid_at in (None, MAX_MS)  # two instants, as above
            for fact in every(self.memory.list_facts, valid_at=valid_at, **arguments)
        }
        return [found[one] for one in sorted(found)]


def document_id(fact: Fact | RecalledFact, prefix: str = "") -> str:
    """Return the id under which a fact is known as a document: its key, or else its id."""
    return f"{prefix}{fact.id}" if fact.key is None else fact.key


def _checked(ids: Iterable[str]) -> list[str]:
    if isinstance(ids, str):
        raise WrongTypeError(f"ids is {shown(ids)}, one id; give a list of them")
    given = list(ids)
    for place, one in enumerate(given):
        check_type(one, str, f"ids[{place}]", "a str")
    return list(dict.fromkeys(one for one in given if one.strip()))


def _is_fact_id(text: str) -> bool:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else MAX_ID + 1
    return number <= MAX_ID and str(number) == text
