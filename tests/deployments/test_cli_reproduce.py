"""``culturescope reproduce``: found by folder, cells as a table, CSV and JSON, errors in one line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app
from deployments.cli.reproduce import reproduction, reproductions
from warehouse import Warehouse

pytestmark = pytest.mark.usefixtures("warehouse")


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["reproduce", *arguments])


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """15 baseline answers that name Future Planning 52 times between them, as section 4.4 prints."""
    values = [["Future Planning"] * 4] * 13 + [["Other"] * 2] * 2
    rows = [
        {"scenario_id": f"S{i}", "model": "m", "culture": "baseline", "run_num": 0, "top_values": named}
        for i, named in enumerate(values)
    ]
    (tmp_path / "results.json").write_text(json.dumps(rows))
    return tmp_path


def test_every_evaluation_with_such_a_folder_has_a_command() -> None:
    assert "worldwise" in reproductions()
    listed = run("--help").stdout
    for name in reproductions():
        assert name in listed
        help_text = " ".join(run(name, "--help").stdout.split())
        assert f"culturescope reproduce {name} --data FOLDER" in help_text
        for source in reproduction(name).sources.values():
            assert f"{source.name}: {source.patterns[0]}" in help_text
    assert run("explication").exit_code == 2


def test_cells_stand_beside_what_is_printed(answers: Path) -> None:
    done = run("worldwise", "--data", str(answers), "--table", "4.4", "--embedder", "none")
    assert done.exit_code == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    (row,) = [line for line in done.stdout.splitlines() if "Future Planning" in line]
    assert row.replace("│", " ").split() == ["Future", "Planning", "52", "52.0", "equal", "28.0"]  # 56 / 2
    said = " ".join(done.stderr.split())
    assert "answers: results.json" in said
    assert "exemplars: none: *exemplar*.csv" in said
    assert "10 cells: 1 equal to the printed digits, 0 near, 4 differ, 5 not recomputed" in said
    assert (
        "5 not recomputed: no file of scenarios (*scenario*.csv); in 4.4 Baseline Distance Rankings" in said
    )


def test_programs_get_every_cell(answers: Path) -> None:
    asked = ("worldwise", "--data", str(answers), "--table", "4.4", "--embedder", "none")
    rows = list(csv.DictReader(io.StringIO(run(*asked, "--format", "csv").stdout)))
    assert len(rows) == 10
    assert rows[5] == {
        "table": "4.4 Value Distribution Analysis", "model": "", "condition": "value=Future Planning",
        "metric": "Baseline Frequency", "published": "52", "recomputed": "52.0", "agreement": "equal",
        "needs": "", "null": "28.0", "null_name": "all values alike", "n": "56", "unit": "count",
        "reason": "",
    }  # fmt: skip
    as_json = json.loads(run(*asked, "--format", "json").stdout)
    assert [row["reason"] for row in as_json[:5]] == ["no file of scenarios (*scenario*.csv)"] * 5


@pytest.mark.parametrize("name", reproductions())
def test_an_empty_folder_costs_every_cell_and_is_no_error(name: str, tmp_path: Path) -> None:
    done = run(name, "--data", str(tmp_path), "--format", "csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows
    assert all(row["reason"] or row["agreement"] != "not recomputed" for row in rows)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "error: --data nowhere: no such folder"),
        ([".", "--table", "12"], "error: --table 12: the paper has no such table; known: 4.1"),
        ([".", "--values-times", "x"], "error: --values-times: expected a whole number"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("worldwise", "--data", *arguments)
    assert done.exit_code == 1
    assert " ".join(done.stderr.split()).startswith(complaint)


def test_a_broken_file_is_one_line(answers: Path) -> None:
    (answers / "results.json").write_text('[{"scenario_id": "\\u001b[31m"}]')
    done = run("worldwise", "--data", str(answers))
    assert (done.exit_code, "none of 1 rows fits" in done.stderr, "\x1b" in done.stderr) == (1, True, False)


def test_cells_are_those_of_the_table_of_published_results(warehouse: Warehouse) -> None:
    papers = set(warehouse.query("SELECT DISTINCT paper FROM published_result")["paper"])
    assert set(reproductions()) <= papers
