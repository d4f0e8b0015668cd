"""Types of arrays and labels that metrics share, and checked conversion, so that an error names its row."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

Interval: TypeAlias = tuple[float, float] | None
"""(low, high), or None if there is no interval."""

# The first letter is effective rank, the second is spectral gap ratio: H(igh) or L(ow) (Zhou et al. 2025,
# section 3.1.1).
Category: TypeAlias = Literal["LH", "HL", "HH", "LL"]
CATEGORIES: Final[tuple[Category, ...]] = ("LH", "HL", "HH", "LL")


def as_table(values: ArrayLike, names: Sequence[str] | None) -> FloatArray:
    """Return a float64 copy or view of a non-empty 2-D array with optional row names; else ValueError."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"expected a non-empty 2-D array (rows x items), got shape {table.shape}")
    if names is not None and len(names) != len(table):
        raise ValueError(f"{len(names)} names were given for {len(table)} rows")
    return table


def as_square(similarity: ArrayLike) -> FloatArray:
    """Return a finite symmetric n x n matrix as float64; else ValueError."""
    matrix = np.asarray(similarity, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"expected a non-empty square similarity matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("the similarity matrix has a value that is not finite")
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-9):
        raise ValueError("the similarity matrix is not symmetric")
    return matrix


def as_pair(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return two float64 vectors of one length without NaN (infinity is allowed); else ValueError."""
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape:
        raise ValueError(f"expected two vectors of one length, got shapes {left.shape} and {right.shape}")
    if np.isnan(left).any() or np.isnan(right).any():
        raise ValueError("a value is NaN: leave unscored points out before comparing")
    return left, right


def row_label(row: int, names: Sequence[str] | None) -> str:
    """Return 'row 3' or 'row 3 (Chad)'."""
    return f"row {row}" if names is None else f"row {row} ({names[row]})"
