"""The cure views over metric rows, verdicts and validations that are saved by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluations.cure.report.example_run import (
    JUDGE,
    METRICS,
    Made,
    gains,
    judge,
    model_rows,
    null_rows,
    rubric,
    store,
    validate,
)
from tests.evaluations.worldwise.report.example_run import Row, around, row
from warehouse import Warehouse

VIEWS = ("leaderboard_cure", "cure_thin_vs_thick", "cure_by_country", "cure_over_models", "cure_by_cue")


def rows_of(warehouse: Warehouse, view: str) -> list[dict[str, Any]]:
    return warehouse.query(f"SELECT * FROM {view}").to_dicts()


def explained(benchmark: str, value: float | None, gain: float | None) -> list[Row]:
    """Return a metric's value +- 0.1 and its gain +- 0.2."""
    where = ("benchmark", benchmark)
    return [
        row(
            METRICS[benchmark], where, value, **({} if value is None else around(value, 0.1)), null_value=0.3
        ),
        row("explanation_gain", where, gain, **({} if gain is None else around(gain, 0.2)), null_value=0.0),
        row("tells_real_from_shuffled", where, None if gain is None else float(gain > 0.2)),
    ]


def labelled(benchmark: str, mode: str, value: float, majority: float = 0.5, n: int = 70) -> list[Row]:
    where = ("benchmark_mode", f"{benchmark}:{mode}")
    return [
        row("exact_match", where, value, **around(value, 0.1), null_value=majority, n_scored=n,
            n_unscored=72 - n),
        row("f1_micro", where, value + 0.01),
        row("f1_macro", where, value - 0.1),
    ]  # fmt: skip


def test_the_leaderboard_row_has_labels_metric_nulls_and_counts(warehouse: Warehouse) -> None:
    nulls = {"shuffled": 0.2, "generic": 0.3, "empty": 0.1}
    rows = [
        *labelled("normad", "thin", 0.7, 0.5),
        *labelled("normad", "thick", 0.6, 0.52, 60),
        row("exact_match_prior", ("benchmark_mode", "normad:thin"), 0.4),
        row("exact_match", ("benchmark_mode_country", "normad:thin:IN"), 0.99, null_value=0.99),
        *explained("normad", 0.45, 0.25),
        row("coverage", ("benchmark_country", "normad:IN"), 0.99, null_value=0.99),
        *(row("coverage", ("null", f"normad:{source}"), mean) for source, mean in nulls.items()),
        row("self_preference_warning", ("overall", "all"), 1.0),
    ]
    judge(warehouse, store(warehouse, "m", rows, "c1"), "m", benchmarks=["normad"])
    (line,) = rows_of(warehouse, "leaderboard_cure")
    names = ("config_hash", "model", "benchmark", "run_id")
    assert [line[name] for name in names] == ["c1", "m", "normad", "c1 m"]
    assert (line["thin_em"], line["thin_f1_micro"], line["thin_f1_macro"]) == pytest.approx((0.7, 0.71, 0.6))
    thick = (line["thick_em"], line["thick_f1_micro"], line["thick_f1_macro"])
    assert thick == pytest.approx((0.6, 0.61, 0.5))
    assert (line["thin_em_low"], line["thick_em_high"]) == pytest.approx((0.6, 0.7))
    assert (line["majority_em"], line["prior_em"]) == (0.52, 0.4)
    assert (line["metric"], line["value"], line["null_value"]) == ("coverage", 0.45, 0.3)
    assert (line["ci_low"], line["ci_high"]) == pytest.approx((0.35, 0.55))
    assert (line["null_shuffled"], line["null_generic"], line["null_empty"]) == (0.2, 0.3, 0.1)
    gain = (line["explanation_gain"], line["gain_low"], line["gain_high"])
    assert gain == pytest.approx((0.25, 0.05, 0.45))
    assert line["tells_real_from_shuffled"] is True
    assert (line["judge"], line["rubric"], line["validated"]) == (JUDGE, rubric("normad"), False)
    assert line["self_preference"] is True
    assert (line["n_items"], line["thin_scored"], line["thick_scored"], line["n_judged"]) == (72, 70, 60, 90)


