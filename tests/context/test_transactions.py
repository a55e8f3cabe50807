"""What a compile keeps is one transaction, whoever else writes at the same time."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from clocks import DAY, Clock
from conftest import OpenMemory

from context.asking import request
from plugmem_core import Memory, ReadOnlyError, TooLargeError
from plugmem_core.config import MemoryConfig
from plugmem_core.context import ContextDesk, DictValues, ValueStore
from plugmem_core.context.savings import EVENTS
from plugmem_core.context.sources import CONTENTS, INDEX
from plugmem_core.text.fnv import fnv1a64

PATIENCE = 20  # seconds; nobody waits for so long unless something hangs
PUMP = f"ctx://source/{fnv1a64('pump')}"


class Watched:
    """A store that tells of what is asked of it."""

    def __init__(self, values: ValueStore) -> None:
        self.values = values
        self.begun = 0
        self.depth = 0
        self.before_write: Callable[[str], None] = lambda collection: None
        self.after_read: Callable[[str], None] = lambda collection: None
        self.on_begin: Callable[[], None] = lambda: None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.on_begin()
        self.begun += not self.depth
        self.depth += 1
        try:
            with self.values.transaction():
                yield
        finally:
            self.depth -= 1

    def put_values(
        self, collection: str, values: Mapping[str, Any], *, namespace: tuple[str, ...] = ()
    ) -> None:
        self._write(collection)
        self.values.put_values(collection, values, namespace=namespace)

    def get_values(
        self,
        collection: str,
        keys: Iterable[str] | None = None,
        *,
        namespace: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        found = self.values.get_values(collection, keys, namespace=namespace)
        self.after_read(collection)
        return found

    def delete_values(
        self, collection: str, keys: Iterable[str], *, namespace: tuple[str, ...] = ()
    ) -> int:
        self._write(collection)
        return self.values.delete_values(collection, keys, namespace=namespace)

    def _write(self, collection: str) -> None:
        self.begun += not self.depth
        self.on_begin()
        self.before_write(collection)


class Other:
    """Somebody else, who does something when this one has read, and before it writes."""

    def __init__(self, watched: Watched, work: Callable[[], None]) -> None:
        self.thread = Thread(target=work, daemon=True)
        self.watched = watched
        self.waits = Event()

    def begin_after_reading(self, collection: str, mine: Watched) -> None:
        """Start when mine has read; go on when the other is done, or waits for its turn."""

        def start(read: str) -> None:
            if read == collection and not self.thread.ident:
                self.thread.start()
                assert self.waits.wait(PATIENCE)

        self.watched.on_begin = self.waits.set
        mine.after_read = start

    def join(self) -> None:
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.fixture(params=["dict", "threads", "handles"])
def pair(request: pytest.FixtureRequest, open_memory: OpenMemory, tmp_path: Path) -> list[Watched]:
    """Two views of one store: of threads that share it, or of two handles of one file."""
    if request.param == "handles":
        return [Watched(open_memory(tmp_path / "m")) for _ in range(2)]
    values = DictValues() if request.param == "dict" else open_memory(tmp_path / "m")
    return [Watched(values) for _ in range(2)]


@pytest.fixture(params=["dict", "file"])
def shared(request: pytest.FixtureRequest, open_memory: OpenMemory, tmp_path: Path) -> ValueStore:
    """A store that can be read while it is written."""
    return DictValues() if request.param == "dict" else open_memory(tmp_path / "m")


def compile_pump(desk: ContextDesk, **fields: Any) -> None:
    desk.compile_context(request("pump", **fields))


def test_a_compile_is_one_transaction(values: ValueStore) -> None:
    watched = Watched(values)
    desk = ContextDesk(watched)
    for expected in (1, 2):
        compile_pump(desk)
        assert watched.begun == expected


@pytest.mark.parametrize("failing", [CONTENTS, INDEX, EVENTS])
def test_a_compile_keeps_all_of_it_or_nothing(values: ValueStore, failing: str) -> None:
    def fail(collection: str) -> None:
        if collection == failing:
            raise OSError("the disk is full")

    watched = Watched(values)
    watched.before_write = fail
    with pytest.raises(OSError, match="full"):
        compile_pump(ContextDesk(watched))
    assert [values.get_values(one) for one in (CONTENTS, INDEX, EVENTS)] == [{}, {}, {}]


def test_a_purge_removes_all_of_it_or_nothing(values: ValueStore) -> None:
    def fail(collection: str) -> None:
        if collection == CONTENTS:
            raise OSError("the disk is full")

    watched = Watched(values)
    desk = ContextDesk(watched)
    compile_pump(desk)
    watched.before_write = fail
    with pytest.raises(OSError, match="full"):
        desk.purge_sources(handle=PUMP)
    assert desk.retrieve_context_source(PUMP).content == "pump"


def test_a_compile_is_a_part_of_the_callers_transaction(values: ValueStore) -> None:
    desk = ContextDesk(values)
    with suppress(KeyError), values.transaction():
        values.put_values("settings", {"theme": "dark"})
        compile_pump(desk)
        raise KeyError
    assert values.get_values("settings") == {}
    assert (values.get_values(CONTENTS), desk.context_savings().events) == ({}, 0)
    with values.transaction():
        values.put_values("settings", {"theme": "dark"})
        compile_pump(desk)
    assert values.get_values("settings") == {"theme": "dark"}
    assert desk.retrieve_context_source(PUMP).content == "pump"
    assert desk.context_savings().events == 1


def test_what_keeps_nothing_needs_no_transaction(open_memory: OpenMemory, tmp_path: Path) -> None:
    compile_pump(ContextDesk(open_memory(tmp_path / "m")))
    desk = ContextDesk(open_memory(tmp_path / "m", read_only=True))
    compile_pump(desk, store_sources=False, record_events=False)
    assert desk.explain_compilation(request("pump"), 0, 0).rule_id == "preserve.default"
    assert desk.retrieve_context_source(PUMP).content == "pump"
    with pytest.raises(ReadOnlyError):
        compile_pump(desk)


def test_compiles_inside_and_outside_a_transaction_do_not_wait_for_each_other_for_good(
    tmp_path: Path,
) -> None:
    memory = Memory.open(tmp_path / "m")  # closing would wait, too, if the threads do
    watched = Watched(memory)
    desk = ContextDesk(watched)
    inside, wants = Event(), Event()

    def first() -> None:
        with memory.transaction():
            memory.put_values("settings", {"theme": "dark"})
            inside.set()
            assert wants.wait(PATIENCE)
            compile_pump(desk)

    def second() -> None:
        assert inside.wait(PATIENCE)
        watched.on_begin = wants.set
        compile_pump(desk)

    threads = [Thread(target=work, daemon=True) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert desk.context_savings().events == 2
    memory.close()


@pytest.mark.parametrize(("mine", "theirs"), [(1, None), (None, 1)])
def test_no_use_and_no_expiry_is_lost_to_another_who_compiles_the_same(
    pair: list[Watched], clock: Clock, mine: int | None, theirs: int | None
) -> None:
    one, other = (ContextDesk(values, clock=clock) for values in pair)
    compile_pump(one, project="before", source_ttl_seconds=1)
    someone = Other(
        pair[1], lambda: compile_pump(other, project="theirs", source_ttl_seconds=theirs)
    )
    someone.begin_after_reading(INDEX, pair[0])
    compile_pump(one, project="mine", source_ttl_seconds=mine)
    someone.join()
    (entry,) = pair[0].values.get_values(INDEX).values()
    assert {project for project, _ in entry["uses"]} == {"before", "mine", "theirs"}
    clock.tick(DAY)
    assert one.retrieve_context_source(PUMP).content == "pump"


def test_a_purge_does_not_take_what_another_compiles(pair: list[Watched], clock: Clock) -> None:
    one, other = (ContextDesk(values, clock=clock) for values in pair)
    compile_pump(one, project="old")
    someone = Other(pair[1], lambda: compile_pump(other, project="new"))
    someone.begin_after_reading(INDEX, pair[0])
    assert one.purge_sources(project="old") == 1
    someone.join()
    assert one.retrieve_context_source(PUMP).content == "pump"
    assert one.purge_sources(project="new") == 1
    assert pair[0].values.get_values(CONTENTS) == {}


def test_a_source_that_is_purged_while_it_is_read_is_unknown_and_not_damaged(
    pair: list[Watched],
) -> None:
    one, other = map(ContextDesk, pair)
    compile_pump(one)
    reads: list[str] = []

    def purge_once(collection: str) -> None:
        reads.append(collection)
        if len(reads) == 1:
            assert other.purge_sources(handle=PUMP) == 1

    pair[0].after_read = purge_once
    with pytest.raises(KeyError, match="nothing is stored"):
        one.retrieve_context_source(PUMP)


def test_processes_that_count_alike_overwrite_no_event_of_each_other(
    pair: list[Watched], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for values in pair:
        monkeypatch.setattr("plugmem_core.context.savings._sequence", count())
        monkeypatch.setattr("os.getpid", lambda: 1)
        desk = ContextDesk(values, clock=clock)
        for _ in range(3):
            compile_pump(desk)
    assert desk.context_savings().events == 6


def test_what_is_too_large_for_the_store_is_told_in_terms_of_the_compile() -> None:
    memory = Memory.open(":memory:", config=MemoryConfig(max_value=1_000))
    desk = ContextDesk(memory)
    with pytest.raises(TooLargeError, match="store_sources"):
        desk.compile_context(request("pump", "x" * 2_000))
    assert [memory.get_values(one) for one in (CONTENTS, INDEX, EVENTS)] == [{}, {}, {}]


@pytest.mark.parametrize(
    "pricing",
    [
        {"models": {"m": 10**700}},
        {"models": {"m": 2**53 + 1}},
        {"currency": "x" * 1_025},
    ],
)
def test_prices_that_no_event_could_hold_are_refused_before_anything_is_kept(
    values: ValueStore, pricing: dict[str, Any]
) -> None:
    prices = {"version": "1", "currency": "USD", "models": {"m": 1}} | pricing
    with pytest.raises(ValueError, match=r"request\.policy\.pricing\."):
        compile_pump(ContextDesk(values), target_model="m", pricing=prices)
    assert [values.get_values(one) for one in (CONTENTS, INDEX, EVENTS)] == [{}, {}, {}]


def test_the_highest_price_is_counted(values: ValueStore) -> None:
    desk = ContextDesk(values)
    prices = {"version": "1", "currency": "\0" * 1_024, "models": {"m": 2**53}}
    desk.compile_context(request("word " * 10, budget=1, target_model="m", pricing=prices))
    saved = desk.context_savings().cost_saved_micros_by_currency
    assert saved == {"\0" * 1_024: 20 * 2**53 // 10**6}


def test_a_store_reads_in_a_transaction_what_was_there_before_it(shared: ValueStore) -> None:
    shared.put_values("c", {"a": 1, "b": 2})
    with shared.transaction():
        shared.put_values("c", {"a": 3, "d": 4})
        assert shared.delete_values("c", ["b", "b", "x"]) == 1
        assert shared.get_values("c") == {"a": 1, "b": 2}
    assert shared.get_values("c") == {"a": 3, "d": 4}


def test_a_store_sees_its_own_writes_where_it_removes_them(values: ValueStore) -> None:
    with values.transaction():
        values.put_values("c", {"a": None, "b": 2})
        assert values.delete_values("c", ["a"]) == 1
        assert values.delete_values("c", ["a"]) == 0
        values.put_values("c", {"d": 4})
    assert values.get_values("c") == {"b": 2, "d": 4}


def test_a_store_undoes_a_transaction_that_fails(values: ValueStore) -> None:
    values.put_values("c", {"a": 1})

    def fail() -> None:
        with values.transaction():
            values.put_values("c", {"a": 2})
            values.delete_values("c", ["a"])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert values.get_values("c") == {"a": 1}
    values.put_values("c", {"a": 3})
    assert values.get_values("c") == {"a": 3}


def test_a_block_within_a_block_is_a_part_of_it(shared: ValueStore) -> None:
    with shared.transaction():
        with shared.transaction():
            shared.put_values("c", {"a": 1})
        assert shared.get_values("c") == {}
    assert shared.get_values("c") == {"a": 1}


def test_an_inner_block_that_fails_undoes_all_even_if_that_is_caught(values: ValueStore) -> None:
    def half() -> None:
        with values.transaction():
            values.put_values("c", {"b": 2})
            raise KeyError

    def whole() -> None:
        with values.transaction():
            values.put_values("c", {"a": 1})
            with suppress(KeyError):
                half()

    with pytest.raises(KeyError):
        whole()
    assert values.get_values("c") == {}


def test_others_read_during_a_transaction_and_write_after_it(shared: ValueStore) -> None:
    seen: list[dict[str, Any]] = []
    has_read = Event()

    def other() -> None:
        seen.append(shared.get_values("c"))
        has_read.set()
        shared.put_values("c", {"other": 2})

    thread = Thread(target=other, daemon=True)
    with shared.transaction():
        shared.put_values("c", {"mine": 1})
        thread.start()
        assert has_read.wait(PATIENCE)
        assert shared.get_values("c") == {}
    thread.join(PATIENCE)
    assert seen == [{}]
    assert shared.get_values("c") == {"mine": 1, "other": 2}
