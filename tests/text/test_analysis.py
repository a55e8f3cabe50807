"""What becomes of tokens: stems, and the words that a question can do without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugmem_core.config import LANGUAGES, PLAIN
from plugmem_core.text import Analyzer, tokenize
from plugmem_core.text.stop_words import STOP_WORDS

ENGLISH = Analyzer("english")


def terms(text: str, analyzer: Analyzer = ENGLISH) -> list[str]:
    return [analyzer.term(token) for token in tokenize(text)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She walks", "she WALKED"),
        ("moving", "moves"),
        ("Caroline's", "caroline"),
        ("Caroline’s", "caroline"),
        ("studies", "studying"),
    ],
)
def test_forms_of_a_word_are_one_term(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@pytest.mark.parametrize("token", ["1984", "3.14", "node.js", "a_b", "b2b", "東京", "東", "ไทย"])
def test_what_is_no_word_of_letters_stays(token: str) -> None:
    assert ENGLISH.term(token) == token


def test_plainly_every_token_is_its_term() -> None:
    plain = Analyzer(PLAIN)
    assert terms("When did she walk? Walking", plain) == ["when", "did", "she", "walk", "walking"]
    assert plain.question(["when", "did"]) == ["when", "did"]
    assert plain.stem is None


def test_each_language_has_its_own_forms() -> None:
    assert Analyzer("german").term("häuser") == Analyzer("german").term("haus")
    assert ENGLISH.term("häuser") != ENGLISH.term("haus")


@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_any_token_of_any_language_has_a_term(text: str, language: str) -> None:
    analyzer = Analyzer(language)
    for token in tokenize(text):
        assert analyzer.term(token) == analyzer.term(token)


# -- questions


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("When did Caroline go to the support group?", "caroline go support group"),
        ("What's Mara's favourite tea, and who told her?", "mara's favourite tea told"),
        ("What’s Mara’s favourite tea, and who’d tell?", "mara’s favourite tea"),
        ("Which of these have you been reading?", "reading"),
        ("Who was it?", "who was it"),
        ("", ""),
    ],
)
def test_words_that_say_nothing_are_left_out_unless_there_are_no_others(
    question: str, left: str
) -> None:
    assert ENGLISH.question(tokenize(question)) == left.split()


def test_stop_words_can_be_kept() -> None:
    assert Analyzer("english", stop_words=False).question(["who", "walks"]) == ["who", "walks"]


def test_a_language_without_a_list_keeps_all() -> None:
    assert Analyzer("finnish").question(["mika", "on", "sauna"]) == ["mika", "on", "sauna"]


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_are_tokens(language: str) -> None:
    for word in STOP_WORDS[language]:
        assert tokenize(word) == [word]
