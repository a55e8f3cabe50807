"""Rerankers made of LlamaIndex's node postprocessors."""

from collections.abc import Sequence

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from plugmem_core import WrongTypeError
from plugmem_core.adapters.reranking import scores_of_places


class PostprocessorReranker:
    """Lets a LlamaIndex node postprocessor rerank what a memory recalls.

    The order of the nodes that the postprocessor returns is the order of the facts, and what
    it drops is left out. Scores that it gives become those of the facts, if they fall along that
    order; else scores tell the place.

    Args:
        postprocessor: A cross-encoder, a language model that filters, or any other.

    >>> from llama_index.core.postprocessor.types import BaseNodePostprocessor
    >>> class Shortest(BaseNodePostprocessor):
    ...     def _postprocess_nodes(self, nodes, query_bundle=None):
    ...         return sorted(nodes, key=lambda one: len(one.text))
    >>> from plugmem_core import Memory
    >>> memory = Memory.open(":memory:", reranker=PostprocessorReranker(Shortest()))
    >>> for text in ("tea, and a slice of bread", "tea"):
    ...     _ = memory.remember(text)
    >>> [fact.text for fact in memory.recall("tea")]
    ['tea', 'tea, and a slice of bread']
    """

    def __init__(self, postprocessor: BaseNodePostprocessor) -> None:
        if not isinstance(postprocessor, BaseNodePostprocessor):
            raise WrongTypeError(
                f"postprocessor is {postprocessor!r} ({type(postprocessor).__name__}); "
                "give a BaseNodePostprocessor"
            )
        self.postprocessor = postprocessor

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score a text; `-inf` leaves a text out."""
        nodes = [
            NodeWithScore(node=TextNode(text=text, id_=str(place)))
            for place, text in enumerate(texts)
        ]
        kept = self.postprocessor.postprocess_nodes(nodes, query_str=question)
        return scores_of_places([(int(one.node_id), one.score) for one in kept], len(texts))
