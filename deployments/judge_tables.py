"""How judges compare with people, as tables: to be shown, and to be stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from tasks.evaluations.cure.human_ratings import Row, code
from tasks.judging.disagreements import disagreements
from tasks.judging.rated import Judged
from tasks.judging.ratings import Rating
from tasks.judging.validation import judge_agreement, people_agreement, reliability_curves

Scores = Mapping[str, Sequence[Judged]]
"""Judge -> its scores."""

PEOPLE = "krippendorff_alpha"
METRICS = {
    **{f"alpha_{level}": f"{PEOPLE}_{level}" for level in ("nominal", "ordinal", "interval")},
    "kappa": "cohen_kappa",
    "kappa_quadratic": "cohen_kappa_quadratic",
    **{name: name for name in ("pearson", "spearman", "pearson_graded", "spearman_graded", "brier")},
    "calibration_error": "expected_calibration_error",
}
"""Metric of ``validation`` -> its name in the table judge_validation."""

AGREEMENT = {
    **dict.fromkeys(("judge", "dimension", "metric"), pl.String),
    **dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64),
    **dict.fromkeys(("n", "n_dropped"), pl.Int64),
    "unscored_reason": pl.String,
}
RELIABILITY = {
    **dict.fromkeys(("judge", "dimension"), pl.String),
    **dict.fromkeys(("low", "high"), pl.Float64),
    "n": pl.Int64,
    **dict.fromkeys(("mean_score", "observed", "ci_low", "ci_high"), pl.Float64),
}
DISAGREEMENTS = {
    **dict.fromkeys(("judge", "dimension", "item", "model", "benchmark", "benchmark_item"), pl.String),
    **dict.fromkeys(("people", "judge_score"), pl.Float64),
    "n_annotators": pl.Int64,
    "pattern": pl.String,
}


def agreement(ratings: Sequence[Rating], scores: Scores, replicates: int, seed: int) -> pl.DataFrame:
    """Columns ``AGREEMENT``: people among themselves, then each judge with them, by dimension."""
    people = people_agreement(ratings, replicates, seed)
    rows = [
        asdict(row) | {"judge": judge, "metric": METRICS[row.metric]}
        for judge, judged in scores.items()
        for row in sorted(
            (*people, *judge_agreement(ratings, judged, replicates, seed)), key=lambda row: row.dimension
        )
    ]
    return pl.DataFrame(rows, schema=AGREEMENT)


def reliability(ratings: Sequence[Rating], scores: Scores) -> pl.DataFrame:
    """Columns ``RELIABILITY``: graded scores in bins, and the share of items that most people rate yes."""
    rows = [
        {"judge": judge, "dimension": dimension, **found._asdict()}
        for judge, judged in scores.items()
        for dimension, curve in reliability_curves(ratings, judged).items()
        for found in curve
    ]
    return pl.DataFrame(rows, schema=RELIABILITY)


def apart(ratings: Sequence[Rating], scores: Scores, explanations: Sequence[Row]) -> pl.DataFrame:
    """Columns ``DISAGREEMENTS``: what judges and people are far apart on. item: as in the ratings' file."""
    sources = {code(row): row for row in explanations}
    rows = [
        {
            "judge": judge,
            "dimension": found.dimension,
            "item": found.item,
            "model": sources[found.item]["model"],
            "benchmark": sources[found.item]["benchmark"],
            "benchmark_item": sources[found.item]["item"],
            "people": found.people,
            "judge_score": found.judge,
            "n_annotators": found.n_annotators,
            "pattern": found.pattern,
        }
        for judge, judged in scores.items()
        for found in disagreements(ratings, judged)
    ]
    return pl.DataFrame(rows, schema=DISAGREEMENTS)


def to_store(
    found: pl.DataFrame, verdicts: pl.DataFrame, engines: Mapping[str, str], files: Sequence[Path]
) -> pl.DataFrame:
    """Rows for the table judge_validation: all of a judge's dimension on which it was compared with people.

    A dimension without any number on the judge itself is left out: that is no validation.

    Args:
        found: of ``agreement``.
        verdicts: columns judge, dimension, rubric.
        engines: judge -> the hash of its engine.
        files: where the ratings are from.
    """
    key = ["judge", "dimension"]
    on_judge = pl.col("value").is_not_null() & ~pl.col("metric").str.starts_with(PEOPLE)
    source = "; ".join(
        f"{file.name} sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files
    )
    return (
        found.join(found.filter(on_judge), on=key, how="semi")
        .join(verdicts.select(*key, "rubric").unique(), on=key, maintain_order="left")
        .with_columns(judge_hash=pl.col("judge").replace_strict(engines), source=pl.lit(source))
        .drop("n_dropped")
    )
