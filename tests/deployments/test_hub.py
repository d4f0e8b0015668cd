"""The files for the hub are those that its own library reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.deployments.commands import call, refused
from tests.exchange import logs
from tests.exchange.test_import import hits
from warehouse import Warehouse


def test_hub_files_hold_tables_card_and_results_of_hub_models(warehouse: Warehouse, tmp_path: Path) -> None:
    call("import", logs.lm_eval(tmp_path / "a", hits(0.6), "org/model-a"))
    out = tmp_path / "out"
    assert "OWNER/NAME" in refused("export", "hub", out, "--dataset", "nothing")
    call("export", "hub", out, "--dataset", "lab/culture", "--licence", "CC-BY-4.0", "--by", "Lab")
    _, head, text = (out / "dataset" / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(head)
    assert card["license"] == "cc-by-4.0"
    for config in card["configs"]:
        assert pl.read_parquet(out / "dataset" / config["data_files"]).height > 0
        assert f"`{config['config_name']}`" in text
    assert "leaderboard_imported" in {config["config_name"] for config in card["configs"]}
    (file,) = (out / "models").rglob("*.yaml")
    assert file.parts[-3:] == ("org__model-a", ".eval_results", "culturemeter.yaml")
    results = yaml.safe_load(file.read_text())
    (board,) = warehouse.query("SELECT score FROM leaderboard_imported WHERE NOT is_null").to_dicts()
    assert results[0]["value"] == pytest.approx(board["score"], rel=1e-5)
    benchmark = yaml.safe_load((out / "dataset" / "eval.yaml").read_text())
    assert {result["dataset"]["task_id"] for result in results} <= {task["id"] for task in benchmark["tasks"]}
    hub = pytest.importorskip("huggingface_hub")
    entries = [
        hub.EvalResultEntry(
            dataset_id=r["dataset"]["id"],
            task_id=r["dataset"]["task_id"],
            value=r["value"],
            date=r["date"],
            notes=r["notes"],
        )
        for r in results
    ]
    assert hub.eval_result_entries_to_yaml(entries) == results
    assert "not empty" in refused("export", "hub", out, "--dataset", "lab/culture")
