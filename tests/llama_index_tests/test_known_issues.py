"""What users reported about LlamaIndex and other stores, and what goes right here instead.

Numbers are those of issues and pull requests of run-llama/llama_index. Most of them are in
the tests of the part they are about; here are those that concern several parts.
"""

import asyncio
import copy
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenMemory
from llama_index.core import Document, PropertyGraphIndex, QueryBundle, Settings
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.llms import MockFunctionCallingLLM
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode
from llama_index.core.workflow import Context
from vector_nodes import EAST, NORTH, WEST, ids, note, only, worded
from word_embedding import WordEmbedding

from llama_index_plugmem import (
    PlugmemChatStore,
    PlugmemMemory,
    PlugmemMemoryBlock,
    PlugmemPropertyGraphStore,
    PlugmemRetriever,
    PlugmemVectorStore,
    RuleExtractor,
)
from plugmem_core import HashingEmbedder, Memory

DESK = "My desk is on floor two"
ASKED = "Which floor is my desk on?"
AGAIN = "Which floor is that desk on?"

# LlamaIndex's workflows look at every attribute of an agent, also at those pydantic gave up.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


@pytest.fixture(autouse=True)
def settings_stay_unset() -> Iterator[None]:
    """Whatever a test does, nobody asks LlamaIndex for its default models."""
    yield
    assert Settings._llm is None
    assert Settings._embed_model is None


# -- searching


EVERY_MODE = pytest.mark.parametrize(
    "mode",
    [
        VectorStoreQueryMode.DEFAULT,
        VectorStoreQueryMode.MMR,
        VectorStoreQueryMode.TEXT_SEARCH,
        VectorStoreQueryMode.SPARSE,
        VectorStoreQueryMode.HYBRID,
    ],
)


@pytest.fixture
def teas(memory: Memory) -> PlugmemVectorStore:
    store = PlugmemVectorStore(memory)
    store.add(
        [
            note("green", "green tea", EAST, "d", kind="drink"),
            note("black", "black tea", NORTH, "e", kind="drink"),
            note("party", "tea party", WEST, "e", kind="event"),
        ]
    )
    return store


def tea(mode: VectorStoreQueryMode, k: int = 10, **restrictions: Any) -> VectorStoreQuery:
    return VectorStoreQuery(
        query_embedding=EAST, query_str="tea", similarity_top_k=k, mode=mode, **restrictions
    )


@EVERY_MODE
def test_asking_for_more_than_there_is_finds_all_there_is(
    teas: PlugmemVectorStore, mode: VectorStoreQueryMode
) -> None:
    # #19568: an error where the question wants more texts than are stored
    assert sorted(ids(teas, tea(mode, 1000))) == ["black", "green", "party"]


@EVERY_MODE
def test_what_a_filter_refuses_never_fills_up_an_answer(
    teas: PlugmemVectorStore, mode: VectorStoreQueryMode
) -> None:
    # #14959, #20601, PR #22897: others filled it up at a score of zero; without a match, an error
    assert ids(teas, tea(mode, filters=only("kind", "event"))) == ["party"]
    assert ids(teas, tea(mode, filters=only("kind", "person"))) == []
    assert ids(teas, tea(mode, doc_ids=["e"], filters=only("kind", "drink"))) == ["black"]
    assert ids(teas, tea(mode, doc_ids=["d"], node_ids=["party"])) == []


@EVERY_MODE
def test_a_query_and_its_filters_stay_as_they_were(
    teas: PlugmemVectorStore, mode: VectorStoreQueryMode
) -> None:
    # #22701, PR #22702: the filter of one session stayed in a query that the next one used
    query = tea(mode, filters=only("kind", "event"), doc_ids=["e"], node_ids=["party"])
    restriction = {"where": {"kind": "event"}}
    before = copy.deepcopy((query, restriction))
    teas.query(query, **restriction)
    assert (query, restriction) == before