@pytest.mark.parametrize(
    ("gain", "tells"), [(0.21, True), (0.2, False), (0.0, False), (-0.5, False), (None, None)]
)
def test_a_metric_whose_gain_interval_reaches_0_is_flagged(
    warehouse: Warehouse, gain: float | None, tells: bool | None
) -> None:
    store(warehouse, "m", explained("casa", 0.4, gain))
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert line["tells_real_from_shuffled"] is tells


def test_a_run_of_thin_items_has_no_metric_judge_or_validation(warehouse: Warehouse) -> None:
    store(warehouse, "m", labelled("casa", "thin", 0.7))
    validate(warehouse, "casa")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    names = ("metric", "value", "null_value", "tells_real_from_shuffled", "judge", "validated",
             "self_preference", "thick_em")  # fmt: skip
    assert [line[name] for name in names] == [None] * 8
    assert line["thin_em"] == 0.7


def test_validated_holds_for_this_judge_with_this_rubric(warehouse: Warehouse) -> None:
    rows = [r for benchmark in METRICS for r in explained(benchmark, 0.4, 0.3)]
    judge(warehouse, store(warehouse, "m", rows), "m")
    validate(warehouse, "normad")
    validate(warehouse, "casa", name="another judge")
    validate(warehouse, "culturebank", metrics=["krippendorff_alpha_nominal"])  # agreement among people only
    validated = {r["benchmark"]: r["validated"] for r in rows_of(warehouse, "leaderboard_cure")}
    assert validated == {"normad": True, "casa": False, "culturebank": False, "specnorm": False}


def test_an_entry_of_several_judges_is_validated_when_each_of_them_is(warehouse: Warehouse) -> None:
    run = store(warehouse, "m", explained("normad", 0.4, 0.3))
    judge(warehouse, run, "m", benchmarks=["normad"])
    judge(warehouse, run, "m", name="judge-b", benchmarks=["normad"])
    validate(warehouse, "normad")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert (line["judge"], line["validated"]) == ("judge-a, judge-b", False)
    validate(warehouse, "normad", name="judge-b")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert line["validated"] is True


def test_validation_without_a_value_does_not_count(warehouse: Warehouse) -> None:
    judge(warehouse, store(warehouse, "m", explained("normad", 0.4, 0.3)), "m", benchmarks=["normad"])
    validate(warehouse, "normad")
    with warehouse.write() as connection:
        connection.execute("UPDATE judge_validation SET value = NULL, unscored_reason = 'few items'")
    (line,) = rows_of(warehouse, "leaderboard_cure")
    assert line["validated"] is False


def test_the_judges_of_a_run_are_those_of_its_configuration(warehouse: Warehouse) -> None:
    judge(warehouse, store(warehouse, "a", explained("normad", 0.4, 0.3)), "a", benchmarks=["normad"])
    store(warehouse, "b", explained("normad", 0.5, 0.3))  # the verdicts belong to another run
    store(warehouse, "c", explained("normad", 0.5, 0.3), "other")
    judges = {r["model"]: r["judge"] for r in rows_of(warehouse, "leaderboard_cure")}
    assert judges == {"a": JUDGE, "b": JUDGE, "c": None}


def test_the_leaderboard_is_ordered_by_flag_then_value_then_nulls(warehouse: Warehouse) -> None:
    store(warehouse, "elsewhere", explained("normad", 0.9, 0.5), "old")
    models = {"flagged": (0.8, 0.1), "low": (0.3, 0.25), "high": (0.5, 0.25), "lost": (None, None)}
    for model, (value, gain) in models.items():
        store(warehouse, model, [*explained("normad", value, gain), *explained("casa", value, gain)], "new")
    store(warehouse, "null:majority", labelled("normad", "thin", 0.5), "new")
    lines = rows_of(warehouse, "leaderboard_cure")
    order = ["high", "low", "flagged", "lost"]
    assert [(r["config_hash"], r["benchmark"], r["model"]) for r in lines] == [
        *(("new", "normad", model) for model in [*order, "null:majority"]),
        *(("new", "casa", model) for model in order),
        ("old", "normad", "elsewhere"),
    ]


