"""Lists single answers and verdicts: as rows for SQL and the report, and as samples for people. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import polars as pl

from tasks.evaluations.contract import Completions, comparable
from tasks.evaluations.cure.benchmarks import LABELS, BenchmarkItem
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.read import CureAnswer, ExplanationJudgeCall, Readings
from tasks.evaluations.cure.scores import CureScores, answers_of
from tasks.evaluations.cure.study import CureStudy, country_of
from tasks.judging.controls import REAL
from tasks.judging.panel import Opinions, VerdictSubject, score_name
from tasks.loop.requests import Engine
from tasks.loop.samples import Sample, Score, sample

_CUES = {"casa": "Symbol", "specnorm": "Subgroup"}
"""Titles of a benchmark's cues, for people."""

_TYPES = {"correct": pl.Boolean(), "score": pl.Float64(), "disagreement": pl.Float64()}
_COLUMNS = (
    "config_hash", "benchmark", "mode", "item", "country", "label", "gold_label", "correct", "explanation",
    "score", "verdict", "disagreement", "unscored_reason",
)  # fmt: skip
SCHEMA = pl.Schema({name: _TYPES.get(name, pl.String()) for name in _COLUMNS})
"""Columns of the part kind cure_answer."""


def answer_frame(study: CureStudy, readings: Readings, scored: CureScores) -> pl.DataFrame:
    """Return one row per sample, in the order of the study; missing values of an unscored sample are null.
    ``score`` is the judges' mean. A lost label is wrong, and a lost
    explanation scores 0. ``unscored_reason`` says why the label, else the explanation, is missing or
    unscored.
    """
    config_hash = {"config_hash": comparable(study)}
    rows = [
        config_hash | _row(item, mode, readings[benchmark, mode, item.item], scored, place)
        for benchmark, mode in study.parts
        for place, item in enumerate(study.items(benchmark))
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").fill_nan(None)


def _row(
    item: BenchmarkItem, mode: str, answer: CureAnswer, scored: CureScores, place: int
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "benchmark": item.benchmark,
        "mode": mode,
        "item": item.item,
        "country": item.country,
        "label": answer.label,
        "gold_label": item.label,
        "correct": answer.is_right(item),
        "explanation": answer.explanation,
        "unscored_reason": answer.label_reason or answer.explanation_reason,
    }
    if mode == "thick":
        judged = scored.judged[item.benchmark, REAL]
        row["unscored_reason"] = row["unscored_reason"] or judged.reasons[place] or None
        row |= {
            name: values[place]
            for name, values in (
                ("score", judged.scores),
                ("verdict", judged.verdicts),
                ("disagreement", judged.disagreement),
            )
        }
    return row


def verdict_frames(
    study: CureStudy, calls: Sequence[ExplanationJudgeCall], opinions: Opinions
) -> dict[tuple[str, str], pl.DataFrame]:
    """Return (judge, benchmark) -> a row for each call about one model. Benchmarks have separate frames
    because their items may share identifiers. ``judged`` is source and sample: "real:0". ``group_name`` is
    the country's code, or its name if it has no code.
    """
    frames: dict[tuple[str, str], pl.DataFrame] = {}
    for benchmark in dict.fromkeys(call.item.benchmark for call in calls):
        own = [call for call in calls if call.item.benchmark == benchmark]
        by_judge = study.panel.verdicts(own, opinions, partial(_about, study.rubric_id(benchmark)))
        frames |= {(judge, benchmark): frame for judge, frame in by_judge.items()}
    return frames


def _about(rubric: str, call: ExplanationJudgeCall, key: str) -> VerdictSubject:
    """Return the item as people see it, and the norm that its explanation is compared with."""
    item, kind = call.item, kind_of(call.item.benchmark)
    columns = {
        "Country": item.extra.get("country_name", ""),
        "Person": item.extra.get("persona", ""),
        "Question": item.question,
        _CUES.get(kind, ""): ", ".join(item.cues) if kind in _CUES else "",
        "Norm, to be taken as right": item.gold,
    }
    text = "\n".join(f"{name}: {text}" for name, text in columns.items() if text)
    return VerdictSubject(rubric, item.item, text, country_of(item), f"{call.source}:{call.sample}")


def samples(study: CureStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every item in every mode: its label, and in thick mode its explanation, each with the gold."""
    done = study.completed(completions)
    answers = answers_of(study, completions)
    verdicts: dict[tuple[str, str], dict[str, Score]] = defaultdict(dict)
    for judge, call, verdict in study.panel.scores(answers.calls, answers.opinions, completions):
        verdicts[call.item.benchmark, call.item.item][_name(study, judge, call)] = verdict
    for benchmark, mode in study.parts:
        for place, item in enumerate(study.items(benchmark)):
            key = (benchmark, mode, item.item)
            answer = answers.readings[key]
            scores = {"label": Score.of(answer.is_right(item), answer.label_reason, answer=answer.label)}
            if mode == "thick":
                own = answers.scored.judged[benchmark, REAL]
                mean = Score.of(
                    float(own.scores[place]), own.reasons[place] or None, answer=answer.explanation
                )
                scores |= {"explanation": mean, **verdicts.get((benchmark, item.item), {})}
            about = {"item": item.item, "country": item.country, "norm": item.gold, "cues": list(item.cues)}
            yield sample(
                ":".join(key),
                study.prompts[key],
                done.get(key),
                target=item.label if mode == "thin" else [item.label, item.gold],
                choices=LABELS[kind_of(benchmark)],
                scores=scores,
                metadata={"benchmark": benchmark, "mode": mode, **about},
                roles={"judge": [engine.name for engine in study.judges.values()]} if study.judges else {},
            )


def _name(study: CureStudy, judge: Engine, call: ExplanationJudgeCall) -> str:
    """Return the name of a verdict; several votes of one judge are numbered."""
    source = [] if call.source == REAL else [call.source]
    vote = [f"vote {call.sample + 1}"] if study.votes(call.item.benchmark) > 1 else []
    return score_name(call.rubric.name, judge, *source, *vote)
