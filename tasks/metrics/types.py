"""Types of arrays and labels that the metrics share; small because every metric imports it."""

from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

Interval: TypeAlias = tuple[float, float] | None
"""(low, high), or None if there is no interval."""

# The first letter is effective rank, the second is spectral gap ratio: H(igh) or L(ow) (Zhou et al. 2025,
# section 3.1.1).
Category: TypeAlias = Literal["LH", "HL", "HH", "LL"]
CATEGORIES: Final[tuple[Category, ...]] = ("LH", "HL", "HH", "LL")
