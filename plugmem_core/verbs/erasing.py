"""Removing facts for good: their bytes, too."""

from collections.abc import Iterable

from plugmem_core.errors import InvalidInputError, NotFoundError
from plugmem_core.inputs import check_ids, check_key, check_name, check_namespace
from plugmem_core.model import ErasureReceipt, Namespace
from plugmem_core.store import Transaction, dump_json
from plugmem_core.verbs.base import Verbs, twin


class EraseVerbs(Verbs):
    """The verb that leaves no trace."""

    def erase(
        self,
        ids: Iterable[int] | None = None,
        *,
        entity: str | None = None,
        key: str | None = None,
        namespace: Namespace = (),
    ) -> ErasureReceipt:
        """Remove facts with all their versions, and their bytes from the disk.

        Unlike `forget`, nothing is kept: texts, tags, metadata, vectors, and the names of
        entities, relations and namespaces that nothing else uses are gone from the file, its
        log and the checkpoint when the call returns, and other handles drop what they hold
        at their next call. Edges go that follow from such a fact. What the disk itself, a
        backup or another program keeps is beyond this.

        The file is written anew, which takes its time and as much free space as it has.

        Args:
            ids: Facts; those that are not here any more are passed over.
            entity: Everything about this entity: its facts, names and edges. Texts of other
                facts may still mention it.
            key: What was written under this key.
            namespace: The scope of the above: for `entity` and `key` itself alone, for `ids`
                what lies below it, too. Alone, all that is in it and below it is erased.

        Returns:
            What was done, without any content.

        Raises:
            InvalidInputError: Not one of the four was given, or more than one.
            BusyError: Another handle was writing, or reading, for longer than `busy_timeout`.
                In the latter case the facts are gone, but copies of them may still be in the
                log; erase once more.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> fact = memory.remember("the alarm code is 4711", entity="alarm")
        >>> receipt = memory.erase(entity="alarm")
        >>> receipt.kind, receipt.facts, receipt.entities
        ('entity', (0,), 1)
        >>> memory.history(fact.id)
        Traceback (most recent call last):
        plugmem_core.errors.NotFoundError: fact 0 does not exist
        """
        scope = check_namespace(namespace)
        facts = None if ids is None else check_ids(ids)
        named = None if entity is None else check_name(entity, "entity")[1]
        wanted_key = check_key(key)
        given = {"ids": facts, "entity": named, "key": wanted_key}
        kinds = [kind for kind, value in given.items() if value is not None]
        if len(kinds) > 1:
            raise InvalidInputError(f"{' and '.join(kinds)} are given; erase one after the other")
        if not kinds and not scope:
            raise InvalidInputError(
                "nothing was named, which would erase everything; give ids, an entity, a key or "
                "a namespace, or delete the file"
            )
        engine = self._engine
        if engine.shared is not None:
            raise InvalidInputError("erase is a transaction of its own; call it outside")
        with engine.writing() as transaction:
            spaces = engine.index.spaces
            here = spaces.find(dump_json(scope))
            entities: list[int] = []
            below: list[int] = []
            if facts is not None:
                chosen = self._chains(transaction, facts, scope)
            elif here is None and kinds:
                chosen = []
            elif named is not None:
                found = transaction.find_entity(named, here or 0)
                entities = [] if found is None else [found]
                chosen = transaction.facts_about(entities)
            elif wanted_key is not None:
                chosen = transaction.facts_under(wanted_key, here or 0)
            else:
                chosen = []
                depth = len(scope)
                below = [at for at, path in enumerate(spaces.paths) if path[:depth] == scope]
            erased = transaction.erase(chosen, entities, below)
        engine.scrub()
        return ErasureReceipt((kinds or ["namespace"])[0], engine.clock(), *erased)

    aerase = twin(erase)

    def _chains(self, transaction: Transaction, facts: list[int], scope: Namespace) -> list[int]:
        mask = self._engine.index.spaces.mask(scope)
        seen = []
        for fact in facts:
            try:
                row = transaction.fact(fact)
            except NotFoundError:
                continue
            if mask is None or mask[row.namespace]:
                seen.append(fact)
        return self._engine.store.chains_of(seen)
