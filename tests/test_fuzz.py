"""Whatever is put in, the answer is one of the right kind or a typed error.

Few inputs are tried by default, the same each time; `make fuzz` tries many.
"""

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from clocks import DAY, Clock
from hypothesis import example, given, settings
from hypothesis import strategies as st

from plugmem_core import Memory, MemoryConfig, PlugmemError, salvage
from plugmem_core.extraction import OutlineExtractor
from plugmem_core.service import MemoryService

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


def everything(memory: Memory) -> None:
    """Ask for all there is, then write; each may be refused by itself."""
    calls: list[Callable[[], object]] = [
        memory.stats,
        memory.verify,
        lambda: memory.recall("garden tea", entities=["Ann"], explain=True),
        lambda: memory.recall("tea", vector=[1.0, 0.0], namespace=("a",)),
        lambda: memory.recall(where={"year": {"$gte": 1}}, closed=True),
        lambda: list(memory.list_facts(closed=True)),
        lambda: [memory.history(fact.id) for fact in memory.list_facts()],
        lambda: memory.edges("Ann", history=True),
        lambda: memory.get_values("counters"),
        memory.entities,
        memory.tags,
        memory.keys,
        memory.namespaces,
        lambda: memory.export_jsonl(io.BytesIO()),
        lambda: memory.remember("one more", entity="Ann", tags=["new"]),
        lambda: memory.revise(0, "another garden"),
        memory.maintain,
        memory.rebuild,
    ]
    for call in calls:
        with answered_or_refused():
            call()


@dataclass(frozen=True, repr=False)  # which would be a page of bytes in every failure
class Seeds:
    """A memory's file, its checkpoint, its log before it was brought over, and its lines."""

    database: bytes
    checkpoint: bytes
    logged: bytes
    log: bytes
    lines: bytes


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


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Seeds:
    folder = tmp_path_factory.mktemp("seeds")
    clock = Clock()
    memory = Memory.open(folder / "m", clock=clock)
    fill(memory, clock)
    logged, log = (folder / "m").read_bytes(), (folder / "m-wal").read_bytes()
    lines = io.BytesIO()
    memory.export_jsonl(lines)
    memory.close()
    database, checkpoint = (folder / "m").read_bytes(), (folder / "m-index").read_bytes()
    return Seeds(database, checkpoint, logged, log, lines.getvalue())


class Damage(NamedTuple):
    """Bytes written over places that are given as shares of the length, and a cut."""

    writes: list[tuple[float, bytes]]
    keep: float

    def of(self, sound: bytes) -> bytes:
        data = bytearray(sound)
        for share, new in self.writes:
            at = int(share * len(data))
            data[at : at + len(new)] = new[: len(data) - at]
        return bytes(data[: int(self.keep * len(data))])


shares = st.floats(0, 1, exclude_max=True)
damages = st.builds(
    Damage,
    st.lists(st.tuples(shares, st.binary(min_size=1, max_size=64)), min_size=1, max_size=6),
    st.one_of(st.just(1.0), shares),
)


@contextmanager
def folder_with(files: dict[str, bytes]) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        yield folder
    finally:
        shutil.rmtree(folder)


def use(path: Path, **options: Any) -> None:
    with answered_or_refused(), Memory.open(path, **options) as memory:
        everything(memory)


# -- files


@few
@given(st.binary(min_size=2, max_size=600))  # to SQLite a file of one byte is an empty one
def test_random_bytes_as_a_database_are_refused_and_left_alone(data: bytes) -> None:
    with folder_with({"m": data}) as folder:
        for options in ({}, {"read_only": True}):
            with pytest.raises(PlugmemError):
                Memory.open(folder / "m", **options)
        assert (folder / "m").read_bytes() == data


@fewer
@given(damages, st.booleans())
def test_a_damaged_database_answers_or_is_refused(
    seeds: Seeds, damage: Damage, checkpointed: bool
) -> None:
    beside = {"m-index": seeds.checkpoint} if checkpointed else {}
    with folder_with({"m": damage.of(seeds.database), **beside}) as folder:
        use(folder / "m", read_only=True)
        use(folder / "m")


@fewer
@given(damages)
def test_a_damaged_log_answers_or_is_refused(seeds: Seeds, damage: Damage) -> None:
    with folder_with({"m": seeds.logged, "m-wal": damage.of(seeds.log)}) as folder:
        use(folder / "m")


@few
@given(st.one_of(damages, st.binary(max_size=400)))
def test_whatever_stands_in_the_checkpoint_the_memory_is_whole(
    seeds: Seeds, damage: Damage | bytes
) -> None:
    data = damage if isinstance(damage, bytes) else damage.of(seeds.checkpoint)
    with (
        folder_with({"m": seeds.database, "m-index": data}) as folder,
        Memory.open(folder / "m") as memory,
    ):
        assert memory.verify().ok
        assert len(memory.list_facts(closed=True).facts) == 12
        everything(memory)


