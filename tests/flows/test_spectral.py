"""The spectral flow through the command line, a real Prefect server and a real warehouse."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--profile", "smoke", "--countries", "BR,DE,JP,NG", "--max-items", "12")

DUPLICATES = """
SELECT model, question, country, item FROM item_logprob
GROUP BY ALL HAVING count(*) > 1
"""


def test_spectral_run_gives_a_leaderboard_with_nulls(culturemeter_process: Cli, home: Path) -> None:
    culturemeter_process("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL)
    warehouse = Warehouse.open(home)
    board = warehouse.query("SELECT * FROM leaderboard_spectral")
    assert set(board["model"]) == {
        "fake-a", "fake-b", "null:always-LH", "null:uniform-by-domain", "null:list-frequency",
        "null:shuffled(fake-a)", "null:shuffled(fake-b)",
    }  # fmt: skip
    models = board.filter(~pl.col("is_null"))
    assert models["macro_f1"].is_between(0, 1).all()
    assert models.select("null_macro_f1", "coverage").null_count().sum_horizontal()[0] == 0
    assert models["ci_low"].null_count() == models.height  # four countries are too few for an interval
    # Shuffled countries give the same spectrum, and so the same macro-F1.
    for model in ("fake-a", "fake-b"):
        own, shuffled = (
            board.filter(pl.col("model") == m)["macro_f1"][0] for m in (model, f"null:shuffled({model})")
        )
        assert own == pytest.approx(shuffled, abs=1e-12)
    assert run_checks(warehouse)["n_violations"].sum() == 0
    stored = warehouse.query("SELECT model, count(*) AS n FROM item_logprob GROUP BY model")
    assert set(stored["n"]) == {4 * 9 * 12}  # countries x questions x items
    by_domain = warehouse.query("SELECT DISTINCT er_sr_category FROM spectral_by_domain")
    assert set(by_domain["er_sr_category"]) <= {"LH", "HL", "HH", "LL"}


@pytest.mark.heavy
def test_second_run_does_nothing_and_only_new_countries_are_scored(culturemeter: Cli, home: Path) -> None:
    culturemeter("run", "spectral", "-m", "fake-a", *SMALL)
    parts = home / "parts" / "item_logprob"
    before = {p.name: p.stat().st_mtime_ns for p in parts.glob("*.parquet")}
    again = culturemeter("run", "spectral", "-m", "fake-a", *SMALL)
    assert "nothing to do" in again.stderr
    assert {p.name: p.stat().st_mtime_ns for p in parts.glob("*.parquet")} == before

    more = ("--profile", "smoke", "--countries", "BR,DE,JP,NG,France", "--max-items", "12")
    culturemeter("run", "spectral", "-m", "fake-a", *more)
    new = pl.concat([pl.read_parquet(p) for p in parts.glob("*.parquet") if p.name not in before])
    assert new["country"].unique().to_list() == ["FR"]
    assert Warehouse.open(home).query(DUPLICATES).is_empty()


@pytest.mark.heavy
def test_real_models_know_more_than_shuffled_countries(
    culturemeter_process: Cli, home: Path, smollm2_folder: Path, gemma3_folder: Path
) -> None:
    (home / "models").symlink_to(smollm2_folder.parent)
    culturemeter_process(
        "run", "spectral", "--profile", "smoke", "--countries", "DE,IN,JP,NG", "--max-items", "30",
        "--domains", "currency,house_numbers,languages,religions",
    )  # fmt: skip
    warehouse = Warehouse.open(home)
    board = warehouse.query("SELECT * FROM leaderboard_spectral WHERE NOT is_null")
    assert set(board["model"]) == {"smollm2-135m", "gemma3-270m"}
    # Both assign currencies to countries far better than with shuffled countries.
    mass = warehouse.query(
        "SELECT model, value, null_value FROM metric_value WHERE metric = 'reference_mass' "
        "AND slice_kind = 'domain' AND slice IN ('languages', 'currency') AND model NOT LIKE 'null:%'"
    )
    assert mass.height == 4
    assert (mass["value"] > mass["null_value"]).all()
    page = culturemeter_process("report").stdout.strip()
    assert "smollm2-135m" in Path(page).read_text()
