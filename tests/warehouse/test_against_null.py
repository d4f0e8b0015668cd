"""What may be said of a headline and its null: one answer, in SQL, on pages and on the command line."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.show.overview import overview
from deployments.show.report import page
from tests.evaluations.spectral.report.example_run import PARAMS
from tests.report.stored import Row, around, row, store_run
from warehouse import Warehouse

ALL = ("overall", "all")


def store(warehouse: Warehouse, evaluation: str, models: dict[str, list[Row]]) -> dict[tuple[str, str], Any]:
    """Finished runs of one configuration; returns (model, metric) -> is_beyond_null and doubt."""
    for model, rows in models.items():
        store_run(
            warehouse, evaluation, model, rows, PARAMS, f"c {evaluation}", (f"engine of {model}", "lab/m")
        )
    rows = warehouse.query("SELECT model, metric, is_beyond_null, doubt FROM model_scores").rows()
    history = "SELECT model, metric, is_beyond_null, doubt FROM leaderboard_history WHERE NOT is_null"
    assert sorted(warehouse.query(history).rows(), key=str) == sorted(rows, key=str)
    return {(model, metric): (beyond, doubt) for model, metric, beyond, doubt in rows}


def headline(metric: str, value: float, half: float, null: float) -> Row:
    return row(metric, ALL, value, **around(value, half, null_value=null))


def spectral(value: float, rho: float) -> list[Row]:
    """Of a model: macro-F1 and rank agreement over nine domains, both above the null's mean."""
    ranks = [row("rank_spearman", ("variant", str(n)), rho, n_scored=9) for n in (1, 2, 3)]
    return [headline("macro_f1", value, 0.04, 0.218), headline("rank_spearman", rho, 0.08, 0), *ranks]


def test_a_number_above_the_mean_of_its_null_and_within_its_draws_is_nowhere_beyond_it(
    warehouse: Warehouse,
) -> None:
    draws = row("macro_f1", ALL, 0.218, ci_low=0.0, ci_high=0.542, null_value=0.218)
    constant = row("macro_f1", ALL, 0.05, ci_low=0.05, ci_high=0.05, null_value=0.218)
    models = {"gemma": spectral(0.305, 0.44), "clear": spectral(0.6, 0.75), "tie": spectral(0.542, 0.7)}
    nulls = {"null:uniform-by-domain": [draws], "null:always-LH": [constant]}
    said = store(warehouse, "spectral", models | nulls)
    reach = "null:uniform-by-domain reaches 0.54 in 2.5 % of its draws, the model 0.30"
    assert said["gemma", "macro_f1"] == (False, reach)
    order = "a random order of 9 domains reaches 0.70 in 2.5 % of cases"
    assert said["gemma", "rank_spearman"] == (False, order)
    assert said["clear", "macro_f1"] == said["clear", "rank_spearman"] == (True, None)
    assert said["tie", "macro_f1"][0] is False
    assert said["tie", "rank_spearman"] == (True, None)  # 2.5 % of the orders reach it or more, together

    heading = BeautifulSoup(overview(warehouse), "lxml").select_one("#spectral")
    numbers = heading.find_next("table")  # type: ignore[union-attr]
    badges = {}
    for body in numbers.select("tbody"):
        label = body.select_one("tr.block").get_text(" ", strip=True)  # type: ignore[union-attr]
        for line in body.select("tr:not(.block)"):
            badges[line.bdi.get_text(), label.split()[0]] = line.select_one(".badge").get_text()  # type: ignore[union-attr]
    assert badges["gemma", "Category"] == badges["gemma", "Rank"] == "not beyond its null"
    assert badges["clear", "Category"] == badges["clear", "Rank"] == "beyond its null"

    own = BeautifulSoup(page(warehouse, "spectral", "c spectral"), "lxml")
    lines = own.select("table.leaderboard tbody tr:not(.null)")
    on_page = {line.bdi.get_text(): line.select_one(".badge").get_text() for line in lines}  # type: ignore[union-attr]
    assert on_page == {
        "clear": "better than guessing",
        "tie": "not shown to beat guessing",
        "gemma": "not shown to beat guessing",
    }
    assert reach in own.get_text()

    done = CliRunner().invoke(
        app, ["leaderboard", "spectral"], env={"CULTURESCOPE_HOME": str(warehouse.home)}
    )
    assert done.exit_code == 0, done.output
    beyond = (
        "Models beyond their null. Category macro-F1: clear; Rank agreement with people (rho): clear, tie."
    )
    assert beyond in " ".join(done.output.split())


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9])
def test_random_orders_reach_the_least_rho_in_2_5_percent_at_most(warehouse: Warehouse, n: int) -> None:
    (least,) = warehouse.query("SELECT least_rho(?)::DOUBLE", [n]).row(0)
    squares = ((np.array([*permutations(range(n))]) - np.arange(n)) ** 2).sum(axis=1)
    rho = 1 - 6 * squares / (n * (n * n - 1))
    values = np.unique(rho.round(9))
    rare = [value for value in values if np.mean(rho >= value - 1e-9) <= 0.025]
    assert least == (pytest.approx(min(rare)) if rare else None)


