"""Verbs that write memories."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from plugmem_core.errors import (
    InvalidInputError,
    NotFoundError,
    PlugmemError,
    WrongTypeError,
    shown,
)
from plugmem_core.extraction.protocol import Extractor, Graph
from plugmem_core.extraction.running import aextract_graph, extract_graph
from plugmem_core.inputs import check_type
from plugmem_core.service.arguments import (
    LinkLike,
    check_fact,
    check_links,
    check_metadata,
    check_ttl,
)
from plugmem_core.service.base import ServiceVerbs
from plugmem_core.service.draft import Draft
from plugmem_core.service.identity import memory_id
from plugmem_core.service.records import Extracted
from plugmem_core.service.wiring import untangle
from plugmem_core.verbs.base import twin
from plugmem_core.verbs.drafting import about_one

_ARGUMENTS = ("fact", "links", "metadata", "ttl", "replace")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Saying:
    """A checked call of `remember`."""

    text: str
    links: list[tuple[int, str]]
    metadata: dict[str, Any]
    ttl: float | None
    replace: bool
    place: int | None = None  # among those of one call


class RememberVerbs(ServiceVerbs):
    """Verbs that write memories."""

    def remember(
        self,
        fact: str,
        *,
        links: Iterable[LinkLike] = (),
        metadata: Mapping[str, Any] | None = None,
        ttl: float | None = None,
        replace: bool = False,
    ) -> int:
        """Store a memory, or say again one that is stored.

        The id is the hash of the text without space around it. Said again, a memory keeps
        its edges, what feedback taught, and its date; metadata is merged, and the time to
        live is that of the last saying. All is stored in one transaction; with
        `ServiceConfig.autograph`, entities follow in another, and their failure is only counted.

        Args:
            fact: One fact in a sentence or two; at most `max_fact` bytes.
            links: `(id, relation)` pairs: edges from this memory to others or to entities.
            metadata: A JSON object, at most `max_metadata` bytes. The key `content` and
                those that begin with `_plugmem_` are reserved, except `_plugmem_date`: the
                day it is about as an integer, 20240501; the UTC day of its first saying
                when left out.
            ttl: Seconds after which it disappears; `default_ttl` when left out.
            replace: Whether the metadata takes the place of what is stored, instead of
                being merged into it key by key.

        Returns:
            The id.

        Raises:
            InvalidInputError: An argument breaks its rule, or the memory links to itself.
                Its subclasses tell wrong types and exceeded limits apart.
            NotFoundError: A link leads to nothing.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> tea = service.remember("Mara prefers green tea", metadata={"source": "chat"})
        >>> service.remember("  Mara prefers green tea ", ttl=3600) == tea
        True
        """
        saying = self._check(fact, links, metadata, ttl, replace)
        [node] = self._say([saying])
        self._graph_of(saying.text)
        return node

    async def aremember(
        self,
        fact: str,
        *,
        links: Iterable[LinkLike] = (),
        metadata: Mapping[str, Any] | None = None,
        ttl: float | None = None,
        replace: bool = False,
    ) -> int:
        """`remember` in a worker thread; the event loop runs on, and so does an async extractor."""
        saying = self._check(fact, links, metadata, ttl, replace)
        [node] = await twin(self._say)([saying])
        await self._agraph_of(saying.text)
        return node

    def remember_many(self, facts: Iterable[Mapping[str, Any]]) -> list[int]:
        """Store many memories in one transaction: all of them or none.

        Args:
            facts: Mappings with the names of `remember`'s arguments; `fact` is required. Links
                may lead to memories of the same call.

        Returns:
            Their ids, in order.

        Raises:
            InvalidInputError: As `remember`, naming the place in the list; nothing was stored.
            NotFoundError: A link leads to nothing.

        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:")
        >>> len(service.remember_many([{"fact": "the tide is out"}, {"fact": "the tide is in"}]))
        2
        """
        sayings = self._check_many(facts)
        nodes = self._say(sayings)
        for saying in sayings:
            self._graph_of(saying.text)
        return nodes

    async def aremember_many(self, facts: Iterable[Mapping[str, Any]]) -> list[int]:
        """`remember_many` in a worker thread; the event loop runs on."""
        sayings = self._check_many(facts)
        nodes = await twin(self._say)(sayings)
        for saying in sayings:
            await self._agraph_of(saying.text)
        return nodes

    def remember_extracted(
        self,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        extractor: Extractor | None = None,
    ) -> Extracted:
        """Store the facts of a passage, and the entities and relations in it.

        Each fact becomes a memory with edges to what it is about (`about`) and back
        (`mentions`); each relation, as it is stated, an edge between two entities. Attributes
        are merged into their entities. All of it is one transaction, and saying the passage
        again adds nothing.

        Args:
            text: The passage, at most `max_passage` bytes.
            metadata: For every memory, as for `remember`.
            extractor: What reads the passage; the service's own by default.

        Raises:
            InvalidInputError: An argument breaks its rule, there is no extractor, or it
                refuses the passage.
            ServiceError: The extractor failed; nothing was stored.

        >>> from plugmem_core.extraction import OutlineExtractor
        >>> from plugmem_core.service import MemoryService
        >>> service = MemoryService.open(":memory:", extractor=OutlineExtractor())
        >>> done = service.remember_extracted('''
        ... Ada wrote the first program | ada, programming
        ... edge: ada | worked with | babbage
        ... ''')
        >>> len(done.ids), service.entity("Ada").relations[0].content
        (1, 'Entity: babbage')
        """
        passage, given, reader = self._check_passage(text, metadata, extractor)
        return self._store_graph(extract_graph(reader, passage), given)

    async def aremember_extracted(
        self,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        extractor: Extractor | None = None,
    ) -> Extracted:
        """`remember_extracted` off the event loop; an async extractor is awaited on it."""
        passage, given, reader = self._check_passage(text, metadata, extractor)
        graph = await aextract_graph(reader, passage)
        return await twin(self._store_graph)(graph, given)

    # -- checking

    def _check(
        self,
        fact: str,
        links: Iterable[LinkLike] = (),
        metadata: Mapping[str, Any] | None = None,
        ttl: float | None = None,
        replace: bool = False,  # noqa: FBT001, FBT002 - private, in the order of `remember`
    ) -> _Saying:
        config = self._config
        text = check_fact(fact, config.max_fact)
        lifetime = check_ttl(
            config.default_ttl or None if ttl is None else ttl, self._store.clock()
        )
        given = check_metadata(metadata, config.max_metadata)
        checked = check_links(links, config.max_label)
        check_type(replace, bool, "replace", "True or False")
        return _Saying(text, checked, given, lifetime, replace)

    def _check_many(self, facts: Iterable[Mapping[str, Any]]) -> list[_Saying]:
        if isinstance(facts, str | bytes | Mapping) or not isinstance(facts, Iterable):
            raise WrongTypeError(f"facts is {shown(facts)}; give a list of mappings")
        sayings = []
        for place, one in enumerate(facts):
            if not isinstance(one, Mapping) or "fact" not in one:
                raise InvalidInputError(f"facts[{place}] is {shown(one)}; give a mapping with fact")
            unknown = sorted(str(name) for name in one if name not in _ARGUMENTS)
            if unknown:
                raise InvalidInputError(
                    f"facts[{place}] has unknown {shown(unknown)}; "
                    f"accepted are {', '.join(_ARGUMENTS)}"
                )
            with _about(place):
                sayings.append(replace(self._check(**one), place=place))
        return sayings

    def _check_passage(
        self, text: str, metadata: Mapping[str, Any] | None, extractor: Extractor | None
    ) -> tuple[str, dict[str, Any], Extractor]:
        passage = check_fact(text, self._config.max_passage, "text")
        given = check_metadata(metadata, self._config.max_metadata)
        reader = self._extractor if extractor is None else extractor
        if reader is None:
            raise InvalidInputError(
                "there is no extractor; give one here or to the service, "
                "OutlineExtractor() or ProseExtractor() for example"
            )
        check_type(reader, Extractor, "extractor", "an object with extract")
        return passage, given, reader

    # -- writing

    def _say(self, sayings: list[_Saying]) -> list[int]:
        nodes = [memory_id(saying.text) for saying in sayings]
        said = set(nodes)
        targets = {target for saying in sayings for target, _ in saying.links}
        with self._store.transaction() as writes:
            draft = Draft(self._store, self._config.max_metadata, said | targets)
            for node, saying in zip(nodes, sayings, strict=True):
                with _about(saying.place):
                    _check_targets(draft, node, saying, said)
            for saying in sayings:
                with _about(saying.place):
                    node = draft.remember(
                        saying.text, saying.metadata, saying.ttl, replace=saying.replace
                    )
                for target, relation in saying.links:
                    draft.link(node, target, relation)
            draft.write(writes)
        return nodes

    def _store_graph(self, graph: Graph, metadata: dict[str, Any]) -> Extracted:
        wires = untangle(graph, self._config)
        sayings = [self._check(text) for text, _ in wires.facts]
        nodes = [memory_id(saying.text) for saying in sayings]
        with self._store.transaction() as writes:
            draft = Draft(self._store, self._config.max_metadata, set(nodes))
            for (_, topics), saying in zip(wires.facts, sayings, strict=True):
                node = draft.remember(saying.text, metadata, saying.ttl, replace=False)
                wires.about(draft, node, topics)
            wires.entities(draft)
            draft.write(writes)
        return Extracted(tuple(nodes), wires.skipped, wires.dropped)

    # -- the graph of a memory that is stored already

    def _graph_of(self, text: str) -> None:
        if self._extractor is None or not self._config.autograph:
            return
        try:
            self._wire(text, extract_graph(self._extractor, text))
        except PlugmemError as error:
            self._count_failure(error)

    async def _agraph_of(self, text: str) -> None:
        if self._extractor is None or not self._config.autograph:
            return
        try:
            graph = await aextract_graph(self._extractor, text)
            await twin(self._wire)(text, graph)
        except PlugmemError as error:
            self._count_failure(error)

    def _wire(self, text: str, graph: Graph) -> None:
        """Attach all topics of a graph to a memory, and store its entities; no other memory."""
        wires = untangle(graph, self._config)
        node = memory_id(text)
        with self._store.transaction() as writes:
            draft = Draft(self._store, self._config.max_metadata, [node])
            draft.require(node)  # it may have been forgotten meanwhile
            for _, topics in wires.facts:
                wires.about(draft, node, topics)
            wires.entities(draft)
            draft.write(writes)
        self._counters.add(dropped=wires.dropped)

    def _count_failure(self, error: PlugmemError) -> None:
        # The message is left out, since it may quote the text: logs hold no payloads.
        kind = type(error.__cause__ or error).__name__
        logger.warning("a memory was stored without its graph (%s)", kind)
        self._counters.add(failed=1)


def _check_targets(draft: Draft, node: int, saying: _Saying, said: Set[int]) -> None:
    """Refuse links to what is neither stored nor said in the same call, or to the memory itself."""
    for target, _ in saying.links:
        if target not in said:
            draft.require(target)
    if any(target == node for target, _ in saying.links):
        raise InvalidInputError(f"links leads from memory {node} to itself; link it to another")


@contextmanager
def _about(place: int | None) -> Iterator[None]:
    """Let errors say which of many facts they are about, if there are many."""
    try:
        yield
    except (InvalidInputError, NotFoundError) as error:
        if place is None:
            raise
        raise about_one(place, type(error)(f"facts[{place}]: {error}")) from error
