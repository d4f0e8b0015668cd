"""Whether a headline is beyond its null: one answer in SQL, on pages and on the command line."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from deployments.cli.app import app
from deployments.show.overview import overview
from deployments.show.report import page
from tests.evaluations.spectral.report.example_run import PARAMS
from tests.report.stored import Row, around, put_run, row
from warehouse import Warehouse, freeze_cohort, write_part

ALL = ("overall", "all")


def store(warehouse: Warehouse, evaluation: str, models: dict[str, list[Row]]) -> dict[tuple[str, str], Any]:
    """Store finished runs of one configuration; return (model, metric) -> is_beyond_null and doubt."""
    with warehouse.write() as connection:
        for model, rows in models.items():
            engine = (f"engine of {model}", "lab/m")
            put_run(connection, evaluation, model, rows, PARAMS, f"c {evaluation}", engine)
    rows = warehouse.query("SELECT model, metric, is_beyond_null, doubt FROM model_scores").rows()
    history = "SELECT model, metric, is_beyond_null, doubt FROM leaderboard_history WHERE NOT is_null"
    assert sorted(warehouse.query(history).rows(), key=str) == sorted(rows, key=str)
    return {(model, metric): (beyond, doubt) for model, metric, beyond, doubt in rows}


def headline(metric: str, value: float, half: float, null: float) -> Row:
    return row(metric, ALL, value, **around(value, half, null_value=null))


def spectral(value: float, rho: float) -> list[Row]:
    """Return macro-F1 and rank agreement over nine domains of a model, both above the null's mean."""
    ranks = [row("rank_spearman", ("variant", str(n)), rho, n_scored=9) for n in (1, 2, 3)]
    return [headline("macro_f1", value, 0.04, 0.218), headline("rank_spearman", rho, 0.08, 0), *ranks]


@pytest.mark.parametrize("n", [1, 2])
def test_medians_of_one_model_alone_are_a_doubt_of_macro_f1(warehouse: Warehouse, n: int) -> None:
    models = {"first": spectral(0.9, 0.9), "later": spectral(0.8, 0.9), "last": spectral(0.7, 0.9)}
    store(warehouse, "spectral", models)
    runs = dict(warehouse.query("SELECT model, run_id FROM run").rows())
    with warehouse.write() as connection:
        freeze_cohort(connection, "c spectral", "first", [runs[name] for name in list(models)[:n]])
    scores = warehouse.query("SELECT model, metric, is_beyond_null, doubt FROM model_scores").rows()
    doubts = {model: (beyond, doubt) for model, metric, beyond, doubt in scores if metric == "macro_f1"}
    alone = "its medians are those of a cohort of one model (first), which moved macro-F1 by 0.07 to 0.18 "
    expected = (False, f"{alone}in simulations") if n == 1 else (True, None)
    assert doubts == dict.fromkeys(models, expected)
    ranks = {beyond for _, metric, beyond, _ in scores if metric == "rank_spearman"}
    assert ranks == {True}, "the order of domains has no medians"


LOST = {
    "of a judge": ("judge", 9, 9),
    "of a simulator": ("simulator", 9, 9),
    "too few to matter": ("judge", 1, 1),
    "of the candidate itself": ("candidate", 9, 9),
    "none lost": ("judge", 0, 9),
    "none unscored": ("judge", 9, 0),
}
"""Model -> role whose answers are lost, their number, and the number of unscored answers."""


def test_lost_verdicts_make_no_finding(warehouse: Warehouse) -> None:
    schema = {"role": pl.String, "engine": pl.String, "reason": pl.String, "n_lost": pl.Int32, "n": pl.Int32}
    number = headline("accuracy", 0.60, 0.05, 0.52) | {"n_scored": 91}
    store(warehouse, "culturall", {m: [number | {"n_unscored": n}] for m, (*_, n) in LOST.items()})
    runs = dict(warehouse.query("SELECT model, run_id FROM run").rows())
    for model, (role, n_lost, _) in LOST.items():
        lost = pl.DataFrame([(role, "other", "cut off", n_lost, 100)], schema, orient="row")
        of_run = lost.with_columns(
            request_hash=pl.lit(runs[model]), run_id=pl.lit(runs[model]), model=pl.lit(model)
        )
        warehouse.register(write_part(warehouse.home, "answer_loss", "lost", of_run))
    seen = "SELECT model, is_beyond_null, doubt FROM against_null WHERE metric = 'accuracy'"
    said = "9 of 100 are unscored, and answers of a {} are lost: {}"
    worst = "with the worst value for each it is not beyond its null"
    assert {model: answer for model, *answer in warehouse.query(seen).rows()} == {
        **{model: [True, None] for model in LOST},
        "of a judge": [False, said.format("judge", worst)],
        "of a simulator": [False, said.format("simulator", worst)],
    }


