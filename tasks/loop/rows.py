"""One row of ``metric_value``, as every evaluation makes it, and the points that it is taken over. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tasks.identity import digest
from tasks.metrics.intervals import UNBOUNDED, mean_interval
from tasks.metrics.types import BoolArray, FloatArray, IntArray, Interval

Slice = tuple[str, str]
"""(slice_kind, slice)"""

OVERALL: Slice = ("overall", "all")

Reasons = NDArray[np.object_]
"""Why points are unscored, "" where they are not."""

NOTHING = "nothing was scored"


class Points(NamedTuple):
    """Values that a headline is taken over: stored, so that two runs can be compared point by point.

    Attributes:
        design: item: the headline is the mean of ``values``; left_out, half: its values on resamples
            (``intervals.jackknife_groups``, ``half_samples``), so that it need not be a mean.
        units: names of the items, or of the resamples: the same for all models, occasions and wordings.
        clusters: of each unit. n: clusters that resamples are made of.
    """

    design: Literal["item", "left_out", "half"]
    units: tuple[str, ...]
    values: tuple[float, ...]
    clusters: tuple[str, ...]
    n: int


class Metric(NamedTuple):
    """One row of ``metric_value``, without the run; ``points``: of a headline, stored apart."""

    metric: str
    slice_kind: str
    slice: str
    value: float | None
    unscored_reason: str | None
    n_scored: int
    n_unscored: int
    ci_low: float | None = None
    ci_high: float | None = None
    null_value: float | None = None
    points: Points | None = None


def item_points(names: ArrayLike, values: FloatArray, clusters: ArrayLike | None = None) -> Points | None:
    """The items of a headline that is their mean; None if none has a value.

    Args:
        names: of the shape of ``values``, each once; clusters: of that shape, default: each item is one.
        values: NaN is unscored.
    """
    known = ~np.isnan(values)
    units = np.asarray(names)[known].astype(str).tolist()
    of_unit = units if clusters is None else np.asarray(clusters)[known].astype(str).tolist()
    if not units:
        return None
    return Points("item", tuple(units), tuple(values[known].tolist()), tuple(of_unit), len(set(of_unit)))


def resampled_points(
    design: Literal["left_out", "half"],
    names: Sequence[str],
    subsets: Sequence[IntArray] | IntArray,
    values: Iterable[float | None],
) -> Points | None:
    """A headline's values on resamples; None if there are no resamples.

    Args:
        names: of all units that are resampled, with answers or without.
        kept: of each resample the positions in ``names`` that it has. It is named by what it keeps, and by
            how often that came before.
        values: of each resample; None or NaN where it has none.
    """
    if not len(subsets):
        return None
    drawn: Counter[str] = Counter()
    units = []
    for positions in subsets:
        unit = digest(sorted(names[i] for i in positions), 12)
        drawn[unit] += 1  # of few units the same half comes again
        units.append(unit if drawn[unit] == 1 else f"{unit}-{drawn[unit]}")
    numbers = tuple(np.nan if value is None else float(value) for value in values)
    return Points(design, tuple(units), numbers, tuple(units), len(names))


def scored(
    metric: str,
    where: Slice,
    value: float,
    counts: tuple[int, int],
    interval: Interval = None,
    null: float | None = None,
    points: Points | None = None,
) -> Metric:
    """A row with a value; counts: (n_scored, n_unscored); points: of a headline, where it is overall."""
    low, high = (float(interval[0]), float(interval[1])) if interval else (None, None)
    beside = None if null is None else float(null)
    return Metric(metric, *where, float(value), None, *counts, low, high, beside, points)


def unscored(metric: str, where: Slice, reason: str, n: int, null: float | None = None) -> Metric:
    """A row without a value, with the reason; n: points that should have been in it."""
    return Metric(metric, *where, None, reason, 0, n, None, None, null)


def mean_row(
    metric: str,
    where: Slice,
    values: FloatArray,
    reasons: Reasons | str,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] = UNBOUNDED,
    null: float | None = None,
    items: ArrayLike | None = None,
) -> Metric:
    """The mean of the known values with its interval (``intervals.mean_interval``); NaN is unscored.

    Args:
        values: of any shape; clusters: labels of that shape. reasons: why points are unscored, or all are.
        items: of a headline, the names of the points, of that shape (``item_points``).
    """
    known = ~np.isnan(values)
    n, n_known = values.size, int(known.sum())
    if not n_known:
        reason = reasons if isinstance(reasons, str) else main_reason(reasons)
        return unscored(metric, where, reason, n, null)
    interval = known_interval(values, clusters, bounds)
    points = None if items is None else item_points(items, values, clusters)
    return scored(metric, where, float(values[known].mean()), (n_known, n - n_known), interval, null, points)


def difference_row(
    metric: str,
    where: Slice,
    first: tuple[FloatArray, Reasons],
    second: tuple[FloatArray, Reasons],
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] = UNBOUNDED,
    items: ArrayLike | None = None,
) -> Metric:
    """The mean of first less second, point by point, beside 0; see ``mean_row``.

    Args:
        first, second: values and why they are unscored. A point that lacks one is unscored, for the first's
            reason if it lacks that.
    """
    reasons = np.where(first[1] == "", second[1], first[1])
    return mean_row(metric, where, first[0] - second[0], reasons, clusters, bounds, 0.0, items)


def count_rows(lost: Reasons) -> Iterator[Metric]:
    """``coverage``, the share of points that have an answer, and ``unanswered``, why the rest have none.

    lost: why there is no answer, "" where there is one.
    """
    counts = Counter(reason for reason in lost.tolist() if reason)
    n = lost.size
    yield scored("coverage", OVERALL, 1 - counts.total() / n, (n, 0))
    for reason, count in sorted(counts.items()):
        yield scored("unanswered", ("reason", reason), count / n, (n, 0))


def slices(columns: Mapping[str, ArrayLike], n: int) -> Iterator[tuple[Slice, BoolArray]]:
    """Every slice with the points that are in it, the overall one first; a point without a value is in none
    of that column's.

    Args:
        columns: name -> [n] texts.
    """
    yield OVERALL, np.full(n, True)
    for kind, values in columns.items():
        of_points = np.asarray(values)
        yield from (((kind, value), of_points == value) for value in sorted(set(of_points.tolist())) if value)


def unless_lost_alone(values: FloatArray, reasons: Reasons, lost: Reasons) -> tuple[FloatArray, Reasons]:
    """Values and reasons, all unscored where nothing but lost answers is scored, as when every judge failed:
    lost answers, which count as wrong, are no number by themselves.

    Args:
        lost: why there is no answer, "" where there is one.
    """
    is_there = lost == ""
    if not is_there.any() or not np.isnan(values[is_there]).all():
        return values, reasons
    return np.full(values.shape, np.nan), np.where(reasons == "", main_reason(reasons[is_there]), reasons)


def known_interval(
    values: FloatArray, clusters: ArrayLike | None = None, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    """``mean_interval`` of the values that are not NaN; None where all are."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    return mean_interval(values[known], None if clusters is None else np.asarray(clusters)[known], bounds)


