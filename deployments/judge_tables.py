"""How judges compare with people, as tables: to be shown, and to be stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from tasks.judging.audit import Answer
from tasks.judging.disagreements import disagreements
from tasks.judging.groups import About, group_agreement
from tasks.judging.rated import Judged
from tasks.judging.ratings import Menus, Rating
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
GROUPS = {
    **dict.fromkeys(("judge", "dimension", "metric", "group"), pl.String),
    "value": pl.Float64,
    "unscored_reason": pl.String,
    **dict.fromkeys(("n", "n_dropped"), pl.Int64),
}
DISAGREEMENTS = {
    **dict.fromkeys(("judge", "dimension", "item"), pl.String),
    **dict.fromkeys(("people", "judge_score"), pl.Float64),
    **dict.fromkeys(("pattern", "model", "group", "code"), pl.String),
    "n_annotators": pl.Int64,
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
        {"judge": judge, "dimension": dimension, **part._asdict()}
        for judge, judged in scores.items()
        for dimension, curve in reliability_curves(ratings, judged).items()
        for part in curve
    ]
    return pl.DataFrame(rows, schema=RELIABILITY)


def apart(ratings: Sequence[Rating], scores: Scores, answers: Mapping[str, Answer]) -> pl.DataFrame:
    """Columns ``DISAGREEMENTS``: what judges and people are far apart on. code: as in the ratings' file."""
    rows = [
        {
            "judge": judge,
            "dimension": far.dimension,
            "code": far.item,
            "model": answers[far.item].model,
            "group": answers[far.item].group,
            "item": answers[far.item].item,
            "people": far.people,
            "judge_score": far.judge,
            "n_annotators": far.n_annotators,
            "pattern": far.pattern,
        }
        for judge, judged in scores.items()
        for far in disagreements(ratings, judged)
    ]
    return pl.DataFrame(rows, schema=DISAGREEMENTS)


def groups(
    ratings: Sequence[Rating], scores: Scores, answers: Mapping[str, Answer], menus: Menus
) -> pl.DataFrame:
    """Columns ``GROUPS``: people and judge within each group, and over groups and items."""
    about = {code: About(answer.group, (answer.model, answer.item)) for code, answer in answers.items()}
    rows = [
        {"judge": judge, **row._asdict()}
        for judge, judged in scores.items()
        for row in group_agreement(ratings, judged, about, menus)
    ]
    return pl.DataFrame(rows, schema=GROUPS)


def to_store(numbers: pl.DataFrame, verdicts: pl.DataFrame, files: Sequence[Path]) -> pl.DataFrame:
    """Rows for the table judge_validation: all of a judge's dimension on which it was compared with people.

    A dimension without any number on the judge itself is left out: that is no validation.

    Args:
        numbers: of ``agreement``.
        verdicts: columns judge, judge_hash, dimension, rubric; of a configuration, so that a judge's name
            stands for one engine and a dimension for one rubric.
        files: where the ratings are from.
    """
    key = ["judge", "dimension"]
    on_judge = pl.col("value").is_not_null() & ~pl.col("metric").str.starts_with(PEOPLE)
    source = "; ".join(
        f"{file.name} sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files
    )
    return (
        numbers.join(numbers.filter(on_judge), on=key, how="semi")
        .join(verdicts.select(*key, "judge_hash", "rubric").unique(key), on=key, maintain_order="left")
        .with_columns(source=pl.lit(source))
        .drop("n_dropped")
    )
