"""Entities and the edges between them."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from plugmem_core.clock import Instant, to_ms
from plugmem_core.engine import make_edge
from plugmem_core.errors import InvalidInputError, NotFoundError, shown
from plugmem_core.inputs import (
    check_count,
    check_id,
    check_metadata,
    check_name,
    check_names,
    check_namespace,
    check_relation,
)
from plugmem_core.model import Edge, Entity, EntityPage, Namespace, Neighbours
from plugmem_core.store import Transaction, dump_json, load_object
from plugmem_core.text import check_text
from plugmem_core.verbs.base import MAX_PAGE, Verbs, decode_cursor, encode_cursor, first_page, twin

MAX_NEIGHBOURS = 1_000_000
"""Most edges of an entity in one answer."""


class GraphVerbs(Verbs):
    """Verbs over entities and edges."""

    def link(
        self,
        src: str,
        relation: str,
        dst: str,
        *,
        provenance: int | None = None,
        valid_from: Instant | None = None,
        properties: Mapping[str, Any] | None = None,
        namespace: Namespace = (),
    ) -> Edge:
        """Open an edge between two entities, made on first use.

        Linking again with the same provenance changes nothing; with another, the
        standing version ends and a new one begins. Every version is kept.

        Args:
            src: Name of the entity it starts from.
            relation: Verbatim, case included; not blank.
            dst: Name of the entity it points to.
            provenance: The fact it follows from.
            valid_from: When it began to hold; now by default.
            properties: A JSON object.
            namespace: The scope of both entities.

        Raises:
            NotFoundError: No such fact in the namespace to follow from.
            InvalidInputError: An argument breaks its rule.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> edge = memory.link("Owen", "mentors", "Priya")
        >>> edge.src, edge.relation, edge.dst
        ('Owen', 'mentors', 'Priya')
        """
        source, target = check_name(src, "src"), check_name(dst, "dst")
        name = check_relation(relation)
        scope = check_namespace(namespace)
        fact = None if provenance is None else check_id(provenance, "provenance")
        since = None if valid_from is None else to_ms(valid_from, "valid_from")
        details = check_metadata(
            properties, "properties", max_bytes=self._engine.config.max_metadata
        )
        with self._engine.writing() as transaction:
            if fact is not None:
                self._visible_row(transaction, fact, scope)
            row = transaction.link(
                source,
                name,
                target,
                namespace=dump_json(scope),
                provenance=fact,
                valid_from=since,
                properties=details,
            )
            names = (transaction.entity_row(row.src).name, transaction.entity_row(row.dst).name)
        return Edge(
            row.id,
            names[0],
            name,
            names[1],
            row.provenance,
            load_object(row.properties),
            scope,
            row.recorded_at,
            row.valid_from,
            row.valid_to,
        )

    def unlink(self, src: str, relation: str, dst: str, *, namespace: Namespace = ()) -> bool:
        """End an edge; its versions stay readable as of earlier instants.

        Args:
            src: Name of the entity it starts from.
            relation: Verbatim.
            dst: Name of the entity it points to.
            namespace: The scope of both entities.

        Returns:
            `False` when no such edge holds; nothing is made by asking.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.link("Owen", "mentors", "Priya")
        >>> memory.unlink("owen", "mentors", "PRIYA"), memory.unlink("owen", "mentors", "PRIYA")
        (True, False)
        """
        source, target = check_name(src, "src"), check_name(dst, "dst")
        name = check_relation(relation)
        scope = check_namespace(namespace)
        with self._engine.writing() as transaction:
            space = transaction.find_namespace(dump_json(scope))
            relation_id = transaction.relation_id(name)
            if space is None or relation_id is None:
                return False
            src_id = transaction.find_entity(source[1], space)
            dst_id = transaction.find_entity(target[1], space)
            if src_id is None or dst_id is None:
                return False
            return transaction.unlink(src_id, relation_id, dst_id)

    def edges(
        self,
        entity: str | None = None,
        *,
        relation: str | None = None,
        as_of: Instant | None = None,
        history: bool = False,
        namespace: Namespace = (),
    ) -> tuple[Edge, ...]:
        """Return edges, oldest version first.

        Args:
            entity: Only edges that start or end at this entity; unknown gives none.
            relation: Only this relation, verbatim.
            as_of: The edges that held, and were known, at an instant; now by default.
            history: Every version instead, ended ones included.
            namespace: The scope: itself and what lies below it.

        Raises:
            InvalidInputError: Both `as_of` and `history` were given, or a rule is broken.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.link("Owen", "mentors", "Priya")
        >>> [(edge.src, edge.dst) for edge in memory.edges("priya")]
        [('Owen', 'Priya')]
        """
        if as_of is not None and history:
            raise InvalidInputError("as_of picks one instant, history all; give one of them")
        scope = check_namespace(namespace)
        name = None if entity is None else check_name(entity, "entity")
        wanted = None if relation is None else check_relation(relation)
        at = None if as_of is None else to_ms(as_of, "as_of")
        engine = self._ready()
        with engine.gate:
            mask = engine.index.spaces.mask(scope)
            entities = None if name is None else engine.index.names.resolve(name[1], mask)
        depth = len(scope)
        edges = []
        for row in engine.store.edges_of(entities):
            edge = make_edge(row)
            visible = edge.namespace[:depth] == scope and wanted in (None, edge.relation)
            if visible and (history or _holds(edge, at, engine.clock())):
                edges.append(edge)
        return tuple(edges)

    def neighbours(
        self,
        entities: Iterable[str],
        *,
        direction: Literal["out", "in"] = "out",
        limit: int = 64,
        namespace: Namespace = (),
    ) -> list[Neighbours]:
        """Return the edges that hold now at some entities, the oldest first, in bounds.

        Args:
            entities: Names, 1,024 at most.
            direction: `"out"` for edges that start at them, `"in"` for those that end there.
            limit: Most edges of each, 1,000,000 at most.
            namespace: The scope of the entities; not those below it.

        Returns:
            One answer a name, in order: its edges, and how many there are altogether. An
            unknown name has none.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> for friend in ("Ben", "Cleo", "Dan"):
        ...     _ = memory.link("Ann", "knows", friend)
        >>> [found] = memory.neighbours(["Ann"], limit=2)
        >>> [edge.dst for edge in found.edges], found.total
        (['Ben', 'Cleo'], 3)
        """
        names = check_names(entities, "entities")
        if direction not in ("out", "in"):
            raise InvalidInputError(f'direction is {shown(direction)}; give "out" or "in"')
        most = check_count(limit, "limit", most=MAX_NEIGHBOURS)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            space = engine.index.spaces.find(dump_json(scope))
            found = [
                None if space is None else engine.index.names.find(key, space) for _, key in names
            ]
        column = "src" if direction == "out" else "dst"
        now = engine.clock()
        answers = []
        for entity in found:
            rows, total = (
                ([], 0) if entity is None else engine.store.open_edges(entity, column, now, most)
            )
            answers.append(Neighbours(tuple(make_edge(row) for row in rows), total))
        return answers

    def entities(
        self,
        prefix: str = "",
        *,
        namespace: Namespace = (),
        limit: int = 64,
        cursor: str | None = None,
    ) -> EntityPage:
        """Return entities by name, with their aliases and how many current facts each has.

        Args:
            prefix: Only display names that start with this, case included.
            namespace: The scope: itself and what lies below it.
            limit: Most entities of the page, 1,000 at most.
            cursor: `next_cursor` of the page before.

        Raises:
            StaleCursorError: The cursor belongs to other arguments.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("grows tomatoes", entity="Nadia")
        >>> [(entity.name, entity.facts) for entity in memory.entities()]
        [('Nadia', 1)]
        """
        scope = check_namespace(namespace)
        start = check_text(prefix, "prefix", max_bytes=65_536)
        size = check_count(limit, "limit", most=MAX_PAGE)
        listing = ("entities", start, scope)
        after = ("", -1) if cursor is None else decode_cursor(listing, cursor, tuple[str, int])
        engine = self._ready()
        names = engine.store.names()
        with engine.gate:
            mask = engine.index.spaces.mask(scope)
            current = self._visible(scope, current=True)
            aliases: dict[int, list[str]] = {}
            for alias in names.aliases:
                aliases.setdefault(alias.entity, []).append(alias.name)
            rows = sorted(
                (row.name, row.id, row)
                for row in names.entities
                if row.name.startswith(start) and (mask is None or mask[row.namespace])
            )
            page, more = first_page((row for row in rows if row[:2] > after), size)
            found = tuple(
                Entity(
                    row.name,
                    row.key,
                    tuple(sorted(aliases.get(row.id, []))),
                    engine.index.spaces.paths[row.namespace],
                    engine.index.entities.count(row.id, engine.index.facts, current),
                )
                for _, _, row in page
            )
        last = [page[-1][0], page[-1][1]] if more else None
        return EntityPage(found, None if last is None else encode_cursor(listing, last))

    def rename_entity(self, name: str, new_name: str, *, namespace: Namespace = ()) -> None:
        """Give an entity another name; its facts and edges stay with it.

        Args:
            name: A name that leads to it.
            new_name: The new display name; it may differ in spelling only.
            namespace: The scope it lives in.

        Raises:
            NotFoundError: No such entity.
            InvalidInputError: The new name belongs to another entity.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("likes tea", entity="Jon")
        >>> memory.rename_entity("Jon", "John Ames")
        >>> memory.get(0).entity
        'John Ames'
        """
        new = check_name(new_name, "new_name")
        with self._engine.writing() as transaction:
            entity, space = self._entity(transaction, name, "name", namespace)
            transaction.rename_entity(entity, space, new)

    def alias_entity(self, name: str, alias: str, *, namespace: Namespace = ()) -> None:
        """Make another name lead to an entity.

        Args:
            name: A name that leads to it.
            alias: The other name.
            namespace: The scope it lives in.

        Raises:
            NotFoundError: No such entity.
            InvalidInputError: The alias belongs to another entity.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("likes tea", entity="Jonathan Ames")
        >>> memory.alias_entity("Jonathan Ames", "Jon")
        >>> [fact.text for fact in memory.recall(entities=["jon"]).facts]
        ['likes tea']
        """
        other = check_name(alias, "alias")
        with self._engine.writing() as transaction:
            entity, space = self._entity(transaction, name, "name", namespace)
            transaction.alias_entity(entity, space, other)

    def merge_entities(self, source: str, into: str, *, namespace: Namespace = ()) -> None:
        """Make one entity of two; the names of the first become aliases of the second.

        Args:
            source: The entity that goes.
            into: The entity that stays.
            namespace: The scope both live in.

        Raises:
            NotFoundError: One of them does not exist.
            InvalidInputError: Both are the same.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("likes tea", entity="Jon")
        >>> _ = memory.remember("lives in Bern", entity="J. Ames")
        >>> memory.merge_entities("Jon", "J. Ames")
        >>> [(entity.name, entity.aliases, entity.facts) for entity in memory.entities()]
        [('J. Ames', ('Jon',), 2)]
        """
        with self._engine.writing() as transaction:
            gone, _ = self._entity(transaction, source, "source", namespace)
            stays, _ = self._entity(transaction, into, "into", namespace)
            if gone == stays:
                raise InvalidInputError(f"{source!r} and {into!r} are one entity already")
            transaction.merge_entities(gone, stays)

    alink = twin(link)
    aunlink = twin(unlink)
    aedges = twin(edges)
    aneighbours = twin(neighbours)
    aentities = twin(entities)
    arename_entity = twin(rename_entity)
    aalias_entity = twin(alias_entity)
    amerge_entities = twin(merge_entities)

    def _entity(
        self, transaction: Transaction, name: str, argument: str, namespace: Namespace
    ) -> tuple[int, int]:
        _, key = check_name(name, argument)
        scope = check_namespace(namespace)
        space = transaction.find_namespace(dump_json(scope))
        entity = None if space is None else transaction.find_entity(key, space)
        if entity is None or space is None:
            raise NotFoundError(f"{argument} is {name!r}; no such entity in namespace {scope}")
        return entity, space


def _holds(edge: Edge, at: int | None, now: int) -> bool:
    known, instant = (edge.recorded_at <= at, at) if at is not None else (True, now)
    ended = edge.valid_to is not None and edge.valid_to <= instant
    return known and edge.valid_from <= instant and not ended
