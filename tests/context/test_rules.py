"""Which rule applies to a fragment: the first of the table that is not disabled."""

from typing import Any

import pytest

from context.asking import compiled, decision, image, png
from plugmem_core import InvalidInputError

VERBATIM = {"metadata": {"verbatim": True}}
CACHE = {"metadata": {"cache": True}}


@pytest.mark.parametrize(
    ("fragment", "rule", "action"),
    [
        (image(png(9, 9)), "media.atomic", "preserve"),
        ({"content": "x"} | VERBATIM, "preserve.marked_verbatim", "preserve"),
        ({"content": "x"} | CACHE, "cache.stable_prefix", "cache"),
        ({"content": "x", "kind": "code"}, "preserve.code_fence", "preserve"),
        ("see ```x``` there", "preserve.code_fence", "preserve"),
        ("Never do this.", "preserve.negative_constraint", "preserve"),
        ({"content": "up\nup", "kind": "log"}, "abstract.log_dedup", "abstract"),
        ("from 3 to 9 at 12:30", "preserve.exact_values", "preserve"),
        ("see https://example.org", "preserve.url", "preserve"),
        ("see http://example.org", "preserve.url", "preserve"),
        ("plain words", "preserve.default", "preserve"),
        ("", "preserve.default", "preserve"),
        ({"content": "x", "kind": "Code"}, "preserve.default", "preserve"),
        ({"content": "x", "kind": "log"}, "preserve.default", "preserve"),
    ],
)
def test_each_rule_has_its_fragments(fragment: Any, rule: str, action: str) -> None:
    decided = decision(fragment)
    assert (decided.rule_id, decided.action) == (rule, action)


@pytest.mark.parametrize("value", [1, "true", "yes", [True], None, False])
def test_only_json_true_marks_a_fragment(value: Any) -> None:
    metadata = {"verbatim": value, "cache": value}
    assert decision({"content": "x", "metadata": metadata}).rule_id == "preserve.default"


IN_ORDER = [
    "media.atomic",
    "preserve.marked_verbatim",
    "cache.stable_prefix",
    "preserve.code_fence",
    "preserve.negative_constraint",
    "abstract.log_dedup",
    "preserve.exact_values",
    "preserve.url",
    "preserve.default",
]


def test_a_disabled_rule_leaves_a_fragment_to_the_next() -> None:
    everything = image(
        png(9, 9),
        "never 1 2 3 http://x ```\nup\nup",
        kind="log",
        metadata={"verbatim": True, "cache": True},
    )
    for place, rule in enumerate(IN_ORDER):
        assert decision(everything, disabled_rules=IN_ORDER[:place]).rule_id == rule
    assert decision(everything, disabled_rules=IN_ORDER).rule_id == "preserve.default"


def test_a_cached_image_is_in_the_body() -> None:
    result = compiled(image(png(9, 9), "the pump", **CACHE))
    assert [section.content for section in result.sections] == ["", "the pump"]


@pytest.mark.parametrize(
    "text",
    [
        "NEVER open it",
        "one line\nand never\r\nanother",
        "never",
        "never!",
        "You must not go",
        "you must-not go",
        "Do not.",
        "don't",
        "Il ne faut ne pas",
        "On ne (ne jamais) ouvre",
        "Jamais",
        "_never_ here",
    ],
)
def test_prohibitions_are_seen_in_english_and_french(text: str) -> None:
    assert decision(text).rule_id == "preserve.negative_constraint"


@pytest.mark.parametrize(
    "text",
    [
        "nevertheless",
        "must  not",  # two spaces
        "must\nnot",  # two lines
        "you must go, not stay",
        "donut",
        "jamaïs",
        "don’t",  # another apostrophe; see below
    ],
)
def test_what_only_looks_like_a_prohibition_is_none(text: str) -> None:
    assert decision(text).rule_id == "preserve.default"


def test_a_policy_adds_phrases_that_mark_a_prohibition() -> None:
    added = {"negative_constraints": ["don’t", "Auf-keinen Fall "]}
    for text in ("Don’t touch", "auf keinen fall", "AUF KEINEN FALL!", "never"):
        assert decision(text, **added).rule_id == "preserve.negative_constraint"
    assert decision("auf keinen falle", **added).rule_id == "preserve.default"
    with pytest.raises(InvalidInputError, match="blank"):
        decision("x", negative_constraints=[" "])


@pytest.mark.parametrize("phrase", ["", " ", "!", "-", "...", "_!_", "'", "’", "—", "\n", "⛔"])
def test_a_phrase_without_a_letter_or_a_digit_is_refused(phrase: str) -> None:
    with pytest.raises(InvalidInputError, match="no letter and no digit"):
        decision("x", negative_constraints=["never", phrase])


def test_a_phrase_may_have_punctuation_beside_its_letters() -> None:
    added = {"negative_constraints": ["e-mail", "§ 7"]}
    assert decision("an e mail", **added).rule_id == "preserve.negative_constraint"
    assert decision("see § 7", **added).rule_id == "preserve.negative_constraint"
    assert decision("a - b !", **added).rule_id == "preserve.default"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("1 2", "preserve.default"),
        ("1-2-3-4 5", "preserve.default"),  # two tokens
        ("a1 b2 c3", "preserve.exact_values"),
        ("1\n2\t3", "preserve.exact_values"),
        ("٣ ٤ ٥", "preserve.default"),  # no ASCII digits
    ],
)
def test_three_tokens_with_digits_are_exact_values(text: str, rule: str) -> None:
    assert decision(text).rule_id == rule


def test_a_log_with_a_prohibition_is_not_abstracted() -> None:
    result = compiled({"content": "never\nup\nup", "kind": "log"})
    assert result.content == "never\nup\nup"


def test_the_name_of_no_rule_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"preserve\.url"):
        decision("x", disabled_rules=["preserve.links"])
