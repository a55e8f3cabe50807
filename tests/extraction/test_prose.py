"""What the rules find in prose, and what they leave alone."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core import InvalidInputError, WrongTypeError
from plugmem_core.extraction.prose import Extraction, KnownNames, extract


def names(text: str, **options: Any) -> list[str]:
    return list(extract(text, **options).entities)


def kinds(text: str, **options: Any) -> dict[str, str]:
    return extract(text, **options).entities


def said(text: str, **options: Any) -> list[str]:
    return [" ".join(relation) for relation in extract(text, **options).relations]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yesterday Ada Lovelace met Charles Babbage.", ["Ada Lovelace", "Charles Babbage"]),
        ("She studied at the University of Bern.", ["University of Bern"]),
        ("We heard Ludwig van Beethoven in Vienna.", ["Ludwig van Beethoven", "Vienna"]),
        ("We read J. R. R. Tolkien and Dr. Kim.", ["J. R. R. Tolkien", "Dr. Kim"]),
        ("They shop at Marks & Spencer.", ["Marks & Spencer"]),
        ("We met Jean-Luc Picard and Miles O'Brien.", ["Jean-Luc Picard", "Miles O'Brien"]),
        ("It rained on Mara’s garden.", ["Mara"]),
        ("The Hague is near, and so is The Hague.", ["Hague"]),
        ("New York is bigger than Boston.", ["New York", "Boston"]),
        (
            "A long line of prose that was broken because it is full of Ada\nLovelace.",
            ["Ada Lovelace"],
        ),
        ("Вчера Мария Иванова приехала в Киев.", ["Мария Иванова", "Киев"]),
        ("Χθες η Ελένη ήρθε στην Αθήνα.", ["Ελένη", "Αθήνα"]),
        ("Hier j'ai vu Élodie Durand à Genève.", ["Élodie Durand", "Genève"]),
    ],
)
def test_runs_of_capitalised_words_are_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "The engineers were impressed. Yesterday it rained. However, nobody came.",
        "Water is wet. Delivery takes weeks. Happiness matters. School starts at nine.",
        "Garden tools are expensive. Plans changed. Prices dropped.",
        "Stand-up is at ten. Everyone likes cake.",
        "In June it rained, on Monday it did not.",
        "I think I'm OK.",
        "THIS IS VERY IMPORTANT FOR US",
        "Meeting Notes\n\nnothing was said",
        "# Project Plan\n\nnothing was said",
        "Release notes: nothing new.",
        "write to Bob.Smith@Example.com or see https://Example.com/Foo.",
    ],
)
def test_a_capital_alone_makes_no_name(text: str) -> None:
    assert extract(text) == Extraction((), ())


@pytest.mark.parametrize(
    "text",
    [
        "Mara works in the garden.",
        "Mara is tall.",
        "Mara never sleeps.",
        "Mara's sister sleeps.",
        "Mara, who is tall, sleeps.",
        "Mara will sleep.",
        "Mara slept. We saw Mara sleep.",
        "Ask Mara about it.",
        "Visiting Mara was fun.",
        "Dear Mara, come soon.",
    ],
)
def test_a_name_at_the_beginning_of_a_sentence_is_found_by_what_follows_or_elsewhere(
    text: str,
) -> None:
    assert names(text) == ["Mara"]


def test_a_word_that_the_text_also_has_in_small_letters_is_no_name_where_a_sentence_begins() -> (
    None
):
    assert names("Basil grows fast. The basil is green.") == []


def test_identifiers_are_found_anywhere() -> None:
    assert kinds("ISO-27001 applies. We use iPhone, C++, C# and GPT-4, and NASA does.") == {
        "ISO-27001": "identifier",
        "iPhone": "identifier",
        "C++": "identifier",
        "C#": "identifier",
        "GPT-4": "identifier",
        "NASA": "identifier",
    }


def test_quoted_titles_are_names_and_speech_is_none() -> None:
    assert kinds('He read “The Hobbit”, «Faust» and "Winter Plan".') == {
        "The Hobbit": "quoted",
        "Faust": "quoted",
        "Winter Plan": "quoted",
    }
    assert names('She said, "Hello there". He called it "nice". "Never again!" we cried.') == []


def test_scripts_without_case_give_what_is_quoted_or_known() -> None:
    assert kinds("昨日「東京物語」を見た。", known=["昨日"]) == {
        "昨日": "known",
        "東京物語": "quoted",
    }
    assert names("昨日東京物語を見た。", known=["東京物語"]) == ["東京物語"]
    assert names("وصلت مريم أمس.", known=["مريم"]) == ["مريم"]
    assert names("昨日東京物語を見た。") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It began on 2024-06-03.", ["2024-06-03"]),
        ("It began on 3 June 2024.", ["2024-06-03"]),
        ("It began on the 3rd of June, 2024.", ["2024-06-03"]),
        ("It began on June 3, 2024.", ["2024-06-03"]),
        ("It began in June 2024.", ["2024-06"]),
        ("It began in 2024-06.", ["2024-06"]),
        ("It began in 2024.", ["2024"]),
        ("It has 2024 parts.", []),
        ("It began on 31 June 2024.", ["2024-06"]),
        ("It began on 2024-13-45.", []),
        ("It began on 3 June.", []),
    ],
)
def test_dates_are_named_in_iso_form(text: str, expected: list[str]) -> None:
    assert kinds(text) == dict.fromkeys(expected, "date")


def test_mentions_say_where_they_are() -> None:
    text = "Mara's boss met Ada  Lovelace in May 2024."
    found = extract(text).mentions
    assert [(one.name, text[one.start : one.end]) for one in found] == [
        ("Mara", "Mara"),
        ("Ada Lovelace", "Ada  Lovelace"),
        ("2024-05", "May 2024"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ines works at Helvetia Foods.", ["Ines WORKS_AT Helvetia Foods"]),
        ("Mara is the mother of Ines.", ["Mara IS_THE_MOTHER_OF Ines"]),
        ("Mara's sister is Ines.", ["Mara HAS_SISTER Ines"]),
        ("Mara's older sister is Ines.", ["Mara HAS_OLDER_SISTER Ines"]),
        ("Mara's dog Rex barked.", ["Mara HAS_DOG Rex"]),
        ("Mara, the sister of Ines, slept. Mara is tall.", ["Mara IS_THE_SISTER_OF Ines"]),
        ("Acme Foods was founded by Ada Lovelace.", ["Acme Foods WAS_FOUNDED_BY Ada Lovelace"]),
        ("Mara has never visited Rome.", ["Mara HAS_NEVER_VISITED Rome"]),
        ("Mara does not work at Acme.", ["Mara DOES_NOT_WORK_AT Acme"]),
        ("Mara tends the North Greenhouse.", ["Mara TENDS North Greenhouse"]),
        ("Mara works at Acme and lives in Bern.", ["Mara WORKS_AT Acme", "Mara LIVES_IN Bern"]),
        ("Mara was born in 1990.", ["Mara WAS_BORN_IN 1990"]),
        ("Tolkien wrote “The Hobbit”. We met Tolkien.", ["Tolkien WROTE The Hobbit"]),
        ("We stayed at the Grand Hotel in Lisbon.", ["Grand Hotel IN Lisbon"]),
    ],
)
def test_few_words_between_two_names_relate_them(text: str, expected: list[str]) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "We met Mara and Ines.",
        "We met Mara, Ines and Olga.",
        "The brother of Mara works at Globex.",
        "Mara's brother works at Globex.",
        "Mara works. Globex hires.",
        "Does Mara work at Globex?",
        "If Mara joins Globex, we leave.",
        "John said Mary left.",
        "We know Mara because she once sold a car to Globex.",
        "In Bern, Mara slept.",
        "Mara's car is in Bern.",
        "In 2020 was founded Globex.",
    ],
)
def test_names_that_are_only_near_each_other_have_no_relation(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    "text",
    [
        # denied
        "Neither Anna nor Bob lives in Rome.",
        "Not one of Anna or Bob works at Globex.",
        "It is false that Bob works at Globex.",
        "It isn’t true that Bob works at Globex.",
        "There is no evidence that Bob lives in Rome.",
        "Nothing proves that Bob lives in Rome.",
        "That Bob works at Globex is untrue.",
        "The rumour that Bob lives in Rome is wrong.",
        # doubted
        "Nobody believes Bob lives in Rome.",
        "Hardly anyone thinks Bob works at Globex.",
        "We doubt that Bob lives in Rome.",
        "Anna doubts Bob works at Globex.",
        "It is unlikely that Bob lives in Rome.",
        "Perhaps Bob works at Globex.",
        "Allegedly Bob works at Globex.",
        "Bob supposedly lives in Rome.",
        "Bob hardly knows Anna.",
        "Bob lives in Rome, probably.",
        # reported
        "Anna thinks Bob works at Globex.",
        "Anna said that Bob works at Globex.",
        "Anna denied that Bob works at Globex.",
        "Carl dreamed that Bob lives in Rome.",
        "According to Carl, Bob lives in Rome.",
        "Bob lives in Rome, Carl claims.",
        "Rumour has it that Bob lives in Rome.",
        "They say that Anna likes tea and Bob works at Globex.",
        # supposed
        "Suppose Bob works at Globex.",
        "Imagine Bob works at Globex.",
        "Had Bob joined Globex, we would know.",
        # 's is "is"
        "Anna's leaving Globex.",
        "Anna's not Bob's sister.",
        "Anna's never Bob.",
        "Anna's only Bob.",
        "Anna's no longer at Globex.",
    ],
)
def test_what_is_denied_doubted_reported_or_supposed_is_not_said(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna doubts it, but Bob lives in Rome.", ["Bob LIVES_IN Rome"]),
        ("Nobody came. Bob lives in Rome.", ["Bob LIVES_IN Rome"]),
        ("Ines likes Acme; nobody believes Bob lives in Rome.", ["Ines LIKES Acme"]),
        ("Everyone knows that Bob lives in Rome.", ["Bob LIVES_IN Rome"]),
        ("Bob lives in Rome, and nobody knows why.", ["Bob LIVES_IN Rome"]),
        ("Bob lives in Rome, which seems nice.", ["Bob LIVES_IN Rome"]),
        ("Bob lives in Rome, not in Bern.", ["Bob LIVES_IN Rome"]),
        ("England's king Charles slept. We saw England.", ["England HAS_KING Charles"]),
        ("Mara's only sister is Ines.", ["Mara HAS_ONLY_SISTER Ines"]),
        ("We heard No Doubt. No Doubt hired Mara.", ["No Doubt HIRED Mara"]),
    ],
)
def test_what_is_denied_elsewhere_is_said(text: str, expected: list[str]) -> None:
    assert said(text, known=["No Doubt"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna no longer works at Globex.", ["Anna NO_LONGER_WORKS_AT Globex"]),
        ("Anna is no longer with Globex.", ["Anna IS_NO_LONGER_WITH Globex"]),
        ("Anna never worked at Globex.", ["Anna NEVER_WORKED_AT Globex"]),
        ("Anna also still works at Globex.", ["Anna ALSO_STILL_WORKS_AT Globex"]),
    ],
)
def test_the_words_before_a_verb_are_said_too(text: str, expected: list[str]) -> None:
    assert said(text) == expected
    assert names(text) == ["Anna", "Globex"]


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("New York City is large.", ["New York"], ["New York"]),
        ("We went to New York City Hall.", ["New York"], ["New York"]),
        ("We met Mayor Ines Weber.", ["Ines Weber"], ["Ines Weber"]),
        ("He studied at the University of New York.", ["New York"], ["New York"]),
        ("We saw the City. New York City is large.", ["New York"], ["City", "New York"]),
        ("We saw New York, Boston and Rome.", ["New York"], ["New York", "Boston", "Rome"]),
        ("In New York Mara slept. We know Mara.", ["New York"], ["New York", "Mara"]),
        ("We know Mara's Rex.", ["Mara"], ["Mara", "Rex"]),
    ],
)
def test_the_rest_of_a_longer_name_than_is_known_is_none(
    text: str, known: list[str], expected: list[str]
) -> None:
    assert names(text, known=known) == expected


def test_who_is_given_something_is_not_what_does_something() -> None:
    assert said("Mary gave John keys to Acme.") == ["Mary GAVE John"]


def test_a_place_after_two_related_names_is_not_taken_for_the_place_of_the_second() -> None:
    assert said("Mara moved from Bern to Oslo.") == ["Mara MOVED_FROM Bern"]
    assert said("Mara met Ines in Bern.") == ["Mara MET Ines"]


def test_a_relation_said_twice_is_one() -> None:
    assert said("Mara knows Ines. Mara knows Ines.") == ["Mara KNOWS Ines"]


def test_known_names_are_found_in_their_spelling_wherever_they_are() -> None:
    known = {"green tea": "drink", "Café Zürich": "place", "C++": "language"}
    assert kinds(
        "mara likes Green Tea at the cafe zurich, and C++ but not C or c++.", known=known
    ) == {
        "green tea": "drink",
        "Café Zürich": "place",
        "C++": "language",
    }
    [place] = extract("at the cafe zurich", known=known).mentions
    assert place == ("Café Zürich", "place", 7, 18)
    assert names("we use C", known=["C++"]) == []
    assert names("we use C++", known=["C"]) == ["C++"]


def test_the_longest_known_name_wins_and_the_others_go_on_behind_it() -> None:
    known = ["New York", "New York Times", "Times Square"]
    assert names("the New York Times wrote about Times Square", known=known) == [
        "New York Times",
        "Times Square",
    ]
    assert names("new york timetables", known=known) == ["New York"]


def test_a_known_word_with_a_capital_is_not_the_same_word_without() -> None:
    assert names("you will see a mark.", known=["Will", "Mark"]) == []
    assert names("Will you come?", known=["Will"]) == []
    assert names("you see Will and Mark.", known=["Will", "Mark"]) == ["Will", "Mark"]


def test_marks_tell_known_names_apart_and_spaces_and_hyphens_do_not() -> None:
    known = ["St. Gallen", "ISO 27001"]
    assert names("to St. Gallen with iso-27001", known=known) == ["St. Gallen", "ISO 27001"]
    assert names("york, new", known=["York New"]) == []


def test_a_known_name_is_a_name_where_a_sentence_begins() -> None:
    assert said("Water loves Fire.", known={"Water": "spirit", "Fire": "spirit"}) == [
        "Water LOVES Fire"
    ]


def test_the_first_names_count_when_there_are_too_many() -> None:
    text = "We met Mara and Ines. Then came Olga, and Mara left."
    found = extract(text, most=2)
    assert [one.name for one in found.mentions] == ["Mara", "Ines", "Mara"]
    assert extract(text, most=0) == Extraction((), ())
    many = " ".join(f"we met Mara{chr(97 + n % 26)}{chr(97 + n // 26)}." for n in range(100))
    assert len(extract(many).entities) == 64


def test_known_names_are_prepared_once_for_many_texts_and_can_be_pickled() -> None:
    known = pickle.loads(pickle.dumps(KnownNames({"green tea": "drink"})))
    for _ in range(2):
        assert kinds("some green tea", known=known) == {"green tea": "drink"}


@pytest.mark.parametrize("known", ["Mara", [" "], [3], None, {"Mara": 3}, 5])
def test_bad_known_names_are_refused(known: Any) -> None:
    with pytest.raises(InvalidInputError, match="known"):
        extract("Mara", known=known)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": None}, WrongTypeError),
        ({"text": b"Mara"}, WrongTypeError),
        ({"text": "Mara", "most": -1}, InvalidInputError),
        ({"text": "Mara", "most": True}, WrongTypeError),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        extract(**arguments)


LETTER = """\
Rosa Lindqvist grew up in Uppsala and studied chemistry at the University of Gothenburg. In 2011
she joined Novozymes, a biotech company near Copenhagen. Her first manager was Henrik Dahl. Henrik
had worked for Carlsberg before that. Rosa's husband Matteo runs a bakery called "Pane Vivo" in
Malmö. Business is good. Customers love the rye bread. On Sundays the couple visits Matteo's
parents, who live in Lund.

