"""The gate: shared by readers, or one writer's alone."""

import threading
from contextlib import AbstractContextManager

import pytest

from plugmem_core.kernels import Gate

STUCK = 30
"""Seconds after which a thread is taken to be stuck."""
A_WHILE = 0.05
"""Seconds given to a thread to do what it must not."""


class Visitor(threading.Thread):
    """A thread that goes through a gate and stays inside until it is let go."""

    def __init__(self, way: AbstractContextManager[None]) -> None:
        super().__init__(daemon=True)
        self._way = way
        self._go = threading.Event()
        self.inside = threading.Event()
        self.start()

    def run(self) -> None:
        with self._way:
            self.inside.set()
            assert self._go.wait(STUCK)

    def arrives(self) -> bool:
        return self.inside.wait(STUCK)

    def stays_out(self) -> bool:
        return not self.inside.wait(A_WHILE)

    def let_go(self) -> None:
        self._go.set()

    def leave(self) -> None:
        self.let_go()
        self.join(STUCK)
        assert not self.is_alive()


@pytest.fixture
def gate() -> Gate:
    return Gate()


def test_readers_are_inside_together(gate: Gate) -> None:
    readers = [Visitor(gate) for _ in range(4)]
    assert all(reader.arrives() for reader in readers)
    for reader in readers:
        reader.leave()


def test_a_writer_is_inside_alone(gate: Gate) -> None:
    writer = Visitor(gate.alone)
    assert writer.arrives()
    others = [Visitor(gate), Visitor(gate.alone)]
    assert all(other.stays_out() for other in others)
    writer.leave()
    for other in others:
        other.let_go()
    for other in others:
        other.leave()  # one after another, in either order
        assert other.inside.is_set()


def test_a_writer_waits_for_every_reader(gate: Gate) -> None:
    readers = [Visitor(gate) for _ in range(2)]
    assert all(reader.arrives() for reader in readers)
    writer = Visitor(gate.alone)
    assert writer.stays_out()
    readers[0].leave()
    assert writer.stays_out()
    readers[1].leave()
    assert writer.arrives()
    writer.leave()


def test_a_waiting_writer_goes_before_new_readers(gate: Gate) -> None:
    reader = Visitor(gate)
    assert reader.arrives()
    writer = Visitor(gate.alone)
    assert writer.stays_out()
    late = Visitor(gate)
    assert late.stays_out()
    reader.leave()
    assert writer.arrives()
    assert late.stays_out()
    writer.leave()
    assert late.arrives()
    late.leave()


@pytest.mark.parametrize("alone", [False, True])
def test_an_exception_inside_opens_the_gate_and_goes_on(gate: Gate, alone: bool) -> None:
    with pytest.raises(ZeroDivisionError), gate.alone if alone else gate:
        raise ZeroDivisionError
    with gate.alone:
        pass


def test_the_way_alone_outlives_the_name_of_the_gate() -> None:
    with Gate().alone:
        pass


def test_writers_exclude_one_another_and_readers_see_whole_writes(gate: Gate) -> None:
    pair = [0, 0]
    seen = []

    def write() -> None:
        for _ in range(200):
            with gate.alone:
                pair[0] += 1
                for _ in range(20):  # time for others to come in between
                    pass
                pair[1] += 1

    def read() -> None:
        for _ in range(200):
            with gate:
                seen.append(pair[0] == pair[1])

    threads = [threading.Thread(target=job, daemon=True) for job in [write] * 3 + [read] * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(STUCK)
        assert not thread.is_alive()
    assert pair == [600, 600]
    assert all(seen)
    assert len(seen) == 600
