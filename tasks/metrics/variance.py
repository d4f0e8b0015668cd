"""Variance components of responses crossed by scenario, persona and model, and of nested grades."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import FloatArray, IntArray

RESIDUAL = "residual"

# Above this condition number, only rounding error distinguishes two factors.
_SINGULAR = 1e10


@dataclass(frozen=True)
class CrossedVariance:
    """Variance of n values by its sources, or the reason why it cannot be split.

    components: variance due to each factor and RESIDUAL, none negative; shares: components over their sum;
    clipped: sources whose estimate was negative and is set to 0. All are empty if there is a reason.
    """

    components: dict[str, float]
    shares: dict[str, float]
    clipped: tuple[str, ...]
    n: int
    reason: str | None


def crossed_variance(values: ArrayLike, factors: Mapping[str, ArrayLike]) -> CrossedVariance:
    """Variance of values due to each of several crossed random factors, and the residual variance.

    values: n scores; factors: name -> n labels, such as scenario, persona and model. The model is value =
    mean + one independent random effect for each factor + residual. Interactions are in the residual; a
    separate factor with joined labels takes one out, if each combination was asked more than once. A factor
    with one level has no variance and is left out of the result.

    Estimates are by moments, Henderson's method 1 (1953; Searle, Casella and McCulloch 1992, chapter 5). The
    sum of squares of each factor's means is set equal to its expectation, which is linear in the variances.
    They are unbiased, negative ones included, for any pattern of gaps; for balanced data they are those of
    the analysis of variance, and of REML unless one is negative. A negative estimate is set to 0 and named;
    the others stay.

    Shares are of the sum over the sources, range [0, 1]. The variance of a factor with few levels (four
    models) is very uncertain. No result if factors cannot be distinguished, no response is left for the
    residual, or all values are equal. Raises ValueError for shapes that do not fit, a value that is not
    finite, or a factor named RESIDUAL.
    """
    table = _values(values)
    if RESIDUAL in factors:
        raise ValueError(f"a factor may not be named {RESIDUAL!r}")
    codes = {name: _codes(labels, name, table.size) for name, labels in factors.items()}
    codes = {name: code for name, code in codes.items() if code.any()}
    if table.size < 2 or np.ptp(table) <= 1e-12 * np.abs(table).max():
        return _unsplit(table.size, "the values do not vary")
    moments, expected = _moments(table - table.mean(), list(codes.values()))
    if np.linalg.cond(expected) > _SINGULAR:
        names = ", ".join(codes)
        return _unsplit(
            table.size, f"{names} and the residual cannot be told apart: too few responses, or confounded"
        )
    solution = np.linalg.solve(expected, moments).tolist()
    estimates = dict(zip([*codes, RESIDUAL], solution, strict=True))
    components = {name: max(value, 0.0) for name, value in estimates.items()}
    total = sum(components.values())
    shares = {name: value / total for name, value in components.items()}
    clipped = tuple(name for name, value in estimates.items() if value < 0)
    return CrossedVariance(components, shares, clipped, table.size, None)


def _moments(centred: FloatArray, codes: list[IntArray]) -> tuple[FloatArray, FloatArray]:
    """Return sums of squares over n, and the coefficients of each variance in their expectations.

    centred: n values with mean 0, so that the terms of the mean vanish. Rows: for each factor sum(total of
    level^2 / size of level) / n, then the plain sum of squares / n. Columns: the factors, then the residual.

    Factor A has levels i of size n_i, and cells ij with B of size n_ij. The variance of B has the coefficient
    sum_ij n_ij^2 / n_i in the sum of squares of A, minus sum_j n_j^2 / n for the mean. The residual has one
    per level, minus one for the mean.
    """
    n = centred.size
    sizes = [np.bincount(code) for code in codes]
    in_mean = [float((size.astype(np.float64) ** 2).sum()) / n for size in sizes]
    expected = np.empty((len(codes) + 1, len(codes) + 1))
    moments = np.empty(len(codes) + 1)
    for a, code in enumerate(codes):
        moments[a] = (np.bincount(code, weights=centred) ** 2 / sizes[a]).sum()
        for b, other_code in enumerate(codes):
            cells, cell_sizes = np.unique(code * sizes[b].size + other_code, return_counts=True)
            level_sizes = sizes[a][cells // sizes[b].size]
            expected[a, b] = (cell_sizes.astype(np.float64) ** 2 / level_sizes).sum() - in_mean[b]
        expected[a, -1] = sizes[a].size - 1
    moments[-1] = (centred**2).sum()
    expected[-1] = [*(n - share for share in in_mean), n - 1]
    return moments / n, expected / n


def _codes(labels: ArrayLike, name: str, n: int) -> IntArray:
    """Return labels as 0..levels-1; else ValueError naming the factor."""
    table = np.asarray(labels)
    if table.shape != (n,):
        raise ValueError(f"factor {name!r} has shape {table.shape}: one label for each of {n} values")
    return np.unique(table, return_inverse=True)[1].astype(np.intp)


def _unsplit(n: int, reason: str) -> CrossedVariance:
    return CrossedVariance({}, {}, (), n, reason)


def _values(values: ArrayLike) -> FloatArray:
    """Return a float64 vector of finite numbers; else ValueError."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all():
        raise ValueError("expected a vector of finite values: leave unscored responses out")
    return table


