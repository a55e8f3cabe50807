"""The windows of models, and the budget they leave."""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from plugmem_core.context.reading import MAX_COUNT, Record
from plugmem_core.errors import InvalidInputError, shown
from plugmem_core.inputs import check_count, check_type

Windows: TypeAlias = Mapping[str, int] | str | PathLike[str]
"""Windows by model, or the path of a JSON file with such an object."""


class BudgetSuggestion(Record):
    """What a model has room for; all `None` for an unknown one.

    Attributes:
        window: Its window, in tokens.
        suggested_budget: What is left of it after the reserve.
        source: Where the window is from.
    """

    window: int | None = None
    suggested_budget: int | None = None
    source: str | None = None


def suggest_budget(
    model: str, reserve: int = 0, *, windows: Windows | None = None
) -> BudgetSuggestion:
    """Return the token budget to compile with for a model.

    Args:
        model: Its exact name, in any case.
        reserve: Tokens to keep free, for the rest of the prompt and the answer.
        windows: Further models, which go before those of the package.

    Raises:
        WrongTypeError: An argument has another type.
        InvalidInputError: The reserve is negative, or a window is no positive integer, or the
            file cannot be read.

    >>> suggest_budget("GPT-4o", 8_000).suggested_budget
    120000
    >>> suggest_budget("mine", windows={"mine": 32_000}).window
    32000
    >>> suggest_budget("unheard-of").window is None
    True
    """
    check_type(model, str, "model", "the name of a model")
    check_count(reserve, "reserve", least=0, most=MAX_COUNT)
    name = model.lower()
    own = {} if windows is None else _read_windows(windows)
    shipped = _shipped()
    if name in own:
        window, source = own[name], "the windows given"
    elif name in shipped["windows"]:
        window, source = shipped["windows"][name], f"the package's table as of {shipped['as_of']}"
    else:
        return BudgetSuggestion()
    return BudgetSuggestion(window=window, suggested_budget=max(0, window - reserve), source=source)


@cache
def _shipped() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("windows.json").read_text(encoding="utf-8")
    shipped: dict[str, Any] = json.loads(text)
    return shipped


def _read_windows(windows: Windows) -> dict[str, int]:
    table = _from_file(windows) if isinstance(windows, str | PathLike) else windows
    check_type(table, Mapping, "windows", "a mapping of models to tokens, or the path of one")
    read = {}
    for model, window in table.items():
        check_type(model, str, "a key of windows", "the name of a model")
        read[model.lower()] = check_count(window, f"windows[{shown(model)}]", most=MAX_COUNT)
    return read


def _from_file(path: str | PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"windows is {shown(path)}, which cannot be read: {error}; give the path of a JSON "
            "object of models and tokens"
        ) from None