def test_thin_vs_thick_has_the_paired_test_and_both_spreads(warehouse: Warehouse) -> None:
    where = ("benchmark", "casa")
    spreads = [
        row(f"exact_match_{name}", ("benchmark_mode", f"casa:{mode}"), value, n_scored=20)
        for mode, name, value in (("thin", "iqr", 0.3), ("thick", "iqr", 0.2), ("thin", "variance", 0.04),
                                  ("thick", "variance", 0.03))
    ]  # fmt: skip
    rows = [
        *labelled("casa", "thin", 0.7), *labelled("casa", "thick", 0.75), *spreads,
        row("thin_thick_difference", where, 0.06, **around(0.06, 0.05), n_scored=65, n_unscored=7),
        row("thin_thick_p", where, 0.03),
        *labelled("normad", "thin", 0.5),
    ]  # fmt: skip
    store(warehouse, "m", rows)
    store(warehouse, "null:majority", labelled("casa", "thin", 0.5))
    (line,) = rows_of(warehouse, "cure_thin_vs_thick")
    names = ("benchmark", "thin_em", "thick_em", "difference")
    assert [line[name] for name in names] == ["casa", 0.7, 0.75, 0.06]
    assert (line["ci_low"], line["ci_high"], line["p"]) == pytest.approx((0.01, 0.11, 0.03))
    assert line["f1_macro_difference"] == pytest.approx(0.05)
    names = ("thin_iqr", "thick_iqr", "thin_variance", "thick_variance")
    assert [line[name] for name in names] == [0.3, 0.2, 0.04, 0.03]
    assert (line["n_countries"], line["n_scored"], line["n_unscored"]) == (20, 65, 7)


def test_unscored_difference_keeps_its_line_and_reason(warehouse: Warehouse) -> None:
    store(warehouse, "m", [row("thin_thick_difference", ("benchmark", "casa"), None),
                           row("thin_thick_p", ("benchmark", "casa"), None)])  # fmt: skip
    (line,) = rows_of(warehouse, "cure_thin_vs_thick")
    assert (line["difference"], line["p"], line["unscored_reason"]) == (None, None, "refused")


def test_by_country_joins_both_modes_and_the_metric(warehouse: Warehouse) -> None:
    def em(place: str, value: float, null: float) -> Row:
        slice_ = ("benchmark_mode_country", place)
        return row(
            "exact_match", slice_, value, **around(value, 0.2), null_value=null, n_scored=3, n_unscored=1
        )

    rows = [
        em("casa:thin:AE", 0.5, 0.4), em("casa:thick:AE", 0.75, 0.45), em("casa:thin:XX", 0.25, 0.4),
        row("connotation", ("benchmark_country", "casa:AE"), 0.6, **around(0.6, 0.1), null_value=0.3,
            n_scored=2),
        *explained("casa", 0.99, 0.5), *labelled("casa", "thin", 0.99),
    ]  # fmt: skip
    store(warehouse, "m", rows)
    by_country = {r["country"]: r for r in rows_of(warehouse, "cure_by_country")}
    assert set(by_country) == {"AE", "XX"}
    line = by_country["AE"]
    assert (line["thin_em"], line["thick_em"], line["majority_em"]) == (0.5, 0.75, 0.45)
    assert (line["thin_em_low"], line["thick_em_high"]) == pytest.approx((0.3, 0.95))
    assert (line["metric"], line["value"], line["null_value"]) == ("connotation", 0.6, 0.3)
    assert (line["n_items"], line["thin_scored"], line["thick_scored"], line["n_judged"]) == (4, 3, 3, 2)
    assert line["country_name"] == "the United Arab Emirates"
    unknown = by_country["XX"]
    assert (unknown["country_name"], unknown["metric"], unknown["value"]) == ("XX", None, None)