In March 2019 Novozymes sent Rosa to Curitiba. Brazil surprised her. The team there was led by Ana
Souza, whose brother Caio plays for Coritiba FC. Ana speaks Portuguese. Together they developed an
enzyme for detergents. Unilever bought the licence. Critics complained, but sales doubled. Rosa
returned to Sweden on 14 August 2021.

Meetings start at nine. Everyone uses Slack; nobody reads email. Their software is written in
Python, and the data lives in PostgreSQL. Last week Henrik Dahl retired. Rosa gave a speech. "Thank
you, Henrik," she said. He moved to Aarhus. Chemistry is hard, people are harder.
"""


def test_a_page_of_prose_gives_its_names_and_nothing_else() -> None:
    assert set(names(LETTER)) == {
        *("Rosa Lindqvist", "Rosa", "Henrik Dahl", "Henrik", "Matteo", "Ana Souza", "Ana", "Caio"),
        *("Uppsala", "Copenhagen", "Malmö", "Lund", "Curitiba", "Brazil", "Sweden", "Aarhus"),
        *("University of Gothenburg", "Novozymes", "Carlsberg", "Pane Vivo", "Coritiba FC"),
        *("Unilever", "Slack", "Python", "PostgreSQL", "Portuguese"),
        *("2011", "2019-03", "2021-08-14"),
    }
    assert said(LETTER) == [
        "Rosa Lindqvist GREW_UP_IN Uppsala",
        "Rosa Lindqvist STUDIED_CHEMISTRY_AT University of Gothenburg",
        "Henrik HAD_WORKED_FOR Carlsberg",
        "Rosa HAS_HUSBAND Matteo",
        "Matteo RUNS_A_BAKERY_CALLED Pane Vivo",
        "Novozymes SENT Rosa",
        "Caio PLAYS_FOR Coritiba FC",
        "Ana SPEAKS Portuguese",
        "Rosa RETURNED_TO Sweden",
    ]


PIECES = st.sampled_from(
    [
        "Mara",
        "Ada",
        "Lovelace",
        "works",
        "at",
        "is",
        "the",
        "of",
        "'s",
        "and",
        "2024",
        "June",
        "3",
        "3rd",
        "2024-06-03",
        "C++",
        "iPhone",
        ".",
        ",",
        "?",
        "!",
        ":",
        ";",
        "“",
        "”",
        "«",
        "»",
        '"',
        "'",
        "「",
        "」",
        "I",
        "&",
        "-",
        "van",
        "http://",
        "@",
        "東京",
        "Ё",
        "é",
        "İ",
        "ǅ",
        "ß",
        "+#",
        "_",
        "___",
        "Dr",
        "J",
        "\n",
        "\n\n",
        "e\u0301",
        "\u0301",
    ]
)


@given(st.lists(PIECES).map("".join) | st.lists(PIECES).map(" ".join) | st.text())
def test_any_text_gives_the_same_twice_with_places_inside_it(text: str) -> None:
    found = extract(text, known=["Ada Lovelace", "東京", "of"])
    assert found == extract(text, known=["Ada Lovelace", "東京", "of"])
    end = 0
    for mention in found.mentions:
        assert end <= mention.start < mention.end <= len(text)
        assert mention.name.strip()
        end = mention.end
    known = set(found.entities)
    for source, relation, target in found.relations:
        assert source in known
        assert target in known
        assert source != target
        assert relation == relation.upper() != ""
