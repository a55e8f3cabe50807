"""An embedding endpoint that answers, stumbles, refuses and talks nonsense."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import httpx
import numpy as np
import pytest
from conftest import OpenMemory

from plugmem_core import (
    AsyncEmbedder,
    Embedder,
    EmbedderError,
    EndpointEmbedder,
    InvalidInputError,
    MissingExtraError,
)

URL = "https://models.test/v1"
KEY = "sk-very-secret"

Reply: TypeAlias = httpx.Response | Exception | None
"""What the server does with a request; `None` is to embed."""


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0]


def embedded(texts: list[str]) -> httpx.Response:
    data = [{"index": place, "embedding": vector(text)} for place, text in enumerate(texts)]
    return httpx.Response(200, json={"object": "list", "data": data[::-1]})


class Server:
    """Answers as told, then embeds; keeps what was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []
        self.waits: list[float] = []

    @property
    def inputs(self) -> list[list[str]]:
        return [json.loads(request.content)["input"] for request in self.requests]

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies.pop(0) if self.replies else None
        if isinstance(reply, Exception):
            raise reply
        if reply is None:
            return embedded(json.loads(request.content)["input"])
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def embedder(self, url: str = URL, **options: Any) -> EndpointEmbedder:
        transport = httpx.MockTransport(self.answer)
        return EndpointEmbedder(
            url,
            "all-minilm",
            KEY,
            client=httpx.Client(transport=transport),
            async_client=httpx.AsyncClient(transport=transport),
            sleep=self.waits.append,
            async_sleep=self.sleep,
            **options,
        )


def blocking(embedder: EndpointEmbedder, texts: list[str]) -> list[Any]:
    return embedder.embed_documents(texts)


def as_coroutine(embedder: EndpointEmbedder, texts: list[str]) -> list[Any]:
    return asyncio.run(embedder.aembed_documents(texts))


Embed: TypeAlias = Callable[[EndpointEmbedder, list[str]], list[Any]]


@pytest.fixture(params=[blocking, as_coroutine])
def embed(request: pytest.FixtureRequest) -> Embed:
    ways: Embed = request.param
    return ways


def listed(vectors: Iterable[Any]) -> list[list[float]]:
    return [one.tolist() for one in vectors]


# -- when all is well


def test_texts_go_out_in_batches_and_vectors_come_back_in_order(embed: Embed) -> None:
    server = Server()
    vectors = embed(server.embedder(batch=2), ["a", "bb", "ccc", "dddd", "eeeee"])
    assert listed(vectors) == [[1, 1], [2, 1], [3, 1], [4, 1], [5, 1]]
    assert all(one.dtype == np.float32 for one in vectors)
    assert server.inputs == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]


def test_a_request_is_as_the_protocol_has_it(embed: Embed) -> None:
    server = Server()
    embed(server.embedder(headers={"X-Team": "farm"}), ["tea"])
    [request] = server.requests
    assert (request.method, str(request.url)) == ("POST", "https://models.test/v1/embeddings")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "farm"
    assert json.loads(request.content) == {"model": "all-minilm", "input": ["tea"]}


def test_a_dimension_is_asked_for_and_is_part_of_the_space(embed: Embed) -> None:
    server = Server()
    embedder = server.embedder(dimensions=2)
    embed(embedder, ["tea"])
    assert json.loads(server.requests[0].content)["dimensions"] == 2
    assert (embedder.dim, embedder.space_id) == (2, "all-minilm-2")
    assert server.embedder().dim is None
    assert server.embedder().space_id == "all-minilm"
    assert server.embedder(space_id="mine").space_id == "mine"


