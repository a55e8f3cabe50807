"""From the arguments of a write to a fact ready to be stored."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from plugmem_core.clock import Instant, to_ms
from plugmem_core.errors import (
    InvalidInputError,
    PlugmemError,
    VectorSpaceError,
    WrongTypeError,
    shown,
)
from plugmem_core.inputs import (
    Link,
    VectorLike,
    check_key,
    check_metadata,
    check_ttl,
    check_type,
    check_vector,
)
from plugmem_core.model import Namespace
from plugmem_core.store import FactRow, FactWrite, Transaction, Vector
from plugmem_core.text import check_fact_text
from plugmem_core.verbs.base import Verbs
from plugmem_core.verbs.checked import Checked

E = TypeVar("E", bound=PlugmemError)

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
    "embed": True,
}
"""The arguments of `remember` and their defaults, in the order of those of `_draft`."""


class Drafting(Verbs):
    """Checks arguments, embeds texts, and fills revisions in."""

    def _draft(
        self,
        checked: Checked,
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
        embed: bool,  # noqa: FBT001 - private, and the order is that of `_ARGUMENTS`
    ) -> FactWrite:
        engine = self._engine
        config = engine.config
        named = None if entity is None else checked.name(entity, "entity")
        checked_links = checked.links(links)
        if checked_links and named is None:
            raise InvalidInputError(
                f"links has {len(checked_links)} pairs but entity is None; "
                "name the entity they start from"
            )
        spelled_tags = checked.tags(tags)
        check_type(embed, bool, "embed", "True or False")
        return FactWrite(
            text=check_fact_text(text, max_bytes=config.max_text),
            entity=named,
            tags=spelled_tags,
            metadata=check_metadata(metadata, "metadata", max_bytes=config.max_metadata),
            key=check_key(key),
            namespace=checked.namespace(namespace),
            valid_from=None if valid_from is None else to_ms(valid_from, "valid_from"),
            expires_at=None if ttl is None else check_ttl(ttl, engine.clock()),
            links=checked_links,
            vector=None if vector is None else self._check_vector(vector),
            embed=embed,
        )

    def _draft_many(self, items: Iterable[Mapping[str, Any]], name: str) -> list[FactWrite]:
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise WrongTypeError(
                f"{name} is {shown(items)} ({type(items).__name__}); give a list of mappings"
            )
        checked = Checked(self._engine.config)
        return [self._draft_item(item, name, at, checked) for at, item in enumerate(items)]

    def _draft_item(
        self, item: Mapping[str, Any], name: str, at: int, checked: Checked
    ) -> FactWrite:
        place = f"{name}[{at}]"
        if not isinstance(item, Mapping):
            raise about_one(
                at,
                WrongTypeError(f"{place} is {shown(item)} ({type(item).__name__}); give a mapping"),
            )
        if not item.keys() <= _ARGUMENTS.keys() or "text" not in item:
            unknown = set(item) - _ARGUMENTS.keys()
            problem = f"has unknown {sorted(map(str, unknown))}" if unknown else "has no text"
            accepted = f"accepted are text and {', '.join(list(_ARGUMENTS)[1:])}"
            raise about_one(at, InvalidInputError(f"{place} {problem}; {accepted}"))
        try:
            return self._draft(checked, *map(item.get, _ARGUMENTS, _ARGUMENTS.values()))
        except (InvalidInputError, VectorSpaceError) as error:
            raise about_one(at, type(error)(f"{place}: {error}")) from error

    def _check_vector(self, vector: VectorLike) -> Vector:
        engine = self._engine
        engine.vectorizer.check_space(engine.state)
        return check_vector(vector, "vector", engine.vectorizer.expected_dim(engine.state))

    def _embed(self, facts: Sequence[FactWrite]) -> None:
        """Give vectors to the facts that have none, outside every lock."""
        engine = self._engine
        engine.check_open()
        bare = [fact for fact in facts if fact.vector is None and fact.embed]
        if not bare or engine.vectorizer.embedder is None:
            return
        if engine.shared is not None:  # others wait for its end
            engine.shared.owes_vectors = True
            for fact in bare:
                fact.pending = True
            return
        vectors, space = engine.embed([fact.text for fact in bare])
        for fact in bare:
            fact.pending = fact.text not in vectors
            fact.vector, fact.space = vectors.get(fact.text), space

    def _claim_space(self, transaction: Transaction, fact: FactWrite) -> None:
        """Let the first vector decide the file's dimension and model.

        One that was made before this handle went over to another embedder is made anew.
        """
        vectorizer = self._engine.vectorizer
        if fact.space not in (None, vectorizer.space):
            fact.vector, fact.pending = None, True
        vectorizer.claim(transaction, [fact.vector])

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
        if "vector" in given and "text" not in given:  # one that is taken away is not missed
            draft.embed = draft.vector is not None


def about_one(place: int, error: E) -> E:
    """Return an error that tells which of many facts it is about."""
    error.place = place
    return error
