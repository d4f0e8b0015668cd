"""Agreement of maps against hand values and scipy, its test, and the gain over strata."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr, t, ttest_1samp

from tasks.metrics.language_agreement import (
    PERMUTATIONS,
    map_agreement,
    map_test,
    mean_pair,
    spearman,
    stratified_gain,
)
from tasks.metrics.types import FloatArray


def a_map(seed: int, n: int = 12) -> FloatArray:
    points = np.random.default_rng(seed).normal(size=(n, 5))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    cosines: FloatArray = points @ points.T
    np.fill_diagonal(cosines, 1.0)
    return (cosines + cosines.T) / 2


def noisy(matrix: FloatArray, seed: int, size: float) -> FloatArray:
    noise = np.random.default_rng(seed).normal(scale=size, size=matrix.shape)
    mixed: FloatArray = matrix + (noise + noise.T) / 2
    np.fill_diagonal(mixed, 1.0)
    return mixed


def test_agreement_is_spearmans_of_the_off_diagonal() -> None:
    first, second = a_map(1), noisy(a_map(1), 2, 0.3)
    upper = np.triu_indices(12, k=1)
    expected = spearmanr(first[upper], second[upper]).statistic
    found = map_agreement([first, second, None, np.ones((12, 12))])
    assert found[0, 1] == pytest.approx(expected)
    assert found[1, 0] == found[0, 1]
    assert found[0, 0] == pytest.approx(1.0)
    assert np.isnan(found[:, 2:]).all()  # no map, and one whose cosines are equal
    assert mean_pair([found, found]) == pytest.approx(expected)
    assert mean_pair(map_agreement([first, None])) is None


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(3, 15))
def test_order_of_countries_and_any_rising_scale_change_nothing(seed: int, n: int) -> None:
    first, second = a_map(seed, n), a_map(seed + 1, n)
    order = np.random.default_rng(seed).permutation(n)
    found = map_agreement([first, second])
    turned = np.ix_(order, order)
    assert map_agreement([first[turned], second[turned]]) == pytest.approx(found)
    assert map_agreement([np.exp(3 * first), second]) == pytest.approx(found)


def test_mean_over_all_orders_of_the_countries_is_the_null() -> None:
    first, second = a_map(3, 5), a_map(4, 5)
    values = [
        map_agreement([first, second[np.ix_(order, order)]])[0, 1]
        for order in map(list, permutations(range(5)))
    ]
    assert np.mean(values) == pytest.approx(0.0, abs=1e-12)


def test_equal_maps_have_the_least_p_whatever_the_number_of_pairs() -> None:
    maps = [[noisy(a_map(domain), language, 0.05) for language in range(6)] for domain in (1, 2)]
    found = map_test(maps, 0)
    least = 1 / (1 + PERMUTATIONS)
    assert found.overall == least
    assert found.pairs[np.triu_indices(6, k=1)] == pytest.approx(least)


def test_a_pair_is_found_among_languages_that_share_nothing() -> None:
    maps = [[a_map(1), noisy(a_map(1), 7, 0.1), *(a_map(seed) for seed in (3, 4, 5)), None]]
    pairs = map_test(maps, 0).pairs
    assert pairs[0, 1] < 0.01
    others = [pairs[i, j] for i in range(5) for j in range(i + 1, 5) if (i, j) != (0, 1)]
    assert min(others) > 0.05
    assert np.isnan(pairs[5]).all()


def test_no_pair_has_no_p() -> None:
    assert map_test([[a_map(1), None]], 0).overall is None
    assert map_test([], 0).overall is None


@pytest.mark.heavy
def test_the_test_keeps_its_level() -> None:
    p = [map_test([[a_map(10 * draw + language, 10) for language in range(3)]], draw) for draw in range(300)]
    assert np.mean([test.overall <= 0.05 for test in p if test.overall is not None]) < 0.085
    any_pair = [test.pairs[np.triu_indices(3, k=1)].min() <= 0.05 for test in p]
    assert np.mean(any_pair) < 0.085


def test_gain_is_the_mean_of_strata_with_half_the_degrees_of_freedom() -> None:
    values = np.array([0.1, 0.2, 0.25, 0.05, 0.3])
    found = stratified_gain([values])
    assert found.value == pytest.approx(values.mean())
    t_value = ttest_1samp(values, 0.0).statistic
    assert found.p_value == pytest.approx(2 * t.sf(abs(t_value), 2.0))
    two = stratified_gain([values, values + 1.0])
    assert two.value == pytest.approx(values.mean() + 0.5)
    assert two.interval is not None
    assert two.interval[0] < two.value < two.interval[1]


def test_gain_that_cannot_be_tested_says_so() -> None:
    assert stratified_gain([[0.1], [0.2, 0.3]])[1:] == (None, None)
    assert stratified_gain([[0.1, 0.1], [0.2, 0.2]])[1:] == (None, None)
    with pytest.raises(ValueError, match="strata"):
        stratified_gain([])


def test_spearman_has_no_value_without_variation() -> None:
    assert spearman([1, 2, np.inf], [1, 2, 3]) == pytest.approx(1.0)
    assert spearman([1, 1, 1], [1, 2, 3]) is None
