"""The spectral flow through the command line, a real Prefect server and a real warehouse."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from warehouse import Warehouse

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("--profile", "smoke", "--countries", "BR,DE,JP,NG", "--max-items", "12")


def test_a_run_in_a_process_of_its_own_ends_on_the_leaderboard(culturemeter_process: Cli, home: Path) -> None:
    culturemeter_process("run", "spectral", "-m", "fake-a", "-m", "fake-b", *SMALL)
    board = Warehouse.open(home).query("SELECT model, macro_f1 FROM leaderboard_spectral WHERE NOT is_null")
    assert set(board["model"]) == {"fake-a", "fake-b"}
    assert board["macro_f1"].is_between(0, 1).all()


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
