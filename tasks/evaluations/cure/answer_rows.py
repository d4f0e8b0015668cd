"""Single answers and verdicts as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import polars as pl

from tasks.evaluations.contract import comparable
from tasks.evaluations.cure.answers import JudgeCall, Readings
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import country_of
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Scored
from tasks.judging.controls import REAL
from tasks.judging.panel import About, Opinions

_CUES = {"casa": "Symbol", "specnorm": "Subgroup"}
"""What a benchmark's cues are to people."""

SCHEMA = pl.Schema(
    {
        "config_hash": pl.String(),
        "benchmark": pl.String(),
        "mode": pl.String(),
        "item": pl.String(),
        "country": pl.String(),
        "label": pl.String(),
        "gold_label": pl.String(),
        "correct": pl.Boolean(),
        "explanation": pl.String(),
        "score": pl.Float64(),
        "verdict": pl.String(),
        "disagreement": pl.Float64(),
        "unscored_reason": pl.String(),
    }
)


def answer_frame(study: Study, readings: Readings, scored: Scored) -> pl.DataFrame:
    """One row per sample, in the order of the study; what an unscored one lacks is null.

    ``score`` is the judges' mean, not yet at equal length; a lost label is not correct, a lost explanation
    scores 0. ``unscored_reason`` says why the label, else the explanation, is missing or unscored.
    """
    frame = pl.DataFrame(list(_rows(study, readings, scored)), schema=SCHEMA, orient="row")
    return frame.fill_nan(None)


def verdict_frames(
    study: Study, calls: Iterable[JudgeCall], said: Opinions
) -> dict[tuple[str, str], pl.DataFrame]:
    """(judge, benchmark) -> a row for each call about one model.

    They are apart because items are the units, and two benchmarks may name theirs alike. ``judged`` is source
    and sample: "real:0". ``group_name`` is the country, or its name where it has no code.
    """
    of_benchmark: dict[str, list[JudgeCall]] = {}
    for call in calls:
        of_benchmark.setdefault(call.item.benchmark, []).append(call)
    frames = {
        benchmark: study.panel.verdicts(own, said, partial(_about, study.rubric_id(benchmark)))
        for benchmark, own in of_benchmark.items()
    }
    judges = [engine.name for engine in study.judges.values()]
    return {(judge, benchmark): of[judge] for judge in judges for benchmark, of in frames.items()}


def _about(rubric: str, call: JudgeCall, key: str) -> About:
    judged = f"{call.source}:{call.sample}"
    return About(rubric, call.item.item, _shown(call.item), country_of(call.item), judged)


def _shown(item: BenchmarkItem) -> str:
    """The item as people see it, and the norm that an explanation of it is held against."""
    kind = kind_of(item.benchmark)
    shown = {
        "Country": item.extra.get("country_name", ""),
        "Person": item.extra.get("persona", ""),
        "Question": item.question,
        _CUES.get(kind, ""): ", ".join(item.cues) if kind in _CUES else "",
        "Norm, to be taken as right": item.gold,
    }
    return "\n".join(f"{name}: {text}" for name, text in shown.items() if text)


def _rows(study: Study, readings: Readings, scored: Scored) -> Iterator[dict[str, Any]]:
    config_hash = comparable(study)
    for benchmark, mode in study.parts():
        for place, item in enumerate(study.items(benchmark)):
            answer = readings[benchmark, mode, item.item]
            judged = _judgement(scored, benchmark, place) if mode == "thick" else {}
            yield {
                "config_hash": config_hash,
                "benchmark": benchmark,
                "mode": mode,
                "item": item.item,
                "country": item.country,
                "label": answer.label,
                "gold_label": item.label,
                "correct": answer.is_right(item),
                "explanation": answer.explanation,
                **judged,
                "unscored_reason": answer.label_reason
                or answer.explanation_reason
                or judged.get("unscored_reason"),
            }


def _judgement(scored: Scored, benchmark: str, place: int) -> dict[str, Any]:
    """What the judges said of an explanation."""
    judged = scored.judged[benchmark, REAL]
    return {
        "score": judged.raw[place],
        "verdict": judged.verdicts[place],
        "disagreement": judged.disagreement[place],
        "unscored_reason": judged.reasons[place] or None,
    }
