"""`PlugmemChatMessageHistory`: messages come back equal, in order, from their session only."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from clocks import HOUR, Clock
from conftest import OpenMemory
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_plugmem import PlugmemChatMessageHistory
from plugmem_core import (
    ClosedError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    ReadOnlyError,
    TooLargeError,
    WrongTypeError,
)

IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
CALL = {"name": "weather", "args": {"city": "Łódź", "days": [1, 2.5, None]}, "id": "call-1"}

EVERY_TYPE = [
    HumanMessage("What is the weather? ☔", id="h1", name="ann"),
    HumanMessage([{"type": "text", "text": "What is this?"}, IMAGE, "a plain text block"]),
    AIMessage(
        "",
        id="a1",
        tool_calls=[CALL],
        invalid_tool_calls=[{"name": "weather", "args": "{", "id": "call-2", "error": "cut off"}],
        usage_metadata={
            "input_tokens": 3,
            "output_tokens": 4,
            "total_tokens": 7,
            "input_token_details": {"cache_read": 1},
        },
        response_metadata={"model_name": "m", "logprobs": [[-0.25, 1e-300], None]},
    ),
    AIMessage(
        "",
        additional_kwargs={
            "tool_calls": [
                {"id": "1", "function": {"name": "f", "arguments": '{"x": 1}'}, "type": "function"}
            ],
            "reasoning_content": "because",
        },
    ),
    AIMessage(
        [
            {"type": "reasoning", "reasoning": "It rains.", "extras": {"signature": "s"}},
            {"type": "text", "text": "It rains.", "annotations": [{"type": "citation"}]},
            {"type": "tool_call", **CALL},
        ],
        tool_calls=[CALL],
        response_metadata={"output_version": "v1"},
    ),
    ToolMessage("13 °C", tool_call_id="call-1", id="t1", artifact={"degrees": [13, -(2**60)]}),
    ToolMessage([IMAGE], tool_call_id="call-2", status="error", name="weather"),
    SystemMessage("Be brief.", additional_kwargs={"cache": {"type": "ephemeral"}}),
    FunctionMessage(content="4", name="add", id="f1"),
    ChatMessage(content="Attention, please.", role="announcer"),
    RemoveMessage(id="gone"),
    AIMessageChunk(
        content="It r",
        tool_call_chunks=[{"name": "weather", "args": '{"city": "Ł', "id": "c", "index": 0}],
    ),
    AIMessageChunk(content="ains.", chunk_position="last"),
    HumanMessageChunk(content="What"),
    SystemMessageChunk(content="Be"),
    ToolMessageChunk(content="13", tool_call_id="call-1"),
    FunctionMessageChunk(content="4", name="add"),
    ChatMessageChunk(content="Attention", role="announcer"),
    HumanMessage(""),
    HumanMessage(" \n\t"),
    HumanMessage([]),
    HumanMessage("-"),
    HumanMessage("line one\nline two\u2028line three\r\n"),
    HumanMessage("more than LangChain knows", score=0.5, seen=[True]),
]


@pytest.fixture
def history(memory: Memory) -> PlugmemChatMessageHistory:
    return PlugmemChatMessageHistory(memory, "s1")


def contents(history: PlugmemChatMessageHistory) -> list[Any]:
    return [message.content for message in history.messages]


# -- round trips


@pytest.mark.parametrize("message", EVERY_TYPE, ids=lambda message: type(message).__name__)
def test_a_message_of_any_type_comes_back_equal(
    history: PlugmemChatMessageHistory, message: BaseMessage
) -> None:
    history.add_messages([message])
    [read] = history.messages
    assert type(read) is type(message)
    assert read == message
    assert read.model_dump() == message.model_dump()


async def test_a_whole_conversation_comes_back_from_a_reopened_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "chat.plugmem") as memory:
        PlugmemChatMessageHistory(memory, "s1").add_messages(EVERY_TYPE)
    with Memory.open(tmp_path / "chat.plugmem") as memory:
        history = PlugmemChatMessageHistory(memory, "s1")
        assert history.messages == EVERY_TYPE
        assert await history.aget_messages() == EVERY_TYPE


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts.filter(bool), inner, max_size=3)
    ),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
blocks = (
    texts
    | json_objects
    | st.builds(lambda text: {"type": "text", "text": text}, texts)
    | st.builds(lambda text: {"type": "reasoning", "reasoning": text}, texts)
    | st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, texts)
)
common: dict[str, Any] = {
    "content": texts | st.lists(blocks, max_size=4),
    "additional_kwargs": json_objects,
    "response_metadata": json_objects,
    "name": st.none() | texts,
}
calls = st.lists(
    st.fixed_dictionaries({"name": texts, "args": json_objects, "id": st.none() | texts}),
    max_size=2,
)
broken_calls = st.lists(
    st.fixed_dictionaries(
        {"name": texts, "args": texts, "id": st.none() | texts, "error": st.none() | texts}
    ),
    max_size=2,
)
usage = st.fixed_dictionaries(
    {name: st.integers(0, 99) for name in ("input_tokens", "output_tokens", "total_tokens")}
)
messages = st.one_of(
    st.builds(HumanMessage, **common),
    st.builds(SystemMessage, **common),
    st.builds(
        AIMessage,
        tool_calls=calls,
        invalid_tool_calls=broken_calls,
        usage_metadata=st.none() | usage,
        **common,
    ),
    st.builds(
        ToolMessage,
        tool_call_id=texts,
        artifact=json_values,
        status=st.sampled_from(["success", "error"]),
        **common,
    ),
    st.builds(FunctionMessage, **common | {"name": texts}),
    st.builds(ChatMessage, role=texts, **common),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(messages, max_size=5))
@example([HumanMessage("yes"), HumanMessage("yes")])
def test_any_messages_come_back_equal_and_in_order(said: list[BaseMessage]) -> None:
    said = [
        message.model_copy(update={"id": f"{place}"}) if place % 2 else message
        for place, message in enumerate(said)
    ]
    with Memory.open(":memory:") as memory:
        history = PlugmemChatMessageHistory(memory, "s1")
        history.add_messages(said)
        assert history.messages == said


def test_changing_a_message_changes_nothing_that_is_stored(
    history: PlugmemChatMessageHistory,
) -> None:
    message = HumanMessage("hello", additional_kwargs={"list": [1]})
    history.add_messages([message])
    message.additional_kwargs["list"].append(2)
    history.messages[0].additional_kwargs["list"].append(3)
    assert history.messages == [HumanMessage("hello", additional_kwargs={"list": [1]})]


# -- as facts


def test_a_message_is_one_fact_in_the_namespace_of_its_session(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages([HumanMessage("hello", id="h1"), AIMessage("hi")])
    first, second = memory.list_facts()
    assert first.text == "hello"
    assert first.tags == ("human",)
    assert first.namespace == ("chat", "s1")
    assert first.key == "h1"
    assert first.metadata["type"] == "human"
    assert "content" not in first.metadata["data"]  # it is the text
    assert second.tags == ("ai",)
    assert second.key is not None
    assert UUID(second.key)


def test_recall_over_the_memory_finds_what_was_said(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages(
        [
            HumanMessage("The gate code is 4711"),
            HumanMessage([{"type": "text", "text": "a photo of the heater"}, IMAGE]),
            ToolMessage("thirteen degrees", tool_call_id="1"),
        ]
    )
    for question in ("gate code", "photo", "thirteen"):
        assert len(memory.recall(question, namespace=("chat",)).facts) == 1


@pytest.mark.parametrize("content", ["", "  \n", [], [IMAGE], [{"type": "text", "text": " "}]])
def test_a_message_without_words_is_found_by_none_and_not_embedded(content: Any) -> None:
    embedded: list[str] = []

    class Noting(HashingEmbedder):
        def embed_documents(self, texts: Any) -> Any:
            embedded.extend(texts)
            return super().embed_documents(texts)

    memory = Memory.open(":memory:", embedder=Noting(dim=16))
    history = PlugmemChatMessageHistory(memory, "s1")
    history.add_messages([HumanMessage(content)])
    stats = memory.stats()
    assert (embedded, stats.terms, stats.vectors, stats.pending) == ([], 0, 0, 0)
    history.add_user_message("- human")
    assert [fact.text for fact in memory.recall("- human").facts] == ["- human"]
    assert contents(history) == [content, "- human"]


def test_other_facts_of_the_namespace_are_no_messages_and_stay(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    memory.remember("Ann prefers tea", namespace=("chat", "s1"), metadata={"type": "taste"})
    history.add_user_message("hello")
    assert contents(history) == ["hello"]
    history.clear()
    assert [fact.text for fact in memory.list_facts()] == ["Ann prefers tea"]


# -- the log


def test_equal_texts_stay_as_many_messages_as_were_said(
    history: PlugmemChatMessageHistory,
) -> None:
    history.add_messages([HumanMessage("yes"), AIMessage("yes"), HumanMessage("yes")])
    history.add_user_message("yes")
    assert contents(history) == ["yes"] * 4


def test_messages_of_one_user_and_one_machine_are_added_by_the_inherited_methods(
    history: PlugmemChatMessageHistory,
) -> None:
    history.add_user_message("hello")
    history.add_ai_message(AIMessage("hi", id="a1"))
    history.add_message(SystemMessage("Be brief."))
    assert history.messages == [
        HumanMessage("hello"),
        AIMessage("hi", id="a1"),
        SystemMessage("Be brief."),
    ]
    assert str(history) == "Human: hello\nAI: hi\nSystem: Be brief."


def test_a_message_added_again_changes_nothing(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    said = [HumanMessage("one", id="1"), AIMessage("two", id="2")]
    history.add_messages(said)
    history.add_messages([*said, HumanMessage("three", id="3")])
    assert contents(history) == ["one", "two", "three"]
    assert memory.stats().facts == 3


def test_a_message_with_a_known_id_takes_the_place_of_the_first(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages([HumanMessage(text, id=text) for text in ("one", "two", "three")])
    history.add_messages([AIMessage("zwei", id="two")])
    history.add_messages([HumanMessage("four"), HumanMessage("deux", id="two", name="ann")])
    assert history.messages == [
        HumanMessage("one", id="one"),
        HumanMessage("deux", id="two", name="ann"),
        HumanMessage("three", id="three"),
        HumanMessage("four"),
    ]
    current = memory.list_facts(key="two")[0]
    assert [fact.text for fact in memory.history(current.id)] == ["two", "zwei", "deux"]
    memory.maintain()
    assert contents(history) == ["one", "deux", "three", "four"]


def test_of_two_messages_with_one_id_in_one_call_the_later_holds(
    history: PlugmemChatMessageHistory,
) -> None:
    history.add_messages(
        [HumanMessage("one", id="1"), HumanMessage("two"), HumanMessage("uno", id="1")]
    )
    assert contents(history) == ["uno", "two"]


def test_the_message_that_removes_another_does_not_replace_it(
    history: PlugmemChatMessageHistory,
) -> None:
    said = [HumanMessage("one", id="1"), RemoveMessage(id="1"), RemoveMessage(id="1")]
    history.add_messages(said)
    assert history.messages == said


def test_an_empty_id_is_none(history: PlugmemChatMessageHistory) -> None:
    history.add_messages([HumanMessage("one", id=""), HumanMessage("two", id="")])
    assert history.messages == [HumanMessage("one", id=""), HumanMessage("two", id="")]


def test_equal_ids_in_two_sessions_are_two_messages(memory: Memory) -> None:
    first, second = (PlugmemChatMessageHistory(memory, name) for name in "ab")
    first.add_messages([HumanMessage("one", id="1")])
    second.add_messages([HumanMessage("uno", id="1")])
    assert (contents(first), contents(second)) == (["one"], ["uno"])


def test_a_message_revised_or_forgotten_through_the_memory_is_so_here(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages([HumanMessage(text) for text in ("one", "two", "three")])
    one, two, _ = memory.list_facts()
    memory.revise(one.id, "uno")
    memory.forget(two.id)
    assert contents(history) == ["uno", "three"]


def test_a_message_that_ended_is_gone_and_its_older_versions_with_it(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages([HumanMessage(text, id=text) for text in ("one", "two", "three")])
    history.add_messages([HumanMessage("uno", id="one"), HumanMessage("due", id="two")])
    memory.end(memory.list_facts(key="one")[0].id)
    memory.forget(memory.list_facts(key="two")[0].id)
    assert contents(history) == ["three"]


async def test_a_log_of_many_pages_is_read_whole_and_in_order(
    history: PlugmemChatMessageHistory,
) -> None:
    said = [HumanMessage(f"message {place}", id=str(place)) for place in range(2_500)]
    for start in range(0, 2_500, 500):
        history.add_messages(said[start : start + 500])
    said[10] = HumanMessage("replaced late", id="10")
    history.add_messages([said[10]])
    assert history.messages == said
    assert await history.aget_messages() == said
    history.clear()
    assert history.messages == []


def test_a_clock_set_back_hides_and_reorders_nothing(
    clock: Clock, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages([HumanMessage("one", id="1")])
    clock.now -= HOUR
    history.add_messages([HumanMessage("two", id="2")])
    history.add_messages([HumanMessage("uno", id="1")])
    assert contents(history) == ["uno", "two"]
    history.clear()
    assert history.messages == []


def test_adding_nothing_adds_nothing(history: PlugmemChatMessageHistory) -> None:
    history.add_messages([])
    assert history.messages == []


# -- clearing


async def test_clear_forgets_replaced_versions_too(
    memory: Memory, history: PlugmemChatMessageHistory
) -> None:
    history.add_messages([HumanMessage("one", id="1"), HumanMessage("two")])
    history.add_messages([HumanMessage("uno", id="1")])
    await history.aclear()
    assert history.messages == []
    assert list(memory.list_facts(closed=True)) == []
    assert memory.maintain().purged == 3


def test_a_cleared_session_begins_anew(history: PlugmemChatMessageHistory) -> None:
    history.clear()
    history.add_messages([HumanMessage("one", id="1"), HumanMessage("two", id="2")])
    history.clear()
    history.clear()
    history.add_messages([HumanMessage("deux", id="2"), HumanMessage("un", id="1")])
    assert contents(history) == ["deux", "un"]


# -- sessions


NEIGHBOURS = ["a", "A", "a/b", "ab", "%", "_", "a%", "á", "a.b", "*", " a", "chat", "ä" * 512]


def test_sessions_with_similar_names_have_nothing_in_common(memory: Memory) -> None:
    histories = {name: PlugmemChatMessageHistory(memory, name) for name in NEIGHBOURS}
    for name, history in histories.items():
        history.add_user_message(name)
    for name, history in histories.items():
        assert contents(history) == [name]
    for place, name in enumerate(NEIGHBOURS):
        histories[name].clear()
        left = [one for one in NEIGHBOURS if contents(histories[one])]
        assert left == NEIGHBOURS[place + 1 :]


def test_what_lies_below_or_above_a_session_is_another(memory: Memory) -> None:
    above, session, below = (
        PlugmemChatMessageHistory(memory, "chat", namespace=()),
        PlugmemChatMessageHistory(memory, "a"),
        PlugmemChatMessageHistory(memory, "b", namespace=("chat", "a")),
    )
    for name, history in (("above", above), ("session", session), ("below", below)):
        history.add_messages([HumanMessage(name, id="1")])
    assert [contents(one) for one in (above, session, below)] == [["above"], ["session"], ["below"]]
    session.clear()
    assert [contents(one) for one in (above, session, below)] == [["above"], [], ["below"]]
    above.clear()
    assert [contents(one) for one in (above, session, below)] == [[], [], ["below"]]


labels = st.sampled_from(["a", "b", "a%", "a/b"])
paths = st.lists(labels, min_size=1, max_size=3).map(tuple)


@settings(max_examples=40, deadline=None)
@given(st.lists(paths, min_size=2, max_size=5, unique=True), st.data())
def test_no_session_reads_or_clears_another(
    sessions: Sequence[tuple[str, ...]], data: st.DataObject
) -> None:
    with Memory.open(":memory:") as memory:
        histories = {
            path: PlugmemChatMessageHistory(memory, path[-1], namespace=path[:-1])
            for path in sessions
        }
        expected: dict[tuple[str, ...], list[str]] = {path: [] for path in sessions}
        for place, path in enumerate(data.draw(st.lists(st.sampled_from(sessions), max_size=8))):
            if place % 4 == 3:
                histories[path].clear()
                expected[path] = []
            else:
                histories[path].add_user_message(f"{path} {place}")
                expected[path].append(f"{path} {place}")
        assert {path: contents(history) for path, history in histories.items()} == expected


@pytest.mark.parametrize(
    ("session_id", "reason"),
    [
        ("", "is empty"),
        ("a\0", "NUL"),
        ("\ud800", "lone surrogate"),
        ("x" * 1_025, "over the limit of 1024"),
        (None, "give a str"),
        (7, "give a str"),
    ],
)
def test_a_session_id_that_is_no_label_is_refused(
    memory: Memory, session_id: Any, reason: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"session_id .*{reason}"):
        PlugmemChatMessageHistory(memory, session_id)


def test_other_arguments_are_checked_at_once(memory: Memory) -> None:
    with pytest.raises(WrongTypeError, match=r"memory is 'chat\.db'"):
        PlugmemChatMessageHistory("chat.db", "s1")
    with pytest.raises(WrongTypeError, match="namespace is 'chat'"):
        PlugmemChatMessageHistory(memory, "s1", namespace="chat")


# -- what cannot be stored


class Thing:
    """No JSON can hold it."""


class PersonalMessage(HumanMessage):
    """LangChain cannot read its class back."""


def tool(artifact: Any) -> ToolMessage:
    return ToolMessage("found", tool_call_id="1", id="x", artifact=artifact)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (tool(Thing()), "'artifact' is .*Thing.*, which JSON cannot hold"),
        (tool({"when": datetime(2024, 5, 1, tzinfo=UTC)}), "'when' is .*JSON cannot hold"),
        (tool({"bytes": b"hi"}), "'bytes' is b'hi'.*JSON cannot hold"),
        (tool({1: "one"}), "give text keys"),
        (tool([float("nan")]), "nan, which JSON cannot hold"),
        (tool(("a", "tuple")), "artifact would not come back equal"),
        (tool([Document("a page")]), "artifact would not come back equal"),
        (HumanMessage("x", id="x", when=(1,)), "when would not come back equal"),
        (PersonalMessage(content="x", id="x"), "PersonalMessage would not come back equal"),
        (BaseMessage("x", id="x", type="human"), "BaseMessage would not come back equal"),
        (BaseMessage("x", id="x", type="stranger"), "stranger"),
        (HumanMessage("a\0b", id="x"), "NUL"),
        (HumanMessage("\udc80", id="x"), "lone surrogate"),
        (AIMessage("", id="x", response_metadata={"a\0": 1}), "NUL"),
        (HumanMessage("hello", id=" "), "blank"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_what_would_not_come_back_equal_is_refused_and_nothing_is_written(
    memory: Memory, history: PlugmemChatMessageHistory, message: BaseMessage, reason: str
) -> None:
    said = [HumanMessage("hello"), message, HumanMessage("bye")]
    with pytest.raises(InvalidInputError, match=rf"(?s)messages\[1\] \(.*\): .*{reason}"):
        history.add_messages(said)
    with pytest.raises(InvalidInputError, match=rf"messages\[1\] \({message.type} '"):
        await history.aadd_messages(said)
    assert memory.stats().facts == 0


def test_an_artifact_that_holds_itself_is_refused(history: PlugmemChatMessageHistory) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInputError, match=r"messages\[0\] \(tool 'x'\)"):
        history.add_messages([tool(loop)])


@pytest.mark.parametrize("given", ["hello", {"type": "human"}, ("human", "hello"), None, 5])
def test_what_is_no_message_is_refused(
    memory: Memory, history: PlugmemChatMessageHistory, given: Any
) -> None:
    with pytest.raises(WrongTypeError, match=r"messages\[1\] is .*give a message"):
        history.add_messages([HumanMessage("hello"), given])
    assert memory.stats().facts == 0


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        (HumanMessage("x" * 400, id="long"), "text has 400 bytes.* limit of 300.*max_text"),
        (tool(["y" * 400]), "message has .* bytes.* limit of 350.*max_metadata"),
    ],
)
def test_a_long_message_is_refused_with_the_remedy(message: BaseMessage, limit: str) -> None:
    memory = Memory.open(":memory:", config=MemoryConfig(max_text=300, max_metadata=350))
    history = PlugmemChatMessageHistory(memory, "s1")
    with pytest.raises(TooLargeError, match=rf"messages\[1\] \({message.type} .*{limit}"):
        history.add_messages([HumanMessage("hello"), message])
    assert memory.stats().facts == 0
    wider = Memory.open(":memory:", config=MemoryConfig(max_text=400, max_metadata=700))
    history = PlugmemChatMessageHistory(wider, "s1")
    history.add_messages([message])
    assert history.messages == [message]


async def test_a_write_that_fails_raises_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Memory.open(tmp_path / "chat.plugmem").close()
    reader = Memory.open(tmp_path / "chat.plugmem", read_only=True)
    history = PlugmemChatMessageHistory(reader, "s1")
    with pytest.raises(ReadOnlyError):
        history.add_user_message("hello")
    with pytest.raises(ReadOnlyError):
        await history.aadd_messages([HumanMessage("hello")])
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2
    assert "session 's1'" in caplog.text
    assert history.messages == []
    reader.close()
    with pytest.raises(ClosedError):
        history.add_user_message("hello")
    with pytest.raises(ClosedError):
        _ = history.messages


# -- at the same time


def turns(worker: int) -> list[list[BaseMessage]]:
    return [
        [HumanMessage(f"{worker}.{turn} asked"), AIMessage(f"{worker}.{turn} answered")]
        for turn in range(15)
    ]


def check_turns(read: list[BaseMessage], workers: int) -> None:
    said = [str(message.content) for message in read]
    pairs = list(zip(said[::2], said[1::2], strict=True))
    assert all(asked.split()[0] == answered.split()[0] for asked, answered in pairs)
    for worker in range(workers):
        own = [asked for asked, _ in pairs if asked.startswith(f"{worker}.")]
        assert own == [f"{worker}.{turn} asked" for turn in range(15)]
    assert len(pairs) == 15 * workers


def test_threads_and_handles_lose_no_turn_and_split_none(tmp_path: Path) -> None:
    handles = [Memory.open(tmp_path / "chat.plugmem") for _ in range(2)]
    histories = [PlugmemChatMessageHistory(handles[place % 2], "s1") for place in range(6)]
    start = threading.Barrier(len(histories))

    def work(worker: int) -> None:
        start.wait()
        for turn in turns(worker):
            histories[worker].add_messages(turn)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(histories))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = (history.messages for history in histories[:2])
    check_turns(first, len(histories))
    assert first == second
    for handle in handles:
        handle.close()


async def test_tasks_lose_no_turn_and_split_none(history: PlugmemChatMessageHistory) -> None:
    async def work(worker: int) -> None:
        for turn in turns(worker):
            await history.aadd_messages(turn)

    await asyncio.gather(*map(work, range(6)))
    check_turns(await history.aget_messages(), 6)


async def test_the_event_loop_runs_on_while_messages_are_embedded() -> None:
    loop_ran = threading.Event()

    class Waiting(HashingEmbedder):
        def embed_documents(self, texts: Any) -> Any:
            assert loop_ran.wait(timeout=60)
            return super().embed_documents(texts)

    memory = Memory.open(":memory:", embedder=Waiting(dim=16))
    history = PlugmemChatMessageHistory(memory, "s1")
    asyncio.get_running_loop().call_soon(loop_ran.set)
    await history.aadd_messages([HumanMessage("green tea")])
    assert await history.aget_messages() == [HumanMessage("green tea")]


async def test_an_async_embedder_is_awaited_in_the_loop_of_the_caller() -> None:
    loops = []

    class Async(HashingEmbedder):
        async def aembed_documents(self, texts: Any) -> Any:
            loops.append(asyncio.get_running_loop())
            return self.embed_documents(texts)

        async def aembed_query(self, text: str) -> Any:
            return self.embed_query(text)

    memory = Memory.open(":memory:", embedder=Async(dim=16))
    await PlugmemChatMessageHistory(memory, "s1").aadd_messages([HumanMessage("green tea")])
    assert loops == [asyncio.get_running_loop()]


# -- in a chain


# The class warns of its own deprecation; it is still what many chains run on.
with_history = pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")

PROMPT = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])


def remembering(memory: Memory, chain: Runnable[Any, Any]) -> RunnableWithMessageHistory:
    return RunnableWithMessageHistory(
        chain,
        lambda session_id: PlugmemChatMessageHistory(memory, session_id),
        input_messages_key="input",
        history_messages_key="history",
    )


def session(name: str) -> Any:
    return {"configurable": {"session_id": name}}


@with_history
async def test_a_chain_with_history_goes_on_in_a_reopened_file(tmp_path: Path) -> None:
    prompts = []

    def answer(prompt: Any) -> AIMessage:
        prompts.append([message.content for message in prompt.to_messages()])
        return AIMessage(f"answer {len(prompts)}", tool_calls=[CALL])

    with Memory.open(tmp_path / "chat.plugmem") as memory:
        chain = remembering(memory, PROMPT | RunnableLambda(answer))
        chain.invoke({"input": "one"}, session("s1"))
        await chain.ainvoke({"input": "two"}, session("s1"))
        chain.invoke({"input": "elsewhere"}, session("s2"))
    with Memory.open(tmp_path / "chat.plugmem") as memory:
        chain = remembering(memory, PROMPT | RunnableLambda(answer))
        await chain.ainvoke({"input": "three"}, session("s1"))
        history = PlugmemChatMessageHistory(memory, "s1")
        assert contents(history) == ["one", "answer 1", "two", "answer 2", "three", "answer 4"]
        assert history.messages[1] == AIMessage("answer 1", tool_calls=[CALL])
    assert prompts == [
        ["one"],
        ["one", "answer 1", "two"],
        ["elsewhere"],
        ["one", "answer 1", "two", "answer 2", "three"],
    ]


@with_history
async def test_a_model_alone_keeps_its_messages_as_history(memory: Memory) -> None:
    model = FakeListChatModel(responses=["first", "second"])
    chain = RunnableWithMessageHistory(
        model, lambda session_id: PlugmemChatMessageHistory(memory, session_id)
    )
    chain.invoke([HumanMessage("one")], session("s1"))
    await chain.ainvoke([HumanMessage("two", id="2")], session("s1"))
    history = PlugmemChatMessageHistory(memory, "s1")
    assert contents(history) == ["one", "first", "two", "second"]
    assert history.messages[2].id == "2"


@with_history
async def test_turns_of_one_session_at_the_same_time_are_all_kept(memory: Memory) -> None:
    all_began = asyncio.Barrier(4)

    async def answer(prompt: Any) -> AIMessage:
        await all_began.wait()
        return AIMessage(f"to {prompt.to_messages()[-1].content}")

    chain = remembering(memory, PROMPT | RunnableLambda(answer))
    asked = ["one", "two", "three", "four"]
    await asyncio.gather(*(chain.ainvoke({"input": one}, session("s1")) for one in asked))
    said = contents(PlugmemChatMessageHistory(memory, "s1"))
    assert sorted(said[::2]) == sorted(asked)
    assert said[1::2] == [f"to {one}" for one in said[::2]]


@with_history
def test_a_turn_that_cannot_be_stored_is_logged_as_an_error(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    chain = remembering(memory, PROMPT | RunnableLambda(lambda _: AIMessage("a\0b")))
    chain.invoke({"input": "one"}, session("s1"))  # LangChain swallows the error
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "session 's1'" in record.message
    assert "NUL" in record.message
    assert memory.stats().facts == 0


def test_many_handles_see_each_message_at_once(open_memory: OpenMemory, tmp_path: Path) -> None:
    histories = [
        PlugmemChatMessageHistory(open_memory(tmp_path / "chat.plugmem"), "s1") for _ in range(2)
    ]
    for place in range(6):
        histories[place % 2].add_user_message(str(place))
        assert contents(histories[0]) == contents(histories[1]) == list("012345")[: place + 1]
