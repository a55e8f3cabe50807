"""What is refused, in which order, and how it is told."""

import base64
from typing import Any

import pytest

from context.asking import compiled, image, png, request
from plugmem_core import ConfigError, InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.context import ContextCompiler, ContextLimits, ContextRequest

FIELDS = {"query": "q", "fragments": [], "token_budget": 9}


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        ([], WrongTypeError, "request is "),
        ("{}", WrongTypeError, "request is "),
        ({"query": "q", "fragments": []}, InvalidInputError, "request.token_budget is missing"),
        (FIELDS | {"budget": 1}, InvalidInputError, "request.budget is no known field"),
        (FIELDS | {"query": None}, WrongTypeError, "request.query"),
        (FIELDS | {"query": "\ud800"}, InvalidInputError, "request.query"),
        (FIELDS | {"token_budget": "9"}, WrongTypeError, "request.token_budget"),
        (FIELDS | {"token_budget": True}, WrongTypeError, "request.token_budget"),
        (FIELDS | {"token_budget": 9.0}, WrongTypeError, "request.token_budget"),
        (FIELDS | {"token_budget": -1}, InvalidInputError, "request.token_budget"),
        (FIELDS | {"fragments": "text"}, WrongTypeError, "request.fragments"),
        (FIELDS | {"fragments": ["text"]}, WrongTypeError, "request.fragments[0]"),
        (FIELDS | {"policy": {"slim": True}}, InvalidInputError, "request.policy.slim"),
        (
            FIELDS | {"policy": {"chunk": {"boundary": "line"}}},
            InvalidInputError,
            "request.policy.chunk.boundary",
        ),
        (
            FIELDS | {"policy": {"importance": {"recency": float("nan")}}},
            InvalidInputError,
            "request.policy.importance.recency",
        ),
    ],
)
def test_a_request_that_is_none_is_refused(fields: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error) as caught:
        ContextCompiler().compile(fields)
    assert type(caught.value) is error
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("fragment", "error", "told"),
    [
        ({"text": "x"}, InvalidInputError, "fragments[1].text"),
        ({"content": b"x"}, WrongTypeError, "fragments[1].content"),
        ({"content": "\udfff"}, InvalidInputError, "fragments[1].content"),
        ({"priority": 256}, InvalidInputError, "fragments[1].priority"),
        ({"priority": -1}, InvalidInputError, "fragments[1].priority"),
        ({"priority": "1"}, WrongTypeError, "fragments[1].priority"),
        ({"kind": 1}, WrongTypeError, "fragments[1].kind"),
        ({"id": -1}, InvalidInputError, "fragments[1].id"),
        ({"id": 2**64}, InvalidInputError, "fragments[1].id"),
        ({"id": "0x10"}, InvalidInputError, "fragments[1].id"),
        ({"id": "٣"}, InvalidInputError, "fragments[1].id"),
        ({"id": "9" * 5_000}, InvalidInputError, "fragments[1].id"),
        ({"id": 1.0}, WrongTypeError, "fragments[1].id"),
        ({"id": True}, WrongTypeError, "fragments[1].id"),
        ({"metadata": []}, WrongTypeError, "fragments[1].metadata"),
        ({"metadata": {1: 2}}, WrongTypeError, "fragments[1].metadata"),
        ({"metadata": {"a": float("inf")}}, InvalidInputError, "fragments[1].metadata"),
        ({"metadata": {"a": {1, 2}}}, WrongTypeError, "fragments[1].metadata"),
        ({"media": {"mime": "image/png"}}, InvalidInputError, "fragments[1].media.bytes_b64"),
        ({"path": "/etc/passwd"}, InvalidInputError, "reading files is disabled"),
        ({"path": ""}, InvalidInputError, "reading files is disabled"),
    ],
)
def test_a_fragment_that_is_none_is_refused(
    fragment: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as caught:
        compiled("fine", fragment)
    assert type(caught.value) is error
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "text", ["aGk", "aGk=a", "=aGk", "aGk-", "aG k=", "aGl=", "aGk=\n", "a===", "é", "aGk=="]
)
def test_base64_that_is_not_canonical_is_refused(text: str) -> None:
    fragment = {"media": {"mime": "image/png", "bytes_b64": text}}
    with pytest.raises(InvalidInputError, match="canonical base64"):
        compiled(fragment)


