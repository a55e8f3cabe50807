"""`EndpointEmbedder`: any server that speaks the `/embeddings` protocol of OpenAI."""

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import numpy.typing as npt

from plugmem_core.embed.asking import Answer, Asking
from plugmem_core.embed.extra import missing
from plugmem_core.errors import InvalidInputError
from plugmem_core.inputs import MAX_DIM, check_count, check_duration, check_type

if TYPE_CHECKING:
    import httpx

MOST_TEXTS = 2_048
"""Texts of one request; OpenAI takes no more."""

LONGEST = 3_600_000
"""Milliseconds of any time given here."""


class EndpointEmbedder:
    """Vectors from any OpenAI-compatible endpoint: OpenAI, vLLM, Ollama, llama.cpp and others.

    Needs `pip install "plugmem-core[embed]"`. Nothing is sent before there is something to
    embed. Requests are repeated after a status of 429 or from 500 on and after an error of the
    connection, as late as the server's `Retry-After` says; never after a timeout. The key is
    part of no error, log or `repr`. One may be shared by threads and event loops.

    Args:
        url: The endpoint, such as `http://localhost:11434/v1/embeddings`; `/embeddings` is
            added where it is missing.
        model: The model's name, as the server knows it.
        api_key: Sent as `Authorization: Bearer …`.
        dimensions: Asks for vectors of so many components, which some models can; by default
            the model decides.
        space_id: Names the model in the file; by default `model`, with `dimensions` if given.
            The server is no part of it, since the same model is the same anywhere.
        headers: Further headers.
        batch: Most texts of one request, up to 2,048.
        max_chars: A longer text is cut to so many characters before it is sent, for models
            that refuse what is too long for them; `None` sends all of it.
        timeout: Seconds to connect, and then for each part of the answer.
        attempts: How often a request is sent at most.
        wait: Seconds before the second attempt; doubled before each further one.
        longest_wait: The most seconds to wait; if `Retry-After` says more, it is given up.
        client: Sends the requests, for proxies, certificates and tests; it has the timeout
            then, and is left open.
        async_client: The same for the coroutines.
        sleep: Waits.
        async_sleep: Waits in coroutines.

    Raises:
        InvalidInputError: The URL or the key cannot be, or a number is out of range.
        MissingExtraError: httpx is not installed.

    >>> EndpointEmbedder("http://localhost:11434/v1", "all-minilm", api_key="secret")
    EndpointEmbedder('http://localhost:11434/v1/embeddings', 'all-minilm')
    """

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        *,
        dimensions: int | None = None,
        space_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        batch: int = 128,
        max_chars: int | None = None,
        timeout: float = 10.0,
        attempts: int = 3,
        wait: float = 0.5,
        longest_wait: float = 10.0,
        client: "httpx.Client | None" = None,
        async_client: "httpx.AsyncClient | None" = None,
        sleep: Callable[[float], object] = time.sleep,
        async_sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise missing("EndpointEmbedder", "httpx") from error
        self._url = _checked_url(url)
        check_type(model, str, "model", "the model's name")
        self.model = model
        self.dim = (
            None if dimensions is None else check_count(dimensions, "dimensions", most=MAX_DIM)
        )
        named = model if dimensions is None else f"{model}-{dimensions}"
        self.space_id = named if space_id is None else space_id
        check_type(self.space_id, str, "space_id", "a name of the model")
        self._headers = dict(headers or {})
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {_checked_key(api_key)}"
        secrets = [*self._headers.values(), *([api_key] if api_key else [])]
        self._asking = Asking(
            name=f"{_shown(self._url)} with model {model!r}",
            batch=check_count(batch, "batch", most=MOST_TEXTS),
            dimensions=self.dim,
            attempts=check_count(attempts, "attempts", most=100),
            wait=check_duration(wait, "wait", longest=LONGEST) / 1000,
            longest_wait=check_duration(longest_wait, "longest_wait", longest=LONGEST) / 1000,
            secrets=tuple(sorted(secrets, key=len, reverse=True)),
        )
        self._max_chars = None if max_chars is None else check_count(max_chars, "max_chars")
        self._timeout = check_duration(timeout, "timeout", longest=LONGEST) / 1000
        self._given, self._given_async = client, async_client
        self._own: tuple[int, httpx.Client] | None = None
        self._sleep, self._async_sleep = sleep, async_sleep

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        """Return one vector a text.

        Raises:
            EmbedderError: The endpoint failed, or answered what cannot be used.
        """
        talk = self._asking.converse(self._cut(texts))
        answer: Answer = None
        while True:
            try:
                step = talk.send(answer)
            except StopIteration as done:
                vectors: list[npt.NDArray[np.float32]] = done.value
                return vectors
            if isinstance(step, float):
                self._sleep(step)
                answer = None
            else:
                answer = self._post(step)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a question.

        Raises:
            EmbedderError: As for `embed_documents`.
        """
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        """`embed_documents` as a coroutine."""
        import httpx

        # A client belongs to its event loop, so each call has its own unless one was given.
        given = self._given_async
        client = given or httpx.AsyncClient(timeout=self._timeout, verify=self._tls)
        try:
            talk = self._asking.converse(self._cut(texts))
            answer: Answer = None
            while True:
                try:
                    step = talk.send(answer)
                except StopIteration as done:
                    vectors: list[npt.NDArray[np.float32]] = done.value
                    return vectors
                if isinstance(step, float):
                    await self._async_sleep(step)
                    answer = None
                else:
                    answer = await self._apost(client, step)
        finally:
            if given is None:
                await client.aclose()

    async def aembed_query(self, text: str) -> npt.NDArray[np.float32]:
        """`embed_query` as a coroutine."""
        return (await self.aembed_documents([text]))[0]

    def close(self) -> None:
        """Let go of open connections; the next request makes new ones."""
        if self._own is not None:
            self._own[1].close()
            self._own = None

    def __repr__(self) -> str:
        return f"EndpointEmbedder({_shown(self._url)!r}, {self.model!r})"

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        import httpx

        return httpx.create_ssl_context()  # reads every certificate; once is enough

    def _cut(self, texts: list[str]) -> list[str]:
        return [text[: self._max_chars] for text in texts]

    def _body(self, texts: list[str]) -> dict[str, object]:
        body: dict[str, object] = {"model": self.model, "input": texts}
        return body if self.dim is None else {**body, "dimensions": self.dim}

    def _post(self, texts: list[str]) -> Answer:
        import httpx

        try:
            return self._client().post(self._url, json=self._body(texts), headers=self._headers)
        except httpx.HTTPError as error:
            return error

    async def _apost(self, client: "httpx.AsyncClient", texts: list[str]) -> Answer:
        import httpx

        try:
            return await client.post(self._url, json=self._body(texts), headers=self._headers)
        except httpx.HTTPError as error:
            return error

    def _client(self) -> "httpx.Client":
        import httpx

        if self._given is not None:
            return self._given
        own, process = self._own, os.getpid()
        if own is None or own[0] != process:  # connections of a parent process are the parent's
            own = self._own = process, httpx.Client(timeout=self._timeout, verify=self._tls)
        return own[1]


def _checked_url(url: str) -> str:
    check_type(url, str, "url", "the endpoint's URL")
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or parts.username is not None:
        raise InvalidInputError(
            "url is no http or https URL without a user; give one such as "
            "'http://localhost:11434/v1/embeddings', and a key as api_key"
        )
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings"
    return urlunsplit(parts._replace(path=path, fragment=""))


def _checked_key(key: str) -> str:
    # The value is in no message: it is a secret.
    check = isinstance(key, str) and key.isascii() and key.isprintable() and " " not in key
    if not check or not key:
        raise InvalidInputError(
            "api_key is no text of visible ASCII characters; check how it was read"
        )
    return key


def _shown(url: str) -> str:
    """Return a URL without its query, which may hold keys."""
    return urlunsplit(urlsplit(url)._replace(query=""))
