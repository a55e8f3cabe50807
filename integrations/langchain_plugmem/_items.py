"""Items of a LangGraph store as facts: the whole mapping is written down here.

| item                | fact                                                        |
|---------------------|-------------------------------------------------------------|
| `namespace`         | `namespace`, below the store's own                          |
| `key`               | `key`                                                       |
| `value`             | `metadata["value"]`                                         |
| `created_at`, `ttl` | `metadata`: a put keeps the first, and replaces the other   |
| `updated_at`        | `metadata`: it makes every put a version of its own         |
| first indexed text  | `text`; `-`, which holds no words, when nothing is indexed  |
| further texts       | a fact each, in the label `.parts` below the namespace      |

A label of an item cannot have a dot, so `.parts` is never one of the user's.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from langgraph.store.base import Item, PutOp, get_text_at_path

from plugmem_core import Fact, Instant, Memory, Namespace, RecalledFact
from plugmem_core.clock import to_datetime
from plugmem_core.inputs import check_metadata

Place: TypeAlias = tuple[Namespace, str]
"""The namespace and the key of an item."""

PARTS: Final = ".parts"
PART_TAG: Final = "part"
NO_WORDS: Final = "-"
_METADATA: Final = {"key", "value", "created_at", "updated_at", "ttl", "parts"}


class ItemVersion(Item):
    """What an item was at some time.

    Attributes:
        ended_at: When the next version replaced it; `None` for the current one.
    """

    __slots__ = ("ended_at",)

    def __init__(self, *, ended_at: datetime | None, **fields: Any) -> None:
        super().__init__(**fields)
        self.ended_at = ended_at


class Items:
    """The items of one store, as facts of a memory.

    Args:
        memory: The open memory.
        namespace: The labels above all items.
        fields: Paths of the parts of a value that are indexed unless a put says otherwise.
    """

    def __init__(self, memory: Memory, namespace: Namespace, fields: Sequence[str]) -> None:
        self.memory = memory
        self.namespace = namespace
        self._fields = fields

    def facts(self, op: PutOp, before: Fact | None) -> list[dict[str, Any]]:
        """Return an item as facts: one with its first text, and one for every further text."""
        name, limit = f"the value of {op.key!r}", self.memory.config.max_metadata
        value = json.loads(check_metadata(op.value, name, max_bytes=limit) or "{}")
        texts = self._texts(op, value)
        now = self.memory.clock()
        metadata = {
            "key": op.key,
            "value": value,
            "created_at": before.metadata["created_at"] if before else now,
            "updated_at": now,
            "ttl": op.ttl,
            "parts": max(0, len(texts) - 1),
        }
        ttl = None if op.ttl is None else op.ttl * 60
        namespace = self.within(op.namespace)
        shared = {"metadata": metadata, "ttl": ttl}
        first = texts[0] if texts else NO_WORDS
        return [
            {
                **shared,
                "text": first,
                "key": op.key,
                "namespace": namespace,
                "embed": bool(texts),
            },
            *(
                {
                    **shared,
                    "text": text,
                    "key": _part_key(number, op.key),
                    "namespace": (*namespace, PARTS),
                    "tags": [PART_TAG],
                }
                for number, text in enumerate(texts[1:])
            ),
        ]

    def _texts(self, op: PutOp, value: dict[str, Any]) -> list[str]:
        if op.index is False:
            return []
        paths = self._fields if op.index is None else op.index
        texts = (text for path in paths for text in get_text_at_path(value, path))
        return list(dict.fromkeys(text for text in texts if text.strip()))

    def owns(self, fact: Fact | RecalledFact) -> bool:
        """Whether a fact is an item or a part of one, and nothing that others put here."""
        return fact.metadata.keys() == _METADATA

    def within(self, namespace: Namespace) -> Namespace:
        """Return the memory's namespace for one of items."""
        return (*self.namespace, *namespace)

    def namespace_of(self, fact: Fact | RecalledFact) -> Namespace:
        """Return the namespace of the item that a fact is, or is a part of."""
        inner = fact.namespace[len(self.namespace) :]
        return inner[:-1] if PART_TAG in fact.tags else inner

    def place_of(self, fact: Fact | RecalledFact) -> Place:
        """Return the place of the item that a fact is, or is a part of."""
        return self.namespace_of(fact), fact.metadata["key"]

    def parts(self, place: Place, start: int, stop: int) -> list[Place]:
        """Return where, in the memory, some parts of an item are."""
        namespace, key = place
        return [
            ((*self.within(namespace), PARTS), _part_key(number, key))
            for number in range(start, stop)
        ]

    def current(self, places: Sequence[Place], as_of: Instant | None = None) -> list[Fact]:
        """Return the facts of items as they are, or were at an instant."""
        return self._at(places, as_of=as_of)

    def versions(self, places: Sequence[Place]) -> list[Fact]:
        """Return the facts of items in every version, by ascending id."""
        return self._at(places, closed=True)

    def _at(self, places: Sequence[Place], **options: Any) -> list[Fact]:
        if not places:
            return []
        wanted = {(self.within(namespace), key) for namespace, key in places}
        keys = [key for _, key in places]
        facts = self.memory.get_by_keys(keys, namespace=self.namespace, **options)
        return [fact for fact in facts if (fact.namespace, fact.key) in wanted and self.owns(fact)]


def fields_of(namespace: Namespace, fact: Fact | RecalledFact) -> dict[str, Any]:
    """Return the arguments of an `Item`."""
    metadata = fact.metadata
    return {
        "namespace": namespace,
        "key": metadata["key"],
        "value": metadata["value"],
        "created_at": to_datetime(metadata["created_at"]),
        "updated_at": to_datetime(metadata["updated_at"]),
    }


def _part_key(number: int, key: str) -> str:
    return f"{number}:{key}"


def parts_of(fact: Fact | RecalledFact | None) -> int:
    """Return how many facts there are beside an item's own."""
    return 0 if fact is None else int(fact.metadata["parts"])
