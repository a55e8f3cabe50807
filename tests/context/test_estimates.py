"""Tokens: of texts by the class of their characters, of images by their pixels."""

import base64
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from context.asking import compiled, image, jpeg, png, request
from plugmem_core import InvalidInputError, ServiceError, WrongTypeError
from plugmem_core.context import ContextCompiler, HeuristicEstimator, TokenizerEstimator

estimate = HeuristicEstimator().estimate


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   \t ", 0),
        ("a", 1),  # 9 thirtieths
        ("abc", 1),  # 27
        ("abcd", 2),  # 36
        ("abcdefghij", 3),  # 90
        ("the pump", 3),  # 27 → 1, 36 → 2
        ("42", 2),  # 60
        ("a1", 2),  # 39
        ("v1.2", 3),  # 9 + 30 + 9 + 30 = 78
        ("日", 1),  # 25
        ("日本", 2),  # 50
        ("日本語", 3),  # 75
        ("ひらがな", 4),  # 100
        ("한국", 2),
        ("日a", 2),  # 34
        ("é", 1),
        ("٣", 1),  # a digit, but no ASCII one: 9
        ("\n", 1),  # 15, rounded up
        ("\n\n", 1),  # 30
        ("\n\n\n", 2),  # 45
        ("a\nb", 3),  # 1 + 1, and 15 rounded up
        ("a b\n\n", 3),
        ("\U00020000", 1),  # of a later CJK block: 9, as any other
    ],
)
def test_a_text_is_estimated_in_thirtieths_of_a_token(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


def test_words_are_rounded_up_one_by_one() -> None:
    assert estimate("aaaa " * 100) == 200
    assert estimate("a" * 400) == 120
    assert estimate("日 " * 600) == 600
    assert estimate("7" * 1_000) == 1_000
    assert estimate("ab\n" * 600) == 600 + 300


ALPHABET = "ab19 \n\t.日ひ한豈é🚀\u2028\u3000"


def by_hand(text: str) -> int:
    cost = {"1": 30, "9": 30, "日": 25, "ひ": 25, "한": 25, "豈": 25}
    words = [sum(cost.get(char, 9) for char in word) for word in text.split()]
    return sum((word + 29) // 30 for word in words) + (text.count("\n") * 15 + 29) // 30


@given(st.text(ALPHABET, max_size=60), st.integers(1, 40))
def test_short_and_long_texts_are_estimated_alike(text: str, times: int) -> None:
    assert estimate(text * times) == by_hand(text * times)


@given(st.text(ALPHABET), st.text(ALPHABET))
def test_a_whole_costs_no_more_than_its_parts(one: str, other: str) -> None:
    assert estimate(one + other) <= estimate(one) + estimate(other)
    assert estimate(f"{one}\n\n{other}") <= estimate(one) + estimate(other) + 1


@pytest.mark.parametrize(
    ("data", "tokens"),
    [
        (png(750, 1), 1),
        (png(751, 1), 2),
        (png(1_000, 750), 1_000),
        (jpeg(1_500, 10), 20),
        (jpeg(1_500, 10, marker=0xC2), 20),
    ],
)
def test_an_image_costs_a_token_per_750_pixels(data: bytes, tokens: int) -> None:
    assert compiled(image(data), budget=5_000).insights.tokens_in == tokens


@pytest.mark.parametrize(
    "data",
    [
        b"GIF89a",
        b"",
        png(0, 5),
        png(5, 5)[:20],
        jpeg(0, 5),
        jpeg(5, 5, marker=0xC1),
        jpeg(5, 5)[:9],
        b"\xff\xd8\xff\xe0\x00\x00" * 5,
        b"\xff\xd8" + b"\xff" * 20,
    ],
)
def test_another_image_costs_what_its_base64_does(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert compiled(image(data), budget=5_000).insights.tokens_in == by_hand_base64(text)


def by_hand_base64(text: str) -> int:
    digits = sum(char in "0123456789" for char in text)
    return (digits * 30 + (len(text) - digits) * 9 + 29) // 30


def test_fill_bytes_before_a_frame_are_passed_over() -> None:
    filled = jpeg(750, 3).replace(b"\xff\xc0", b"\xff\xff\xff\xc0")
    assert compiled(image(filled)).insights.tokens_in == 3


def test_a_caption_costs_beside_its_image() -> None:
    assert compiled(image(png(750, 2), "the pump")).insights.tokens_in == 2 + 3


def test_a_tokenizer_counts_instead() -> None:
    encoding = tiktoken.Encoding(
        "bytes",
        pat_str=r"[\s\S]",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={},
    )
    compiler = ContextCompiler(estimator=TokenizerEstimator(encoding))
    assert compiler.compile(request("pump")).insights.tokens_in == 4
    assert compiler.compile(request("é")).insights.tokens_in == 2


class Counts:
    def __init__(self, answer: Any, hint: Any = 3) -> None:
        self.answer = answer
        self.bytes_per_token = hint

    def estimate(self, text: str) -> Any:
        return self.answer


@pytest.mark.parametrize("answer", [-1, 1.5, None, True, 2**53 + 1, 10**700])
def test_an_estimator_that_returns_no_count_is_told(answer: Any) -> None:
    compiler = ContextCompiler(estimator=Counts(answer))
    with pytest.raises(ServiceError, match="estimator returned"):
        compiler.compile(request("x"))


@pytest.mark.parametrize("error", [KeyError("x"), ValueError("x"), RecursionError()])
def test_an_estimator_that_fails_is_told(error: Exception) -> None:
    class Fails:
        def estimate(self, text: str) -> int:
            raise error

    compiler = ContextCompiler(estimator=Fails())
    with pytest.raises(ServiceError, match="estimator failed") as caught:
        compiler.compile(request("x"))
    assert caught.value.__cause__ is error


def test_what_cannot_estimate_is_refused() -> None:
    with pytest.raises(WrongTypeError, match="estimate"):
        ContextCompiler(estimator="cl100k_base").compile(request("x"))
    with pytest.raises(WrongTypeError, match="encode_ordinary"):
        TokenizerEstimator("cl100k_base")
    with pytest.raises(InvalidInputError, match="bytes_per_token"):
        ContextCompiler(estimator=Counts(1, hint=0)).compile(request("x"))


class QuarterOfLength:
    """Rounds down, so that parts cost less than their whole."""

    def estimate(self, text: str) -> int:
        return len(text) // 4


class Squared:
    """Finds much more in a whole than in its parts."""

    def estimate(self, text: str) -> int:
        return len(text) ** 2 // 10


class Jagged:
    """Longer texts may cost less than shorter ones."""

    def estimate(self, text: str) -> int:
        return len(text) // 4 + len(text) * 7919 % 13


class Constant:
    def estimate(self, text: str) -> int:
        return 7


ESTIMATORS = [QuarterOfLength(), Squared(), Jagged(), Constant()]


def test_no_query_changes_the_prefix_with_an_estimator_that_finds_more_in_a_whole() -> None:
    # Alone, the prefix costs 10, and what follows 4 and 22; joined to it, 36 and 72 in all.
    fragments = [
        {"content": "p" * 10, "metadata": {"cache": True}},
        "xa aaaa",
        "yb bbbbbbbbbbbb",
    ]
    compiler = ContextCompiler(estimator=Squared())
    for budget in range(1, 90):
        sections = {
            compiler.compile(request(*fragments, budget=budget, query=query)).sections[0].content
            for query in ("", "xa", "yb", "xa yb")
        }
        assert sections == {"p" * 10 if budget > 10 else ""}


def test_as_little_as_possible_is_taken_out_again() -> None:
    # Two letters cost nothing; n of them with joiners are 4n - 2 characters: 3 are 10, 4 are 19.
    compiler = ContextCompiler(estimator=Squared())
    for budget, expected in ((9, 2), (10, 3), (18, 3), (19, 4)):
        result = compiler.compile(request("ab", "cd", "ef", "gh", "ij", budget=budget))
        assert result.content == "\n\n".join(["ab", "cd", "ef", "gh", "ij"][:expected])


FRAGMENTS = st.lists(
    st.fixed_dictionaries(
        {"content": st.text("oil Pum\n", max_size=40)},
        optional={
            "priority": st.integers(0, 2),
            "metadata": st.fixed_dictionaries(
                {}, optional={"cache": st.booleans(), "verbatim": st.booleans()}
            ),
        },
    ),
    max_size=8,
)
QUERIES = st.sampled_from(["", "oil", "pum", "oil pum i"])


@given(FRAGMENTS, st.integers(1, 120), QUERIES, QUERIES, st.sampled_from(ESTIMATORS))
def test_the_prefix_and_the_budget_hold_with_any_estimator(
    fragments: list[dict[str, Any]], budget: int, query: str, other: str, estimator: Any
) -> None:
    compiler = ContextCompiler(estimator=estimator)
    one, two = (
        compiler.compile(request(*fragments, budget=budget, query=asked))
        for asked in (query, other)
    )
    assert one.sections[0] == two.sections[0]
    for result in (one, two):
        assert estimator.estimate(result.content) <= budget or result.content == ""


def test_the_budget_holds_with_an_estimator_that_finds_more_in_a_whole() -> None:
    texts = [f"{number:03}" for number in range(200)]  # each costs nothing by itself
    compiler = ContextCompiler(estimator=QuarterOfLength())
    result = compiler.compile(request(*texts, budget=150))
    assert result.insights.tokens_out <= 150
    assert result.content.startswith("000\n\n001")
    assert [one.action for one in result.decisions].count("preserve") == len(
        result.content.split("\n\n")
    )
