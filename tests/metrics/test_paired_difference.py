"""Paired differences: against scipy and statsmodels, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.random import default_rng
from scipy.stats import t, ttest_rel
from statsmodels.stats.power import TTestPower

from tasks.metrics.comparison import (
    Difference,
    half_sample_difference,
    left_out_difference,
    mean_difference,
)
from tasks.metrics.intervals import half_samples, jackknife_groups

NOTHING = Difference(0.0, None, 1.0, None)


def symmetric(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two vectors whose differences have no skewness, so that the test equals the t test."""
    half = default_rng(n).normal(0, 1, n // 2)
    return np.concatenate([half, -half]) + 0.4, np.zeros(2 * (n // 2))


def test_independent_items_give_the_paired_t_test() -> None:
    first, second = symmetric(40)
    ours, theirs = mean_difference(first, second), ttest_rel(first, second)
    assert ours.value == pytest.approx(0.4)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.interval == pytest.approx(tuple(theirs.confidence_interval()))


def test_clusters_of_one_size_give_the_t_test_of_their_means() -> None:
    first, second = symmetric(20)
    spread = default_rng(1).normal(0, 3, (3, 10))
    table = first + np.vstack([spread - spread.mean(axis=0), np.zeros((1, 10))]).repeat(2, axis=1)
    clusters = np.tile(np.arange(20), 4)
    ours = mean_difference(table.ravel(), np.tile(second, 4), clusters)
    means = [table.ravel()[clusters == c].mean() for c in range(20)]
    assert ours.p_value == pytest.approx(ttest_rel(means, second).pvalue)


def test_clusters_of_several_sizes_give_the_cluster_robust_variance_of_statsmodels() -> None:
    """With very many clusters CR2 equals CR0 and CR1."""
    rng = default_rng(2)
    sizes = rng.integers(1, 6, 4000)
    clusters = np.repeat(np.arange(4000), sizes)
    points = rng.normal(0, 1, 4000)[clusters] + rng.normal(0, 1, clusters.size)
    ours = mean_difference(points, np.zeros_like(points), clusters)
    fit = sm.OLS(points, np.ones_like(points)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert ours.p_value == pytest.approx(float(fit.pvalues[0]), rel=0.02)
    assert ours.interval == pytest.approx(tuple(fit.conf_int()[0]), abs=2e-3)


@pytest.mark.parametrize("n", [10, 40, 400])
def test_the_minimum_detectable_difference_has_80_percent_power(n: int) -> None:
    first, second = symmetric(n)
    ours = mean_difference(first, second).detectable
    assert ours is not None
    effect = ours / (first - second).std(ddof=1)
    assert TTestPower().power(effect, n, 0.05) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_skewed_differences_have_the_p_of_the_t_test_and_a_longer_side(sign: float) -> None:
    """Where the test rejects, the longer side ends at 0."""
    points = sign * np.exp(2 * symmetric(20)[0])
    theirs = ttest_rel(points, np.zeros(20))
    plain = np.array(theirs.confidence_interval()) * sign
    ours = mean_difference(points, np.zeros(20))
    low, high = sorted(sign * end for end in ours.interval or ())
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert min(plain) == pytest.approx(low)
    assert high > max(plain) * 1.05
    # Shifted so that the test just rejects, then just does not.
    for beyond, end in ((1.01, 0.0), (0.99, high - 0.99 * max(plain))):
        moved = mean_difference(points - sign * beyond * max(plain), np.zeros(20))
        assert ((moved.p_value or 1) < 0.05) == (beyond > 1)
        ends = sorted(sign * e for e in moved.interval or ())
        assert ends[1] == pytest.approx(end)


def test_mean_difference_does_not_depend_on_order() -> None:
    first, second = default_rng(4).beta(0.5, 2, (2, 30))
    clusters = np.arange(30) // 3
    order = default_rng(5).permutation(30)
    turned = mean_difference(first[order], second[order], clusters[order])
    assert turned == mean_difference(first, second, clusters)


def test_the_jackknife_of_means_gives_the_t_test() -> None:
    first, second = symmetric(20)
    rest = [[np.delete(side, i).mean() for i in range(20)] for side in (first, second)]
    jackknifed = left_out_difference(first.mean() - second.mean(), *rest)
    assert jackknifed.p_value == pytest.approx(mean_difference(first, second).p_value)
    assert jackknifed.detectable == pytest.approx(mean_difference(first, second).detectable)


def test_correlations_are_compared_on_fishers_scale() -> None:
    """The first correlation's half-samples are 0.5 and 0.7, the second's always 0.9. The t test compares
    0.5 (ln(1 + x) - ln(1 - x)), x being 0.98 times the correlation. The interval excludes 0 if it rejects."""
    first, second = np.tile([0.5, 0.7], 50), np.full(100, 0.9)
    ours = half_sample_difference((0.6, 0.9), first, second, 12, is_correlation=True)
    z = [0.5 * (np.log1p(0.98 * r) - np.log1p(-0.98 * r)) for r in (0.5, 0.6, 0.7, 0.9)]
    error = (z[2] - z[0]) / 2 * np.sqrt(100 / 99)
    assert ours.value == pytest.approx(-0.3)
    assert ours.p_value == pytest.approx(2 * t.sf((z[3] - z[1]) / error, 11))
    ends = -0.3 * (1 + np.array([1, -1]) * t.ppf(0.975, 11) * error / (z[3] - z[1]))
    assert ours.interval == pytest.approx(tuple(ends))


def test_equal_correlations_have_the_interval_of_nearly_equal_ones() -> None:
    """Correlations 0 or 1e-6 apart have intervals of one length, also for two perfect orders."""
    first, second = np.tile([0.5, 0.7], 50), np.tile([0.7, 0.7, 0.5, 0.5], 25)
    for r in (0.6, 1.0):
        equal, apart = (
            half_sample_difference((r, other), first, second, 12, is_correlation=True)
            for other in (r, r - 1e-6)
        )
        rounded = half_sample_difference((r, np.nextafter(r, 0)), first, second, 12, is_correlation=True)
        assert rounded.detectable == equal.detectable
        assert equal.p_value == 1.0
        assert equal.detectable == pytest.approx(apart.detectable, rel=1e-3)


def test_a_jump_in_few_half_samples_is_not_significant() -> None:
    """Two models are equal in nine of ten half-samples. By the half-samples' spread alone t would be 3.3."""
    one, other = np.array([0.6] * 10), np.array([0.5] + [0.6] * 9)
    ours = half_sample_difference((0.6, 0.5), np.tile(one, 10), np.tile(other, 10), 40)
    assert ours.p_value == pytest.approx(2 * t.sf(1, 39))
    assert ours.interval == pytest.approx((0.1 - 0.1 * t.ppf(0.975, 39), 0.1 + 0.1 * t.ppf(0.975, 39)))
    as_well = half_sample_difference((0.6, 0.5), np.tile(one, 10), 1.1 - np.tile(other, 10), 40)
    assert as_well.p_value == pytest.approx(2 * t.sf(0.1 / (0.03 * np.sqrt(100 / 99)), 39))


@pytest.mark.heavy
@pytest.mark.parametrize("noise", [0.03, 0.1, 0.3])
def test_rank_changes_of_a_remeasured_model_keep_the_level(noise: float) -> None:
    """Ranks of nine domains' means over 40 countries; noise: standard deviation of a measurement, relative
    to countries'. By the half-samples' spread alone, 0.08 to 0.09 are rejected for the two smaller values."""
    rng, domains, rejected = default_rng(0), np.arange(9), 0
    kept = [np.arange(40), *half_samples(40, 100, 0)]
    for _ in range(400):
        countries = rng.normal(domains[:, None] / 6, 1, (9, 40))
        rho = []
        for measured in countries + rng.normal(0, noise, (2, 9, 40)):
            ranks = np.array([measured[:, k].mean(axis=1) for k in kept]).argsort().argsort()
            rho.append(1 - 6 * ((ranks - domains) ** 2).sum(axis=1) / (9 * 80))
        ours = half_sample_difference((rho[0][0], rho[1][0]), rho[0][1:], rho[1][1:], 40, is_correlation=True)
        rejected += ours.p_value is not None and ours.p_value < 0.05
    assert rejected / 400 < 0.065


def test_few_or_constant_differences_have_no_interval() -> None:
    few, zeros = np.arange(4.0), np.zeros(4)
    assert mean_difference(few, zeros) == Difference(1.5, None, None, None)
    assert mean_difference(few, few) == NOTHING
    assert mean_difference(np.full(9, 0.5), np.zeros(9)) == Difference(0.5, None, None, None)
    assert mean_difference(np.arange(9.0), np.arange(9.0)) == NOTHING
    one_missing = [0.5] * 5 + [np.nan]
    assert left_out_difference(0.1, one_missing, [0.4] * 6) == Difference(0.1, None, None, None)
    assert left_out_difference(0.0, [0.5] * 6, [0.5] * 6) == NOTHING
    assert half_sample_difference((0.5, 0.5), [0.5] * 9, [0.5] * 9, 20) == NOTHING
    assert half_sample_difference((0.5, 0.4), [0.5] + [np.nan] * 9, [0.4] * 10, 20).interval is None


@pytest.mark.heavy
@pytest.mark.parametrize("n", [12, 40])
def test_level_and_coverage_are_nominal(n: int) -> None:
    """In 600 samples the share is within [3, 7] %: 5 % with a standard error of 0.9 %."""
    rng = default_rng(n)
    groups = jackknife_groups(n, 0)
    rejected = np.zeros(3)
    for _ in range(600):
        first, second = np.clip(rng.beta(0.5, 2, n) + rng.normal(0, 0.1, (2, n)), 0, 1)
        clusters = np.repeat(np.arange(n), 3)
        chance = rng.beta(2, 1, n)[clusters]
        hits = (rng.random((2, 3 * n)) < chance).astype(np.float64)
        logs = [np.log([side[kept].mean() for kept in groups]) for side in (first, second)]
        differences = (
            mean_difference(first, second),
            mean_difference(hits[0], hits[1], clusters),
            left_out_difference(float(np.log(first.mean()) - np.log(second.mean())), *logs),
        )
        rejected += [d.p_value is not None and d.p_value < 0.05 for d in differences]
        for d in differences:
            assert d.interval is None or (d.interval[0] < 0 < d.interval[1]) == ((d.p_value or 0) >= 0.05)
    assert (rejected / 600 > 0.021).all()
    assert (rejected / 600 < 0.08).all()
