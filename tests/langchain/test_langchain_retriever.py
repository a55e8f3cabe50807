"""`PlugmemRetriever`: every setting by every route, the mapping, and life in a chain."""

import asyncio
import copy
import json
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core._api import LangChainBetaWarning
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.load import dumps, loads
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import ConfigurableField
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_plugmem import LangChainEmbedder, PlugmemRetriever
from langchain_plugmem.retrievers import _SETTINGS
from plugmem_core import (
    ClosedError,
    HashingEmbedder,
    InvalidFilterError,
    InvalidInputError,
    Memory,
    WrongTypeError,
)
from plugmem_core.adapters.fields import FactField
from plugmem_core.clock import to_ms

NINE = "heater is set to nine degrees"
TWELVE = "heater is set to twelve degrees"
SERVICE = "heater serviced by the plumber"
MANUAL = "heater manual is in the drawer"
HOLIDAY = "Mara is away until May"
CAR = "Zoe sold the car"

QUESTION = "greenhouse heater"
TODAY = "2024-12-01"


class Calendar:
    """A clock that stands where it was put."""

    def __init__(self, day: str) -> None:
        self.day = day

    def __call__(self) -> int:
        return to_ms(self.day, "day")


@pytest.fixture
def memory() -> Memory:
    """Six facts recorded through 2024; the setting of the heater changes in August."""
    calendar = Calendar("2024-01-10")
    memory = Memory.open(":memory:", clock=calendar)
    memory.remember(
        NINE,
        entity="greenhouse",
        tags=["garden", "heat"],
        metadata={"room": "north", "floor": 0},
        key="heater",
        links=[("looked after by", "Mara")],
    )
    calendar.day = "2024-03-01"
    memory.remember(SERVICE, tags=["heat"], metadata={"room": "south"}, namespace=("home",))
    memory.remember(HOLIDAY, entity="Mara")
    calendar.day = "2024-05-01"
    memory.remember(MANUAL, tags=["paper"], valid_from="2024-02-01")
    memory.remember(CAR, entity="Zoe")
    calendar.day = "2024-08-20"
    memory.remember(
        TWELVE,
        entity="greenhouse",
        tags=["garden", "heat"],
        metadata={"room": "north", "floor": 0},
        key="heater",
    )
    calendar.day = TODAY
    return memory


# What is found today without any setting: the words, and Mara by way of the greenhouse.
USUAL = {TWELVE, SERVICE, MANUAL, HOLIDAY}


class Backwards:
    """A reranker that turns the order around."""

    def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return [float(place) for place, _ in enumerate(texts)]


CASES: dict[str, list[tuple[Any, set[str]]]] = {
    "k": [(1, {TWELVE}), (50, USUAL)],
    "tags": [(["heat", "garden"], {TWELVE})],
    "any_tags": [(["garden", "paper"], {TWELVE, MANUAL})],
    "not_tags": [(["heat"], {MANUAL, HOLIDAY})],
    "where": [({"room": "south"}, {SERVICE})],
    "namespace": [(["home"], {SERVICE})],
    "as_of": [("2024-04-01", {NINE, SERVICE, HOLIDAY})],
    "valid_at": [("2024-02-15", {NINE, MANUAL})],
    "known_at": [("2024-04-01", {NINE, SERVICE, HOLIDAY})],
    "range": [(("2024-05-01", "2024-05-02"), USUAL | {CAR})],
    "closed": [(True, USUAL | {NINE})],
    "entities": [(["Zoe"], USUAL | {CAR})],
    "anchors": [("given", {TWELVE, SERVICE, MANUAL})],
    "sources": [(["graph"], {TWELVE, HOLIDAY})],
    "weights": [({"graph": 0, "recency": 0}, USUAL)],
    "graph_depth": [(0, {TWELVE, SERVICE, MANUAL})],
    "min_score": [(9.0, set())],
    "reranker": [(Backwards(), USUAL)],
    "rerank_top": [(1, USUAL)],
    "diversity": [(0.5, USUAL)],
    "duplicates": [(0.99, USUAL)],
    "token_budget": [(26, {TWELVE}), (None, USUAL)],  # its line has 82 bytes, the heading 9
    "include": [(["score"], USUAL)],
    "explain": [(True, USUAL)],
}

