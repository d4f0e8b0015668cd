"""``culturemeter ranking``: a user's file is read, and rankings are correlated with headlines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deployments.commands import call, refused
from tests.report.stored import row, store_run
from tests.warehouse.rows import one_write
from warehouse import Warehouse


def test_ranking_from_a_file_is_stored_and_correlated_with_headlines(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    store_run(warehouse, "culturall", "model-a", [row("accuracy", ("overall", "all"), 0.5)], {})
    file = tmp_path / "blend.csv"
    file.write_text("model,score\nmodel-a,0.25\nmodel-b,0.75\nmodel-c,0.25\n")
    assert "blend: 3 models" in call("ranking", file, "--wide").stderr
    places = "SELECT model, place, our_model FROM external_ranking WHERE benchmark = 'blend' ORDER BY ALL"
    assert warehouse.query(places).rows() == [
        ("model-a", 2, "model-a"),
        ("model-b", 1, None),
        ("model-c", 2, None),
    ]
    as_csv = call("ranking", "-f", "csv").stdout.splitlines()
    assert as_csv[0].startswith("evaluation,metric,label,benchmark,n_models,rho")
    assert as_csv[1].startswith("culturall,accuracy,Accuracy,blend,1,,")
    assert "fewer than three models" in as_csv[1]


def test_explication_is_correlated_with_structure_and_facts(warehouse: Warehouse) -> None:
    assert "explication" in refused("ranking", "--explication")
    overall = ("overall", "all")
    with one_write(warehouse):
        for n in range(6):
            engine = f"e{n}", f"lab/m{n}"
            grades = [row("apr", ("condition", "control"), 2.0 + n)]
            store_run(warehouse, "explication", f"m{n}", grades, {}, "x", engine=engine)
            known = [row("macro_f1", overall, n / 10), row("reference_mass", overall, -n / 10)]
            store_run(warehouse, "spectral", f"m{n}", known, {}, "y", engine=engine)
    assert "Structure against facts" in call("ranking", "--explication", "--wide").output
    lines = call("ranking", "--explication", "-f", "csv").stdout.splitlines()
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
def test_wrong_ranking_file_is_refused_and_not_stored(
    warehouse: Warehouse, tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text)
    assert complaint in refused("ranking", file)
    assert warehouse.query("FROM user_rank").is_empty()
