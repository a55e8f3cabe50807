"""`Retain`: how long facts are kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from plugmem_core.errors import WrongTypeError, shown
from plugmem_core.inputs import check_duration, check_name, check_namespace, check_tags
from plugmem_core.model import Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """A rule for `maintain`: which facts are let go when they have grown old.

    Each version of a fact has an age of its own, since the memory learned it. So a fact that
    was revised lately stays, and loses what of its history is older. What `tags`, `entity` and
    `namespace` say has to hold for the version itself, all of it.

    Attributes:
        max_age: Seconds, or a `timedelta`; positive. What was recorded longer ago is let go.
        tags: Only facts with all of these tags.
        entity: Only facts about this entity; one that is not there has none.
        namespace: The scope: itself and what lies below it.

    >>> Retain(max_age=timedelta(days=30), tags=("chat",)).max_age.days
    30
    """

    max_age: float | timedelta
    tags: tuple[str, ...] = ()
    entity: str | None = None
    namespace: Namespace = ()

    def __post_init__(self) -> None:
        check_duration(self.max_age, "max_age")
        object.__setattr__(self, "tags", tuple(check_tags(self.tags)))
        object.__setattr__(self, "namespace", check_namespace(self.namespace))
        if self.entity is not None:
            check_name(self.entity, "entity")

    @property
    def entity_key(self) -> str | None:
        """The normalised name of the entity."""
        return None if self.entity is None else check_name(self.entity, "entity")[1]

    def oldest(self, now: int) -> int:
        """Return the instant before which a fact was recorded too long ago.

        Args:
            now: Unix milliseconds.
        """
        return now - check_duration(self.max_age, "max_age")


def check_rules(values: Iterable[Retain], name: str = "retain") -> list[Retain]:
    """Return a list of rules."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise WrongTypeError(f"{name} is {shown(values)}; give a list of Retain")
    rules = list(values)
    for place, rule in enumerate(rules):
        if not isinstance(rule, Retain):
            raise WrongTypeError(f"{name}[{place}] is {shown(rule)}; give a Retain")
    return rules
