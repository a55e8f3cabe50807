"""Writing facts and reading them by id."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from plugmem_core.clock import Instant, to_ms
from plugmem_core.errors import (
    InvalidInputError,
    NotFoundError,
    VectorSpaceError,
    WrongTypeError,
    shown,
)
from plugmem_core.inputs import (
    Link,
    VectorLike,
    check_id,
    check_ids,
    check_key,
    check_links,
    check_metadata,
    check_name,
    check_namespace,
    check_tags,
    check_ttl,
    check_vector,
)
from plugmem_core.model import Fact, GuardedReceipt, History, Namespace, Receipt, Similar
from plugmem_core.similar import find_similar
from plugmem_core.store import PENDING, STORED, FactRow, FactWrite, Transaction, Vector, dump_json
from plugmem_core.text import check_fact_text
from plugmem_core.verbs.base import Verbs, twin

KEEP: Final[Any] = type("Keep", (), {"__repr__": lambda _: "KEEP", "__slots__": ()})()
"""Stands for an argument of `revise` that was left out."""


class FactVerbs(Verbs):
    """Verbs that write facts, and those that read them by id."""

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
            vector: Its embedding; by default the embedder makes it, if there is one.
            key: Your own id for the fact.
            namespace: The scope it lives in.
            ttl: Seconds after which it disappears.

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
            text, entity, tags, links, metadata, valid_from, vector, key, namespace, ttl
        )
        return self._remember([fact])[0]

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
        if isinstance(facts, str | bytes | Mapping) or not isinstance(facts, Iterable):
            raise WrongTypeError(
                f"facts is {shown(facts)} ({type(facts).__name__}); give a list of mappings"
            )
        return self._remember([self._draft_item(item, at) for at, item in enumerate(facts)])

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
            text, entity, tags, links, metadata, valid_from, vector, key, namespace, ttl
        )
        self._embed([fact])
        engine = self._engine
        with engine.writing() as transaction:
            similar = self._similar_before(fact)
            if not similar:
                self._claim_space(transaction, [fact])
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
        namespace: Namespace = (),
    ) -> Receipt:
        """Supersede a fact by a newer version of it.

        The old version stays readable: as of an earlier instant, and in `history`.
        What is left out survives; `None` or an empty value clears it. Without an
        embedder the vector survives too, also under another text.

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
            namespace: The scope in which to look for the fact.

        Raises:
            NotFoundError: No such fact here.
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
        )
        draft.links = check_links(links, most=self._engine.config.max_links)
        if "text" in given:
            self._embed([draft])
        with self._engine.writing() as transaction:
            target = self._visible_row(transaction, fact_id, scope)
            self._complete(draft, target, given, transaction)
            self._claim_space(transaction, [draft])
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

    def forget_many(self, ids: Iterable[int], *, namespace: Namespace = ()) -> list[bool]:
        """Forget many facts in one transaction: all of them or none.

        Args:
            ids: Facts.
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
            return [
                transaction.forget(self._row_to_forget(transaction, fact, scope)) for fact in facts
            ]

    def get(self, id: int, *, namespace: Namespace = ()) -> Fact | None:  # noqa: A002
        """Return one fact, superseded ones included.

        Args:
            id: The fact.
            namespace: The scope in which to look for it.

        Returns:
            `None` when there is none here, or it is forgotten or expired.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> memory.get(memory.remember("water boils at 100 °C").id).text
        'water boils at 100 °C'
        """
        fact = check_id(id)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            if not engine.index.facts.admits(self._visible(scope), fact):
                return None
        found = engine.facts([fact])
        return found[0] if found else None

    def get_many(self, ids: Iterable[int], *, namespace: Namespace = ()) -> list[Fact | None]:
        """Return many facts, `None` in the place of each that is not here.

        Args:
            ids: Facts.
            namespace: The scope in which to look for them.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> _ = memory.remember("one")
        >>> [fact and fact.text for fact in memory.get_many([0, 1])]
        ['one', None]
        """
        wanted = check_ids(ids)
        scope = check_namespace(namespace)
        engine = self._ready()
        with engine.gate:
            seen = engine.index.facts.admitted(self._visible(scope), wanted)
        found = {fact.id: fact for fact in engine.facts(seen)}
        return [found.get(fact) for fact in wanted]

    def history(self, id: int, *, namespace: Namespace = ()) -> History:  # noqa: A002
        """Return the whole revision chain of a fact, oldest version first.

        Args:
            id: Any version.
            namespace: The scope in which to look for it.

        Raises:
            NotFoundError: No such fact here.

        >>> from plugmem_core import Memory
        >>> memory = Memory.open(":memory:")
        >>> first = memory.remember("the office is in Bern")
        >>> _ = memory.revise(first.id, "the office is in Basel")
        >>> [fact.text for fact in memory.history(first.id)]
        ['the office is in Bern', 'the office is in Basel']
        """
        if self.get(id, namespace=namespace) is None:
            raise NotFoundError(f"fact {id} does not exist")
        chain = self.get_many(self._engine.store.chain(id), namespace=namespace)
        return History(tuple(fact for fact in chain if fact is not None))

    aremember = twin(remember)
    aremember_many = twin(remember_many)
    aremember_guarded = twin(remember_guarded)
    arevise = twin(revise)
    aforget = twin(forget)
    aforget_many = twin(forget_many)
    aget = twin(get)
    aget_many = twin(get_many)
    ahistory = twin(history)

    # -- from arguments to rows

    def _draft(
        self,
        text: str,
        entity: str | None,
        tags: Iterable[str],
        links: Iterable[Link],
        metadata: Mapping[str, Any] | None,
        valid_from: Instant | None,
        vector: VectorLike | None,
        key: str | None,
        namespace: Namespace,
        ttl: float | None,
    ) -> FactWrite:
        engine = self._engine
        config = engine.config
        named = None if entity is None else check_name(entity, "entity")
        checked_links = check_links(links, most=config.max_links)
        if checked_links and named is None:
            raise InvalidInputError(
                f"links has {len(checked_links)} pairs but entity is None; "
                "name the entity they start from"
            )
        names = check_tags(tags, most=config.max_tags)
        return FactWrite(
            text=check_fact_text(text, max_bytes=config.max_text),
            entity=named,
            tags=dump_json(names) if names else None,
            metadata=check_metadata(metadata, "metadata", max_bytes=config.max_metadata),
            key=check_key(key),
            namespace=dump_json(check_namespace(namespace)),
            valid_from=None if valid_from is None else to_ms(valid_from, "valid_from"),
            expires_at=None if ttl is None else check_ttl(ttl, engine.clock()),
            links=checked_links,
            vector=None if vector is None else self._check_vector(vector),
        )

    def _draft_item(self, item: Mapping[str, Any], place: int) -> FactWrite:
        if not isinstance(item, Mapping):
            raise WrongTypeError(
                f"facts[{place}] is {shown(item)} ({type(item).__name__}); give a mapping"
            )
        unknown = set(item) - _ARGUMENTS.keys()
        if unknown or "text" not in item:
            problem = f"has unknown {sorted(map(str, unknown))}" if unknown else "has no text"
            raise InvalidInputError(
                f"facts[{place}] {problem}; accepted are text and {', '.join(list(_ARGUMENTS)[1:])}"
            )
        try:
            return self._draft(*(item.get(name, default) for name, default in _ARGUMENTS.items()))
        except (InvalidInputError, VectorSpaceError) as error:
            raise type(error)(f"facts[{place}]: {error}") from error

    def _check_vector(self, vector: VectorLike) -> Vector:
        engine = self._engine
        engine.vectorizer.check_space(engine.state)
        return check_vector(vector, "vector", engine.vectorizer.expected_dim(engine.state))

    def _embed(self, facts: Sequence[FactWrite]) -> None:
        """Give vectors to the facts that have none, outside every lock."""
        engine = self._engine
        engine.check_open()
        bare = [fact for fact in facts if fact.vector is None]
        if not bare or engine.vectorizer.embedder is None:
            return
        vectors = engine.vectorizer.documents([fact.text for fact in bare], engine.state)
        for place, fact in enumerate(bare):
            fact.pending = vectors is None
            fact.vector = vectors[place] if vectors else None

    def _claim_space(self, transaction: Transaction, facts: Sequence[FactWrite]) -> None:
        """Let the first vector decide the file's dimension and model."""
        vectorizer = self._engine.vectorizer
        for fact in facts:
            if fact.vector is None:
                continue
            if not transaction.state.dim:
                transaction.claim_space(len(fact.vector), vectorizer.space)
            # Once more under the lock: another process may have decided meanwhile.
            vectorizer.check_space(transaction.state)
            check_vector(fact.vector, "vector", transaction.state.dim)

    def _remember(self, facts: list[FactWrite]) -> list[Receipt]:
        self._embed(facts)
        with self._engine.writing() as transaction:
            self._claim_space(transaction, facts)
            written = [transaction.remember(fact) for fact in facts]
        return [
            Receipt(
                done.row.id,
                done.outcome,
                self._similar_after(done.row, fact) if done.outcome == "created" else (),
                _vector_state(done.row),
            )
            for done, fact in zip(written, facts, strict=True)
        ]

    def _complete(
        self,
        draft: FactWrite,
        target: FactRow,
        given: Mapping[str, Any],
        transaction: Transaction,
    ) -> None:
        """Fill a revision with what survives of the fact it supersedes."""
        draft.key = target.key
        if "text" not in given:
            draft.text = target.text
        if "entity" not in given and target.entity is not None:
            entity = transaction.entity_row(target.entity)
            draft.entity = (entity.name, entity.key)
        if "tags" not in given:
            draft.tags = target.tags
        if "metadata" not in given:
            draft.metadata = target.metadata
        if "ttl" not in given:
            draft.expires_at = target.expires_at
        if draft.links and draft.entity is None:
            raise InvalidInputError("links needs an entity to start from; give entity as well")
        embedded = "text" in given and self._engine.vectorizer.embedder is not None
        draft.keep_vector = "vector" not in given and not embedded
        if draft.text == target.text and target.vector == PENDING and draft.vector is None:
            draft.pending = "vector" not in given

    def _row_to_forget(self, transaction: Transaction, fact: int, scope: Namespace) -> FactRow:
        row = transaction.fact(fact)
        spaces = self._engine.index.spaces.mask(scope)
        if spaces is not None and not spaces[row.namespace]:
            raise NotFoundError(f"fact {fact} does not exist")
        return row

    # -- similar facts

    def _similar_before(self, fact: FactWrite) -> tuple[Similar, ...]:
        index = self._engine.index
        space = index.spaces.find(fact.namespace)
        if fact.entity is None or space is None:
            return ()
        entity = index.names.find(fact.entity[1], space)
        return () if entity is None else self._similar(entity, fact, before=None)

    def _similar_after(self, row: FactRow, fact: FactWrite) -> tuple[Similar, ...]:
        return () if row.entity is None else self._similar(row.entity, fact, before=row.id)

    def _similar(self, entity: int, fact: FactWrite, before: int | None) -> tuple[Similar, ...]:
        engine = self._engine
        # Alone, because comparing may have to build the forward index.
        with engine.gate.alone:
            return find_similar(
                engine.index, engine.config, entity, fact.text, fact.vector, before, engine.clock()
            )


_ARGUMENTS: dict[str, Any] = {
    "text": None,
    "entity": None,
    "tags": (),
    "links": (),
    "metadata": None,
    "valid_from": None,
    "vector": None,
    "key": None,
    "namespace": (),
    "ttl": None,
}
"""The arguments of `remember` and their defaults, in the order `_draft` takes them."""


def _vector_state(row: FactRow) -> Literal["stored", "pending", "none"]:
    if row.vector == STORED:
        return "stored"
    return "pending" if row.vector == PENDING else "none"


def _or_none(value: Any) -> Any:
    """Return `None` for an empty value: both clear a field."""
    return None if isinstance(value, Sequence | Mapping) and not value else value
