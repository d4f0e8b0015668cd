"""How a model's numbers vary over origins: unevenness, and what they go along with. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tasks.evaluations.fmlama.groups import dish_means
from tasks.evaluations.fmlama.scores import FloatArray, ProbeScore
from tasks.metric_rows import Metric, percentile, scored, unscored
from tasks.metrics import bootstrap, comparison
from tasks.metrics.correlation import pearson

MIN_ORIGINS = 3


def spread_rows(score: ProbeScore, knobs: tuple[int, int]) -> Iterator[Metric]:
    """Coefficient of variation of mAP over origins, and correlations of origins' mAP, mWS and dish counts.

    Points are origins (table 1's CV and Pearson correlation of mAP with mWS; table 2's correlation with dish
    counts). Intervals resample dishes; a resample that misses an origin does without it.
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
    times = np.vstack([np.ones(len(code), dtype=np.int64), _times(len(code), knobs)])
    member = (code[:, None] == np.arange(n)).astype(np.float64)
    ap, ws = (_origin_means(dish_means(table), times, member) for table in (score.ap, score.ws))
    counts = member.sum(axis=0)
    for metric, compute in metrics.items():
        kept = [_present(a, w, counts, "mws" in metric) for a, w in zip(ap, ws, strict=True)]
        estimate, *replicates = [compute(*arrays) for arrays in kept]
        used = len(kept[0][0])
        if estimate is None:
            few = f"{used} origins have a score, {MIN_ORIGINS} are needed" if used < MIN_ORIGINS else None
            reason = (score.ws_reason if "mws" in metric else None) or few or "the origins do not vary"
            yield unscored(metric, where, reason, n, nulls.get(metric, 0.0))
        else:
            ci = percentile(replicates)
            yield scored(metric, where, estimate, (used, n - used), ci, nulls.get(metric, 0.0))


def _times(n_dishes: int, knobs: tuple[int, int]) -> np.typing.NDArray[np.int64]:
    """[resamples, dishes] how often each dish is drawn."""
    drawn = bootstrap.bootstrap_indices(n_dishes, *knobs)
    return np.array([np.bincount(row, minlength=n_dishes) for row in drawn])


def _origin_means(values: FloatArray, times: np.typing.NDArray[np.int64], member: FloatArray) -> FloatArray:
    """[1 + r, origins] mean over each origin's dishes, NaN where none is scored or drawn."""
    known = ~np.isnan(values)
    total = (times * np.where(known, values, 0.0)) @ member
    count = (times * known) @ member
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