def test_few_domains_and_no_wording_say_so(warehouse: Warehouse) -> None:
    few = [headline("rank_spearman", 1.0, 0.0, 0), row("rank_spearman", ("variant", "1"), 1.0, n_scored=4)]
    said = store(warehouse, "spectral", {"few": few})
    assert said["few", "rank_spearman"] == (False, "no order of 4 domains can be told from a random one")


def test_without_interval_or_null_nothing_is_said(warehouse: Warehouse) -> None:
    rows = [
        row("accuracy", ALL, 0.9, null_value=0.2),
        headline("scenario_gain", 0.5, 0.1, 0) | {"null_value": None},
    ]
    said = store(warehouse, "culturall", {"m": rows})
    assert said["m", "accuracy"] == said["m", "scenario_gain"] == (None, None)


def test_lower_is_better_where_the_catalogue_says_so(warehouse: Warehouse) -> None:
    models = {str(value): [headline("map_cv", value, 0.1, 0.5)] for value in (0.3, 0.45, 0.8)}
    said = store(warehouse, "fmlama", models)
    assert [said[model, "map_cv"][0] for model in models] == [True, False, False]


def test_numbers_of_a_judge_that_fails_its_check_are_not_beyond_their_null(warehouse: Warehouse) -> None:
    def rows(accepted: float) -> list[Row]:
        check = [row("judge_gold_accepted", ("judge", "j"), 0.95)]
        check += [row("judge_gold_accepted", ("judge_language", f"j:{x}"), accepted) for x in ("ja", "zh")]
        return [headline("accuracy", 0.8, 0.1, 0.3), headline("scenario_gain", 0.3, 0.1, 0), *check]

    said = store(warehouse, "culturall", {"good": rows(0.9), "bad": rows(0.7)})
    for metric in ("accuracy", "scenario_gain"):
        assert said["good", metric] == (True, None)
        assert said["bad", metric] == (False, "a judge fails its check")


@pytest.mark.parametrize(
    ("evaluation", "metric", "gain", "doubt"),
    [
        ("fmlama", "map", "map_gain", "not shown to beat the best baseline"),
        ("worldwise", "alignment", "alignment_gain", "not shown to beat its best null"),
    ],
)
def test_a_paired_gain_has_to_be_above_0_too(
    warehouse: Warehouse, evaluation: str, metric: str, gain: str, doubt: str
) -> None:
    gains = {"more": around(0.1, 0.05), "same": around(0.04, 0.05), "few": {}}
    models = {m: [headline(metric, 0.5, 0.1, 0.1), row(gain, ALL, 0.1, **ends)] for m, ends in gains.items()}
    said = store(warehouse, evaluation, models)
    assert said["more", metric] == (True, None)
    assert said["same", metric] == said["few", metric] == (False, doubt)


@pytest.mark.parametrize(
    ("evaluation", "metric", "null"),
    [
        ("fmlama", "mws", "null:common"),
        ("fmlama", "mes", "null:common"),
        ("explication", "interaction", "null:fixed"),
    ],
)
def test_a_null_with_an_interval_of_its_own_counts_with_it(
    warehouse: Warehouse, evaluation: str, metric: str, null: str
) -> None:
    """0.03 and 0.04 to the sides: 0.05 apart is the least that their lengths together, 0.05, do not cover."""
    where = ALL if evaluation == "fmlama" else ("null", null.removeprefix("null:"))
    beside = row(metric, where, 0.5, **around(0.5, 0.04))
    models = {m: [headline(metric, v, 0.03, 0.5)] for m, v in {"near": 0.549, "far": 0.551}.items()}
    if evaluation == "fmlama":
        models[null] = [beside]
    else:
        models = {model: [*rows, beside] for model, rows in models.items()}
    said = store(warehouse, evaluation, models)
    assert said["near", metric] == (False, f"{null} scores 0.50, not clearly less")
    assert said["far", metric] == (True, None)


@pytest.mark.parametrize(
    ("evaluation", "metric", "flags", "doubt"),
    [
        ("cure", "coverage", [1.0], None),
        ("cure", "coverage", [1.0, None], None),  # of few items of a pack nothing is known
        ("cure", "coverage", [1.0, 0.0], "explanations not shown to beat another item's"),
        ("cure", "coverage", [None], "too few explanations for a test against another item's"),
        ("explication", "apr", [1.0], None),
        ("explication", "apr", [0.0], "not shown to beat another persona's recommendation"),
        ("explication", "apr", [None], "too few personas for the judges' check"),
    ],
)
def test_judges_have_to_tell_what_is_real_from_what_is_shuffled(
    warehouse: Warehouse, evaluation: str, metric: str, flags: list[float | None], doubt: str | None
) -> None:
    rows = [headline(metric, 0.8, 0.1, 0.3)]
    for benchmark, flag in zip(("normad", "mine"), flags, strict=False):
        where = ("benchmark", benchmark) if evaluation == "cure" else ALL
        rows += [row(metric, where, 0.8)] if evaluation == "cure" else []
        rows.append(row("tells_real_from_shuffled", where, flag))
    said = store(warehouse, evaluation, {"m": rows})
    assert said["m", metric] == (doubt is None, doubt)
