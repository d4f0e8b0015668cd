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
ORDER = ("model", "question", "country", "item")
STORED = f"SELECT {', '.join(ORDER)}, logprob, n_tokens FROM item_logprob ORDER BY {', '.join(ORDER)}"
DUPLICATES = """
SELECT model, question, country, item FROM item_logprob
GROUP BY ALL HAVING count(*) > 1
"""


def test_from_item_lists_to_a_leaderboard(culturescope_process: Cli, home: Path) -> None:
    culturescope_process("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL)
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
    # A model that takes every country for another has the same spectrum, and so the same macro-F1.
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
def test_a_second_run_does_nothing_and_more_countries_cost_only_themselves(
    culturescope: Cli, home: Path
) -> None:
    culturescope("run", "spectral", "-m", "fake-a", *SMALL)
    parts = home / "parts" / "item_logprob"
    before = {p.name: p.stat().st_mtime_ns for p in parts.glob("*.parquet")}
    again = culturescope("run", "spectral", "-m", "fake-a", *SMALL)
    assert "nothing to do" in again.stderr
    assert {p.name: p.stat().st_mtime_ns for p in parts.glob("*.parquet")} == before

    more = ("--profile", "smoke", "--countries", "BR,DE,JP,NG,France", "--max-items", "12")
    culturescope("run", "spectral", "-m", "fake-a", *more)
    new = pl.concat([pl.read_parquet(p) for p in parts.glob("*.parquet") if p.name not in before])
    assert new["country"].unique().to_list() == ["FR"]
    assert Warehouse.open(home).query(DUPLICATES).is_empty()


@pytest.mark.heavy
def test_another_occasion_stands_beside_what_was_there(culturescope: Cli, home: Path) -> None:
    culturescope("run", "spectral", "-m", "fake-a", *SMALL)
    warehouse = Warehouse.open(home)
    first = warehouse.query(STORED)
    culturescope("run", "spectral", "-m", "fake-a", *SMALL, "--again")
    both = warehouse.query(STORED)
    assert both.select(first.columns).equals(pl.concat([first, first]).sort(*ORDER))
    runs = warehouse.query("SELECT occasion, status FROM run WHERE NOT is_null ORDER BY occasion")
    assert runs["status"].to_list() == ["finished"] * 2
    assert runs["occasion"][0] == "" < runs["occasion"][1]


@pytest.mark.heavy
def test_killed_runs_lose_and_duplicate_nothing(culturescope: Cli, home: Path, prefect_api: str) -> None:
    arguments = ("run", "spectral", "-m", "slow", *SMALL)
    parts = home / "parts" / "item_logprob"
    seen = 0
    for _ in range(3):
        process = subprocess.Popen(
            command(*arguments),
            env=environment(home, prefect_api),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Often, so that the kill comes soon after a part appears, registered or not.
        until(lambda: len(list(parts.glob("[!_]*.parquet"))) > seen, process, every=0.005)  # noqa: B023
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        seen = len(list(parts.glob("[!_]*.parquet")))
        assert seen > 0
        Warehouse.open(home).query("SELECT count(*) FROM item_logprob")  # readable at any moment
    culturescope(*arguments)
    warehouse = Warehouse.open(home)
    assert warehouse.query(DUPLICATES).is_empty()
    assert warehouse.query("SELECT count(*) AS n FROM item_logprob")["n"][0] == 4 * 9 * 12
    assert run_checks(warehouse)["n_violations"].sum() == 0
    kept = warehouse.query("SELECT count(DISTINCT part) AS n FROM item_logprob")["n"][0]
    assert kept == len(list(parts.glob("[!_]*.parquet"))) == 9


@pytest.mark.heavy
def test_two_flows_and_a_reader_at_once(culturescope: Cli, home: Path, prefect_api: str) -> None:
    culturescope("ingest")
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
    # Whoever finished first is the cohort, at whose medians both are split.
    cohort = Warehouse.open(home).query("SELECT model FROM cohort JOIN run USING (run_id)")["model"]
    assert cohort.len() == 1
    high = Warehouse.open(home).query(
        "SELECT sum(value) AS n FROM metric_value JOIN run USING (run_id) "
        "WHERE metric = 'er_high' AND run.model = ?",
        [cohort[0]],
    )
    assert high["n"][0] == 4  # of nine questions


@pytest.mark.heavy
def test_a_corrupt_part_is_one_clear_error_and_is_scored_again(culturescope: Cli, home: Path) -> None:
    culturescope("run", "spectral", "-m", "fake-a", *SMALL)
    victim = sorted((home / "parts" / "item_logprob").glob("[!_]*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:200])
    failed = culturescope("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL, check=False)
    assert failed.returncode == 1
    assert victim.stem in failed.stderr
    assert "Run the same command again" in " ".join(failed.stderr.split())
    assert "Traceback" not in failed.stderr
    assert Warehouse.open(home).query("SELECT count(*) AS n FROM country")["n"][0] == 170
    culturescope("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL)
    assert Warehouse.open(home).query("SELECT count(*) AS n FROM item_logprob")["n"][0] == 2 * 4 * 9 * 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-m", "fake-a", "--countries", "Frence"), "France"),
        (("-m", "fake-a", "--domains", "currencies"), "currency"),
        (("-m", "no-such-model"), "unknown model 'no-such-model'"),
        (("-m", "fake-a", "--profile", "huge"), "smoke, demo, full"),
    ],
)
def test_wrong_names_are_one_clear_error(
    culturescope: Cli, home: Path, arguments: tuple[str, ...], message: str
) -> None:
    failed = culturescope("run", "spectral", *arguments, check=False)
    assert failed.returncode == 1
    assert message in " ".join(failed.stderr.split())
    assert "Traceback" not in failed.stderr
    assert Warehouse.open(home).query("SELECT count(*) AS n FROM run")["n"][0] == 0


@pytest.mark.heavy
def test_a_missing_model_does_not_stop_the_others(culturescope: Cli, home: Path, tmp_path: Path) -> None:
    (home / "engines" / "gone.toml").write_text(f'model = "{tmp_path / "nowhere"}"\n')
    failed = culturescope("run", "spectral", "-m", "gone", "-m", "fake-a", *SMALL, check=False)
    assert failed.returncode == 1
    assert "gone" in failed.stderr
    board = Warehouse.open(home).query("SELECT model FROM leaderboard_spectral WHERE NOT is_null")
    assert board["model"].to_list() == ["fake-a"]


@pytest.mark.heavy
def test_real_models_end_to_end(
    culturescope_process: Cli, home: Path, smollm2_folder: Path, gemma3_folder: Path
) -> None:
    (home / "models").symlink_to(smollm2_folder.parent)
    culturescope_process(
        "run", "spectral", "--profile", "smoke", "--countries", "DE,IN,JP,NG", "--max-items", "30",
        "--domains", "currency,house_numbers,languages,religions",
    )  # fmt: skip
    warehouse = Warehouse.open(home)
    board = warehouse.query("SELECT * FROM leaderboard_spectral WHERE NOT is_null")
    assert set(board["model"]) == {"smollm2-135m", "gemma3-270m"}
    # Both know far more of which currency is whose than if the countries were dealt out at random.
    mass = warehouse.query(
        "SELECT model, value, null_value FROM metric_value WHERE metric = 'reference_mass' "
        "AND slice_kind = 'domain' AND slice IN ('languages', 'currency') AND model NOT LIKE 'null:%'"
    )
    assert mass.height == 4
    assert (mass["value"] > mass["null_value"]).all()
    page = culturescope_process("report").stdout.strip()
    assert "smollm2-135m" in Path(page).read_text()
