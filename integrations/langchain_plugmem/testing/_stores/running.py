# ruff: noqa: S101 - asserts are what a suite is made of
"""Threads, tasks and event loops."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from langgraph.store.base import BaseStore, GetOp, PutOp

from langchain_plugmem.testing._stores.access import Access, call
from langchain_plugmem.testing._stores.items import HERE
from langchain_plugmem.testing._stores.suite import StoreSuite


class RunningBehaviours(StoreSuite):
    """What holds for calls at the same time and from anywhere."""

    def test_a_fresh_store_answers(self, plain: Access) -> None:
        """The first calls need no preparation and return, in whichever thread users make them."""
        answers: list[object] = []

        def first_calls() -> None:
            answers.append(plain.get(HERE, "drink"))
            plain.put(HERE, "drink", {"text": "tea"})
            answers.append(plain.value(HERE, "drink"))

        assert self._returns(first_calls), f"no answer within {self.patience} s"
        assert answers == [None, {"text": "tea"}]

    def test_concurrent_puts_lose_nothing(self, plain: Access) -> None:
        """Puts at the same time are all stored, as agents make them in parallel."""
        values = {f"{n:02}": {"n": n} for n in range(40)}
        done = plain.together(call("put", HERE, *item) for item in values.items())
        assert done == [None] * 40
        assert {key: plain.value(HERE, key) for key in values} == values
        assert sorted(plain.keys(HERE)) == [*values]

    def test_concurrent_overwrites_leave_one_value(self, plain: Access) -> None:
        """Of puts of one key at the same time one holds, whole, or users read a mixture."""
        values = [{"n": n, "same": n} for n in range(40)]
        done = plain.together(call("put", HERE, "k", value) for value in values)
        assert done == [None] * 40
        assert plain.value(HERE, "k") in values
        assert plain.keys(HERE) == ["k"]

    def test_concurrent_deletes_delete_all(self, plain: Access) -> None:
        """Deletes at the same time all hold, or users keep what they deleted."""
        plain.fill(HERE, {f"{n:02}": {"n": n} for n in range(40)})
        done = plain.together(call("delete", HERE, f"{n:02}") for n in range(1, 40))
        assert done == [None] * 39
        assert plain.keys(HERE) == ["00"]

    def test_concurrent_reads_get_their_own_answers(self, plain: Access) -> None:
        """Reads at the same time keep their answers apart, or users see each other's items."""
        plain.fill(HERE, {f"{n:02}": {"n": n} for n in range(20)})
        items = plain.together(call("get", HERE, f"{n:02}") for n in range(20))
        assert [item.value for item in items] == [{"n": n} for n in range(20)]

    def test_a_bad_call_fails_alone(self, plain: Access) -> None:
        """Calls at the same time succeed or fail each for itself, as users' calls do."""
        plain.put(HERE, "0", {"n": 0})
        calls = [call("put", HERE, str(n), {"n": n}) for n in range(1, 7)]
        calls.insert(3, call("search", HERE, filter={"n": {"$near": 1}}))
        results = plain.together(calls)
        assert isinstance(results.pop(3), ValueError)
        assert results == [None] * 6
        assert sorted(plain.keys(HERE)) == [str(n) for n in range(7)]

    def test_sync_and_async_see_the_same_items(
        self, store: BaseStore, runner: asyncio.Runner
    ) -> None:
        """What one kind of call writes the other reads, for users who mix their nodes."""
        if not (self.has_sync and self.has_async):
            pytest.skip("has_sync or has_async is False")
        direct, on_loop = Access(store), Access(store, runner)
        direct.put(HERE, "sync", {"n": 1})
        on_loop.put(HERE, "async", {"n": 2})
        assert on_loop.value(HERE, "sync") == {"n": 1}
        assert direct.value(HERE, "async") == {"n": 2}

    def test_a_sync_call_in_a_running_loop_returns(
        self, store: BaseStore, runner: asyncio.Runner
    ) -> None:
        """A sync call inside async code works or raises; a deadlock would stop the server."""

        async def call_directly() -> None:
            store.batch([PutOp(HERE, "drink", {"n": 1}), GetOp(HERE, "drink")])

        assert self._returns(lambda: runner.run(call_directly())), (
            f"no answer within {self.patience} s"
        )

    def test_a_cancelled_call_leaves_the_store_usable(
        self, store: BaseStore, runner: asyncio.Runner
    ) -> None:
        """A cancelled put is done or not, and later calls work, as after a user's stop."""
        if not self.has_async:
            pytest.skip("has_async is False")

        async def cancel_a_put() -> None:
            task = asyncio.ensure_future(store.aput(HERE, "cancelled", {"n": 1}))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await asyncio.wait_for(store.aput(HERE, "later", {"n": 2}), self.patience)

        runner.run(cancel_a_put())
        on_loop = Access(store, runner)
        assert on_loop.value(HERE, "cancelled") in (None, {"n": 1})
        assert on_loop.value(HERE, "later") == {"n": 2}

    def _returns(self, work: Callable[[], object]) -> bool:
        """Whether the work comes to an end, by an error or not, before patience does."""

        def run() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - an error is an end, too
                errors.append(error)

        errors: list[Exception] = []
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(self.patience)
        return not thread.is_alive()
