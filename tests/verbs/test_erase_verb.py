"""`erase`: rows, and the bytes they stood in, in the file, its log and the checkpoint."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clocks import Clock
from conftest import OpenMemory

from plugmem_core import (
    BusyError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    Namespace,
    NotFoundError,
    ReadOnlyError,
)

# Words that stand nowhere else, each in another place of the file.
SECRETS = {
    "text": "zanzibarisch",
    "old text": "quokkafarbe",
    "entity": "Wolperdinger",
    "alias": "Rasselbock",
    "tag": "geheimfach",
    "metadata key": "krummsaebel",
    "metadata value": "fliederduft",
    "key": "schluesselbart",
    "relation": "verschwaegert",
    "target": "Nachtkrapp",
    "property": "mondkalb",
    "label": "kellerloch",
    "value": "zwetschgenmus",
    "collection": "sammelsurium",
}
SCOPE: Namespace = ("users", SECRETS["label"])


def keep_secrets(memory: Memory) -> int:
    """Write every secret into one namespace; returns the id of the newest fact."""
    told: dict[str, Any] = {
        "entity": SECRETS["entity"],
        "tags": [SECRETS["tag"]],
        "metadata": {SECRETS["metadata key"]: SECRETS["metadata value"]},
        "key": SECRETS["key"],
        "namespace": SCOPE,
        "links": [(SECRETS["relation"], SECRETS["target"])],
    }
    memory.remember(f"the {SECRETS['old text']} once", **told)
    memory.remember(f"the {SECRETS['text']} now", **told)
    memory.alias_entity(SECRETS["entity"], SECRETS["alias"], namespace=SCOPE)
    memory.link(
        SECRETS["entity"],
        SECRETS["relation"],
        SECRETS["target"],
        properties={"p": SECRETS["property"]},
        namespace=SCOPE,
    )
    memory.put_values(SECRETS["collection"], {"v": SECRETS["value"]}, namespace=SCOPE)
    return memory.list_facts(namespace=SCOPE).facts[0].id


def leaks(path: Path) -> set[str]:
    """Return which secrets stand in any file of a memory, in whatever case."""
    data = b"".join(
        file.read_bytes().lower() for file in path.parent.iterdir() if path.name in file.name
    )
    return {name for name, secret in SECRETS.items() if secret.lower().encode() in data}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m"


def fill(memory: Memory) -> None:
    memory.remember_many(
        {"text": f"note {number}", "entity": f"person {number % 7}", "tags": ["note"]}
        for number in range(200)
    )


def test_secrets_stand_in_the_file_before_they_are_erased(path: Path) -> None:
    with Memory.open(path) as memory:
        keep_secrets(memory)
    assert leaks(path) == set(SECRETS)


def erase_a_namespace(memory: Memory) -> Any:
    return memory.erase(namespace=SCOPE)


def erase_an_entity(memory: Memory) -> Any:
    return memory.erase(entity=SECRETS["alias"], namespace=SCOPE)


def erase_a_key(memory: Memory) -> Any:
    return memory.erase(key=SECRETS["key"], namespace=SCOPE)


def erase_an_id(memory: Memory) -> Any:
    [fact] = memory.list_facts(namespace=SCOPE).facts
    return memory.erase([fact.id])


VALUES = {"value", "collection", "label"}  # those are no facts, and keep their namespace
LINKED = {"relation", "target", "property", "entity", "alias"}  # an edge by hand holds them


@pytest.mark.parametrize(
    ("erase", "stays"),
    [
        (erase_a_namespace, set()),
        (erase_an_entity, VALUES),
        (erase_a_key, VALUES | LINKED),
        (erase_an_id, VALUES | LINKED),
    ],
)
@pytest.mark.parametrize("others", [False, True])
def test_no_byte_stays_of_what_is_erased(
    path: Path, erase: Callable[[Memory], Any], stays: set[str], others: bool
) -> None:
    with Memory.open(path) as memory:
        if others:
            fill(memory)
        keep_secrets(memory)
        memory.checkpoint()
        erase(memory)
        assert leaks(path) == stays
        assert memory.verify().ok
        if others:
            assert len(memory.recall("note", k=300, token_budget=None).facts) == 200
    assert leaks(path) == stays
    with Memory.open(path) as memory:
        assert memory.verify().ok
        memory.remember("after", entity=SECRETS["target"])
    assert leaks(path) == stays | {"target"}


def test_an_erasure_that_is_cut_off_after_its_commit_leaves_nothing_in_the_index(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with Memory.open(path) as memory:
        fill(memory)
        keep_secrets(memory)
        monkeypatch.setattr(memory._engine, "scrub", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memory.erase(namespace=SCOPE)
        assert memory.recall(SECRETS["text"], anchors="given").facts == ()
        assert memory.recall(entities=[SECRETS["entity"]]).edges == ()
        assert memory.stats().edges == memory.stats().edge_versions
        assert memory.verify().ok
    saved = path.with_name(f"{path.name}-index").read_bytes().lower()
    assert not [secret for secret in SECRETS.values() if secret.lower().encode() in saved]


def test_forgotten_and_expired_versions_are_erased_too(path: Path, clock: Clock) -> None:
    with Memory.open(path, clock=clock) as memory:
        memory.forget(keep_secrets(memory))
        memory.remember(f"{SECRETS['text']} again", key="x", namespace=SCOPE, ttl=1)
        clock.tick(5_000)
        memory.erase(namespace=SCOPE)
    assert leaks(path) == set()


def test_what_others_use_stays(memory: Memory) -> None:
    for scope in [("a",), ("b",)]:
        memory.remember("tea", entity="Ann", tags=["t"], links=[("knows", "Bo")], namespace=scope)
        memory.put_values("c", {"k": 1}, namespace=scope)
    receipt = memory.erase(namespace=("a",))
    assert (receipt.kind, receipt.facts, receipt.entities, receipt.edges, receipt.values) == (
        *("namespace", (0,), 2, 1, 1),
    )
    assert [fact.namespace for fact in memory.recall("tea").facts] == [("b",)]
    assert [edge.namespace for edge in memory.edges()] == [("b",)]
    assert [one.namespace for one in memory.namespaces()] == [("b",)]
    assert memory.get_values("c", namespace=("b",)) == {"k": 1}
    assert memory.verify().ok


def test_an_entity_goes_with_all_about_it_and_nothing_else(memory: Memory) -> None:
    memory.remember("leads the choir", entity="Ann", links=[("leads", "choir")])
    memory.remember("sings", entity="Bo", links=[("knows", "Ann"), ("sings in", "choir")])
    memory.remember("Ann is mentioned here", entity="Cleo")
    receipt = memory.erase(entity="ANN")
    assert (receipt.facts, receipt.entities, receipt.edges) == ((0,), 1, 2)
    assert [fact.text for fact in memory.list_facts()] == ["sings", "Ann is mentioned here"]
    assert [(edge.src, edge.dst) for edge in memory.edges()] == [("Bo", "choir")]
    assert {entity.name for entity in memory.entities()} == {"Bo", "Cleo", "choir"}


def test_a_chain_is_erased_whole_whichever_version_is_named(memory: Memory) -> None:
    first = memory.remember("one").id
    second = memory.revise(first, "two").id
    memory.revise(second, "three")
    memory.remember("other")
    assert memory.erase([second]).facts == (0, 1, 2)
    assert [fact.text for fact in memory.list_facts(closed=True)] == ["other"]
    with pytest.raises(NotFoundError):
        memory.history(first)


def test_a_chain_whose_subject_changed_is_joined_where_a_version_is_erased(memory: Memory) -> None:
    first = memory.remember("one", entity="Ann").id
    second = memory.revise(first, "two", entity="Bo").id
    third = memory.revise(second, "three", entity="Ann").id
    memory.erase(entity="Bo")
    assert [fact.text for fact in memory.history(third)] == ["one", "three"]
    assert memory.verify().ok


def test_ids_are_given_once_even_after_an_erasure(memory: Memory) -> None:
    memory.erase([memory.remember("one").id])
    assert memory.remember("two").id == 1


def test_unknown_things_are_passed_over(memory: Memory) -> None:
    memory.remember("tea", namespace=("a",))
    calls: tuple[dict[str, Any], ...] = (
        {"ids": [7, 99]},
        {"ids": [0], "namespace": ("b",)},
        {"entity": "nobody"},
        {"key": "none"},
        {"namespace": ("never",)},
        {"ids": []},
    )
    for what in calls:
        assert memory.erase(**what).facts == ()
    assert len(memory.list_facts().facts) == 1


def test_vectors_and_their_graph_are_erased(path: Path) -> None:
    config = MemoryConfig(flat_to_hnsw=10)
    with Memory.open(path, embedder=HashingEmbedder(16), config=config) as memory:
        memory.remember_many({"text": f"note {number}"} for number in range(50))
        memory.maintain()
        memory.erase(range(25))
        assert memory.stats().vectors == 25
        found = memory.recall("note 30", sources=["vector"], k=50, token_budget=None)
        assert {fact.id for fact in found.facts} == set(range(25, 50))
        memory.maintain()
        assert memory.verify().ok


@pytest.mark.parametrize("closing", ["before", "after"])
def test_other_handles_drop_what_was_erased(path: Path, closing: str) -> None:
    with Memory.open(path) as other:
        keep_secrets(other)
        assert other.recall(SECRETS["text"], namespace=SCOPE).facts
        with Memory.open(path) as memory:
            memory.erase(namespace=SCOPE)
            if closing == "after":
                assert other.recall(SECRETS["text"]).facts == ()
                assert other.entities().entities == ()
                assert other.edges(history=True) == ()
                other.remember("something new", namespace=("fresh",))
                assert other.verify().ok
    assert leaks(path) == set()


def test_a_handle_that_was_behind_follows_writes_after_the_erasure(path: Path) -> None:
    with Memory.open(path) as other, Memory.open(path) as memory:
        keep_secrets(memory)
        assert other.list_facts().facts
        memory.erase(namespace=SCOPE)
        memory.remember("tea", entity="Ann", namespace=("new",), links=[("likes", "tea")])
        assert [fact.text for fact in other.recall("tea").facts] == ["tea"]
        assert [edge.src for edge in other.edges()] == ["Ann"]
        assert other.verify().ok


def test_a_reader_that_does_not_end_is_a_busy_error_and_the_facts_are_gone(path: Path) -> None:
    import sqlite3

    config = MemoryConfig(busy_timeout=0.05)
    with Memory.open(path, config=config) as memory:
        keep_secrets(memory)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM facts").fetchone()
        with pytest.raises(BusyError, match="erase once more"):
            memory.erase(namespace=SCOPE)
        assert memory.list_facts(closed=True).facts == ()
        reader.close()
        memory.erase(namespace=SCOPE)
        assert leaks(path) == set()


def test_others_write_while_much_is_erased(path: Path) -> None:
    with Memory.open(path) as memory, Memory.open(path) as other:
        fill(memory)

        def write() -> None:
            for number in range(20):
                other.remember(f"meanwhile {number}")

        thread = threading.Thread(target=write)
        thread.start()
        for number in range(5):
            memory.erase(entity=f"person {number}")
        thread.join()
        texts = [fact.text for fact in memory.list_facts(limit=1_000)]
        assert len([text for text in texts if text.startswith("meanwhile")]) == 20
        assert len(texts) == 20 + len([n for n in range(200) if n % 7 >= 5])
        assert memory.verify().ok
        assert other.verify().ok


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, InvalidInputError),
        ({"ids": [1], "key": "k"}, InvalidInputError),
        ({"entity": "a", "key": "k"}, InvalidInputError),
        ({"ids": "12"}, InvalidInputError),
        ({"ids": [-1]}, InvalidInputError),
        ({"entity": "!"}, InvalidInputError),
        ({"key": " "}, InvalidInputError),
        ({"namespace": "users"}, InvalidInputError),
    ],
)
def test_bad_input_is_refused_and_nothing_is_erased(
    memory: Memory, arguments: dict[str, Any], error: type[Exception]
) -> None:
    memory.remember("tea", entity="a", key="k")
    with pytest.raises(error):
        memory.erase(**arguments)
    assert len(memory.list_facts().facts) == 1


def test_it_is_no_part_of_a_transaction(memory: Memory) -> None:
    memory.remember("tea")
    with pytest.raises(InvalidInputError, match="outside"), memory.transaction():
        memory.erase([0])
    assert len(memory.list_facts().facts) == 1


def test_a_reader_cannot_erase(path: Path) -> None:
    Memory.open(path).close()
    with Memory.open(path, read_only=True) as memory, pytest.raises(ReadOnlyError):
        memory.erase([0])


def test_a_memory_without_a_file_erases_as_well(open_memory: OpenMemory) -> None:
    memory = open_memory()
    keep_secrets(memory)
    memory.erase(namespace=SCOPE)
    assert memory.stats().facts == 0
    assert memory.entities().entities == ()
