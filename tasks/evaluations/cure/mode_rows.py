"""Thin against thick: right on the same items, and how much it varies over countries. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tasks.evaluations.cure.mean_rows import by_country, knobs_of, main_reason, mean_row
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Labelled, Scored
from tasks.metric_rows import Metric, scored, unscored
from tasks.metrics.two_ways import mcnemar, spread
from tasks.metrics.types import FloatArray

LONE = "a spread needs two countries with an answer"


def mode_rows(study: Study, answers: Scored) -> Iterator[Metric]:
    """thin_thick_difference and _p per benchmark where both modes are asked; exact_match_iqr and _variance of
    each mode."""
    hits = {part: right(study, part[0], labelled) for part, labelled in answers.labelled.items()}
    for part, values in hits.items():
        yield from _spread_rows(study, part, values)
    if len(study.modes) == 2:
        for benchmark in study.benchmarks:
            parts = [answers.labelled[benchmark, mode] for mode in study.modes]
            thin, thick = (hits[benchmark, mode] for mode in study.modes)
            yield from _difference_rows(study, benchmark, thin, thick, parts)


def right(study: Study, benchmark: str, labelled: Labelled) -> FloatArray:
    """[items] 1 where the label is right, 0 where it is wrong, NaN where there is none."""
    pairs = zip(study.items(benchmark), labelled.labels, strict=True)
    return np.array([np.nan if label is None else float(label == item.label) for item, label in pairs])


def _difference_rows(
    study: Study, benchmark: str, thin: FloatArray, thick: FloatArray, parts: Sequence[Labelled]
) -> Iterator[Metric]:
    """Thick less thin exact match over items that have both labels, and McNemar's test."""
    where = ("benchmark", benchmark)
    reasons = np.where(parts[0].reasons == "", parts[1].reasons, parts[0].reasons)
    yield mean_row("thin_thick_difference", where, thick - thin, reasons, knobs_of(study), 0.0)
    both = ~(np.isnan(thin) | np.isnan(thick))
    if not both.any():
        yield unscored("thin_thick_p", where, main_reason(reasons), thin.size)
        return
    test = mcnemar(thin[both] == 1, thick[both] == 1)
    yield scored("thin_thick_p", where, test.p_value, (test.n, thin.size - test.n))


def _spread_rows(study: Study, part: tuple[str, str], hits: FloatArray) -> Iterator[Metric]:
    """Interquartile range and variance of exact match over countries."""
    places = by_country(study, part[0])
    shares = [values[~np.isnan(values)] for values in (hits[rows] for rows in places.values())]
    means = [float(known.mean()) for known in shares if known.size]
    spreads = spread(means)
    where = ("benchmark_mode", ":".join(part))
    for name in ("iqr", "variance"):
        if spreads is None:
            yield unscored(f"exact_match_{name}", where, LONE, max(len(places), 1))
        else:
            counts = (spreads.n, len(places) - spreads.n)
            yield scored(f"exact_match_{name}", where, getattr(spreads, name), counts)
