"""The culturall evaluation as the loop sees it: answers to grounded tasks, then judges on the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.culturall import judged, rows
from tasks.evaluations.culturall.answer_rows import answer_frame, verdict_frames
from tasks.evaluations.culturall.answers import Answer, read_answers, read_text
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.requests import Key, Study, build_study
from tasks.generation.budget import at_most
from tasks.generation.prompts import Completion, Prompts
from tasks.judging.prompts import Opinion
from tasks.requests import Engine, Later, Role

TABLES = {"culturall_item": "SELECT * FROM culturall_item ORDER BY item"}


@dataclass(frozen=True)
class Answers:
    """One model's answers, and what each judge, by its name in the params, said of them."""

    by_key: Mapping[Key, Answer]
    said: Mapping[str, Mapping[Key, Opinion]]


def study(params: CulturallParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Items from the warehouse, or from a published file in their place; see ``build_study``."""
    file_rows = list(read_rows(params.file)) if params.file else None
    return build_study(params, list(tables["culturall_item"]), engines, file_rows)


def ask(study: Study, completions: Completions) -> list[Prompts]:
    """Every item under every condition; then each judge about the answers that are there."""
    about = judged.calls(study, _texts(study, completions))
    asked = [study.request(condition) for condition in study.conditions]
    return asked + [judged.requests(study, judge, about) for judge in study.judges if about]


def read(study: Study, completions: Completions, checks: Any) -> Answers:
    """Answers, matched and judged; what is missing is unscored with a reason."""
    about = judged.calls(study, _texts(study, completions))
    said = {
        judge: judged.read_opinions(about, completions(judged.requests(study, judge, about)))
        for judge in study.judges
    }
    return Answers(read_answers(study, _completed(study, completions), said), said)


def ask_shared(study: Study, completions: Completions) -> list[Prompts]:
    """The judges' own check."""
    about = judged.checks(study)
    return [judged.requests(study, judge, about) for judge in study.judges]


def read_shared(study: Study, completions: Completions) -> Mapping[str, Mapping[Key, Opinion]]:
    """Judge -> what it said of gold answers, others' and empty ones."""
    about = judged.checks(study)
    return {
        judge: judged.read_opinions(about, completions(judged.requests(study, judge, about)))
        for judge in study.judges
    }


def make_rows(study: Study, cohort: Cohort[Answers], checks: Mapping[str, Mapping[Key, Opinion]]) -> Tables:
    """Rows of the models and of those that know nothing, every answer and every verdict.

    What compares models is taken over the cohort's, so that no row changes because another model ran.
    """
    by_model = {
        model: {condition: rows.score(study, condition, answers.by_key) for condition in study.conditions}
        for model, answers in {**cohort.against, **cohort.models}.items()
    }
    own_check = rows.check_rows(study, checks) if study.judges else []
    metrics = rows.null_rows(study)
    for model in cohort.models:
        others = [other for other in sorted(cohort.against) if other != model]
        metrics[model] = [*rows.model_rows(study, model, by_model, others), *own_check]
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def later(study: Study) -> Iterable[Later]:
    """What each judge may be asked about a model: every answer once."""
    longest = max(judged.checks(study), key=lambda call: len(call.item.scenario) + len(call.item.explanation))
    most = at_most(longest.prompt.conversation, longest.prompt.schema, study.request("native").sampling)
    tokens = most.prompt_tokens + study.params.max_tokens + study.params.judge_max_tokens
    return [Later("judge", judge, len(study.prompts), tokens) for judge in study.judges]


def _details(study: Study, answers: Answers) -> list[Detail]:
    """Every answer, and every verdict of each judge."""
    texts = {key: answer.text for key, answer in answers.by_key.items() if answer.text is not None}
    frames = verdict_frames(study, texts, answers.said)
    return [
        Detail("culturall_answer", answer_frame(study, answers.by_key)),
        *(Detail("verdict", frame, study.judges[judge].name) for judge, frame in frames.items()),
    ]


def _completed(study: Study, completions: Completions) -> dict[Key, Completion]:
    """(condition, item) -> its stored completion."""
    by_condition = {condition: completions(study.request(condition)) for condition in study.conditions}
    return {
        key: by_condition[key[0]][prompt.id]
        for key, prompt in study.prompts.items()
        if prompt.id in by_condition[key[0]]
    }


def _texts(study: Study, completions: Completions) -> dict[Key, str]:
    """(condition, item) -> the text of its answer, where it has one."""
    read = {key: read_text(completion)[0] for key, completion in _completed(study, completions).items()}
    return {key: text for key, text in read.items() if text is not None}


EVALUATION = Evaluation(
    "culturall", CulturallParams, TABLES, study, ask, read, make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    shared=Shared(ask_shared, read_shared),
    later=later,
    size=lambda study: f"{len(study.items)} items in {len({i.language for i in study.items})} languages",
)  # fmt: skip
