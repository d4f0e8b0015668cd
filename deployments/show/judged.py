"""Judged answers of any evaluation, and tables that compare their judges with people."""

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
from tasks.judging.rubric import JudgeStyle, Rubric, load_rubric, normal
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
# Codes of answers are made of the name that the run was saved with: a rename must not part them from ratings.
_VERDICTS = """
WITH judged AS (
    SELECT v.* REPLACE (if(v.model = r.model, saved.model, v.model) AS model), r.evaluation, r.model AS shown,
        r.is_null OR regexp_matches(v.judged, $nulls) AS is_null_text, r.is_null,
        CASE WHEN r.is_null THEN regexp_replace(r.model, '^null:', '')
            WHEN r.evaluation = 'fmlama' OR split_part(v.judged, ':', 1) IN ('real', 'native') THEN ''
            ELSE split_part(v.judged, ':', 1) END AS source
    FROM verdict AS v JOIN latest_run AS r USING (run_id) JOIN run_base AS saved USING (run_id)
    WHERE r.evaluation = $evaluation AND r.config_hash = $config
)
SELECT v.run_id, v.model, v.shown, split_part(v.rubric, ' ', 1) AS dimension, v.group_name, v.item,
    v.item_text, v.judged_text, v.judge, v.judge_hash, v.rubric, v.verdict, v.value, v.graded, v.source,
    v.is_null_text, v.is_null, coalesce(l.language, '') AS language
FROM judged AS v
LEFT JOIN judged_language AS l ON l.evaluation = v.evaluation AND l.item = v.item
WHERE $with_nulls OR NOT v.is_null_text
ORDER BY v.judge, dimension, v.model, v.item, v.judged
"""
_PEOPLE = "krippendorff_alpha"
_METRICS = {
    **{f"alpha_{level}": f"{_PEOPLE}_{level}" for level in ("nominal", "ordinal", "interval")},
    "kappa": "cohen_kappa",
    "kappa_quadratic": "cohen_kappa_quadratic",
    "calibration_error": "expected_calibration_error",
}
"""Metric of ``validation`` -> its name in the table judge_validation, if that differs."""
_COLUMNS = {
    "agreement": "judge dimension metric value ci_low ci_high n n_dropped unscored_reason",
    "reliability": "judge dimension low high n mean_score observed ci_low ci_high",
    "disagreements": "judge dimension item people judge_score pattern model group code n_annotators",
    "groups": "judge dimension metric group value unscored_reason n n_dropped",
}
_NUMBERS = {"value", "ci_low", "ci_high", "low", "high", "mean_score", "observed", "people", "judge_score"}


class Chosen(NamedTuple):
    """The evaluation and the config_hash whose answers are meant."""

    evaluation: str
    config: str


def choose(warehouse: Warehouse, evaluation: str | None, config: str | None) -> Chosen:
    """Return the given run, or else the newest that a judge has scored.

    Args:
        config: a config_hash, or its beginning.

    Raises:
        WarehouseError: no run fits, or several hashes begin with ``config``; says what to run or lists them.
    """
    newest = warehouse.query(_NEWEST, {"evaluation": evaluation, "config": config})
    if newest.is_empty():
        of = f" of {evaluation}" if evaluation else ""
        under = f" under configuration {config}" if config else ""
        raise WarehouseError(
            f"no judge has scored answers{of}{under}; start with: culturemeter run "
            f"{evaluation or 'EVALUATION'} -m MODEL --judges JUDGE"
        )
    if config is not None and newest.height > 1:
        keys = ", ".join(f"{key} ({name})" for name, key, _ in newest.rows())
        raise WarehouseError(f"several configurations begin with {config!r}: {keys}")
    name, key, _ = newest.row(0)
    return Chosen(name, key)


def verdicts(
    warehouse: Warehouse, chosen: Chosen, nulls: bool = False
) -> tuple[pl.DataFrame, dict[str, JudgedAnswer]]:
    """Return the verdicts on models' answers, without null models, and the answers by code.

    Args:
        nulls: also those on null texts, such as other items' answers. Texts of null models with a run
            of their own (``is_null``) are the same beside all models.

    Returns:
        one row per verdict with the view's columns, code, language and source: "" for the headline's answers,
        else a null or another condition; code -> answer.

    Raises:
        WarehouseError: the verdicts were stored without the judged texts.
    """
    of: dict[str, Any] = {
        "evaluation": chosen.evaluation,
        "config": chosen.config,
        "nulls": f"^({'|'.join(NULLS)}):",
        "with_nulls": nulls,
    }
    frame = warehouse.query(_VERDICTS, of)
    if not frame.filter(pl.col("value").is_not_null() & pl.col("judged_text").is_null()).is_empty():
        raise WarehouseError(
            f"verdicts of configuration {chosen.config} are stored without the judged texts. Run "
            f"{chosen.evaluation} with the same options again: that adds the texts and repeats no request"
        )
    frame = frame.drop_nulls("judged_text")
    columns = ("model", "dimension", "item", "group_name", "item_text", "judged_text")
    answers = [JudgedAnswer(*row) for row in frame.select(columns).iter_rows()]
    codes = [answer.code for answer in answers]
    return frame.with_columns(code=pl.Series(codes, dtype=pl.String)), dict(zip(codes, answers, strict=True))


