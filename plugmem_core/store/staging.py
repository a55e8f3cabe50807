"""Vectors of another model, staged in the file until every fact has one; then they replace the old.

Staged rows are seen by nobody but the re-embedding they belong to, which is told by its space. So
one that was cut off goes on where it was, and two at the same time do not harm each other.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from plugmem_core.store.encoding import decode_vector, encode_vector, text_digest
from plugmem_core.store.rows import DECLINED, NO_VECTOR, PENDING, STORED, Vector
from plugmem_core.store.sqlite import SqliteStore
from plugmem_core.store.transaction import Transaction

_FLOAT = 4  # bytes of a component

# Facts that have, or are to have, a vector: closed ones too, since the past can be asked about.
_MEANT = f"forgotten_at IS NULL AND vector != {DECLINED}"
_WAITING = f"vector IN ({NO_VECTOR}, {PENDING}) AND forgotten_at IS NULL"
_UNSTAGED = (
    f"{_MEANT} AND NOT EXISTS (SELECT 1 FROM staged s WHERE s.fact = facts.id AND s.space = :space)"
)


class Wanted(NamedTuple):
    """Which facts a re-embedding is about.

    Attributes:
        space: The model.
        switches: Whether all facts are to have a vector of it, or those that have none.
    """

    space: str
    switches: bool

    @property
    def _missing(self) -> str:
        return _UNSTAGED if self.switches else _WAITING

    def total(self, store: SqliteStore) -> int:
        """Return how many facts it is about in all."""
        return self._count(store, _MEANT if self.switches else _WAITING)

    def missing(self, store: SqliteStore) -> int:
        """Return how many of them it has not come to yet."""
        return self._count(store, self._missing)

    def batch(self, store: SqliteStore, after: int, limit: int) -> list[tuple[int, str]]:
        """Return the ids and texts of the next facts without a vector, by id."""
        query = f"SELECT id, text FROM facts WHERE id > :after AND {self._missing} ORDER BY id"
        values = {"space": self.space, "after": after, "limit": limit}
        with store.reading():
            return store._reader.execute(f"{query} LIMIT :limit", values).fetchall()

    def _count(self, store: SqliteStore, where: str) -> int:
        query = f"SELECT count(*) FROM facts WHERE {where}"
        with store.reading():
            (count,) = store._reader.execute(query, {"space": self.space}).fetchone()
        return int(count)


def staged_of_texts(
    store: SqliteStore, space: str, texts: Iterable[str]
) -> dict[str, Vector | None]:
    """Return the staged vectors of texts; `None` for a text without direction."""
    found: dict[str, Vector | None] = {}
    with store.reading():
        for text in dict.fromkeys(texts):
            row = store._reader.execute(
                "SELECT s.data FROM facts f JOIN staged s ON s.fact = f.id "
                "WHERE f.digest = ? AND f.text = ? AND s.space = ? LIMIT 1",
                (text_digest(text), text, space),
            ).fetchone()
            if row is not None:
                found[text] = None if row[0] is None else decode_vector(row[0])
    return found


def stage(
    transaction: Transaction, space: str, vectors: Sequence[tuple[int, Vector | None]]
) -> None:
    """Stage vectors of facts; those of facts that are gone by now are left out."""
    transaction._sql.executemany(
        "INSERT OR REPLACE INTO staged SELECT id, ?2, ?3 FROM facts WHERE id = ?1",
        [
            (fact, space, None if vector is None else encode_vector(vector))
            for fact, vector in vectors
        ],
    )


def keep_dim(transaction: Transaction, space: str, dim: int) -> None:
    """Drop what an earlier run staged under the same name with another dimension."""
    transaction._sql.execute(
        "DELETE FROM staged WHERE space = ? AND length(data) != ?", (space, dim * _FLOAT)
    )


def discard(transaction: Transaction) -> None:
    """Drop everything that is staged, of whatever model."""
    transaction._sql.execute("DELETE FROM staged")


def switch(transaction: Transaction, space: str) -> bool:
    """Let the staged vectors of a model be those of the file, which gets another past.

    Returns:
        `False` when a fact has none yet.
    """
    sql = transaction._sql
    dims = sql.execute(
        f"SELECT length(data) / {_FLOAT} FROM staged WHERE space = ? AND data IS NOT NULL "
        "GROUP BY 1 ORDER BY count(*) DESC",
        (space,),
    ).fetchall()
    if len(dims) > 1:  # two runs have staged at the same time
        keep_dim(transaction, space, dims[0][0])
    if sql.execute(f"SELECT 1 FROM facts WHERE {_UNSTAGED} LIMIT 1", {"space": space}).fetchone():
        return False
    sql.execute("DELETE FROM vectors")
    sql.execute(
        "INSERT INTO vectors SELECT s.fact, s.data FROM staged s JOIN facts f ON f.id = s.fact "
        f"WHERE s.space = ? AND s.data IS NOT NULL AND {_MEANT} ORDER BY s.fact",
        (space,),
    )
    has_one = "id IN (SELECT fact FROM vectors)"
    sql.execute(
        f"UPDATE facts SET vector = {STORED} WHERE vector IN ({NO_VECTOR}, {PENDING}) AND {has_one}"
    )
    sql.execute(
        f"UPDATE facts SET vector = {NO_VECTOR} "
        f"WHERE vector IN ({STORED}, {PENDING}) AND NOT {has_one}"
    )
    discard(transaction)
    if sql.execute("SELECT 1 FROM vectors LIMIT 1").fetchone():
        transaction.claim_space(dims[0][0], space)
    else:
        transaction.claim_space(0, None)
    transaction.begin_another_past()
    return True