def test_a_query_to_a_graph_and_its_filters_stay_as_they_were(memory: Memory) -> None:
    store = PlugmemPropertyGraphStore(memory)
    store.upsert_nodes([EntityNode(name="Ines", embedding=EAST, properties={"kind": "person"})])
    query = VectorStoreQuery(query_embedding=EAST, filters=only("kind", "person"), doc_ids=[])
    before = copy.deepcopy(query)
    assert [node.id for node in store.vector_query(query)[0]] == ["Ines"]
    assert query == before


def test_a_reopened_file_answers_a_retriever_the_same(tmp_path: Path) -> None:
    # PR #22978, #14933, #13866: half of what ranks was not saved with the rest
    questions = ["tea in the barn", "東京", "café", "id-42", "who wrote the parser?"]
    answers = []
    for number in range(2):
        with Memory.open(tmp_path / "a.plugmem", embedder=HashingEmbedder(32)) as memory:
            if not number:
                memory.remember("Tea is kept in the red barn", entity="barn")
                memory.remember("Ines wrote the parser in C++", entity="Ines", tags=["code"])
                memory.remember("東京タワーは港区にある", key="tokyo")
                memory.remember("Le café ouvre à neuf heures", metadata={"size": 1.5})
                memory.remember("Ticket id-42 is about the parser", valid_from="2024-01-08")
            # A fixed day, for the age of facts counts as well.
            retriever = PlugmemRetriever(memory, as_of="2100-01-01")
            answers.append([retriever.retrieve(question) for question in questions])
    assert answers[0] == answers[1]
    assert [found[0].node_id for found in answers[0]][:4] == ["fact:0", "tokyo", "fact:3", "fact:4"]


# -- a graph whose vectors are in another store


def test_the_vector_store_leads_into_a_graph_that_keeps_no_vectors() -> None:
    # PR #22892: a name that is said twice in a batch has two rows; it is one entity nevertheless
    model = WordEmbedding()
    with PlugmemVectorStore.open(":memory:") as vectors:
        graph = SimplePropertyGraphStore()
        PropertyGraphIndex.from_documents(
            [
                Document(id_="family", text="Mara's sister is Ines."),
                Document(id_="jobs", text="Ines works at Tidewater Labs."),
            ],
            property_graph_store=graph,
            vector_store=vectors,
            kg_extractors=[RuleExtractor(mentions=False)],
            embed_model=model,
            use_async=False,
        )
        search = VectorContextRetriever(
            graph, embed_model=model, vector_store=vectors, include_text=False
        )
        found = [one.text for one in search.retrieve(QueryBundle("Ines"))]
        assert sorted(found) == [
            "Ines -> WORKS_AT -> Tidewater Labs",
            "Mara -> HAS_SISTER -> Ines",
        ]


# -- LlamaIndex's own memory over our parts


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def own_memory(memory: Memory, session: str) -> ChatMemory:
    return ChatMemory.from_defaults(
        session_id=session,
        chat_store=PlugmemChatStore(memory),
        memory_blocks=[PlugmemMemoryBlock(memory)],
        tokenizer_fn=str.split,
    )


def use_and_reset(chat: ChatMemory) -> list[str | None]:
    """Use the sync methods, each of which LlamaIndex runs on an event loop of its own."""
    chat.put(user("one"))
    chat.put_messages([assistant("two"), user("three")])
    said = [message.content for message in chat.get_all()]
    chat.set([user("anew")])
    said += [message.content for message in chat.get()]
    chat.reset()
    return [*said, *(message.content for message in chat.get_all())]


EXPECTED = ["one", "two", "three", "anew"]


async def test_sync_methods_work_within_a_loop_and_in_threads_beside_it(memory: Memory) -> None:
    # #19026, #15293: what was made on one event loop failed on another
    assert use_and_reset(own_memory(memory, "here")) == EXPECTED
    in_threads = [asyncio.to_thread(use_and_reset, own_memory(memory, name)) for name in "abc"]
    assert await asyncio.gather(*in_threads) == [EXPECTED] * 3


