"""Vectors for texts: the embedder's answers, checked, and what happens when it fails."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Sequence, Sized
from contextvars import ContextVar
from reprlib import repr as short
from typing import Any, Literal, TypeVar

import numpy as np

from plugmem_core.embed import AsyncEmbedder, Embedder
from plugmem_core.embed.pause import Pause
from plugmem_core.errors import EmbedderError, InvalidInputError, VectorSpaceError, WrongTypeError
from plugmem_core.inputs import MAX_DIM, VectorLike, check_count, check_vector
from plugmem_core.store import FileState, Transaction, Vector

EVENT_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("EVENT_LOOP", default=None)
"""The loop that waits for this call, when an async verb runs in a worker thread."""

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Vectorizer:
    """An embedder in the service of one file.

    Args:
        embedder: What makes vectors; `None` leaves that to the caller.
        dim: The dimension the caller announced; 0 when none was.
        pause: Tells when not to ask it.
    """

    def __init__(self, embedder: Embedder | None, dim: int, pause: Pause) -> None:
        if embedder is not None and not isinstance(embedder, Embedder):
            raise WrongTypeError(
                f"embedder is {short(embedder)} ({type(embedder).__name__}); give an object with "
                "space_id, dim, embed_documents and embed_query"
            )
        self.embedder = embedder
        self.pause = pause
        self.dim = dim
        if embedder is not None and embedder.dim is not None:
            self.dim = check_count(embedder.dim, "embedder.dim", most=MAX_DIM)
        if dim and dim != self.dim:
            raise VectorSpaceError(f"dim is {dim}, the embedder makes {self.dim}; leave dim out")

    @property
    def space(self) -> str | None:
        """The model vectors written through this handle belong to."""
        return self.embedder.space_id if self.embedder else None

    @property
    def status(self) -> Literal["absent", "active", "suspended"]:
        """Whether texts are embedded now, or not for a while because that failed."""
        if self.embedder is None:
            return "absent"
        return "suspended" if self.pause.left else "active"

    def expected_dim(self, state: FileState) -> int:
        """Return the dimension of the file's vectors, or the announced one before the first.

        Raises:
            VectorSpaceError: The two differ.
        """
        if state.dim and self.dim and state.dim != self.dim:
            raise VectorSpaceError(
                f"the vectors of this memory have {state.dim} components, this handle was opened "
                f"for {self.dim}; use the embedder they were made with, or reembed with another"
            )
        return state.dim or self.dim

    def check_space(self, state: FileState) -> None:
        """Refuse to mix vectors of different models.

        Raises:
            VectorSpaceError: The file's vectors are of another dimension or model.
        """
        self.expected_dim(state)
        if self.embedder and state.dim and state.space != self.space:
            made_by = f"{state.space!r}" if state.space else "a caller, without an embedder"
            raise VectorSpaceError(
                f"the vectors of this memory were made by {made_by}, "
                f"the embedder is {self.space!r}; use the one they were made with, or reembed"
            )

    def fits(self, state: FileState) -> bool:
        """Return whether vectors made here may stand beside those of the file."""
        try:
            self.check_space(state)
        except VectorSpaceError:
            return False
        return True

    def claim(self, transaction: Transaction, vectors: Iterable[Vector | None]) -> None:
        """Let the first vector decide the file's dimension and model.

        Raises:
            VectorSpaceError: They have been decided otherwise; another process may have done
                so since the vectors were made.
        """
        for vector in vectors:
            if vector is None:
                continue
            if not transaction.state.dim:
                transaction.claim_space(len(vector), self.space)
            self.check_space(transaction.state)
            check_vector(vector, "vector", transaction.state.dim)

    def documents(self, texts: list[str], state: FileState) -> list[Vector | None] | None:
        """Return one vector a text, `None` for a text without direction.

        Returns:
            `None` for all of them when the embedder failed, or did so lately: they stay pending.
        """
        self.check_space(state)
        if self.pause.left:
            return None
        known = self.pause.failures
        try:
            answer = self._embed_documents(texts)
        except Exception as error:
            self.pause.begin(known, error)
            logger.warning("the embedder failed; %d vectors are pending", len(texts), exc_info=True)
            return None
        self.pause.end()
        return self._checked(answer, len(texts), self.expected_dim(state))

    def demand(self, texts: list[str], dim: int) -> list[Vector | None]:
        """Return one vector a text, as `documents` does, for work that cannot go on without.

        Args:
            texts: What to embed.
            dim: Components that the vectors must have; 0 when that is not known yet.

        Raises:
            EmbedderError: The embedder failed, or returned what cannot be used.
        """
        known = self.pause.failures
        try:
            answer = self._embed_documents(texts)
        except Exception as error:
            self.pause.begin(known, error)
            raise EmbedderError(f"the embedder failed: {self.pause.reason}") from error
        self.pause.end()
        return self._checked(answer, len(texts), dim)

    def _checked(self, answer: Sequence[VectorLike], count: int, dim: int) -> list[Vector | None]:
        """Return an embedder's answer as vectors, all of one dimension.

        Raises:
            EmbedderError: It has not one usable vector a text.
        """
        if not isinstance(answer, Sized):
            raise EmbedderError(
                f"the embedder returned {short(answer)} ({type(answer).__name__}); "
                "it must return a list of vectors"
            )
        if len(answer) != count:
            raise EmbedderError(f"the embedder returned {len(answer)} vectors for {count} texts")
        vectors = []
        for one in answer:
            vector = _checked_one(one, dim)
            vectors.append(vector)
            dim = dim or (0 if vector is None else len(vector))
        return vectors

    def query(self, text: str, state: FileState) -> tuple[Vector | None, str | None]:
        """Return a question's vector, or `None` and why there is none."""
        if self.embedder is None or not state.dim:
            return None, None
        try:
            self.check_space(state)
            return _checked_one(self._asked(text), state.dim), None
        except Exception as error:  # noqa: BLE001 - the other sources still answer
            logger.warning("no vector for the question: %s", error)
            return None, f"vector search was left out: {error}"

    def _asked(self, text: str) -> VectorLike:
        left = self.pause.left
        if left:
            raise EmbedderError(
                f"the embedder failed ({self.pause.reason}), and is asked again in {left:.0f} "
                "seconds, or by maintain"
            )
        known = self.pause.failures
        try:
            answer = self._embed_query(text)
        except Exception as error:
            self.pause.begin(known, error)
            raise
        self.pause.end()
        return answer

    def _embed_documents(self, texts: list[str]) -> Sequence[VectorLike]:
        embedder, loop = self.embedder, EVENT_LOOP.get()
        assert embedder is not None  # noqa: S101 - callers look first
        if loop is not None and isinstance(embedder, AsyncEmbedder):
            return _awaited(embedder.aembed_documents(texts), loop)
        return embedder.embed_documents(texts)

    def _embed_query(self, text: str) -> VectorLike:
        embedder, loop = self.embedder, EVENT_LOOP.get()
        assert embedder is not None  # noqa: S101 - callers look first
        if loop is not None and isinstance(embedder, AsyncEmbedder):
            return _awaited(embedder.aembed_query(text), loop)
        return embedder.embed_query(text)


def _checked_one(vector: VectorLike, dim: int) -> Vector | None:
    try:
        return check_vector(vector, "the embedder's vector", dim)
    except (InvalidInputError, VectorSpaceError) as error:
        size = 0 if isinstance(error, WrongTypeError) else len(vector)
        if size and dim in (0, size) and not np.any(vector):
            return None  # a text without direction, such as one without words
        raise EmbedderError(str(error)) from error


def _awaited(answer: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    return asyncio.run_coroutine_threadsafe(answer, loop).result()
