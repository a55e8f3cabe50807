"""The rules of a naive memory: what a write does to what is there."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from naive_reading import (
    PENDING,
    NaiveEdge,
    NaiveEntity,
    NaiveFact,
    NaiveReading,
    Vector,
    within,
    words,
)

from plugmem_core import InvalidInputError, Namespace, Receipt, Retain, Similar

BATCH = 128
"""Texts that the embedder gets at once, when it makes what is pending."""

Outcome: TypeAlias = Literal["created", "unchanged", "revised"]


class NaiveRules(NaiveReading):
    """What several verbs do."""

    # -- facts

    def _remember(
        self,
        text: str,
        *,
        entity: str | None = None,
        tags: tuple[str, ...] = (),
        links: Iterable[tuple[str, str]] = (),
        metadata: dict[str, Any] | None = None,
        valid_from: int | None = None,
        vector: Vector = None,
        key: str | None = None,
        namespace: Namespace = (),
        ttl: int | None = None,
        embed: bool = True,
    ) -> tuple[NaiveFact, Outcome]:
        new = NaiveFact(
            len(self.facts), text, self._entity(entity, namespace), tuple(tags), metadata or {},
            key, namespace, self.now, self.now if valid_from is None else valid_from,
            None if ttl is None else self.now + 1_000 * ttl, None, self._stored(vector),
        )  # fmt: skip
        outcome = self._place(new, valid_from, embed=embed)
        written = self.facts[-1] if outcome != "unchanged" else self._held(new)
        assert written is not None
        self._open_links(written, links)
        return written, outcome

    def _place(self, new: NaiveFact, valid_from: int | None, *, embed: bool) -> Outcome:
        held = self._held(new)
        if held is None:
            self.facts.append(new)
            return "created"
        if new.key is None:
            new.tags, new.metadata = new.tags or held.tags, new.metadata or held.metadata
        if new.said() == held.said():
            held.expires_at = new.expires_at
            if new.vector not in (None, PENDING) or held.vector is None:
                held.vector = new.vector or held.vector
            return "unchanged"
        if valid_from is not None and valid_from < held.valid_from:
            raise InvalidInputError
        if embed and new.text == held.text and new.vector in (None, PENDING):
            new.vector = held.vector or new.vector
        new.revises = held.id
        self._close(held, new.valid_from)
        self.facts.append(new)
        return "revised"

    def _held(self, new: NaiveFact) -> NaiveFact | None:
        """The current fact that a new one confirms or supersedes."""
        for fact in self.stored():
            if fact.forgotten or fact.valid_to is not None:
                continue
            if (fact.namespace, fact.key) != (new.namespace, new.key):
                continue
            if self.late(fact):
                if new.key is not None:  # nobody sees it; only its key is taken
                    self._close(fact, fact.expires_at or 0)
            elif new.key is not None or (fact.text, fact.entity) == (new.text, new.entity):
                return fact
        return None

    def _close(self, fact: NaiveFact, at: int) -> None:
        fact.valid_to, fact.closed_at = max(at, fact.valid_from), self.now

    def _forget(self, fact: NaiveFact) -> bool:
        known, fact.forgotten = fact.forgotten, True
        return not known

    def _end(self, fact: NaiveFact) -> bool:
        if fact.forgotten or fact.valid_to is not None:
            return False
        self._close(fact, self.now)
        return True

    def _outlives(self, fact: NaiveFact, rule: Retain) -> bool:
        """Whether a fact is older than a rule lets it be; the age is in seconds here."""
        assert isinstance(rule.max_age, int | float)
        return (
            self.now - fact.recorded_at > 1_000 * rule.max_age
            and set(rule.tags) <= set(fact.tags)
            and (rule.entity is None or self.is_about(fact, rule.entity))
            and within(fact.namespace, rule.namespace)
        )

    def _under(self, pair: tuple[Namespace, str]) -> list[NaiveFact]:
        """Every version under a key."""
        return [fact for fact in self.stored() if (fact.namespace, fact.key) == pair]

    def _erase_facts(self, doomed: list[int], named: list[NaiveEntity]) -> tuple[int, int]:
        """Remove facts and entities, and what only they used; how many entities and edges."""
        facts = [self.facts[fact] for fact in doomed]
        edges = [e for e in self.edge_versions if e.provenance in doomed or touches(e, named)]
        touched = [f.entity for f in facts] + [end for e in edges for end in (e.src, e.dst)]
        self._remove(facts)
        self.edge_versions = [edge for edge in self.edge_versions if edge not in edges]
        gone = [one for one in self.nodes if one in named or self._is_unused(one, touched)]
        self.nodes = [one for one in self.nodes if one not in gone]
        return len(gone), len(edges)

    def _erase_values(self, namespace: Namespace) -> int:
        gone = [at for at in self.values if within(at[0], namespace)]
        return sum(len(self.values.pop(at)) for at in gone)

    def _remove(self, facts: Iterable[NaiveFact]) -> None:
        """Take rows away; what superseded one supersedes what that one did."""
        for fact in facts:
            fact.purged = True
            for successor in self.facts:
                if successor.revises == fact.id:
                    successor.revises = fact.revises

    def note_mentions(self) -> None:
        """What a transaction does at its end: new texts name what is known by then."""
        for fact in self.facts:
            if fact.named is None:
                fact.named = self._named_in(fact)

    def _named_in(self, fact: NaiveFact) -> list[NaiveEntity]:
        said = words(fact.text)
        return [
            one
            for one in self.nodes
            if one.namespace == fact.namespace
            and one is not fact.entity
            and said & {one.key, *one.aliases}
        ]

    def _retag(self, tag: str, instead: list[str], namespace: Namespace) -> int:
        targets = [f for f in self.current() if tag in f.tags and within(f.namespace, namespace)]
        for fact in targets:
            tags = [one for old in fact.tags for one in (instead if old == tag else [old])]
            new = replace(
                fact, id=len(self.facts), tags=tuple(dict.fromkeys(tags)), revises=fact.id,
                recorded_at=self.now, valid_from=self.now,
            )  # fmt: skip
            self._close(fact, self.now)
            self.facts.append(new)
        return len(targets)

    def _entity(self, name: str | None, namespace: Namespace) -> NaiveEntity | None:
        found = self.find(name, namespace)
        if found is None and name is not None:
            found = NaiveEntity(name, namespace)
            self.nodes.append(found)
        return found

    def _free_for(self, entity: NaiveEntity, name: str) -> None:
        if self.find(name, entity.namespace) not in (None, entity):
            raise InvalidInputError

    def _is_unused(self, entity: NaiveEntity, among: list[NaiveEntity | None]) -> bool:
        about = any(fact.entity is entity for fact in self.stored())
        return (
            entity in among
            and not about
            and not any(touches(edge, [entity]) for edge in self.edge_versions)
        )

    # -- edges

    def _standing(
        self, src: NaiveEntity | None, relation: str, dst: NaiveEntity | None
    ) -> NaiveEdge | None:
        for edge in self.edge_versions:
            if (edge.src, edge.relation, edge.dst, edge.valid_to) == (src, relation, dst, None):
                return edge
        return None

    def _open_edge(
        self,
        src: NaiveEntity | None,
        relation: str,
        dst: NaiveEntity | None,
        provenance: int | None,
        valid_from: int | None,
        properties: dict[str, Any],
    ) -> NaiveEdge:
        assert src is not None
        assert dst is not None
        since = self.now if valid_from is None else valid_from
        standing = self._standing(src, relation, dst)
        if standing is not None:
            same = (standing.provenance, standing.properties) == (provenance, properties)
            if same and valid_from in (None, standing.valid_from):
                return standing
            standing.valid_to = max(since, standing.valid_from)
        self.edges_made += 1
        edge = NaiveEdge(
            self.edges_made - 1, src, relation, dst, provenance, properties, self.now, since
        )
        self.edge_versions.append(edge)
        return edge

    def _open_links(self, fact: NaiveFact, links: Iterable[tuple[str, str]]) -> None:
        for relation, target in links if fact.entity else ():
            dst = self._entity(target, fact.namespace)
            self._open_edge(fact.entity, relation, dst, fact.id, None, {})

    def _end_links(self, facts: Iterable[NaiveFact]) -> None:
        for fact in facts:
            for edge in self.edge_versions:
                brought = (edge.src, edge.provenance) == (fact.entity, fact.id)
                if brought and edge.valid_to is None:
                    edge.valid_to = max(self.now, edge.valid_from)

    def _repoint(self, edge: NaiveEdge, gone: NaiveEntity, stays: NaiveEntity) -> None:
        if gone not in (edge.src, edge.dst):
            return
        src = stays if edge.src is gone else edge.src
        dst = stays if edge.dst is gone else edge.dst
        if edge.valid_to is None and self._standing(src, edge.relation, dst) not in (None, edge):
            edge.valid_to = max(self.now, edge.valid_from)
        edge.src, edge.dst = src, dst

    # -- vectors

    def _vector_of(self, draft: Mapping[str, Any]) -> Vector:
        """What a fact gets: a vector, one that is still to be made, or none."""
        if draft.get("vector") is not None or not self.embedder or not draft.get("embed", True):
            given: Vector = draft.get("vector")
            return given
        if self.within_transaction:
            self.owes_vectors = True
            return PENDING
        return self._made(draft["text"]) or PENDING

    def _made(self, text: str) -> Vector:
        known = any(f.text == text and f.vector not in (None, PENDING) for f in self.stored())
        return self.embedder(text) if self.embedder and (known or self.embedder_works) else None

    def _stored(self, vector: Vector) -> Vector:
        self.has_space = self.has_space or vector not in (None, PENDING)
        return vector

    def _release_space(self) -> None:
        self.has_space = any(fact.vector not in (None, PENDING) for fact in self.stored())

    def _make_pending(self) -> int:
        waiting = [fact for fact in self.stored() if fact.vector == PENDING and not fact.forgotten]
        count = 0
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            made = [self._made(fact.text) for fact in batch]
            for fact, vector in zip(batch, made, strict=True):
                fact.vector = self._stored(vector or PENDING)
            count += sum(vector is not None for vector in made)
            if None in made:  # the embedder is down
                break
        return count

    def _receipt(self, fact: NaiveFact, outcome: Outcome) -> Receipt:
        similar: tuple[Similar, ...] = ()
        if outcome == "created":
            similar = self.similar(fact.text, fact.vector, fact.entity, fact.id)
        if fact.vector is None or fact.vector == PENDING:
            return Receipt(fact.id, outcome, similar, fact.vector or "none")
        return Receipt(fact.id, outcome, similar, "stored")


def touches(edge: NaiveEdge, entities: list[NaiveEntity]) -> bool:
    return edge.src in entities or edge.dst in entities
