"""What the README, the pages under `docs` and the docstrings show is run here.

In a page, the `python` blocks run in order and share their names, in an empty folder. A
`text` block that follows one holds what it prints; a block without one prints nothing.
"""

import doctest
import gc
import inspect
import io
import pkgutil
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import langchain_plugmem
import llama_index_plugmem
import plugmem_core

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]

BLOCK = re.compile(
    r"^```python\b.*\n(?P<code>(?:.*\n)*?)```\n(?:\n*```text\n(?P<printed>(?:.*\n)*?)```$)?",
    re.MULTILINE,
)


class Example(NamedTuple):
    """One block: its code, at its own line of the page, and what it prints."""

    code: str
    printed: str


def examples(page: str) -> Iterator[Example]:
    for block in BLOCK.finditer(page):
        above = page.count("\n", 0, block.start("code"))
        yield Example("\n" * above + block["code"], block["printed"] or "")


def run(example: Example, path: Path, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(example.code, path, "exec"), names)
    return printed.getvalue()


def test_blocks_are_found_with_what_they_print() -> None:
    page = (
        "```python\nx = 1\n```\n\nthen\n\n```python\nprint(x)\n\nprint()\n```\n\n"
        "```text\n1\n\n```\n\n```sh\nls\n```\n\n```text\nno output\n```\n"
    )
    first, second = examples(page)
    assert first == Example("\nx = 1\n", "")
    assert second == Example("\n" * 7 + "print(x)\n\nprint()\n", "1\n\n")


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a page may leave a memory open
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")  # of LlamaIndex
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_shows_what_its_examples_do(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT)  # the benchmarks are not installed
    names: dict[str, Any] = {"__name__": "__main__"}
    for example in examples(path.read_text()):
        assert run(example, path, names) == example.printed
    names.clear()
    gc.collect()


def modules() -> list[str]:
    return [
        module.name
        for package in (plugmem_core, langchain_plugmem, llama_index_plugmem)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ] + ["plugmem_core", "langchain_plugmem", "llama_index_plugmem"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # as above
@pytest.mark.parametrize("name", modules())
def test_docstrings_show_what_their_examples_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(import_module(name)).failed == 0
    gc.collect()


def test_every_verb_has_an_example() -> None:
    verbs = inspect.getmembers(plugmem_core.Memory, inspect.isroutine)
    bare = {
        name
        for name, verb in verbs
        if not name.startswith("_")
        and not inspect.iscoroutinefunction(verb)  # a twin; its verb has one
        and ">>> " not in (inspect.getdoc(verb) or "")
    }
    assert bare == set()
