"""The numbers of one group of dishes under one condition, and how they vary over origins. Pure.

A dish counts once: its value is its mean over templates. Intervals are over dishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.fmlama.scores import FloatArray, ProbeScore
from tasks.loop.rows import Metric, Slice, known_interval, mean_of, mean_row, scored, unscored
from tasks.metrics import comparison, false_predictions
from tasks.metrics.agreement import pearson
from tasks.metrics.intervals import (
    CORRELATION,
    POSITIVE,
    SHARE,
    jackknife_groups,
    jackknife_interval,
)

Rows = NDArray[np.intp]

NO_ERROR = "no false prediction was made"
ALONE = "every dish with errors is the only one of its origin"
NO_VECTOR = "no dish has an ingredient and a prediction with a word vector"
MIN_ORIGINS = 3
ONE_TEMPLATE = "a spread over templates needs two of them"


def group_rows(score: ProbeScore, where: Slice, members: Rows) -> Iterator[Metric]:
    """mAP, mWS and errors of some dishes; ``members`` are their rows."""
    n = len(members) * len(score.probe.templates)
    expected = score.expected
    nulls = {"map": mean_of(expected.ap[members]), "mws": mean_of(expected.ws[members])}
    if not score.templates:
        reason = next(iter(score.unscored.values()))
        for metric in ("map", "map_sd", "mws", "mws_sd"):
            yield unscored(metric, where, reason, n, nulls.get(metric))
        yield unscored("error_foreign", where, reason, len(members), mean_of(expected.foreign[members]))
        yield unscored("error_inconsistency", where, reason, len(members))
        return
    ap, ws = score.ap[:, members], score.ws[:, members]
    yield from _mean_rows("map", where, ap, nulls["map"], n)
    if score.ws_reason or np.isnan(ws).all():
        reason = score.ws_reason or NO_VECTOR
        yield unscored("mws", where, reason, n, nulls["mws"])
        yield unscored("mws_sd", where, reason, n)
    else:
        yield from _mean_rows("mws", where, ws, nulls["mws"], n)
    yield from _error_rows(score, where, members)


def dish_means(table: FloatArray) -> FloatArray:
    """[dishes] mean over templates [t, dishes] of what is scored, NaN where nothing is."""
    known = ~np.isnan(table)
    total, count = np.where(known, table, 0.0).sum(axis=0), known.sum(axis=0)
    means: FloatArray = np.divide(total, count, out=np.full(table.shape[1], np.nan), where=count > 0)
    return means


def _mean_rows(metric: str, where: Slice, table: FloatArray, null: float | None, n: int) -> Iterator[Metric]:
    """Mean over dishes with its interval, and the standard deviation (ddof 1) over templates' means."""
    means = dish_means(table)
    n_scored = int(np.count_nonzero(~np.isnan(table)))
    counts = (n_scored, n - n_scored)
    interval = known_interval(means, bounds=SHARE if metric == "map" else CORRELATION)
    yield scored(metric, where, float(np.nanmean(means)), counts, interval, null)
    of_template = [float(np.nanmean(row)) for row in table if not np.isnan(row).all()]
    if len(of_template) < 2:
        yield unscored(f"{metric}_sd", where, ONE_TEMPLATE, n)
    else:
        yield scored(f"{metric}_sd", where, float(np.std(of_template, ddof=1)), counts)


def _error_rows(score: ProbeScore, where: Slice, members: Rows) -> Iterator[Metric]:
    """Shares of foreign ingredients among false predictions, and how much errors change with the wording."""
    predicted, relevant = score.predicted(members), score.probe.relevant[members]
    confusions = false_predictions.confusions(predicted, relevant, score.expected.local[members])
    wrong = confusions.n_coarse + confusions.n_fine
    foreign = score.expected.foreign[members]
    share = np.where((wrong > 0) & ~np.isnan(foreign), confusions.n_coarse / np.maximum(wrong, 1), np.nan)
    reason = ALONE if wrong.any() else NO_ERROR
    yield mean_row("error_foreign", where, share, reason, bounds=SHARE, null=mean_of(foreign))
    inconsistency = np.full(len(members), np.nan)
    values, has = false_predictions.inconsistency(predicted, relevant)
    inconsistency[has] = values
    reason = "no dish has errors under two templates"
    yield mean_row("error_inconsistency", where, inconsistency, reason, bounds=SHARE)


