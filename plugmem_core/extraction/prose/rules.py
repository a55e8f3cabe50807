"""Names and relations in plain prose, by rules: no model, no network, the same every time.

The rules are about English prose and prefer to miss a name over inventing one:

| found                | as                                                                  |
|----------------------|---------------------------------------------------------------------|
| known names          | given by the caller; see `KnownNames`; what may be the rest of a    |
|                      | longer name, such as `City` in New York City, is none               |
| quoted names         | short, capitalised, no speech: “Winter Plan”, 「東京物語」          |
| dates                | `2024-06-03`, `3 June 2024`, `June 2024`, `in 2024`; named in ISO   |
| identifiers          | `ISO-27001`, `iPhone`, `C++`                                        |
| capitalised names    | runs such as `Ada Lovelace`, `University of Bern`                   |

Where sentences begin, any word is capitalised. So a lone word there is a name only if it is
one elsewhere in the text, is known, or is followed by what only names are: "Mara works …",
"Mara's …". Headings and texts in capitals give nothing of themselves. Other languages with
capitals (Latin, Cyrillic, Greek) give their names inside sentences, German its nouns, too;
scripts without case give what is known or quoted.

A relation is what few words between two neighbouring names of a sentence say, if they begin
with a verb: `works at` is `WORKS_AT`, as said, in the tense and voice it was said in.
"Mara's sister is Ines" is `HAS_SISTER`. Questions and conditions say nothing, nor does what
stands behind a denial, a doubt, or what somebody says or thinks: "Nobody believes Ines works
at Acme". Clauses are not taken apart: names that are only near each other have no relation.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from plugmem_core.extraction.prose.dates import find_dates
from plugmem_core.extraction.prose.known import KNOWN, KnownNames
from plugmem_core.extraction.prose.lexemes import Lexeme, Sentence, lex, split_sentences
from plugmem_core.extraction.prose.names import (
    choose_names,
    find_parts,
    find_quoted,
    find_runs,
    is_identifier,
)
from plugmem_core.extraction.prose.relations import Spot, find_relations
from plugmem_core.inputs import check_count, check_type

MAX_NAMES = 64
"""Different names taken from one text, unless said otherwise."""

MAX_LENGTH = 120
"""Most characters of a name; what is longer is found only if it is known."""

NAME = "name"
QUOTED = "quoted"
IDENTIFIER = "identifier"
DATE = "date"


__all__ = [
    "DATE",
    "IDENTIFIER",
    "KNOWN",
    "MAX_NAMES",
    "NAME",
    "QUOTED",
    "Assertion",
    "Extraction",
    "KnownNames",
    "Mention",
    "extract",
]


class Mention(NamedTuple):
    """A name where the text has it: `text[start:end]`."""

    name: str
    kind: str
    start: int
    end: int


class Assertion(NamedTuple):
    """What a text says about two of its names."""

    source: str
    relation: str
    target: str


class Extraction(NamedTuple):
    """What was found in a text, in its order."""

    mentions: tuple[Mention, ...]
    relations: tuple[Assertion, ...]

    @property
    def entities(self) -> dict[str, str]:
        """The different names, each with the kind of its first mention."""
        kinds: dict[str, str] = {}
        for mention in self.mentions:
            kinds.setdefault(mention.name, mention.kind)
        return kinds


class _Place(NamedTuple):
    name: str
    kind: str
    first: int
    last: int


def extract(
    text: str,
    *,
    known: KnownNames | Iterable[str] | Mapping[str, str] = (),
    most: int = MAX_NAMES,
) -> Extraction:
    """Return the names in a text and what it says about them; the module says by which rules.

    The time is linear in the length of the text.

    Args:
        text: The prose.
        known: Names to find wherever they are mentioned, or a mapping from names to their
            kinds. Mentions are reported in the spelling given here. For many texts, prepare
            `KnownNames` once.
        most: Different names taken; the text's first ones count.

    Raises:
        WrongTypeError: An argument has another type.
        InvalidInputError: `most` is no count, or a known name has no letter and no digit.

    >>> found = extract("Ada Lovelace works at the University of Bern. Mara's boss is Ada.")
    >>> found.entities
    {'Ada Lovelace': 'name', 'University of Bern': 'name', 'Mara': 'name', 'Ada': 'name'}
    >>> for relation in found.relations:
    ...     print(*relation)
    Ada Lovelace WORKS_AT University of Bern
    Mara HAS_BOSS Ada
    """
    check_type(text, str, "text", "the prose as a str")
    check_count(most, "most", least=0)
    names = known if isinstance(known, KnownNames) else KnownNames(known)
    lexemes = lex(text)
    sentences = split_sentences(text, lexemes)
    places = list(_first_names(_find(text, lexemes, sentences, names), most))
    mentions = tuple(
        Mention(place.name, place.kind, lexemes[place.first].start, lexemes[place.last].end)
        for place in places
    )
    spots = [_spot(place) for place in places]
    relations = dict.fromkeys(
        Assertion(*relation) for relation in find_relations(lexemes, sentences, spots)
    )
    return Extraction(mentions, tuple(relations))


def _spot(place: _Place) -> Spot:
    marks = place.kind == QUOTED
    return Spot(place.name, place.first - marks, place.last + marks, place.kind != DATE)


def _find(
    text: str, lexemes: list[Lexeme], sentences: list[Sentence], known: KnownNames
) -> list[_Place]:
    """Return what is mentioned, in order; of what overlaps, the surer kind."""
    places: list[_Place] = []
    taken: set[int] = set()

    def take(found: Iterable[_Place]) -> None:
        for place in found:
            span = range(place.first, place.last + 1)
            if taken.isdisjoint(span):
                places.append(place)
                taken.update(span)

    def named(spans: Iterable[tuple[int, int]], kind: str = "") -> Iterator[_Place]:
        for first, last in spans:
            name = " ".join(text[lexemes[first].start : lexemes[last].end].split())
            if len(name) <= MAX_LENGTH:
                yield _Place(name, kind or _kind(name), first, last)

    take(_Place(*found) for found in known.places(lexemes))
    spans = [(place.first, place.last) for place in places]
    take(named(find_quoted(lexemes), QUOTED))
    take(_Place(iso, DATE, first, last) for iso, first, last in find_dates(lexemes))
    runs = list(find_runs(lexemes, sentences, taken))
    parts = find_parts(lexemes, sentences, runs, spans)
    take(named(choose_names(lexemes, runs, parts)))
    return sorted(places, key=lambda place: place.first)


def _kind(name: str) -> str:
    plain = any(letter.islower() for letter in name) and name[0].isupper()
    symbols = name.endswith(("+", "#")) or any(letter.isdigit() for letter in name)
    return (
        IDENTIFIER if " " not in name and is_identifier(name) and (symbols or not plain) else NAME
    )


def _first_names(places: list[_Place], most: int) -> Iterator[_Place]:
    names: set[str] = set()
    for place in places:
        if place.name in names or len(names) < most:
            names.add(place.name)
            yield place
