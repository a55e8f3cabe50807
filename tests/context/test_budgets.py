"""Budgets for models: the table that ships, and a caller's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from context.asking import DictStore
from plugmem_core import InvalidInputError, WrongTypeError
from plugmem_core.context import BudgetSuggestion, ContextDesk, suggest_budget


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-4-5", 200_000),
        ("claude-sonnet-4-5", 200_000),
        ("claude-haiku-4-5", 200_000),
        ("claude-sonnet-4", 200_000),
        ("claude-3-7-sonnet", 200_000),
        ("gpt-5", 400_000),
        ("gpt-5-mini", 400_000),
        ("gpt-4.1", 1_000_000),
        ("gpt-4o", 128_000),
        ("o3", 200_000),
        ("gemini-2.5-pro", 1_000_000),
        ("gemini-2.0-flash", 1_000_000),
        ("GPT-4o", 128_000),
    ],
)
def test_known_models_have_their_windows(model: str, window: int) -> None:
    suggestion = suggest_budget(model, 8_000)
    assert (suggestion.window, suggestion.suggested_budget) == (window, window - 8_000)
    assert suggestion.source is not None
    assert "2026-07" in suggestion.source


def test_a_reserve_over_the_window_leaves_nothing() -> None:
    assert suggest_budget("gpt-4o", 200_000).suggested_budget == 0


@pytest.mark.parametrize("model", ["gpt-4", " gpt-4o", "gpt-4o-mini", ""])
def test_unknown_models_have_none(model: str) -> None:
    assert suggest_budget(model) == BudgetSuggestion()


def test_own_windows_go_before_the_table() -> None:
    own = {"Mine": 32_000, "gpt-4o": 64_000}
    assert suggest_budget("mine", 1_000, windows=own).suggested_budget == 31_000
    assert suggest_budget("gpt-4o", windows=own).window == 64_000
    assert suggest_budget("o3", windows=own).window == 200_000
    assert ContextDesk(DictStore(), windows=own).suggest_budget("MINE").window == 32_000


def test_own_windows_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "windows.json"
    path.write_text(json.dumps({"mine": 32_000}))
    assert suggest_budget("mine", windows=path).window == 32_000
    assert suggest_budget("mine", windows=str(path)).window == 32_000


@pytest.mark.parametrize("text", ["", "{", "\xff", "[" * 100_000, '{"mine": ' + "9" * 5_000 + "}"])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "windows.json"
    with pytest.raises(InvalidInputError, match="cannot be read"):
        suggest_budget("mine", windows=path)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInputError, match="cannot be read"):
        suggest_budget("mine", windows=path)


@pytest.mark.parametrize(
    ("windows", "error"),
    [
        ([], WrongTypeError),
        ({1: 2}, WrongTypeError),
        ({"mine": "32000"}, WrongTypeError),
        ({"mine": 0}, InvalidInputError),
    ],
)
def test_windows_that_make_no_sense_are_refused(windows: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="windows"):
        suggest_budget("mine", windows=windows)


def test_a_reserve_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="reserve"):
        suggest_budget("o3", -1)
    with pytest.raises(WrongTypeError, match="reserve"):
        suggest_budget("o3", 1.5)
    with pytest.raises(WrongTypeError, match="model"):
        suggest_budget(None)
