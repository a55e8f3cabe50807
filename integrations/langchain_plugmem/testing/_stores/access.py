# ruff: noqa: S101 - asserts are what a suite is made of
"""A store as its callers see it, so that each behaviour is written down once."""

import asyncio
import math
from collections.abc import Awaitable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Item, Op, Result, SearchItem

Path = tuple[str, ...]
Call = tuple[str, tuple[Any, ...], dict[str, Any]]
"""The name of a method, and its arguments."""


class Access:
    """The calls of a store, made directly or, given a runner, on its event loop."""

    def __init__(self, store: BaseStore, runner: asyncio.Runner | None = None) -> None:
        self.store = store
        self._runner = runner

    def get(self, namespace: Path, key: str, **options: Any) -> Item | None:
        """Return the item, or `None`."""
        item: Item | None = self._call("get", namespace, key, **options)
        return item

    def put(self, namespace: Path, key: str, value: Mapping[str, Any], **options: Any) -> None:
        """Store one item."""
        self._call("put", namespace, key, value, **options)

    def delete(self, namespace: Path, key: str) -> None:
        """Delete one item."""
        self._call("delete", namespace, key)

    def search(self, prefix: Path, **options: Any) -> list[SearchItem]:
        """Return what is found; up to 100 items, unless told otherwise."""
        found: list[SearchItem] = self._call("search", prefix, **{"limit": 100, **options})
        return found

    def list_namespaces(self, **options: Any) -> list[Path]:
        """Return the namespaces."""
        listed: list[Path] = self._call("list_namespaces", **options)
        return listed

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run several operations at once."""
        results: list[Result] = self._call("batch", ops)
        return results

    def fill(self, namespace: Path, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Store the values under their keys, one after the other."""
        for key, value in values.items():
            self.put(namespace, key, value)

    def value(self, namespace: Path, key: str) -> dict[str, Any] | None:
        """Return the value of an item, or `None`."""
        item = self.get(namespace, key)
        return None if item is None else item.value

    def keys(self, prefix: Path, **options: Any) -> list[str]:
        """Return the keys of what is found."""
        return [item.key for item in self.search(prefix, **options)]

    def keys_unless_refused(self, prefix: Path, **options: Any) -> list[str] | None:
        """Return the keys of what is found, or `None` after a `ValueError`."""
        try:
            return self.keys(prefix, **options)
        except ValueError:
            return None

    def ranked(self, prefix: Path, query: str, **options: Any) -> list[str]:
        """Return the keys of what has a score, after a look at the scores."""
        found = self.search(prefix, query=query, **options)
        scores = [item.score for item in found if item.score is not None]
        check_scores(scores)
        assert all(item.score is None for item in found[len(scores) :]), (
            f"items without a score come last, but the scores were {[i.score for i in found]}"
        )
        return [item.key for item in found[: len(scores)]]

    def together(self, calls: Iterable[Call]) -> list[Any]:
        """Make several calls at the same time.

        Returns:
            What each call returned or raised, in their order.
        """
        if self._runner is None:
            with ThreadPoolExecutor(max_workers=8) as pool:
                futures = [
                    pool.submit(getattr(self.store, method), *arguments, **options)
                    for method, arguments, options in calls
                ]
            return [future.exception() or future.result() for future in futures]

        async def gather() -> list[Any]:
            answers = [
                getattr(self.store, f"a{method}")(*arguments, **options)
                for method, arguments, options in calls
            ]
            return await asyncio.gather(*answers, return_exceptions=True)

        return self._runner.run(gather())

    def _call(self, method: str, *arguments: Any, **options: Any) -> Any:
        if self._runner is None:
            return getattr(self.store, method)(*arguments, **options)
        return self._runner.run(_wait_for(getattr(self.store, f"a{method}")(*arguments, **options)))


def refused() -> pytest.RaisesExc[ValueError]:
    """Return a context in which a `ValueError` has to be raised, whatever its words."""
    return pytest.raises(ValueError)  # noqa: PT011 - each store words its errors in its own way


def call(method: str, *arguments: Any, **options: Any) -> Call:
    """Return a call, to be made later."""
    return method, arguments, options


async def _wait_for(answer: Awaitable[Any]) -> Any:
    return await answer


def check_scores(scores: list[Any]) -> None:
    """Check that scores are numbers, the highest first."""
    assert all(isinstance(score, int | float) and math.isfinite(score) for score in scores), (
        f"scores are numbers, not {scores}"
    )
    assert scores == sorted(scores, reverse=True), f"the best comes first, not {scores}"


def ranks_before(better: str, worse: str, ranked: list[str]) -> bool:
    """Whether one key is ranked, and the other after it or not at all."""
    return better in ranked and worse not in ranked[: ranked.index(better)]


def pages_of(access: Access, prefix: Path, size: int, **options: Any) -> list[str]:
    """Return the keys of all pages of a search, in their order; no page may be too long."""
    keys: list[str] = []
    for offset in range(0, 100, size):
        page = access.keys(prefix, limit=size, offset=offset, **options)
        assert len(page) <= size
        keys += page
    return keys
