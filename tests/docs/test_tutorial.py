"""The tutorial: executed by a real kernel, and written without what changes on every run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs/tutorial.ipynb"


def executed() -> Any:
    """Return the notebook with the outputs of a fresh kernel."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    paths = [os.environ.get("PYTHONPATH", ""), str(ROOT / "src")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", store_widget_state=False)
    client.execute(cwd=str(ROOT / "docs"), env=environment)
    return tidy(notebook)


def tidy(notebook: Any) -> Any:
    """The notebook without what changes on every run: times, versions, how prints were cut up."""
    for cell in notebook.cells:
        cell.metadata.clear()
        whole: list[Any] = []
        for output in cell.get("outputs", []):
            before = whole[-1] if whole else {}
            if output.output_type == "stream" and before.get("name") == output.name:
                before.text += output.text
            else:
                whole.append(output)
        if cell.cell_type == "code":
            cell.outputs = whole
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def texts(notebook: Any) -> list[str]:
    """What the cells gave as text or HTML; pictures depend on fonts and are left out."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" not in data:
                given = output.get("text") or data.get("text/html") or data.get("text/plain")
                found.append("".join(given or ""))
    return found


def write(notebook: Any, path: Path) -> None:
    import nbformat

    nbformat.validate(notebook)
    nbformat.write(notebook, path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client")
def test_the_tutorial_gives_the_outputs_that_it_shows() -> None:
    import nbformat

    shown = texts(nbformat.read(NOTEBOOK, as_version=4))
    assert shown
    assert texts(executed()) == shown, "python -m tests.docs.refresh"