ROUTES = ["constructor", "call", "batch", "bind", "configurable"]


def ask(memory: Memory, route: str, setting: str, value: Any) -> list[Document]:
    given = {setting: value}
    plain = PlugmemRetriever(memory=memory)
    if route == "constructor":
        return PlugmemRetriever(memory=memory, **given).invoke(QUESTION)
    if route == "call":
        return plain.invoke(QUESTION, **given)
    if route == "batch":
        return plain.batch([QUESTION, QUESTION], **given)[1]
    if route == "bind":
        return plain.bind(**given).invoke(QUESTION)
    field = {setting: ConfigurableField(id="knob")}
    return plain.configurable_fields(**field).invoke(QUESTION, {"configurable": {"knob": value}})


async def ask_async(memory: Memory, route: str, setting: str, value: Any) -> list[Document]:
    given = {setting: value}
    plain = PlugmemRetriever(memory=memory)
    if route == "constructor":
        return await PlugmemRetriever(memory=memory, **given).ainvoke(QUESTION)
    if route == "call":
        return await plain.ainvoke(QUESTION, **given)
    if route == "batch":
        return (await plain.abatch([QUESTION, QUESTION], **given))[1]
    if route == "bind":
        return await plain.bind(**given).ainvoke(QUESTION)
    dynamic = plain.configurable_fields(**{setting: ConfigurableField(id="knob")})
    return await dynamic.ainvoke(QUESTION, {"configurable": {"knob": value}})


def texts(documents: list[Document]) -> set[str]:
    return {document.page_content for document in documents}


