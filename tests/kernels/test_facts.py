from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugmem_core.kernels import NO_ID, OPEN, FactTable, IdSet, Ranked

from .tables import ALL, EVERY_FACT, facts, put, scope

# One row a rule: the columns of a fact, the scope, and whether it is admitted.
ADMISSION = [
    ("plain", {}, {}, True),
    ("known at its record time", {"recorded_at": 5}, {"known_at": 5, "valid_at": 9}, True),
    ("not yet known", {"recorded_at": 5}, {"known_at": 4, "valid_at": 9}, False),
    ("valid from its first instant", {"valid_from": 5}, {"valid_at": 5}, True),
    ("not yet valid", {"valid_from": 5}, {"valid_at": 4}, False),
    ("not yet valid, closed ones too", {"valid_from": 5}, {"valid_at": 4, "closed": True}, False),
    ("last valid instant", {"valid_to": 5, "closed_at": 5}, {"valid_at": 4}, True),
    ("end of validity is exclusive", {"valid_to": 5, "closed_at": 5}, {"valid_at": 5}, False),
    ("closed ones too", {"valid_to": 5, "closed_at": 5}, {"valid_at": 5, "closed": True}, True),
    (
        "closing learned later, but it counts",
        {"valid_to": 5, "closed_at": 9},
        {"valid_at": 6, "known_at": 8},
        False,
    ),
    (
        "closing learned later does not count",
        {"valid_to": 5, "closed_at": 9},
        {"valid_at": 6, "known_at": 8, "unknown_closings": True},
        True,
    ),
    (
        "closing learned at that instant counts",
        {"valid_to": 5, "closed_at": 8},
        {"valid_at": 6, "known_at": 8, "unknown_closings": True},
        False,
    ),
    ("expires later", {"expires_at": 6}, {"expired_by": 5}, True),
    ("expired at the instant", {"expires_at": 5}, {"expired_by": 5}, False),
    ("expired, closed ones too", {"expires_at": 5}, {"expired_by": 5, "closed": True}, False),
    ("forgotten", {"forgotten": True}, {}, False),
    ("forgotten, closed ones too", {"forgotten": True}, {"closed": True}, False),
    ("before 1970", {"recorded_at": -9, "valid_from": -9}, {"valid_at": -9, "known_at": -9}, True),
]


@pytest.mark.parametrize(
    ("columns", "clocks", "admitted"),
    [row[1:] for row in ADMISSION],
    ids=[row[0] for row in ADMISSION],
)
def test_admission(columns: dict[str, Any], clocks: dict[str, Any], admitted: bool) -> None:
    table = FactTable()
    put(table, 0, **columns)
    assert table.admits(scope(**clocks), 0) is admitted


def test_a_scope_admits_whole_namespaces() -> None:
    table = FactTable()
    for namespace in range(3):
        put(table, namespace, namespace=namespace)
    view = scope()
    view.restrict_namespaces(bytes([0, 1]))
    assert table.admitted(view, [0, 1, 2]) == [1]


def test_a_scope_admits_only_the_facts_of_a_set() -> None:
    table = facts(range(70))
    allowed = IdSet(70)
    for fact in (3, 64, 69):
        allowed.add(fact)
    view = scope()
    view.restrict_facts(allowed)
    assert table.admitted(view, list(range(70))) == [3, 64, 69]


def test_unknown_ids_are_not_admitted() -> None:
    table = facts([2])
    assert table.admitted(ALL, [0, 1, 2, 3, 10**9, NO_ID]) == [2]
    assert not FactTable().admits(ALL, 0)


instants = st.integers(-3, 3)
ends = st.one_of(st.just(OPEN), instants)
rows = st.fixed_dictionaries(
    {
        "namespace": st.integers(0, 2),
        "recorded_at": instants,
        "valid_from": instants,
        "valid_to": ends,
        "closed_at": ends,
        "expires_at": ends,
        "forgotten": st.booleans(),
    }
)
clocks = st.fixed_dictionaries(
    {
        "valid_at": instants,
        "known_at": ends,
        "expired_by": instants,
        "closed": st.booleans(),
        "unknown_closings": st.booleans(),
    }
)


