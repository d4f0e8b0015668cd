"""Distances of a persona's scores from its culture's targets, with null models.

Source: WorldWise (2024), sections 2.3 and 4.3. Scores and targets lie on [-2, 2].

Raw alignment favours profiles near the middle. Over the paper's five cultures and six dimensions (section
7.4) the targets have a mean size of 37 / 30. So a score of 0 everywhere has an alignment of 10 - 2.5 * 37 /
30 = 6.92, and the mean of the cultures, the same for all, has 7.33. The paper's four models with personas
have 6.63 (section 4.1), less than either. So read the gain over a null: the mean difference of alignments on
the same responses, with its interval over scenarios (`intervals.mean_interval`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import FloatArray, as_pair

# Each band ends below its number (section 4.3).
_BAND_ENDS: Final = (0.5, 1.0, 1.5)
ACCURACY_BANDS: Final = ("excellent", "good", "acceptable", "poor")

# Lower ends of the buckets above the first: a score of 20 is in the second bucket, a score of 80 in the last.
_BUCKET_STARTS: Final = (20, 35, 45, 55, 65, 80)
_BUCKET_VALUES: Final = np.array([-2.0, -1.5, -1.0, 0.0, 1.0, 1.5, 2.0])

# The published scale ends at 100, but later samples exceed it: Greece has 112 in uncertainty avoidance.
_HIGHEST_PUBLISHED = 120


class HofstedeErrors(NamedTuple):
    """Errors of n scores against their targets.

    mae, median, sd: mean, median and standard deviation of the absolute errors (ddof 1, None for one score);
    bias: mean of score - target, positive for overestimates; bands: number of errors by `ACCURACY_BANDS`.
    """

    mae: float
    median: float
    sd: float | None
    bias: float
    bands: dict[str, int]
    n: int


def alignment(target: ArrayLike, score: ArrayLike) -> FloatArray:
    """Alignment of each response: max(0, 10 - 2.5 |target - score|) (section 2.3 A and B).

    target, score: numbers on [-2, 2] of shapes that broadcast. Returns float64 of the common shape, range
    [0, 10]; higher is better; 10: on target; 0: at the other end of the scale. A model without knowledge does
    not have 0: see the nulls of this module. Raises ValueError for a number that is not finite: leave
    unscored responses out.
    """
    targets, scores = np.asarray(target, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if not (np.isfinite(targets).all() and np.isfinite(scores).all()):
        raise ValueError(
            "a target or score is not finite: leave cultures without a target and unscored texts out"
        )
    return np.maximum(0.0, 10.0 - 2.5 * np.abs(targets - scores))


def hofstede_errors(target: ArrayLike, score: ArrayLike) -> HofstedeErrors | None:
    """Return the errors of scores against the published values (section 4.3).

    target, score: n numbers each on [-2, 2]. None for no response. Errors below 0.5 are excellent, below
    1 good, below 1.5 acceptable, else poor. The mean alignment is 10 - 2.5 mae, so it adds no information.
    Raises ValueError for a NaN or different lengths.
    """
    targets, scores = as_pair(target, score)
    if not scores.size:
        return None
    error = np.abs(scores - targets)
    counts = np.bincount(np.searchsorted(_BAND_ENDS, error, side="right"), minlength=len(ACCURACY_BANDS))
    return HofstedeErrors(
        mae=float(error.mean()),
        median=float(np.median(error)),
        sd=float(error.std(ddof=1)) if error.size > 1 else None,
        bias=float((scores - targets).mean()),
        bands=dict(zip(ACCURACY_BANDS, counts.tolist(), strict=True)),
        n=error.size,
    )


def culture_distances(scores: ArrayLike, targets: ArrayLike) -> FloatArray:
    """Root mean square distance of scores without a persona to each culture (section 2.3 C).

    scores: m numbers; targets: cultures x m, each culture's targets for the same m places. Returns one
    float64 for each culture, range [0, 4]; the smallest belongs to the culture that the model resembles most
    without a persona.

    In the paper the places are responses on their scenario's dimension, `targets[:, dimension]`. The distance
    then includes the spread between scenarios, and is larger than that of a profile, the mean score on each
    dimension. Raises ValueError for shapes that do not fit, no place or a number that is not finite.
    """
    score, target = np.asarray(scores, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    if score.ndim != 1 or not score.size or target.ndim != 2 or target.shape[1] != score.size:
        raise ValueError(f"scores of shape {score.shape} do not fit targets of shape {target.shape}")
    if not (np.isfinite(score).all() and np.isfinite(target).all()):
        raise ValueError("a score or target is not finite: leave unscored places out")
    distance: FloatArray = np.sqrt(((target - score) ** 2).mean(axis=1))
    return distance


def linear_profile(score: ArrayLike) -> FloatArray:
    """Published scores, 0..100, as targets: score / 25 - 2, range [-2, 2].

    score: any shape; NaN (missing) stays NaN. Scores above 100, of which Hofstede has a few, become 2.
    Raises ValueError for a score outside 0..120.
    """
    return np.clip(_published(score) / 25 - 2, -2.0, 2.0)


def bucketed_profile(score: ArrayLike) -> FloatArray:
    """Published scores, 0..100, as the paper's targets (section 7.4).

    Below 20: -2; below 35: -1.5; below 45: -1; below 55: 0; below 65: 1; below 80: 1.5; else 2. No score
    becomes 0.5. The paper prints only the profiles; the thresholds are those of its published program, and
    they reproduce its table. They move targets outwards: a published 68 is 1.5 here and 0.72 in
    `linear_profile`. Missing scores and errors are treated like there.
    """
    published = _published(score)
    bucket = _BUCKET_VALUES[np.searchsorted(_BUCKET_STARTS, published, side="right")]
    return np.where(np.isnan(published), np.nan, bucket)


def global_mean_profile(targets: ArrayLike) -> FloatArray:
    """Null with the same answer for every culture: the mean of their targets on each dimension.

    targets: cultures x k, missing ones as NaN. Returns k float64 in [-2, 2]. Raises ValueError for a
    dimension without any target.
    """
    table = np.asarray(targets, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"targets must be cultures x dimensions, got shape {table.shape}")
    empty = np.flatnonzero(np.isnan(table).all(axis=0))
    if empty.size:
        raise ValueError(f"no culture has a target on dimension {empty[0]}: leave the dimension out")
    mean: FloatArray = np.nanmean(table, axis=0)
    return mean


def shuffled_alignments(
    targets: ArrayLike, culture: ArrayLike, dimension: ArrayLike, scores: ArrayLike, shuffles: ArrayLike
) -> FloatArray:
    """Null of shuffled personas: alignment of each response with the target of another culture.

    targets: c x k; culture, dimension: row and column of each of n responses; scores: n; shuffles: r x c
    indices that leave no culture in its place. Returns r x n alignments: their mean over r is the null of
    each response, their means over n are the mean alignments expected if personas had no effect. In
    expectation a response is compared with every other culture equally often; the c - 1 rotations
    `(arange(c) + i) % c` do so without chance. Raises ValueError like `alignment`, and IndexError for a
    culture or dimension that targets lack.
    """
    table = np.asarray(targets, dtype=np.float64)
    other = np.asarray(shuffles, dtype=np.intp)[:, np.asarray(culture, dtype=np.intp)]
    return alignment(table[other, np.asarray(dimension, dtype=np.intp)], scores)


def _published(score: ArrayLike) -> FloatArray:
    """Return published scores as float64; else ValueError."""
    published = np.asarray(score, dtype=np.float64)
    if ((published < 0) | (published > _HIGHEST_PUBLISHED)).any():
        raise ValueError(f"a published score lies outside 0..{_HIGHEST_PUBLISHED}: is it normalised already?")
    return published
