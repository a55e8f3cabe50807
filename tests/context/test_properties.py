"""What holds of every compile."""

import base64
import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from context.asking import DictStore, image, image_hash, png, request, screenshot
from plugmem_core.context import CompiledContext, ContextCompiler, ContextDesk
from plugmem_core.text.fnv import fnv1a64

WORDS = st.sampled_from(
    ["oil", "Pump", "never", "42", "7", "1.5", "http://x", "```", "é", "日本", "up", "x" * 300, "-"]
)
TEXTS = st.lists(st.one_of(WORDS, st.sampled_from([" ", "\n", "\n\n", ". "])), max_size=60).map(
    " ".join
)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "verbatim": st.booleans(),
        "cache": st.booleans(),
        "note": st.sampled_from(["", "é", "x"]),
    },
)
TEXT_FRAGMENTS = st.fixed_dictionaries(
    {"content": TEXTS},
    optional={
        "id": st.integers(0, 3),
        "kind": st.sampled_from(["log", "code", "memory", "note"]),
        "priority": st.integers(0, 255),
        "metadata": METADATA,
    },
)
IMAGES = st.builds(png, st.integers(1, 60), st.integers(1, 3))
FRAGMENTS = st.lists(
    st.one_of(
        TEXT_FRAGMENTS,
        st.builds(image, IMAGES, TEXTS),
        st.builds(screenshot, IMAGES, st.integers(0, 1), caption=TEXTS),
    ),
    max_size=12,
)
REQUESTS = st.builds(
    lambda fragments, budget, query, policy: request(
        *fragments, budget=budget + policy["response_reserve_tokens"], query=query, policy=policy
    ),
    FRAGMENTS,
    st.integers(1, 300),
    TEXTS,
    st.fixed_dictionaries(
        {"response_reserve_tokens": st.integers(0, 50)},
        optional={
            "near_dup_dedup": st.booleans(),
            "normalize_log_timestamps": st.booleans(),
            "disabled_rules": st.lists(st.sampled_from(["media.atomic", "preserve.url"])),
            "chunk": st.fixed_dictionaries(
                {"max_chunk_bytes": st.integers(1, 999)},
                optional={"boundary": st.sampled_from(["paragraph", "sentence", "fixed"])},
            ),
        },
    ),
)


def by_hand(text: str) -> int:
    tokens = math.ceil(text.count("\n") / 2)
    for word in text.split():
        cost = sum(30 if char in "0123456789" else 25 if char in "日本" else 9 for char in word)
        tokens += math.ceil(cost / 30)
    return tokens


def emitted_images(asked: dict[str, Any], result: CompiledContext) -> int:
    tokens = 0
    for fragment, decided in zip(asked["fragments"], result.decisions, strict=True):
        if "media" in fragment and decided.action in ("preserve", "cache", "abstract"):
            data = base64.b64decode(fragment["media"]["bytes_b64"])
            width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
            tokens += math.ceil(width * height / 750)
    return tokens


@given(REQUESTS)
def test_the_budget_is_never_exceeded(asked: dict[str, Any]) -> None:
    result = ContextCompiler().compile(asked)
    out = by_hand(result.content) + emitted_images(asked, result)
    assert out == result.insights.tokens_out
    assert out <= asked["token_budget"] - asked["policy"]["response_reserve_tokens"]


@given(REQUESTS)
def test_every_fragment_has_a_decision_about_its_content(asked: dict[str, Any]) -> None:
    decisions = ContextCompiler().compile(asked).decisions
    assert len(decisions) == len(asked["fragments"])
    for fragment, decided in zip(asked["fragments"], decisions, strict=True):
        data = base64.b64decode(fragment["media"]["bytes_b64"]) if "media" in fragment else None
        expected = fnv1a64(fragment["content"]) if data is None else image_hash(data)
        assert decided.content_hash == expected
        assert decided.fragment_id == fragment.get("id", decided.content_hash)
        assert 0 <= decided.relevance <= 1


@given(REQUESTS)
def test_equal_requests_give_equal_bytes(asked: dict[str, Any]) -> None:
    results = {ContextCompiler().compile(asked).model_dump_json() for _ in range(2)}
    assert len(results) == 1


@given(REQUESTS, TEXTS)
def test_the_stable_prefix_does_not_depend_on_the_query(asked: dict[str, Any], query: str) -> None:
    one, other = (ContextCompiler().compile(each) for each in (asked, asked | {"query": query}))
    assert one.sections[0] == other.sections[0]


@given(REQUESTS)
def test_nothing_is_invented(asked: dict[str, Any]) -> None:
    contents = [fragment["content"] for fragment in asked["fragments"]]
    logs = {line for content in contents for line in content.split("\n")}
    rest = ContextCompiler().compile(asked).content
    for line in rest.split("\n"):
        uncounted = line.rpartition(" (x")[0] if line.endswith(")") else line
        assert any(line in content or uncounted in logs for content in ["", *contents])


@given(REQUESTS)
def test_what_is_critical_is_here_or_a_high_risk_with_a_handle(asked: dict[str, Any]) -> None:
    result = ContextCompiler().compile(asked)
    for fragment, decided in zip(asked["fragments"], result.decisions, strict=True):
        flags = fragment.get("metadata", {})
        if "media" in fragment or not (flags.get("verbatim") or flags.get("cache")):
            continue
        if fragment["content"] not in result.content:
            assert (decided.risk, result.risk) == ("high", "high")
            assert decided.handle is not None


@settings(max_examples=50)
@given(REQUESTS)
def test_every_source_can_be_retrieved_byte_for_byte(asked: dict[str, Any]) -> None:
    desk = ContextDesk(DictStore(), clock=lambda: 0)
    result = desk.compile_context(asked)
    for fragment, decided in zip(asked["fragments"], result.decisions, strict=True):
        source = desk.retrieve_context_source(f"ctx://source/{decided.content_hash}")
        if "media" in fragment:
            assert source.media is not None
            assert source.media.bytes_b64 == fragment["media"]["bytes_b64"]
        else:
            assert source.content == fragment["content"]


@given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 30))
def test_any_text_is_compiled(one: str, other: str, budget: int) -> None:
    result = ContextCompiler().compile(request(one, other, budget=budget, query=other))
    assert result.insights.tokens_out <= budget
