"""The numbers of one group of dishes under one condition: everything, or one origin. Pure.

A dish counts once: its value is its mean over templates. Intervals resample dishes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.fmlama.scores import FloatArray, ProbeScore
from tasks.metric_rows import Interval, Metric, Slice, scored, unscored
from tasks.metrics import bootstrap, comparison, false_predictions

Rows = NDArray[np.intp]

NO_ERROR = "no false prediction was made"
ALONE = "every dish with errors is the only one of its origin"
NO_VECTOR = "no dish has an ingredient and a prediction with a word vector"
ONE_TEMPLATE = "a spread over templates needs two of them"


def group_rows(score: ProbeScore, where: Slice, members: Rows, knobs: tuple[int, int]) -> Iterator[Metric]:
    """mAP, mWS and errors of some dishes; ``members`` are their rows, ``knobs`` resamples and seed."""
    n = len(members) * len(score.probe.templates)
    expected = score.expected
    nulls = {"map": _mean(expected.ap[members]), "mws": _mean(expected.ws[members])}
    if not score.templates:
        reason = next(iter(score.unscored.values()))
        for metric in ("map", "map_sd", "mws", "mws_sd"):
            yield unscored(metric, where, reason, n, nulls.get(metric))
        yield unscored("error_foreign", where, reason, len(members), _mean(expected.foreign[members]))
        yield unscored("error_inconsistency", where, reason, len(members))
        return
    ap, ws = score.ap[:, members], score.ws[:, members]
    yield from _mean_rows("map", where, ap, nulls["map"], n, knobs)
    if score.ws_reason or np.isnan(ws).all():
        reason = score.ws_reason or NO_VECTOR
        yield unscored("mws", where, reason, n, nulls["mws"])
        yield unscored("mws_sd", where, reason, n)
    else:
        yield from _mean_rows("mws", where, ws, nulls["mws"], n, knobs)
    yield from _error_rows(score, where, members, knobs)


def dish_means(table: FloatArray) -> FloatArray:
    """[dishes] mean over templates [t, dishes] of what is scored, NaN where nothing is."""
    known = ~np.isnan(table)
    total, count = np.where(known, table, 0.0).sum(axis=0), known.sum(axis=0)
    means: FloatArray = np.divide(total, count, out=np.full(table.shape[1], np.nan), where=count > 0)
    return means


def interval(values: FloatArray, knobs: tuple[int, int]) -> Interval:
    """95 % bootstrap interval of the mean of the scored dishes; None for fewer than two."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return None
    return comparison.mean_interval(known, bootstrap.bootstrap_indices(len(known), *knobs))


def _mean_rows(
    metric: str, where: Slice, table: FloatArray, null: float | None, n: int, knobs: tuple[int, int]
) -> Iterator[Metric]:
    """Mean over dishes with its interval, and the standard deviation (ddof 1) over templates' means."""
    means = dish_means(table)
    n_scored = int(np.count_nonzero(~np.isnan(table)))
    counts = (n_scored, n - n_scored)
    yield scored(metric, where, float(np.nanmean(means)), counts, interval(means, knobs), null)
    of_template = [float(np.nanmean(row)) for row in table if not np.isnan(row).all()]
    if len(of_template) < 2:
        yield unscored(f"{metric}_sd", where, ONE_TEMPLATE, n)
    else:
        yield scored(f"{metric}_sd", where, float(np.std(of_template, ddof=1)), counts)


def _error_rows(score: ProbeScore, where: Slice, members: Rows, knobs: tuple[int, int]) -> Iterator[Metric]:
    """Shares of foreign ingredients among false predictions, and how much errors change with the wording."""
    predicted, relevant = score.predicted(members), score.probe.relevant[members]
    confusions = false_predictions.confusions(predicted, relevant, score.expected.local[members])
    wrong = confusions.n_coarse + confusions.n_fine
    foreign = score.expected.foreign[members]
    has = (wrong > 0) & ~np.isnan(foreign)
    if not has.any():
        reason = ALONE if wrong.any() else NO_ERROR
        yield unscored("error_foreign", where, reason, len(members), _mean(foreign))
    else:
        share = confusions.n_coarse[has] / wrong[has]
        counts = (int(has.sum()), int((~has).sum()))
        yield scored("error_foreign", where, share.mean(), counts, interval(share, knobs), _mean(foreign))
    values, has = false_predictions.inconsistency(predicted, relevant)
    if not has.any():
        yield unscored("error_inconsistency", where, "no dish has errors under two templates", len(members))
    else:
        counts = (int(has.sum()), int((~has).sum()))
        yield scored("error_inconsistency", where, values.mean(), counts, interval(values, knobs))


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
