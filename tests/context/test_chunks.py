"""Texts in chunks: at paragraphs, sentences or anywhere, and never inside fenced code."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.asking import compiled, request
from plugmem_core import InvalidInputError, WrongTypeError
from plugmem_core.context import ContextCompiler, ContextLimits, chunk_text
from plugmem_core.context.request import Boundary

TEXTS = st.text(st.sampled_from("aé日🚀.!? \n`x"), max_size=200) | st.lists(
    st.sampled_from(["```", "\n", "\n\n", "One.", " Two!", "code", "é", " ```py\n"]), max_size=40
).map("".join)


def test_a_text_that_fits_is_one_chunk() -> None:
    assert chunk_text("a\n\nb", max_bytes=4) == ["a\n\nb"]
    assert chunk_text("", max_bytes=4) == [""]


@pytest.mark.parametrize("text", ["\ud800", "a\udc00" * 2_000])
def test_a_text_that_cannot_be_written_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="surrogate"):
        chunk_text(text, max_bytes=8)


def test_paragraphs_keep_the_newlines_behind_them() -> None:
    assert chunk_text("one\n\ntwo\n\n\nthree", max_bytes=6) == ["one\n\n", "two\n\n\n", "three"]


def test_a_single_newline_ends_no_paragraph() -> None:
    assert chunk_text("one\ntwo\n\nthree", max_bytes=10) == ["one\ntwo\n\n", "three"]


def test_sentences_end_before_whitespace_only() -> None:
    assert chunk_text("At 3.5 bar. Really? Yes!\nGo", max_bytes=12, boundary="sentence") == [
        "At 3.5 bar.",
        " Really?",
        " Yes!\nGo",
    ]


def test_fixed_chunks_are_cut_anywhere() -> None:
    assert chunk_text("one two three", max_bytes=5, boundary="fixed") == ["one t", "wo th", "ree"]


def test_neighbours_are_joined_while_they_fit() -> None:
    text = "a\n\nb\n\nc\n\nd"
    assert chunk_text(text, max_bytes=6) == ["a\n\nb\n\n", "c\n\nd"]


def test_a_long_paragraph_is_cut_between_characters() -> None:
    assert chunk_text("日本語日本", max_bytes=7) == ["日本", "語日", "本"]
    assert chunk_text("🚀🚀", max_bytes=4) == ["🚀", "🚀"]


def test_fenced_code_is_never_cut() -> None:
    fence = "```py\n" + "x = 1\n\n" * 5 + "```\n"
    assert chunk_text(f"see\n{fence}above", max_bytes=8) == ["see\n", fence, "above"]
    unclosed = "  ```\n" + "y\n\n" * 10
    assert chunk_text(f"see\n{unclosed}", max_bytes=8) == ["see\n", unclosed]


def test_an_overlap_repeats_the_end_of_the_chunk_before() -> None:
    assert chunk_text("abcdefgh", max_bytes=4, overlap_bytes=2) == ["abcd", "cdefgh"]
    assert chunk_text("日本語", max_bytes=4, overlap_bytes=4) == ["日", "日本", "本語"]
    assert chunk_text("éa", max_bytes=4, overlap_bytes=9) == ["éa"]


@given(TEXTS, st.integers(4, 40), st.sampled_from(get_args(Boundary)))
def test_chunks_join_to_the_text(text: str, most: int, boundary: Boundary) -> None:
    chunks = chunk_text(text, max_bytes=most, boundary=boundary)
    assert "".join(chunks) == text
    assert all(chunks) or chunks == [""]
    if "```" not in text:
        assert all(len(chunk.encode()) <= most for chunk in chunks)


@given(TEXTS, st.integers(4, 40), st.integers(0, 20))
def test_an_overlap_is_what_comes_before(text: str, most: int, overlap: int) -> None:
    plain = chunk_text(text, max_bytes=most)
    for at, chunk in enumerate(chunk_text(text, max_bytes=most, overlap_bytes=overlap)):
        assert chunk.endswith(plain[at])
        repeated = chunk.removesuffix(plain[at])
        assert len(repeated.encode()) <= overlap
        assert "".join(plain[:at]).endswith(repeated)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": b"x"}, WrongTypeError),
        ({"max_bytes": 3}, InvalidInputError),
        ({"max_bytes": 9.0}, WrongTypeError),
        ({"overlap_bytes": -1}, InvalidInputError),
        ({"boundary": "line"}, InvalidInputError),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(arguments))):
        chunk_text(**{"text": "x"} | arguments)


PARAGRAPH = "word " * 60 + "\n\n"  # 302 bytes, 60 * 2 + 1 = 121 tokens


def test_a_large_fragment_is_emitted_as_far_as_it_fits() -> None:
    result = compiled(PARAGRAPH * 3, budget=121 * 2 + 1, chunk={"max_chunk_bytes": 302})
    assert result.content == PARAGRAPH * 2
    assert "2 of its 3 chunks" in result.decisions[0].reason


def test_chunks_have_a_floor() -> None:
    result = compiled("word " * 100, budget=110, chunk={"max_chunk_bytes": 1})
    # 500 bytes in pieces of 256: the first one ends after 51 words and a letter.
    assert result.content == ("word " * 100)[:256]
    lower = ContextCompiler(limits=ContextLimits(min_chunk_bytes=50))
    asked = request("word " * 100, budget=110, chunk={"max_chunk_bytes": 1})
    assert lower.compile(asked).content == ("word " * 100)[:250]


def test_small_budgets_have_small_chunks() -> None:
    # Three bytes a token: a budget of 100 cuts pieces of 300 bytes, although 2048 are allowed.
    result = compiled("a" * 1_000, budget=100)
    assert result.content == "a" * 300


def test_compiled_text_repeats_nothing() -> None:
    chunk = {"max_chunk_bytes": 256, "overlap_bytes": 50}
    assert compiled("word " * 200, chunk=chunk).content == "word " * 200


def test_the_boundary_of_a_policy_is_kept_to() -> None:
    text = ("Pumps run. " * 30).strip()  # 23 sentences have 252 bytes and 92 tokens
    chunk = {"max_chunk_bytes": 256, "boundary": "sentence"}
    content = compiled(text, budget=110, chunk=chunk).content
    assert content == " ".join(["Pumps run."] * 23)
