"""Runs are written as files of Every Eval Ever that fit its schema; reading them back gives equal rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks.exchange import eee
from tasks.exchange.eee_out import _NUMBERS as NUMBERS
from tasks.exchange.eee_out import _UNSCORED as UNSCORED
from tests.deployments.commands import call
from tests.exchange import logs
from tests.exchange.test_import import N, board, hits
from tests.golden.harness import EVALUATIONS
from warehouse import Warehouse

STORED = """
SELECT metric, slice_kind, slice, value, unscored_reason, n_scored, n_unscored, ci_low, ci_high, null_value
FROM metric_value WHERE run_id = ?
"""


def exported(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the aggregates of a folder."""
    return [(path, json.loads(path.read_text())) for path in sorted(folder.rglob("*.json"))]


def check(path: Path, own: dict[str, Any]) -> int:
    """Check an aggregate and its samples as the package's validator does; return the number of samples."""
    assert eee.faults(own) == []
    companion = path.with_name(f"{path.stem}{eee.SUFFIX}")
    if "detailed_evaluation_results" not in own:
        assert not companion.exists()
        return 0
    lines = companion.read_text().splitlines()
    about = own["detailed_evaluation_results"]
    assert about["total_rows"] == len(lines) > 0
    assert about["checksum"] == hashlib.sha256(companion.read_bytes()).hexdigest()
    assert Path(about["file_path"]).parts == (*companion.parts[-5:],)
    for line in lines:
        sample = json.loads(line)
        assert eee.faults(sample, "instance_level_eval") == []
        assert (sample["evaluation_id"], sample["model_id"]) == (
            own["evaluation_id"],
            own["model_info"]["id"],
        )
    return len(lines)


def number(text: Any) -> float | None:
    return None if text in (None, "") else float(text)


def rows_of(own: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of ``metric_value`` that ``aggregate`` wrote, in its order; unscored ones last."""
    rows = []
    for result in own["evaluation_results"]:
        details = result["score_details"]["details"]
        row = {name: number(details.get(name)) for name in NUMBERS}
        row["value"] = result["score_details"]["score"]
        row |= {name: int(row[name] or 0) for name in ("n_scored", "n_unscored")}
        row |= {name: details[name] for name in ("metric", "slice_kind", "slice")} | {"unscored_reason": None}
        rows.append(row)
    unscored = own["eval_library"].get("additional_details", {}).get(UNSCORED)
    for row in json.loads(unscored) if unscored else ():
        rows.append(
            {**row, **{name: number(row.get(name)) for name in ("value", "ci_low", "ci_high", "null_value")}}
        )
    return rows


def assert_equal_rows(warehouse: Warehouse, own: dict[str, Any]) -> None:
    """Assert that an aggregate has every stored row of its run."""
    run = own["eval_library"]["additional_details"]["run_id"]
    stored = {
        (r["metric"], r["slice_kind"], r["slice"]): r for r in warehouse.query(STORED, [run]).to_dicts()
    }
    read = {(r["metric"], r["slice_kind"], r["slice"]): r for r in rows_of(own)}
    assert read == stored


def test_a_run_is_written_and_read_back(warehouse: Warehouse, tmp_path: Path) -> None:
    own = hits(0.6)
    path = logs.lm_eval(tmp_path / "in", own)
    (samples,) = (tmp_path / "in").glob("samples_*.jsonl")
    first, *rest = samples.read_text().splitlines()
    samples.write_text("\n".join([first.replace(f'"acc": {own[0]}', '"acc": NaN'), *rest]))
    call("import", path, "--cluster", "doc.country", "--by", "doc.country")
    (before,) = board(warehouse)
    call("export", "eee", tmp_path / "out")
    ((path, aggregate),) = exported(tmp_path / "out")
    assert check(path, aggregate) == N
    assert_equal_rows(warehouse, aggregate)
    lines = [json.loads(line) for line in path.with_name(f"{path.stem}{eee.SUFFIX}").read_text().splitlines()]
    (lost,) = [line for line in lines if "error" in line]
    assert lost["error"] == "its score is no finite number"
    call("import", path, "--cluster", "metadata.cluster")
    (again,) = [
        row
        for row in board(warehouse)
        if row["config_hash"] != before["config_hash"] and row["n_scored"] == N - 1
    ]
    for column in ("score", "ci_low", "ci_high", "stderr", "null_value"):
        assert again[column] == pytest.approx(before[column]), column


@pytest.mark.heavy
@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_every_evaluation_is_written_and_read_back(
    evaluation: str,
    all_runs: Warehouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(all_runs.home))
    call("export", "eee", tmp_path, "--evaluation", evaluation)
    found = exported(tmp_path)
    assert len(found) >= 2, "two models"
    for path, own in found:
        check(path, own)
        assert_equal_rows(all_runs, own)
