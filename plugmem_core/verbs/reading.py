"""Reading facts by id or key."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from plugmem_core.clock import Instant
from plugmem_core.errors import NotFoundError
from plugmem_core.inputs import check_id, check_ids, check_keys, check_namespace
from plugmem_core.model import Fact, History, Namespace
from plugmem_core.recall import build_scope, make_query
from plugmem_core.verbs.base import Verbs, twin


class ReadingVerbs(Verbs):
    """Verbs that read facts by id or key."""

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
        known = engine.known(fact)
        if known is not None:  # what is forgotten is not, so only these two are left to ask
            expired = known.expires_at is not None and known.expires_at <= engine.clock()
            return known if known.namespace[: len(scope)] == scope and not expired else None
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
        store = self._engine.store
        chain, known = store.chain(id), None
        while chain != known:  # else the last version may be closed by one that came meanwhile
            versions = self.get_many(chain, namespace=namespace)
            chain, known = store.chain(id), chain
        return History(tuple(fact for fact in versions if fact is not None))

    def get_by_keys(
        self,
        keys: Iterable[str],
        *,
        as_of: Instant | None = None,
        closed: bool = False,
        namespace: Namespace = (),
        below: bool = True,
    ) -> list[Fact]:
        """Return the facts written under some keys, by ascending id.

        Args:
            keys: Callers' own ids of facts; unknown ones are left out.
            as_of: The instant to look from, moving both clocks; now by default.
            closed: Whether superseded facts are returned too.
            namespace: The scope: itself and what lies below it. A key leads to one
                current fact in each namespace.
            below: Whether what lies below it is in the scope.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("drinks green tea", key="drink", namespace=("users", "ann"))
        >>> [fact.text for fact in memory.get_by_keys(["drink", "food"])]
        ['drinks green tea']
        """
        wanted = check_keys(keys)
        query = make_query(as_of=as_of, closed=closed, namespace=namespace, below=below)
        engine = self._ready()
        seen = None
        while seen is None:  # what was written under a key meanwhile is not among those found
            change = engine.index.change
            found = sorted(engine.store.by_keys(wanted))
            with engine.gate:
                if engine.index.change == change:
                    scope = build_scope(engine.index, query, engine.clock(), None)
                    seen = engine.index.facts.admitted(scope, found)
        return engine.facts(seen)

    def vectors(
        self, ids: Iterable[int], *, namespace: Namespace = ()
    ) -> list[npt.NDArray[np.float32] | None]:
        """Return the vectors of facts as they were stored.

        Args:
            ids: Facts, superseded ones included.
            namespace: The scope in which to look for them.

        Returns:
            One array of float32 an id; `None` for a fact that is not here or has none.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:", dim=2)
        >>> receipt = memory.remember("the pole", vector=[0.0, 1.0])
        >>> memory.vectors([receipt.id])
        [array([0., 1.], dtype=float32)]
        """
        wanted = check_ids(ids)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            seen = engine.index.facts.admitted(self._visible(scope), wanted)
        stored = engine.store.vectors(seen)
        return [stored.get(fact) for fact in wanted]

    aget = twin(get)
    aget_many = twin(get_many)
    ahistory = twin(history)
    aget_by_keys = twin(get_by_keys)
    avectors = twin(vectors)
