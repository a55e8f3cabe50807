"""What is read of a file, held against the rules that every write of ours keeps.

A damaged file may be one that SQLite still reads. Columns are checked as a whole, by the set of
their types or values, so that loading a sound file costs no more.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from plugmem_core.errors import CorruptError, shown
from plugmem_core.kernels import NO_ID
from plugmem_core.store import AliasRow, EntityRow, RelationRow


class RowsById(dict[int, Any]):
    """What is known of rows by id; one that other rows name and that is not there is damage.

    Args:
        kind: What to call such a row in the message of an error.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, row: object) -> Any:
        raise CorruptError(
            f"the file is damaged: {self._kind} {shown(row)} is named by other rows and is not "
            "there; salvage what can be read"
        )


def check_entities(rows: Sequence[EntityRow], there: Callable[[int], bool]) -> None:
    """Refuse rows that cannot be.

    Args:
        rows: Rows as they were read.
        there: Tells of a namespace whether there is one.

    Raises:
        CorruptError: There is one.
    """
    if rows:
        ids, namespaces, keys, names, *_ = zip(*rows, strict=True)
        _check(ids, int, "an entity has the id")
        _refuse(
            (one for one in (min(ids), max(ids)) if not 0 <= one < NO_ID), "an entity has the id"
        )
        _check(keys + names, str, "an entity is called")
        _check(namespaces, int, "an entity is in the namespace")
        _refuse((one for one in set(namespaces) if not there(one)), "an entity is in the namespace")


def check_aliases(
    rows: Sequence[AliasRow], there: Callable[[int], bool], known: Callable[[int], bool]
) -> None:
    """Refuse rows that cannot be.

    Args:
        rows: Rows as they were read.
        there: Tells of a namespace whether there is one.
        known: Tells of an entity whether there is one.

    Raises:
        CorruptError: There is one.
    """
    if rows:
        namespaces, keys, names, named, _ = zip(*rows, strict=True)
        _check(keys + names, str, "an alias is called")
        _check(namespaces, int, "an alias is in the namespace")
        _refuse((one for one in set(namespaces) if not there(one)), "an alias is in the namespace")
        _refuse((one for one in named if not known(one)), "an alias is of the entity")


def check_relations(rows: Iterable[RelationRow]) -> None:
    """Refuse rows that cannot be.

    Raises:
        CorruptError: There is one.
    """
    for row in rows:  # they are few
        _check((row.name,), str, "a relation is called")
        _check((row.rank,), int, "a relation has the rank")


def _check(values: Iterable[object], kind: type, what: str) -> None:
    if set(map(type, values)) != {kind}:
        _refuse((value for value in values if type(value) is not kind), what)


def _refuse(wrong: Iterable[object], what: str) -> None:
    for value in wrong:
        raise CorruptError(
            f"the file is damaged: {what} {shown(value)}, which cannot be; salvage what can be read"
        )
