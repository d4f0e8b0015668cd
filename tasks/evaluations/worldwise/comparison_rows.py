"""Whether cultures differ within a model, and models from each other: tests, and sources of variance. Pure.

Tests and intervals are over scenarios (``tasks.metrics.group_tests``); with the parameter ``reproduce`` the
tests are those of WorldWiseAI 2024, which take answers as independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.scores import Placed
from tasks.loop.rows import OVERALL, Metric, scored, unscored
from tasks.metrics.clusters import RESIDUAL, variance_split
from tasks.metrics.group_tests import PairTest, group_test, pair_tests
from tasks.metrics.intervals import jackknife
from tasks.metrics.types import FloatArray, IntArray, Interval

FACTORS = ("scenario", "persona", "model", RESIDUAL)
ONE_LEVEL = "there is one {} only"

Alignments = Mapping[str, FloatArray]
"""model -> [C, S, R] alignment, NaN where unscored and for the baseline"""


def culture_rows(study: Study, placed: Placed) -> list[Metric]:
    """Test of alignment over cultures, and every pair of cultures: first less second."""
    cultures = study.content.cultures
    tables = {cultures[c].culture: placed.alignment[c] for c in range(1, len(cultures))}
    rows = list(_test_rows(study, "culture", tables))
    for test in pair_tests(tables, study.params.reproduce):
        rows += _pair_rows("culture", f"{test.first}:{test.second}", test, tables)
    return rows


def cross_model_rows(study: Study, alignments: Alignments) -> dict[str, list[Metric]]:
    """For each of one or more models: sources of variance, test over models, and this model less each
    other."""
    shared = list(_variance_rows({model: alignments[model][1:] for model in sorted(alignments)}))
    # [scenarios, cultures and repetitions]
    tables = {m: np.moveaxis(alignments[m][1:], 1, 0).reshape(study.shape[1], -1) for m in sorted(alignments)}
    shared += _test_rows(study, "model", tables)
    rows = {model: list(shared) for model in tables}
    for test in pair_tests(tables, study.params.reproduce):
        rows[test.first] += _pair_rows("model", test.second, test, tables)
        rows[test.second] += _pair_rows("model", test.first, _turned(test), tables)
    return rows


def _variance_rows(tables: Alignments) -> Iterator[Metric]:
    """Shares of the variance of alignment over all models together."""
    stacked = np.stack(list(tables.values()))
    model, culture, scenario, _ = known = np.nonzero(~np.isnan(stacked))
    labels = {"scenario": scenario, "persona": culture, "model": model}
    counts = (len(model), stacked.size - len(model))
    reason, shares = "no answer was scored", {}
    if len(model):
        split = variance_split(stacked[known], labels)
        reason, shares = split.reason or "", split.shares
    for factor in FACTORS:
        metric = f"variance_{factor}"
        if factor in shares:
            yield scored(metric, OVERALL, shares[factor], counts)
        else:
            yield unscored(metric, OVERALL, reason or ONE_LEVEL.format(factor), stacked.size)


def _test_rows(study: Study, what: str, tables: Alignments) -> Iterator[Metric]:
    test = group_test(tables, study.params.reproduce)
    n, n_known = _sizes(*tables.values())
    values = {"anova_f": test.f, "anova_p": test.p_value, "eta_squared": test.eta_squared}
    for name, value in values.items():
        if value is None:
            yield unscored(f"{what}_{name}", OVERALL, test.reason or "", n)
        else:
            yield scored(f"{what}_{name}", OVERALL, value, (n_known, n - n_known))


def _pair_rows(what: str, name: str, test: PairTest, tables: Alignments) -> Iterator[Metric]:
    """Difference of the means, Bonferroni's p and Cohen's d of one pair."""
    where = (f"{what}_pair", name)
    first, second = tables[test.first], tables[test.second]
    n, n_known = _sizes(first, second)
    values = {"difference": test.mean_difference, "difference_p": test.p_bonferroni, "cohens_d": test.d}
    for metric, value in values.items():
        null = None if metric == "difference_p" else 0.0
        if value is None:
            yield unscored(f"{what}_{metric}", where, test.reason or "", n, null)
        else:
            interval = _interval(first, second) if metric == "difference" else None
            yield scored(f"{what}_{metric}", where, value, (n_known, n - n_known), interval, null)


def _interval(first: FloatArray, second: FloatArray) -> Interval:
    """Of the difference of two means, over scenarios."""

    def difference(kept: IntArray) -> float | None:
        one, other = (table[kept][~np.isnan(table[kept])] for table in (first, second))
        return float(one.mean() - other.mean()) if one.size and other.size else None

    return jackknife(difference, np.arange(len(first)))


def _turned(test: PairTest) -> PairTest:
    """The same test from the other side."""
    difference, t, d = (None if v is None else -v for v in (test.mean_difference, test.t, test.d))
    return replace(test, first=test.second, second=test.first, mean_difference=difference, t=t, d=d)


def _sizes(*tables: FloatArray) -> tuple[int, int]:
    """Samples, and those with a value."""
    return sum(t.size for t in tables), sum(int((~np.isnan(t)).sum()) for t in tables)
