"""Means of a judge's scores, rectified by people's labels of a random sample. Pure.

Prediction-powered inference (Angelopoulos, Bates et al. 2023; the weight of the judge is tuned as in PPI++,
Angelopoulos, Duchi and Zrnic 2023, and cross-fitted as in Zrnic and Candès 2024), in the form of a survey's
difference estimator (Särndal et al. 1992): the judge's weighted mean over everything, plus the mean of
people's labels less the judge's weighted scores over the drawn sample, by the inverse of the chance of being
drawn. Clusters are the sampling units of both parts. Coverage is in docs/intervals.md, by ``python -m
benchmarks ppi``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, stdtrit

from tasks.metrics.intervals import (
    MIN_CLUSTERS,
    UNBOUNDED,
    degrees_of_freedom,
    few_others,
    mean_deviations,
    t_interval,
)
from tasks.metrics.types import BoolArray, FloatArray, IntArray, Interval

MIN_LABELS, MIN_STRATUM = 30, 8
"""Fewest labels of an interval, and of each stratum with its own correction."""
MIN_LABELS_IF_RARE, MIN_CLUSTERS_IF_RARE = 150, 30
"""Fewest labels if yes or no is rare, twice as many in fewer clusters. With fewer, intervals are too wide:
they hold the truth in 98 or 99 %.
"""

NOT_DRAWN = "a sample of convenience: its labels were not drawn at random, so there is no interval"
NO_LABELS = "nobody rated a drawn sample"
MIN_PILOT = 10
"""Fewest labels from which more are planned."""
_FOLDS, _FEW = 10, 12


@dataclass(frozen=True)
class JudgedSample:
    """Scores behind one mean over units, each of which is the mean of its judged parts.

    Attributes:
        scores: [n] the judge's score of each judged part. labels: [n] people's, NaN where nobody rated.
        chances: [n] the chance of each part, rated or not, to be drawn for people, in (0, 1]; NaN if it could
            not be, or not at random. strata: [n] names, such as languages, for corrections of their own.
        units: [n] each part's unit, from 0; every unit without a fixed value has a part.
        fixed: [units] scores that need no judge, such as 0 for a lost answer; NaN for others.
        clusters: [units] labels.
    """

    scores: FloatArray
    labels: FloatArray
    chances: FloatArray
    strata: NDArray[np.str_]
    units: IntArray
    fixed: FloatArray
    clusters: NDArray[np.str_]

    @property
    def known(self) -> BoolArray:
        """[n] whether people rated a part."""
        return ~np.isnan(self.labels)

    @property
    def shares(self) -> FloatArray:
        """[n] each part's share of its unit."""
        return 1.0 / np.bincount(self.units, minlength=self.fixed.size)[self.units]


def among(sample: JudgedSample, kept: BoolArray) -> JudgedSample:
    """Return the sample of some units alone. kept: [units] which."""
    parts = kept[sample.units]
    of_parts = {name: getattr(sample, name)[parts] for name in ("scores", "labels", "chances", "strata")}
    units = (np.cumsum(kept) - 1)[sample.units[parts]]
    return JudgedSample(**of_parts, units=units, fixed=sample.fixed[kept], clusters=sample.clusters[kept])


@dataclass(frozen=True)
class RectifiedMean:
    """A rectified mean with its interval.

    Attributes:
        value: may be outside of the range of a score by as much as its error. None without labels.
        interval: 95 %; None with the ``reason``. points: [units] values whose mean is the value: each unit's
            part in it, for paired differences. residual: [units] the points' part that comes from the labels.
        df_labels: degrees of freedom of that part. weight: mean weight of the judge, from 0 (labels alone) to
            1. n_labels: number of labels. pooled: why the strata have one correction; "" if each has its own.
        correlation: of labels and judge's scores, within strata; None if either does not vary.
    """

    value: float | None
    interval: Interval
    reason: str
    points: FloatArray
    residual: FloatArray
    df_labels: float
    weight: float
    n_labels: int
    pooled: str
    correlation: float | None


