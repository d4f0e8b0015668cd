"""Pearson correlation that is `None`, not NaN or noise, where one side does not vary."""

import numpy as np

from tasks.metrics.types import FloatArray


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's r of two finite vectors; range [-1, 1]. None where a side is constant.

    Constant means a spread below 1e-12 of the values' size: what rounding leaves of equal cosines has a
    spread, and its correlation would be a random number.
    """
    dx, dy = x - x.mean(), y - y.mean()
    for values, deviation in ((x, dx), (y, dy)):
        if np.abs(deviation).max() <= 1e-12 * np.abs(values).max():
            return None
    # Scaled to unit size first, so that the squares of very large values cannot overflow.
    dx, dy = dx / np.abs(dx).max(), dy / np.abs(dy).max()
    r = float(dx @ dy / np.sqrt((dx @ dx) * (dy @ dy)))
    return min(1.0, max(-1.0, r))
