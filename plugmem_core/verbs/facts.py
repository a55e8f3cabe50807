"""Writing facts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from plugmem_core.clock import Instant, to_ms
from plugmem_core.errors import ConflictError, InvalidInputError, NotFoundError, VectorSpaceError
from plugmem_core.inputs import (
    Keyed,
    Link,
    VectorLike,
    check_id,
    check_ids,
    check_keyed,
    check_links,
    check_namespace,
    check_ttl,
)
from plugmem_core.model import Fact, GuardedReceipt, Namespace, Receipt, Similar
from plugmem_core.similar import find_similar, similar_to_stored
from plugmem_core.store import (
    PENDING,
    STORED,
    FactRow,
    FactWrite,
    Transaction,
    dump_json,
    look_ahead,
)
from plugmem_core.verbs.base import twin
from plugmem_core.verbs.checked import Checked
from plugmem_core.verbs.drafting import Drafting, about_one

KEEP: Final[Any] = type("Keep", (), {"__repr__": lambda _: "KEEP", "__slots__": ()})()
"""Stands for an argument of `revise` that was left out."""


class FactVerbs(Drafting):
    """Verbs that write facts."""

    def remember(
        self,
        text: str,
        *,
        entity: str | None = None,
        tags: Iterable[str] = (),
        links: Iterable[Link] = (),
        metadata: Mapping[str, Any] | None = None,
        valid_from: Instant | None = None,
        vector: VectorLike | None = None,
        key: str | None = None,
        namespace: Namespace = (),
        ttl: float | None = None,
        embed: bool = True,
    ) -> Receipt:
        """Store one fact.

        The same text about the same entity, without a key, is stored once: saying it
        again is `unchanged`, or `revised` when it brings other tags or metadata; it
        keeps its `valid_from`, and expires as the last saying asks. A key holds one
        current fact: writing it again revises what it held.

        Args:
            text: What to remember; not blank, at most `max_text` bytes of UTF-8.
            entity: Name of the subject; made on first use. Spelling, case and accents
                do not tell entities apart.
            tags: Labels, verbatim; at most `max_tags`.
            links: `(relation, target)` pairs, edges from the entity to others.
            metadata: A JSON object, at most `max_metadata` bytes; recall can filter by it.
            valid_from: When it became true; now by default.
            vector: Its embedding; by default the embedder makes it, if there is one, or
                a fact with the same text has it already.
            key: Your own id for the fact.
            namespace: The scope it lives in.
            ttl: Seconds after which it disappears.
            embed: Whether the embedder may make a vector, now or in a later `reembed`.

        Returns:
            The id, what happened, similar facts of the same entity, and how the vector is.

        Raises:
            InvalidInputError: An argument breaks its rule; nothing was stored. Its
                subclasses tell wrong types and exceeded limits apart.
            VectorSpaceError: The vector has another dimension or model than the file's.
            BusyError: Another process wrote for longer than `busy_timeout`.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipt = memory.remember("Mara prefers green tea", entity="Mara", tags=["taste"])
        >>> receipt.id, receipt.outcome
        (0, 'created')
        >>> memory.remember("Mara prefers green tea", entity="MARA").outcome
        'unchanged'
        """
        fact = self._draft(
            Checked(self._engine.config),
            text,
            entity,
            tags,
            links,
            metadata,
            valid_from,
            vector,
            key,
            namespace,
            ttl,
            embed,
        )
        return self._write([fact])[0]

    def remember_many(self, facts: Iterable[Mapping[str, Any]]) -> list[Receipt]:
        """Store many facts in one transaction: all of them or none.

        Args:
            facts: Mappings with the names of `remember`'s arguments; `text` is required.

        Returns:
            One receipt a fact, in order.

        Raises:
            InvalidInputError: As `remember`, naming the place in the list; nothing was stored.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipts = memory.remember_many([
        ...     {"text": "The heater is set to nine degrees", "entity": "greenhouse"},
        ...     {"text": "Tomatoes were planted", "tags": ["garden"]},
        ... ])
        >>> [receipt.id for receipt in receipts]
        [0, 1]
        """
        return self._write(self._draft_many(facts, "facts"), name="facts")

    def remember_guarded(
        self,
        text: str,
        *,
        entity: str | None = None,
        tags: Iterable[str] = (),
        links: Iterable[Link] = (),
        metadata: Mapping[str, Any] | None = None,
        valid_from: Instant | None = None,
        vector: VectorLike | None = None,
        key: str | None = None,
        namespace: Namespace = (),
        ttl: float | None = None,
        embed: bool = True,
    ) -> GuardedReceipt:
        """Store one fact unless the entity has a similar one already.

        Look and write are one step; nobody can write in between. Without an entity
        there is nothing to compare with, and the fact is stored.

        Args:
            text: As for `remember`, and so are all others.
            entity: The subject whose last facts are compared.
            tags: Labels.
            links: Edges from the entity.
            metadata: A JSON object.
            valid_from: When it became true.
            vector: Its embedding.
            key: Your own id for the fact.
            namespace: The scope it lives in.
            ttl: Seconds after which it disappears.
            embed: Whether the embedder may make a vector.

        Raises:
            InvalidInputError: As `remember`.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("prefers dark mode in the editor", entity="Ada")
        >>> outcome = memory.remember_guarded("prefers dark mode in an editor", entity="Ada")
        >>> outcome.blocked, outcome.similar[0].reason
        (True, 'lexical')
        """
        fact = self._draft(
            Checked(self._engine.config),
            text,
            entity,
            tags,
            links,
            metadata,
            valid_from,
            vector,
            key,
            namespace,
            ttl,
            embed,
        )
        self._embed([fact])
        engine = self._engine
        with engine.writing() as transaction:
            similar = self._similar_before(fact)
            if not similar:
                self._claim_space(transaction, fact)
                written = transaction.remember(fact)
        if similar:
            return GuardedReceipt(None, similar, checked=True)
        receipt = Receipt(written.row.id, written.outcome, (), _vector_state(written.row))
        return GuardedReceipt(receipt, (), checked=fact.entity is not None)

    def revise(
        self,
        id: int,  # noqa: A002 - the name users know
        text: str = KEEP,
        *,
        entity: str | None = KEEP,
        tags: Iterable[str] | None = KEEP,
        links: Iterable[Link] = (),
        metadata: Mapping[str, Any] | None = KEEP,
        valid_from: Instant | None = None,
        vector: VectorLike | None = KEEP,
        ttl: float | None = KEEP,
        expected: int | None = None,
        namespace: Namespace = (),
    ) -> Receipt:
        """Supersede a fact by a newer version of it.

        The old version stays readable: as of an earlier instant, and in `history`.
        What is left out survives; `None` or an empty value clears it. Without an
        embedder the vector survives too: under another text one that callers gave as
        it is, one that an embedder made as pending.

        Args:
            id: The current version.
            text: The new text.
            entity: The new subject.
            tags: The new tags, all of them.
            links: Edges to open from the entity.
            metadata: The new metadata, all of it.
            valid_from: When the new version became true, and the old one stopped;
                now by default, and not before the old one began.
            vector: The new embedding.
            ttl: Seconds after which the new version disappears.
            expected: The version that must still be the current one; `id` may then be any
                version of the fact.
            namespace: The scope in which to look for the fact.

        Raises:
            NotFoundError: No such fact here.
            ConflictError: Another version than the expected one is current.
            ClosedFactError: It has been revised already.
            InvalidInputError: An argument breaks its rule, or nothing was given to change.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> old = memory.remember("Ivo's desk is on floor two", entity="Ivo", tags=["office"])
        >>> new = memory.revise(old.id, "Ivo's desk is on floor five")
        >>> memory.get(new.id).tags, memory.get(old.id).is_current
        (('office',), False)
        """
        fact_id = check_id(id)
        wanted = None if expected is None else check_id(expected, "expected")
        scope = check_namespace(namespace)
        given: dict[str, Any] = {
            "text": text,
            "entity": entity,
            "tags": tags,
            "metadata": metadata,
            "vector": vector,
            "ttl": ttl,
        }
        given = {name: _or_none(value) for name, value in given.items() if value is not KEEP}
        if text is not KEEP:  # which cannot be cleared
            given["text"] = text
        if not given and not links and valid_from is None:
            raise InvalidInputError(
                f"nothing of fact {fact_id} was given to change; give a text, tags, metadata, …"
            )
        # Checked as a fact of its own: the same rules, before anything is looked up.
        draft = self._draft(
            Checked(self._engine.config),
            given.get("text", "kept"),
            given.get("entity"),
            given.get("tags") or (),
            (),
            given.get("metadata"),
            valid_from,
            given.get("vector"),
            None,
            (),
            given.get("ttl"),
            embed=True,
        )
        draft.links = check_links(links, most=self._engine.config.max_links)
        if "text" in given:
            self._embed([draft])
        with self._engine.writing() as transaction:
            target = self._visible_row(transaction, fact_id, scope)
            if wanted is not None:
                target = self._expected(transaction, target, wanted, scope)
            self._complete(draft, target, given, transaction)
            self._claim_space(transaction, draft)
            written = transaction.revise(target, draft)
        return Receipt(written.row.id, written.outcome, (), _vector_state(written.row))

    def forget(self, id: int, *, namespace: Namespace = ()) -> bool:  # noqa: A002
        """Hide a fact from every route at once, as-of included; `maintain` removes it.

        Args:
            id: The fact, current or superseded.
            namespace: The scope in which to look for it.

        Returns:
            `False` when it was forgotten already.

        Raises:
            NotFoundError: No such fact here.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipt = memory.remember("the old alarm code is 4711")
        >>> memory.forget(receipt.id), memory.get(receipt.id)
        (True, None)
        """
        return self.forget_many([id], namespace=namespace)[0]

    def forget_many(
        self, ids: Iterable[int], *, unlink: bool = False, namespace: Namespace = ()
    ) -> list[bool]:
        """Forget many facts in one transaction: all of them or none.

        Args:
            ids: Facts.
            unlink: Whether the edges that they brought end.
            namespace: The scope in which to look for them.

        Returns:
            One answer an id, as `forget` gives it.

        Raises:
            NotFoundError: One of them does not exist here; nothing was forgotten.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> ids = [memory.remember(text).id for text in ("one", "two")]
        >>> memory.forget_many(ids)
        [True, True]
        """
        facts = check_ids(ids)
        scope = check_namespace(namespace)
        with self._engine.writing() as transaction:
            forgotten = []
            for fact in facts:
                row = self._row_to_forget(transaction, fact, scope)
                forgotten.append(transaction.forget(row))
                if unlink:
                    transaction.end_links([row])
            return forgotten

    def end(
        self,
        id: int,  # noqa: A002
        valid_to: Instant | None = None,
        *,
        namespace: Namespace = (),
    ) -> Fact:
        """Say that a fact has stopped being true, when nothing takes its place.

        It stays readable as of earlier instants and in `history`, unlike a forgotten one.

        Args:
            id: The current version.
            valid_to: When it stopped; now by default, not before it began, not after now.
                A fact that is still to become true ends as it begins.
            namespace: The scope in which to look for the fact.

        Returns:
            The fact, with its end.

        Raises:
            NotFoundError: No such fact here.
            ClosedFactError: It was revised or has ended already.
            InvalidInputError: An instant outside these bounds.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipt = memory.remember("Ivo works here", valid_from="2024-01-15")
        >>> memory.end(receipt.id, "2024-06-30").valid_to_time.date().isoformat()
        '2024-06-30'
        >>> memory.recall("Ivo").facts, len(memory.recall("Ivo", valid_at="2024-03-01").facts)
        ((), 1)
        """
        fact_id = check_id(id)
        scope = check_namespace(namespace)
        at = None if valid_to is None else to_ms(valid_to, "valid_to")
        with self._engine.writing() as transaction:
            row = self._visible_row(transaction, fact_id, scope)
            # Read while nobody else can write: afterwards it may be forgotten and purged.
            fact = self._engine.fact(fact_id)
            ended = transaction.end(row, at)
        return fact._replace(valid_to=ended.valid_to)

    def set_ttl(self, ids: Iterable[int], ttl: float | None, *, namespace: Namespace = ()) -> int:
        """Let facts disappear some time from now, or never.

        Args:
            ids: Facts; those that are not here any more are passed over.
            ttl: Seconds from now; `None` for never.
            namespace: The scope in which to look for them.

        Returns:
            How many facts it found.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> receipt = memory.remember("the guest password is plum", ttl=3600)
        >>> memory.set_ttl([receipt.id], None), memory.get(receipt.id).expires_at
        (1, None)
        """
        facts = check_ids(ids)
        scope = check_namespace(namespace)
        expires_at = check_ttl(ttl, self._engine.clock())
        with self._engine.writing() as transaction:
            visible = set(self._engine.index.facts.admitted(self._visible(scope), facts))
            for fact in visible:
                transaction.expire(transaction.fact(fact), expires_at)
        return len(visible)

    def write(
        self,
        *,
        remember: Iterable[Mapping[str, Any]] = (),
        forget: Iterable[Keyed] = (),
        end: Iterable[Keyed] = (),
        unlink: bool = False,
    ) -> list[Receipt]:
        """Write different things in one transaction: all of them or none.

        What is under a key is forgotten first, then ended, then the facts are stored. A
        key under which there is nothing is passed over.

        Args:
            remember: Facts, as for `remember_many`.
            forget: `(namespace, key)` pairs: every version under the key is forgotten.
            end: `(namespace, key)` pairs: the current fact under the key stops being true.
            unlink: Whether the edges end that were brought by what is forgotten, ended or
                revised here.

        Returns:
            One receipt a fact remembered, in order.

        Raises:
            InvalidInputError: An argument breaks its rule; nothing was written.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("drinks green tea", key="drink", namespace=("users", "ann"))
        >>> _ = memory.write(
        ...     remember=[{"text": "likes jazz", "namespace": ("users", "ann")}],
        ...     forget=[(("users", "ann"), "drink")],
        ... )
        >>> [fact.text for fact in memory.list_facts(namespace=("users", "ann"))]
        ['likes jazz']
        """
        facts = self._draft_many(remember, "remember")
        forgotten, ended = check_keyed(forget, "forget"), check_keyed(end, "end")
        return self._write(facts, forgotten, ended, unlink=unlink, name="remember")

    aremember = twin(remember)
    aremember_many = twin(remember_many)
    aremember_guarded = twin(remember_guarded)
    arevise = twin(revise)
    aforget = twin(forget)
    aforget_many = twin(forget_many)
    aend = twin(end)
    aset_ttl = twin(set_ttl)
    awrite = twin(write)

    def _write(
        self,
        facts: list[FactWrite],
        forgotten: Sequence[Keyed] = (),
        ended: Sequence[Keyed] = (),
        *,
        unlink: bool = False,
        name: str | None = None,
    ) -> list[Receipt]:
        """Write in one transaction; `name` is what the caller knows the list of facts by."""
        self._embed(facts)
        with self._engine.writing() as transaction:
            gone: list[FactRow] = []
            for keyed, close in (
                (forgotten, transaction.forget_key),
                (ended, transaction.end_key),
            ):
                for namespace, key in keyed:
                    space = transaction.find_namespace(dump_json(namespace))
                    if space is not None:
                        gone += close(key, space)
            if unlink:
                transaction.end_links(gone)
            look_ahead(transaction, facts)
            written = []
            for at, fact in enumerate(facts):
                try:
                    self._claim_space(transaction, fact)
                    written.append(transaction.remember(fact))
                except (InvalidInputError, VectorSpaceError) as error:
                    if name is None:
                        raise
                    raise about_one(at, type(error)(f"{name}[{at}]: {error}")) from error
            if unlink:
                transaction.end_links(
                    transaction.fact(done.row.revises)
                    for done in written
                    if done.outcome == "revised" and done.row.revises is not None
                )
        created = [
            (done.row, fact)
            for done, fact in zip(written, facts, strict=True)
            if done.outcome == "created" and done.row.entity is not None
        ]
        similar = self._similar_after(created)
        # A later one of the list may have given an earlier one its vector.
        rows = {done.row.id: done.row for done in written}
        return [
            Receipt(
                done.row.id,
                done.outcome,
                similar.get(done.row.id, ()) if done.outcome == "created" else (),
                _vector_state(rows[done.row.id]),
            )
            for done in written
        ]

    def _expected(
        self, transaction: Transaction, row: FactRow, expected: int, scope: Namespace
    ) -> FactRow:
        """Return the newest version of a fact, if it is the one that is expected."""
        newest = transaction.newest(row)
        if newest.id != expected:
            raise ConflictError(
                f"expected is {expected}, but fact {row.id} stands at version {newest.id}; "
                "read that and decide anew"
            )
        return self._visible_row(transaction, newest.id, scope)

    def _row_to_forget(self, transaction: Transaction, fact: int, scope: Namespace) -> FactRow:
        row = transaction.fact(fact)
        spaces = self._engine.index.spaces.mask(scope)
        # A namespace that a transaction is just making is not among those known yet.
        known = spaces is None or row.namespace < len(spaces)
        if not known or (spaces is not None and not spaces[row.namespace]):
            raise NotFoundError(f"fact {fact} does not exist")
        return row

    def _similar_before(self, fact: FactWrite) -> tuple[Similar, ...]:
        index = self._engine.index
        space = index.spaces.find(fact.namespace)
        if fact.entity is None or space is None:
            return ()
        entity = index.names.find(fact.entity[1], space)
        return () if entity is None else self._similar(entity, fact, before=None)

    def _similar_after(
        self, created: Sequence[tuple[FactRow, FactWrite]]
    ) -> dict[int, tuple[Similar, ...]]:
        engine = self._engine
        if engine.shared is None:
            vectors = {row.id: fact.vector for row, fact in created}
            with engine.gate.alone:  # comparing may have to build the forward index
                return similar_to_stored(engine.index, engine.config, vectors, engine.clock())
        # What is written together is not in the index yet.
        return {
            row.id: self._similar(row.entity, fact, before=row.id)
            for row, fact in created
            if row.entity is not None
        }

    def _similar(self, entity: int, fact: FactWrite, before: int | None) -> tuple[Similar, ...]:
        engine = self._engine
        with engine.gate.alone:
            return find_similar(
                engine.index, engine.config, entity, fact.text, fact.vector, before, engine.clock()
            )


def _vector_state(row: FactRow) -> Literal["stored", "pending", "none"]:
    if row.vector == STORED:
        return "stored"
    return "pending" if row.vector == PENDING else "none"


def _or_none(value: Any) -> Any:
    """Return `None` for an empty value: both clear a field."""
    return None if isinstance(value, Sequence | Mapping) and not value else value
