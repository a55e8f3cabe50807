"""`StoreConformance`: a right store passes, and each test fails for a store that is wrong there.

What LangGraph's own in-memory store fails is told in `docs/store-conformance.md`; its
example and its table are held against a run of pytest.
"""

import asyncio
import inspect
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from langgraph.store.base import BaseStore, IndexConfig
from model_store import ModelStore
from wrong_stores import PATIENCE, WRONG, Wrong

from langchain_plugmem.testing import StoreConformance, WordEmbeddings
from langchain_plugmem.testing._stores.access import Access

PAGE = Path(__file__).parents[2] / "docs" / "store-conformance.md"


class TestModelStore(StoreConformance):
    @pytest.fixture
    def store(self) -> BaseStore:
        return ModelStore()

    @pytest.fixture
    def indexed_store(self) -> BaseStore:
        return ModelStore(index=self.index_config())

    def pass_time(self, store: BaseStore, minutes: float) -> None:
        assert isinstance(store, ModelStore)
        store.now += minutes


class ImpatientSuite(TestModelStore):
    """For stores that are known to hang."""

    __test__ = False
    patience = PATIENCE


def names_of_tests() -> set[str]:
    return {name for name in dir(StoreConformance) if name.startswith("test_")}


def fails(name: str, wrong: Wrong) -> bool:
    """Whether a case of the test fails; run without pytest, as failing is what is wanted."""
    test = getattr(ImpatientSuite(), name)
    return any(raises(test, arguments, wrong) for arguments in cases(test))


def cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of each case of a parametrized test."""
    axes = []
    for mark in getattr(test, "pytestmark", ()):
        names, values = mark.args
        axes.append(
            [{names: v} if isinstance(names, str) else dict(zip(names, v)) for v in values]  # noqa: B905 - pytest has compared the lengths
        )
    for parts in itertools.product(*axes):
        yield {name: value for part in parts for name, value in part.items()}


def raises(test: Callable[..., None], arguments: dict[str, Any], wrong: Wrong) -> bool:
    """Whether a test fails when it is given a new store in the fixtures it asks for."""
    wanted = inspect.signature(test).parameters
    runner = asyncio.Runner()
    index = ImpatientSuite().index_config() if "indexed" in wanted else None
    store = runner.run(make(wrong.store, index))
    access = Access(store, runner if wrong.way == "async" else None)
    fixtures = dict.fromkeys(("plain", "indexed", "expiring"), access)
    given = fixtures | {"store": store, "runner": runner} | arguments
    try:
        test(**{name: given[name] for name in wanted})
    except (Exception, pytest.fail.Exception):  # noqa: BLE001 - a wrong store raises anything
        return True
    finally:
        while runner.get_loop().is_running():
            time.sleep(PATIENCE)
        runner.close()
    return False


async def make(store: type[BaseStore], index: IndexConfig | None) -> BaseStore:
    # On the loop, as some stores ask for.
    return store() if index is None else store(index=index)  # type: ignore[call-arg] # all here do


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.store.__name__)
def test_a_wrong_store_is_caught(wrong: Wrong) -> None:
    assert [name for name in wrong.tests if not fails(f"test_{name}", wrong)] == []


def test_each_test_catches_a_wrong_store() -> None:
    caught = {f"test_{name}" for wrong in WRONG for name in wrong.tests}
    assert names_of_tests() == caught


def test_each_test_says_what_is_right() -> None:
    for name in names_of_tests():
        assert inspect.getdoc(getattr(StoreConformance, name)), name


class Outcome(NamedTuple):
    """What came of one case: `passed`, `failure`, `error` or `skipped`."""

    suite: str
    test: str
    case: str
    result: str


class Report(NamedTuple):
    """What came of a run of pytest."""

    outcomes: list[Outcome]
    text: str


def run_pytest(folder: Path, code: str, *options: str) -> Report:
    """Run the tests in a module of their own, where pytest has no plugins and no leniency."""
    (folder / "test_it.py").write_text(code)
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=out.xml", *options],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=200,
    )
    text = (folder / "out.xml").read_text()
    return Report(
        [outcome_of(case) for case in ElementTree.fromstring(text).iter("testcase")], text
    )


def outcome_of(case: ElementTree.Element) -> Outcome:
    suite = case.attrib["classname"].rpartition(".")[2]
    test, _, parameters = case.attrib["name"].partition("[")
    return Outcome(suite, test, parameters[:-1], next((part.tag for part in case), "passed"))


def test_the_page_tells_what_the_in_memory_store_fails(tmp_path: Path) -> None:
    page = PAGE.read_text()
    [example, _] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    outcomes = run_pytest(tmp_path, example).outcomes
    told = {*re.findall(r"^\| `(test_\w+)` \|", page, re.MULTILINE)}
    for way in ("sync", "async"):
        there = [one for one in outcomes if one.case.startswith(way)]
        failed = {one.test for one in there if one.result == "failure"}
        assert failed == told, f"the page tells of {re.findall('checkpoint [0-9.]+', page)}"
    assert {one.result for one in outcomes if not one.case} == {"passed"}
    assert {one.test for one in outcomes} == names_of_tests()


def test_the_page_counts_what_is_checked() -> None:
    assert f"It checks {len(names_of_tests())} behaviours" in PAGE.read_text()


OTHERS = """
import pytest
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore
from langchain_plugmem.testing import StoreConformance

