"""Document compressors as rerankers of a memory."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document

from langchain_plugmem import CompressorReranker, PlugmemRetriever
from plugmem_core import Memory, WrongTypeError


class Backwards(BaseDocumentCompressor):
    """The alphabet from behind; texts that begin with an a are dropped."""

    scored: bool = False

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        kept = [one for one in documents if not one.page_content.startswith("a")]
        kept.sort(key=lambda one: one.page_content, reverse=True)
        if self.scored:
            for place, one in enumerate(kept):
                one.metadata["relevance_score"] = 0.9 - place / 10
        return kept


@pytest.fixture
def letters(memory: Memory) -> Memory:
    memory.remember_many({"text": f"{letter} letter"} for letter in ("b", "a", "c"))
    return memory


def test_the_order_of_the_compressor_is_the_order_of_the_facts(letters: Memory) -> None:
    found = letters.recall("letter", reranker=CompressorReranker(Backwards()))
    assert [(fact.text, fact.score) for fact in found] == [("c letter", 1.0), ("b letter", 0.5)]


def test_its_scores_are_those_of_the_facts(letters: Memory) -> None:
    found = letters.recall("letter", reranker=CompressorReranker(Backwards(scored=True)))
    assert [fact.score for fact in found] == pytest.approx([0.9, 0.8])


@pytest.mark.parametrize("route", ["constructor", "call"])
async def test_a_retriever_takes_one(letters: Memory, route: str) -> None:
    settings = {"reranker": CompressorReranker(Backwards())}
    built: dict[str, Any] = settings if route == "constructor" else {}
    called: dict[str, Any] = {} if route == "constructor" else settings
    retriever = PlugmemRetriever(memory=letters, **built)
    texts = ["c letter", "b letter"]
    assert [one.page_content for one in retriever.invoke("letter", **called)] == texts
    assert [one.page_content for one in await retriever.ainvoke("letter", **called)] == texts


def test_a_retriever_takes_wishes_for_variety(memory: Memory) -> None:
    memory.remember_many({"text": text} for text in ("tea with milk", "with milk, tea", "tea"))
    texts = [
        one.page_content
        for one in PlugmemRetriever(memory=memory, duplicates=0.9).invoke("tea with milk")
    ]
    assert len(texts) == 2
    assert "tea" in texts


def test_what_is_no_compressor_is_refused() -> None:
    with pytest.raises(WrongTypeError, match="BaseDocumentCompressor"):
        CompressorReranker(object())
