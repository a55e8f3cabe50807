"""What random inputs are made of, and what may become of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clocks import DAY, Clock
from hypothesis import settings
from hypothesis import strategies as st

from plugmem_core import Memory, PlugmemError

BUILTINS = (ValueError, TypeError, KeyError, OSError, RuntimeError, TimeoutError)

long = settings.get_current_profile_name() == "fuzz"
few = settings(
    max_examples=settings.default.max_examples if long else 30,
    derandomize=not long,  # the few are the same each time
    deadline=None,
)
fewer = settings(few, max_examples=few.max_examples // 2)


@contextmanager
def answered_or_refused() -> Iterator[None]:
    """Let an error of the package pass, if it is also one of Python's own; and no other."""
    try:
        yield
    except PlugmemError as error:
        if not isinstance(error, BUILTINS) or not str(error):
            raise


def fill(memory: Memory, clock: Clock) -> None:
    for number in range(12):
        memory.remember(
            f"the garden of Ann, bed {number}",
            entity="Ann",
            tags=["garden"],
            metadata={"year": 2000 + number},
            vector=[1.0, number],
            links=[("tends", f"bed {number}")],
        )
    memory.remember("tea", key="drink", namespace=("a", "b"), ttl=60)
    clock.tick(DAY)
    memory.revise(1, "the garden of Ann, dug up")
    memory.put_values("counters", {"visits": 1})
    memory.forget(2)
    memory.alias_entity("bed 1", "bed one")


hostile = st.sampled_from(
    ["", " ", "\0", "\ud800", "%", "_", "a.b", "$", "$and", "'; DROP TABLE facts; --", '"', "\\",
     "\u202e", "[f0]", "ﬁ", "\U0010ffff", "x" * 2_000]
)  # fmt: skip
anything_written = st.one_of(st.text(max_size=20), hostile)
numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([2**31, 2**32, 2**63, 2**64]))
atoms = st.one_of(st.none(), st.booleans(), numbers, anything_written, st.binary(max_size=4))
operators = st.sampled_from(
    ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$contains", "$like",
     "$ilike", "$and", "$or", "$not", "$near", "year", "a.b", ""]
)  # fmt: skip
nested = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(operators, anything_written), inner, max_size=3),
    ),
    max_leaves=12,
)


def spoilt(right: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Right arguments, or such of which one is anything at all."""

    def spoil(drawn: tuple[dict[str, Any], int, Any]) -> dict[str, Any]:
        arguments, place, anything = drawn
        names = [*arguments]
        return arguments | {names[place % len(names)]: anything} if names else {}

    return st.one_of(right, st.tuples(right, st.integers(0, 99), nested).map(spoil))
