"""A process that writes what it is told, and says so after each call; made to be killed.

It reads a pickled tuple from its standard input: the path, whether there is an embedder and
whether that works, the instant of the first call, and the calls.
"""

import logging
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path

from durability.elsewhere import Call, World, perform
from plugmem_core import PlugmemError

STEP = 1_000
"""Milliseconds from one call to the next."""


def work(path: Path, embeds: bool, works: bool, start: int, calls: list[Call]) -> None:
    """Make the calls; a number on the standard output acknowledges each."""
    world = World(start)
    world.embedder_works = works
    _say("ready")
    with world.open(path, embeds=embeds) as memory:
        for number, (verb, args, options) in enumerate(calls):
            world.now = start + number * STEP
            if verb == "embedder":
                [world.embedder_works] = args
            else:
                with suppress(PlugmemError):
                    perform(memory, verb, args, options)
            _say(str(number))


def _say(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


if __name__ == "__main__":
    logging.disable()  # an embedder that is down is no news here
    work(*pickle.load(sys.stdin.buffer))
