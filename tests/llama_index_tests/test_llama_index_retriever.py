"""`PlugmemRetriever`: every setting, the mapping, and life inside LlamaIndex's engines."""

import asyncio
import copy
import inspect
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import MockEmbedding, QueryBundle, Settings, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index.core.tools import RetrieverTool, ToolMetadata

from llama_index_plugmem import PlugmemRetriever
from plugmem_core import (
    ClosedError,
    HashingEmbedder,
    InvalidFilterError,
    InvalidInputError,
    Memory,
    PlugmemError,
    VectorSpaceError,
    WrongTypeError,
)
from plugmem_core.clock import to_ms

NINE = "heater is set to nine degrees"
TWELVE = "heater is set to twelve degrees"
SERVICE = "heater serviced by the plumber"
MANUAL = "heater manual is in the drawer"
HOLIDAY = "Mara is away until May"
CAR = "Zoe sold the car"

QUESTION = "greenhouse heater"


class Calendar:
    """A clock that stands where it was put."""

    def __init__(self, day: str) -> None:
        self.day = day

    def __call__(self) -> int:
        return to_ms(self.day, "day")


@pytest.fixture(autouse=True)
def settings_stay_unset() -> Any:
    """Whatever a test does, nobody asks LlamaIndex for its default models."""
    yield
    assert Settings._llm is None
    assert Settings._embed_model is None


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
    calendar.day = "2024-12-01"
    return memory


# What is found today without any setting: the words, and Mara by way of the greenhouse.
USUAL = {TWELVE, SERVICE, MANUAL, HOLIDAY}

CASES: list[tuple[str, Any, set[str]]] = [
    ("k", 1, {TWELVE}),
    ("k", 50, USUAL),
    ("tags", ["heat", "garden"], {TWELVE}),
    ("any_tags", ["garden", "paper"], {TWELVE, MANUAL}),
    ("not_tags", ["heat"], {MANUAL, HOLIDAY}),
    ("where", {"room": "south"}, {SERVICE}),
    ("namespace", ["home"], {SERVICE}),
    ("as_of", "2024-04-01", {NINE, SERVICE, HOLIDAY}),
    ("valid_at", "2024-02-15", {NINE, MANUAL}),
    ("known_at", "2024-04-01", {NINE, SERVICE, HOLIDAY}),
    ("range", ("2024-05-01", "2024-05-02"), USUAL | {CAR}),
    ("closed", True, USUAL | {NINE}),
    ("entities", ["Zoe"], USUAL | {CAR}),
    ("anchors", "given", {TWELVE, SERVICE, MANUAL}),
    ("sources", ["graph"], {TWELVE, HOLIDAY}),
    ("graph_depth", 0, {TWELVE, SERVICE, MANUAL}),
    ("min_score", 9.0, set()),
    ("rerank_top", 1, USUAL),
    ("diversity", 0.5, USUAL),
    ("duplicates", 0.99, USUAL),
    ("token_budget", 26, {TWELVE}),  # its line has 82 bytes, the heading 9
    ("token_budget", None, USUAL),
]


def texts(nodes: Sequence[NodeWithScore]) -> set[str]:
    return {node.text for node in nodes}


def identity(node: NodeWithScore) -> tuple[str, str, dict[str, Any], str]:
    return node.node_id, node.text, node.metadata, node.node.hash


def noted(*notes: str, **options: Any) -> Memory:
    memory = Memory.open(":memory:", **options)
    memory.remember_many({"text": note} for note in notes)
    return memory


# -- settings


def test_every_setting_has_a_case() -> None:
    elsewhere = {
        "memory",
        "weights",
        "reranker",
        "include",
        "explain",
        "callback_manager",
        "verbose",
    }
    settings = set(inspect.signature(PlugmemRetriever).parameters)
    assert {setting for setting, _, _ in CASES} == settings - elsewhere


@pytest.mark.parametrize(("setting", "value", "expected"), CASES)
async def test_each_setting_takes_effect_sync_and_async(
    memory: Memory, setting: str, value: Any, expected: set[str]
) -> None:
    retriever = PlugmemRetriever(memory, **{setting: value})
    found = retriever.retrieve(QUESTION)
    assert texts(found) == expected
    assert await retriever.aretrieve(QUESTION) == found


