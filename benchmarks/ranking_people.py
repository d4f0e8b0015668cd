"""Studies in which 80 people rank nine domains, for the interval of macro-F1 over countries and people.

A person ranks the domains by an expectation of each, which all people have in common, and a part of their
own. The second letter of a domain's category is H if its mean rank is below a threshold. The truth is
macro-F1 against the categories that the ranks of all people give.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.populations import Domains, Generator, domains
from tasks.evaluations.spectral.people import interval_with_people
from tasks.evaluations.spectral.study import SpectralQuestion
from tasks.metrics import classification, spectral
from tasks.metrics.types import Category, FloatArray, Interval

PEOPLE = 80
_RANKS = np.array([3.18, 2.90, 3.92, 3.98, 4.70, 5.64, 5.89, 6.59, 8.20])
_FIRST = ("L", "H", "H", "H", "L", "L", "L", "H", "H")
"""Mean ranks and first letters of table 1 of the spectral paper, from house numbers to currency."""

_OWN = 4.0  # standard deviation of a person's own part; gives ranks the table's deviation of about 2
_DOMAIN = 3  # the last domain below the threshold


class Survey(NamedTuple):
    """Countries, and mean ranks of people, of one study.

    Attributes:
        people: [9] mean rank, and [9] standard deviation.
        threshold: mean rank below which consensus is strong.
    """

    countries: Domains
    people: tuple[FloatArray, FloatArray]
    threshold: float


def _ranks(rng: Generator, n: int) -> FloatArray:
    """Return [n, 9] ranks from 1."""
    expected = 1.6 * _RANKS
    order = (expected + rng.normal(0, _OWN, (n, len(expected)))).argsort(axis=1)
    return order.argsort(axis=1) + 1.0


@cache
def _of_all() -> FloatArray:
    """Return [9] mean ranks of all people."""
    means: FloatArray = _ranks(np.random.default_rng(11), 200_000).mean(axis=0)
    return means


def _threshold(near: float | None) -> float:
    """Return the threshold midway between two domains, or this number of standard errors above the lower."""
    means = _of_all()
    if near is None:
        return float(means[_DOMAIN] + means[_DOMAIN + 1]) / 2
    deviation = _ranks(np.random.default_rng(12), 20_000)[:, _DOMAIN].std()
    return float(means[_DOMAIN] + near * deviation / np.sqrt(PEOPLE))


def survey(rng: Generator, n: int, near: float | None, halves: int = 100) -> Survey:
    """Return a study over n countries and 80 people.

    Args:
        near: standard errors of a domain's mean rank between it and the threshold; None: as in table 1.
    """
    ranks = _ranks(rng, PEOPLE)
    people = ranks.mean(axis=0), ranks.std(axis=0, ddof=1)
    return Survey(domains(rng, n, halves), people, _threshold(near))


def _categories(means: FloatArray, threshold: float) -> list[str]:
    return [first + ("H" if mean < threshold else "L") for first, mean in zip(_FIRST, means, strict=True)]


def _predicted(spectra: FloatArray) -> list[Category]:
    high = spectra > classification.lower_median(spectra)
    return [spectral.er_sr_category(bool(er), bool(sr)) for er, sr in high]


def _f1(spectra: FloatArray, truth: list[str]) -> float:
    return classification.macro_f1(truth, list(_predicted(spectra)))


def survey_interval(sample: Survey) -> Interval:
    """Return the interval of the metric ``macro_f1_with_people``."""
    (means, deviations), spectra = sample.people, sample.countries.spectra
    truth = _categories(means, sample.threshold)
    questions = [
        SpectralQuestion(str(i), str(i), 1, "", "", "", mean, category, deviation, PEOPLE)
        for i, (mean, category, deviation) in enumerate(
            zip(means.tolist(), truth, deviations.tolist(), strict=True)
        )
    ]
    values = np.array([_f1(column, truth) for column in spectra.swapaxes(0, 1)])
    found = interval_with_people(questions, _predicted(spectra[:, 0]), values, sample.countries.n, 0)
    assert not isinstance(found, str), found
    return found


def mean_of_surveys(rng: Generator, n: int, near: float | None) -> float:
    """Return the mean macro-F1 over new samples of countries, against the categories of all people."""
    truth = _categories(_of_all(), _threshold(near))
    return float(np.mean([_f1(domains(rng, n, 0).spectra[:, 0], truth) for _ in range(500)]))
