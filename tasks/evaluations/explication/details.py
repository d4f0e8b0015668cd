"""Single conversations and verdicts as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import Detail, comparable
from tasks.evaluations.explication.judge import KEYS, Reply, apr
from tasks.evaluations.explication.scores import Held
from tasks.evaluations.explication.study import SHUFFLED, SILENT, Study
from tasks.generation.dialogue import transcript
from tasks.judging.null_texts import EMPTY
from tasks.judging.untrusted import shorten
from tasks.judging.verdict_rows import VerdictRow, verdict_frame, verdict_row

_TEXTS = (
    "config_hash", "task", "persona", "persona_name", "country", "cuisine", "condition", "description",
    "transcript", "ended_by", "title", "dish", "violations", "undecided", "facts_told", "unscored_reason",
)  # fmt: skip
_COUNTS = (
    "repetition", "seed", "n_turns", "n_tokens", "n_questions", "n_question_kinds", "n_facts", "n_elicited",
    "n_used", "n_confused", "n_repeated", "n_user_contradictions", "n_user_dishes", "n_user_unasked",
)  # fmt: skip
_NUMBERS = (
    "apr", "interaction", "instruction_following", "cultural_depth", "constraint_awareness",
    "personalisation", "apr_shuffled", "disagreement",
)  # fmt: skip
SCHEMA = pl.Schema(
    {name: pl.String() for name in _TEXTS}
    | {name: pl.Int32() for name in _COUNTS}
    | {name: pl.Float64() for name in _NUMBERS}
)


def details(held: Held, replies: Sequence[Reply]) -> list[Detail]:
    """Every conversation, and of each judge and rubric every verdict."""
    return [
        Detail("explication_conversation", conversation_frame(held)),
        *(Detail("verdict", frame, " ".join(key)) for key, frame in _verdicts(held.study, replies).items()),
    ]


def conversation_frame(held: Held) -> pl.DataFrame:
    """One row per real conversation, in the order of the study; what is unknown is null."""
    reasons = held.graded("apr")[1].tolist()
    rows = [_row(held, place, reason) for place, reason in enumerate(reasons)]
    return pl.DataFrame(rows, schema=SCHEMA).fill_nan(None)


def _row(held: Held, place: int, reason: str) -> dict[str, Any]:
    study, key, talk, m = held.study, held.keys[place], held.talks[place], held.measures[place]
    persona, grades = study.personas[key.persona], held.grades.get(key)
    row: dict[str, Any] = dict.fromkeys(SCHEMA)
    row |= {
        "config_hash": comparable(study),
        "task": key.task,
        "persona": key.persona,
        "persona_name": persona.name,
        "country": persona.country,
        "cuisine": persona.cuisine,
        "condition": key.condition,
        "description": study.described[key.persona, key.task],
        "repetition": key.repetition,
        "seed": study.params.seed,
        "transcript": "\n\n".join(transcript(talk.turns)),
        "ended_by": talk.ended_by,
        "n_turns": len(talk.turns),
        "n_tokens": talk.tokens,
    }
    row |= {name: held.graded_at(place, name) for name in _NUMBERS[:6]}
    row["apr_shuffled"] = held.graded_at(place, "apr", SHUFFLED)
    if grades is not None and len(grades.by_judge) > 1:
        row["disagreement"] = float(np.std([apr(own) for own in grades.by_judge.values()], ddof=1))
    row["unscored_reason"] = reason or None
    if m is not None:
        row |= {
            "title": m.title,
            "dish": m.dish,
            "violations": _listed(name for name, kept in m.kept.items() if kept is False),
            "undecided": _listed(name for name, kept in m.kept.items() if kept is None),
            "facts_told": _listed(m.told),
            "n_questions": m.questions,
            "n_question_kinds": m.question_kinds,
            "n_facts": m.facts,
            "n_elicited": m.elicited,
            "n_used": m.used,
            "n_confused": m.confused,
            "n_repeated": m.repeated,
            "n_user_contradictions": m.contradicted,
            "n_user_dishes": m.divulged,
            "n_user_unasked": m.unasked,
        }
    return row


def _verdicts(study: Study, replies: Sequence[Reply]) -> dict[tuple[str, str], pl.DataFrame]:
    """(judge, rubric) -> a row for each of its verdicts. ``judged`` is source and dimension: "real:focus"."""
    rows: dict[tuple[str, str], list[VerdictRow]] = {}
    judges = {engine.name: engine for engine in study.judges.values()}
    for reply in replies:
        call, rubric = reply.call, study.rubrics[reply.call.rubric]
        persona = study.personas[call.persona]
        text = shorten(json.dumps(list(call.lines), ensure_ascii=False), rubric.max_chars)
        for name, opinion in zip(KEYS[call.rubric], reply.opinions, strict=True):
            row = verdict_row(
                judges[reply.judge],
                f"{name} {rubric.hash()}",
                opinion,
                item=call.key.label,
                item_text=f"User: {persona.name}, {persona.cuisine}. {persona.summary}",
                group_name=persona.country,
                judged=f"{EMPTY if call.key.source == SILENT else call.key.source}:{name}",
                text=text,
            )
            rows.setdefault((reply.judge, call.rubric), []).append(row)
    return {key: verdict_frame(own) for key, own in rows.items()}


def _listed(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None
