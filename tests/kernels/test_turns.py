"""Turns of sessions against plain lists."""

from hypothesis import given
from hypothesis import strategies as st

from plugmem_core.kernels import Turns

from .tables import ALL, facts, put


def test_turns_stand_in_the_order_they_were_told() -> None:
    turns = Turns()
    for fact, session in ((0, 0), (1, 1), (2, 0), (3, 0)):
        turns.put(fact, session, None)
    assert (turns.backwards(0), turns.backwards(1), turns.backwards(7)) == ([3, 2, 0], [1], [])
    assert turns.beside([2], facts(range(4)), ALL) == [0, 3]
    assert turns.beside([1], facts(range(4)), ALL) == []


def test_a_new_version_of_a_turn_stands_behind_it() -> None:
    turns = Turns()
    for fact in range(3):
        turns.put(fact, 0, None)
    turns.put(3, 0, 1)
    assert turns.backwards(0) == [2, 3, 1, 0]
    turns.put(4, 0, None)
    assert turns.backwards(0) == [4, 2, 3, 1, 0]


def test_a_version_that_moved_to_another_session_stands_at_the_end_of_that() -> None:
    turns = Turns()
    for fact, session in ((0, 0), (1, 0), (2, 1)):
        turns.put(fact, session, None)
    turns.put(3, 1, 0)
    assert (turns.backwards(0), turns.backwards(1)) == ([1, 0], [3, 2])


def test_turns_that_are_not_admitted_are_passed_over() -> None:
    turns = Turns()
    table = facts(range(4))
    for fact in range(4):
        turns.put(fact, 0, None)
    put(table, 1, forgotten=True)
    assert turns.beside([0], table, ALL) == [2]
    assert turns.beside([2], table, ALL) == [0, 3]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 2), st.none() | st.integers(0, 9)),
            st.sets(st.integers(0, 9), max_size=4),
        ),
        max_size=12,
    )
)
def test_random_histories_are_those_of_plain_lists(
    steps: list[tuple[int, int | None] | set[int]],
) -> None:
    turns = Turns()
    sessions: list[list[int]] = [[], [], []]
    for fact, step in enumerate(steps):
        if isinstance(step, tuple):
            session, revised = step
            turns.put(fact, session, revised)
            told = sessions[session]
            told.insert(told.index(revised) + 1 if revised in told else len(told), fact)
        else:
            turns.remove(sorted(step))
            sessions = [[one for one in told if one not in step] for told in sessions]
        copy = Turns()
        copy.load(turns.save())
        for one in (turns, copy):
            assert [one.backwards(session)[::-1] for session in range(3)] == sessions
