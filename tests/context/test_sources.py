"""Originals: kept once, given back byte for byte, and for no less time than was asked."""

from datetime import timedelta
from typing import Any

import pytest
from clocks import DAY, SECOND, Clock

from context.asking import DictStore, image, image_hash, png, request
from context.conftest import OpenDesk
from plugmem_core import InvalidInputError, Memory, NotFoundError, ServiceError, WrongTypeError
from plugmem_core.context import ContextDesk, ValueStore
from plugmem_core.context.sources import CONTENTS, INDEX
from plugmem_core.text.fnv import fnv1a64

HOUR = 3_600


def key_of(content: str | bytes) -> str:
    return str(fnv1a64(content) if isinstance(content, str) else image_hash(content))


def handle(content: str | bytes) -> str:
    return f"ctx://source/{key_of(content)}"


def keep(desk: ContextDesk, *fragments: Any, **fields: Any) -> None:
    desk.compile_context(request(*fragments, **fields))


def is_kept(desk: ContextDesk, content: str) -> bool:
    try:
        return desk.retrieve_context_source(handle(content)).content == content
    except NotFoundError:
        return False


@pytest.mark.parametrize(
    "content",
    ["pump", "", " \r\n\t", "a\0b", "日本 é 🚀", "\x1b[0m\x85\u2028", '"\\u0000"', "x" * 99_999],
)
def test_a_text_is_given_back_as_it_was(desk: ContextDesk, content: str) -> None:
    keep(desk, content)
    source = desk.retrieve_context_source(handle(content))
    assert (source.handle, source.content, source.media) == (handle(content), content, None)


def test_an_image_is_given_back_with_its_caption(desk: ContextDesk) -> None:
    asked = image(png(9, 9), "the pump")
    keep(desk, asked)
    source = desk.retrieve_context_source(handle(png(9, 9)))
    assert source.content == "the pump"
    assert source.media is not None
    assert source.media.model_dump() == asked["media"]


def test_images_without_a_caption_have_handles_of_their_own(desk: ContextDesk) -> None:
    keep(desk, image(png(1, 1)), image(png(2, 2)))
    for data in (png(1, 1), png(2, 2)):
        source = desk.retrieve_context_source(handle(data))
        assert source.media is not None
        assert source.media.bytes_b64 == image(data)["media"]["bytes_b64"]


def test_everything_is_kept_whatever_became_of_it(desk: ContextDesk) -> None:
    texts = ["pump", "Pump", "word " * 50, "never", "up\nup"]
    keep(desk, *texts, "pump", {"content": "up\nup", "kind": "log"}, budget=3)
    assert all(is_kept(desk, text) for text in texts)


def test_a_transcript_is_kept_in_its_segments(desk: ContextDesk) -> None:
    desk.compile_transcript({"query": "", "token_budget": 1, "transcript": "User: a\nAI: b\n"})
    assert is_kept(desk, "User: a\n")
    assert is_kept(desk, "AI: b\n")


def test_nothing_is_kept_if_the_policy_says_so(desk: ContextDesk, values: ValueStore) -> None:
    keep(desk, "pump", store_sources=False, record_events=False)
    assert not is_kept(desk, "pump")
    assert (values.get_values(CONTENTS), values.get_values(INDEX)) == ({}, {})
    assert desk.context_savings().events == 0


def test_a_compile_that_fails_keeps_nothing() -> None:
    store = DictStore()
    with pytest.raises(InvalidInputError):
        keep(ContextDesk(store), "pump", budget=0)
    assert store.puts == []


def test_a_compile_writes_once_per_collection_and_no_content_twice() -> None:
    store = DictStore()
    desk = ContextDesk(store)
    keep(desk, "pump", "valve", "pump")
    keep(desk, "pump", "oil")
    contents = [keys for collection, keys in store.puts if collection == CONTENTS]
    assert contents == [[str(fnv1a64("pump")), str(fnv1a64("valve"))], [str(fnv1a64("oil"))]]
    assert len(store.puts) == 6


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "42",
        "ctx://source/",
        "ctx://source/042",
        "ctx://source/-1",
        "ctx://source/+1",
        "ctx://source/٣",
        "ctx://source/1 ",
        "ctx://source/1\n",
        "ctx://source/../_plugmem_context_events/1",
        f"ctx://source/{2**64}",
        "ctx://source/" + "9" * 5_000,
        "CTX://source/1",
        "ctx://other/1",
        "ctx://source/1?x",
        "ctx://source/1\0",
        "\ud800",
        f"ctx://source/{2**64 - 1}",
    ],
)
def test_a_handle_that_names_nothing_finds_nothing(desk: ContextDesk, forged: str) -> None:
    keep(desk, "pump")
    with pytest.raises(NotFoundError):
        desk.retrieve_context_source(forged)


