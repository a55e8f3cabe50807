"""What is measured: a system opens a collection, and answers its questions one by one."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.quality.collections import Collection, Document
from benchmarks.quality.vectors import Matrix, VectorCache

NO_ENCODER = "none"
"""The name of having no vectors."""

Ask: TypeAlias = Callable[[int], Sequence[str]]
"""Takes the place of a question; returns ids of documents, best first."""


class Prepared:
    """A collection with the vectors of its texts, if there is an encoder."""

    def __init__(self, collection: Collection, cache: VectorCache | None = None) -> None:
        self.collection = collection
        self.space_id = None if cache is None else cache.space_id
        self.documents = _vectors([one.text for one in collection.documents], cache)
        self.questions = _vectors([one.text for one in collection.questions], cache)

    @property
    def dim(self) -> int:
        """Components of the vectors; 0 without any."""
        return 0 if self.documents is None else self.documents.shape[1]

    @cached_property
    def spaces(self) -> dict[str, list[int]]:
        """The places of the documents of each space."""
        found: dict[str, list[int]] = {}
        for place, document in enumerate(self.collection.documents):
            found.setdefault(document.space, []).append(place)
        return found

    @cached_property
    def by_id(self) -> dict[tuple[str, str], Document]:
        """The documents by space and id."""
        return {(one.space, one.id): one for one in self.collection.documents}

    def question_vector(self, place: int) -> Matrix | None:
        """Return the vector of a question; `None` for one without direction."""
        return _row(self.questions, place)

    def document_vector(self, place: int) -> Matrix | None:
        """Return the vector of a document; `None` for one without direction."""
        return _row(self.documents, place)


class System(NamedTuple):
    """A way to answer questions.

    Attributes:
        name: As it is printed.
        open: Makes the system ready for a collection, with a folder for its files.
        needs_vectors: Whether it can do nothing without an encoder.
    """

    name: str
    open: Callable[[Prepared, Path], AbstractContextManager[Ask]]
    needs_vectors: bool = False


def _vectors(texts: Sequence[str], cache: VectorCache | None) -> Matrix | None:
    return None if cache is None else cache.embed(texts)


def _row(matrix: Matrix | None, place: int) -> Matrix | None:
    if matrix is None or not np.any(matrix[place]):
        return None
    row: Matrix = matrix[place]
    return row
