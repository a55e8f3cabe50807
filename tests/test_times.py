"""The two clocks: when a fact was true, and when the memory knew of it."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory
from hypothesis import given
from hypothesis import strategies as st
from looking import stored

from plugmem_core import InvalidInputError, Memory
from plugmem_core.clock import MAX_MS, MIN_MS


def day(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000


def seen(memory: Memory, **times: Any) -> list[int]:
    """The facts seen from somewhere; recall and list_facts must agree on them."""
    listed = [fact.id for fact in memory.list_facts(**times)]
    recalled = memory.recall("desk", token_budget=None, k=1_000, **times).facts
    assert sorted(fact.id for fact in recalled) == listed
    return listed


@pytest.fixture
def ivo(memory: Memory, clock: Clock) -> Memory:
    """The desk moved from floor two (fact 0) to five (fact 1) on March 1; we heard on the 10th."""
    clock.set(day("2025-01-05"))
    memory.remember("the desk is on floor two", entity="Ivo", tags=["desk"], metadata={"floor": 2})
    clock.set(day("2025-03-10"))
    memory.revise(0, "the desk is on floor five", valid_from=day("2025-03-01"))
    clock.set(day("2025-06-01"))
    return memory


# --- as_of, valid_at, known_at ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "as_of", "valid_at", "known_at"),
    [
        # Nothing was recorded yet, and nothing known to hold; now we know nothing held then.
        ("2025-01-04", [], [], []),
        ("2025-01-05", [0], [0], [0]),
        ("2025-02-15", [0], [0], [0]),
        # The move has happened and is not known: as_of hides the old desk, whose end we know
        # today; valid_at tells the truth as known today; known_at what was believed then.
        ("2025-03-01", [], [1], [0]),
        ("2025-03-05", [], [1], [0]),
        ("2025-03-10", [1], [1], [1]),
        ("2025-05-01", [1], [1], [1]),
    ],
)
def test_three_ways_to_look_back(
    ivo: Memory, at: str, as_of: list[int], valid_at: list[int], known_at: list[int]
) -> None:
    assert seen(ivo, as_of=day(at)) == as_of
    assert seen(ivo, valid_at=day(at)) == valid_at
    assert seen(ivo, known_at=day(at)) == known_at


@pytest.mark.parametrize(
    ("valid_at", "known_at", "expected"),
    [
        ("2025-02-15", "2025-01-04", []),
        ("2025-02-15", "2025-02-15", [0]),
        ("2025-02-15", "2025-06-01", [0]),
        ("2025-03-05", "2025-03-05", [0]),
        ("2025-03-05", "2025-03-09", [0]),
        ("2025-03-05", "2025-03-10", [1]),
        ("2025-05-01", "2025-03-09", [0]),
        ("2025-01-04", "2025-06-01", []),
    ],
)
def test_what_we_believed_at_one_time_about_another(
    ivo: Memory, valid_at: str, known_at: str, expected: list[int]
) -> None:
    assert seen(ivo, valid_at=day(valid_at), known_at=day(known_at)) == expected


def test_closed_facts_are_shown_on_top_but_not_unknown_ones(ivo: Memory) -> None:
    assert seen(ivo, closed=True) == [0, 1]
    assert seen(ivo, closed=True, as_of=day("2025-03-05")) == [0]
    assert seen(ivo, closed=True, as_of=day("2025-01-04")) == []
    assert seen(ivo, closed=True, valid_at=day("2025-02-15")) == [0]
    assert seen(ivo, closed=True, known_at=day("2025-03-09")) == [0]


@pytest.mark.parametrize("source", ["text", "entities", "tags", "where", "vector", "range"])
def test_every_source_looks_from_the_same_instant(
    memory: Memory, clock: Clock, source: str
) -> None:
    memory.remember("desk two", entity="Ivo", tags=["t"], metadata={"a": 1}, vector=[1, 0])
    clock.tick(10 * DAY)
    memory.revise(0, "desk five", valid_from=START + 5 * DAY)
    questions: dict[str, dict[str, Any]] = {
        "text": {"text": "desk"}, "entities": {"entities": ["ivo"]}, "tags": {"tags": ["t"]},
        "where": {"where": {"a": 1}}, "vector": {"vector": [1, 0]}, "range": {"range": (0, MAX_MS)},
    }  # fmt: skip
    question = questions[source]

    def found(**times: Any) -> list[int]:
        return [fact.id for fact in memory.recall(**question, **times).facts]

    assert found() == [1]
    assert found(as_of=START) == [0]
    assert found(as_of=START + 5 * DAY) == []
    assert found(valid_at=START + 5 * DAY) == [1]
    assert found(known_at=START + 9 * DAY) == [0]
    assert found(as_of=START - 1) == []


def test_known_at_shows_the_version_of_a_chain_believed_then(memory: Memory, clock: Clock) -> None:
    memory.remember("desk 0")
    for i in range(5):
        clock.tick(DAY)
        memory.revise(i, f"desk {i + 1}")
    for i in range(6):
        assert seen(memory, known_at=START + i * DAY) == [i]
        assert seen(memory, known_at=START + (i + 1) * DAY - 1) == [i]


def test_a_fact_recorded_later_about_the_past(memory: Memory, clock: Clock) -> None:
    memory.remember("the desk was bought", valid_from=START - 100 * DAY)
    assert seen(memory) == [0]
    assert seen(memory, valid_at=START - 100 * DAY) == [0]
    assert seen(memory, valid_at=START - 100 * DAY - 1) == []
    assert seen(memory, as_of=START - 1) == []
    assert seen(memory, known_at=START - 1) == []
    assert seen(memory, as_of=START) == [0]


def test_a_fact_about_the_future(memory: Memory, clock: Clock) -> None:
    memory.remember("the desk arrives", valid_from=START + DAY)
    assert seen(memory) == []
    assert seen(memory, as_of=START + DAY) == seen(memory, valid_at=START + DAY) == [0]
    assert seen(memory, known_at=START) == []
    clock.set(START + DAY - 1)
    assert seen(memory) == []
    clock.set(START + DAY)
    assert seen(memory) == [0]


def test_known_at_in_the_future_knows_what_is_known(ivo: Memory) -> None:
    assert seen(ivo, known_at=day("2030-01-01")) == [1]


def test_two_backdated_revisions_tile_the_past(memory: Memory, clock: Clock) -> None:
    memory.remember("desk 0", valid_from=START)
    clock.set(START + 100 * DAY)
    memory.revise(0, "desk 1", valid_from=START + 10 * DAY)
    memory.revise(1, "desk 2", valid_from=START + 20 * DAY)
    expected = {0: 0, 9: 0, 10: 1, 19: 1, 20: 2, 100: 2}
    for days, fact in expected.items():
        assert seen(memory, valid_at=START + days * DAY) == [fact]


# --- edges of intervals -----------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_fact_is_known_and_true_from_its_instant_on(memory: Memory, offset: int) -> None:
    memory.remember("desk")
    expected = [0] if offset >= 0 else []
    for name in ("as_of", "valid_at", "known_at"):
        assert seen(memory, **{name: START + offset}) == expected


@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_version_ends_just_before_its_successor_begins(
    memory: Memory, clock: Clock, offset: int
) -> None:
    memory.remember("desk two")
    clock.tick(DAY)
    memory.revise(0, "desk five")
    expected = [1] if offset >= 0 else [0]
    for name in ("as_of", "valid_at", "known_at"):
        assert seen(memory, **{name: START + DAY + offset}) == expected


def test_a_version_superseded_at_its_own_instant_was_never_true(memory: Memory) -> None:
    memory.remember("desk two")
    memory.revise(0, "desk five")
    assert seen(memory) == seen(memory, as_of=START) == [1]
    assert seen(memory, closed=True) == [0, 1]


def test_a_range_includes_its_start_and_excludes_its_end(memory: Memory, clock: Clock) -> None:
    for i in range(4):
        memory.remember(f"desk {i}")
        clock.tick()

    def recorded_within(start: int, end: int) -> list[int]:
        window = (START + start, START + end)
        found = [fact.id for fact in memory.recall(range=window).facts]
        assert sorted(found) == [fact.id for fact in memory.list_facts(range=window)]
        return found

    assert recorded_within(0, 3 * SECOND) == [2, 1, 0]
    assert recorded_within(SECOND, 3 * SECOND + 1) == [3, 2, 1]
    assert recorded_within(1, SECOND) == []
    assert recorded_within(SECOND, SECOND) == []


def test_a_range_is_about_record_time_not_validity(memory: Memory) -> None:
    memory.remember("desk", valid_from=START - 100 * DAY)
    assert memory.recall(range=(START - 101 * DAY, START - 99 * DAY)).facts == ()
    assert len(memory.recall(range=(START, START + 1)).facts) == 1


@pytest.mark.parametrize("ttl", [60, 60.0, timedelta(minutes=1)])
def test_a_fact_expires_at_the_end_of_its_time_to_live(
    memory: Memory, clock: Clock, ttl: Any
) -> None:
    memory.remember("desk", ttl=ttl)
    assert stored(memory, 0).expires_at == START + 60 * SECOND
    clock.tick(60 * SECOND - 1)
    assert seen(memory) == [0]
    clock.tick(1)
    assert seen(memory) == []


def test_an_expired_fact_is_gone_from_the_past_too(memory: Memory, clock: Clock) -> None:
    memory.remember("desk", ttl=60)
    clock.tick(60 * SECOND)
    for times in ({"as_of": START}, {"valid_at": START}, {"known_at": START}, {"closed": True}):
        assert seen(memory, **times) == []


def test_looking_ahead_sees_what_will_have_expired_as_gone(memory: Memory) -> None:
    memory.remember("desk", ttl=60)
    assert seen(memory, as_of=START + 59 * SECOND) == [0]
    assert seen(memory, as_of=START + 60 * SECOND) == []


def test_a_clock_set_back_breaks_nothing(memory: Memory, clock: Clock) -> None:
    memory.remember("desk 0")
    clock.set(START - 10 * DAY)
    memory.remember("desk 1")
    memory.revise(0, "desk 2")
    clock.set(START - 20 * DAY)
    memory.remember("desk 3")
    clock.set(START + DAY)
    assert [fact.id for fact in memory.recall(range=(0, MAX_MS)).facts] == [2, 1, 3]
    old, new = stored(memory, 0), stored(memory, 2)
    assert old.valid_to is not None
    assert old.valid_to == old.valid_from
    assert new.valid_to is None
    assert memory.verify().ok
    before = memory.recall("desk", range=(0, MAX_MS))
    memory.rebuild()
    assert memory.recall("desk", range=(0, MAX_MS)) == before


# --- what is accepted -------------------------------------------------------------------------

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "same",
    [
        START,
        NOON,
        NOON.astimezone(timezone(timedelta(hours=5, minutes=30))),
        NOON.astimezone(timezone(-timedelta(hours=11))),
        "2024-05-01T12:00:00Z",
        "2024-05-01T12:00:00+00:00",
        "2024-05-01T14:00:00+02:00",
        "2024-05-01T02:15:00-09:45",
        "2024-05-01 12:00Z",
        "20240501T120000Z",
        "2024-05-01T12:00:00.000999Z",  # below a millisecond is cut off
    ],
    ids=str,
)
def test_spellings_of_one_instant(memory: Memory, same: Any) -> None:
    memory.remember("desk", valid_from=same)
    fact = stored(memory, 0)
    assert fact.valid_from == START
    assert fact.valid_from_time == NOON
    assert seen(memory, as_of=same) == [0]
    memory.revise(0, "desk moved", valid_from=same)
    assert seen(memory, valid_at=same) == [1]


def test_a_date_alone_is_its_midnight_utc(memory: Memory) -> None:
    memory.remember("desk", valid_from="2024-05-01")
    assert stored(memory, 0).valid_from == START - 12 * 3_600 * SECOND


def test_the_two_half_past_twos_of_a_night_in_october(memory: Memory) -> None:
    try:
        berlin = ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        pytest.skip("this system has no time zone database")
    summer = datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=0)
    winter = summer.replace(fold=1)
    memory.remember("desk in summer time", valid_from=summer)
    memory.remember("desk in winter time", valid_from=winter)
    first, second = (stored(memory, i).valid_from for i in (0, 1))
    assert first == day("2024-10-27") + 1_800 * SECOND
    assert second - first == 3_600 * SECOND
    assert seen(memory, valid_at=summer) == [0]
    assert seen(memory, valid_at=winter) == [0, 1]
    assert seen(memory, valid_at="2024-10-27T02:30:00+02:00") == [0]


NAIVE = datetime(2024, 5, 1)  # noqa: DTZ001 - what is tested


@pytest.mark.parametrize("naive", [NAIVE, "2024-05-01T12:00:00", "2024-05-01 12:00"], ids=str)
@pytest.mark.parametrize("name", ["as_of", "valid_at", "known_at"])
def test_naive_times_are_refused(memory: Memory, naive: Any, name: str) -> None:
    memory.remember("desk")
    for verb in (memory.list_facts, lambda **times: memory.recall("desk", **times)):
        with pytest.raises(InvalidInputError, match=rf"{name} .*naive.*zone"):
            verb(**{name: naive})


@pytest.mark.parametrize("at", [MIN_MS, -1, 0, MAX_MS])
def test_all_of_the_calendar_is_accepted(open_memory: OpenMemory, tmp_path: Path, at: int) -> None:
    with open_memory(tmp_path / "m.db") as memory:
        memory.remember("desk", valid_from=at)
    memory = open_memory(tmp_path / "m.db")
    assert stored(memory, 0).valid_from == at
    assert stored(memory, 0).valid_from_time - NOON == timedelta(milliseconds=at - START)
    assert seen(memory, valid_at=at) == [0]
    assert memory.recall("desk", valid_at=at).rendered != ""
    assert memory.verify().ok


@pytest.mark.parametrize("at", [MIN_MS - 1, MAX_MS + 1])
def test_nothing_outside_the_calendar_is(memory: Memory, at: int) -> None:
    with pytest.raises(InvalidInputError, match="years 1 to 9999"):
        memory.remember("desk", valid_from=at)


def test_times_come_back_as_integers_with_datetimes_beside_them(ivo: Memory) -> None:
    old = stored(ivo, 0)
    assert (type(old.recorded_at), type(old.valid_from), type(old.valid_to)) == (int, int, int)
    assert old.recorded_time == datetime(2025, 1, 5, tzinfo=UTC)
    assert old.valid_to_time == datetime(2025, 3, 1, tzinfo=UTC)
    assert (old.is_current, stored(ivo, 1).is_current) == (False, True)
    assert stored(ivo, 1).valid_to_time is None


# --- any history ------------------------------------------------------------------------------

steps = st.integers(0, 6)


@given(
    writes=st.lists(st.tuples(steps, st.none() | steps), min_size=1, max_size=6),
    valid_at=steps,
    known_at=steps,
)
def test_belief_is_replayed_exactly(
    writes: list[tuple[int, int | None]], valid_at: int, known_at: int
) -> None:
    """Looking with known_at equals stopping the writes at that instant and looking then."""
    clock = Clock()
    with (
        Memory.open(":memory:", clock=clock) as whole,
        Memory.open(":memory:", clock=clock) as part,
    ):
        for number, (tick, valid_from) in enumerate(writes):
            clock.tick(tick * SECOND)
            since = None if valid_from is None else START + valid_from * SECOND
            believed = clock.now <= START + known_at * SECOND
            for memory in (whole, part) if believed else (whole,):
                _write(memory, number, clock.now if since is None else since)
        clock.set(START + 100 * SECOND)
        times = {"valid_at": START + valid_at * SECOND}
        then = seen(part, **times)
        assert seen(whole, **times, known_at=START + known_at * SECOND) == then


def _write(memory: Memory, number: int, since: int) -> None:
    """Say something new about the desk, from an instant on that the last version allows."""
    if number == 0:
        memory.remember("desk 0", valid_from=since)
    else:
        last = stored(memory, number - 1)
        memory.revise(last.id, f"desk {number}", valid_from=max(since, last.valid_from))


def test_an_end_learned_after_known_at_is_not_shown_either(memory: Memory, clock: Clock) -> None:
    old = memory.remember("the desk is on floor two")
    memory.link("Ivo", "sits on", "floor two")
    then = clock.now
    clock.now += DAY
    memory.revise(old.id, "the desk is on floor five")
    memory.unlink("Ivo", "sits on", "floor two")
    clock.now += DAY
    [fact] = memory.recall("desk", known_at=then, valid_at=then).facts
    assert (fact.id, fact.valid_to, fact.is_current) == (old.id, None, True)
    [edge] = memory.recall(entities=["Ivo"], known_at=then, valid_at=then).edges
    assert edge.valid_to is None
    [fact] = memory.recall("desk", as_of=then).facts
    assert fact.valid_to == then + DAY  # the reference shows the end as it stands today
