"""A memory of dicts and lists: what the verbs mean, in the plainest way, with no index at all.

The verbs take what those of `Memory` take, and return what those return.
"""

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from naive_reading import PENDING, NaiveEntity, within
from naive_rules import NaiveRules

from plugmem_core import (
    ClosedFactError,
    ConflictError,
    EmbedderError,
    ErasureReceipt,
    Fact,
    GuardedReceipt,
    InvalidInputError,
    MaintainReport,
    Namespace,
    PlugmemError,
    Receipt,
    Retain,
)

Verb = TypeVar("Verb", bound=Callable[..., Any])


def whole(verb: Verb) -> Verb:
    """All of a verb or nothing."""

    @wraps(verb)
    def call(memory: "NaiveMemory", *args: Any, **options: Any) -> Any:
        before = pickle.dumps(vars(memory))
        try:
            return verb(memory, *args, **options)
        except PlugmemError:
            vars(memory).update(pickle.loads(before))
            raise

    return cast("Verb", call)


class NaiveMemory(NaiveRules):
    """The verbs that write."""

    # -- facts

    def remember(self, text: str, **given: Any) -> Receipt:
        return self.remember_many([{"text": text, **given}])[0]

    def remember_many(self, facts: Iterable[Mapping[str, Any]]) -> list[Receipt]:
        return self.write(remember=facts)

    @whole
    def remember_guarded(self, text: str, **given: Any) -> GuardedReceipt:
        entity = self.find(given.get("entity"), given.get("namespace", ()))
        similar = self.similar(text, self._vector_of({"text": text, **given}), entity, None)
        if similar:
            return GuardedReceipt(None, similar, checked=True)
        receipt = self.remember(text, **given)
        return GuardedReceipt(
            replace(receipt, similar=()), (), checked=given.get("entity") is not None
        )

    @whole
    def write(
        self,
        *,
        remember: Iterable[Mapping[str, Any]] = (),
        forget: Iterable[tuple[Namespace, str]] = (),
        end: Iterable[tuple[Namespace, str]] = (),
        unlink: bool = False,
    ) -> list[Receipt]:
        drafts = [{**one, "vector": self._vector_of(one)} for one in remember]
        gone = [fact for pair in forget for fact in self._under(pair) if self._forget(fact)]
        gone += [fact for pair in end for fact in self._under(pair) if self._end(fact)]
        if unlink:
            self._end_links(gone)
        written = [self._remember(**draft) for draft in drafts]
        if unlink:
            revised = [fact.revises for fact, outcome in written if outcome == "revised"]
            self._end_links(self.facts[fact] for fact in revised if fact is not None)
        return [self._receipt(*one) for one in written]

    def revise(
        self,
        fact: int,
        text: str | None = None,
        *,
        valid_from: int | None = None,
        ttl: int | None = None,
        links: Iterable[tuple[str, str]] = (),
        expected: int | None = None,
        namespace: Namespace = (),
        **changes: Any,
    ) -> Receipt:
        if not changes and not links and (text, ttl, valid_from) == (None, None, None):
            raise InvalidInputError("nothing was given to change")
        held = self.visible(fact, namespace)
        if expected is not None:
            held = self.facts[self.whole_chain(fact)[-1]]
            if held.id != expected:
                raise ConflictError
            self.visible(held.id, namespace)
        if links and changes.get("entity", held.entity) is None:
            raise InvalidInputError
        if held.valid_to is not None:
            raise ClosedFactError
        if valid_from is not None and valid_from < held.valid_from:
            raise InvalidInputError
        if "entity" in changes:
            changes["entity"] = self._entity(changes["entity"], held.namespace)
        if "vector" not in changes:
            # Without an embedder the vector is of the fact, and stays whatever its text is.
            made = self._vector_of({"text": text}) if text and self.embedder else held.vector
            changes["vector"] = made
        self._stored(changes["vector"])
        new = replace(
            held,
            id=len(self.facts),
            text=text or held.text,
            recorded_at=self.now,
            valid_from=self.now if valid_from is None else valid_from,
            expires_at=held.expires_at if ttl is None else self.now + 1_000 * ttl,
            revises=held.id,
            **changes,
        )
        self._close(held, new.valid_from)
        self.facts.append(new)
        self._open_links(new, links)
        return self._receipt(new, "revised")

    def forget(self, fact: int, *, namespace: Namespace = ()) -> bool:
        return self.forget_many([fact], namespace=namespace)[0]

    @whole
    def forget_many(
        self, ids: Iterable[int], *, unlink: bool = False, namespace: Namespace = ()
    ) -> list[bool]:
        answers = []
        for fact_id in ids:
            fact = self.row(fact_id, namespace)
            answers.append(self._forget(fact))
            if unlink:
                self._end_links([fact])
        return answers

    def end(self, number: int, valid_to: int | None = None, *, namespace: Namespace = ()) -> Fact:
        fact = self.visible(number, namespace)
        if fact.valid_to is not None:
            raise ClosedFactError
        latest = max(self.now, fact.valid_from)
        at = latest if valid_to is None else valid_to
        if not fact.valid_from <= at <= latest:
            raise InvalidInputError
        self._close(fact, at)
        return self.shown(fact)

    def set_ttl(self, ids: Iterable[int], ttl: int | None, *, namespace: Namespace = ()) -> int:
        wanted = set(ids)
        found = [f for f in self.seen() if f.id in wanted and within(f.namespace, namespace)]
        for fact in found:
            fact.expires_at = None if ttl is None else self.now + 1_000 * ttl
        return len(found)

    def rename_tag(self, tag: str, new_tag: str, *, namespace: Namespace = ()) -> int:
        return 0 if tag == new_tag else self._retag(tag, [new_tag], namespace)

    def remove_tag(self, tag: str, *, namespace: Namespace = ()) -> int:
        return self._retag(tag, [], namespace)

    # -- entities and edges

    def link(
        self,
        src: str,
        relation: str,
        dst: str,
        *,
        provenance: int | None = None,
        valid_from: int | None = None,
        properties: dict[str, Any] | None = None,
        namespace: Namespace = (),
    ) -> Any:
        if provenance is not None:
            self.visible(provenance, namespace)
        ends = self._entity(src, namespace), self._entity(dst, namespace)
        return self.as_edge(
            self._open_edge(ends[0], relation, ends[1], provenance, valid_from, properties or {})
        )

    def unlink(self, src: str, relation: str, dst: str, *, namespace: Namespace = ()) -> bool:
        ends = self.find(src, namespace), self.find(dst, namespace)
        standing = self._standing(ends[0], relation, ends[1])
        if standing is not None:
            standing.valid_to = max(self.now, standing.valid_from)
        return standing is not None

    def rename_entity(self, name: str, new_name: str, *, namespace: Namespace = ()) -> None:
        entity = self.known(name, namespace)
        self._free_for(entity, new_name)
        entity.aliases.pop(new_name.lower(), None)
        entity.name = new_name

    def alias_entity(self, name: str, alias: str, *, namespace: Namespace = ()) -> None:
        entity = self.known(name, namespace)
        self._free_for(entity, alias)
        if alias.lower() != entity.key:
            entity.aliases.setdefault(alias.lower(), alias)

    def merge_entities(self, source: str, into: str, *, namespace: Namespace = ()) -> None:
        gone, stays = self.known(source, namespace), self.known(into, namespace)
        if gone is stays:
            raise InvalidInputError
        for fact in self.stored():
            if fact.entity is gone:
                fact.entity = stays
        for edge in self.edge_versions:
            self._repoint(edge, gone, stays)
            if fact.named is not None:
                named = [stays if one is gone else one for one in fact.named]
                fact.named = [one for one in dict.fromkeys(named) if one is not fact.entity]
        stays.aliases |= {gone.key: gone.name} | gone.aliases
        self.nodes.remove(gone)

    # -- values

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: Namespace = ()
    ) -> None:
        self.values.setdefault((namespace, collection), {}).update(values)

    def delete_values(
        self, collection: str, keys: Iterable[str], *, namespace: Namespace = ()
    ) -> int:
        values = self.values.get((namespace, collection), {})
        return sum(values.pop(key, None) is not None for key in set(keys))

    # -- care

    def maintain(self, *, retain: Iterable[Retain] = ()) -> MaintainReport:
        before = len(list(self.stored()))
        retired = [fact for fact in self.seen() if any(self._outlives(fact, one) for one in retain)]
        for fact in retired:
            fact.forgotten = True
        self.drop_what_nobody_sees()
        purged = before - len(list(self.stored()))
        return MaintainReport(purged, 0, self._make_pending(), len(retired))

    def find_mentions(self) -> int:
        looked_at = [fact for fact in self.stored() if not fact.forgotten]
        before = [self.mentions_of(fact) for fact in looked_at]
        for fact in looked_at:
            fact.named = self._named_in(fact)
        return sum(
            set(one) != set(self.mentions_of(fact))
            for one, fact in zip(before, looked_at, strict=True)
        )

    def reembed(self, *, batch: int) -> int:
        if self.embedder is None:
            raise InvalidInputError("there is no embedder")
        count = self._make_pending()
        if any(fact.vector == PENDING and not fact.forgotten for fact in self.stored()):
            raise EmbedderError("the embedder is down")
        return count

    def drop_what_nobody_sees(self) -> None:
        """Remove facts that are forgotten or have expired, as an export leaves them behind."""
        self._remove([fact for fact in self.stored() if fact.forgotten or self.late(fact)])
        self._release_space()

    def erase(
        self,
        ids: Iterable[int] | None = None,
        *,
        entity: str | None = None,
        key: str | None = None,
        namespace: Namespace = (),
    ) -> ErasureReceipt:
        kind = "ids" if ids is not None else "entity" if entity else "key" if key else "namespace"
        named: list[NaiveEntity] = []
        if ids is not None:
            there = [fact for fact in ids if self.is_row(fact, namespace)]
            doomed = {version for fact in there for version in self.whole_chain(fact)}
        elif entity is not None:
            named = [one for one in self.nodes if one is self.find(entity, namespace)]
            doomed = {fact.id for fact in self.stored() if fact.entity in named}
        elif key is not None:
            doomed = {fact.id for fact in self._under((namespace, key))}
        else:
            named = [one for one in self.nodes if within(one.namespace, namespace)]
            doomed = {fact.id for fact in self.stored() if within(fact.namespace, namespace)}
        entities, edges = self._erase_facts(sorted(doomed), named)
        values = self._erase_values(namespace) if kind == "namespace" else 0
        self._release_space()
        return ErasureReceipt(kind, self.now, tuple(sorted(doomed)), entities, edges, values)

    @whole
    def transaction(self, calls: Iterable[tuple[str, tuple[Any, ...], dict[str, Any]]]) -> None:
        """Verbs one after the other; no embedder is called before the end."""
        self.within_transaction, self.owes_vectors = True, False
        for verb, args, options in calls:
            getattr(self, verb)(*args, **options)
        self.within_transaction = False
        if self.owes_vectors:
            self._make_pending()
