"""Numbers of harness tasks are recomputed from what was stored, after any edit of YAML and data."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.evaluations import evaluation as evaluation_of
from flows.stored import RecomputedRows, recomputed
from tests.golden.conftest import Homes
from tests.golden.harness import run
from tests.golden.nets.harness import FILES
from warehouse import Warehouse


def gone(files: Path) -> None:
    shutil.rmtree(files)


def edited(files: Path) -> None:
    for task in files.glob("*.yaml"):
        task.write_text(task.read_text().replace("doc_to_text: ", "doc_to_text: Now "))
    for data in files.glob("*.json*"):
        data.write_text(data.read_text().replace("a", "o"))


@pytest.mark.slow
@pytest.mark.parametrize("change", [gone, edited])
def test_numbers_need_neither_yaml_nor_data(
    fresh: Homes, tmp_path: Path, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, files = fresh("harness"), Path(shutil.copytree(FILES, tmp_path / "files"))
    tasks = [str(files / name) for name in ("choice.yaml", "written.yaml")]
    run("harness", home, tasks=tasks, fewshot=2, models=["fake-a"])
    change(files)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    (own,) = recomputed(evaluation_of)
    assert own == RecomputedRows("harness", own.config_hash, "", own.n_rows, [], "")
    assert own.n_rows == Warehouse.open(home).query("SELECT count(*) FROM metric_value").item() > 0