def test_spread_over_models_leaves_nulls_out(warehouse: Warehouse) -> None:
    # 0.4 0.5 0.7 0.8: quartiles 0.475 and 0.725, mean 0.6, variance (0.04 + 0.01 + 0.01 + 0.04) / 3
    for model, value in (("a", 0.4), ("b", 0.8), ("c", 0.5), ("d", 0.7), ("null:majority", 0.1)):
        store(warehouse, model, labelled("normad", "thin", value))
    store(warehouse, "alone", labelled("normad", "thin", 0.4), "other")
    by_metric = {(r["config_hash"][:5], r["metric"]): r for r in rows_of(warehouse, "cure_over_models")}
    line = by_metric["01234", "exact_match"]
    assert (line["n_models"], line["benchmark"], line["mode"]) == (4, "normad", "thin")
    spread = (line["mean"], line["median"], line["lowest"], line["highest"])
    assert spread == pytest.approx((0.6, 0.6, 0.4, 0.8))
    assert (line["iqr"], line["variance"]) == pytest.approx((0.25, 0.1 / 3))
    alone = by_metric["other", "f1_macro"]
    assert (alone["n_models"], alone["iqr"], alone["variance"]) == (1, None, None)


def test_views_show_cure_only(warehouse: Warehouse) -> None:
    model = Made(0.7, 0.75, gains(0.2, 0.1, 0.3, 0.0))
    store(warehouse, "m", model_rows(model, ["IN", "JP"], seed=0))
    assert all(rows_of(warehouse, view) for view in VIEWS)
    with warehouse.write() as connection:
        connection.execute("UPDATE run_base SET evaluation = 'other'")
    assert not any(rows_of(warehouse, view) for view in VIEWS)


def test_metrics_of_the_page_are_in_the_catalogue(warehouse: Warehouse) -> None:
    rows = model_rows(Made(0.7, 0.75, gains(0.2, 0.1, 0.3, 0.0)), ["IN"], seed=0)
    metrics = {r["metric"] for r in [*rows, *null_rows({"casa": 0.5}, [])]}
    known = set(warehouse.query("SELECT metric FROM metric WHERE evaluation = 'cure'")["metric"])
    assert metrics <= known


def test_by_cue_has_a_row_for_each_cue_and_specificity(warehouse: Warehouse) -> None:
    rows = [
        row("exact_match", ("benchmark_mode_cue", "specnorm:thin:age"), 0.6, null_value=0.5, n_scored=9),
        row("exact_match", ("benchmark_mode_cue", "specnorm:thick:age"), 0.7, null_value=0.5, n_scored=8),
        row("specificity", ("benchmark_cue", "specnorm:age"), 0.4, null_value=0.1, n_scored=7),
        row("exact_match", ("benchmark_mode_specificity", "specnorm:thin:low"), 0.8, n_scored=5),
        row("specificity", ("benchmark", "specnorm"), 0.9),
    ]
    store(warehouse, "a", rows)
    stored = {(r["broken_down_by"], r["value_of"]): r for r in rows_of(warehouse, "cure_by_cue")}
    assert set(stored) == {("cue", "age"), ("specificity", "low")}
    age = stored["cue", "age"]
    names = ("benchmark", "thin_em", "thick_em", "majority_em")
    assert [age[name] for name in names] == ["specnorm", 0.6, 0.7, 0.5]
    assert [age[c] for c in ("metric", "value", "null_value", "n_judged")] == ["specificity", 0.4, 0.1, 7]
    low = stored["specificity", "low"]
    assert (low["thin_em"], low["thick_em"], low["value"]) == (0.8, None, None)
