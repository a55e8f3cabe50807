"""Names that are known beforehand, found in prose by one walk over its words."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from plugmem_core.errors import WrongTypeError, shown
from plugmem_core.extraction.prose.lexemes import Lexeme, lex
from plugmem_core.extraction.prose.words import STARTERS
from plugmem_core.text import entity_key, tokenize

KNOWN = "known"
"""The kind of a known name that was given without one."""

_NAME = None
"""Where the tree holds the name that ends there; no word is `None`."""


class _Entry(NamedTuple):
    name: str
    kind: str
    capital: bool  # a single word that has to be capitalised in the text, too


class KnownNames:
    """Names to look for, prepared once for many texts.

    Case, accents on Latin letters, hyphens and spaces do not tell names apart; other marks
    do: `C` is not `C++`. A single capitalised word is found only where it is capitalised, so
    that `Mark` is not found in "a mark". Of overlapping names the one that begins first is
    found, and of those the longest. Looking takes time linear in the length of the text,
    times that of the longest name, however many names there are.

    Args:
        names: The names, or a mapping from names to their kinds; the kind of a name alone
            is `"known"`.

    Attributes:
        kinds: The kind of each name.

    Raises:
        WrongTypeError: It is a `str`, or something in it is none.
        InvalidInputError: A name has no letter and no digit.

    >>> KnownNames({"green tea": "drink"}).find("Mara likes Green  Tea")
    [('green tea', 'drink', 11, 21)]
    """

    def __init__(self, names: Iterable[str] | Mapping[str, str] = ()) -> None:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise WrongTypeError(f"known is {shown(names)}; give a list of names")
        kinds = names if isinstance(names, Mapping) else dict.fromkeys(names, KNOWN)
        self.kinds = dict(kinds)
        self._tree: dict[str | None, Any] = {}
        for name, kind in kinds.items():
            if not isinstance(kind, str):
                raise WrongTypeError(f"known[{name!r}] is {shown(kind)}; give its kind as a str")
            self._add(name, kind)

    def find(self, text: str) -> list[tuple[str, str, int, int]]:
        """Return the names in a text, each with its kind, start and end, in order."""
        lexemes = lex(text)
        return [
            (name, kind, lexemes[first].start, lexemes[last].end)
            for name, kind, first, last in self.places(lexemes)
        ]

    def places(self, lexemes: list[Lexeme]) -> Iterator[tuple[str, str, int, int]]:
        """Yield each name with its kind and the places of its first and last lexeme."""
        if not self._tree:
            return
        folded = [_folded(lexeme) for lexeme in lexemes]
        place = 0
        while place < len(lexemes):
            found = self._longest(lexemes, folded, place)
            if found is None:
                place += 1
                continue
            entry, last = found
            yield entry.name, entry.kind, place, last
            place = last + 1

    def _add(self, name: str, kind: str) -> None:
        entity_key(name, "known")
        lexemes = lex(name)
        branch = self._tree
        for lexeme in lexemes:
            for step in _folded(lexeme):
                branch = branch.setdefault(step, {})
        capital = len(lexemes) == 1 and any(letter.isupper() for letter in name)
        # Spellings of one name are one name: the first is kept.
        branch.setdefault(_NAME, _Entry(name, kind, capital))

    def _longest(
        self, lexemes: list[Lexeme], folded: list[list[str]], place: int
    ) -> tuple[_Entry, int] | None:
        branch, best = self._tree, None
        for last in range(place, len(lexemes)):
            for step in folded[last]:
                branch = branch.get(step, {})
            if not branch:
                break
            entry: _Entry | None = branch.get(_NAME)
            if entry is not None and _fits(entry, lexemes, last):
                best = entry, last
        return best


def _folded(lexeme: Lexeme) -> list[str]:
    """Return the words of a lexeme as entity names have them, and what those do not see."""
    symbols = lexeme.text[len(lexeme.text.rstrip("+#")) :]
    words = tokenize(lexeme.text)
    return [*words, symbols] if symbols and words else words or [lexeme.text]


def _fits(entry: _Entry, lexemes: list[Lexeme], last: int) -> bool:
    if not entry.capital:
        return True
    word = lexemes[last].text
    begins = last == 0 or lexemes[last - 1].text in ".!?"
    plain = begins and word.lower() in STARTERS
    return any(letter.isupper() for letter in word) and not plain
