"""``culturescope prune`` on real runs of fake models: what is kept is as before, and is not asked again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app
from deployments.show import report
from tasks.loop.steps import take_over_orphans
from warehouse import Warehouse, prune, run_checks

runner = CliRunner()
RUN = ("run", "cure", "-m", "fake-a", "--profile", "smoke", "--judges", "fake-b", "--benchmarks", "normad",
       "--no-server", "--no-probe")  # fmt: skip
OCCASIONS = ("w1", "w2", "w3", "")
_OF_W2 = """
SELECT count(*) AS n FROM part_unit JOIN run USING (run_id) WHERE occasion = 'w2' AND kind <> 'headline_value'
"""


def cli(*arguments: str) -> Result:
    result = runner.invoke(app, [*arguments], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    return result


def plan(*arguments: str) -> list[dict[str, object]]:
    """Return the rows that ``prune`` prints."""
    rows: list[dict[str, object]] = json.loads(cli("prune", *arguments, "--format", "json").stdout)
    return rows


def shown(warehouse: Warehouse) -> list[object]:
    """All that rests on parts and rows: leaderboards, history, report, checks."""
    sql = [
        "FROM leaderboard_cure ORDER BY ALL",
        "FROM leaderboard_history ORDER BY ALL",
        "FROM cohort ORDER BY ALL",
    ]
    frames = [warehouse.query(text).rows() for text in sql]
    (config,) = warehouse.query("SELECT DISTINCT config_hash FROM run")["config_hash"]
    data = vars(report.read_data(warehouse, "cure", config)).values()
    of_page = [frame.rows() for frame in data if isinstance(frame, pl.DataFrame)]
    return [*frames, *of_page, run_checks(warehouse).rows()]


def files(warehouse: Warehouse) -> set[Path]:
    return set((warehouse.home / "parts").glob("*/[!_]*.parquet"))


@pytest.fixture(scope="module")
def aged(copied_home: Callable[[], Path]) -> Path:
    """A home with four occasions; the first two ended a hundred days ago, and the first is the cohort."""
    home = copied_home()
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        for occasion in OCCASIONS:
            cli(*RUN, *(("--occasion", occasion) if occasion else ()))
    with Warehouse.open(home).write() as connection:
        for column in ("started_at", "finished_at"):
            earlier = f"UPDATE run SET {column} = {column} - INTERVAL 100 DAY WHERE occasion IN ('w1', 'w2')"
            connection.execute(earlier)
    return home


@pytest.fixture
def pruned(aged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A copy of it to prune."""
    shutil.copytree(aged, tmp_path / "pruned")
    monkeypatch.setenv("CULTURESCOPE_HOME", str(tmp_path / "pruned"))
    return Warehouse.open(tmp_path / "pruned")


@pytest.mark.heavy
def test_what_is_kept_is_as_before_and_not_asked_again(pruned: Warehouse) -> None:
    before, on_disk = shown(pruned), files(pruned)
    rows = plan("--older-than", "90d")
    assert [row["what"] for row in rows if row["goes"] == "goes"] == ["cure, occasion w2"]
    why = {f"{row['what']}: {row['why']}" for row in rows if row["goes"] == "stays"}
    assert "cure, occasion w1: of a frozen cohort: numbers are computed over it" in why
    assert "cure, occasion w2: past numbers" in why
    assert "cure: answers without an occasion: later runs use them" in why
    assert "cure, occasion w3: younger than 90 days" in why
    assert (shown(pruned), files(pruned)) == (before, on_disk)  # a dry run
    assert "nothing is deleted yet" in cli("prune", "--older-than", "90d").stderr

    assert "deleted" in cli("prune", "--older-than", "90d", "--delete").stderr
    gone = on_disk - files(pruned)
    assert len(gone) == rows[0]["n_files"]
    assert shown(pruned) == before
    for occasion in ("w1", "w3", ""):
        again = cli(*RUN, *(("--occasion", occasion) if occasion else ()))
        assert again.stderr.endswith("nothing to do\n")
    assert files(pruned) == on_disk - gone
    assert not [row for row in plan("--older-than", "90d") if row["goes"] == "goes"]


@pytest.mark.heavy
def test_killed_after_it_has_unregistered_it_goes_on(
    pruned: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, on_disk = shown(pruned), files(pruned)

    def killed(warehouse: Warehouse) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prune, "delete_superseded", killed)
        assert runner.invoke(app, ["prune", "--older-than", "90d", "--delete"]).exit_code == 130
    assert (shown(pruned), files(pruned)) == (before, on_disk)
    rows = plan("--older-than", "90d")
    assert [row["what"] for row in rows if row["goes"] == "goes"] == ["superseded parts"]
    cli("prune", "--delete")
    assert files(pruned) < on_disk
    take_over_orphans()
    assert shown(pruned) == before
    assert pruned.query(_OF_W2)["n"][0] == 0


@pytest.mark.parametrize("age", ["90", "d", "-3d", "1h", "90 days"])
def test_an_age_that_cannot_be_read_says_how_it_is_written(warehouse: Warehouse, age: str) -> None:
    result = runner.invoke(app, ["prune", f"--older-than={age}"])
    assert result.exit_code == 1
    assert "write it as 90d, 12w, 6m or 1y" in " ".join(result.stderr.split())
