"""One write is one transaction: counted, all or nothing, and never text pasted into SQL."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import OpenMemory

from plugmem_core import BusyError, InvalidInputError, Memory, MemoryConfig
from plugmem_core.store import Transaction


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m"


def change(memory: Memory) -> int:
    """Return the number of the last change, as another connection sees it."""
    with closing(sqlite3.connect(memory.path)) as connection:
        number: int = connection.execute("SELECT change FROM state").fetchone()[0]
    return number


def test_every_write_has_the_next_change_number(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(path)
    assert change(memory) == 0
    steps: list[Callable[[], object]] = [
        lambda: memory.remember("one", entity="a", tags=["t"], links=[("knows", "b")]),
        lambda: memory.remember_many([{"text": "two"}, {"text": "three"}, {"text": "four"}]),
        lambda: memory.revise(0, "one and a half"),
        lambda: memory.forget_many([1, 2]),
        lambda: memory.link("a", "likes", "c"),
        lambda: memory.unlink("a", "likes", "c"),
        lambda: memory.rename_tag("t", "u"),
        lambda: memory.alias_entity("a", "z"),
        lambda: memory.rename_entity("a", "y"),
        lambda: memory.merge_entities("b", "c"),
        lambda: memory.maintain(),
    ]
    for number, step in enumerate(steps, start=1):
        step()
        assert change(memory) == number


def test_what_writes_nothing_has_no_change_number(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(path)
    memory.remember("one", entity="a")
    before = change(memory)
    memory.remember("one", entity="a")
    memory.unlink("a", "knows", "b")
    memory.forget(0)
    memory.forget(0)
    memory.maintain()
    memory.maintain()
    memory.checkpoint()
    assert change(memory) == before + 2  # one for forgetting, one for the purge


def test_rows_carry_the_change_that_last_touched_them(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(path)
    memory.remember_many([{"text": "one"}, {"text": "two"}])
    memory.revise(0, "one and a half")
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, change FROM facts ORDER BY id").fetchall()
    assert rows == [(0, 2), (1, 1), (2, 2)]


def everything(memory: Memory) -> object:
    """Return all there is to see of a memory."""
    return (
        list(memory.list_facts(closed=True)),
        list(memory.entities()),
        list(memory.tags()),
        memory.edges(history=True),
        memory.stats(),
        [fact.id for fact in memory.recall("one two words", k=50).facts],
    )


@pytest.mark.parametrize("in_file", [True, False])
def test_a_write_that_fails_halfway_leaves_nothing(
    open_memory: OpenMemory, path: Path, monkeypatch: pytest.MonkeyPatch, in_file: bool
) -> None:
    memory = open_memory(path if in_file else ":memory:")
    memory.remember("one", entity="a", tags=["t"], links=[("knows", "b")], vector=[1.0, 0.0])
    before = everything(memory)
    for method in ("_open_links", "_put_vector", "_add_fact", "finish"):
        with monkeypatch.context() as patch:
            calls: list[object] = []
            original = getattr(Transaction, method)

            def second_call_fails(
                self: Transaction,
                *args: object,
                original: Callable[..., object] = original,
                calls: list[object] = calls,
            ) -> object:
                calls.append(args)
                if len(calls) > 1 or original.__name__ == "finish":
                    raise ZeroDivisionError
                return original(self, *args)

            patch.setattr(Transaction, method, second_call_fails)
            with pytest.raises(ZeroDivisionError):
                memory.remember_many(
                    {
                        "text": f"two words {number}",
                        "entity": f"e {number}",
                        "tags": ["new"],
                        "links": [("likes", "new")],
                        "vector": [0.0, 1.0],
                        "namespace": ("n",) if number else (),
                    }
                    for number in range(3)
                )
        assert everything(memory) == before
    assert memory.verify().ok
    assert memory.remember("two words").id == 1  # no id was used


def test_a_refused_item_refuses_the_whole_list(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(path)
    memory.remember("one")
    before = everything(memory)
    with pytest.raises(InvalidInputError, match=r"facts\[1\]"):
        memory.remember_many([{"text": "two"}, {"text": " "}])
    assert everything(memory) == before


def test_changes_that_were_not_read_do_not_keep_later_reads_in_the_past(
    open_memory: OpenMemory, path: Path
) -> None:
    memory, other = open_memory(path), open_memory(path)
    memory.remember("one", entity="a")
    store = memory._engine.store
    with store.changes_since(0) as unread:
        next(iter(unread.facts))
    other.remember("two")
    assert store.state().change == 2
    assert [row.id for row in store.facts([0, 1])] == [0, 1]
    assert unread.change == 1


# -- another writer


def test_a_file_held_too_long_is_busy_and_reads_go_on(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(path, config=MemoryConfig(busy_timeout=0.05))
    memory.remember("one")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for write in (
            lambda: memory.remember("two"),
            lambda: memory.revise(0, "two"),
            lambda: memory.forget(0),
            lambda: memory.link("a", "knows", "b"),
            lambda: memory.maintain(),
            lambda: memory.checkpoint(),
        ):
            with pytest.raises(BusyError, match=r"0\.05 s") as caught:
                write()
            assert isinstance(caught.value, TimeoutError)
        assert [fact.id for fact in memory.recall("one").facts] == [0]
        other.execute("ROLLBACK")
    assert memory.remember("two").id == 1
    assert memory.verify().ok


def test_a_write_waits_for_another_writer_within_the_timeout(
    open_memory: OpenMemory, path: Path
) -> None:
    memory = open_memory(path, config=MemoryConfig(busy_timeout=30.0))
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, other.execute, ["COMMIT"])
        release.start()
        assert memory.remember("one").id == 0
        release.join()


def test_closing_a_held_file_gives_up_the_checkpoint_only(path: Path) -> None:
    memory = Memory.open(path, config=MemoryConfig(busy_timeout=0.05))
    memory.remember("one")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory.close()
    with Memory.open(path) as again:
        assert again.get(0).text == "one"


# -- hostile text

HOSTILE = "Robert'); DROP TABLE facts; -- \" ` ?1 :a @b $c %s {0} \\ \x01 𝔘\u202e"


class Recording(sqlite3.Connection):
    """A connection that keeps the text of every statement."""

    statements: ClassVar[list[str]] = []

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        self.statements.append(sql)
        return super().execute(sql, *parameters)


def test_no_statement_is_built_from_what_callers_pass(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recording, "statements", [])
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Recording))
    mark = "zqx'\"); DROP TABLE facts; --"
    with Memory.open(path) as memory:
        fact = {
            "entity": f"{mark} e",
            "tags": [f"{mark} t"],
            "links": [(f"{mark} r", f"{mark} d")],
            "metadata": {f"{mark} k": f"{mark} v"},
            "key": f"{mark} key",
            "namespace": (f"{mark} n",),
        }
        space = fact["namespace"]
        memory.remember(f"{mark} text", **fact)
        memory.remember_many([{"text": f"{mark} two", **fact, "key": None}])
        memory.remember_guarded(f"{mark} three", entity=f"{mark} e", namespace=space)
        memory.revise(0, f"{mark} other", tags=[f"{mark} u"])
        memory.link(f"{mark} e", f"{mark} r", f"{mark} f", properties={mark: mark}, namespace=space)
        memory.unlink(f"{mark} e", f"{mark} r", f"{mark} f", namespace=space)
        memory.rename_entity(f"{mark} e", f"{mark} g", namespace=space)
        memory.alias_entity(f"{mark} g", f"{mark} h", namespace=space)
        memory.merge_entities(f"{mark} d", f"{mark} g", namespace=space)
        memory.rename_tag(f"{mark} t", f"{mark} w", namespace=space)
        memory.remove_tag(f"{mark} w", namespace=space)
        memory.recall(
            mark,
            tags=[mark],
            any_tags=[mark],
            not_tags=[mark],
            entities=[mark],
            where={mark: {"$like": mark}},
            namespace=space,
        )
        memory.list_facts(
            tags=[f"{mark} u"], entity=f"{mark} g", key=mark, where={mark: mark}, namespace=space
        )
        memory.entities(mark, namespace=space)
        memory.tags(mark, namespace=space)
        memory.edges(f"{mark} g", relation=mark, namespace=space)
        memory.verify()
        assert memory.stats().facts > 3
    assert Recording.statements
    assert not any("zqx" in statement for statement in Recording.statements)


def test_hostile_text_is_stored_as_it_is(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(path)
    receipt = memory.remember(
        HOSTILE,
        entity=f"x {HOSTILE}",
        tags=[HOSTILE],
        links=[(HOSTILE, f"y {HOSTILE}")],
        metadata={HOSTILE: [HOSTILE]},
        key=HOSTILE,
    )
    memory.close()
    reopened = open_memory(path)
    fact = reopened.get(receipt.id)
    assert (fact.text, fact.entity, fact.tags, fact.metadata, fact.key) == (
        HOSTILE,
        f"x {HOSTILE}",
        (HOSTILE,),
        {HOSTILE: [HOSTILE]},
        HOSTILE,
    )
    assert reopened.edges()[0].relation == HOSTILE
    assert [found.id for found in reopened.recall(tags=[HOSTILE]).facts] == [receipt.id]
    assert reopened.verify().ok
