"""Facts, topics and relations out of plain prose, without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.extraction import ExtractedFact, Extractor, Graph, ProseExtractor, Relation


def facts(text: str) -> list[str]:
    return [fact.text for fact in ProseExtractor().extract(text).facts]


def test_prose_becomes_facts_with_their_names_and_what_it_says_about_those() -> None:
    text = "Ines works at Acme. On 3 June 2024 we saw “Winter Plan” and an iPhone. It rained."
    assert ProseExtractor().extract(text) == Graph(
        facts=(
            ExtractedFact("Ines works at Acme.", ("ines", "acme")),
            ExtractedFact(
                "On 3 June 2024 we saw “Winter Plan” and an iPhone. It rained.",
                ("2024-06-03", "winter plan", "iphone"),
            ),
        ),
        relations=(Relation("Ines", "works at", "Acme"),),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Ines left. She moved to Bern.", ["Ines left. She moved to Bern."]),
        ("Ines left. (She moved.) Max stayed.", ["Ines left. (She moved.)", "Max stayed."]),
        ("Inès est partie. Elle habite Berne.", ["Inès est partie. Elle habite Berne."]),
        ("Ines left.\nShe moved.", ["Ines left. She moved."]),
        ("Ines left.\n\nShe moved.", ["Ines left.", "She moved."]),
        ("Mara's sister: Ines; her brother: Max.", ["Mara's sister: Ines; her brother: Max."]),
        ("To buy:\n- milk\n* two eggs\n1. tea", ["To buy:", "milk", "two eggs", "1. tea"]),
        ("# Plan\n\nPaint   the\tdoor.", ["Plan", "Paint the door."]),
        ("## Plan\n- **Paint** it\n- - twice", ["Plan", "**Paint** it", "twice"]),
        ("- < 5 kg\n• « Oui », dit Max", ["< 5 kg", "« Oui », dit Max"]),
        ("< 18 years old are refused by Acme.", ["< 18 years old are refused by Acme."]),
        ("~ 5 kg. > 18 too.", ["~ 5 kg.", "> 18 too."]),
        ("Ines left. - 5 °C is cold.", ["Ines left.", "- 5 °C is cold."]),
        ("« Bonjour » dit Max.", ["« Bonjour » dit Max."]),
        ("#plan is a tag", ["#plan is a tag"]),
        ('"Ines left." Max stayed.', ['"Ines left."', "Max stayed."]),
        ("... --- !!!", []),
        (" \n\t", []),
        ("", []),
        ("日本は島国である。東京は首都。", ["日本は島国である。", "東京は首都。"]),
    ],
)
def test_every_sentence_is_a_fact_and_a_pronoun_joins_it_to_the_one_before(
    text: str, expected: list[str]
) -> None:
    assert facts(text) == expected


def test_sentences_are_joined_up_to_a_length() -> None:
    text = "Ines left. " + "She came back again. " * 40
    assert [len(fact) for fact in facts(text)] == [493, 356]
    assert " ".join(facts(text)) == text.strip()


def test_known_names_are_topics_wherever_they_are() -> None:
    extractor = ProseExtractor(known={"Green Tea": "drink"})
    assert extractor.extract("we like green  tea.").facts == (
        ExtractedFact("we like green tea.", ("green tea",)),
    )


def test_a_topic_is_there_once_and_only_so_many_names_are_taken() -> None:
    text = "Mara met Max. Mara and Max met Zoe."
    assert [fact.topics for fact in ProseExtractor().extract(text).facts] == [
        ("mara", "max"),
        ("mara", "max", "zoe"),
    ]
    assert [fact.topics for fact in ProseExtractor(most=1).extract(text).facts] == [
        ("mara",),
        ("mara",),
    ]
    assert ProseExtractor(most=0).extract(text).relations == ()


def test_predicates_are_the_words_that_were_said() -> None:
    text = "Ada lives in Bern. Mara's sister is Ines. We met Max, the brother of Zoe."
    assert [" ".join(one) for one in ProseExtractor().extract(text).relations] == [
        "Ada lives in Bern",
        "Mara has sister Ines",
        "Max is the brother of Zoe",
    ]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(WrongTypeError, match="known"):
        ProseExtractor("Ines")
    with pytest.raises(InvalidInputError, match="most is -1"):
        ProseExtractor(most=-1)
    with pytest.raises(WrongTypeError, match="text is None"):
        ProseExtractor().extract(None)
    with pytest.raises(InvalidInputError, match="NUL"):
        ProseExtractor().extract("a\0b")
    with pytest.raises(TooLargeError, match="1048576"):
        ProseExtractor().extract("é" * 600_000)


def test_it_is_an_extractor() -> None:
    assert isinstance(ProseExtractor(), Extractor)


@given(st.text(st.sampled_from(list("Ab. !?\n\"'()-:;,é東"))))
def test_no_word_is_lost_and_none_is_there_twice(text: str) -> None:
    def words(prose: str) -> list[str]:
        return [letter for letter in prose if letter.isalnum()]

    assert words(" ".join(facts(text))) == words(text)
