"""How far an import has come: kept in the file with what it wrote, so that it can go on."""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

from plugmem_core.errors import ConflictError, TooLargeError, VectorSpaceError
from plugmem_core.inputs import MAX_ID
from plugmem_core.store.sqlite import SqliteStore
from plugmem_core.store.transaction import Transaction
from plugmem_core.store.transfer import OWN, Extent

_KEY = "import"
_ROOT = 0  # the namespace of the package's own values


class Stretch(NamedTuple):
    """Ids that came one after another, while nobody else was given any.

    Attributes:
        first: The first of them in the file.
        here: The first of them here; the others are as far from it as there.
        end: The first behind them here.
    """

    first: int
    here: int
    end: int

    def place(self, there: int) -> int:
        """Return where an id of the file is here."""
        return there - self.first + self.here


@dataclass(frozen=True, slots=True)
class Passage:
    """An import that has begun.

    Attributes:
        facts: Where the ids of facts are here.
        edges: Where the ids of edges are here.
        entities: What is added to the ids of entities.
        known: Facts and edges below these ids were here before it.
        past: Of the memory; with another one, what came may be gone.
        foreign: Whether the ids of the file are those of another program; then each is noted.
        digest: Of where it goes and of the bytes of the file that are in.
        bytes: How many those are.
        lines: How many lines those are.
        last: The last id of each kind of line.
        counts: How many records came, by kind.
    """

    facts: list[Stretch]
    edges: list[Stretch]
    entities: int
    known: tuple[int, int]
    past: str
    foreign: bool = False
    digest: str = ""
    bytes: int = 0
    lines: int = 0
    last: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def keeps_ids(self) -> bool:
        """Whether facts have the ids here that they have in the file."""
        return not self.foreign and all(one.first == one.here for one in self.facts)


def begin(transaction: Transaction, extent: Extent | None) -> Passage:
    """Return an import at its beginning.

    Ids are kept where nothing was ever written; otherwise they go on behind those here.

    Args:
        transaction: The first of the import.
        extent: What the file says of itself; `None` for one of another program, whose ids
            are not known in advance.

    Raises:
        TooLargeError: There is no room for so many ids.
        VectorSpaceError: The vectors here are of another dimension or model.
    """
    state = transaction.state
    following = (state.next_fact, state.next_edge, state.next_entity)
    known = following[:2]
    if extent is None:
        facts, edges = (Stretch(0, place, place) for place in known)
        return Passage(
            foreign=True, facts=[facts], edges=[edges], entities=0, known=known, past=state.uuid
        )
    if extent.dim and state.dim and (extent.dim, extent.space) != (state.dim, state.space):
        raise VectorSpaceError(
            f"the vectors that arrive have {extent.dim} components and were made by "
            f"{extent.space!r}, those of this memory have {state.dim} and were made by "
            f"{state.space!r}; import into a new file"
        )
    spans = (extent.facts, extent.edges, extent.entities)
    places = following if any(following) else tuple(first for first, _ in spans)
    last = max(end - first + place for (first, end), place in zip(spans, places, strict=True))
    if last > MAX_ID:
        raise TooLargeError(f"the ids would go up to {last}, over the limit of {MAX_ID}")
    if extent.dim:
        transaction.claim_space(extent.dim, extent.space)
    facts, edges = (
        Stretch(first, place, start)
        for (first, _), place, start in zip(spans[:2], places, known, strict=False)
    )
    moved = places[2] - spans[2][0]
    return Passage(
        foreign=False, facts=[facts], edges=[edges], entities=moved, known=known, past=state.uuid
    )


def go_on(transaction: Transaction, passage: Passage) -> Passage:
    """Return an import with ids behind those that others were given meanwhile."""
    state, last = transaction.state, passage.last
    return replace(
        passage,
        facts=_behind(passage.facts, state.next_fact, last.get("fact")),
        edges=_behind(passage.edges, state.next_edge, last.get("edge")),
    )


def _behind(stretches: list[Stretch], following: int, last: int | None) -> list[Stretch]:
    newest = stretches[-1]
    if newest.end == following:
        return stretches
    first = newest.first if last is None else last + 1
    return [*stretches, Stretch(first, following, following)]


def settled(transaction: Transaction, passage: Passage) -> Passage:
    """Return an import that knows what ids it was given."""
    state = transaction.state
    return replace(
        passage,
        facts=[*passage.facts[:-1], passage.facts[-1]._replace(end=state.next_fact)],
        edges=[*passage.edges[:-1], passage.edges[-1]._replace(end=state.next_edge)],
    )


def end(transaction: Transaction, passage: Passage, extent: Extent | None) -> None:
    """Write what an import says of the whole memory.

    Where ids were kept, those that were given there to what is gone by now are given to
    nobody here.
    """
    if extent is not None and passage.keeps_ids:
        state = transaction.state
        transaction.state = state._replace(
            next_fact=max(state.next_fact, extent.facts[1]),
            next_entity=max(state.next_entity, extent.entities[1]),
            next_edge=max(state.next_edge, extent.edges[1]),
        )
    state = transaction.state
    # Also when nothing else is written, as of a memory that is empty by now.
    transaction._sql.execute(
        "UPDATE state SET dim = ?, space = ?, next_fact = ?, next_entity = ?, next_edge = ?",
        (state.dim, state.space, state.next_fact, state.next_entity, state.next_edge),
    )


def interrupted(store: SqliteStore) -> Passage | None:
    """Return the import that did not come to its end, if there is one that can go on."""
    text = store.values("[]", OWN, [_KEY]).get(_KEY)
    if text is None:
        return None
    fields = json.loads(text)
    for name in ("facts", "edges"):
        fields[name] = [Stretch(*one) for one in fields[name]]
    passage = Passage(**fields | {"known": tuple(fields["known"])})
    return passage if passage.past == store.state().uuid else None


def advance(transaction: Transaction, before: Passage | None, after: Passage | None) -> None:
    """Record how far an import has come.

    Args:
        transaction: With what came.
        before: How far it was; `None` at its beginning, which puts an end to another one.
        after: How far it is; `None` at its end.

    Raises:
        ConflictError: Somebody else has gone on with it.
    """
    sql = transaction._sql
    if before is None:
        _forget(transaction)
    else:
        (standing,) = sql.execute(
            "SELECT max(value) FROM kv WHERE namespace = ? AND collection = ? AND key = ?",
            (_ROOT, OWN, _KEY),
        ).fetchone()
        if standing != _spelled(before):
            raise ConflictError(
                "another import into this memory has begun or gone on meanwhile; import one "
                "file at a time"
            )
    if after is None:
        _forget(transaction)
    else:
        transaction.put_values(OWN, {_KEY: _spelled(after)}, _ROOT)


def note(transaction: Transaction, fact: int, here: int) -> None:
    """Remember which fact here is meant by an id of the file."""
    transaction.put_values(OWN, {f"fact {fact}": str(here)}, _ROOT)


def noted(transaction: Transaction, fact: int) -> int | None:
    """Return which fact here is meant by an id of the file, if that was noted."""
    row = transaction._sql.execute(
        "SELECT value FROM kv WHERE namespace = ? AND collection = ? AND key = ?",
        (_ROOT, OWN, f"fact {fact}"),
    ).fetchone()
    return None if row is None else int(row[0])


def _forget(transaction: Transaction) -> None:
    transaction._sql.execute("DELETE FROM kv WHERE namespace = ? AND collection = ?", (_ROOT, OWN))


def _spelled(passage: Passage) -> str:
    return json.dumps(asdict(passage), separators=(",", ":"), sort_keys=True)
