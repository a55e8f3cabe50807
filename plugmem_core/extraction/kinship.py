"""Kinship the right way round: "Tom has a sister, Lea" says that Lea is the sister.

Models tend to turn such sentences over. `orient_kinship` reads three constructions, in English
and French, and turns back what a model has turned over:

| construction                | English                          | French                 |
|-----------------------------|----------------------------------|------------------------|
| the holder has relatives    | Tom has two sisters, Lea and Mia | Tom a une sœur, Léa    |
| whose relative somebody is  | the mother of Tom is Ada         | la mère de Tom est Ada |
| the same, with a genitive   | Tom's mother is Ada              |                        |

In doubt it changes nothing: another clause has to name the relative ("who is called Lea"), and
whoever stands behind a preposition or has something himself ("with Lea", "Lea's") is somebody
else.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from plugmem_core.extraction.kin_nouns import (
    ENGLISH_NOUN,
    FRENCH_NOUN,
    Noun,
    fold,
    noun_of,
    read_noun,
)
from plugmem_core.extraction.kin_passage import PREPOSITIONS, RELATIVES, Mention, Passage
from plugmem_core.extraction.prose.words import ABBREVIATIONS
from plugmem_core.extraction.protocol import Graph, Relation

MAX_APART = 120
"""Most characters between a noun of kinship and whom it names."""


def orient_kinship(text: str, graph: Graph) -> Graph:
    """Return a graph in which the subject of each relation of kinship is whom it names.

    Only relations between two entities that the text relates by one of the constructions are
    touched, and only if their predicate begins with a noun of kinship. Where the text says
    that B is the sister of A, "sister" is said of B, and what is converse, as "brother", of
    A. A relation that the text states as it is stays as it is. None is added or left out, and
    no predicate changes.

    Args:
        text: The passage that the graph was made of.
        graph: What was found in it.

    >>> tom = Graph(relations=(Relation("Tom", "sœur", "Léa"), Relation("Léa", "frère", "Tom")))
    >>> for relation in orient_kinship("Tom a une sœur, Léa.", tom).relations:
    ...     print(*relation)
    Léa sœur Tom
    Tom frère Léa
    """
    kin = {at: noun for at, one in enumerate(graph.relations) if (noun := read_noun(one.predicate))}
    if not kin:
        return graph
    passage = Passage(text, chain.from_iterable(_ends(graph.relations[at]) for at in kin))
    stated: dict[frozenset[str], list[_Statement]] = {}
    for statement in chain(_possessives(passage), _genitives(passage)):
        pair = frozenset((statement.bearer, statement.holder))
        stated.setdefault(pair, []).append(statement)
    relations = list(graph.relations)
    for at, noun in kin.items():
        about = stated.get(frozenset(_ends(relations[at])), ())
        relations[at] = _oriented(relations[at], [one.subject(noun) for one in about])
    return graph._replace(relations=tuple(relations))


def _ends(relation: Relation) -> tuple[str, str]:
    return fold(relation.subject.strip()), fold(relation.object.strip())


def _oriented(relation: Relation, subjects: list[str]) -> Relation:
    if not subjects or _ends(relation)[0] in subjects:
        return relation
    return Relation(relation.object, relation.predicate, relation.subject)


class _Statement(NamedTuple):
    """That the bearer is the holder's relative whom the noun names."""

    bearer: str
    noun: Noun
    holder: str

    def subject(self, predicate: Noun) -> str:
        """Return of which of the two a predicate with a noun of kinship is said."""
        return self.bearer if self.noun.names_the_same(predicate) else self.holder


class _Language(NamedTuple):
    """How a language states kinship, as patterns of folded text."""

    noun: re.Pattern[str]
    has: re.Pattern[str]  # "has two"
    whom: re.Pattern[str]  # " older sisters", after "has two"
    more: re.Pattern[str]  # ", and a", after who is listed
    of: re.Pattern[str]  # " of ", after "mother"
    own: re.Pattern[str]  # "'s older sister", after a name
    equals: re.Pattern[str]  # " is "


def _any_of(words: str) -> str:
    return "|".join(words.split())


