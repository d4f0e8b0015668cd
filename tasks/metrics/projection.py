"""Scores a text between two poles by the cosines of its vector to exemplar sentences of each pole.

Source: WorldWise (2024), section 2.2. The dimensions there are Hofstede's six; here they are any pairs of
exemplar sets.

Limits: if h and l are both positive, |r| < 1 and the score stays within 2 tanh 1 = 1.523, so a target of 2
is out of reach. Only texts that are unlike one pole exceed this. If h + l is small, r grows without bound: a
text with little relation to either pole may score 2 as well as 0. So all-zero scores and unrelated texts must
be scored beside the model's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import FloatArray

# A sum of cosines below this is a rounding error; dividing by it would give noise.
_NO_SIMILARITY = 1e-12


def project(text_vectors: ArrayLike, high_vectors: ArrayLike, low_vectors: ArrayLike) -> FloatArray:
    """Scores of texts on one dimension: 2 tanh r with r = (h - l) / (h + l), 0 where h + l <= 0.

    text_vectors: n x d, a missing vector as a row with NaN; high_vectors, low_vectors: exemplars of the two
    poles, any number of rows of d. h and l are the means of the text's cosines to each exemplar of a pole.
    They are not the cosine to the exemplars' mean: long vectors count no more than short ones, and exemplars
    that disagree pull h towards 0.

    Returns n float64 in [-2, 2]; positive is nearer to the high pole; 0: equally near to both, or to neither
    (h + l <= 0). NaN for a zero or missing text vector, which is unscored: leave it out and count it. Raises
    ValueError for wrong shapes, an infinity, or an exemplar without a direction.
    """
    return project_dimensions(text_vectors, [(high_vectors, low_vectors)])[:, 0]


def project_dimensions(
    text_vectors: ArrayLike, dimensions: Sequence[tuple[ArrayLike, ArrayLike]]
) -> FloatArray:
    """Scores of texts on k dimensions at once; see `project`.

    text_vectors: n x d; dimensions: k pairs (high, low) of exemplar vectors. Returns n x k float64; the row
    of a text without a vector is NaN. Raises ValueError like `project`, with the number of the dimension.
    """
    texts = _unit_rows(text_vectors, "text_vectors")
    poles = [
        [_mean_direction(vectors, f"the {pole} pole of dimension {number}", texts.shape[1])]
        for number, pair in enumerate(dimensions)
        for pole, vectors in zip(("high", "low"), pair, strict=True)
    ]
    if not poles:
        raise ValueError("a projection needs at least one dimension")
    unscored = np.isnan(texts).any(axis=1)
    texts[unscored] = 0.0
    # The mean of cosines is the product with the mean of unit vectors, so one product serves all exemplars.
    similarity = texts @ np.concatenate(poles).T
    high, low = similarity[:, 0::2], similarity[:, 1::2]
    total = high + low
    ratio = np.divide(high - low, total, out=np.zeros_like(total), where=total > _NO_SIMILARITY)
    # tanh stays within -1 and 1, so the paper's clip to [-2, 2] changes nothing.
    scores: FloatArray = 2.0 * np.tanh(ratio)
    scores[unscored] = np.nan
    return scores


def _mean_direction(vectors: ArrayLike, name: str, size: int) -> FloatArray:
    """Return the mean of the exemplars' unit vectors, which is not normalised again."""
    units = _unit_rows(vectors, name)
    if not len(units) or units.shape[1] != size:
        raise ValueError(f"{name} has shape {units.shape}: give exemplars as rows of {size} numbers")
    missing = np.flatnonzero(np.isnan(units).any(axis=1))
    if missing.size:
        raise ValueError(f"exemplar {missing[0]} of {name} is zero or missing: it has no direction")
    mean: FloatArray = units.mean(axis=0)
    return mean


def _unit_rows(vectors: ArrayLike, name: str) -> FloatArray:
    """Return rows scaled to length 1; NaN for a row that is zero or has a NaN."""
    table = np.asarray(vectors, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"{name} must be vectors as rows, got shape {table.shape}")
    if np.isinf(table).any():
        row = int(np.argmax(np.isinf(table).any(axis=1)))
        raise ValueError(f"row {row} of {name} has an infinity; give a missing vector as NaN")
    # Scaled by the largest number first so that squares neither overflow nor vanish.
    size = np.abs(table).max(axis=1, keepdims=True, initial=0.0)
    unit = table / np.where(size > 0, size, np.nan)
    rows: FloatArray = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    return rows
