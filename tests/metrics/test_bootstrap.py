import math

import numpy as np
import pytest
import scipy.stats

from tasks.metrics.bootstrap import (
    bootstrap_indices,
    bootstrap_spectrum,
    log_normal_interval,
    percentile_interval,
)
from tasks.metrics.spectral import cosine_similarity, effective_rank, eigenvalues, spectral_gap_ratio


def test_resamples_depend_on_the_seed_alone() -> None:
    first = bootstrap_indices(170, 20, seed=7)
    np.random.seed(0)  # noqa: NPY002
    np.random.random(5)  # noqa: NPY002
    assert (bootstrap_indices(170, 20, seed=7) == first).all()
    assert (bootstrap_indices(170, 20, seed=8) != first).any()
    assert first.shape == (20, 170)
    assert 0 <= first.min() <= first.max() < 170


@pytest.mark.parametrize(("n", "replicates"), [(1, 200), (170, 1)])
def test_resamples_refuse(n: int, replicates: int) -> None:
    with pytest.raises(ValueError, match="needed for a spread"):
        bootstrap_indices(n, replicates, seed=0)


@pytest.mark.parametrize("t", [6, 300])
def test_weights_give_the_spectrum_of_the_repeated_rows(t: int) -> None:
    h = np.random.default_rng(t).dirichlet(np.full(t, 0.2), size=25)
    resamples = bootstrap_indices(25, 15, seed=1)
    er, sr = bootstrap_spectrum(cosine_similarity(h), resamples)
    spectra = [eigenvalues(h[drawn]) for drawn in resamples]
    assert er == pytest.approx([effective_rank(spectrum) for spectrum in spectra], rel=1e-9)
    assert sr == pytest.approx([spectral_gap_ratio(spectrum) for spectrum in spectra], rel=1e-9)


def test_resample_without_repeats_is_the_estimate() -> None:
    similarity = cosine_similarity(np.random.default_rng(0).dirichlet(np.ones(40), size=20))
    er, sr = bootstrap_spectrum(similarity, np.random.default_rng(1).permutation(20)[None])
    spectrum = np.linalg.eigvalsh(similarity)[::-1]
    assert er == pytest.approx([effective_rank(spectrum)])
    assert sr == pytest.approx([spectral_gap_ratio(spectrum)])


def test_resamples_lower_er_which_is_why_only_their_spread_is_used() -> None:
    # The identity: a resample's eigenvalues are the multiplicities w, so ER = exp(log n - sum(w/n log w)).
    # w is nearly Poisson(1): E[w log w] = 0.5734, so ER is near n exp(-0.5734) = 0.564 n = 95.8.
    er, _ = bootstrap_spectrum(np.eye(170), bootstrap_indices(170, 200, seed=0))
    w = np.arange(2, 60)
    loss = float((scipy.stats.poisson.pmf(w, 1) * w * np.log(w)).sum())
    assert er.mean() == pytest.approx(170 * math.exp(-loss), rel=0.01)
    low, high = percentile_interval(er) or (0.0, 0.0)
    assert high < 170
    interval = log_normal_interval(170, er, bounds=(1, 170))
    assert interval is not None
    assert low < interval[0] < interval[1] == 170


def test_identical_countries_have_an_infinite_ratio_in_every_resample() -> None:
    er, sr = bootstrap_spectrum(np.ones((12, 12)), bootstrap_indices(12, 5, seed=0))
    assert er.tolist() == [1.0] * 5
    assert sr.tolist() == [math.inf] * 5


def test_log_normal_interval_by_hand() -> None:
    # log replicates 0, 1, 2: sd 1; z(0.975) = 1.959964: 10 / 7.0991 and 10 * 7.0991.
    low, high = log_normal_interval(10, np.exp([0.0, 1.0, 2.0])) or (0.0, 0.0)
    assert (low, high) == pytest.approx((10 / math.exp(1.959964), 10 * math.exp(1.959964)))
    # Clipped to what ER can be with 20 countries.
    assert log_normal_interval(10, np.exp([0.0, 1.0, 2.0]), bounds=(2, 20)) == (2, 20)
    narrower = log_normal_interval(10, np.exp([0.0, 1.0, 2.0]), level=0.5)
    assert narrower == pytest.approx((10 / math.exp(0.67449), 10 * math.exp(0.67449)))


def test_log_normal_interval_contains_an_estimate_far_from_its_replicates() -> None:
    low, high = log_normal_interval(100, [10, 11, 12]) or (0.0, 0.0)
    assert low < 100 < high


def test_no_interval_with_infinities() -> None:
    assert log_normal_interval(math.inf, [math.inf, math.inf]) is None
    assert log_normal_interval(5, [4, math.inf]) is None
    assert percentile_interval([4, math.inf]) is None


def test_percentile_interval_is_numpys_quantile() -> None:
    values = np.random.default_rng(0).random(101)
    assert percentile_interval(values, 0.9) == pytest.approx(np.percentile(values, [5, 95]))


def test_intervals_refuse() -> None:
    with pytest.raises(ValueError, match="outside its bounds"):
        log_normal_interval(0.5, [1, 2])
    with pytest.raises(ValueError, match="logarithm"):
        log_normal_interval(5, [0, 2])
    with pytest.raises(ValueError, match="NaN"):
        percentile_interval([1, math.nan])
    with pytest.raises(ValueError, match="confidence level"):
        percentile_interval([1, 2], level=95)
