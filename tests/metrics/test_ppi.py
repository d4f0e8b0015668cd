"""Rectified means by hand, against ppi-python, and in simulation."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.ppi import HIGH, LOW, NUMBERS, Cell, bar
from deployments.show.rectified import Estimate
from deployments.show.rectified_tables import difference
from tasks.metrics.intervals import SHARE
from tasks.metrics.ppi import (
    MIN_STRATUM,
    NO_LABELS,
    NOT_DRAWN,
    JudgedSample,
    among,
    expected_width,
    is_beyond,
    labels_needed,
    rectified_difference,
    rectified_mean,
)


def sample(n: int = 200, n_labels: int = 80, seed: int = 0, **fields: Any) -> JudgedSample:
    """Return a sample of single items, of a judge that scores 0.2 too high."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.5).astype(np.float64)
    scores = np.clip(0.6 * truth + 0.4 + rng.normal(0, 0.1, n), 0, 1)
    known = np.arange(n) < n_labels
    own = JudgedSample(
        scores, np.where(known, truth, np.nan), np.full(n, n_labels / n), np.full(n, ""), np.arange(n),
        np.full(n, np.nan), np.arange(n).astype(str),
    )  # fmt: skip
    return replace(own, **fields)


def test_a_fixed_weight_gives_the_estimate_by_hand() -> None:
    one = sample()
    known = one.known
    by_hand = 0.7 * one.scores.mean() + (one.labels - 0.7 * one.scores)[known].mean()
    assert rectified_mean(one, weight=0.7).value == pytest.approx(by_hand, abs=1e-12)
    assert rectified_mean(one, weight=0.0).value == pytest.approx(one.labels[known].mean(), abs=1e-12)


def test_with_all_labels_the_judge_has_no_part() -> None:
    one = sample(n_labels=200)
    assert rectified_mean(one).value == pytest.approx(one.labels.mean(), abs=1e-12)


ORACLE = list(csv.DictReader((Path(__file__).parent / "ppi_python.csv").open()))
"""Means and 95 % intervals of ppi-python 0.2.3 (`ppi_mean_ci`), whose samples do not overlap: its weight is
``weight`` times the share of unlabelled items."""


@pytest.mark.parametrize("row", ORACLE)
def test_values_and_intervals_are_those_of_ppi_python(row: dict[str, str]) -> None:
    n, rest = int(row["n_labelled"]), int(row["n_unlabelled"])
    rng = np.random.default_rng(int(row["seed"]))
    labels = (rng.random(n + rest) < 0.6).astype(np.float64)
    scores = np.clip(0.8 * labels + 0.1 + rng.normal(0, 0.25, n + rest), 0, 1)
    labels[n:] = np.nan
    one = sample(n + rest, n, scores=scores, labels=labels)
    own = rectified_mean(one, weight=float(row["weight"]))
    assert own.value == pytest.approx(float(row["value"]), abs=1e-12)
    assert own.interval is not None
    width = float(row["high"]) - float(row["low"])  # by the normal distribution, and without a skewed end
    assert 0.98 * width < own.interval[1] - own.interval[0] < 1.12 * width


@pytest.mark.parametrize("n_errors", [0, 1])
def test_a_judge_of_whom_no_error_is_seen_has_no_part(n_errors: int) -> None:
    truth = (np.arange(3000) % 2).astype(np.float64)
    scores = np.where(np.arange(3000) < n_errors, 1 - truth, truth)
    one = sample(3000, 40, scores=scores, labels=np.where(np.arange(3000) < 40, truth, np.nan))
    own, alone = rectified_mean(one, SHARE), rectified_mean(one, SHARE, 0.0)
    assert (own.weight == 0) == (own.interval == alone.interval) == (n_errors == 0)


def test_unequal_chances_are_weighed_so_that_nobody_counts_twice() -> None:
    scores, labels = np.zeros(100), np.full(100, np.nan)
    labels[:40] = 1.0  # the first half is all 1 and drawn with 0.8, the second all 0 and drawn with 0.2
    labels[50:60] = 0.0
    chances = np.repeat([0.8, 0.2], 50)
    one = sample(100, 0, scores=scores, labels=labels, chances=chances)
    assert rectified_mean(one).value == pytest.approx(0.5, abs=1e-12)