class TestStandardSuite(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[PlugmemRetriever]:
        return PlugmemRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        memory = Memory.open(":memory:")
        memory.remember_many({"text": f"note {number} on tea"} for number in range(5))
        return {"memory": memory}

    @property
    def retriever_query_example(self) -> str:
        return "tea"


def test_every_setting_has_a_case() -> None:
    assert set(CASES) == set(_SETTINGS)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("setting", CASES)
async def test_each_setting_gives_the_same_by_every_route_sync_and_async(
    memory: Memory, setting: str, route: str
) -> None:
    for value, expected in CASES[setting]:
        found = ask(memory, route, setting, value)
        assert texts(found) == expected
        assert await ask_async(memory, route, setting, value) == found


def test_a_call_overrides_the_constructor(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory, k=1, tags=["heat"])
    assert texts(retriever.invoke(QUESTION, k=4)) == {TWELVE, SERVICE}


def test_as_of_gives_way_to_one_clock_when_taken_back(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory, as_of="2024-04-01")
    with pytest.raises(InvalidInputError, match="as_of moves both clocks"):
        retriever.invoke(QUESTION, valid_at="2024-04-01")
    found = retriever.invoke(QUESTION, as_of=None, valid_at="2024-04-01")
    assert texts(found) == {NINE, SERVICE, MANUAL, HOLIDAY}


def test_no_budget_cuts_k_long_documents() -> None:
    memory = Memory.open(":memory:")
    memory.remember_many({"text": f"tea {number} " + "leaf " * 500} for number in range(6))
    assert len(PlugmemRetriever(memory=memory, k=6).invoke("tea")) == 6


# -- documents


def test_a_document_carries_the_fact_and_nothing_else(memory: Memory) -> None:
    found = {d.page_content: d for d in PlugmemRetriever(memory=memory).invoke(QUESTION)}
    assert found[TWELVE] == Document(
        id="heater", page_content=TWELVE, metadata={"room": "north", "floor": 0}
    )
    assert found[MANUAL] == Document(id="3", page_content=MANUAL, metadata={})
    assert type(found[TWELVE].metadata["floor"]) is int


def test_different_questions_bring_equal_documents(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory, k=1)
    assert retriever.invoke("manual") == retriever.invoke("what lies in the drawer?") != []


def test_changing_a_document_changes_no_later_one(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory, tags=["garden"])
    retriever.invoke(QUESTION)[0].metadata["room"] = "elsewhere"
    assert retriever.invoke(QUESTION)[0].metadata["room"] == "north"


def test_included_fields_are_plain_and_named_on_every_document(memory: Memory) -> None:
    include: list[FactField] = [
        *("id", "key", "entity", "tags", "namespace", "recorded_at", "valid_from"),
        *("valid_to", "expires_at", "revises", "sources"),
    ]
    retriever = PlugmemRetriever(memory=memory, include=include, closed=True, anchors="given")
    found = {d.page_content: d.metadata for d in retriever.invoke(QUESTION)}
    assert found[NINE] == {
        "room": "north",
        "floor": 0,
        "fact_id": 0,
        "fact_key": "heater",
        "fact_entity": "greenhouse",
        "fact_tags": ["garden", "heat"],
        "fact_namespace": [],
        "fact_recorded_at": "2024-01-10T00:00:00+00:00",
        "fact_valid_from": "2024-01-10T00:00:00+00:00",
        "fact_valid_to": "2024-08-20T00:00:00+00:00",
        "fact_expires_at": None,
        "fact_revises": None,
        "fact_sources": ["bm25"],
    }
    assert found[TWELVE]["fact_revises"] == 0
    assert found[SERVICE]["fact_namespace"] == ["home"]
    assert found[MANUAL]["fact_entity"] is None
    assert json.loads(json.dumps(found)) == found


def test_included_documents_survive_langchain_serialisation(memory: Memory) -> None:
    found = PlugmemRetriever(memory=memory, include=["score", "valid_to"], explain=True).invoke(
        QUESTION
    )
    with pytest.warns(LangChainBetaWarning):
        assert loads(dumps(found), allowed_objects=[Document]) == found


def test_scores_fall_and_the_explanation_adds_up_to_them(memory: Memory) -> None:
    found = PlugmemRetriever(memory=memory, include=["score"], explain=True).invoke(QUESTION)
    scores = [document.metadata["fact_score"] for document in found]
    assert scores == sorted(scores, reverse=True)
    for document in found:
        explained = document.metadata["fact_explanation"]
        total = sum(evidence["contribution"] for evidence in explained["evidence"])
        assert total * explained["boost"] == pytest.approx(document.metadata["fact_score"])
        assert explained["score"] == document.metadata["fact_score"]
    best = found[0].metadata["fact_explanation"]["evidence"]
    # The plumber's text is shorter and the manual's as long but older: third by words.
    assert [(e["source"], e["rank"]) for e in best] == [("bm25", 3), ("graph", 1)]


# -- questions and errors


@pytest.mark.parametrize("question", ["", "   ", "\n"])
async def test_a_blank_question_finds_nothing(memory: Memory, question: str) -> None:
    retriever = PlugmemRetriever(memory=memory)
    assert retriever.invoke(question) == []
    assert await retriever.ainvoke(question) == []


def test_an_empty_memory_finds_nothing() -> None:
    assert PlugmemRetriever(memory=Memory.open(":memory:")).invoke("tea") == []


@pytest.mark.parametrize("question", [None, 5, {"question": "tea"}, ["tea"], b"tea"])
async def test_a_question_that_is_no_text_is_refused(memory: Memory, question: Any) -> None:
    # With tags, a recall would answer without any text.
    retriever = PlugmemRetriever(memory=memory, tags=["heat"])
    with pytest.raises(WrongTypeError, match=r"query is .* give the question as text"):
        retriever.invoke(question)
    with pytest.raises(WrongTypeError, match=r"query is .* give the question as text"):
        await retriever.ainvoke(question)


def test_a_misspelled_constructor_argument_is_an_error(memory: Memory) -> None:
    with pytest.raises(ValidationError, match=r"unknown 'top_k'; accepted are .*\bk, any_tags"):
        PlugmemRetriever.model_validate({"memory": memory, "top_k": 3})


async def test_a_misspelled_call_argument_is_an_error(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory)
    with pytest.raises(InvalidInputError, match=r"unknown 'top_k'; accepted are .*\bk, any_tags"):
        retriever.invoke(QUESTION, top_k=3)
    with pytest.raises(InvalidInputError, match="unknown 'filter'; accepted are "):
        await retriever.ainvoke(QUESTION, filter={"room": "south"})
    with pytest.raises(InvalidInputError, match="unknown 'memory'"):
        retriever.bind(memory=memory).invoke(QUESTION)


@pytest.mark.parametrize(
    "setting",
    [
        {"k": 0},
        {"k": True},
        {"k": "3"},
        {"as_of": True},
        {"as_of": 1.5},
        {"as_of": "yesterday"},
        {"as_of": "2024-01-01", "known_at": "2024-01-01"},
        {"tags": "heat"},
        {"namespace": "home"},
        {"where": {"room": {"$near": "north"}}},
        {"anchors": "none"},
        {"closed": 1},
        {"min_score": float("nan")},
        {"include": "score"},
        {"include": ["scores"]},
        {"include": 5},
    ],
    ids=str,
)
def test_a_bad_value_is_refused_by_constructor_and_call(
    memory: Memory, setting: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        PlugmemRetriever(memory=memory, **setting)
    with pytest.raises(InvalidInputError):
        PlugmemRetriever(memory=memory).invoke(QUESTION, **setting)


def test_memory_is_required_and_must_be_one() -> None:
    with pytest.raises(ValidationError, match="memory"):
        PlugmemRetriever.model_validate({})
    with pytest.raises(ValidationError, match="instance of Memory"):
        PlugmemRetriever.model_validate({"memory": "notes.db"})


class Events(BaseCallbackHandler):
    """Writes down what a retriever tells its callbacks."""

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.errors: list[BaseException] = []

    def on_retriever_start(self, serialized: Any, query: str, **details: Any) -> None:
        self.started.append(details)

    def on_retriever_error(self, error: BaseException, **details: Any) -> None:
        self.errors.append(error)


def test_an_error_reaches_caller_and_callbacks_unchanged(memory: Memory) -> None:
    events = Events()
    with pytest.raises(InvalidFilterError) as caught:
        PlugmemRetriever(memory=memory).invoke(
            QUESTION, {"callbacks": [events]}, where={"room": {"$near": 1}}
        )
    assert events.errors == [caught.value]


def test_a_closed_memory_is_reported_as_such(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory)
    memory.close()
    with pytest.raises(ClosedError):
        retriever.invoke(QUESTION)


# -- in a chain


def test_tracing_learns_provider_embedder_tags_and_metadata() -> None:
    events = Events()
    memory = Memory.open(":memory:", embedder=HashingEmbedder(dim=16))
    retriever = PlugmemRetriever(memory=memory, metadata={"team": "blue"})
    retriever.with_config(tags=["notes"]).invoke("tea", {"callbacks": [events]})
    [started] = events.started
    assert started["tags"] == ["notes"]
    assert started["metadata"] == {
        "ls_retriever_name": "plugmem",
        "ls_vector_store_provider": "plugmem",
        "ls_embedding_provider": "HashingEmbedder",
        "ls_embedding_model": "hashing-16",
        "team": "blue",
    }


def test_tracing_names_the_embeddings_of_langchain_and_not_what_lets_them_serve() -> None:
    embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=16))
    memory = Memory.open(":memory:", embedder=embedder)
    params = PlugmemRetriever(memory=memory)._get_ls_params()
    assert params["ls_embedding_provider"] == "DeterministicFakeEmbedding"