async def test_weights_change_the_order_sync_and_async(memory: Memory) -> None:
    plain = PlugmemRetriever(memory, k=1).retrieve("greenhouse manual")
    retriever = PlugmemRetriever(memory, k=1, weights={"graph": 9})
    found = retriever.retrieve("greenhouse manual")
    assert (texts(plain), texts(found)) == ({MANUAL}, {TWELVE})
    assert await retriever.aretrieve("greenhouse manual") == found


async def test_included_fields_are_plain_and_named_on_every_node(memory: Memory) -> None:
    retriever = PlugmemRetriever(
        memory,
        include=["id", "key", "entity", "tags", "namespace", "recorded_at", "valid_to"],
        closed=True,
        anchors="given",
    )
    nodes = retriever.retrieve(QUESTION)
    found = {node.text: node.metadata for node in nodes}
    assert found[NINE] == {
        "room": "north",
        "floor": 0,
        "fact_id": 0,
        "fact_key": "heater",
        "fact_entity": "greenhouse",
        "fact_tags": ["garden", "heat"],
        "fact_namespace": [],
        "fact_recorded_at": "2024-01-10T00:00:00+00:00",
        "fact_valid_to": "2024-08-20T00:00:00+00:00",
    }
    assert found[MANUAL]["fact_entity"] is None
    assert json.loads(json.dumps(found)) == found
    assert await retriever.aretrieve(QUESTION) == nodes


async def test_an_explanation_adds_up_to_the_score(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory, include=["score"], explain=True)
    nodes = retriever.retrieve(QUESTION)
    for node in nodes:
        explained = node.metadata["fact_explanation"]
        total = sum(evidence["contribution"] for evidence in explained["evidence"])
        assert total * explained["boost"] == pytest.approx(node.score)
        assert explained["score"] == node.metadata["fact_score"] == node.score
    assert await retriever.aretrieve(QUESTION) == nodes


def test_the_language_model_sees_included_fields_and_no_explanation(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory, tags=["paper"], include=["valid_from"], explain=True)
    [found] = retriever.retrieve("manual")
    shown = f"fact_valid_from: 2024-02-01T00:00:00+00:00\n\n{MANUAL}"
    assert found.get_content(MetadataMode.LLM) == shown
    assert found.get_content(MetadataMode.EMBED) == MANUAL


def test_no_budget_cuts_k_long_nodes() -> None:
    memory = noted(*(f"tea {number} " + "leaf " * 500 for number in range(6)))
    assert len(PlugmemRetriever(memory, k=6).retrieve("tea")) == 6


def test_changing_what_was_passed_changes_no_setting(memory: Memory) -> None:
    tags, where = ["heat"], {"room": {"$in": ["south"]}}
    retriever = PlugmemRetriever(memory, tags=tags, where=where)
    tags.append("nothing")
    where["room"]["$in"].append("north")
    assert texts(retriever.retrieve(QUESTION)) == {SERVICE}


@pytest.mark.parametrize("tags", [iter(["garden"]), {"garden": 1}.keys()])
def test_settings_may_come_from_an_iterator_or_a_view(memory: Memory, tags: Any) -> None:
    retriever = PlugmemRetriever(memory, tags=tags)
    assert texts(retriever.retrieve(QUESTION)) == {TWELVE}
    assert texts(retriever.retrieve(QUESTION)) == {TWELVE}


