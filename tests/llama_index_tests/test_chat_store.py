"""`PlugmemChatStore`: messages come back equal and in order, as from LlamaIndex's own store."""

import asyncio
import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from clocks import HOUR, Clock
from conftest import OpenMemory
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.schema import ImageDocument
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from pydantic import BaseModel, ValidationError

from llama_index_plugmem import PlugmemChatStore
from plugmem_core import (
    ClosedError,
    HashingEmbedder,
    InvalidInputError,
    Memory,
    MemoryConfig,
    NotFoundError,
    ReadOnlyError,
    TooLargeError,
    WrongTypeError,
)

ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED
PNG = b"\x89PNG\r\n\x1a\n"

EVERY_KIND = [
    ChatMessage("What is the weather? ☔", role="user"),
    ChatMessage("first line\nsecond line", role="assistant"),
    ChatMessage("", role="assistant"),
    ChatMessage(" \n ", role="user"),
    ChatMessage("-", role="user"),
    ChatMessage(role="assistant"),
    ChatMessage(role="user", blocks=[TextBlock(text="one"), TextBlock(text="two")]),
    ChatMessage(
        role="assistant",
        blocks=[
            ThinkingBlock(content="hm", num_tokens=3, additional_information={"signature": "abc"}),
            TextBlock(text="Let me look"),
            ToolCallBlock(
                tool_call_id="call-1", tool_name="weather", tool_kwargs={"days": [1, 2.5, None]}
            ),
            ToolCallBlock(tool_name="weather", tool_kwargs='{"city": "Łódź'),
        ],
    ),
    ChatMessage("sunny", role="tool", additional_kwargs={"tool_call_id": "call-1"}),
    ChatMessage(
        role="assistant",
        additional_kwargs={"tool_calls": [{"id": "1", "function": {"name": "f"}}], "n": 2**60},
    ),
    ChatMessage("legacy", role="function", additional_kwargs={"name": "weather"}),
    ChatMessage("You are a pirate", role="system"),
    ChatMessage("Answer in verse", role="developer"),
    ChatMessage("hello", role="chatbot"),
    ChatMessage("hello", role="model"),
    ChatMessage(
        role="user",
        blocks=[
            TextBlock(text="What is this?"),
            ImageBlock(image=PNG, detail="low"),
            ImageBlock(url="https://example.org/cat.png"),
            AudioBlock(audio=b"RIFF....WAVEfmt "),
            VideoBlock(video=b"....ftypmp42", fps=2),
            DocumentBlock(data=b"%PDF-1.4 ", title="report"),
            DocumentBlock(path="elsewhere.pdf"),
            CachePoint(cache_control=CacheControl(type="ephemeral")),
            CitableBlock(title="t", source="s", content=[TextBlock(text="q"), ImageBlock()]),
            CitationBlock(
                cited_content="c", source="s", title="t", additional_location_info={"page": 1}
            ),
        ],
    ),
]


class Verse(ChatMessage):
    """A kind of message that only its author knows."""


class Called(BaseModel):
    """What a provider's package puts into a message."""

    id: str
    arguments: str


@pytest.fixture
def store(memory: Memory) -> PlugmemChatStore:
    return PlugmemChatStore(memory)


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


async def texts(store: AsyncDBChatStore, key: str = "ann", **options: Any) -> list[str | None]:
    return [message.content for message in await store.get_messages(key, **options)]


# -- the mapping


