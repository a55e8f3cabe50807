"""What compiles saved, altogether and by project."""

from typing import Any

import pytest
from clocks import DAY, SECOND, Clock

from context.asking import request
from context.conftest import OpenDesk
from plugmem_core import InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.context import ContextDesk, ContextSavings, ValueStore
from plugmem_core.context.savings import EVENTS

TEXT = "word " * 10  # 20 tokens, of which a budget of 1 lets none through


def save(desk: ContextDesk, **fields: Any) -> None:
    desk.compile_context(request(TEXT, budget=1, **fields))


def prices(currency: str, micros: int) -> dict[str, Any]:
    return {"version": "1", "currency": currency, "models": {"m": micros}}


def test_savings_add_up(desk: ContextDesk) -> None:
    assert desk.context_savings() == ContextSavings(
        events=0, tokens_in=0, tokens_out=0, tokens_saved=0, cost_saved_micros_by_currency={}
    )
    save(desk)
    desk.compile_context(request("a", budget=9))
    desk.compile_transcript({"query": "", "transcript": TEXT, "token_budget": 1})
    assert desk.context_savings() == ContextSavings(
        events=3, tokens_in=41, tokens_out=1, tokens_saved=40, cost_saved_micros_by_currency={}
    )


def test_savings_are_booked_on_projects(desk: ContextDesk) -> None:
    save(desk, project="one")
    save(desk, project="one")
    save(desk, project="other")
    save(desk)
    assert [desk.context_savings(one).events for one in ("one", "other", "", None)] == [2, 1, 0, 4]


def test_costs_add_up_by_currency(desk: ContextDesk) -> None:
    for currency, micros in (("USD", 1_000_000), ("EUR", 500_000), ("USD", 100_000)):
        save(desk, target_model="m", pricing=prices(currency, micros))
    save(desk, target_model="other", pricing=prices("USD", 1))
    costs = desk.context_savings().cost_saved_micros_by_currency
    assert costs == {"EUR": 10, "USD": 22}
    assert list(costs) == ["EUR", "USD"]


def test_no_number_of_events_is_too_many(desk: ContextDesk, values: ValueStore) -> None:
    save(desk, project="one")
    (event,) = values.get_values(EVENTS).values()
    values.put_values(EVENTS, {f"copy-{number}": event for number in range(2_000)})
    assert desk.context_savings("one").events == 2_001


def test_savings_of_one_instant_all_count(desk: ContextDesk, open_desk: OpenDesk) -> None:
    for one in (desk, open_desk(), desk):
        save(one)
    assert desk.context_savings().events == 3


def test_savings_expire(desk: ContextDesk, clock: Clock) -> None:
    save(desk, event_ttl_seconds=60)
    save(desk, event_ttl_seconds=0)
    clock.tick(60 * SECOND - 1)
    assert desk.context_savings().events == 2
    clock.tick(1)
    assert desk.context_savings().events == 1
    assert desk.purge_savings() == 1
    assert desk.context_savings().events == 1


def test_savings_are_purged_by_age_and_project(desk: ContextDesk, clock: Clock) -> None:
    save(desk, project="one")
    save(desk, project="other")
    clock.tick(DAY)
    save(desk, project="one")
    assert desk.purge_savings(project="one", older_than=3_600) == 1
    assert desk.purge_savings(project="one", older_than=3_600) == 0
    assert desk.context_savings("one").events == 1
    assert desk.purge_savings(project="one") == 1
    assert desk.purge_savings(older_than=3_600) == 1
    assert desk.context_savings().events == 0


def test_purging_sources_keeps_savings_and_the_other_way_round(
    desk: ContextDesk, clock: Clock
) -> None:
    save(desk)
    clock.tick(DAY)
    assert desk.purge_sources(older_than=0) == 1
    assert desk.context_savings().events == 1
    save(desk)
    clock.tick(DAY)
    assert desk.purge_savings(older_than=0) == 2
    assert desk.purge_sources(older_than=0) == 1


def test_savings_hold_no_content(desk: ContextDesk, values: ValueStore) -> None:
    desk.compile_context(request("secret", query="hidden", project="p"))
    assert "secret" not in str(values.get_values(EVENTS))
    assert "hidden" not in str(values.get_values(EVENTS))


def test_what_others_put_among_savings_does_not_count(
    desk: ContextDesk, values: ValueStore
) -> None:
    save(desk)
    values.put_values(EVENTS, {"a": 1, "b": {"tokens_saved": 10**9}, "c": None})
    savings = desk.context_savings()
    assert (savings.tokens_saved, savings.events, savings.damaged) == (20, 1, 3)
    assert desk.context_savings("other").damaged == 3
    assert desk.purge_savings() == 0


def test_savings_stay_in_their_namespace(open_desk: OpenDesk) -> None:
    save(open_desk(namespace=("ann",)))
    assert open_desk(namespace=("ben",)).context_savings().events == 0
    assert open_desk().context_savings().events == 0


@pytest.mark.parametrize(
    ("project", "error"),
    [(1, WrongTypeError), ("a\0b", InvalidInputError), ("a" * 4_097, TooLargeError)],
)
def test_a_project_that_cannot_be_stored_is_refused_before_anything_is(
    desk: ContextDesk, values: ValueStore, project: Any, error: type[Exception]
) -> None:
    for call in (desk.context_savings, lambda project: save(desk, project=project)):
        with pytest.raises(error, match="project"):
            call(project)
    assert values.get_values("_plugmem_context_contents") == {}
