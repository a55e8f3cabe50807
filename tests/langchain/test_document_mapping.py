"""Documents and facts: what the metadata says, and that it comes back equal."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from clocks import DAY, Clock
from conftest import OpenMemory
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from pydantic import ValidationError

from langchain_plugmem import DocumentMapping, PlugmemVectorStore
from plugmem_core import InvalidInputError, Memory, MemoryConfig, TooLargeError, WrongTypeError
from plugmem_core.model import RESERVED

SAID: dict[str, Any] = {
    "fact_entity": "Mara",
    "fact_tags": ["taste", "tea"],
    "fact_links": [["works with", "Ivo"], ["lives in", "Bern"]],
    "fact_valid_from": "2024-01-08",
    "source": "chat",
}


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


def facts_of(memory: Memory) -> list[Any]:
    return list(memory.list_facts())


def test_the_default_keys_say_what_the_table_says(store: PlugmemVectorStore) -> None:
    store.add_documents([Document("Mara prefers green tea", id="x", metadata=SAID)])
    [fact] = facts_of(store.memory)
    assert (fact.text, fact.key) == ("Mara prefers green tea", "x")
    assert (fact.entity, fact.tags) == ("Mara", ("taste", "tea"))
    assert fact.valid_from_time == datetime(2024, 1, 8, tzinfo=UTC)
    assert fact.metadata == SAID


async def test_the_document_comes_back_as_it_was(store: PlugmemVectorStore) -> None:
    document = Document("Mara prefers green tea", id="x", metadata=copy.deepcopy(SAID))
    await store.aadd_documents([document])
    for found in (
        store.get_by_ids(["x"]),
        store.similarity_search("tea"),
        await store.asimilarity_search("tea"),
        store.max_marginal_relevance_search("tea"),
    ):
        assert found == [Document("Mara prefers green tea", id="x", metadata=SAID)]


def test_entity_and_links_lead_a_recall_along_the_graph(store: PlugmemVectorStore) -> None:
    store.add_documents(
        [
            Document("A meeting on Monday", id="monday", metadata=SAID),
            Document("The ferry is late", id="ferry", metadata={"fact_entity": "Ivo"}),
            Document("The barn is red", id="barn"),
        ]
    )
    found = store.similarity_search("What does Mara do?")
    assert {document.id for document in found} == {"monday", "ferry"}
    assert [d.id for d in store.similarity_search("", entities=["Ivo"], graph_depth=0)] == ["ferry"]
    edges = store.memory.recall(entities=["Mara"]).edges
    assert {(edge.src, edge.relation, edge.dst) for edge in edges} == {
        ("Mara", "works with", "Ivo"),
        ("Mara", "lives in", "Bern"),
    }


def test_tags_choose_documents(store: PlugmemVectorStore) -> None:
    store.add_documents([Document("green tea", id="x", metadata=SAID), Document("tea", id="y")])
    assert [d.id for d in store.similarity_search("tea", tags=["taste"])] == ["x"]
    assert [d.id for d in store.similarity_search("tea", not_tags=["taste"])] == ["y"]


@pytest.mark.parametrize("instant", ["2024-01-08", "2024-01-08T00:00:00+00:00", 1_704_672_000_000])
def test_valid_from_takes_effect_in_recall(store: PlugmemVectorStore, instant: Any) -> None:
    store.add_documents([Document("green tea", id="x", metadata={"fact_valid_from": instant})])
    assert store.similarity_search("tea", valid_at="2024-01-07T23:59:59Z") == []
    assert [d.id for d in store.similarity_search("tea", valid_at="2024-01-08")] == ["x"]
    assert [d.id for d in store.similarity_search("tea")] == ["x"]


def test_a_later_version_takes_over_when_it_becomes_true(store: PlugmemVectorStore) -> None:
    for day, text in (("2024-01-08", "tea at nine"), ("2024-03-01", "tea at ten")):
        store.add_documents([Document(text, id="x", metadata={"fact_valid_from": day})])
    assert [d.page_content for d in store.similarity_search("tea")] == ["tea at ten"]
    february = store.similarity_search("tea", valid_at="2024-02-01")
    assert [d.page_content for d in february] == ["tea at nine"]


def test_what_a_new_version_does_not_say_is_gone(store: PlugmemVectorStore, clock: Clock) -> None:
    store.add_documents([Document("green tea", id="x", metadata=SAID)])
    clock.tick(DAY)
    store.add_documents([Document("green tea", id="x")])
    [fact] = facts_of(store.memory)
    assert (fact.entity, fact.tags, fact.metadata) == (None, (), {})
    assert store.similarity_search("tea", tags=["taste"]) == []


def test_keys_can_be_called_otherwise(memory: Memory) -> None:
    mapping = DocumentMapping(
        entity="speaker", tags="topics", links="relations", valid_from="published"
    )
    metadata = {
        "speaker": "Ines",
        "topics": ["office"],
        "relations": [["works with", "Ivo"]],
        "published": 1_704_672_000_000,
        "fact_entity": "not this one",
        "fact_tags": 5,
    }
    store = PlugmemVectorStore(memory, mapping=mapping)
    store.add_documents([Document("We move on Monday", id="x", metadata=metadata)])
    [fact] = facts_of(memory)
    assert (fact.entity, fact.tags, fact.valid_from) == ("Ines", ("office",), 1_704_672_000_000)
    assert store.get_by_ids(["x"])[0].metadata == metadata


def test_none_switches_a_key_off(memory: Memory) -> None:
    mapping = DocumentMapping(entity=None, tags=None, links=None, valid_from=None)
    store = PlugmemVectorStore(memory, mapping=mapping)
    odd = {"fact_entity": 5, "fact_tags": "x", "fact_links": {}, "fact_valid_from": "soon"}
    store.add_documents([Document("tea", id="x", metadata=odd)])
    [fact] = facts_of(memory)
    assert (fact.entity, fact.tags) == (None, ())
    assert store.get_by_ids(["x"])[0].metadata == odd


def test_a_value_of_none_says_nothing_and_comes_back(store: PlugmemVectorStore) -> None:
    metadata = dict.fromkeys(SAID)
    store.add_documents([Document("tea", id="x", metadata=metadata)])
    [fact] = facts_of(store.memory)
    assert (fact.entity, fact.tags) == (None, ())
    assert store.get_by_ids(["x"])[0].metadata == metadata


def test_metadata_cannot_reach_other_arguments(store: PlugmemVectorStore) -> None:
    metadata = {"namespace": ["elsewhere"], "key": "other", "vector": [1.0], "ttl": 1, "text": "!"}
    store.add_documents([Document("tea", id="x", metadata=metadata)])
    [fact] = facts_of(store.memory)
    assert (fact.text, fact.key, fact.namespace, fact.expires_at) == ("tea", "x", (), None)
    assert fact.metadata == metadata


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"fact_entity": 5}, "entity is 5"),
        ({"fact_entity": "  "}, "entity"),
        ({"fact_tags": "taste"}, "tags is 'taste'"),
        ({"fact_tags": [5]}, r"tags\[0\]"),
        ({"fact_tags": {"a": 1}}, "tags is"),
        ({"fact_tags": 5}, "tags is 5"),
        ({"fact_links": [["alone"]], "fact_entity": "Mara"}, r"links\[0\]"),
        ({"fact_links": "works with Ivo", "fact_entity": "Mara"}, "links is"),
        ({"fact_links": [["works with", "Ivo"]]}, "entity"),
        ({"fact_valid_from": "yesterday"}, "valid_from is 'yesterday'"),
        ({"fact_valid_from": True}, "valid_from is True"),
        ({"fact_valid_from": 1.5}, r"valid_from is 1\.5"),
        ({"fact_valid_from": [1]}, "valid_from is"),
        ({"at": datetime(2024, 1, 1, tzinfo=UTC)}, "metadata.'at' is .*datetime"),
        ({"deep": [{"at": {1, 2}}]}, "metadata.'deep'.*set"),
        ({"n": float("nan")}, "nan"),
        ({"n": float("inf")}, "inf"),
        ({1: 2}, "a key of metadata is 1"),
        ({"t": b"bytes"}, "bytes"),
        ({"t": "\ud800"}, "surrogate"),
        ({"t": "a\0b"}, "NUL"),
    ],
    ids=str,
)
@pytest.mark.parametrize("document_id", ["wrong", None])
async def test_a_value_of_a_wrong_type_is_named_with_its_document(
    store: PlugmemVectorStore, metadata: dict[Any, Any], message: str, document_id: str | None
) -> None:
    name = "document 1" if document_id is None else f"document '{document_id}'"
    documents = [Document("fine", id="fine"), Document("tea", id=document_id, metadata=metadata)]
    with pytest.raises(InvalidInputError, match=f"^{name}.*: .*{message}"):
        store.add_documents(documents)
    with pytest.raises(InvalidInputError, match=f"^{name}.*: .*{message}"):
        await store.aadd_documents(documents)
    assert store.memory.stats().facts == 0


def test_metadata_that_is_too_large_is_named_and_not_blamed_on_the_text(
    open_memory: OpenMemory,
) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(max_metadata=50)))
    large = Document("tea", id="x", metadata={"page": "a" * 100})
    with pytest.raises(TooLargeError, match=r"^document 'x': metadata") as caught:
        store.add_documents([large])
    assert "Splitter" not in str(caught.value)


def test_a_long_text_of_a_document_without_an_id_is_named_by_its_place(
    open_memory: OpenMemory,
) -> None:
    store = PlugmemVectorStore(open_memory(config=MemoryConfig(max_text=50)))
    with pytest.raises(TooLargeError, match=r"^document 1: text .*RecursiveCharacterTextSplitter"):
        store.add_documents([Document("tea"), Document("tea " * 50)])


@pytest.mark.parametrize(
    "wrong", [{"speaker": "entity"}, {"entity": 5}, {"tags": ["topics"]}, {"valid_from": True}]
)
def test_a_mapping_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DocumentMapping(**wrong)


def test_a_mapping_cannot_change_under_a_store() -> None:
    mapping = DocumentMapping()
    with pytest.raises(ValidationError):
        mapping.entity = "speaker"


@pytest.mark.parametrize("mapping", [{"entity": "speaker"}, "speaker", DocumentMapping, 1])
def test_only_a_mapping_is_a_mapping(memory: Memory, mapping: Any) -> None:
    with pytest.raises(WrongTypeError, match="give a DocumentMapping"):
        PlugmemVectorStore(memory, mapping=mapping)


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**2040), 2**2040)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
KEYS = TEXT | st.sampled_from(["a.b", "$and", "$", ".", "", "fact_score", "id", "é", "e\u0301"])
METADATA = st.dictionaries(KEYS, JSON, max_size=5).map(
    lambda metadata: {
        key: value
        for key, value in metadata.items()
        if key not in SAID and not key.startswith(RESERVED)
    }
)


def typed(value: Any) -> Any:
    """Tell apart what Python calls equal: 1, 1.0 and True; 0.0 and -0.0."""
    if isinstance(value, Mapping):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value), repr(value))


@given(st.lists(METADATA, min_size=1, max_size=4))
def test_any_metadata_comes_back_equal(given_metadata: list[dict[str, Any]]) -> None:
    store = PlugmemVectorStore.open(":memory:")
    before = copy.deepcopy(given_metadata)
    ids = store.add_texts(["tea"] * len(given_metadata), given_metadata)
    assert given_metadata == before
    read = [document.metadata for document in store.get_by_ids(ids)]
    assert typed(read) == typed(before)
    found = {document.id: document.metadata for document in store.similarity_search("tea", k=9)}
    assert typed([found[one] for one in ids]) == typed(before)
    store.close()


@given(TEXT.filter(str.strip), TEXT.filter(str.strip))
def test_any_text_and_id_come_back_equal(text: str, document_id: str) -> None:
    with PlugmemVectorStore.open(":memory:") as store:
        assert store.add_documents([Document(text, id=document_id)]) == [document_id]
        assert store.get_by_ids([document_id]) == [Document(text, id=document_id)]
        assert store.delete([document_id])
        assert store.get_by_ids([document_id]) == []