MIN_DISHES_OF_ORIGIN = 100
"""On average, for the interval of a correlation over origins (docs/intervals.md)."""

DISHES_TO_COMPARE = 10
"""On average, for a comparison of two runs' spreads over origins (docs/intervals.md)."""


def spread_rows(score: ProbeScore, seed: int) -> Iterator[Metric]:
    """Coefficient of variation of mAP over origins, and correlations of origins' mAP, mWS and dish counts.

    Points are origins (table 1's CV and Pearson correlation of mAP with mWS; table 2's correlation with dish
    counts). Intervals leave dishes out.
    """
    where = ("condition", score.probe.condition.slug)
    origins, code = np.unique(score.probe.origins, return_inverse=True)
    n = len(origins)
    metrics: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float | None]] = {
        "map_cv": lambda ap, ws, count: comparison.coefficient_of_variation(ap),
        "map_mws_correlation": lambda ap, ws, count: _correlation(ap, ws),
        "map_count_correlation": lambda ap, ws, count: _correlation(ap, count),
        "mws_count_correlation": lambda ap, ws, count: _correlation(ws, count),
    }
    nulls = {"map_cv": None}
    if n < MIN_ORIGINS or not score.templates:
        reason = next(iter(score.unscored.values()), f"{n} origins, {MIN_ORIGINS} are needed")
        for metric in metrics:
            yield unscored(metric, where, reason, n, nulls.get(metric, 0.0))
        return
    dishes = np.arange(len(code))
    kept_dishes = np.array([np.isin(dishes, kept) for kept in [dishes, *jackknife_groups(len(code), seed)]])
    member = (code[:, None] == np.arange(n)).astype(np.float64)
    ap, ws = (origin_means(dish_means(table), kept_dishes, member) for table in (score.ap, score.ws))
    counts = member.sum(axis=0)
    for metric, compute in metrics.items():
        kept = [_present(a, w, counts, "mws" in metric) for a, w in zip(ap, ws, strict=True)]
        estimate, *left_out = [compute(*arrays) for arrays in kept]
        used = len(kept[0][0])
        if estimate is None:
            few = f"{used} origins have a score, {MIN_ORIGINS} are needed" if used < MIN_ORIGINS else None
            reason = (score.ws_reason if "mws" in metric else None) or few or "the origins do not vary"
            yield unscored(metric, where, reason, n, nulls.get(metric, 0.0))
        else:
            is_cv = metric == "map_cv"
            # Few dishes of an origin make its mean noisy, which looks like unevenness, and hides what goes
            # together: that far the interval of a correlation would lie too low.
            ci = jackknife_interval(estimate, left_out, POSITIVE if is_cv else CORRELATION, is_biased=True)
            ci = ci if is_cv or len(code) >= MIN_DISHES_OF_ORIGIN * n else None
            yield scored(metric, where, estimate, (used, n - used), ci, nulls.get(metric, 0.0))


def origin_means(values: FloatArray, kept: NDArray[np.bool_], member: FloatArray) -> FloatArray:
    """[1 + g, origins] mean over each origin's dishes that are kept, NaN where none is scored."""
    known = ~np.isnan(values)
    total = (kept * np.where(known, values, 0.0)) @ member
    count = (kept * known) @ member
    means: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def _present(
    ap: FloatArray, ws: FloatArray, counts: FloatArray, needs_ws: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The origins that have what the metric needs."""
    kept = ~np.isnan(ap) & (~np.isnan(ws) if needs_ws else True)
    return ap[kept], ws[kept], counts[kept]


def _correlation(x: FloatArray, y: FloatArray) -> float | None:
    return pearson(x, y) if len(x) >= MIN_ORIGINS else None
