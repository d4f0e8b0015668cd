"""``culturemeter reproduce``: the commands, cells as a table, CSV and JSON, and errors."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from typer.testing import Result

from deployments.cli.reproduce import reproduction, reproductions
from tests.deployments.commands import call, one_line
from warehouse import Warehouse


def run(*arguments: object, code: int = 0) -> Result:
    return call("reproduce", *arguments, code=code, COLUMNS="80")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """15 baseline answers that name Future Planning 52 times in all, as section 4.4 prints."""
    values = [["Future Planning"] * 4] * 13 + [["Other"] * 2] * 2
    rows = [
        {"scenario_id": f"S{i}", "model": "m", "culture": "baseline", "run_num": 0, "top_values": named}
        for i, named in enumerate(values)
    ]
    (tmp_path / "results.json").write_text(json.dumps(rows))
    return tmp_path


@pytest.mark.parametrize("name", sorted(reproductions()))
def test_tables_of_examples_and_of_figures_are_known(name: str, warehouse: Warehouse, tmp_path: Path) -> None:
    kind = reproduction(name)
    examples = [words[1] for words in map(shlex.split, kind.examples) if words[0] == "--table"]
    for table in [*examples, *kind.further]:
        run(name, "--data", tmp_path, "--table", table)


def test_files_that_no_source_takes_are_named(warehouse: Warehouse, tmp_path: Path) -> None:
    for name in ("items.csv", "notes.csv", "readme.md"):
        (tmp_path / name).write_text("domain,item\nCurrency,yen\n")
    shown = run("spectral", "--data", tmp_path)
    assert "not used: notes.csv" in shown.stderr


def test_help_of_reproduce_lists_every_paper_and_its_files(warehouse: Warehouse) -> None:
    assert "worldwise" in reproductions()
    papers = warehouse.query("SELECT DISTINCT paper FROM published_result")["paper"]
    assert set(reproductions()) <= set(papers)
    listed = run("--help").stdout
    for name in reproductions():
        assert name in listed
        help_text = one_line(run(name, "--help").stdout)
        assert f"culturemeter reproduce {name} --data FOLDER" in help_text
        for source in reproduction(name).sources.values():
            assert f"{source.name}: {source.patterns[0]}" in help_text
    run("explication", code=2)


def test_recomputed_cells_are_printed_beside_published_ones(answers: Path) -> None:
    done = run("worldwise", "--data", answers, "--table", "4.4", "--embedder", "none")
    assert max(map(len, done.stdout.splitlines())) <= 80
    (row,) = [line for line in done.stdout.splitlines() if "Future Planning" in line]
    cells = row.replace("│", " ").split()
    assert (cells[:5], cells[-1]) == (["Future", "Planning", "52", "52.0", "equal:"], "28.0")  # 56 / 2
    notes = one_line(done.stderr)
    assert "answers: results.json" in notes
    assert "exemplars: none: *exemplar*.csv" in notes
    assert "0 of the paper's 4 models are in the files; without 'Claude 3.5 Haiku', 'DeepSeek'" in notes
    assert "10 cells: 1 equal to the printed digits, 0 near, 4 differ, 5 not recomputed" in notes
    assert "5 not recomputed: no file of scenarios (*scenario*.csv)" in notes


def test_csv_and_json_have_every_cell(answers: Path) -> None:
    line = ("worldwise", "--data", answers, "--table", "4.4", "--embedder", "none")
    rows = list(csv.DictReader(io.StringIO(run(*line, "--format", "csv").stdout)))
    assert len(rows) == 10
    assert rows[5] == {
        "table": "4.4 Value Distribution Analysis", "model": "", "condition": "value=Future Planning",
        "metric": "Baseline Frequency", "published": "52", "recomputed": "52.0", "agreement": "equal",
        "needs": "", "null": "28.0", "null_name": "all values alike", "n": "56", "unit": "count",
        "reason": "over 0 of the paper's 4 models",
    }  # fmt: skip
    as_json = json.loads(run(*line, "--format", "json").stdout)
    assert [row["reason"] for row in as_json[:5]] == ["no file of scenarios (*scenario*.csv)"] * 5


@pytest.mark.parametrize("name", reproductions())
def test_empty_folder_gives_a_reason_for_every_cell(name: str, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run(name, "--data", tmp_path, "--format", "csv").stdout)))
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
def test_wrong_options_are_refused(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert one_line(run("worldwise", "--data", *arguments, code=1).stderr).startswith(complaint)


def test_broken_file_is_refused_without_control_characters(answers: Path) -> None:
    (answers / "results.json").write_text('[{"scenario_id": "\\u001b[31m"}]')
    error = run("worldwise", "--data", answers, code=1).stderr
    assert "none of 1 rows fits" in error
    assert "\x1b" not in error