def test_a_handle_is_a_text(desk: ContextDesk) -> None:
    with pytest.raises(WrongTypeError, match="handle"):
        desk.retrieve_context_source(42)


def test_a_handle_reaches_its_own_namespace_only(open_desk: OpenDesk) -> None:
    keep(open_desk(namespace=("ann",)), "pump")
    for namespace in ((), ("ben",), ("ann", "home")):
        assert not is_kept(open_desk(namespace=namespace), "pump")
    assert is_kept(open_desk(namespace=("ann",)), "pump")


def test_a_handle_reaches_no_other_collection(memory: Memory) -> None:
    memory.put_values("notes", {str(fnv1a64("pump")): "secret"})
    memory.remember("pump")
    assert not is_kept(ContextDesk(memory), "pump")


def test_a_source_expires(desk: ContextDesk, clock: Clock) -> None:
    keep(desk, "pump", source_ttl_seconds=60)
    clock.tick(60 * SECOND - 1)
    assert is_kept(desk, "pump")
    clock.tick(1)
    assert not is_kept(desk, "pump")
    keep(desk, "pump", source_ttl_seconds=60)
    assert is_kept(desk, "pump")


@pytest.mark.parametrize(
    ("first", "second", "kept_for"),
    [
        (60, 30, 60),
        (30, 60, 60),
        (60, None, None),
        (60, 0, None),
        (None, 60, None),
        (0, 60, None),
    ],
)
def test_an_expiry_is_never_moved_forward(
    desk: ContextDesk, clock: Clock, first: int | None, second: int | None, kept_for: int | None
) -> None:
    keep(desk, "pump", source_ttl_seconds=first)
    keep(desk, "pump", source_ttl_seconds=second)
    clock.tick((kept_for or HOUR) * SECOND - 1)
    assert is_kept(desk, "pump")
    clock.tick(1)
    assert is_kept(desk, "pump") == (kept_for is None)


def test_what_has_expired_does_not_hold_up_an_expiry(desk: ContextDesk, clock: Clock) -> None:
    keep(desk, "pump", source_ttl_seconds=60)
    clock.tick(DAY)
    keep(desk, "pump", source_ttl_seconds=30)
    clock.tick(30 * SECOND)
    assert not is_kept(desk, "pump")


def test_sources_are_purged_by_their_age(desk: ContextDesk, clock: Clock) -> None:
    keep(desk, "old", "used")
    clock.tick(DAY)
    keep(desk, "used", "new")
    clock.tick(SECOND)
    assert desk.purge_sources(older_than=timedelta(days=1, seconds=1)) == 0
    assert desk.purge_sources(older_than=24 * HOUR) == 1
    assert [is_kept(desk, text) for text in ("old", "used", "new")] == [False, True, True]


def test_sources_are_purged_by_project_unless_another_uses_them(desk: ContextDesk) -> None:
    keep(desk, "one", "both", "anyone's", project="one")
    keep(desk, "both", project="other")
    keep(desk, "anyone's")
    assert desk.purge_sources(project="one") == 1
    assert [is_kept(desk, text) for text in ("one", "both", "anyone's")] == [False, True, True]
    assert desk.purge_sources(project="other") == 1
    assert not is_kept(desk, "both")


def test_a_purge_by_project_and_age_needs_both(desk: ContextDesk, clock: Clock) -> None:
    keep(desk, "a", project="one")
    keep(desk, "b", project="other")
    clock.tick(DAY)
    keep(desk, "c", project="one")
    assert desk.purge_sources(project="one", older_than=HOUR) == 1
    assert [is_kept(desk, text) for text in "abc"] == [False, True, True]


def test_a_source_is_purged_by_its_handle(desk: ContextDesk) -> None:
    keep(desk, "a", "b")
    assert desk.purge_sources(handle=handle("a")) == 1
    assert desk.purge_sources(handle=handle("a")) == 0
    assert [is_kept(desk, text) for text in "ab"] == [False, True]
    with pytest.raises(NotFoundError):
        desk.purge_sources(handle="ctx://source/a")


def test_a_purge_without_criteria_removes_what_has_expired(
    desk: ContextDesk, values: ValueStore, clock: Clock
) -> None:
    keep(desk, "a", source_ttl_seconds=1)
    keep(desk, "b")
    clock.tick(SECOND)
    assert desk.purge_sources() == 1
    assert list(values.get_values(CONTENTS)) == [str(fnv1a64("b"))]
    assert list(values.get_values(INDEX)) == [str(fnv1a64("b"))]


def test_a_purge_stays_in_its_namespace(open_desk: OpenDesk, clock: Clock) -> None:
    ann, ben = open_desk(namespace=("ann",)), open_desk(namespace=("ben",))
    keep(ann, "a")
    keep(ben, "a")
    clock.tick(DAY)
    assert ann.purge_sources(older_than=0) == 1
    assert is_kept(ben, "a")


