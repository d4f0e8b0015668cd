"""Rows of ``metric_value`` and the points that headlines are computed from. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

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
"""Why each point is unscored; "" for scored ones."""

NOTHING = "nothing was scored"


class Points(NamedTuple):
    """The values behind a headline, stored so that two runs can be compared point by point.

    Attributes:
        design: item: the headline is the mean of ``values``; left_out, half: ``values`` are the headline on
            resamples (``intervals.jackknife_groups``, ``half_samples``), for headlines that are not means.
        units: names of the items or resamples, the same for all models, occasions and wordings.
        clusters: of each unit. n: number of clusters that were resampled.
    """

    design: Literal["item", "left_out", "half"]
    units: tuple[str, ...]
    values: tuple[float, ...]
    clusters: tuple[str, ...]
    n: int


class Metric(NamedTuple):
    """A row of ``metric_value``, without its run; ``points``: of a headline, stored as a part."""

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
    """Return the points of a headline that is the mean of items; None if none is scored.

    Args:
        names: unique names, in the shape of ``values``. clusters: in that shape; default: each item is one.
        values: NaN is unscored.
    """
    known = ~np.isnan(values)
    units = np.asarray(names)[known].astype(str).tolist()
    cluster_names = units if clusters is None else np.asarray(clusters)[known].astype(str).tolist()
    if not units:
        return None
    n_clusters = len(set(cluster_names))
    return Points("item", tuple(units), tuple(values[known].tolist()), tuple(cluster_names), n_clusters)


def resampled_points(
    design: Literal["left_out", "half"],
    names: Sequence[str],
    subsets: Sequence[IntArray] | IntArray,
    values: Iterable[float | None],
) -> Points | None:
    """Return a headline's values on resamples; None if there are no resamples.

    Args:
        names: of all resampled units, answered or not.
        subsets: for each resample the positions of its units in ``names``. A hash of these units names it,
            with a number if the same subset was drawn before.
        values: of each resample; None or NaN is unscored.
    """
    if not len(subsets):
        return None
    drawn: Counter[str] = Counter()
    units = []
    for positions in subsets:
        unit = digest(sorted(names[i] for i in positions), 12)
        drawn[unit] += 1  # with few units, halves repeat
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
    """Return a row with a value; counts: (n_scored, n_unscored); points: of an overall headline."""
    low, high = (float(interval[0]), float(interval[1])) if interval else (None, None)
    null_value = None if null is None else float(null)
    return Metric(metric, *where, float(value), None, *counts, low, high, null_value, points)


def unscored(metric: str, where: Slice, reason: str, n: int, null: float | None = None) -> Metric:
    """Return a row without a value, with the reason; n: number of unscored points."""
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
    """Return the row of the mean of the values with its interval (``intervals.mean_interval``).

    Args:
        values: of any shape; NaN is unscored. clusters: labels in that shape. reasons: for each unscored
            point, or one for all. items: for a headline, names of the points in that shape (``item_points``).
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
    """Return the row of the mean of first minus second, point by point, with null 0; see ``mean_row``.

    Args:
        first, second: values and reasons. A point without one of the values is unscored, for the first's
            reason if both are missing.
    """
    reasons = np.where(first[1] == "", second[1], first[1])
    return mean_row(metric, where, first[0] - second[0], reasons, clusters, bounds, 0.0, items)


def count_rows(lost: Reasons) -> Iterator[Metric]:
    """Yield ``coverage``, the share of answered points, and ``unanswered``, the share lost for each reason.

    lost: for each point why it has no answer; "" if it has one.
    """
    counts = Counter(reason for reason in lost.tolist() if reason)
    n = lost.size
    yield scored("coverage", OVERALL, 1 - counts.total() / n, (n, 0))
    for reason, count in sorted(counts.items()):
        yield scored("unanswered", ("reason", reason), count / n, (n, 0))


class Clustered:
    """Base of studies whose items have a name and a cluster; all arrays have the items' order."""

    items: Sequence[Any]

    @cached_property
    def names(self) -> NDArray[np.str_]:
        """[items] the items' names."""
        return np.array([item.name for item in self.items])

    @cached_property
    def clusters(self) -> NDArray[np.str_]:
        """[items] the items' clusters."""
        return np.array([item.cluster for item in self.items])


def slices(columns: Mapping[str, ArrayLike], n: int) -> Iterator[tuple[Slice, BoolArray]]:
    """Yield every slice with a mask of its points, the overall slice first.

    A point with an empty text in a column is in none of that column's slices.

    Args:
        columns: name -> [n] texts.
    """
    yield OVERALL, np.full(n, True)
    for kind, texts in columns.items():
        column = np.asarray(texts)
        yield from (((kind, value), column == value) for value in sorted(set(column.tolist())) if value)


def unless_lost_alone(values: FloatArray, reasons: Reasons, lost: Reasons) -> tuple[FloatArray, Reasons]:
    """Return values and reasons; all are unscored if the only scored points are lost answers.

    That happens if every judge failed. Lost answers count as wrong, but alone they measure nothing.

    Args:
        lost: for each point why it has no answer; "" if it has one.
    """
    answered = lost == ""
    if not answered.any() or not np.isnan(values[answered]).all():
        return values, reasons
    return np.full(values.shape, np.nan), np.where(reasons == "", main_reason(reasons[answered]), reasons)


def known_interval(
    values: FloatArray, clusters: ArrayLike | None = None, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    """Return ``mean_interval`` of the values that are not NaN; None if all are."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    return mean_interval(values[known], None if clusters is None else np.asarray(clusters)[known], bounds)


def mean_of(values: FloatArray) -> float | None:
    """Return the mean of the values that are not NaN; None if all are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def main_reason(reasons: Reasons) -> str:
    """Return the most frequent reason; of equally frequent ones, the first in code-point order."""
    counts = Counter(reason for reason in reasons.ravel().tolist() if reason)
    return min(counts, key=lambda reason: (-counts[reason], reason)) if counts else NOTHING


def metric_frame(model: str, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return a model's metric rows as rows of the table ``metric_value``."""
    frame = pl.DataFrame(metrics, schema=Metric._fields, orient="row", infer_schema_length=None)
    return frame.drop("points").with_columns(model=pl.lit(model))


def points_frame(metrics: Sequence[Metric]) -> pl.DataFrame:
    """Return the headlines' points as rows of the kind ``headline_value``.

    Raises:
        ValueError: a row that is not overall has points; values are named by metric and unit alone.
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
