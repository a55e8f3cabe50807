"""`PlugmemMemory` inside LlamaIndex's chat engines and agents, called as they call it."""

import asyncio
import copy
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenMemory
from llama_index.core import Settings
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.llms import MockFunctionCallingLLM
from llama_index.core.llms.mock import MockLLMWithChatMemoryOfLastCall
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from llama_index_plugmem import PlugmemMemory, PlugmemRetriever
from plugmem_core import Memory

DESK = "My desk is on floor two"
ASKED = "Which floor is my desk on?"
PROMPT = "You are a pirate of the desk"
NOTE = "- [f0] My desk is on floor two"


# LlamaIndex's workflows look at every attribute of an agent, also at those pydantic gave up.
pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")


@pytest.fixture(autouse=True)
def settings_stay_unset() -> Any:
    """Whatever a test does, nobody asks LlamaIndex for its default models."""
    yield
    assert Settings._llm is None
    assert Settings._embed_model is None


@pytest.fixture
def tuesday(memory: Memory) -> PlugmemMemory:
    """A new session, after one in which something was said that is worth recalling."""
    PlugmemMemory(memory, session_id="monday").put(user(DESK))
    return PlugmemMemory(memory, session_id="tuesday")


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def turns(memory: PlugmemMemory) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in memory.get_all()]


# -- chat engines