@pytest.mark.parametrize(
    ("setting", "error", "says"),
    [
        ({"k": 0}, InvalidInputError, "k is 0; give an integer from 1"),
        ({"k": True}, WrongTypeError, "k is True"),
        ({"k": "3"}, WrongTypeError, "k is '3'"),
        ({"tags": "heat"}, PlugmemError, "tags is 'heat'"),
        ({"any_tags": [1]}, PlugmemError, "any_tags"),
        ({"not_tags": "heat"}, PlugmemError, "not_tags is 'heat'"),
        ({"where": {"room": {"$near": "north"}}}, InvalidFilterError, "near"),
        ({"namespace": "home"}, PlugmemError, "namespace is 'home'"),
        ({"as_of": True}, PlugmemError, "as_of is True"),
        ({"as_of": "2024-01-01", "known_at": 1}, InvalidInputError, "as_of moves both clocks"),
        ({"valid_at": "yesterday"}, InvalidInputError, "valid_at is 'yesterday'"),
        ({"known_at": []}, PlugmemError, r"known_at is \[\]"),
        ({"range": ("2024-02-01", "2024-01-01")}, InvalidInputError, "backwards"),
        ({"closed": 1}, WrongTypeError, "closed is 1"),
        ({"entities": "Zoe"}, PlugmemError, "entities is 'Zoe'"),
        ({"anchors": "none"}, InvalidInputError, "anchors is 'none'"),
        ({"sources": ["words"]}, InvalidInputError, "give at least one of bm25"),
        ({"weights": {"words": 1}}, InvalidInputError, "weights has 'words'"),
        ({"graph_depth": -1}, InvalidInputError, "graph_depth is -1"),
        ({"min_score": float("nan")}, InvalidInputError, "min_score is NaN"),
        ({"token_budget": -1}, InvalidInputError, "token_budget is -1"),
        ({"include": "score"}, InvalidInputError, "include is 'score'; give a list of names"),
        ({"include": ["scores"]}, InvalidInputError, "give a list of names among id, key"),
        ({"include": 5}, InvalidInputError, "include is 5"),
        ({"explain": "yes"}, WrongTypeError, "explain is 'yes'"),
    ],
    ids=str,
)
def test_a_bad_setting_is_refused_at_once(
    memory: Memory, setting: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        PlugmemRetriever(memory, **setting)


def test_a_misspelled_setting_is_refused(memory: Memory) -> None:
    with pytest.raises(TypeError, match="top_k"):
        PlugmemRetriever(memory, top_k=3)  # type: ignore[call-arg] # refused at run time, too


def test_the_memory_must_be_one() -> None:
    with pytest.raises(WrongTypeError, match=r"memory is 'notes\.db'.*give an open Memory"):
        PlugmemRetriever("notes.db")


# -- nodes


def test_a_node_carries_the_fact_and_nothing_else(memory: Memory) -> None:
    found = {node.text: node.node for node in PlugmemRetriever(memory).retrieve(QUESTION)}
    assert found[TWELVE] == TextNode(
        id_="heater", text=TWELVE, metadata={"room": "north", "floor": 0}
    )
    assert found[MANUAL] == TextNode(id_="fact:3", text=MANUAL, metadata={})


async def test_the_same_fact_is_the_same_node_whatever_was_asked(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory, tags=["garden"])
    other = PlugmemRetriever(memory, k=1, weights={"graph": 0}, tags=["garden"])
    [first] = retriever.retrieve("what of the greenhouse?")
    [again] = retriever.retrieve("twelve degrees")
    [third] = await other.aretrieve("heater")
    assert identity(first) == identity(again) == identity(third)


def test_changing_a_node_changes_no_later_one(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory, tags=["garden"])
    retriever.retrieve(QUESTION)[0].node.metadata["room"] = "elsewhere"
    assert retriever.retrieve(QUESTION)[0].metadata["room"] == "north"


def test_scores_are_floats_and_fall(memory: Memory) -> None:
    scores = [node.get_score() for node in PlugmemRetriever(memory).retrieve(QUESTION)]
    assert all(type(score) is float for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_a_past_view_names_the_version_of_its_time_by_the_key(memory: Memory) -> None:
    [found] = PlugmemRetriever(memory, tags=["garden"], as_of="2024-04-01").retrieve(QUESTION)
    assert (found.node_id, found.text) == ("heater", NINE)


def test_versions_and_namespaces_that_share_a_key_are_all_returned() -> None:
    memory = Memory.open(":memory:")
    memory.remember("tea at four", key="tea")
    memory.remember("tea at five", key="tea")
    memory.remember("tea with milk", key="tea", namespace=("mara",))
    memory.remember("tea with lemon", key="tea", namespace=("zoe",))

    def ids(**settings: Any) -> dict[str, str]:
        found = PlugmemRetriever(memory, **settings).retrieve("tea")
        return {node.text: node.node_id for node in found}

    everywhere = {"tea at five": "tea", "tea with milk": "fact:2", "tea with lemon": "fact:3"}
    assert ids() == everywhere
    assert ids(closed=True) == everywhere | {"tea at four": "fact:0"}
    assert ids(namespace=["mara"]) == {"tea with milk": "tea"}


def test_a_key_that_is_a_number_names_no_other_fact() -> None:
    memory = Memory.open(":memory:")
    memory.remember("green tea at noon", key="1")
    memory.remember("green tea at night")  # which gets the id 1
    found = PlugmemRetriever(memory).retrieve("green tea")
    assert {node.node_id for node in found} == {"1", "fact:1"}


# -- nothing fits: the newest is better than an "Empty Response"


UNRELATED = "hello there, how do you do?"


@pytest.mark.parametrize("engine", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_an_engine_always_asks_its_model(memory: Memory, engine: Any) -> None:
    chat = engine.from_defaults(
        retriever=PlugmemRetriever(memory),
        llm=MockLLM(max_tokens=1),
        memory=ChatMemoryBuffer.from_defaults(token_limit=10_000, tokenizer_fn=str.split),
    )
    assert str(chat.chat(UNRELATED)) == "text"
    assert str(await chat.achat(UNRELATED)) == "text"


async def test_the_newest_facts_come_back_when_nothing_fits(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory, k=2)
    found = retriever.retrieve(UNRELATED)
    assert [node.text for node in found] == [TWELVE, CAR]
    assert all(isinstance(node.score, float) for node in found)
    assert await retriever.aretrieve(UNRELATED) == found


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"tags": ["heat"], "k": 1}, 1),
        ({"tags": ["unknown"]}, 0),
        ({"min_score": 0.0}, 0),
        ({"sources": ["bm25"]}, 0),
        ({"sources": ["bm25", "vector", "graph"]}, 0),
    ],
)
def test_they_do_so_within_the_settings_and_not_beside_them(
    memory: Memory, settings: dict[str, Any], expected: int
) -> None:
    assert len(PlugmemRetriever(memory, **settings).retrieve(UNRELATED)) == expected


