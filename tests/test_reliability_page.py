"""The page on reliability names tests for its promises; those tests are there."""

import re

from service.test_feature_table import TESTS, names_in

PAGE = TESTS.parent / "docs" / "reliability.md"
PROMISE = re.compile(r"^\| ([^|]+\.) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`tests/([\w/]+\.py)(?:::(\w+))?`")


def test_every_promise_names_tests() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition("|---|---|\n")[2].partition("\n\n")[0]
    promises = PROMISE.findall(table)
    assert len(promises) == len(table.splitlines()) > 20
    assert [promise for promise, shown in promises if not TEST.search(shown)] == []


def test_every_test_that_the_page_names_exists() -> None:
    named = TEST.findall(PAGE.read_text(encoding="utf-8"))
    missing = [
        (path, name)
        for path, name in named
        if not (TESTS / path).is_file() or (name and name not in names_in(path))
    ]
    assert missing == []