def _language(noun: str, has: str, articles: str, of: str, own: str, equals: str) -> _Language:
    described = rf"(?:\s+(?!(?:{_any_of(f'{RELATIVES} {PREPOSITIONS}')})\b)[\w-]+){{0,3}}?\s+"
    listed = r"(?:\s*,\s*(?:(?:and|et)\s+)?|\s+(?:and|et)\s+)"
    return _Language(
        noun=re.compile(noun),
        has=re.compile(rf"(?<![\w'-]){has}(?=\s)"),
        whom=re.compile(described + noun),
        more=re.compile(rf"{listed}(?:{articles})(?=\s)"),
        of=re.compile(of),
        own=re.compile(own + described + noun),
        equals=re.compile(rf"\s+(?:{equals})\s+"),
    )


_LANGUAGES = (
    _language(
        ENGLISH_NOUN,
        has=r"has\s+(?:an?|two|three|four)",
        articles="an?|two|three|four",
        of=r"\s+of\s+",
        own="'s?",
        equals=r"(?:is|are)(?:\s+(?:called|named))?",
    ),
    _language(
        FRENCH_NOUN,
        has=r"a\s+(?:une?|pour|des|deux|trois|quatre)",
        articles="une?|des|deux|trois|quatre",
        of=r"\s+(?:de\s+|du\s+|d')",
        own="(?!)",  # French has no such genitive
        equals="est|sont|s'appelle(?:nt)?",
    ),
)
_NAMING = (
    r"called|named|names? (?:is|are)|names? of|they are|appelee?s?|(?:pre)?nommee?s?"
    r"|s'appelle(?:nt)?|(?:pre)?noms? (?:est|sont|de|d')|(?:elles|ils|ce) sont"
)
_NOT_SHORTENED = "".join(rf"(?<!\b{word})" for word in (*ABBREVIATIONS, "m", "mme", "mlle"))

_names = re.compile(rf"\b(?:{_NAMING})\s*:?\s*$").search
_joins = re.compile(
    rf"\b(?:{_any_of(f'{RELATIVES} and or but while because et ou mais')})\b"
    rf"|{_NOT_SHORTENED}[.!?;]\s"
).search
_follows = re.compile(rf"\b(?:{_any_of(PREPOSITIONS)})['\s]\s*$").search


def _possessives(passage: Passage) -> Iterator[_Statement]:
    """`Tom has a sister, Lea`, and `Tom has a sister, Lea, and two brothers, Max and Leo`."""
    for language in _LANGUAGES:
        for has in language.has.finditer(passage.text):
            holder = passage.before(has.start())
            place: re.Match[str] | None = has
            while holder and place and (whom := language.whom.match(passage.text, place.end())):
                bearers = _after(passage, whom.end(), language)
                yield from _statements(bearers, whom["noun"], holder.name)
                place = language.more.match(passage.text, bearers[-1].end) if bearers else None


def _after(passage: Passage, place: int, language: _Language) -> list[Mention]:
    """Return whom a noun that ends at a place names: the first ones after it."""
    first = passage.after(place)
    if first is None or first.start - place > MAX_APART:
        return []
    between = passage.text[place : first.start]
    if language.noun.search(between):
        return []
    leads = _names(between) or not (_joins(between) or _follows(between))
    return passage.listed(first.start) if leads else []


def _genitives(passage: Passage) -> Iterator[_Statement]:
    """`The mother of Tom is Ada`, `Tom's mother is Ada`."""
    text = passage.text
    for language in _LANGUAGES:
        for noun in language.noun.finditer(text):
            of = language.of.match(text, noun.end())
            holder = passage.at(of.end()) if of else None
            if holder and (equals := language.equals.match(text, holder.end)):
                yield from _statements(passage.listed(equals.end()), noun["noun"], holder.name)
        for holder in passage.mentions:
            own = language.own.match(text, holder.end)
            if own and (equals := language.equals.match(text, own.end())):
                yield from _statements(passage.listed(equals.end()), own["noun"], holder.name)


def _statements(bearers: list[Mention], noun: str, holder: str) -> Iterator[_Statement]:
    for bearer in bearers:
        if bearer.name != holder:
            yield _Statement(bearer.name, noun_of(noun), holder)
