"""Occasions with odd names stay separate in rows, histories, leaderboards and pages.

The names that are refused are in tests/test_names.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.show import boards, report
from tests.golden.harness import FAKES, run, write_engine
from warehouse import Warehouse, run_checks

NAMES = ("w1", "W1", "../../w1", "w1'; DROP TABLE run; --", "null", "%", "<script>alert(1)</script>",
         "=HYPERLINK(1)", "$$ {week}", "--help")  # fmt: skip
"""Names that some reader mixes up or runs: a folder, SQL, a spreadsheet, a browser, a terminal."""


@pytest.mark.heavy
def test_occasions_with_odd_names_are_separate_runs(copied_home: Callable[[], Path]) -> None:
    home = copied_home()
    there = set(home.parent.rglob("*"))  # files of neighbours, whose names may be like these
    write_engine(home, FAKES[0])
    small = {"models": [FAKES[0]], "domains": ["currency", "religions"], "max_items": 6}
    for name in NAMES:
        config = run("spectral", home, **small, occasion=name)
    warehouse = Warehouse.open(home)
    names = warehouse.query("SELECT DISTINCT occasion FROM run")["occasion"].to_list()
    assert sorted(set(NAMES) - set(names)) == ["$$ {week}"]
    (week,) = set(names) - set(NAMES)
    assert week.startswith("$$ 2")
    made = {*NAMES, week} - {"$$ {week}"}
    runs = warehouse.query("SELECT occasion FROM run WHERE NOT is_null AND status = 'finished'")
    assert sorted(runs["occasion"]) == sorted(made)
    history = warehouse.query("SELECT DISTINCT occasion, run_id FROM leaderboard_history WHERE NOT is_null")
    assert sorted(history["occasion"]) == sorted(made)
    assert history["run_id"].n_unique() == len(NAMES)
    for name in made:
        board = boards.leaderboard(warehouse, "spectral", config, name)
        assert board.filter(model=FAKES[0]).height == 1, name
    page = report.page(warehouse, "spectral", config)
    assert "<script>alert" not in page
    assert not run_checks(warehouse)["n_violations"].sum()
    outside = {path for path in home.parent.rglob("*") if home not in path.parents} - there
    assert not [path for path in outside if "w1" in path.name]
