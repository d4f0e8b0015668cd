"""The runs that are compared, and the differences of their stored points."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

from flows.comparison import (
    NO_POINTS,
    NOTHING_COMMON,
    ONE_COHORT,
    ComparedRuns,
    chosen_pairs,
    differences,
    last_two_occasions,
)
from flows.runs import every_finished
from tests.flows.stored_runs import Stored, store
from warehouse import Warehouse, WarehouseError

RNG = np.random.default_rng(0)
GOOD, BAD = RNG.beta(3, 1, 60), RNG.beta(1, 3, 60)


def compared(warehouse: Warehouse, wanted: ComparedRuns) -> pl.DataFrame:
    return differences(warehouse, chosen_pairs(every_finished(warehouse), wanted))


def test_two_models_are_compared_item_by_item(warehouse: Warehouse) -> None:
    store(warehouse, [Stored("a", scores={"coverage": GOOD}), Stored("b", scores={"coverage": BAD})])
    (row,) = compared(warehouse, ComparedRuns("a", "b")).to_dicts()
    assert row["difference"] == pytest.approx(GOOD.mean() - BAD.mean())
    assert row["difference"] == pytest.approx(row["first_value"] - row["second_value"])
    low, high = ttest_rel(GOOD, BAD).confidence_interval()
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=0.02)
    assert (row["n_common"], row["unscored_reason"]) == (60, None)
    assert row["p_holm"] == row["p_value"] < 1e-6
    turned = compared(warehouse, ComparedRuns("b", "a")).to_dicts()[0]
    assert turned["difference"] == pytest.approx(-row["difference"])
    assert turned["p_value"] == pytest.approx(row["p_value"])


def test_items_scored_for_one_model_only_are_left_out(warehouse: Warehouse) -> None:
    some = np.where(np.arange(60) < 20, np.nan, BAD)
    store(warehouse, [Stored("a", scores={"coverage": GOOD}), Stored("b", scores={"coverage": some})])
    (row,) = compared(warehouse, ComparedRuns("a", "b")).to_dicts()
    assert row["n_common"] == 40
    assert row["difference"] == pytest.approx(GOOD[20:].mean() - BAD[20:].mean())


def test_equal_scores_have_difference_0_and_p_1(warehouse: Warehouse) -> None:
    store(warehouse, [Stored(m, scores={"coverage": GOOD}) for m in ("a", "b")])
    (row,) = compared(warehouse, ComparedRuns("a", "b")).to_dicts()
    assert (row["difference"], row["p_value"], row["unscored_reason"]) == (0.0, 1.0, "nothing differs")


def test_metrics_that_are_not_means_are_compared_by_half_samples(warehouse: Warehouse) -> None:
    own, other = 0.6 + 0.05 * RNG.standard_normal((2, 101))
    runs = [
        Stored(name, evaluation="spectral", halves={"macro_f1": (40, values)})
        for name, values in (("a", own), ("b", other))
    ]
    store(warehouse, runs)
    (row,) = compared(warehouse, ComparedRuns("a", "b")).to_dicts()
    assert row["difference"] == pytest.approx(own[0] - other[0])
    half = 2.0227 * np.std(own[1:] - other[1:], ddof=1)  # t of 39 degrees of freedom
    assert row["ci_high"] - row["difference"] == pytest.approx(half, rel=1e-3)
    assert row["n_common"] == 40


def test_classes_by_medians_of_one_of_two_models_have_no_p_value(warehouse: Warehouse) -> None:
    """An occasion of that model has a p-value, and so do correlations, which need no cohort."""
    own, other = 0.6 + 0.05 * RNG.standard_normal((2, 101))
    halves = {"macro_f1": (40, own), "rank_spearman": (40, own)}
    runs = [
        Stored("a", evaluation="spectral", halves=halves),
        Stored("b", evaluation="spectral", halves=dict.fromkeys(halves, (40, other))),
        Stored("a", "w1", evaluation="spectral", halves=dict.fromkeys(halves, (40, other))),
    ]
    store(warehouse, runs)
    frozen = "INSERT INTO cohort SELECT config_hash, 'first', run_id, now() FROM run WHERE run_id = ?"
    with warehouse.write() as connection:
        connection.execute(frozen, [runs[0].run_id])
    rows = {row["metric"]: row for row in compared(warehouse, ComparedRuns("a", "b", occasion="")).to_dicts()}
    assert rows["macro_f1"]["difference"] == pytest.approx(own[0] - other[0])
    assert (rows["macro_f1"]["p_value"], rows["macro_f1"]["unscored_reason"]) == (None, ONE_COHORT)
    assert rows["rank_spearman"]["p_value"] is not None
    assert compared(warehouse, ComparedRuns("a"))["p_value"].null_count() == 0
    with warehouse.write() as connection:
        connection.execute(frozen, [runs[1].run_id])
    assert compared(warehouse, ComparedRuns("a", "b", occasion=""))["p_value"].null_count() == 0


def test_correlations_are_compared_on_the_fisher_scale(warehouse: Warehouse) -> None:
    """The same values are stored as correlations and as shares: their errors differ by the scale."""
    own, other = 0.95 + 0.02 * RNG.standard_normal((2, 101)) * [[0.1], [1]]
    runs = [
        Stored(name, evaluation="spectral", halves={"rank_spearman": (40, values), "macro_f1": (40, values)})
        for name, values in (("a", own), ("b", other - 0.3))
    ]
    store(warehouse, runs)
    rows = {row["metric"]: row for row in compared(warehouse, ComparedRuns("a", "b")).to_dicts()}
    assert rows["rank_spearman"]["difference"] == rows["macro_f1"]["difference"]
    plain, ours = (rows[name]["detectable"] for name in ("macro_f1", "rank_spearman"))
    fisher = np.std(np.arctanh(0.98 * own[1:]) - np.arctanh(0.98 * (other[1:] - 0.3)), ddof=1)
    slope = (own[0] - other[0] + 0.3) / (np.arctanh(0.98 * own[0]) - np.arctanh(0.98 * (other[0] - 0.3)))
    assert ours / plain == pytest.approx(fisher * slope / np.std(own[1:] - other[1:], ddof=1))


def test_occasion_is_compared_with_the_one_before_or_a_chosen_one(warehouse: Warehouse) -> None:
    values = {"": GOOD, "w1": GOOD - 0.1, "w2": GOOD - 0.3}
    store(warehouse, [Stored("a", occasion=name, scores={"coverage": v}) for name, v in values.items()])
    (row,) = compared(warehouse, ComparedRuns("a")).to_dicts()
    assert (row["first_occasion"], row["second_occasion"]) == ("w2", "w1")
    assert row["difference"] == pytest.approx(-0.2)
    (row,) = compared(warehouse, ComparedRuns("a", occasion="w1", against="w2")).to_dicts()
    assert row["difference"] == pytest.approx(0.2)
    (row,) = compared(warehouse, ComparedRuns("a", occasion="w1", against="")).to_dicts()
    assert row["difference"] == pytest.approx(-0.1)


def test_engines_and_configurations_of_a_model_are_compared(warehouse: Warehouse) -> None:
    runs = [
        Stored("a", scores={"coverage": GOOD}, engine="1111"),
        Stored("a#2222", scores={"coverage": BAD}, engine="2222"),
        Stored("a", scores={"coverage": GOOD + 0.05}, engine="1111", config="reworded"),
    ]
    store(warehouse, runs)
    (row,) = compared(warehouse, ComparedRuns("a#1111", "a#2222")).to_dicts()
    assert row["difference"] == pytest.approx(GOOD.mean() - BAD.mean())
    wanted = ComparedRuns("a", config="reworded", against_config="config", second="a")
    (row,) = compared(warehouse, wanted).to_dicts()
    assert row["difference"] == pytest.approx(0.05)


def test_holm_adjusts_for_all_rows_shown(warehouse: Warehouse) -> None:
    runs = [
        Stored(name, evaluation=evaluation, scores={metric: values[:12]})
        for evaluation, metric in (("cure", "coverage"), ("fmlama", "map"))
        for name, values in (("a", GOOD), ("b", BAD))
    ]
    store(warehouse, runs)
    rows = compared(warehouse, ComparedRuns("a", "b"))
    assert rows["evaluation"].to_list() == ["cure", "fmlama"]
    assert rows["p_holm"].to_list() == pytest.approx([2 * p for p in rows["p_value"]])
    assert compared(warehouse, ComparedRuns("a", "b", "cure"))["p_holm"][0] == rows["p_value"][0]


def test_row_that_cannot_be_compared_has_a_reason(warehouse: Warehouse) -> None:
    few = Stored("few", scores={"coverage": BAD[:4]})
    others = Stored("others", scores={"coverage": np.r_[np.full(60, np.nan), BAD]})
    store(warehouse, [Stored("a", scores={"coverage": GOOD}), few, others])
    assert compared(warehouse, ComparedRuns("a", "few"))["unscored_reason"][0].startswith("too little")
    assert compared(warehouse, ComparedRuns("a", "others"))["unscored_reason"][0] == NOTHING_COMMON
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit_base WHERE kind = 'headline_value'")
    assert compared(warehouse, ComparedRuns("a", "few"))["unscored_reason"].to_list() == [NO_POINTS]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ComparedRuns("nobody", "a"), "the model 'nobody'; known: b, a"),
        (ComparedRuns("a", "nobody"), "the model 'nobody'"),
        (ComparedRuns("a", "b", occasion="w9"), "of a has the occasion 'w9'; known: w1, \"\""),
        (ComparedRuns("a", config="other"), "configuration 'other'; known: config"),
        (ComparedRuns("b"), "b on another occasion"),
        (ComparedRuns("a", evaluation="fmlama"), "none: start with"),
    ],
)
def test_unknown_runs_are_refused_with_the_known_ones(
    warehouse: Warehouse, wanted: ComparedRuns, message: str
) -> None:
    runs = [("a", ""), ("a", "w1"), ("b", "")]
    store(warehouse, [Stored(m, occasion=o, scores={"coverage": GOOD}) for m, o in runs])
    with pytest.raises(WarehouseError) as error:
        compared(warehouse, wanted)
    assert message in str(error.value)


def test_last_two_occasions_are_found_for_every_engine(warehouse: Warehouse) -> None:
    names = [("a", ""), ("a", "w1"), ("a", "w2"), ("b", "w1"), ("c", ""), ("c", "w2")]
    store(warehouse, [Stored(m, occasion=o, scores={"coverage": GOOD}) for m, o in names])
    pairs = last_two_occasions(every_finished(warehouse))
    assert {(x.model, x.occasion, y.occasion) for x, y in pairs} == {("a", "w2", "w1"), ("c", "w2", "")}


def test_sql_over_headline_values_gives_the_paired_difference(warehouse: Warehouse) -> None:
    store(warehouse, [Stored("a", scores={"coverage": GOOD}), Stored("b", scores={"coverage": BAD})])
    sql = """SELECT avg(a.value - b.value) AS difference, count(*) AS n
    FROM headline_value AS a JOIN headline_value AS b USING (metric, unit)
    WHERE a.model = 'a' AND b.model = 'b'"""
    assert warehouse.query(sql).row(0) == pytest.approx((GOOD.mean() - BAD.mean(), 60))
