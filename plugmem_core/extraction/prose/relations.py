"""What the words between two names say about them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from plugmem_core.extraction.prose.lexemes import Lexeme, Sentence
from plugmem_core.extraction.prose.names import after_adverbs, is_verb
from plugmem_core.extraction.prose.words import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    BREAKERS,
    CLAUSAL,
    CONDITIONS,
    CONJUNCTIONS,
    COPULAS,
    DOUBTING,
    GIVING,
    NEGATIONS,
    PLACING,
    PREPOSITIONS,
    REPORTS,
    SOME_ONE,
    UNTRUE,
)

MAX_BETWEEN = 5
"""Most words between two names that relate them."""

MAX_WORD = 40
"""Most characters of such a word."""

_GIVEN = frozenset(verb.upper() for verb in GIVING)

_OPEN = DOUBTING | REPORTS
_UNSURE = NEGATIONS | _OPEN

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

    Questions and conditions say nothing, nor does what is denied, doubted or reported.
    """
    at = 0
    for sentence in sentences:
        first = at
        while at < len(spots) and spots[at].first < sentence.stop:
            at += 1
        named = spots[first:at]
        if len(named) > 1 and sentence.end not in ("?", "？"):
            words = _plain_words(lexemes, sentence, named)
            if CONDITIONS.isdisjoint(words) and words[0] not in AUXILIARIES:
                yield from _within(lexemes, named, _Certainty(words, sentence.first))


def _plain_words(lexemes: list[Lexeme], sentence: Sentence, spots: Sequence[Spot]) -> list[str]:
    """Return the words and marks of a sentence in small letters; names are left blank."""
    words = [
        lexeme.text.lower().replace("’", "'") for lexeme in lexemes[sentence.first : sentence.stop]
    ]
    for spot in spots:
        for place in range(max(spot.first, sentence.first), min(spot.last + 1, sentence.stop)):
            words[place - sentence.first] = ""
    return words


class _Certainty:
    """Which clauses of a sentence are said to be so, by the words before and behind them.

    Args:
        words: The words of the sentence.
        start: The place of the first one.
    """

    def __init__(self, words: list[str], start: int) -> None:
        self._words = words
        self._start = start
        # Whether each word follows one that leaves open, or denies, what comes then.
        self._unsure = [False]
        for before, word in pairwise(["", *words]):
            turned = (before, word) == (",", "but")
            self._unsure.append(not turned and (self._unsure[-1] or word in _UNSURE))
        self._taken_back = max((at for at, word in enumerate(words) if word in UNTRUE), default=-1)

    def of(self, source: Spot, target: Spot) -> bool:
        """Whether what relates two names is said to be so."""
        first, behind = max(source.first - self._start, 0), target.last + 1 - self._start
        aside = self._words[behind : behind + MAX_BETWEEN + 1]
        reported = (
            aside[:1] == [","]
            and CONJUNCTIONS.isdisjoint(aside[1:2])
            and not _OPEN.isdisjoint(aside)
        )
        return not (self._unsure[first] or reported or self._taken_back >= behind)


def _within(
    lexemes: list[Lexeme], spots: Sequence[Spot], certainty: _Certainty
) -> Iterator[tuple[str, str, str]]:
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
            subject = actor
            if certainty.of(source, target):
                yield actor, label, target.name
        before = label


def _said(between: list[Lexeme], *, lone: bool) -> str | None:
    words = _texts(between)
    label = _possession(between) or _apposition(words) or _action(words)
    # In "works at Acme in Bern" it may be the work or Acme that is in Bern.
    return _placing(words) if label is None and lone else label


def _texts(lexemes: list[Lexeme]) -> list[str]:
    return [lexeme.text for lexeme in lexemes]


def _action(words: list[str]) -> str | None:
    """`works at`, `is the mother of`, `has never visited`, `no longer works at`."""
    first = next(iter(after_adverbs(words)), "")
    if first in CLAUSAL or not DOUBTING.isdisjoint(words):
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
    if not described or any(word in PREPOSITIONS or word in NEGATIONS for word in noun):
        return None
    if copula:
        return None if not COPULAS.isdisjoint(noun) else _label(["has", *noun])
    # "Anna's leaving Globex", "Anna's only Bob": she is.
    is_doing = noun[-1].endswith("ing") and noun[-1] not in SOME_ONE
    return None if is_doing or noun[-1] in ADVERBS else _label(["has", *noun])


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
