"""Which of the known names a text has."""

import re
from collections.abc import Iterable, Mapping

_words = re.compile(r"\w+").findall
_ending = re.compile(r"\s*\([^)]*\)$")


class Names:
    """Names to look for, with what is in parentheses at their end or without.

    >>> Names(["Tarn (lake)", "Otter Falls"]).find("From Otter falls to the TARN, tarn!")
    ['Otter Falls', 'Tarn (lake)']
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[tuple[str, ...], str] = {}
        every = list(dict.fromkeys(names))
        for spelling in (every, [_ending.sub("", name) for name in every]):
            for name, spelled in zip(every, spelling, strict=True):
                words = words_of(spelled)
                if words:
                    self._names.setdefault(words, name)
        self._longest = max(map(len, self._names), default=0)

    def find(self, text: str) -> list[str]:
        """Return the names that a text has as whole words, in any case, in its order."""
        return mentioned(text, self._names, self._longest)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case."""
    return tuple(_words(text.lower()))


def mentioned(text: str, names: Mapping[tuple[str, ...], str], longest: int) -> list[str]:
    """Return the names that a text has as whole words, in any case, in its order.

    Args:
        text: Where to look.
        names: By their words.
        longest: Words of the longest name.
    """
    words = words_of(text)
    spans = (
        words[start:end]
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    )
    return list(dict.fromkeys(names[span] for span in spans if span in names))
