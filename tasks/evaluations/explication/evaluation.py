"""The explication evaluation as the loop sees it: turns of conversations in rounds, then judges on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Evaluation, Rows, Shared, Tables
from tasks.evaluations.explication import details, rows
from tasks.evaluations.explication.judge import Grades, JudgeCall, calls_about, grades, heard
from tasks.evaluations.explication.pack import PACK
from tasks.evaluations.explication.params import ExplicationParams
from tasks.evaluations.explication.samples import samples
from tasks.evaluations.explication.scores import hold
from tasks.evaluations.explication.study import PROMPTS, REAL, Key, Study, build_study
from tasks.judging.panel import AllOpinions
from tasks.loop.budget import BYTES_PER_TOKEN, TEMPLATE_TOKENS
from tasks.loop.dialogue import Stage
from tasks.loop.requests import Engine, Later, Request

TABLES = {
    "persona": "SELECT * FROM explication_persona ORDER BY persona",
    "country": "SELECT country FROM country ORDER BY country",
    "dish": "SELECT item, aliases, countries, ingredients FROM current_item WHERE item_list = 'dishes' "
    "ORDER BY item",
}


@dataclass(frozen=True)
class Answers:
    """One model's conversations, as far as they went, what judges were sent about them and what each said."""

    stage: Stage
    calls: Sequence[JudgeCall]
    said: AllOpinions
    grades: Mapping[Key, Grades]


def ask(study: Study, completions: Completions) -> list[Request[Any]]:
    """Every turn that can be spoken now; then, of conversations that are over, the judges'."""
    stage = heard(study, completions)
    turns = stage.requests(study.params.batch, "conversation")
    return [*turns, *study.panel.requests(calls_about(study, completions))]


def read(study: Study, completions: Completions, shared: Any) -> Answers:
    """Conversations and verdicts; what is missing is unscored with a reason."""
    stage = heard(study, completions)
    calls = calls_about(study, completions)
    said = study.panel.read_all(calls, completions)
    return Answers(stage, calls, said, grades(study, calls, said))


def make_rows(study: Study, cohort: Cohort[Answers], shared: Answers) -> Tables:
    """Rows of the models and of the recommenders that adapt to nobody, every conversation and verdict."""
    nulls = rows.null_rows(study, shared.grades)
    metrics, tables = {}, {}
    for model, answers in cohort.models.items():
        held = hold(study, answers.stage, answers.grades)
        candidate = cohort.engines[model].model
        metrics[model] = list(rows.model_rows(held, shared.grades, candidate))
        tables[model] = details.details(held, answers.calls, answers.said)
    return Tables(metrics | nulls, tables)


def later(study: Study) -> Iterable[Later]:
    """What further turns and judges may be asked about a model at most, and the simulator and judges about
    the recommender with a fixed list of questions."""
    p, stage = study.params, Stage(study.dialogues())
    turns, users = p.max_turns - p.max_turns // 2, p.max_turns // 2
    both = p.max_tokens + p.simulator_max_tokens + 2 * TEMPLATE_TOKENS
    n, n_fixed = sum(1 for _ in study.real()), len(study.personas) * len(study.tasks)

    def most(opening: int, said: int, written: int, n_turns: int) -> int:
        """Tokens of one of a voice's n turns, on average; said: by both before it.

        A budget is crossed by one turn at most, which sends no more than what the budget was used for.
        """
        tokens = opening + said + written
        if p.conversation_tokens is None:
            return tokens
        return min(tokens, (2 * p.conversation_tokens + opening + written) // n_turns + 1)

    if turns > 1:
        opening = max(g.prompt_tokens for r in stage.requests() for g in r.at_most(r.units))
        tokens = most(opening, both * turns // 2, p.max_tokens, turns - 1)
        yield Later("candidate", "", len(stage.talks) * (turns - 1), tokens)
    described = max(len(text.encode()) for text in study.described.values())
    opening = (len(PROMPTS["simulator"].encode()) + described) // BYTES_PER_TOKEN + 2 * TEMPLATE_TOKENS
    said = both * (users + 1) // 2
    if users:
        heard = most(opening, said, p.simulator_max_tokens, users)
        yield Later("simulator", p.simulator, n * users, heard)
    questions = sum(len(task.generic.questions) - 1 for task in study.tasks.values())
    heard = opening + said + p.simulator_max_tokens
    yield Later("simulator", p.simulator, len(study.personas) * questions, heard, is_shared=True)
    longest = max(study.personas, key=lambda name: len(study.personas[name].model_dump_json()))
    keys = [Key(REAL, task, longest, "", 0) for task in study.tasks]
    about = [JudgeCall(key, rubric, longest, (), study) for key in keys for rubric in study.rubrics]
    rubrics = [g.prompt_tokens for r in study.panel.requests(about) for g in r.at_most(r.units)]
    for judge in study.judges:
        talk = both * turns if p.conversation_tokens is None else min(both * turns, p.conversation_tokens)
        tokens = max(rubrics) + talk + p.judge_max_tokens
        # Every rubric, the recommendation of another, and once the conversation with a silent user.
        yield Later("judge", judge, 4 * n + n // p.repetitions, tokens)
        yield Later("judge", judge, n_fixed, tokens, is_shared=True)


def _engines(params: ExplicationParams) -> dict[str, Any]:
    return {**dict.fromkeys(params.judges, "judge"), params.simulator: "simulator"}


def study(params: ExplicationParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """See ``build_study``."""
    if params.personas_file and params.pack:
        raise ValueError(
            "--pack adds to the shipped personas, which --personas-file replaces: give one of them"
        )
    return build_study(params, tables, engines)


EVALUATION = Evaluation(
    "explication", ExplicationParams, TABLES, study, ask, read, make_rows,
    engines=_engines,
    shared=Shared(ask, lambda study, completions: read(study, completions, None)),
    later=later,
    size=lambda study: f"{sum(1 for _ in study.real())} conversations per model: {len(study.tasks)} tasks, "
    f"{len(study.personas)} personas, {', '.join(study.conditions)}, {study.params.repetitions} repetitions",
    compares=False,
    samples=samples,
    pack=PACK,
)  # fmt: skip
