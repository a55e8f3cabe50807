"""What an extractor is, and what it finds."""

from typing import NamedTuple, Protocol, runtime_checkable

from pydantic import JsonValue

from plugmem_core.text import check_text

MAX_PASSAGE_BYTES = 1_048_576
"""Longest passage an extractor of this package reads, in bytes of UTF-8."""


class ExtractedFact(NamedTuple):
    """A fact, and the names of what it is about."""

    text: str
    topics: tuple[str, ...] = ()


class Relation(NamedTuple):
    """What holds between two entities: the subject is the one the predicate is said of."""

    subject: str
    predicate: str
    object: str


class Attribute(NamedTuple):
    """What an entity has: a key, and its value with its JSON type."""

    entity: str
    key: str
    value: JsonValue


class Graph(NamedTuple):
    """All that was found in a passage, in its order."""

    facts: tuple[ExtractedFact, ...] = ()
    relations: tuple[Relation, ...] = ()
    attributes: tuple[Attribute, ...] = ()


@runtime_checkable
class Extractor(Protocol):
    """Finds facts, relations and attributes in a passage.

    Whatever has this one method will do. What wraps an extractor passes on all that it finds,
    as there is no second method to forget. If it also has a coroutine `aextract`, the async
    verbs await that.

    >>> class Whole:
    ...     def extract(self, text):
    ...         return Graph(facts=(ExtractedFact(text, topics=("notes",)),))
    >>> isinstance(Whole(), Extractor)
    True
    """

    def extract(self, text: str) -> Graph:
        """Return what a passage says; a blank one says nothing."""
        ...


@runtime_checkable
class AsyncExtractor(Extractor, Protocol):
    """An extractor with a coroutine of its own."""

    async def aextract(self, text: str) -> Graph:
        """Return what a passage says; a blank one says nothing."""
        ...


def canonical(name: str) -> str:
    """Return the name by which an entity is known: trimmed, in lower case.

    >>> canonical(" Ada Lovelace ")
    'ada lovelace'
    """
    return name.strip().lower()


def check_passage(text: object) -> str:
    """Return the value if it is a passage.

    Raises:
        WrongTypeError: It is no `str`.
        InvalidInputError: It has a lone surrogate or a NUL character.
        TooLargeError: It is longer than `MAX_PASSAGE_BYTES`.
    """
    return check_text(text, "text", max_bytes=MAX_PASSAGE_BYTES)
