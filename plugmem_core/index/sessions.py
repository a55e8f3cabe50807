"""Sessions: which facts are turns of one conversation, in the order they were told."""

import json

from plugmem_core.kernels import Dictionary, Turns
from plugmem_core.store import FactRow, load_object

MAX_VALUE = 1_024
"""Longest name of a session, in characters of JSON; a longer one is no session."""


class Sessions:
    """The facts of a namespace that share a value under the session key of their metadata.

    Attributes:
        key: The metadata key.
        names: The sessions met, each by its namespace and its value.
        turns: Their facts in order.
    """

    def __init__(self, key: str) -> None:
        self.names = Dictionary()
        self.turns = Turns()
        self.key = key
        self._mark = json.dumps(key, ensure_ascii=False)

    def put(self, row: FactRow) -> None:
        """Take a new fact in; one without a session is passed over."""
        # Most facts have no session, and need no parsing.
        if row.metadata is None or self._mark not in row.metadata:
            return
        value = load_object(row.metadata).get(self.key)
        if isinstance(value, str | int):
            name = f"{row.namespace}:{json.dumps(value)}"
            if len(name) <= MAX_VALUE:
                self.turns.put(row.id, self.names.intern(name), row.revises)

    def remove(self, facts: list[int]) -> None:
        """Take facts out; the turns beside them become neighbours."""
        self.turns.remove(facts)
