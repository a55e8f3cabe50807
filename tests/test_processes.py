"""Several processes and threads on one file, and processes that die in the middle of things."""

import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenMemory

from plugmem_core import Fact, Memory

DEADLOCK = 100
"""Seconds after which a child is taken to be stuck; none needs a tenth of it."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m"


def program(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


def run(code: str, *arguments: object) -> str:
    """Run a program to its end; what it prints on failure is shown."""
    done = subprocess.run(
        [*program(code), *map(str, arguments)], capture_output=True, text=True, timeout=DEADLOCK
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# -- two processes

CONVERSATION = """
    import json, sys
    from plugmem_core import Memory

    with Memory.open(sys.argv[1]) as memory:
        for line in sys.stdin:
            verb, args, options = json.loads(line)
            result = getattr(memory, verb)(*args, **options)
            match verb:
                case "recall":
                    answer = [fact.text for fact in result.facts]
                case "remember" | "revise":
                    answer = result.id
                case "edges":
                    answer = [[edge.src, edge.relation, edge.dst] for edge in result]
                case "tags":
                    answer = [tag.name for tag in result]
                case "verify":
                    answer = list(result.problems)
                case _:
                    answer = None
            print(json.dumps(answer), flush=True)
"""


class Other:
    """A memory in another process; its verbs are called like those of one here."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        import json

        def call(*args: Any, **options: Any) -> Any:
            self._process.stdin.write(json.dumps([verb, args, options]) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

        return call


@contextmanager
def another_process(path: Path) -> Iterator[Other]:
    with subprocess.Popen(
        [*program(CONVERSATION), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Other(process)
        process.stdin.close()


def texts(memory: Memory, query: str, **arguments: Any) -> set[str]:
    return {fact.text for fact in memory.recall(query, **arguments).facts}


def test_each_process_sees_the_others_commits_on_its_next_call(path: Path) -> None:
    with Memory.open(path) as here, another_process(path) as there:
        for number in range(5):
            assert here.remember(f"here {number}", entity="Ann", tags=["t"]).id == 2 * number
            assert f"here {number}" in there.recall(f"here {number}")
            assert there.remember(f"there {number}", key=f"k{number}") == 2 * number + 1
            assert f"there {number}" in texts(here, f"there {number}")
        assert there.revise(0, "changed there") == 10
        assert texts(here, "here 0 changed") >= {"changed there"}
        assert not here.get(0).is_current
        here.forget(1)
        assert "there 0" not in there.recall("there")
        there.link("Ann", "knows", "Bob")
        assert [edge.dst for edge in here.edges("Ann")] == ["Bob"]
        here.rename_entity("Ann", "Anna")
        assert there.edges("Anna") == [["Anna", "knows", "Bob"]]
        there.unlink("Anna", "knows", "Bob")
        assert here.edges("Anna") == ()
        assert here.recall(entities=["Anna"]).facts[0].entity == "Anna"
        here.rename_tag("t", "u")
        assert there.tags() == ["u"]
        there.maintain()
        assert here.stats().forgotten == 0
        assert (here.verify().problems, there.verify()) == ((), [])


def test_a_key_written_by_two_processes_has_one_chain(path: Path) -> None:
    with Memory.open(path) as here, another_process(path) as there:
        here.remember("version 0", key="k")
        for number in range(1, 7):
            (here if number % 2 else there).remember(f"version {number}", key="k")
        chain = here.history(0)
        assert [fact.text for fact in chain] == [f"version {number}" for number in range(7)]
        assert [fact.is_current for fact in chain] == [False] * 6 + [True]


WRITERS = """
    import sys
    from plugmem_core import Memory, MemoryConfig

    name, path = sys.argv[1:]
    with Memory.open(path, config=MemoryConfig(busy_timeout=60, durability="normal")) as memory:
        for number in range(40):
            memory.remember(f"{name} {number}", entity=f"entity {number % 3}")
            memory.remember("said by all", entity="all")
            assert memory.recall(f"{name} {number}").facts
"""


def test_processes_that_open_and_write_at_once_wait_for_one_another(path: Path) -> None:
    processes = [
        subprocess.Popen([*program(WRITERS), name, str(path)], stderr=subprocess.PIPE, text=True)
        for name in ("alpha", "beta", "gamma", "delta")
    ]
    for process in processes:
        _, errors = process.communicate(timeout=DEADLOCK)
        assert process.returncode == 0, errors
    with Memory.open(path) as memory:
        assert memory.stats().facts == 4 * 40 + 1
        assert memory.verify().ok


# -- threads of one process

THREADS = """
    import random, sys, threading
    from plugmem_core import ClosedFactError, Memory, MemoryConfig, NotFoundError

    memory = Memory.open(sys.argv[1], config=MemoryConfig(durability="normal"))
    memory.remember_many(
        {"text": f"start {n}", "entity": f"e{n % 5}", "metadata": {"n": n}} for n in range(50)
    )
    failures, said = [], []

    def work(seed):
        rng = random.Random(seed)
        try:
            for number in range(60):
                step(rng, f"thread {seed} number {number}")
        except BaseException as error:
            failures.append(repr(error))
            raise

    def step(rng, text):
        some = rng.randrange(60)
        match rng.randrange(12):
            case 0 | 1 | 2:
                entity = f"e{rng.randrange(5)}"
                vector = [rng.random() + 0.1 for _ in range(4)]
                receipt = memory.remember(
                    text, entity=entity, tags=[entity], vector=vector, metadata={"n": some}
                )
                said.append((receipt.id, text))
                assert memory.get(receipt.id).text == text
            case 3:
                try:
                    memory.revise(some, tags=["revised"])
                except (ClosedFactError, NotFoundError):
                    pass
            case 4:
                memory.remember_guarded(text, entity="guarded")
            case 5:
                try:
                    memory.forget(rng.randrange(10))
                except NotFoundError:
                    pass
                memory.maintain()
            case 6:
                memory.link(f"e{rng.randrange(5)}", "knows", f"e{rng.randrange(5)}")
            case 7:
                memory.alias_entity("e0", f"other name {text}")
                memory.rename_entity("e1", rng.choice(["e1", "E1"]))
            case 8:
                memory.recall("start thread", where={"n": {"$lt": some}})
                memory.list_facts(where={"n": some})
            case 9:
                memory.stats()
                memory.edges()
                memory.checkpoint()
            case _:
                found = memory.recall(
                    "start number e1", vector=[1.0, 0, 0, 0], entities=["e2"], explain=True
                )
                assert found.facts

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "threads are stuck"
    assert not failures, failures
    for fact, text in said:
        assert memory.get(fact).text == text
    assert memory.verify().ok, memory.verify()
    memory.close()
    with Memory.open(sys.argv[1]) as again:
        assert all(again.get(fact).text == text for fact, text in said)
        assert again.verify().ok
"""


def test_eight_threads_read_and_write_through_one_handle(path: Path) -> None:
    run(THREADS, path)


RENAMING = """
    import sys, threading
    from plugmem_core import Memory, MemoryConfig

    memory = Memory.open(sys.argv[1], config=MemoryConfig(durability="normal"))
    memory.remember("a fact", entity="a", metadata={"n": 1})
    done = threading.Event()

    def rename():
        for number in range(300):
            memory.rename_entity("a", "A" if number % 2 else "a")
        done.set()

    def read():
        while not done.is_set():
            assert memory.recall("fact", where={"n": 1}).facts

    threads = [threading.Thread(target=job, daemon=True) for job in (rename, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert done.is_set() and not any(thread.is_alive() for thread in threads), "threads are stuck"
    memory.close()
"""


def test_entities_are_renamed_while_others_read(path: Path) -> None:
    run(RENAMING, path)


def overtaken(
    monkeypatch: pytest.MonkeyPatch, owner: object, method: str, write: Callable[[], object]
) -> None:
    """Have a write come in between, once, after a method has returned to its caller."""
    original, writes = getattr(owner, method), [write]

    def call(*args: Any) -> Any:
        result = original(*args)
        if writes:
            writes.pop()()
        return result

    monkeypatch.setattr(owner, method, call)


def test_a_fact_revised_meanwhile_is_seen_in_one_of_its_versions(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    memory = open_memory(path)
    memory.remember("version 0", key="k", metadata={"n": 1})
    engine = memory._engine
    versions = iter(range(1, 9))

    def revise() -> None:
        memory.remember(f"version {next(versions)}", key="k", metadata={"n": 1})

    looks: list[tuple[object, str, Callable[[], Sized]]] = [
        (engine, "passing", lambda: memory.recall("version", where={"n": 1}).facts),
        (engine, "passing", lambda: memory.list_facts(where={"n": 1}).facts),
        (engine.store, "by_keys", lambda: memory.list_facts(key="k").facts),
    ]
    for owner, method, look in looks:
        with monkeypatch.context() as patch:
            overtaken(patch, owner, method, revise)
            assert len(look()) == 1


def test_a_fact_purged_meanwhile_makes_way_for_the_next(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    memory = open_memory(path)
    memory.remember_many([{"text": "fact one"}, {"text": "fact two"}])

    def purge() -> None:
        memory.forget(0)
        memory.maintain()

    overtaken(monkeypatch, memory, "_rank", purge)
    assert [fact.id for fact in memory.recall("fact", k=1).facts] == [1]


CLOSING = """
    import sys, threading
    from plugmem_core import ClosedError, Memory

    memory = Memory.open(sys.argv[1])
    memory.remember_many({"text": f"fact {n}", "metadata": {"n": n}} for n in range(500))
    problems = []

    def read():
        try:
            while True:
                memory.recall("fact", where={"n": {"$gt": 3}})
                memory.remember("one more")
                memory.list_facts()
        except ClosedError:
            pass
        except BaseException as error:
            problems.append(repr(error))

    threads = [threading.Thread(target=read, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    threading.Event().wait(float(sys.argv[2]))
    memory.close()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "threads are stuck"
    assert not problems, problems
"""


@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.1])
def test_a_handle_closed_under_its_users_says_so(path: Path, seconds: float) -> None:
    run(CLOSING, path, seconds)


# -- forks

FORK = """
    import os, sys
    from plugmem_core import ClosedError, Memory

    memory = Memory.open(sys.argv[1])
    memory.remember("before", entity="a")
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (
            lambda: memory.recall("before"),
            lambda: memory.get(0),
            lambda: memory.remember("in the child"),
            lambda: memory.stats(),
            lambda: memory.checkpoint(),
            lambda: memory.maintain(),
        ):
            try:
                call()
            except ClosedError as error:
                refused += "parent" in str(error)
        memory.close()
        with Memory.open(sys.argv[1]) as own:
            own.remember("by the child's own handle")
        os._exit(0 if refused == 6 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert memory.recall("own handle").facts[0].id == 1
    memory.remember("after")
    assert memory.verify().ok
    memory.close()
"""


def test_a_handle_that_came_along_in_a_fork_is_closed_to_the_child(path: Path) -> None:
    run(FORK, path)


# -- processes that are killed

VICTIM = """
    import os, sys
    from plugmem_core import Memory, MemoryConfig

    memory = Memory.open(sys.argv[1], config=MemoryConfig(flat_to_hnsw=8))
    number = int(sys.argv[2])

    def say(line):  # whole lines, whatever buffer print has
        os.write(1, line.encode())

    while True:
        vector = [1.0, number % 7, 1.0]
        memory.remember_many([
            {"text": f"left {number}", "entity": "left", "vector": vector, "tags": ["pair"]},
            {"text": f"right {number}", "entity": "right", "links": [("beside", f"n {number}")]},
            {"text": f"version {number}", "key": "latest"},
        ])
        say(f"wrote {number}\\n")
        if number % 4 == 0:
            gone = memory.remember(f"gone {number}").id
            memory.forget(gone)
            say(f"forgot {gone}\\n")
            memory.maintain()
        if number % 6 == 0:
            memory.checkpoint()
        number += 1
"""


def test_killed_writers_lose_nothing_they_had_acknowledged(path: Path) -> None:
    rng = random.Random(11)
    written: set[int] = set()
    forgotten: set[int] = set()
    start = 0
    for _ in range(15):
        process = subprocess.Popen(
            [*program(VICTIM), str(path), str(start)], stdout=subprocess.PIPE, text=True
        )
        first = process.stdout.readline()  # so that the kill hits its work, not its start
        time.sleep(rng.uniform(0, 0.08))
        process.send_signal(signal.SIGKILL)
        # Not `communicate`: it forgets what `readline` has read ahead.
        rest = process.stdout.read()
        process.stdout.close()
        process.wait(timeout=DEADLOCK)
        for verb, number in (line.split() for line in (first + rest).splitlines()):
            (written if verb == "wrote" else forgotten).add(int(number))
        with Memory.open(path) as memory:
            assert memory.verify().ok, memory.verify()
            current = list(facts(memory))
            left = {number_of(fact) for fact in current if fact.text.startswith("left")}
            right = {number_of(fact) for fact in current if fact.text.startswith("right")}
            latest = [number_of(fact) for fact in current if fact.key == "latest"]
            beside = {int(edge.dst.removeprefix("n ")) for edge in memory.edges("right")}
            assert left == right == beside >= written  # more only by the write that was cut off
            assert left - written <= {max(written) + 1}
            assert latest == [max(left)]
            assert not forgotten & {fact.id for fact in current}
            written |= left
            memory.remember(f"after the kill {max(left)}")
        start = max(left) + 1
    assert len(written) > 15


def facts(memory: Memory) -> Iterator[Fact]:
    cursor = None
    while True:
        page = memory.list_facts(limit=1_000, cursor=cursor)
        yield from page
        cursor = page.next_cursor
        if cursor is None:
            return


def number_of(fact: Fact) -> int:
    return int(fact.text.split()[-1])


# -- interrupts

# CPython looks for signals where a function written in Python begins and after one written in C
# has returned, but for the entering of a `with` block. An exception raised by a profiler at these
# places is what Ctrl-C at that moment would be.
INTERRUPTS = """
    import contextlib, os, sys
    import plugmem_core
    from plugmem_core import Memory, MemoryConfig

    ours = (os.path.dirname(plugmem_core.__file__), contextlib.__file__)
    path, verb, stride, first = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    memory = Memory.open(path, config=MemoryConfig(durability="normal", busy_timeout=1.0))
    memory.remember("a fact", entity="Ann", tags=["t"], links=[("knows", "Bob")],
                    vector=[1.0, 0.0], metadata={"n": 1})
    latest = memory.remember("the first", metadata={"n": 1}).id

    def write(number):
        memory.remember(f"new {number}", entity=f"E {number}", tags=[f"tag {number}"],
                        links=[("likes", "Ann")], vector=[1.0, float(number)],
                        metadata={"n": number}, key="chain")

    def rename(number):
        memory.rename_entity("Ann", "ann" if number % 2 else "Ann")

    def forget(number):
        memory.forget(latest)
        memory.maintain()

    def recall(number):
        return memory.recall("a fact", entities=["Ann"], vector=[1.0, 0.0], where={"n": {"$gt": 0}})

    def checkpoint(number):
        memory.checkpoint()

    def interrupted_at(position, call):
        left = position

        def count(frame, event, function):
            nonlocal left
            if event != "call" and (event != "c_return" or function.__name__ == "__enter__"):
                return
            if left >= 0 and frame.f_code.co_filename.startswith(ours):
                left -= 1
                if left < 0:
                    raise KeyboardInterrupt

        sys.setprofile(count)
        try:
            call(position)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        return left < 0

    call = {"write": write, "rename": rename, "forget": forget, "recall": recall,
            "checkpoint": checkpoint}[verb]
    position = first
    before = memory.stats()
    while interrupted_at(position, call):
        print("interrupted at", position, flush=True)
        after = memory.stats()
        gone = verb == "forget" and after.forgotten == 0
        assert after.facts - before.facts in (0, -1 if gone else 1 if verb == "write" else 0), after
        if verb == "write":
            added = after.facts - before.facts
            assert after.vectors - before.vectors == added
            assert after.edge_versions - before.edge_versions == added
        assert recall(position).facts[0].text == "a fact"
        assert memory.verify().ok, memory.verify()
        memory.maintain()
        latest = memory.remember(f"checked {position}", metadata={"n": 1}).id
        assert memory.get(latest).text == f"checked {position}"
        assert memory.recall(f"checked {position}").facts[0].id == latest
        before = memory.stats()
        position += stride
    assert position > first + 10 * stride
    memory.close()
    with Memory.open(path) as again:
        assert again.verify().ok
"""


@pytest.mark.parametrize("verb", ["write", "rename", "forget", "recall", "checkpoint"])
def test_an_interrupt_anywhere_leaves_the_old_state_or_the_new_one(path: Path, verb: str) -> None:
    run(INTERRUPTS, path, verb, 1, 0)
