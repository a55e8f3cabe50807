"""Nodes as facts and back: the same class, text, metadata, hash and relationships."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

from llama_index_plugmem import NodeMapping, PlugmemRetriever
from llama_index_plugmem._mapping import REF_DOC, store_nodes, to_node
from plugmem_core import InvalidInputError, Memory, TooLargeError, WrongTypeError


def through(memory: Memory, node: BaseNode) -> BaseNode:
    store_nodes(memory, [node], NodeMapping(), ())
    [fact] = memory.get_by_keys([node.node_id])
    return to_node(fact)


PARENT = RelatedNodeInfo(node_id="handbook", metadata={"pages": 7}, hash="abc")

NODES = [
    TextNode(id_="a", text="Tea is at four"),
    TextNode(id_="a", text=" \n"),
    TextNode(
        id_="a",
        text="Tea is at four",
        metadata={"page": 3, "author": "Ines", "nested": {"z": 1, "a": [True, None, 1.5]}},
        excluded_embed_metadata_keys=["page"],
        excluded_llm_metadata_keys=["author"],
        metadata_template="{key} = {value}",
        metadata_separator=" | ",
        text_template="{content} -- {metadata_str}",
        start_char_idx=10,
        end_char_idx=24,
        mimetype="text/markdown",
        relationships={
            NodeRelationship.SOURCE: PARENT,
            NodeRelationship.NEXT: RelatedNodeInfo(node_id="b"),
            NodeRelationship.CHILD: [RelatedNodeInfo(node_id="c"), RelatedNodeInfo(node_id="d")],
        },
    ),
    Document(id_="a", text="Tea is at four", metadata={"b": 1, "a": 2}),
    Document(id_="a", text=""),
    ImageNode(id_="a", image_url="https://example.org/tea.png"),
    ImageNode(id_="a", text="a cup", image_path="tea.png", metadata={"size": 2}),
    IndexNode(id_="a", text="about tea", index_id="tea"),
    IndexNode(id_="a", text="about tea", index_id="tea", obj=TextNode(id_="b", text="inner")),
    Node(id_="a", text_resource=MediaResource(text="tea"), extra_info={"a": 1}),
    Node(id_="a", image_resource=MediaResource(url="https://example.org/tea.png")),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: type(node).__name__)
def test_a_node_comes_back_as_it_was(memory: Memory, node: BaseNode) -> None:
    back = through(memory, node)
    assert type(back) is type(node)
    assert back == node
    assert back.hash == node.hash
    assert back.ref_doc_id == node.ref_doc_id
    assert list(back.metadata) == list(node.metadata)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
        st.recursive(
            st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc", max_size=3),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz"), inner),
            max_leaves=6,
        ),
        max_size=5,
    )
)
def test_any_metadata_keeps_its_order_and_with_it_the_hash(metadata: dict[str, Any]) -> None:
    with Memory.open(":memory:") as memory:
        node = TextNode(id_="a", text="tea", metadata=metadata)
        back = through(memory, node)
        assert json.dumps(back.metadata) == json.dumps(metadata)
        assert back.hash == node.hash


@pytest.mark.parametrize("text", ["tea", " tea at four \n", "", " ", "PK\0\3", "caf\udce9", "a: 1"])
@pytest.mark.parametrize("mode", list(MetadataMode))
def test_a_text_comes_back_whatever_metadata_is_stored_with_it(
    memory: Memory, text: str, mode: MetadataMode
) -> None:
    metadata = {"title": "Kubernetes handbook", "a": 1}
    node = TextNode(id_="n", text=text, metadata=metadata, excluded_embed_metadata_keys=["a"])
    store_nodes(memory, [node], NodeMapping(), (), mode=mode)
    [fact] = memory.get_by_keys(["n"])
    assert to_node(fact) == node
    assert to_node(fact).hash == node.hash
    assert ("Kubernetes" in fact.text) == (mode != MetadataMode.NONE)


@pytest.mark.parametrize("text", ["tea", " tea at four \n", "", "PK\0\3", "a: 1"])
def test_a_documents_text_comes_back_whatever_metadata_is_stored_with_it(
    memory: Memory, text: str
) -> None:
    node = Document(id_="d", text=text, metadata={"title": "Kubernetes handbook"})
    store_nodes(memory, [node], NodeMapping(), (), mode=MetadataMode.EMBED)
    [fact] = memory.get_by_keys(["d"])
    assert to_node(fact) == node
    assert to_node(fact).hash == node.hash


def test_an_embedding_becomes_the_vector(memory: Memory) -> None:
    back = through(memory, TextNode(id_="a", text="tea", embedding=[0.0, 1.0]))
    assert back.embedding is None
    [vector] = memory.vectors([0])
    assert vector is not None
    assert vector.tolist() == [0.0, 1.0]


def test_a_node_without_text_does_not_wait_for_a_vector(memory: Memory) -> None:
    through(memory, ImageNode(id_="a", image_url="https://example.org/tea.png"))
    assert memory.stats().pending == 0


def test_facts_of_a_document_are_found_by_its_id(memory: Memory) -> None:
    through(memory, TextNode(id_="a", text="tea", relationships={NodeRelationship.SOURCE: PARENT}))
    assert [fact.key for fact in memory.list_facts(where={REF_DOC: "handbook"})] == ["a"]


def test_metadata_that_says_more_becomes_fields_of_the_fact(memory: Memory) -> None:
    metadata = {
        "fact_entity": "Ines",
        "fact_tags": ["office"],
        "fact_links": [["keeps", "library key"]],
        "fact_valid_from": "2024-01-08",
    }
    node = TextNode(id_="a", text="Ines keeps the key", metadata=metadata)
    back = through(memory, node)
    [fact] = memory.get_by_keys(["a"])
    assert (fact.entity, fact.tags) == ("Ines", ("office",))
    assert fact.valid_from_time == datetime(2024, 1, 8, tzinfo=UTC)
    assert [(edge.relation, edge.dst) for edge in memory.edges()] == [("keeps", "library key")]
    assert back.metadata == metadata


def test_the_keys_that_say_more_can_be_called_otherwise_or_switched_off(memory: Memory) -> None:
    node = TextNode(id_="a", text="tea", metadata={"who": "Ines", "fact_tags": ["x"]})
    store_nodes(memory, [node], NodeMapping(entity="who", tags=None), ())
    [fact] = memory.get_by_keys(["a"])
    assert (fact.entity, fact.tags) == ("Ines", ())


def test_links_end_when_the_node_that_brought_them_is_replaced(memory: Memory) -> None:
    metadata = {"fact_entity": "Ines", "fact_links": [["keeps", "key"]]}
    through(memory, TextNode(id_="a", text="Ines keeps the key", metadata=metadata))
    through(memory, TextNode(id_="a", text="Ines left"))
    assert memory.edges() == ()


def test_a_retriever_returns_the_very_node_that_was_stored(memory: Memory) -> None:
    node = NODES[2]
    through(memory, node)
    [found] = PlugmemRetriever(memory).retrieve("tea")
    assert found.node == node
    assert found.node.hash == node.hash


def test_fields_that_were_asked_for_join_the_metadata_after_the_nodes_own(memory: Memory) -> None:
    through(memory, TextNode(id_="a", text="tea", metadata={"b": 1, "a": 2}))
    [found] = PlugmemRetriever(memory, include=["key"]).retrieve("tea")
    assert list(found.metadata.items()) == [("b", 1), ("a", 2), ("fact_key", "a")]


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"when": datetime(2024, 1, 8, tzinfo=UTC)}, WrongTypeError, "dates as ISO-8601 text"),
        ({"_plugmem_node": {}}, InvalidInputError, "reserved"),
        ({"fact_entity": ""}, InvalidInputError, "metadata 'fact_entity'"),
        ({"big": "x" * 70_000}, TooLargeError, "over the limit of 65536"),
    ],
)
def test_an_error_names_the_node_and_nothing_is_stored(
    memory: Memory, metadata: dict[str, Any], error: type[Exception], message: str
) -> None:
    nodes = [TextNode(id_="good", text="tea"), TextNode(id_="bad", text="tea", metadata=metadata)]
    with pytest.raises(error, match="node 'bad'") as raised:
        store_nodes(memory, nodes, NodeMapping(), ())
    assert message in str(raised.value)
    assert memory.stats().facts == 0


def test_a_node_that_is_too_long_is_refused_with_the_remedy(memory: Memory) -> None:
    with pytest.raises(TooLargeError, match="SentenceSplitter"):
        store_nodes(memory, [TextNode(id_="a", text="x" * 70_000)], NodeMapping(), ())
