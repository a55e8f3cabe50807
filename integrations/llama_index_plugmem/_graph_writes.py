"""Changing a property graph that is kept as facts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.graph_stores.types import (
    KG_SOURCE_REL,
    TRIPLET_SOURCE_KEY,
    EntityNode,
    Relation,
)

from llama_index_plugmem._graph import (
    CHUNK,
    ENTITY,
    MENTIONS,
    RELATION,
    Element,
    entity_id,
    merged,
    placeholder,
    relation_key,
    to_fact,
    with_ends,
)
from llama_index_plugmem._graph_properties import Properties
from llama_index_plugmem._graph_reads import GraphReader, ends, ends_of
from llama_index_plugmem._graph_sources import OLDER_SOURCES, split_sources
from plugmem_core import Memory, Namespace, PlugmemError
from plugmem_core.clock import MAX_MS


class GraphWriter:
    """Changes the graph in a namespace; every method is one transaction.

    Args:
        memory: The open memory.
        namespace: Where the graph lives.
        keep_history: Whether what is deleted stays readable as of earlier instants.
    """

    def __init__(self, memory: Memory, namespace: Namespace, *, keep_history: bool) -> None:
        self.memory = memory
        self.namespace = namespace
        self.keep_history = keep_history

    def upsert(
        self, nodes: Iterable[Element], relations: Iterable[Element], *, verbatim: bool = False
    ) -> None:
        """Add nodes and relations, or join them with those that are there.

        A relation's end that is not there is made, as a placeholder.

        Args:
            nodes: Entities and chunks.
            relations: Relations of these nodes and those that are there.
            verbatim: Whether ends of relations are ids for sure, and never names.
        """
        given, related = list(nodes), list(relations)
        told = {end for one in related for end in ends(one)}
        with self.memory.transaction():
            reader = self._reader()
            known = reader.nodes({one.id for one in given} | told | set(map(entity_id, told)))
            changing = {one.key for one in given}
            known |= _by_key(reader.whole(one for key, one in known.items() if key in changing))
            drafts = _joined(given, known)
            there = {one.id for one in (*known.values(), *drafts.values())}
            if not verbatim:
                related = [with_ends(one, there) for one in related]
            for one in related:
                for end in ends(one):
                    if end not in there:
                        there.add(end)
                        new = placeholder(end, one.sources)
                        drafts[new.key] = new
            stated = _by_key(reader.whole(reader.stored({one.key for one in related}).values()))
            drafts |= _joined(related, stated)
            self._write(self._with_vectors(list(drafts.values())), _replaced(drafts, known))

    def delete(
        self,
        *,
        ids: Collection[str] = (),
        names: Collection[str] = (),
        chunks: Collection[str] = (),
        documents: Collection[str] = (),
        labels: Collection[str] = (),
        properties: Properties | None = None,
    ) -> None:
        """Delete nodes with their relations, and relations alone.

        What came from a deleted chunk alone goes with it.

        Args:
            ids: Ids of nodes; an unknown one may be a chunk that left only what came from it.
            names: Names of entities.
            chunks: Ids of chunks.
            documents: Ids of documents: their chunks, a chunk of that id, and what stands for
                the document, if no relation holds it.
            labels: Labels of relations.
            properties: What nodes and relations have.
        """
        with self.memory.transaction():
            reader = self._reader()
            nodes = reader.nodes(ids)
            unknown = set(ids) - {one.id for one in nodes.values()}
            nodes |= reader.named(names)
            nodes |= reader.chunks((*chunks, *documents)) | reader.of_documents(documents)
            if properties is not None:
                nodes |= _by_key(reader.find(properties, None))
            removal = _Removal(reader, unknown | {*chunks, *documents})
            removal.add_nodes(nodes)
            removal.add_relations(labels, properties)
            removal.follow_provenance()
            removal.add_idle(documents)
            self._write(list(removal.changed.values()), list(removal.gone))

    def delete_relation(self, relation: Relation) -> None:
        """Delete one relation, and its ends that are placeholders and hold nothing else."""
        key = relation_key(relation)
        with self.memory.transaction():
            reader = self._reader()
            if key in reader.stored([key]):
                idle = reader.idle([relation.source_id, relation.target_id], beside=[key])
                self._write([], [key, *idle])

    def _reader(self) -> GraphReader:
        # A clock that was set back hides nothing from a change.
        return GraphReader(self.memory, self.namespace, MAX_MS)

    def _with_vectors(self, elements: Sequence[Element]) -> list[Element]:
        """Give entities the vectors they had, where nothing makes one of their new line."""
        if self.memory.embedder is not None:
            return list(elements)
        bare = {
            one.fact.id: one
            for one in elements
            if one.fact is not None and one.vector is None and one.kind == ENTITY
        }
        vectors = dict(zip(bare, self.memory.vectors(list(bare)), strict=True))
        return [
            replace(one, vector=vectors[one.fact.id])
            if one.fact is not None and one.fact.id in vectors
            else one
            for one in elements
        ]

    def _write(self, elements: Sequence[Element], gone: Iterable[str] = ()) -> None:
        keys = list(gone)
        deleted = [(self.namespace, key) for key in keys]
        facts = [self._fact(element) for element in elements]
        try:
            self.memory.write(
                remember=facts,
                unlink=True,
                **{"end" if self.keep_history else "forget": deleted},
            )
        except PlugmemError as error:
            if error.place is None:
                raise
            raise type(error)(f"{elements[error.place]}: {error.__cause__}") from error
        self._write_sources(elements, keys)

    def _write_sources(self, elements: Iterable[Element], gone: list[str]) -> None:
        """Store apart the older sources of elements that have many."""
        apart = {one.key: (split_sources(one.sources)[0], one.older) for one in elements}
        changed = {key: list(new) for key, (new, old) in apart.items() if new and new != old}
        if changed:
            self.memory.put_values(OLDER_SOURCES, changed, namespace=self.namespace)
        gone += [key for key, (new, old) in apart.items() if old and not new]
        if gone:
            self.memory.delete_values(OLDER_SOURCES, gone, namespace=self.namespace)

    def _fact(self, element: Element) -> dict[str, Any]:
        """Return what to remember of an element; a later version names the first one."""
        said, old = to_fact(element, self.namespace), element.fact
        if old is not None and (said["text"], said["metadata"]) != (old.text, old.metadata):
            said = to_fact(replace(element, first=element.place), self.namespace)
        return said


def _joined(given: Iterable[Element], known: Mapping[str, Element]) -> dict[str, Element]:
    """Return what elements become that are stated, maybe again, by key."""
    drafts: dict[str, Element] = {}
    sources: dict[str, dict[str, None]] = {}
    for one in given:
        old = drafts.get(one.key) or known.get(one.key)
        of_old = () if old is None or one.key in sources else old.sources
        sources.setdefault(one.key, dict.fromkeys(of_old)).update(dict.fromkeys(one.sources))
        drafts[one.key] = merged(old, one)
    return {key: replace(one, sources=tuple(sources[key])) for key, one in drafts.items()}


def _by_key(elements: Iterable[Element]) -> dict[str, Element]:
    return {one.key: one for one in elements}


def _replaced(drafts: Mapping[str, Element], known: Mapping[str, Element]) -> list[str]:
    """Return the keys of placeholders whose ids turn out to be those of chunks."""
    chunks = {one.id for one in drafts.values() if one.kind == CHUNK}
    return [
        key
        for key, one in known.items()
        if one.placeholder and one.id in chunks and key not in drafts
    ]


class _Removal:
    """What goes, and what changes, when parts of a graph are deleted.

    Args:
        reader: The graph.
        chunks: Ids of chunks that may be gone already, but what came from them is not.

    Attributes:
        gone: What is deleted, by key.
        changed: What stays, but names other sources, by key.
    """

    def __init__(self, reader: GraphReader, chunks: Iterable[str]) -> None:
        self._reader = reader
        self._chunks = set(chunks)
        self.gone: dict[str, Element] = {}
        self.changed: dict[str, Element] = {}

    def add_nodes(self, nodes: Mapping[str, Element]) -> None:
        """Delete nodes, by key, and their relations."""
        self.gone |= nodes
        self._chunks |= {one.id for one in nodes.values() if one.kind == CHUNK}
        ids = {one.id for one in nodes.values()}
        both = self._reader.nodes(ids)
        for relation in self._reader.relations_of(ids):
            if any(end is not None and end.key in nodes for end in ends_of(relation, both)):
                self.gone[relation.key] = relation

    def add_relations(self, labels: Collection[str], properties: Properties | None) -> None:
        """Delete relations alone."""
        self.gone |= _by_key(self._reader.related(labels, properties))

    def add_idle(self, ids: Collection[str]) -> None:
        """Delete placeholders of ids that no relation holds any more."""
        idle = self._reader.idle(ids, beside=self.gone)
        self.gone |= idle
        for key in idle:
            self.changed.pop(key, None)

    def follow_provenance(self) -> None:
        """Delete what came from the deleted chunks alone; the rest forgets them."""
        orphans: dict[str, Element] = {}
        for one in self._reader.brought_by(self._chunks):
            if one.key in self.gone:
                continue
            left = tuple(source for source in one.sources if source not in self._chunks)
            if left:
                self.changed[one.key] = _with_sources(one, left)
            elif one.kind == RELATION:
                self.gone[one.key] = one
            else:
                orphans[one.key] = one
        adopted = self._by_relations(orphans)
        for key, orphan in orphans.items():
            sources = adopted[key] if key in adopted else self._by_texts(orphan)
            if sources is None:
                self.gone[key] = orphan
            else:
                self.changed[key] = _with_sources(orphan, sources)

    def _by_relations(self, orphans: Mapping[str, Element]) -> dict[str, tuple[str, ...]]:
        """Return sources of entities that relations hold: those of the relations, by key."""
        held: dict[str, tuple[str, ...]] = {}
        ids = {one.id for one in orphans.values()}
        both = self._reader.nodes(ids)
        for relation in self._reader.relations_of(ids):
            if relation.key in self.gone:
                continue
            sources = self.changed.get(relation.key, relation).sources[-1:]
            if not sources and relation.shown.label == MENTIONS:
                sources = ends(relation)[:1]
            for end in ends_of(relation, both):
                if end is not None and end.key in orphans:
                    held[end.key] = held.get(end.key) or sources
        return held

    def _by_texts(self, orphan: Element) -> tuple[str, ...] | None:
        """Return the chunk that still speaks of an entity, if one does."""
        assert isinstance(orphan.shown, EntityNode)  # noqa: S101 - for the type checker
        if orphan.placeholder and orphan.id in self._documents():
            return None  # nobody read its id in a text
        chunk = self._reader.mentioned_in(orphan.shown.name, beside=self._chunks)
        return None if chunk is None else (chunk,)

    def _documents(self) -> set[str]:
        """Return the ids of the documents that the deleted chunks were of."""
        relations = (one for one in self.gone.values() if one.kind == RELATION)
        return {ends(one)[1] for one in relations if one.shown.label == KG_SOURCE_REL}


def _with_sources(old: Element, sources: tuple[str, ...]) -> Element:
    """Return an element that other sources speak of; a source that it shows is one of them."""
    properties = dict(old.shown.properties)
    if TRIPLET_SOURCE_KEY in properties and properties[TRIPLET_SOURCE_KEY] not in sources:
        del properties[TRIPLET_SOURCE_KEY]
        if sources:
            properties[TRIPLET_SOURCE_KEY] = sources[-1]
    shown = old.shown.model_copy(update={"properties": properties})
    return replace(old, shown=shown, sources=sources)
