"""Single conversations and verdicts as rows: what SQL and the report look at. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import Detail, comparable
from tasks.evaluations.explication.judge import JudgeCall, apr
from tasks.evaluations.explication.scores import Held
from tasks.evaluations.explication.study import SHUFFLED, SILENT
from tasks.judging.controls import EMPTY
from tasks.judging.panel import About, AllOpinions
from tasks.loop.dialogue import transcript

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


def details(held: Held, calls: Sequence[JudgeCall], said: AllOpinions) -> list[Detail]:
    """Every conversation, and of each rubric and judge every verdict."""
    found = [Detail("explication_conversation", conversation_frame(held))]
    for label in dict.fromkeys(call.label for call in calls):
        own = [call for call in calls if call.label == label]
        frames = held.study.panel.verdicts(own, said, _about)
        found += [Detail("verdict", frame, f"{judge} {label}") for judge, frame in frames.items()]
    return found


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


def _about(call: JudgeCall, name: str) -> About:
    """``judged`` is source and dimension: "real:focus"."""
    persona, source = call.study.personas[call.persona], call.conversation.source
    return About(
        f"{name} {call.rubric.hash()}",
        call.conversation.label,
        f"User: {persona.name}, {persona.cuisine}. {persona.summary}",
        persona.country,
        f"{EMPTY if source == SILENT else source}:{name}",
    )


def _listed(names: Iterable[str]) -> str | None:
    return ", ".join(names) or None