def strata(
    verdicts: pl.DataFrame, answers: Mapping[str, JudgedAnswer], language: str | None = None
) -> dict[str, list[JudgedAnswer]]:
    """Return the answers that samples are drawn from by stratum: model, dimension, source and language.

    The headline's answers, or those of all conditions where it has none, and the null texts in ``verdicts``.

    Args:
        language: only the answers in it; None: all.
    """
    is_own = (pl.col("source") == "") | pl.col("is_null_text")
    own = verdicts.filter(is_own) if (verdicts["source"] == "").any() else verdicts
    if language is not None:
        own = own.filter(language=language)
    groups: dict[str, list[JudgedAnswer]] = {}
    for *parts, code in own.select(*STRATUM, "code").unique(maintain_order=True).iter_rows():
        groups.setdefault(stratum_name(parts), []).append(answers[code])
    return groups


STRATUM = ("model", "dimension", "source", "language")


def stratum_name(parts: Sequence[str]) -> str:
    """Return the name of a stratum; parts: as in ``STRATUM``."""
    return " ".join(part or "-" for part in parts)


def rubrics(evaluation: str, verdicts: pl.DataFrame) -> dict[str, Rubric]:
    """Return each dimension's rubric, read from the evaluation's folder ``rubrics``.

    A rubric, which may have several dimensions, is found by its hash or, if edited since, by its name.

    Args:
        verdicts: columns dimension and rubric ("name hash").
    """
    known = _known_rubrics(evaluation)
    return {rubric.name: rubric for rubric in known} | _by_hash(known, verdicts)


def menus(evaluation: str, verdicts: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return each dimension's menu, verdict -> value, as the judge had it; names in the form of ``normal``.

    Of a rubric that is edited since, or gone, it has the verdicts that are stored.

    Args:
        verdicts: columns dimension, rubric, verdict and value.
    """
    known = _known_rubrics(evaluation)
    found: dict[str, dict[str, float]] = {}
    stored = verdicts.drop_nulls(["verdict", "value"]).select("dimension", "verdict", "value").unique()
    for dimension, verdict, value in stored.rows():
        found.setdefault(dimension, {})[verdict] = value
    named, exact = {rubric.name: rubric for rubric in known}, _by_hash(known, verdicts)
    own = {
        dimension: {verdict: choice.value for verdict, choice in rubric.verdicts.items()}
        for dimension, rubric in (named | exact).items()
        if dimension in exact or dimension not in found
    }
    return {normal(dimension): menu for dimension, menu in (found | own).items()}


def _known_rubrics(evaluation: str) -> list[Rubric]:
    files = (Path(contract.__file__).parent / evaluation / "rubrics").glob("*.toml")
    return [load_rubric(file) for file in sorted(files)] or recipes.rubrics(evaluation)


def _by_hash(known: Sequence[Rubric], verdicts: pl.DataFrame) -> dict[str, Rubric]:
    of_hash = {rubric.in_style(style).hash(): rubric for rubric in known for style in get_args(JudgeStyle)}
    pairs = verdicts.select("dimension", "rubric").unique().rows()
    by_hash = {dimension: of_hash.get(rubric.rpartition(" ")[2]) for dimension, rubric in pairs}
    return {dimension: rubric for dimension, rubric in by_hash.items() if rubric}


def tables(
    ratings: Sequence[Rating],
    scores: Mapping[str, Sequence[JudgeScore]],
    answers: Mapping[str, JudgedAnswer],
    menus: Menus,
) -> dict[str, pl.DataFrame]:
    """Return tables by name, each by judge and dimension, with the columns in ``_COLUMNS``.

    agreement: among people, and of the judge with people. reliability: graded scores in bins, and the share
    of items that most people rate yes. disagreements: the items on which they differ most; code as in the
    ratings' file. groups: people and judge within each group, over all groups, and over items.

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
    """Return rows for the table judge_validation: a judge's numbers on dimensions compared with people.

    A dimension without any number on the judge itself is left out, since that validates nothing.

    Args:
        numbers: the table agreement.
        verdicts: columns judge, judge_hash, dimension, rubric; all of one configuration, so that each judge's
            name means one engine and each dimension one rubric.
        files: the files of the ratings.
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
