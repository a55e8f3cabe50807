"""From what an extractor found to memories, entities and edges."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from plugmem_core.errors import InvalidInputError
from plugmem_core.extraction.protocol import Graph, canonical
from plugmem_core.inputs import check_metadata
from plugmem_core.model import RESERVED
from plugmem_core.service.arguments import check_label
from plugmem_core.service.config import ServiceConfig
from plugmem_core.service.draft import Draft, entity_text
from plugmem_core.service.identity import ABOUT, MENTIONS, is_reserved
from plugmem_core.text import check_text

_ANY_SIZE = 2**31  # the limit is on all attributes of an entity together


@dataclass(slots=True)
class Wires:
    """A graph after its rules: names in their one spelling, and nothing that breaks a rule.

    Attributes:
        facts: Texts without space around them, and the names they are about.
        relations: Subject, predicate, object.
        attributes: Keys and values by name; of two values the last counts.
        skipped: Facts that were too long.
        dropped: Topics, relations and attributes that broke a rule.
    """

    facts: list[tuple[str, list[str]]] = field(default_factory=list)
    relations: list[tuple[str, str, str]] = field(default_factory=list)
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: int = 0
    dropped: int = 0

    def about(self, draft: Draft, memory: int, topics: Iterable[str]) -> None:
        """Plan the edges between a memory and what it is about, in both directions."""
        for name in topics:
            entity = draft.entity(name)
            draft.link(memory, entity, ABOUT)
            draft.link(entity, memory, MENTIONS)

    def entities(self, draft: Draft) -> None:
        """Plan the edges between entities, as stated, and their attributes."""
        for subject, predicate, target in self.relations:
            draft.link(draft.entity(subject), draft.entity(target), predicate)
        for name, attributes in self.attributes.items():
            draft.describe(name, attributes)


def untangle(graph: Graph, config: ServiceConfig) -> Wires:
    """Return what of a graph can be stored.

    A topic needs a letter or a digit, a relation a predicate that could be a label, and any
    name a text that could be an entity's. Reserved keys are no attributes.
    """
    wires = Wires()
    for fact in graph.facts:
        text = fact.text.strip()
        if len(text.encode(errors="replace")) > config.max_fact:
            wires.skipped += 1
        elif text:
            topics = [name for name in fact.topics if _is_topic(name, config)]
            wires.dropped += len(fact.topics) - len(topics)
            wires.facts.append((text, list(dict.fromkeys(map(canonical, topics)))))
    for subject, predicate, target in graph.relations:
        named = _is_name(subject, config) and _is_name(target, config)
        if named and _is_label(predicate, config):
            wires.relations.append((canonical(subject), predicate, canonical(target)))
        else:
            wires.dropped += 1
    for entity, key, value in graph.attributes:
        if _is_name(entity, config) and _is_attribute(key, value):
            wires.attributes.setdefault(canonical(entity), {})[key] = value
        else:
            wires.dropped += 1
    return wires


def _is_topic(name: str, config: ServiceConfig) -> bool:
    return any(character.isalnum() for character in name) and _is_name(name, config)


def _is_name(name: str, config: ServiceConfig) -> bool:
    try:
        check_text(entity_text(name), "name", max_bytes=config.max_fact)
    except InvalidInputError:
        return False
    return bool(canonical(name))


def _is_label(predicate: str, config: ServiceConfig) -> bool:
    try:
        check_label(predicate, config.max_label)
    except InvalidInputError:
        return False
    return True


def _is_attribute(key: str, value: Any) -> bool:
    if key.startswith(RESERVED) or is_reserved(key):
        return False
    try:
        check_metadata({key: value}, "attribute", max_bytes=_ANY_SIZE)
    except InvalidInputError:
        return False
    return bool(key.strip())