async def test_every_kind_of_message_comes_back_equal_from_another_handle(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "chat.plugmem"
    await PlugmemChatStore(open_memory(path)).add_messages("ann", EVERY_KIND)
    assert await PlugmemChatStore(Memory.open(path)).get_messages("ann") == EVERY_KIND


async def test_a_file_that_a_message_names_may_be_gone_when_it_is_read(
    store: PlugmemChatStore, tmp_path: Path
) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(PNG)
    blocks = [
        ImageBlock(path=picture),
        DocumentBlock(path=picture),
        CitableBlock(title="t", source="s", content=[ImageBlock(path=picture)]),
    ]
    message = ChatMessage(role="user", blocks=blocks)
    await store.add_message("ann", message)
    picture.unlink()
    assert await store.get_messages("ann") == [message]


async def test_models_of_providers_come_back_as_the_dictionaries_they_dump_to(
    store: PlugmemChatStore,
) -> None:
    call = Called(id="1", arguments="{}")
    message = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]})
    await store.add_message("ann", message)
    [read] = await store.get_messages("ann")
    assert read.additional_kwargs == {"tool_calls": [{"id": "1", "arguments": "{}"}]}
    assert message.additional_kwargs == {"tool_calls": [call]}


async def test_equal_texts_are_as_many_messages_as_were_said(store: PlugmemChatStore) -> None:
    await store.add_messages("ann", [user("yes"), user("yes")])
    await store.add_message("ann", user("yes"))
    assert await texts(store) == ["yes", "yes", "yes"]


def broken_images() -> ChatMessage:
    message = user("look")
    message.additional_kwargs = {"images": [ImageDocument(image="aGk=")]}
    return message


def circular() -> ChatMessage:
    extra: dict[str, Any] = {}
    extra["self"] = extra
    message = user("round and round")
    message.additional_kwargs = extra
    return message


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("hello", WrongTypeError),
        (None, WrongTypeError),
        (ChatMessage("x", additional_kwargs={"call": object()}), InvalidInputError),
        (ChatMessage("x", additional_kwargs={"lock": threading.Lock()}), InvalidInputError),
        (ChatMessage("x", additional_kwargs={"huge": 10**5_000}), InvalidInputError),
        (ChatMessage("x", additional_kwargs={"half of a key \ud800": 1}), InvalidInputError),
        (ChatMessage(role="user", blocks=[ImageBlock(image=io.BytesIO(PNG))]), InvalidInputError),
        (
            ChatMessage(blocks=[ToolCallBlock(tool_name="f", tool_kwargs={"raw": b"\xff"})]),
            InvalidInputError,
        ),
        (broken_images(), InvalidInputError),
        (circular(), InvalidInputError),
    ],
)
async def test_what_llama_index_cannot_store_either_is_refused_with_all_it_was_given_with(
    store: PlugmemChatStore, message: Any, error: type[Exception]
) -> None:
    await store.add_message("ann", user("before"))
    for write in (store.add_messages, store.set_messages):
        with pytest.raises(error, match=r"messages\[1\]"):
            await write("ann", [user("x" * 100_000), message])
    assert await texts(store) == ["before"]
    assert values_in(store.memory, "ann") == 0


async def test_an_error_of_size_says_what_to_open_the_memory_with(
    open_memory: OpenMemory,
) -> None:
    picture = ChatMessage(role="user", blocks=[ImageBlock(image=b"\xff" * 100_000)])
    small = PlugmemChatStore(open_memory(config=MemoryConfig(max_value=100_000)))
    with pytest.raises(TooLargeError, match=r"messages\[0\] \(user\).*larger max_value"):
        await small.add_message("ann", picture)
    assert await small.get_messages("ann") == []
    tiny = PlugmemChatStore(open_memory(config=MemoryConfig(max_text=10, max_metadata=200)))
    await tiny.add_messages("ann", [user("eleven byte"), picture])
    assert await tiny.get_messages("ann") == [user("eleven byte"), picture]


# -- messages that no fact can hold


def values_in(memory: Memory, key: str, *above: str) -> int:
    """Return how many messages are kept beside the facts."""
    return len(memory.get_values("_plugmem_messages", namespace=(*(above or ("chat",)), key)))


