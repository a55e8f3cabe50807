"""`end`: a fact stops being true and nothing takes its place."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, SECOND, START, Clock
from conftest import OpenMemory
from looking import stored

from plugmem_core import ClosedFactError, InvalidInputError, Memory, NotFoundError, ReadOnlyError


def ids(memory: Memory, **options: Any) -> list[int]:
    return [fact.id for fact in memory.list_facts(**options)]


@pytest.fixture
def job(memory: Memory, clock: Clock) -> Memory:
    """Fact 0 is true for ten days, recorded when it began."""
    memory.remember("Ivo works here", entity="Ivo", tags=["job"], metadata={"n": 1}, key="job")
    clock.tick(10 * DAY)
    return memory


def test_a_fact_ends_now_by_default_and_is_returned(job: Memory, clock: Clock) -> None:
    before = stored(job, 0)
    ended = job.end(0)
    assert ended == before._replace(valid_to=clock.now)
    assert not ended.is_current
    assert stored(job, 0) == ended


def test_an_ended_fact_is_found_at_the_instants_it_was_true(job: Memory, clock: Clock) -> None:
    end = START + 4 * DAY
    job.end(0, end)
    recorded = clock.now
    clock.tick(DAY)
    for found in (ids, recalled):
        assert found(job) == []
        assert found(job, closed=True) == [0]
        assert found(job, valid_at=end - 1) == [0]
        assert found(job, valid_at=end) == []
        assert found(job, as_of=end - 1) == [0]
        assert found(job, as_of=end) == []
        assert found(job, as_of=START - 1) == []
        # Before the end was recorded, the fact was believed to hold on.
        assert found(job, known_at=recorded - 1) == [0]
        assert found(job, known_at=recorded - 1, valid_at=end) == [0]
        assert found(job, known_at=recorded) == []
        assert found(job, known_at=recorded, valid_at=end - 1) == [0]
    assert job.explain_absent(0, "Ivo").reason == "no longer valid"


def recalled(memory: Memory, **options: Any) -> list[int]:
    return [fact.id for fact in memory.recall("Ivo works", **options).facts]


def test_what_counts_current_facts_counts_it_no_more(job: Memory) -> None:
    job.end(0)
    assert list(job.tags()) == []
    assert [entity.facts for entity in job.entities()] == [0]
    assert list(job.namespaces()) == []
    assert job.get_by_keys(["job"]) == []
    assert (job.stats().facts, job.stats().current) == (1, 0)


@pytest.mark.parametrize("at", [START, START + 1, START + 10 * DAY - 1, START + 10 * DAY])
def test_an_end_lies_between_the_beginning_and_now(job: Memory, at: int) -> None:
    assert job.end(0, at).valid_to == at
    assert job.verify().ok


@pytest.mark.parametrize("at", [0, START - 1, START + 10 * DAY + 1, START + 99 * DAY])
def test_an_end_outside_these_bounds_is_refused(job: Memory, at: int) -> None:
    with pytest.raises(InvalidInputError, match=r"valid_to is .*2024-05-01.*2024-05-11"):
        job.end(0, at)
    assert stored(job, 0).is_current
    assert job.end(0).valid_to == START + 10 * DAY


@pytest.mark.parametrize("at", ["soon", True, [], float("nan"), 1 << 70])
def test_an_end_that_is_no_instant_is_refused(job: Memory, at: Any) -> None:
    with pytest.raises(InvalidInputError, match="valid_to"):
        job.end(0, at)
    assert stored(job, 0).is_current


@pytest.mark.parametrize("fact_id", ["0", True, -1, None, 1.0])
def test_an_id_that_is_none_is_refused(job: Memory, fact_id: Any) -> None:
    with pytest.raises(InvalidInputError, match="id"):
        job.end(fact_id)


def test_a_fact_that_began_earlier_than_it_was_recorded_can_end_before_it_was(
    memory: Memory,
) -> None:
    memory.remember("long ago", valid_from="2020-01-01")
    assert memory.end(0, "2021-01-01T00:00:00Z").valid_to == 1_609_459_200_000
    assert ids(memory, valid_at="2020-06-01") == [0]
    assert ids(memory, as_of="2020-06-01") == []  # nobody knew then
    assert memory.verify().ok


def test_a_planned_fact_that_ends_never_becomes_true(memory: Memory, clock: Clock) -> None:
    later = clock.now + DAY
    memory.remember("a plan", valid_from=later, key="plan")
    ended = memory.end(0)
    assert (ended.valid_from, ended.valid_to) == (later, later)
    clock.tick(2 * DAY)
    assert ids(memory) == []
    assert ids(memory, valid_at=later) == []
    assert memory.remember("a plan", key="plan").outcome == "created"
    assert memory.verify().ok


# -- what cannot end


def test_an_unknown_fact_cannot_end(job: Memory) -> None:
    with pytest.raises(NotFoundError, match="fact 7 does not exist"):
        job.end(7)


def test_a_forgotten_fact_cannot_end(job: Memory) -> None:
    job.forget(0)
    with pytest.raises(NotFoundError):
        job.end(0)
    job.maintain()
    with pytest.raises(NotFoundError):
        job.end(0)


def test_an_expired_fact_cannot_end(memory: Memory, clock: Clock) -> None:
    memory.remember("brief", ttl=1)
    clock.tick(SECOND)
    with pytest.raises(NotFoundError):
        memory.end(0)


@pytest.mark.parametrize("scope", [("b",), ("a", "b"), ("A",), ("a ",), ("aa",)])
def test_a_fact_of_another_namespace_cannot_end(memory: Memory, scope: tuple[str, ...]) -> None:
    memory.remember("mine", namespace=("a",))
    with pytest.raises(NotFoundError):
        memory.end(0, namespace=scope)
    assert memory.end(0, namespace=("a",)).namespace == ("a",)


def test_a_revised_fact_names_its_successor(job: Memory) -> None:
    job.revise(0, "Ivo works there")
    with pytest.raises(ClosedFactError, match=r"revised already.* 1 "):
        job.end(0)
    assert job.end(1).id == 1


def test_a_fact_ends_once(job: Memory, clock: Clock) -> None:
    ended = job.end(0)
    clock.tick(DAY)
    for verb in (
        lambda: job.end(0),
        lambda: job.end(0, START),
        lambda: job.revise(0, "Ivo works there"),
        lambda: job.revise(0, tags=["more"]),
    ):
        with pytest.raises(ClosedFactError, match="fact 0 has ended; remember it as a new fact"):
            verb()
    assert stored(job, 0) == ended


def test_when_the_successor_has_ended_the_advice_is_a_new_fact(job: Memory) -> None:
    job.revise(0, "Ivo works there")
    job.end(1)
    with pytest.raises(ClosedFactError, match="new fact"):
        job.revise(0, "Ivo works elsewhere")
    with pytest.raises(ClosedFactError, match="new fact"):
        job.end(0)


def test_a_reader_cannot_end(open_memory: OpenMemory, tmp_path: Path) -> None:
    with open_memory(tmp_path / "m") as memory:
        memory.remember("one", key="k")
    reader = open_memory(tmp_path / "m", read_only=True)
    with pytest.raises(ReadOnlyError):
        reader.end(0)
    with pytest.raises(ReadOnlyError):
        reader.set_ttl([0], 5)
    with pytest.raises(ReadOnlyError):
        reader.write(end=[((), "k")])


# -- what comes after


def test_the_key_and_the_text_are_free_again(job: Memory, clock: Clock) -> None:
    job.end(0)
    again = job.remember("Ivo works here", entity="Ivo", key="job")
    assert (again.id, again.outcome) == (1, "created")
    assert stored(job, 1).revises is None
    assert [fact.id for fact in job.history(1)] == [1]
    assert [fact.id for fact in job.history(0)] == [0]
    job.remember("no key")
    job.end(2)
    assert job.remember("no key").outcome == "created"
    assert job.verify().ok


def test_an_ended_fact_is_the_last_of_its_history(job: Memory, clock: Clock) -> None:
    job.revise(0, "Ivo works there")
    clock.tick(DAY)
    job.end(1)
    assert [fact.valid_to for fact in job.history(0)] == [START + 10 * DAY, START + 11 * DAY]
    assert job.history(1) == job.history(0)


def test_an_ended_fact_can_be_forgotten(job: Memory) -> None:
    job.end(0)
    assert job.forget(0)
    assert ids(job, closed=True) == []
    assert job.maintain().purged == 1
    assert job.verify().ok


def test_an_end_survives_and_reaches_other_handles(
    open_memory: OpenMemory, tmp_path: Path, clock: Clock
) -> None:
    one, other = open_memory(tmp_path / "m"), open_memory(tmp_path / "m")
    one.remember("one", key="k", vector=[1.0, 0.0])
    assert ids(other) == [0]
    clock.tick(DAY)
    ended = one.end(0)
    assert ids(other) == []
    assert stored(other, 0) == ended
    assert other.verify().ok
    one.close()
    other.close()
    again = open_memory(tmp_path / "m")
    assert stored(again, 0) == ended
    assert ids(again) == []
    assert ids(again, as_of=START) == [0]
    assert again.verify().ok
    again.rebuild()
    assert ids(again, as_of=START) == [0]
    assert again.remember("one", key="k").id == 1


def test_edges_that_follow_from_it_stay(memory: Memory) -> None:
    memory.remember("Ivo works at Acme", entity="Ivo", links=[("works at", "Acme")])
    memory.end(0)
    [edge] = memory.edges("Ivo")
    assert (edge.dst, edge.provenance, edge.valid_to) == ("Acme", 0, None)


def test_the_async_twin_ends_too(job: Memory, clock: Clock) -> None:
    assert asyncio.run(job.aend(0, START + DAY)).valid_to == START + DAY
    assert asyncio.run(job.aset_ttl([0], 5)) == 1
    assert stored(job, 0).expires_at == clock.now + 5 * SECOND
