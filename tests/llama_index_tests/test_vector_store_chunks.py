"""Chunks of a document that is cut again take the place of those that say the same."""

import pytest
from clocks import DAY, Clock
from llama_index.core.schema import IndexNode, NodeRelationship, RelatedNodeInfo, TextNode
from vector_nodes import EAST, ids, listed, near, note, worded

from llama_index_plugmem import PlugmemVectorStore
from plugmem_core import Memory


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


def chunk(
    id_: str, text: str, version: str = "v1", at: int | None = 0, document: str = "d"
) -> TextNode:
    node = note(id_, text, EAST)
    node.start_char_idx = at
    source = RelatedNodeInfo(node_id=document, hash=version)
    node.relationships[NodeRelationship.SOURCE] = source
    return node


def test_a_chunk_takes_the_place_of_one_that_says_the_same(
    store: PlugmemVectorStore, clock: Clock
) -> None:
    store.add([chunk("a", "one"), chunk("b", "two", at=4)])
    earlier = clock.now
    clock.tick(DAY)
    assert store.add([chunk("x", "one"), chunk("y", "two", at=4)]) == ["x", "y"]
    assert listed(store) == ["x", "y"]
    assert ids(store, worded("one two"), as_of=earlier) == ["a", "b"]


@pytest.mark.parametrize(
    "other",
    [
        chunk("x", "two"),
        chunk("x", "one", at=7),
        chunk("x", "one", document="e"),
        note("x", "one", EAST, "d"),
        note("x", "one", EAST),
        IndexNode.from_text_node(chunk("x", "one"), index_id="i"),
    ],
)
def test_any_other_chunk_leaves_the_stored_ones_alone(
    store: PlugmemVectorStore, other: TextNode
) -> None:
    store.add([chunk("a", "one")])
    store.add([other])
    assert listed(store) == ["a", "x"]


def test_a_chunk_that_comes_with_its_id_changes_nothing(
    store: PlugmemVectorStore, memory: Memory
) -> None:
    for _ in range(2):
        store.add([chunk("a", "one"), chunk("b", "two", at=4)])
    assert len(memory.list_facts(closed=True)) == 2


def test_equal_chunks_of_one_batch_are_all_kept(store: PlugmemVectorStore) -> None:
    store.add([chunk("a", "----", at=None), chunk("b", "----", at=None)])
    assert listed(store) == ["a", "b"]


def test_a_new_version_of_a_document_ends_its_others(
    store: PlugmemVectorStore, clock: Clock
) -> None:
    store.add([chunk("a", "one"), chunk("b", "two", at=4), chunk("e", "else", document="e")])
    store.add([note("hand", "by hand", EAST, "d")])
    earlier = clock.now
    clock.tick(DAY)
    store.add([chunk("x", "one", "v2")])
    store.add([chunk("y", "three", "v2", at=4)])  # more of the same version
    assert listed(store) == ["e", "hand", "x", "y"]
    assert sorted(ids(store, near(EAST))) == ["e", "hand", "x", "y"]
    assert sorted(ids(store, near(EAST), as_of=earlier)) == ["a", "b", "e", "hand"]


def test_versions_of_a_document_stay_side_by_side_when_asked_to(memory: Memory) -> None:
    store = PlugmemVectorStore(memory, replace_documents=False)
    store.add([chunk("a", "one")])
    store.add([chunk("x", "one", version="v2")])
    assert listed(store) == ["a", "x"]


def test_other_namespaces_keep_their_chunks(memory: Memory) -> None:
    above = PlugmemVectorStore(memory)
    below = PlugmemVectorStore(memory, namespace=("a",))
    above.add([chunk("a", "one")])
    below.add([chunk("x", "one")])
    above.add([chunk("b", "one")])
    below.add([chunk("y", "two", "v2")])
    assert (listed(above), listed(below)) == (["b"], ["y"])