ODD = [
    ChatMessage("word " * 20_000, role="tool", additional_kwargs={"tool_call_id": "1"}),
    ChatMessage("PK\x00\x03\x1f\x7f", role="tool"),
    ChatMessage("caf\udce9.txt", role="tool"),
    ChatMessage("\ud83d\ude00 in two halves, \x01d83d, \\ud83d, 😀", role="assistant"),
    ChatMessage("\x00", role="user"),
    ChatMessage("Be kind " * 10_000, role="system"),
    ChatMessage("é" * 40_000, role="user"),
    ChatMessage(" " * 70_000 + "x", role="user"),
    ChatMessage(role="user", blocks=[TextBlock(text="x" * 50_000), TextBlock(text="y\0")]),
    ChatMessage(role="user", blocks=[TextBlock(text="Look"), ImageBlock(image=b"\xff" * 300_000)]),
    ChatMessage("x", additional_kwargs={"\x00": "\x00", "half": ["\udfff"], "deep": [[[[{}]]]]}),
    ChatMessage(blocks=[ToolCallBlock(tool_name="f", tool_kwargs={"file": "\x00\udc80"})]),
]


async def test_messages_of_any_size_and_any_characters_come_back_equal(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "chat.plugmem"
    said = [message for odd in ODD for message in (odd, user("between"))]
    await PlugmemChatStore(open_memory(path)).add_messages("ann", said)
    other = PlugmemChatStore(open_memory(path))
    assert await other.get_messages("ann") == said
    assert await other.get_messages("ann", limit=2, offset=4) == said[4:6]
    assert open_memory(path).verify().problems == ()


async def test_what_json_cannot_hold_comes_back_as_llama_indexs_own_store_gives_it(
    store: PlugmemChatStore,
) -> None:
    extra = {
        "point": (1, (2, 3)),
        "signatures": [b"\xfb\xff", {"raw": b"bytes"}],
        "at": datetime(2024, 5, 1, 12, tzinfo=UTC),
        "id": UUID(int=7),
        "labels": {"one"},
        "score": float("nan"),
        "pages": {1: "first"},
        "call": Called(id="1", arguments="{}"),
    }
    call = ToolCallBlock(tool_name="paint", tool_kwargs={"rgb": (1, 2, 3)})
    message = ChatMessage(role="assistant", blocks=[call], additional_kwargs=extra)
    theirs = SQLAlchemyChatStore(table_name="messages")
    for one in (store, theirs):
        await one.add_message("ann", message)
    [read] = await store.get_messages("ann")
    assert read.additional_kwargs == {
        "point": [1, [2, 3]],
        "signatures": ["+/8=", {"raw": "Ynl0ZXM="}],
        "at": "2024-05-01T12:00:00Z",
        "id": "00000000-0000-0000-0000-000000000007",
        "labels": ["one"],
        "score": None,
        "pages": {"1": "first"},
        "call": {"id": "1", "arguments": "{}"},
    }
    assert read.blocks == [ToolCallBlock(tool_name="paint", tool_kwargs={"rgb": [1, 2, 3]})]
    assert [read] == await theirs.get_messages("ann")
    assert theirs._async_engine is not None
    await theirs._async_engine.dispose()


async def test_bytes_are_base64_at_any_depth(store: PlugmemChatStore) -> None:
    class Signed(BaseModel):
        signature: bytes

    extra = {"in a tuple": (b"\xff",), "in a model": Signed(signature=b"\xff")}
    await store.add_message("ann", ChatMessage("x", additional_kwargs=extra))
    [read] = await store.get_messages("ann")
    assert read.additional_kwargs == {"in a tuple": ["/w=="], "in a model": {"signature": "/w=="}}


async def test_a_message_of_a_class_of_ones_own_comes_back_as_a_message(
    store: PlugmemChatStore,
) -> None:
    await store.add_message("ann", Verse(role="user", blocks=[TextBlock(text="roses are red")]))
    [read] = await store.get_messages("ann")
    assert type(read) is ChatMessage
    assert read == user("roses are red")


async def test_keys_keep_their_order(store: PlugmemChatStore) -> None:
    kwargs = {"zeta": 1, "alpha": {"b": 1, "a": 2}}
    call = ToolCallBlock(tool_name="f", tool_kwargs=kwargs)
    await store.add_message("ann", ChatMessage(blocks=[call], additional_kwargs=kwargs))
    [read] = await store.get_messages("ann")
    assert isinstance(read.blocks[0], ToolCallBlock)
    for found in (read.additional_kwargs, read.blocks[0].tool_kwargs):
        assert json.dumps(found) == '{"zeta": 1, "alpha": {"b": 1, "a": 2}}'


async def test_odd_messages_keep_their_place_and_are_replaced_archived_and_deleted_like_others(
    store: PlugmemChatStore, memory: Memory
) -> None:
    said = [user("one"), ODD[0], user("two"), ODD[6]]
    await store.set_messages("ann", said)
    before = memory.stats()
    await store.set_messages("ann", said)
    assert memory.stats() == before
    changed = ChatMessage("word " * 20_000 + "!", role="tool", additional_kwargs={"n": 1})
    await store.set_messages("ann", [said[0], changed, *said[2:]])
    assert await store.get_messages("ann") == [said[0], changed, *said[2:]]
    await store.set_messages("ann", said)
    assert await store.archive_oldest_messages("ann", 2) == said[:2]
    assert await store.get_messages("ann", status=ARCHIVED) == said[:2]
    assert await store.get_messages("ann", status=None) == said
    assert await store.delete_message("ann", 1) == ODD[6]
    assert await store.delete_oldest_messages("ann", 5) == [user("two")]
    assert await store.get_messages("ann", status=None) == said[:2]


@pytest.mark.parametrize(
    "delete",
    [
        lambda store: store.delete_messages("ann"),
        lambda store: store.delete_messages("ann", ACTIVE),
        lambda store: store.delete_oldest_messages("ann", 9),
        lambda store: store.set_messages("ann", [user("x")]),
        lambda store: store.delete_message("ann", 0),
    ],
)
async def test_what_is_kept_beside_a_fact_goes_with_it_and_nothing_else_does(
    store: PlugmemChatStore, memory: Memory, delete: Callable[[PlugmemChatStore], Any]
) -> None:
    for key in ("ann", "bob"):
        await store.add_message(key, ODD[0])
    memory.put_values("settings", {"theme": "dark"}, namespace=("chat", "ann"))
    await delete(store)
    assert (values_in(memory, "ann"), values_in(memory, "bob")) == (0, 1)
    assert await store.get_messages("bob") == [ODD[0]]
    assert memory.get_values("settings", namespace=("chat", "ann")) == {"theme": "dark"}


async def test_clearing_a_session_removes_what_facts_forgotten_by_hand_left(
    store: PlugmemChatStore, memory: Memory
) -> None:
    await store.add_messages("ann", [ODD[0], ODD[0]])
    memory.forget(0)
    assert await store.get_messages("ann") == [ODD[0]]
    await store.delete_messages("ann")
    assert values_in(memory, "ann") == 0


async def test_a_message_that_another_process_removes_while_it_is_read_is_left_out(
    open_memory: OpenMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.plugmem"
    memory, other = open_memory(path), PlugmemChatStore(open_memory(path))
    store = PlugmemChatStore(memory)
    await store.add_messages("ann", [ODD[0], user("stays"), ODD[0]])
    get_values = Memory.get_values

    def late(memory: Memory, *args: Any, **options: Any) -> dict[str, Any]:
        monkeypatch.undo()
        asyncio.run(other.delete_message("ann", 0))
        return get_values(memory, *args, **options)

    monkeypatch.setattr(Memory, "get_values", late)
    assert await store.get_messages("ann") == [user("stays"), ODD[0]]


async def test_recall_finds_the_words_of_odd_messages(
    store: PlugmemChatStore, memory: Memory
) -> None:
    await store.add_messages(
        "ann", [user("the plum\0 is caf\udce9"), user("quince " + "filler " * 20_000)]
    )
    assert [fact.text for fact in memory.recall("plum").facts] == ["the plum� is caf�"]
    [long] = memory.recall("quince", token_budget=None).facts
    assert long.text.startswith("quince filler")
    assert len(long.text) == 65_536


async def test_recall_finds_what_was_said_and_no_system_message(
    store: PlugmemChatStore, memory: Memory
) -> None:
    said = [ChatMessage("the secret codeword is plum", role="system"), user("I like plum cake")]
    await store.add_messages("ann", said)
    assert [fact.text for fact in memory.recall("plum").facts] == ["I like plum cake"]
    assert memory.recall("secret codeword").facts == ()


async def test_only_what_was_said_has_a_vector(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=HashingEmbedder(16))
    await PlugmemChatStore(memory).add_messages(
        "ann",
        [
            user("hello"),
            assistant("hi"),
            assistant(""),
            ChatMessage("prompt", role="system"),
            ChatMessage("42", role="tool"),
        ],
    )
    vectors = memory.vectors(range(5))
    assert [vector is not None for vector in vectors] == [True, True, False, False, False]
    assert memory.stats().pending == 0


# -- order, statuses, places


async def test_a_message_keeps_its_place_when_it_is_archived(
    store: PlugmemChatStore, clock: Clock
) -> None:
    await store.add_messages("ann", [user(text) for text in "abcd"])
    clock.tick(HOUR)
    archived = await store.archive_oldest_messages("ann", 2)
    await store.add_message("ann", user("e"))
    assert [message.content for message in archived] == ["a", "b"]
    assert await texts(store, status=None) == ["a", "b", "c", "d", "e"]
    assert await texts(store, status=ARCHIVED) == ["a", "b"]
    assert await texts(store) == ["c", "d", "e"]


async def test_a_clock_that_is_set_back_neither_hides_nor_moves_messages(
    store: PlugmemChatStore, clock: Clock
) -> None:
    await store.add_messages("ann", [user("a"), user("b")])
    clock.tick(-HOUR)
    await store.add_message("ann", user("c"))
    await store.archive_oldest_messages("ann", 1)
    assert await texts(store, status=None) == ["a", "b", "c"]
    assert await store.get_keys() == ["ann"]


async def test_a_message_is_deleted_by_its_place_among_the_active_ones(
    store: PlugmemChatStore,
) -> None:
    await store.add_message("bob", user("of somebody else"))
    await store.add_messages("ann", [user(text) for text in "abcd"])
    await store.archive_oldest_messages("ann", 1)
    deleted = await store.delete_message("ann", 1)
    assert deleted is not None
    assert deleted.content == "c"
    assert await store.delete_message("ann", 2) is None
    assert await store.delete_message("nobody", 0) is None
    assert await texts(store, status=None) == ["a", "b", "d"]


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.get_messages("ann", limit=-1),
        lambda store: store.get_messages("ann", offset=-1),
        lambda store: store.delete_message("ann", -1),
        lambda store: store.delete_oldest_messages("ann", -1),
        lambda store: store.archive_oldest_messages("ann", -1),
        lambda store: store.get_messages(""),
        lambda store: store.get_messages("k" * 1_025),
        lambda store: store.add_message(7, user("x")),
        lambda store: store.add_messages("ann", user("x")),
        lambda store: store.add_messages("ann", "x"),
        lambda store: store.set_messages("ann", {}),
        lambda store: store.set_messages("ann", set()),
        lambda store: store.set_messages("ann", b""),
        lambda store: store.set_messages("ann", ""),
        lambda store: store.set_messages("ann", None),
        lambda store: store.get_messages("ann", "active"),
        lambda store: store.add_message("ann", user("x"), None),
    ],
)
async def test_arguments_out_of_range_are_refused(
    store: PlugmemChatStore, call: Callable[[PlugmemChatStore], Any]
) -> None:
    await store.add_message("ann", user("a"))
    with pytest.raises(InvalidInputError):
        await call(store)
    assert await texts(store, status=None) == ["a"]


