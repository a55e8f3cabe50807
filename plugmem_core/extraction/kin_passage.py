"""A folded passage, and where it mentions whom."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from plugmem_core.extraction.kin_nouns import fold

RELATIVES = "who whom whose which that where qui que dont"
PREPOSITIONS = (
    "with from in at of on to for by as like than "
    "avec de d du des à au aux en dans chez sur par pour"
)

_CONTINUED = "|".join(f"{RELATIVES} {PREPOSITIONS} and et or ou both all tous toutes".split())

_find_words = re.compile(r"\w+").finditer
_first_word = re.compile(r"\w+").match
_goes_on = re.compile(r"[\w-]").match
_separator = re.compile(r"\s*,\s*(?:(?:and|et)\s+|&\s*)?|\s+(?:and|et)\s+|\s*&\s*").match
_ends_item = re.compile(rf"\s*(?:$|[^\w\s'])|\s+(?:{_CONTINUED})\b").match


class Mention(NamedTuple):
    """A name where the text has it: `text[start:end]`."""

    start: int
    end: int
    name: str


class Passage:
    """A folded text with the mentions of some folded names; of overlapping ones, the longest.

    A name that is part of a compound, as "Anne" in "Anne-Marie", is not mentioned there.

    >>> passage = Passage("Lea, Anne-Marie & Tom", ["lea", "anne", "tom"])
    >>> [mention.name for mention in passage.mentions]
    ['lea', 'tom']
    """

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = fold(text)
        self.mentions = list(_mentions(self.text, names))
        self._starts = [mention.start for mention in self.mentions]

    def before(self, place: int) -> Mention | None:
        """Return the last mention before a place."""
        at = bisect_left(self._starts, place) - 1
        return self.mentions[at] if at >= 0 else None

    def after(self, place: int) -> Mention | None:
        """Return the first mention from a place on."""
        at = bisect_left(self._starts, place)
        return self.mentions[at] if at < len(self.mentions) else None

    def at(self, place: int) -> Mention | None:
        """Return the mention that begins at a place."""
        mention = self.after(place)
        return mention if mention and mention.start == place else None

    def listed(self, place: int) -> list[Mention]:
        """Return who is listed from a place on; nobody if no name, or an owner's, begins there.

        A list goes on over commas and "and" while the next one does not begin a clause of his
        own, as in "Lea and Mia, and Tom has".
        """
        listed: list[Mention] = []
        while (item := self.at(place)) and not self.text.startswith("'", item.end):
            if listed and not _ends_item(self.text, item.end):
                break
            listed.append(item)
            separator = _separator(self.text, item.end)
            if separator is None:
                break
            place = separator.end()
        return listed


def _mentions(text: str, names: Iterable[str]) -> Iterator[Mention]:
    known = set(names)
    lengths: dict[str, set[int]] = {}  # of the names that begin with a word
    for name in known:
        if word := _first_word(name):
            lengths.setdefault(word[0], set()).add(len(name))
    longest_first = {word: sorted(sizes, reverse=True) for word, sizes in lengths.items()}
    taken = 0
    for word in _find_words(text):
        start = word.start()
        if start < taken or text.endswith("-", 0, start):
            continue
        for length in longest_first.get(word[0], ()):
            end = start + length
            if text[start:end] in known and not _goes_on(text, end):
                yield Mention(start, end, text[start:end])
                taken = end
                break
