"""Alignment, its gain over the nulls and the errors against the targets: every number by hand.

Alignments, 10 - 2.5 |error| with the errors of ``conftest.SCORES``:

            i1    i2    p1    p2    mean
    IN       9    10     9     9    9.25
    JP       9     9    10     9    9.25
    MX       9    10     6    10    8.75
    mean     9  29/3  25/3  28/3  109/12
"""

from __future__ import annotations

import itertools
from math import sqrt

import numpy as np
import pytest

from tasks.evaluations.worldwise.rows import NULLS, best_null, null_models, null_rows
from tasks.evaluations.worldwise.study import WorldwiseStudy
from tasks.loop.rows import Metric
from tasks.metrics import intervals
from tasks.metrics.intervals import UNBOUNDED, mean_interval
from tests.evaluations.row_checks import check, one
from tests.evaluations.worldwise.conftest import MakeStudy, placed_at, scored, space_of


@pytest.fixture(scope="module")
def study(make_study: MakeStudy) -> WorldwiseStudy:
    return make_study()


@pytest.fixture(scope="module")
def rows(study: WorldwiseStudy) -> list[Metric]:
    rows = null_rows(study, space_of(study), scored(study, placed_at(study)))
    check(rows)
    return rows


# --- alignment


def test_hand_calculation_gives_alignment(rows: list[Metric]) -> None:
    overall = one(rows, "alignment")
    assert (overall.value, overall.n_scored, overall.n_unscored) == (pytest.approx(109 / 12), 12, 0)
    expected = {
        "IN": 9.25, "MX": 8.75, "individualism": 56 / 6, "power_distance": 53 / 6,
        "MX:power_distance": 8, "p1": 25 / 3, "family": 52 / 6, "work": 57 / 6,
    }  # fmt: skip
    assert {name: one(rows, "alignment", name).value for name in expected} == pytest.approx(expected)
    assert [one(rows, "alignment", name).n_scored for name in ("IN", "MX:power_distance")] == [4, 2]
    assert not [r for r in rows if r.slice.startswith("baseline")]
    # Sum of squares 343 + 343 + 317 = 1003, less 109^2 / 12.
    assert one(rows, "alignment_sd").value == pytest.approx(sqrt((1003 - 109**2 / 12) / 11))
    assert one(rows, "alignment_sd", "IN").value == pytest.approx(sqrt((343 - 37**2 / 4) / 3))
    assert one(rows, "alignment_sd", "i2").value == pytest.approx(sqrt((281 - 29**2 / 3) / 2))


def test_hand_calculation_gives_nulls(rows: list[Metric]) -> None:
    """Mean |target - score| of each null over the 12 answers, scenario by scenario."""
    distances = {
        # IN 0 0 1.5 1.5, JP 1 1 0.5 0.5, MX 1 1 0.5 0.5
        "zero": 9 / 12,
        # the means of the targets are 0 and 0.5: IN 0 0 1 1, JP 1 1 0 0, MX 1 1 1 1
        "global_mean": 8 / 12,
        # the texts lie at 0, -0.5, 0, 1: IN 0 0.5 1.5 0.5, JP 1 0.5 0.5 0.5, MX 1 1.5 0.5 1.5
        "scenario_text": 9.5 / 12,
        # IN as JP 3.6 and as MX 4.8, JP as IN 3.6 and as MX 4.8, MX as IN 4 and as JP 5.2
        "shuffled": 26 / 24,
        # 0.5 0 0.5 1: IN 0.5 0 1 0.5, JP 1.5 1 0 0.5, MX 0.5 1 1 1.5
        "unprompted": 9 / 12,
    }
    for null, distance in distances.items():
        row = one(rows, "alignment", null)
        assert row.slice_kind == "null"
        assert row.value == pytest.approx(10 - 2.5 * distance), null
        assert one(rows, "alignment_gain", null).value == pytest.approx(109 / 12 - row.value), null
    assert set(distances) == set(NULLS)