LIMITS = ContextLimits(
    fragments=4,
    fragment_bytes=8,
    metadata_bytes=16,
    media_bytes=44,
    media_total_bytes=80,
    token_budget=50,
)
COMPILER = ContextCompiler(limits=LIMITS)
IMAGE = image(png(9, 9))  # 24 bytes, so 32 of base64

FAULTS = [
    ({"path": "/x"}, InvalidInputError, "path"),
    (None, TooLargeError, "5 fragments"),
    ({"content": "é" * 5}, TooLargeError, "10 bytes"),
    ({"metadata": {"key": "long value"}}, TooLargeError, "metadata"),
    (image(b"x" * 34), TooLargeError, "48 bytes of base64, over the limit of 44"),
    ({"media": {"mime": "", "bytes_b64": "?"}}, InvalidInputError, "canonical"),
]


@pytest.mark.parametrize("place", range(len(FAULTS)))
def test_faults_are_told_in_one_order(place: int) -> None:
    faulty = [fault for fault, _, _ in FAULTS[place:] if fault]
    fragments: list[Any] = sorted(
        faulty, key=lambda fault: "media" in fault
    )  # images are checked in order
    fragments += ["a"] * (5 - len(fragments) if place <= 1 else 0)
    _, error, told = FAULTS[place]
    with pytest.raises(error, match=told) as caught:
        COMPILER.compile(request(*fragments, budget=0))
    assert type(caught.value) is error


def test_a_budget_without_room_is_told_last() -> None:
    for budget, reserve in ((0, 0), (5, 5), (5, 9), (60, 50)):
        with pytest.raises(InvalidInputError, match="leaves no room"):
            COMPILER.compile(request("a", budget=budget, response_reserve_tokens=reserve))


def test_a_budget_over_the_limit_is_the_limit() -> None:
    # The reserve is taken from 50, and one word with its joiner is left.
    result = COMPILER.compile(request("a", "b", budget=10**30, response_reserve_tokens=48))
    assert result.content == "a"


def test_what_is_at_a_limit_is_accepted() -> None:
    fragments = [
        "é" * 4,
        {"content": "x", "metadata": {"k": "12345678"}},  # {"k":"12345678"}
        image(b"x" * 33),
        IMAGE,
    ]
    assert len(COMPILER.compile(request(*fragments, budget=50)).decisions) == 4


def test_images_have_a_limit_together() -> None:
    with pytest.raises(TooLargeError, match=r"fragments\[2\] there are 96 bytes"):
        COMPILER.compile(request(IMAGE, IMAGE, IMAGE))


def test_the_limits_of_the_package_hold_by_default() -> None:
    limits = ContextLimits()
    assert (limits.fragments, limits.fragment_bytes, limits.metadata_bytes) == (1024, 2**20, 65_536)
    assert (limits.media_bytes, limits.media_total_bytes) == (4 * 2**20, 64 * 2**20)
    assert (limits.transcript_bytes, limits.working_bytes) == (8 * 2**20, 2**20)
    assert (limits.token_budget, limits.memories, limits.min_chunk_bytes) == (10**7, 1_000, 256)
    with pytest.raises(TooLargeError, match="1025"):
        compiled(*["a"] * 1025)
    with pytest.raises(TooLargeError, match="1048577 bytes"):
        compiled("a" * (2**20 + 1))


@pytest.mark.parametrize("limits", [{"fragments": 0}, {"unknown": 1}, {"fragments": "9"}])
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        ContextLimits(**limits)


def test_a_compiler_takes_only_what_it_knows() -> None:
    with pytest.raises(WrongTypeError, match="limits"):
        ContextCompiler(limits={"fragments": 3})
    with pytest.raises(InvalidInputError, match=r"policy\.slim"):
        ContextCompiler(policy={"slim": True})
    with pytest.raises(WrongTypeError, match="pricing"):
        ContextCompiler(pricing="free")


def test_a_memory_scope_needs_a_memory() -> None:
    with pytest.raises(InvalidInputError, match="no memory is attached"):
        compiled("a", memory_scope={"k": 3})


def test_records_are_accepted_like_mappings() -> None:
    asked = ContextRequest(**request("a", image(png(9, 9)), ids_as_strings=True))
    assert ContextCompiler().compile(asked) == compiled("a", image(png(9, 9)), ids_as_strings=True)


def test_control_characters_are_content_as_any_other() -> None:
    text = "\0a\x1fb\x1b[0m\u2028"
    assert compiled(text).content == text
    assert compiled(image(base64.b64decode("AAAA"), "\0")).content == "\0"
