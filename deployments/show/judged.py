"""Judged answers of any evaluation, and how their judges compare with people: tables to show and to store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, get_args

import polars as pl

from deployments.packs import recipes
from tasks.evaluations import contract
from tasks.judging.audit import JudgedAnswer, Menus, Rating
from tasks.judging.controls import NULLS
from tasks.judging.rubric import JudgeStyle, Rubric, load_rubric
from tasks.judging.validation import (
    JudgeScore,
    Subject,
    disagreements,
    group_agreement,
    judge_agreement,
    people_agreement,
    reliability_curves,
)
from warehouse import Warehouse, WarehouseError

_NEWEST = """
SELECT r.evaluation, r.config_hash, max(r.finished_at) AS finished
FROM verdict AS v JOIN latest_run AS r USING (run_id)
WHERE NOT r.is_null AND v.value IS NOT NULL AND r.evaluation = coalesce($evaluation, r.evaluation)
    AND starts_with(r.config_hash, coalesce($config, ''))
GROUP BY ALL ORDER BY finished DESC, r.evaluation, r.config_hash
"""
_VERDICTS = """
SELECT v.model, split_part(v.rubric, ' ', 1) AS dimension, v.group_name, v.item, v.item_text, v.judged_text,
    v.judge, v.judge_hash, v.rubric, v.verdict, v.value, v.graded
FROM verdict AS v JOIN latest_run AS r USING (run_id)
WHERE NOT r.is_null AND r.evaluation = $evaluation AND r.config_hash = $config
    AND NOT regexp_matches(v.judged, $nulls)