def test_hand_calculation_gives_gain_over_the_best_null(rows: list[Metric]) -> None:
    # The global mean is best: 8.75 for IN and JP, 7.5 for MX.
    assert one(rows, "alignment").null_value == pytest.approx(25 / 3)
    assert one(rows, "alignment", "MX").null_value == pytest.approx(7.5)
    # On i1 it is 10, 7.5, 7.5.
    assert one(rows, "alignment", "i1").null_value == pytest.approx(25 / 3)
    gain = one(rows, "alignment_gain")
    assert gain.value == pytest.approx(0.75)
    assert gain.null_value == 0.0
    assert one(rows, "alignment_gain", "IN").value == pytest.approx(0.5)
    assert one(rows, "alignment_gain", "MX").value == pytest.approx(1.25)
    # individualism: 56/6 - 50/6; family: 52/6 less (10 + 7.5 + 7.5 + 7.5 + 10 + 7.5)/6.
    assert one(rows, "alignment_gain", "individualism").value == pytest.approx(1)
    assert one(rows, "alignment_gain", "family").value == pytest.approx(2 / 6)
    assert not [r for r in rows if r.metric == "alignment_gain" and r.slice_kind == "scenario"]


def test_intervals_are_clustered_by_scenario(study: WorldwiseStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, space = scored(study, placed_at(study)), space_of(study)
    assert one(null_rows(study, space, answers), "alignment").ci_low is None  # four scenarios are too few
    monkeypatch.setattr(intervals, "MIN_CLUSTERS", 4)
    rows = null_rows(study, space, answers)
    own = np.array([[9, 9, 9], [10, 9, 10], [9, 10, 6], [9, 9, 10]])
    gains = own - np.array([[10, 7.5, 7.5], [10, 7.5, 7.5], [7.5, 10, 7.5], [7.5, 10, 7.5]])
    errors = np.array([[0.4, 0.4, -0.4], [0, 0.4, 0], [-0.4, 0, 1.6], [-0.4, -0.4, 0]])
    scenarios = np.repeat(np.arange(4), 3)
    for metric, values, bounds in (
        ("alignment", own, (0, 10)),
        ("alignment_gain", gains, UNBOUNDED),
        ("hofstede_bias", errors, UNBOUNDED),
        ("hofstede_mae", abs(errors), (0, 4)),
    ):
        row = one(rows, metric)
        expected = mean_interval(values.ravel(), scenarios, bounds)
        tolerance = 1e-4 if metric == "hofstede_mae" else 1e-6
        assert (row.ci_low, row.ci_high) == pytest.approx(expected, rel=tolerance)
    row = one(rows, "baseline_distance", "IN")
    squares = mean_interval([0.25, 0, 1, 0.25], bounds=(0, 16))
    assert squares is not None
    assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.sqrt(squares)))
    assert one(rows, "alignment", "i1").ci_low is None  # a single scenario


def test_first_of_equal_nulls_is_the_best() -> None:
    same = np.array([[[np.nan]], [[5.0]]])
    assert best_null(dict.fromkeys(NULLS, same)) == "zero"
    assert best_null(dict.fromkeys(NULLS, same) | {"zero": same - 1}) == "global_mean"
    assert best_null(dict.fromkeys(NULLS, same) | {"unprompted": same + 1}) == "unprompted"
    assert best_null(dict.fromkeys(NULLS, same * np.nan)) is None


def test_shuffled_null_is_the_mean_over_all_derangements(make_study: MakeStudy) -> None:
    """The second implementation goes through every permutation of the personas without a fixed point."""
    derangements = [p for p in itertools.permutations(range(3)) if all(i != x for i, x in enumerate(p))]
    assert len(derangements) == 2
    study = make_study()
    answers = scored(study, placed_at(study))
    targets, own = study.content.targets[1:], answers.primary[1:, :, 0]
    brute = np.mean([10 - 2.5 * np.abs(targets[list(p)] - own) for p in derangements])
    rows = null_rows(study, space_of(study), answers)
    assert one(rows, "alignment", "shuffled").value == pytest.approx(brute)


# --- errors against the targets


