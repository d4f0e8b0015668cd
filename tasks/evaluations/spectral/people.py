"""Uncertainty of people's categories, which are the truth of macro-F1. Pure.

The second letter of a category, strong or weak consensus, follows the mean rank that people give a domain:
it is strong below a threshold. A mean over few people could have been another, so that a domain near the
threshold could have the other letter. The first letter is the consensus of a few annotators; nothing is known
of its uncertainty, and it stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tasks.evaluations.spectral.read import MIN_COUNTRIES
from tasks.evaluations.spectral.study import SpectralQuestion
from tasks.metrics import classification
from tasks.metrics.intervals import jumping_interval
from tasks.metrics.types import Category, FloatArray, Interval

DRAWS = 1_000
UNKNOWN = "nobody knows how much people's ranks vary"
UNORDERED = "people's categories do not follow their ranks"


def interval_with_people(
    questions: Sequence[SpectralQuestion],
    predicted: Sequence[Category],
    values: FloatArray,
    n_countries: int,
    seed: int,
) -> Interval | str:
    """Return the interval of macro-F1 over countries and over the people whose ranks give the categories, or
    the reason why there is none. The errors of both are independent, and macro-F1 jumps
    (``classification.jump_error``).

    Args:
        predicted: the model's categories of the questions.
        values: [1 + r] macro-F1 of the estimate and of the half-samples of countries.
    """
    drawn = drawn_categories(questions, seed)
    if isinstance(drawn, str):
        return drawn
    of_draw = {truth: classification.macro_f1(truth, predicted) for truth in set(drawn)}
    jump = classification.jump_error([q.human_category for q in questions], predicted)["macro_f1"]
    error = math.hypot(float(np.std([of_draw[truth] for truth in drawn])), jump)
    value, *halves = values.tolist()
    return jumping_interval(value, halves, n_countries, error, MIN_COUNTRIES)


def drawn_categories(questions: Sequence[SpectralQuestion], seed: int) -> list[tuple[Category, ...]] | str:
    """Return draws of people's categories of the questions, or the reason why there are none.

    A domain's mean rank is drawn with its standard error. The threshold lies midway between the greatest mean
    of a domain with a strong consensus and the least of one with a weak consensus.
    """
    domains = {q.domain: q for q in questions}
    if any(q.human_n < 2 or q.human_sd <= 0 for q in domains.values()):
        return UNKNOWN
    strong = [q.human_score for q in domains.values() if q.human_category[1] == "H"]
    weak = [q.human_score for q in domains.values() if q.human_category[1] == "L"]
    if strong and weak and max(strong) >= min(weak):
        return UNORDERED
    threshold = (max(strong) + min(weak)) / 2 if strong and weak else np.inf if strong else -np.inf
    means = np.array([q.human_score for q in domains.values()])
    errors = np.array([q.human_sd / np.sqrt(q.human_n) for q in domains.values()])
    drawn: FloatArray = np.random.Generator(np.random.PCG64(seed)).normal(means, errors, (DRAWS, len(means)))
    letters = [dict(zip(domains, np.where(row < threshold, "H", "L"), strict=True)) for row in drawn]
    return [tuple(_with(q.human_category[0], own[q.domain]) for q in questions) for own in letters]


def _with(first: str, second: str) -> Category:
    category: Category = {"LH": "LH", "LL": "LL", "HH": "HH", "HL": "HL"}[first + second]  # type: ignore[assignment]
    return category
