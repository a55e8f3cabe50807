"""`Checked`: arguments that come again and again among the facts of one call, checked once."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from plugmem_core.config import MemoryConfig
from plugmem_core.inputs import (
    Link,
    check_links,
    check_name,
    check_namespace,
    check_tag,
    check_tags,
)
from plugmem_core.model import Namespace
from plugmem_core.store import dump_json
from plugmem_core.store.writes import Name


class Checked:
    """Checks names, tags, links and namespaces as `inputs` does, and remembers what was right.

    Only plain texts in plain lists and tuples are looked up; whatever else may equal them is
    checked every time.

    Args:
        config: With the limits.
    """

    def __init__(self, config: MemoryConfig) -> None:
        self._most_tags, self._most_links = config.max_tags, config.max_links
        self._names: dict[str, Name] = {}
        self._relations: set[str] = set()
        self._tags: dict[str, str] = {}  # as JSON
        self._namespaces: dict[Namespace, str] = {(): "[]"}

    def name(self, value: object, argument: str) -> Name:
        """Return an entity's name and its key."""
        known = self._names.get(value) if type(value) is str else None
        return known or self._learned(check_name(value, argument))

    def links(self, values: Iterable[Link]) -> list[tuple[str, Name]]:
        """Return links as relations and the names and keys they lead to."""
        if _is_plain(values) and len(values) <= self._most_links:
            known = [self._known_link(link) for link in values]
            if None not in known:
                return known  # type: ignore[return-value] # none of them is None
        links = check_links(values, most=self._most_links)
        for relation, target in links:
            self._learned(target)
            if type(relation) is str:
                self._relations.add(relation)
        return links

    def tags(self, values: Iterable[str]) -> str | None:
        """Return tags without repeats as a row holds them; none are null."""
        if not _is_plain(values) or len(values) > self._most_tags:
            return _joined(map(dump_json, check_tags(values, most=self._most_tags)))
        return _joined([self._tag(tag, place) for place, tag in enumerate(values)])

    def _tag(self, value: object, place: int) -> str:
        known = self._tags.get(value) if type(value) is str else None
        if known is None:
            tag = check_tag(value, f"tags[{place}]")
            known = dump_json(tag)
            if type(tag) is str:
                self._tags[tag] = known
        return known

    def namespace(self, value: Any) -> str:
        """Return a namespace as a row holds it."""
        if type(value) is not tuple or not all(type(label) is str for label in value):
            return dump_json(check_namespace(value))
        known = self._namespaces.get(value)
        if known is None:
            known = self._namespaces[value] = dump_json(check_namespace(value))
        return known

    def _known_link(self, link: Any) -> tuple[str, Name] | None:
        if type(link) is not tuple or len(link) != 2:
            return None
        relation, target = link
        if type(relation) is not str or type(target) is not str:
            return None
        name = self._names.get(target)
        return (relation, name) if name and relation in self._relations else None

    def _learned(self, name: Name) -> Name:
        if type(name[0]) is str:
            self._names[name[0]] = name
        return name


def _is_plain(values: object) -> TypeGuard[Sequence[Any]]:
    return type(values) is list or type(values) is tuple


def _joined(spelled: Iterable[str]) -> str | None:
    joined = ",".join(dict.fromkeys(spelled))
    return f"[{joined}]" if joined else None
