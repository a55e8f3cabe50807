"""Looking for properties of nodes and relations."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, EntityNode

from llama_index_plugmem._graph import DOCUMENT_KEYS, RECORD, Element
from plugmem_core.filters import MAX_DEPTH, parse_filter
from plugmem_core.inputs import check_type

Where = dict[str, Any]

PropertyMatch = Literal["all", "any"]
"""Whether an element must have all the properties asked for, or one of them."""

CROWDED: Where = {f"{RECORD}.crowded": {"$eq": True}}
"""A filter for elements that have more sources than are listed."""


class Properties:
    """Properties to look for, by value.

    Beside the properties as they are, `name` is also the name of an entity, `ref_doc_id`,
    `doc_id` and `document_id` the document of a chunk, and `triplet_source_id` any of the
    sources.

    Args:
        wanted: Values by name.
        match: Whether all of them are needed, or one.

    Attributes:
        by_source: Whether all sources of an element have to be known to tell.
    """

    def __init__(self, wanted: Mapping[str, Any], match: PropertyMatch) -> None:
        for name in wanted:
            check_type(name, str, "a name in properties", "a str")
        self._wanted = wanted
        self._holds = {name: parse_filter({"is": {"$eq": one}}) for name, one in wanted.items()}
        self._all = match == "all"
        self.by_source = TRIPLET_SOURCE_KEY in wanted

    def conditions(self) -> list[Where]:
        """Return filters that every element with the properties passes, and few others."""
        filters = [_condition(name, value) for name, value in self._wanted.items()]
        known = [one for one in filters if one is not None]
        if self._all:
            return known
        return [{"$or": known}] if len(known) == len(filters) else []

    def match(self, element: Element) -> bool:
        """Whether an element has the properties."""
        hits = (
            any(holds.matches({"is": value}) for value in _values(element, name))
            for name, holds in self._holds.items()
        )
        return all(hits) if self._all else any(hits)


def from_source(source: str) -> Where:
    """Return a filter for elements that list a source."""
    return {f"{RECORD}.sources": {"$contains": source}}


def _condition(name: str, value: Any) -> Where | None:
    """Return a filter for a property; `None` for a name that filters cannot say."""
    if name.startswith("$") or name.count(".") >= MAX_DEPTH:
        return None
    either: list[Where] = [{name: {"$eq": value}}]
    if name == "name":
        either.append({f"{RECORD}.name": {"$eq": value}})
    if name in DOCUMENT_KEYS:
        either.append({f"{RECORD}.document": {"$eq": value}})
    if name == TRIPLET_SOURCE_KEY:
        either += [from_source(value), CROWDED]
    return {"$or": either}


def _values(element: Element, name: str) -> Iterator[Any]:
    """Yield what an element has under the name of a property."""
    shown = element.shown
    if name in shown.properties:
        yield shown.properties[name]
    if name == "name" and isinstance(shown, EntityNode):
        yield shown.name
    if name in DOCUMENT_KEYS and element.document is not None:
        yield element.document
    if name == TRIPLET_SOURCE_KEY:
        yield from element.sources
