"""Verbs that show what is connected: evidence for a question, and the profile of an entity."""

from collections.abc import Mapping
from typing import Any

from plugmem_core.extraction.protocol import canonical
from plugmem_core.service.arguments import check_question, clamp
from plugmem_core.service.base import ServiceVerbs
from plugmem_core.service.config import Mode
from plugmem_core.service.identity import ABOUT, MENTIONS, entity_id
from plugmem_core.service.records import EntityProfile, EntityRelation, Evidence, EvidenceNode
from plugmem_core.service.store import Direction
from plugmem_core.service.walk import Course, check_course, walk
from plugmem_core.text import check_text
from plugmem_core.verbs.base import twin


class EvidenceVerbs(ServiceVerbs):
    """Verbs that show what is connected."""

    def why(
        self,
        decision: str,
        max_hops: int | None = None,
        where: Mapping[str, Any] | None = None,
        *,
        seeds: int = 1,
        direction: Course = "out",
        mode: Mode | None = None,
        min_score: float | None = None,
    ) -> Evidence:
        """Return what the best memories for a decision are connected to, and how.

        Args:
            decision: What is to be explained; blank finds nothing.
            max_hops: Most edges from a seed, at most `ServiceConfig.max_hops`; 0 shows the
                seeds alone. By default `ServiceConfig.hops`.
            where: Only memories whose metadata passes, on the whole walk: see
                `plugmem_core.service.walk`.
            seeds: From how many memories the walk starts.
            direction: `"out"` walks along edges only, `"both"` against them, too.
            mode: What ranks the seeds.
            min_score: The least score of a seed.

        Returns:
            Nodes, edges and scored paths, and whether a limit left anything out: at most
            `max_degree` edges are read at a node in each direction, and a walk ends at
            `max_nodes` or `max_edges`.

        Raises:
            InvalidInputError: An argument breaks its rule, or the mode needs an embedder.
            ServiceError: The mode needs the embedder, which failed.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> load = service.remember("the primary shard was overloaded")
        >>> _ = service.remember("we chose a second shard", links=[(load, "because")])
        >>> found = service.why("why did we choose a second shard?")
        >>> [(node.hop, node.content) for node in found.nodes]
        [(0, 'we chose a second shard'), (1, 'the primary shard was overloaded')]
        >>> [path.score == found.nodes[0].score / 2 for path in found.paths]
        [True]
        """
        if not check_question(decision, "decision"):
            return Evidence()
        config = self._config
        starts = clamp(seeds, "seeds", 1, config.max_nodes)
        question = self._question(decision, starts, where, mode, min_score, "decision")
        hops = clamp(max_hops, "max_hops", config.hops, config.max_hops)
        course = check_course(direction)
        hits = self._hits(question)
        if not hits:
            return Evidence()
        start = ((hit.memory, hit.score) for hit in hits)
        walked = walk(self._store, start, hops, course, question.where, config)
        nodes = (
            EvidenceNode(one, met.memory.content, met.hop, met.score, met.memory.is_entity)
            for one, met in walked.nodes.items()
        )
        return Evidence(tuple(nodes), tuple(walked.links), walked.paths(), walked.truncated)

    def entity(self, name: str) -> EntityProfile:
        """Return what is known of an entity: its attributes and its relations.

        Args:
            name: Its name, in any case; only its spelling counts.

        Returns:
            Its profile, with at most `max_relations` of the first `max_scanned` edges in
            each direction, the oldest first; `found` is false when there is none.

        Raises:
            InvalidInputError: The name is no text that can be stored.

        >>> from plugmem_core.service import MemoryService
        >>> MemoryService.open(":memory:").entity(" Ada ")
        EntityProfile(found=False, id=0, name='ada', attributes={}, relations=(), relations_in=(), \
relations_truncated=False, relations_in_truncated=False)
        """
        asked = canonical(check_text(name, "name", max_bytes=self._config.max_passage))
        node = entity_id(asked)
        found = self._store.get([node]).get(node)
        if found is None or not found.is_entity:
            return EntityProfile(found=False, id=0, name=asked)
        relations, more = self._relations(node, "out")
        relations_in, more_in = self._relations(node, "in")
        return EntityProfile(
            found=True,
            id=node,
            name=asked,
            attributes=found.metadata,
            relations=relations,
            relations_in=relations_in,
            relations_truncated=more,
            relations_in_truncated=more_in,
        )

    awhy = twin(why)
    aentity = twin(entity)

    def _relations(
        self, entity: int, direction: Direction
    ) -> tuple[tuple[EntityRelation, ...], bool]:
        """Return the typed edges at an entity, and whether any had to be left out."""
        scanned = self._config.max_scanned
        [near] = self._store.neighbours([entity], direction, scanned).values()
        typed = [link for link in near.links if link.relation not in (ABOUT, MENTIONS)]
        live = self._store.get(link.far_end(entity) for link in typed)
        found = [
            EntityRelation(link.relation, end, live[end].content)
            for link, end in ((link, link.far_end(entity)) for link in typed)
            if end in live
        ]
        most = self._config.max_relations
        return tuple(found[:most]), near.total > scanned or len(found) > most
