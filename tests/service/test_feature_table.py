"""The page on the service names a test for every feature; those tests are there."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "service.md"

TEST = r"`([\w/]+\.py)::(test_\w+)`"
ROW = re.compile(rf"^\| (F\d{{3}}) \| ([^|]+) \| ({TEST}(?:, {TEST})*) \|$", re.MULTILINE)


class Row(NamedTuple):
    """A feature, and the tests that prove it."""

    number: str
    feature: str
    tests: list[tuple[str, str]]


def rows(page: str) -> list[Row]:
    return [Row(row[1], row[2], re.findall(TEST, row[3])) for row in ROW.finditer(page)]


@cache
def names_in(path: str) -> set[str]:
    """Return the functions of a file of tests."""
    module = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in module.body if isinstance(node, functions)}


def test_a_row_is_a_number_a_feature_and_tests() -> None:
    page = (
        "| | feature | proved by |\n|---|---|---|\n"
        "| F001 | one thing | `a/test_b.py::test_c`, `test_d.py::test_e` |\n"
        "| F002 | another | by nothing |\n"
        "| F003 | a third | `test_d.py::test_e`, `test_d.py::helper` |\n"
    )
    tests = [("a/test_b.py", "test_c"), ("test_d.py", "test_e")]
    assert rows(page) == [Row("F001", "one thing", tests)]


def test_every_test_that_the_page_names_exists() -> None:
    named = {test for row in rows(PAGE.read_text(encoding="utf-8")) for test in row.tests}
    missing = {
        (path, name)
        for path, name in named
        if not (TESTS / path).is_file() or name not in names_in(path)
    }
    assert named
    assert missing == set()


def test_every_feature_has_one_row_with_a_test() -> None:
    page = PAGE.read_text(encoding="utf-8")
    numbers = [row.number for row in rows(page)]
    assert numbers == sorted(set(numbers))
    assert numbers == re.findall(r"^\| (F\d+)", page, re.MULTILINE)
