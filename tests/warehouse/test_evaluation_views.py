"""Rows of the evaluations' views over made runs equal the recorded ones.

The runs are those of the pages' contract (tests/report/test_contract.py): their numbers are made up, so no
change of a score changes a row here. After a wanted change of a view,
``python -m tests.warehouse.test_evaluation_views`` records ``views/<view>.csv`` again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.golden.harness import Rows, differences, read_golden, view_rows, write_golden
from tests.report.stored import CONFIG
from tests.report.test_contract import STORED
from warehouse import Warehouse

FOLDER = Path(__file__).parent / "views"
VIEWS = {
    "cure": ("leaderboard_cure", "cure_thin_vs_thick", "cure_by_country", "cure_over_models", "cure_by_cue"),
    "fmlama": ("leaderboard_fmlama", "fmlama_by_origin", "fmlama_code_switching", "fmlama_errors"),
    "spectral": (
        "leaderboard_spectral", "spectral_by_domain", "spectral_language", "spectral_language_pair",
        "spectral_own_language",
    ),
    "worldwise": (
        "leaderboard_worldwise", "worldwise_by_culture", "worldwise_by_dimension", "worldwise_values",
    ),
}  # fmt: skip
LONG = {"cure_by_country", "worldwise_by_dimension", "worldwise_values"}
"""Views of which the first hundred rows of one configuration are enough."""


def rows_of(warehouse: Warehouse, view: str) -> Rows:
    if view in LONG:
        return view_rows(warehouse, f"{view} WHERE config_hash = '{CONFIG}'")[:100]
    return view_rows(warehouse, view)


@pytest.fixture(scope="module")
def made(copied_home: Callable[[], Path]) -> Callable[[str], Warehouse]:
    """A function that returns the warehouse with an evaluation's made runs."""

    @cache
    def warehouse(evaluation: str) -> Warehouse:
        own = Warehouse.open(copied_home())
        STORED[evaluation](own)
        return own

    return warehouse


@pytest.mark.parametrize(("evaluation", "view"), [(e, view) for e, views in VIEWS.items() for view in views])
def test_a_view_has_the_recorded_rows(made: Callable[[str], Warehouse], evaluation: str, view: str) -> None:
    recorded = read_golden(FOLDER / f"{view}.csv")
    assert recorded
    assert differences(recorded, rows_of(made(evaluation), view)) == []


@pytest.mark.parametrize("evaluation", VIEWS)
def test_views_show_their_own_evaluation_only(
    made: Callable[[str], Warehouse], own_copy: Callable[[Warehouse], Warehouse], evaluation: str
) -> None:
    warehouse = own_copy(made(evaluation))
    with warehouse.write() as connection:
        connection.execute("UPDATE run_base SET evaluation = 'other'")
    assert not any(view_rows(warehouse, view) for view in VIEWS[evaluation])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each, views in VIEWS.items():
        with TemporaryDirectory() as folder:
            home = Warehouse.open(Path(folder))
            STORED[each](home)
            for name in views:
                write_golden(FOLDER / f"{name}.csv", rows_of(home, name))
