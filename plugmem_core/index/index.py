"""`Index`: the derived state as one thing that follows truth row by row."""

from collections.abc import Callable, Iterable, Sequence

from plugmem_core.config import MemoryConfig
from plugmem_core.index.lexical import LexicalIndex
from plugmem_core.index.mentions import Mentions, mentions_of
from plugmem_core.index.met import MetEdges
from plugmem_core.index.metadata import MetadataColumns
from plugmem_core.index.names import EntityNames
from plugmem_core.index.sessions import Sessions
from plugmem_core.index.soundness import (
    RowsById,
    check_aliases,
    check_entities,
    check_relations,
)
from plugmem_core.index.spaces import Namespaces
from plugmem_core.index.tags import TagIndex
from plugmem_core.index.vectors import VectorIndex
from plugmem_core.kernels import NO_ID, OPEN, FactTable, Graph, IdLists, Walk
from plugmem_core.store import (
    AliasRow,
    Changes,
    EdgeRow,
    EntityRow,
    FactRow,
    NewNames,
    SqliteStore,
    load_labels,
)
from plugmem_core.text import Analyzer


class Index:
    """Columns, postings, lists, graph and vectors of every stored fact.

    Args:
        config: Scoring parameters that the parts keep.
        language: The analyser that text is read by.
        store: Read when metadata columns are built or names must be read again.
    """

    def __init__(self, config: MemoryConfig, language: str, store: SqliteStore) -> None:
        self.change = 0
        self.past: str | None = None  # which past of the file it follows; see `FileState`
        self.facts = FactTable()
        self.lexical = LexicalIndex(config, Analyzer(language, stop_words=config.stop_words))
        self.tags = TagIndex()
        self.mentions = Mentions()
        self.entities = IdLists()
        self.graph = Graph()
        self.vectors: VectorIndex | None = None
        self.spaces = Namespaces()
        self.names = EntityNames()
        self.relations: dict[int, str] = RowsById("relation")
        self.edge_properties: dict[int, str] = {}
        self.metadata = MetadataColumns(store.metadata)
        self.sessions = Sessions(config.session_key)
        self._config = config
        self._store = store

    def apply(self, changes: Changes, on_touched: Callable[[int], object]) -> None:
        """Follow truth; rows that were applied before change nothing.

        Args:
            changes: Rows touched since `self.change`.
            on_touched: Called with the id of every fact whose row changed.
        """
        self.past = changes.uuid
        if changes.change <= self.change:  # another thread was faster
            return
        self.spaces.update(changes.namespaces)
        if not self._put_names(list(changes.entities), list(changes.aliases)):
            self.read_names()
        relations = list(changes.relations)
        check_relations(relations)
        for relation in relations:
            self.relations[relation.id] = relation.name
            self.graph.put_relation(relation.id, relation.rank)
        for row in changes.facts:
            self._put_fact(row)
            on_touched(row.id)
        for edge in changes.edges:
            self._put_edge(edge)
        for fact, vector in changes.vectors:
            self.vectors_of(len(vector)).put(fact, vector)
        purged = list(changes.purged)
        if purged:
            self._remove(purged)
            for fact in purged:
                on_touched(fact)
        self.lexical.forget_what_was_read()
        self.change = changes.change

    def read_names(self) -> None:
        """Read every name from truth."""
        names = self._store.names()
        self.names = EntityNames()
        self.spaces.update(names.namespaces)
        self._put_names(names.entities, names.aliases)
        check_relations(names.relations)
        self.relations.update((row.id, row.name) for row in names.relations)
        self.edge_properties.update(names.edge_properties)

    def vectors_of(self, dim: int) -> VectorIndex:
        """Return the vector index, made on first need."""
        if self.vectors is None:
            self.vectors = VectorIndex(dim, self._config)
        return self.vectors

    def find_mentions(self, rows: Sequence[FactRow], names: NewNames) -> list[str | None]:
        """Return the entities that texts name, as the store holds them.

        Args:
            rows: Facts, which may be on their way here.
            names: Those that are on their way here.
        """
        self.lexical.forget_what_was_read()
        return mentions_of(self.names.finders(names), rows, self.lexical.read_ahead)

    def first_facts(self, text: str, has: Callable[[int, str], bool]) -> Iterable[int]:
        """Return the first facts in which a string is a token, and in which it is a tag.

        Args:
            text: The string.
            has: Whether it is a token of a fact.
        """
        first = self.lexical.first_document(text, has)
        tagged = self.tags.facts_of(text)
        return [fact for fact in (first, *tagged[:1]) if fact is not None]

    def _put_names(self, entities: list[EntityRow], aliases: list[AliasRow]) -> bool:
        check_entities(entities, self.spaces.holds)
        # Asked one by one: every write comes here, and there may be many entities.
        arriving, shown = {row.id for row in entities}, self.names.shown
        check_aliases(aliases, self.spaces.holds, lambda one: one in shown or one in arriving)
        return self.names.update(entities, aliases)

    def _put_fact(self, row: FactRow) -> None:
        known = self.facts.has(row.id)
        if not self.spaces.holds(row.namespace) or (
            row.entity is not None and row.entity not in self.names.shown
        ):
            raise LookupError(f"fact {row.id} is of an entity or a namespace that is not there")
        # The columns come last: an interrupted call is made good by the next one.
        if not known:
            self.lexical.add(row.id, row.text)
            if row.tags:
                self.tags.add(row.id, load_labels(row.tags))
            self.metadata.put(row.id, row.metadata)
            self.sessions.put(row)
        self.mentions.put(row, self.names.end)
        entity = NO_ID if row.entity is None else row.entity
        if known and self.facts.entity(row.id) != entity:
            self.entities.remove(self.facts.entity(row.id), row.id)
            known = False
        if not known and entity != NO_ID:
            self.entities.add(entity, row.id)
        self.facts.put(
            row.id,
            row.namespace,
            entity,
            row.recorded_at,
            row.valid_from,
            _or_open(row.valid_to),
            _or_open(row.closed_at),
            _or_open(row.expires_at),
            len(row.text.encode()),
            row.forgotten_at is not None,
        )

    def met(self, walk: Walk, known_at: int = OPEN) -> MetEdges:
        """Return the edges of a walk, without ends that were learned later."""
        return MetEdges(
            self.graph.rows(walk),
            self.names,
            self.relations,
            self.spaces.paths,
            self.edge_properties,
            known_at,
        )

    def _put_edge(self, row: EdgeRow) -> None:
        shown = self.names.shown
        if (
            row.src not in shown
            or row.dst not in shown
            or row.relation not in self.relations
            or not self.spaces.holds(row.namespace)
        ):
            raise LookupError(
                f"edge {row.id} has an end, a relation or a namespace that is not there"
            )
        if row.properties is not None:
            self.edge_properties[row.id] = row.properties
        self.graph.put(
            row.id,
            row.src,
            row.relation,
            row.dst,
            NO_ID if row.provenance is None else row.provenance,
            row.recorded_at,
            row.valid_from,
            _or_open(row.valid_to),
            _or_open(row.closed_at),
        )

    def _remove(self, purged: list[int]) -> None:
        self.lexical.remove(purged)
        self.metadata.remove(purged)
        self.sessions.remove(purged)
        self.mentions.remove(purged)
        if self.vectors:
            self.vectors.remove(purged)
        self.facts.remove(purged)
        self.entities.remove_facts(self.facts)
        self.tags.facts.remove_facts(self.facts)


def _or_open(instant: int | None) -> int:
    return OPEN if instant is None else instant
