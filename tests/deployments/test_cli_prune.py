"""``culturemeter prune`` on runs of fake models: what stays is unchanged and is not requested again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from deployments.show import report
from tasks.loop.steps import take_over_orphans
from tests.deployments.commands import call, refused, table
from warehouse import Warehouse, prune, run_checks

RUN = ("run", "cure", "-m", "fake-a", "--profile", "smoke", "--judges", "fake-b", "--benchmarks", "normad",
       "--no-server", "--no-probe")  # fmt: skip
OCCASIONS = ("w1", "w2", "w3", "")
OLD = ("prune", "--older-than", "90d")
_OF_W2 = """
SELECT count(*) AS n FROM part_unit JOIN run USING (run_id) WHERE occasion = 'w2' AND kind <> 'headline_value'
"""


def results(warehouse: Warehouse) -> list[object]:
    """Return everything computed from parts and rows: leaderboards, history, report, checks."""
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
        patch.setenv("CULTUREMETER_HOME", str(home))
        for occasion in OCCASIONS:
            call(*RUN, *(("--occasion", occasion) if occasion else ()))
    with Warehouse.open(home).write() as connection:
        for column in ("started_at", "finished_at"):
            earlier = (
                f"UPDATE run_base SET {column} = {column} - INTERVAL 100 DAY WHERE occasion IN ('w1', 'w2')"
            )
            connection.execute(earlier)
    return home


@pytest.fixture
def pruned(aged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A copy of the aged warehouse, to prune."""
    shutil.copytree(aged, tmp_path / "pruned")
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "pruned"))
    return Warehouse.open(tmp_path / "pruned")


@pytest.mark.heavy
def test_prune_deletes_old_answers_and_changes_no_number_that_stays(pruned: Warehouse) -> None:
    before, on_disk = results(pruned), files(pruned)
    rows = table(*OLD)
    assert [row["what"] for row in rows if row["goes"] == "goes"] == ["cure, occasion w2"]
    why = {f"{row['what']}: {row['why']}" for row in rows if row["goes"] == "stays"}
    assert "cure, occasion w1: of a frozen cohort: numbers are computed over it" in why
    assert "cure, occasion w2: past numbers" in why
    assert "cure: answers without an occasion: later runs use them" in why
    assert "cure, occasion w3: younger than 90 days" in why
    assert (results(pruned), files(pruned)) == (before, on_disk)  # a dry run
    assert "nothing is deleted yet" in call(*OLD).stderr

    assert "deleted" in call(*OLD, "--delete").stderr
    gone = on_disk - files(pruned)
    assert len(gone) == rows[0]["n_files"]
    assert results(pruned) == before
    for occasion in ("w1", "w3", ""):
        again = call(*RUN, *(("--occasion", occasion) if occasion else ()))
        assert again.stderr.endswith("nothing to do\n")
    assert files(pruned) == on_disk - gone
    assert not [row for row in table(*OLD) if row["goes"] == "goes"]


@pytest.mark.heavy
def test_prune_resumes_after_a_kill_between_unregistering_and_deleting(
    pruned: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, on_disk = results(pruned), files(pruned)

    def killed(warehouse: Warehouse) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prune, "delete_superseded", killed)
        call(*OLD, "--delete", code=130)
    assert (results(pruned), files(pruned)) == (before, on_disk)
    assert [row["what"] for row in table(*OLD) if row["goes"] == "goes"] == ["superseded parts"]
    call("prune", "--delete")
    assert files(pruned) < on_disk
    take_over_orphans()
    assert results(pruned) == before
    assert pruned.query(_OF_W2)["n"][0] == 0


@pytest.mark.parametrize("age", ["90", "d", "-3d", "1h", "90 days"])
def test_unreadable_age_is_refused_with_the_known_forms(warehouse: Warehouse, age: str) -> None:
    assert "write it as 90d, 12w, 6m or 1y" in refused("prune", f"--older-than={age}")
