"""Judged answers of any evaluation, out of the view `verdict`: to be rated, and held against ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from warehouse import Warehouse, WarehouseError

if TYPE_CHECKING:
    from tasks.judging.audit import Answer
    from tasks.judging.rubric import Rubric

NEWEST = """
SELECT r.evaluation, r.config_hash FROM verdict AS v JOIN latest_run AS r USING (run_id)
WHERE NOT r.is_null AND v.value IS NOT NULL AND r.evaluation = coalesce($evaluation, r.evaluation)
    AND r.config_hash = coalesce($config, r.config_hash)
ORDER BY r.finished_at DESC LIMIT 1
"""
VERDICTS = """
SELECT v.model, split_part(v.rubric, ' ', 1) AS dimension, v.group_name, v.item, v.item_text, v.judged_text,
    v.judge, v.judge_hash, v.rubric, v.verdict, v.value, v.graded
FROM verdict AS v JOIN latest_run AS r USING (run_id)
WHERE NOT r.is_null AND r.evaluation = $evaluation AND r.config_hash = $config
    AND NOT regexp_matches(v.judged, $nulls)
ORDER BY v.judge, dimension, v.model, v.item, v.judged
"""


class Chosen(NamedTuple):
    """Whose answers: an evaluation, and the config_hash of its runs."""

    evaluation: str
    config: str


def choose(warehouse: Warehouse, evaluation: str | None, config: str | None) -> Chosen:
    """What is given; where it is not, the newest that a judge has scored.

    Raises:
        WarehouseError: there is none; says what to start.
    """
    newest = warehouse.query(NEWEST, {"evaluation": evaluation, "config": config})
    if newest.is_empty():
        of = f" of {evaluation}" if evaluation else ""
        under = f" under configuration {config}" if config else ""
        raise WarehouseError(
            f"no judge has scored answers{of}{under}; start with: culturescope run "
            f"{evaluation or 'EVALUATION'} -m MODEL, and a judge"
        )
    return Chosen(*newest.row(0))


def verdicts(warehouse: Warehouse, chosen: Chosen) -> tuple[pl.DataFrame, dict[str, Answer]]:
    """The verdicts on what models answered, null models and null texts left out; and those answers by code.

    Returns:
        frame of the columns of ``VERDICTS`` and code, one row per verdict; code -> answer.

    Raises:
        WarehouseError: they were stored without the texts that were judged.
    """
    from tasks.judging.audit import Answer
    from tasks.judging.null_texts import NULLS

    of = {"evaluation": chosen.evaluation, "config": chosen.config, "nulls": f"^({'|'.join(NULLS)}):"}
    frame = warehouse.query(VERDICTS, of)
    if not frame.filter(pl.col("value").is_not_null() & pl.col("judged_text").is_null()).is_empty():
        raise WarehouseError(
            f"verdicts of configuration {chosen.config} are stored without the texts that were judged: run "
            f"{chosen.evaluation} with the same options again, which asks nothing again and adds them"
        )
    frame = frame.drop_nulls("judged_text")
    columns = ("model", "dimension", "item", "group_name", "item_text", "judged_text")
    answers = [Answer(*row) for row in frame.select(columns).iter_rows()]
    codes = [answer.code for answer in answers]
    return frame.with_columns(code=pl.Series(codes, dtype=pl.String)), dict(zip(codes, answers, strict=True))


def rubrics(evaluation: str) -> dict[str, Rubric]:
    """Dimension -> its rubric: the files in the folder ``rubrics`` of the evaluation.

    Raises:
        RubricError: a file is broken.
    """
    from tasks.evaluations import contract
    from tasks.judging.rubric import load_rubric

    files = (Path(contract.__file__).parent / evaluation / "rubrics").glob("*.toml")
    return {rubric.name: rubric for rubric in map(load_rubric, sorted(files))}