def test_tracing_names_no_embedder_without_one(memory: Memory) -> None:
    params = PlugmemRetriever(memory=memory)._get_ls_params()
    assert params == {"ls_retriever_name": "plugmem", "ls_vector_store_provider": "plugmem"}


async def test_a_tool_returns_text_and_documents(memory: Memory) -> None:
    tool = create_retriever_tool(
        PlugmemRetriever(memory=memory, k=2, include=["entity", "valid_from"]),
        "notes",
        "Household notes.",
        document_prompt=PromptTemplate.from_template("{fact_entity}: {page_content}"),
        response_format="content_and_artifact",
    )
    call = {"name": "notes", "args": {"query": QUESTION}, "id": "1", "type": "tool_call"}
    message = tool.invoke(call)
    assert f"greenhouse: {TWELVE}" in message.content
    assert message.artifact[0].page_content == TWELVE
    assert (await tool.ainvoke(call)).content == message.content


def test_as_tool_answers_with_documents(memory: Memory) -> None:
    with pytest.warns(LangChainBetaWarning):
        tool = PlugmemRetriever(memory=memory).as_tool(name="notes", description="Notes.")
    assert texts(tool.invoke(QUESTION)) == USUAL


async def test_events_show_start_and_end(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory).with_config(tags=["notes"])
    events = [event async for event in retriever.astream_events(QUESTION, version="v2")]
    assert [event["event"] for event in events] == ["on_retriever_start", "on_retriever_end"]
    assert events[0]["tags"] == ["notes"]
    assert events[0]["metadata"]["ls_vector_store_provider"] == "plugmem"
    assert texts(events[1]["data"]["output"]) == USUAL