def test_without_a_key_none_is_sent() -> None:
    server = Server()
    client = httpx.Client(transport=httpx.MockTransport(server.answer))
    EndpointEmbedder(URL, "m", client=client).embed_query("tea")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://h:11434", "http://h:11434/embeddings"),
        ("http://h/v1/", "http://h/v1/embeddings"),
        ("http://h/v1/embeddings", "http://h/v1/embeddings"),
        ("http://h/v1/embeddings/", "http://h/v1/embeddings"),
        ("http://h/openai?api-version=1", "http://h/openai/embeddings?api-version=1"),
        ("http://h/v1#part", "http://h/v1/embeddings"),
    ],
)
def test_the_path_is_completed(url: str, sent: str) -> None:
    server = Server()
    server.embedder(url).embed_query("tea")
    assert str(server.requests[0].url) == sent


def test_answers_without_an_index_are_in_order(embed: Embed) -> None:
    data = [{"embedding": [1, 0]}, {"embedding": [0, 1]}]
    server = Server(httpx.Response(200, json={"data": data}))
    assert listed(embed(server.embedder(), ["a", "b"])) == [[1, 0], [0, 1]]


def test_longer_texts_are_cut_when_that_is_asked(embed: Embed) -> None:
    server = Server()
    embed(server.embedder(max_chars=3), ["rye bread", "tea"])
    assert server.inputs == [["rye", "tea"]]


def test_nothing_is_asked_for_no_texts(embed: Embed) -> None:
    server = Server()
    assert embed(server.embedder(), []) == []
    assert server.requests == []


def test_it_is_an_embedder_of_both_kinds(open_memory: OpenMemory) -> None:
    server = Server()
    embedder = server.embedder()
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, AsyncEmbedder)
    memory = open_memory(embedder=embedder)
    assert memory.remember("tea").vector == "stored"
    assert asyncio.run(memory.aremember("bread")).vector == "stored"
    assert asyncio.run(memory.aembed_query("rye")).tolist() == [3, 1]
    assert memory.vector_space == (2, "all-minilm")
    assert server.inputs == [["tea"], ["bread"], ["rye"]]


# -- again, where that is worth it