def rectified_mean(
    sample: JudgedSample, bounds: tuple[float, float] = UNBOUNDED, weight: float | None = None
) -> RectifiedMean:
    """Return the mean of the units that people would give, from all scores and the labels of the drawn ones.

    Unbiased whatever the judge, if labels are drawn with their chances. Labels that were not drawn give a
    value and no interval. Intervals need what ``too_few`` says.

    Args:
        bounds: range of a score; cuts the interval. weight: a fixed weight of the judge, 0 for labels alone;
            None: the best one, estimated on other clusters than it is used for, or 0 if labels are as scores.
    """
    known = sample.known
    if not known.any():
        none = np.full(sample.fixed.size, np.nan)
        return RectifiedMean(None, None, NO_LABELS, none, none, 0.0, 0.0, 0, "", None)
    strata, pooled = _strata(sample)
    chances = np.where(known & np.isfinite(sample.chances), sample.chances, 1.0)
    weights = np.where(known, sample.shares / chances, 0.0)
    if weight is None and np.allclose(sample.labels[known], sample.scores[known]):
        # Rare errors need not be in a sample: with a weight, the interval holds the truth in 66 %.
        weight = 0.0
    weighed = _weights(sample, strata, weights) if weight is None else np.full(known.size, weight)
    offset, correction, df = _corrections(sample, strata, weights, weighed)
    points = np.where(np.isnan(sample.fixed), 0.0, sample.fixed)
    residual = np.zeros(points.size)
    np.add.at(points, sample.units, sample.shares * (weighed * sample.scores + offset) + correction)
    np.add.at(residual, sample.units, correction)
    value = float(points.mean())
    reason = _not_drawn(sample)
    of_labels = sample.clusters[sample.units[known]]
    if not reason:
        reason = too_few(sample.labels[known], np.unique(of_labels).size)
    df = min(df, _label_df(of_labels))
    result = RectifiedMean(
        value, None, reason, points, residual, df, float(weighed.mean()), int(known.sum()), pooled,
        _correlation(sample, strata, known),
    )  # fmt: skip
    interval = None if reason else _interval(value, points, [residual], [df], sample.clusters)
    if interval is None:
        return _with(result, None, reason or "the labels and scores do not vary")
    return _with(result, (max(interval[0], bounds[0]), min(interval[1], bounds[1])), "")


def rectified_difference(
    first: RectifiedMean, second: RectifiedMean, clusters: NDArray[np.str_]
) -> tuple[float, Interval]:
    """Return first minus second over the same units, with its interval; None if either mean has none.

    A difference keeps what the judge gets wrong about both alike out of its error.

    Args:
        clusters: [units] labels, the same for both.
    """
    points, reasons = first.points - second.points, first.reason or second.reason
    value = float(points.mean())
    if reasons:
        return value, None
    parts = [first.residual, second.residual]
    return value, _interval(value, points, parts, [first.df_labels, second.df_labels], clusters)


def is_beyond(
    mean: RectifiedMean, null: RectifiedMean, of_null: JudgedSample, bounds: tuple[float, float], sign: int
) -> bool | None:
    """Return whether a mean is beyond a null's; None if it has no interval, or the null too few labels.

    The interval of the difference is made of those of both means (MOVER, Zou and Donner 2008), since a null
    with few labels has an error as large as the mean's. Where nearly all labels of the null are alike, it has
    no interval: the end is then that of the share of others (Clopper and Pearson).

    Args:
        of_null: the null's sample. sign: 1 if higher is better, else -1.
    """
    end = _far_end(null, of_null, bounds, sign)
    if mean.interval is None or mean.value is None or null.value is None or end is None:
        return None
    near = mean.value - mean.interval[0 if sign > 0 else 1]
    return sign * (mean.value - null.value) > math.hypot(near, end - null.value)


def expected_width(sample: JudgedSample, n: int, correlation: float, spread: float = 0.0) -> float:
    """Return about how wide the interval of a rectified mean is with n labels, drawn in proportion.

    Labels vary within strata as much as those of a pilot, from ``MIN_PILOT`` labels on, else as the scores,
    and correlate with these by `correlation`; what the judge explains of them, its square, needs no labels.

    Args:
        spread: least variance of labels without a pilot, such as that of yes and no where scores are grades.
    """
    strata = np.unique(sample.strata, return_inverse=True)[1]
    shares, known = sample.shares, sample.known

    def variance(values: FloatArray, weights: FloatArray) -> float:
        return float(weights @ _centred(values, strata, weights) ** 2) / float(weights.sum())

    of_scores = variance(sample.scores, shares)
    is_pilot = known.sum() >= MIN_PILOT
    wanted = variance(sample.labels, np.where(known, shares, 0.0)) if is_pilot else max(of_scores, spread)
    points = np.where(np.isnan(sample.fixed), 0.0, sample.fixed)
    np.add.at(points, sample.units, shares * sample.scores)
    code = np.unique(sample.clusters, return_inverse=True)[1]
    if np.unique(code).size < MIN_CLUSTERS:
        return math.inf
    _, deviations, df = mean_deviations(points, code)
    judged = np.unique(sample.units).size / points.size
    if of_scores > 0:
        of_all = wanted / of_scores * float((deviations**2).sum()) / deviations.size**2
    else:
        of_all = judged * wanted / points.size
    of_labels = judged**2 * wanted * (1 - correlation**2) * max(0.0, 1 / n - 1 / sample.scores.size)
    quantile = float(stdtrit(min(df, max(1.0, n - 1.0)), 0.975))
    return 2 * quantile * math.sqrt(of_all + of_labels)


