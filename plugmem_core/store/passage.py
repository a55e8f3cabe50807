"""How far an import has come: kept in the file with what it wrote, so that it can go on."""

import json
from dataclasses import asdict, dataclass, field

from plugmem_core.errors import ConflictError, TooLargeError, VectorSpaceError
from plugmem_core.inputs import MAX_ID
from plugmem_core.store.sqlite import SqliteStore
from plugmem_core.store.transaction import Transaction
from plugmem_core.store.transfer import OWN, Extent

_KEY = "import"
_ROOT = 0  # the namespace of the package's own values


@dataclass(frozen=True, slots=True)
class Passage:
    """An import that has begun.

    Attributes:
        digest: Of where it goes and of the bytes of the file that are in.
        bytes: How many those are.
        lines: How many lines those are.
        facts: What is added to the ids of facts.
        entities: What is added to the ids of entities.
        edges: What is added to the ids of edges.
        foreign: Whether the ids of the file are those of another program; then each is noted.
        first_fact: Facts from this id on came with it.
        first_edge: Edges from this id on came with it.
        last: The last id of each kind of line.
        counts: How many records came, by kind.
    """

    digest: str = ""
    bytes: int = 0
    lines: int = 0
    facts: int = 0
    entities: int = 0
    edges: int = 0
    foreign: bool = False
    first_fact: int = 0
    first_edge: int = 0
    last: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def begin(transaction: Transaction, extent: Extent | None) -> Passage:
    """Make room for what arrives.

    Ids that nothing ever had are kept; otherwise all of a kind move up behind those here.

    Args:
        transaction: The first of the import.
        extent: What the file says of itself; `None` for one of another program, whose ids
            are not known in advance.

    Raises:
        TooLargeError: There is no room for so many ids.
        VectorSpaceError: The vectors here are of another dimension or model.
    """
    state = transaction.state
    following = (state.next_fact, state.next_entity, state.next_edge)
    if extent is None:
        return Passage(foreign=True, first_fact=state.next_fact, first_edge=state.next_edge)
    if extent.dim and state.dim and (extent.dim, extent.space) != (state.dim, state.space):
        raise VectorSpaceError(
            f"the vectors that arrive have {extent.dim} components and were made by "
            f"{extent.space!r}, those of this memory have {state.dim} and were made by "
            f"{state.space!r}; import into a new file"
        )
    spans = (extent.facts, extent.entities, extent.edges)
    moves = [
        place - first if any(following) else 0
        for place, (first, _) in zip(following, spans, strict=True)
    ]
    ends = [end + move for move, (_, end) in zip(moves, spans, strict=True)]
    if max(ends) > MAX_ID:
        raise TooLargeError(f"the ids would go up to {max(ends)}, over the limit of {MAX_ID}")
    if extent.dim:
        state = state._replace(dim=extent.dim, space=extent.space)
    transaction.state = state._replace(next_fact=ends[0], next_entity=ends[1], next_edge=ends[2])
    # Also when nothing else is written, as of a memory that is empty by now.
    transaction._sql.execute(
        "UPDATE state SET dim = ?, space = ?, next_fact = ?, next_entity = ?, next_edge = ?",
        (state.dim, state.space, *ends),
    )
    return Passage(
        facts=moves[0],
        entities=moves[1],
        edges=moves[2],
        first_fact=following[0],
        first_edge=following[2],
    )


def interrupted(store: SqliteStore) -> Passage | None:
    """Return the import that did not come to its end, if there is one."""
    text = store.values("[]", OWN, [_KEY]).get(_KEY)
    return None if text is None else Passage(**json.loads(text))


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