class TestSyncOnly(StoreConformance):
    has_async = False

    @pytest.fixture
    def store(self):
        return InMemoryStore()

class LoopStore(AsyncBatchedBaseStore):
    def __init__(self):
        super().__init__()
        self.inner = InMemoryStore()

    async def abatch(self, ops):
        return self.inner.batch(ops)

class TestOnALoop(StoreConformance):
    has_sync = False

    @pytest.fixture
    def store(self, runner):
        async def open_store():
            return LoopStore()
        return runner.run(open_store())

class TestNothing(StoreConformance):
    pass
"""


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Report:
    chosen = "whole_items or cancelled or same_items or in_a_running_loop or what_was_put"
    return run_pytest(tmp_path_factory.mktemp("others"), OTHERS, "-k", chosen)


def test_what_a_store_lacks_is_skipped(others: Report) -> None:
    assert {
        ("TestSyncOnly", "test_a_search_gives_whole_items", "sync", "passed"),
        ("TestSyncOnly", "test_a_search_gives_whole_items", "async", "skipped"),
        ("TestSyncOnly", "test_a_ranking_gives_whole_items", "sync", "skipped"),
        ("TestSyncOnly", "test_a_cancelled_call_leaves_the_store_usable", "", "skipped"),
        ("TestSyncOnly", "test_sync_and_async_see_the_same_items", "", "skipped"),
        ("TestSyncOnly", "test_a_sync_call_in_a_running_loop_returns", "", "passed"),
    } <= {*others.outcomes}


def test_a_store_may_belong_to_the_loop_of_the_runner(others: Report) -> None:
    assert {
        ("TestOnALoop", "test_a_search_gives_whole_items", "sync", "skipped"),
        ("TestOnALoop", "test_a_search_gives_whole_items", "async", "passed"),
        ("TestOnALoop", "test_a_cancelled_call_leaves_the_store_usable", "", "passed"),
        ("TestOnALoop", "test_a_sync_call_in_a_running_loop_returns", "", "passed"),
    } <= {*others.outcomes}


def test_a_suite_without_a_store_says_so(others: Report) -> None:
    assert ("TestNothing", "test_a_search_gives_whole_items", "sync", "error") in others.outcomes
    assert "override the fixture `store`" in others.text


def test_a_failed_test_shows_what_it_compared(others: Report) -> None:
    assert "{'tags': ['hot', 'cold']} != {'tags': ['hot']}" in others.text


def test_the_suite_needs_nothing_of_the_core() -> None:
    code = (
        "import sys; sys.modules['plugmem_core'] = sys.modules['numpy'] = None\n"
        "import langchain_plugmem.testing"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_word_embeddings_count_shared_words() -> None:
    tea, paint, car = WordEmbeddings().embed_documents(["green tea", "Green Paint!", "old car"])
    assert sum(a * b for a, b in zip(tea, paint, strict=True)) == 1
    assert sum(a * b for a, b in zip(tea, car, strict=True)) == 0
    assert len(tea) == WordEmbeddings.dims
    assert any(WordEmbeddings().embed_query(""))