# -- questions


@pytest.mark.parametrize("question", ["", "   ", "\n"])
@pytest.mark.parametrize("setting", [{}, {"tags": ["heat"]}, {"sources": ["time"]}], ids=str)
async def test_a_blank_question_finds_nothing(
    memory: Memory, question: str, setting: dict[str, Any]
) -> None:
    retriever = PlugmemRetriever(memory, **setting)
    assert retriever.retrieve(question) == []
    assert await retriever.aretrieve(question) == []


def test_an_empty_memory_finds_nothing() -> None:
    assert PlugmemRetriever(Memory.open(":memory:")).retrieve("tea") == []


@pytest.mark.parametrize("question", [None, 5, ["tea"]])
async def test_a_question_that_is_no_text_is_refused(memory: Memory, question: Any) -> None:
    retriever = PlugmemRetriever(memory)
    with pytest.raises(WrongTypeError, match=r"query_str is .* give the question as text"):
        retriever.retrieve(QueryBundle(question))
    with pytest.raises(WrongTypeError, match=r"query_str is .* give the question as text"):
        await retriever.aretrieve(QueryBundle(question))


class Counting(HashingEmbedder):
    """Counts the texts it embeds."""

    count = 0

    def embed_query(self, text: str) -> Any:
        self.count += 1
        return super().embed_query(text)


@pytest.mark.parametrize("question", ["of no importance", ""])
async def test_the_embedding_of_a_bundle_is_the_vector_of_the_question(question: str) -> None:
    embedder = Counting(dim=64)
    memory = noted("green tea", "red barn", embedder=embedder)
    stored = embedder.count
    barn = HashingEmbedder(dim=64).embed_query("red barn").tolist()
    retriever = PlugmemRetriever(memory, k=1)
    bundle = QueryBundle(question, embedding=barn)
    found = retriever.retrieve(bundle)
    assert texts(found) == {"red barn"}
    assert await retriever.aretrieve(bundle) == found
    assert embedder.count == stored


def test_without_an_embedding_the_memory_embeds_the_question_itself() -> None:
    embedder = Counting(dim=64)
    retriever = PlugmemRetriever(noted("green tea", embedder=embedder), include=["sources"])
    stored = embedder.count
    bundle = QueryBundle("green tea")
    [found] = retriever.retrieve(bundle)
    assert found.metadata["fact_sources"] == ["bm25", "vector"]
    assert embedder.count == stored + 1
    assert bundle.embedding is None