def labels_needed(sample: JudgedSample, width: float, correlation: float, spread: float = 0.0) -> int | None:
    """Return the fewest labels whose interval is about so narrow; None if all labels together are too few.

    spread: as in ``expected_width``.
    """
    low, high = MIN_LABELS, sample.scores.size
    if high < low or expected_width(sample, high, correlation, spread) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        is_enough = expected_width(sample, middle, correlation, spread) <= width
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return low


def too_few(labels: FloatArray, n_clusters: int) -> str:
    """Return why such labels, in so many clusters, have no interval; "" if they have one."""
    if labels.size < MIN_LABELS:
        return f"{labels.size} labels, an interval needs {MIN_LABELS}"
    if n_clusters < MIN_CLUSTERS:
        return f"labels in {n_clusters} clusters, an interval needs {MIN_CLUSTERS}"
    return few_others(labels, "labels", MIN_LABELS_IF_RARE * (2 if n_clusters < MIN_CLUSTERS_IF_RARE else 1))


def _far_end(
    mean: RectifiedMean, sample: JudgedSample, bounds: tuple[float, float], sign: int
) -> float | None:
    """Return the better end of the interval of a null's mean; None if there is none."""
    place = 1 if sign > 0 else 0
    if mean.interval is not None:
        return mean.interval[place]
    labels = sample.labels[sample.known]
    if mean.value is None or labels.size < MIN_LABELS or not np.isfinite(sample.chances).all():
        return None
    values, counts = np.unique(labels, return_counts=True)
    usual, others = float(values[counts.argmax()]), labels.size - int(counts.max())
    far = usual + float(betaincinv(others + 1, labels.size - others, 0.975)) * (bounds[place] - usual)
    return sign * max(sign * far, sign * mean.value)


def _not_drawn(sample: JudgedSample) -> str:
    """Return why the labels are no random sample of all parts; "" if they are."""
    is_drawn = np.isfinite(sample.chances)
    if is_drawn.all() or not is_drawn.any():
        return "" if is_drawn.all() else NOT_DRAWN
    names = [name for name in np.unique(sample.strata[~is_drawn]).tolist() if name]
    where = f"in {', '.join(names[:3])}" if names else "of some dimension"
    return f"nobody rated a drawn answer {where}{' …' if len(names) > 3 else ''}, so there is no interval"


def _with(result: RectifiedMean, interval: Interval, reason: str) -> RectifiedMean:
    return RectifiedMean(**{**vars(result), "interval": interval, "reason": reason})


def _strata(sample: JudgedSample) -> tuple[IntArray, str]:
    """Return [n] numbers of the strata with corrections of their own, and why they are one, if so."""
    names, code = np.unique(sample.strata, return_inverse=True)
    labels = np.bincount(code[sample.known], minlength=names.size)
    few = [f"{name or 'unnamed'} ({n})" for name, n in zip(names, labels, strict=True) if n < MIN_STRATUM]
    if names.size == 1 or not few:
        return code.astype(np.intp), ""
    reason = f"one correction for all: fewer than {MIN_STRATUM} labels in {', '.join(few[:3])}"
    return np.zeros(code.size, dtype=np.intp), reason + (" …" if len(few) > 3 else "")


