"""The package: its names are imported on first use, and a missing extra is named."""

import subprocess
import sys

import pytest

import langchain_plugmem


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("name", "missing", "package", "extra"),
    [
        ("PlugmemChatMessageHistory", "langchain_core", "langchain-core", "langchain"),
        ("PlugmemMemory", "langchain_classic", "langchain-classic", "classic"),
        ("PlugmemMiddleware", "langchain", "langchain", "agents"),
        ("PlugmemMemory", "langchain_core", "langchain-core", "classic"),
        ("PlugmemMiddleware", "langgraph", "langgraph", "agents"),
        ("PlugmemStore", "langgraph", "langgraph", "langgraph"),
        ("PlugmemStore", "langchain_core", "langchain-core", "langgraph"),
        ("PlugmemRetriever", "langchain_core", "langchain-core", "langchain"),
        ("PlugmemToolkit", "langchain_core", "langchain-core", "langchain"),
        ("PlugmemVectorStore", "langchain_core", "langchain-core", "langchain"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_is_enough(
    name: str, missing: str, package: str, extra: str
) -> None:
    done = run_python(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import langchain_plugmem\n"
        f"from langchain_plugmem import {name}"
    )
    assert f"ImportError: {name} needs {package}" in done.stderr
    assert f"pip install 'plugmem-core[{extra}]'" in done.stderr


def test_the_conformance_suite_names_its_extra() -> None:
    done = run_python(
        "import sys; sys.modules['langgraph'] = None\nimport langchain_plugmem.testing"
    )
    assert "ImportError: langchain_plugmem.testing needs langgraph" in done.stderr
    assert "pip install 'plugmem-core[langgraph]'" in done.stderr


def test_the_package_lists_what_it_offers() -> None:
    assert {*langchain_plugmem.__all__} <= {*dir(langchain_plugmem)}
    assert not hasattr(langchain_plugmem, "PlugmemNothing")
