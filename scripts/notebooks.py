"""Run every notebook from start to end and keep what it shows: `make notebooks`."""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

for path in sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # of theirs
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        # Without times, the file changes only when what it shows does.
        NotebookClient(notebook, resources=resources, timeout=120, record_timing=False).execute()
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call] # of theirs
    print(path)
