"""How an endpoint is asked: batch after batch, and again where that is worth it.

No input or output happens here. A conversation is a generator: it yields a batch of texts to
send, or seconds to wait, and is sent what came of that; so it serves blocking callers and
coroutines alike, and does the same for both.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from plugmem_core.errors import EmbedderError

if TYPE_CHECKING:
    import httpx

Vectors: TypeAlias = npt.NDArray[np.float32]
"""One row a text."""

Answer: TypeAlias = "httpx.Response | Exception | None"
"""What came of a step: a response, the error of the connection, nothing after waiting."""

Conversation: TypeAlias = Generator[list[str] | float, Answer, list[npt.NDArray[np.float32]]]

TOO_MANY, SERVER = 429, 500
"""Statuses that another attempt may change: the former, and from the latter on."""

EXCERPT = 300
"""Characters of a refusal that an error quotes."""

_REMEDIES = {
    400: "; the text may be too long for the model, then give max_chars",
    401: "; check api_key",
    403: "; check api_key",
    404: "; check url and model",
    413: "; give a smaller batch, or max_chars",
    422: "; check model and dimensions",
}


@dataclass(frozen=True, slots=True)
class Asking:
    """The terms of all conversations with one endpoint.

    Attributes:
        name: The endpoint and the model, as errors name them.
        batch: Most texts of one request.
        dimensions: Components of every vector; `None` when the server decides.
        attempts: How often a request is sent at most.
        wait: Seconds before the second attempt, doubled before each further one.
        longest_wait: The most that is waited; who is told to wait longer gives up.
        secrets: What errors must not quote.
    """

    name: str
    batch: int
    dimensions: int | None
    attempts: int
    wait: float
    longest_wait: float
    secrets: tuple[str, ...] = field(repr=False)

    def converse(self, texts: Sequence[str]) -> Conversation:
        """Return the vectors of texts, in their order.

        Raises:
            EmbedderError: The endpoint failed, or answered what cannot be used.
        """
        vectors: list[npt.NDArray[np.float32]] = []
        dim = self.dimensions
        for start in range(0, len(texts), self.batch):
            batch = list(texts[start : start + self.batch])
            answered = self._read((yield from self._request(batch)), len(batch), dim)
            dim = answered.shape[1]
            vectors.extend(answered)
        return vectors

    def _request(self, batch: list[str]) -> "Generator[list[str] | float, Answer, httpx.Response]":
        attempt = 1
        while True:
            answer = yield batch
            if answer is not None and not isinstance(answer, Exception) and answer.is_success:
                return answer
            wait = self._wait_after(answer, attempt)
            if wait is None:
                raise self._failure(answer, attempt)
            yield wait
            attempt += 1

    def _wait_after(self, answer: Answer, attempt: int) -> float | None:
        """Return how long to wait before another attempt; `None` when none is worth it."""
        if attempt >= self.attempts or not _may_change(answer):
            return None
        wait = min(self.wait * 2.0 ** (attempt - 1), self.longest_wait)
        told = None if isinstance(answer, Exception | None) else retry_after(answer)
        if told is None:
            return wait
        return None if told > self.longest_wait else max(wait, told)

    def _failure(self, answer: Answer, attempts: int) -> EmbedderError:
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        if isinstance(answer, Exception | None):
            return EmbedderError(
                f"{self.name} could not be reached{tried}: "
                f"{type(answer).__name__}: {self._quoted(str(answer))}"
            )
        remedy = _REMEDIES.get(answer.status_code, "")
        return EmbedderError(
            f"{self.name} answered {answer.status_code}{tried}: "
            f"{self._quoted(answer.text) or 'nothing else'}{remedy}"
        )

    def _quoted(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())[:EXCERPT]

    def _read(self, response: "httpx.Response", count: int, dim: int | None) -> Vectors:
        """Return the vectors of a response, in the order of the texts."""
        try:
            data = response.json()["data"]
            places = [one.get("index", place) for place, one in enumerate(data)]
            by_place = {place: one["embedding"] for place, one in zip(places, data, strict=True)}
        except (ValueError, LookupError, TypeError, AttributeError):
            raise EmbedderError(
                f"{self.name} answered {self._quoted(response.text)!r}; "
                "an embedding endpoint answers with `data`, a list of `index` and `embedding`"
            ) from None
        if len(data) != count or by_place.keys() != set(range(count)):
            raise EmbedderError(
                f"{self.name} answered with vectors for the texts "
                f"{self._quoted(str(sorted(places, key=str)))} of {count}"
            )
        return self._checked([by_place[place] for place in range(count)], dim)

    def _checked(self, answered: list[object], dim: int | None) -> Vectors:
        try:
            vectors = np.asarray(answered, dtype=np.float32)
        except (TypeError, ValueError, OverflowError):
            vectors = np.zeros(0, dtype=np.float32)
        if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
            raise EmbedderError(
                f"{self.name} answered with something else than finite vectors of one dimension"
            )
        if dim is not None and vectors.shape[1] != dim:
            raise EmbedderError(
                f"{self.name} answered with {vectors.shape[1]} components instead of {dim}"
            )
        return vectors


def _may_change(answer: Answer) -> bool:
    """Return whether another attempt may end in another way.

    A request that timed out may have been too much for the server; again would be more.
    """
    if isinstance(answer, Exception):
        import httpx

        return isinstance(answer, httpx.NetworkError | httpx.RemoteProtocolError | httpx.ProxyError)
    return answer is not None and (answer.status_code == TOO_MANY or answer.status_code >= SERVER)


def retry_after(response: "httpx.Response") -> float | None:
    """Return the seconds that a server says to wait, given as such or as a date.

    A date counts from the server's own `Date`, so that no clock has to be right.
    """
    told = response.headers.get("retry-after", "").strip()
    if told.isdecimal():
        return float(told)
    try:
        until = parsedate_to_datetime(told)
        now = parsedate_to_datetime(response.headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None