class Player:
    """Answers as told, step by step, and keeps what it was asked."""

    def __init__(self, *answers: ChatMessage) -> None:
        self.answers = list(answers)
        self.heard: list[list[ChatMessage]] = []

    def __call__(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.heard.append(copy.deepcopy(list(messages)))
        return self.answers.pop(0)

    @property
    def llm(self) -> MockFunctionCallingLLM:
        return MockFunctionCallingLLM(response_generator=self, is_chat_model=True)


def floor_of(desk: str = "mine") -> str:
    """Return the floor of a desk."""
    return f"floor of {desk}"


def function_agent(player: Player) -> BaseWorkflowAgent:
    call = ToolCallBlock(tool_call_id="call", tool_name="floor_of", tool_kwargs={"desk": "mine"})
    player.answers = [ChatMessage(role="assistant", blocks=[call]), assistant("Floor two.")]
    return FunctionAgent(llm=player.llm, tools=[floor_of], system_prompt="Be kind")


def react_agent(player: Player) -> BaseWorkflowAgent:
    player.answers = [
        assistant('Thought: I look.\nAction: floor_of\nAction Input: {"desk": "mine"}'),
        assistant("Thought: I know.\nAnswer: Floor two."),
    ]
    return ReActAgent(llm=player.llm, tools=[floor_of], system_prompt="Be kind")


# LlamaIndex's ReActAgent asks its context for something that the context gave up.
@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
@pytest.mark.parametrize("made", [function_agent, react_agent])
async def test_an_agent_with_llamaindexs_memory_recalls_another_session_and_goes_on_after_a_restart(
    tmp_path: Path, made: Callable[[Player], BaseWorkflowAgent]
) -> None:
    for session, question in (("monday", DESK), ("tuesday", ASKED), ("tuesday", AGAIN)):
        with Memory.open(tmp_path / "chat.plugmem") as file:
            player = Player()
            answer = await made(player).run(question, memory=own_memory(file, session))
            assert str(answer) == "Floor two."
            kept = await own_memory(file, session).aget_all()
    heard = "\n".join(message.content or "" for message in player.heard[-1])
    assert DESK in heard  # of another session
    assert ASKED in heard  # of this one, before the restart
    assert [one.content for one in kept if one.role == "user"] == [ASKED, AGAIN]
    assert not any("Be kind" in (one.content or "") for one in kept)


# LlamaIndex warns that its memory has to be given again, which is what the test does.
@pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning")
async def test_a_restored_context_goes_on_with_llamaindexs_memory_when_given_it_again(
    memory: Memory,
) -> None:
    # #18069, #19228: LlamaIndex cannot dump its own memory, so the context is without it
    player = Player(assistant("Noted."), assistant("Floor two."))
    agent = FunctionAgent(llm=player.llm)
    context = Context(agent)
    await agent.run(DESK, ctx=context, memory=own_memory(memory, "s"))
    restored = Context.from_dict(agent, json.loads(json.dumps(context.to_dict())))
    await agent.run(ASKED, ctx=restored, memory=own_memory(memory, "s"))
    assert [one.content for one in player.heard[1]] == [DESK, "Noted.", ASKED]


async def test_an_agent_looks_things_up_with_a_retriever_as_its_tool(memory: Memory) -> None:
    memory.remember("The key of the library is with Ines")
    tool = RetrieverTool.from_defaults(PlugmemRetriever(memory), name="notes", description="Notes.")
    call = ToolCallBlock(tool_call_id="c", tool_name="notes", tool_kwargs={"input": "library key"})
    player = Player(ChatMessage(role="assistant", blocks=[call]), assistant("With Ines."))
    agent = FunctionAgent(llm=player.llm, tools=[tool])
    assert str(await agent.run("Who has the key?")) == "With Ines."
    assert "The key of the library is with Ines" in (player.heard[1][-1].content or "")


# -- the event loop


ASYNC_CALLS: dict[str, Callable[[Memory], Awaitable[Any]]] = {
    "aget": lambda memory: PlugmemMemory(memory).aget("Hello"),
    "aget_all": lambda memory: PlugmemMemory(memory).aget_all(),
    "aput": lambda memory: PlugmemMemory(memory).aput(user("Hello")),
    "aput_messages": lambda memory: PlugmemMemory(memory).aput_messages([user("Hello")]),
    "aset": lambda memory: PlugmemMemory(memory).aset([user("Hello")]),
    "areset": lambda memory: PlugmemMemory(memory).areset(),
    "aforget": lambda memory: PlugmemMemory(memory).aforget(),
    "block": lambda memory: PlugmemMemoryBlock(memory).aget([user("Hello")], session_id="s"),
    "block aput": lambda memory: PlugmemMemoryBlock(memory).aput([user("Hi")], session_id="s"),
    "chat store": lambda memory: PlugmemChatStore(memory).add_message("s", user("Hello")),
    "retriever": lambda memory: PlugmemRetriever(memory).aretrieve("Hello"),
    "query": lambda memory: PlugmemVectorStore(memory).aquery(worded("Hello")),
    "aget_nodes": lambda memory: PlugmemVectorStore(memory).aget_nodes(),
    "async_add": lambda memory: PlugmemVectorStore(memory).async_add([note("a")]),
}


@pytest.mark.parametrize("call", ASYNC_CALLS.values(), ids=ASYNC_CALLS)
async def test_no_async_method_works_on_the_event_loop(
    open_memory: OpenMemory, call: Callable[[Memory], Awaitable[Any]]
) -> None:
    # #22661, #19026: what LlamaIndex's base classes inherit holds up the loop
    threads = set()

    def watched() -> int:
        """Tell the time, which every reading and writing asks for."""
        threads.add(threading.current_thread())
        return 1_700_000_000_000

    memory = open_memory(clock=watched)
    memory.remember("Hello, everybody", namespace=("conversation",), key="greeting")
    threads.clear()
    await call(memory)
    assert threads
    assert threading.current_thread() not in threads


# -- one file, several parts


def test_parts_that_are_given_the_same_path_share_one_handle(tmp_path: Path) -> None:
    path = tmp_path / "chat.plugmem"
    chat = PlugmemMemory(path=path, session_id="s")
    parts = [chat, PlugmemMemory.from_dict(chat.to_dict()), PlugmemMemoryBlock(path=path)]
    with parts[0].memory as memory:
        assert all(part.memory is memory for part in parts)


# -- LlamaIndex's settings


EVERY_PART = """
import json, os
os.environ.pop("IS_TESTING", None)  # with it, LlamaIndex hands out mock models
from llama_index.core import (
    Document, MockEmbedding, PropertyGraphIndex, Settings, StorageContext, VectorStoreIndex,
)
from llama_index.core.llms import ChatMessage
import llama_index_plugmem as ours
from plugmem_core import Memory

memory = Memory.open(":memory:")
model = MockEmbedding(embed_dim=4)
storage = ours.storage_context(memory, namespace=["all"])
document = Document(id_="d", text="Ines works at Tidewater Labs.")
index = VectorStoreIndex.from_documents([document], storage_context=storage, embed_model=model)
graph = PropertyGraphIndex.from_documents(
    [document], storage_context=storage, kg_extractors=[ours.RuleExtractor()], embed_model=model,
    use_async=False,
)
hops = ours.PlugmemGraphRetriever(storage.property_graph_store)
chat = ours.PlugmemMemory.from_defaults(memory=memory)
chat.put(ChatMessage("Hello", role="user"))
found = [
    index.as_retriever().retrieve("Ines"),
    graph.as_retriever(sub_retrievers=[hops]).retrieve("Ines"),
    ours.PlugmemRetriever(memory).retrieve("Ines"),
    chat.get("Hello"),
    ours.PlugmemVectorStore(path=":memory:").get_nodes(),
    ours.PlugmemMemoryBlock(memory).name,
    ours.PlugmemChatStore(memory).class_name(),
    ours.PlugmemGraphStore(memory).get_rel_map(["Ines"]),
]
print(json.dumps([Settings._llm, Settings._embed_model, [bool(one) for one in found[:4]]]))
memory.close()
"""


def test_no_part_needs_the_default_models_of_llamaindex(tmp_path: Path) -> None:
    # They are those of OpenAI: without its package, an ImportError for whoever touches them.
    done = subprocess.run(
        [sys.executable, "-c", EVERY_PART],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout) == [None, None, [True] * 4]
