"""Working contexts: one a session, whatever its name."""

import hashlib
from typing import Any

import pytest
from clocks import Clock

from context.asking import DictStore
from context.conftest import OpenDesk
from plugmem_core import InvalidInputError, ServiceError, TooLargeError, WrongTypeError
from plugmem_core.context import (
    ContextCompiler,
    ContextDesk,
    ContextLimits,
    ValueStore,
    WorkingContext,
    WorkingSession,
)
from plugmem_core.context.working import COLLECTIONS

FULL = {
    "goal": "Repair the pump",
    "active_constraints": ["never open the valve"],
    "verified_facts": ["it runs at 4 bar"],
    "open_hypotheses": [{"text": "the seal leaks"}, {"text": "noise", "source": "log"}],
    "decisions": [{"fragment_id": 2**64 - 1, "rule_id": "preserve.url"}],
    "exact_evidence": [{"fragment_id": "7", "handle": "ctx://source/7", "memory_id": "8"}],
    "pending_actions": ["order a seal"],
}


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def sessions(desk: ContextDesk, project: str = "farm") -> list[str | None]:
    return [one.session for one in desk.list_working_contexts(project)]


def test_a_working_context_is_loaded_as_it_was_saved(desk: ContextDesk) -> None:
    desk.save_working_context("farm", "monday", FULL)
    loaded = desk.load_working_context("farm", "monday")
    assert loaded.found
    assert loaded.working == WorkingContext(**FULL)
    assert loaded.working.exact_evidence[0].memory_id == 8
    assert loaded.other_sessions == ()


def test_saving_again_replaces(desk: ContextDesk, clock: Clock) -> None:
    desk.save_working_context("farm", "monday", FULL)
    now = clock.tick()
    saved = desk.save_working_context("farm", "monday", {"goal": "Rest"})
    assert (saved.session, saved.saved_at) == ("monday", now)
    assert desk.load_working_context("farm", "monday").working == WorkingContext(goal="Rest")
    assert desk.list_working_contexts("farm") == (saved,)


def test_sessions_are_listed_newest_first_then_by_name(desk: ContextDesk, clock: Clock) -> None:
    for session in ("b", "a"):
        desk.save_working_context("farm", session, FULL)
    clock.tick()
    desk.save_working_context("farm", "z", FULL)
    desk.save_working_context("home", "c", FULL)
    assert sessions(desk) == ["z", "a", "b"]
    assert sessions(desk, "nowhere") == []


def test_loading_tells_the_other_sessions_found_or_not(desk: ContextDesk) -> None:
    for session in ("a", "b"):
        desk.save_working_context("farm", session, FULL)
    found, missed = (desk.load_working_context("farm", session) for session in ("a", "A"))
    assert (found.found, [one.session for one in found.other_sessions]) == (True, ["b"])
    assert (missed.found, missed.working) == (False, None)
    assert [one.session for one in missed.other_sessions] == ["a", "b"]


@pytest.mark.parametrize("empty", [{}, {"goal": " \n"}, {"verified_facts": []}])
def test_an_empty_one_is_refused_and_what_was_saved_stays(
    desk: ContextDesk, empty: dict[str, Any]
) -> None:
    desk.save_working_context("farm", "monday", FULL)
    with pytest.raises(InvalidInputError, match="says nothing"):
        desk.save_working_context("farm", "monday", empty)
    assert desk.load_working_context("farm", "monday").working == WorkingContext(**FULL)


@pytest.mark.parametrize("name", [name for name in FULL if name != "goal"])
def test_one_entry_is_enough(desk: ContextDesk, name: str) -> None:
    desk.save_working_context("farm", "monday", {name: FULL[name]})
    assert desk.load_working_context("farm", "monday").found


def test_a_long_one_is_refused() -> None:
    store = DictStore()
    desk = ContextDesk(store)
    with pytest.raises(TooLargeError, match="over the limit of 1048576"):
        desk.save_working_context("farm", "monday", {"goal": "a" * 2**20})
    assert store.puts == []


