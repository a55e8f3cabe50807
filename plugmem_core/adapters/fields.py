"""What a fact knows beside its text, as plain JSON under names that frameworks show."""

from collections.abc import Collection, Iterable
from typing import Any, Literal, get_args

from plugmem_core.clock import to_datetime
from plugmem_core.errors import InvalidInputError
from plugmem_core.model import RESERVED, Fact, Metadata, RecalledFact
from plugmem_core.recall import FactExplanation

FactField = Literal[
    "id",
    "key",
    "entity",
    "tags",
    "namespace",
    "recorded_at",
    "valid_from",
    "valid_to",
    "expires_at",
    "revises",
    "score",
    "sources",
]
"""A field of a fact that may join its metadata."""

EXPLANATION = "fact_explanation"
"""The name under which an explanation joins it."""

_ACCEPTED = get_args(FactField)
_INSTANTS = {"recorded_at", "valid_from", "valid_to", "expires_at"}


def check_include(value: object) -> list[FactField]:
    """Return the names of fields to include.

    Raises:
        InvalidInputError: It is no list of such names.
    """
    names = list(value) if isinstance(value, Collection) and not isinstance(value, str) else None
    if names is None or not all(name in _ACCEPTED for name in names):
        raise InvalidInputError(
            f"include is {value!r}; give a list of names among {', '.join(_ACCEPTED)}"
        )
    return names


def visible(metadata: Metadata) -> Metadata:
    """Return what callers gave as metadata: all of it but the reserved keys.

    >>> visible({"source": "handbook", "_plugmem_node": {}})
    {'source': 'handbook'}
    """
    return {key: value for key, value in metadata.items() if not key.startswith(RESERVED)}


def included_fields(fact: Fact | RecalledFact, include: Iterable[str]) -> dict[str, Any]:
    """Return fields of a fact under `fact_` and their name.

    Instants are ISO-8601 text, tuples are lists, and what is missing is `None`.
    """
    return {f"fact_{name}": _plain(name, getattr(fact, name)) for name in include}


def plain_explanation(explained: FactExplanation) -> dict[str, Any]:
    """Return where a fact's score comes from, as plain JSON."""
    return {
        "score": explained.score,
        "boost": explained.boost,
        "evidence": [evidence._asdict() for evidence in explained.evidence],
    }


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if name in _INSTANTS and value is not None:
        return to_datetime(value).isoformat()
    return value
