import pytest
from hypothesis import given, settings
from strategies import names

from plugmem_core.errors import InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.text import MAX_NAME_BYTES, entity_key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("C++", "C#"),
        ("café", "Cafe"),
        ("a.b", "A.B."),
        ("user_1", "USER_1_"),
        ("Проект PlugMem", "проект-plugmem"),
        ("  Ann\tLee ", "ann lee"),
    ],
)
def test_spellings_of_one_entity_share_a_key(first: str, second: str) -> None:
    assert entity_key(first) == entity_key(second)


@pytest.mark.parametrize(
    ("first", "second"), [("3.14", "3 14"), ("John O'Neil", "john o’neil"), ("Ann", "Anna")]
)
def test_different_tokens_are_different_entities(first: str, second: str) -> None:
    assert entity_key(first) != entity_key(second)


def test_key_is_the_tokens_joined_by_a_space() -> None:
    assert entity_key("東京都") == "東京 京都"
    assert entity_key("Acme, Inc.") == "acme inc"


@settings(deadline=None)
@given(names())
def test_key_of_a_key_is_itself(name: str) -> None:
    assert entity_key(entity_key(name)) == entity_key(name)


@pytest.mark.parametrize("name", ["", " ", "+++", "🦀"])
def test_name_without_indexable_characters_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        entity_key(name, "links target")
    assert str(error.value).startswith(f"links target is {name!r}")
    assert "give a name with a letter or a digit" in str(error.value)


def test_name_that_is_no_storable_text_is_refused() -> None:
    with pytest.raises(WrongTypeError, match="entity is 7"):
        entity_key(7)
    with pytest.raises(InvalidInputError, match="NUL"):
        entity_key("a\0b")
    with pytest.raises(TooLargeError, match=str(MAX_NAME_BYTES)):
        entity_key("n" * (MAX_NAME_BYTES + 1))
    assert entity_key("n" * MAX_NAME_BYTES) == "n" * 64
