"""The spectral flow through the command line, a real Prefect server and a real warehouse."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import command, environment
from tests.waiting import until
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
def test_killed_runs_resume_without_losses_or_duplicates(
    culturemeter: Cli, home: Path, prefect_api: str
) -> None:
    arguments = ("run", "spectral", "-m", "slow", *SMALL)
    parts = home / "parts" / "item_logprob"
    seen = 0
    for _ in range(3):
        process = subprocess.Popen(
            command(*arguments), env=environment(home, prefect_api),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        # A short interval, so that the kill comes soon after a part appears, registered or not.
        until(lambda: len(list(parts.glob("[!_]*.parquet"))) > seen, process, every=0.005)  # noqa: B023
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        seen = len(list(parts.glob("[!_]*.parquet")))
        assert seen > 0
        Warehouse.open(home).query("SELECT count(*) FROM item_logprob")  # readable at any moment
    culturemeter(*arguments)
    warehouse = Warehouse.open(home)
    assert warehouse.query(DUPLICATES).is_empty()
    assert warehouse.query("SELECT count(*) AS n FROM item_logprob")["n"][0] == 4 * 9 * 12
    assert run_checks(warehouse)["n_violations"].sum() == 0
    kept = warehouse.query("SELECT count(DISTINCT part) AS n FROM item_logprob")["n"][0]
    assert kept == len(list(parts.glob("[!_]*.parquet"))) == 9


@pytest.mark.heavy
def test_two_parallel_flows_and_a_reader_share_one_cohort(
    culturemeter: Cli, home: Path, prefect_api: str
) -> None:
    culturemeter("ingest")
    flows = [
        subprocess.Popen(
            command("run", "spectral", "-m", model, *SMALL),
            env=environment(home, prefect_api), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for model in ("slow", "fake-a")
    ]  # fmt: skip
    counts = [0]
    while any(f.poll() is None for f in flows):
        counts.append(Warehouse.open(home).query("SELECT count(*) AS n FROM item_logprob")["n"][0])
    for flow in flows:
        assert flow.returncode == 0, flow.stderr and flow.stderr.read()
    assert counts == sorted(counts)
    board = Warehouse.open(home).query("SELECT model, macro_f1 FROM leaderboard_spectral WHERE NOT is_null")
    assert set(board["model"]) == {"slow", "fake-a"}
    # The first to finish is the cohort, and its medians split both.
    cohort = Warehouse.open(home).query("SELECT model FROM cohort JOIN run USING (run_id)")["model"]
    assert cohort.len() == 1
    high = Warehouse.open(home).query(
        "SELECT sum(value) AS n FROM metric_value JOIN run USING (run_id) "
        "WHERE metric = 'er_high' AND run.model = ?",
        [cohort[0]],
    )
    assert high["n"][0] == 4  # four of nine questions


@pytest.mark.heavy
def test_corrupt_part_is_one_error_and_is_scored_again(culturemeter: Cli, home: Path) -> None:
    culturemeter("run", "spectral", "-m", "fake-a", *SMALL)
    victim = sorted((home / "parts" / "item_logprob").glob("[!_]*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:200])
    failed = culturemeter("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL, check=False)
    assert failed.returncode == 1
    assert victim.stem in failed.stderr
    assert "Run the same command again" in " ".join(failed.stderr.split())
    assert "Traceback" not in failed.stderr
    assert Warehouse.open(home).query("SELECT count(*) AS n FROM country")["n"][0] == 170
    culturemeter("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL)
    assert Warehouse.open(home).query("SELECT count(*) AS n FROM item_logprob")["n"][0] == 2 * 4 * 9 * 12


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
