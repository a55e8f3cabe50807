"""The work of the rules about prose grows as the text does, also if it is one long sentence."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from plugmem_core.extraction import ProseExtractor
from plugmem_core.extraction.prose.lexemes import Lexeme, lex, split_sentences
from plugmem_core.extraction.prose.names import choose_names, find_parts, find_quoted, find_runs
from plugmem_core.extraction.prose.relations import Spot, find_relations

SHAPES: dict[str, Callable[[int], str]] = {
    "names": lambda n: "Alpha, " * n,
    "names behind marks": lambda n: "(" * n + "Alpha, " * n,
    "names before marks": lambda n: "Alpha, " * n + "(" * n,
    "quotes": lambda n: '"A ' * n,
    "quotes that open": lambda n: "“A" * n,
    "one name": lambda n: "Alpha " * n,
    "small words": lambda n: "Alpha of the " * n,
    "possessives": lambda n: "and the Alpha's " * n,
    "verbs": lambda n: "Alpha works at Acme, but " * n,
    "adverbs": lambda n: "Alpha " + "never " * n + "left Acme",
    "colons": lambda n: "Alpha:::" * n,
    "marks": lambda n: "(( " * n + "a",
}


class Counted(list[Lexeme]):
    """Lexemes that count how many of them are looked at."""

    looked = 0

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.looked += len(found) if isinstance(place, slice) else 1
        return found

    def __iter__(self) -> Iterator[Lexeme]:
        self.looked += len(self)
        return super().__iter__()


def looked_at(text: str) -> int:
    """Find all there is, and return how many lexemes that took."""
    lexemes = Counted(lex(text))
    sentences = split_sentences(text, lexemes)
    quoted = list(find_quoted(lexemes))
    runs = list(find_runs(lexemes, sentences, set()))
    parts = find_parts(lexemes, sentences, runs, quoted)
    spots = [
        Spot(lexemes[first].text, first, last, True)  # noqa: FBT003 - it acts
        for first, last in choose_names(lexemes, runs, parts)
    ]
    list(find_relations(lexemes, sentences, spots))
    return lexemes.looked


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_four_times_the_text_is_four_times_the_work(shape: Callable[[int], str]) -> None:
    assert looked_at(shape(800)) <= 4.1 * looked_at(shape(200)) + 400


@pytest.mark.timeout(60)
@pytest.mark.parametrize("marks", ["+@", "_@_", "+++@"])
def test_marks_that_might_begin_an_address_are_not_each_followed_to_their_end(marks: str) -> None:
    # With the square of their number this would take an hour.
    text = marks * (300_000 // len(marks))
    assert {lexeme.kind for lexeme in lex(text)} == {"mark"}
    assert ProseExtractor().extract(text).facts == ()


@pytest.mark.parametrize("address", ["ada@example.org", "a.b+c@x", "www.x.org/", "https://x.org/a"])
def test_addresses_are_one_lexeme(address: str) -> None:
    assert [lexeme.kind for lexeme in lex(f"by {address}, soon")] == [
        "word",
        "address",
        "mark",
        "word",
    ]
