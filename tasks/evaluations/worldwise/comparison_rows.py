"""Whether cultures differ within a model, and models from each other: tests, and sources of variance. Pure.

The tests are those of WorldWiseAI 2024. They take answers as independent, which they are not
(``tasks.metrics.group_tests``); the intervals draw scenarios again and are the ones to rely on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tasks.evaluations.worldwise.groups import knobs_of
from tasks.evaluations.worldwise.requests import Study
from tasks.evaluations.worldwise.resamples import percentiles, resampled_means, scenario_weights
from tasks.evaluations.worldwise.scores import Placed
from tasks.metric_rows import OVERALL, Interval, Metric, scored, unscored
from tasks.metrics.clusters import RESIDUAL, variance_split
from tasks.metrics.group_tests import PairTest, one_way_anova, pairwise_t_tests
from tasks.metrics.types import FloatArray

FACTORS = ("scenario", "persona", "model", RESIDUAL)
ONE_LEVEL = "there is one {} only"

Alignments = Mapping[str, FloatArray]
"""model -> [C, S, R] alignment, NaN where unscored and for the baseline"""


def culture_rows(study: Study, placed: Placed) -> list[Metric]:
    """ANOVA of alignment over cultures, and every pair of cultures: first less second."""
    cultures = study.content.cultures
    tables = {cultures[c].culture: placed.alignment[c : c + 1] for c in range(1, len(cultures))}
    rows = list(_anova_rows("culture", tables))
    intervals = _pair_intervals(study, tables)
    for test in pairwise_t_tests(_known(tables)):
        rows += _pair_rows("culture", f"{test.first}:{test.second}", test, tables, intervals)
    return rows


def cross_model_rows(study: Study, alignments: Alignments) -> dict[str, list[Metric]]:
    """For each of one or more models: sources of variance, ANOVA over models, and this model
    less each other."""
    tables = {model: alignments[model][1:] for model in sorted(alignments)}
    shared = [*_variance_rows(tables), *_anova_rows("model", tables)]
    rows = {model: list(shared) for model in tables}
    intervals = _pair_intervals(study, tables)
    for test in pairwise_t_tests(_known(tables)):
        rows[test.first] += _pair_rows("model", test.second, test, tables, intervals)
        rows[test.second] += _pair_rows("model", test.first, _turned(test), tables, intervals)
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


def _anova_rows(what: str, tables: Alignments) -> Iterator[Metric]:
    anova = one_way_anova(_known(tables))
    n, n_known = _sizes(*tables.values())
    values = {"anova_f": anova.f, "anova_p": anova.p_value, "eta_squared": anova.eta_squared}
    for name, value in values.items():
        if value is None:
            yield unscored(f"{what}_{name}", OVERALL, anova.reason or "", n)
        else:
            yield scored(f"{what}_{name}", OVERALL, value, (n_known, n - n_known))


def _pair_rows(
    what: str,
    name: str,
    test: PairTest,
    tables: Alignments,
    intervals: Mapping[tuple[str, str], Interval],
) -> Iterator[Metric]:
    """Difference of the means, Bonferroni's p and Cohen's d of one pair."""
    where = (f"{what}_pair", name)
    n, n_known = _sizes(tables[test.first], tables[test.second])
    values = {"difference": test.mean_difference, "difference_p": test.p_bonferroni, "cohens_d": test.d}
    for metric, value in values.items():
        null = None if metric == "difference_p" else 0.0
        if value is None:
            yield unscored(f"{what}_{metric}", where, test.reason or "", n, null)
        else:
            interval = intervals.get((test.first, test.second)) if metric == "difference" else None
            yield scored(f"{what}_{metric}", where, value, (n_known, n - n_known), interval, null)


def _pair_intervals(study: Study, tables: Alignments) -> dict[tuple[str, str], Interval]:
    """(first, second) -> interval of first less second, in either direction; tables are [cultures, S, R]."""
    groups = np.stack([np.moveaxis(t, 1, 0).reshape(study.shape[1], -1) for t in tables.values()])
    weights = scenario_weights(study.shape[1], knobs_of(study))
    if weights is None:
        return {}
    means = dict(zip(tables, resampled_means(groups, weights).T, strict=True))
    return {(a, b): percentiles(means[a] - means[b]) for a in means for b in means if a != b}


def _turned(test: PairTest) -> PairTest:
    """The same test from the other side."""
    return PairTest(
        test.second,
        test.first,
        None if test.mean_difference is None else -test.mean_difference,
        None if test.t is None else -test.t,
        test.p_value,
        test.p_bonferroni,
        None if test.d is None else -test.d,
        test.reason,
    )


def _known(tables: Alignments) -> dict[str, FloatArray]:
    return {name: table[~np.isnan(table)] for name, table in tables.items()}


def _sizes(*tables: FloatArray) -> tuple[int, int]:
    """Samples, and those with a value."""
    return sum(t.size for t in tables), sum(int((~np.isnan(t)).sum()) for t in tables)
