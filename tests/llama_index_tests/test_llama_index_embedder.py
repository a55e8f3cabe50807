"""`LlamaIndexEmbedder`: LlamaIndex's models as the embedder of a memory."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding
from word_embedding import WordEmbedding

from llama_index_plugmem import LlamaIndexEmbedder
from plugmem_core import AsyncEmbedder, Embedder, Memory, VectorSpaceError, WrongTypeError


class Another(WordEmbedding):
    """Another model, which sets no class name either."""


class Slow(WordEmbedding):
    """Makes vectors in coroutines of its own, and says in which loop."""

    loops: list[Any] = []  # noqa: RUF012 - pydantic copies it for every instance

    async def _aget_text_embedding(self, text: str) -> list[float]:
        self.loops.append(asyncio.get_running_loop())
        return self._get_text_embedding(text)


def test_it_is_an_embedder() -> None:
    embedder = LlamaIndexEmbedder(WordEmbedding())
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, AsyncEmbedder)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (WordEmbedding(), "WordEmbedding"),
        (Another(), "Another"),
        (MockEmbedding(embed_dim=4), "MockEmbedding"),
        (WordEmbedding(model_name="small"), "WordEmbedding:small"),
    ],
)
def test_models_have_different_names(model: BaseEmbedding, name: str) -> None:
    assert LlamaIndexEmbedder(model).space_id == name
    assert LlamaIndexEmbedder(model, space_id="mine").space_id == "mine"


def test_vectors_of_different_models_are_not_mixed(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m", embedder=LlamaIndexEmbedder(WordEmbedding())) as memory:
        memory.remember("tea")
    with (
        Memory.open(tmp_path / "m", embedder=LlamaIndexEmbedder(Another())) as memory,
        pytest.raises(VectorSpaceError),
    ):
        memory.remember("coffee")


def test_texts_and_questions_go_to_the_methods_meant_for_them() -> None:
    model = WordEmbedding()
    memory = Memory.open(":memory:", embedder=LlamaIndexEmbedder(model))
    memory.remember_many({"text": f"tea number {number}"} for number in range(25))
    found = memory.recall("tea number 7", sources=["vector"], k=1)
    assert [fact.text for fact in found.facts] == ["tea number 7"]
    assert model.queries == ["tea number 7"]


async def test_async_verbs_await_the_models_own_coroutines() -> None:
    model = Slow()
    memory = Memory.open(":memory:", embedder=LlamaIndexEmbedder(model))
    await memory.aremember("tea")
    assert model.loops == [asyncio.get_running_loop()]
    assert memory.stats().vectors == 1


@pytest.mark.parametrize("wrong", [None, "text-embedding", WordEmbedding])
def test_what_is_no_model_is_refused(wrong: Any) -> None:
    with pytest.raises(WrongTypeError, match="embed_model"):
        LlamaIndexEmbedder(wrong)
