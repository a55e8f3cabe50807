"""Every verb has an async twin: same parameters, same answers, off the event loop."""

import asyncio
import inspect
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from clocks import Clock

from plugmem_core import ClosedError, HashingEmbedder, Memory, NotFoundError
from plugmem_core.verbs.base import twin

VERBS = [
    "remember", "remember_many", "remember_guarded", "revise", "forget", "forget_many", "link",
    "unlink", "get", "get_many", "history", "list_facts", "tags", "rename_tag", "remove_tag",
    "entities", "rename_entity", "merge_entities", "alias_entity", "edges", "recall",
    "explain_absent", "stats", "verify", "rebuild", "checkpoint", "maintain", "close", "open",
    "write", "end", "set_ttl", "get_by_keys", "vectors", "namespaces", "embed_query",
    "put_values", "get_values", "delete_values", "keys", "neighbours", "erase",
    "backup", "export_jsonl", "import_jsonl", "reembed",
    "mentions", "find_mentions",
]  # fmt: skip


def test_every_verb_that_is_promised_is_there() -> None:
    assert [verb for verb in VERBS if not callable(getattr(Memory, verb, None))] == []


def test_nothing_public_is_without_a_twin() -> None:
    public = {name for name, _ in inspect.getmembers(Memory, callable) if name[0] != "_"}
    # A transaction belongs to its thread, and so does a count, so neither is a verb that could
    # run in another; and checking what is known already waits for nothing.
    assert public == {
        *VERBS,
        *(f"a{verb}" for verb in VERBS),
        "transaction",
        "check_vectors",
        "counting",
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_twin_is_a_coroutine_function_with_the_same_parameters(verb: str) -> None:
    twin = getattr(Memory, f"a{verb}")
    assert inspect.iscoroutinefunction(twin)
    expected = inspect.signature(getattr(Memory, verb)).parameters
    assert list(inspect.signature(twin).parameters.values()) == list(expected.values())
    assert twin.__name__ == f"a{verb}"
    assert twin.__doc__


SCRIPT: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("remember", ("tea is green",), {"entity": "Mara", "tags": ["taste"], "key": "k"}),
    ("remember", ("tea is green",), {"entity": "Mara", "tags": ["taste"], "key": "k"}),
    ("remember_many", ([{"text": "rye bread", "tags": ["tsate"]}, {"text": "old news"}],), {}),
    ("remember_guarded", ("tea is very green",), {"entity": "mara"}),
    ("revise", (0, "tea is black"), {"tags": ["taste", "drink"]}),
    ("rename_tag", ("tsate", "food"), {}),
    ("remove_tag", ("drink",), {}),
    ("link", ("Mara", "knows", "Tomas"), {"provenance": 0}),
    ("link", ("Mara", "knows", "Ivo"), {}),
    ("unlink", ("mara", "knows", "ivo"), {}),
    ("alias_entity", ("Mara", "M."), {}),
    ("rename_entity", ("Tomas", "Thomas"), {}),
    ("merge_entities", ("Ivo", "Thomas"), {}),
    ("write", (), {"remember": [{"text": "new news"}], "forget": [((), "none")]}),
    ("end", (2,), {}),
    ("set_ttl", ([0], 60), {}),
    ("put_values", ("settings", {"theme": "dark"}), {}),
    ("get_values", ("settings",), {}),
    ("delete_values", ("settings", ["theme"]), {}),
    ("keys", (), {}),
    ("neighbours", (["Mara"],), {}),
    ("get_by_keys", (["k"],), {"closed": True}),
    ("vectors", ([0],), {}),
    ("embed_query", ("tea",), {}),
    ("namespaces", (), {}),
    ("forget", (2,), {}),
    ("forget_many", ([2],), {}),
    ("get", (0,), {}),
    ("get_many", ([0, 99],), {}),
    ("history", (0,), {}),
    ("list_facts", (), {"closed": True, "limit": 2}),
    ("tags", (), {}),
    ("entities", ("T",), {}),
    ("edges", ("mara",), {"history": True}),
    ("recall", ("black tea",), {"explain": True}),
    ("explain_absent", (0, "tea"), {}),
    ("stats", (), {}),
    ("rebuild", (), {}),
    ("checkpoint", (), {}),
    ("maintain", (), {}),
    ("reembed", (HashingEmbedder(8),), {}),
    ("find_mentions", (), {}),
    ("mentions", (0,), {}),
    ("verify", (), {}),
    ("erase", (), {"key": "k"}),
    ("backup", ("copy",), {}),
    ("export_jsonl", ("lines",), {}),
    ("import_jsonl", ("lines",), {}),
    ("close", (), {}),
]


def test_the_script_leaves_no_verb_out() -> None:
    assert {verb for verb, _, _ in SCRIPT} == {*VERBS} - {"open"}


async def test_twins_answer_as_the_verbs_do(
    memory: Memory, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = await Memory.aopen(":memory:", clock=clock)
    for verb, args, options in SCRIPT:
        clock.tick()
        expected = getattr(memory, verb)(*args, **options)
        assert await getattr(other, f"a{verb}")(*args, **options) == expected, verb


async def test_a_twin_raises_what_the_verb_raises(memory: Memory) -> None:
    with pytest.raises(NotFoundError):
        await memory.aforget(7)


@pytest.mark.timeout(20)
async def test_a_twin_that_an_iterator_ran_out_in_ends_too() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await twin(next)(iter([]))


async def test_an_async_context_closes_the_memory() -> None:
    async with await Memory.aopen(":memory:") as memory:
        await memory.aremember("one")
    with pytest.raises(ClosedError):
        await memory.astats()


async def test_nothing_but_handing_over_is_done_in_the_thread_of_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # However long a call takes, the loop waits for none of it.
    ran: set[str] = set()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if "plugmem_core" in frame.f_code.co_filename:
            ran.add(Path(frame.f_code.co_filename).name)

    sys.setprofile(watch)  # of this thread
    try:
        async with await Memory.aopen(":memory:") as memory:
            for verb, arguments, options in SCRIPT:
                await getattr(memory, f"a{verb}")(*arguments, **options)
    finally:
        sys.setprofile(None)
    assert ran == {"base.py", "memory.py"}  # twins, and `aopen`


async def test_the_event_loop_runs_on_while_a_twin_waits() -> None:
    loop_ran = threading.Event()

    class Waiting(HashingEmbedder):
        def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
            assert loop_ran.wait(timeout=30), "the loop was blocked"
            return super().embed_documents(texts)

    async with await Memory.aopen(":memory:", embedder=Waiting(8)) as memory:
        write = asyncio.create_task(memory.aremember("one"))
        await asyncio.sleep(0)
        loop_ran.set()
        assert (await write).vector == "stored"


async def test_many_twins_at_once_lose_nothing(memory: Memory) -> None:
    receipts = await asyncio.gather(*(memory.aremember(f"note {i}") for i in range(40)))
    assert sorted(receipt.id for receipt in receipts) == list(range(40))
    assert (await memory.averify()).ok