def test_the_order_of_parts_has_no_effect_and_parts_of_a_unit_count_once() -> None:
    units = np.repeat(np.arange(100), 2)
    one = sample(200, 80, units=units, fixed=np.full(100, np.nan), clusters=(np.arange(100) // 4).astype(str))
    order = np.random.default_rng(1).permutation(200)
    fields = ("scores", "labels", "chances", "strata", "units")
    other = replace(one, **{name: getattr(one, name)[order] for name in fields})
    assert rectified_mean(other).value == pytest.approx(rectified_mean(one).value, abs=1e-12)
    assert rectified_mean(other).interval == pytest.approx(rectified_mean(one).interval, abs=1e-9)


def test_fixed_units_need_no_label() -> None:
    one = sample(100, 50)
    more = replace(one, fixed=np.append(one.fixed, np.zeros(100)), clusters=np.arange(200).astype(str))
    value = rectified_mean(one, weight=0.5).value
    assert value is not None
    assert rectified_mean(more, weight=0.5).value == pytest.approx(value / 2, abs=1e-12)


REASONS: dict[str, tuple[JudgedSample, str]] = {
    "nobody rated": (sample(n_labels=0), NO_LABELS),
    "not drawn": (sample(chances=np.full(200, np.nan)), NOT_DRAWN),
    "too few labels": (sample(n_labels=29), "29 labels, an interval needs 30"),
    "too few clusters": (
        sample(clusters=(np.arange(200) % 4).astype(str)),
        "labels in 4 clusters, an interval needs 5",
    ),
    "all alike": (
        sample(labels=np.where(np.arange(200) < 80, 1.0, np.nan)),
        "0 of 80 labels differ from the others, an interval needs a fifth, or 10 of 150",
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_there_is_no_interval_without_a_reason_and_no_reason_with_one(case: str) -> None:
    one, reason = REASONS[case]
    result = rectified_mean(one)
    assert (result.interval, result.reason) == (None, reason)
    assert (result.value is None) == (reason == NO_LABELS)
    assert rectified_mean(sample()).interval
    assert not rectified_mean(sample()).reason


def test_strata_with_enough_labels_have_their_own_correction_else_the_reason_is_given() -> None:
    strata = np.where(np.arange(200) % 2 == 0, "ar", "zh")
    assert not rectified_mean(sample(strata=strata)).pooled
    few = np.where(np.arange(200) < MIN_STRATUM - 1, "ar", "zh")
    assert rectified_mean(sample(strata=few)).pooled == (
        "one correction for all: fewer than 8 labels in ar (7)"
    )


def test_what_a_judge_gets_wrong_about_two_models_alike_is_no_difference() -> None:
    one, other = sample(seed=1), sample(seed=1)
    value, interval = rectified_difference(rectified_mean(one), rectified_mean(other), one.clusters)
    assert (value, interval) == (0.0, None)
    liked = replace(other, scores=np.minimum(1.0, other.scores + 0.3))
    raw = (one.scores - liked.scores).mean()
    value, _ = rectified_difference(rectified_mean(one), rectified_mean(liked), one.clusters)
    assert raw < -0.15
    assert abs(value) < 0.02


def test_only_the_labels_of_common_items_count_for_a_difference() -> None:
    one, other = sample(seed=1), sample(seed=2)  # items 0 to 79 have labels
    names = tuple(f"{n:03}" for n in range(200))
    row: Any = None
    first = Estimate(row, units=names, sample=one)
    shared, some = np.arange(200) >= 80, np.arange(200) >= 60
    assert difference(first, Estimate(row, units=names, sample=other))[1] is not None
    for kept, reason in ((shared, NO_LABELS), (some, "20 labels, an interval needs 30")):
        units = tuple(name for name, is_kept in zip(names, kept, strict=True) if is_kept)
        _, interval, why = difference(first, Estimate(row, units=units, sample=among(other, kept)))
        assert (interval, why) == (None, reason)
    kept = among(one, some)
    assert (kept.units.tolist(), kept.known.sum()) == (list(range(140)), 20)


@pytest.mark.heavy
def test_rectified_means_hold_the_truth_where_raw_means_do_not() -> None:
    one = bar(400)
    assert LOW - 0.01 <= one["rectified"] <= HIGH + 0.01
    assert one["raw"] < 0.2
    assert one["width"] < one["alone"]


@pytest.mark.heavy
@pytest.mark.parametrize("share", [0.005, 0.02, 0.05])
def test_intervals_hold_the_truth_though_the_judge_errs_seldom(share: float) -> None:
    """With a weight for a judge of whom no error is seen it is 0.96, 0.77, 0.86."""
    held = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth = (rng.random(3000) < 0.5).astype(np.float64)
        scores = np.where((truth == 0) & (rng.random(3000) < 2 * share), 1.0, truth)
        labels = np.where(np.arange(3000) < 40, truth, np.nan)
        ends = rectified_mean(sample(3000, 40, scores=scores, labels=labels), SHARE).interval
        held += [ends[0] <= 0.5 <= ends[1]] if ends else []
    assert np.mean(held) >= 0.92


@pytest.mark.heavy
@pytest.mark.parametrize("number", NUMBERS)
def test_level_holds_at_thirty_labels(number: str) -> None:
    shares = [NUMBERS[number](Cell("yes and no", kappa, 30, 60), 200).held for kappa in (0.2, 0.8)]
    assert 0.92 <= np.mean(shares) <= 0.985


def test_cuts_at_the_range_of_scores() -> None:
    result = rectified_mean(sample(60, 30), SHARE)
    assert result.interval
    assert 0 <= result.interval[0] < result.interval[1] <= 1


def test_the_plan_expects_about_the_width_that_comes() -> None:
    wanted = [expected_width(sample(400, n), n, 0.9) for n in (40, 80, 160)]
    ends = [rectified_mean(sample(400, n)).interval for n in (40, 80, 160)]
    widths = [end[1] - end[0] for end in ends if end]
    assert wanted == sorted(wanted, reverse=True)
    assert labels_needed(sample(400), wanted[1], 0.9) == 80
    assert labels_needed(sample(400), 0.001, 0.9) is None
    np.testing.assert_allclose(wanted, widths, rtol=0.35)


def test_a_plan_takes_people_to_say_yes_and_no_though_a_judge_gives_grades_or_always_the_same() -> None:
    """Without it the plan was 30 labels for any width of a judge who always says the same."""
    one = sample(400, 100, scores=np.random.default_rng(0).integers(0, 2, 400).astype(np.float64))
    same, close = (replace(one, scores=scores) for scores in (np.ones(400), 0.5 + one.scores / 50))
    unrated = [replace(each, labels=np.full(400, np.nan)) for each in (one, same, close)]
    widths = [expected_width(each, 100, 0.0, 0.25) for each in unrated]
    assert widths == pytest.approx([widths[0]] * 3, rel=0.02)
    assert expected_width(unrated[1], 100, 0.0) == 0
    assert labels_needed(unrated[1], 0.2, 0.0, 0.25) == labels_needed(unrated[0], 0.2, 0.0, 0.25)


def _is_beyond(p: float, null: float, n_labels: int, seed: int) -> bool | None:
    """Return whether a mean of 340 items is beyond one of 100 null texts; people say yes to these shares."""
    rng = np.random.default_rng(seed)
    drawn = []
    for n, share, n_own in ((340, p, 100), (100, null, n_labels)):
        truth = (rng.random(n) < share).astype(np.float64)
        scores = np.where(rng.random(n) < 0.3, rng.random(n) < share, truth).astype(np.float64)
        labels = np.where(np.arange(n) < n_own, truth, np.nan)
        drawn.append(sample(n, n_own, scores=scores, labels=labels))
    own, of_null = (rectified_mean(one, SHARE) for one in drawn)
    return is_beyond(own, of_null, drawn[1], SHARE, 1)


def test_a_model_that_equals_its_null_is_seldom_beyond_it() -> None:
    """A model is beyond its equal in 5 of 200 draws, and in 28 if the null is taken to have no error."""
    for n_labels in (30, 100):
        answers = [_is_beyond(0.3, 0.3, n_labels, seed) for seed in range(200)]
        assert sum(answer is not None for answer in answers) > 180
        assert sum(answer is True for answer in answers) <= 9
    assert sum(_is_beyond(0.6, 0.3, 100, seed) is True for seed in range(50)) >= 45


def test_a_null_that_people_nearly_always_refuse_is_a_null_and_few_labels_are_none() -> None:
    assert sum(_is_beyond(0.4, 0.0, 30, seed) is True for seed in range(20)) == 20
    assert [_is_beyond(0.02, 0.0, 30, seed) for seed in range(5)] == [None] * 5  # the mean has no interval
    assert {_is_beyond(0.4, 0.0, 29, seed) for seed in range(5)} == {None}


def test_where_lower_is_better_a_mean_is_beyond_a_null_above_it() -> None:
    one, null = sample(), sample(n_labels=200, labels=np.ones(200), scores=np.ones(200))
    means = rectified_mean(one, SHARE), rectified_mean(null, SHARE)
    assert is_beyond(*means, null, SHARE, -1) is True
    assert is_beyond(*means, null, SHARE, 1) is False
    assert is_beyond(*means, replace(null, chances=np.full(200, np.nan)), SHARE, -1) is None
