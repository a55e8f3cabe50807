from typing import Any

import pytest
from hypothesis import given, settings
from strategies import texts

from plugmem_core.errors import InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.text import check_fact_text, check_text


@settings(deadline=None)
@given(texts())
def test_storable_text_comes_back_unchanged(text: str) -> None:
    assert check_text(text, "query", max_bytes=1_000) is text


@pytest.mark.parametrize("value", [None, 7, b"bytes", ["list"]])
def test_other_types_are_refused_by_name(value: Any) -> None:
    with pytest.raises(WrongTypeError, match=rf"query is .*{type(value).__name__}.*give a str"):
        check_text(value, "query", max_bytes=10)


@pytest.mark.parametrize("text", ["\ud800", "ok \udfff"])
def test_lone_surrogate_is_refused_with_its_position(text: str) -> None:
    with pytest.raises(InvalidInputError, match=f"surrogate at {len(text) - 1}") as error:
        check_text(text, "text", max_bytes=100)
    str(error.value).encode()  # the message itself can be printed


def test_nul_is_refused_with_its_position() -> None:
    with pytest.raises(InvalidInputError, match="text has a NUL character at 2"):
        check_text("ab\0c", "text", max_bytes=100)


@pytest.mark.parametrize(("text", "size"), [("abcd", 4), ("жж", 4), ("🦀", 4)])
def test_limit_counts_bytes_of_utf8_and_is_inclusive(text: str, size: int) -> None:
    assert check_text(text, "text", max_bytes=size) == text
    with pytest.raises(TooLargeError, match=f"{size} bytes.*limit of {size - 1}"):
        check_text(text, "text", max_bytes=size - 1)


def test_error_shows_the_beginning_of_a_long_value_only() -> None:
    with pytest.raises(TooLargeError) as error:
        check_text("x" * 100_000, "text", max_bytes=10)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000\u00a0"])
def test_blank_text_is_no_fact(text: str) -> None:
    assert check_text(text, "query", max_bytes=100) == text
    with pytest.raises(InvalidInputError, match="blank"):
        check_fact_text(text, max_bytes=100)


def test_fact_text_keeps_the_rules_of_text() -> None:
    assert check_fact_text(" Ann moved ", max_bytes=100) == " Ann moved "
    with pytest.raises(TooLargeError):
        check_fact_text("long", max_bytes=3)
