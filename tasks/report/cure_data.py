"""What the cure page is made from: frames of one configuration, as the warehouse has them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

BENCHMARKS = {"normad": "NormAd", "casa": "CASA", "culturebank": "CultureBank", "specnorm": "SpecNorm"}
"""In the order of every table."""

METRICS = {
    "normad": "coverage",
    "casa": "connotation",
    "culturebank": "coherence",
    "specnorm": "specificity",
}
"""benchmark -> what its explanations are judged on"""

MODES = ("thin", "thick")

NULLS = {"shuffled": "another item’s", "generic": "a generic one", "empty": "an empty one"}
"""Explanations that know nothing of the item."""


@dataclass(frozen=True)
class CureData:
    """The frames of one configuration. Null values are unscored numbers.

    Attributes:
        config_hash: which configuration this is.
        leaderboard: the view leaderboard_cure: by benchmark, in it models, null models last.
        differences: the view cure_thin_vs_thick, without null models.
        values: every number: model, is_null, metric, slice_kind, slice, value, unscored_reason, n_scored,
            n_unscored, ci_low, ci_high, null_value.
        countries: country, name.
        verdicts: who judged what: judge, rubric, metric, n_verdicts, n_unscored, n_graded.
        validation: the table judge_validation, of those judges and rubrics.
        metrics, runs, unscored, sources, configurations: as in ``ReportData``.
    """

    config_hash: str
    leaderboard: pl.DataFrame
    differences: pl.DataFrame
    values: pl.DataFrame
    countries: pl.DataFrame
    verdicts: pl.DataFrame
    validation: pl.DataFrame
    metrics: pl.DataFrame
    runs: pl.DataFrame
    unscored: pl.DataFrame
    sources: pl.DataFrame
    configurations: pl.DataFrame
