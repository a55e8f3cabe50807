"""The outline format: what its lines say, and that a bad line refuses the whole passage."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.extraction import Attribute, ExtractedFact, Graph, OutlineExtractor, Relation


def read(text: str) -> Graph:
    return OutlineExtractor().extract(text)


def test_an_outline_says_facts_relations_and_attributes_in_its_order() -> None:
    graph = read(
        "Mara moved to Bern | Mara, Bern\n"
        "edge: Mara | Lives In | Bern\n"
        "\n"
        "fact: The flat is small | Flat\n"
        "attr: Bern | Altitude | 542\n"
        "edge: Flat | is in | Bern\n"
    )
    assert graph == Graph(
        facts=(
            ExtractedFact("Mara moved to Bern", ("mara", "bern")),
            ExtractedFact("The flat is small", ("flat",)),
        ),
        relations=(Relation("mara", "Lives In", "bern"), Relation("flat", "is in", "bern")),
        attributes=(Attribute("bern", "Altitude", 542),),
    )


@pytest.mark.parametrize("text", ["", " \t\n \r\n\n", "\u00a0\n"])
def test_blank_lines_say_nothing(text: str) -> None:
    assert read(text) == Graph()


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("Mara likes tea", ExtractedFact("Mara likes tea")),
        ("  fact:  Mara likes tea  ", ExtractedFact("Mara likes tea")),
        ("Mara likes tea |", ExtractedFact("Mara likes tea")),
        ("Mara likes tea | , ,", ExtractedFact("Mara likes tea")),
        ("Tea again | Tea , MARA,, zoo", ExtractedFact("Tea again", ("tea", "mara", "zoo"))),
        ("Mara likes tea | ÉLODIE", ExtractedFact("Mara likes tea", ("élodie",))),
        ("tea | a|b, c", ExtractedFact("tea", ("a|b", "c"))),
        ("Fact: capital", ExtractedFact("Fact: capital")),
        ("an edge: none", ExtractedFact("an edge: none")),
        ("fact: edge: a | b", ExtractedFact("edge: a", ("b",))),
        ("Mara likes tea\r", ExtractedFact("Mara likes tea")),
    ],
)  # fmt: skip
def test_a_line_without_a_directive_is_a_fact_and_its_topics(
    line: str, fact: ExtractedFact
) -> None:
    assert read(line) == Graph(facts=(fact,))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("542", 542),
        ("5.5", 5.5),
        ('"542"', "542"),
        ('"a \\u007c b"', "a | b"),
        ("true", True),
        ("null", None),
        ('["a", 1]', ["a", 1]),
        ('{"a": {"b": null}}', {"a": {"b": None}}),
    ],
)
def test_the_value_of_an_attribute_keeps_its_json_type(value: str, expected: Any) -> None:
    (attribute,) = read(f"attr: Bern | Key | {value}").attributes
    assert attribute == Attribute("bern", "Key", expected)
    assert type(attribute.value) is type(expected)


@pytest.mark.parametrize(
    "line",
    [
        "edge:",
        "edge: a",
        "edge: a | b",
        "edge: a | b | c | d",
        "edge: a | b |",
        "edge: | b | c",
        "edge: a |  | c",
        "edge: a , b , c",
        "attr: a | b",
        "attr: a | b | 1 | 2",
        "attr: a | b |",
        "attr:  | b | 1",
        "attr: a |  | 1",
        "attr: a | b | text",
        "attr: a | b | 'text'",
        "attr: a | b | NaN",
        "attr: a | b | -Infinity",
        "attr: a | b | 1e999",
        "attr: a | b | [1, 2",
        "attr: a | _plugmem_date | 20240603",
        "attr: a | _plugmem_x | 1",
        'attr: a | b | "x" "y"',
        'attr: a | b | "x | y"',
        'attr: a | b | "\\ud800"',
        'attr: a | b | "\\u0000"',
        "attr: a | b | " + "9" * 5_000,
        "attr: a | b | " + "[" * 100_000,
        "attr: a | b | " + "[" * 80 + "]" * 80,
        "fact:",
        "fact: | a, b",
        "| a, b",
        "|",
    ],
)
def test_a_malformed_line_refuses_the_passage_and_is_named_by_its_number(line: str) -> None:
    with pytest.raises(InvalidInputError, match=r"\bline 3\b") as caught:
        read(f"a fact\n\n{line}\nanother fact")
    assert isinstance(caught.value, ValueError)
    assert len(str(caught.value)) < 250


def test_the_message_says_how_the_line_should_be() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read("edge: a | b")
    assert str(caught.value) == (
        "line 1, 'edge: a | b', has 2 parts; give three: edge: subject | predicate | object"
    )


def test_a_message_never_shows_more_than_the_beginning_and_end_of_a_line() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read("edge: " + "secret " * 100)
    assert str(caught.value).count("secret") <= 3


def test_what_is_no_passage_is_refused() -> None:
    with pytest.raises(WrongTypeError, match="text is 5"):
        OutlineExtractor().extract(5)
    with pytest.raises(InvalidInputError, match="NUL"):
        read("a\0b")
    with pytest.raises(InvalidInputError, match="surrogate"):
        read("a\ud800b")
    with pytest.raises(TooLargeError, match="1048576"):
        read("a" * 1_048_577)
    with pytest.raises(TooLargeError, match="line 1"):
        read(f'attr: a | b | "{"x" * 65_536}"')


PART = st.text(st.characters(codec="utf-8", exclude_characters="|\n\0"), min_size=1).filter(
    str.strip
)


@given(st.lists(st.tuples(PART, PART, PART)))
def test_every_edge_is_read_as_it_was_written(edges: list[tuple[str, str, str]]) -> None:
    text = "\n".join("edge:" + "|".join(edge) for edge in edges)
    assert read(text).relations == tuple(
        Relation(subject.strip().lower(), predicate.strip(), target.strip().lower())
        for subject, predicate, target in edges
    )


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        graph = read(text)
    except InvalidInputError:
        return
    assert len(graph.facts) + len(graph.relations) + len(graph.attributes) == sum(
        bool(line.strip()) for line in text.split("\n")
    )
