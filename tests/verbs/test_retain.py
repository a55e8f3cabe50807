"""`maintain(retain=…)`: facts that have grown old are let go, as the rules say."""

from datetime import timedelta
from typing import Any

import pytest
from clocks import DAY, Clock
from conftest import OpenMemory

from plugmem_core import InvalidInputError, Memory, Retain, TooLargeError, WrongTypeError

WEEK = timedelta(weeks=1)


def texts(memory: Memory) -> list[str]:
    return [fact.text for fact in memory.list_facts(closed=True, limit=1_000)]


def test_what_was_recorded_longer_ago_than_its_age_is_removed(memory: Memory, clock: Clock) -> None:
    memory.remember("old", valid_from="2030-01-01")  # planned, but known for long
    clock.tick()
    memory.remember("just in time", valid_from="1999-01-01")
    clock.tick(7 * DAY)
    memory.remember("new")
    report = memory.maintain(retain=[Retain(max_age=WEEK)])
    assert (report.purged, report.retired) == (1, 1)
    assert texts(memory) == ["just in time", "new"]
    assert memory.stats().facts == 2
    clock.tick(1)
    assert memory.maintain(retain=[Retain(max_age=7 * 86_400)]).retired == 1
    assert texts(memory) == ["new"]
    assert memory.verify().ok


def test_without_rules_age_does_not_matter(memory: Memory, clock: Clock) -> None:
    memory.remember("old")
    clock.tick(10_000 * DAY)
    assert memory.maintain().retired == 0
    assert texts(memory) == ["old"]


def test_a_rule_is_about_the_facts_that_it_names(memory: Memory, clock: Clock) -> None:
    memory.remember("tagged", tags=["chat", "x"])
    memory.remember("half tagged", tags=["chat"])
    memory.remember("about Ann", entity="Ann")
    memory.remember("about Ann below", entity="Ann", namespace=("users", "ann"))
    memory.remember("below", namespace=("users", "ann"))
    memory.remember("beside", namespace=("users2",))
    memory.alias_entity("Ann", "Annie")
    clock.tick(30 * DAY)

    def left(rule: Retain) -> set[str]:
        memory.maintain(retain=[rule])
        return set(texts(memory))

    everything = set(texts(memory))
    assert left(Retain(max_age=WEEK, tags=("chat", "unknown"))) == everything
    assert left(Retain(max_age=WEEK, tags=("chat", "x"))) == everything - {"tagged"}
    assert left(Retain(max_age=WEEK, entity="Nobody")) == everything - {"tagged"}
    assert "about Ann" in left(Retain(max_age=WEEK, entity="ann", namespace=("users",)))
    assert "about Ann below" not in texts(memory)
    assert "about Ann" not in left(Retain(max_age=WEEK, entity="ANNIE"))
    assert left(Retain(max_age=WEEK, namespace=("users",))) == {"half tagged", "beside"}
    assert left(Retain(max_age=WEEK, tags=("chat",), entity="Ann")) == {"half tagged", "beside"}
    assert left(Retain(max_age=WEEK)) == set()


def test_rules_add_up_and_a_fact_counts_once(memory: Memory, clock: Clock) -> None:
    memory.remember("one", tags=["a"])
    memory.remember("two", tags=["b"])
    memory.remember("three", ttl=1)
    memory.forget(memory.remember("four").id)
    clock.tick(30 * DAY)
    rules = [Retain(max_age=WEEK, tags=("a",)), Retain(max_age=WEEK)]
    report = memory.maintain(retain=rules)
    assert (report.purged, report.retired) == (4, 2)  # two were gone for readers already


def test_a_fact_revised_lately_loses_only_its_older_history(memory: Memory, clock: Clock) -> None:
    memory.remember("version 0", key="k")
    for number in range(1, 4):
        clock.tick(5 * DAY)
        memory.remember(f"version {number}", key="k")
    memory.maintain(retain=[Retain(max_age=WEEK)])
    assert [fact.text for fact in memory.history(3)] == ["version 2", "version 3"]
    assert memory.history(3)[0].revises is None
    assert memory.remember("version 4", key="k").outcome == "revised"
    assert memory.verify().ok


def test_other_handles_see_that_it_is_gone(
    open_memory: OpenMemory, clock: Clock, tmp_path: Any
) -> None:
    one, other = open_memory(tmp_path / "m.db"), open_memory(tmp_path / "m.db")
    one.remember("old", vector=[1.0, 0.0])
    assert other.recall("old").facts
    clock.tick(8 * DAY)
    one.maintain(retain=[Retain(max_age=WEEK)])
    assert other.recall("old").facts == ()
    assert other.stats().vectors == 0
    assert other.verify().ok


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ({"max_age": 0}, InvalidInputError, r"max_age is 0; give from 0\.001 to \d+ seconds"),
        ({"max_age": -5}, InvalidInputError, "max_age is -5"),
        ({"max_age": float("nan")}, InvalidInputError, "max_age is nan"),
        ({"max_age": timedelta(0)}, InvalidInputError, "max_age is"),
        ({"max_age": "week"}, WrongTypeError, "max_age is 'week'.*seconds or a timedelta"),
        ({"max_age": True}, WrongTypeError, "max_age is True"),
        ({"max_age": None}, WrongTypeError, "max_age is None"),
        ({"max_age": 1, "tags": "chat"}, WrongTypeError, "tags is 'chat'"),
        ({"max_age": 1, "tags": [" "]}, InvalidInputError, "blank"),
        ({"max_age": 1, "entity": "!"}, InvalidInputError, "entity is '!'"),
        ({"max_age": 1, "entity": 5}, WrongTypeError, "entity is 5"),
        ({"max_age": 1, "namespace": "a"}, WrongTypeError, "namespace is 'a'"),
        ({"max_age": 1, "namespace": ("a",) * 33}, TooLargeError, "33 labels"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(
    rule: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Retain(**rule)


@pytest.mark.parametrize("retain", ["week", 5, Retain(max_age=1), [None], [{"max_age": 1}], [WEEK]])
def test_what_is_no_list_of_rules_is_refused_and_nothing_is_removed(
    memory: Memory, retain: Any
) -> None:
    memory.forget(memory.remember("forgotten").id)
    with pytest.raises(WrongTypeError, match=r"retain.* is .*; give a .*Retain"):
        memory.maintain(retain=retain)
    assert memory.stats().forgotten == 1


def test_a_rule_can_be_kept_and_compared() -> None:
    rule = Retain(max_age=WEEK, tags=["b", "a", "b"], namespace=["x"])
    assert rule == Retain(max_age=WEEK, tags=("b", "a"), namespace=("x",))
    assert len({rule, Retain(max_age=WEEK, tags=("b", "a"), namespace=("x",))}) == 1
    with pytest.raises(AttributeError):
        rule.max_age = 5  # type: ignore[misc] # it is frozen
