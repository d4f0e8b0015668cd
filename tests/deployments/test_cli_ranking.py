"""``culturescope ranking``: a user's file in, agreement out, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from tests.report.stored import row, store_run
from warehouse import Warehouse

runner = CliRunner()


def test_a_users_ranking_is_held_against_the_headlines(warehouse: Warehouse, tmp_path: Path) -> None:
    store_run(warehouse, "culturall", "model-a", [row("accuracy", ("overall", "all"), 0.5)], {})
    file = tmp_path / "blend.csv"
    file.write_text("model,score\nmodel-a,0.25\nmodel-b,0.75\nmodel-c,0.25\n")
    done = runner.invoke(app, ["ranking", str(file), "--wide"])
    assert done.exit_code == 0, done.output
    assert "blend: 3 models" in done.stderr
    places = "SELECT model, place, our_model FROM external_ranking WHERE benchmark = 'blend' ORDER BY ALL"
    assert warehouse.query(places).rows() == [
        ("model-a", 2, "model-a"),
        ("model-b", 1, None),
        ("model-c", 2, None),
    ]
    as_csv = runner.invoke(app, ["ranking", "-f", "csv"]).stdout.splitlines()
    assert as_csv[0].startswith("evaluation,metric,label,benchmark,n_models,rho")
    assert as_csv[1].startswith("culturall,accuracy,Accuracy,blend,1,,")
    assert "fewer than three models have both" in as_csv[1]


def test_explication_is_held_against_structure_and_facts(warehouse: Warehouse) -> None:
    refused = runner.invoke(app, ["ranking", "--explication"])
    assert refused.exit_code == 1
    assert "explication" in refused.stderr
    for n in range(6):
        engine = f"e{n}", f"lab/m{n}"
        grades = [row("apr", ("condition", "control"), 2.0 + n)]
        store_run(warehouse, "explication", f"m{n}", grades, {}, "x", engine=engine)
        known = [
            row("macro_f1", ("overall", "all"), n / 10),
            row("reference_mass", ("overall", "all"), -n / 10),
        ]
        store_run(warehouse, "spectral", f"m{n}", known, {}, "y", engine=engine)
    shown = runner.invoke(app, ["ranking", "--explication", "--wide"])
    assert shown.exit_code == 0, shown.output
    assert "Structure against facts" in shown.stderr + shown.stdout
    lines = runner.invoke(app, ["ranking", "--explication", "-f", "csv"]).stdout.splitlines()
    assert len(lines) == 1 + 2 + 1, "two correlations, one difference"
    for column in ("ci_low", "p_holm", "needed", "difference", "unscored_reason"):
        assert column in lines[0].split(",")
    assert "values" not in lines[0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("model,score\na,0.5\nb,\n", "1 of 2 rows lack a model or both place and score"),
        ("model,place\na,1\na,2\n", "a model occurs twice"),
        ("model,place\na,0\nb,1\n", "a place is below 1"),
        ("name,place\na,1\n", "expected the columns model"),
    ],
)
def test_a_wrong_file_is_refused(warehouse: Warehouse, tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text)
    done = runner.invoke(app, ["ranking", str(file)])
    assert done.exit_code == 1
    assert complaint in " ".join(done.stderr.split())
    assert warehouse.query("FROM user_rank").is_empty()
