"""What users report of ensembles, BM25 retrievers and time-weighted ones does not happen here."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from clocks import DAY, START, Clock
from conftest import OpenMemory
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.tools import create_retriever_tool

from langchain_plugmem import PlugmemRetriever
from plugmem_core import HashingEmbedder, Memory


class Shortest(BaseDocumentTransformer):
    """Keeps the shortest document."""

    def transform_documents(self, documents: Sequence[Document], **_: Any) -> list[Document]:
        return [min(documents, key=lambda document: len(document.page_content))]


def texts(documents: Any) -> list[str]:
    return [document.page_content for document in documents]


# -- fusing


def test_equal_texts_with_different_ids_stay_two(memory: Memory) -> None:
    memory.remember("the tap drips", key="a", metadata={"floor": 1})
    memory.remember("the tap drips", key="b", metadata={"floor": 2})
    found = PlugmemRetriever(memory=memory).invoke("tap")
    assert {(one.id, one.metadata["floor"]) for one in found} == {("a", 1), ("b", 2)}


@pytest.mark.reference
def test_a_fact_that_a_source_could_find_twice_counts_once(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder(32))
    memory.remember("tap tap tap", entity="Tap", links=[("in", "Kitchen"), ("near", "Kitchen")])
    [found] = PlugmemRetriever(memory=memory, explain=True).invoke("tap kitchen tap")
    evidence = found.metadata["fact_explanation"]["evidence"]
    sources = [one["source"] for one in evidence]
    assert sorted(sources) == ["bm25", "graph", "vector"]
    # Each at rank 1 gives 1 / 61 once.
    assert [one["contribution"] for one in evidence] == pytest.approx([1 / 61] * 3)


def test_weights_of_an_ensemble_are_honoured(open_memory: OpenMemory) -> None:
    memory = open_memory(dim=2)
    memory.remember("apple pie", vector=[0, 1])
    memory.remember("plum tart", vector=[1, 0])
    query = {"vector": [1, 0.1], "weights": {"bm25": 1, "vector": 0.1, "recency": 0}}
    assert memory.recall("apple", **query).facts[0].text == "apple pie"
    query["weights"] = {"bm25": 0.01, "vector": 1, "recency": 0}
    assert memory.recall("apple", **query).facts[0].text == "plum tart"


async def test_it_takes_part_in_an_ensemble_sync_and_async(memory: Memory) -> None:
    memory.remember("the tap drips", key="a", tags=["water"])
    memory.remember("the lamp drips not", key="b", tags=["light"])
    legs = [
        PlugmemRetriever(memory=memory, tags=["water"]),
        PlugmemRetriever(memory=memory, tags=["light"]),
        PlugmemRetriever(memory=memory),
    ]
    ensemble = EnsembleRetriever(retrievers=legs, weights=[0.2, 0.2, 0.6])
    assert {one.id for one in ensemble.invoke("drips")} == {"a", "b"}
    assert await ensemble.ainvoke("drips") == ensemble.invoke("drips")


# -- as part of other retrievers


async def test_many_questions_give_each_document_once(memory: Memory) -> None:
    memory.remember("the tap drips", key="a")
    memory.remember("the lamp hums", key="b")
    model = FakeListChatModel(responses=["which tap drips?\nwhat drips in the kitchen?\nlamp"])
    retriever = MultiQueryRetriever.from_llm(PlugmemRetriever(memory=memory), model)
    for found in (retriever.invoke("tap"), await retriever.ainvoke("tap")):
        assert len(found) == 2
        assert {one.id for one in found} == {"a", "b"}


async def test_a_compressor_takes_its_documents(memory: Memory) -> None:
    memory.remember("the tap drips", key="a")
    memory.remember("the tap in the kitchen drips day and night", key="b")
    retriever = ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(transformers=[Shortest()]),
        base_retriever=PlugmemRetriever(memory=memory),
    )
    assert [one.id for one in retriever.invoke("tap")] == ["a"]
    assert [one.id for one in await retriever.ainvoke("tap")] == ["a"]
    assert [one.id for one in retriever.invoke("kitchen tap", k=1)] == ["b"]


def test_a_tool_sees_what_its_retriever_is_set_to(memory: Memory) -> None:
    memory.remember("the tap drips", namespace=("ann",))
    memory.remember("the tap is new", namespace=("bob",))
    retriever = PlugmemRetriever(memory=memory, namespace=["ann"])
    tool = create_retriever_tool(retriever, "notes", "Notes.")
    assert tool.invoke({"query": "tap"}) == "the tap drips"


# -- words


def test_no_word_in_common_is_no_result(memory: Memory) -> None:
    memory.remember("apple pie")
    memory.remember("banana split")
    retriever = PlugmemRetriever(memory=memory)
    assert texts(retriever.invoke("apple")) == ["apple pie"]
    assert retriever.invoke("zeppelin") == []


def test_a_word_of_every_document_still_finds_them(memory: Memory) -> None:
    memory.remember("apple pie")
    memory.remember("apple tart")
    assert len(PlugmemRetriever(memory=memory).invoke("apple")) == 2


def test_an_empty_memory_answers_with_nothing(memory: Memory) -> None:
    assert PlugmemRetriever(memory=memory).invoke("apple") == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("An apple.", "APPLE"),
        ("(apple)", "apple?"),
        ("the disk failed with ERR-4021", "err-4021"),
        ("the disk failed with err-4021", "What is ERR-4021?"),
        ("Die Straße ist gesperrt", "STRAẞE"),
        ("Žofie žije v Brně", "žofie"),
        ("東京タワーは高い", "東京タワー"),
        ("我喜欢喝绿茶", "绿茶"),
    ],
)
def test_case_punctuation_and_script_do_not_matter(
    memory: Memory, text: str, question: str
) -> None:
    memory.remember(text)
    memory.remember("entirely other words 42")
    assert texts(PlugmemRetriever(memory=memory).invoke(question)) == [text]


def test_another_handle_takes_in_what_was_written_and_no_more(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, reader = (open_memory(tmp_path / "memory.plugmem") for _ in range(2))
    writer.remember_many({"text": f"note {n}"} for n in range(100))
    retriever = PlugmemRetriever(memory=reader, k=200)
    assert len(retriever.invoke("note")) == 100
    taken: list[int] = []
    monkeypatch.setattr(reader._engine, "_touch", taken.append)
    assert len(retriever.invoke("note")) == 100
    writer.remember("note 100")
    assert len(retriever.invoke("note")) == 101
    assert taken == [100]


# -- time


@pytest.mark.reference
def test_recency_survives_a_restart(open_memory: OpenMemory, clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "memory.plugmem"
    memory = open_memory(path)
    for day in range(5):
        memory.remember("the tap drips, again", key=f"day {day}")
        clock.tick(200 * DAY)
    before = PlugmemRetriever(memory=memory, include=["score"]).invoke("tap")
    # Equal words rank by id, 1 / (60 + rank); ages of 1,000, 800, … days lift that by a
    # quarter at most, halved every 180 days: .01648, .01632, .01627, .01646 and .01716.
    assert [one.id for one in before] == ["day 4", "day 0", "day 3", "day 1", "day 2"]
    memory.close()
    after = PlugmemRetriever(memory=open_memory(path), include=["score"]).invoke("tap")
    assert after == before


def test_what_is_gone_does_not_come_back_after_a_restart(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "memory.plugmem"
    memory = open_memory(path)
    gone = memory.remember("the tap drips", key="a").id
    memory.remember("the tap is shut", key="b")
    memory.remember("the tap is new", key="b")
    memory.forget(gone)
    memory.close()
    assert texts(PlugmemRetriever(memory=open_memory(path)).invoke("tap")) == ["the tap is new"]


@pytest.mark.parametrize(
    "instant", [START, "2024-05-01T12:00:00Z", datetime(2024, 5, 1, 12, tzinfo=UTC)]
)
def test_instants_come_as_number_text_or_datetime(
    memory: Memory, clock: Clock, instant: Any
) -> None:
    memory.remember("the tap drips")
    clock.tick(DAY)
    retriever = PlugmemRetriever(memory=memory)
    assert texts(retriever.invoke("tap", as_of=instant)) == ["the tap drips"]


@pytest.mark.reference
def test_a_record_of_the_future_scores_like_one_of_now(memory: Memory, clock: Clock) -> None:
    memory.remember("the tap drips", valid_from="2001-01-01")
    clock.tick(-1_000 * DAY)  # the clock was wrong, and is put right
    retriever = PlugmemRetriever(memory=memory, include=["score"])
    [found] = retriever.invoke("tap", k=1)
    assert found.metadata["fact_score"] == pytest.approx(1.25 / 61)
