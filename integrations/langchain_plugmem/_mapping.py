"""Documents and facts: the whole mapping is written down here.

| document                    | fact                                                  |
|-----------------------------|-------------------------------------------------------|
| `page_content`              | `text`, verbatim                                      |
| `id`                        | `key`, or the decimal id of a fact without one        |
| `metadata`                  | `metadata`, as stored, with nothing added unasked     |
| `metadata["fact_entity"]`   | `entity` as well: a name                              |
| `metadata["fact_tags"]`     | `tags` as well: a list of labels                      |
| `metadata["fact_links"]`    | `links` as well: a list of `(relation, target)` pairs |
| `metadata["fact_valid_from"]` | `valid_from` as well: an instant                    |

The last four keys can be called otherwise, or left out of account, with a
`DocumentMapping`. They stay in the metadata, so every document comes back as it was; a
value of `None` says nothing.

Asked for, the fact's own fields join the metadata under `fact_` and their name, each
on every document: instants as ISO-8601 text, tuples as lists, `None` for what is
missing. So a prompt may name them, and the whole survives JSON. Keys that begin with
`_plugmem_` belong to other adapters and are not shown.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.documents import Document

from plugmem_core import (
    Fact,
    Memory,
    Namespace,
    PlugmemError,
    RecalledFact,
    RecallResult,
    TooLargeError,
    WrongTypeError,
)
from plugmem_core.adapters.documents import document_id
from plugmem_core.adapters.fields import EXPLANATION, included_fields, plain_explanation, visible
from plugmem_core.adapters.mapping import FieldKeys


class DocumentMapping(FieldKeys):
    """Which keys of a document's metadata say more than metadata does.

    Attributes:
        entity: The key under which a document names its subject.
        tags: The key of its labels, a list.
        links: The key of its `(relation, target)` pairs, edges from the subject.
        valid_from: The key of the instant at which it became true: ISO-8601 text or Unix
            milliseconds.
        subjects: The keys of which the first that has a name gives the subject, where `entity`
            says nothing: who speaks, or the title or heading that a text stands under. So
            facts that mention that name lead to it. `()` switches that off.

    `None` switches one off. All of them stay in the metadata, too.

    >>> mapping = DocumentMapping(entity="speaker", tags="topics")
    >>> document = Document("Tea is ready", metadata={"speaker": "Mara", "topics": ["tea"]})
    >>> mapping.fields_of(document)
    {'entity': 'Mara', 'tags': ['tea']}
    """

    def fields_of(self, document: Document) -> dict[str, Any]:
        """Return what the metadata says of the fact, by the names of `Memory.remember`."""
        return self.said_in(document.metadata)


def store_documents(
    memory: Memory, documents: Sequence[Document], mapping: DocumentMapping, namespace: Namespace
) -> list[str]:
    """Store documents in one transaction; the links end of those that are replaced.

    Returns:
        The id of each, made up where there is none.

    Raises:
        InvalidInputError: A document cannot be a fact; it is named, and nothing was stored.
    """
    ids = [str(uuid4()) if one.id is None else one.id for one in documents]
    facts = [
        {
            **mapping.fields_of(document),
            "text": document.page_content,
            "metadata": document.metadata,
            "key": key,
            "namespace": namespace,
        }
        for key, document in zip(ids, documents, strict=True)
    ]
    try:
        memory.write(remember=facts, unlink=True)
    except PlugmemError as error:
        if error.place is None:
            raise
        raise _about(documents[error.place], error.place, error, mapping) from error
    return ids


def _about(
    document: Document, place: int, error: PlugmemError, mapping: DocumentMapping
) -> PlugmemError:
    """Return an error of a fact as one of the document it was to be made of."""
    name = f"document {place}" if document.id is None else f"document {document.id!r}"
    problem = str(error.__cause__)
    field = re.split(r"\W", problem, maxsplit=1)[0]
    key = dict(mapping).get(field)
    if key is not None:
        name += f": metadata {key!r}"
    if field == "text" and isinstance(error, TooLargeError):
        problem += ", for example with RecursiveCharacterTextSplitter of langchain-text-splitters"
    if field == "metadata" and isinstance(error, WrongTypeError):
        problem += ", and dates as ISO-8601 text"
    return type(error)(f"{name}: {problem}")


def to_documents(result: RecallResult, include: Iterable[str]) -> list[Document]:
    """Return the facts of a recall as documents, best first.

    An explained recall brings `fact_explanation` along: where the score comes from.
    """
    documents = [to_document(fact, include) for fact in result.facts]
    if result.explanation is not None:
        for document, explained in zip(documents, result.explanation.facts, strict=True):
            document.metadata[EXPLANATION] = plain_explanation(explained)
    return documents


def to_document(fact: Fact | RecalledFact, include: Iterable[str] = ()) -> Document:
    """Return a fact as a document."""
    fields = included_fields(fact, include)
    return Document(
        id=document_id(fact),
        page_content=fact.text,
        metadata=visible(fact.metadata) | fields,
    )
