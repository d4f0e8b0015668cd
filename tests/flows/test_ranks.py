"""Rank sets of stored runs: which models share a board, with which tests, and where they are shown."""

from __future__ import annotations

import json
import time
from itertools import combinations

import numpy as np
import pytest

import culturemeter
from deployments.show import boards
from flows.comparison import ComparedRuns, chosen_pairs, differences
from flows.ranks import NO_POINTS, ranked
from flows.runs import every_finished
from tests.deployments.commands import call, one_line, table
from tests.flows.stored_runs import Stored, store
from warehouse import Warehouse

RNG = np.random.default_rng(0)
ITEMS_OF_A_BOARD = 1000
EASE = RNG.beta(3, 2, 60)
SCORES = {name: np.clip(EASE - lower + 0.05 * RNG.standard_normal(60), 0, 1) for name, lower in
          (("a", 0.0), ("b", 0.0), ("c", 0.3))}  # fmt: skip


def culturall(name: str, values: np.ndarray, occasion: str = "") -> Stored:
    return Stored(name, occasion, evaluation="culturall", scores={"accuracy": values})


def sets(warehouse: Warehouse, **how: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Return metric and model -> rank set."""
    return {(row.metric, row.model): (row.low, row.high) for row in ranked(warehouse, **how)}


def test_models_that_differ_have_ranks_of_their_own(warehouse: Warehouse) -> None:
    store(warehouse, [culturall(name, values) for name, values in SCORES.items()])
    assert sets(warehouse) == {
        ("accuracy", "a"): (1, 2),
        ("accuracy", "b"): (1, 2),
        ("accuracy", "c"): (3, 3),
    }
    assert {row.reason for row in ranked(warehouse)} == {None}


def test_two_models_are_apart_exactly_if_compare_rejects(warehouse: Warehouse) -> None:
    """Means of items and half-samples are tried, each with the higher and the lower number as the better."""
    halves = {name: 0.5 + 0.05 * RNG.standard_normal(101) for name in ("near", "far")}
    halves["far"] += 0.2
    halves["own"] = 0.5 + 0.05 * RNG.standard_normal(101)
    runs = [
        Stored(
            name, evaluation="spectral",
            halves={"macro_f1": (40, halves[name])},
            scores={"reference_mass": EASE + 0.02 * (name == "far") + 0.05 * RNG.standard_normal(60)},
        )
        for name in ("own", "near", "far")
    ]  # fmt: skip
    runs += [
        Stored(name, evaluation="fmlama", halves={"map_cv": (40, halves[name])}) for name in ("near", "far")
    ]
    store(warehouse, runs)
    finished = every_finished(warehouse)
    for evaluation, pair in (("spectral", ("near", "far")), ("fmlama", ("near", "far"))):
        (row, *_) = differences(warehouse, chosen_pairs(finished, ComparedRuns(*pair, evaluation))).to_dicts()
        assert row["p_value"] < 0.01
    assert sets(warehouse, metric="macro_f1")["macro_f1", "far"] == (1, 1)
    # The coefficient of variation is better if it is lower.
    assert sets(warehouse, metric="map_cv") == {("map_cv", "near"): (1, 1), ("map_cv", "far"): (2, 2)}


def test_classes_by_medians_of_one_model_separate_it_from_none(warehouse: Warehouse) -> None:
    values = {"a": 0.9 + 0.02 * RNG.standard_normal(101), "b": 0.3 + 0.02 * RNG.standard_normal(101)}
    runs = [Stored(name, evaluation="spectral", halves={"macro_f1": (40, v)}) for name, v in values.items()]
    store(warehouse, runs)
    assert sets(warehouse)["macro_f1", "a"] == (1, 1)
    with warehouse.write() as connection:
        frozen = "INSERT INTO cohort SELECT config_hash, 'first', run_id, now() FROM run WHERE run_id = ?"
        connection.execute(frozen, [runs[0].run_id])
    assert sets(warehouse)["macro_f1", "a"] == (1, 2)


def test_an_unscored_model_takes_no_rank_and_null_models_are_no_contestants(warehouse: Warehouse) -> None:
    runs = [culturall(name, values) for name, values in SCORES.items()]
    store(warehouse, [*runs, culturall("lost", np.full(60, np.nan)), culturall("null", EASE + 0.4)])
    with warehouse.write() as connection:
        connection.execute("UPDATE run_base SET is_null = true WHERE model = 'null'")
    assert sets(warehouse)["accuracy", "c"] == (3, 3)
    assert {model for _, model in sets(warehouse)} == {"a", "b", "c"}


def test_runs_without_points_overlap_and_the_board_says_so(warehouse: Warehouse) -> None:
    store(warehouse, [culturall(name, values) for name, values in SCORES.items()])
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit_base WHERE kind = 'headline_value'")
    rows = ranked(warehouse)
    assert {(row.low, row.high, row.reason) for row in rows} == {(1, 3, NO_POINTS)}


def test_too_few_clusters_overlap_and_the_board_says_so(warehouse: Warehouse) -> None:
    store(warehouse, [culturall(name, values[:4]) for name, values in SCORES.items()])
    assert {(row.low, row.high) for row in ranked(warehouse)} == {(1, 3)}
    printed = one_line(call("leaderboard", "culturall", COLUMNS="160").output)
    assert "no two models can be told apart: 4 clusters are too few for 3 models" in printed


def test_another_model_changes_ranks_and_no_row(warehouse: Warehouse) -> None:
    """Ranks belong to reading: they are over the models of the board, on its occasion."""
    first = [culturall(name, SCORES[name], "w1") for name in ("a", "b")]
    store(warehouse, first)
    before = boards.leaderboard(warehouse, "culturall", "config")
    store(warehouse, [culturall("c", np.clip(EASE + 0.5, 0, 1), "w2")])
    after = boards.leaderboard(warehouse, "culturall", "config")
    assert sets(warehouse)["accuracy", "a"] == (2, 3)
    own = before.drop("rank_low", "rank_high", "place")
    assert after.join(own, on=own.columns, how="semi", nulls_equal=True).height == 2
    assert sets(warehouse, occasion="w1") == {("accuracy", "a"): (1, 2), ("accuracy", "b"): (1, 2)}
    earlier = boards.leaderboard(warehouse, "culturall", "config", "w1")
    assert earlier.select("rank_low", "rank_high").rows() == [(1, 2), (1, 2)]


def test_board_sql_and_python_show_the_same_sets(warehouse: Warehouse) -> None:
    store(warehouse, [culturall(name, values) for name, values in SCORES.items()])
    printed = call("leaderboard", "culturall", COLUMNS="100").stdout
    assert "1-2" in printed
    assert "rank: ranks that the data allow on Accuracy, over all 3 models at 95 %" in one_line(printed)
    expected = {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    board = {row["model"]: (row["rank_low"], row["rank_high"]) for row in table("leaderboard", "culturall")}
    assert board == expected
    query = "SELECT model, rank_low, rank_high, n_models FROM Rank_Set WHERE metric = 'accuracy' ORDER BY ALL"
    assert {row["model"]: (row["rank_low"], row["rank_high"]) for row in table("sql", query)} == expected
    assert culturemeter.sql(query).rows() == [("a", 1, 2, 3), ("b", 1, 2, 3), ("c", 3, 3, 3)]
    assert call("sql", query, COLUMNS="100").stdout.count("│") > 10
    # Other programs cannot compute it; the view says so by having no rows.
    assert warehouse.rows("FROM rank_set").rows == []


def test_hostile_names_reach_the_view_as_they_are(warehouse: Warehouse) -> None:
    name = "a'; DROP TABLE run; --\"\\u001b[31m"
    store(warehouse, [culturall(name, EASE), culturall("b", EASE)])
    assert {row[0] for row in culturemeter.sql("SELECT model FROM rank_set").rows()} == {name, "b"}
    assert json.loads(call("sql", "SELECT model FROM rank_set", "-f", "json").stdout)


def test_one_model_has_no_rank(warehouse: Warehouse) -> None:
    store(warehouse, [culturall("a", EASE)])
    assert boards.ranks(warehouse, "culturall", "config") is None
    assert "│ rank" not in call("leaderboard", "culturall", "--no-published").stdout


@pytest.mark.parametrize("configs", [[], ["nothing"]])
def test_boards_without_models_have_no_sets(warehouse: Warehouse, configs: list[str]) -> None:
    assert ranked(warehouse, configs) == []
    assert culturemeter.sql("FROM rank_set").is_empty()


@pytest.mark.heavy
def test_fifty_models_with_three_headlines_take_a_few_seconds(warehouse: Warehouse) -> None:
    """Board, rank sets and all pairs; the bar of 20 s is for two cores, and this counts processor time."""
    metrics = ("map", "mws", "mes")
    ease = RNG.beta(2, 1, ITEMS_OF_A_BOARD)
    right = [
        {name: (RNG.random(ease.size) < np.clip(ease + 0.01 * k, 0, 1)).astype(float) for name in metrics}
        for k in range(50)
    ]
    store(warehouse, [Stored(f"m{k:02}", evaluation="fmlama", scores=own) for k, own in enumerate(right)])
    start = time.process_time()
    rows = ranked(warehouse)
    boards.leaderboard(warehouse, "fmlama", "config")
    pairs = differences(warehouse, list(combinations(every_finished(warehouse), 2)))
    assert time.process_time() - start < 20
    assert (len(rows), pairs.height) == (150, 3675)
    low = {row.model: row.low for row in rows if row.metric == "map"}
    assert low["m49"] == 1
    assert low["m00"] > 20