def mean_of(values: FloatArray) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def main_reason(reasons: Reasons) -> str:
    """The most frequent reason, of equally frequent ones the first in code-point order."""
    counts = Counter(reason for reason in reasons.ravel().tolist() if reason)
    return min(counts, key=lambda reason: (-counts[reason], reason)) if counts else NOTHING


def metric_frame(model: str, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Metric rows of a model as rows of the table ``metric_value``."""
    frame = pl.DataFrame(metrics, schema=Metric._fields, orient="row", infer_schema_length=None)
    return frame.drop("points").with_columns(model=pl.lit(model))


def points_frame(metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return the headlines' values, as rows of the kind ``headline_value``.

    Raises:
        ValueError: a row that is not overall has points: metric and unit alone name a value.
    """
    if slices := [row[:3] for row in metrics if row.points and row[1:3] != OVERALL]:
        raise ValueError(f"{slices[0]}: only an overall row may have points")
    frames = [
        pl.DataFrame(
            {"unit": points.units, "value": points.values, "cluster": points.clusters},
            schema_overrides={"value": pl.Float64},
        ).with_columns(
            pl.col("value").fill_nan(None),
            metric=pl.lit(row.metric),
            design=pl.lit(points.design),
            n_clusters=pl.lit(points.n),
        )
        for row in metrics
        if (points := row.points) is not None
    ]
    return pl.concat(frames) if frames else pl.DataFrame()
