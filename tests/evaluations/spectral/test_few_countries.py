"""From how many countries on a spectrum is resampled: below, its intervals are too narrow."""

from __future__ import annotations

import pytest

from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import MIN_COUNTRIES, country_subsets
from tasks.evaluations.spectral.study import SpectralStudy


@pytest.mark.parametrize(("n", "is_resampled"), [(2, False), (11, False), (12, True), (13, True)])
def test_twelve_countries_are_enough(n: int, is_resampled: bool) -> None:
    assert (n >= MIN_COUNTRIES) == is_resampled
    countries = {f"C{k}": f"Country {k}" for k in range(n)}
    study = SpectralStudy(SpectralParams(models=["m"], half_samples=20), countries, (), {}, "ref")
    halves, left_out = country_subsets(study)
    assert halves.shape == (20 * is_resampled, n // 2)
    assert bool(left_out) == is_resampled
