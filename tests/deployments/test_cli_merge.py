"""``culturemeter merge``: what it prints, refuses and leaves as it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deployments.commands import call, one_line, refused
from tests.warehouse.test_merging import add_run
from warehouse import Warehouse


def test_merge_takes_over_homes_and_lists_conflicts_at_the_end(
    copied_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, one, two = copied_home(), copied_home(), copied_home()
    monkeypatch.setenv("CULTUREMETER_HOME", str(here))
    add_run(Warehouse.open(one), "a", cohort=("run-a",))
    add_run(Warehouse.open(two), "b", cohort=("run-b",))
    dry = call("merge", one, two, "--dry-run", "--format", "json")
    assert [row["n_taken"] for row in json.loads(dry.stdout)] == [1, 2, 1] * 2
    assert Warehouse.open(here).query("FROM run").is_empty()
    done = call("merge", one, two)
    told = one_line(done.stderr)
    assert "conflict run run-b (spectral, b) is not taken over: its numbers compare models" in told
    assert told.index("conflict") < told.index("nothing is sent again")
    assert Warehouse.open(here).query("FROM run")["run_id"].to_list() == ["run-a"]


def test_merge_refuses_itself_and_homes_that_are_not_there(
    copied_home: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = copied_home()
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    assert "is this warehouse itself" in refused("merge", home)
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "new"))
    assert "there is no warehouse at" in refused("merge", home, tmp_path / "none")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "none").exists()