@fewer
@given(st.one_of(damages, st.binary(max_size=600)))
def test_a_salvage_gives_a_sound_memory_or_is_refused_and_leaves_its_source(
    seeds: Seeds, damage: Damage | bytes
) -> None:
    data = damage if isinstance(damage, bytes) else damage.of(seeds.database)
    with folder_with({"m": data}) as folder:
        with answered_or_refused():
            salvage(folder / "m", folder / "saved")
            with Memory.open(folder / "saved") as saved:
                assert saved.verify().ok
                everything(saved)
        assert (folder / "m").read_bytes() == data


@few
@given(st.one_of(damages, st.binary(max_size=400)))
def test_lines_to_import_are_taken_or_refused(seeds: Seeds, damage: Damage | bytes) -> None:
    data = damage if isinstance(damage, bytes) else damage.of(seeds.lines)
    with Memory.open(":memory:") as memory:
        with answered_or_refused():
            memory.import_jsonl(io.BytesIO(data))
        assert memory.verify().ok


# -- arguments

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


@pytest.fixture(scope="module")
def filled() -> Iterator[Memory]:
    clock = Clock()
    with Memory.open(":memory:", clock=clock, config=MemoryConfig(max_text=1_000)) as memory:
        fill(memory, clock)
        yield memory


@few
@given(st.one_of(nested, st.dictionaries(operators, nested, max_size=3)))
@example({"$not": {"$and": [{"year": {"$in": [2**64, None]}}]}})
def test_filters(filled: Memory, where: Any) -> None:
    with answered_or_refused():
        filled.recall("garden", where=where)
    with answered_or_refused():
        filled.list_facts(where=where)


RECALL = (
    "entities", "tags", "any_tags", "not_tags", "namespace", "k", "token_budget", "as_of", "range",
    "valid_at", "known_at", "sources", "weights", "vector", "min_score", "ef", "anchors", "below",
)  # fmt: skip


@few
@given(st.one_of(anything_written, atoms), st.dictionaries(st.sampled_from(RECALL), nested))
def test_questions(filled: Memory, text: Any, arguments: dict[str, Any]) -> None:
    with answered_or_refused():
        filled.recall(text)
    with answered_or_refused():
        filled.recall("garden", **arguments)
    with answered_or_refused():
        filled.recall(text, **arguments)


FACT = ("entity", "tags", "metadata", "key", "namespace", "valid_from", "ttl", "links", "vector")


@few
@given(st.one_of(anything_written, atoms), st.dictionaries(st.sampled_from(FACT), nested))
def test_facts(filled: Memory, text: Any, arguments: dict[str, Any]) -> None:
    for written in ("garden", text):
        before = filled.stats().facts
        stored = False
        with answered_or_refused():
            receipt = filled.remember(written, **arguments)
            stored = True
            assert receipt.id in [fact.id for fact in filled.history(receipt.id)]
        assert stored or filled.stats().facts == before


@few
@given(nested, nested, nested)
def test_names_and_ids(filled: Memory, one: Any, other: Any, third: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: filled.edges(one, history=True),
        lambda: filled.link(one, other, third),
        lambda: filled.unlink(one, other, third),
        lambda: filled.rename_entity(one, other),
        lambda: filled.alias_entity(one, other),
        lambda: filled.merge_entities(one, other),
        lambda: filled.rename_tag(one, other),
        lambda: filled.remove_tag(one),
        lambda: filled.tags(one),
        lambda: filled.history(one),
        lambda: filled.revise(one, other),
        lambda: filled.forget(one),
        lambda: filled.end(one, other),
        lambda: filled.put_values(one, other),
        lambda: filled.get_values(one),
        lambda: filled.list_facts(cursor=one, namespace=other),
        lambda: filled.explain_absent(one, other),
    ]
    for call in calls:
        with answered_or_refused():
            call()


@few
@given(st.dictionaries(st.sampled_from([*MemoryConfig.model_fields, "no knob"]), nested))
def test_configurations(knobs: dict[str, Any]) -> None:
    with answered_or_refused():
        config = MemoryConfig(**knobs)
        with Memory.open(":memory:", config=config) as memory:
            memory.remember("the garden", entity="Ann", vector=[1.0, 0.0])
            memory.recall("garden", vector=[1.0, 0.0])


@pytest.fixture(scope="module")
def service() -> Iterator[MemoryService]:
    with MemoryService.open(":memory:") as service:
        yield service


@few
@given(st.one_of(nested, st.text().map(lambda end: f"ctx://source/{end}")))
@example("ctx://source/" + "9" * 20)
@example("ctx://source/٣")
def test_handles(service: MemoryService, handle: Any) -> None:
    with answered_or_refused():
        service.retrieve_context_source(handle)
    with answered_or_refused():
        service.purge_sources(handle=handle)


outlines = st.lists(
    st.tuples(
        st.sampled_from(["", "edge: ", "attr: ", "fact: ", "edge:", "attr: a | k | "]),
        st.lists(st.one_of(anything_written, st.sampled_from(["1e999", "{", "NaN", "[" * 2_000])))
        .map(" | ".join),
    ).map("".join)
).map("\n".join)  # fmt: skip


@few
@given(st.one_of(outlines, atoms))
def test_outlines(text: Any) -> None:
    with answered_or_refused():
        OutlineExtractor().extract(text)