def test_an_embedding_of_another_model_is_refused() -> None:
    retriever = PlugmemRetriever(noted("green tea", embedder=HashingEmbedder(dim=64)))
    with pytest.raises(VectorSpaceError):
        retriever.retrieve(QueryBundle("tea", embedding=[1.0, 0.0]))


async def test_a_closed_memory_is_reported_as_such(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory)
    memory.close()
    with pytest.raises(ClosedError):
        retriever.retrieve(QUESTION)
    with pytest.raises(ClosedError):
        await retriever.aretrieve(QUESTION)


async def test_the_event_loop_runs_on_while_the_memory_works() -> None:
    loop_ran = threading.Event()
    waited: list[bool] = []

    class Waiting(HashingEmbedder):
        def embed_query(self, text: str) -> Any:
            waited.append(loop_ran.wait(timeout=60))
            return super().embed_query(text)

    memory = Memory.open(":memory:", embedder=Waiting(dim=16))
    memory.remember("green tea", vector=HashingEmbedder(dim=16).embed_query("green tea"))
    asyncio.get_running_loop().call_soon(loop_ran.set)
    assert texts(await PlugmemRetriever(memory).aretrieve("tea")) == {"green tea"}
    assert waited == [True]  # an error of an embedder would not show: words answer then


async def test_many_questions_at_once_get_their_own_answers(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory, k=1)
    questions = ["manual", "serviced", "twelve", "car"] * 8
    found = await asyncio.gather(*(retriever.aretrieve(question) for question in questions))
    assert [node.text for [node] in found] == [MANUAL, SERVICE, TWELVE, CAR] * 8


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_share_the_open_memory(memory: Memory, duplicate: Any) -> None:
    retriever = PlugmemRetriever(memory, k=2)
    twin = duplicate(retriever)
    assert twin.memory is memory
    assert twin.retrieve(QUESTION) == retriever.retrieve(QUESTION)


def test_callbacks_hear_of_the_retrieval(memory: Memory) -> None:
    events = LlamaDebugHandler(print_trace_on_end=False)
    retriever = PlugmemRetriever(memory, k=1, callback_manager=CallbackManager([events]))
    found = retriever.retrieve(QUESTION)
    [[start, end]] = events.get_event_pairs(CBEventType.RETRIEVE)
    assert start.payload == {"query_str": QUESTION}
    assert end.payload == {"nodes": found}


# -- inside LlamaIndex


async def test_a_query_engine_answers_from_what_was_recalled(memory: Memory) -> None:
    engine = RetrieverQueryEngine.from_args(PlugmemRetriever(memory), llm=MockLLM())
    response = engine.query(QUESTION)
    assert texts(response.source_nodes) == USUAL
    assert all(text in str(response) for text in USUAL)  # the mock echoes its prompt
    assert "room: north" in str(response)
    assert str(await engine.aquery(QUESTION)) == str(response)


def test_a_weak_match_still_answers_unless_a_floor_is_set(memory: Memory) -> None:
    def answer(**settings: Any) -> str:
        retriever = PlugmemRetriever(memory, **settings)
        return str(RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query("a drawer, May"))

    assert MANUAL in answer()
    assert answer(min_score=9.0) == "Empty Response"


def test_a_postprocessor_takes_the_scores(memory: Memory) -> None:
    best, second, *_ = PlugmemRetriever(memory).retrieve(QUESTION)
    assert best.score is not None
    assert second.score is not None
    engine = RetrieverQueryEngine.from_args(
        PlugmemRetriever(memory),
        llm=MockLLM(),
        node_postprocessors=[
            SimilarityPostprocessor(similarity_cutoff=(best.score + second.score) / 2)
        ],
    )
    assert texts(engine.query(QUESTION).source_nodes) == {best.text}