@pytest.mark.parametrize(
    ("working", "error", "told"),
    [
        ("goal", WrongTypeError, "working"),
        ({"goals": "x"}, InvalidInputError, "working.goals"),
        ({"goal": 1}, WrongTypeError, "working.goal"),
        ({"goal": "\ud800"}, InvalidInputError, "working.goal"),
        ({"pending_actions": [1]}, WrongTypeError, "working.pending_actions[0]"),
        ({"open_hypotheses": ["x"]}, WrongTypeError, "working.open_hypotheses[0]"),
        ({"decisions": [{"fragment_id": -1, "rule_id": "r"}]}, InvalidInputError, "fragment_id"),
    ],
)
def test_what_is_none_is_refused(
    desk: ContextDesk, working: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as caught:
        desk.save_working_context("farm", "monday", working)
    assert told in str(caught.value)


HOSTILE = [
    "",
    " ",
    "a",
    "a\x1fb",
    "a/b",
    "../a",
    "a\x1f",
    "\x1fa",
    "A",
    "é",
    "e\u0301",
    '["a","b"]',
    "a\n",
    "x" * 4_096,
    "x" * 4_095,
]


def test_no_name_reaches_the_place_of_another(desk: ContextDesk) -> None:
    places = [(project, session) for project in HOSTILE for session in HOSTILE]
    for project, session in places:
        desk.save_working_context(project, session, {"goal": repr((project, session))})
    for project, session in places:
        working = desk.load_working_context(project, session).working
        assert working is not None
        assert working.goal == repr((project, session))
    for project in HOSTILE:
        assert sorted(map(str, sessions(desk, project))) == sorted(HOSTILE)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (None, WrongTypeError),
        ("\ud800", InvalidInputError),
        ("a\0", InvalidInputError),
        ("x" * 4_097, TooLargeError),
    ],
)
def test_a_name_that_cannot_be_stored_is_refused(
    desk: ContextDesk, name: Any, error: type[Exception]
) -> None:
    for project, session in ((name, "monday"), ("farm", name)):
        with pytest.raises(error):
            desk.save_working_context(project, session, FULL)
        with pytest.raises(error):
            desk.load_working_context(project, session)
        with pytest.raises(error):
            desk.delete_working_context(project, session)


def test_a_working_context_can_be_deleted(desk: ContextDesk) -> None:
    for session in ("a", "b"):
        desk.save_working_context("farm", session, FULL)
    assert desk.delete_working_context("farm", "a")
    assert not desk.delete_working_context("farm", "a")
    assert sessions(desk) == ["b"]


def test_namespaces_have_their_own(open_desk: OpenDesk) -> None:
    open_desk(namespace=("ann",)).save_working_context("farm", "monday", FULL)
    for namespace in ((), ("ben",)):
        desk = open_desk(namespace=namespace)
        assert not desk.load_working_context("farm", "monday").found
        assert sessions(desk) == []


def test_a_control_character_is_saved_as_it_is(desk: ContextDesk) -> None:
    desk.save_working_context("farm", "monday", {"goal": "a\0b\x1f"})
    assert desk.load_working_context("farm", "monday").working == WorkingContext(goal="a\0b\x1f")


SAVED = {"saved_at": 1, "working": {"goal": "Forged"}}


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (None, None),
        (1, None),
        ("monday", None),
        ({}, None),
        ({"session": "monday"}, "monday"),
        ({"session": "monday", "saved_at": "1", "working": {}}, "monday"),
        ({"session": "monday", "saved_at": 1, "working": 2}, "monday"),
        ({"session": 1} | SAVED, None),
        ({"session": "\ud800"} | SAVED, None),
        ({"session": "tuesday"} | SAVED, None),
        ({"session": "Monday"} | SAVED, None),
    ],
)
def test_a_damaged_one_is_told_and_hides_no_other(
    desk: ContextDesk, values: ValueStore, clock: Clock, damage: Any, name: str | None
) -> None:
    desk.save_working_context("farm", "tuesday", FULL)
    desk.save_working_context("farm", "monday", FULL)
    values.put_values(COLLECTIONS + digest("farm"), {digest("monday"): damage})
    with pytest.raises(ServiceError, match="damaged"):
        desk.load_working_context("farm", "monday")
    damaged = WorkingSession(session=name, saved_at=None, damaged=True)
    whole = WorkingSession(session="tuesday", saved_at=clock.now)
    assert desk.list_working_contexts("farm") == (whole, damaged)
    loaded = desk.load_working_context("farm", "tuesday")
    assert (loaded.found, loaded.other_sessions) == (True, (damaged,))
    assert desk.load_working_context("farm", "sunday").other_sessions == (whole, damaged)
    desk.save_working_context("farm", "monday", FULL)
    assert desk.load_working_context("farm", "monday").found
    assert sessions(desk) == ["monday", "tuesday"]


def test_a_damaged_one_can_be_deleted(desk: ContextDesk, values: ValueStore) -> None:
    values.put_values(COLLECTIONS + digest("farm"), {digest("monday"): None})
    assert desk.delete_working_context("farm", "monday")
    assert desk.list_working_contexts("farm") == ()


def test_the_limit_can_be_set() -> None:
    compiler = ContextCompiler(limits=ContextLimits(working_bytes=200))
    desk = ContextDesk(DictStore(), compiler=compiler)
    desk.save_working_context("farm", "monday", {"goal": "short"})
    with pytest.raises(TooLargeError):
        desk.save_working_context("farm", "monday", FULL)
