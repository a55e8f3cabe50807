"""Random work for a writer that will not live to finish it."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from naive import NaiveMemory
from naive_rules import BATCH

from durability.elsewhere import Call
from plugmem_core import Namespace, PlugmemError

TEXTS = tuple(f"{adjective} {noun}" for adjective in ("green", "black") for noun in ("tea", "rye"))
NAMES = ("Ann", "Bob", "Cleo", "Dan")
TAGS = ("a", "b", "c")
KEYS = ("k", "l", "m")
SPACES: tuple[Namespace, ...] = ((), ("x",), ("x", "y"))
COLLECTION = "settings"
BULK = 80
"""Facts of a large write, so that some kills come in the middle of one."""

UNSEEN = ("checkpoint", "rebuild", "verify", "embedder")
"""Calls that change nothing a reader could see."""


def plan(chance: random.Random, model: NaiveMemory, length: int) -> list[Call]:
    """Return calls that write in every way there is.

    Args:
        chance: What decides.
        model: What is there before; the calls name facts that it has.
        length: How many calls.
    """
    return [chance.choice(_KINDS)(chance, model) for _ in range(length)]


def apply(model: NaiveMemory, call: Call) -> None:
    """Do to the model what a call does to a memory; a call that is refused does nothing."""
    verb, args, options = call
    if verb == "embedder":
        [model.embedder_works] = args
    if verb not in UNSEEN:
        with suppress(PlugmemError):
            getattr(model, verb)(*args, **options)


def _draft(chance: random.Random) -> dict[str, Any]:
    named = chance.random() < 0.6
    return {
        "text": f"{chance.choice(TEXTS)} {chance.randrange(9)}",
        "entity": chance.choice(NAMES) if named else None,
        "links": [("knows", chance.choice(NAMES))] if named and chance.random() < 0.5 else [],
        "tags": tuple(chance.sample(TAGS, chance.randrange(3))),
        "metadata": {"n": chance.randrange(3)},
        "key": chance.choice(KEYS) if chance.random() < 0.3 else None,
        "namespace": chance.choice(SPACES),
        "ttl": chance.choice([None, None, None, 5]),
    }


def _fact(chance: random.Random, model: NaiveMemory) -> int:
    facts = [fact.id for fact in model.current()] or [0]
    return chance.choice(facts)


def _remember(chance: random.Random, _: NaiveMemory) -> Call:
    return "remember", (), _draft(chance)


def _guarded(chance: random.Random, _: NaiveMemory) -> Call:
    return "remember_guarded", (), _draft(chance)


def _several(chance: random.Random, _: NaiveMemory) -> Call:
    return "remember_many", ([_draft(chance) for _ in range(chance.choice([3, BULK]))],), {}


def _write(chance: random.Random, _: NaiveMemory) -> Call:
    pairs = [(space, key) for space in SPACES for key in KEYS]
    options = {
        "remember": [_draft(chance), _draft(chance)],
        "forget": chance.sample(pairs, 2),
        "end": chance.sample(pairs, 2),
        "unlink": True,
    }
    return "write", (), options


def _revise(chance: random.Random, model: NaiveMemory) -> Call:
    text = f"{chance.choice(TEXTS)} {chance.randrange(9)}"
    return "revise", (_fact(chance, model), text), {"tags": (chance.choice(TAGS),)}


def _forget(chance: random.Random, model: NaiveMemory) -> Call:
    facts = sorted({_fact(chance, model) for _ in range(3)})
    return "forget_many", (facts,), {"unlink": True}


def _end(chance: random.Random, model: NaiveMemory) -> Call:
    return "end", (_fact(chance, model),), {}


def _set_ttl(chance: random.Random, model: NaiveMemory) -> Call:
    return "set_ttl", ([_fact(chance, model)], chance.choice([None, 3])), {}


def _edge(chance: random.Random, _: NaiveMemory) -> Call:
    ends = chance.choice(NAMES), "knows", chance.choice(NAMES)
    return chance.choice(["link", "unlink"]), ends, {"namespace": chance.choice(SPACES)}


def _name(chance: random.Random, _: NaiveMemory) -> Call:
    verb = chance.choice(["alias_entity", "rename_entity", "merge_entities"])
    names = chance.choice(NAMES), chance.choice([*NAMES, "Eve"])
    return verb, names, {"namespace": chance.choice(SPACES)}


def _retag(chance: random.Random, _: NaiveMemory) -> Call:
    return "rename_tag", tuple(chance.sample(TAGS, 2)), {}


def _values(chance: random.Random, _: NaiveMemory) -> Call:
    scope = {"namespace": chance.choice(SPACES)}
    if chance.random() < 0.3:
        return "delete_values", (COLLECTION, list(KEYS[:2])), scope
    return "put_values", (COLLECTION, {key: chance.randrange(99) for key in KEYS}), scope


def _transaction(chance: random.Random, model: NaiveMemory) -> Call:
    kinds = (_remember, _several, _edge, _values)
    calls = [kind(chance, model) for kind in chance.choices(kinds, k=3)]
    return "transaction", (calls,), {}


def _erase(chance: random.Random, model: NaiveMemory) -> Call:
    what: list[dict[str, Any]] = [
        {"ids": [_fact(chance, model)]},
        {"entity": chance.choice(NAMES)},
        {"key": chance.choice(KEYS)},
        {"namespace": ("x", "y")},
    ]
    return "erase", (), chance.choice(what)


def _care(chance: random.Random, _: NaiveMemory) -> Call:
    verb = chance.choice(["maintain", "reembed", "checkpoint", "checkpoint", "rebuild"])
    return verb, (), {"batch": BATCH} if verb == "reembed" else {}


def _embedder(chance: random.Random, _: NaiveMemory) -> Call:
    return "embedder", (chance.random() < 0.6,), {}


_KINDS: tuple[Callable[[random.Random, NaiveMemory], Call], ...] = (
    _remember, _guarded, _several, _write, _revise, _revise, _forget, _end, _set_ttl, _edge, _edge,
    _name, _retag, _values, _transaction, _transaction, _erase, _care, _care, _embedder,
)  # fmt: skip