def test_hand_calculation_gives_errors(rows: list[Metric]) -> None:
    # Sizes: 4 of 0, 7 of 0.4, 1 of 1.6.
    mae = one(rows, "hofstede_mae")
    assert mae.value == pytest.approx(4.4 / 12)
    assert mae.null_value == pytest.approx(9 / 12)
    bias = one(rows, "hofstede_bias")
    assert bias.value == pytest.approx((-0.4 + 0.4 + 1.2) / 12)
    # The targets' sum is 3 - 1 + 1.
    assert bias.null_value == pytest.approx(-3 / 12)
    assert one(rows, "hofstede_median_error").value == pytest.approx(0.4)
    # 0 0 0.5 0.5 0.5 0.5 1 1 1 1 1.5 1.5
    assert one(rows, "hofstede_median_error").null_value == pytest.approx(0.75)
    expected = sqrt((7 * 0.16 + 2.56 - 4.4**2 / 12) / 11)
    assert one(rows, "hofstede_error_sd").value == pytest.approx(expected)
    assert one(rows, "hofstede_mae", "MX").value == pytest.approx(0.5)
    assert one(rows, "hofstede_bias", "IN").value == pytest.approx(-0.1)
    assert one(rows, "hofstede_mae", "power_distance").value == pytest.approx(2.8 / 6)
    assert one(rows, "hofstede_bias", "MX:power_distance").value == pytest.approx(0.8)
    assert one(rows, "hofstede_mae", "IN:power_distance").null_value == pytest.approx(1.5)
    slices = {r.slice_kind for r in rows if r.metric == "hofstede_median_error"}
    assert slices == {"overall", "culture", "dimension"}


def test_hand_calculation_gives_accuracy_bands(rows: list[Metric]) -> None:
    own = [one(rows, f"accuracy_{b}").value for b in ("excellent", "good", "acceptable", "poor")]
    assert own == pytest.approx([11 / 12, 0, 0, 1 / 12])
    nothing = [one(rows, f"accuracy_{b}").null_value for b in ("excellent", "good", "acceptable", "poor")]
    assert nothing == pytest.approx([2 / 12, 4 / 12, 4 / 12, 2 / 12])


def test_hand_calculation_gives_baseline_distance(rows: list[Metric]) -> None:
    # 0.5 0 0.5 1 against 0 0 1.5 1.5: 0.25 + 0 + 1 + 0.25.
    row = one(rows, "baseline_distance", "IN")
    assert row.value == pytest.approx(sqrt(1.5 / 4))
    assert row.null_value == pytest.approx(sqrt(2 * 2.25 / 4))
    assert (row.n_scored, row.n_unscored) == (4, 0)
    # Against -1 -1 0.5 0.5: 2.25 + 1 + 0 + 0.25; against 1 1 -0.5 -0.5: 0.25 + 1 + 1 + 2.25.
    assert one(rows, "baseline_distance", "JP").value == pytest.approx(sqrt(3.5 / 4))
    assert one(rows, "baseline_distance", "MX").value == pytest.approx(sqrt(4.5 / 4))


# --- the nulls as runs of their own


def test_hand_calculation_gives_null_models(study: WorldwiseStudy) -> None:
    space = space_of(study)
    by_null = {name: null_rows(study, space, placed) for name, placed in null_models(study, space).items()}
    for rows in by_null.values():
        check(rows)
    assert one(by_null["null:zero"], "alignment").value == pytest.approx(8.125)
    assert one(by_null["null:global-mean"], "alignment").value == pytest.approx(25 / 3)
    assert one(by_null["null:scenario-text"], "alignment").value == pytest.approx(10 - 2.5 * 9.5 / 12)
    assert one(by_null["null:global-mean"], "alignment_gain").value == pytest.approx(0)
    assert one(by_null["null:zero"], "alignment_gain").value == pytest.approx(8.125 - 25 / 3)
    assert one(by_null["null:zero"], "hofstede_mae").value == pytest.approx(9 / 12)
    assert one(by_null["null:zero"], "baseline_distance", "IN").value == pytest.approx(sqrt(2 * 2.25 / 4))
    # A null that ignores cultures equals its unprompted answer.
    assert one(by_null["null:zero"], "alignment_gain", "unprompted").value == 0.0