def test_a_number_within_the_draws_of_its_null_is_never_beyond_it(
    warehouse: Warehouse,
) -> None:
    draws = row("macro_f1", ALL, 0.218, ci_low=0.0, ci_high=0.542, null_value=0.218)
    constant = row("macro_f1", ALL, 0.05, ci_low=0.05, ci_high=0.05, null_value=0.218)
    models = {"gemma": spectral(0.305, 0.44), "clear": spectral(0.6, 0.75), "tie": spectral(0.542, 0.7)}
    nulls = {"null:uniform-by-domain": [draws], "null:always-LH": [constant]}
    by_model = store(warehouse, "spectral", models | nulls)
    reach = "null:uniform-by-domain reaches 0.54 in 2.5 % of its draws, the model 0.30"
    assert by_model["gemma", "macro_f1"] == (False, reach)
    order = "a random order of 9 domains reaches 0.70 in 2.5 % of cases"
    assert by_model["gemma", "rank_spearman"] == (False, order)
    assert by_model["clear", "macro_f1"] == by_model["clear", "rank_spearman"] == (True, None)
    assert by_model["tie", "macro_f1"][0] is False
    assert by_model["tie", "rank_spearman"] == (True, None)  # 2.5 % of the orders reach or exceed it

    heading = BeautifulSoup(overview(warehouse), "lxml").select_one("#spectral")
    numbers = heading.find_next("table")  # type: ignore[union-attr]
    is_good = {}
    for body in numbers.select("tbody"):
        label = body.select_one("tr.block").get_text(" ", strip=True)  # type: ignore[union-attr]
        for line in body.select("tr:not(.block)"):
            is_good[line.bdi.get_text(), label.split()[0]] = bool(line.select(".badge.good"))  # type: ignore[union-attr]
    for model in ("gemma", "clear"):
        assert is_good[model, "Category"] == is_good[model, "Rank"] == (model == "clear")

    own = BeautifulSoup(page(warehouse, "spectral", "c spectral"), "lxml")
    lines = own.select("table.leaderboard tbody tr:not(.null)")
    on_page = {line.bdi.get_text(): bool(line.select(".badge.good")) for line in lines}  # type: ignore[union-attr]
    assert on_page == {"clear": True, "tie": False, "gemma": False}
    assert reach in own.get_text()

    env = {"CULTUREMETER_HOME": str(warehouse.home)}
    done = CliRunner().invoke(app, ["leaderboard", "spectral"], env=env)
    assert done.exit_code == 0, done.output
    assert re.search(r"macro-F1: clear; .*: clear, tie\.", " ".join(done.output.split()))


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9])
def test_at_most_2_5_percent_of_random_orders_reach_least_rho(warehouse: Warehouse, n: int) -> None:
    (least,) = warehouse.query("SELECT least_rho(?)::DOUBLE", [n]).row(0)
    squares = ((np.array([*permutations(range(n))]) - np.arange(n)) ** 2).sum(axis=1)
    rho = 1 - 6 * squares / (n * (n * n - 1))
    values = np.unique(rho.round(9))
    rare = [value for value in values if np.mean(rho >= value - 1e-9) <= 0.025]
    assert least == (pytest.approx(min(rare)) if rare else None)


def test_four_domains_are_too_few_for_a_rank_correlation_beyond_its_null(warehouse: Warehouse) -> None:
    few = [headline("rank_spearman", 1.0, 0.0, 0), row("rank_spearman", ("variant", "1"), 1.0, n_scored=4)]
    by_model = store(warehouse, "spectral", {"few": few})
    assert by_model["few", "rank_spearman"] == (False, "no order of 4 domains can be told from a random one")


def test_without_interval_or_null_is_beyond_null_is_empty(warehouse: Warehouse) -> None:
    rows = [
        row("accuracy", ALL, 0.9, null_value=0.2),
        headline("scenario_gain", 0.5, 0.1, 0) | {"null_value": None},
    ]
    by_model = store(warehouse, "culturall", {"m": rows})
    assert by_model["m", "accuracy"] == by_model["m", "scenario_gain"] == (None, None)


