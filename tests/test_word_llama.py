"""The embedder whose weights come with a package: no download, whatever it is given."""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import OpenMemory

import plugmem_core.embed.word_llama as module
from plugmem_core import (
    EmbedderError,
    InvalidInputError,
    MissingExtraError,
    PlugmemError,
    WordLlamaEmbedder,
)


@pytest.fixture(scope="module")
def embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder(64)


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_texts_that_mean_the_same_are_near_without_a_word_in_common(
    embedder: WordLlamaEmbedder,
) -> None:
    cat, rates, kitten = embedder.embed_documents(
        ["The cat sleeps", "Interest rates went up", "a kitten naps"]
    )
    assert cosine(cat, kitten) > cosine(cat, rates) + 0.2


@pytest.mark.parametrize("dim", [64, 128, 256])
def test_a_smaller_dimension_is_the_beginning_of_a_larger_one(
    embedder: WordLlamaEmbedder, dim: Any
) -> None:
    larger = WordLlamaEmbedder(dim)
    vector = larger.embed_query("green tea")
    assert vector.shape == (dim,)
    assert vector.dtype == np.float32
    assert vector[:64] == pytest.approx(embedder.embed_query("green tea"), abs=1e-6)
    assert larger.dim == dim
    assert larger.space_id == f"wordllama-l2_supercat-{dim}"


def test_a_text_is_the_mean_of_its_tokens(embedder: WordLlamaEmbedder) -> None:
    model = embedder._model
    ids = model.tokenizer.encode("green tea", add_special_tokens=False).ids
    mean = model.embedding[ids].mean(axis=0)
    assert embedder.embed_query("green tea") == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u2003"])
def test_a_text_without_a_word_has_no_direction_and_does_no_harm_to_others(
    embedder: WordLlamaEmbedder, blank: str
) -> None:
    before, none, after = embedder.embed_documents(["tea", blank, "rye"])
    assert not none.any()
    assert not embedder.embed_query(blank).any()
    assert (before == embedder.embed_query("tea")).all()
    assert (after == embedder.embed_query("rye")).all()


def test_a_vector_does_not_depend_on_what_is_embedded_with_it(
    embedder: WordLlamaEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"tea {'and bread ' * (n % 7)}{n}" for n in range(50)]
    alone = [embedder.embed_query(text) for text in texts]
    assert all((a == b).all() for a, b in zip(alone, embedder.embed_documents(texts), strict=True))
    monkeypatch.setattr(module, "CHARACTERS", 100)  # many batches instead of one
    assert all((a == b).all() for a, b in zip(alone, embedder.embed_documents(texts), strict=True))


def test_a_long_text_does_not_make_a_batch_of_short_ones_long(
    embedder: WordLlamaEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting:
        def __init__(self) -> None:
            self.batches: list[list[str]] = []

        def embed(self, texts: list[str], batch_size: int) -> Any:
            assert batch_size == len(texts)
            self.batches.append(texts)
            return np.ones((len(texts), 64), np.float32)

    counting = Counting()
    monkeypatch.setattr(embedder, "_model", counting)
    texts = ["tea"] * 1_000 + ["t" * 60_000] + ["rye"] * 1_000
    assert len(embedder.embed_documents(texts)) == 2_001
    assert counting.batches.pop() == ["t" * 60_000]
    assert sum(map(len, counting.batches)) == 2_000
    assert all(len(batch) * 3 <= module.CHARACTERS for batch in counting.batches)
    assert len(counting.batches) == 2


def test_no_texts_have_no_vectors(embedder: WordLlamaEmbedder) -> None:
    assert embedder.embed_documents([]) == []


@pytest.mark.parametrize("dim", [0, 63, 512, "64", None, True, 64.5])
def test_a_dimension_that_the_weights_do_not_have_is_refused(dim: Any) -> None:
    with pytest.raises(InvalidInputError, match="64, 128, 256"):
        WordLlamaEmbedder(dim)


def test_a_memory_works_with_it(open_memory: OpenMemory, embedder: WordLlamaEmbedder) -> None:
    memory = open_memory(embedder=embedder)
    assert memory.remember("The cat sleeps on the sofa").vector == "stored"
    memory.remember("Interest rates went up again")
    assert memory.recall("kitten", k=1).facts[0].id == 0
    assert memory.vector_space == (64, "wordllama-l2_supercat-64")
    assert memory.recall("   ").facts == ()


def test_making_one_leaves_the_logging_of_the_program_alone() -> None:
    # In a process of its own, since the package does its harm at its first import.
    program = (
        "import logging, plugmem_core; plugmem_core.WordLlamaEmbedder(64);"
        "print(logging.root.handlers, logging.root.level == logging.WARNING)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] True"
    assert logging.root is logging.getLogger()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'plugmem-core\[embed\]'") as caught:
        WordLlamaEmbedder()
    assert isinstance(caught.value, PlugmemError)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize("layout", ["tokenizer", "tokenizers"])
def test_the_tokenizer_is_found_in_either_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, embedder: WordLlamaEmbedder
) -> None:
    import wordllama
    import wordllama.wordllama as loading

    installed = Path(wordllama.__file__).parent
    (tmp_path / "weights").symlink_to(installed / "weights")
    (tmp_path / layout).symlink_to(installed / "tokenizers")
    monkeypatch.setattr(wordllama, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(loading, "__file__", str(tmp_path / "wordllama.py"))
    assert (WordLlamaEmbedder(64).embed_query("tea") == embedder.embed_query("tea")).all()


def test_an_installation_without_weights_is_refused_and_nothing_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wordllama
    import wordllama.wordllama as loading

    monkeypatch.setattr(wordllama, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(loading, "__file__", str(tmp_path / "wordllama.py"))
    with pytest.raises(EmbedderError, match="without its weights"):
        WordLlamaEmbedder()


def test_importing_the_package_imports_no_model_and_no_network() -> None:
    program = (
        "import sys, plugmem_core, plugmem_core.embed;"
        "print([n for n in ('httpx', 'wordllama', 'requests', 'tokenizers') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
