"""Logs: each line once, with how often it came."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.asking import compiled, decision
from plugmem_core.context.logs import collapse, has_timestamp


def log(*lines: str, **fields: Any) -> str:
    return compiled({"content": "\n".join(lines), "kind": "log"}, **fields).content


def test_a_line_is_written_where_it_came_first_with_its_count() -> None:
    assert log("start", "retry", "wait", "retry", "retry", "done") == (
        "start\nretry (x3)\nwait\ndone"
    )


def test_blank_lines_are_collapsed_with_the_others() -> None:
    assert log("a", "", "a", "", "b") == "a (x2)\n (x2)\nb"


def test_blank_lines_alone_do_not_make_a_log_repeat() -> None:
    assert decision({"content": "a\n\n\n\nb", "kind": "log"}).rule_id == "preserve.default"


def test_lines_of_either_end_are_lines() -> None:
    assert log("a\r", "b\r", "a\r", "") == "a (x2)\nb"


def test_lines_with_timestamps_differ_unless_they_are_normalized() -> None:
    lines = ["2024-05-01T09:30:00Z up", "2024-05-01T09:31:00Z up"]
    assert log(*lines) == "\n".join(lines)
    assert log(*lines, normalize_log_timestamps=True) == "2024-05-01T09:30:00Z up (x2)"


@pytest.mark.parametrize(
    "stamp",
    [
        "2024-05-01T09:30:00",
        "2024-05-01 09:30:00",
        "2024-05-01T09:30:00Z",
        "2024-05-01T09:30:00.123456Z",
        "2024-05-01 09:30:00,123",
        "2024-05-01T09:30:00+02:00",
        "2024-05-01T09:30:00-11:30",
        "May 11 09:30:00",
        "May  1 09:30:00",
        "2024-05-01T09:30:00Z [1a2F]",
        "2024-05-01T09:30:00Z[17] [18]",
        "May  1 09:30:00 [17]",
    ],
)
def test_timestamps_and_hex_in_brackets_behind_them_are_masked(stamp: str) -> None:
    assert has_timestamp(stamp)
    text = f"{stamp} up\n2023-01-01T00:00:00Z up"
    assert collapse(text, normalize=True).text == f"{stamp} up (x2)"


@pytest.mark.parametrize(
    "line",
    [
        " 2024-05-01T09:30:00 up",  # not leading
        "at 2024-05-01T09:30:00 up",
        "2024-05-01 up",
        "09:30:00 up",
        "2024-5-1T09:30:00 up",
        "Mai  1 09:30:00 up",
        "May 1 09:30:00 up",
        "[17] up",
    ],
)
def test_what_is_no_leading_timestamp_is_not_masked(line: str) -> None:
    text = f"{line}\n2023-01-01T00:00:00Z up"
    assert collapse(text, normalize=True).text == text


def test_other_words_in_brackets_are_not_masked() -> None:
    text = "2024-05-01T09:30:00Z [main] up\n2024-05-01T09:30:00Z [pool] up"
    assert collapse(text, normalize=True).text == text


def test_a_line_without_a_timestamp_is_another() -> None:
    text = "2024-05-01T09:30:00Z up\n up"
    assert collapse(text, normalize=True).text == text


@pytest.mark.parametrize("forged", ["\0 up", "\x01 up", " up", "(True, ' up')"])
def test_no_line_passes_for_one_with_a_timestamp(forged: str) -> None:
    text = f"2024-05-01T09:30:00Z up\n{forged}"
    assert collapse(text, normalize=True).text == text
    repeated = compiled({"content": f"x\nx\n{text}", "kind": "log"}, normalize_log_timestamps=True)
    assert repeated.content == f"x (x2)\n{text}"


def test_the_reason_tells_of_timestamps_only_if_they_mattered() -> None:
    alike = {"content": "May  1 09:30:00 up\nMay  1 09:30:00 up", "kind": "log"}
    other = {"content": "May  1 09:30:00 up\nMay  1 09:30:07 up", "kind": "log"}
    assert "timestamps" not in decision(alike).reason
    assert "timestamps" not in decision(alike, normalize_log_timestamps=True).reason
    assert "1 because timestamps" in decision(other, normalize_log_timestamps=True).reason


def test_an_abstracted_log_is_a_medium_risk() -> None:
    result = compiled({"content": "up\nup", "kind": "log"})
    assert (result.decisions[0].risk, result.risk) == ("medium", "medium")
    assert result.decisions[0].handle is None


@given(st.lists(st.sampled_from(["a", "b", "", "c d"]), min_size=1))
def test_counts_add_up_to_the_lines(lines: list[str]) -> None:
    collapsed = collapse("\n".join([*lines, "end"]), normalize=False)
    counts = [
        int(line.rpartition(" (x")[2][:-1]) if line.endswith(")") else 1
        for line in collapsed.text.split("\n")
    ]
    assert sum(counts) == len(lines) + 1
    assert collapsed.merged == len(lines) + 1 - len(counts)
