"""Shares of the variance of grades: between persons, between repetitions and between judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import FloatArray


class VarianceSplit(NamedTuple):
    """Shares of the variance of one grade, which add up to 1.

    person: between persons; repetition: between repetitions with one person; judge: between judges' levels;
    rest: what judges disagree on in single conversations. judge and rest are None with one judge, whose
    disagreement with itself is part of repetition.
    """

    person: float
    repetition: float
    judge: float | None
    rest: float | None
    n_persons: int


def variance_split(grades: ArrayLike) -> VarianceSplit | None:
    """Components of variance by the method of moments (Searle, Casella and McCulloch 1992, chapter 4).

    grades: [persons, repetitions, judges]; repetitions are nested in persons, judges grade all conversations.
    Persons with a NaN are left out. Negative components count as 0. None for fewer than two persons or
    repetitions, or where nothing varies. Raises ValueError for another shape or an infinity.
    """
    table = np.asarray(grades, dtype=np.float64)
    if table.ndim != 3 or np.isinf(table).any():
        raise ValueError(f"grades are persons x repetitions x judges, finite or NaN: {table.shape}")
    table = table[~np.isnan(table).any(axis=(1, 2))]
    persons, repetitions, judges = table.shape
    if persons < 2 or repetitions < 2 or judges < 1 or np.ptp(table) == 0:
        return None
    mean, of_person, of_talk = table.mean(), table.mean(axis=(1, 2)), table.mean(axis=2)
    between = judges * repetitions * _squares(of_person - mean) / (persons - 1)
    within = judges * _squares(of_talk - of_person[:, None]) / (persons * (repetitions - 1))
    error = level = 0.0
    if judges > 1:
        of_judge = table.mean(axis=(0, 1))
        rest = table - of_talk[:, :, None] - of_judge + mean
        error = _squares(rest) / ((persons * repetitions - 1) * (judges - 1))
        level = persons * repetitions * _squares(of_judge - mean) / (judges - 1)
    components = np.array(
        [
            (between - within) / (judges * repetitions),
            (within - error) / judges,
            (level - error) / (persons * repetitions),
            error,
        ]
    ).clip(min=0)
    if not components.sum():
        return None
    person, repetition, judge, left = (float(share) for share in components / components.sum())
    one = judges == 1
    return VarianceSplit(person, repetition, None if one else judge, None if one else left, persons)


def _squares(deviations: FloatArray) -> float:
    return float((deviations**2).sum())