async def test_setting_what_is_there_already_writes_nothing(
    store: PlugmemChatStore, memory: Memory
) -> None:
    history = [user("a"), assistant("b"), *EVERY_KIND]
    await store.set_messages("ann", history)
    before = memory.stats()
    await store.set_messages("ann", history)
    assert memory.stats() == before
    await store.set_messages("ann", [*history[:2], user("c")])
    assert await texts(store) == ["a", "b", "c"]
    await store.set_messages("ann", [])
    assert await texts(store, status=None) == []


STATUSES = st.sampled_from([ACTIVE, ARCHIVED])
WORDS = st.sampled_from(["a", "b", "c"])
COUNTS = st.integers(0, 4)
OPERATIONS = st.one_of(
    st.tuples(st.just("add_message"), WORDS.map(user), STATUSES),
    st.tuples(st.just("add_messages"), st.lists(WORDS.map(user), min_size=1), STATUSES),
    st.tuples(st.just("set_messages"), st.lists(WORDS.map(user), max_size=3), STATUSES),
    st.tuples(st.just("delete_messages"), st.none() | STATUSES),
    st.tuples(st.just("delete_oldest_messages"), COUNTS),
    st.tuples(st.just("archive_oldest_messages"), COUNTS),
    st.tuples(st.just("count_messages"), st.none() | STATUSES),
    st.tuples(
        st.just("get_messages"), st.none() | STATUSES, st.none() | COUNTS, st.none() | COUNTS
    ),
)


