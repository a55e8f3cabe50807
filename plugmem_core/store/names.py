"""Writes of what has a name: namespaces, entities, aliases, relations."""

from plugmem_core.errors import InvalidInputError
from plugmem_core.store import stamps
from plugmem_core.store.rows import AliasRow, EntityRow, NamespaceRow, RelationRow
from plugmem_core.store.soundness import sound
from plugmem_core.store.writes import Name, Writes
from plugmem_core.text import tokenize

_UNASKED = -1


class NameWrites(Writes):
    """Finds what names lead to, and makes it where needed."""

    def namespace(self, path: str) -> int:
        """Return a namespace's id, making it where needed."""
        known = self._namespaces.get(path)
        if known is not None:
            return known
        namespace = self.find_namespace(path)
        if namespace is None:
            cursor = self._sql.execute("INSERT INTO namespaces (path) VALUES (?)", (path,))
            namespace = int(cursor.lastrowid or 0)
            self._new_namespaces.append(NamespaceRow(namespace, path))
        self._namespaces[path] = namespace
        return namespace

    def find_namespace(self, path: str) -> int | None:
        """Return a namespace's id, if it was ever used."""
        row = self._sql.execute("SELECT id FROM namespaces WHERE path = ?", (path,)).fetchone()
        return None if row is None else int(row[0])

    def entity(self, name: Name, namespace: int, seen: int) -> int:
        """Return the entity a name leads to, making it where needed."""
        place = namespace, name[1]
        known = self._entities.get(place, _UNASKED)
        if known == _UNASKED:
            known = self.find_entity(name[1], namespace)
        if known is None:
            known = self._add_entity(name, namespace, seen)
        self._entities[place] = known
        return known

    def find_entity(self, key: str, namespace: int) -> int | None:
        """Return the entity a key leads to, aliases included."""
        row = self._sql.execute(
            "SELECT id FROM entities WHERE namespace = ?1 AND key = ?2 "
            "UNION ALL SELECT entity FROM aliases WHERE namespace = ?1 AND key = ?2",
            (namespace, key),
        ).fetchone()
        return None if row is None else int(row[0])

    def entity_row(self, entity: int) -> EntityRow:
        """Return an entity's row."""
        row = self._sql.execute("SELECT * FROM entities WHERE id = ?", (entity,)).fetchone()
        return sound(EntityRow, row)

    def alias_entity(self, entity: int, namespace: int, alias: Name) -> None:
        """Make another name lead to an entity."""
        holder = self.find_entity(alias[1], namespace)
        if holder == entity:
            return
        if holder is not None:
            raise InvalidInputError(
                f"{alias[0]!r} names another entity already; use merge_entities to make them one"
            )
        self._add_alias(AliasRow(namespace, alias[1], alias[0], entity, self.state.change))

    def relation_id(self, name: str) -> int | None:
        """Return a relation's id, if it was ever used."""
        row = self._sql.execute("SELECT id FROM relations WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def _relation(self, name: str, stamp: int) -> int:
        known = self._relations.get(name)
        if known is None:
            known = self.relation_id(name)
            if known is None:
                known = self._add_relation(name, stamp)
            self._relations[name] = known
        return known

    def _add_entity(self, name: Name, namespace: int, seen: int) -> int:
        row = EntityRow(
            self.state.next_entity, namespace, name[1], name[0], seen, self.state.change
        )
        self._unwritten.put_entity(row)
        self.state = self.state._replace(next_entity=row.id + 1)
        self._new_entities.append(row)
        return row.id

    def _add_alias(self, row: AliasRow) -> None:
        self._sql.execute("INSERT INTO aliases VALUES (?, ?, ?, ?, ?)", row)
        self._new_aliases.append(row)
        self._entities[row.namespace, row.key] = row.entity

    def _add_relation(self, name: str, stamp: int) -> int:
        cursor = self._sql.execute(
            "INSERT INTO relations (name, rank, change) VALUES (?, ?, ?)",
            (name, self._first_seen(name, stamp), self.state.change),
        )
        row = self._sql.execute(
            "SELECT * FROM relations WHERE id = ?", (cursor.lastrowid,)
        ).fetchone()
        self._new_relations.append(RelationRow(*row))
        return int(row[0])

    def _first_seen(self, name: str, stamp: int) -> int:
        """Return the stamp of a string's first appearance, at the latest the one given."""
        seen = [stamp]
        (as_entity,) = self._sql.execute(
            "SELECT min(seen) FROM entities WHERE key = ?", (name,)
        ).fetchone()
        if as_entity is not None:
            seen.append(as_entity)
        earlier = (self.fact(fact) for fact in self._first_facts(name, self._has_token))
        for row in (*earlier, *self._touched_facts):
            seen.extend(stamps.of_appearances(row, name))
        return min(seen)

    def _has_token(self, fact: int, token: str) -> bool:
        return token in tokenize(self.fact(fact).text)