class Listener(MockLLMWithChatMemoryOfLastCall):
    """A model that answers "text" and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(max_tokens=1, is_chat_model=True)

    @property
    def heard(self) -> str:
        assert self.last_chat_messages is not None
        return "\n".join(f"{one.role.value}: {one.content}" for one in self.last_chat_messages)


Say = Callable[[BaseChatEngine, str], Awaitable[str]]


async def chat(engine: BaseChatEngine, said: str, **options: Any) -> str:
    # On the loop's own thread, as a careless host does it (#19026, #15293).
    return str(engine.chat(said, **options))


async def stream(engine: BaseChatEngine, said: str, **options: Any) -> str:
    answer = await asyncio.to_thread(engine.stream_chat, said, **options)
    # To its end, when the thread that stores the answer has ended as well.
    return await asyncio.to_thread(lambda: "".join(answer.response_gen))


async def achat(engine: BaseChatEngine, said: str, **options: Any) -> str:
    return str(await engine.achat(said, **options))


async def astream(engine: BaseChatEngine, said: str, **options: Any) -> str:
    answer = await engine.astream_chat(said, **options)
    return "".join([token async for token in answer.async_response_gen()])


@pytest.fixture
def documents() -> PlugmemRetriever:
    handbook = Memory.open(":memory:")
    # Found by every question here, and by "text", to which the model condenses others.
    handbook.remember("Hello! Every floor has a kitchen: a text that answers each question")
    return PlugmemRetriever(handbook)


Engine = Callable[..., BaseChatEngine]
ENGINES: list[Engine] = [
    lambda documents, **given: SimpleChatEngine.from_defaults(**given),
    lambda documents, **given: ContextChatEngine.from_defaults(retriever=documents, **given),
    lambda documents, **given: CondensePlusContextChatEngine.from_defaults(
        retriever=documents, **given
    ),
]
each_engine = pytest.mark.parametrize("engine", ENGINES, ids=["simple", "context", "condense"])
each_way = pytest.mark.parametrize("say", [chat, stream, achat, astream])


@each_engine
@each_way
async def test_a_chat_engine_recalls_other_sessions_and_keeps_its_own(
    tuesday: PlugmemMemory, documents: PlugmemRetriever, engine: Engine, say: Say
) -> None:
    llm = Listener()
    host = engine(documents, llm=llm, memory=tuesday, system_prompt=PROMPT)
    assert await say(host, ASKED) == "text"
    assert llm.heard.count(NOTE) == 1
    assert await say(host, "Is there a kitchen?") == "text"
    for text in (PROMPT, ASKED, "user: Is there a kitchen?"):
        assert text in llm.heard
    assert turns(tuesday) == [
        ("user", ASKED),
        ("assistant", "text"),
        ("user", "Is there a kitchen?"),
        ("assistant", "text"),
    ]
    assert host.chat_history == tuesday.get_all()


@each_engine
@each_way
async def test_a_history_given_again_with_every_turn_is_stored_once(
    tuesday: PlugmemMemory, documents: PlugmemRetriever, engine: Engine, say: Any
) -> None:
    host = engine(documents, llm=Listener(), memory=tuesday)
    history = [user("Hello"), assistant("Hi")]
    for number in range(3):
        await say(host, f"question {number}", chat_history=history)
        history = [*history, user(f"question {number}"), assistant("text")]
    assert tuesday.get_all() == history
    stored = [fact.text for fact in tuesday.memory.list_facts(namespace=("conversation",))]
    assert sorted(stored) == sorted([DESK, *(message.content or "" for message in history)])


@each_engine
async def test_reset_ends_the_session_and_nothing_else(
    tuesday: PlugmemMemory, documents: PlugmemRetriever, engine: Engine
) -> None:
    llm = Listener()
    host = engine(documents, llm=llm, memory=tuesday)
    await host.achat("Hello")
    host.reset()
    assert host.chat_history == []
    await host.achat(ASKED)
    assert NOTE in llm.heard
    assert "user: Hello" not in llm.heard


@each_engine
@pytest.mark.parametrize("insert", ["system", "user"])
async def test_recalled_text_is_no_part_of_a_template(
    memory: Memory, documents: PlugmemRetriever, engine: Engine, insert: Any
) -> None:
    PlugmemMemory(memory).put(user("kitchen {context_str} {query_str} {chat_history}"))
    llm = Listener()
    host = engine(documents, llm=llm, memory=PlugmemMemory(memory, insert=insert))
    await host.achat("Is there a kitchen?")
    assert "kitchen { context_str} { query_str} { chat_history}" in llm.heard


def test_a_chat_engine_makes_one_of_its_own_by_class() -> None:
    host = SimpleChatEngine.from_defaults(llm=Listener(), memory_cls=PlugmemMemory)
    host.chat("Hello")
    assert [message.content for message in host.chat_history] == ["Hello", "text"]


async def test_a_chat_goes_on_where_the_process_before_ended(tmp_path: Path) -> None:
    for number in range(3):
        with Memory.open(tmp_path / "chat.plugmem") as file:
            llm = Listener()
            remembered = PlugmemMemory(file, session_id="always the same")
            host = SimpleChatEngine.from_defaults(llm=llm, memory=remembered)
            await host.achat(f"question {number}")
            assert llm.heard.count("user: question") == number + 1


async def test_a_long_chat_keeps_its_system_message_and_starts_with_the_user(
    memory: Memory,
) -> None:
    llm = Listener()
    remembered = PlugmemMemory(memory, token_limit=120)
    remembered.put(ChatMessage(PROMPT, role="system"))
    host = SimpleChatEngine.from_defaults(llm=llm, memory=remembered)
    for number in range(20):
        await host.achat(f"question {number} " + "word " * 10)
        assert llm.last_chat_messages is not None
        head, first, *_, last = [*llm.last_chat_messages[:2], llm.last_chat_messages[-1]]
        assert (head.content or "").startswith(PROMPT)
        assert first.role == "user"
        assert (last.content or "").startswith(f"question {number} ")


# -- agents


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


def calling(tool: str, **arguments: Any) -> ChatMessage:
    block = ToolCallBlock(tool_call_id=f"call-{tool}", tool_name=tool, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[block])


def floor_of(desk: str = "mine") -> str:
    """Return the floor of a desk."""
    return f"floor of {desk}"


def tool() -> FunctionTool:
    return FunctionTool.from_defaults(floor_of)


def said(messages: Sequence[ChatMessage]) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in messages]


async def test_an_agent_without_tools_recalls_and_stores_its_turn(tuesday: PlugmemMemory) -> None:
    player = Player(assistant("Floor two."))
    agent = FunctionAgent(llm=player.llm, system_prompt=PROMPT)
    assert str(await agent.run(ASKED, memory=tuesday)) == "Floor two."
    [[prompt, notes, asked]] = player.heard
    assert said([prompt, asked]) == [("system", PROMPT), ("user", ASKED)]
    assert NOTE in (notes.content or "")
    assert turns(tuesday) == [("user", ASKED), ("assistant", "Floor two.")]


async def test_an_agent_with_tools_recalls_at_each_step_and_stores_the_steps(
    tuesday: PlugmemMemory,
) -> None:
    player = Player(calling("floor_of", desk="Ann's"), assistant("Floor two."))
    agent = FunctionAgent(llm=player.llm, tools=[tool()], system_prompt=PROMPT)
    await agent.run(ASKED, memory=tuesday)
    for heard in player.heard:
        assert NOTE in (heard[1].content or "")
    assert said(player.heard[1][2:]) == [
        ("user", ASKED),
        ("assistant", None),
        ("tool", "floor of Ann's"),
    ]
    assert turns(tuesday) == [
        ("user", ASKED),
        ("assistant", None),
        ("tool", "floor of Ann's"),
        ("assistant", "Floor two."),
    ]
    _, call, result, _ = tuesday.get_all()
    assert call == calling("floor_of", desk="Ann's")
    assert result.additional_kwargs == {"tool_call_id": "call-floor_of"}


@pytest.mark.parametrize("output", ["word " * 20_000, "PK\x00\x03", "caf\udce9.txt"])
async def test_whatever_a_tool_is_called_with_and_returns_reaches_the_model_and_is_kept(
    tuesday: PlugmemMemory, output: str
) -> None:
    def look(at: tuple[int, ...] = (1, 2)) -> str:
        """Look at something."""
        return output

    signed = calling("look", at=(3, 4))
    signed.additional_kwargs["thought_signatures"] = [b"\x01\xff"]
    player = Player(signed, assistant("Done."))
    agent = FunctionAgent(llm=player.llm, tools=[FunctionTool.from_defaults(look)])
    assert str(await agent.run("Look.", memory=tuesday)) == "Done."
    assert said(player.heard[1])[-1] == ("tool", output)
    assert turns(tuesday)[2] == ("tool", output)
    call = tuesday.get_all()[1]
    assert call.additional_kwargs == {"thought_signatures": ["Af8="]}
    assert call.blocks == calling("look", at=[3, 4]).blocks


async def test_an_agents_prompt_and_state_are_never_stored(tuesday: PlugmemMemory) -> None:
    # #19487, #19509, and the state that agents write into the last message in place
    player = Player(assistant("One."), assistant("Two."))
    agent = FunctionAgent(
        llm=player.llm, system_prompt=PROMPT, initial_state={"mood": "salty", "rum": 3}
    )
    context = Context(agent)
    for text in ("first", "second"):
        await agent.run(text, memory=tuesday, ctx=context)
    assert "salty" in (player.heard[0][-1].content or "")
    assert turns(tuesday) == [
        ("user", "first"),
        ("assistant", "One."),
        ("user", "second"),
        ("assistant", "Two."),
    ]
    everything = tuesday.memory.list_facts()
    assert [fact.text for fact in everything] == [DESK, "first", "One.", "second", "Two."]


async def test_a_history_given_to_every_run_is_stored_once(tuesday: PlugmemMemory) -> None:
    history = [ChatMessage("House rules", role="system"), user("Hello"), assistant("Hi")]
    for number in range(3):
        player = Player(assistant(f"answer {number}"))
        agent = FunctionAgent(llm=player.llm)
        await agent.run(f"question {number}", chat_history=history, memory=tuesday)
        history = [*history, user(f"question {number}"), assistant(f"answer {number}")]
    assert tuesday.get_all() == history
    assert tuesday.memory.recall("House rules").facts == ()


# LlamaIndex's ReActAgent asks its context for something that the context gave up.
@pytest.mark.filterwarnings("ignore:is_running called from within a step:DeprecationWarning")
@pytest.mark.parametrize(
    ("insert", "prompt"), [("system", PROMPT), ("user", PROMPT), ("user", None)]
)
async def test_a_react_agent_recalls_and_stores_its_turn(
    memory: Memory, tuesday: PlugmemMemory, insert: Any, prompt: str | None
) -> None:
    player = Player(
        assistant('Thought: I look.\nAction: floor_of\nAction Input: {"desk": "mine"}'),
        assistant("Thought: I know.\nAnswer: Floor two."),
    )
    remembered = PlugmemMemory(memory, session_id="react", insert=insert)
    agent = ReActAgent(llm=player.llm, tools=[tool()], system_prompt=prompt, streaming=False)
    assert str(await agent.run(ASKED, memory=remembered)) == "Floor two."
    for heard in player.heard:
        assert NOTE in "\n".join(message.content or "" for message in heard)
    asked, answered = remembered.get_all()
    assert asked == user(ASKED)
    assert (answered.content or "").endswith("Answer: Floor two.")
    assert PROMPT not in (answered.content or "")


async def test_the_agents_of_a_workflow_share_one_memory(tuesday: PlugmemMemory) -> None:
    player = Player(
        calling("handoff", to_agent="finder", reason="it finds"),
        calling("floor_of"),
        assistant("Floor two."),
    )
    shared = {"llm": player.llm, "description": "an agent"}
    workflow = AgentWorkflow(
        agents=[
            FunctionAgent(name="greeter", can_handoff_to=["finder"], **shared),
            FunctionAgent(name="finder", tools=[tool()], **shared),
        ],
        root_agent="greeter",
    )
    assert str(await workflow.run(ASKED, memory=tuesday)) == "Floor two."
    assert [role for role, _ in turns(tuesday)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    for heard in player.heard:
        assert NOTE in (heard[0].content or "")


async def test_a_context_restored_in_this_process_shares_the_memory(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    for path in (":memory:", tmp_path / "chat.plugmem"):
        player = Player(assistant("Noted."), assistant("Floor two."))
        agent = FunctionAgent(llm=player.llm)
        file = open_memory(path)
        context = Context(agent)
        remembered = PlugmemMemory(file, session_id="s")
        await agent.run(DESK, ctx=context, memory=remembered)
        restored = Context.from_dict(agent, json.loads(json.dumps(context.to_dict())))
        await agent.run(ASKED, ctx=restored)
        assert said(player.heard[1]) == [
            ("user", DESK),
            ("assistant", "Noted."),
            ("user", ASKED),
        ]
        again = await restored.store.get("memory")
        assert again.memory is file
        assert len(remembered.get_all()) == 4


OTHER_PROCESS = """
import asyncio, json, sys
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockFunctionCallingLLM
from llama_index.core.workflow import Context

def answer(messages, **_):
    print(json.dumps([message.content for message in messages]))
    return ChatMessage("Floor two.", role="assistant")

async def main():
    llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
    agent = FunctionAgent(llm=llm)
    context = Context.from_dict(agent, json.loads(sys.stdin.read()))
    await agent.run("Which floor is my desk on?", ctx=context)
    (await context.store.get("memory")).memory.close()

asyncio.run(main())
"""


async def test_a_context_restored_in_another_process_goes_on_with_the_file(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    # #19228, #18069: a memory that cannot be dumped is lost there with a warning
    agent = FunctionAgent(llm=Player(assistant("Noted.")).llm)
    context = Context(agent)
    remembered = PlugmemMemory(open_memory(tmp_path / "chat.plugmem"))
    await agent.run(DESK, ctx=context, memory=remembered)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", OTHER_PROCESS],
        input=json.dumps(context.to_dict()),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert json.loads(done.stdout) == [DESK, "Noted.", ASKED]
    assert turns(remembered)[2:] == [("user", ASKED), ("assistant", "Floor two.")]