async def test_the_event_loop_runs_on_while_the_memory_works() -> None:
    loop_ran = threading.Event()

    class Waiting(HashingEmbedder):
        def embed_query(self, text: str) -> Any:
            assert loop_ran.wait(timeout=60)
            return super().embed_query(text)

    memory = Memory.open(":memory:", embedder=Waiting(dim=16))
    memory.remember("green tea", vector=HashingEmbedder(dim=16).embed_query("green tea"))
    asyncio.get_running_loop().call_soon(loop_ran.set)
    [document] = await PlugmemRetriever(memory=memory, include=["sources"]).ainvoke("tea")
    assert document.metadata["fact_sources"] == ["bm25", "vector"]


async def test_many_questions_at_once_get_their_own_answers(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory, k=1)
    questions = ["manual", "serviced", "twelve", "car"] * 8
    found = await asyncio.gather(*(retriever.ainvoke(question) for question in questions))
    assert [document.page_content for [document] in found] == [MANUAL, SERVICE, TWELVE, CAR] * 8


# -- copies and texts of the retriever itself


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda r: r.model_copy(), lambda r: r.model_copy(deep=True)],
)
def test_copies_share_the_open_memory(memory: Memory, duplicate: Any) -> None:
    retriever = PlugmemRetriever(memory=memory, k=2)
    twin = duplicate(retriever)
    assert twin.memory is memory
    assert twin.k == 2
    assert twin.invoke(QUESTION) == retriever.invoke(QUESTION)


def test_deep_copies_of_a_chain_share_it_too(memory: Memory) -> None:
    chain = PlugmemRetriever(memory=memory) | len
    assert copy.deepcopy(chain).invoke(QUESTION) == len(USUAL)


def test_pickling_says_what_to_do_instead(memory: Memory) -> None:
    with pytest.raises(WrongTypeError, match="open the memory in the other process"):
        pickle.dumps(PlugmemRetriever(memory=memory))


def test_the_memory_shows_in_no_text_of_the_retriever(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory=memory, k=2)
    assert repr(retriever) == "PlugmemRetriever(k=2)"
    assert "memory" not in retriever.model_dump()
    assert json.loads(dumps(retriever))["type"] == "not_implemented"