def _folds(sample: JudgedSample) -> IntArray:
    """Return [n] the fold of each part: clusters share one, or units if few clusters have labels."""
    by_cluster = np.unique(sample.clusters, return_inverse=True)[1][sample.units]
    groups = by_cluster if np.unique(by_cluster[sample.known]).size >= _FOLDS else sample.units
    labelled = np.unique(groups[sample.known])
    order = np.random.Generator(np.random.PCG64(0)).permutation(labelled.size) % _FOLDS
    folds = np.zeros(int(groups.max()) + 1, dtype=np.intp)
    folds[labelled] = order
    rest = np.setdiff1d(np.arange(folds.size), labelled)
    folds[rest] = rest % _FOLDS
    return folds[groups]


def _weights(sample: JudgedSample, strata: IntArray, weights: FloatArray) -> FloatArray:
    """Return [n] the judge's best weight, from the labels of the other folds; in [0, 1]."""
    fold = _folds(sample)
    best = np.array([_slope(sample, strata, np.where(fold == k, 0.0, weights)) for k in range(_FOLDS)])
    return best[fold]


def _slope(sample: JudgedSample, strata: IntArray, weights: FloatArray) -> float:
    """Return the slope of labels on scores within strata, cut to [0, 1]; 0 if the scores do not vary."""
    x, y = (_centred(values, strata, weights) for values in (sample.scores, sample.labels))
    size = float(weights @ x**2)
    return min(1.0, max(0.0, float(weights @ (x * y)) / size)) if size > 1e-12 else 0.0


def _centred(values: FloatArray, strata: IntArray, weights: FloatArray) -> FloatArray:
    """Return values less their stratum's weighted mean; 0 where there is no value."""
    own = np.where(weights > 0, values, 0.0)
    totals = np.bincount(strata, weights)
    means = np.divide(np.bincount(strata, weights * own), totals, out=np.zeros_like(totals), where=totals > 0)
    return np.where(weights > 0, own - means[strata], 0.0)


def _corrections(
    sample: JudgedSample, strata: IntArray, weights: FloatArray, weighed: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return [n] each part's mean error in its stratum, [n] the drawn part's own error beyond that, scaled to
    all parts, and the degrees of freedom of the latter.

    The own errors are as large as those of an unbiased variance: a stratum of k labels estimates its mean.
    """
    errors = np.where(weights > 0, sample.labels - weighed * sample.scores, 0.0)
    totals, sizes = np.bincount(strata, weights), np.bincount(strata, sample.shares)
    k = np.bincount(strata[weights > 0], minlength=totals.size)
    means = np.bincount(strata, weights * errors) / totals
    scale = np.sqrt(k / np.maximum(k - 1, 1)) * sizes / totals
    own = np.where(weights > 0, scale[strata] * weights * (errors - means[strata]), 0.0)
    spread = np.bincount(strata, own**2)
    size = float((spread**2 / np.maximum(k - 1, 1)).sum())
    df = float(spread.sum() ** 2 / size) if size > 0 else float(k.sum() - k.size)
    return means[strata], own, df


def _label_df(clusters: NDArray[np.str_]) -> float:
    """Return the degrees of freedom of the labels' clusters; none for a single one."""
    sizes = np.unique(clusters, return_counts=True)[1]
    return degrees_of_freedom(sizes / sizes.sum()) if sizes.size > 1 else 0.0


def _interval(
    value: float,
    points: FloatArray,
    parts: Sequence[FloatArray],
    dfs: Sequence[float],
    clusters: NDArray[np.str_],
) -> Interval:
    """Return the t interval of the points' mean, with the variance of clusters (CR2).

    Its degrees of freedom are Welch's and Satterthwaite's, from those of all clusters and of the labels'.
    """
    code = np.unique(clusters, return_inverse=True)[1]
    _, deviations, df = mean_deviations(points, code)
    total = float((deviations**2).sum()) / deviations.size**2
    of_parts = [float((np.bincount(code, part) ** 2).sum()) / points.size**2 for part in parts]
    if not total:
        return None
    rest = max(total - sum(of_parts), 0.0)
    size = rest**2 / df + sum(own**2 / own_df for own, own_df in zip(of_parts, dfs, strict=True) if own)
    terms = 2.0 if deviations.size < _FEW else 1.0
    return t_interval(value, deviations, min(df, max(1.0, (rest + sum(of_parts)) ** 2 / size)), terms)


def _correlation(sample: JudgedSample, strata: IntArray, known: BoolArray) -> float | None:
    weights = known.astype(np.float64)
    x, y = (_centred(values, strata, weights) for values in (sample.scores, sample.labels))
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 1e-12 else None