@given(st.lists(st.tuples(st.sampled_from(["ann", "ann/2"]), OPERATIONS), max_size=12))
@settings(max_examples=40, deadline=None)
def test_every_method_does_what_llama_indexs_own_store_does(history: list[Any]) -> None:
    async def compare() -> None:
        theirs = SQLAlchemyChatStore(table_name="messages")
        with Memory.open(":memory:") as memory:
            ours = PlugmemChatStore(memory)
            for key, (method, *arguments) in history:
                expected = await getattr(theirs, method)(key, *arguments)
                assert await getattr(ours, method)(key, *arguments) == expected
                for one in ("ann", "ann/2"):
                    assert await texts(ours, one, status=None) == await texts(
                        theirs, one, status=None
                    )
            assert await ours.get_keys() == sorted(await theirs.get_keys())
        assert theirs._async_engine is not None
        await theirs._async_engine.dispose()

    asyncio.run(compare())


# -- keys


async def test_sessions_never_mix_whatever_their_keys_are(store: PlugmemChatStore) -> None:
    keys = ["a", "ab", "A", "a/b", "a b", " a", "a\n", '["a"]', "a.b", "%", "sessions", "猫", "á"]
    for key in keys:
        await store.add_message(key, user(f"of {key!r}"))
    for key in keys:
        assert await texts(store, key) == [f"of {key!r}"]
    assert await store.get_keys() == sorted(keys)
    await store.delete_messages("a")
    assert await store.get_keys() == sorted(set(keys) - {"a"})


