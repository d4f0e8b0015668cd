"""Single answers and verdicts as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from tasks.evaluations.contract import comparable
from tasks.evaluations.culturall.answers import Answer
from tasks.evaluations.culturall.requests import Call, Key, Study
from tasks.judging.prompts import Opinion
from tasks.judging.untrusted import shorten
from tasks.judging.verdict_rows import VerdictRow, verdict_frame, verdict_row
from tasks.requests import Engine

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


def verdict_frame_of(
    study: Study, judge: str, about: Iterable[Call], said: Mapping[Key, Opinion]
) -> pl.DataFrame:
    """A row for each answer of a model that one judge, by its name in the params, was asked about.

    ``judged`` is the condition; ``group_name`` is the region.
    """
    rubric = f"{study.rubric.name} {study.rubric.hash()}"
    engine = study.judges[judge]
    return verdict_frame(
        _verdict(engine, rubric, call, said[call.key]) for call in about if said[call.key].is_answered
    )


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


def _verdict(engine: Engine, rubric: str, call: Call, opinion: Opinion) -> VerdictRow:
    shown = call.item.texts(call.source)
    about = {"Situation": shown.scenario, "Question": shown.question, "Right answer": shown.answer}
    return verdict_row(
        engine,
        rubric,
        opinion,
        item=call.item.item,
        item_text="\n".join(f"{name}: {text}" for name, text in about.items()),
        group_name=call.item.region,
        judged=call.source,
        text=shorten(call.text, call.rubric.max_chars),
    )