def expected_admission(
    row: dict[str, Any], view: dict[str, Any], mask: bytes | None, allowed: bool
) -> bool:
    still_open = view["valid_at"] < row["valid_to"]
    unlearned = view["unknown_closings"] and row["closed_at"] > view["known_at"]
    return (
        not row["forgotten"]
        and row["recorded_at"] <= view["known_at"]
        and row["valid_from"] <= view["valid_at"]
        and (view["closed"] or still_open or unlearned)
        and row["expires_at"] > view["expired_by"]
        and (mask is None or (row["namespace"] < len(mask) and mask[row["namespace"]] == 1))
        and allowed
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(rows, st.booleans()), max_size=8),
    clocks,
    st.none() | st.lists(st.integers(0, 1), min_size=1, max_size=3).map(bytes),
    st.booleans(),
)
def test_every_reading_of_a_table_agrees_with_the_rules_of_admission(
    stored: list[tuple[dict[str, Any], bool]],
    view: dict[str, Any],
    mask: bytes | None,
    by_set: bool,
) -> None:
    table, allowed = FactTable(), IdSet(len(stored))
    for fact, (row, chosen) in enumerate(stored):
        put(table, fact, **row)
        if chosen:
            allowed.add(fact)
    restricted = scope(**view)
    if mask is not None:
        restricted.restrict_namespaces(mask)
    if by_set:
        restricted.restrict_facts(allowed)
    expected = [
        fact
        for fact, (row, chosen) in enumerate(stored)
        if expected_admission(row, view, mask, chosen or not by_set)
    ]
    assert table.admitted(restricted, list(range(len(stored)))) == expected
    assert table.count(restricted) == len(expected)
    assert table.page(restricted, -1, EVERY_FACT) == expected
    newest = sorted(expected, key=lambda fact: (-stored[fact][0]["recorded_at"], -fact))
    assert ids_of(table.newest(restricted, -9, 9, EVERY_FACT)) == newest


def ids_of(ranked: Ranked) -> list[int]:
    return [fact for fact, _ in ranked.items()]


def test_a_page_goes_on_after_an_id() -> None:
    table = facts(range(0, 20, 2))
    assert table.page(ALL, -1, 3) == [0, 2, 4]
    assert table.page(ALL, 4, 3) == [6, 8, 10]
    assert table.page(ALL, 5, 1) == [6]
    assert table.page(ALL, 18, 3) == []
    assert table.page(ALL, 10**9, 3) == []
    assert table.page(ALL, -1, 0) == []


def test_newest_is_half_open_and_breaks_ties_by_the_higher_id() -> None:
    table = FactTable()
    for fact, recorded_at in enumerate([10, 30, 20, 20, 40, 10]):
        put(table, fact, recorded_at=recorded_at)
    assert ids_of(table.newest(ALL, 10, 40, EVERY_FACT)) == [1, 3, 2, 5, 0]
    assert ids_of(table.newest(ALL, 11, 41, 2)) == [4, 1]
    assert ids_of(table.newest(ALL, 20, 20, 9)) == []
    assert ids_of(table.newest(ALL, 30, 10, 9)) == []
    assert ids_of(table.newest(ALL, 10, 40, 0)) == []


def test_put_again_changes_columns_in_place() -> None:
    table = FactTable()
    put(table, 4, entity=7, recorded_at=1, size=12)
    put(table, 4, entity=8, recorded_at=1, valid_to=3, closed_at=3, size=12)
    assert table.row(4) == [1, 0, 3, 3, OPEN, 0, 8, 12, 1]
    assert (table.entity(4), table.recorded(4), table.stored()) == (8, 1, 1)
    assert ids_of(table.newest(scope(closed=True, valid_at=9), 0, 9, 9)) == [4]


