"""Differences of correlations that share a number: a worked example, edges, level and coverage."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from tasks.metrics.agreement import spearman_interval, spearman_test
from tasks.metrics.dependent_correlations import (
    correlation_of_correlations,
    difference,
    mover,
    points_for_correlation,
    points_for_difference,
)
from tasks.metrics.types import FloatArray

X, Y, Z = [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], [3, 1, 2, 6, 5, 4]


def fisher(r: float, n: int) -> tuple[float, float]:
    """Return Fisher's interval of Pearson's r, as in the published example."""
    half = 1.959964 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def test_the_interval_equals_zous_example() -> None:
    """Zou (2007), example 2: r = 0.396 and 0.179 of 66 points, 0.088 between the two."""
    correlation = correlation_of_correlations(0.396, 0.179, 0.088)
    ends = mover(0.396, 0.179, fisher(0.396, 66), fisher(0.179, 66), correlation)
    assert ends == pytest.approx((-0.093, 0.517), abs=5e-4)


def test_hand_calculation_gives_the_correlation_of_correlations() -> None:
    # (0.3 - 0.1) * (1 - 0.16 - 0.25 - 0.09) + 0.027 = 0.127; over 0.84 * 0.75 = 0.63: 0.2016.
    assert correlation_of_correlations(0.4, 0.5, 0.3) == pytest.approx(0.127 / 0.63)
    assert correlation_of_correlations(0.7, 0.7, 1) == pytest.approx(1), "the same number twice"
    assert correlation_of_correlations(0, 0, 0.6) == pytest.approx(0.6)


def test_hand_calculation_gives_the_difference_and_its_swaps() -> None:
    # Squared distances of ranks 2 and 4 + 1 + 1 + 4 + 0 + 4 = 14: rho 1 - 12 / 210 and 1 - 84 / 210.
    result = difference(X, Y, Z)
    assert result is not None
    assert (result.first, result.second) == pytest.approx((1 - 12 / 210, 0.6))
    assert result.value == pytest.approx(72 / 210)
    # (x - 3.5) (y - z): 5, -1.5, -0.5, -1, 1.5, 2.5, in all 6; all 64 swaps are gone through.
    moved = [5, -1.5, -0.5, -1, 1.5, 2.5]
    sums = np.array([*product((1, -1), repeat=6)]) @ moved
    assert result.p_value == pytest.approx(np.mean(np.abs(sums) >= 6 - 1e-9))
    assert result.interval is not None
    assert result.interval[0] < 0 < result.value < result.interval[1]
    assert result.unscored_reason is None


def test_swapping_the_sides_negates_the_difference_and_order_does_not_matter() -> None:
    one, other = difference(X, Y, Z), difference(X, Z, Y)
    shuffled = difference(*(np.array(v)[[3, 1, 5, 0, 2, 4]] for v in (X, Y, Z)))
    assert one is not None
    assert other is not None
    assert shuffled is not None
    assert one.interval is not None
    assert (-other.value, other.p_value, other.needed) == pytest.approx((one.value, one.p_value, one.needed))
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]))
    assert shuffled[:2] == pytest.approx(one[:2])
    assert shuffled.p_value == one.p_value
    assert difference(X, np.exp(Y), Z) == one, "ranks alone count"


def test_few_points_have_no_interval_and_a_reason() -> None:
    three, five = difference(X[:3], [1, 3, 2], [3, 1, 2]), difference(X[:5], [1, 2, 3, 5, 4], [3, 1, 2, 5, 4])
    assert three is not None
    assert (three.interval, three.p_value) == (None, None)
    assert three.unscored_reason == "3 points; an interval needs 5; 3 points; a test needs 6"
    assert three.needed is not None
    assert five is not None
    assert five.interval is not None
    assert (five.p_value, five.unscored_reason) == (None, "5 points; a test needs 6")
    assert difference(X[:2], Y[:2], Z[:2]) is None
    assert difference(X, Y, [1.0] * 6) is None, "one does not vary"
    with pytest.raises(ValueError, match="length"):
        difference(X, Y, Z[:5])
    with pytest.raises(ValueError, match="NaN"):
        difference(X, Y, [math.nan] * 6)


def test_two_numbers_of_one_order_have_difference_0() -> None:
    same = difference(X, Z, np.square(Z))
    assert same is not None
    assert (same.value, same.interval, same.p_value, same.needed) == (0, None, 1, None)
    assert same.unscored_reason == "both order the points alike"


@pytest.mark.parametrize("n", [5, 6, 9])
def test_perfect_correlations_have_finite_intervals(n: int) -> None:
    up = np.arange(n, dtype=float)
    result = difference(up, up, -up)
    assert result is not None
    assert result.value == 2
    assert result.interval is not None
    assert np.isfinite(result.interval).all()
    assert result.needed is not None
    assert (result.p_value is None) == (n < 6)


def test_hand_calculation_gives_points_for_a_correlation() -> None:
    # atanh 0.5 = 0.5493, root of 1.125 = 1.0607: (1.9600 + 0.8927) / 0.5493 = 5.193, squared 26.97, and 3.
    assert points_for_correlation(0.5, 20) == points_for_correlation(-0.5, 20) == 30
    assert points_for_correlation(0, 20) is None
    assert points_for_correlation(1, 2) is None
    # Of five points the highest that is not 1 is 0.9: (1.9600 + 0.8416 * 1.1853) / 1.4722 = 2.009.
    assert points_for_correlation(1, 5) == points_for_correlation(0.9, 5) == 8
    assert points_for_correlation(1, 50) == 5, "no interval below five"


def test_hand_calculation_gives_points_for_a_difference() -> None:
    # The variables are uncorrelated except for a difference d; both spreads are about 1, errors independent.
    moved = np.array([3.0, -1, 2, 0, 1, -2, 2, -1])
    swaps = math.sqrt(8 * 24) / 4
    own = math.sqrt(2) * (1 - 0.01) * math.sqrt(1.005)
    shared = correlation_of_correlations(0.1, -0.1, 0)
    expected = (1.959964 * swaps + 0.841621 * own * math.sqrt(1 - shared) / 0.2) ** 2
    assert points_for_difference(moved, 0.1, -0.1, 0) == math.ceil(expected)
    assert points_for_difference(moved - moved.mean(), 0.1, 0.1, 0) is None


# --- simulation, as docs/intervals.md has it

EQUAL = [(0, 0, 0), (0, 0, 0.9), (0.5, 0.5, 0.5), (0.8, 0.8, 0.4), (0.8, 0.8, 0.95), (0.95, 0.95, 0.9)]
APART = [(0.8, 0.2, 0.2), (0.8, 0.2, 0.6), (0.6, 0.0, 0.3), (0.9, 0.5, 0.5), (0.9, -0.5, -0.3)]


def draw(
    rng: np.random.Generator, r: tuple[float, float, float], shape: tuple[int, int], heavy: bool
) -> FloatArray:
    """Return samples x points x three numbers, normal or of one t with three degrees of freedom."""
    first, second, between = r
    matrix = np.array([[1, first, second], [first, 1, between], [second, between, 1]])
    points = rng.standard_normal((*shape, 3)) @ np.linalg.cholesky(matrix + 1e-12 * np.eye(3)).T
    return points / np.sqrt(rng.chisquare(3, (*shape, 1)) / 3) if heavy else points


def true_difference(r: tuple[float, float, float]) -> float:
    """Return the true difference of Spearman's rho, from Pearson's r of normal numbers."""
    return 6 / math.pi * (math.asin(r[0] / 2) - math.asin(r[1] / 2))


def shares(r: tuple[float, float, float], n: int, samples: int, heavy: bool = False) -> tuple[float, float]:
    """Return the share of intervals that hold the truth and of tests that reject at 5 %."""
    rng = np.random.default_rng([n, heavy, *(round(100 * (each + 1)) for each in r)])
    result = [difference(*sample.T) for sample in draw(rng, r, (samples, n), heavy)]
    truth = true_difference(r)
    covered = [f is None or f.interval is None or f.interval[0] <= truth <= f.interval[1] for f in result]
    rejected = [f is not None and f.p_value is not None and f.p_value <= 0.05 for f in result]
    return float(np.mean(covered)), float(np.mean(rejected))


@pytest.mark.heavy
@pytest.mark.parametrize("n", [5, 6, 8, 12, 20])
def test_level_and_coverage_over_few_models(n: int) -> None:
    samples = 600 if n < 12 else 300
    for heavy in (False, True):
        for r in EQUAL:
            covered, rejected = shares(r, n, samples, heavy)
            assert rejected <= 0.07 + 2 * math.sqrt(0.07 * 0.93 / samples)
            if not heavy:
                assert covered >= 0.92 - 2 * math.sqrt(0.92 * 0.08 / samples)
    for r in APART:
        assert shares(r, n, samples)[0] >= 0.92 - 2 * math.sqrt(0.92 * 0.08 / samples)


@pytest.mark.heavy
@pytest.mark.parametrize("r", [0.6, 0.8, 0.9])
def test_points_for_correlation_give_the_power_they_promise(r: float) -> None:
    n = points_for_correlation(6 / math.pi * math.asin(r / 2), 1000) or 0
    rng = np.random.default_rng(n)
    tests = [spearman_test(*sample[:, :2].T) for sample in draw(rng, (r, 0, 0), (1000, n), False)]
    assert np.mean([test is not None and test[1] <= 0.05 for test in tests]) == pytest.approx(0.82, abs=0.06)


@pytest.mark.heavy
@pytest.mark.parametrize("r", APART)
def test_points_for_difference_give_the_power_they_promise(r: tuple[float, float, float]) -> None:
    """In samples of a population the computed number of points gives 80 % power, half of it at most 90 %."""
    many = [rankdata(side) for side in draw(np.random.default_rng(1), r, (1, 5000), False)[0].T]
    moved = (many[0] - many[0].mean()) * (many[1] - many[2])
    rhos = (float(spearmanr(many[a], many[b]).statistic) for a, b in ((0, 1), (0, 2), (1, 2)))
    needed = points_for_difference(moved, *rhos)
    assert needed is not None
    assert shares(r, needed, 300)[1] >= 0.76
    assert shares(r, max(6, needed // 2), 300)[1] <= 0.9


def test_intervals_of_the_single_correlations_are_those_of_agreement() -> None:
    """The ends equal those of the interval in each correlation's row."""
    result = difference(X, Y, Z)
    assert result is not None
    one, two = spearman_interval(result.first, 6), spearman_interval(result.second, 6)
    assert one is not None
    assert two is not None
    between = float(spearmanr(Y, Z).statistic)
    correlation = correlation_of_correlations(result.first, result.second, between)
    assert result.interval == pytest.approx(mover(result.first, result.second, one, two, correlation))
