"""Verbs over edges and nodes: what leads to what, what is to go, and what was of use."""

from plugmem_core.errors import InvalidInputError
from plugmem_core.inputs import check_type
from plugmem_core.service.arguments import MemoryId, check_label
from plugmem_core.service.base import ServiceVerbs
from plugmem_core.service.draft import Draft
from plugmem_core.service.fusion import learn
from plugmem_core.service.identity import MENTIONS, check_memory_id, edge_id
from plugmem_core.service.records import Link, Unrelated
from plugmem_core.service.store import Learned
from plugmem_core.verbs.base import twin


class RelateVerbs(ServiceVerbs):
    """Verbs over edges and nodes."""

    def relate(self, source: MemoryId, target: MemoryId, relation: str) -> int:
        """Add an edge; saying so again changes nothing.

        Walks go along edges, so let them lead from what is asked about to its evidence.

        Args:
            source: The id of a memory or an entity.
            target: That of another.
            relation: What leads from one to the other; at most `max_label` bytes.

        Returns:
            The id of the edge.

        Raises:
            InvalidInputError: The label or an id breaks its rule, or both ends are the same.
            NotFoundError: There is no such memory; no edge was added.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> one, other = service.remember("it rained"), service.remember("the river rose")
        >>> service.relate(other, one, "because") == service.relate(other, one, "because")
        True
        """
        link = self._link(source, target, relation)
        with self._store.transaction() as writes:
            draft = Draft(self._store, self._config.max_metadata, [link.source, link.target])
            draft.require(link.source)
            draft.require(link.target)
            writes.link(link)
        return edge_id(link.source, link.target, link.relation)

    def unrelate(self, source: MemoryId, target: MemoryId, relation: str) -> Unrelated:
        """Remove exactly one edge; what it joined stays.

        An edge that was extracted is removed as well; saying its passage again restores it.

        Args:
            source: Where it starts; there may be nothing.
            target: Where it ends.
            relation: Its label, verbatim.

        Raises:
            InvalidInputError: The label or an id breaks its rule, or both ends are the same.

        >>> from plugmem_core.service import MemoryService
        >>> MemoryService.open(":memory:").unrelate(1, 2, "because")
        Unrelated(found=False, removed=0)
        """
        link = self._link(source, target, relation)
        with self._store.transaction() as writes:
            found = writes.unlink(link)
        return Unrelated(found, int(found))

    def forget(self, id: MemoryId) -> bool:  # noqa: A002 - the name users know
        """Remove a memory or an entity, its edges, and what feedback taught about it.

        Entities to which it led go as well, unless another memory leads to them or is
        mentioned by them.

        Args:
            id: The memory.

        Returns:
            `False` when there was none.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> service.forget(service.remember("the gate code is 4711"))
        True
        """
        node = check_memory_id(id, "id")
        with self._store.transaction() as writes:
            found = node in self._store.get([node])
            targets = {link.target for link in self._store.links(node) if link.source == node}
            near = self._store.get(targets).values()
            orphans = [one.id for one in near if one.is_entity and self._is_orphan(one.id, node)]
            writes.delete([node, *orphans])
        return found

    def feedback(self, id: MemoryId, success: bool) -> float:  # noqa: A002, FBT001 - as told
        """Say whether a memory, or an entity, was of use.

        Confidence begins at 0.5; success adds 0.1, failure takes 0.05, within 0 and 1. It is
        read and written in one transaction, so nothing is lost between processes.

        Args:
            id: The memory.
            success: Whether it was.

        Returns:
            The new confidence.

        Raises:
            NotFoundError: There is no such memory.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> tide = service.remember("the tide is out")
        >>> service.feedback(tide, True), service.feedback(tide, False)
        (0.6, 0.55)
        """
        node = check_memory_id(id, "id")
        check_type(success, bool, "success", "True or False")
        with self._store.transaction() as writes:
            Draft(self._store, self._config.max_metadata).require(node)
            known = self._store.learned([node]).get(node, Learned())
            learned = learn(known, success=success)
            writes.learn(node, learned)
        return learned.confidence

    arelate = twin(relate)
    aunrelate = twin(unrelate)
    aforget = twin(forget)
    afeedback = twin(feedback)

    def _link(self, source: MemoryId, target: MemoryId, relation: str) -> Link:
        label = check_label(relation, self._config.max_label)
        link = Link(check_memory_id(source, "source"), check_memory_id(target, "target"), label)
        if link.source == link.target:
            raise InvalidInputError(
                f"source and target are both {link.source}; relate two different memories"
            )
        return link

    def _is_orphan(self, entity: int, gone: int) -> bool:
        """Return whether no memory but `gone` keeps an entity: edges to entities do not."""
        links = self._store.links(entity)
        keepers = {link.source for link in links if link.target == entity}
        keepers |= {link.target for link in links if link.relation == MENTIONS}
        alive = self._store.get(keepers - {entity, gone}).values()
        return all(memory.is_entity for memory in alive)
