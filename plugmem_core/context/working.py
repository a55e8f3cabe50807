"""Working contexts: what an agent was about, kept for its next session."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, StrictInt

from plugmem_core.clock import Clock
from plugmem_core.context.reading import Record, Text, read_id
from plugmem_core.context.values import ValueStore, parse
from plugmem_core.errors import InvalidInputError, ServiceError
from plugmem_core.inputs import check_json
from plugmem_core.model import RESERVED, Namespace

COLLECTIONS = f"{RESERVED}context_working_"

Id = Annotated[int, BeforeValidator(lambda value: read_id(value, "the id"))]


class Hypothesis(Record):
    """Something not yet verified.

    Attributes:
        text: What it says.
        source: Where it is from.
    """

    text: Text
    source: Text | None = None


class KeptDecision(Record):
    """A decision of a compile that mattered.

    Attributes:
        fragment_id: The fragment.
        rule_id: By which rule.
    """

    fragment_id: Id
    rule_id: Text


class ExactEvidence(Record):
    """Where something can be read again word by word.

    Attributes:
        fragment_id: The fragment.
        handle: Where it can be retrieved.
        memory_id: The memory that says the same, if there is one.
    """

    fragment_id: Id
    handle: Text
    memory_id: Id | None = None


class WorkingContext(Record):
    """The state of a piece of work.

    Attributes:
        goal: What it is for.
        active_constraints: What has to be kept to.
        verified_facts: What is known.
        open_hypotheses: What is not yet.
        decisions: What compiles decided.
        exact_evidence: Where the evidence is.
        pending_actions: What is left to do.
    """

    goal: Text = ""
    active_constraints: tuple[Text, ...] = ()
    verified_facts: tuple[Text, ...] = ()
    open_hypotheses: tuple[Hypothesis, ...] = ()
    decisions: tuple[KeptDecision, ...] = ()
    exact_evidence: tuple[ExactEvidence, ...] = ()
    pending_actions: tuple[Text, ...] = ()

    def is_empty(self) -> bool:
        """Return whether it says nothing; a blank goal does not."""
        return not self.goal.strip() and not any(value for name, value in self if name != "goal")


class WorkingSession(Record):
    """A saved working context, from the outside.

    Attributes:
        session: Of which session; `None` if it is so damaged that this cannot be told.
        saved_at: When, in Unix milliseconds; `None` if it is damaged.
        damaged: Whether it cannot be loaded. Saving the session anew repairs it, deleting it
            removes it.
    """

    session: str | None
    saved_at: int | None
    damaged: bool = False


class LoadedWorkingContext(Record):
    """What was found of a session.

    Attributes:
        found: Whether it has a working context.
        working: That; `None` if not.
        other_sessions: The other sessions of the project that have one, newest first, damaged
            ones last.
    """

    found: bool
    working: WorkingContext | None
    other_sessions: tuple[WorkingSession, ...]


class _Saved(Record):
    session: Text
    saved_at: StrictInt
    working: WorkingContext


class WorkingContexts:
    """Saves one working context per project and session.

    Each is one value, so that there is no index that could disagree with it. Collections and
    keys are digests of the names, so that no name can reach the place of another.
    """

    def __init__(
        self, values: ValueStore, namespace: Namespace, clock: Clock, max_bytes: int
    ) -> None:
        self._values = values
        self._namespace = namespace
        self._clock = clock
        self._max_bytes = max_bytes

    def save(self, project: str, session: str, working: WorkingContext) -> WorkingSession:
        """Save a working context; one that the session has already is replaced.

        Raises:
            InvalidInputError: It says nothing; what was saved before stays.
            TooLargeError: It is too long; what was saved before stays.
        """
        if working.is_empty():
            raise InvalidInputError(
                "the working context says nothing, and would replace what was saved; give a goal "
                "or an entry, or delete it"
            )
        saved = _Saved(session=session, saved_at=self._clock(), working=working)
        check_json(
            working.model_dump(mode="json"), "the working context", max_bytes=self._max_bytes
        )
        self._values.put_values(
            _collection(project),
            {_digest(session): saved.model_dump(mode="json")},
            namespace=self._namespace,
        )
        return WorkingSession(session=session, saved_at=saved.saved_at)

    def load(self, project: str, session: str) -> LoadedWorkingContext:
        """Return the working context of a session, and which others the project has.

        Raises:
            ServiceError: It is there, but damaged.
        """
        stored = self._values.get_values(_collection(project), namespace=self._namespace)
        key = _digest(session)
        found = _saved(key, stored[key]) if key in stored else None
        if key in stored and found is None:
            raise ServiceError(
                "the working context of this session is damaged; save it anew, or delete it"
            )
        stored.pop(key, None)
        return LoadedWorkingContext(
            found=found is not None,
            working=None if found is None else found.working,
            other_sessions=_sessions(stored),
        )

    def sessions(self, project: str) -> tuple[WorkingSession, ...]:
        """Return which sessions of a project have one, newest first, then by name.

        Damaged ones come last, and say that they are.
        """
        return _sessions(self._values.get_values(_collection(project), namespace=self._namespace))

    def delete(self, project: str, session: str) -> bool:
        """Remove the working context of a session; returns whether there was one."""
        keys = [_digest(session)]
        removed = self._values.delete_values(_collection(project), keys, namespace=self._namespace)
        return removed == 1


def _collection(project: str) -> str:
    return COLLECTIONS + _digest(project)


def _digest(name: str) -> str:
    # What is read may be damaged, and hold a surrogate that no name has.
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()


def _saved(key: str, value: object) -> _Saved | None:
    """Return what was saved under a key; `None` if it is damaged."""
    saved = parse(_Saved, value)
    return saved if saved and _digest(saved.session) == key else None


def _sessions(stored: Mapping[str, Any]) -> tuple[WorkingSession, ...]:
    sessions = [_session(key, value) for key, value in stored.items()]
    return tuple(
        sorted(sessions, key=lambda one: (one.damaged, -(one.saved_at or 0), one.session or ""))
    )


def _session(key: str, value: object) -> WorkingSession:
    saved = _saved(key, value)
    if saved is not None:
        return WorkingSession(session=saved.session, saved_at=saved.saved_at)
    name = value.get("session") if isinstance(value, Mapping) else None
    is_its_name = isinstance(name, str) and _digest(name) == key
    return WorkingSession(session=name if is_its_name else None, saved_at=None, damaged=True)
