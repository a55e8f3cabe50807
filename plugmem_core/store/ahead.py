"""Looking ahead: what many facts need to know of the file, asked in a few queries."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from plugmem_core.store.encoding import dump_json, text_digest
from plugmem_core.store.learned import Triple
from plugmem_core.store.rows import EdgeRow
from plugmem_core.store.soundness import sound
from plugmem_core.store.transaction import FactWrite, Transaction

FEW = 8
"""Facts up to which asking one by one is as fast."""

_AMONG = "IN (SELECT value FROM json_each(?))"
_TRIPLES = 250  # three values each; SQLite's oldest limit is 999
_OPEN_EDGES = (
    f"WITH wanted (src, relation, dst) AS (VALUES {', '.join(['(?, ?, ?)'] * _TRIPLES)}) "
    "SELECT g.* FROM wanted w CROSS JOIN edges g ON g.src = w.src "
    "AND g.relation = w.relation AND g.dst = w.dst AND g.valid_to IS NULL"
)


def look_ahead(transaction: Transaction, facts: Sequence[FactWrite]) -> None:
    """Let a transaction know what the file holds of the facts it is to remember.

    Of texts and keys only those are noted that are not there; what is has to be looked at when
    its turn comes.

    Args:
        transaction: Of which nobody reads or writes meanwhile.
        facts: In the order in which they will be remembered.
    """
    if len(facts) <= FEW:
        return
    _look_for_texts(transaction, facts)
    _look_for_keys(transaction, facts)
    _look_for_names(transaction, facts)
    _look_for_edges(transaction, facts)


def _look_for_texts(transaction: Transaction, facts: Sequence[FactWrite]) -> None:
    digests = transaction._digests = {fact.text: text_digest(fact.text) for fact in facts}
    wanted = {digests[fact.text] for fact in facts if fact.key is None}
    found = transaction._sql.execute(
        f"SELECT digest FROM facts WHERE digest {_AMONG}", (dump_json(sorted(wanted)),)
    )
    transaction._learned.digests |= wanted.difference(digest for (digest,) in found)


def _look_for_keys(transaction: Transaction, facts: Sequence[FactWrite]) -> None:
    wanted = {fact.key for fact in facts if fact.key is not None}
    if not wanted:
        return
    found = transaction._sql.execute(
        f"SELECT key FROM facts WHERE key {_AMONG}", (dump_json(sorted(wanted)),)
    )
    transaction._learned.keys |= wanted.difference(key for (key,) in found)


def _look_for_names(transaction: Transaction, facts: Sequence[FactWrite]) -> None:
    known = transaction._entities
    wanted: dict[int, set[str]] = defaultdict(set)
    for fact in facts:
        space = transaction.namespace(fact.namespace)
        names = [] if fact.entity is None else [fact.entity, *(name for _, name in fact.links)]
        wanted[space].update(key for _, key in names if (space, key) not in known)
    for space, keys in wanted.items():
        if not keys:
            continue
        found = dict(_holders(transaction, space, dump_json(sorted(keys))))
        known.update(((space, key), found.get(key)) for key in keys)


def _holders(transaction: Transaction, space: int, keys: str) -> Iterator[tuple[str, int]]:
    for table, holder in (("aliases", "entity"), ("entities", "id")):
        yield from transaction._sql.execute(
            f"SELECT key, {holder} FROM {table} WHERE namespace = ? AND key {_AMONG}",
            (space, keys),
        )


def _look_for_edges(transaction: Transaction, facts: Sequence[FactWrite]) -> None:
    names = {relation for fact in facts for relation, _ in fact.links}
    relations = {name: transaction.relation_id(name) for name in names}
    wanted = list(
        {triple for fact in facts for triple in _known_triples(transaction, relations, fact)}
    )
    for start in range(0, len(wanted), _TRIPLES):
        batch = wanted[start : start + _TRIPLES]
        whole = batch + batch[-1:] * (_TRIPLES - len(batch))  # one statement for every size
        values = [value for triple in whole for value in triple]
        rows = [sound(EdgeRow, row) for row in transaction._sql.execute(_OPEN_EDGES, values)]
        standing = {(row.src, row.relation, row.dst): row for row in rows}
        for triple in batch:
            transaction._learned.set_open_edge(triple, standing.get(triple))


def _known_triples(
    transaction: Transaction, relations: Mapping[str, int | None], fact: FactWrite
) -> Iterator[Triple]:
    """Yield what a fact links, as far as all of it is there already."""
    if fact.entity is None or not fact.links:
        return
    space, known = transaction.namespace(fact.namespace), transaction._entities
    src = known.get((space, fact.entity[1]))
    if src is None:
        return
    for relation, (_, key) in fact.links:
        dst, named = known.get((space, key)), relations[relation]
        if dst is not None and named is not None:
            yield src, named, dst