@pytest.mark.parametrize("engine", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_chat_engines_answer_turn_after_turn(memory: Memory, engine: Any) -> None:
    chat = engine.from_defaults(
        retriever=PlugmemRetriever(memory, tags=["paper"]),
        llm=MockLLM(is_chat_model=True),
        # The default one keeps a database connection that it never closes.
        memory=ChatMemoryBuffer.from_defaults(),
        chat_history=[ChatMessage(role="user", content="hello")],
    )
    turns = [chat.chat("heater manual?"), await chat.achat("the manual, please")]
    streamed = chat.stream_chat("and the manual?")
    "".join(streamed.response_gen)
    for turn in [*turns, streamed]:
        assert texts(turn.source_nodes) == {MANUAL}


@pytest.mark.parametrize("use_async", [True, False])
def test_reciprocal_fusion_adds_up_the_scores_of_one_fact(memory: Memory, use_async: bool) -> None:
    words = PlugmemRetriever(memory, sources=["bm25"], tags=["garden"])
    graph = PlugmemRetriever(memory, sources=["graph"])  # the greenhouse, then Mara
    fusion = QueryFusionRetriever(
        [words, graph],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=5,
        use_async=use_async,
    )
    found = fusion.retrieve(QUESTION)
    # LlamaIndex gives the place counted from 0, plus 60, its inverse.
    assert [node.text for node in found] == [TWELVE, HOLIDAY]
    assert [node.score for node in found] == pytest.approx([2 / 60, 1 / 61])


@pytest.mark.parametrize("mode", ["relative_score", "dist_based_score", "simple"])
async def test_fusion_by_score_works(memory: Memory, mode: Any) -> None:
    retrievers = [PlugmemRetriever(memory, sources=[source]) for source in ("bm25", "graph")]
    fusion = QueryFusionRetriever(
        retrievers, llm=MockLLM(), mode=mode, num_queries=1, similarity_top_k=5
    )
    found = fusion.retrieve(QUESTION)
    assert texts(found) == USUAL
    assert await fusion.aretrieve(QUESTION) == found


def test_fusion_with_a_vector_index_merges_equal_nodes(memory: Memory) -> None:
    nodes = [TextNode(text=MANUAL), TextNode(text="another text")]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8))
    fusion = QueryFusionRetriever(
        [PlugmemRetriever(memory, tags=["paper"]), index.as_retriever(similarity_top_k=2)],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=5,
    )
    assert sorted(node.text for node in fusion.retrieve("manual")) == ["another text", MANUAL]


async def test_a_tool_returns_texts_with_their_metadata(memory: Memory) -> None:
    tool = RetrieverTool(
        PlugmemRetriever(memory, tags=["garden"]),
        ToolMetadata(name="notes", description="Household notes."),
    )
    output = tool(QUESTION)
    assert output.content == f"floor: 0\nroom: north\n\n{TWELVE}\n\n"
    assert texts(output.raw_output) == {TWELVE}
    assert (await tool.acall(QUESTION)).content == output.content


# -- the package


@pytest.mark.parametrize("missing", ["llama_index", "llama_index.core"])
def test_a_missing_package_is_named_with_its_extra(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import llama_index_plugmem\n"
        "from llama_index_plugmem import PlugmemRetriever"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert "ImportError: PlugmemRetriever needs llama-index-core" in done.stderr
    assert "pip install 'plugmem-core[llama-index]'" in done.stderr


# -- what a bundle says to embed instead of the question


class Asked(HashingEmbedder):
    """Keeps what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__(64)
        self.questions: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.questions.append(text)
        return super().embed_query(text)


async def test_texts_to_embed_instead_of_the_question_are_embedded() -> None:
    embedder = Asked()
    memory = Memory.open(":memory:", embedder=embedder)
    memory.remember_many([{"text": "The barn is painted red"}, {"text": "Green tea is hot"}])
    embedder.questions.clear()
    retriever = PlugmemRetriever(memory, k=1, sources=["vector"])
    bundle = QueryBundle("what colour?", custom_embedding_strs=["barn red", "the red barn", " "])
    assert [node.text for node in retriever.retrieve(bundle)] == ["The barn is painted red"]
    assert embedder.questions == ["barn red", "the red barn"]
    assert await retriever.aretrieve(bundle) == retriever.retrieve(bundle)
    assert bundle.embedding is None


def test_texts_to_embed_change_nothing_without_an_embedder(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory)
    bundle = QueryBundle(QUESTION, custom_embedding_strs=["something else"])
    assert retriever.retrieve(bundle) == retriever.retrieve(QUESTION)


async def test_a_vector_without_direction_is_none(memory: Memory) -> None:
    retriever = PlugmemRetriever(memory)
    bundle = QueryBundle(QUESTION, embedding=[0.0] * 8)
    assert retriever.retrieve(bundle) == retriever.retrieve(QUESTION)
    assert await retriever.aretrieve(bundle) == retriever.retrieve(QUESTION)
