"""What is said about a cohort: its size, its members, and a warning about a single one."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from deployments.evaluations import doors
from deployments.show.configurations import cohort_line
from flows.runs import cohort_members
from tasks.report.sentences import ALONE, cohort_of_page, cohort_sentence
from tests.report.stored import row, store_run
from warehouse import Warehouse, freeze_cohort


def test_one_model_is_a_warning_with_advice() -> None:
    text = cohort_sentence("first", ["a"], "High and Low are relative to its medians", is_frozen=False)
    assert text == (
        "cohort first, which this run freezes: 1 model (a). High and Low are relative to its medians. "
        + ALONE
    )
    assert "--cohort NAME" in ALONE


@pytest.mark.parametrize("n", [2, 6, 7, 40])
def test_size_and_members_are_named(n: int) -> None:
    text = cohort_sentence("mine", [f"m{i}" for i in range(n)])
    assert text.startswith(f"cohort mine: {n} models (m0, m1")
    assert (f"{n - 6} more)" in text) == (n > 6)
    assert ALONE not in text


def test_every_door_whose_rows_depend_on_a_cohort_says_so() -> None:
    assert {name for name, door in doors().items() if door.cohort} == {"spectral", "culturall", "worldwise"}


def test_the_board_reads_the_frozen_cohort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path))
    warehouse = Warehouse.open()
    assert cohort_members("c0", "first", ["b", "a"]) == (["a", "b"], False)
    rows = [row("macro_f1", ("overall", "all"), 0.5)]
    run = store_run(warehouse, "spectral", "a", rows, {}, config="c0", engine=("a", "x"))
    assert cohort_line(warehouse, "spectral", "c0", doors()["spectral"].cohort) is None, "nothing is frozen"
    with warehouse.write() as connection:
        freeze_cohort(connection, "c0", "first", [run])
    line = cohort_line(warehouse, "spectral", "c0", doors()["spectral"].cohort)
    assert line is not None
    assert line.startswith("cohort first: 1 model (a). High and Low")
    assert line.endswith(ALONE)
    assert cohort_of_page(frozen(warehouse), doors()["spectral"].cohort) == line


def frozen(warehouse: Warehouse) -> pl.DataFrame:
    return warehouse.query("FROM report_cohort")


@pytest.mark.parametrize("evaluation", sorted(name for name, door in doors().items() if door.cohort))
def test_every_page_whose_numbers_compare_models_reads_the_cohort(evaluation: str) -> None:
    """The frame of the page is the view of frozen cohorts, and the page has the sentence."""
    report = module(evaluation).REPORT
    names = {f.name for f in fields(report.data)}
    assert "cohort" in names
    source = Path(module(evaluation).__file__).read_text(encoding="utf-8")
    assert "cohort_of_page(data.cohort)" in source
    assert "isolated(cohort)" in source
    assert cohort_of_page(pl.DataFrame()) is None


def module(evaluation: str) -> Any:
    return import_module(f"tasks.evaluations.{evaluation}.report")
