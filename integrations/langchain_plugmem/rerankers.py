"""Rerankers made of LangChain's document compressors."""

from collections.abc import Sequence

from langchain_core.documents import BaseDocumentCompressor, Document

from plugmem_core import WrongTypeError
from plugmem_core.adapters.reranking import scores_of_places

_PLACE = "_plugmem_place"


class CompressorReranker:
    """Lets a LangChain document compressor rerank what a memory recalls.

    The order of the documents that the compressor returns is the order of the facts, and what it
    drops is left out. A `relevance_score` that it writes into the metadata becomes the
    score of the fact, if it falls along that order; else scores tell the place.

    Args:
        compressor: A cross-encoder, a language model that filters, or any other.

    >>> from langchain_core.documents import BaseDocumentCompressor
    >>> class Shortest(BaseDocumentCompressor):
    ...     def compress_documents(self, documents, query, callbacks=None):
    ...         return sorted(documents, key=lambda document: len(document.page_content))
    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:", reranker=CompressorReranker(Shortest()))
    >>> for text in ("tea, and a slice of bread", "tea"):
    ...     _ = memory.remember(text)
    >>> [fact.text for fact in memory.recall("tea")]
    ['tea', 'tea, and a slice of bread']
    """

    def __init__(self, compressor: BaseDocumentCompressor) -> None:
        if not isinstance(compressor, BaseDocumentCompressor):
            raise WrongTypeError(
                f"compressor is {compressor!r} ({type(compressor).__name__}); "
                "give a BaseDocumentCompressor"
            )
        self.compressor = compressor

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text; `-inf` leaves a text out."""
        documents = [
            Document(page_content=text, metadata={_PLACE: place})
            for place, text in enumerate(texts)
        ]
        kept = self.compressor.compress_documents(documents, question)
        order = [(one.metadata[_PLACE], one.metadata.get("relevance_score")) for one in kept]
        return scores_of_places(order, len(texts))
