"""Single verdicts as rows of part kind ``verdict``. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tasks.evaluations.cure.judged import Opinion
from tasks.evaluations.cure.materials import country_of
from tasks.evaluations.cure.requests import Study

SCHEMA = pl.Schema(
    {
        "judge": pl.String(),
        "judge_hash": pl.String(),
        "rubric": pl.String(),
        "item": pl.String(),
        "item_name": pl.String(),
        "origin": pl.String(),
        "judged": pl.String(),
        "verdict": pl.String(),
        "reason": pl.String(),
        "value": pl.Float64(),
        "graded": pl.Float64(),
        "unscored_reason": pl.String(),
    }
)


def verdict_frame(study: Study, benchmark: str, opinions: Sequence[Opinion]) -> pl.DataFrame:
    """One row for each opinion about a benchmark; ``opinions`` are one judge's of one model.

    ``judged`` is source and sample: "real:0". Origin is the country, or its name where it has no code.
    """
    mine = [opinion for opinion in opinions if opinion.call.item.benchmark == benchmark]
    return pl.DataFrame(list(_rows(study, benchmark, mine)), schema=SCHEMA, orient="row")


def _rows(study: Study, benchmark: str, opinions: Sequence[Opinion]) -> Iterator[dict[str, Any]]:
    rubric = study.rubric_id(benchmark)
    engines = {judge.name: judge.engine for judge in study.judges}
    for opinion in opinions:
        item, verdict = opinion.call.item, opinion.verdict
        yield {
            "judge": opinion.judge,
            "judge_hash": engines[opinion.judge],
            "rubric": rubric,
            "item": item.item,
            "item_name": item.question,
            "origin": country_of(item),
            "judged": f"{opinion.call.source}:{opinion.call.sample}",
            "verdict": verdict.verdict,
            "reason": verdict.reason,
            "value": verdict.value,
            "graded": opinion.graded,
            "unscored_reason": verdict.unscored_reason,
        }
