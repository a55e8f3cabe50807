"""Changing a property graph that is kept as facts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.graph_stores.types import KG_SOURCE_REL, EntityNode, Relation

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
    with_sources,
)
from llama_index_plugmem._graph_reads import GraphReader, Properties, ends
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

    def upsert(self, nodes: Iterable[Element], relations: Iterable[Element]) -> None:
        """Add nodes and relations, or join them with those that are there.

        A relation's end that is not there is made, as a placeholder.
        """
        given, related = list(nodes), list(relations)
        told = {end for one in related for end in ends(one)}
        with self.memory.transaction():
            reader = self._reader()
            known = reader.nodes({one.key for one in given} | told | set(map(entity_id, told)))
            drafts: dict[str, Element] = {}
            for one in given:
                drafts[one.key] = merged(drafts.get(one.key) or known.get(one.key), one)
            there = known.keys() | drafts.keys()
            related = [with_ends(one, there) for one in related]
            for one in related:
                for end in ends(one):
                    if end not in drafts and end not in known:
                        drafts[end] = placeholder(end, one.sources)
            stated = reader.stored({one.key for one in related})
            for one in related:
                drafts[one.key] = merged(drafts.get(one.key) or stated.get(one.key), one)
            self._write(self._with_vectors(list(drafts.values())))

    def delete(
        self,
        *,
        ids: Collection[str] = (),
        names: Collection[str] = (),
        documents: Collection[str] = (),
        labels: Collection[str] = (),
        properties: Properties | None = None,
    ) -> None:
        """Delete nodes with their relations, and relations alone.

        What came from a deleted chunk alone goes with it.

        Args:
            ids: Ids of nodes; an unknown one may be a chunk that left only what came from it.
            names: Names of entities.
            documents: Ids of documents: their chunks, and the nodes of these ids.
            labels: Labels of relations.
            properties: What nodes and relations have.
        """
        with self.memory.transaction():
            reader = self._reader()
            nodes = {*ids, *documents, *reader.named(names), *reader.of_documents(documents)}
            if properties is not None:
                nodes.update(one.key for one in reader.find(properties, None))
            removal = _Removal(reader)
            removal.add_nodes(nodes)
            removal.add_relations(labels, properties)
            removal.follow_provenance()
            self._write(list(removal.changed.values()), list(removal.gone))

    def delete_relation(self, relation: Relation) -> None:
        """Delete one relation, and its ends that are placeholders and hold nothing else."""
        key = relation_key(relation)
        with self.memory.transaction():
            reader = self._reader()
            if key in reader.stored([key]):
                nodes = reader.nodes([relation.source_id, relation.target_id])
                idle = {end for end, node in nodes.items() if node.placeholder}
                for other in reader.relations_of(idle):
                    if other.key != key:
                        idle.difference_update(ends(other))
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
        deleted = [(self.namespace, key) for key in gone]
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

    def _fact(self, element: Element) -> dict[str, Any]:
        """Return what to remember of an element; a later version names the first one."""
        said, old = to_fact(element, self.namespace), element.fact
        if old is not None and (said["text"], said["metadata"]) != (old.text, old.metadata):
            said = to_fact(replace(element, first=element.place), self.namespace)
        return said


class _Removal:
    """What goes, and what changes, when parts of a graph are deleted.

    Attributes:
        gone: What is deleted, by key.
        changed: What stays, but names other sources, by key.
    """

    def __init__(self, reader: GraphReader) -> None:
        self._reader = reader
        self.gone: dict[str, Element] = {}
        self.changed: dict[str, Element] = {}
        self._chunks: set[str] = set()

    def add_nodes(self, ids: Collection[str]) -> None:
        """Delete nodes and their relations."""
        nodes = self._reader.nodes(ids)
        self.gone |= nodes
        self.gone |= {one.key: one for one in self._reader.relations_of(nodes)}
        self._chunks |= {one for one in ids if one not in nodes or nodes[one].kind == CHUNK}

    def add_relations(self, labels: Collection[str], properties: Properties | None) -> None:
        """Delete relations alone."""
        self.gone |= {one.key: one for one in self._reader.related(labels, properties)}

    def follow_provenance(self) -> None:
        """Delete what came from the deleted chunks alone; the rest forgets them."""
        orphans: dict[str, Element] = {}
        for one in self._reader.brought_by(self._chunks):
            if one.key in self.gone:
                continue
            left = tuple(source for source in one.sources if source not in self._chunks)
            if left or one.crowded:
                self.changed[one.key] = with_sources(one, left)
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
                self.changed[key] = with_sources(orphan, sources)

    def _by_relations(self, orphans: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return sources of entities that relations hold: those of the relations."""
        held: dict[str, tuple[str, ...]] = {}
        for relation in self._reader.relations_of(orphans):
            if relation.key not in self.gone:
                sources = self.changed.get(relation.key, relation).sources[-1:]
                source, target = ends(relation)
                if not sources and relation.shown.label == MENTIONS:
                    sources = (source,)
                for end in {source, target} & set(orphans):
                    held[end] = held.get(end) or sources
        return held

    def _by_texts(self, orphan: Element) -> tuple[str, ...] | None:
        """Return the chunk that still speaks of an entity, if one does."""
        assert isinstance(orphan.shown, EntityNode)  # noqa: S101 - for the type checker
        if orphan.placeholder and orphan.key in self._documents():
            return None  # nobody read its id in a text
        chunk = self._reader.mentioned_in(orphan.shown.name, beside=self._chunks)
        return None if chunk is None else (chunk,)

    def _documents(self) -> set[str]:
        """Return the ids of the documents that the deleted chunks were of."""
        relations = (one for one in self.gone.values() if one.kind == RELATION)
        return {ends(one)[1] for one in relations if one.shown.label == KG_SOURCE_REL}
