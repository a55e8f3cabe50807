"""Looking things up in a property graph that is kept as facts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    LabelledNode,
    Relation,
    Triplet,
)

from llama_index_plugmem._graph import (
    CHUNK,
    ENTITY,
    MENTIONS,
    RECORD,
    RELATION,
    STRUCTURE,
    Element,
    entity_id,
    entity_key,
    is_of_graph,
    to_element,
    with_older,
)
from llama_index_plugmem._graph_properties import CROWDED, Properties, Where, from_source
from llama_index_plugmem._graph_sources import OLDER_SOURCES
from plugmem_core import Instant, InvalidInputError, Memory, Namespace
from plugmem_core.inputs import check_key
from plugmem_core.text.tokenizer import tokenize
from plugmem_core.verbs.listing import every

_FEW = 64
"""Most sources that are looked for by a filter."""


class GraphReader:
    """The graph in a namespace, as of one instant.

    Args:
        memory: The open memory.
        namespace: Where the graph lives; what lies below it is another's.
        as_of: The instant to look from; `None` is now.
    """

    def __init__(self, memory: Memory, namespace: Namespace, as_of: Instant | None) -> None:
        self.memory = memory
        self.namespace = namespace
        self.as_of = as_of

    # -- elements

    def stored(self, keys: Iterable[str]) -> dict[str, Element]:
        """Return the elements under keys; unknown ones are left out."""
        facts = self.memory.get_by_keys(
            (key for key in keys if _can_be_key(key)),
            as_of=self.as_of,
            namespace=self.namespace,
            below=False,
        )
        found = [to_element(fact) for fact in facts if is_of_graph(fact)]
        return {element.key: element for element in found}

    def nodes(self, ids: Iterable[str]) -> dict[str, Element]:
        """Return the entities and chunks of ids, by key; unknown ones are left out."""
        wanted = set(ids)
        found = self.stored(key for one in wanted for key in (one, entity_key(one)))
        # A key that is no id of a node may have been given for one.
        return {key: one for key, one in found.items() if one.kind != RELATION and one.id in wanted}

    def chunks(self, ids: Iterable[str]) -> dict[str, Element]:
        """Return chunks by id; unknown ones are left out."""
        return {key: one for key, one in self.stored(ids).items() if one.kind == CHUNK}

    def entities(self, ids: Iterable[str]) -> dict[str, Element]:
        """Return entities by key; unknown ones are left out."""
        return self.stored(map(entity_key, ids))

    def elements(self, kinds: Sequence[str], *conditions: Where) -> Iterator[Element]:
        """Yield the elements of some kinds that meet conditions, a page at a time."""
        facts = every(
            self.memory.list_facts,
            where=self.where(kinds, *conditions),
            as_of=self.as_of,
            namespace=self.namespace,
            below=False,
        )
        return map(to_element, facts)

    def whole(self, elements: Iterable[Element]) -> list[Element]:
        """Return elements with all of their sources."""
        found = list(elements)
        crowded = [one.key for one in found if one.crowded]
        if not crowded:
            return found
        older = self.memory.get_values(OLDER_SOURCES, crowded, namespace=self.namespace)
        return [with_older(one, older.get(one.key, ())) for one in found]

    def where(self, kinds: Sequence[str], *conditions: Where) -> Where:
        """Return a filter of facts for elements of this graph."""
        return {"$and": [{f"{RECORD}.kind": {"$in": list(kinds)}}, *conditions]}

    def find(self, properties: Properties | None, ids: Collection[str] | None) -> list[Element]:
        """Return the nodes with these properties and ids, in the order of their insertion.

        Args:
            properties: `None` for no restriction.
            ids: Empty or `None` for no restriction.
        """
        found: Iterable[Element]
        if ids:
            found = self.nodes(ids).values()
        else:
            conditions = [] if properties is None else properties.conditions()
            found = self.elements((ENTITY, CHUNK), *conditions)
        if properties is not None:
            found = self._passing(found, properties)
        return sorted(found, key=lambda one: one.place)

    def relations_of(self, ids: Collection[str], *conditions: Where) -> Iterator[Element]:
        """Yield the relations that start or end at nodes, and meet conditions."""
        return self.elements([RELATION], touching(ids), *conditions) if ids else iter(())

    def first_relations(self, node_id: str, most: int, *conditions: Where) -> Iterator[Element]:
        """Yield the first relations of a node that meet conditions."""
        page = self.memory.list_facts(
            where=self.where([RELATION], touching([node_id]), *conditions),
            as_of=self.as_of,
            namespace=self.namespace,
            below=False,
            limit=most,
        )
        return map(to_element, page)

    def idle(self, ids: Collection[str], beside: Collection[str]) -> dict[str, Element]:
        """Return the placeholders among ids that no relation holds, by key.

        Args:
            ids: Ids of nodes.
            beside: Keys of relations that do not count.
        """
        found = {key: one for key, one in self.entities(ids).items() if one.placeholder}
        for relation in self.relations_of([one.id for one in found.values()]):
            if relation.key not in beside:
                for end in ends(relation):
                    found.pop(entity_key(end), None)
        return found

    def named(self, names: Collection[str]) -> dict[str, Element]:
        """Return the entities with names, by key."""
        return self.entities(_ids_of(names))

    def related(self, labels: Collection[str], properties: Properties | None) -> Iterator[Element]:
        """Yield the relations with one of the labels, and those with the properties."""
        if labels:
            yield from self.elements([RELATION], labelled(labels))
        if properties is not None:
            found = self.elements([RELATION], *properties.conditions())
            yield from self._passing(found, properties)

    def of_documents(self, ids: Collection[str]) -> dict[str, Element]:
        """Return the chunks of documents, by id."""
        document = {f"{RECORD}.document": {"$in": list(ids)}}
        return {one.id: one for one in self.elements([CHUNK], document)} if ids else {}

    def brought_by(self, sources: Collection[str]) -> Iterator[Element]:
        """Yield the entities and relations that came from sources."""
        wanted = set(sources)
        if not wanted:
            return iter(())
        # A filter compares every list of sources with every source: too much for many of them.
        few = {"$or": [CROWDED, *map(from_source, wanted)]} if len(wanted) <= _FEW else {}
        found = self.whole(self.elements((ENTITY, RELATION), few))
        return (element for element in found if not wanted.isdisjoint(element.sources))

    def mentioned_in(self, name: str, beside: Collection[str]) -> str | None:
        """Return the id of a chunk whose text has the words of a name in a row.

        Args:
            name: The name.
            beside: Chunks that do not count.
        """
        words = tokenize(name)
        size, done = 64, 0
        while words:
            result = self.memory.recall(
                name,
                k=size,
                sources=["bm25"],
                weights={"bm25": 1, "recency": 0},
                anchors="given",
                token_budget=None,
                where=self.where([CHUNK]),
                as_of=self.as_of,
                namespace=self.namespace,
                below=False,
            )
            for chunk in map(to_element, result.facts[done:]):
                assert isinstance(chunk.shown, ChunkNode)  # noqa: S101 - for the type checker
                if chunk.id not in beside and _in_a_row(words, tokenize(chunk.shown.text)):
                    return chunk.id
            if not result.truncated:
                break
            size, done = 4 * size, len(result.facts)
        return None

    # -- triples

    def triples(
        self,
        names: Collection[str] | None,
        labels: Collection[str] | None,
        properties: Properties | None,
        ids: Collection[str] | None,
    ) -> list[Triplet]:
        """Return the triples that pass every restriction given, by insertion.

        Args:
            names: Names of entities at either end.
            labels: Labels of relations.
            properties: What the relation or one of its ends has.
            ids: Ids of nodes at either end.
        """
        conditions = [touching(some) for some in (_ids_of(names or ()), ids) if some]
        if labels:
            conditions.append(labelled(labels))
        if properties is None:
            found = list(self.elements([RELATION], *conditions))
        else:
            having = {node.id for node in self.find(properties, None)}
            either = {"$or": [{"$and": [{}, *properties.conditions()]}, touching(having)]}
            near = list(self.elements([RELATION], *conditions, either))
            passing = {one.key for one in self._passing(near, properties)}
            found = [one for one in near if one.key in passing or not having.isdisjoint(ends(one))]
        found.sort(key=lambda one: one.place)
        nodes = self.nodes({end for one in found for end in ends(one)})
        return [triple for one in found if (triple := _triple(one, nodes)) is not None]

    def around(
        self,
        ids: Iterable[str],
        depth: int,
        limit: int,
        ignored: Collection[str],
        *conditions: Where,
    ) -> list[Triplet]:
        """Return the triples around nodes, the nearest first, each once.

        What chunks mention is neither shown nor followed: it says where entities come from.

        Args:
            ids: Where to start; unknown ones are passed over.
            depth: Most relations from there, in either direction.
            limit: Most triples.
            ignored: Labels of relations that are followed but not returned.
            *conditions: Filters that relations pass.
        """
        found: list[Triplet] = []
        nodes: dict[str, Element] = {}
        seen: set[str] = set()
        read: set[str] = set()
        here, visited = set(ids), set(ids)
        for _ in range(depth):
            there: set[str] = set()
            near = self.relations_of(here, *conditions)
            for page in _paged(one for one in near if one.key not in seen):
                seen.update(one.key for one in page)
                unread = {end for one in page for end in ends(one)} - read
                nodes |= self.nodes(unread)
                read |= unread
                for one in page:
                    triple = _triple(one, nodes)
                    if triple is None or _tells_provenance(triple):
                        continue
                    there.update(ends(one))
                    if one.shown.label not in ignored:
                        found.append(_sourced(triple))
                    if len(found) >= limit:
                        return found[:limit]
            here = there - visited
            visited |= there
        return found

    def _passing(self, elements: Iterable[Element], properties: Properties) -> Iterable[Element]:
        return filter(properties.match, self.whole(elements) if properties.by_source else elements)


def touching(ids: Collection[str]) -> Where:
    """Return a filter for relations that start or end at nodes."""
    return {"$or": [starting_at(ids), {f"{RECORD}.target": {"$in": list(ids)}}]}


def starting_at(ids: Collection[str]) -> Where:
    """Return a filter for relations that start at nodes."""
    return {f"{RECORD}.source": {"$in": list(ids)}}


def labelled(labels: Collection[str]) -> Where:
    """Return a filter for labels."""
    return {f"{RECORD}.label": {"$in": list(labels)}}


def with_ids(ids: Collection[str]) -> Where:
    """Return a filter for ids of nodes."""
    return {f"{RECORD}.id": {"$in": list(ids)}}


def ends(relation: Element) -> tuple[str, str]:
    """Return the ids of both ends of a relation."""
    shown = relation.shown
    assert isinstance(shown, Relation)  # noqa: S101 - for the type checker
    return shown.source_id, shown.target_id


def ends_of(
    relation: Element, nodes: Mapping[str, Element]
) -> tuple[Element | None, Element | None]:
    """Return both ends of a relation, among nodes by key.

    Of an entity and a chunk with the same id the entity is meant, but by relations about texts
    the chunk, save for what a chunk mentions.
    """
    label = relation.shown.label
    chunk_first = label in STRUCTURE, label in STRUCTURE and label != MENTIONS
    source, target = (
        nodes.get(end, nodes.get(entity_key(end)))
        if chunk
        else nodes.get(entity_key(end), nodes.get(end))
        for end, chunk in zip(ends(relation), chunk_first, strict=True)
    )
    return source, target


def _ids_of(names: Collection[str]) -> set[str]:
    """Return the ids that entities of these names have, and those that are given as names."""
    return {one for name in names for one in (name, entity_id(name))}


def _can_be_key(text: str) -> bool:
    try:
        return check_key(text) is not None
    except InvalidInputError:
        return False


def _in_a_row(words: list[str], text: list[str]) -> bool:
    last = len(text) - len(words)
    return any(text[at : at + len(words)] == words for at in range(last + 1))


def _paged(elements: Iterable[Element], size: int = 256) -> Iterator[list[Element]]:
    page: list[Element] = []
    for element in elements:
        page.append(element)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page


def _triple(relation: Element, nodes: Mapping[str, Element]) -> Triplet | None:
    """Return a relation with its ends; `None` when one was deleted meanwhile."""
    source, target = ends_of(relation, nodes)
    if source is None or target is None:
        return None
    # A copy each, so that a caller who changes one triple changes no other.
    return _copy(source), _copy(relation), _copy(target)


def _copy(element: Element) -> Any:
    return element.shown.model_copy(update={"properties": dict(element.shown.properties)})


def _tells_provenance(triple: Triplet) -> bool:
    source, relation, target = triple
    return relation.label == MENTIONS and any(
        isinstance(one, ChunkNode) for one in (source, target)
    )


def _sourced(triple: Triplet) -> Triplet:
    """Return a triple whose subject names the chunk that the relation came from.

    LlamaIndex fetches the text behind a triple by the source of its subject.
    """
    subject, relation, target = triple
    source = relation.properties.get(TRIPLET_SOURCE_KEY)
    if source is not None:
        properties = {**subject.properties, TRIPLET_SOURCE_KEY: source}
        subject = subject.model_copy(update={"properties": properties})
    return subject, relation, target


def as_node(element: Element) -> LabelledNode:
    """Return the node that an element is."""
    assert isinstance(element.shown, LabelledNode)  # noqa: S101 - for the type checker
    return element.shown
