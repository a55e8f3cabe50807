"""English and French nouns of kinship, as data, and how text is folded to find them."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

OLDER, PEER, YOUNGER = 1, 0, -1
"""Whether whom a noun names is of an older generation than whose they are, or of the same."""

_MALE, _FEMALE, _EITHER = "m", "f", "mf"

# A hyphen is where a form may be one word, two, or joined by a hyphen. A plural in "s", and the
# French "beaux" and "neveux", need no form of their own.
_NOUNS = (
    # canonical noun, generation, sex, French forms, English forms
    ("père", OLDER, _MALE, "père papa", "father dad"),
    ("mère", OLDER, _FEMALE, "mère maman", "mother mum mom"),
    ("parent", OLDER, _EITHER, "parent", "parent"),
    ("grand-père", OLDER, _MALE, "grand-père papi", "grand-father grandpa"),
    ("grand-mère", OLDER, _FEMALE, "grand-mère mamie", "grand-mother grandma"),
    ("grand-parent", OLDER, _EITHER, "grand-parent", "grand-parent"),
    ("arrière-grand-père", OLDER, _MALE, "arrière-grand-père", "great-grand-father"),
    ("arrière-grand-mère", OLDER, _FEMALE, "arrière-grand-mère", "great-grand-mother"),
    ("oncle", OLDER, _MALE, "oncle", "uncle"),
    ("tante", OLDER, _FEMALE, "tante", "aunt"),
    ("beau-père", OLDER, _MALE, "beau-père", "step-father father-in-law"),
    ("belle-mère", OLDER, _FEMALE, "belle-mère", "step-mother mother-in-law"),
    ("parrain", OLDER, _MALE, "parrain", "god-father"),
    ("marraine", OLDER, _FEMALE, "marraine", "god-mother"),
    ("fils", YOUNGER, _MALE, "fils", "son"),
    ("fille", YOUNGER, _FEMALE, "fille", "daughter"),
    ("enfant", YOUNGER, _EITHER, "enfant", "child children"),
    ("petit-fils", YOUNGER, _MALE, "petit-fils", "grand-son"),
    ("petite-fille", YOUNGER, _FEMALE, "petite-fille", "grand-daughter"),
    ("petit-enfant", YOUNGER, _EITHER, "petit-enfant", "grand-child grand-children"),
    ("arrière-petit-fils", YOUNGER, _MALE, "arrière-petit-fils", "great-grand-son"),
    ("arrière-petite-fille", YOUNGER, _FEMALE, "arrière-petite-fille", "great-grand-daughter"),
    ("neveu", YOUNGER, _MALE, "neveu", "nephew"),
    ("nièce", YOUNGER, _FEMALE, "nièce", "niece"),
    ("beau-fils", YOUNGER, _MALE, "beau-fils gendre", "step-son son-in-law"),
    ("belle-fille", YOUNGER, _FEMALE, "belle-fille bru", "step-daughter daughter-in-law"),
    ("filleul", YOUNGER, _MALE, "filleul", "god-son"),
    ("filleule", YOUNGER, _FEMALE, "filleule", "god-daughter"),
    ("filleul(e)", YOUNGER, _EITHER, "", "god-child god-children"),
    ("frère", PEER, _MALE, "frère", "brother"),
    ("sœur", PEER, _FEMALE, "sœur", "sister"),
    ("frère ou sœur", PEER, _EITHER, "", "sibling"),
    ("demi-frère", PEER, _MALE, "demi-frère", "half-brother step-brother"),
    ("demi-sœur", PEER, _FEMALE, "demi-sœur", "half-sister step-sister"),
    ("beau-frère", PEER, _MALE, "beau-frère", "brother-in-law"),
    ("belle-sœur", PEER, _FEMALE, "belle-sœur", "sister-in-law"),
    ("cousin", PEER, _EITHER, "cousin cousine", "cousin"),
    ("époux", PEER, _MALE, "époux mari", "husband"),
    ("épouse", PEER, _FEMALE, "épouse femme", "wife wives"),
    ("conjoint", PEER, _EITHER, "conjoint conjointe", "spouse"),
)


class Noun(NamedTuple):
    """What a noun says of whom it names."""

    canonical: str
    generation: int
    sex: str

    def names_the_same(self, other: "Noun") -> bool:
        """Return whether both nouns can name the same one of two relatives.

        If not, they are converse, as "mother" and "son", or "brother" and "sister": the one
        names this relative, the other that. Of two nouns for one generation, both may be
        meant loosely, as "mother" for a stepmother.

        >>> mother, aunt, son = (read_noun(word) for word in ("mother", "tante", "son"))
        >>> mother.names_the_same(aunt), mother.names_the_same(son)
        (True, False)
        """
        if self.generation != other.generation:
            return False
        return self.generation != PEER or self.sex in other.sex or other.sex in self.sex


def fold(text: str) -> str:
    """Return a text in lower case, without accents, ligatures and typographic apostrophes.

    >>> fold("L’Œil d’Hélène à Évry")
    "l'oeil d'helene à evry"
    """
    lower = unicodedata.normalize("NFC", text).lower()
    # "à" stays what it is, or it would be read as "a", which is "has".
    return "à".join(_plain(part) for part in _split_at_preposition(lower))


def noun_of(form: str) -> Noun:
    """Return the noun of a folded form that one of the patterns has found."""
    return next(noun for noun, is_form in _FORMS if is_form(form))


def read_noun(predicate: str) -> Noun | None:
    """Return the noun of kinship that a predicate begins with.

    >>> read_noun("belle-mère de").canonical, read_noun("has a sister")
    ('belle-mère', None)
    """
    found = _begins(fold(predicate).replace("_", " ").strip())
    return noun_of(found["noun"]) if found else None


def _plain(text: str) -> str:
    for fancy, plain in _LETTERS:
        text = text.replace(fancy, plain)
    return unicodedata.normalize("NFC", _drop_accents("", unicodedata.normalize("NFD", text)))


def _pattern(form: str) -> str:
    plural = (part + ("x?" if part.endswith(("eau", "eu")) else "s?") for part in form.split("-"))
    return r"[-\s]?".join(plural)


def _any_of(forms: Iterable[str]) -> str:
    # The longest first, so that no compound is read as the noun inside it.
    patterns = sorted((_pattern(fold(form)) for form in forms), key=len, reverse=True)
    return rf"(?<![\w-])(?P<noun>{'|'.join(patterns)})(?![\w'-])"


_LETTERS = (("œ", "oe"), ("æ", "ae"), ("’", "'"), ("‐", "-"), ("‑", "-"))
_drop_accents = re.compile("[\u0300-\u036f]").sub
_split_at_preposition = re.compile(r"(?<!\w)à(?!\w)").split

_FORMS = tuple(
    (Noun(name, generation, sex), re.compile(_any_of(f"{french} {english}".split())).fullmatch)
    for name, generation, sex, french, english in _NOUNS
)
FRENCH_NOUN = _any_of(form for row in _NOUNS for form in row[3].split())
ENGLISH_NOUN = _any_of(form for row in _NOUNS for form in row[4].split())
"""Patterns of a whole noun of a language, as the group `noun`; no part of a compound."""

_begins = re.compile(_any_of(form for row in _NOUNS for form in f"{row[3]} {row[4]}".split())).match
