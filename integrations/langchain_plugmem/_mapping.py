"""Facts as LangChain documents: the whole mapping is written down here.

| document       | fact                                                  |
|----------------|-------------------------------------------------------|
| `page_content` | `text`, verbatim                                      |
| `id`           | `key`, or the decimal id of a fact without one        |
| `metadata`     | `metadata`, as stored, with nothing added unasked     |

Asked for, the fact's own fields join the metadata under `fact_` and their name, each
on every document: instants as ISO-8601 text, tuples as lists, `None` for what is
missing. So a prompt may name them, and the whole survives JSON.
"""

from collections.abc import Collection, Iterable
from typing import Any, Literal, get_args

from langchain_core.documents import Document

from plugmem_core import FactExplanation, InvalidInputError, RecalledFact, RecallResult
from plugmem_core.clock import to_datetime

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
"""A field of a fact that may join the metadata of its document."""

_ACCEPTED = get_args(FactField)
_INSTANTS = {"recorded_at", "valid_from", "valid_to", "expires_at"}


def check_include(value: object) -> list[str]:
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


def to_documents(result: RecallResult, include: Iterable[str]) -> list[Document]:
    """Return the facts of a recall as documents, best first.

    An explained recall brings `fact_explanation` along: where the score comes from.
    """
    documents = [_to_document(fact, include) for fact in result.facts]
    if result.explanation is not None:
        for document, explained in zip(documents, result.explanation.facts, strict=True):
            document.metadata["fact_explanation"] = _plain_explanation(explained)
    return documents


def _to_document(fact: RecalledFact, include: Iterable[str]) -> Document:
    fields = {f"fact_{name}": _plain(name, getattr(fact, name)) for name in include}
    return Document(
        id=str(fact.id) if fact.key is None else fact.key,
        page_content=fact.text,
        metadata=fact.metadata | fields,
    )


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if name in _INSTANTS and value is not None:
        return to_datetime(value).isoformat()
    return value


def _plain_explanation(explained: FactExplanation) -> dict[str, Any]:
    return {
        "score": explained.score,
        "boost": explained.boost,
        "evidence": [evidence._asdict() for evidence in explained.evidence],
    }
