"""The explication evaluation as the loop sees it: turns of conversations in rounds, then judges on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Evaluation, Rows, Shared, Tables
from tasks.evaluations.explication import details, rows
from tasks.evaluations.explication.judge import (
    Grades,
    JudgeCall,
    Reply,
    grades,
    judge_requests,
    null_calls,
    real_calls,
    replies,
)
from tasks.evaluations.explication.params import ExplicationParams
from tasks.evaluations.explication.scores import hold
from tasks.evaluations.explication.study import Key, Study, build_study
from tasks.generation.budget import at_most
from tasks.generation.dialogue import Stage
from tasks.requests import Engine, Later, Request

TABLES = {
    "persona": "SELECT * FROM explication_persona ORDER BY persona",
    "country": "SELECT country FROM country ORDER BY country",
    "dish": "SELECT item, aliases, countries, ingredients FROM current_item WHERE item_list = 'dishes' "
    "ORDER BY item",
}


@dataclass(frozen=True)
class Answers:
    """One model's conversations, as far as they went, and what judges said of them."""

    stage: Stage
    replies: Sequence[Reply]
    grades: Mapping[Key, Grades]


def ask(study: Study, completions: Completions) -> list[Request[Any]]:
    """Every turn that can be spoken now; then, of conversations that are over, the judges'."""
    stage = _heard(study, completions)
    turns = stage.requests(study.params.batch, "conversation")
    return [*turns, *judge_requests(study, _calls(study, completions))]


def read(study: Study, completions: Completions, shared: Any) -> Answers:
    """Conversations and verdicts; what is missing is unscored with a reason."""
    stage = _heard(study, completions)
    said = _said(study, _calls(study, completions), completions)
    return Answers(stage, said, grades(study, said))


def make_rows(study: Study, cohort: Cohort[Answers], shared: Answers) -> Tables:
    """Rows of the models and of the recommenders that adapt to nobody, every conversation and verdict."""
    nulls = rows.null_rows(study, shared.grades)
    metrics, tables = {}, {}
    for model, answers in cohort.models.items():
        held = hold(study, answers.stage, answers.grades)
        candidate = cohort.engines[model].model
        metrics[model] = list(rows.model_rows(held, shared.grades, candidate))
        tables[model] = details.details(held, answers.replies)
    return Tables(metrics | nulls, tables)


def later(study: Study) -> Iterable[Later]:
    """What further turns and judges may be asked about a model at most."""
    p, stage = study.params, Stage(study.dialogues())
    first = [at_most(q.conversation, None, r.sampling) for r in stage.requests() for q in r.prompts]
    opening = max((g.prompt_tokens for g in first), default=0)
    n = sum(1 for _ in study.real())
    users, said = p.max_turns // 2, p.max_tokens + p.simulator_max_tokens
    # Every turn sends the whole history: of t turns, on average half of it.
    of_turn = opening + said * users // 2 + p.max_tokens
    persona = max(len(p.model_dump_json()) for p in study.personas.values()) // 3
    if p.max_turns > 2:
        yield Later("candidate", "candidates", n * (p.max_turns - users - 1), of_turn)
    yield Later("simulator", p.simulator, n * users, of_turn + persona)
    for judge in study.judges:
        yield Later("judge", judge, 4 * n, 2000 + persona + said * (users + 1) + p.judge_max_tokens)


def _heard(study: Study, completions: Completions) -> Stage:
    """The conversations with all that is stored of them; those of earlier rounds are kept."""
    own = study.of(completions.candidate, completions.occasion)
    own.stage.hear(completions)
    return own.stage


def _calls(study: Study, completions: Completions) -> list[JudgeCall]:
    """What judges are asked; a call that was made before is kept, and with it its prompt."""
    if not study.judges:
        return []
    own = study.of(completions.candidate, completions.occasion)
    calls = (real_calls if completions.candidate else null_calls)(study, own.stage)
    return [own.calls.setdefault((call.key, call.rubric), call) for call in calls]


def _said(study: Study, calls: Sequence[JudgeCall], completions: Completions) -> list[Reply]:
    stored = {
        (request.engine, request.label): completions(request) for request in judge_requests(study, calls)
    }
    return replies(study, calls, stored)


def _engines(params: ExplicationParams) -> dict[str, Any]:
    return {**dict.fromkeys(params.judges, "judge"), params.simulator: "simulator"}


def study(params: ExplicationParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """See ``build_study``."""
    return build_study(params, tables, engines)


EVALUATION = Evaluation(
    "explication", ExplicationParams, TABLES, study, ask, read, make_rows,
    engines=_engines,
    shared=Shared(ask, lambda study, completions: read(study, completions, None)),
    later=later,
    size=lambda study: f"{sum(1 for _ in study.real())} conversations per model: {len(study.tasks)} tasks, "
    f"{len(study.personas)} personas, {', '.join(study.conditions)}, {study.params.repetitions} repetitions",
    compares=False,
)  # fmt: skip
