"""A process that presses Ctrl-C at chosen moments inside a call, and looks at what is left.

CPython looks for signals where a function written in Python begins and after one written in C
has returned, but for the entering of a `with` block. An exception raised by a profiler at these
places is what Ctrl-C at that moment would be.

Its arguments are a folder, at how many moments to interrupt each call at most, and the names of
the calls; it prints at how many it did.
"""

import contextlib
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from clocks import SECOND, START
from naive import NaiveMemory

import plugmem_core
from durability.crash import assert_agree, contents, expected
from durability.elsewhere import Call, World, perform
from durability.plans import COLLECTION, apply
from plugmem_core import Memory, Retain

OURS = (str(Path(plugmem_core.__file__).parent), contextlib.__file__)
LINKS = [("knows", "Bob"), ("knows", "Cleo")]


def newest(model: NaiveMemory) -> int:
    return max(fact.id for fact in model.current())


def call(verb: str, *args: Any, **options: Any) -> Call:
    return verb, args, options


def draft(n: int) -> dict[str, Any]:
    return {"text": f"green tea {n}", "entity": f"E{n}", "links": LINKS, "vector": (1.0, n)}


CALLS: dict[str, Callable[[int, NaiveMemory], Call]] = {
    "remember_many": lambda n, _: call("remember_many", [draft(n), draft(n + MANY)]),
    "remember_guarded": lambda n, _: call("remember_guarded", f"black rye {n}", entity="Dan"),
    "revise": lambda n, model: call(
        "revise", newest(model), f"tea {n}", entity="Ann", links=[("likes", f"E{n}")]
    ),
    "write": lambda n, _: call(
        "write", remember=[{**draft(n), "key": "k"}], forget=[((), "k")], unlink=True
    ),
    "forget_many": lambda n, model: call("forget_many", [newest(model)], unlink=True),
    "end": lambda n, model: call("end", newest(model)),
    "set_ttl": lambda n, model: call("set_ttl", [newest(model)], 1_000_000 + n),
    "link": lambda n, _: call("link", f"E{n}", "knows", "Ann", properties={"n": n}),
    "unlink": lambda n, _: call("unlink", "Ann", "knows", f"friend {n}"),
    "alias_entity": lambda n, _: call("alias_entity", "Ann", f"alias {n}"),
    "rename_entity": lambda n, _: call("rename_entity", "Ann", "ANN" if n % 2 else "Ann"),
    "merge_entities": lambda n, _: call("merge_entities", f"friend {n}", "Bob"),
    "rename_tag": lambda n, _: call("rename_tag", *(("a", "b") if n % 2 else ("b", "a"))),
    "put_values": lambda n, _: call("put_values", COLLECTION, {"k": n, f"k{n}": n}),
    "delete_values": lambda n, _: call("delete_values", COLLECTION, [f"v{n}"]),
    "transaction": lambda n, _: call(
        "transaction",
        [
            call("remember", **draft(n)),
            call("put_values", COLLECTION, {"k": n}),
            call("link", "Ann", "knows", f"E{n}"),
        ],
    ),
    "maintain": lambda n, _: call("maintain", retain=[Retain(max_age=600 - 2 * n)]),
    "erase": lambda n, _: call("erase", entity=f"friend {n}"),
    "checkpoint": lambda n, _: call("checkpoint"),
    "rebuild": lambda n, _: call("rebuild"),
    "verify": lambda n, _: call("verify"),
    "list_facts": lambda n, _: call("list_facts", where={"n": {"$gt": n}}, entity="Ann"),
    "get_by_keys": lambda n, _: call("get_by_keys", ["k", "l"]),
    "neighbours": lambda n, _: call("neighbours", ["Ann", f"E{n}"]),
    "get_values": lambda n, _: call("get_values", COLLECTION),
}
READS = ("list_facts", "get_by_keys", "neighbours", "get_values")
MANY = 1_000_000
LONGEST = 1_500
"""Moments beyond which no call is interrupted more often, as it would have nothing to do."""


def fill(world: World, memory: Memory, model: NaiveMemory, most: int) -> None:
    """Write what so many calls need for each to change something."""
    facts = [
        {"text": f"fact {n}", "tags": ("a",), "vector": (1.0, n + 1.0), "metadata": {"n": n}}
        for n in range(20)
    ]
    calls = [call("remember", **fact) for fact in facts]
    calls.append(call("put_values", COLLECTION, {f"v{n}": n for n in range(most)}))
    names = ["Bob", "Cleo", *(f"friend {n}" for n in range(most))]
    calls += [call("link", "Ann", "knows", name) for name in names]
    for verb, args, options in calls:
        world.now = model.now = world.now + SECOND
        perform(memory, verb, args, options)
        apply(model, (verb, args, options))


class Interrupted:
    """Runs a call up to its n-th moment."""

    def __init__(self) -> None:
        self._left = 0

    def run(self, moment: int, work: Callable[[], object]) -> bool:
        """Return whether the call was interrupted before it ended."""
        self._left = moment
        sys.setprofile(self._count)
        try:
            work()
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        return self._left < 0

    def moments(self, work: Callable[[], object]) -> int:
        """Return how many moments a call has."""
        many = sys.maxsize
        self.run(many, work)
        return many - self._left

    def _count(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "call" and (event != "c_return" or function.__name__ == "__enter__"):
            return
        if self._left >= 0 and frame.f_code.co_filename.startswith(OURS):
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt


class Trial:
    """One call, interrupted again and again.

    Args:
        folder: An empty one.
        name: The call.
        most: At how many moments to interrupt it at most.
    """

    def __init__(self, folder: Path, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._path = folder / f"{name}.db"
        self._world, self._model = World(START), NaiveMemory(START)
        self._interrupted = Interrupted()

    def run(self) -> int:
        """Return at how many moments the call was interrupted."""
        with self._world.open(self._path, embeds=False) as memory:
            fill(self._world, memory, self._model, min(self._most, LONGEST) + 1)
            wanted = self._next(0)
            count = self._interrupted.moments(lambda: perform(memory, *wanted))
            self._follow(wanted)
            assert_agree(memory, self._model)
            moments = random.Random(self._name).sample(
                range(count), min(count, self._most, LONGEST)
            )
            for number, moment in enumerate(sorted(moments), start=1):
                print(self._name, "interrupted at", moment, "of", count, file=sys.stderr)
                self._interrupt(memory, number, moment)
        with self._world.open(self._path, embeds=False) as memory:
            assert_agree(memory, self._model)
            assert memory.verify().problems == ()
        return len(moments)

    def _interrupt(self, memory: Memory, number: int, moment: int) -> None:
        wanted = self._next(number)
        self._interrupted.run(moment, lambda: perform(memory, *wanted))
        if contents(memory, self._model) != expected(self._model):  # then it was done, as a whole
            self._follow(wanted)
        assert_agree(memory, self._model)
        assert memory.verify().problems == ()
        still_working = call("remember", "still working", key="still", metadata={"n": number})
        perform(memory, *still_working)
        self._follow(still_working)
        assert_agree(memory, self._model)

    def _next(self, number: int) -> Call:
        self._world.now = self._model.now = self._world.now + SECOND
        return CALLS[self._name](number, self._model)

    def _follow(self, wanted: Call) -> None:
        if wanted[0] not in READS:
            apply(self._model, wanted)


if __name__ == "__main__":
    place, limit, *chosen = sys.argv[1:]
    print(sum(Trial(Path(place), name, int(limit)).run() for name in chosen))