class NestedVariance(NamedTuple):
    """Shares of the variance of one grade, which sum to 1.

    person: between persons; repetition: between repetitions with one person; judge: between judges' levels;
    rest: disagreement of judges on single conversations. judge and rest are None with one judge, whose
    disagreement with itself is part of repetition.
    """

    person: float
    repetition: float
    judge: float | None
    rest: float | None
    n_persons: int


def nested_variance(grades: ArrayLike) -> NestedVariance | None:
    """Variance components by the method of moments (Searle, Casella and McCulloch 1992, chapter 4).

    grades: [persons, repetitions, judges]; repetitions are nested in persons, judges grade all conversations.
    Persons with a NaN are left out. Negative components count as 0. None for fewer than two persons or
    repetitions, or if nothing varies. Raises ValueError for another shape or an infinity.
    """
    table = np.asarray(grades, dtype=np.float64)
    if table.ndim != 3 or np.isinf(table).any():
        raise ValueError(
            f"grades must be persons x repetitions x judges, finite or NaN, got shape {table.shape}"
        )
    table = table[~np.isnan(table).any(axis=(1, 2))]
    persons, repetitions, judges = table.shape
    if persons < 2 or repetitions < 2 or judges < 1 or np.ptp(table) == 0:
        return None
    mean, person_means, conversation_means = table.mean(), table.mean(axis=(1, 2)), table.mean(axis=2)
    person_square = judges * repetitions * _sum_of_squares(person_means - mean) / (persons - 1)
    repetition_square = (
        judges * _sum_of_squares(conversation_means - person_means[:, None]) / (persons * (repetitions - 1))
    )
    residual_square = judge_square = 0.0
    if judges > 1:
        judge_means = table.mean(axis=(0, 1))
        residuals = table - conversation_means[:, :, None] - judge_means + mean
        residual_square = _sum_of_squares(residuals) / ((persons * repetitions - 1) * (judges - 1))
        judge_square = persons * repetitions * _sum_of_squares(judge_means - mean) / (judges - 1)
    components = np.array(
        [
            (person_square - repetition_square) / (judges * repetitions),
            (repetition_square - residual_square) / judges,
            (judge_square - residual_square) / (persons * repetitions),
            residual_square,
        ]
    ).clip(min=0)
    if not components.sum():
        return None
    person, repetition, judge, rest = (float(share) for share in components / components.sum())
    is_one_judge = judges == 1
    return NestedVariance(
        person, repetition, None if is_one_judge else judge, None if is_one_judge else rest, persons
    )


def _sum_of_squares(deviations: FloatArray) -> float:
    return float((deviations**2).sum())
