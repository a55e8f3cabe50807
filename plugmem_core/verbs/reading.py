"""Reading facts by id."""

from collections.abc import Iterable

from plugmem_core.errors import (
    NotFoundError,
)
from plugmem_core.inputs import (
    check_id,
    check_ids,
    check_namespace,
)
from plugmem_core.model import Fact, History, Namespace
from plugmem_core.verbs.base import Verbs, twin


class ReadingVerbs(Verbs):
    """Verbs that read facts by id."""

    def get(self, id: int, *, namespace: Namespace = ()) -> Fact | None:  # noqa: A002
        """Return one fact, superseded ones included.

        Args:
            id: The fact.
            namespace: The scope in which to look for it.

        Returns:
            `None` when there is none here, or it is forgotten or expired.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> memory.get(memory.remember("water boils at 100 °C").id).text
        'water boils at 100 °C'
        """
        fact = check_id(id)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            if not engine.index.facts.admits(self._visible(scope), fact):
                return None
        found = engine.facts([fact])
        return found[0] if found else None

    def get_many(self, ids: Iterable[int], *, namespace: Namespace = ()) -> list[Fact | None]:
        """Return many facts, `None` in the place of each that is not here.

        Args:
            ids: Facts.
            namespace: The scope in which to look for them.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("one")
        >>> [fact and fact.text for fact in memory.get_many([0, 1])]
        ['one', None]
        """
        wanted = check_ids(ids)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            seen = engine.index.facts.admitted(self._visible(scope), wanted)
        found = {fact.id: fact for fact in engine.facts(seen)}
        return [found.get(fact) for fact in wanted]

    def history(self, id: int, *, namespace: Namespace = ()) -> History:  # noqa: A002
        """Return the whole revision chain of a fact, oldest version first.

        Args:
            id: Any version.
            namespace: The scope in which to look for it.

        Raises:
            NotFoundError: No such fact here.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> first = memory.remember("the office is in Bern")
        >>> _ = memory.revise(first.id, "the office is in Basel")
        >>> [fact.text for fact in memory.history(first.id)]
        ['the office is in Bern', 'the office is in Basel']
        """
        if self.get(id, namespace=namespace) is None:
            raise NotFoundError(f"fact {id} does not exist")
        chain = self.get_many(self._engine.store.chain(id), namespace=namespace)
        return History(tuple(fact for fact in chain if fact is not None))

    aget = twin(get)
    aget_many = twin(get_many)
    ahistory = twin(history)
