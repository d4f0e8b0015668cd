"""The overview and the pages beside it, from a warehouse; what has changed since the occasion before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.show import report
from deployments.show.overview import overview
from tasks.loop import steps
from tests.deployments.commands import call, refused
from tests.evaluations.spectral.report import example_run as spectral
from tests.report.stored import row, store_headline, store_part
from tests.warehouse.rows import one_write
from warehouse import Run, Warehouse, WarehouseError, finish_run, save_metrics, save_run


def store_occasion(warehouse: Warehouse, occasion: str, macro_f1: float) -> None:
    """Store a finished run of model-a with one headline."""
    run = Run(
        run_id=f"run {occasion}", evaluation="spectral", model="model-a", is_null=False, profile="demo",
        config_hash="newer", engine_hash="e", params=spectral.PARAMS, engine={"kind": "fake"}, item_lists={},
        boundary_rule="a rule", code_version="0.1.0", model_hash="model-a",
    )  # fmt: skip
    numbers = pl.DataFrame([row("macro_f1", ("overall", "all"), macro_f1) | {"model": "model-a"}])
    types = dict.fromkeys(("ci_low", "ci_high", "null_value"), pl.Float64) | {"unscored_reason": pl.String}
    with warehouse.write() as connection:
        save_run(connection, replace(run, occasion=occasion))
        save_metrics(connection, run.run_id, numbers.cast(types))  # type: ignore[arg-type]
        finish_run(connection, run.run_id)


def test_overview_shows_the_newest_configuration_and_links_pages(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    with one_write(warehouse):
        spectral.store(warehouse, "model-a", "older")
        spectral.store(warehouse, "model-a", "newer")
        store_occasion(warehouse, "w2", 0.75)
    folder = tmp_path / "pages"
    folder.mkdir()
    call("report", "--all", "--out", folder / "all.html")
    written = sorted(str(file.relative_to(folder)) for file in folder.rglob("*.html"))
    assert written == ["all.html", "reports/newer/report.html"]
    page = BeautifulSoup((folder / "all.html").read_text(), "lxml")
    assert page.select_one("nav a")["href"] == "reports/newer/report.html"  # type: ignore[index]
    text = page.get_text(" ")
    assert "newer" in text
    assert "older" not in text
    assert "2 occasions, first to w2: +0.25" in text
    back = BeautifulSoup((folder / written[1]).read_text(), "lxml").select_one("nav a")
    assert (back and back["href"]) == "../../all.html"
    assert 'href="reports/spectral/newer"' in overview(warehouse), "beside /reports, under any path"
    wrong = refused("report", "spectral", "--all")
    assert "leave the evaluation, --profile and --config out" in wrong


def test_many_lost_answers_stand_on_page_overview_and_board(warehouse: Warehouse) -> None:
    spectral.store(warehouse, "model-a", "newer")
    run = warehouse.query("SELECT run_id FROM run WHERE NOT is_null").item()
    schema = {"role": pl.String, "engine": pl.String, "reason": pl.String, "n_lost": pl.Int32, "n": pl.Int32}
    rows = [("candidate", "model-a", "refused", 1, 40), ("judge", "j", "refused <b>", 3, 40)]
    frame = pl.DataFrame(rows, schema, orient="row").with_columns(
        request_hash=pl.lit(run), run_id=pl.lit(run), model=pl.lit("model-a")
    )
    store_part(warehouse, "answer_loss", "lost", frame)
    said = "j on model-a: 3 of 40 verdicts lost: 3 refused <b>"
    for text in (overview(warehouse), report.page(warehouse, "spectral")):
        (line,) = BeautifulSoup(text, "lxml").select("p.lost")
        assert line.get_text() == f"Answers. {said}.", "losses up to 5 % are not worth it"
    assert said in " ".join(call("leaderboard", "spectral").output.split())


@pytest.mark.heavy
def test_overview_shows_rank_correlation_of_two_evaluations(warehouse: Warehouse) -> None:
    f1, accuracy = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.2, 0.1, 0.3, 0.5, 0.4, 0.6]
    store_headline(warehouse, "spectral", [*f1], "macro_f1", 0.05)
    store_headline(warehouse, "culturall", [*accuracy], "accuracy", 0.05)
    page = BeautifulSoup(overview(warehouse), "lxml")
    heading = page.select_one("#agreement")
    assert heading is not None
    (line,) = heading.find_next("tbody").select("tr")  # type: ignore[union-attr]
    cells = [cell.get_text(" ", strip=True) for cell in line.select("td")]
    assert cells[:2] == ["spectral Category macro-F1", "6"]
    assert cells[2].startswith("0.89")
    assert cells[3:] == ["0.033", "0.89", "same order"]  # 24 of 720 orders


def test_overview_without_runs_names_the_command(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="culturemeter run all --profile smoke"):
        overview(warehouse)


def test_changes_compare_the_newest_occasion_with_the_one_before(warehouse: Warehouse) -> None:
    of = ["spectral", "newer"]
    store_occasion(warehouse, "w1", 0.5)
    assert warehouse.query(steps.CHANGES, of).is_empty()
    store_occasion(warehouse, "w2", 0.25)
    store_occasion(warehouse, "w3", 0.75)
    expected = ("model-a", "Category macro-F1", 0.75, 0.25, 0.5, "w3", "w2")
    assert warehouse.query(steps.CHANGES, of).rows() == [expected]
