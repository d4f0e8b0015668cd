"""The notebook runs from first to last cell, on fake and on real models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import REPOSITORY

NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"
REAL = ("smollm2-135m", "gemma3-270m")


def outputs(cell: nbformat.NotebookNode) -> str:
    """Return a cell's outputs as text."""
    return "\n".join(str(o.get("data", {}).get("text/plain", o.get("text", ""))) for o in cell.outputs)


def executed(home: Path, models: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """Run the notebook on a home, with these models in place of its own; return it."""
    for name in [name for name in os.environ if name.startswith(("PREFECT_", "CULTUREMETER_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("IPYTHONDIR", str(home / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        for own, model in zip(REAL, models, strict=True):
            cell.source = cell.source.replace(own, model)
    NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(home)}}).execute()
    return notebook


def check(notebook: nbformat.NotebookNode, models: tuple[str, str]) -> None:
    """Check that every frame names both models and that there is a figure."""
    _, board, again, compared, likely, drawn = (c for c in notebook.cells if c.cell_type == "code")
    for cell in (board, again, compared, likely):
        assert all(model in outputs(cell) for model in models), outputs(cell)
    assert "null:" in outputs(board)
    assert "null:" not in outputs(again)
    assert [list(output["data"]) for output in drawn.outputs] == [["text/plain", "image/png"]]


def test_notebook_is_stored_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not [cell for cell in code if cell.outputs or cell.execution_count is not None]


@pytest.mark.heavy
@pytest.mark.slow
def test_notebook_runs_on_fake_models_in_a_kernel(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(executed(home, ("fake-a", "fake-b"), monkeypatch), ("fake-a", "fake-b"))


def test_cells_of_the_notebook_run_in_order(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells run in this process, as a kernel takes longer to start."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    there: dict[str, Any] = {}
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source.replace(REAL[0], "fake-a").replace(REAL[1], "fake-b"), there)
    assert {"fake-a", "fake-b"} < set(there["board"]["model"])
    assert set(there["likely"]["model"]) == {"fake-a", "fake-b"}
    assert len(there["axes"].patches) == there["mass"].height > 0


@pytest.mark.slow
@pytest.mark.heavy
def test_notebook_runs_on_its_own_models(
    home: Path, smollm2_folder: Path, gemma3_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gemma3_folder.parent == smollm2_folder.parent
    (home / "models").symlink_to(smollm2_folder.parent)
    check(executed(home, REAL, monkeypatch), REAL)
