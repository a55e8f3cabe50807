# ruff: noqa: S101 - asserts are what a suite is made of
"""Several operations at once."""

from typing import Any

import pytest
from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)

from langchain_plugmem.testing._stores.access import Access, refused
from langchain_plugmem.testing._stores.items import BAD_LABELS, HERE, THERE
from langchain_plugmem.testing._stores.suite import StoreSuite

NO_OP: Any = object()

BAD_OPS: dict[str, Op] = {
    "a dotted label": PutOp(("a.b",), "k", {}),
    "an empty label to look in": SearchOp(("",)),
    "a value that is no JSON": PutOp(HERE, "bad", {"v": object()}),
    "an unknown operator": SearchOp(HERE, filter={"n": {"$near": 1}}),
    "a negative limit": SearchOp(HERE, limit=-1),
    "no operation": NO_OP,
}


def ops_in(namespace: tuple[Any, ...]) -> dict[str, Op]:
    """Return one operation of each kind that names the namespace."""
    return {
        "get": GetOp(namespace, "k"),
        "search": SearchOp(namespace),
        "put": PutOp(namespace, "k", {"n": 1}),
        "delete": PutOp(namespace, "k", None),
        "prefix": ListNamespacesOp((MatchCondition("prefix", namespace),)),
        "suffix": ListNamespacesOp((MatchCondition("suffix", namespace),)),
    }


class BatchBehaviours(StoreSuite):
    """What holds for `batch` and `abatch`."""

    def test_an_empty_batch_gives_nothing(self, plain: Access) -> None:
        """No operations, no results and no error, for users who collect operations."""
        assert plain.batch([]) == []

    def test_a_batch_takes_any_iterable(self, plain: Access) -> None:
        """A generator is run as a list is, as the signature promises to users."""
        plain.batch(PutOp(HERE, str(n), {"n": n}) for n in range(3))
        found = plain.batch(GetOp(HERE, str(n)) for n in range(3))
        assert [item.value for item in found if isinstance(item, Item)] == [
            {"n": 0},
            {"n": 1},
            {"n": 2},
        ]

    def test_results_stand_in_the_order_of_the_operations(self, plain: Access) -> None:
        """Result and operation share their position; users have nothing else to match them by."""
        plain.put(HERE, "drink", {"text": "tea"})
        put, got, missing, found, deleted, listed = plain.batch(
            [
                PutOp(THERE, "car", {"text": "old"}),
                GetOp(HERE, "drink"),
                GetOp(HERE, "food"),
                SearchOp(("notes",), filter={"text": "tea"}),
                PutOp(THERE, "none", None),
                ListNamespacesOp(),
            ]
        )
        assert put is None
        assert isinstance(got, Item)
        assert got.value == {"text": "tea"}
        assert missing is None
        assert isinstance(found, list)
        assert [item.key for item in found if isinstance(item, Item)] == ["drink"]
        assert deleted is None
        assert listed == [HERE]

    def test_reads_see_the_state_before_the_batch(self, plain: Access) -> None:
        """What a batch reads is as it was before its puts, so that order within is no matter."""
        plain.put(HERE, "drink", {"text": "tea"})
        _, _, listed, got, new, found = plain.batch(
            [
                PutOp(HERE, "drink", {"text": "coffee"}),
                PutOp(THERE, "car", {"text": "old"}),
                ListNamespacesOp(),
                GetOp(HERE, "drink"),
                GetOp(THERE, "car"),
                SearchOp(()),
            ]
        )
        assert listed == [HERE]
        assert isinstance(got, Item)
        assert got.value == {"text": "tea"}
        assert new is None
        assert isinstance(found, list)
        assert [item.value for item in found if isinstance(item, Item)] == [{"text": "tea"}]
        assert plain.value(HERE, "drink") == {"text": "coffee"}

    def test_the_last_put_of_a_key_wins(self, plain: Access) -> None:
        """Of several puts of a key the last one holds, as users expect of a list in order."""
        plain.batch([PutOp(HERE, "drink", {"n": n}) for n in range(4)])
        assert plain.value(HERE, "drink") == {"n": 3}
        assert plain.keys(HERE) == ["drink"]

    def test_a_put_then_a_delete_leaves_nothing(self, plain: Access) -> None:
        """A later delete undoes the put, as one by one, or users keep what they deleted."""
        plain.batch([PutOp(HERE, "drink", {"n": 1}), PutOp(HERE, "drink", None)])
        assert plain.get(HERE, "drink") is None
        assert plain.keys(()) == []

    def test_a_delete_then_a_put_leaves_the_put(self, plain: Access) -> None:
        """A later put outlives the delete, as one by one, or users lose what they replaced."""
        plain.put(HERE, "drink", {"n": 0})
        plain.batch([PutOp(HERE, "drink", None), PutOp(HERE, "drink", {"n": 1})])
        assert plain.value(HERE, "drink") == {"n": 1}

    def test_the_same_key_in_two_namespaces_is_put_twice(self, plain: Access) -> None:
        """Only puts of the same namespace and key replace each other, or users lose items."""
        plain.batch([PutOp(HERE, "drink", {"n": 1}), PutOp(THERE, "drink", {"n": 2})])
        assert plain.value(HERE, "drink") == {"n": 1}
        assert plain.value(THERE, "drink") == {"n": 2}

    @pytest.mark.parametrize("kind", BAD_OPS)
    def test_a_bad_operation_leaves_nothing_written(self, plain: Access, kind: str) -> None:
        """A batch that raises has written nothing, so that users can repair and repeat it."""
        plain.put(HERE, "old", {"n": 0})
        with pytest.raises((ValueError, TypeError)):
            plain.batch(
                [
                    PutOp(HERE, "before", {"n": 1}),
                    PutOp(HERE, "old", None),
                    BAD_OPS[kind],
                    PutOp(HERE, "after", {"n": 1}),
                ]
            )
        assert plain.keys(()) == ["old"]

    @pytest.mark.parametrize("kind", ops_in(()))
    def test_bad_labels_are_refused_in_a_batch(self, plain: Access, kind: str) -> None:
        """Operations are checked like calls are, or ("a.b",) might reach into ("a", "b")."""
        for label in BAD_LABELS:
            with refused():
                plain.batch([ops_in(("notes", label))[kind]])
        assert plain.list_namespaces() == []

    def test_conditions_of_an_operation_are_all_met(self, plain: Access) -> None:
        """A raw listing takes any number of conditions, so that users can narrow it freely."""
        for namespace in (("a", "b", "c"), ("a", "x", "c"), ("a", "b", "d")):
            plain.put(namespace, "k", {})
        conditions = (
            MatchCondition("prefix", ("a",)),
            MatchCondition("prefix", ("a", "b")),
            MatchCondition("suffix", ("c",)),
        )
        every, some = plain.batch([ListNamespacesOp(), ListNamespacesOp(conditions)])
        assert every == [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c")]
        assert some == [("a", "b", "c")]
