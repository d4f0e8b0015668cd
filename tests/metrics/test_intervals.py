"""Intervals by hand and against scipy and statsmodels, their coverage, and the cases without an interval."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

from tasks.metrics.intervals import (
    CORRELATION,
    POSITIVE,
    SHARE,
    half_sample_interval,
    half_samples,
    jackknife,
    jackknife_groups,
    jackknife_interval,
    mean_deviations,
    mean_interval,
    proportion_interval,
    sign_flip_p,
)
from tasks.metrics.types import FloatArray, Interval


def covered(
    draw: Callable[[np.random.Generator], FloatArray],
    interval: Callable[[FloatArray], Interval],
    truth: float,
    n: int = 1000,
) -> float:
    """Return the share of intervals that hold the truth, among samples with an interval."""
    rng = np.random.default_rng(0)
    known = [ends for ends in (interval(draw(rng)) for _ in range(n)) if ends is not None]
    return float(np.mean([low <= truth <= high for low, high in known]))


# --- proportions


@given(st.integers(1, 60), st.data())
@settings(deadline=None)
def test_shares_of_yes_and_no_have_the_clopper_pearson_interval(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    expected = pytest.approx(proportion_confint(count, n, method="beta"))
    values = [1.0] * count + [0.0] * (n - count)
    assert proportion_interval(count, n) == expected
    assert mean_interval(values, bounds=SHARE) == expected


# --- means


def test_a_skewed_sample_has_a_longer_side() -> None:
    values = np.array([0.0, 0, 0, 1, 9])
    low, high = mean_interval(values) or (0.0, 0.0)
    half = float(t.ppf(0.975, 4) * values.std(ddof=1) / math.sqrt(5))
    assert low == pytest.approx(2 - half)
    assert high > 2 + half
    mirrored = mean_interval(-values)
    assert mirrored == pytest.approx((-high, -low))


def test_uneven_clusters_have_fewer_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)

    def draw(rng: np.random.Generator) -> FloatArray:
        return np.repeat(rng.standard_normal(6), SIZES) + 0.5 * rng.standard_normal(sum(SIZES))

    SIZES = [30, 5, 5, 5, 5, 5]  # noqa: N806
    clusters = np.repeat(np.arange(6), SIZES)
    assert covered(draw, lambda values: mean_interval(values, clusters), 0.0) > 0.92
    values = draw(rng)
    low, high = mean_interval(values, clusters) or (0.0, 0.0)
    assert low < values.mean() < high


@pytest.mark.parametrize("sizes", [[1] * 7, [30, 5, 5, 5, 5, 5], [1, 2], list(range(1, 60))])
def test_degrees_of_freedom_are_those_of_the_terms_covariance(sizes: list[int]) -> None:
    """Compares with tr(M)^2 / tr(M^2), with the matrix M written out."""
    share = np.array(sizes) / sum(sizes)
    centred = (np.diag(share) - np.outer(share, share)) / np.sqrt(1 - share)[:, None]
    of_terms = centred @ centred.T
    expected = np.trace(of_terms) ** 2 / np.trace(of_terms @ of_terms)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    assert mean_deviations(np.zeros(clusters.size), clusters)[2] == pytest.approx(expected)


def test_mean_interval_does_not_depend_on_order() -> None:
    rng = np.random.default_rng(3)
    values, clusters = rng.standard_normal(60), rng.integers(0, 9, 60)
    order = rng.permutation(60)
    for bounds in ((-9.0, 10.0), (-math.inf, math.inf)):
        shuffled = mean_interval(values[order], clusters[order], bounds)
        assert shuffled == mean_interval(values, clusters, bounds)


def test_a_sample_on_a_bound_has_the_interval_of_equal_clusters() -> None:
    clusters = np.repeat(np.arange(6), 2)
    rare = 1 - 0.025 ** (1 / 6)
    assert mean_interval(np.ones(12), clusters, SHARE) == pytest.approx((1 - rare, 1.0))
    assert mean_interval(np.zeros(12), clusters, (0, 10)) == pytest.approx((0.0, 10 * rare))


def test_grades_on_the_bounds_of_their_scale_are_not_shares() -> None:
    assert mean_interval([1.0], bounds=SHARE) == pytest.approx((0.025, 1.0))
    assert mean_interval([10.0], bounds=(1.0, 10.0)) is None
    assert mean_interval([1.0, -1.0, 1.0], bounds=(-1.0, 1.0)) is None


def test_bounds_of_a_difference_cut_the_interval() -> None:
    values = np.array([0.9, -0.9, 0.9, 0.9, 0.8])
    low, high = mean_interval(values) or (0.0, 0.0)
    assert high > 1
    assert mean_interval(values, bounds=(-1, 1)) == (max(low, -1.0), 1.0)


def test_no_interval_below_five_clusters_or_of_equal_values() -> None:
    assert proportion_interval(0, 0) is None
    assert mean_interval([1.0, 2, 3, 4]) is None
    assert mean_interval([0.1, 0.2, 0.3, 0.4], bounds=SHARE) is None
    assert mean_interval(np.arange(40.0), np.arange(40) % 4) is None
    assert mean_interval([0.5] * 9) is None
    assert mean_interval([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3], bounds=SHARE) is None


@pytest.mark.parametrize("n", [1, 2, 12])
def test_counts_that_are_all_zero_have_no_interval(n: int) -> None:
    """All counts lie on the lower bound, and the range has no upper bound."""
    assert mean_interval(np.zeros(n), bounds=(0.0, math.inf)) is None


def test_mean_interval_refuses_wrong_shapes_and_nan() -> None:
    for values, clusters in (([], None), ([1.0], [1, 2]), ([math.nan], None), ([[1.0]], None)):
        with pytest.raises(ValueError, match="one each, all finite"):
            mean_interval(values, clusters)


@pytest.mark.parametrize("n", [5, 12, 40])
@pytest.mark.parametrize(("a", "b"), [(0.5, 2.0), (0.4, 0.1), (2.0, 2.0)])
def test_intervals_of_skewed_shares_have_their_coverage(n: int, a: float, b: float) -> None:
    truth = a / (a + b)
    share = covered(lambda rng: rng.beta(a, b, n), lambda values: mean_interval(values, bounds=SHARE), truth)
    assert share > 0.915


# --- jackknife


def test_the_jackknife_of_a_mean_equals_mean_interval() -> None:
    values = np.random.default_rng(0).gamma(2, 1, 12)
    ours = jackknife(lambda kept: float(values[kept].mean()), np.arange(12))
    assert ours == pytest.approx(mean_interval(values))


def test_jackknife_intervals_stay_within_bounds() -> None:
    rest = np.array([0.90, 0.93, 0.97, 0.91, 0.99, 0.94])
    low, high = jackknife_interval(0.94, rest, CORRELATION) or (0.0, 0.0)
    assert -1 < low < 0.94 < high < 1
    low, high = jackknife_interval(0.94, rest, POSITIVE) or (0.0, 0.0)
    assert 0 < low < 0.94 < high
    # A value on a bound cannot be scaled.
    assert jackknife_interval(1.0, [1.0] * 6, SHARE) == pytest.approx((0.025 ** (1 / 6), 1.0))


def test_a_biased_estimate_lengthens_one_side_by_the_bias() -> None:
    rest = np.array([1.1, 1.3, 1.2, 1.0, 1.4, 1.2])  # mean 1.2, so the bias of 1.0 is (6 - 1) * 0.2 = 1
    low, high = jackknife_interval(1.0, rest) or (0.0, 0.0)
    assert jackknife_interval(1.0, rest, is_biased=True) == pytest.approx((low - 1, high))
    # Mirrored: 0.8 is 0.2 less, so the upper end rises by 1.
    low, high = jackknife_interval(1.0, 2 - rest) or (0.0, 0.0)
    assert jackknife_interval(1.0, 2 - rest, is_biased=True) == pytest.approx((low, high + 1))


def test_no_jackknife_interval_with_an_unscored_replicate_or_too_few() -> None:
    assert jackknife_interval(0.5, [0.4, 0.5, 0.6, None, 0.5, 0.5]) is None
    assert jackknife_interval(0.5, [0.4, 0.5, 0.6, math.inf, 0.5, 0.5]) is None
    assert jackknife_interval(math.inf, [1.0, 2, 3, 4, 5, 6]) is None
    assert jackknife_interval(0.5, [0.4, 0.5, 0.6, 0.5]) is None
    assert jackknife_interval(0.5, [0.4, 0.5, 0.6, 0.5, 0.5], at_least=6) is None
    assert jackknife(lambda kept: None, np.arange(9)) is None


@pytest.mark.parametrize(("n", "groups"), [(5, 5), (36, 36), (170, 36)])
def test_jackknife_groups_leave_each_cluster_out_once(n: int, groups: int) -> None:
    kept = jackknife_groups(n, seed=1)
    assert len(kept) == groups
    missing = np.concatenate([np.setdiff1d(np.arange(n), rest) for rest in kept])
    assert sorted(missing) == list(range(n))
    sizes = [n - rest.size for rest in kept]
    assert max(sizes) - min(sizes) <= 1


# --- half-samples


def test_half_samples_have_no_repeats_and_repeat_by_seed() -> None:
    halves = half_samples(171, 20, seed=7)
    assert halves.shape == (20, 85)
    assert all(len(set(half)) == 85 and min(half) >= 0 and max(half) < 171 for half in halves.tolist())
    assert (half_samples(171, 20, seed=7) == halves).all()
    assert (half_samples(171, 20, seed=8) != halves).any()
    for n, replicates in ((1, 200), (170, 1)):
        with pytest.raises(ValueError, match="needed for a spread"):
            half_samples(n, replicates, seed=0)


@pytest.mark.parametrize("n", [40, 41])
def test_half_sample_intervals_have_the_width_of_the_t_interval(n: int) -> None:
    values = np.random.default_rng(0).standard_normal(n)
    means = values[half_samples(n, 20_000, seed=0)].mean(axis=1)
    low, high = half_sample_interval(float(values.mean()), means, n) or (0.0, 0.0)
    half = t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)
    assert (high - low) / 2 == pytest.approx(half, rel=0.03)


def test_half_sample_intervals_stay_within_bounds_and_need_values() -> None:
    assert half_sample_interval(0.9, [0.5, 1.0] * 9, 20, SHARE) == pytest.approx((0.3615, 1.0), abs=1e-3)
    plain = half_sample_interval(-0.8, [-0.9, -0.5] * 9, 20, CORRELATION)
    both = half_sample_interval(-0.8, [-0.9, -0.5] * 9, 20, CORRELATION, is_fisher=True)
    assert plain == pytest.approx((-1.0, -0.3693), abs=1e-3)
    assert both == pytest.approx((-1.0, -0.1437), abs=1e-3)
    whole = half_sample_interval(1.0, [1.0, 0.9] * 9, 20, CORRELATION, is_fisher=True)
    assert whole is not None
    assert whole[1] == 1.0
    assert half_sample_interval(0.9, [0.5, None, math.nan], 20) is None
    assert half_sample_interval(0.9, [0.5, 1.0] * 9, 11, at_least=12) is None


# --- flags


def test_hand_calculation_gives_sign_flips() -> None:
    # Of the 8 sums -+1 -+2 -+3 those of at least 4 are 6 and 4.
    for scale in (1.0, 1e-9 / 7, 1e9 / 7):  # sums that tie stay tied whatever the unit
        assert sign_flip_p(scale * np.array([1.0, 2.0, -3.0])) == pytest.approx(5 / 8)
    assert sign_flip_p([-1.0, 2.0, 3.0]) == pytest.approx(2 / 8)
    assert sign_flip_p([1.0] * 5) == pytest.approx(1 / 32)
    assert sign_flip_p([0.0, 0.0]) == 1.0
    # Values of a cluster flip together: sums 3 and 3.
    assert sign_flip_p([1.0, 2.0, 3.0], ["a", "a", "b"]) == pytest.approx(1 / 4)
    with pytest.raises(ValueError, match="one each"):
        sign_flip_p([])


def test_drawn_sign_flips_are_near_the_exact_p_and_repeat_by_seed() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 15)
    signs = 2 * ((np.arange(2**15)[:, None] >> np.arange(15)) & 1) - 1
    exact = np.mean(signs @ values >= values.sum() - 1e-9)
    assert sign_flip_p(values, seed=1) == pytest.approx(exact, abs=0.01)
    assert sign_flip_p(values, seed=1) == sign_flip_p(values[::-1], seed=1)


def test_a_sample_that_may_lack_rare_clusters_has_wilsons_end_away_from_the_bound() -> None:
    """One value in 13 is high; that of 1 - value is the mirror image."""
    values = np.array([0.64, 0.23, 0.22, 0.21, 0.07, 0.04, *[0.01] * 7])
    interval = mean_interval(values, bounds=(0.0, 1.0))
    wilson = proportion_confint(values.sum(), 13, method="wilson")
    assert interval is not None
    assert interval[1] == pytest.approx(wilson[1], abs=1e-4)
    assert mean_interval(1 - values, bounds=(0.0, 1.0)) == pytest.approx((1 - interval[1], 1 - interval[0]))


def test_an_interval_of_rare_large_values_stays_within_its_bounds() -> None:
    """Rare large values among eight: Wilson's lower end by rounded constants lay at -0.00025."""
    squares = [7.27706647e-03, 1.51296722e-02, 2.72019573e-03, 1.03628812e-01,
               4.76337298e-03, 2.13571261e-01, 3.64869596e-02, 4.23662929e-05]  # fmt: skip
    interval = mean_interval(squares, bounds=(0.0, 16.0))
    assert interval is not None
    assert interval[0] == 0
