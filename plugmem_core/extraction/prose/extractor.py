"""`ProseExtractor`: facts and relations out of plain prose, without a model."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from plugmem_core.extraction.prose.known import KnownNames
from plugmem_core.extraction.prose.lexemes import Lexeme, lex, split_sentences
from plugmem_core.extraction.prose.rules import MAX_NAMES, Mention, extract
from plugmem_core.extraction.prose.words import LEANING
from plugmem_core.extraction.protocol import (
    ExtractedFact,
    Graph,
    Relation,
    canonical,
    check_passage,
)
from plugmem_core.inputs import check_count

MAX_JOINED = 500
"""Most characters of a fact of several sentences."""

_BULLETS = frozenset("-–—*•‣◦▪·#")
"""What makes a line an item of a list or a heading, if a space follows."""


class ProseExtractor:
    """Reads plain prose by the rules of `plugmem_core.extraction.prose`: no model, no network.

    Every sentence is a fact, verbatim but for its spaces and what makes a line an item of a
    list or a heading, such as `-` and `#`. Its topics are the names, quoted titles,
    identifiers and dates in it, in their order and in lower case. A sentence that
    begins with a pronoun belongs to the one before, which says who is meant. The relations
    are what a few words between two names say about them, with those words as the predicate:
    "Ines works at Acme", and "Mara has sister Ines" for "Mara's sister is Ines". There are no
    attributes.

    Args:
        known: Names to find wherever they are mentioned, or a mapping from names to their
            kinds; topics have the spelling given here, in lower case.
        most: Different names taken from one passage; its first ones count.

    Raises:
        WrongTypeError: An argument has another type.
        InvalidInputError: A known name has no letter and no digit, or the number is negative.

    >>> graph = ProseExtractor().extract("Ines works at Acme. She left Bern.")
    >>> graph.facts
    (ExtractedFact(text='Ines works at Acme. She left Bern.', topics=('ines', 'acme', 'bern')),)
    >>> graph.relations
    (Relation(subject='Ines', predicate='works at', object='Acme'),)
    """

    def __init__(
        self,
        known: KnownNames | Iterable[str] | Mapping[str, str] = (),
        *,
        most: int = MAX_NAMES,
    ) -> None:
        self._known = known if isinstance(known, KnownNames) else KnownNames(known)
        self._most = check_count(most, "most", least=0)

    def extract(self, text: str) -> Graph:
        """Return what a passage says, as far as the rules tell.

        Raises:
            WrongTypeError: It is no `str`.
            InvalidInputError: It has a lone surrogate or a NUL character.
            TooLargeError: It is too long.
        """
        found = extract(check_passage(text), known=self._known, most=self._most)
        relations = (
            Relation(source, label.lower().replace("_", " "), target)
            for source, label, target in found.relations
        )
        return Graph(tuple(_facts(text, found.mentions)), tuple(relations))


def _facts(text: str, mentions: tuple[Mention, ...]) -> Iterator[ExtractedFact]:
    rest = iter(mentions)
    mention = next(rest, None)
    for start, end in _joined(text):
        topics: dict[str, None] = {}
        while mention and mention.start < end:
            topics[canonical(mention.name)] = None
            mention = next(rest, None)
        yield ExtractedFact(" ".join(text[start:end].split()), tuple(topics))


def _joined(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each fact starts and ends: a sentence, with those that lean on it."""
    begun: tuple[int, int] | None = None
    for start, end, leans in _sentences(text):
        if begun is None:
            begun = start, end
            continue
        gap = text[begun[1] : start]
        goes_on = text[begun[1] - 1] in ":;；" and "\n" not in gap
        if (goes_on or (leans and gap.count("\n") < 2)) and end - begun[0] <= MAX_JOINED:
            begun = begun[0], end
        else:
            yield begun
            begun = start, end
    if begun:
        yield begun


def _sentences(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where each sentence with a word in it starts and ends, and whether it leans."""
    lexemes = lex(text)
    firsts = [_first(lexemes, sentence.first) for sentence in split_sentences(text, lexemes)]
    for first, stop in pairwise([*firsts, len(lexemes)]):
        word = next((at for at in range(first, stop) if lexemes[at].kind != "mark"), None)
        if word is None:
            continue
        start = _behind_bullets(text, lexemes, first, word)
        leans = lexemes[word].text.lower() in LEANING
        yield lexemes[start].start, lexemes[stop - 1].end, leans


def _first(lexemes: list[Lexeme], first: int) -> int:
    """Return where a sentence begins if what closes the one before belongs to that."""
    while 0 < first < len(lexemes) and lexemes[first].kind == "mark" and not _apart(lexemes, first):
        first += 1
    return first


def _behind_bullets(text: str, lexemes: list[Lexeme], first: int, word: int) -> int:
    """Return where a sentence begins behind the marks of its line; `word` is its first word."""
    line = first == 0 or "\n" in text[lexemes[first - 1].end : lexemes[first].start]
    at = first
    while line and at < word and lexemes[at].text in _BULLETS:
        at += 1
    while at > first and not _apart(lexemes, at):  # such as the stars of "- **Plan**"
        at -= 1
    return at


def _apart(lexemes: list[Lexeme], at: int) -> bool:
    """Return whether a space stands before a lexeme."""
    return lexemes[at].start > lexemes[at - 1].end
