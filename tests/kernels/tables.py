"""Small builders shared by the kernel's tests."""

from collections.abc import Iterable

from plugmem_core.kernels import NO_ID, OPEN, FactTable, Scope


def put(
    table: FactTable,
    fact: int,
    *,
    namespace: int = 0,
    entity: int = NO_ID,
    recorded_at: int = 0,
    valid_from: int = 0,
    valid_to: int = OPEN,
    closed_at: int = OPEN,
    expires_at: int = OPEN,
    size: int = 0,
    forgotten: bool = False,
) -> None:
    """Put a fact that every scope admits, but for the columns given."""
    table.put(
        fact,
        namespace,
        entity,
        recorded_at,
        valid_from,
        valid_to,
        closed_at,
        expires_at,
        size,
        forgotten,
    )


def facts(ids: Iterable[int]) -> FactTable:
    """Return a table of facts that every scope admits."""
    table = FactTable()
    for fact in ids:
        put(table, fact)
    return table


def scope(
    *,
    valid_at: int = 0,
    known_at: int = OPEN,
    expired_by: int = 0,
    closed: bool = False,
    unknown_closings: bool = False,
) -> Scope:
    """Return a scope that admits the facts of `put`, but for the clocks given."""
    return Scope(valid_at, known_at, expired_by, closed, unknown_closings)


ALL = scope()
EVERY_FACT = 10**6
"""A limit no test reaches."""
