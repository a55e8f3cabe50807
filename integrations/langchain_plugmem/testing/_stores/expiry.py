# ruff: noqa: S101 - asserts are what a suite is made of
"""Time to live: honoured where a store supports it, refused where it does not."""

import pytest
from langgraph.store.base import PutOp

from langchain_plugmem.testing._stores.access import Access
from langchain_plugmem.testing._stores.items import HERE, THERE
from langchain_plugmem.testing._stores.suite import StoreSuite

FEW, MOST, MORE = 0.3, 0.6, 1.5
"""Parts of a ttl; twice `MOST` is past its end."""


class ExpiryBehaviours(StoreSuite):
    """What holds for `ttl` and `refresh_ttl`."""

    def test_no_ttl_is_always_accepted(self, plain: Access) -> None:
        """`ttl=None` asks for nothing, so that users may pass it to every store."""
        plain.put(HERE, "drink", {"text": "tea"}, ttl=None)
        assert plain.value(HERE, "drink") == {"text": "tea"}

    def test_a_ttl_is_honoured_or_refused(self, plain: Access) -> None:
        """A ttl ends the item or raises `NotImplementedError`, or secrets stay for ever."""
        if not plain.store.supports_ttl:
            with pytest.raises(NotImplementedError):
                plain.put(HERE, "code", {"n": 1}, ttl=self.tick)
        else:
            plain.put(HERE, "code", {"n": 1}, ttl=self.tick)
            self.pass_time(plain.store, MORE * self.tick)
        assert plain.get(HERE, "code") is None

    def test_a_ttl_in_a_batch_is_honoured_or_refused(self, plain: Access) -> None:
        """The ttl of an operation counts as that of a call does, or secrets stay for ever."""
        ops = [PutOp(HERE, "code", {"n": 1}, ttl=self.tick)]
        if not plain.store.supports_ttl:
            with pytest.raises(NotImplementedError):
                plain.batch(ops)
        else:
            plain.batch(ops)
            self.pass_time(plain.store, MORE * self.tick)
        assert plain.get(HERE, "code") is None

    def test_a_ttl_is_in_minutes(self, expiring: Access) -> None:
        """An item lives for its ttl in minutes; in seconds, users would lose it early."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, FEW * self.tick)
        assert expiring.value(HERE, "code") == {"n": 1}

    def test_an_expired_item_is_found_by_no_route(self, expiring: Access) -> None:
        """After its ttl an item is gone by every route and no other is, as users were told."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        expiring.put(THERE, "long", {"n": 1}, ttl=100 * self.tick)
        expiring.put(THERE, "ever", {"n": 1})
        self.pass_time(expiring.store, MORE * self.tick)
        assert expiring.get(HERE, "code") is None
        assert sorted(expiring.keys((), filter={"n": 1})) == ["ever", "long"]
        assert expiring.list_namespaces() == [THERE]

    def test_an_expired_item_is_not_ranked(self, indexed: Access) -> None:
        """After its ttl an item is found by no query, or secrets stay for ever."""
        if not indexed.store.supports_ttl:
            pytest.skip("supports_ttl is False")
        indexed.put(HERE, "code", {"text": "green tea"}, ttl=self.tick)
        indexed.put(HERE, "ever", {"text": "green paint"})
        self.pass_time(indexed.store, MORE * self.tick)
        assert indexed.keys(HERE, query="green tea") == ["ever"]

    def test_a_get_refreshes_the_ttl(self, expiring: Access) -> None:
        """An item that is read lives on, so that users keep what they use."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.get(HERE, "code", refresh_ttl=True) is not None
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.value(HERE, "code") == {"n": 1}

    def test_a_search_refreshes_the_ttl(self, expiring: Access) -> None:
        """An item that is found lives on, so that users keep what they search for."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.keys(HERE, refresh_ttl=True) == ["code"]
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.value(HERE, "code") == {"n": 1}

    def test_a_read_refreshes_by_default(self, expiring: Access) -> None:
        """Without a config reads refresh, as the signatures promise to users."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.get(HERE, "code") is not None
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.value(HERE, "code") == {"n": 1}

    def test_a_read_need_not_refresh(self, expiring: Access) -> None:
        """With `refresh_ttl=False` a read changes nothing, so that users can look on."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.get(HERE, "code", refresh_ttl=False) is not None
        assert expiring.keys(HERE, refresh_ttl=False) == ["code"]
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.get(HERE, "code", refresh_ttl=False) is None

    def test_a_search_refreshes_only_what_it_returns(self, expiring: Access) -> None:
        """An item that a filter leaves out has not been read, or users never lose the unused."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.keys(HERE, filter={"n": 2}, refresh_ttl=True) == []
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.get(HERE, "code") is None

    def test_an_overwrite_starts_the_ttl_anew(self, expiring: Access) -> None:
        """A put with a ttl counts from itself, so that users can prolong an item."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        expiring.put(HERE, "code", {"n": 2}, ttl=self.tick)
        self.pass_time(expiring.store, MOST * self.tick)
        assert expiring.value(HERE, "code") == {"n": 2}

    def test_an_overwrite_without_a_ttl_ends_it(self, expiring: Access) -> None:
        """A put without a ttl keeps the item for good, or users lose what they just wrote."""
        expiring.put(HERE, "code", {"n": 1}, ttl=self.tick)
        expiring.put(HERE, "code", {"n": 2})
        self.pass_time(expiring.store, MORE * self.tick)
        assert expiring.value(HERE, "code") == {"n": 2}
