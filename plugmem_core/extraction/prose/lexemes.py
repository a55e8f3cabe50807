"""Prose as words and marks with their places, and where its sentences end."""

import re
from typing import Literal, NamedTuple

from plugmem_core.extraction.prose.words import ABBREVIATIONS, STARTERS

Kind = Literal["word", "possessive", "address", "mark"]

# Scripts written without spaces: each character is a word, so that names are found inside.
_UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
_PART = rf"(?:[^\W_{_UNSPACED}][\u0300-\u036f]*)+"
_JOINER = (
    r"(?:[-‐‑&_](?=[^\W_])"
    r"|['’](?=[^\W_])(?!s(?![^\W_]))"  # O'Brien, but not the possessive of Mara's
    r"|\.(?=[a-z])|(?<=[A-Z])\.(?=[A-Z])"  # node.js, U.S
    r"|(?<=\d)[.,](?=\d))"
)
_find_lexemes = re.compile(
    # What stands behind "@" begins with a letter, or each of many marks would look to their end.
    r"(?P<address>(?:(?:https?://|www\.)\S*|[\w.+-]{1,64}@(?=[^\W_])\S*)[^\W_]/?)"
    r"|(?P<possessive>['’]s(?![^\W_]))"
    rf"|(?P<word>{_PART}(?:{_JOINER}{_PART})*(?:(?:\+\+|\#)(?![^\W_]))?|[{_UNSPACED}])"
    r"|(?P<mark>\S)"
).finditer

_ENDS = frozenset("!?…。！？;；")
_WRAPPED = 50
"""A line of so many characters was broken because it was full, not because a sentence ended."""


class Lexeme(NamedTuple):
    """A word, the `'s` of a possessive, an address or a mark, and its place in the text."""

    text: str
    start: int
    end: int
    kind: Kind


class Sentence(NamedTuple):
    """The lexemes from `first` to before `stop`; `end` is what ended them, as one character."""

    first: int
    stop: int
    end: str


def lex(text: str) -> list[Lexeme]:
    """Return the lexemes of a text, in order; only whitespace is left out."""
    return [
        Lexeme(found[0], found.start(), found.end(), found.lastgroup)  # type: ignore[arg-type] # the groups are the kinds
        for found in _find_lexemes(text)
    ]


def split_sentences(text: str, lexemes: list[Lexeme]) -> list[Sentence]:
    """Return the sentences; a heading or an item of a list is one, too."""
    sentences: list[Sentence] = []
    first = 0
    line = 0  # where the line of the lexeme begins
    for place, lexeme in enumerate(lexemes):
        following = lexemes[place + 1] if place + 1 < len(lexemes) else None
        if following is None:
            sentences.append(Sentence(first, place + 1, lexeme.text[-1]))
            break
        gap = text[lexeme.end : following.start]
        end = _mark_end(lexemes, place, gap) or _line_end(lexeme, following, gap, line)
        if end:
            sentences.append(Sentence(first, place + 1, end))
            first = place + 1
        if "\n" in gap:
            line = following.start
    return sentences


def is_initial(word: str) -> bool:
    """Return whether a full stop after the word may shorten it: `J`, `J.R`, `Dr`."""
    letters = word.split(".")
    return word.lower() in ABBREVIATIONS or all(len(one) == 1 and one.isupper() for one in letters)


def _mark_end(lexemes: list[Lexeme], place: int, gap: str) -> str:
    mark, following = lexemes[place], lexemes[place + 1]
    if mark.kind != "mark":
        return ""
    if mark.text in _ENDS or (mark.text == ":" and gap):
        return mark.text
    if mark.text != "." or not (gap or following.kind == "mark"):
        return ""
    if following.text[0].islower():
        return ""
    before = lexemes[place - 1] if place else mark
    shortened = before.end == mark.start and is_initial(before.text)
    return "" if shortened and following.text.lower() not in STARTERS else "."


def _line_end(lexeme: Lexeme, following: Lexeme, gap: str, line: int) -> str:
    breaks = gap.count("\n")
    wrapped = lexeme.end - line >= _WRAPPED and following.kind == "word"
    return "\n" if breaks > 1 or (breaks and not wrapped) else ""