def status(code: int, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(code, headers=names, text="no")


@pytest.mark.parametrize(
    "reply",
    [
        *map(status, (429, 500, 502, 503, 504, 599)),
        httpx.ConnectError("refused"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("the server hung up"),
        httpx.ProxyError("bad gateway"),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(embed: Embed, reply: Reply) -> None:
    server = Server(reply, reply)
    assert listed(embed(server.embedder(), ["tea"])) == [[3, 1]]
    assert server.inputs == [["tea"]] * 3
    assert server.waits == [0.5, 1.0]


def test_waits_double_up_to_the_longest(embed: Embed) -> None:
    server = Server(*[status(500)] * 5)
    embed(server.embedder(attempts=6, wait=1, longest_wait=5), ["tea"])
    assert server.waits == [1, 2, 4, 5, 5]


def test_each_batch_has_its_own_attempts(embed: Embed) -> None:
    server = Server(status(500), None, status(500), None)
    embed(server.embedder(batch=1, attempts=2), ["tea", "rye"])
    assert server.inputs == [["tea"], ["tea"], ["rye"], ["rye"]]
    assert server.waits == [0.5, 0.5]


@pytest.mark.parametrize(
    "reply",
    [
        *map(status, (302, 400, 401, 403, 404, 413, 422)),
        httpx.ReadTimeout("slow"),
        httpx.ConnectTimeout("slow"),
        httpx.PoolTimeout("busy"),
        httpx.UnsupportedProtocol("no"),
        httpx.DecodingError("no"),
    ],
    ids=str,
)
def test_what_would_not_pass_is_tried_once(embed: Embed, reply: Reply) -> None:
    server = Server(reply)
    with pytest.raises(EmbedderError):
        embed(server.embedder(), ["tea"])
    assert len(server.requests) == 1
    assert server.waits == []


def test_in_the_end_it_is_given_up(embed: Embed) -> None:
    server = Server(*[status(503)] * 9)
    with pytest.raises(EmbedderError, match=r"answered 503 \(3 attempts\): no"):
        embed(server.embedder(), ["tea"])
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry_after": "3"}, 3),
        ({"retry_after": "0"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "-1"}, 0.5),
        ({"retry_after": "Wed, 01 May 2024 12:00:07 GMT"}, 0.5),  # there is no date to count from
        (
            {
                "retry_after": "Wed, 01 May 2024 12:00:07 GMT",
                "date": "Wed, 01 May 2024 12:00:00 GMT",
            },
            7,
        ),
        (
            {
                "retry_after": "Wed, 01 May 2024 11:00:00 GMT",
                "date": "Wed, 01 May 2024 12:00:00 GMT",
            },
            0.5,
        ),
        (
            {"retry_after": "Wed, 01 May 2024 12:00:07", "date": "Wed, 01 May 2024 12:00:00 GMT"},
            0.5,
        ),
    ],
)
def test_the_server_says_how_long_to_wait(
    embed: Embed, headers: dict[str, str], wait: float
) -> None:
    server = Server(status(429, **headers))
    embed(server.embedder(), ["tea"])
    assert server.waits == [wait]


def test_a_server_that_says_to_wait_too_long_is_given_up(embed: Embed) -> None:
    server = Server(status(429, retry_after="3600"))
    with pytest.raises(EmbedderError, match="answered 429: no"):
        embed(server.embedder(), ["tea"])
    assert server.waits == []


# -- nonsense

GOOD = {"index": 0, "embedding": [1.0, 0.0]}


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>hello</html>",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"error": {"message": "quota"}}',
        b'{"data": null}',
        b'{"data": [1]}',
        b'{"data": [{"index": 0}]}',
        {"data": []},
        {"data": [GOOD, {**GOOD, "index": 1}]},
        {"data": [{**GOOD, "index": 1}]},
        {"data": [{**GOOD, "index": "0"}]},
        {"data": [{**GOOD, "index": [0]}]},
        {"data": [{**GOOD, "embedding": []}]},
        {"data": [{**GOOD, "embedding": None}]},
        {"data": [{**GOOD, "embedding": [1.0, None]}]},
        {"data": [{**GOOD, "embedding": ["a", "b"]}]},
        {"data": [{**GOOD, "embedding": [[1.0], [0.0]]}]},
        {"data": [{**GOOD, "embedding": "AACAPwAAAAA="}]},
        b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}',
        b'{"data": [{"index": 0, "embedding": [1e400, 1]}]}',
        {"data": [{**GOOD, "embedding": [10**400, 1]}]},
    ],
    ids=str,
)
def test_an_answer_that_cannot_be_used_is_refused(embed: Embed, answer: Any) -> None:
    content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    server = Server(httpx.Response(200, content=content))
    with pytest.raises(EmbedderError, match=r"https://models.test/v1/embeddings"):
        embed(server.embedder(), ["tea"])


def test_two_vectors_of_one_text_are_refused(embed: Embed) -> None:
    server = Server(httpx.Response(200, json={"data": [GOOD, GOOD]}))
    with pytest.raises(EmbedderError, match=r"texts \[0, 0\] of 2"):
        embed(server.embedder(), ["tea", "rye"])


def test_another_dimension_is_refused(embed: Embed) -> None:
    with pytest.raises(EmbedderError, match="2 components instead of 8"):
        embed(Server().embedder(dimensions=8), ["tea"])
    longer = httpx.Response(200, json={"data": [{"index": 0, "embedding": [1, 2, 3]}]})
    with pytest.raises(EmbedderError, match="3 components instead of 2"):
        embed(Server(None, longer).embedder(batch=1), ["tea", "rye"])
    ragged = [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]
    with pytest.raises(EmbedderError, match="one dimension"):
        embed(Server(httpx.Response(200, json={"data": ragged})).embedder(), ["tea", "rye"])


# -- what is said


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(401, "api_key"), (404, "check url and model"), (413, "batch"), (400, "max_chars")],
)
def test_a_refusal_names_what_to_look_at(embed: Embed, code: int, remedy: str) -> None:
    server = Server(httpx.Response(code, json={"error": "the model\n is not known"}))
    with pytest.raises(EmbedderError, match=remedy) as caught:
        embed(server.embedder(), ["tea"])
    said = str(caught.value)
    assert f"https://models.test/v1/embeddings with model 'all-minilm' answered {code}: " in said
    assert "the model\\n is not known" in said