def test_removed_facts_are_gone_and_their_ids_may_return() -> None:
    table = facts(range(4))
    put(table, 1, forgotten=True)
    assert table.forgotten() == 1
    table.remove([1, 3, 99])
    assert [table.has(fact) for fact in range(5)] == [True, False, True, False, False]
    assert (table.ids(), table.stored(), table.forgotten(), len(table)) == ([0, 2], 2, 0, 4)
    assert table.admitted(ALL, [0, 1, 2, 3]) == [0, 2]
    put(table, 3, recorded_at=-5)
    assert table.ids() == [3, 0, 2]


@pytest.mark.parametrize("read", [FactTable.row, FactTable.entity, FactTable.recorded])
def test_columns_of_an_id_beyond_the_table_are_refused(
    read: Callable[[FactTable, int], object],
) -> None:
    with pytest.raises(IndexError):
        read(facts([0]), 1000)


def test_ranked_merges_by_score_then_id() -> None:
    first, second = Ranked.of([5, 1, 9], [3.0, 2.0, 1.0]), Ranked.of([4, 2], [2.0, 2.0])
    assert first.merge(second, 9).items() == [(5, 3.0), (1, 2.0), (2, 2.0), (4, 2.0), (9, 1.0)]
    assert first.merge(second, 2).items() == [(5, 3.0), (1, 2.0)]
    assert first.merge(second, 0).items() == []
    assert len(Ranked().merge(Ranked(), 3)) == 0


def test_ranked_needs_one_score_an_id() -> None:
    with pytest.raises(ValueError, match="one score"):
        Ranked.of([1, 2], [0.5])


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.sampled_from([0.5, 1.0, 2.0])), max_size=300),
    st.integers(0, 90),
)
def test_merging_keeps_the_best(pairs: list[tuple[int, float]], limit: int) -> None:
    ids, scores = [fact for fact, _ in pairs], [score for _, score in pairs]
    best = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]
    assert Ranked.of(ids, scores).merge(Ranked(), limit).items() == best


# -- IdSet


def id_set(ids: Iterable[int], size: int) -> IdSet:
    made = IdSet(size)
    for fact in ids:
        made.add(fact)
    return made


members = st.sets(st.integers(0, 129), max_size=20)


@given(members, members)
def test_set_operations_are_those_of_sets(first: set[int], second: set[int]) -> None:
    for operation, expected in [
        (IdSet.intersect, first & second),
        (IdSet.subtract, first - second),
    ]:
        changed = id_set(first, 130)
        operation(changed, id_set(second, 130))
        assert changed.ids() == sorted(expected)
        assert changed.count() == len(expected)


@given(st.integers(0, 130), st.data())
def test_a_complement_holds_the_other_ids_below_the_size(size: int, data: st.DataObject) -> None:
    inside = data.draw(st.sets(st.integers(0, size - 1))) if size else set()
    changed = id_set(inside, size)
    changed.complement()
    assert changed.ids() == sorted(set(range(size)) - inside)
    assert not changed.has(size)
    changed.complement()
    assert changed.ids() == sorted(inside)


def test_sets_of_different_sizes_combine() -> None:
    large = id_set([5, 500], 1000)
    large.intersect(id_set([5], 6))
    assert large.ids() == [5]
    tiny = id_set([1, 5], 6)
    tiny.subtract(id_set([5, 700], 1000))
    assert tiny.ids() == [1]


def test_an_id_beyond_the_size_is_not_in_the_set() -> None:
    empty = IdSet(0)
    empty.add(5)
    assert (empty.ids(), empty.has(5), empty.has(NO_ID)) == ([], False, False)


def test_a_set_is_made_from_a_mask() -> None:
    mask = np.zeros(200, dtype=bool)
    mask[[0, 63, 64, 199]] = True
    assert IdSet.from_mask(mask).ids() == [0, 63, 64, 199]
    assert IdSet.from_mask(np.zeros(0, dtype=bool)).count() == 0


def test_a_scope_keeps_the_set_it_was_given_alive() -> None:
    table = facts(range(3))
    view = scope()
    view.restrict_facts(id_set([2], 3))
    assert table.admitted(view, [0, 1, 2]) == [2]
