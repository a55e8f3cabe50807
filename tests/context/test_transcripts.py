"""Transcripts: turns, code and logs in them, and where each part lies."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.asking import DictStore
from plugmem_core import InvalidInputError, TooLargeError, WrongTypeError
from plugmem_core.context import CompiledTranscript, ContextCompiler, ContextDesk, ContextLimits
from plugmem_core.text.fnv import fnv1a64


def transcribed(text: str | None, *, budget: int = 5_000, **fields: Any) -> CompiledTranscript:
    asked = {"query": "", "transcript": text, "token_budget": budget} | fields
    return ContextCompiler().compile_transcript(asked)


def segments(text: str, **segmentation: Any) -> list[tuple[int, str | None, str, str]]:
    """Turn, role, kind and bytes of each segment."""
    report = transcribed(text, segmentation=segmentation).segmentation
    data = text.encode()
    return [
        (one.turn, one.role, one.kind, data[one.byte_start : one.byte_end].decode())
        for one in report.segments
    ]


def test_turns_begin_with_the_markers_of_a_table() -> None:
    text = (
        "preface\n"
        "System: a\nUser: b\nHuman: c\nAssistant: d\nAI: e\nTool: f\n### User\ng\n"
        "### Assistant\nh\nuser: i\n User: j\n# User\nBot: k\n"
    )
    assert segments(text) == [
        (0, None, "body", "preface\n"),
        (1, "system", "body", "System: a\n"),
        (2, "user", "body", "User: b\n"),
        (3, "user", "body", "Human: c\n"),
        (4, "assistant", "body", "Assistant: d\n"),
        (5, "assistant", "body", "AI: e\n"),
        (6, "tool", "body", "Tool: f\n"),
        (7, "user", "body", "### User\ng\n"),
        (8, "assistant", "body", "### Assistant\nh\nuser: i\n User: j\n# User\nBot: k\n"),
    ]


def test_a_text_without_markers_is_one_turn() -> None:
    assert segments("only\nthis") == [(0, None, "body", "only\nthis")]


def test_fenced_code_is_a_segment_of_its_own() -> None:
    text = "User: see\n```py\nx = 1\n\ny\n```\nAI: ok\n```\nunclosed"
    assert segments(text) == [
        (0, "user", "body", "User: see\n"),
        (0, "user", "code", "```py\nx = 1\n\ny\n```\n"),
        (1, "assistant", "body", "AI: ok\n"),
        (1, "assistant", "code", "```\nunclosed"),
    ]


STAMPED = [f"2024-05-01T09:30:0{at}Z step {at}\n" for at in range(8)]


def test_eight_lines_with_timestamps_are_a_log() -> None:
    log = "".join(STAMPED)
    assert segments(f"Tool: out\n{log}done\n") == [
        (0, "tool", "body", "Tool: out\n"),
        (0, "tool", "log", log),
        (0, "tool", "body", "done\n"),
    ]
    assert [one[2] for one in segments("Tool: out\n" + "".join(STAMPED[1:]))] == ["body"]


def test_lines_that_repeat_are_like_a_log() -> None:
    log = "get a\nget b\n" * 4
    assert segments(f"{log}\nend") == [(0, None, "log", log), (0, None, "body", "\nend")]
    mixed = "".join(STAMPED[:4]) + "retry\n" * 4
    assert [one[2] for one in segments(mixed)] == ["log"]


def test_a_blank_line_ends_a_log() -> None:
    half = "retry\n" * 7
    assert [one[2] for one in segments(f"{half}\n{half}")] == ["body"]
    assert [one[2] for one in segments(f"{half}  \n{half}retry\n")] == ["body", "log"]


def test_lines_repeat_within_one_stretch_only() -> None:
    lines = "".join(f"{word}\n" for word in "abcdefgh")
    assert [one[2] for one in segments(f"{lines}\n{lines}")] == ["body"]


def test_neighbours_of_one_kind_are_joined_while_one_is_small() -> None:
    fence = "```\n" + "x" * 300 + "\n```\n"
    small = "```\ny\n```\n"
    report = transcribed(fence + small + small).segmentation
    assert ([one.kind for one in report.segments], report.merged_segments) == (["code"], 2)
    report = transcribed(fence + fence).segmentation
    assert ([one.kind for one in report.segments], report.merged_segments) == (["code"] * 2, 0)
    report = transcribed(small + small, segmentation={"min_segment_bytes": 0}).segmentation
    assert ([one.kind for one in report.segments], report.merged_segments) == (["code"] * 2, 0)


def test_neighbours_of_other_turns_are_not_joined() -> None:
    text = "User: a\nUser: b\n"
    assert len(segments(text)) == 2


def lines(*turns: dict[str, Any]) -> str:
    return "".join(json.dumps(turn) + "\n" for turn in turns)


def test_lines_of_json_are_turns() -> None:
    text = lines({"role": "System", "content": "é\n```x"}, {"role": "bot", "content": "", "id": 1})
    result = transcribed(text)
    assert result.segmentation.format_detected == "jsonl"
    first, second = result.segmentation.segments
    assert (first.role, first.kind, first.turn) == ("System", "body", 0)
    assert (second.role, second.byte_end) == ("bot", len(text.encode()))
    assert first.fragment_id == fnv1a64("é\n```x")
    assert result.context.content == "é\n```x"


def test_blank_lines_belong_to_a_neighbour() -> None:
    one, other = lines({"role": "a", "content": "x"}), lines({"role": "b", "content": "y"})
    report = transcribed(f"\n \n{one}\n\n{other}\n").segmentation
    assert [(part.turn, part.byte_start, part.byte_end) for part in report.segments] == [
        (0, 0, 3 + len(one) + 2),
        (1, 3 + len(one) + 2, 3 + len(one) + 2 + len(other) + 1),
    ]


@pytest.mark.parametrize(
    "broken",
    [
        "text",
        "[]",
        "1",
        '{"role": "a"}',
        '{"role": 1, "content": "x"}',
        '{"role": "a", "content": null}',
        '{"role": "a", "content": "\\ud800"}',
        '{"role": "a", "content": "x"',
        "[" * 100_000,
        "9" * 10_000,
    ],
)
def test_what_is_no_turn_of_json_is_told_by_its_line(broken: str) -> None:
    text = lines({"role": "a", "content": "x"}) + "\n" + broken
    with pytest.raises(InvalidInputError, match="line 3 "):
        transcribed(text, segmentation={"format": "jsonl"})
    assert transcribed(text).segmentation.format_detected == "plain"


def test_json_can_be_read_as_plain_text() -> None:
    text = lines({"role": "a", "content": "x"})
    assert segments(text, format="plain") == [(0, None, "body", text)]


def test_the_first_system_turn_is_cached() -> None:
    text = "User: a\nSystem: be brief\n```\nx\n```\nSystem: no\n"
    cached = transcribed(text).context.sections[0].content
    assert cached == "System: be brief\n\n\n```\nx\n```\n"
    uncached = transcribed(text, segmentation={"cache_system_turn": False})
    assert uncached.context.sections[0].content == ""
    upper = transcribed(
        lines({"role": "SYSTEM", "content": "x"}, {"role": "system", "content": "y"})
    )
    assert upper.context.sections[0].content == "x"


def test_segments_are_fragments_of_their_kind() -> None:
    log = "".join(STAMPED[:1]) * 9
    result = transcribed(
        f"User: see\n{log}```\ncode\n```\nUser: SEE\n", policy={"ids_as_strings": True}
    )
    rules = [one.rule_id for one in result.context.decisions]
    assert rules == [
        "preserve.default",
        "abstract.log_dedup",
        "preserve.code_fence",
        "drop.near_duplicate",
    ]
    assert [one.fragment_id for one in result.segmentation.segments] == [
        one.fragment_id for one in result.context.decisions
    ]


LIMITS = ContextLimits(fragment_bytes=20, fragments=5, transcript_bytes=200)


def limited(text: str, **segmentation: Any) -> list[tuple[str, int, int]]:
    asked = {
        "query": "",
        "transcript": text,
        "token_budget": 999,
        "segmentation": {"min_segment_bytes": 0} | segmentation,
    }
    report = ContextCompiler(limits=LIMITS).compile_transcript(asked).segmentation
    return [(one.kind, one.byte_start, one.byte_end) for one in report.segments]


def test_a_long_body_is_cut_at_paragraphs() -> None:
    assert limited("0123456789ab\n\n0123456789\n\nend") == [("body", 0, 14), ("body", 14, 29)]


def test_a_long_log_is_cut_at_lines() -> None:
    assert limited("1234567\n" * 8) == [
        ("log", 0, 16),
        ("log", 16, 32),
        ("log", 32, 48),
        ("log", 48, 64),
    ]


def test_a_long_line_of_a_log_is_cut_between_characters() -> None:
    compiler = ContextCompiler(limits=ContextLimits(fragment_bytes=20, log_run_lines=2))
    asked = {"query": "", "transcript": "日本語日本語日本\n" * 2, "token_budget": 999}
    report = compiler.compile_transcript(asked).segmentation
    assert [(one.kind, one.byte_end - one.byte_start) for one in report.segments] == [
        ("log", 18),
        ("log", 7),
        ("log", 18),
        ("log", 7),
    ]


def test_long_content_of_json_shares_the_bytes_of_its_line() -> None:
    text = lines({"role": "a", "content": "x" * 30})  # cut after 20, two thirds of the way
    assert len(text) == 59
    assert limited(text) == [("body", 0, 39), ("body", 39, 59)]


def test_long_fenced_code_is_refused() -> None:
    with pytest.raises(TooLargeError, match="fenced block"):
        limited("```\n" + "x\n" * 20 + "```\n")


def test_too_many_segments_are_refused_with_what_to_do() -> None:
    with pytest.raises(TooLargeError, match=r"6 segments.*min_segment_bytes"):
        limited("User: a\n" * 6)


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        ({"transcript": ""}, InvalidInputError, "transcript is ''"),
        ({"transcript": None}, InvalidInputError, "transcript is None"),
        ({"path": "/etc/passwd"}, InvalidInputError, "reading files is disabled"),
        ({"transcript": 1}, WrongTypeError, "request.transcript"),
        ({"memory_scope": {}}, InvalidInputError, "request.memory_scope"),
        ({"segmentation": {"format": "xml"}}, InvalidInputError, "request.segmentation.format"),
        ({"transcript": "a" * 201}, TooLargeError, "201 bytes"),
        ({"token_budget": 0}, InvalidInputError, "leaves no room"),
    ],
)
def test_what_is_no_transcript_is_refused(
    fields: dict[str, Any], error: type[Exception], told: str
) -> None:
    asked = {"query": "", "transcript": "x", "token_budget": 9} | fields
    with pytest.raises(error) as caught:
        ContextCompiler(limits=LIMITS).compile_transcript(asked)
    assert told in str(caught.value)
    store = DictStore()
    with pytest.raises(error):
        ContextDesk(store, compiler=ContextCompiler(limits=LIMITS)).compile_transcript(asked)
    assert store.puts == []


PIECES = [
    *("User: ", "System:", "### User", "\n", "\n\n", "\r\n", " ", "```\n", "retry\n", "é ", "日本"),
    STAMPED[0],
    '{"role": "a", "content": "b\\n"}\n',
]
PARTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=60)


@given(PARTS, st.integers(0, 40), st.sampled_from(["auto", "plain"]))
def test_the_bytes_of_segments_are_those_of_the_transcript(
    parts: list[str], least: int, how: str
) -> None:
    text = "".join(parts)
    compiler = ContextCompiler(limits=ContextLimits(fragment_bytes=500, log_run_lines=3))
    segmentation = {"min_segment_bytes": least, "format": how}
    report = compiler.compile_transcript(
        {"query": "", "transcript": text, "token_budget": 50, "segmentation": segmentation}
    ).segmentation
    ends = [0, *(one.byte_end for one in report.segments)]
    assert [one.byte_start for one in report.segments] == ends[:-1]
    assert ends[-1] == len(text.encode())
    if report.format_detected == "plain":
        data = text.encode()
        for one in report.segments:
            assert one.fragment_id == fnv1a64(data[one.byte_start : one.byte_end])
