"""Two ways of asking the same things, such as thin and thick: right on the same items, and how steady?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest

__all__ = ["McNemar", "Spread", "mcnemar", "spread"]


class McNemar(NamedTuple):
    """Items that only one of two got right, and the two-sided p-value of that difference."""

    only_first: int
    only_second: int
    p_value: float
    n: int


class Spread(NamedTuple):
    """Middle and width of n values: median, interquartile range (linear interpolation), variance (ddof 1)."""

    median: float
    iqr: float
    variance: float
    n: int


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's test (1947), exact: did two ways of asking get the same items right?

    first, second: m booleans each, right or not, of the same items in the same order. Items that both or
    neither got right say nothing; of the others either may be first's with chance 1/2. p is 1 where there are
    none. Raises ValueError for different lengths or what is not a boolean.
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape or a.dtype != np.bool_ or b.dtype != np.bool_:
        raise ValueError(
            f"expected two vectors of booleans of one length, got {a.dtype} {a.shape}, {b.dtype} {b.shape}"
        )
    only_first, only_second = int((a & ~b).sum()), int((~a & b).sum())
    differing = only_first + only_second
    p_value = float(binomtest(only_first, differing, 0.5).pvalue) if differing else 1.0
    return McNemar(only_first, only_second, p_value, a.size)


def spread(values: ArrayLike) -> Spread | None:
    """Median, interquartile range and variance, as of models' scores (CURE, figures 2 and 3).

    values: finite numbers. None for fewer than two: one value has no spread. Raises ValueError for a value
    that is not finite.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all():
        raise ValueError("a spread needs a vector of finite values: leave unscored ones out")
    if table.size < 2:
        return None
    low, median, high = (float(q) for q in np.quantile(table, [0.25, 0.5, 0.75]))
    return Spread(median, high - low, float(table.var(ddof=1)), table.size)