async def test_stores_below_each_other_keep_apart(memory: Memory) -> None:
    above = PlugmemChatStore(memory, namespace=["chat"])
    below = PlugmemChatStore(memory, namespace=["chat", "ann"])
    await above.add_message("ann", user("above"))
    await below.add_message("ann", user("below"))
    assert (await above.get_keys(), await below.get_keys()) == (["ann"], ["ann"])
    assert (await texts(above), await texts(below)) == (["above"], ["below"])
    await above.delete_messages("ann")
    assert (await texts(above), await texts(below)) == ([], ["below"])


async def test_facts_that_are_no_messages_are_neither_shown_nor_touched(
    store: PlugmemChatStore, memory: Memory
) -> None:
    memory.remember("Ann is left-handed", namespace=("chat", "ann"))
    memory.remember("Bob is tall", namespace=("chat", "bob"), key="bob")
    await store.add_message("ann", user("hello"))
    assert await store.get_keys() == ["ann"]
    await store.set_messages("ann", [])
    await store.delete_messages("bob")
    assert [fact.text for fact in memory.list_facts()] == ["Ann is left-handed", "Bob is tall"]


async def test_what_is_read_and_what_was_given_is_the_callers_own(store: PlugmemChatStore) -> None:
    given = user("as it was")
    await store.add_message("ann", given)
    given.blocks[0].text = "changed"
    [read] = await store.get_messages("ann")
    read.blocks[0].text = "changed"
    read.additional_kwargs["changed"] = True
    assert await store.get_messages("ann") == [user("as it was")]


