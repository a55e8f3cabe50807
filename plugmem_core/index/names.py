"""Entity names: which entities a name leads to, and which names a text mentions."""

from collections.abc import Iterable, Sequence

from plugmem_core.index.lines import EdgeLines
from plugmem_core.index.soundness import RowsById
from plugmem_core.kernels import NameFinder, names_in
from plugmem_core.store import AliasRow, EntityRow, NewNames
from plugmem_core.text import STOP_WORDS, tokenize

MOST_TOKENS = 64
"""Longest name that a text is searched for; it bounds what is looked at for each token."""


class EntityNames:
    """Keys of entities and aliases, each leading to an entity per namespace.

    Attributes:
        shown: Display name and namespace of every entity, by id.
        lines: Of edges between them.
        end: The id after the last of them.
    """

    def __init__(self) -> None:
        self._entities: dict[str, dict[int, int]] = {}  # key -> namespace -> entity
        self._longest: dict[str, int] = {}  # first token of a key -> most tokens of such a key
        self._titles: list[tuple[str, str, int, int]] = []  # what ends in brackets
        self._finder: NameFinder | None = None  # made when it is first asked
        # entity -> display name, namespace
        self.shown: dict[int, tuple[str, int]] = RowsById("entity")
        self.lines = EdgeLines()
        self.end = 0

    def update(self, entities: Iterable[EntityRow], aliases: Iterable[AliasRow]) -> bool:
        """Take in rows; `False` when a known entity changed and all must be read again."""
        for row in entities:
            if row.id < self.end:
                return False
            self._add(row.key, row.name, row.namespace, row.id)
            self.shown[row.id] = row.name, row.namespace
            self.end = row.id + 1
        for alias in aliases:
            if self.find(alias.key, alias.namespace) not in (None, alias.entity):
                return False  # what had the name was merged into another
            self._add(alias.key, alias.name, alias.namespace, alias.entity)
        return True

    def finders(self, new: NewNames | None = None) -> list[NameFinder]:
        """Return what finds names in texts: those known, and some that are not yet."""
        known = [] if new and new.are_all else [self._known_finder()]
        if new and (new.entities or new.aliases):
            fresh = NameFinder()
            for row in new.entities:
                _add_name(fresh, row.key, row.name, row.namespace, row.id)
            for alias in new.aliases:
                _add_name(fresh, alias.key, alias.name, alias.namespace, alias.entity)
            known.append(fresh)
        return known

    def find(self, key: str, namespace: int) -> int | None:
        """Return the entity a key leads to within one namespace."""
        return self._entities.get(key, {}).get(namespace)

    def resolve(self, key: str, mask: bytes | None) -> list[int]:
        """Return the entities a key leads to in the visible namespaces, oldest first."""
        found = self._entities.get(key)
        if not found:
            return []
        if mask is None:
            return sorted(found.values())
        return sorted(entity for space, entity in found.items() if mask[space])

    def mentions(self, tokens: Sequence[str], mask: bytes | None) -> list[int]:
        """Return the entities whose names occur in a token sequence, the longest name first.

        A name may be in the English genitive: `mara's` mentions Mara.
        """
        found: list[int] = []
        position = 0
        while position < len(tokens):
            first = tokens[position]
            longest = max(self._longest.get(first, 0), _without_genitive(first) in self._longest)
            step = 1
            for length in range(min(longest, len(tokens) - position), 0, -1):
                name = " ".join(tokens[position : position + length])
                entities = self.resolve(name, mask) or self.resolve(_without_genitive(name), mask)
                if entities:
                    found += entities
                    step = length
                    break
            position += step
        return found

    def named(self, tokens: Sequence[str], mask: bytes | None) -> list[int]:
        """Return the entities that a text names, in the order met.

        Other than for `mentions`, a title is met by its bare name, too, and a name counts for
        nothing that is only a word such as "it", or a number.
        """
        return names_in(self.finders(), " ".join(tokens), mask)

    def _known_finder(self) -> NameFinder:
        if self._finder is None:
            finder = NameFinder()
            for key, holders in self._entities.items():
                for space, entity in holders.items():
                    _add_name(finder, key, "", space, entity)
            for title in self._titles:
                _add_name(finder, *title)
            self._finder = finder  # only now: other threads may ask meanwhile
        return self._finder

    def _add(self, key: str, name: str, namespace: int, entity: int) -> None:
        if name.endswith(")"):
            self._titles.append((key, name, namespace, entity))
        if self._finder is not None:
            _add_name(self._finder, key, name, namespace, entity)
        self._entities.setdefault(key, {})[namespace] = entity
        tokens = key.split(" ")
        self._longest[tokens[0]] = max(self._longest.get(tokens[0], 0), len(tokens))


def _add_name(finder: NameFinder, key: str, name: str, namespace: int, entity: int) -> None:
    """Add a name, and also without what it says in brackets, as in "Ed Wood (film)"."""
    keys = [key]
    if name.endswith(")"):
        keys.append(" ".join(tokenize(name[: name.rfind("(")])))
    for one in keys:
        if not _is_everywhere(one) and one.count(" ") < MOST_TOKENS:
            finder.add(one, namespace, entity)


def _is_everywhere(key: str) -> bool:
    # A number or such a word would be met in every other text.
    return key == "" or key.isdecimal() or key in STOP_WORDS["english"]


def _without_genitive(name: str) -> str:
    return name.removesuffix("'s").removesuffix("’s")
