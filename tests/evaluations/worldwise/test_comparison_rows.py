"""Cultures within a model, models with each other, and sources of variance: by hand and against scipy."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import f_oneway, ttest_ind, ttest_rel

from tasks.evaluations.worldwise.model_rows import _interval, cross_model_rows, culture_rows
from tasks.metrics.intervals import mean_interval
from tasks.metrics.types import FloatArray
from tests.evaluations.row_checks import check, one
from tests.evaluations.worldwise.conftest import MakeStudy, placed_at, scored

ALIGNMENT = {"IN": [9, 10, 9, 9], "JP": [9, 9, 10, 9], "MX": [9, 10, 6, 10]}  # see test_alignment_rows


def test_hand_calculation_gives_independent_tests_of_cultures(make_study: MakeStudy) -> None:
    study = make_study(reproduce=True)
    rows = culture_rows(study, scored(study, placed_at(study)))
    check(rows)
    # Means 9.25, 9.25, 8.75 about 109/12: between 4 * (2/36 + 4/36) = 2/3; total 1003 - 109^2/12.
    total, between = 1003 - 109**2 / 12, 2 / 3
    assert one(rows, "culture_eta_squared").value == pytest.approx(between / total)
    assert one(rows, "culture_anova_f").value == pytest.approx((between / 2) / ((total - between) / 9))
    assert one(rows, "culture_anova_p").value == pytest.approx(f_oneway(*ALIGNMENT.values()).pvalue)
    assert one(rows, "culture_anova_f").n_scored == 12
    assert {r.slice for r in rows if r.slice_kind == "culture_pair"} == {"IN:JP", "IN:MX", "JP:MX"}
    row = one(rows, "culture_difference", "IN:MX")
    assert (row.value, row.null_value, row.n_scored) == (pytest.approx(0.5), 0.0, 8)
    # Sums of squares about the means are 0.75 and 10.75.
    assert one(rows, "culture_cohens_d", "IN:MX").value == pytest.approx(0.5 / sqrt(11.5 / 6))
    p = ttest_ind(ALIGNMENT["IN"], ALIGNMENT["MX"]).pvalue
    assert one(rows, "culture_difference_p", "IN:MX").value == pytest.approx(min(1, 3 * p))
    assert one(rows, "culture_difference_p", "IN:MX").null_value is None
    assert row.ci_low is None  # four scenarios are too few


def test_hand_calculation_gives_paired_tests_of_cultures(make_study: MakeStudy) -> None:
    study = make_study()
    rows = culture_rows(study, scored(study, placed_at(study)))
    check(rows)
    p = ttest_rel(ALIGNMENT["IN"], ALIGNMENT["MX"]).pvalue
    assert one(rows, "culture_difference_p", "IN:MX").value == pytest.approx(min(1, 3 * p))
    # Differences to IN: JP 0, -1, 1, 0 and MX 0, 0, -3, 1. Their squares and products about the means 0 and
    # -1/2 sum to 2, 9 and -3, over 3: S = [2/3, -1; -1, 3], whose inverse has 2/3 at its end. T^2 = 4 * (1/4)
    # * 2/3, F = T^2 * 2 / (3 * 2).
    assert one(rows, "culture_anova_f").value == pytest.approx(2 / 9)


def test_interval_of_a_difference_is_over_scenarios() -> None:
    first, second = np.random.default_rng(0).normal(8, 1, (2, 9, 3))
    expected = mean_interval((first - second).mean(axis=1))
    assert _interval(first, second) == pytest.approx(expected)
    # A scenario that one side lacks counts on the other side.
    first[0] = np.nan
    assert _interval(first, second) != pytest.approx(expected)
    assert _interval(first[:4], second[:4]) is None


def test_one_culture_has_no_comparison(make_study: MakeStudy) -> None:
    study = make_study(cultures=["Japan"])
    rows = culture_rows(study, scored(study, placed_at(study)))
    check(rows)
    assert one(rows, "culture_anova_f").unscored_reason == "fewer than two groups have values"
    assert not [r for r in rows if r.slice_kind == "culture_pair"]


def cube(*cultures: list[float]) -> FloatArray:
    """Return scores [baseline and cultures, scenarios, 1]"""
    scenarios = len(cultures[0])
    return np.array([[np.nan] * scenarios, *cultures])[:, :, None]


def test_hand_calculation_gives_variance_components(make_study: MakeStudy) -> None:
    # 5, 4 scenarios (+-1 twice), 3 personas (0.6, 0, -0.6) and 2 models (+-0.2), nothing else. An effect's
    # variance is that of its levels with ddof 1: 4/3, 0.36 and 0.08.
    study = make_study()
    scenario, persona = np.array([1, 1, -1, -1]), np.array([0.6, 0, -0.6])
    alignments = {
        name: cube(*(5 + persona[:, None] + scenario + model).tolist())
        for name, model in (("b", -0.2), ("a", 0.2))
    }
    by_model = cross_model_rows(study, alignments)
    assert list(by_model) == ["a", "b"]
    total = 4 / 3 + 0.36 + 0.08
    for rows in by_model.values():
        check(rows)
        assert one(rows, "variance_scenario").value == pytest.approx(4 / 3 / total)
        assert one(rows, "variance_persona").value == pytest.approx(0.36 / total)
        assert one(rows, "variance_model").value == pytest.approx(0.08 / total)
        assert one(rows, "variance_residual").value == pytest.approx(0, abs=1e-12)
        assert one(rows, "variance_model").n_scored == 24
    assert one(by_model["a"], "model_difference", "b").value == pytest.approx(0.4)
    assert one(by_model["b"], "model_difference", "a").value == pytest.approx(-0.4)


def test_hand_calculation_gives_comparison_of_models(make_study: MakeStudy) -> None:
    study = make_study(cultures=["IN"], reproduce=True)
    values = {"a": [9.0, 8, 7, 6], "b": [6.0, 6, 5, 7], "c": [6.0, 6, 5, np.nan]}
    by_model = cross_model_rows(study, {name: cube(v) for name, v in values.items()})
    known = {name: [v for v in of if v == v] for name, of in values.items()}
    for rows in by_model.values():
        check(rows)
        assert one(rows, "model_anova_f").value == pytest.approx(f_oneway(*known.values()).statistic)
        assert one(rows, "model_anova_p").value == pytest.approx(f_oneway(*known.values()).pvalue)
        assert (one(rows, "model_anova_f").n_scored, one(rows, "model_anova_f").n_unscored) == (11, 1)
        # Means 7.5, 6, 17/3 about 71/11: 4 (46/44)^2 ...; squares 9^2 + ... + 5^2 = 473.
        between = 4 * 7.5**2 + 4 * 6**2 + 3 * (17 / 3) ** 2 - 71**2 / 11
        assert one(rows, "model_eta_squared").value == pytest.approx(between / (473 - 71**2 / 11))
    row = one(by_model["a"], "model_difference", "b")
    assert (row.value, row.n_scored) == (pytest.approx(1.5), 8)
    # Sums of squares about the means are 5 and 2.
    assert one(by_model["a"], "model_cohens_d", "b").value == pytest.approx(1.5 / sqrt(7 / 6))
    assert one(by_model["b"], "model_cohens_d", "a").value == pytest.approx(-1.5 / sqrt(7 / 6))
    p = ttest_ind(known["a"], known["b"]).pvalue
    assert one(by_model["a"], "model_difference_p", "b").value == pytest.approx(min(1, 3 * p))
    assert one(by_model["b"], "model_difference_p", "a").value == pytest.approx(min(1, 3 * p))
    assert one(by_model["a"], "variance_persona").unscored_reason == "there is one persona only"


def test_one_model_has_no_comparison(make_study: MakeStudy) -> None:
    study = make_study()
    (rows,) = cross_model_rows(study, {"m": scored(study, placed_at(study)).alignment}).values()
    check(rows)
    assert one(rows, "variance_model").unscored_reason == "there is one model only"
    # Mean squares: scenarios 35/12 / 3, personas 1/3, left 28/3 / 6: both estimates are negative, so 0.
    assert [one(rows, f"variance_{f}").value for f in ("scenario", "persona", "residual")] == [0, 0, 1]
    assert one(rows, "model_anova_f").unscored_reason == "fewer than two groups have values"
    assert not [r for r in rows if r.slice_kind == "model_pair"]


def test_model_without_scores_leaves_comparisons_unscored(make_study: MakeStudy) -> None:
    study = make_study()
    nothing = scored(study, {}).alignment
    by_model = cross_model_rows(study, {"a": nothing, "b": scored(study, placed_at(study)).alignment})
    for rows in by_model.values():
        check(rows)
    difference = one(by_model["b"], "model_difference", "a")
    assert difference.unscored_reason == "0 and 12 values: two of each are needed"
    for rows in cross_model_rows(study, {"a": nothing, "b": nothing}).values():
        check(rows)
        assert one(rows, "variance_residual").unscored_reason == "no answer was scored"
