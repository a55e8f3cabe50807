"""Embeddings whose nearest texts can be told by hand."""

import re
from collections.abc import Sequence

from langgraph.store.base import Embeddings

VOCABULARY = (
    *("green", "tea", "black", "coffee", "paint", "old", "car", "river", "stone"),
    *("bread", "oven", "grün", "boat", "paper"),
)

UNEMBEDDABLE = "\N{BOMB}"
"""A text with this sign in it cannot be embedded."""


class WordEmbeddings(Embeddings):
    """Counts words: the more words two texts share, the nearer they are.

    Each word the suite searches for has a dimension of its own, and all others share one.
    So the cosine of "green tea" is 1 with itself, a half with "green paint", and 0 with
    "old car". No text is the zero vector, whose cosine is undefined.

    A text with a bomb in it makes the embedding fail, as a provider may.

    >>> WordEmbeddings().embed_query("green tea")[:4]
    [0.0, 1.0, 1.0, 0.0]
    """

    dims = 1 + len(VOCABULARY)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text.

        Raises:
            RuntimeError: There is a bomb in the text.
        """
        if UNEMBEDDABLE in text:
            raise RuntimeError(f"the embedder fails, as {text!r} asks it to")
        words = re.findall(r"\w+", text.lower())
        known = [float(words.count(word)) for word in VOCABULARY]
        others = len(words) - sum(known)
        return [others if words else 1.0, *known]

    # The inherited ones ask a thread, which takes longer than the answer.
    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text."""
        return self.embed_query(text)