@pytest.mark.parametrize("age", [-1, float("nan"), float("inf"), timedelta(-1)])
def test_an_age_that_makes_no_sense_is_refused(desk: ContextDesk, age: Any) -> None:
    with pytest.raises(InvalidInputError, match="older_than"):
        desk.purge_sources(older_than=age)
    with pytest.raises(InvalidInputError, match="older_than"):
        desk.purge_savings(older_than=age)


@pytest.mark.parametrize("age", ["1d", True, [1]])
def test_an_age_of_another_type_is_refused(desk: ContextDesk, age: Any) -> None:
    with pytest.raises(WrongTypeError, match="older_than"):
        desk.purge_sources(older_than=age)


DAMAGED: list[tuple[str, Any]] = [
    (CONTENTS, None),
    (CONTENTS, 1),
    (CONTENTS, ""),
    (CONTENTS, {}),
    (CONTENTS, []),
    (CONTENTS, {"content": "pomp", "media": None}),
    (CONTENTS, {"content": "pump", "media": {"mime": "image/png", "bytes_b64": "no base64"}}),
    (INDEX, None),
    (INDEX, 1),
    (INDEX, {"text": "forged"}),
    (INDEX, {"digest": "0" * 64, "expires_at": None, "uses": [[None, 1]]}),
]


@pytest.mark.parametrize(("collection", "damage"), DAMAGED)
def test_a_damaged_source_is_told_until_its_content_is_compiled_again(
    desk: ContextDesk, values: ValueStore, collection: str, damage: Any
) -> None:
    keep(desk, "pump", "valve")
    values.put_values(collection, {key_of("pump"): damage})
    with pytest.raises(ServiceError, match="damaged"):
        desk.retrieve_context_source(handle("pump"))
    assert is_kept(desk, "valve")
    keep(desk, "pump")
    assert is_kept(desk, "pump")


@pytest.mark.parametrize("collection", [CONTENTS, INDEX])
def test_a_lost_source_is_whole_again_when_its_content_is_compiled_again(
    desk: ContextDesk, values: ValueStore, collection: str
) -> None:
    for asked, name in (("pump", key_of("pump")), (image(png(9, 9)), key_of(png(9, 9)))):
        keep(desk, asked)
        assert values.delete_values(collection, [name]) == 1
        with pytest.raises(NotFoundError if collection == INDEX else ServiceError):
            desk.retrieve_context_source(f"ctx://source/{name}")
        keep(desk, asked)
        assert desk.retrieve_context_source(f"ctx://source/{name}").handle.endswith(name)


def test_a_content_that_was_lost_comes_back_for_no_less_time(
    desk: ContextDesk, values: ValueStore, clock: Clock
) -> None:
    keep(desk, "pump", project="one")
    values.delete_values(CONTENTS, [key_of("pump")])
    keep(desk, "pump", project="other", source_ttl_seconds=1)
    clock.tick(DAY)
    assert desk.purge_sources(project="other") == 0
    assert is_kept(desk, "pump")


def test_a_damaged_source_can_be_purged_by_its_handle(
    desk: ContextDesk, values: ValueStore
) -> None:
    keep(desk, "pump")
    values.put_values(INDEX, {key_of("pump"): None})
    assert desk.purge_sources(older_than=0) == 0
    assert desk.purge_sources(handle=handle("pump")) == 1
    assert (values.get_values(INDEX), values.get_values(CONTENTS)) == ({}, {})


SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.mark.parametrize("text", [SVG, "", "pump"])
def test_a_text_and_an_image_of_the_same_bytes_are_two_sources(
    desk: ContextDesk, text: str
) -> None:
    asked = image(text.encode())
    for fragments in ([text], [asked], [asked, text]):
        keep(desk, *fragments)
    assert handle(text) != handle(text.encode())
    assert desk.retrieve_context_source(handle(text)).media is None
    drawn = desk.retrieve_context_source(handle(text.encode())).media
    assert drawn is not None
    assert drawn.bytes_b64 == asked["media"]["bytes_b64"]


def test_two_contents_of_one_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = "plugmem_core.context.pieces.fnv1a64_many"
    monkeypatch.setattr(hashes, lambda data: [42 for _ in data])
    store = DictStore()
    desk = ContextDesk(store)
    with pytest.raises(InvalidInputError, match="hash 42"):
        keep(desk, "pump", "valve")
    assert store.puts == []
    keep(desk, "pump", "pump")
    with pytest.raises(InvalidInputError, match="hash 42"):
        keep(desk, "valve")
    assert desk.retrieve_context_source("ctx://source/42").content == "pump"


def test_sources_outlive_the_handle_of_a_memory(tmp_path: Any) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path) as memory:
        keep(ContextDesk(memory), "pump")
    with Memory.open(path) as memory:
        assert is_kept(ContextDesk(memory), "pump")
