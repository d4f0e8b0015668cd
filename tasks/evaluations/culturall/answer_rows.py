"""Single answers and verdicts as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tasks.evaluations.contract import comparable
from tasks.evaluations.culturall.answers import Answer
from tasks.evaluations.culturall.requests import Study
from tasks.judging.panel import About, Call, Key

_TEXTS = (
    "config_hash", "condition", "item", "language", "region", "topic", "form", "scenario", "question", "gold",
    "answer",
)  # fmt: skip
SCHEMA = pl.Schema(
    {name: pl.String() for name in _TEXTS}
    | dict.fromkeys(("matched", "judged", "correct"), pl.Boolean())
    | dict.fromkeys(("passages", "unscored_reason", "status"), pl.String())
)


def answer_frame(study: Study, answers: Mapping[Key, Answer]) -> pl.DataFrame:
    """One row per sample, in the order of the study; what an unscored one lacks is null."""
    return pl.DataFrame(list(_rows(study, answers)), schema=SCHEMA, orient="row")


def _rows(study: Study, answers: Mapping[Key, Answer]) -> Iterator[dict[str, Any]]:
    config_hash = comparable(study)
    for condition in study.conditions:
        for item in study.items:
            answer, shown = answers[condition, item.item], item.texts(condition)
            passages = study.passages.get(item.item, ()) if condition == "retrieval" else ()
            yield {
                "config_hash": config_hash,
                "condition": condition,
                "item": item.item,
                "language": item.language,
                "region": item.region,
                "topic": item.topic,
                "form": item.form,
                "scenario": shown.scenario,
                "question": shown.question,
                "gold": shown.answer,
                "answer": answer.text,
                "matched": answer.matched,
                "judged": answer.judged,
                "correct": answer.counts(bool(study.judges)),
                "passages": json.dumps([p._asdict() for p in passages], ensure_ascii=False)
                if passages
                else None,
                "unscored_reason": answer.reason or answer.unjudged,
                "status": item.status,
            }


def about(study: Study, call: Call, key: str) -> About:
    """An item as the judge saw it, line by line, and its region."""
    item = study.by_id[call.item]
    shown = item.texts(call.source)
    lines = {"Situation": shown.scenario, "Question": shown.question, "Right answer": shown.answer}
    text = "\n".join(f"{name}: {text}" for name, text in lines.items())
    return About(study.panel.rubric_id, item.item, text, item.region, call.source)