def test_a_metric_where_lower_is_better_is_beyond_its_null_if_below(warehouse: Warehouse) -> None:
    models = {str(value): [headline("map_cv", value, 0.1, 0.5)] for value in (0.3, 0.45, 0.8)}
    by_model = store(warehouse, "fmlama", models)
    assert [by_model[model, "map_cv"][0] for model in models] == [True, False, False]


def test_numbers_of_a_judge_that_fails_its_check_are_not_beyond_their_null(warehouse: Warehouse) -> None:
    def rows(accepted: float) -> list[Row]:
        check = [row("judge_gold_accepted", ("judge", "j"), 0.95)]
        check += [row("judge_gold_accepted", ("judge_language", f"j:{x}"), accepted) for x in ("ja", "zh")]
        return [headline("accuracy", 0.8, 0.1, 0.3), headline("scenario_gain", 0.3, 0.1, 0), *check]

    by_model = store(warehouse, "culturall", {"good": rows(0.9), "bad": rows(0.7)})
    for metric in ("accuracy", "scenario_gain"):
        assert by_model["good", metric] == (True, None)
        assert by_model["bad", metric] == (False, "a judge fails its check")


@pytest.mark.parametrize(
    ("evaluation", "metric", "gain", "doubt"),
    [
        ("fmlama", "map", "map_gain", "not shown to beat the best baseline"),
        ("worldwise", "alignment", "alignment_gain", "not shown to beat its best null"),
    ],
)
def test_a_paired_gain_that_includes_0_is_not_beyond_its_null(
    warehouse: Warehouse, evaluation: str, metric: str, gain: str, doubt: str
) -> None:
    gains = {"more": around(0.1, 0.05), "same": around(0.04, 0.05), "few": {}}
    models = {m: [headline(metric, 0.5, 0.1, 0.1), row(gain, ALL, 0.1, **ends)] for m, ends in gains.items()}
    by_model = store(warehouse, evaluation, models)
    assert by_model["more", metric] == (True, None)
    assert by_model["same", metric] == by_model["few", metric] == (False, doubt)


@pytest.mark.parametrize(
    ("evaluation", "metric", "null"),
    [
        ("fmlama", "mws", "null:common"),
        ("fmlama", "mes", "null:common"),
        ("explication", "interaction", "null:fixed"),
    ],
)
def test_the_interval_of_a_null_widens_the_comparison(
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
    by_model = store(warehouse, evaluation, models)
    assert by_model["near", metric] == (False, f"{null} scores 0.50, not clearly less")
    assert by_model["far", metric] == (True, None)


TELLS: dict[str, dict[str, tuple[list[float | None], str | None]]] = {
    "cure": {
        "it does": ([1.0], None),
        "too few items of a pack to decide": ([1.0, None], None),
        "not for a pack": ([1.0, 0.0], "explanations not shown to beat another item's"),
        "too few": ([None], "too few explanations for a test against another item's"),
    },
    "explication": {
        "it does": ([1.0], None),
        "it does not": ([0.0], "not shown to beat another persona's recommendation"),
        "too few": ([None], "too few personas for the judges' check"),
    },
}
"""Evaluation -> model -> whether a judge tells real from shuffled (None: undecided), and the doubt."""


@pytest.mark.parametrize("evaluation", TELLS)
def test_a_judge_that_does_not_tell_real_from_shuffled_doubts_the_number(
    warehouse: Warehouse, evaluation: str
) -> None:
    metric = "coverage" if evaluation == "cure" else "apr"

    def rows(flags: list[float | None]) -> list[Row]:
        made = [headline(metric, 0.8, 0.1, 0.3)]
        for benchmark, flag in zip(("normad", "mine"), flags, strict=False):
            where = ("benchmark", benchmark) if evaluation == "cure" else ALL
            made += [row(metric, where, 0.8)] if evaluation == "cure" else []
            made.append(row("tells_real_from_shuffled", where, flag))
        return made

    models = TELLS[evaluation]
    by_model = store(warehouse, evaluation, {model: rows(flags) for model, (flags, _) in models.items()})
    assert {model: by_model[model, metric] for model in models} == {
        model: (doubt is None, doubt) for model, (_, doubt) in models.items()
    }