ORDER BY v.judge, dimension, v.model, v.item, v.judged
"""
_PEOPLE = "krippendorff_alpha"
_METRICS = {
    **{f"alpha_{level}": f"{_PEOPLE}_{level}" for level in ("nominal", "ordinal", "interval")},
    "kappa": "cohen_kappa",
    "kappa_quadratic": "cohen_kappa_quadratic",
    "calibration_error": "expected_calibration_error",
}
"""Metric of ``validation`` -> its name in the table judge_validation, where that is another."""
_COLUMNS = {
    "agreement": "judge dimension metric value ci_low ci_high n n_dropped unscored_reason",
    "reliability": "judge dimension low high n mean_score observed ci_low ci_high",
    "disagreements": "judge dimension item people judge_score pattern model group code n_annotators",
    "groups": "judge dimension metric group value unscored_reason n n_dropped",
}
_NUMBERS = {"value", "ci_low", "ci_high", "low", "high", "mean_score", "observed", "people", "judge_score"}


class Chosen(NamedTuple):
    """Whose answers: an evaluation, and the config_hash of its runs."""

    evaluation: str
    config: str


def choose(warehouse: Warehouse, evaluation: str | None, config: str | None) -> Chosen:
    """Return the given run, or else the newest that a judge has scored.

    Args:
        config: a config_hash, or its beginning.

    Raises:
        WarehouseError: there is none, or several begin so; says what to start, or which there are.
    """
    newest = warehouse.query(_NEWEST, {"evaluation": evaluation, "config": config})
    if newest.is_empty():
        of = f" of {evaluation}" if evaluation else ""
        under = f" under configuration {config}" if config else ""
        raise WarehouseError(
            f"no judge has scored answers{of}{under}; start with: culturescope run "
            f"{evaluation or 'EVALUATION'} -m MODEL, and a judge"
        )
    if config is not None and newest.height > 1:
        keys = ", ".join(f"{key} ({name})" for name, key, _ in newest.rows())
        raise WarehouseError(f"several configurations begin with {config!r}: {keys}")
    name, key, _ = newest.row(0)
    return Chosen(name, key)


def verdicts(warehouse: Warehouse, chosen: Chosen) -> tuple[pl.DataFrame, dict[str, JudgedAnswer]]:
    """The verdicts on what models answered, null models and null texts left out; and those answers by code.

    Returns:
        the view's columns and code, one row per verdict; code -> answer.

    Raises:
        WarehouseError: they were stored without the texts that were judged.
    """
    of = {"evaluation": chosen.evaluation, "config": chosen.config, "nulls": f"^({'|'.join(NULLS)}):"}
    frame = warehouse.query(_VERDICTS, of)
    if not frame.filter(pl.col("value").is_not_null() & pl.col("judged_text").is_null()).is_empty():
        raise WarehouseError(
            f"verdicts of configuration {chosen.config} are stored without the texts that were judged: run "
            f"{chosen.evaluation} with the same options again, which asks nothing again and adds them"
        )
    frame = frame.drop_nulls("judged_text")
    columns = ("model", "dimension", "item", "group_name", "item_text", "judged_text")
    answers = [JudgedAnswer(*row) for row in frame.select(columns).iter_rows()]
    codes = [answer.code for answer in answers]
    return frame.with_columns(code=pl.Series(codes, dtype=pl.String)), dict(zip(codes, answers, strict=True))


EQUAL_LENGTH = {"coherence"}
"""Dimensions whose scores are compared at equal length of what was judged (cure)."""


def rubrics(evaluation: str, verdicts: pl.DataFrame) -> dict[str, Rubric]:
    """Dimension -> its rubric: the files in the folder ``rubrics`` of the evaluation.

    One rubric may have several dimensions, which its hash tells; one that was edited since, its name.

    Args:
        verdicts: columns dimension and rubric ("name hash").
    """
    files = (Path(contract.__file__).parent / evaluation / "rubrics").glob("*.toml")
    known = [load_rubric(file) for file in sorted(files)] or recipes.rubrics(evaluation)
    of_name = {rubric.name: rubric for rubric in known}
    of_hash = {rubric.in_style(style).hash(): rubric for rubric in known for style in get_args(JudgeStyle)}
    pairs = verdicts.select("dimension", "rubric").unique().rows()
    by_hash = {dimension: of_hash.get(rubric.rpartition(" ")[2]) for dimension, rubric in pairs}
    return of_name | {dimension: rubric for dimension, rubric in by_hash.items() if rubric}


def lengths(answers: Mapping[str, JudgedAnswer]) -> dict[str, tuple[int, str]]:
    """Code -> words and model of the answers whose scores are compared at equal length."""
    return {
        code: (len(answer.answer.split()), answer.model)
        for code, answer in answers.items()
        if answer.dimension in EQUAL_LENGTH
    }


def tables(
    ratings: Sequence[Rating],
    scores: Mapping[str, Sequence[JudgeScore]],
    answers: Mapping[str, JudgedAnswer],
    menus: Menus,
) -> dict[str, pl.DataFrame]:
    """Name -> table, of the columns in ``_COLUMNS``; each judge by dimension.

    agreement: people among themselves, and the judge with them. reliability: graded scores in bins, and the
    share of items that most people rate yes. disagreements: what they are far apart on; code as in the
    ratings' file. groups: people and judge within each group, and over groups and items.

    Args:
        scores: judge -> its scores. answers: by code.
    """
    people = people_agreement(ratings)
    subjects = {code: Subject(answer.group, (answer.model, answer.item)) for code, answer in answers.items()}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _COLUMNS}
    for judge, own in scores.items():
        who = {"judge": judge}
        compared = [*people, *judge_agreement(ratings, own, menus)]
        rows["agreement"] += [
            asdict(row) | who | {"metric": _METRICS.get(row.metric, row.metric)}
            for row in sorted(compared, key=lambda row: row.dimension)
        ]
        for dimension, curve in reliability_curves(ratings, own).items():
            rows["reliability"] += [who | {"dimension": dimension, **part._asdict()} for part in curve]
        rows["disagreements"] += [
            asdict(far) | asdict(answers[far.item]) | who | {"code": far.item, "judge_score": far.judge}
            for far in disagreements(ratings, own)
        ]
        rows["groups"] += [who | row._asdict() for row in group_agreement(ratings, own, subjects, menus)]
    return {name: pl.DataFrame(some, schema=_schema(name)) for name, some in rows.items()}


def to_store(numbers: pl.DataFrame, verdicts: pl.DataFrame, files: Sequence[Path]) -> pl.DataFrame:
    """Rows for the table judge_validation: all of a judge's dimension on which it was compared with people.

    A dimension without any number on the judge itself is left out: that is no validation.

    Args:
        numbers: the table agreement.
        verdicts: columns judge, judge_hash, dimension, rubric; of a configuration, so that a judge's name
            stands for one engine and a dimension for one rubric.
        files: where the ratings are from.
    """
    key = ["judge", "dimension"]
    on_judge = pl.col("value").is_not_null() & ~pl.col("metric").str.starts_with(_PEOPLE)
    hashes = (f"{file.name} sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files)
    return (
        numbers.join(numbers.filter(on_judge), on=key, how="semi")
        .join(verdicts.select(*key, "judge_hash", "rubric").unique(key), on=key, maintain_order="left")
        .with_columns(source=pl.lit("; ".join(hashes)))
        .drop("n_dropped")
    )


def _schema(table: str) -> dict[str, type[pl.DataType]]:
    return {
        name: pl.Float64 if name in _NUMBERS else pl.Int64 if name.startswith("n") else pl.String
        for name in _COLUMNS[table].split()
    }
