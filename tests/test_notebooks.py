"""Every notebook runs from start to end and shows what is committed."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from plugmem_core import Memory

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))

Output = tuple[str, str]


def read(path: Path) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # of theirs
    return notebook


def shown(output: dict[str, Any]) -> Output:
    """Return what a reader sees of an output: its kind and its richest text."""
    if output["output_type"] == "stream":
        return output["name"], output["text"]
    data = output.get("data", {"text/plain": output})
    kind = next(kind for kind in ("text/html", "text/markdown", "text/plain") if kind in data)
    return kind, data[kind]


def shown_by_cell(notebook: nbformat.NotebookNode) -> list[tuple[str, list[Output]]]:
    return [
        (cell.source, [shown(output) for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder to run in that keeps Jupyter and IPython out of the home directory.

    Its path is short, unlike that of `tmp_path`: the kernel's sockets lie in it, and the
    path of a socket may have about 100 characters.
    """
    with TemporaryDirectory() as name:
        for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
            monkeypatch.setenv(variable, name)
        yield name


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
async def test_a_notebook_shows_what_is_committed(path: Path, folder: str) -> None:
    committed, fresh = read(path), read(path)
    # Sockets in the file system: no port is opened, and nothing else can listen in.
    kernel = AsyncKernelManager(transport="ipc", connection_file=f"{folder}/kernel.json")
    resources = {"metadata": {"path": folder}}
    client = NotebookClient(fresh, km=kernel, timeout=120, resources=resources)
    await client.async_execute(cleanup_kc=True)  # or else its sockets stay open
    assert shown_by_cell(fresh) == shown_by_cell(committed)


def test_stored_markup_is_text_in_every_table() -> None:
    memory = Memory.open(":memory:")
    markup = "<script>alert('x')</script> & \"co\""
    first = memory.remember(
        f"old {markup}", entity=markup, tags=[markup], links=[(markup, f"to {markup}")]
    )
    memory.revise(first.id, f"new {markup}")
    result = memory.recall("new script", entities=[markup], explain=True)
    [fact] = result.facts
    stored = memory.get(fact.id)
    assert stored is not None
    tables: list[Any] = [
        result,
        fact,
        stored,
        memory.history(fact.id),
        memory.list_facts(),
        result.explanation,
    ]
    for table in tables:
        html = table._repr_html_()
        assert html.startswith("<table>")
        assert "<script" not in html
        assert f"f{fact.id}" in html
    escaped = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; &quot;co&quot;"
    assert f"<td>new {escaped}</td>" in stored._repr_html_()
    assert f"<li>{escaped} —{escaped}→ to {escaped}</li>" in result._repr_html_()


def test_an_empty_result_says_so() -> None:
    assert Memory.open(":memory:").recall("tea")._repr_html_() == "<em>no facts</em>"