def test_the_key_is_in_no_error_no_repr_and_no_log(
    embed: Embed, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    failures: list[Reply] = [
        httpx.Response(401, text=f"Incorrect API key {KEY}, of Bearer {KEY}; header team-secret"),
        httpx.ConnectError(f"cannot send {KEY}"),
        httpx.Response(200, text=f"hello {KEY}"),
    ]
    for failure in failures:
        server = Server(failure)
        embedder = server.embedder(
            f"{URL}?key=in-the-query", attempts=1, headers={"X-Team": "team-secret"}
        )
        with pytest.raises(EmbedderError) as caught:
            embed(embedder, ["tea"])
        error: BaseException | None = caught.value
        while error is not None:
            for secret in (KEY, "in-the-query", "team-secret"):
                assert secret not in f"{error!r} {error}"
            error = error.__cause__ or error.__context__
        assert (
            repr(embedder) == "EndpointEmbedder('https://models.test/v1/embeddings', 'all-minilm')"
        )
        assert repr(embedder) == str(embedder)
    assert KEY not in caplog.text


def test_a_failure_leaves_the_vector_pending(open_memory: OpenMemory) -> None:
    server = Server(None, status(401))
    memory = open_memory(embedder=server.embedder())
    assert memory.remember("tea").vector == "stored"
    assert memory.remember("rye").vector == "pending"
    assert memory.maintain().embedded == 1
    assert server.inputs == [["tea"], ["rye"], ["rye"]]


# -- arguments


@pytest.mark.parametrize(
    "url",
    ["", "models.test/v1", "ftp://h/v1", "http://", "http://[", "https://u:p@h/v1", "http://h:x/"],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="url") as caught:
        EndpointEmbedder(url, "m")
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "a b", "a\n", "schlüssel", 7])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key: Any) -> None:
    with pytest.raises(InvalidInputError, match="api_key is no text") as caught:
        EndpointEmbedder(URL, "m", key)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "options",
    [
        {"model": 5},
        {"space_id": 5},
        {"dimensions": 0},
        {"dimensions": 5_000},
        {"batch": 0},
        {"batch": 3_000},
        {"attempts": 0},
        {"max_chars": 0},
        {"timeout": 0},
        {"timeout": "10"},
        {"wait": -1},
        {"longest_wait": 1e9},
    ],
    ids=str,
)
def test_arguments_are_checked(options: dict[str, Any]) -> None:
    [name] = options
    with pytest.raises(InvalidInputError, match=name):
        EndpointEmbedder(**({"url": URL, "model": "m"} | options))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"needs httpx.*plugmem-core\[embed\]"):
        EndpointEmbedder(URL, "m")


# -- its own connections


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that clients made without a transport reach."""
    server = Server()
    monkeypatch.setattr(httpx, "HTTPTransport", lambda **_: httpx.MockTransport(server.answer))
    monkeypatch.setattr(
        "httpx._client.HTTPTransport", lambda **_: httpx.MockTransport(server.answer)
    )
    monkeypatch.setattr(
        "httpx._client.AsyncHTTPTransport", lambda **_: httpx.MockTransport(server.answer)
    )
    return server


def test_it_has_clients_of_its_own(network: Server, embed: Embed) -> None:
    embedder = EndpointEmbedder(URL, "m", timeout=3)
    for _ in range(2):  # a client of a loop that has ended must not be in the way
        assert listed(embed(embedder, ["tea"])) == [[3, 1]]
    assert all(set(one.extensions["timeout"].values()) == {3} for one in network.requests)
    embedder.close()
    assert listed(embed(embedder, ["tea"])) == [[3, 1]]
    embedder.close()
    embedder.close()


def test_a_forked_process_has_connections_of_its_own(
    network: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = EndpointEmbedder(URL, "m")
    embedder.embed_query("tea")
    first = embedder._client()
    assert embedder._client() is first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert embedder._client() is not first
