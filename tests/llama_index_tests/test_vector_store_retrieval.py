"""Retrievers of LlamaIndex over a `PlugmemVectorStore`, in every mode."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import (
    QueryBundle,
    Settings,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import (
    QueryFusionRetriever,
    VectorIndexAutoRetriever,
    VectorIndexRetriever,
)
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    MetadataInfo,
    VectorStoreInfo,
    VectorStoreQueryMode,
)
from vector_indexes import DOCUMENTS, Hashing, index_of, texts

from llama_index_plugmem import (
    PlugmemVectorStore,
)
from plugmem_core import InvalidInputError, Memory


@pytest.fixture(autouse=True)
def settings_stay_unset() -> Iterator[None]:
    """Whatever a test does, nobody asks LlamaIndex for its default models."""
    yield
    assert Settings._llm is None
    assert Settings._embed_model is None


@pytest.fixture
def store(memory: Memory) -> PlugmemVectorStore:
    return PlugmemVectorStore(memory)


@pytest.fixture
def embedding() -> Hashing:
    return Hashing()


MODES = ["default", "mmr", "text_search", "sparse", "hybrid"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_retriever_works_in_every_mode(
    store: PlugmemVectorStore, embedding: Hashing, mode: str
) -> None:
    retriever = index_of(store, embedding).as_retriever(
        similarity_top_k=2, vector_store_query_mode=mode, alpha=0.5
    )
    found = retriever.retrieve("which tea is green?")
    assert found[0].text == DOCUMENTS["tea"]
    assert all(type(one.score) is float for one in found)
    assert await retriever.aretrieve("which tea is green?") == found


@pytest.mark.parametrize("mode", MODES)
async def test_a_retriever_restricts_what_it_finds(
    store: PlugmemVectorStore, embedding: Hashing, mode: str
) -> None:
    index = index_of(store, embedding)
    question = "the barn, the pump, green tea"

    def found(**settings: Any) -> list[str]:
        retriever = VectorIndexRetriever(
            index,
            similarity_top_k=5,
            vector_store_query_mode=VectorStoreQueryMode(mode),
            **settings,
        )
        return sorted(one.metadata["source"] for one in retriever.retrieve(question))

    not_tea = MetadataFilter(key="source", value="tea", operator=FilterOperator.NE)
    [pump] = [node.node_id for node in store.get_nodes() if node.ref_doc_id == "pump"]
    assert found() == ["barn", "pump", "tea"]
    assert found(node_ids=[]) == ["barn", "pump", "tea"]
    assert found(filters=MetadataFilters(filters=[not_tea])) == ["barn", "pump"]
    assert found(doc_ids=["tea", "pump"]) == ["pump", "tea"]
    assert found(doc_ids=["tea", "pump"], filters=MetadataFilters(filters=[not_tea])) == ["pump"]
    assert found(node_ids=[pump], doc_ids=["tea", "pump"]) == ["pump"]
    assert found(vector_store_kwargs={"where": {"source": "barn"}}) == ["barn"]


@pytest.mark.parametrize("mode", ["text_search", "sparse"])
def test_searching_by_words_embeds_nothing(store: PlugmemVectorStore, mode: str) -> None:
    class Refusing(Hashing):
        def _get_query_embedding(self, query: str) -> list[float]:
            raise AssertionError

    index = index_of(store, Refusing())
    retriever = index.as_retriever(vector_store_query_mode=mode)
    assert texts(retriever.retrieve("green tea")) == [DOCUMENTS["tea"]]


def test_the_threshold_of_mmr_arrives(store: PlugmemVectorStore, embedding: Hashing) -> None:
    index = index_of(store, embedding, [])
    index.insert_nodes(
        [TextNode(text=one) for one in ("green tea", "green tea now", "red barn and green door")]
    )

    def found(threshold: float) -> list[str]:
        retriever = index.as_retriever(
            similarity_top_k=2,
            vector_store_query_mode="mmr",
            vector_store_kwargs={"mmr_threshold": threshold},
        )
        return texts(retriever.retrieve("green tea"))

    assert found(1.0) == ["green tea", "green tea now"]
    assert found(0.2) == ["green tea", "red barn and green door"]


@pytest.mark.parametrize("mode", ["svm", "semantic_hybrid"])
def test_a_mode_that_is_not_supported_is_refused(
    store: PlugmemVectorStore, embedding: Hashing, mode: str
) -> None:
    retriever = index_of(store, embedding).as_retriever(vector_store_query_mode=mode)
    with pytest.raises(InvalidInputError, match=mode):
        retriever.retrieve("tea")


def test_an_earlier_state_can_be_asked(
    store: PlugmemVectorStore, embedding: Hashing, clock: Any
) -> None:
    index = index_of(store, embedding, [])
    index.insert_nodes([TextNode(id_="a", text="stand-up is at nine")])
    earlier = clock.now
    clock.tick(1000)
    index.insert_nodes([TextNode(id_="a", text="stand-up is at ten")])
    [found] = index.as_retriever(vector_store_kwargs={"as_of": earlier}).retrieve("stand-up")
    assert found.text == "stand-up is at nine"
    [found] = index.as_retriever().retrieve("stand-up")
    assert found.text == "stand-up is at ten"


@pytest.mark.parametrize("use_async", [True, False])
def test_fusion_of_words_and_vectors_adds_up_the_scores_of_one_node(
    store: PlugmemVectorStore, embedding: Hashing, use_async: bool
) -> None:
    index = index_of(store, embedding)
    retrievers = [
        index.as_retriever(similarity_top_k=1, vector_store_query_mode=mode)
        for mode in ("default", "text_search")
    ]
    fusion = QueryFusionRetriever(
        retrievers,
        llm=MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=5,
        use_async=use_async,
    )
    [found] = fusion.retrieve("green tea")
    assert found.text == DOCUMENTS["tea"]
    assert found.score == pytest.approx(2 / 60)  # LlamaIndex counts places from 0


def test_nodes_of_one_text_are_not_lost_in_fusion(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    index = index_of(store, embedding, [])
    index.insert_nodes([TextNode(text="green tea", metadata={"page": page}) for page in (1, 2)])
    retriever = index.as_retriever(similarity_top_k=5)
    fusion = QueryFusionRetriever(
        [retriever, retriever],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=5,
        use_async=False,
    )
    assert sorted(one.metadata["page"] for one in fusion.retrieve("tea")) == [1, 2]


def test_a_query_engine_answers_from_the_store(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    retriever = index_of(store, embedding).as_retriever(similarity_top_k=1)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert DOCUMENTS["barn"] in str(engine.query("what colour is the barn?"))


class Scripted(CustomLLM):
    """Answers whatever it is asked with one text."""

    answer: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, *_: Any, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.answer)

    def stream_complete(self, prompt: str, *_: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"query": "house", "filters": [{"key": "source", "value": "barn"}]}, ["barn"]),
        (
            {
                "query": "",
                "filters": [{"key": "source", "value": ["pump", "tea"], "operator": "in"}],
            },
            ["pump", "tea"],
        ),
        (
            {
                "query": "",
                "filters": [{"key": "source", "value": "a", "operator": "text_match"}],
                "top_k": 1,
            },
            ["tea"],
        ),
    ],
)
def test_filters_that_a_model_writes_are_understood(
    store: PlugmemVectorStore, embedding: Hashing, spec: dict[str, Any], found: list[str]
) -> None:
    info = MetadataInfo(name="source", type="str", description="what it is about")
    retriever = VectorIndexAutoRetriever(
        index_of(store, embedding),
        vector_store_info=VectorStoreInfo(content_info="notes", metadata_info=[info]),
        llm=Scripted(answer=json.dumps(spec)),
        callback_manager=CallbackManager(),
    )
    assert sorted(one.metadata["source"] for one in retriever.retrieve("x")) == found


def test_an_embedding_of_a_bundle_is_used_as_it_is(
    store: PlugmemVectorStore, embedding: Hashing
) -> None:
    retriever = index_of(store, embedding).as_retriever(similarity_top_k=1)
    vector = embedding.get_query_embedding("the pump in the shed")
    [found] = retriever.retrieve(QueryBundle("green tea", embedding=vector))
    assert found.text == DOCUMENTS["pump"]
