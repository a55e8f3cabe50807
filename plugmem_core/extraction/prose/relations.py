"""What the words between two names say about them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from plugmem_core.extraction.prose.lexemes import Lexeme, Sentence
from plugmem_core.extraction.prose.names import is_verb
from plugmem_core.extraction.prose.words import (
    ADVERBS,
    ARTICLES,
    BREAKERS,
    CONDITIONS,
    COPULAS,
    GIVING,
    PLACING,
    PREPOSITIONS,
    SAYING,
)

MAX_BETWEEN = 5
"""Most words between two names that relate them."""

MAX_WORD = 40
"""Most characters of such a word."""

_GIVEN = frozenset(verb.upper() for verb in GIVING)

_no_label = re.compile(r"[^\w]+")


class Spot(NamedTuple):
    """A name in its sentence: the places of its first and last lexeme."""

    name: str
    first: int
    last: int
    acts: bool  # whether it may do something; a date does not


def find_relations(
    lexemes: list[Lexeme], sentences: Sequence[Sentence], spots: Sequence[Spot]
) -> Iterator[tuple[str, str, str]]:
    """Yield what each sentence says about neighbouring names, as (source, label, target).

    Questions and conditions say nothing.
    """
    at = 0
    for sentence in sentences:
        first = at
        while at < len(spots) and spots[at].first < sentence.stop:
            at += 1
        if at - first > 1 and _asserts(lexemes, sentence):
            yield from _within(lexemes, spots[first:at])


def _asserts(lexemes: list[Lexeme], sentence: Sentence) -> bool:
    words = (lexeme.text.lower() for lexeme in lexemes[sentence.first : sentence.stop])
    return sentence.end not in ("?", "？") and CONDITIONS.isdisjoint(words)


def _within(lexemes: list[Lexeme], spots: Sequence[Spot]) -> Iterator[tuple[str, str, str]]:
    subject: str | None = None  # who does what follows "and"
    before: str | None = None  # how the source of a pair is related to the name before it
    for source, target in pairwise(spots):
        between = lexemes[source.last + 1 : target.first]
        governed = source.first > 0 and lexemes[source.first - 1].text.lower() in PREPOSITIONS
        label, actor = None, source.name
        if source.acts and not governed and before not in _GIVEN:
            label = _said(between, lone=before is None)
        if label is None and subject is not None and between and between[0].text == "and":
            label, actor = _action(_texts(between[1:])), subject
        if label is not None and actor != target.name:
            yield actor, label, target.name
            subject = actor
        before = label


def _said(between: list[Lexeme], *, lone: bool) -> str | None:
    words = _texts(between)
    label = _possession(between) or _apposition(words) or _action(words)
    # In "works at Acme in Bern" it may be the work or Acme that is in Bern.
    return _placing(words) if label is None and lone else label


def _texts(lexemes: list[Lexeme]) -> list[str]:
    return [lexeme.text for lexeme in lexemes]


def _action(words: list[str]) -> str | None:
    """`works at`, `is the mother of`, `has never visited`."""
    first = next((word for word in words if word not in ADVERBS), "")
    if first in SAYING:
        return None
    said = words[:-1] if words[-1:] and words[-1] in ARTICLES else words
    return _label(said) if is_verb(first) and _plain(words) else None


def _placing(words: list[str]) -> str | None:
    return _label(words) if len(words) == 1 and words[0] in PLACING else None


def _possession(between: list[Lexeme]) -> str | None:
    """`Mara's older sister is Ines`, `Mara's sister Ines`."""
    if not between or between[0].kind != "possessive":
        return None
    words = _texts(between[1:])
    copula = words[-1:] != [] and words[-1] in COPULAS
    noun = words[:-1] if copula else words
    described = 1 <= len(noun) <= (3 if copula else 1) and _plain(noun)
    verbs = [word for word in noun if word in PREPOSITIONS or (copula and word in COPULAS)]
    return _label(["has", *noun]) if described and not verbs else None


def _apposition(words: list[str]) -> str | None:
    """`Mara, the sister of Ines`."""
    described = words[:1] == [","] and words[1:2] != [] and words[1] in ARTICLES
    if described and words[-1] == "of" and _plain(words[1:]):
        return _label(["is", *words[1:]])
    return None


def _plain(words: list[str]) -> bool:
    return 1 <= len(words) <= MAX_BETWEEN and all(
        word.islower() and word[0].isalpha() and len(word) <= MAX_WORD and word not in BREAKERS
        for word in words
    )


def _label(words: list[str]) -> str:
    return _no_label.sub("_", "_".join(words)).strip("_").upper()