# -- many at once


async def test_messages_added_together_stay_together(store: PlugmemChatStore) -> None:
    pairs = [(f"{n}?", f"{n}!") for n in range(20)]
    await asyncio.gather(
        *(store.add_messages("ann", [user(said), assistant(told)]) for said, told in pairs)
    )
    found = await texts(store)
    assert sorted(zip(found[::2], found[1::2], strict=True)) == sorted(pairs)


async def test_each_message_is_archived_by_one_of_many_at_once(store: PlugmemChatStore) -> None:
    await store.add_messages("ann", [user(str(n)) for n in range(12)])
    batches = await asyncio.gather(*(store.archive_oldest_messages("ann", 2) for _ in range(6)))
    archived = [message.content for batch in batches for message in batch]
    assert sorted(archived, key=int) == [str(n) for n in range(12)]


async def test_the_event_loop_stays_free_while_messages_are_stored(
    open_memory: OpenMemory,
) -> None:
    threads = set()

    class Watched(HashingEmbedder):
        def embed_documents(self, texts: Any) -> Any:
            threads.add(threading.current_thread())
            return super().embed_documents(texts)

    await PlugmemChatStore(open_memory(embedder=Watched(8))).add_message("ann", user("hello"))
    assert threads
    assert threading.current_thread() not in threads


