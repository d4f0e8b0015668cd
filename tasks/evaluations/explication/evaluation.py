"""Connects the explication evaluation to the loop: turns of conversations in rounds, then judges'
verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Evaluation, Shared, Tables
from tasks.evaluations.explication import rows
from tasks.evaluations.explication.pack import PACK
from tasks.evaluations.explication.params import ExplicationParams
from tasks.evaluations.explication.read import ExplicationAnswers, conversations, heard, judge_call, read
from tasks.evaluations.explication.samples import samples
from tasks.evaluations.explication.study import (
    MOST_TURNS,
    PROMPTS,
    REAL,
    ConversationKey,
    ExplicationStudy,
    build_study,
)
from tasks.loop.budget import BYTES_PER_TOKEN, TEMPLATE_TOKENS
from tasks.loop.dialogue import Dialogues
from tasks.loop.requests import Later, Request

USUAL_TURNS, USUAL_WORDS = 5, 150
"""Expected turns of a side, and tokens of a turn or verdict, if nothing is stored."""

TABLES = {
    "persona": "SELECT * FROM explication_persona ORDER BY persona",
    "country": "SELECT country FROM country ORDER BY country",
    "dish": "SELECT item, aliases, countries, ingredients FROM current_item WHERE item_list = 'dishes' "
    "ORDER BY item",
}


def ask(study: ExplicationStudy, completions: Completions) -> list[Request[Any]]:
    """Return the requests of every due turn, then the judges' prompts about finished conversations."""
    stage, calls = heard(study, completions)
    return [*stage.requests(study.params.batch, "conversation"), *study.panel.requests(calls)]


def make_rows(
    study: ExplicationStudy, cohort: Cohort[ExplicationAnswers], shared: ExplicationAnswers
) -> Tables:
    """Return rows of the models and the null recommenders, and tables of every conversation and verdict."""
    metrics, tables = {}, rows.null_details(study, shared.calls, shared.opinions)
    for model, answers in cohort.models.items():
        own = conversations(study, answers.stage, answers.grades)
        metrics[model] = list(rows.model_rows(own, shared.grades, cohort.engines[model].model))
        tables[model] = rows.details(own, answers.calls, answers.opinions)
    return Tables(metrics | rows.null_rows(study, shared.grades), tables)


def later(study: ExplicationStudy) -> Iterable[Later]:
    """Yield upper bounds of the prompts that are still to be sent: turns and judges of a model, and of the
    null recommender with a fixed list of questions.
    """
    p, stage = study.params, Dialogues(study.dialogues())
    most_turns = p.max_turns or MOST_TURNS
    turns, users = most_turns - most_turns // 2, most_turns // 2
    both = p.max_tokens + p.simulator_max_tokens + 2 * TEMPLATE_TOKENS
    n, n_fixed = sum(1 for _ in study.real()), len(study.personas) * len(study.tasks)

    def most(opening: int, before: int, written: int, n_turns: int) -> int:
        """Return the mean tokens of one of a voice's n turns. before: tokens of both voices before it. At
        most one turn crosses a budget, and it sends no more than the budget already used.
        """
        tokens = opening + before + written
        if p.conversation_tokens is None:
            return tokens
        return min(tokens, (2 * p.conversation_tokens + opening + written) // n_turns + 1)

    # As many turns as usual, each as long as usual; a prompt has half of the conversation on average.
    usual_turns, usual_users = min(turns, USUAL_TURNS), min(users, USUAL_TURNS)
    usual_before = USUAL_TURNS * USUAL_WORDS
    if turns > 1:
        opening = max(g.prompt_tokens for r in stage.requests() for g in r.at_most(r.units))
        tokens = most(opening, both * turns // 2, p.max_tokens, turns - 1)
        usual = (len(stage.talks) * (usual_turns - 1), opening + usual_before, USUAL_WORDS)
        yield Later("candidate", "", len(stage.talks) * (turns - 1), tokens, usual=usual)
    described = max(len(text.encode()) for text in study.described.values())
    opening = (len(PROMPTS["simulator"].encode()) + described) // BYTES_PER_TOKEN + 2 * TEMPLATE_TOKENS
    before = both * (users + 1) // 2
    if users:
        tokens = most(opening, before, p.simulator_max_tokens, users)
        usual = (n * usual_users, opening + usual_before, USUAL_WORDS)
        yield Later("simulator", p.simulator, n * users, tokens, usual=usual)
    questions = sum(len(task.generic.questions) - 1 for task in study.tasks.values())
    tokens = opening + before + p.simulator_max_tokens
    n_questions = len(study.personas) * questions
    usual = (n_questions, opening + usual_before, USUAL_WORDS)
    yield Later("simulator", p.simulator, n_questions, tokens, is_shared=True, usual=usual)
    longest = max(study.personas, key=lambda name: len(study.personas[name].model_dump_json()))
    keys = [ConversationKey(REAL, task, longest, "", 0) for task in study.tasks]
    about = [judge_call(study, key, rubric, []) for key in keys for rubric in study.rubrics]
    rubrics = [g.prompt_tokens for r in study.panel.requests(about) for g in r.at_most(r.units)]
    for judge in study.judges:
        talk = both * turns if p.conversation_tokens is None else min(both * turns, p.conversation_tokens)
        tokens = max(rubrics) + talk + p.judge_max_tokens
        # Every rubric, another persona's recommendation, and once the conversation with a silent user.
        n_judged = 4 * n + n // p.repetitions
        each = max(rubrics) + 2 * usual_before, USUAL_WORDS
        yield Later("judge", judge, n_judged, tokens, usual=(n_judged, *each))
        yield Later("judge", judge, n_fixed, tokens, is_shared=True, usual=(n_fixed, *each))


def _size(study: ExplicationStudy) -> str:
    return (
        f"{sum(1 for _ in study.real())} conversations per model: {len(study.tasks)} tasks, "
        f"{len(study.personas)} personas, {', '.join(study.conditions)}, "
        f"{study.params.repetitions} repetitions"
    )


EVALUATION = Evaluation(
    "explication", ExplicationParams, TABLES, build_study, ask, read, make_rows,
    engines=lambda params: {**dict.fromkeys(params.judges, "judge"), params.simulator: "simulator"},
    shared=Shared(ask, read), later=later, size=_size, compares=False, samples=samples, pack=PACK,
    whole="its nulls are made of the model's own conversations",
)  # fmt: skip
