"""Node postprocessors as rerankers of a memory."""

import pytest
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_plugmem import PlugmemRetriever, PostprocessorReranker
from plugmem_core import Memory, WrongTypeError


class Backwards(BaseNodePostprocessor):
    """The alphabet from behind, with scores."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        assert query_bundle.query_str == "letter"
        order = sorted(nodes, key=lambda one: one.text, reverse=True)
        return [NodeWithScore(node=one.node, score=9 - at) for at, one in enumerate(order)]


@pytest.fixture
def letters(memory: Memory) -> Memory:
    memory.remember_many({"text": f"{letter} letter"} for letter in ("b", "a", "c"))
    return memory


def test_its_order_and_scores_are_those_of_the_facts(letters: Memory) -> None:
    found = letters.recall("letter", reranker=PostprocessorReranker(Backwards()))
    assert [(fact.text[0], fact.score) for fact in found] == [("c", 9.0), ("b", 8.0), ("a", 7.0)]


def test_what_it_drops_is_left_out(letters: Memory) -> None:
    found = letters.recall("letter", reranker=PostprocessorReranker(_Only()))
    assert [(fact.text, fact.score) for fact in found] == [("a letter", 1.0)]


class _Only(BaseNodePostprocessor):
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [one for one in nodes if one.text.startswith("a")]


def test_one_of_the_framework_reorders(letters: Memory) -> None:
    plain = [fact.id for fact in letters.recall("letter")]
    found = letters.recall("letter", reranker=PostprocessorReranker(LongContextReorder()))
    assert sorted(fact.id for fact in found) == sorted(plain)


async def test_a_retriever_takes_one(letters: Memory) -> None:
    retriever = PlugmemRetriever(letters, reranker=PostprocessorReranker(Backwards()))
    for nodes in (retriever.retrieve("letter"), await retriever.aretrieve("letter")):
        assert [one.text[0] for one in nodes] == ["c", "b", "a"]


def test_what_is_no_postprocessor_is_refused() -> None:
    with pytest.raises(WrongTypeError, match="BaseNodePostprocessor"):
        PostprocessorReranker(object())