async def test_errors_of_the_memory_reach_the_caller(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = tmp_path / "chat.plugmem"
    memory = open_memory(path)
    store = PlugmemChatStore(memory)
    await store.add_message("ann", user("hello"))
    reader = PlugmemChatStore(open_memory(path, read_only=True))
    with pytest.raises(ReadOnlyError):
        await reader.add_message("ann", user("no"))
    assert await texts(reader) == ["hello"]
    memory.close()
    with pytest.raises(ClosedError):
        await store.get_messages("ann")


# -- settings, dumps, life in other processes


def test_it_is_a_chat_store_without_a_length_or_a_truth_of_its_own(
    store: PlugmemChatStore,
) -> None:
    assert isinstance(store, AsyncDBChatStore)
    assert store.class_name() == "PlugmemChatStore"
    assert not hasattr(store, "__len__")
    assert "__bool__" not in dir(type(store))


@pytest.mark.parametrize(
    "settings",
    [{"namespace": "chat"}, {"namespace": [""]}, {"namespace": ["x"] * 32}, {"namesapce": ["x"]}],
)
def test_settings_that_break_a_rule_are_refused(memory: Memory, settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PlugmemChatStore(memory, **settings)


def test_a_memory_or_a_path_has_to_be_given() -> None:
    with pytest.raises(InvalidInputError, match="neither memory nor path"):
        PlugmemChatStore()
    with pytest.raises(WrongTypeError, match="an open Memory"):
        PlugmemChatStore("chat.plugmem")


@pytest.mark.parametrize(
    "revive",
    [
        lambda store: PlugmemChatStore.from_dict(json.loads(json.dumps(store.to_dict()))),
        lambda store: PlugmemChatStore.model_validate_json(store.model_dump_json()),
        lambda store: PlugmemChatStore(**store.model_dump()),
        lambda store: store.model_copy(deep=True),
    ],
)
@pytest.mark.parametrize("file", ["chat.plugmem", ":memory:"])
async def test_a_copy_or_a_restored_dump_shares_the_open_memory(
    open_memory: OpenMemory, tmp_path: Path, file: str, revive: Callable[[Any], PlugmemChatStore]
) -> None:
    memory = open_memory(file if file == ":memory:" else tmp_path / file)
    store = PlugmemChatStore(memory, namespace=["team"])
    await store.add_message("ann", user("hello"))
    revived = revive(store)
    assert revived.memory is memory
    assert await revived.get_messages("ann") == [user("hello")]


async def test_a_closed_file_is_opened_again_by_what_is_restored(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path / "chat.plugmem")
    store = PlugmemChatStore(memory)
    await store.add_message("ann", user("hello"))
    dump = store.to_dict()
    memory.close()
    revived = PlugmemChatStore.from_dict(dump)
    assert await texts(revived) == ["hello"]
    revived.memory.close()


def test_a_memory_without_a_file_that_is_gone_is_an_error_that_says_so() -> None:
    memory = Memory.open(":memory:")
    dump = PlugmemChatStore(memory).to_dict()
    memory.close()
    with pytest.raises(NotFoundError, match="without a file"):
        _ = PlugmemChatStore.from_dict(dump).memory


def test_a_memory_given_goes_before_the_path_of_a_dump(memory: Memory, tmp_path: Path) -> None:
    dump = PlugmemChatStore(path=tmp_path / "old.plugmem").to_dict()
    moved = PlugmemChatStore.from_dict(dump | {"memory": memory})
    assert moved.memory is memory
    assert not (tmp_path / "old.plugmem").exists()


OTHER_PROCESS = """
import asyncio, json, sys
from llama_index.core.base.llms.types import ChatMessage
from llama_index_plugmem import PlugmemChatStore

store = PlugmemChatStore.from_dict(json.loads(sys.argv[1]))
print([message.content for message in asyncio.run(store.get_messages("ann"))])
asyncio.run(store.add_message("ann", ChatMessage("from there", role="assistant")))
store.memory.close()
"""


async def test_another_process_restores_the_store_and_both_see_each_other(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    store = PlugmemChatStore(open_memory(tmp_path / "chat.plugmem"))
    await store.add_message("ann", user("from here"))
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", OTHER_PROCESS, json.dumps(store.to_dict())],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout == "['from here']\n"
    assert await texts(store) == ["from here", "from there"]


# -- under LlamaIndex's Memory (#19763)


def chat(store: PlugmemChatStore, **options: Any) -> ChatMemory:
    return ChatMemory(session_id="ann", sql_store=store, **{"token_limit": 1_000, **options})


async def test_memory_keeps_its_messages_in_the_store(store: PlugmemChatStore) -> None:
    memory = chat(store)
    await memory.aput_messages([user("one"), assistant("two")])
    await memory.aput(user("three"))
    assert [message.content for message in await memory.aget()] == ["one", "two", "three"]
    assert await texts(store) == ["one", "two", "three"]
    await memory.aset([user("anew")])
    assert await texts(store) == ["anew"]
    await memory.areset()
    assert await store.get_keys() == []


async def test_a_memory_over_its_limit_archives_into_the_store(store: PlugmemChatStore) -> None:
    memory = chat(store, token_flush_size=700, chat_history_token_ratio=0.9)
    said = [user("x " * 500), assistant("y " * 500), user("z " * 500)]
    await memory.aput_messages(said)
    assert await memory.aget() == said[2:]
    assert await store.get_messages("ann", status=ARCHIVED) == said[:2]
    assert await memory.aget_all() == said


async def test_a_memory_goes_on_where_the_process_before_ended(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    for turn in range(2):
        with Memory.open(tmp_path / "chat.plugmem") as file:
            memory = chat(PlugmemChatStore(file))
            assert len(await memory.aget()) == 2 * turn
            await memory.aput_messages([user("hello"), assistant("hi")])


def test_from_defaults_takes_the_store_and_a_history(store: PlugmemChatStore) -> None:
    async def run() -> list[ChatMessage]:
        memory = ChatMemory.from_defaults(
            session_id="ann", chat_history=[user("seeded")], chat_store=store
        )
        assert memory.sql_store is store
        return await memory.aget()

    assert asyncio.run(run()) == [user("seeded")]
