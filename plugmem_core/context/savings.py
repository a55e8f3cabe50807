"""What compiles have saved: one event each, without any content."""

from itertools import count

from plugmem_core.clock import Clock
from plugmem_core.context.reading import Record
from plugmem_core.context.result import Insights
from plugmem_core.context.values import (
    Age,
    ValueStore,
    check_age,
    cutoff,
    expiry,
    is_expired,
    parse,
)
from plugmem_core.model import RESERVED, Namespace

EVENTS = f"{RESERVED}context_events"

_sequence = count()


class ContextSavings(Record):
    """What was saved altogether.

    Attributes:
        events: How many compiles are counted.
        tokens_in: Of all their fragments.
        tokens_out: Of what they gave back.
        tokens_saved: Of all of them.
        cost_saved_micros_by_currency: In millionths of each currency, of those with a price.
        damaged: How many more there are, of any project, that cannot be read.
    """

    events: int
    tokens_in: int
    tokens_out: int
    tokens_saved: int
    cost_saved_micros_by_currency: dict[str, int]
    damaged: int = 0


class _Event(Record):
    at: int
    project: str | None
    model: str | None
    tokens_in: int
    tokens_out: int
    tokens_saved: int
    cost_micros: int | None
    currency: str | None
    expires_at: int | None


class SavingsLog:
    """Records what compiles save, and adds it up."""

    def __init__(self, values: ValueStore, namespace: Namespace, clock: Clock) -> None:
        self._values = values
        self._namespace = namespace
        self._clock = clock

    def record(
        self,
        insights: Insights,
        *,
        project: str | None,
        model: str | None,
        ttl_seconds: int | None,
    ) -> None:
        """Record a compile.

        Args:
            insights: What it saved.
            project: Who it was for.
            model: The model it was for.
            ttl_seconds: How long it counts; `None` or 0 is for good.
        """
        with self._values.transaction():
            now = self._clock()
            event = _Event(
                at=now,
                project=project,
                model=model,
                tokens_in=insights.tokens_in,
                tokens_out=insights.tokens_out,
                tokens_saved=insights.tokens_saved,
                cost_micros=insights.estimated_cost_saved_micros,
                currency=insights.currency,
                expires_at=expiry(now, ttl_seconds),
            )
            self._values.put_values(
                EVENTS,
                {self._free_key(now): event.model_dump(mode="json")},
                namespace=self._namespace,
            )

    def total(self, project: str | None = None) -> ContextSavings:
        """Return what was saved, in one project or in all."""
        now = self._clock()
        stored = list(self._events().values())
        events = [
            event
            for event in stored
            if event and project in (None, event.project) and not is_expired(event.expires_at, now)
        ]
        costs: dict[str, int] = {}
        for event in events:
            if event.currency is not None and event.cost_micros is not None:
                costs[event.currency] = costs.get(event.currency, 0) + event.cost_micros
        return ContextSavings(
            events=len(events),
            tokens_in=sum(event.tokens_in for event in events),
            tokens_out=sum(event.tokens_out for event in events),
            tokens_saved=sum(event.tokens_saved for event in events),
            cost_saved_micros_by_currency=dict(sorted(costs.items())),
            damaged=stored.count(None),
        )

    def purge(self, *, older_than: Age | None = None, project: str | None = None) -> int:
        """Remove events that meet all the criteria given, and those that have expired.

        Returns:
            How many were removed.
        """
        age = check_age(older_than)
        chooses = older_than is not None or project is not None
        with self._values.transaction():
            now = self._clock()
            before = cutoff(now, age)
            removed = [
                key
                for key, event in self._events().items()
                if event
                and (
                    is_expired(event.expires_at, now)
                    or (chooses and _meets(event, before, project))
                )
            ]
            if not removed:
                return 0
            return self._values.delete_values(EVENTS, removed, namespace=self._namespace)

    def _events(self) -> dict[str, _Event | None]:
        stored = self._values.get_values(EVENTS, namespace=self._namespace)
        return {key: parse(_Event, value) for key, value in stored.items()}

    def _free_key(self, now: int) -> str:
        """Return a key that no event has, of another process in the same millisecond neither."""
        keys = (f"{now}-{number}" for number in _sequence)
        return next(
            key
            for key in keys
            if not self._values.get_values(EVENTS, [key], namespace=self._namespace)
        )


def _meets(event: _Event, before: int | None, project: str | None) -> bool:
    return project in (None, event.project) and (before is None or event.at <= before)
